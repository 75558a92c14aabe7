//! S3, the frontier: it never falls, and a decision moves it behind its last record, over visible records without a gap.

use amends_core::ids::Frontier;

use super::{Check, Verdict};
use crate::fact::{Commit, Fact};
use crate::truth::Truth;

/// Needs no memory: the frontier of now is the truth's.
#[derive(Default)]
pub struct Ascent;

impl Check for Ascent {
    const NAME: &'static str = "S3";
    const CLAIM: &'static str = "a frontier never falls, and a decision moves it over the next visible records to behind the last of them";

    #[inline(always)]
    fn see(&mut self, fact: &Fact<'_>, truth: &Truth) -> Verdict {
        let Fact::Committed(commit) = fact else { return Ok(()) };
        if commit.is_operators_seek() {
            return Ok(());
        }
        let broken =
            |what: String| Err(format!("{}, partition {}: {what}", commit.maker(), commit.partition));
        let (before, after) = (truth.row(commit.partition).frontier, commit.after.frontier);
        if after < before {
            let after = after.map_or("none".to_owned(), |after| after.to_string());
            return broken(format!("the frontier fell from {} to {after}", before.unwrap_or(Frontier(0))));
        }
        match (after, commit.decided.last()) {
            (Some(after), Some(last)) if after != last.frontier_after() => {
                broken(format!("the frontier is {after} behind a decision to {last}"))
            }
            (Some(after), Some(_)) => match gap(commit, before.unwrap_or(Frontier(0)), after, truth) {
                Some(gap) => broken(gap),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }
}

/// Why the offsets are not the next visible ones.
fn gap(commit: &Commit, before: Frontier, after: Frontier, truth: &Truth) -> Option<String> {
    let decided = &commit.decided;
    if let Some(pair) = decided.windows(2).find(|pair| pair[0] >= pair[1]) {
        return Some(format!("{} is decided before {}", pair[0], pair[1]));
    }
    let first = decided.first().filter(|first| **first < before.next_offset());
    if let Some(first) = first {
        return Some(format!("{first} is decided at frontier {before}"));
    }
    if truth.is_undetectable(commit) {
        return None;
    }
    let log = truth.log(commit.partition);
    if let Some(invisible) = decided.iter().find(|offset| !log.is_decidable(**offset)) {
        return Some(format!("{invisible} is decided, and is no visible record"));
    }
    let left_out = log.skipped(before, after, decided)?;
    Some(format!("{left_out} is left out of a decision from {before} to {after}"))
}
