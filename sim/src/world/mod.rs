//! Knows a whole world but for its store: processes and their supervisor, the cluster, timers, incidents, and the hour
//! at which the faults are over.
//!
//! It is a machine without I/O, like the cluster inside it. Whoever runs it (`walk` or `member`) gives it what reducers
//! ask for, moves its time on, and carries out what comes back.

use std::sync::Arc;

use amends_core::ids::Incarnation;
use amends_core::lifecycle::Settings;
use amends_core::lifecycle::command::{Command, Timer};
use amends_core::lifecycle::event::Event;
use amends_core::source::boundary::{Declared, Sink};

use crate::agenda::{Agenda, earlier};
use crate::chronicle::Chronicle;
use crate::faults::{Fault, Faults, Incident, Place, Schedule};
use crate::few::Few;
use crate::ground::Ground;
use crate::kafka::{Kafka, Told};
use crate::life::Life;
use crate::pace::{Actor, Pace, Wait};
use crate::scenario::Scenario;
use crate::truth::Truth;

use story::Story;

mod begin;
mod end;
mod lives;
mod processes;
mod story;

pub use end::Phase;
pub use processes::Processes;

/// The topic of every world.
pub const TOPIC: &str = "orders";

/// Forms of F21 beside the first.
const TWICE: u32 = 1;
const PAUSE: u32 = 2;
const STOP: u32 = 3;

/// How long the supervisor waits before it starts a process again.
const RESTART_MS: u64 = 1_000;

/// What a world asks of whoever runs it.
#[derive(Clone, PartialEq, Debug)]
pub enum Happening {
    /// A process begins: a fresh driver.
    Start(Life),
    /// Its reducer is given an event.
    Deliver(Life, Event),
    /// A process dies.
    Kill(Life),
    /// A process stands still.
    Freeze(Life),
    /// It goes on.
    Thaw(Life),
    /// Something goes wrong with the store.
    Store(Incident),
    /// The faults are over: whatever the store holds or refuses ends.
    Heal,
}

/// What happens by itself.
#[derive(Clone, PartialEq, Debug)]
enum Due {
    Timer(Life, Timer),
    Incident(Incident),
    Publish,
    Start(Life),
    Thaw(Life),
    /// A second signal: the process ends at once.
    AtOnce(Life),
    /// The process dies, and the next one starts so much later.
    Die(Life, u64),
    Heal,
    Look,
}

/// A world but for its store.
pub struct World {
    schedule: Arc<Schedule>,
    settings: Settings,
    kafka: Kafka,
    processes: Processes,
    agenda: Agenda<Due>,
    phase: Phase,
    told: Vec<Told>,
    /// What a story asked for between two advances.
    asked: Vec<Happening>,
    /// Dies within its next transaction, and starts again after so many milliseconds.
    doomed: Few<Life, u64>,
    /// What happens in it, where a scenario says so.
    story: Option<Story>,
    /// Nobody starts, and nothing heals, but by its story.
    is_staged: bool,
}

/// The declared topic's UUID in every world.
#[must_use]
pub fn declared() -> Incarnation {
    let mut bytes = [0_u8; 16];
    (bytes[0], bytes[15]) = (0x0a, 1);
    Incarnation::from_bytes(bytes).unwrap_or_else(|| unreachable!("the bytes are not all zero"))
}

impl World {
    /// The world of a schedule, and the ground that it stands on.
    #[must_use]
    pub fn new(schedule: Schedule, is_traced: bool) -> (Self, Ground) {
        let (mut world, mut ground) = Self::still(schedule, is_traced);
        match &world.schedule.begins_at {
            Some(moment) => {
                ground.chronicle.watch();
                ground.faults.hold(true);
                (world.story, world.is_staged) = (Some(Story::up_to(moment)), true);
            }
            None => world.let_loose(&mut ground),
        }
        (world, ground)
    }

    /// The world of a scenario with one of its seeds: nobody starts, and nothing heals, but by its story.
    #[must_use]
    pub fn staged(scenario: Arc<Scenario>, seed: u64, is_traced: bool) -> (Self, Ground) {
        let (mut world, mut ground) = Self::still(scenario.schedule(seed), is_traced);
        ground.chronicle.watch();
        world.plan(0);
        (world.story, world.is_staged) = (Some(Story::of(scenario)), true);
        (world, ground)
    }

