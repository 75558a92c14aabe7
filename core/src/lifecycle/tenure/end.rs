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
                let of_checks = self.need().map(|_| shared.checks.trouble());
                let why = of_checks.unwrap_or(&self.trouble).to_owned();
                StopReason::BudgetSpent { tenure: self.id, doing: self.state.word().to_owned(), why }
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
            (Asked::Process, Input::Committed) => {
                if let (Some(hold), Some(range)) = (self.hold.as_mut(), self.batch.sent) {
                    hold.frontier = range.last.frontier_after();
                }
                shared.gate.decided(self.id.partition);
                self.finish(shared)
            }
            (Asked::Claim, answers!(claim))
            | (Asked::Observe, answers!(observe))
            | (
                Asked::Process,
                Input::CommitUnknown | Input::Fenced | Input::Moved | Input::ProcessFailed(_),
            ) => self.end(shared),
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

    /// Over; but an outcome that nobody read is kept, or read once more when the stream drains.
    pub(super) fn end(&mut self, shared: &mut Shared) -> Turn {
        if !self.is_unknown {
            self.finish(shared)
        } else if shared.is_draining() {
            self.settle(shared)
        } else {
            self.leave_unresolved(shared)
        }
    }

    /// Over, with an outcome that nobody read: kept until a later claim or read of the partition got the row lock.
    fn leave_unresolved(&mut self, shared: &mut Shared) -> Turn {
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
        if self.batch.offsets.take().is_some() {
            shared.allow_rebalance(self.id);
        }
    }

    /// The drain waits no longer: everything goes back, and what stays unknown is told.
    pub(in super::super) fn abandon(&mut self, shared: &mut Shared) -> Option<StopReason> {
        let left = self.left_unknown();
        self.finish(shared);
        left
    }

    fn left_unknown(&self) -> Option<StopReason> {
        let is_deciding =
            self.state == State::Ending(Asked::Process) || self.state == State::Ending(Asked::Claim);
        let is_unknown = self.is_unknown || is_deciding;
        is_unknown.then(|| self.unresolved_reason("postgres did not answer while the stream drained"))
    }
}
