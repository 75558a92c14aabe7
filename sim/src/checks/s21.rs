//! S21, the honest log: what an answer of the store claims is so.

use amends_core::ids::{Frontier, TenureId, Token};
use amends_core::lifecycle::command::Command;
use amends_core::lifecycle::event::Event;

use super::{Check, Verdict};
use crate::fact::{Commit, Fact, Ghost, Op, Row, TxId};
use crate::few::Few;
use crate::life::Life;
use crate::truth::Truth;

/// The last attempt of each tenure.
#[derive(Default)]
pub struct HonestLog {
    attempts: Few<(Life, TenureId), Attempt>,
}

/// What became of an attempt at the store.
struct Attempt {
    op: Op,
    /// The transaction that got the lock for it, and the row as it was then.
    locked: Option<(TxId, Row)>,
    /// The row behind its commit.
    committed: Option<Row>,
    /// Its answer said that it surely has no effect.
    is_denied: bool,
}

impl Check for HonestLog {
    const NAME: &'static str = "S21";
    const CLAIM: &'static str = "acknowledged means committed, fenced and failed mean not committed by this attempt, each attempt has one answer";

    #[inline(always)]
    fn see(&mut self, fact: &Fact<'_>, truth: &Truth) -> Verdict {
        match fact {
            Fact::Commanded { who, command } => {
                let op = match command {
                    Command::Claim { .. } => Op::Claim,
                    Command::Observe { .. } => Op::Observe,
                    Command::Process { .. } => Op::Process,
                    _ => return Ok(()),
                };
                if let Some(tenure) = command.tenure() {
                    let attempt = Attempt { op, locked: None, committed: None, is_denied: false };
                    self.attempts.insert((*who, tenure), attempt);
                }
                Ok(())
            }
            Fact::Locked { tx, ghost: Some(ghost), partition } => {
                if let Some(attempt) = self.find(ghost) {
                    attempt.locked = Some((*tx, truth.row(*partition)));
                }
                Ok(())
            }
            Fact::Committed(commit) => self.committed(commit),
            Fact::Delivered { who, event } => self.delivered(*who, event, truth),
            _ => Ok(()),
        }
    }
}

impl HonestLog {
    fn find(&mut self, ghost: &Ghost) -> Option<&mut Attempt> {
        self.attempts.find_mut(&(ghost.who, ghost.tenure)).filter(|attempt| attempt.op == ghost.op)
    }

    fn committed(&mut self, commit: &Commit) -> Verdict {
        let Some(ghost) = &commit.ghost else { return Ok(()) };
        let Some(attempt) = self.find(ghost) else { return Ok(()) };
        if attempt.locked.is_some_and(|(tx, _)| tx != commit.tx) {
            return Ok(());
        }
        attempt.committed = Some(commit.after);
        if attempt.is_denied {
            return Err(format!(
                "{} {} commits {:?} after it was told that it wrote nothing",
                ghost.who, ghost.tenure, ghost.op
            ));
        }
        Ok(())
    }

    fn delivered(&mut self, who: Life, event: &Event, truth: &Truth) -> Verdict {
        let (op, tenure) = match event {
            Event::Claimed { tenure, .. }
            | Event::ClaimUnknown { tenure, .. }
            | Event::ClaimFailed { tenure, .. } => (Op::Claim, *tenure),
            Event::Observed { tenure, .. } | Event::ObserveFailed { tenure, .. } => (Op::Observe, *tenure),
            Event::Committed { tenure }
            | Event::CommitUnknown { tenure, .. }
            | Event::Fenced { tenure, .. }
            | Event::Moved { tenure, .. }
            | Event::ProcessFailed { tenure, .. } => (Op::Process, *tenure),
            _ => return Ok(()),
        };
        let Some(tenancy) = truth.tenancy(who, tenure) else { return Ok(()) };
        if tenancy.in_flight.is_none_or(|in_flight| in_flight.op != op) {
            return Err(format!("{who} {tenure} is answered {event}, and asked for no {op:?}"));
        }
        let Some(attempt) = self.attempts.find_mut(&(who, tenure)) else { return Ok(()) };
        let sent =
            tenancy.sent.map(|(range, expected, token)| (range.last.frontier_after(), expected, token));
        attempt.is_honest(event, sent).map_err(|why| format!("{who} {tenure} is answered {event}, {why}"))
    }
}

impl Attempt {
    /// `sent`: the frontier behind the range, the one before it, and the token.
    fn is_honest(&mut self, event: &Event, sent: Option<(Frontier, Frontier, Token)>) -> Verdict {
        let found = self.locked.map(|(_, row)| row);
        let is_so = match event {
            Event::Claimed { token, frontier, .. } => {
                self.committed == Some(Row { token: Some(*token), frontier: Some(*frontier) })
            }
            Event::Committed { .. } => sent.is_some_and(|(last, _, token)| {
                self.committed == Some(Row { token: Some(token), frontier: Some(last) })
            }),
            Event::Observed { token, frontier, .. } => {
                found.is_none_or(|row| row == Row { token: *token, frontier: *frontier })
            }
            Event::Fenced { by, .. } => {
                self.is_denied = true;
                let own = sent.map(|(_, _, token)| token);
                self.committed.is_none() && *by != own && found.is_none_or(|row| row.token == *by)
            }
            Event::Moved { frontier, .. } => {
                self.is_denied = true;
                let own = sent.map(|(_, expected, _)| expected);
                self.committed.is_none()
                    && *frontier != own
                    && found.is_none_or(|row| row.frontier == *frontier)
            }
            Event::ClaimFailed { .. } | Event::ProcessFailed { .. } => {
                self.is_denied = true;
                self.committed.is_none()
            }
            _ => true,
        };
        if is_so {
            return Ok(());
        }
        Err(match self.committed {
            Some(_) => "and this attempt committed".to_owned(),
            None => match found.and_then(|row| Some((row.token?, row.frontier?))) {
                Some((token, frontier)) => {
                    format!("and the row it locked had epoch {token} and frontier {frontier}")
                }
                None => "and this attempt did not commit".to_owned(),
            },
        })
    }
}
