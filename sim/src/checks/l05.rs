//! L5, the end: a worker that is to end does so in bounded time, and says nothing afterwards.

use amends_core::lifecycle::command::{Command, Timer};
use amends_core::lifecycle::event::Event;

use super::due::Due;
use super::{Check, Verdict};
use crate::fact::Fact;
use crate::life::Life;
use crate::truth::Truth;

/// Decisions in flight, their cut, and the client's close; timers are not quite exact.
const WITHIN_MS: u64 = 20_000 + 500;

/// Who must have ended.
#[derive(Default)]
pub struct CancelJoins {
    due: Due<Life>,
}

impl Check for CancelJoins {
    const NAME: &'static str = "L5";
    const CLAIM: &'static str =
        "a worker that is asked to end, or has a reason to, ends within 20 s and asks for nothing more";

    #[inline(always)]
    fn see(&mut self, fact: &Fact<'_>, truth: &Truth) -> Verdict {
        match fact {
            Fact::Delivered {
                who,
                event: Event::ShutdownRequested | Event::PauseRequested | Event::StopRequested,
            }
            | Fact::Commanded { who, command: Command::Wait { timer: Timer::Drain, .. } } => {
                let is_living = truth.processes.get(who).is_some_and(|process| process.is_living());
                if is_living && self.due.get(who).is_none() {
                    self.due.set(*who, truth.now + WITHIN_MS);
                }
            }
            Fact::Commanded { who, command } => {
                let stopped = truth.processes.get(who).and_then(|process| process.stopped.as_ref());
                if let Some(reason) = stopped {
                    return Err(format!("{who} asks for {command} after it stopped with {}", reason.code()));
                }
                if let Command::Stop { .. } = command {
                    self.due.clear(who);
                }
            }
            _ => {}
        }
        match self.due.late(fact, truth, WITHIN_MS) {
            Some(who) => Err(format!("{who} was to end, and has not after {WITHIN_MS}ms")),
            None => Ok(()),
        }
    }
}
