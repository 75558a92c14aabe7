//! S7, no guess: after a lost reply the row is read before anything else, three times at most.

use amends_core::ids::TenureId;
use amends_core::lifecycle::command::Command;
use amends_core::lifecycle::event::{Event, Failure};
use amends_core::lifecycle::stop::StopReason;

use super::begins::each_going_on;
use super::{Check, Verdict};
use crate::fact::{Fact, Op};
use crate::few::Few;
use crate::life::Life;
use crate::truth::{Process, Tenancy, Truth};

const READS: u32 = 3;

/// Who must read, and how often that failed.
#[derive(Default)]
pub struct NoGuess {
    /// The tenure that has to read before the step is over.
    must_read: Option<TenureId>,
    /// The step must end the stream.
    must_stop: Option<TenureId>,
    /// Reads of an unknown outcome that failed.
    failed: Few<(Life, TenureId), u32>,
    /// Who has to stop as unresolved.
    unresolved: Vec<Life>,
}

impl Check for NoGuess {
    const NAME: &'static str = "S7";
    const CLAIM: &'static str = "after a lost reply a tenure reads its row before anything else, and a third failure of that ends the stream";

    #[inline(always)]
    fn see(&mut self, fact: &Fact<'_>, truth: &Truth) -> Verdict {
        match fact {
            Fact::Delivered { who, event } => {
                self.delivered(*who, event, truth);
                Ok(())
            }
            Fact::Commanded { who, command } => self.commanded(*who, command, truth),
            Fact::Settled { who } => self.settled(*who, truth),
            _ => Ok(()),
        }
    }
}

impl NoGuess {
    fn delivered(&mut self, who: Life, event: &Event, truth: &Truth) {
        match event {
            Event::ClaimUnknown { tenure, .. } | Event::CommitUnknown { tenure, .. } => {
                self.failed.remove(&(who, *tenure));
                self.must_read = Some(*tenure);
            }
            Event::ObserveFailed { tenure, failure: Failure::Again(_) } => {
                let is_open = truth.tenancy(who, *tenure).is_some_and(|tenancy| tenancy.open.is_some());
                if is_open {
                    let failed = self.failed.or_default((who, *tenure));
                    *failed += 1;
                    // A stream that is to end already ends for its first reason.
                    let is_working = truth.processes.get(&who).is_some_and(Process::is_working);
                    self.must_stop = (*failed == READS && is_working).then_some(*tenure);
                }
            }
            _ => {}
        }
    }

    fn commanded(&mut self, who: Life, command: &Command, truth: &Truth) -> Verdict {
        if let Command::Stop { reason } = command {
            let is_told = matches!(reason, StopReason::Unresolved { .. });
            if self.unresolved.contains(&who) && !is_told {
                return Err(format!(
                    "{who} stops as {} with an outcome that it could not read",
                    reason.code()
                ));
            }
            return Ok(());
        }
        each_going_on(command, |tenure| match truth.tenancy(who, tenure).and_then(|tenancy| tenancy.open) {
            Some(op) => Err(format!("{who} {tenure}: {command}, and the outcome of its {op:?} is unknown")),
            None => Ok(()),
        })
    }

    fn settled(&mut self, who: Life, truth: &Truth) -> Verdict {
        let holds = |tenancy: &Tenancy| tenancy.is_own() && !tenancy.is_retired;
        let holds = |tenure| truth.tenancy(who, tenure).filter(|tenancy| holds(tenancy));
        if let Some(tenure) = self.must_read.take()
            && let Some(tenancy) = holds(tenure)
            && tenancy.in_flight.is_none_or(|asked| asked.op != Op::Observe)
        {
            return Err(format!("{who} {tenure} did not read its row after a lost reply"));
        }
        let Some(tenure) = self.must_stop.take() else { return Ok(()) };
        if truth.processes.get(&who).is_some_and(Process::is_working) {
            if holds(tenure).is_some() {
                return Err(format!(
                    "{who} {tenure} goes on after {READS} reads of an unknown outcome failed"
                ));
            }
        } else {
            self.unresolved.push(who);
        }
        Ok(())
    }
}
