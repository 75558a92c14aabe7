//! S9, retire: a tenure ends in the step in which it learns that its row is another's, or not where it left it.

use amends_core::ids::TenureId;
use amends_core::lifecycle::event::Event;

use super::{Check, Verdict};
use crate::fact::{Fact, Op};
use crate::truth::{Tenancy, Truth};

/// The tenure that the step must end, and what speaks against it.
#[derive(Default)]
pub struct Retires {
    owing: Option<(TenureId, &'static str)>,
}

impl Check for Retires {
    const NAME: &'static str = "S9";
    const CLAIM: &'static str =
        "a tenure that is shown another token or an unexpected frontier retires, and tries nothing again";

    #[inline(always)]
    fn see(&mut self, fact: &Fact<'_>, truth: &Truth) -> Verdict {
        match fact {
            Fact::Delivered { who, event } => {
                let tenancy = event.tenure().and_then(|tenure| Some((tenure, truth.tenancy(*who, tenure)?)));
                self.owing = tenancy
                    .filter(|(_, tenancy)| tenancy.is_own() && !tenancy.is_retired)
                    .and_then(|(tenure, tenancy)| Some((tenure, against(event, tenancy)?)));
                Ok(())
            }
            Fact::Settled { who } => {
                let Some((tenure, why)) = self.owing.take() else { return Ok(()) };
                if truth.tenancy(*who, tenure).is_none_or(|tenancy| tenancy.is_retired) {
                    return Ok(());
                }
                Err(format!("{who} {tenure} {why}, and did not retire"))
            }
            _ => Ok(()),
        }
    }
}

/// What an answer says against its tenure.
fn against(event: &Event, tenancy: &Tenancy) -> Option<&'static str> {
    match event {
        Event::Fenced { .. } => Some("was fenced"),
        Event::Moved { .. } => Some("found its frontier moved"),
        // Before a claim was answered any row is right: it is claimed afresh.
        Event::Observed { token, frontier, .. } if tenancy.claimed.is_some() => {
            if *token != tenancy.claimed {
                return Some("read another token");
            }
            let sent = tenancy.sent.filter(|_| tenancy.open == Some(Op::Process));
            let behind = sent.map(|(range, ..)| range.last.frontier_after());
            // The first read under a claim tells where it begins.
            let is_expected = !tenancy.is_read_back()
                || *frontier == tenancy.frontier
                || (frontier.is_some() && *frontier == behind);
            (!is_expected).then_some("read an unexpected frontier")
        }
        _ => None,
    }
}
