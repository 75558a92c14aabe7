//! S18, budgets: three attempts, short waits between them, and twenty seconds for all of it.

use amends_core::ids::{Partition, TenureId};
use amends_core::lifecycle::command::{Command, Timer};
use amends_core::lifecycle::event::{Event, Failure, PollFailure, ProcessFailure};
use amends_core::lifecycle::stop::StopReason;

use super::due::Due;
use super::{Check, Verdict};
use crate::fact::{Fact, Op};
use crate::few::Few;
use crate::life::Life;
use crate::truth::{Tenancy, Truth};

const BUDGET_MS: u64 = 20_000;
/// Timers are not quite exact.
const LATE_MS: u64 = 500;
const ATTEMPTS: u32 = 3;
/// 100 ms and 200 ms are right; a few more or less do no harm.
const WAITS_MS: std::ops::RangeInclusive<u64> = 50..=400;
/// A wait of 100 ms may end early.
const AT_LEAST_MS: u64 = 40;

/// What each tenure has spent.
#[derive(Default)]
pub struct Budgets {
    spent: Few<(Life, Partition), Spent>,
    due: Due<(Life, Partition)>,
    /// Checks that failed one after the other.
    unchecked: Few<Life, u32>,
    /// What stood there when a process began to drain, and when that was: its reason is told later.
    drained: Few<Life, Drained>,
}

struct Drained {
    at: u64,
    spent: Vec<(Partition, Spent)>,
    unchecked: u32,
}

#[derive(Clone)]
struct Spent {
    /// Of the newest tenure.
    number: u32,
    is_retired: bool,
    failed: [u32; 5],
    /// The last attempt that failed: which question, and when.
    last: Option<(Question, u64)>,
    begun: Option<u64>,
    /// The budget that runs began with a poll that failed: the next poll does not end it.
    is_poll_failing: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Question {
    Claim,
    Observe,
    Seek,
    Probe,
    Process,
}

impl Check for Budgets {
    const NAME: &'static str = "S18";
    const CLAIM: &'static str = "an operation has three attempts with short waits between them, everything of one budget ends in 20 s, and nobody stops over either before";

    #[inline(always)]
    fn see(&mut self, fact: &Fact<'_>, truth: &Truth) -> Verdict {
        match fact {
            Fact::Delivered { who, event } => self.delivered(*who, event, truth),
            Fact::Commanded { who, command } => self.commanded(*who, command, truth)?,
            Fact::Crashed { who } | Fact::Exited { who } => {
                self.over(*who);
                self.drained.remove(who);
                self.unchecked.remove(who);
            }
            _ => {}
        }
        let Some(key) = self.due.late(fact, truth, LATE_MS) else { return Ok(()) };
        let (who, partition) = key;
        let begun = self.spent.get(&key).and_then(|spent| spent.begun).unwrap_or_default();
        Err(format!("{who} still works at partition {partition} under the budget that began at {begun}ms"))
    }
}

impl Budgets {
    fn over(&mut self, who: Life) {
        self.spent.retain(|(other, _), _| *other != who);
        self.due.forgive(who);
    }

    fn delivered(&mut self, who: Life, event: &Event, truth: &Truth) {
        let Some(process) = truth.processes.get(&who) else { return };
        match event {
            Event::Assigned { rebalance, partitions } if process.is_next(*rebalance) => {
                self.over(who);
                for partition in partitions.iter().filter(|_| process.is_working()) {
                    let number = 1 + process.newest(*partition).map_or(0, |(id, _)| id.number);
                    self.spent.insert((who, *partition), Spent::new(number));
                    self.begin((who, *partition), truth.now);
                }
            }
            Event::Revoked { rebalance, .. } | Event::Lost { rebalance } if process.is_next(*rebalance) => {
                self.over(who);
            }
            Event::Checked { .. } => {
                self.unchecked.remove(&who);
            }
            Event::CheckFailed { failure: Failure::Again(_), .. } => *self.unchecked.or_default(who) += 1,
            _ => {
                let Some(id) = event.tenure() else { return };
                let key = (who, id.partition);
                let Some(spent) = self.spent.find_mut(&key).filter(|spent| spent.is_of(id)) else {
                    return;
                };
                let Some(tenancy) = process.tenancies.get(&id) else { return };
                if spent.heard(event, tenancy, truth.now) {
                    self.begin(key, truth.now);
                }
            }
        }
    }

