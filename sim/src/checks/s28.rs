//! S28, lock first: nothing that can commit is sent before the answer of the row's lock was read.

use super::{Check, Verdict};
use crate::fact::{Fact, Op, TxId};
use crate::few::Few;
use crate::truth::Truth;

/// How far each transaction of a worker is.
#[derive(Default)]
pub struct LockFirst {
    stages: Few<TxId, Stage>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    Locked,
    Answered,
    Sent,
    /// COMMIT was sent before the answer was read.
    SentEarly,
}

impl Check for LockFirst {
    const NAME: &'static str = "S28";
    const CLAIM: &'static str = "the answer of the row's lock is read before COMMIT is sent";

    #[inline(always)]
    fn see(&mut self, fact: &Fact<'_>, _: &Truth) -> Verdict {
        match fact {
            Fact::Locked { tx, ghost: Some(ghost), .. } if ghost.op != Op::Observe => {
                self.stages.or_insert_with(*tx, || Stage::Locked);
            }
            Fact::LockAnswered { tx } => {
                if let Some(stage @ Stage::Locked) = self.stages.find_mut(tx) {
                    *stage = Stage::Answered;
                }
            }
            Fact::CommitSent { tx } => {
                let stage = self.stages.or_insert_with(*tx, || Stage::SentEarly);
                *stage = match *stage {
                    Stage::Answered => Stage::Sent,
                    Stage::Locked | Stage::SentEarly => Stage::SentEarly,
                    Stage::Sent => Stage::Sent,
                };
            }
            Fact::RolledBack { tx } => {
                self.stages.remove(tx);
            }
            Fact::Committed(commit) => {
                let stage = self.stages.remove(&commit.tx);
                if let Some(ghost) = commit.ghost
                    && stage != Some(Stage::Sent)
                {
                    let so_far = match stage {
                        None => "it never had the lock",
                        Some(Stage::SentEarly) => {
                            "its COMMIT was sent before the answer of the lock was read"
                        }
                        Some(_) => "its client never sent COMMIT",
                    };
                    let (tx, who, tenure) = (commit.tx.0, ghost.who, ghost.tenure);
                    return Err(format!("transaction {tx} of {who} {tenure} commits, and {so_far}"));
                }
            }
            _ => {}
        }
        Ok(())
    }
}
