//! S20, atomicity: a commit moves the frontier behind what it decided, and everything that belongs to a decision is in it.

use amends_core::ids::{Frontier, Offset, Partition};

use super::{Check, Verdict};
use crate::fact::{Commit, Fact, Written};
use crate::truth::Truth;

/// Each commit is judged by itself.
#[derive(Default)]
pub struct Atomicity;

impl Check for Atomicity {
    const NAME: &'static str = "S20";
    const CLAIM: &'static str =
        "effects, outbox and frontier of a decision commit together, and nothing else moves a frontier";

    #[inline(always)]
    fn see(&mut self, fact: &Fact<'_>, _: &Truth) -> Verdict {
        let Fact::Committed(commit) = fact else { return Ok(()) };
        let Commit { tx, partition, before, after, decided, .. } = commit;
        let place = || format!("transaction {} at partition {partition}", tx.0);
        let Some(last) = decided.last() else {
            let is_first = before.frontier.is_none() && after.frontier == Some(Frontier(0));
            if before.frontier != after.frontier && !is_first {
                return Err(format!("{} moves the frontier and decides nothing", place()));
            }
            return match commit.rows.as_deref() {
                Some(rows) if *rows != Written::default() => {
                    Err(format!("{} writes rows and decides nothing", place()))
                }
                _ => Ok(()),
            };
        };
        if after.frontier != Some(last.frontier_after()) {
            let shown = after.frontier.map_or(-1, |frontier| frontier.0);
            return Err(format!("{} decides up to {last}, and leaves the frontier at {shown}", place()));
        }
        if before.token != after.token {
            return Err(format!("{} decides and changes the token", place()));
        }
        match commit.rows.as_deref() {
            Some(rows) => agree(*partition, decided, rows).map_err(|why| format!("{}: {why}", place())),
            None => Ok(()),
        }
    }
}

fn number(row: &[Option<String>], column: usize) -> Option<i64> {
    row.get(column)?.as_deref()?.parse().ok()
}

/// Evidence for exactly what was decided, and no envelope without its record and its position.
fn agree(partition: Partition, decided: &[Offset], rows: &Written) -> Verdict {
    let here = Some(i64::from(partition.0));
    if rows.evidence.len() != decided.len() {
        return Err(format!("{} records are decided, {} have evidence", decided.len(), rows.evidence.len()));
    }
    for row in &rows.evidence {
        let offset = number(row, 1).map(Offset);
        if number(row, 0) != here || offset.is_none_or(|offset| decided.binary_search(&offset).is_err()) {
            return Err(format!("evidence of {offset:?}, which it does not decide"));
        }
    }
    for row in &rows.outbox {
        let offset = number(row, 1).map(Offset);
        if number(row, 0) != here || offset.is_none_or(|offset| decided.binary_search(&offset).is_err()) {
            return Err(format!("an envelope caused by {offset:?}, which it does not decide"));
        }
        // Day, item and location of the envelope; item, location and day of the position.
        let is_of = |position: &Vec<Option<String>>| {
            position.get(2) == row.get(2) && position.first() == row.get(3) && position.get(1) == row.get(4)
        };
        if !rows.positions.iter().any(is_of) {
            return Err(format!("an envelope caused by {offset:?} without its position"));
        }
    }
    Ok(())
}
