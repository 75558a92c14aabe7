//! Knows how a client reads: where its lanes are put, what they fetch ahead, what a poll, a seek and a probe answer.

use std::sync::Arc;

use amends_core::ids::{Frontier, Incarnation, Offset, Partition, TenureId};
use amends_core::lifecycle::event::{Event, Failure, Offsets, PollFailure, ProbeSight};

use super::client::{ClientId, Lane, Waiting};
use super::{Kafka, Step};
use crate::faults::{Fault, Place, Strike};
use crate::ground::Ground;
use crate::life::Life;
use crate::pace::{Actor, Wait};

/// The longest that a seek keeps the client's thread.
const SEEK_WITHIN_MS: u64 = 2_000;

/// Forms of F33.
const LATE: u32 = 0;
const ERRONEOUS_STATE: u32 = 1;
/// Forms of F36.
const WITHIN: u32 = 0;
/// Forms of F37.
const ERROR: u32 = 0;
const EMPTY: u32 = 1;

impl Kafka {
    /// Puts a lane of a new assignment where it is to begin, or where a group offset says.
    pub(super) fn place(&mut self, ground: &mut Ground, id: ClientId, tenure: TenureId, target: Offset) {
        let (now, who) = (ground.now(), self.clients[id].who);
        let position = self.planted(ground, id, tenure.partition).unwrap_or(target);
        if position != target {
            ground.chronicle.struck(
                Fault::GroupOffsetPlanted,
                Some(who),
                format_args!("{who} begins {tenure} at {position} instead of {target}"),
            );
        }
        let mut lane = Lane::new(tenure, position);
        let wait = ground.pace.wait(Wait::Seek, Actor::Worker(who.worker));
        let (after_ms, step) = match ground.faults.strike(Fault::SeekMisbehaves, at(id, self, tenure)) {
            None => (wait, Step::Sought { tenure }),
            Some(Strike { variant: LATE, severity }) => {
                self.seek_struck(ground, id, tenure, "is put late");
                (wait + severity, Step::Sought { tenure })
            }
            Some(Strike { variant: ERRONEOUS_STATE, .. }) => {
                self.seek_struck(ground, id, tenure, "is not put");
                (wait, Step::NotSought { tenure, why: "erroneous state" })
            }
            Some(_) => {
                let log = self.topic.led(&ground.chronicle.truth, tenure.partition);
                lane.position = log.map_or(position, |log| log.stable_end());
                if lane.position != target {
                    self.seek_struck(ground, id, tenure, "begins at the end");
                }
                (wait, Step::Sought { tenure })
            }
        };
        self.clients[id].lanes.push(lane);
        self.plan(now + after_ms, id, step);
    }

    /// The group's offset of a partition, where one wins over the first position.
    fn planted(&self, ground: &mut Ground, id: ClientId, partition: Partition) -> Option<Offset> {
        let place = Place::of(self.clients[id].who, partition.0);
        let Some(strike) = ground.faults.strike(Fault::GroupOffsetPlanted, place) else {
            return self.topic.planted(partition);
        };
        let end = self.topic.led(&ground.chronicle.truth, partition)?.stable_end().0;
        let planted = i64::try_from(strike.severity).unwrap_or(i64::MAX);
        Some(Offset(if strike.variant == WITHIN { planted.min(end) } else { end + 1 + planted }))
    }

    fn seek_struck(&self, ground: &mut Ground, id: ClientId, tenure: TenureId, what: &str) {
        let who = self.clients[id].who;
        ground.chronicle.struck(Fault::SeekMisbehaves, Some(who), format_args!("{tenure} of {who} {what}"));
    }

    pub(super) fn seek(
        &mut self,
        ground: &mut Ground,
        id: ClientId,
        tenure: TenureId,
        target: Offset,
        within_ms: u64,
    ) {
        let (now, who) = (ground.now(), self.clients[id].who);
        let within_ms = within_ms.clamp(1, SEEK_WITHIN_MS);
        let wait = ground.pace.wait(Wait::Seek, Actor::Worker(who.worker)).min(within_ms);
        if self.clients[id].lane(tenure).is_none() {
            return self.plan(now + wait, id, Step::NotSought { tenure, why: "it has no lane" });
        }
        let is_late = |strike: &Strike| strike.severity + wait > within_ms;
        let (is_moved, after_ms, step) =
            match ground.faults.strike(Fault::SeekMisbehaves, at(id, self, tenure)) {
                None => (true, wait, Step::Sought { tenure }),
                // It moves all the same.
                Some(strike @ Strike { variant: LATE, .. }) if is_late(&strike) => {
                    self.seek_struck(ground, id, tenure, "is moved too late");
                    (true, within_ms, Step::NotSought { tenure, why: "timed out" })
                }
                Some(Strike { variant: LATE, severity }) => {
                    self.seek_struck(ground, id, tenure, "is moved late");
                    (true, wait + severity, Step::Sought { tenure })
                }
                Some(Strike { variant: ERRONEOUS_STATE, .. }) => {
                    self.seek_struck(ground, id, tenure, "is not moved");
                    (false, wait, Step::NotSought { tenure, why: "erroneous state" })
                }
                Some(_) => {
                    self.seek_struck(ground, id, tenure, "stays where it is");
                    (false, wait, Step::Sought { tenure })
                }
            };
        if is_moved {
            self.move_lane(ground, id, tenure, target);
        }
        self.plan(now + after_ms, id, step);
    }

