//! Knows what one process was told and what it asked for, and which tenures it was given.

use std::sync::Arc;

use amends_core::ids::{Partition, RebalanceId, TenureId};
use amends_core::lifecycle::command::{CheckId, CheckParts, Command, Timer};
use amends_core::lifecycle::event::Event;
use amends_core::lifecycle::stop::StopReason;
use amends_core::source::boundary::Bounds;

use super::tenancy::{Own, Tenancy};
use crate::few::Few;

/// One process.
#[derive(Clone, Debug, Default)]
pub struct Process {
    /// Every tenure that it was given.
    pub tenancies: Few<TenureId, Tenancy>,
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
    /// The step at which the last check that showed the declared topic was sent; 0 before one did.
    pub passed: u64,
    /// The last bounds of the declared topic that it was shown, and the step at which they were asked for.
    pub bounds: Option<(u64, Arc<Bounds>)>,
    /// It was shown the declared topic by a broker that should have known of another one: what it decides from now on
    /// cannot be told from what is right.
    pub is_misled: bool,
    numbers: Few<Partition, u32>,
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

    fn cancel_all(&mut self) {
        for tenancy in self.tenancies.values_mut().filter(|tenancy| tenancy.is_own()) {
            tenancy.own = Own::Cancelled;
        }
    }

    fn revoke(&mut self, rebalance: RebalanceId, partitions: &[Partition]) {
        for (id, tenancy) in self.tenancies.iter_mut() {
            if partitions.contains(&id.partition) && matches!(tenancy.own, Own::Assigned | Own::Cancelled) {
                (tenancy.own, tenancy.revoked_by) = (Own::Revoked, Some(rebalance));
            }
        }
    }

    /// Whatever it holds is lost, and nobody waits for its answer to a revocation any longer.
    fn lose_all(&mut self) {
        for tenancy in self.tenancies.values_mut().filter(|tenancy| !tenancy.is_acknowledged) {
            (tenancy.own, tenancy.revoked_by) = (Own::Lost, None);
        }
    }

    pub(super) fn delivered(&mut self, now: u64, step: u64, event: &Event) {
        match event {
            Event::Assigned { rebalance, partitions } if self.is_next(*rebalance) => {
                self.lose_all();
                (self.member, self.rebalance) = (rebalance.member, rebalance.number);
                if self.asked_at.is_some() || self.draining_since.is_some() {
                    return;
                }
                for partition in partitions {
                    let number = self.numbers.or_default(*partition);
                    *number += 1;
                    let id = TenureId { partition: *partition, number: *number };
                    self.tenancies.insert(id, Tenancy::new(*rebalance, now, step));
                }
            }
            Event::Revoked { rebalance, partitions } if self.is_next(*rebalance) => {
                self.revoke(*rebalance, partitions);
                (self.member, self.rebalance) = (rebalance.member, rebalance.number);
            }
            Event::Lost { rebalance } if self.is_next(*rebalance) => {
                self.lose_all();
                (self.member, self.rebalance) = (rebalance.member, rebalance.number);
            }
            Event::ShutdownRequested | Event::PauseRequested | Event::StopRequested => {
                self.asked_at.get_or_insert(now);
                self.cancel_all();
            }
            Event::Checked { .. } | Event::CheckFailed { .. } => self.check = None,
            _ => {}
        }
        let Some(tenancy) = event.tenure().and_then(|id| self.tenancies.find_mut(&id)) else { return };
        tenancy.delivered(step, event);
    }

    pub(super) fn commanded(&mut self, now: u64, step: u64, command: &Command) {
        match command {
            Command::Check { check, parts } => self.check = Some((*check, *parts, step)),
            Command::Unassign { rebalance } => {
                for tenancy in self.tenancies.values_mut() {
                    tenancy.is_acknowledged |= tenancy.revoked_by == Some(*rebalance);
                }
            }
            Command::Assign { positions, .. } => {
                for (id, frontier) in positions {
                    if let Some(tenancy) = self.tenancies.find_mut(id) {
                        tenancy.seeks(*frontier);
                    }
                }
            }
            Command::Rejoin { member } => {
                self.lose_all();
                (self.member, self.rebalance) = (*member, 0);
            }
            Command::Wait { timer: Timer::Drain, .. } => {
                self.draining_since.get_or_insert(now);
                self.cancel_all();
            }
            // The member is about to leave: nothing new begins.
            Command::Wait { timer: Timer::Leave { .. }, .. } => self.cancel_all(),
            Command::Stop { reason } => self.stopped = Some(reason.clone()),
            _ => {}
        }
        let Some(tenancy) = command.tenure().and_then(|id| self.tenancies.find_mut(&id)) else { return };
        tenancy.commanded(now, step, command);
    }
}
