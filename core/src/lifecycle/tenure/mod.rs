//! Knows one stretch of having a partition: its states, and which function decides in each.

use super::check::Need;
use super::command::{CheckParts, Command, Range, Timer};
use super::event::{Failure, Offsets, PollFailure, ProbeSight, ProcessFailure};
use super::stop::StopReason;
use super::{BUDGET_MS, MAX_ATTEMPTS, OBSERVE_AFTER_MS, REPEAT_MS, Shared};
use crate::ids::{Frontier, Moment, RebalanceId, TenureId, Token};

mod accept;
mod decide;
mod end;
mod read;
mod resolve;
#[cfg(test)]
pub(super) mod table;

/// What one tenure remembers. It dies with its stretch of ownership, so that nothing of an older one can be mistaken
/// for it.
#[derive(Clone, Debug)]
pub(super) struct Tenure {
    pub(super) id: TenureId,
    pub(super) rebalance: RebalanceId,
    pub(super) state: State,
    /// Token and frontier as PostgreSQL showed them under this tenure's own claim.
    pub(super) hold: Option<Hold>,
    /// The source was checked after every claim of its assignment was read back or given up.
    pub(super) is_confirmed: bool,
    /// The client was told where to begin.
    pub(super) is_placed: bool,
    budget: Budget,
    /// Failed attempts at the operation in hand.
    attempts: u32,
    /// Failed attempts at the read that resolves an unknown outcome.
    reads: u32,
    waits: u32,
    /// The last failure within the budget, for people.
    trouble: String,
    observe_at: Moment,
    /// The reply of its last claim or decision was lost, and nobody read the outcome yet.
    is_unknown: bool,
    has_lane: bool,
    is_cancelled: bool,
    is_retired: bool,
    position: Position,
    batch: Batch,
}

/// What PostgreSQL showed under the tenure's own claim.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Hold {
    pub(super) token: Token,
    pub(super) frontier: Frontier,
}

/// What a tenure is doing. Each state but `Placing`, `Queued` and `Unresolved` waits for the answer to one question.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// The source is checked before the assignment is accepted.
    Checking(Need),
    /// A claim is in flight.
    Claiming,
    /// The claim's row is read back.
    ReadingBack(Token),
    /// The row is read after a claim whose reply was lost.
    Recovering,
    /// The source is checked before a seek.
    Confirming(Need),
    /// Waits for the other partitions of its assignment, which are given to the client together.
    Placing,
    /// The client moves to the frontier.
    Seeking,
    /// A poll is in flight.
    Polling,
    /// Records are here; the source is checked before they are decided.
    Judging(Need),
    /// A client with a throw-away group looks for the first visible record.
    Probing,
    /// Waits for a lane.
    Queued,
    /// A decision is in flight.
    Processing,
    /// The row is read after a decision whose reply was lost.
    Resolving,
    /// The row is read because PostgreSQL has not answered for a while.
    Observing,
    /// Waits before it tries again.
    Waiting(Then),
    /// Over; the answer of its last store operation is outstanding.
    Ending(Asked),
    /// Over, with a decision whose outcome nobody read yet.
    Unresolved,
    /// Over, and reads the outcome of its last decision once more.
    Settling,
    /// Over.
    Gone,
}

/// What a waiting tenure tries again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Then {
    Claim,
    ReadBack(Token),
    Recover,
    Confirm,
    Poll,
    Probe,
    Process,
    Resolve,
}

/// Which answer an ending tenure still expects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Asked {
    Claim,
    Observe,
    Process,
}

/// The one budget of 20 s; everything inside draws on it.
#[derive(Clone, Copy, Debug, Default)]
struct Budget {
    deadline: Option<Moment>,
    /// The next poll ends it.
    ends_with_poll: bool,
    is_armed: bool,
}

/// What is known of where the client reads.
#[derive(Clone, Copy, Debug, Default)]
struct Position {
    /// A record proved that the last seek took.
    is_proven: bool,
    probe: Option<ProbeSight>,
    /// Seeks after a probe that did not take.
    misses: u32,
    /// Empty polls since the last seek.
    empties: u32,
    /// The check whose bounds the last empty poll is held against.
    need: Option<Need>,
    /// The bounds showed records where the poll was empty.
    must_probe: bool,
}

/// The polled records that are not decided yet, and the parts in which they are given to the store.
#[derive(Clone, Debug, Default)]
struct Batch {
    /// `Some` while the ticket of an answered poll is out.
    offsets: Option<Offsets>,
    /// The range of the last `Process`, for as long as its outcome matters.
    sent: Option<Range>,
    decided: u32,
    /// Where the parts end, the next one last; more than one after a refusal of data or size.
    ends: Vec<u32>,
    /// The part in hand is one record that PostgreSQL refused.
    is_refused: bool,
}

