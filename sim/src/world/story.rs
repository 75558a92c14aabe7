//! Knows how a scenario's story is told to a world: what is done when, and what is waited for.

use std::sync::Arc;

use amends_core::ids::{Offset, Partition};
use amends_core::lifecycle::event::Event;

use super::{Happening, Phase, World};
use crate::fact::{Entry, Fact};
use crate::faults::Moment;
use crate::ground::Ground;
use crate::kafka;
use crate::life::Life;
use crate::scenario::Scenario;
use crate::scenario::action::{Action, Request, Setting};
use crate::scenario::marked;
use crate::scenario::mistakes::Mistake;
use crate::scenario::telling::{Next, Telling};

/// A story on its way.
pub(super) struct Story {
    scenario: Arc<Scenario>,
    telling: Telling,
    due: Option<u64>,
    missed: Option<Mistake>,
    /// The mark at which it is left, where it only leads to one.
    leads_to: Option<String>,
}

impl Story {
    pub(super) fn of(scenario: Arc<Scenario>) -> Self {
        Self { scenario, telling: Telling::default(), due: Some(0), missed: None, leads_to: None }
    }

    pub(super) fn up_to(moment: &Moment) -> Self {
        Self { leads_to: Some(moment.mark.clone()), ..Self::of(marked::scenario(moment)) }
    }

    pub(super) fn due(&self) -> Option<u64> {
        self.due
    }
}

impl World {
    /// Whether a story is told in it.
    #[must_use]
    pub fn is_told(&self) -> bool {
        self.story.is_some()
    }

    /// What the world's story missed or did not lead to; nothing in a world without one.
    #[must_use]
    pub fn judge(&self, ground: &Ground) -> Vec<Mistake> {
        let Some(story) = &self.story else { return Vec::new() };
        if let Some(missed) = &story.missed {
            return vec![missed.clone()];
        }
        story.scenario.judge(ground.chronicle.outcome(), &ground.chronicle.truth)
    }

    /// The same between two advances, after a reducer's step: what is asked for then comes with the next one.
    pub fn tell_between(&mut self, ground: &mut Ground) {
        let mut asked = std::mem::take(&mut self.asked);
        self.tell(ground, &mut asked);
        self.asked = asked;
    }

    /// Tells as much of the story as is due. Nothing follows its end.
    pub fn tell(&mut self, ground: &mut Ground, out: &mut Vec<Happening>) {
        if self.phase == Phase::Over {
            return;
        }
        let Some(mut story) = self.story.take() else { return };
        let scenario = Arc::clone(&story.scenario);
        loop {
            let chronicle = &ground.chronicle;
            match story.telling.next(&scenario.story, chronicle.outcome(), &chronicle.truth) {
                Next::Perform(action) => self.act(ground, action, out),
                Next::Mark(name) => {
                    if story.leads_to.as_deref() == Some(name) {
                        return self.let_loose(ground);
                    }
                }
                Next::Missed(_) | Next::Over if story.leads_to.is_some() => return self.let_loose(ground),
                Next::Wait { at_ms } => {
                    story.due = Some(at_ms);
                    break;
                }
                Next::Missed(mistake) => {
                    story.missed = Some(mistake);
                    self.end_story(ground);
                    break;
                }
                Next::Over => {
                    self.end_story(ground);
                    break;
                }
            }
        }
        self.story = Some(story);
    }

    fn end_story(&mut self, ground: &mut Ground) {
        self.phase = Phase::Over;
        ground.chronicle.tell(&Fact::Ended);
    }

    /// Does one thing that a story asks.
    fn act(&mut self, ground: &mut Ground, action: &Action, out: &mut Vec<Happening>) {
        let kafka = &mut self.kafka;
        match action {
            Action::Start(worker) => self.begin(ground, *worker, out),
            Action::Crash(worker) => self.on(*worker, |world, who| world.crash(ground, who, out)),
            Action::Restart(worker) => {
                self.on(*worker, |world, who| world.crash(ground, who, out));
                self.begin(ground, *worker, out);
            }
            Action::Pause { worker, for_ms } => {
                self.on(*worker, |world, who| world.freeze(ground, who, *for_ms, out));
            }
            Action::Resume(worker) => self.on(*worker, |world, who| world.thaw(ground, who, out)),
            Action::Ask { worker, request } => {
                self.on(*worker, |world, who| world.ask(ground, who, *request, out));
            }
            Action::Revoke(worker) => self.on(*worker, |world, who| {
                world.kafka.revoke(ground, who);
            }),
            Action::Append { partition, entry, times } => append(kafka, ground, *partition, *entry, *times),
            Action::Close { partition, is_committed } => {
                kafka.close_transaction(ground, Partition(*partition), *is_committed);
            }
            Action::DeleteBelow { partition, offset } => {
                kafka.delete_records(ground, Partition(*partition), Offset(*offset));
            }
            Action::TruncateTo { partition, offset } => {
                kafka.truncate(ground, Partition(*partition), Offset(*offset));
            }
            Action::Compact { partition, offset } => {
                kafka.compact_away(ground, Partition(*partition), Offset(*offset));
            }
            Action::Recreate { partitions } => {
                let as_before = ground.chronicle.truth.current_partitions;
                kafka.recreate(ground, partitions.unwrap_or(as_before));
            }
            Action::DeleteTopic => kafka.delete_topic(ground),
            Action::Grow { partitions } => kafka.grow(ground, *partitions),
            Action::Configure(setting) => kafka.reconfigure(ground, refused(*setting)),
            Action::Order(order) => ground.faults.order(*order),
            Action::Incident(incident) => self.incident(ground, incident, out),
            Action::Heal => self.heal(ground, out),
        }
    }

    fn on(&mut self, worker: u8, act: impl FnOnce(&mut Self, Life)) {
        if let Some(who) = self.processes.living(worker) {
            act(self, who);
        }
    }

    /// The worker's next process.
    fn begin(&mut self, ground: &mut Ground, worker: u8, out: &mut Vec<Happening>) {
        let newest = self.processes.newest(worker);
        self.start(ground, newest.map_or(Life::first(worker), Life::next), out);
    }

    fn ask(&mut self, ground: &mut Ground, who: Life, request: Request, out: &mut Vec<Happening>) {
        let process = ground.chronicle.truth.processes.get(&who);
        let is_second = process.is_some_and(|process| process.asked_at.is_some());
        let event = match request {
            Request::Shutdown if is_second => return self.crash(ground, who, out),
            Request::Shutdown => Event::ShutdownRequested,
            Request::Pause => Event::PauseRequested,
            Request::Stop => Event::StopRequested,
        };
        self.processes.deliver(who, event, out);
    }
}

fn append(kafka: &mut kafka::Kafka, ground: &mut Ground, partition: u32, entry: Entry, times: u32) {
    let partition = Partition(partition);
    match entry {
        Entry::Visible => (0..times).for_each(|_| kafka.publish(ground, partition)),
        Entry::Aborted => kafka.publish_aborted(ground, partition, times),
        Entry::Control => kafka.publish_control(ground, partition, times),
        Entry::Open => kafka.open_transaction(ground, partition, times),
        // A hole is what compaction leaves, and nobody appends one.
        Entry::Hole => {}
    }
}

fn refused(setting: Setting) -> kafka::Setting {
    match setting {
        Setting::RetentionFinite => kafka::Setting::Retention { ms: 604_800_000 },
        Setting::CleanupPolicy => kafka::Setting::Compaction,
        Setting::UncleanElection => kafka::Setting::UncleanElection,
    }
}
