//! S15, no cursor-only commit: a frontier moves with decisions, to behind the last of them, and for nothing else.

use amends_core::ids::Frontier;

use super::{Check, Verdict};
use crate::fact::Fact;
use crate::truth::Truth;

/// Needs no memory: the frontier of now is the truth's.
#[derive(Default)]
pub struct NoCursorOnly;

impl Check for NoCursorOnly {
    const NAME: &'static str = "S15";
    const CLAIM: &'static str = "a frontier moves only together with decisions, to behind the last of them";

    #[inline(always)]
    fn see(&mut self, fact: &Fact<'_>, truth: &Truth) -> Verdict {
        let Fact::Committed(commit) = fact else { return Ok(()) };
        let (before, after) = (truth.row(commit.partition).frontier, commit.after.frontier);
        let is_first_claim = before.is_none() && after == Some(Frontier(0)) && commit.carried.is_none();
        if before == after || is_first_claim || commit.is_operators_seek() {
            return Ok(());
        }
        let behind = commit.decided.last().map(|last| last.frontier_after());
        if behind.is_some() && after == behind {
            return Ok(());
        }
        let number = |frontier: Option<Frontier>| frontier.map_or("none".to_owned(), |at| at.to_string());
        let last = commit.decided.last().map_or("nothing".to_owned(), |last| format!("up to {last}"));
        Err(format!(
            "{} moved partition {} from {} to {}, and decided {last}",
            commit.maker(),
            commit.partition,
            number(before),
            number(after)
        ))
    }
}
