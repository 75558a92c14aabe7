//! L7, quiet: a worker that has nothing to do does next to nothing.

use amends_core::lifecycle::command::Command;
use amends_core::lifecycle::event::Event;

use super::{Check, Verdict};
use crate::fact::Fact;
use crate::few::Few;
use crate::life::Life;
use crate::truth::Truth;

/// What each process asked for since something last happened to it.
#[derive(Default)]
pub struct Quiet {
    idle: Few<Life, Idle>,
}

#[derive(Default)]
struct Idle {
    since: u64,
    polls: u64,
    checks: u64,
    commands: u64,
}

impl Check for Quiet {
    const NAME: &'static str = "L7";
    const CLAIM: &'static str =
        "after the faults an idle tenure polls about once a second, and its process checks no oftener";

    #[inline(always)]
    fn see(&mut self, fact: &Fact<'_>, truth: &Truth) -> Verdict {
        match fact {
            Fact::Commanded { who, command } if truth.healed_at.is_some() => {
                self.counted(*who, command, truth)
            }
            Fact::Delivered { who, event } if truth.healed_at.is_some() => {
                let is_idle = matches!(
                    event,
                    Event::PollEmpty { .. }
                        | Event::Checked { .. }
                        | Event::Observed { .. }
                        | Event::Expired { .. }
                );
                if !is_idle {
                    self.idle.insert(*who, Idle { since: truth.now, ..Idle::default() });
                }
                Ok(())
            }
            Fact::Thawed { who } => {
                self.idle.insert(*who, Idle { since: truth.now, ..Idle::default() });
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

impl Quiet {
    fn counted(&mut self, who: Life, command: &Command, truth: &Truth) -> Verdict {
        // A tenure less is not idle: the others did not poll for it.
        if let Command::Retire { .. } | Command::Rejoin { .. } = command {
            self.idle.insert(who, Idle { since: truth.now, ..Idle::default() });
            return Ok(());
        }
        // Nothing came since the faults ended: then it is idle from here on.
        let begin = || Idle { since: truth.now, ..Idle::default() };
        let idle = self.idle.or_insert_with(who, begin);
        idle.commands += 1;
        match command {
            Command::Poll { .. } => idle.polls += 1,
            Command::Check { .. } => idle.checks += 1,
            _ => {}
        }
        let seconds = (truth.now - idle.since) / 1_000;
        // As many as one tenure may: only beyond that tenures are counted.
        let (polls, commands) = (4 + seconds + seconds / 2, 16 + 6 * seconds);
        let Idle { polls: polled, checks, commands: asked, .. } = *idle;
        if checks > 4 + seconds + seconds / 4 && truth.is_source_intact() {
            return Err(format!("{who} sends {checks} checks in {seconds} idle seconds"));
        }
        if polled <= polls && asked <= commands || !truth.is_source_intact() {
            return Ok(());
        }
        let process = truth.processes.get(&who);
        let tenures = process.map_or(0, |process| {
            process.tenancies.values().filter(|tenancy| tenancy.is_own() && !tenancy.is_retired).count()
        });
        let tenures = u64::try_from(tenures).unwrap_or(u64::MAX).max(1);
        if polled > tenures * polls {
            return Err(format!("{who} polls {polled} times in {seconds} idle seconds of {tenures} tenures"));
        }
        if asked > tenures * commands {
            return Err(format!("{who} asks {asked} times in {seconds} idle seconds of {tenures} tenures"));
        }
        Ok(())
    }
}
