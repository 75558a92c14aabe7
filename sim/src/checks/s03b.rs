//! S3b, the mirror: who owns the row and waits for nothing knows its frontier.

use amends_core::ids::{Frontier, TenureId};
use amends_core::lifecycle::command::Command;

use super::{Check, Verdict};
use crate::fact::Fact;
use crate::life::Life;
use crate::truth::Truth;

/// The tenure that the step in hand told something.
#[derive(Default)]
pub struct Mirror {
    told: Option<TenureId>,
}

impl Check for Mirror {
    const NAME: &'static str = "S3b";
    const CLAIM: &'static str = "a tenure whose token stands in the row, with nothing in flight or unknown, goes by the row's frontier";

    #[inline(always)]
    fn see(&mut self, fact: &Fact<'_>, truth: &Truth) -> Verdict {
        match fact {
            Fact::Delivered { event, .. } => {
                self.told = event.tenure();
                Ok(())
            }
            Fact::Commanded { who, command } => match command {
                Command::Process { tenure, expected: frontier, .. }
                | Command::Seek { tenure, frontier, .. }
                | Command::Probe { tenure, frontier, .. } => is_mirrored(*who, *tenure, *frontier, truth),
                Command::Assign { positions, .. } => positions
                    .iter()
                    .try_for_each(|(tenure, frontier)| is_mirrored(*who, *tenure, *frontier, truth)),
                _ => Ok(()),
            },
            Fact::Settled { who } => {
                let Some(tenure) = self.told.take() else { return Ok(()) };
                let frontier = truth.tenancy(*who, tenure).and_then(|tenancy| tenancy.frontier);
                frontier.map_or(Ok(()), |frontier| is_mirrored(*who, tenure, frontier, truth))
            }
            _ => Ok(()),
        }
    }
}

fn is_mirrored(who: Life, tenure: TenureId, local: Frontier, truth: &Truth) -> Verdict {
    let Some(tenancy) = truth.tenancy(who, tenure) else { return Ok(()) };
    let row = truth.row(tenure.partition);
    let is_quiet = tenancy.in_flight.is_none() && tenancy.open.is_none() && !tenancy.is_retired;
    let is_owner = tenancy.claimed.is_some() && tenancy.claimed == row.token;
    // Nobody told it yet what a failover dropped, or it was told and is over.
    if !is_quiet
        || tenancy.is_retired
        || !is_owner
        || row.frontier == Some(local)
        || truth.has_forgotten_since(tenure.partition, tenancy.told)
    {
        return Ok(());
    }
    let stands = row.frontier.map_or("none".to_owned(), |frontier| frontier.to_string());
    Err(format!("{who} {tenure} goes by frontier {local}, and its row has {stands}"))
}
