//! S23, totality: every visible record gets its decision, however malformed it is and whatever PostgreSQL says of it.

use amends_core::ids::{Offset, TenureId};
use amends_core::lifecycle::command::{Command, Range};
use amends_core::lifecycle::event::{Event, ProcessFailure};

use super::{Check, Verdict};
use crate::fact::{Commit, Fact};
use crate::few::Few;
use crate::life::Life;
use crate::truth::Truth;

/// What each tenure sent last, and which ranges were refused for their data.
#[derive(Default)]
pub struct Totality {
    sent: Few<(Life, TenureId), Sent>,
}

struct Sent {
    range: Range,
    as_refused: bool,
    /// PostgreSQL refused some record of it.
    is_refused: bool,
}

impl Check for Totality {
    const NAME: &'static str = "S23";
    const CLAIM: &'static str =
        "no record stops the stream or is passed over: each is decided, and progress is made";

    #[inline(always)]
    fn see(&mut self, fact: &Fact<'_>, truth: &Truth) -> Verdict {
        match fact {
            Fact::Committed(commit) => passed_over(commit, truth),
            Fact::Delivered {
                who,
                event: Event::ProcessFailed { tenure, failure: ProcessFailure::Refused(_) },
            } => {
                if let Some(sent) = self.sent.find_mut(&(*who, *tenure)) {
                    sent.is_refused = true;
                }
                Ok(())
            }
            Fact::Commanded { who, command } => self.commanded(*who, command, truth),
            _ => Ok(()),
        }
    }
}

impl Totality {
    fn commanded(&mut self, who: Life, command: &Command, truth: &Truth) -> Verdict {
        match command {
            Command::Process { tenure, range, refused, .. } => {
                let sent = Sent { range: *range, as_refused: *refused, is_refused: false };
                match self.sent.insert((who, *tenure), sent).filter(|last| last.is_refused) {
                    Some(last) => last.is_narrowed(who, *tenure, *range, *refused),
                    None => Ok(()),
                }
            }
            Command::AllowRebalance { tenure } => {
                let is_dropped =
                    self.sent.remove(&(who, *tenure)).is_some_and(|sent| sent.is_refused && !sent.as_refused)
                        && truth.processes.get(&who).is_some_and(|process| {
                            process.is_working()
                                && process.tenancies.get(tenure).is_some_and(|tenancy| tenancy.is_own())
                        });
                if is_dropped {
                    return Err(format!("{who} {tenure} drops a range of which a record was refused"));
                }
                Ok(())
            }
            // Whatever is refused is narrowed or given back in the same step, so nothing of the kind is left at an end.
            Command::Stop { .. } => {
                match self.sent.iter().find(|((other, _), sent)| *other == who && sent.is_refused) {
                    Some(((_, tenure), sent)) => {
                        Err(format!("{who} {tenure} stops over the data of {}", sent.range.first))
                    }
                    None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }
}

impl Sent {
    fn is_narrowed(&self, who: Life, tenure: TenureId, range: Range, refused: bool) -> Verdict {
        let (records, last) = (range.to.saturating_sub(range.from), self.range);
        let is_narrower = match last.to - last.from {
            1 => range == last && (refused || self.as_refused),
            before => range.from == last.from && records < before,
        };
        if is_narrower {
            return Ok(());
        }
        Err(format!(
            "{who} {tenure} was refused {} to {} and goes on with {} to {}",
            last.first, last.last, range.first, range.last
        ))
    }
}

fn passed_over(commit: &Commit, truth: &Truth) -> Verdict {
    let (Some(from), Some(to)) = (commit.before.frontier, commit.after.frontier) else { return Ok(()) };
    let log = truth.log(commit.partition);
    // Where a log was cut, nobody can tell what lay at an offset.
    if from == to || log.cuts() > 0 || truth.current != truth.declared {
        return Ok(());
    }
    let mut decided = commit.decided.iter();
    let mut is_passed_over = |offset: &Offset| !decided.any(|done| done == offset);
    let visible = log.visible(from.next_offset()).take_while(|offset| *offset < to.next_offset());
    match visible.into_iter().find(|offset| is_passed_over(offset)) {
        Some(offset) => {
            Err(format!("partition {} moves from {from} to {to} and passes over {offset}", commit.partition))
        }
        None => Ok(()),
    }
}
