//! L9, no orphan: while workers live, no partition is for long without a tenure.

use std::collections::BTreeMap;

use amends_core::ids::Partition;

use super::{Check, Verdict};
use crate::fact::Fact;
use crate::truth::Truth;

/// The longest that a partition may be without one.
const WITHIN_MS: u64 = 60_000;
/// How often it is looked.
const LOOK_MS: u64 = 1_000;

/// Since when each partition has no tenure.
#[derive(Default)]
pub struct NoOrphan {
    bare_since: BTreeMap<Partition, u64>,
    look_at: u64,
}

impl Check for NoOrphan {
    const NAME: &'static str = "L9";
    const CLAIM: &'static str =
        "after the faults no partition is without a tenure for 60 s while a worker lives";

    #[inline(always)]
    fn see(&mut self, _: &Fact<'_>, truth: &Truth) -> Verdict {
        if truth.now < self.look_at || truth.healed_at.is_none() {
            return Ok(());
        }
        self.look_at = truth.now + LOOK_MS;
        if !truth.is_source_intact() || !truth.processes.values().any(|process| process.is_working()) {
            self.bare_since.clear();
            return Ok(());
        }
        for partition in truth.rows.keys() {
            let has_tenure = truth.processes.values().filter(|process| process.is_working()).any(|process| {
                process.newest(*partition).is_some_and(|(_, tenancy)| tenancy.is_own() && !tenancy.is_retired)
            });
            if has_tenure {
                self.bare_since.remove(partition);
                continue;
            }
            let since = *self.bare_since.entry(*partition).or_insert(truth.now);
            if truth.now > since + WITHIN_MS {
                return Err(format!(
                    "partition {partition} has had no tenure since {since}ms, and workers live"
                ));
            }
        }
        Ok(())
    }
}