    /// What was fetched before is thrown away, unless F32 keeps some of it.
    fn move_lane(&mut self, ground: &mut Ground, id: ClientId, tenure: TenureId, target: Offset) {
        let who = self.clients[id].who;
        let stale = ground.faults.strike(Fault::StalePrefetch, at(id, self, tenure));
        let Some(lane) = self.clients[id].lane(tenure) else { return };
        let kept = stale.map_or(0, |strike| usize::try_from(strike.severity).unwrap_or(usize::MAX));
        let mut queue = std::mem::take(&mut lane.queue);
        lane.move_to(target);
        queue.truncate(kept);
        if let Some(first) = queue.first() {
            ground.chronicle.struck(
                Fault::StalePrefetch,
                Some(who),
                format_args!("{tenure} of {who} keeps {} records from {first} on", queue.len()),
            );
        }
        lane.queue = queue;
    }

    /// A lane fetches ahead, when it is still there.
    pub(super) fn fetch(&mut self, ground: &Ground, id: ClientId, tenure: TenureId) {
        let Some(log) = self.topic.led(&ground.chronicle.truth, tenure.partition) else { return };
        if let Some(lane) = self.clients[id].lane(tenure) {
            lane.fetch(ground.chronicle.truth.current, log, self.ahead);
        }
    }

    pub(super) fn poll(
        &mut self,
        ground: &mut Ground,
        id: ClientId,
        tenure: TenureId,
        records: u32,
        wait_ms: u64,
    ) {
        let (now, who) = (ground.now(), self.clients[id].who);
        let deadline = now + wait_ms;
        let place = at(id, self, tenure);
        let client = &mut self.clients[id];
        client.asks += 1;
        let ask = client.asks;
        let has_left = client.has_left;
        let Some(lane) = client.lane(tenure) else {
            return self.plan(if has_left { now } else { deadline }, id, Step::Empty { tenure });
        };
        let strike = ground.faults.strike(Fault::PollMisbehaves, place);
        let misbehaves = strike.map(|strike| strike.variant);
        let earlier = lane.waiting.replace(Waiting { ask, records: records.max(1), deadline, misbehaves });
        let log = self.topic.led(&ground.chronicle.truth, tenure.partition);
        if let Some(log) = log {
            lane.fetch(ground.chronicle.truth.current, log, self.ahead);
        }
        let has_news = !lane.queue.is_empty() || log.is_some_and(|log| lane.is_outside(log));
        let is_prompt = misbehaves == Some(ERROR) || has_news && misbehaves != Some(EMPTY);
        let wait = if is_prompt { ground.pace.wait(Wait::Poll, Actor::Worker(who.worker)) } else { wait_ms };
        // Each question has its answer, also one that was never to be asked.
        if earlier.is_some() {
            self.plan(now, id, Step::Empty { tenure });
        }
        self.plan(now + wait.min(wait_ms), id, Step::Serve { tenure, ask });
    }

    /// Something new may be there to be fetched from a partition.
    pub(super) fn stir(&mut self, ground: &mut Ground, partition: Partition) {
        let now = ground.now();
        for (id, client) in self.clients.iter().enumerate() {
            let lanes = client.lanes.iter().filter(|lane| lane.tenure.partition == partition);
            for (lane, poll) in lanes.filter_map(|lane| Some((lane, lane.waiting?))) {
                let wait = ground.pace.wait(Wait::Poll, Actor::Worker(client.who.worker));
                let step = Step::Serve { tenure: lane.tenure, ask: poll.ask };
                self.agenda.at((now + wait).min(poll.deadline), super::Due::Client(id, step));
            }
        }
    }

