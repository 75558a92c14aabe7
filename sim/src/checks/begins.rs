//! Knows for which tenures a command begins something new: a claim, a seek or a decision.

use amends_core::ids::TenureId;
use amends_core::lifecycle::command::Command;

/// The tenures; an `Assign` is the first seek of each of its positions.
pub(super) fn begins(command: &Command) -> impl Iterator<Item = TenureId> + '_ {
    let (one, many) = match command {
        Command::Claim { tenure, .. } | Command::Seek { tenure, .. } | Command::Process { tenure, .. } => {
            (Some(*tenure), &[][..])
        }
        Command::Assign { positions, .. } => (None, &positions[..]),
        _ => (None, &[][..]),
    };
    one.into_iter().chain(many.iter().map(|(tenure, _)| *tenure))
}
