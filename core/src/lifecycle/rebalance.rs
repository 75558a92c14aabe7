//! Knows what a rebalance callback does to the tenures, and when it is answered.

use super::command::Command;
use super::gate::Order;
use super::tenure::{Input, Tenure, Turn};
use super::{Lifecycle, Phase, note};
use crate::ids::{Partition, RebalanceId, TenureId};

impl Lifecycle {
    pub(super) fn assigned(&mut self, rebalance: RebalanceId, partitions: &[Partition]) -> Turn {
        match self.shared.gate.order(rebalance) {
            Order::Next => {}
            Order::Stale => return self.late_rebalance(),
            Order::Unheard => return Turn::Impossible,
        }
        // The assignment is the whole one: what the member held before is not its any more.
        self.turn_each(Input::Lost, |_| true);
        self.shared.gate.assigned(rebalance);
        if self.phase != Phase::Running {
            return Turn::Done;
        }
        for partition in partitions {
            let number = self.numbers.entry(*partition).or_insert(0);
            *number += 1;
            let id = TenureId { partition: *partition, number: *number };
            let tenure = Tenure::begin(id, rebalance, &mut self.shared);
            note(&mut self.after, &tenure);
            self.tenures.insert(id, tenure);
        }
        if !partitions.is_empty() {
            self.shared.checks.arm_due(&mut self.shared.out);
        }
        Turn::Done
    }

    pub(super) fn revoked(&mut self, rebalance: RebalanceId, partitions: &[Partition]) -> Turn {
        match self.shared.gate.order(rebalance) {
            Order::Next => {}
            Order::Stale => return self.late_rebalance(),
            Order::Unheard => return Turn::Impossible,
        }
        self.shared.gate.revoked(rebalance, &mut self.shared.out);
        self.turn_each(Input::Revoked, |tenure| partitions.contains(&tenure.id.partition));
        Turn::Done
    }

    pub(super) fn lost(&mut self, rebalance: RebalanceId) -> Turn {
        match self.shared.gate.order(rebalance) {
            Order::Next => {}
            Order::Stale => return self.late_rebalance(),
            Order::Unheard => return Turn::Impossible,
        }
        self.turn_each(Input::Lost, |_| true);
        self.shared.gate.lost(rebalance, &mut self.shared.out);
        Turn::Done
    }

    fn late_rebalance(&mut self) -> Turn {
        self.counters.late_rebalances += 1;
        Turn::Late
    }

    pub(super) fn settle_gate(&mut self) {
        if let Some(rebalance) = self.shared.gate.assigning
            && !self.tenures.values().any(|tenure| tenure.rebalance == rebalance && tenure.is_unplaced())
        {
            let (shared, after) = (&mut self.shared, &mut self.after);
            let mut is_confirmed = true;
            for tenure in self.tenures.values_mut().filter(|tenure| tenure.is_unconfirmed()) {
                is_confirmed = false;
                tenure.confirm(shared);
                note(after, tenure);
            }
            if !is_confirmed {
                return;
            }
            self.shared.gate.assigning = None;
            let after = &mut self.after;
            let positions = self.tenures.values_mut().filter_map(|tenure| {
                let position = tenure.place()?;
                note(after, tenure);
                Some(position)
            });
            self.shared.out.push(Command::Assign { rebalance, positions: positions.collect() });
        }
        let must_wait = || self.tenures.values().any(Tenure::holds_gate);
        if let Some(rebalance) = self.shared.gate.revoking
            && !must_wait()
        {
            self.shared.gate.revoking = None;
            self.shared.out.push(Command::Unassign { rebalance });
        }
        if self.shared.gate.is_leaving() && !must_wait() {
            self.shared.gate.rejoin(&mut self.shared.out);
        }
    }
}
