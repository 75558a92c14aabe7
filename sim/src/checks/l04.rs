//! L4, the visible stop: a source that is not what was declared ends every worker that has a tenure, with its name.

use std::collections::BTreeSet;

use amends_core::ids::{Partition, TenureId};
use amends_core::lifecycle::command::{Command, Timer};
use amends_core::lifecycle::event::{Event, Failure, ProcessFailure};
use amends_core::lifecycle::stop::StopReason;

use super::due::Due;
use super::explain::{is_explained, is_open};
use super::{Check, Verdict};
use crate::fact::{Commit, Fact, LogChange, Op};
use crate::life::Life;
use crate::truth::Truth;

/// The period of the check, and the check itself; and timers are not quite exact.
const AT_ONCE_MS: u64 = 5_000 + 300 + 500;
/// The same where a broker that is behind would show the same: what that is given.
const WITHIN_MS: u64 = AT_ONCE_MS + 20_000;

/// Who must stop, and who was told that something is broken.
#[derive(Default)]
pub struct VisibleStop {
    /// Since when every check must refuse: the source is spoilt, and the faults are over.
    since: Option<u64>,
    is_healed: bool,
    due: Due<Life>,
    /// Processes that began since then.
    fresh: BTreeSet<Life>,
    broken: BTreeSet<Life>,
    /// Whose outcome was open when its process began to drain: it may be read after the reason was given.
    doubted: BTreeSet<(Life, TenureId)>,
}

impl Check for VisibleStop {
    const NAME: &'static str = "L4";
    const CLAIM: &'static str = "a spoilt source stops every worker that has a tenure by its name, within 5.3 s or where a broker that is behind would show the same 25.3 s, and no worker stops without a cause";

    #[inline(always)]
    fn see(&mut self, fact: &Fact<'_>, truth: &Truth) -> Verdict {
        match fact {
            Fact::Recreated { .. } | Fact::Grew { .. } | Fact::Reconfigured => self.spoilt(truth),
            Fact::LogChanged { change: LogChange::StartsAt(start), incarnation, .. }
                if *incarnation == truth.declared && start.0 > 0 =>
            {
                self.spoilt(truth);
            }
            Fact::Healed => {
                self.is_healed = true;
                self.since = truth.is_visibly_spoilt().then_some(truth.now);
                self.demand_all(truth);
            }
            Fact::Started { who } if self.since.is_some() => {
                self.fresh.insert(*who);
            }
            Fact::Delivered { who, event } => self.delivered(*who, event, truth),
            Fact::Commanded { who, command } => self.commanded(*who, command, truth)?,
            Fact::Committed(commit) => self.committed(commit, truth)?,
            _ => {}
        }
        match self.due.late(fact, truth, WITHIN_MS) {
            Some(who) => Err(format!("{who} works on, and the source is not what was declared")),
            None => Ok(()),
        }
    }
}

impl VisibleStop {
    fn spoilt(&mut self, truth: &Truth) {
        if self.is_healed && self.since.is_none() {
            self.since = Some(truth.now);
            self.demand_all(truth);
        }
    }

    /// Whether the owner of a partition must find out that the source is spoilt.
    fn is_spoilt(&self, partition: Partition, truth: &Truth) -> bool {
        self.since.is_some() || truth.is_short(partition)
    }

    /// How long a worker may take. Only a log that is too short may be that of a broker that is behind.
    fn within_ms(&self) -> u64 {
        if self.since.is_some() { AT_ONCE_MS } else { WITHIN_MS }
    }

    fn demand_all(&mut self, truth: &Truth) {
        for (who, process) in truth.processes.iter().filter(|(_, process)| process.is_working()) {
            let has_spoilt = process.tenancies.iter().any(|(id, tenancy)| {
                tenancy.is_own() && !tenancy.is_retired && self.is_spoilt(id.partition, truth)
            });
            if has_spoilt {
                self.due.set(*who, truth.now + self.within_ms());
            }
        }
    }

    fn delivered(&mut self, who: Life, event: &Event, truth: &Truth) {
        match event {
            Event::ClientFailed { .. }
            | Event::CheckFailed { failure: Failure::Broken(_), .. }
            | Event::ClaimFailed { failure: Failure::Broken(_), .. }
            | Event::ObserveFailed { failure: Failure::Broken(_), .. }
            | Event::SeekFailed { failure: Failure::Broken(_), .. }
            | Event::ProbeFailed { failure: Failure::Broken(_), .. }
            | Event::ProcessFailed { failure: ProcessFailure::Attempt(Failure::Broken(_)), .. } => {
                self.broken.insert(who);
            }
            _ if !self.is_healed => {}
            Event::Assigned { rebalance, partitions } => {
                let process = truth.processes.get(&who).filter(|process| process.is_working());
                if !process.is_some_and(|process| process.is_next(*rebalance)) {
                    return;
                }
                // Whatever it held is over, also when no revocation came before: the new tenures look for themselves.
                self.due.clear(&who);
                if partitions.iter().any(|partition| self.is_spoilt(*partition, truth)) {
                    self.due.set(who, truth.now + self.within_ms());
                }
            }
            // Without a tenure nobody need look at the source.
            Event::Revoked { rebalance, .. } | Event::Lost { rebalance }
                if truth.processes.get(&who).is_some_and(|process| process.is_next(*rebalance)) =>
            {
                self.due.clear(&who);
            }
            _ => {}
        }
    }

    fn commanded(&mut self, who: Life, command: &Command, truth: &Truth) -> Verdict {
        match command {
            Command::Wait { timer: Timer::Drain, .. } => {
                self.due.clear(&who);
                let tenancies = truth.processes.get(&who).map(|process| process.tenancies.iter());
                let open = tenancies.into_iter().flatten().filter(|(_, tenancy)| is_open(tenancy));
                self.doubted.extend(open.map(|(id, _)| (who, *id)));
            }
            Command::Rejoin { .. } => self.due.clear(&who),
            Command::Stop { reason } => {
                let code = reason.code();
                let was_in_doubt = matches!(reason, StopReason::Unresolved { tenure, .. }
                    if self.doubted.contains(&(who, *tenure)));
                if !was_in_doubt && !is_explained(reason, who, self.broken.contains(&who), truth) {
                    return Err(format!(
                        "{who} stops with {code}, and nothing in the world explains it: {reason}"
                    ));
                }
                let is_named = matches!(reason, StopReason::Refused { .. }) || reason.is_orderly();
                if self.fresh.contains(&who) && !is_named {
                    return Err(format!("{who} began after the source was spoilt, and stops with {code}"));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Whoever was given a partition after the source was spoilt must find that out before it decides anything.
    fn committed(&self, commit: &Commit, truth: &Truth) -> Verdict {
        let (Some(since), Some(ghost)) = (self.since, commit.ghost) else { return Ok(()) };
        let given = truth.tenancy(ghost.who, ghost.tenure).map_or(0, |tenancy| tenancy.since);
        // What was sent before may wait for its row for as long as its budget.
        let is_late = given > since || truth.now > since + WITHIN_MS;
        if ghost.op == Op::Process && is_late {
            let (who, tenure) = (ghost.who, ghost.tenure);
            return Err(format!(
                "{who} {tenure} decides at {}ms, the source was spoilt by {since}ms",
                truth.now
            ));
        }
        Ok(())
    }
}
