//! Knows the whole life of a worker: `(state, now, event) → commands`, without a clock, randomness, I/O or hash order.
//!
//! `handle` routes an event to the tenure that it is for, then settles what tenures share: lanes, the gate, the drain.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ids::{Moment, Partition, TenureId};
use crate::source::boundary::Declared;

use check::{Checks, Need};
use command::{CheckParts, Command, Timer};
use event::Event;
use gate::Gate;
use lanes::Lanes;
use stop::StopReason;
use tenure::{Input, State, Tenure, Turn};

mod check;
pub mod command;
mod drain;
pub mod event;
mod gate;
mod judge;
mod lanes;
mod rebalance;
pub mod stop;
#[cfg(test)]
mod table;
mod tenure;

/// One budget: from Assigned to the first Poll, from records to their decision, from a probe to its poll.
pub const BUDGET_MS: u64 = 20_000;
/// Attempts per operation; 100 ms and 200 ms lie between them.
pub const MAX_ATTEMPTS: u32 = 3;
/// The wait before what sent nothing, or what must be asked again, is repeated.
const REPEAT_MS: u64 = 200;
/// A poll waits at most this long for its first record.
const POLL_WAIT_MS: u64 = 1_000;
/// An owner to whom PostgreSQL has not answered for this long reads its row.
const OBSERVE_AFTER_MS: u64 = 5_000;
/// Seeks after a probe that did not take, until the stream stops.
const MAX_SEEKS: u32 = 3;
/// Empty polls, where a probe saw a record, that count as one seek that did not take.
const EMPTY_POLLS: u32 = 5;
/// The fence of this number within the time below stops the stream.
const CONTENDED_TIMES: u32 = 5;
const CONTENDED_WITHIN_MS: u64 = 600_000;
/// Decisions in flight have this long when the stream drains, and a cancelled one as long as `CUT_MS` to answer.
const DRAIN_MS: u64 = 12_000;
const CUT_MS: u64 = 3_000;

/// What does not change while the worker runs. A journal begins with it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Settings {
    /// The source topic's name, for people.
    pub topic: String,
    /// What the source was declared to be.
    pub source: Declared,
    /// How many decisions run side by side, at least 1.
    pub lanes: u32,
    /// At most so many records are one decision, at least 1.
    pub batch_records: u32,
    /// At most so many bytes of keys, values and headers are one decision, but always one record.
    pub batch_bytes: u64,
}

/// The reducer.
#[derive(Clone, Debug)]
pub struct Lifecycle {
    shared: Shared,
    tenures: BTreeMap<TenureId, Tenure>,
    /// How many stretches of each partition this process had.
    numbers: BTreeMap<Partition, u32>,
    phase: Phase,
    counters: Counters,
    /// What the last event did to whom, for the record.
    after: Vec<After>,
}

/// What the tenures share.
#[derive(Clone, Debug)]
struct Shared {
    settings: Settings,
    now: Moment,
    out: Vec<Command>,
    checks: Checks,
    lanes: Lanes,
    gate: Gate,
    /// Why the stream is to end, until the drain begins.
    stopping: Option<StopReason>,
    is_running: bool,
}

#[derive(Clone, PartialEq, Debug)]
enum Phase {
    Running,
    /// Nothing new begins; decisions in flight end.
    Draining {
        reason: StopReason,
        is_cut: bool,
    },
    /// The client leaves the group and is dropped.
    Closing(StopReason),
    Over,
}

/// What changed nothing, counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Answers to tenures that are gone.
    pub late_answers: u64,
    /// Rebalance events of older members, out of order, or of a client that closes.
    pub late_rebalances: u64,
}

/// A tenure after an event that touched it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct After {
    /// Which tenure.
    pub tenure: TenureId,
    /// The word of its state.
    pub state: &'static str,
    /// The epoch of its token; `None` before its claim was read back.
    pub epoch: Option<i64>,
    /// Its frontier; `None` before its claim was read back.
    pub frontier: Option<i64>,
}

impl Shared {
    fn want(&mut self, parts: CheckParts) -> Need {
        self.checks.want(parts)
    }

    fn allow_rebalance(&mut self, tenure: TenureId) {
        self.out.push(Command::AllowRebalance { tenure });
    }

    /// A failure outranks an orderly end; among equals the first stands.
    fn stop(&mut self, reason: StopReason) {
        let stands = self.stopping.as_ref().is_some_and(|first| !first.is_orderly() || reason.is_orderly());
        if !stands {
            self.stopping = Some(reason);
        }
    }

    fn fenced(&mut self, partition: Partition) {
        if self.is_running
            && let Some(reason) = self.gate.fenced(self.now, partition, &mut self.out)
        {
            self.stop(reason);
        }
    }

