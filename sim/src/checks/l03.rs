//! L3, no ping-pong: once the faults are over, nobody takes partitions from each other for ever.

use std::collections::{BTreeMap, BTreeSet};

use amends_core::ids::Partition;

use super::{Check, Verdict};
use crate::fact::{Fact, Op};
use crate::truth::Truth;

/// Claims of workers since the faults ended.
#[derive(Default)]
pub struct NoPingPong {
    claims: BTreeMap<Partition, u32>,
}

impl Check for NoPingPong {
    const NAME: &'static str = "L3";
    const CLAIM: &'static str =
        "after the faults a partition gets at most two epochs for each worker, and two more";

    #[inline(always)]
    fn see(&mut self, fact: &Fact<'_>, truth: &Truth) -> Verdict {
        let Fact::Committed(commit) = fact else { return Ok(()) };
        if truth.healed_at.is_none() || commit.ghost.is_none_or(|ghost| ghost.op != Op::Claim) {
            return Ok(());
        }
        let claims = self.claims.entry(commit.partition).or_insert(0);
        *claims += 1;
        // One worker may have four: only then they are counted.
        if *claims <= 4 {
            return Ok(());
        }
        let workers: BTreeSet<u8> = truth.processes.keys().map(|who| who.worker).collect();
        let most = 2 * u32::try_from(workers.len()).unwrap_or(u32::MAX) + 2;
        if *claims <= most {
            return Ok(());
        }
        Err(format!(
            "partition {} was claimed {claims} times since the faults ended, by {} workers",
            commit.partition,
            workers.len()
        ))
    }
}
