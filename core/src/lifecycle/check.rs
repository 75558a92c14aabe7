//! Knows which check of the source is in flight, what the last one showed, and when the next is due.
//!
//! One check judges the source for all tenures, and at most one is in flight. An answer serves what came before its
//! request was sent, and nothing later: a topic may be recreated between the answer and the poll.

use std::sync::Arc;

use super::command::{CheckId, CheckParts, Command, Timer};
use super::event::Failure;
use super::stop::StopReason;
use super::{BUDGET_MS, MAX_ATTEMPTS, REPEAT_MS};
use crate::ids::{Moment, Partition};
use crate::source::boundary::{Bounds, LogSpan, Refusal};

/// A check of the source is sent when none other ran for this long.
const PERIOD_MS: u64 = 5_000;
/// Idle polls check at most this often, and bounds older than this are asked for again after a poll.
const FRESH_MS: u64 = 1_000;

/// Which check a tenure waits for: any answered request from this one on that asked for these parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Need {
    check: CheckId,
    parts: CheckParts,
}

impl Need {
    /// Whether an answer serves this need.
    pub(super) fn is_served_by(self, check: CheckId, parts: CheckParts) -> bool {
        self.check <= check && self.parts <= parts
    }
}

/// The state of all checks of one process.
#[derive(Clone, Debug, Default)]
pub(super) struct Checks {
    last: CheckId,
    in_flight: Option<CheckParts>,
    /// Parts that a further request must ask for, once the one in flight is answered or the wait is over.
    wanted: Option<CheckParts>,
    /// The wait before a repetition, by number; `None` when nothing waits.
    waiting: Option<u32>,
    waits: u32,
    attempts: u32,
    /// The last failure since a check passed, for people.
    trouble: String,
    sent_at: Moment,
    bounds_sent_at: Option<Moment>,
    bounds: Option<Arc<Bounds>>,
    /// A sight that a broker which is behind may show too, and since when.
    suspicion: Option<(Refusal, Moment)>,
    is_due_armed: bool,
}

impl Checks {
    /// Asks for a check whose request is sent from now on. What is asked for within one step is one request.
    pub(super) fn want(&mut self, parts: CheckParts) -> Need {
        self.wanted = self.wanted.max(Some(parts));
        Need { check: CheckId(self.last.0 + 1), parts }
    }

    /// The step is over: sends what is wanted, unless a request is in flight or waits to be repeated.
    pub(super) fn flush(&mut self, now: Moment, out: &mut Vec<Command>) {
        if self.in_flight.is_some() || self.waiting.is_some() {
            return;
        }
        if let Some(parts) = self.wanted.take() {
            self.last = CheckId(self.last.0 + 1);
            self.in_flight = Some(parts);
            self.sent_at = now;
            out.push(Command::Check { check: self.last, parts });
        }
    }

    /// Which parts the records of a poll need: bounds too when their range has a gap or the last bounds are old.
    pub(super) fn parts_for_records(&self, now: Moment, has_gap: bool) -> CheckParts {
        let is_fresh = self.bounds_sent_at.is_some_and(|at| now.ms_since(at) <= FRESH_MS);
        if has_gap || !is_fresh { CheckParts::Bounds } else { CheckParts::Identity }
    }

    /// An idle poll returned: a check that shows the bounds, but at most once a second.
    pub(super) fn idle(&mut self, now: Moment) -> Option<Need> {
        let is_quiet = self.in_flight.is_none() && self.wanted.is_none() && self.waiting.is_none();
        (is_quiet && now.ms_since(self.sent_at) >= FRESH_MS).then(|| self.want(CheckParts::Bounds))
    }

    /// The next bounds that are asked for from now on, whoever asks; asks itself when an idle poll may.
    pub(super) fn next_bounds(&mut self, now: Moment) -> Need {
        self.idle(now).unwrap_or(Need { check: CheckId(self.last.0 + 1), parts: CheckParts::Bounds })
    }

    /// The periodic timer: armed while somebody has a tenure.
    pub(super) fn arm_due(&mut self, out: &mut Vec<Command>) {
        if !self.is_due_armed {
            self.is_due_armed = true;
            out.push(Command::Wait { timer: Timer::CheckDue, after_ms: PERIOD_MS });
        }
    }

