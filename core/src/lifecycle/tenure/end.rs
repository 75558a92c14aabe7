//! Knows how a tenure ends: what is cancelled, what is given back, and what its last answer still means.

use super::*;

impl Tenure {
    /// Over, and nothing is outstanding that matters: the ticket and the tenure go back.
    pub(super) fn finish(&mut self, shared: &mut Shared) -> Turn {
        self.release_lane(shared);
        self.give_back(shared);
        if !self.is_retired {
            self.is_retired = true;
            shared.out.push(Command::Retire { tenure: self.id });
        }
        self.state = State::Gone;
        Turn::Done
    }

    /// Over by another token or frontier; when the group still assigns the partition, the member rejoins.
    pub(super) fn retire(&mut self, shared: &mut Shared) -> Turn {
        self.finish(shared);
        shared.fenced(self.id.partition);
        Turn::Done
    }

    /// The stream ends, and this tenure with it.
    pub(super) fn stop(&mut self, shared: &mut Shared, reason: StopReason) -> Turn {
        shared.stop(reason);
        self.finish(shared)
    }

    pub(super) fn budget_spent(&mut self, shared: &mut Shared) -> Turn {
        let reason = self.spent_reason(shared);
        self.stop(shared, reason)
    }

    /// A tenure that waits for the source names what is held against it.
    fn spent_reason(&self, shared: &Shared) -> StopReason {
        match shared.checks.suspicion() {
            Some(refusal) if self.need().is_some() => StopReason::Refused { refusal: refusal.clone() },
            Some(_) | None => {
                StopReason::BudgetSpent { tenure: self.id, doing: self.state.word().to_owned() }
            }
        }
    }

    /// Ends the statement in flight; its answer is still awaited, so that nothing takes the row lock afterwards.
    pub(super) fn cancel(&mut self, shared: &mut Shared, asked: Asked) -> Turn {
        self.cut(shared);
        self.state = State::Ending(asked);
        Turn::Done
    }

    /// A cancel request for the statement in flight, once.
    pub(in super::super) fn cut(&mut self, shared: &mut Shared) {
        if !self.is_cancelled {
            self.is_cancelled = true;
            shared.out.push(Command::Cancel { tenure: self.id });
        }
    }

    /// The budget ended with a statement in flight.
    pub(super) fn cancel_spent(&mut self, shared: &mut Shared, asked: Asked) -> Turn {
        let reason = self.spent_reason(shared);
        shared.stop(reason);
        self.cancel(shared, asked)
    }

    /// The last answer of a tenure that is over.
    pub(super) fn ending(&mut self, shared: &mut Shared, input: Input<'_>, asked: Asked) -> Turn {
        match (asked, input) {
            (Asked::Claim, answers!(claim)) | (Asked::Observe, answers!(observe)) => self.finish(shared),
            (Asked::Process, Input::Committed) => {
                shared.gate.decided(self.id.partition);
                self.finish(shared)
            }
            (Asked::Process, Input::Fenced | Input::Moved | Input::ProcessFailed(_))
            | (Asked::Resolve, Input::Observed(..)) => self.finish(shared),
            (Asked::Process, Input::CommitUnknown) | (Asked::Resolve, Input::ObserveFailed(_)) => {
                if shared.is_draining() {
                    return self.settle(shared);
                }
                self.leave_unresolved(shared)
            }
            // Lost overtakes a revocation: nobody waits any longer.
            (_, Input::Lost) => {
                self.cut(shared);
                self.give_back(shared);
                Turn::Done
            }
            (_, Input::Spent) => {
                self.cut(shared);
                Turn::Done
            }
            (_, Input::Passed | Input::RetryDue | Input::Granted | Input::Revoked | Input::Drained) => {
                Turn::Late
            }
            (_, answers!(claim, observe, seek, probe, poll, process)) => Turn::Impossible,
        }
    }

    /// Over, with an outcome that nobody read: kept until a later claim or read of the partition got the row lock.
    pub(super) fn leave_unresolved(&mut self, shared: &mut Shared) -> Turn {
        self.finish(shared);
        self.state = State::Unresolved;
        Turn::Done
    }

    pub(super) fn unresolved(&mut self, shared: &mut Shared, input: Input<'_>) -> Turn {
        match input {
            Input::Drained => self.settle(shared),
            Input::Passed
            | Input::RetryDue
            | Input::Granted
            | Input::Spent
            | Input::Revoked
            | Input::Lost => Turn::Late,
            answers!(claim, observe, seek, probe, poll, process) => Turn::Impossible,
        }
    }

    pub(super) fn release_lane(&mut self, shared: &mut Shared) {
        if std::mem::take(&mut self.has_lane) {
            shared.lanes.give_back();
        }
    }

    /// The ticket of the answered poll comes back, exactly once.
    pub(super) fn give_back(&mut self, shared: &mut Shared) {
        self.budget.deadline = None;
        if self.batch.offsets.take().is_some() {
            shared.allow_rebalance(self.id);
        }
    }

    /// What stays unknown when the drain waits no longer.
    pub(in super::super) fn left_unknown(&self) -> Option<StopReason> {
        let is_unknown = match self.state {
            State::Ending(asked) => matches!(asked, Asked::Process | Asked::Resolve),
            State::Settling | State::Unresolved => true,
            State::Checking(_)
            | State::Claiming
            | State::ReadingBack(_)
            | State::Recovering
            | State::Confirming(_)
            | State::Placing
            | State::Seeking
            | State::Polling
            | State::Judging(_)
            | State::Probing
            | State::Queued
            | State::Processing
            | State::Resolving
            | State::Observing
            | State::Waiting(_)
            | State::Gone => false,
        };
        is_unknown.then(|| self.unresolved_reason("postgres did not answer while the stream drained"))
    }
}
