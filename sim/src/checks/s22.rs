//! S22, read-committed: what was aborted has no effect, and a gap costs no commit of its own.

use amends_core::ids::Offset;

use super::{Check, Verdict};
use crate::fact::{Entry, Fact, LogChange};
use crate::truth::Truth;

/// Whether compaction may have taken what was visible once.
#[derive(Default)]
pub struct ReadCommitted {
    is_compacted: bool,
}

impl Check for ReadCommitted {
    const NAME: &'static str = "S22";
    const CLAIM: &'static str =
        "only committed records are decided, and a gap is passed by the commit of the record behind it";

    #[inline(always)]
    fn see(&mut self, fact: &Fact<'_>, truth: &Truth) -> Verdict {
        let commit = match fact {
            Fact::LogChanged { change: LogChange::HoleAt(_), .. } => {
                self.is_compacted = true;
                return Ok(());
            }
            Fact::Committed(commit) => commit,
            _ => return Ok(()),
        };
        let log = truth.log(commit.partition);
        // Where a log was cut or another topic has the name, nobody can tell what lay at an offset.
        let (Some(last), 0, true) = (commit.decided.last(), log.cuts(), truth.current == truth.declared)
        else {
            return Ok(());
        };
        let is_invisible = |offset: &&Offset| match log.entry(**offset) {
            Some(Entry::Aborted | Entry::Control | Entry::Open) => true,
            Some(Entry::Hole) => !self.is_compacted,
            Some(Entry::Visible) | None => false,
        };
        if let Some(offset) = commit.decided.iter().find(is_invisible) {
            let entry = log.entry(*offset);
            return Err(format!(
                "partition {} decides offset {offset}, where {entry:?} lies",
                commit.partition
            ));
        }
        if commit.after.frontier != Some(last.frontier_after()) {
            let stands = commit.after.frontier.map_or(-1, |frontier| frontier.0);
            let partition = commit.partition;
            return Err(format!("partition {partition} stands at {stands} after record {last} was decided"));
        }
        Ok(())
    }
}