    /// Answers a waiting poll, when there is something to say.
    pub(super) fn serve(
        &mut self,
        ground: &mut Ground,
        id: ClientId,
        tenure: TenureId,
        ask: u32,
    ) -> Option<Event> {
        let (now, who) = (ground.now(), self.clients[id].who);
        let place = at(id, self, tenure);
        let lane = self.clients[id].lane(tenure)?;
        let poll = lane.waiting.filter(|poll| poll.ask == ask)?;
        let log = self.topic.led(&ground.chronicle.truth, tenure.partition);
        if let Some(log) = log {
            lane.fetch(ground.chronicle.truth.current, log, self.ahead);
        }
        if poll.misbehaves == Some(ERROR) {
            lane.waiting = None;
            ground.chronicle.struck(
                Fault::PollMisbehaves,
                Some(who),
                format_args!("a poll of {tenure} of {who} fails"),
            );
            let failure = PollFailure::Again("no broker answered".to_owned());
            return Some(Event::PollFailed { tenure, failure });
        }
        let is_mute = poll.misbehaves == Some(EMPTY);
        if let Some(first) = lane.queue.first().copied().filter(|_| !is_mute) {
            if let Some(log) = log
                && lane.source == Some((ground.chronicle.truth.current, log.cuts()))
                && let Some(strike) = ground.faults.strike(Fault::Redelivered, place)
                && let back = Offset(first.0.saturating_sub_unsigned(strike.severity))
                && let Some(again) = log.next_visible(back).filter(|again| *again < first)
            {
                lane.move_to(again);
                lane.fetch(ground.chronicle.truth.current, log, self.ahead);
                ground.chronicle.struck(
                    Fault::Redelivered,
                    Some(who),
                    format_args!("{tenure} of {who} is given {again} again, not {first}"),
                );
            }
            lane.waiting = None;
            let given = lane.queue.len().min(usize::try_from(poll.records).unwrap_or(usize::MAX));
            let offsets = Offsets::new(Arc::from(&lane.queue[..given]));
            lane.queue.drain(..given);
            if let Some(source) = lane.source {
                self.read.insert((who, tenure), source);
            }
            return Some(Event::Polled { tenure, offsets });
        }
        if let Some(log) = log.filter(|log| !is_mute && !lane.is_reset && lane.is_outside(log)) {
            (lane.waiting, lane.is_reset) = (None, true);
            let why = format!(
                "offset {} is out of range, the log is {} to {}",
                lane.position,
                log.start(),
                log.end()
            );
            return Some(Event::PollFailed { tenure, failure: PollFailure::Reset(why) });
        }
        if now < poll.deadline {
            self.plan(poll.deadline, id, Step::Serve { tenure, ask });
            return None;
        }
        lane.waiting = None;
        if is_mute && !lane.queue.is_empty() {
            ground.chronicle.struck(
                Fault::PollMisbehaves,
                Some(who),
                format_args!("a poll of {tenure} of {who} says nothing"),
            );
        }
        Some(Event::PollEmpty { tenure })
    }

    /// The log that a tenure's last records were read from, and how often it had been cut.
    #[must_use]
    pub fn read_from(&self, who: Life, tenure: TenureId) -> Option<(Incarnation, u32)> {
        self.read.get(&(who, tenure)).copied()
    }

    pub(super) fn retire(&mut self, ground: &Ground, id: ClientId, tenure: TenureId) {
        let lanes = &mut self.clients[id].lanes;
        let Some(index) = lanes.iter().position(|lane| lane.tenure == tenure) else { return };
        if lanes.remove(index).waiting.is_some() {
            self.plan(ground.now(), id, Step::Empty { tenure });
        }
    }

    pub(super) fn probe(
        &mut self,
        ground: &mut Ground,
        id: ClientId,
        tenure: TenureId,
        frontier: Frontier,
        within_ms: u64,
    ) {
        let worker = self.clients[id].who.worker;
        let wait = ground.pace.wait(Wait::Poll, Actor::Worker(worker)).min(within_ms);
        self.plan(ground.now() + wait, id, Step::Probe { tenure, from: frontier.0 });
    }

    /// What a client with a throw-away group sees now.
    pub(super) fn probed(&self, ground: &Ground, tenure: TenureId, from: i64) -> Event {
        let from = Offset(from);
        let again = |why: &str| Event::ProbeFailed { tenure, failure: Failure::Again(why.to_owned()) };
        let Some(log) = self.topic.led(&ground.chronicle.truth, tenure.partition) else {
            return again("the partition has no leader");
        };
        let end = log.stable_end();
        if from < log.start() && from < end {
            return again("the offset is out of range");
        }
        let first = log.next_visible(from);
        Event::Probed { tenure, sight: first.map_or(ProbeSight::Tail(end), ProbeSight::Record) }
    }
}

fn at(id: ClientId, kafka: &Kafka, tenure: TenureId) -> Place {
    Place::of(kafka.clients[id].who, tenure.partition.0)
}
