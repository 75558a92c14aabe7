//! S5, the fence: every committed decision carries the token that stands in the row at its commit point.

use super::{Check, Verdict};
use crate::fact::Fact;
use crate::truth::Truth;

/// Needs no memory: the token of now is the truth's.
#[derive(Default)]
pub struct Fence;

impl Check for Fence {
    const NAME: &'static str = "S5";
    const CLAIM: &'static str = "a decision commits only under the token of its row";

    #[inline(always)]
    fn see(&mut self, fact: &Fact<'_>, truth: &Truth) -> Verdict {
        let Fact::Committed(commit) = fact else { return Ok(()) };
        let Some(carried) = commit.carried else { return Ok(()) };
        let row = truth.row(commit.partition);
        if row.token == Some(carried) {
            return Ok(());
        }
        let stands = row.token.map_or("none".to_owned(), |token| token.to_string());
        Err(format!("partition {} was decided under epoch {carried}, its row has {stands}", commit.partition))
    }
}
