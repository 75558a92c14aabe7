//! S6, compare and set: every committed decision expected the frontier that stands in the row at its commit point.

use super::{Check, Verdict};
use crate::fact::Fact;
use crate::truth::Truth;

/// Needs no memory: the frontier of now is the truth's.
#[derive(Default)]
pub struct CompareAndSet;

impl Check for CompareAndSet {
    const NAME: &'static str = "S6";
    const CLAIM: &'static str = "a decision commits only over the frontier that it expected";

    #[inline(always)]
    fn see(&mut self, fact: &Fact<'_>, truth: &Truth) -> Verdict {
        let Fact::Committed(commit) = fact else { return Ok(()) };
        let Some(expected) = commit.expected else { return Ok(()) };
        let stands = truth.row(commit.partition).frontier;
        if stands == Some(expected) {
            return Ok(());
        }
        let stands = stands.map_or("none".to_owned(), |frontier| frontier.to_string());
        let (by, partition) = (commit.maker(), commit.partition);
        Err(format!("{by} decided partition {partition} from {expected}, its row has {stands}"))
    }
}