/// What can happen to a tenure: the answers to its questions, and what befalls it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Input<'a> {
    /// A check that serves this tenure's need passed.
    Passed,
    Claimed(Token),
    ClaimUnknown,
    ClaimFailed(&'a Failure),
    Observed(Option<Token>, Option<Frontier>),
    ObserveFailed(&'a Failure),
    Sought,
    SeekFailed(&'a Failure),
    Probed(ProbeSight),
    ProbeFailed(&'a Failure),
    Polled(&'a Offsets),
    PollEmpty,
    PollFailed(&'a PollFailure),
    Committed,
    CommitUnknown,
    Fenced,
    Moved,
    ProcessFailed(&'a ProcessFailure),
    /// The wait before the next attempt is over.
    RetryDue,
    /// The budget ended.
    Spent,
    /// A lane is free.
    Granted,
    /// The group takes the partition back, or the member leaves: nothing new begins, a decision in flight may land.
    Revoked,
    /// The partition is lost: nobody waits for it.
    Lost,
    /// The stream drains.
    Drained,
}

/// The answers to one kind of question, as a pattern: a state that did not ask lists them as impossible by name.
macro_rules! answers {
    (claim) => { Input::Claimed(_) | Input::ClaimUnknown | Input::ClaimFailed(_) };
    (observe) => { Input::Observed(..) | Input::ObserveFailed(_) };
    (seek) => { Input::Sought | Input::SeekFailed(_) };
    (probe) => { Input::Probed(_) | Input::ProbeFailed(_) };
    (poll) => { Input::Polled(_) | Input::PollEmpty | Input::PollFailed(_) };
    (process) => {
        Input::Committed | Input::CommitUnknown | Input::Fenced | Input::Moved | Input::ProcessFailed(_)
    };
    ($first:ident, $($rest:ident),+) => { answers!($first) $(| answers!($rest))+ };
}
use answers;

/// Why an outcome stays unknown when the time for reading it is over.
const SPENT: &str = "the budget of 20s ran out";

/// What a state makes of an input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Turn {
    /// It was decided.
    Done,
    /// It comes too late and changes nothing.
    Late,
    /// Nobody asked for it.
    Impossible,
}

impl Tenure {
    /// Begins with a check of the source; the budget of the acceptance runs.
    pub(super) fn begin(id: TenureId, rebalance: RebalanceId, shared: &mut Shared) -> Self {
        let need = shared.want(CheckParts::Bounds);
        let mut tenure = Self {
            id,
            rebalance,
            state: State::Checking(need),
            hold: None,
            is_confirmed: false,
            is_placed: false,
            budget: Budget::default(),
            attempts: 0,
            reads: 0,
            waits: 0,
            trouble: String::new(),
            observe_at: shared.now,
            is_unknown: false,
            has_lane: false,
            is_cancelled: false,
            is_retired: false,
            position: Position::default(),
            batch: Batch::default(),
        };
        tenure.begin_budget(shared);
        tenure
    }

    /// One function per state decides; each names every input.
    pub(super) fn turn(&mut self, shared: &mut Shared, input: Input<'_>) -> Turn {
        if matches!(input, Input::Claimed(_) | Input::Observed(..) | Input::Committed) {
            self.observe_at = shared.now.after_ms(OBSERVE_AFTER_MS);
        }
        if matches!(input, Input::ClaimUnknown | Input::CommitUnknown) {
            self.is_unknown = true;
        } else if matches!(input, Input::Observed(..)) {
            self.is_unknown = false;
        }
        match self.state {
            State::Checking(_) => self.checking(shared, input),
            State::Claiming => self.claiming(shared, input),
            State::ReadingBack(claimed) => self.reading_back(shared, input, claimed),
            State::Recovering => self.recovering(shared, input),
            State::Confirming(_) => self.confirming(shared, input),
            State::Placing => self.placing(shared, input),
            State::Seeking => self.seeking(shared, input),
            State::Polling => self.polling(shared, input),
            State::Judging(_) => self.judging(shared, input),
            State::Probing => self.probing(shared, input),
            State::Queued => self.queued(shared, input),
            State::Processing => self.processing(shared, input),
            State::Resolving => self.resolving(shared, input),
            State::Observing => self.observing(shared, input),
            State::Waiting(then) => self.waiting(shared, input, then),
            State::Ending(asked) => self.ending(shared, input, asked),
            State::Unresolved => self.unresolved(shared, input),
            State::Settling => self.settling(shared, input),
            State::Gone => Turn::Late,
        }
    }

    /// The check that this tenure waits for.
    pub(super) fn need(&self) -> Option<Need> {
        match self.state {
            State::Checking(need) | State::Confirming(need) | State::Judging(need) => Some(need),
            State::Claiming
            | State::ReadingBack(_)
            | State::Recovering
            | State::Placing
            | State::Seeking
            | State::Polling
            | State::Probing
            | State::Queued
            | State::Processing
            | State::Resolving
            | State::Observing
            | State::Waiting(_)
            | State::Ending(_)
            | State::Unresolved
            | State::Settling
            | State::Gone => None,
        }
    }

    /// Whether it may still begin something new.
    pub(super) fn is_living(&self) -> bool {
        !matches!(self.state, State::Ending(_) | State::Unresolved | State::Settling | State::Gone)
    }

    /// Whether the group must wait for it: a ticket is out, or a statement that may take the row lock is in flight.
    pub(super) fn holds_gate(&self) -> bool {
        self.batch.offsets.is_some() || matches!(self.state, State::Ending(_) | State::Settling)
    }

    /// The wait of this number is over. `None` when it is no longer wanted.
    pub(super) fn is_waiting_for(&self, wait: u32) -> bool {
        self.waits == wait && matches!(self.state, State::Waiting(_))
    }

    /// The budget's timer expired: whether the budget is spent, else it is armed for the rest.
    pub(super) fn budget_expired(&mut self, shared: &mut Shared) -> bool {
        self.budget.is_armed = false;
        let Some(deadline) = self.budget.deadline else { return false };
        if shared.now >= deadline {
            return true;
        }
        self.arm_budget(shared, deadline.ms_since(shared.now));
        false
    }

    fn begin_budget(&mut self, shared: &mut Shared) {
        self.trouble.clear();
        self.budget.ends_with_poll = false;
        self.budget.deadline = Some(shared.now.after_ms(BUDGET_MS));
        if !self.budget.is_armed {
            self.arm_budget(shared, BUDGET_MS);
        }
    }

    fn arm_budget(&mut self, shared: &mut Shared, after_ms: u64) {
        self.budget.is_armed = true;
        shared.out.push(Command::Wait { timer: Timer::Budget { tenure: self.id }, after_ms });
    }

    /// What is left of the budget, for the waits of one operation.
    fn within_ms(&self, shared: &Shared) -> u64 {
        self.budget.deadline.map_or(BUDGET_MS, |deadline| deadline.ms_since(shared.now))
    }

    /// Tries `then` again, or ends the stream: at most three attempts, and a connect that sent nothing is none.
    fn try_again(&mut self, shared: &mut Shared, failure: &Failure, then: Then) -> Turn {
        self.trouble.clone_from(failure.why());
        match failure {
            Failure::Broken(why) => self.stop(shared, StopReason::Broken { why: why.clone() }),
            Failure::Unreached(_) => self.wait(shared, REPEAT_MS, then),
            Failure::Again(why) => {
                self.attempts += 1;
                if self.attempts >= MAX_ATTEMPTS {
                    return self.attempts_spent(shared, why);
                }
                self.wait(shared, 100 * u64::from(self.attempts), then)
            }
        }
    }

    fn attempts_spent(&mut self, shared: &mut Shared, why: &str) -> Turn {
        let doing = self.state.word().to_owned();
        self.stop(shared, StopReason::AttemptsSpent { tenure: self.id, doing, why: why.to_owned() })
    }

    fn wait(&mut self, shared: &mut Shared, after_ms: u64, then: Then) -> Turn {
        self.waits += 1;
        self.state = State::Waiting(then);
        shared
            .out
            .push(Command::Wait { timer: Timer::Retry { tenure: self.id, wait: self.waits }, after_ms });
        Turn::Done
    }

    /// The wait is over and the tenure still holds: the next attempt.
    fn waiting(&mut self, shared: &mut Shared, input: Input<'_>, then: Then) -> Turn {
        match input {
            Input::RetryDue => match then {
                Then::Claim => self.claim(shared),
                Then::ReadBack(claimed) => self.read_back(shared, claimed),
                Then::Recover => self.recover(shared),
                Then::Confirm => self.confirm(shared),
                Then::Poll => self.ask_for_records(shared),
                Then::Probe => self.probe(shared),
                Then::Process => self.process(shared),
                Then::Resolve => self.resolve(shared),
            },
            Input::Revoked | Input::Lost | Input::Drained => self.end(shared),
            Input::Spent if self.is_unknown => self.stop_unresolved(shared, SPENT),
            Input::Spent => self.budget_spent(shared),
            Input::Passed | Input::Granted => Turn::Late,
            answers!(claim, observe, seek, probe, poll, process) => Turn::Impossible,
        }
    }

    /// The next part of the batch: its range by index and by offset.
    fn range(&self) -> Option<Range> {
        let offsets = self.batch.offsets.as_ref()?;
        let (from, to) = (self.batch.decided, *self.batch.ends.last()?);
        let at = |index: u32| offsets.get(usize::try_from(index).ok()?).copied();
        Some(Range { from, to, first: at(from)?, last: at(to.checked_sub(1)?)? })
    }
}

impl State {
    /// The state's word in traces and in the table.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Checking(_) => "checking",
            Self::Claiming => "claiming",
            Self::ReadingBack(_) => "reading-back",
            Self::Recovering => "recovering",
            Self::Confirming(_) => "confirming",
            Self::Placing => "placing",
            Self::Seeking => "seeking",
            Self::Polling => "polling",
            Self::Judging(_) => "judging",
            Self::Probing => "probing",
            Self::Queued => "queued",
            Self::Processing => "processing",
            Self::Resolving => "resolving",
            Self::Observing => "observing",
            Self::Waiting(_) => "waiting",
            Self::Ending(_) => "ending",
            Self::Unresolved => "unresolved",
            Self::Settling => "settling",
            Self::Gone => "gone",
        }
    }
}
