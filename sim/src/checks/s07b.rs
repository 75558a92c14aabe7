//! S7b, the right answer: what a tenure concludes from the read after a lost reply is what happened, and stays so.
//!
//! It concludes "committed" by going on behind the range, and "not committed" by sending the range again.

use amends_core::ids::{Frontier, TenureId, Token};
use amends_core::lifecycle::command::{Command, Range};
use amends_core::lifecycle::event::Event;

use super::{Check, Verdict};
use crate::fact::{Commit, Fact, Ghost, Op, TxId};
use crate::life::Life;
use crate::truth::Truth;

/// Decisions whose reply was lost, and those that may still commit.
#[derive(Default)]
pub struct RightAnswer {
    doubts: Vec<Doubt>,
    running: Vec<Running>,
}

/// A decision whose reply was lost.
struct Doubt {
    who: Life,
    tenure: TenureId,
    range: Range,
    expected: Frontier,
    token: Token,
    /// The step at which the read was asked for that showed the tenure's own token.
    read: Option<u64>,
}

/// A decision between its lock and its end.
struct Running {
    tx: TxId,
    ghost: Ghost,
    /// COMMIT was sent, so that it may land whoever has given it up.
    is_sent: bool,
}

impl Check for RightAnswer {
    const NAME: &'static str = "S7b";
    const CLAIM: &'static str = "after a lost reply a range is taken for committed when it is, and sent again when it is not and cannot be";

    #[inline(always)]
    fn see(&mut self, fact: &Fact<'_>, truth: &Truth) -> Verdict {
        match fact {
            Fact::Locked { tx, ghost: Some(ghost), partition } if ghost.op == Op::Process => {
                // Whoever got the lock before and did not send COMMIT has ended, or the lock would not be free.
                self.running
                    .retain(|running| running.is_sent || running.ghost.tenure.partition != *partition);
                self.running.push(Running { tx: *tx, ghost: *ghost, is_sent: false });
            }
            Fact::CommitSent { tx } => {
                if let Some(running) = self.running.iter_mut().find(|running| running.tx == *tx) {
                    running.is_sent = true;
                }
            }
            Fact::RolledBack { tx } => self.running.retain(|running| running.tx != *tx),
            Fact::Committed(commit) => {
                self.running.retain(|running| running.tx != commit.tx);
                return self.committed(commit);
            }
            Fact::Delivered { who, event } => self.delivered(*who, event, truth),
            Fact::Commanded { who, command } if !self.doubts.is_empty() => {
                return self.commanded(*who, command, truth);
            }
            Fact::Crashed { who } => self.doubts.retain(|doubt| doubt.who != *who),
            _ => {}
        }
        Ok(())
    }
}

impl RightAnswer {
    fn delivered(&mut self, who: Life, event: &Event, truth: &Truth) {
        match event {
            Event::CommitUnknown { tenure, .. } => {
                let sent = truth.tenancy(who, *tenure).and_then(|tenancy| tenancy.sent);
                let Some((range, expected, token)) = sent else { return };
                self.doubts.push(Doubt { who, tenure: *tenure, range, expected, token, read: None });
            }
            Event::Observed { tenure, token, .. } if !self.doubts.is_empty() => {
                let asked = truth.tenancy(who, *tenure).and_then(|tenancy| tenancy.in_flight);
                let Some(doubt) = self.doubts.iter_mut().find(|doubt| doubt.is_of(who, *tenure)) else {
                    return;
                };
                if *token == Some(doubt.token) {
                    doubt.read = asked.map(|asked| asked.step);
                }
            }
            _ => {}
        }
    }

    fn commanded(&mut self, who: Life, command: &Command, truth: &Truth) -> Verdict {
        let Some(tenure) = command.tenure() else { return Ok(()) };
        let Some(index) = self.doubts.iter().position(|doubt| doubt.is_of(who, tenure)) else {
            return Ok(());
        };
        let is_committed = match command {
            Command::Process { expected, .. } => *expected != self.doubts[index].expected,
            Command::Poll { .. } => true,
            Command::Retire { .. } => {
                self.doubts.swap_remove(index);
                return Ok(());
            }
            _ => return Ok(()),
        };
        let doubt = self.doubts.swap_remove(index);
        let Some(read) = doubt.read else { return Ok(()) };
        let Doubt { range: Range { first, last, .. }, token, .. } = doubt;
        let found = truth.commits.iter().rev().any(|commit| doubt.is_answered_by(commit));
        if is_committed {
            if found || truth.has_forgotten_since(tenure.partition, read) {
                return Ok(());
            }
            return Err(format!("{who} {tenure} takes {first}-{last} under epoch {token} for committed"));
        }
        if found {
            return Err(format!("{who} {tenure} sends {first}-{last} again, committed under epoch {token}"));
        }
        let may_land = self
            .running
            .iter()
            .find(|running| running.is_sent && running.ghost.who == who && running.ghost.tenure == tenure);
        match may_land {
            Some(running) => Err(format!(
                "{who} {tenure} sends {first}-{last} again, and its transaction {} may still commit",
                running.tx.0
            )),
            None => Ok(()),
        }
    }

    /// What was read must stay so.
    fn committed(&self, commit: &Commit) -> Verdict {
        let landed = self.doubts.iter().find(|doubt| doubt.read.is_some() && doubt.is_answered_by(commit));
        match landed {
            Some(Doubt { who, tenure, range, .. }) => Err(format!(
                "{who} {tenure}: {}-{} committed after the row was read to learn whether it had",
                range.first, range.last
            )),
            None => Ok(()),
        }
    }
}

impl Doubt {
    fn is_of(&self, who: Life, tenure: TenureId) -> bool {
        self.who == who && self.tenure == tenure
    }

    fn is_answered_by(&self, commit: &Commit) -> bool {
        commit.partition == self.tenure.partition
            && commit.carried == Some(self.token)
            && commit.expected == Some(self.expected)
            && commit.after.frontier == Some(self.range.last.frontier_after())
    }
}
