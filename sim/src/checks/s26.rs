//! S26, versions: each envelope of a position has the next version, whatever epochs were burnt.

use std::collections::BTreeMap;

use super::{Check, Verdict};
use crate::fact::{Fact, Written};
use crate::truth::Truth;

/// The last version of each position.
#[derive(Default)]
pub struct Versions {
    /// By item, location and day.
    last: BTreeMap<[String; 3], i64>,
    /// A failover took envelopes back: the surviving ones count.
    is_stale: bool,
}

impl Check for Versions {
    const NAME: &'static str = "S26";
    const CLAIM: &'static str =
        "a position's envelopes have the versions 1, 2, 3 and so on, as many as decisions with output";

    #[inline(always)]
    fn see(&mut self, fact: &Fact<'_>, truth: &Truth) -> Verdict {
        match fact {
            Fact::Forgot { .. } => {
                self.is_stale = true;
                Ok(())
            }
            Fact::Committed(commit) => {
                let Some(rows) = commit.rows.as_deref() else { return Ok(()) };
                if std::mem::take(&mut self.is_stale) {
                    self.last.clear();
                    for rows in truth.commits.iter().filter_map(|commit| commit.rows.as_deref()) {
                        self.take(rows)?;
                    }
                }
                self.take(rows)
            }
            _ => Ok(()),
        }
    }
}

impl Versions {
    fn take(&mut self, rows: &Written) -> Verdict {
        for row in &rows.outbox {
            let (Some(place), Some(version)) = (place(row, [3, 4, 2]), number(row, 5)) else {
                return Err(format!("an envelope without position or version: {row:?}"));
            };
            let [item, location, day] = &place;
            let last = self.last.get(&place).copied().unwrap_or(0);
            if version != last + 1 {
                return Err(format!("{item}/{location} {day} has version {version} after {last}"));
            }
            self.last.insert(place, version);
        }
        for row in &rows.positions {
            let (Some(place), Some(version)) = (place(row, [0, 1, 2]), number(row, 3)) else {
                return Err(format!("a position without name or version: {row:?}"));
            };
            let last = self.last.get(&place).copied().unwrap_or(0);
            if version != last {
                let [item, location, day] = &place;
                return Err(format!(
                    "{item}/{location} {day} stands at version {version}, its envelopes at {last}"
                ));
            }
        }
        Ok(())
    }
}

fn place(row: &[Option<String>], columns: [usize; 3]) -> Option<[String; 3]> {
    let [item, location, day] = columns.map(|column| row.get(column).cloned().flatten());
    Some([item?, location?, day?])
}

fn number(row: &[Option<String>], column: usize) -> Option<i64> {
    row.get(column)?.as_deref()?.parse().ok()
}
