//! S16, bounds grant nothing: no frontier goes beyond the stable end, and one that is beyond it is sought nowhere, but
//! ends the stream.

use std::collections::BTreeMap;

use amends_core::ids::{Frontier, TenureId};
use amends_core::lifecycle::command::Command;
use amends_core::lifecycle::event::Event;
use amends_core::source::boundary::Sight;

use super::{Check, Verdict};
use crate::fact::Fact;
use crate::life::Life;
use crate::truth::{Process, Truth};

/// A broker that is behind may show an end below the frontier for as long as a budget; timers are not quite exact.
const STOPS_WITHIN_MS: u64 = 20_000 + 2_000;

/// Since when each process is shown an end below a frontier that it holds.
#[derive(Default)]
pub struct BoundsGrantNothing {
    short_since: BTreeMap<Life, u64>,
    must_stop: bool,
}

impl Check for BoundsGrantNothing {
    const NAME: &'static str = "S16";
    const CLAIM: &'static str = "no decision moves a frontier beyond the stable end, and one that is beyond it is not sought, but ends the stream";

    #[inline(always)]
    fn see(&mut self, fact: &Fact<'_>, truth: &Truth) -> Verdict {
        match fact {
            Fact::Committed(commit) => {
                let (Some(after), false) = (commit.after.frontier, truth.is_undetectable(commit)) else {
                    return Ok(());
                };
                let end = truth.log(commit.partition).stable_end();
                if truth.row(commit.partition).frontier == Some(after) || after.next_offset() <= end {
                    return Ok(());
                }
                Err(format!(
                    "{} moved partition {} to {after}, and its stable end is {end}",
                    commit.maker(),
                    commit.partition
                ))
            }
            Fact::Commanded { who, command: Command::Seek { tenure, frontier, .. } } => {
                is_within(*who, *tenure, *frontier, truth)
            }
            Fact::Commanded { who, command: Command::Assign { positions, .. } } => {
                positions.iter().try_for_each(|(tenure, frontier)| is_within(*who, *tenure, *frontier, truth))
            }
            Fact::Delivered { who, event: Event::Checked { sight, .. } } => {
                self.shown(*who, sight, truth);
                Ok(())
            }
            Fact::Settled { who } if std::mem::take(&mut self.must_stop) => {
                if truth.processes.get(who).is_some_and(Process::is_working) {
                    return Err(format!("{who} was shown an end below its frontier for 20s, and goes on"));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// Whether a client is not sent to read beyond the end that its process was shown last.
fn is_within(who: Life, tenure: TenureId, frontier: Frontier, truth: &Truth) -> Verdict {
    let bounds = truth.processes.get(&who).and_then(|process| process.bounds.as_ref());
    match bounds.and_then(|(_, bounds)| bounds.log(tenure.partition)) {
        Some(log) if frontier.next_offset() > log.end => {
            Err(format!("{who} {tenure} is sent to {frontier}, and was shown the end {}", log.end))
        }
        _ => Ok(()),
    }
}

impl BoundsGrantNothing {
    fn shown(&mut self, who: Life, sight: &Sight, truth: &Truth) {
        let (Some(process), Some(bounds)) = (truth.processes.get(&who), &sight.bounds) else { return };
        let mut held = process
            .tenancies
            .iter()
            .filter(|(_, tenancy)| tenancy.is_own() && !tenancy.is_retired && tenancy.is_read_back());
        let is_short = held.any(|(id, tenancy)| {
            let log = bounds.log(id.partition);
            log.zip(tenancy.frontier).is_some_and(|(log, frontier)| frontier.next_offset() > log.end)
        });
        if is_short {
            let since = *self.short_since.entry(who).or_insert(truth.now);
            self.must_stop = truth.now >= since + STOPS_WITHIN_MS;
        } else if !self.short_since.is_empty() {
            self.short_since.remove(&who);
        }
    }
}
