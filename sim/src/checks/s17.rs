//! S17, lanes: one question at a time to the store, one range in hand, and so many decisions side by side.

use std::collections::BTreeSet;

use amends_core::ids::TenureId;
use amends_core::lifecycle::command::Command;
use amends_core::lifecycle::event::Event;

use super::{Check, Verdict};
use crate::fact::{Fact, Op};
use crate::life::Life;
use crate::truth::{Tenancy, Truth};

/// Who decides a range.
#[derive(Default)]
pub struct Lanes {
    /// From the first `Process` of a range until it is given back and nothing is in flight.
    taken: BTreeSet<(Life, TenureId)>,
}

impl Check for Lanes {
    const NAME: &'static str = "S17";
    const CLAIM: &'static str = "a tenure has one store operation in flight and one range in hand, a process no more decisions than lanes";

    #[inline(always)]
    fn see(&mut self, fact: &Fact<'_>, truth: &Truth) -> Verdict {
        match fact {
            Fact::Commanded { who, command } => self.commanded(*who, command, truth),
            Fact::Delivered { who, event } => {
                self.answered(*who, event, truth);
                Ok(())
            }
            Fact::Crashed { who } | Fact::Exited { who } => {
                self.taken.retain(|(other, _)| other != who);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

impl Lanes {
    fn commanded(&mut self, who: Life, command: &Command, truth: &Truth) -> Verdict {
        let (Command::Claim { tenure, .. }
        | Command::Observe { tenure, .. }
        | Command::Process { tenure, .. }
        | Command::Poll { tenure, .. }
        | Command::AllowRebalance { tenure }
        | Command::Retire { tenure }) = command
        else {
            return Ok(());
        };
        let Some(tenancy) = truth.tenancy(who, *tenure) else { return Ok(()) };
        match command {
            Command::Poll { .. } if tenancy.is_polling => {
                return Err(format!("{who} {tenure} polls twice at a time"));
            }
            Command::Poll { .. } if tenancy.batch.is_some() => {
                return Err(format!("{who} {tenure} polls with a range in hand"));
            }
            Command::Poll { .. } => {}
            Command::AllowRebalance { .. } | Command::Retire { .. } => {
                if !is_deciding(tenancy) {
                    self.taken.remove(&(who, *tenure));
                }
            }
            _ => {
                if let Some(first) = tenancy.in_flight {
                    let op = first.op;
                    return Err(format!("{who} {tenure} asks for {command} with {op:?} in flight"));
                }
                if matches!(command, Command::Process { .. }) {
                    return self.take(who, *tenure, truth.lanes);
                }
            }
        }
        Ok(())
    }

    fn take(&mut self, who: Life, tenure: TenureId, lanes: u32) -> Verdict {
        if !self.taken.insert((who, tenure)) {
            return Ok(());
        }
        let taken = self.taken.iter().filter(|(other, _)| *other == who).count();
        if taken <= lanes as usize {
            return Ok(());
        }
        Err(format!("{who} {tenure} decides as the {taken}. of its process, which has {lanes} lanes"))
    }

    /// The last answer of a range that was given back before it came.
    fn answered(&mut self, who: Life, event: &Event, truth: &Truth) {
        if let Event::Committed { tenure }
        | Event::CommitUnknown { tenure, .. }
        | Event::Fenced { tenure, .. }
        | Event::Moved { tenure, .. }
        | Event::ProcessFailed { tenure, .. } = event
            && truth.tenancy(who, *tenure).is_some_and(|tenancy| tenancy.batch.is_none())
        {
            self.taken.remove(&(who, *tenure));
        }
    }
}

fn is_deciding(tenancy: &Tenancy) -> bool {
    tenancy.in_flight.is_some_and(|in_flight| in_flight.op == Op::Process)
}
