//! Knows how a batch is decided: one range at a time, narrowed when PostgreSQL refuses one record or too many rows.

use super::*;

impl Tenure {
    pub(super) fn queued(&mut self, shared: &mut Shared, input: Input<'_>) -> Turn {
        match input {
            Input::Granted => {
                self.has_lane = true;
                self.process(shared)
            }
            Input::Revoked | Input::Lost | Input::Drained => {
                shared.lanes.forget(self.id);
                self.finish(shared)
            }
            Input::Spent => {
                shared.lanes.forget(self.id);
                self.budget_spent(shared)
            }
            Input::Passed | Input::RetryDue => Turn::Late,
            answers!(claim, observe, seek, probe, poll, process) => Turn::Impossible,
        }
    }

    pub(super) fn process(&mut self, shared: &mut Shared) -> Turn {
        let (Some(hold), Some(range)) = (self.hold, self.range()) else { return Turn::Impossible };
        self.state = State::Processing;
        self.batch.sent = Some(range);
        shared.out.push(Command::Process {
            tenure: self.id,
            token: hold.token,
            expected: hold.frontier,
            range,
            attempt: self.attempts + 1,
            refused: self.batch.is_refused,
            within_ms: self.within_ms(shared),
        });
        Turn::Done
    }

    pub(super) fn processing(&mut self, shared: &mut Shared, input: Input<'_>) -> Turn {
        match input {
            Input::Committed => self.decided(shared),
            Input::CommitUnknown => {
                self.reads = 0;
                self.resolve(shared)
            }
            Input::Fenced | Input::Moved => self.retire(shared),
            Input::ProcessFailed(ProcessFailure::Attempt(failure)) => {
                self.try_again(shared, failure, Then::Process)
            }
            Input::ProcessFailed(ProcessFailure::Refused(why)) => self.narrow(shared, why),
            Input::ProcessFailed(ProcessFailure::TooLarge { fit }) => self.shorten(shared, *fit),
            // What holds the row lock may land before the next owner's claim; both orders are right.
            Input::Revoked | Input::Drained => {
                self.state = State::Ending(Asked::Process);
                Turn::Done
            }
            Input::Lost => {
                self.give_back(shared);
                self.cancel(shared, Asked::Process)
            }
            Input::Spent => self.cancel_spent(shared, Asked::Process),
            Input::Passed | Input::RetryDue | Input::Granted => Turn::Late,
            answers!(claim, observe, seek, probe, poll) => Turn::Impossible,
        }
    }

    /// The part in hand is durable: the next part, or the next poll.
    pub(super) fn decided(&mut self, shared: &mut Shared) -> Turn {
        let (Some(range), Some(hold)) = (self.range(), self.hold.as_mut()) else { return Turn::Impossible };
        hold.frontier = range.last.frontier_after();
        self.attempts = 0;
        self.batch.decided = range.to;
        self.batch.is_refused = false;
        self.batch.sent = None;
        self.batch.ends.pop();
        shared.gate.decided(self.id.partition);
        if !self.batch.ends.is_empty() {
            self.begin_budget(shared);
            return self.process(shared);
        }
        self.release_lane(shared);
        self.give_back(shared);
        self.poll(shared)
    }

    /// One record's data was refused: the left half first, each half by itself; a single record is quarantined.
    fn narrow(&mut self, shared: &mut Shared, why: &str) -> Turn {
        let Some(range) = self.range() else { return Turn::Impossible };
        let records = range.to - range.from;
        self.attempts = 0;
        if records > 1 {
            self.batch.ends.push(range.from + records / 2);
        } else if self.batch.is_refused {
            let why =
                format!("could not quarantine offset {}: postgres refused that too, {why}", range.first);
            return self.stop(shared, StopReason::Broken { why });
        } else {
            self.batch.is_refused = true;
        }
        self.process(shared)
    }

    /// The range touches too many rows: the leading records that fit, then the rest.
    fn shorten(&mut self, shared: &mut Shared, fit: u32) -> Turn {
        let Some(range) = self.range() else { return Turn::Impossible };
        if fit == 0 || fit >= range.to - range.from {
            return Turn::Impossible;
        }
        self.attempts = 0;
        self.batch.ends.push(range.from + fit);
        self.process(shared)
    }
}
