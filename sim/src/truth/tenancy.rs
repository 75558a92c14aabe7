//! Knows what one process was told and what it asked for: its tenures as the world gave them.

use std::collections::BTreeMap;

use amends_core::ids::{Frontier, Offset, Partition, RebalanceId, TenureId, Token};
use amends_core::lifecycle::command::{CheckId, CheckParts, Command, Range, Timer};
use amends_core::lifecycle::event::{Event, Offsets};
use amends_core::lifecycle::stop::StopReason;

use crate::fact::Op;

/// One process.
#[derive(Clone, Debug, Default)]
pub struct Process {
    /// Every tenure that it was given.
    pub tenancies: BTreeMap<TenureId, Tenancy>,
    /// Stands still since.
    pub frozen_since: Option<u64>,
    /// Died.
    pub is_crashed: bool,
    /// Ended after its stop.
    pub is_exited: bool,
    /// Its last command.
    pub stopped: Option<StopReason>,
    /// The member that its events are of.
    pub member: u32,
    /// The last callback of that member.
    pub rebalance: u32,
    /// When, and by which event, an end was asked for.
    pub asked_at: Option<u64>,
    /// Since when the stream drains: nothing new begins.
    pub draining_since: Option<u64>,
    /// The check in flight: what it asks, and the step at which it was sent.
    pub check: Option<(CheckId, CheckParts, u64)>,
    numbers: BTreeMap<Partition, u32>,
}

/// Who has the partition, as the last delivered callback says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Own {
    /// This tenure.
    Assigned,
    /// The group took it.
    Revoked,
    /// It was lost.
    Lost,
    /// The stream ends.
    Cancelled,
}

/// A store operation in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InFlight {
    /// Which.
    pub op: Op,
    /// The step at which it was asked for.
    pub step: u64,
    /// When.
    pub at: u64,
}

/// The records in hand.
#[derive(Clone, PartialEq, Debug)]
pub struct Batch {
    /// Their offsets.
    pub offsets: Offsets,
    /// The step of the poll's answer.
    pub step: u64,
    /// How many of them are decided.
    pub decided: u32,
}

/// One stretch of having a partition.
#[derive(Clone, Debug)]
pub struct Tenancy {
    /// The callback that gave it.
    pub generation: RebalanceId,
    /// When.
    pub since: u64,
    /// Whose it is.
    pub own: Own,
    /// The callback that took it was answered.
    pub is_acknowledged: bool,
    /// Its process retired it.
    pub is_retired: bool,
    /// The token of its last claim that was answered with success.
    pub claimed: Option<Token>,
    /// The frontier of the last answer that showed its own token.
    pub frontier: Option<Frontier>,
    /// The store operation in flight.
    pub in_flight: Option<InFlight>,
    /// A claim or decision whose reply was lost and whose outcome was not read yet.
    pub open: Option<Op>,
    /// The last range sent, with the frontier that it expected.
    pub sent: Option<(Range, Frontier, Token)>,
    /// The records in hand.
    pub batch: Option<Batch>,
    /// Answered polls whose tickets are out.
    pub tickets: u32,
    /// A poll waits for its answer.
    pub is_polling: bool,
    /// Where it was sent by its last assign or seek that was answered.
    pub sought: Option<Frontier>,
}

impl Tenancy {
    fn new(generation: RebalanceId, now: u64) -> Self {
        Self {
            generation,
            since: now,
            own: Own::Assigned,
            is_acknowledged: false,
            is_retired: false,
            claimed: None,
            frontier: None,
            in_flight: None,
            open: None,
            sent: None,
            batch: None,
            tickets: 0,
            is_polling: false,
            sought: None,
        }
    }

    /// Whether it may begin something new.
    #[must_use]
    pub fn is_own(&self) -> bool {
        self.own == Own::Assigned
    }

    /// The offsets that a range names, when they are those in hand.
    #[must_use]
    pub fn named(&self, range: Range) -> Option<&[Offset]> {
        let (from, to) = (usize::try_from(range.from).ok()?, usize::try_from(range.to).ok()?);
        self.batch.as_ref()?.offsets.get(from..to)
    }
}

impl Process {
    /// Whether it runs and has not stopped.
    #[must_use]
    pub fn is_living(&self) -> bool {
        !self.is_crashed && !self.is_exited && self.stopped.is_none()
    }

    /// Whether it may begin something new.
    #[must_use]
    pub fn is_working(&self) -> bool {
        self.is_living() && self.draining_since.is_none() && self.asked_at.is_none()
    }

    /// Its newest tenure of a partition.
    #[must_use]
    pub fn newest(&self, partition: Partition) -> Option<(TenureId, &Tenancy)> {
        let number = *self.numbers.get(&partition)?;
        let id = TenureId { partition, number };
        self.tenancies.get(&id).map(|tenancy| (id, tenancy))
    }

    pub(super) fn crashed(&mut self) {
        self.is_crashed = true;
    }

    pub(super) fn exited(&mut self) {
        self.is_exited = true;
    }

    /// Whether a callback is the next one: of this member and above the last.
    #[must_use]
    pub fn is_next(&self, rebalance: RebalanceId) -> bool {
        let member = self.member.max(1);
        rebalance.member == member && rebalance.number > self.rebalance
    }

    fn end_all(&mut self, own: Own) {
        for tenancy in self.tenancies.values_mut().filter(|tenancy| tenancy.own == Own::Assigned) {
            tenancy.own = own;
        }
    }

