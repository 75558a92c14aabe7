//! S9b, no spurious end: a tenure that the group did not take retires only when its row speaks against it.

use amends_core::ids::TenureId;
use amends_core::lifecycle::command::Command;
use amends_core::lifecycle::event::Event;

use super::{Check, Verdict};
use crate::fact::{Fact, Op};
use crate::life::Life;
use crate::truth::Truth;

/// Who retired in the step in hand, and whether its row spoke against the tenure that was answered.
#[derive(Default)]
pub struct NoSpuriousEnd {
    retired: Vec<TenureId>,
    justified: Option<TenureId>,
}

impl Check for NoSpuriousEnd {
    const NAME: &'static str = "S9b";
    const CLAIM: &'static str = "a tenure retires only over another token, an unexpected frontier, or the end of its assignment or stream";

    #[inline(always)]
    fn see(&mut self, fact: &Fact<'_>, truth: &Truth) -> Verdict {
        match fact {
            Fact::Delivered { who, event } => {
                self.retired.clear();
                self.justified = justified(*who, event, truth);
            }
            Fact::Commanded { command: Command::Retire { tenure }, .. } => self.retired.push(*tenure),
            // Only the end of the step shows whether the stream ends with it.
            Fact::Settled { who } => {
                for tenure in self.retired.drain(..) {
                    let is_own = truth.tenancy(*who, tenure).is_some_and(|tenancy| {
                        tenancy.is_own() && tenancy.claimed == truth.row(tenure.partition).token
                    });
                    if is_own && self.justified != Some(tenure) {
                        return Err(format!("{who} {tenure} retired, and nothing speaks against it"));
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// The tenure of an answer that shows a row which is not as it left it, or was not when the answer was given.
fn justified(who: Life, event: &Event, truth: &Truth) -> Option<TenureId> {
    let (Event::Fenced { tenure, .. } | Event::Moved { tenure, .. } | Event::Observed { tenure, .. }) = event
    else {
        return None;
    };
    let tenancy = truth.tenancy(who, *tenure)?;
    let row = truth.row(tenure.partition);
    let behind = tenancy.sent.filter(|_| tenancy.open == Some(Op::Process));
    let is_expected = row.frontier == tenancy.frontier
        || row.frontier == behind.map(|(range, ..)| range.last.frontier_after());
    let is_stale =
        tenancy.in_flight.is_some_and(|asked| truth.has_forgotten_since(tenure.partition, asked.step));
    (row.token != tenancy.claimed || !is_expected || is_stale).then_some(*tenure)
}
