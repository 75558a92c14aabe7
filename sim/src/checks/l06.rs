//! L6, the zombie: who slept through the loss of its partition finds out at its next word to the store, and writes nothing.

use std::collections::BTreeSet;

use amends_core::ids::{TenureId, Token};
use amends_core::lifecycle::event::Event;

use super::{Check, Verdict};
use crate::fact::{Fact, Op};
use crate::life::Life;
use crate::truth::{Tenancy, Truth};

/// Tenures whose token was replaced while their process stood still.
#[derive(Default)]
pub struct Zombie {
    replaced: BTreeSet<(Life, TenureId)>,
    /// One of them has just been shown its row.
    shown: Option<(Life, TenureId)>,
}

impl Check for Zombie {
    const NAME: &'static str = "L6";
    const CLAIM: &'static str =
        "a resumed worker whose token was replaced retires at its next store operation, without effect";

    #[inline(always)]
    fn see(&mut self, fact: &Fact<'_>, truth: &Truth) -> Verdict {
        match fact {
            Fact::Thawed { who } => self.thawed(*who, truth),
            // Their tokens may be the ones that survived.
            Fact::Forgot { .. } => self.replaced.clear(),
            _ if self.replaced.is_empty() => {}
            Fact::Crashed { who } | Fact::Exited { who } => self.replaced.retain(|(other, _)| other != who),
            Fact::Committed(commit) => {
                if let Some(ghost) = commit.ghost
                    && ghost.op == Op::Process
                    && self.replaced.contains(&(ghost.who, ghost.tenure))
                {
                    let (who, tenure) = (ghost.who, ghost.tenure);
                    return Err(format!(
                        "{who} {tenure} slept, was replaced, and decides {:?}",
                        commit.decided
                    ));
                }
            }
            Fact::Delivered { who, event } => self.delivered(*who, event, truth),
            Fact::Settled { who } => return self.settled(*who, truth),
            _ => {}
        }
        Ok(())
    }
}

impl Zombie {
    fn thawed(&mut self, who: Life, truth: &Truth) {
        let Some(process) = truth.processes.get(&who) else { return };
        let is_replaced = |(id, tenancy): &(&TenureId, &Tenancy)| {
            let row = truth.row(id.partition);
            tenancy.is_own()
                && !tenancy.is_retired
                && tenancy.claimed.is_some()
                && tenancy.claimed != row.token
        };
        let replaced = process.tenancies.iter().filter(is_replaced);
        self.replaced.extend(replaced.map(|(id, _)| (who, *id)));
    }

    fn delivered(&mut self, who: Life, event: &Event, truth: &Truth) {
        let (tenure, found): (TenureId, Option<Token>) = match event {
            Event::Fenced { tenure, by } => (*tenure, *by),
            Event::Observed { tenure, token, .. } => (*tenure, *token),
            _ => return,
        };
        let claimed = truth.tenancy(who, tenure).and_then(|tenancy| tenancy.claimed);
        if found != claimed && self.replaced.contains(&(who, tenure)) {
            self.shown = Some((who, tenure));
        }
    }

    fn settled(&mut self, who: Life, truth: &Truth) -> Verdict {
        let Some((_, tenure)) = self.shown.take_if(|(other, _)| *other == who) else { return Ok(()) };
        self.replaced.remove(&(who, tenure));
        let is_over = |tenancy: &Tenancy| tenancy.is_retired || !tenancy.is_own();
        if truth.tenancy(who, tenure).is_none_or(is_over) {
            return Ok(());
        }
        Err(format!("{who} {tenure} slept, was shown that it was replaced, and does not retire"))
    }
}
