//! Knows which rebalance callback waits for an answer, and when the member leaves the group to join it again.

use std::collections::BTreeMap;

use super::command::{Command, Timer};
use super::stop::StopReason;
use super::{BUDGET_MS, CONTENDED_TIMES, CONTENDED_WITHIN_MS};
use crate::ids::{Moment, Partition, RebalanceId};

/// The gate of one group member: exactly one answer for each callback.
#[derive(Clone, Debug)]
pub(super) struct Gate {
    member: u32,
    last: u32,
    /// The assignment stands: it was given, and nobody took it back.
    is_assigned: bool,
    /// The callback that waits for its `Assign`.
    pub(super) assigning: Option<RebalanceId>,
    /// The callback that waits for its `Unassign`.
    pub(super) revoking: Option<RebalanceId>,
    /// When each partition was fenced while the group assigned it to this member, within the last ten minutes and
    /// since its last decision.
    fences: BTreeMap<Partition, Vec<Moment>>,
    rejoining: Rejoining,
    waits: u32,
    /// The client closes, which answers every callback.
    is_closed: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rejoining {
    No,
    /// In so many milliseconds, by this wait.
    Waiting(u32),
    /// The decisions in flight end first; this wait bounds them.
    Leaving(u32),
}

/// What a rebalance callback is to the gate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Order {
    /// The next one.
    Next,
    /// Of an older member, not above the last, or of a client that closes: changes nothing.
    Stale,
    /// Of a member that was never joined.
    Unheard,
}

impl Gate {
    pub(super) fn new() -> Self {
        Self {
            member: 1,
            last: 0,
            is_assigned: false,
            assigning: None,
            revoking: None,
            fences: BTreeMap::new(),
            rejoining: Rejoining::No,
            waits: 0,
            is_closed: false,
        }
    }

    pub(super) fn close(&mut self, out: &mut Vec<Command>) {
        self.assigning = None;
        self.revoking = None;
        self.is_closed = true;
        out.push(Command::Close);
    }

    pub(super) fn order(&self, rebalance: RebalanceId) -> Order {
        if rebalance.member > self.member {
            Order::Unheard
        } else if rebalance.member < self.member || rebalance.number <= self.last || self.is_closed {
            Order::Stale
        } else {
            Order::Next
        }
    }

    /// Whether a client's complaint comes from the member of now.
    pub(super) fn is_current(&self, member: u32) -> bool {
        member == self.member
    }

    pub(super) fn assigned(&mut self, rebalance: RebalanceId) {
        self.last = rebalance.number;
        self.is_assigned = true;
        self.assigning = Some(rebalance);
        self.revoking = None;
        self.rejoining = Rejoining::No;
    }

    pub(super) fn revoked(&mut self, rebalance: RebalanceId, out: &mut Vec<Command>) {
        self.last = rebalance.number;
        self.is_assigned = false;
        self.assigning = None;
        self.revoking = Some(rebalance);
        self.rejoining = Rejoining::No;
        out.push(Command::Wait { timer: Timer::Rebalance { rebalance }, after_ms: BUDGET_MS });
    }

    /// Nobody waits for a member that lost its partitions: the callback is answered at once.
    pub(super) fn lost(&mut self, rebalance: RebalanceId, out: &mut Vec<Command>) {
        self.last = rebalance.number;
        self.is_assigned = false;
        self.assigning = None;
        self.revoking = None;
        self.rejoining = Rejoining::No;
        out.push(Command::Unassign { rebalance });
    }

    /// Whether the callback still waits when its time is over; it is answered then.
    pub(super) fn is_overdue(&mut self, rebalance: RebalanceId) -> bool {
        self.revoking == Some(rebalance) && self.revoking.take().is_some()
    }

    /// A tenure ended by a fence. When the assignment stands nobody else will come: the member rejoins in a while.
    pub(super) fn fenced(
        &mut self,
        now: Moment,
        partition: Partition,
        out: &mut Vec<Command>,
    ) -> Option<StopReason> {
        if !self.is_assigned {
            return None;
        }
        let fences = self.fences.entry(partition).or_default();
        fences.retain(|at| now.ms_since(*at) < CONTENDED_WITHIN_MS);
        fences.push(now);
        let times = u32::try_from(fences.len()).unwrap_or(CONTENDED_TIMES);
        if times >= CONTENDED_TIMES {
            return Some(StopReason::Contended { partition, times });
        }
        if self.rejoining == Rejoining::No {
            self.waits += 1;
            self.rejoining = Rejoining::Waiting(self.waits);
            let after_ms = 1_000 << (times - 1);
            out.push(Command::Wait { timer: Timer::Rejoin { wait: self.waits }, after_ms });
        }
        None
    }

    /// A decision of the partition: whoever fenced it before is gone.
    pub(super) fn decided(&mut self, partition: Partition) {
        if !self.fences.is_empty() {
            self.fences.remove(&partition);
        }
    }

    /// The wait before a rejoin is over: from now on nothing new begins. False when it was cancelled meanwhile.
    pub(super) fn leave(&mut self, wait: u32, out: &mut Vec<Command>) -> bool {
        if self.rejoining != Rejoining::Waiting(wait) {
            return false;
        }
        self.rejoining = Rejoining::Leaving(wait);
        out.push(Command::Wait { timer: Timer::Leave { wait }, after_ms: BUDGET_MS });
        true
    }

    /// The stream is to end: nobody joins again a group that it is about to leave.
    pub(super) fn stays(&mut self) {
        self.rejoining = Rejoining::No;
    }

    pub(super) fn is_leaving(&self) -> bool {
        matches!(self.rejoining, Rejoining::Leaving(_))
    }

    /// Whether this wait still bounds the leaving.
    pub(super) fn is_leaving_by(&self, wait: u32) -> bool {
        self.rejoining == Rejoining::Leaving(wait)
    }

    /// The next member joins; its callbacks are numbered from 1.
    pub(super) fn rejoin(&mut self, out: &mut Vec<Command>) {
        self.member += 1;
        self.last = 0;
        self.is_assigned = false;
        self.assigning = None;
        self.revoking = None;
        self.rejoining = Rejoining::No;
        out.push(Command::Rejoin { member: self.member });
    }
}