    fn begin(&mut self, key: (Life, Partition), now: u64) {
        if let Some(spent) = self.spent.find_mut(&key) {
            spent.begun = Some(now);
            self.due.set(key, now + BUDGET_MS + LATE_MS);
        }
    }

    fn end(&mut self, key: (Life, Partition)) {
        if let Some(spent) = self.spent.find_mut(&key) {
            spent.begun = None;
            self.due.clear(&key);
        }
    }

    fn commanded(&mut self, who: Life, command: &Command, truth: &Truth) -> Verdict {
        match command {
            Command::Wait { timer: Timer::Drain, .. } => {
                self.drain(who, truth.now);
                self.over(who);
                return Ok(());
            }
            Command::Wait { timer: Timer::Leave { .. }, .. } => {
                self.over(who);
                return Ok(());
            }
            Command::Stop { reason } => return self.stopped(who, reason),
            _ => {}
        }
        let Some(id) = command.tenure() else { return Ok(()) };
        let key = (who, id.partition);
        let Some(spent) = self.spent.find_mut(&key).filter(|spent| spent.is_of(id)) else {
            return Ok(());
        };
        match command {
            Command::Retire { .. } => {
                // The reason of a stop may yet be told.
                spent.is_retired = true;
                self.due.clear(&key);
                Ok(())
            }
            Command::Poll { .. } => {
                if !spent.is_poll_failing {
                    self.end(key);
                }
                Ok(())
            }
            Command::Wait { timer: Timer::Retry { .. }, after_ms } if !WAITS_MS.contains(after_ms) => {
                Err(format!("{who} {id} waits {after_ms}ms before it tries again"))
            }
            Command::Claim { within_ms, .. } => spent.asked(who, id, Question::Claim, *within_ms, truth.now),
            Command::Observe { within_ms, .. } => {
                spent.asked(who, id, Question::Observe, *within_ms, truth.now)
            }
            Command::Seek { within_ms, .. } => spent.asked(who, id, Question::Seek, *within_ms, truth.now),
            Command::Probe { within_ms, .. } => spent.asked(who, id, Question::Probe, *within_ms, truth.now),
            Command::Process { within_ms, .. } => {
                spent.asked(who, id, Question::Process, *within_ms, truth.now)
            }
            _ => Ok(()),
        }
    }
}

impl Budgets {
    /// A second drain is the wait for what was cut.
    fn drain(&mut self, who: Life, now: u64) {
        if self.drained.get(&who).is_some() {
            return;
        }
        let of_it = self.spent.iter().filter(|((other, _), _)| *other == who);
        let spent = of_it.map(|((_, partition), spent)| (*partition, spent.clone())).collect();
        let unchecked = self.unchecked.get(&who).copied().unwrap_or_default();
        self.drained.insert(who, Drained { at: now, spent, unchecked });
    }

