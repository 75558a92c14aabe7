//! S1, one effect: each record is decided at most once. What the decision says is S32's.

use amends_core::ids::{Offset, Partition};

use super::{Check, Verdict};
use crate::fact::Fact;
use crate::few::Few;
use crate::truth::Truth;

/// For each partition, which offsets surviving commits decided.
#[derive(Default)]
pub struct OneEffect {
    decided: Few<Partition, Vec<bool>>,
}

impl Check for OneEffect {
    const NAME: &'static str = "S1";
    const CLAIM: &'static str = "a record is decided by one surviving commit at most";

    #[inline(always)]
    fn see(&mut self, fact: &Fact<'_>, truth: &Truth) -> Verdict {
        match fact {
            Fact::Committed(commit) if !truth.is_undetectable(commit) => {
                for offset in &commit.decided {
                    if self.mark(commit.partition, *offset, true) {
                        let (by, partition) = (commit.maker(), commit.partition);
                        return Err(format!(
                            "{by} decided offset {offset} of partition {partition} once more"
                        ));
                    }
                }
            }
            Fact::Forgot { commits } => {
                let survive = truth.commits.len().saturating_sub(*commits as usize);
                for commit in &truth.commits[survive..] {
                    for offset in &commit.decided {
                        self.mark(commit.partition, *offset, false);
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }
}

impl OneEffect {
    /// Whether it was decided until now.
    fn mark(&mut self, partition: Partition, offset: Offset, is_decided: bool) -> bool {
        let Ok(index) = usize::try_from(offset.0) else { return false };
        let decided = self.decided.or_default(partition);
        if decided.len() <= index {
            decided.resize(index + 1, false);
        }
        std::mem::replace(&mut decided[index], is_decided)
    }
}