    fn still(schedule: Schedule, is_traced: bool) -> (Self, Ground) {
        let schedule = Arc::new(schedule);
        let shape = &schedule.shape;
        let truth = Truth::new(declared(), shape.partitions, shape.lanes);
        let mut ground = Ground {
            chronicle: Chronicle::new(truth, is_traced),
            faults: Faults::new(Arc::clone(&schedule)),
            pace: Pace::new(schedule.seed, schedule.scheduler.clone()),
        };
        let settings = Settings {
            topic: TOPIC.to_owned(),
            source: Declared { sink: Sink::Ledger, incarnation: declared(), partitions: shape.partitions },
            lanes: shape.lanes,
            batch_records: shape.batch_records,
            batch_bytes: 4 << 20,
        };
        let kafka = Kafka::new(shape, declared(), &mut ground);
        let world = Self {
            settings,
            kafka,
            processes: Processes::default(),
            agenda: Agenda::default(),
            phase: Phase::Wild,
            told: Vec::new(),
            asked: Vec::new(),
            doomed: Few::default(),
            story: None,
            is_staged: false,
            schedule,
        };
        (world, ground)
    }

    /// What every reducer of this world is started with.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What the world was made from.
    #[must_use]
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// The cluster, for scenarios and for what carries the records.
    pub fn kafka(&mut self) -> &mut Kafka {
        &mut self.kafka
    }

    /// The processes.
    #[must_use]
    pub fn processes(&self) -> &Processes {
        &self.processes
    }

    /// Whether the world is over.
    #[must_use]
    pub fn is_over(&self, ground: &Ground) -> bool {
        self.phase == Phase::Over || ground.chronicle.broken().is_some()
    }

    /// When something happens next by itself.
    #[must_use]
    pub fn next_due(&self) -> Option<u64> {
        let story = self.story.as_ref().and_then(Story::due);
        earlier(earlier(self.agenda.next_due(), self.kafka.next_due()), story)
    }

    /// Starts what a reducer asks for. Returns whether it was the world's business; else it is the store's.
    pub fn perform(&mut self, ground: &mut Ground, who: Life, command: &Command) -> bool {
        self.disturb(ground, who, command);
        if let Command::Claim { .. } | Command::Process { .. } = command
            && let Some(restarts_ms) = self.doomed.remove(&who)
        {
            // Where its transaction is by then is part of the schedule.
            let trips = 1 + ground.now() % 5;
            let after: u64 =
                (0..trips).map(|_| ground.pace.wait(Wait::Wire, Actor::Worker(who.worker))).sum();
            self.agenda.at(ground.now() + after, Due::Die(who, restarts_ms));
        }
        match command {
            Command::Wait { timer, after_ms } => {
                let after_ms = self.timer(ground, who, *after_ms);
                self.agenda.at(ground.now() + after_ms, Due::Timer(who, *timer));
                true
            }
            Command::Stop { reason } => {
                self.stopped(ground, who, reason);
                true
            }
            Command::Claim { .. }
            | Command::Observe { .. }
            | Command::Process { .. }
            | Command::Cancel { .. } => false,
            _ => self.kafka.perform(ground, who, command),
        }
    }

    /// A timer is not quite exact, and may be worse than that.
    fn timer(&self, ground: &mut Ground, who: Life, after_ms: u64) -> u64 {
        let Some(strike) = ground.faults.strike(Fault::TimerMisbehaves, Place::at(who)) else {
            return after_ms;
        };
        ground.chronicle.struck(
            Fault::TimerMisbehaves,
            Some(who),
            format_args!("{who} by {}ms", strike.severity),
        );
        if strike.variant == 0 {
            after_ms + strike.severity
        } else {
            // A wait takes some time: who waits for the rest of an early one would wait for ever.
            after_ms.saturating_sub(strike.severity).max(1)
        }
    }

