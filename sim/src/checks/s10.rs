//! S10, ownership: a tenure begins nothing once the group took its partition or the stream ends.

use amends_core::ids::TenureId;
use amends_core::lifecycle::command::Command;

use super::begins::each_begun;
use super::{Check, Verdict};
use crate::fact::Fact;
use crate::life::Life;
use crate::truth::Truth;

/// The tenure that is over and whose answer came, in the step in hand.
#[derive(Default)]
pub struct Ownership {
    late: Option<TenureId>,
}

impl Check for Ownership {
    const NAME: &'static str = "S10";
    const CLAIM: &'static str = "claims, seeks and decisions are begun only while the last callback gives the partition to that tenure, \
         and an answer to an older one starts none";

    #[inline(always)]
    fn see(&mut self, fact: &Fact<'_>, truth: &Truth) -> Verdict {
        match fact {
            Fact::Delivered { who, event } => {
                let is_over =
                    |tenure: &TenureId| truth.tenancy(*who, *tenure).is_none_or(|tenancy| !tenancy.is_own());
                self.late = event.tenure().filter(is_over);
                Ok(())
            }
            Fact::Commanded { who, command } => {
                each_begun(command, |tenure| owns(*who, tenure, command, truth))?;
                self.is_untouched(*who, command)
            }
            _ => Ok(()),
        }
    }
}

fn owns(who: Life, tenure: TenureId, command: &Command, truth: &Truth) -> Verdict {
    match truth.tenancy(who, tenure) {
        Some(tenancy) if tenancy.is_own() => Ok(()),
        Some(tenancy) => Err(format!("{who} {tenure}: {command}, and it is {:?}", tenancy.own)),
        None => Err(format!("{who} {tenure}: {command}, and it was never assigned")),
    }
}

impl Ownership {
    /// A lane that an older tenure held may be granted to the younger one, and nothing else follows for it.
    fn is_untouched(&self, who: Life, command: &Command) -> Verdict {
        let Some(late) = self.late else { return Ok(()) };
        let (Command::Claim { tenure, .. }
        | Command::Seek { tenure, .. }
        | Command::Poll { tenure, .. }
        | Command::Probe { tenure, .. }) = command
        else {
            return Ok(());
        };
        if tenure.partition == late.partition && *tenure != late {
            return Err(format!("{who} {tenure}: {command}, upon an answer to {late}, which is over"));
        }
        Ok(())
    }
}
