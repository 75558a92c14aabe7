//! S4b: once a revocation was acknowledged, its tenures take no row lock. A lock that nobody hears of takes nothing: its
//! client gave it up, and nothing that can commit follows.

use super::{Check, Verdict};
use crate::fact::{Fact, Ghost, Op, TxId};
use crate::truth::Truth;

/// Transactions that got the lock when it was too late.
#[derive(Default)]
pub struct LateLocks {
    late: Vec<(TxId, Ghost)>,
}

impl Check for LateLocks {
    const NAME: &'static str = "S4b";
    const CLAIM: &'static str =
        "no transaction takes the row lock for a tenure whose revocation was acknowledged";

    #[inline(always)]
    fn see(&mut self, fact: &Fact<'_>, truth: &Truth) -> Verdict {
        match fact {
            Fact::Locked { tx, ghost: Some(ghost), .. } => {
                let is_late =
                    truth.tenancy(ghost.who, ghost.tenure).is_some_and(|tenancy| tenancy.is_acknowledged);
                // A stream that ends reads once more what stayed unknown, whoever owns the partition by then.
                let is_settling = ghost.op == Op::Observe
                    && truth.processes.get(&ghost.who).is_some_and(|process| !process.is_working());
                if is_late && !is_settling {
                    self.late.push((*tx, *ghost));
                }
                Ok(())
            }
            Fact::LockAnswered { tx } | Fact::CommitSent { tx } => self.acts(*tx),
            Fact::Committed(commit) => self.acts(commit.tx),
            Fact::RolledBack { tx } => {
                self.late.retain(|(late, _)| late != tx);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

impl LateLocks {
    fn acts(&self, tx: TxId) -> Verdict {
        let Some((_, ghost)) = self.late.iter().find(|(late, _)| *late == tx) else { return Ok(()) };
        let Ghost { who, tenure, op, .. } = ghost;
        Err(format!("{who} {tenure} took the row for a {op:?} after its revocation was acknowledged"))
    }
}
