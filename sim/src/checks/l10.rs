//! L10, a failover noticed: an idle owner whose token or frontier was forgotten finds out by itself.

use std::collections::BTreeSet;

use amends_core::ids::TenureId;
use amends_core::lifecycle::command::{Command, Timer};
use amends_core::lifecycle::event::Event;

use super::due::Due;
use super::{Check, Verdict};
use crate::fact::Fact;
use crate::faults::Fault;
use crate::life::Life;
use crate::truth::{Tenancy, Truth};

/// How long an owner goes without an answer, and one read.
const WITHIN_MS: u64 = 5_000 + OBSERVE_MS;
/// The longest read, with the poll before it; timers are not quite exact.
const OBSERVE_MS: u64 = 6_000 + 1_500;

/// Which idle owners must have retired by when.
#[derive(Default)]
pub struct Noticed {
    due: Due<(Life, TenureId)>,
    /// Processes whose client is not served.
    deaf: BTreeSet<Life>,
    /// Commits were forgotten; the truth knows it from the next fact on.
    has_forgotten: bool,
}

impl Check for Noticed {
    const NAME: &'static str = "L10";
    const CLAIM: &'static str = "an idle owner of what a failover forgot retires within 5 s and one read";

    #[inline(always)]
    fn see(&mut self, fact: &Fact<'_>, truth: &Truth) -> Verdict {
        if std::mem::replace(&mut self.has_forgotten, matches!(fact, Fact::Forgot { .. })) {
            self.forgot(truth);
        }
        match fact {
            Fact::Delivered { who, event } => self.delivered(*who, event, truth),
            Fact::Commanded { who, command: Command::Retire { tenure } } => self.due.clear(&(*who, *tenure)),
            Fact::Commanded { who, command: Command::Wait { timer: Timer::Drain, .. } } => {
                self.due.forgive(*who);
            }
            // Its polls are not answered: it is not idle but deaf.
            Fact::Struck { fault: Fault::PollThreadStarved, who: Some(who) } => {
                self.deaf.insert(*who);
                self.due.forgive(*who);
            }
            _ => {}
        }
        match self.due.late(fact, truth, WITHIN_MS) {
            Some((who, tenure)) => {
                Err(format!("{who} {tenure} is idle, a failover forgot its row, and it does not notice"))
            }
            None => Ok(()),
        }
    }
}

impl Noticed {
    fn forgot(&mut self, truth: &Truth) {
        for (who, process) in truth.processes.iter().filter(|(_, process)| process.is_working()) {
            if self.deaf.contains(who) {
                continue;
            }
            let is_idle = |tenancy: &Tenancy| {
                tenancy.is_own() && !tenancy.is_retired && tenancy.is_polling && tenancy.in_flight.is_none()
            };
            for (id, tenancy) in process.tenancies.iter().filter(|(_, tenancy)| is_idle(tenancy)) {
                let row = truth.row(id.partition);
                if row.token != tenancy.claimed || row.frontier != tenancy.frontier {
                    self.due.set((*who, *id), truth.now + WITHIN_MS);
                }
            }
        }
    }

    fn delivered(&mut self, who: Life, event: &Event, truth: &Truth) {
        if matches!(event, Event::Polled { .. } | Event::PollEmpty { .. } | Event::PollFailed { .. }) {
            // Its client is served again.
            self.deaf.remove(&who);
        }
        match event {
            // Not idle any more: its next answer tells it.
            Event::Polled { tenure, .. } | Event::PollFailed { tenure, .. } => {
                self.due.clear(&(who, *tenure))
            }
            // It is logged and repeated.
            Event::ObserveFailed { tenure, .. } if self.due.get(&(who, *tenure)).is_some() => {
                self.due.set((who, *tenure), truth.now + 1_000 + OBSERVE_MS);
            }
            Event::Assigned { rebalance, .. }
            | Event::Revoked { rebalance, .. }
            | Event::Lost { rebalance }
                if truth.processes.get(&who).is_some_and(|process| process.is_next(*rebalance)) =>
            {
                self.due.forgive(who);
            }
            _ => {}
        }
    }
}
