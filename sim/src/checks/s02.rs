//! S2, none lost: below a frontier every visible record is decided, and above it none.

use amends_core::ids::Frontier;

use super::{Check, Verdict};
use crate::fact::Fact;
use crate::truth::Truth;

/// Needs no memory: what lies below a frontier was judged when that was reached.
#[derive(Default)]
pub struct NoneLost;

impl Check for NoneLost {
    const NAME: &'static str = "S2";
    const CLAIM: &'static str = "what is decided is what is visible below the frontier, and nothing else";

    #[inline(always)]
    fn see(&mut self, fact: &Fact<'_>, truth: &Truth) -> Verdict {
        let Fact::Committed(commit) = fact else { return Ok(()) };
        let Some(after) = commit.after.frontier else { return Ok(()) };
        if commit.is_operators_seek() || truth.is_undetectable(commit) {
            return Ok(());
        }
        let (by, partition) = (|| commit.maker(), commit.partition);
        // What lies below the frontier that stood here was judged when that was reached.
        let before = truth.row(partition).frontier.unwrap_or(Frontier(0));
        if let Some(lost) = truth.log(partition).skipped(before, after, &commit.decided) {
            let by = by();
            return Err(format!(
                "{by} moved partition {partition} from {before} to {after}, and {lost} is not decided"
            ));
        }
        match commit.decided.iter().find(|offset| **offset >= after.next_offset()) {
            Some(beyond) => {
                Err(format!("{} decided {beyond}, and left partition {partition} at {after}", by()))
            }
            None => Ok(()),
        }
    }
}