    /// The periodic timer expired.
    pub(super) fn due(&mut self, now: Moment, has_tenure: bool, out: &mut Vec<Command>) {
        self.is_due_armed = false;
        if !has_tenure {
            return;
        }
        let age = now.ms_since(self.sent_at);
        if age >= PERIOD_MS {
            self.wanted = Some(CheckParts::Bounds);
        }
        self.is_due_armed = true;
        let after_ms = if age >= PERIOD_MS { PERIOD_MS } else { PERIOD_MS - age };
        out.push(Command::Wait { timer: Timer::CheckDue, after_ms });
    }

    /// The request in flight was answered; which parts it had asked for. `None` for an answer that nobody asked for.
    pub(super) fn answered(&mut self, check: CheckId) -> Option<CheckParts> {
        if check != self.last {
            return None;
        }
        self.in_flight.take()
    }

    /// The answer passed: remembers its bounds.
    pub(super) fn passed(&mut self, bounds: Option<&Arc<Bounds>>) {
        self.attempts = 0;
        self.trouble.clear();
        if let Some(bounds) = bounds {
            self.bounds = Some(Arc::clone(bounds));
            self.bounds_sent_at = Some(self.sent_at);
            self.suspicion = None;
        }
    }

    /// The answer may come from a broker that is behind: asks again, or refuses when that has lasted a budget.
    pub(super) fn suspected(
        &mut self,
        now: Moment,
        refusal: Refusal,
        out: &mut Vec<Command>,
    ) -> Option<StopReason> {
        let since = self.suspicion.as_ref().map_or(now, |(_, since)| *since);
        if now.ms_since(since) >= BUDGET_MS {
            return Some(StopReason::Refused { refusal });
        }
        self.suspicion = Some((refusal, since));
        // A broker that answers is no failed attempt, and ends the count of those before.
        self.attempts = 0;
        self.repeat(REPEAT_MS, out);
        None
    }

    /// The broker did not say. `is_awaited`: a tenure waits for this answer; else it is only logged, and the periodic
    /// check repeats it. Returns why the stream must end, when it must.
    pub(super) fn failed(
        &mut self,
        failure: &Failure,
        is_awaited: bool,
        out: &mut Vec<Command>,
    ) -> Option<CheckFailure> {
        self.trouble.clone_from(failure.why());
        if !is_awaited {
            self.attempts = 0;
            // What is suspected is asked again until it is refuted or refused.
            if self.suspicion.is_some() {
                self.repeat(REPEAT_MS, out);
            }
            return None;
        }
        match failure {
            Failure::Broken(why) => return Some(CheckFailure::Broken(why.clone())),
            Failure::Unreached(_) => self.repeat(REPEAT_MS, out),
            Failure::Again(why) => {
                self.attempts += 1;
                if self.attempts >= MAX_ATTEMPTS {
                    return Some(CheckFailure::Spent(why.clone()));
                }
                self.repeat(100 * u64::from(self.attempts), out);
            }
        }
        None
    }

    /// The wait before a repetition is over.
    pub(super) fn again(&mut self, wait: u32) {
        if self.waiting == Some(wait) {
            self.waiting = None;
        }
    }

    /// Why the last check failed; empty when it passed.
    pub(super) fn trouble(&self) -> &str {
        &self.trouble
    }

    /// What is held against the source while it is asked again.
    pub(super) fn suspicion(&self) -> Option<&Refusal> {
        self.suspicion.as_ref().map(|(refusal, _)| refusal)
    }

    /// The partition's log as the last bounds showed it.
    pub(super) fn log(&self, partition: Partition) -> Option<LogSpan> {
        self.bounds.as_ref()?.log(partition)
    }

    /// A repetition asks for everything: whoever waits is served by it, whatever it needs.
    fn repeat(&mut self, after_ms: u64, out: &mut Vec<Command>) {
        self.wanted = Some(CheckParts::Bounds);
        self.waits += 1;
        self.waiting = Some(self.waits);
        out.push(Command::Wait { timer: Timer::CheckAgain { wait: self.waits }, after_ms });
    }
}

/// Why a check that somebody waits for ends the stream.
pub(super) enum CheckFailure {
    /// Every attempt failed.
    Spent(String),
    /// It will not get better.
    Broken(String),
}
