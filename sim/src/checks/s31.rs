//! S31, rejoin: who was fenced while the group still gives it the partition leaves and comes again.

use amends_core::ids::Partition;
use amends_core::lifecycle::command::{Command, Timer};
use amends_core::lifecycle::event::Event;

use super::due::Due;
use super::{Check, Verdict};
use crate::fact::Fact;
use crate::life::Life;
use crate::truth::Truth;

/// Decisions in flight end within this.
const LEAVE_MS: u64 = 20_000;
/// The longest wait: after the fourth fence.
const WAIT_MS: u64 = 8_000;
/// Timers are not quite exact.
const LATE_MS: u64 = 500;

/// Whose rejoin is due.
#[derive(Default)]
pub struct Rejoins {
    due: Due<Life>,
    /// Which partition was given up, for people.
    given_up: Option<Partition>,
}

impl Check for Rejoins {
    const NAME: &'static str = "S31";
    const CLAIM: &'static str =
        "a retired tenure whose assignment stands is followed by a rejoin within 20 s and its wait";

    #[inline(always)]
    fn see(&mut self, fact: &Fact<'_>, truth: &Truth) -> Verdict {
        match fact {
            Fact::Delivered { who, event } => {
                if let Event::Assigned { rebalance, .. }
                | Event::Revoked { rebalance, .. }
                | Event::Lost { rebalance } = event
                    && truth.processes.get(who).is_some_and(|process| process.is_next(*rebalance))
                {
                    self.due.clear(who);
                }
            }
            Fact::Commanded { who, command } => self.commanded(*who, command, truth)?,
            _ => {}
        }
        match self.due.late(fact, truth, LEAVE_MS + LATE_MS) {
            Some(who) => {
                let partition = self.given_up.unwrap_or(Partition(0)).0;
                Err(format!(
                    "{who} gave up partition {partition}, which the group still gives it, and does not rejoin"
                ))
            }
            None => Ok(()),
        }
    }
}

impl Rejoins {
    fn commanded(&mut self, who: Life, command: &Command, truth: &Truth) -> Verdict {
        match command {
            Command::Retire { tenure } => {
                let stands = truth.processes.get(&who).is_some_and(|process| {
                    process.is_working()
                        && process
                            .newest(tenure.partition)
                            .is_some_and(|(id, tenancy)| id == *tenure && tenancy.is_own())
                });
                if stands && self.due.get(&who).is_none() {
                    self.given_up = Some(tenure.partition);
                    self.due.set(who, truth.now + WAIT_MS + LEAVE_MS + LATE_MS);
                }
            }
            Command::Wait { timer: Timer::Rejoin { .. }, after_ms } => {
                if *after_ms > WAIT_MS {
                    return Err(format!("{who} waits {after_ms}ms before it rejoins"));
                }
                if self.due.get(&who).is_some() {
                    self.due.set(who, truth.now + after_ms + LEAVE_MS + LATE_MS);
                }
            }
            Command::Wait { timer: Timer::Drain, .. } | Command::Rejoin { .. } => self.due.clear(&who),
            _ => {}
        }
        Ok(())
    }
}
