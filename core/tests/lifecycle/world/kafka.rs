//! The topic, the member's client and its group, as Kafka has them.

use std::collections::BTreeMap;
use std::sync::Arc;

use amends_core::ids::{Offset, Partition, RebalanceId, TenureId};
use amends_core::lifecycle::event::{Event, Failure, Offsets, PollFailure, ProbeSight};
use amends_core::source::boundary::{Bounds, LogSpan, Sight, TopicSight};

use super::dice::Dice;
use crate::story::incarnation;

/// At most so many records come from one poll.
pub const BATCH: usize = 8;

/// One partition's log: its visible offsets, and its read-committed end.
#[derive(Default)]
pub struct Log {
    pub visible: Vec<i64>,
    pub end: i64,
}

pub struct Kafka {
    pub logs: Vec<Log>,
    /// The topic was deleted and made anew.
    pub is_recreated: bool,
    /// Where each lane's client reads.
    positions: BTreeMap<TenureId, i64>,
    pub group: Group,
}

/// What the group has told the member.
pub struct Group {
    pub member: u32,
    number: u32,
    /// What was assigned by the last callback.
    pub assigned: Option<Vec<Partition>>,
    /// The callback that waits for its answer, whether it is an `Assigned`, and since when.
    pub pending: Option<(RebalanceId, bool, u64)>,
    /// The last callback said that everything is lost.
    pub is_lost: bool,
    pub is_closing: bool,
}

impl Log {
    /// The visible offsets from here on.
    pub fn from(&self, offset: i64) -> &[i64] {
        &self.visible[self.visible.partition_point(|visible| *visible < offset)..]
    }

    /// More records, or aborted ones, which show as a hole.
    pub fn grow(&mut self, dice: &mut Dice) {
        for _ in 0..=dice.below(3) {
            if dice.chance(700) {
                self.visible.push(self.end);
            }
            self.end += 1;
        }
    }
}

impl Kafka {
    pub fn new(partitions: usize, dice: &mut Dice) -> Self {
        let mut logs: Vec<Log> = (0..partitions).map(|_| Log::default()).collect();
        for log in &mut logs {
            log.grow(dice);
        }
        let group =
            Group { member: 1, number: 0, assigned: None, pending: None, is_lost: false, is_closing: false };
        Self { logs, is_recreated: false, positions: BTreeMap::new(), group }
    }

    pub fn log(&self, partition: Partition) -> &Log {
        &self.logs[partition.0 as usize]
    }

    pub fn sight(&self, has_bounds: bool, dice: &mut Dice) -> Sight {
        let partitions = u32::try_from(self.logs.len()).expect("small");
        if dice.fault(dice.rates.check / 4) {
            return Sight { topic: TopicSight::Unknown, bounds: None };
        }
        let uuid = incarnation(if self.is_recreated { 8 } else { 7 });
        let topic = TopicSight::Known { incarnation: Some(uuid), partitions };
        let span = |log: &Log| LogSpan { start: Offset(0), end: Offset(log.end) };
        let mut logs: Vec<Option<LogSpan>> = self.logs.iter().map(|log| Some(span(log))).collect();
        if dice.fault(dice.rates.check / 4) {
            logs[0] = None;
        }
        let bounds = has_bounds.then(|| Bounds {
            cleanup_policy: "delete".to_owned(),
            retention_ms: -1,
            retention_bytes: -1,
            unclean_leader_election: false,
            logs,
        });
        Sight { topic, bounds: bounds.map(Arc::new) }
    }

    /// The client's seek: it may land elsewhere.
    pub fn seek(&mut self, tenure: TenureId, frontier: i64, dice: &mut Dice) -> Event {
        if dice.fault(dice.rates.seek / 4) {
            return Event::SeekFailed { tenure, failure: Failure::Again("erroneous state".to_owned()) };
        }
        let end = self.log(tenure.partition).end;
        let elsewhere = i64::try_from(dice.below(end.unsigned_abs() + 4)).expect("small");
        let position = if dice.fault(dice.rates.seek) { elsewhere } else { frontier };
        self.positions.insert(tenure, position);
        Event::Sought { tenure }
    }

