//! S4, tokens: each claim raises the epoch, and a token belongs to one tenure of one process.

use amends_core::ids::{TenureId, Token};
use amends_core::lifecycle::event::Event;

use super::{Check, Verdict};
use crate::fact::{Commit, Fact, Op};
use crate::few::Few;
use crate::life::Life;
use crate::truth::Truth;

/// Who installed each token that ever was; `None` for a foreign hand. What a failover forgot is never given again.
#[derive(Default)]
pub struct Tokens {
    installed: Few<Token, Option<(Life, TenureId)>>,
}

impl Check for Tokens {
    const NAME: &'static str = "S4";
    const CLAIM: &'static str =
        "each claim raises the epoch above every surviving one, and a token is installed for one tenure";

    #[inline(always)]
    fn see(&mut self, fact: &Fact<'_>, truth: &Truth) -> Verdict {
        match fact {
            Fact::Committed(commit) => self.committed(commit, truth),
            Fact::Delivered { who, event: Event::Claimed { tenure, token, .. } } => {
                if self.installed.get(token) == Some(&Some((*who, *tenure))) {
                    return Ok(());
                }
                Err(format!("{who} {tenure} was told of a claim of epoch {token}, which it did not install"))
            }
            _ => Ok(()),
        }
    }
}

impl Tokens {
    fn committed(&mut self, commit: &Commit, truth: &Truth) -> Verdict {
        let (stands, installs) = (truth.row(commit.partition).token, commit.after.token);
        let is_claim = commit.ghost.is_some_and(|ghost| ghost.op == Op::Claim);
        if stands == installs && !is_claim {
            return Ok(());
        }
        let Some(token) = installs.filter(|_| commit.carried.is_none()) else {
            return Err(format!(
                "{} changed the token of partition {} without a claim",
                commit.maker(),
                commit.partition
            ));
        };
        if let Some(stands) = stands.filter(|stands| token.epoch <= stands.epoch) {
            return Err(format!(
                "{} claimed epoch {token}, and epoch {stands} stood in the row",
                commit.maker()
            ));
        }
        let installer = commit.ghost.map(|ghost| (ghost.who, ghost.tenure));
        match self.installed.insert(token, installer) {
            None => Ok(()),
            Some(_) => {
                Err(format!("{} claimed epoch {token} with a claim id that was given before", commit.maker()))
            }
        }
    }
}
