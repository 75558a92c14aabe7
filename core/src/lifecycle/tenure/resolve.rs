//! Knows what follows a lost reply: the row is read under its lock, and nothing is guessed.

use super::*;

impl Tenure {
    /// Whatever may still commit holds the row lock, so a read that got it proves that the lost commit has ended.
    pub(super) fn resolve(&mut self, shared: &mut Shared) -> Turn {
        self.state = State::Resolving;
        self.observe(shared, true)
    }

    pub(super) fn resolving(&mut self, shared: &mut Shared, input: Input<'_>) -> Turn {
        match input {
            Input::Observed(token, frontier) => {
                let (Some(hold), Some(range)) = (self.hold, self.range()) else { return Turn::Impossible };
                if token != Some(hold.token) {
                    self.retire(shared)
                } else if frontier == Some(range.last.frontier_after()) {
                    self.decided(shared)
                } else if frontier == Some(hold.frontier) {
                    // It did not commit, and can no longer.
                    self.attempts += 1;
                    if self.attempts >= MAX_ATTEMPTS {
                        return self.attempts_spent(shared, "the reply of each attempt was lost");
                    }
                    self.wait(shared, 100 * u64::from(self.attempts), Then::Process)
                } else {
                    self.retire(shared)
                }
            }
            Input::ObserveFailed(failure) => self.read_again(shared, failure, Then::Resolve),
            Input::Revoked => self.cancel(shared, Asked::Observe),
            Input::Lost => {
                self.give_back(shared);
                self.cancel(shared, Asked::Observe)
            }
            Input::Drained => self.settle_by_the_read_in_flight(shared),
            Input::Spent => self.cancel_unresolved(shared),
            Input::Passed | Input::RetryDue | Input::Granted => Turn::Late,
            answers!(claim, seek, probe, poll, process) => Turn::Impossible,
        }
    }

    /// The third failure of a read that was to resolve an outcome ends the stream; a restart reads again.
    pub(super) fn read_again(&mut self, shared: &mut Shared, failure: &Failure, then: Then) -> Turn {
        match failure {
            Failure::Unreached(_) => self.wait(shared, REPEAT_MS, then),
            Failure::Broken(why) => self.stop_unresolved(shared, why),
            Failure::Again(why) => {
                self.reads += 1;
                if self.reads >= MAX_ATTEMPTS {
                    return self.stop_unresolved(shared, why);
                }
                self.wait(shared, 100 * u64::from(self.reads), then)
            }
        }
    }

    /// An idle owner reads its row: a failover may have lost what was acknowledged.
    pub(super) fn observing(&mut self, shared: &mut Shared, input: Input<'_>) -> Turn {
        match input {
            Input::Observed(token, frontier) => {
                let Some(hold) = self.hold else { return Turn::Impossible };
                if token == Some(hold.token) && frontier == Some(hold.frontier) {
                    return self.ask_for_records(shared);
                }
                self.retire(shared)
            }
            Input::ObserveFailed(_) => {
                self.observe_at = shared.now.after_ms(REPEAT_OBSERVE_MS);
                self.ask_for_records(shared)
            }
            Input::Revoked | Input::Lost | Input::Drained => self.cancel(shared, Asked::Observe),
            Input::Spent => self.cancel_spent(shared, Asked::Observe),
            Input::Passed | Input::RetryDue | Input::Granted => Turn::Late,
            answers!(claim, seek, probe, poll, process) => Turn::Impossible,
        }
    }

    /// The stream drains and an outcome is unknown: it is read once more.
    pub(super) fn settle(&mut self, shared: &mut Shared) -> Turn {
        self.settle_by_the_read_in_flight(shared);
        // What was cancelled before was another statement.
        self.is_cancelled = false;
        self.observe(shared, true)
    }

    /// The read that is to resolve the outcome was sent already.
    pub(super) fn settle_by_the_read_in_flight(&mut self, shared: &mut Shared) -> Turn {
        self.release_lane(shared);
        self.give_back(shared);
        self.state = State::Settling;
        Turn::Done
    }

    pub(super) fn settling(&mut self, shared: &mut Shared, input: Input<'_>) -> Turn {
        match input {
            Input::Observed(..) => self.finish(shared),
            Input::ObserveFailed(failure) => self.stop_unresolved(shared, failure.why()),
            Input::Passed
            | Input::RetryDue
            | Input::Granted
            | Input::Spent
            | Input::Revoked
            | Input::Lost
            | Input::Drained => Turn::Late,
            answers!(claim, seek, probe, poll, process) => Turn::Impossible,
        }
    }

    pub(super) fn stop_unresolved(&mut self, shared: &mut Shared, why: &str) -> Turn {
        let reason = self.unresolved_reason(why);
        self.stop(shared, reason)
    }

    /// The budget ended with the read in flight.
    pub(super) fn cancel_unresolved(&mut self, shared: &mut Shared) -> Turn {
        shared.stop(self.unresolved_reason(SPENT));
        self.cancel(shared, Asked::Observe)
    }

    /// A claim leaves no range: its epoch is unknown too.
    pub(super) fn unresolved_reason(&self, why: &str) -> StopReason {
        let range = self.batch.sent;
        let epoch = range.and(self.hold).map(|hold| hold.token.epoch);
        let offsets = range.map(|range| (range.first, range.last));
        StopReason::Unresolved { tenure: self.id, epoch, offsets, why: why.to_owned() }
    }
}

/// How long after a failed idle read the next one is due.
const REPEAT_OBSERVE_MS: u64 = 1_000;