    pub fn poll(&mut self, tenure: TenureId, dice: &mut Dice) -> Event {
        let Some(position) = self.positions.get(&tenure).copied() else { return Event::PollEmpty { tenure } };
        let log = &self.logs[tenure.partition.0 as usize];
        if position > log.end {
            let failure = PollFailure::Reset("offset is out of range".to_owned());
            return Event::PollFailed { tenure, failure };
        }
        if dice.fault(dice.rates.poll) {
            return Event::PollFailed { tenure, failure: PollFailure::Again("no broker".to_owned()) };
        }
        // What was fetched before a seek may come once more.
        let back = if dice.fault(dice.rates.poll) { i64::try_from(dice.below(6)).expect("small") } else { 0 };
        let from = log.from((position - back).max(0));
        let most = 1 + dice.index(BATCH);
        let given = &from[..from.len().min(most)];
        let Some(last) = given.last() else { return Event::PollEmpty { tenure } };
        self.positions.insert(tenure, last + 1);
        Event::Polled { tenure, offsets: Offsets::new(given.iter().copied().map(Offset).collect()) }
    }

    pub fn has_records(&self, tenure: TenureId) -> bool {
        let position = self.positions.get(&tenure);
        position.is_some_and(|position| {
            let log = self.log(tenure.partition);
            *position > log.end || !log.from(*position).is_empty()
        })
    }

    pub fn probe(&self, tenure: TenureId, frontier: i64, dice: &mut Dice) -> Event {
        if dice.fault(dice.rates.poll) {
            return Event::ProbeFailed { tenure, failure: Failure::Again("no broker".to_owned()) };
        }
        let log = self.log(tenure.partition);
        let sight = match log.from(frontier).first() {
            Some(first) => ProbeSight::Record(Offset(*first)),
            None => ProbeSight::Tail(Offset(log.end)),
        };
        Event::Probed { tenure, sight }
    }

    /// The queues are emptied, and the lanes with them.
    pub fn forget_lanes(&mut self) {
        self.positions.clear();
    }

    pub fn retire(&mut self, tenure: TenureId) {
        self.positions.remove(&tenure);
    }
}

impl Group {
    fn next(&mut self) -> RebalanceId {
        self.number += 1;
        RebalanceId { member: self.member, number: self.number }
    }

    pub fn assign(&mut self, now: u64, partitions: Vec<Partition>) -> Event {
        let rebalance = self.next();
        self.assigned = Some(partitions.clone());
        self.pending = Some((rebalance, true, now));
        Event::Assigned { rebalance, partitions }
    }

    pub fn revoke(&mut self, now: u64) -> Event {
        let rebalance = self.next();
        self.is_lost = false;
        self.pending = Some((rebalance, false, now));
        Event::Revoked { rebalance, partitions: self.assigned.take().unwrap_or_default() }
    }

    /// Nobody waits, but the callback is answered all the same.
    pub fn lose(&mut self, now: u64) -> Event {
        let rebalance = self.next();
        (self.assigned, self.is_lost) = (None, true);
        self.pending = Some((rebalance, false, now));
        Event::Lost { rebalance }
    }

    /// A callback of an older member, or one that was overtaken.
    pub fn stale(&self, dice: &mut Dice) -> Option<Event> {
        let is_older = self.member > 1 && dice.chance(500);
        let member = if is_older { self.member - 1 } else { self.member };
        let number = if is_older { 1_000 } else { self.number };
        let rebalance = RebalanceId { member, number };
        (number > 0).then(|| match dice.below(3) {
            0 => Event::Assigned { rebalance, partitions: vec![Partition(0)] },
            1 => Event::Revoked { rebalance, partitions: vec![Partition(0)] },
            _ => Event::Lost { rebalance },
        })
    }

    pub fn rejoin(&mut self, member: u32) {
        *self = Self { member, number: 0, assigned: None, pending: None, is_lost: false, is_closing: false };
    }
}
