//! Knows how an assignment becomes ownership: checked, claimed, read back, checked again, placed, sought.

use super::*;

impl Tenure {
    pub(super) fn checking(&mut self, shared: &mut Shared, input: Input<'_>) -> Turn {
        match input {
            Input::Passed => self.claim(shared),
            Input::Revoked | Input::Lost | Input::Drained => self.finish(shared),
            Input::Spent => self.budget_spent(shared),
            Input::RetryDue | Input::Granted => Turn::Late,
            answers!(claim, observe, seek, probe, poll, process) => Turn::Impossible,
        }
    }

    pub(super) fn claim(&mut self, shared: &mut Shared) -> Turn {
        self.state = State::Claiming;
        shared.out.push(Command::Claim { tenure: self.id, within_ms: self.within_ms(shared) });
        Turn::Done
    }

    pub(super) fn claiming(&mut self, shared: &mut Shared, input: Input<'_>) -> Turn {
        match input {
            Input::Claimed(token) => {
                self.attempts = 0;
                self.read_back(shared, token)
            }
            Input::ClaimUnknown => {
                self.reads = 0;
                self.recover(shared)
            }
            Input::ClaimFailed(failure) => self.try_again(shared, failure, Then::Claim),
            Input::Revoked | Input::Lost | Input::Drained => self.cancel(shared, Asked::Claim),
            Input::Spent => self.cancel_spent(shared, Asked::Claim),
            Input::Passed | Input::RetryDue | Input::Granted => Turn::Late,
            answers!(observe, seek, probe, poll, process) => Turn::Impossible,
        }
    }

    /// What the claim answered is believed only when the row, read under its lock, shows the same token.
    pub(super) fn read_back(&mut self, shared: &mut Shared, claimed: Token) -> Turn {
        self.state = State::ReadingBack(claimed);
        self.observe(shared, false)
    }

    pub(super) fn reading_back(&mut self, shared: &mut Shared, input: Input<'_>, claimed: Token) -> Turn {
        match input {
            Input::Observed(Some(token), Some(frontier)) if token == claimed => {
                self.attempts = 0;
                self.hold = Some(Hold { token, frontier });
                self.state = State::Placing;
                Turn::Done
            }
            Input::Observed(..) => self.retire(shared),
            Input::ObserveFailed(failure) => self.try_again(shared, failure, Then::ReadBack(claimed)),
            Input::Revoked | Input::Lost | Input::Drained => self.cancel(shared, Asked::Observe),
            Input::Spent => self.cancel_spent(shared, Asked::Observe),
            Input::Passed | Input::RetryDue | Input::Granted => Turn::Late,
            answers!(claim, seek, probe, poll, process) => Turn::Impossible,
        }
    }

    /// Under the row lock, on a fresh session: whatever it shows, the lost claim has ended by then.
    pub(super) fn recover(&mut self, shared: &mut Shared) -> Turn {
        self.state = State::Recovering;
        self.observe(shared, true)
    }

    pub(super) fn recovering(&mut self, shared: &mut Shared, input: Input<'_>) -> Turn {
        match input {
            // An observed token is never adopted: epochs may be burnt, a claim is made afresh.
            Input::Observed(..) => {
                self.attempts += 1;
                if self.attempts >= MAX_ATTEMPTS {
                    return self.attempts_spent(shared, "the reply of each claim was lost");
                }
                self.claim(shared)
            }
            Input::ObserveFailed(failure) => self.read_again(shared, failure, Then::Recover),
            Input::Revoked | Input::Lost => self.cancel(shared, Asked::Observe),
            Input::Drained => self.settle_by_the_read_in_flight(shared),
            Input::Spent => self.cancel_unresolved(shared),
            Input::Passed | Input::RetryDue | Input::Granted => Turn::Late,
            answers!(claim, seek, probe, poll, process) => Turn::Impossible,
        }
    }

    /// A check goes before every seek.
    pub(in super::super) fn confirm(&mut self, shared: &mut Shared) -> Turn {
        self.state = State::Confirming(shared.want(CheckParts::Bounds));
        Turn::Done
    }

    pub(super) fn confirming(&mut self, shared: &mut Shared, input: Input<'_>) -> Turn {
        match input {
            Input::Passed if self.is_placed => self.seek(shared),
            Input::Passed => {
                self.is_confirmed = true;
                self.state = State::Placing;
                Turn::Done
            }
            Input::Revoked | Input::Lost | Input::Drained => self.finish(shared),
            Input::Spent => self.budget_spent(shared),
            Input::RetryDue | Input::Granted => Turn::Late,
            answers!(claim, observe, seek, probe, poll, process) => Turn::Impossible,
        }
    }

    /// The first seeks of one assignment are one `Assign`, given when each of its claims was read back or given up and
    /// one check of the source came after that.
    pub(super) fn placing(&mut self, shared: &mut Shared, input: Input<'_>) -> Turn {
        match input {
            Input::Revoked | Input::Lost | Input::Drained => self.finish(shared),
            Input::Spent => self.budget_spent(shared),
            Input::Passed | Input::RetryDue | Input::Granted => Turn::Late,
            answers!(claim, observe, seek, probe, poll, process) => Turn::Impossible,
        }
    }

    /// Where the client is to begin, once everything before the seek is done.
    pub(in super::super) fn place(&mut self) -> Option<(TenureId, Frontier)> {
        let hold = self.hold.filter(|_| self.state == State::Placing)?;
        self.is_placed = true;
        self.state = State::Seeking;
        Some((self.id, hold.frontier))
    }

    /// Whether the assignment it came from must wait for it.
    pub(in super::super) fn is_unplaced(&self) -> bool {
        !self.is_placed && self.is_living() && self.state != State::Placing
    }

    /// Whether it waits for its place and the source must be checked first.
    pub(in super::super) fn is_unconfirmed(&self) -> bool {
        self.state == State::Placing && !self.is_confirmed
    }

    pub(super) fn seek(&mut self, shared: &mut Shared) -> Turn {
        let Some(hold) = self.hold else { return Turn::Impossible };
        self.state = State::Seeking;
        self.position.empties = 0;
        self.position.need = None;
        self.position.must_probe = false;
        let within_ms = self.within_ms(shared);
        shared.out.push(Command::Seek { tenure: self.id, frontier: hold.frontier, within_ms });
        Turn::Done
    }

    pub(super) fn seeking(&mut self, shared: &mut Shared, input: Input<'_>) -> Turn {
        match input {
            Input::Sought => {
                self.attempts = 0;
                self.poll_where_sought(shared)
            }
            Input::SeekFailed(failure) => self.try_again(shared, failure, Then::Confirm),
            Input::Revoked | Input::Lost | Input::Drained => self.finish(shared),
            Input::Spent => self.budget_spent(shared),
            Input::Passed | Input::RetryDue | Input::Granted => Turn::Late,
            answers!(claim, observe, probe, poll, process) => Turn::Impossible,
        }
    }

    pub(super) fn observe(&mut self, shared: &mut Shared, fresh: bool) -> Turn {
        shared.out.push(Command::Observe { tenure: self.id, fresh, within_ms: self.within_ms(shared) });
        Turn::Done
    }
}