    /// The group takes the partitions just while this is done.
    fn disturb(&mut self, ground: &mut Ground, who: Life, command: &Command) {
        let doing = match command {
            Command::Claim { .. } => 0,
            Command::Seek { .. } | Command::Assign { .. } => 1,
            Command::Check { .. } => 2,
            Command::Process { .. } => 3,
            Command::Wait { timer: Timer::Retry { .. }, .. } => 4,
            Command::Observe { .. } => 5,
            _ => return,
        };
        let at = Place::at(who);
        if ground.faults.strike_as(Fault::RevokedDuring, at, |form| form == doing).is_some() {
            ground.chronicle.struck(Fault::RevokedDuring, Some(who), format_args!("{who} during {command}"));
            self.kafka.revoke(ground, who);
        }
    }

    /// Lets everything happen that is due by the ground's time.
    pub fn advance(&mut self, ground: &mut Ground, out: &mut Vec<Happening>) {
        out.append(&mut self.asked);
        while let Some(due) = self.agenda.take(ground.now()) {
            self.happen(ground, due, out);
        }
        self.tell(ground, out);
        self.kafka.advance(ground, &mut self.told);
        // Mostly there is nothing, and to drain nothing costs as much as to look.
        if !self.told.is_empty() {
            self.told.drain(..).for_each(|(who, event)| self.processes.deliver(who, event, out));
        }
    }

    /// An event of the store for a reducer; held while its process stands still.
    pub fn answer(&mut self, who: Life, event: Event, out: &mut Vec<Happening>) {
        self.processes.deliver(who, event, out);
    }

    fn happen(&mut self, ground: &mut Ground, due: Due, out: &mut Vec<Happening>) {
        match due {
            Due::Timer(who, timer) => self.processes.deliver(who, Event::Expired { timer }, out),
            Due::Incident(incident) => self.incident(ground, &incident, out),
            Due::Publish => {
                if self.phase == Phase::Wild {
                    let nth = ground.now() / self.schedule.shape.grows_every_ms;
                    let partition =
                        u32::try_from(nth % u64::from(self.schedule.shape.partitions)).unwrap_or(0);
                    self.kafka.publish(ground, amends_core::ids::Partition(partition));
                    self.agenda.at(ground.now() + self.schedule.shape.grows_every_ms, Due::Publish);
                }
            }
            Due::Start(who) => self.start(ground, who, out),
            Due::Thaw(who) => self.thaw(ground, who, out),
            Due::AtOnce(who) => {
                self.crash(ground, who, out);
                if self.phase != Phase::Wild {
                    // Nobody looks again.
                    self.agenda.at(ground.now() + RESTART_MS, Due::Start(who.next()));
                }
            }
            Due::Die(who, restarts_ms) => {
                if self.processes.living(who.worker) == Some(who) && ground.faults.is_wild() {
                    self.die(ground, who, restarts_ms, out);
                }
            }
            Due::Heal => self.heal(ground, out),
            Due::Look => self.look(ground),
        }
    }

    fn incident(&mut self, ground: &mut Ground, incident: &Incident, out: &mut Vec<Happening>) {
        if !ground.faults.is_wild() || self.kafka.strike(ground, incident) {
            return;
        }
        let Some(who) = self.processes.living(incident.worker) else { return };
        match incident.fault {
            Fault::Paused => self.freeze(ground, who, Some(incident.severity), out),
            Fault::Crashed if incident.variant == 1 => {
                self.doomed.insert(who, incident.severity);
            }
            Fault::Crashed => self.die(ground, who, incident.severity, out),
            Fault::Asked => {
                ground.chronicle.struck(incident.fault, Some(who), format_args!("{who} is asked to stop"));
                let asked = match incident.variant {
                    PAUSE => Event::PauseRequested,
                    STOP => Event::StopRequested,
                    _ => Event::ShutdownRequested,
                };
                self.processes.deliver(who, asked, out);
                if incident.variant == TWICE {
                    let after = ground.pace.wait(Wait::Timer, Actor::Worker(who.worker));
                    self.agenda.at(ground.now() + after, Due::AtOnce(who));
                }
            }
            _ => out.push(Happening::Store(incident.clone())),
        }
    }
}