    /// Who stops over a budget or its attempts has used them up.
    fn stopped(&self, who: Life, reason: &StopReason) -> Verdict {
        let Some(drained) = self.drained.get(&who) else { return Ok(()) };
        let spent_of = |tenure: &TenureId| {
            let of_it = drained.spent.iter().find(|(partition, _)| *partition == tenure.partition);
            of_it.map(|(_, spent)| spent).filter(|spent| spent.number == tenure.number)
        };
        match reason {
            StopReason::BudgetSpent { tenure, .. } => {
                let begun = spent_of(tenure).and_then(|spent| spent.begun);
                if begun.is_some_and(|begun| drained.at < begun + BUDGET_MS) {
                    return Err(format!(
                        "{who} stops over the budget of {tenure} at {}ms, it began at {begun:?}",
                        drained.at
                    ));
                }
            }
            StopReason::AttemptsSpent { tenure, .. } => {
                let is_spent = |spent: &Spent| spent.failed.iter().any(|failed| *failed >= ATTEMPTS);
                if drained.unchecked < ATTEMPTS && spent_of(tenure).is_some_and(|spent| !is_spent(spent)) {
                    return Err(format!(
                        "{who} stops over the attempts of {tenure}, and nothing failed three times"
                    ));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

impl Spent {
    fn new(number: u32) -> Self {
        Self { number, is_retired: false, failed: [0; 5], last: None, begun: None, is_poll_failing: false }
    }

    fn is_of(&self, id: TenureId) -> bool {
        self.number == id.number && !self.is_retired
    }

    fn asked(&mut self, who: Life, id: TenureId, question: Question, within_ms: u64, now: u64) -> Verdict {
        let failed = self.failed[question as usize];
        if failed >= ATTEMPTS {
            return Err(format!("{who} {id} tries {question:?} again after {failed} failures"));
        }
        if let Some((_, at)) = self.last.take_if(|(last, _)| *last == question)
            && now < at + AT_LEAST_MS
        {
            return Err(format!("{who} {id} tries {question:?} again {}ms after a failure", now - at));
        }
        let rest = self.begun.map_or(BUDGET_MS, |begun| (begun + BUDGET_MS).saturating_sub(now));
        if within_ms > rest {
            return Err(format!("{who} {id} gives {question:?} {within_ms}ms, its budget has {rest}ms"));
        }
        Ok(())
    }

    fn failed(&mut self, question: Question, failure: &Failure, now: u64) {
        if let Failure::Again(_) = failure {
            self.failed[question as usize] += 1;
        }
        self.last = Some((question, now));
    }

    fn succeeded(&mut self, question: Question) {
        self.failed[question as usize] = 0;
    }

    /// Counts what came; whether a budget begins with it.
    fn heard(&mut self, event: &Event, tenancy: &Tenancy, now: u64) -> bool {
        match event {
            Event::ClaimFailed { failure, .. } => self.failed(Question::Claim, failure, now),
            Event::ClaimUnknown { .. } => {
                self.failed[Question::Claim as usize] += 1;
                self.succeeded(Question::Observe);
            }
            Event::Claimed { .. } => {
                self.succeeded(Question::Claim);
                self.succeeded(Question::Observe);
            }
            // Only a read that something waits for is counted: an idle owner reads as often as it likes.
            Event::ObserveFailed { failure, .. } if tenancy.open.is_some() || tenancy.sought.is_none() => {
                self.failed(Question::Observe, failure, now);
            }
            Event::Observed { token, frontier, .. } => {
                self.succeeded(Question::Observe);
                let is_decided = tenancy.open == Some(Op::Process)
                    && *token == tenancy.claimed
                    && tenancy.sent.is_some_and(|(range, ..)| *frontier == Some(range.last.frontier_after()));
                if is_decided {
                    self.succeeded(Question::Process);
                }
                return is_decided;
            }
            Event::SeekFailed { failure, .. } => self.failed(Question::Seek, failure, now),
            Event::Sought { .. } => self.succeeded(Question::Seek),
            Event::ProbeFailed { failure, .. } => self.failed(Question::Probe, failure, now),
            Event::Probed { .. } => self.succeeded(Question::Probe),
            Event::ProcessFailed { failure: ProcessFailure::Attempt(failure), .. } => {
                self.failed(Question::Process, failure, now);
            }
            Event::ProcessFailed { .. } => self.succeeded(Question::Process),
            Event::CommitUnknown { .. } => {
                self.failed[Question::Process as usize] += 1;
                self.succeeded(Question::Observe);
            }
            Event::Committed { .. } => {
                self.succeeded(Question::Process);
                return true;
            }
            Event::Polled { .. } | Event::PollEmpty { .. } => {
                self.is_poll_failing = false;
                self.succeeded(Question::Process);
                return true;
            }
            Event::PollFailed { failure: PollFailure::Again(_), .. } => {
                return !std::mem::replace(&mut self.is_poll_failing, true);
            }
            Event::PollFailed { failure: PollFailure::Reset(_), .. } => {
                self.is_poll_failing = false;
                return true;
            }
            _ => {}
        }
        false
    }
}
