//! S13, the seek: a client is sent to the frontier that this tenure read, within the log, and is believed only when its
//! first records are there, or where a probe saw them.

use amends_core::ids::{Frontier, TenureId};
use amends_core::lifecycle::command::Command;
use amends_core::lifecycle::event::{Event, ProbeSight};

use super::{Check, Verdict};
use crate::fact::Fact;
use crate::few::Few;
use crate::life::Life;
use crate::truth::{Process, Tenancy, Truth};

/// So many polls may follow bounds that show records where polls were empty: the one under way, and two idle ones.
const MOST_POLLS: u32 = 3;

/// Clients that have shown nothing since they were sent somewhere.
#[derive(Default)]
pub struct Seeks {
    empties: Few<(Life, TenureId), Empty>,
}

/// A client that has shown nothing since it was sent somewhere.
#[derive(Default)]
struct Empty {
    /// Bounds that are asked for after this step will tell whether an empty poll was right.
    since: Option<u64>,
    /// Polls since bounds told that it was not.
    polls: Option<u32>,
}

impl Check for Seeks {
    const NAME: &'static str = "S13";
    const CLAIM: &'static str = "a seek goes to the frontier that its tenure read, within the log; records elsewhere, or none where some \
         are, are believed to a probe only";

    #[inline(always)]
    fn see(&mut self, fact: &Fact<'_>, truth: &Truth) -> Verdict {
        match fact {
            Fact::Delivered { who, event } => {
                self.delivered(*who, event, truth);
                Ok(())
            }
            Fact::Commanded { who, command } => {
                let Some(process) = truth.processes.get(who) else { return Ok(()) };
                match command {
                    Command::Seek { tenure, frontier, .. } => {
                        self.empties.remove(&(*who, *tenure));
                        is_target(*who, *tenure, *frontier, process)
                    }
                    Command::Assign { positions, .. } => positions
                        .iter()
                        .try_for_each(|(tenure, frontier)| is_target(*who, *tenure, *frontier, process)),
                    Command::Process { tenure, .. } => process
                        .tenancies
                        .get(tenure)
                        .map_or(Ok(()), |tenancy| has_taken(*who, *tenure, tenancy)),
                    Command::Probe { tenure, .. } | Command::Retire { tenure } => {
                        self.empties.remove(&(*who, *tenure));
                        Ok(())
                    }
                    Command::Poll { tenure, .. } => self.polls(*who, *tenure),
                    _ => Ok(()),
                }
            }
            Fact::Crashed { who } => {
                self.empties.retain(|(of, _), _| of != who);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// Whether a client may be sent there.
fn is_target(who: Life, tenure: TenureId, target: Frontier, process: &Process) -> Verdict {
    let Some(tenancy) = process.tenancies.get(&tenure) else { return Ok(()) };
    let read = tenancy.frontier.filter(|_| tenancy.is_read_back());
    if read != Some(target) {
        let read = read.map_or("nothing".to_owned(), |frontier| frontier.to_string());
        return Err(format!("{who} {tenure} is sent to {target}, and read {read}"));
    }
    let bounds = process.bounds.as_ref().filter(|(sent, _)| *sent > tenancy.unchecked);
    let Some(log) = bounds.and_then(|(_, bounds)| bounds.log(tenure.partition)) else {
        return Err(format!("{who} {tenure} is sent to {target} without fresh bounds"));
    };
    if log.start <= target.next_offset() && target.next_offset() <= log.end {
        return Ok(());
    }
    Err(format!("{who} {tenure} is sent to {target}, and the log goes from {} to {}", log.start, log.end))
}

/// Whether the last seek is known to have taken.
fn has_taken(who: Life, tenure: TenureId, tenancy: &Tenancy) -> Verdict {
    let (Some(sought), Some(_)) = (tenancy.sought, tenancy.arrived) else {
        return Err(format!("{who} {tenure} decides before its client is where it was sent"));
    };
    let Some(first) = tenancy.batch.as_ref().and_then(|batch| batch.offsets.first()) else { return Ok(()) };
    let is_taken = tenancy.is_proven
        || *first == sought.next_offset()
        || tenancy.probe == Some(ProbeSight::Record(*first));
    if is_taken {
        return Ok(());
    }
    let seen = match tenancy.probe {
        Some(ProbeSight::Record(offset)) => format!("a probe saw {offset}"),
        Some(ProbeSight::Tail(end)) => format!("a probe saw none below {end}"),
        None => "no probe agrees".to_owned(),
    };
    Err(format!("{who} {tenure} decides from {first} where it was sent to {sought}, and {seen}"))
}

impl Seeks {
    fn delivered(&mut self, who: Life, event: &Event, truth: &Truth) {
        match event {
            Event::PollEmpty { tenure } => {
                let is_blind = truth.tenancy(who, *tenure).is_some_and(|tenancy| {
                    tenancy.is_own() && !tenancy.is_retired && tenancy.arrived.is_some() && !tenancy.is_proven
                });
                if is_blind {
                    self.empties.or_default((who, *tenure)).since.get_or_insert(truth.step);
                }
            }
            Event::Polled { tenure, .. } if !self.empties.is_empty() => {
                self.empties.remove(&(who, *tenure));
            }
            // A poll that failed looked at nothing.
            Event::PollFailed { tenure, .. } => {
                if let Some(polls) =
                    self.empties.find_mut(&(who, *tenure)).and_then(|empty| empty.polls.as_mut())
                {
                    *polls = polls.saturating_sub(1);
                }
            }
            Event::Checked { sight, .. } if !self.empties.is_empty() => {
                let Some(process) = truth.processes.get(&who) else { return };
                let (Some((_, _, sent)), Some(bounds)) = (process.check, &sight.bounds) else { return };
                // Bounds that are asked for again tell nothing.
                let is_clear = bounds.logs.iter().all(Option::is_some)
                    && process.tenancies.iter().filter(|(_, tenancy)| tenancy.is_own()).all(
                        |(id, tenancy)| {
                            let end = bounds.log(id.partition).map(|log| log.end);
                            tenancy.frontier.is_none_or(|frontier| end >= Some(frontier.next_offset()))
                        },
                    );
                if !is_clear {
                    return;
                }
                for ((_, tenure), empty) in self.empties.iter_mut().filter(|((of, _), _)| *of == who) {
                    let Some(tenancy) = process.tenancies.get(tenure) else { continue };
                    if empty.since.is_none_or(|since| sent <= since) {
                        continue;
                    }
                    empty.since = None;
                    let seen_to = match tenancy.probe {
                        Some(ProbeSight::Record(_)) => continue,
                        Some(ProbeSight::Tail(end)) => Some(end),
                        None => tenancy.sought.map(Frontier::next_offset),
                    };
                    if bounds.log(tenure.partition).map(|log| log.end) > seen_to {
                        empty.polls.get_or_insert(0);
                    }
                }
            }
            _ => {}
        }
    }

    fn polls(&mut self, who: Life, tenure: TenureId) -> Verdict {
        if self.empties.is_empty() {
            return Ok(());
        }
        let Some(polls) = self.empties.find_mut(&(who, tenure)).and_then(|empty| empty.polls.as_mut()) else {
            return Ok(());
        };
        *polls += 1;
        if *polls > MOST_POLLS {
            return Err(format!("{who} {tenure} polls on where records are, sees none, and does not probe"));
        }
        Ok(())
    }
}