    fn is_draining(&self) -> bool {
        !self.is_running
    }
}

impl Lifecycle {
    /// A worker that has not been given anything yet.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let shared = Shared {
            lanes: Lanes::new(settings.lanes.max(1)),
            settings,
            now: Moment(0),
            out: Vec::new(),
            checks: Checks::default(),
            gate: Gate::new(),
            stopping: None,
            is_running: true,
        };
        Self {
            shared,
            tenures: BTreeMap::new(),
            numbers: BTreeMap::new(),
            phase: Phase::Running,
            counters: Counters::default(),
            after: Vec::new(),
        }
    }

    /// Decides what follows `event`; the commands are appended to `out`. An event that is impossible here stops the
    /// worker: fencing makes a stop safe, going on would be a guess.
    pub fn handle(&mut self, now: Moment, event: &Event, out: &mut Vec<Command>) {
        self.after.clear();
        if self.phase == Phase::Over {
            return;
        }
        std::mem::swap(&mut self.shared.out, out);
        self.shared.now = now;
        if self.route(event) == Turn::Impossible {
            self.impossible(event);
        } else {
            self.settle();
        }
        std::mem::swap(&mut self.shared.out, out);
    }

    /// What the last event did to whom.
    #[must_use]
    pub fn after(&self) -> &[After] {
        &self.after
    }

    /// What changed nothing, so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// What an event finds here: the state of its tenure, `gone` when there is none, else how far the process is.
    #[must_use]
    pub fn finds(&self, event: &Event) -> &'static str {
        match (event.tenure(), &self.phase) {
            (Some(id), _) => self.tenures.get(&id).map_or(State::Gone, |tenure| tenure.state).word(),
            (None, Phase::Running) => "running",
            (None, Phase::Draining { .. }) => "draining",
            (None, Phase::Closing(_)) => "closing",
            (None, Phase::Over) => "over",
        }
    }

    fn route(&mut self, event: &Event) -> Turn {
        match event {
            Event::Assigned { rebalance, partitions } => self.assigned(*rebalance, partitions),
            Event::Revoked { rebalance, partitions } => self.revoked(*rebalance, partitions),
            Event::Lost { rebalance } => self.lost(*rebalance),
            Event::Checked { check, sight } => self.checked(*check, sight),
            Event::CheckFailed { check, failure } => self.check_failed(*check, failure),
            Event::Claimed { tenure, token, .. } => {
                self.got_lock(*tenure);
                self.turn(*tenure, Input::Claimed(*token))
            }
            Event::ClaimUnknown { tenure, .. } => self.turn(*tenure, Input::ClaimUnknown),
            Event::ClaimFailed { tenure, failure } => self.turn(*tenure, Input::ClaimFailed(failure)),
            Event::Observed { tenure, token, frontier } => {
                self.got_lock(*tenure);
                self.turn(*tenure, Input::Observed(*token, *frontier))
            }
            Event::ObserveFailed { tenure, failure } => self.turn(*tenure, Input::ObserveFailed(failure)),
            Event::Sought { tenure } => self.turn(*tenure, Input::Sought),
            Event::SeekFailed { tenure, failure } => self.turn(*tenure, Input::SeekFailed(failure)),
            Event::Probed { tenure, sight } => self.turn(*tenure, Input::Probed(*sight)),
            Event::ProbeFailed { tenure, failure } => self.turn(*tenure, Input::ProbeFailed(failure)),
            Event::Polled { tenure, offsets } => self.poll_answered(*tenure, Input::Polled(offsets)),
            Event::PollEmpty { tenure } => self.poll_answered(*tenure, Input::PollEmpty),
            Event::PollFailed { tenure, failure } => self.poll_answered(*tenure, Input::PollFailed(failure)),
            Event::Committed { tenure } => self.turn(*tenure, Input::Committed),
            Event::CommitUnknown { tenure, .. } => self.turn(*tenure, Input::CommitUnknown),
            Event::Fenced { tenure, .. } => self.turn(*tenure, Input::Fenced),
            Event::Moved { tenure, .. } => self.turn(*tenure, Input::Moved),
            Event::ProcessFailed { tenure, failure } => self.turn(*tenure, Input::ProcessFailed(failure)),
            Event::Expired { timer } => self.expired(*timer),
            Event::ShutdownRequested => self.ask_to_stop(StopReason::Shutdown),
            Event::PauseRequested => self.ask_to_stop(StopReason::Paused),
            Event::StopRequested => self.ask_to_stop(StopReason::Stopped),
            Event::ClientFailed { member, why } => {
                // A client that is being dropped may complain as it likes.
                if !self.shared.gate.is_current(*member) || matches!(self.phase, Phase::Closing(_)) {
                    return Turn::Late;
                }
                self.ask_to_stop(StopReason::Broken { why: why.clone() })
            }
            Event::Closed => self.closed(),
        }
    }

    /// Hands an input to the tenure; an answer to a tenure that is gone changes nothing and is counted.
    fn turn(&mut self, id: TenureId, input: Input<'_>) -> Turn {
        let Some(tenure) = self.tenures.get_mut(&id) else {
            if self.numbers.get(&id.partition).is_none_or(|last| *last < id.number) {
                return Turn::Impossible;
            }
            self.counters.late_answers += 1;
            return Turn::Late;
        };
        let turn = tenure.turn(&mut self.shared, input);
        note(&mut self.after, tenure);
        if tenure.state == State::Gone {
            self.tenures.remove(&id);
        }
        turn
    }

    /// Each answered poll is a ticket, also when its tenure is gone: it comes straight back then.
    fn poll_answered(&mut self, id: TenureId, input: Input<'_>) -> Turn {
        let turn = self.turn(id, input);
        if turn == Turn::Late {
            self.shared.allow_rebalance(id);
        }
        turn
    }

    /// The row lock was got, so whatever an older tenure of the partition left unknown has ended.
    fn got_lock(&mut self, id: TenureId) {
        let first = TenureId { number: 0, ..id };
        // A younger tenure's outcome may have come after this lock: a reply can be late.
        let older = self.tenures.range_mut(first..id).map(|(_, tenure)| tenure);
        let mut is_resolved = false;
        for tenure in older.filter(|tenure| tenure.state == State::Unresolved) {
            tenure.state = State::Gone;
            note(&mut self.after, tenure);
            is_resolved = true;
        }
        if is_resolved {
            self.tenures.retain(|_, tenure| tenure.state != State::Gone);
        }
    }

    /// Hands the same input to every tenure that `chosen` accepts.
    fn turn_each(&mut self, input: Input<'_>, chosen: impl Fn(&Tenure) -> bool) {
        let (shared, after) = (&mut self.shared, &mut self.after);
        self.tenures.retain(|_, tenure| {
            if chosen(tenure) && tenure.turn(shared, input) == Turn::Done {
                note(after, tenure);
            }
            tenure.state != State::Gone
        });
    }

    fn expired(&mut self, timer: Timer) -> Turn {
        let (now, out) = (self.shared.now, &mut self.shared.out);
        match timer {
            Timer::Retry { tenure, wait } => match self.tenures.get(&tenure) {
                Some(found) if found.is_waiting_for(wait) => self.turn(tenure, Input::RetryDue),
                Some(_) | None => Turn::Late,
            },
            Timer::Budget { tenure } => {
                let found = self.tenures.get_mut(&tenure);
                if found.is_some_and(|found| found.budget_expired(&mut self.shared)) {
                    return self.turn(tenure, Input::Spent);
                }
                Turn::Late
            }
            Timer::CheckAgain { wait } => {
                self.shared.checks.again(wait);
                Turn::Done
            }
            Timer::CheckDue => {
                let has_tenure = self.tenures.values().any(Tenure::is_living);
                self.shared.checks.due(now, has_tenure, out);
                Turn::Done
            }
            Timer::Rebalance { rebalance } => {
                if self.shared.gate.is_overdue(rebalance) {
                    self.cut();
                    self.shared.out.push(Command::Unassign { rebalance });
                }
                Turn::Done
            }
            Timer::Rejoin { wait } => {
                if self.shared.gate.leave(wait, out) {
                    self.turn_each(Input::Revoked, |_| true);
                }
                Turn::Done
            }
            Timer::Leave { wait } => {
                if self.shared.gate.is_leaving_by(wait) {
                    self.cut();
                    self.shared.gate.rejoin(&mut self.shared.out);
                }
                Turn::Done
            }
            Timer::Drain => self.drain_expired(),
        }
    }

    fn impossible(&mut self, event: &Event) {
        let state = match self.after.last() {
            Some(after) => format!("{} was {}", after.tenure, after.state),
            None => "nobody had asked".to_owned(),
        };
        let reason = StopReason::Impossible { state, event: event.to_string() };
        self.shared.out.push(Command::Stop { reason });
        self.phase = Phase::Over;
    }
}

/// Puts a tenure on record, once, as it is now.
fn note(after: &mut Vec<After>, tenure: &Tenure) {
    after.retain(|noted| noted.tenure != tenure.id);
    after.push(tenure.after());
}

impl Tenure {
    fn after(&self) -> After {
        After {
            tenure: self.id,
            state: self.state.word(),
            epoch: self.hold.map(|hold| hold.token.epoch),
            frontier: self.hold.map(|hold| hold.frontier.0),
        }
    }
}
