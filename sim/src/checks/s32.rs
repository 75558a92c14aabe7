//! S32, values: evidence, positions and outbox of every commit are what the oracle computes from the records.

use amends_core::lifecycle::command::Command;

use super::{Check, Verdict};
use crate::fact::{Commit, Fact, Written};
use crate::oracle::Oracle;
use crate::truth::Truth;

/// The oracle, in a world that keeps rows.
#[derive(Default)]
pub struct Values {
    oracle: Option<Oracle>,
    /// A failover took decisions back: the surviving ones count.
    is_stale: bool,
}

impl Check for Values {
    const NAME: &'static str = "S32";
    const CLAIM: &'static str = "evidence, positions and outbox equal the oracle's at every commit";

    #[inline(always)]
    fn see(&mut self, fact: &Fact<'_>, truth: &Truth) -> Verdict {
        match fact {
            Fact::Declared(config) => self.oracle = Some(Oracle::new((*config).clone())),
            Fact::Published { partition, record } => {
                if let Some(oracle) = &mut self.oracle {
                    oracle.record(*partition, record.offset, record.key.as_deref(), record.value.as_deref());
                }
            }
            Fact::Commanded { command: Command::Process { tenure, range, refused: true, .. }, .. } => {
                if let Some(oracle) = &mut self.oracle {
                    oracle.refuse(tenure.partition, range.first);
                }
            }
            Fact::Forgot { .. } => self.is_stale = true,
            Fact::Committed(commit) => return self.committed(commit, truth),
            _ => {}
        }
        Ok(())
    }
}

impl Values {
    fn committed(&mut self, commit: &Commit, truth: &Truth) -> Verdict {
        let (Some(oracle), Some(rows)) = (&mut self.oracle, commit.rows.as_deref()) else { return Ok(()) };
        let (Some(carried), false) = (commit.carried, commit.decided.is_empty()) else { return Ok(()) };
        if truth.is_undetectable(commit) {
            // What it decided is not what the oracle was shown, nor is anything that follows from it.
            self.oracle = None;
            return Ok(());
        }
        if std::mem::take(&mut self.is_stale) {
            oracle.rewind();
            for commit in truth.commits.iter().filter(|commit| !commit.decided.is_empty()) {
                oracle.decide(commit.partition, &commit.decided, 0)?;
            }
        }
        let expected = oracle.decide(commit.partition, &commit.decided, carried.epoch)?;
        let place = format!("partition {}", commit.partition);
        same("evidence", &expected.evidence, &rows.evidence).map_err(|why| format!("{place}: {why}"))?;
        same("outbox", &expected.outbox, &rows.outbox).map_err(|why| format!("{place}: {why}"))?;
        positions(oracle, &expected, rows).map_err(|why| format!("{place}: {why}"))
    }
}

type Row = Vec<Option<String>>;

fn text(row: &[Option<String>]) -> String {
    let columns: Vec<&str> = row.iter().map(|column| column.as_deref().unwrap_or("null")).collect();
    columns.join(" ")
}

/// The same rows, in any order.
fn same(table: &str, expected: &[Row], written: &[Row]) -> Verdict {
    if let Some(row) = written.iter().find(|row| !expected.contains(row)) {
        return Err(format!("{table} has {}, which does not follow from the records", text(row)));
    }
    match expected.iter().find(|row| !written.contains(row)) {
        Some(row) => Err(format!("{table} lacks {}", text(row))),
        None => Ok(()),
    }
}

/// Every position that changed is written; one that is written again as it was does no harm.
fn positions(oracle: &Oracle, expected: &Written, rows: &Written) -> Verdict {
    for row in &rows.positions {
        let [Some(item), Some(location), Some(day), ..] = row.as_slice() else {
            return Err(format!("position has {}, which names nothing", text(row)));
        };
        if oracle.position(item, location, day).as_ref() != Some(row) {
            return Err(format!("position has {}, which does not follow from the records", text(row)));
        }
    }
    match expected.positions.iter().find(|row| !rows.positions.contains(row)) {
        Some(row) => Err(format!("position lacks {}", text(row))),
        None => Ok(()),
    }
}
