//! L2, owner: once the faults are over, every partition has a living owner in bounded time.

use super::{Check, Verdict};
use crate::fact::Fact;
use crate::truth::Truth;

/// The longest session timeout of a world, the rebalance gate, the budget of a claim, and the supervisor with the drain of
/// a worker that is about to stop.
const WITHIN_MS: u64 = 15_000 + 20_000 + 20_000 + 21_000;

/// By when there must be owners.
#[derive(Default)]
pub struct Owner {
    by: Option<u64>,
}

impl Check for Owner {
    const NAME: &'static str = "L2";
    const CLAIM: &'static str = "after the faults every partition of an intact source has a living owner under its row's token within 76 s";

    #[inline(always)]
    fn see(&mut self, fact: &Fact<'_>, truth: &Truth) -> Verdict {
        if matches!(fact, Fact::Healed) {
            self.by = Some(truth.now + WITHIN_MS);
        }
        let Some(by) = self.by.filter(|by| truth.now > *by) else { return Ok(()) };
        self.by = None;
        let has_worker = truth.processes.values().any(|process| process.is_living());
        if !truth.is_source_intact() || !has_worker || truth.has_owners() {
            return Ok(());
        }
        Err(format!("a partition has no living owner at {by}ms"))
    }
}
