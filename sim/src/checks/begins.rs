//! Knows for which tenures a command begins something new: a claim, a seek or a decision.

use amends_core::ids::TenureId;
use amends_core::lifecycle::command::Command;

use super::Verdict;

/// Judges each tenure; an `Assign` is the first seek of each of its positions. Most commands begin nothing.
#[inline(always)]
pub(super) fn each_begun(command: &Command, mut judge: impl FnMut(TenureId) -> Verdict) -> Verdict {
    match command {
        Command::Claim { tenure, .. } | Command::Seek { tenure, .. } | Command::Process { tenure, .. } => {
            judge(*tenure)
        }
        Command::Assign { positions, .. } => positions.iter().try_for_each(|(tenure, _)| judge(*tenure)),
        _ => Ok(()),
    }
}

/// The same; one that reads on begins nothing, and must be allowed to.
#[inline(always)]
pub(super) fn each_going_on(command: &Command, mut judge: impl FnMut(TenureId) -> Verdict) -> Verdict {
    match command {
        Command::Poll { tenure, .. } | Command::Probe { tenure, .. } => judge(*tenure),
        _ => each_begun(command, judge),
    }
}