    pub(super) fn delivered(&mut self, now: u64, step: u64, event: &Event) {
        match event {
            Event::Assigned { rebalance, partitions } if self.is_next(*rebalance) => {
                self.end_all(Own::Lost);
                (self.member, self.rebalance) = (rebalance.member, rebalance.number);
                if self.asked_at.is_some() {
                    return;
                }
                for partition in partitions {
                    let number = self.numbers.entry(*partition).or_insert(0);
                    *number += 1;
                    let id = TenureId { partition: *partition, number: *number };
                    self.tenancies.insert(id, Tenancy::new(*rebalance, now));
                }
            }
            Event::Revoked { rebalance, .. } if self.is_next(*rebalance) => {
                self.end_all(Own::Revoked);
                (self.member, self.rebalance) = (rebalance.member, rebalance.number);
            }
            Event::Lost { rebalance } if self.is_next(*rebalance) => {
                self.end_all(Own::Lost);
                (self.member, self.rebalance) = (rebalance.member, rebalance.number);
            }
            Event::ShutdownRequested | Event::PauseRequested | Event::StopRequested => {
                self.asked_at.get_or_insert(now);
                self.end_all(Own::Cancelled);
            }
            Event::Checked { .. } | Event::CheckFailed { .. } => self.check = None,
            _ => {}
        }
        let Some(tenancy) = event.tenure().and_then(|id| self.tenancies.get_mut(&id)) else { return };
        tenancy.delivered(step, event);
    }

    pub(super) fn commanded(&mut self, now: u64, step: u64, command: &Command) {
        match command {
            Command::Check { check, parts } => self.check = Some((*check, *parts, step)),
            Command::Unassign { .. } => {
                for tenancy in self.tenancies.values_mut().filter(|tenancy| !tenancy.is_own()) {
                    tenancy.is_acknowledged = true;
                }
            }
            Command::Assign { positions, .. } => {
                for (id, frontier) in positions {
                    if let Some(tenancy) = self.tenancies.get_mut(id) {
                        tenancy.sought = Some(*frontier);
                    }
                }
            }
            Command::Rejoin { member } => {
                self.end_all(Own::Lost);
                (self.member, self.rebalance) = (*member, 0);
            }
            Command::Wait { timer: Timer::Drain, .. } => {
                self.draining_since.get_or_insert(now);
            }
            // The member is about to leave: nothing new begins.
            Command::Wait { timer: Timer::Leave { .. }, .. } => self.end_all(Own::Lost),
            Command::Stop { reason } => self.stopped = Some(reason.clone()),
            _ => {}
        }
        let Some(tenancy) = command.tenure().and_then(|id| self.tenancies.get_mut(&id)) else { return };
        tenancy.commanded(now, step, command);
    }
}

impl Tenancy {
    fn delivered(&mut self, step: u64, event: &Event) {
        match event {
            Event::Claimed { token, frontier, .. } => {
                (self.in_flight, self.claimed, self.frontier) = (None, Some(*token), Some(*frontier));
            }
            Event::ClaimUnknown { .. } => (self.in_flight, self.open) = (None, Some(Op::Claim)),
            Event::CommitUnknown { .. } => (self.in_flight, self.open) = (None, Some(Op::Process)),
            Event::Observed { token, frontier, .. } => {
                (self.in_flight, self.open) = (None, None);
                if token.is_some() && *token == self.claimed {
                    if let (Some((range, expected, _)), Some(batch)) = (self.sent, self.batch.as_mut())
                        && *frontier == Some(range.last.frontier_after())
                        && *frontier != Some(expected)
                    {
                        batch.decided = batch.decided.max(range.to);
                    }
                    self.frontier = *frontier;
                }
            }
            Event::Committed { .. } => {
                self.in_flight = None;
                if let Some((range, ..)) = self.sent {
                    self.frontier = Some(range.last.frontier_after());
                    if let Some(batch) = &mut self.batch {
                        batch.decided = range.to;
                    }
                }
            }
            Event::ClaimFailed { .. }
            | Event::ObserveFailed { .. }
            | Event::ProcessFailed { .. }
            | Event::Fenced { .. }
            | Event::Moved { .. } => self.in_flight = None,
            Event::Polled { offsets, .. } => {
                self.is_polling = false;
                self.tickets += 1;
                self.batch = Some(Batch { offsets: offsets.clone(), step, decided: 0 });
            }
            Event::PollEmpty { .. } | Event::PollFailed { .. } => {
                self.is_polling = false;
                self.tickets += 1;
                self.batch = None;
            }
            _ => {}
        }
    }

    fn commanded(&mut self, now: u64, step: u64, command: &Command) {
        let in_flight = |op| Some(InFlight { op, step, at: now });
        match command {
            Command::Claim { .. } => self.in_flight = in_flight(Op::Claim),
            Command::Observe { .. } => self.in_flight = in_flight(Op::Observe),
            Command::Process { range, expected, token, .. } => {
                self.in_flight = in_flight(Op::Process);
                self.sent = Some((*range, *expected, *token));
            }
            Command::Seek { frontier, .. } => self.sought = Some(*frontier),
            Command::Poll { .. } => self.is_polling = true,
            Command::AllowRebalance { .. } => {
                self.tickets = self.tickets.saturating_sub(1);
                self.batch = None;
            }
            Command::Retire { .. } => self.is_retired = true,
            _ => {}
        }
    }
}
