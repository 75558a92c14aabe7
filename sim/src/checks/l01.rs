//! L1, drain: once the faults are over, everything visible is decided in bounded time.

use amends_core::ids::{Frontier, Partition};

use super::{Check, Verdict};
use crate::fact::{Fact, Row};
use crate::truth::Truth;

/// A rebalance, and the budget of a claim.
const BASE_MS: u64 = 60_000 + 20_000;
/// For each record that is not decided yet.
const RECORD_MS: u64 = 500;

/// By when all must be decided.
#[derive(Default)]
pub struct Drain {
    by: Option<u64>,
    backlog: u64,
}

impl Check for Drain {
    const NAME: &'static str = "L1";
    const CLAIM: &'static str = "after the faults an intact source is drained within 60 s, 20 s for a claim and 0.5 s for each record";

    #[inline(always)]
    fn see(&mut self, fact: &Fact<'_>, truth: &Truth) -> Verdict {
        if matches!(fact, Fact::Healed) {
            self.backlog = undecided(truth);
            self.by = Some(truth.now + BASE_MS + RECORD_MS * self.backlog);
        }
        let Some(by) = self.by.filter(|by| truth.now > *by) else { return Ok(()) };
        self.by = None;
        let has_worker = truth.processes.values().any(|process| process.is_living());
        if !truth.is_source_intact() || !has_worker || truth.is_drained() {
            return Ok(());
        }
        let (left, backlog) = (undecided(truth), self.backlog);
        Err(format!("{left} offsets are not decided at {by}ms, of {backlog} when the faults ended"))
    }
}

/// Offsets at and behind the frontiers, whatever lies there: an open transaction's too.
fn undecided(truth: &Truth) -> u64 {
    let of = |(partition, row): (&Partition, &Row)| {
        let frontier = row.frontier.unwrap_or(Frontier(0));
        u64::try_from(truth.log(*partition).end().0 - frontier.0).unwrap_or(0)
    };
    truth.rows.iter().map(of).sum()
}
