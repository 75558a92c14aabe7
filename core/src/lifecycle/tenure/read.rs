//! Knows how records are read, and when what the client gives is believed.

use super::*;
use crate::ids::Offset;
use crate::lifecycle::{EMPTY_POLLS, MAX_SEEKS, POLL_WAIT_MS};

impl Tenure {
    /// Takes what is queued; or first reads the row, when PostgreSQL has not answered for a while.
    pub(super) fn poll(&mut self, shared: &mut Shared) -> Turn {
        self.budget.deadline = None;
        self.ask_for_records(shared)
    }

    /// The same after a seek: its budget ends with the poll, and a read of the row before that draws on it.
    pub(super) fn poll_where_sought(&mut self, shared: &mut Shared) -> Turn {
        self.budget.ends_with_poll = true;
        self.ask_for_records(shared)
    }

    /// The same within a budget that runs on, since the last poll failed.
    pub(super) fn ask_for_records(&mut self, shared: &mut Shared) -> Turn {
        let until_observe = self.observe_at.ms_since(shared.now);
        if until_observe == 0 {
            self.state = State::Observing;
            return self.observe(shared, false);
        }
        if std::mem::take(&mut self.budget.ends_with_poll) {
            self.budget.deadline = None;
        }
        self.state = State::Polling;
        shared.out.push(Command::Poll {
            tenure: self.id,
            records: shared.settings.batch_records,
            bytes: shared.settings.batch_bytes,
            wait_ms: POLL_WAIT_MS.min(until_observe),
        });
        Turn::Done
    }

    pub(super) fn polling(&mut self, shared: &mut Shared, input: Input<'_>) -> Turn {
        match input {
            Input::Polled(offsets) => self.polled(shared, offsets),
            Input::PollEmpty => {
                shared.allow_rebalance(self.id);
                self.poll_empty(shared)
            }
            Input::PollFailed(PollFailure::Reset(_)) => {
                shared.allow_rebalance(self.id);
                self.missed(shared)
            }
            // What a client mends by itself ends within the budget that begins here; the rest must not go on for ever.
            Input::PollFailed(PollFailure::Again(why)) => {
                shared.allow_rebalance(self.id);
                if self.budget.deadline.is_none() {
                    self.begin_budget(shared);
                }
                self.trouble.clone_from(why);
                self.wait(shared, REPEAT_MS, Then::Poll)
            }
            Input::Revoked | Input::Lost | Input::Drained => self.finish(shared),
            Input::Spent => self.budget_spent(shared),
            Input::Passed | Input::RetryDue | Input::Granted => Turn::Late,
            answers!(claim, observe, seek, probe, process) => Turn::Impossible,
        }
    }

    /// Holds the records against the frontier. From here a ticket is out and a budget runs.
    fn polled(&mut self, shared: &mut Shared, offsets: &Offsets) -> Turn {
        let Some(hold) = self.hold else { return Turn::Impossible };
        let (Some(first), Some(last)) = (offsets.first(), offsets.last()) else { return Turn::Impossible };
        self.batch.offsets = Some(offsets.clone());
        self.batch.decided = 0;
        self.batch.is_refused = false;
        self.batch.ends.clear();
        let Ok(records) = u32::try_from(offsets.len()) else { return Turn::Impossible };
        self.batch.ends.push(records);
        let is_ascending = offsets.windows(2).all(|pair| pair[0] < pair[1]);
        let expected = hold.frontier.next_offset();
        let is_probed = self.position.probe == Some(ProbeSight::Record(*first));
        if !is_ascending || *first < expected || !(self.position.is_proven || *first == expected || is_probed)
        {
            self.give_back(shared);
            self.forget_tail(*first);
            return self.missed(shared);
        }
        self.begin_budget(shared);
        // The first record after a probe needs bounds that were asked for after this poll: it has a gap before it.
        let has_gap = *first != expected || last.0 - first.0 != i64::from(records) - 1;
        let parts = shared.checks.parts_for_records(shared.now, has_gap);
        self.state = State::Judging(shared.want(parts));
        Turn::Done
    }

    pub(super) fn judging(&mut self, shared: &mut Shared, input: Input<'_>) -> Turn {
        match input {
            Input::Passed => {
                self.position = Position { is_proven: true, ..Position::default() };
                self.attempts = 0;
                self.state = State::Queued;
                shared.lanes.ask(self.id);
                Turn::Done
            }
            Input::Revoked | Input::Lost | Input::Drained => self.finish(shared),
            Input::Spent => self.budget_spent(shared),
            Input::RetryDue | Input::Granted => Turn::Late,
            answers!(claim, observe, seek, probe, poll, process) => Turn::Impossible,
        }
    }

    fn poll_empty(&mut self, shared: &mut Shared) -> Turn {
        if self.position.is_proven {
            shared.checks.idle(shared.now);
            return self.poll(shared);
        }
        if self.position.must_probe {
            if let Some(log) = shared.checks.log(self.id.partition) {
                self.forget_tail(log.end);
            }
            return self.missed(shared);
        }
        self.position.empties += 1;
        let was_record_seen = matches!(self.position.probe, Some(ProbeSight::Record(_)));
        if was_record_seen && self.position.empties >= EMPTY_POLLS {
            return self.missed(shared);
        }
        // An empty poll proves nothing until an end that was asked for after it says that nothing is there. A need that
        // is not served yet stays: a later one could be overtaken for ever by the checks of a neighbour.
        let next = shared.checks.next_bounds(shared.now);
        self.position.need.get_or_insert(next);
        self.poll(shared)
    }

    /// A check that passed showed the bounds: whether an empty first poll was held against the end.
    pub(in super::super) fn hold_empty_poll(&mut self, shared: &Shared, served: impl Fn(Need) -> bool) {
        let (Some(hold), Some(need)) = (self.hold, self.position.need) else { return };
        if self.position.is_proven || !served(need) {
            return;
        }
        self.position.need = None;
        let seen_to = match self.position.probe {
            Some(ProbeSight::Tail(end)) => end,
            Some(ProbeSight::Record(_)) => return,
            None => hold.frontier.next_offset(),
        };
        self.position.must_probe = shared.checks.log(self.id.partition).is_some_and(|log| log.end > seen_to);
    }

    /// What lies at or behind the end of a probed tail came after the probe: it speaks for a new probe, not against
    /// the seek.
    fn forget_tail(&mut self, seen: Offset) {
        if matches!(self.position.probe, Some(ProbeSight::Tail(end)) if seen >= end) {
            self.position.probe = None;
        }
    }

    /// The client is not where it was sent: asks a client that no group offset can mislead, or seeks again when one
    /// was asked already.
    fn missed(&mut self, shared: &mut Shared) -> Turn {
        self.position.is_proven = false;
        self.position.empties = 0;
        if self.position.probe.is_some() {
            self.position.misses += 1;
            if self.position.misses >= MAX_SEEKS {
                let Some(hold) = self.hold else { return Turn::Impossible };
                return self
                    .stop(shared, StopReason::SeekNotTaken { tenure: self.id, frontier: hold.frontier });
            }
        }
        self.begin_budget(shared);
        if let Some(ProbeSight::Record(_)) = self.position.probe {
            return self.confirm(shared);
        }
        self.attempts = 0;
        self.probe(shared)
    }

    pub(super) fn probe(&mut self, shared: &mut Shared) -> Turn {
        let Some(hold) = self.hold else { return Turn::Impossible };
        self.state = State::Probing;
        let within_ms = self.within_ms(shared);
        shared.out.push(Command::Probe { tenure: self.id, frontier: hold.frontier, within_ms });
        Turn::Done
    }

    pub(super) fn probing(&mut self, shared: &mut Shared, input: Input<'_>) -> Turn {
        match input {
            Input::Probed(sight) => {
                self.attempts = 0;
                self.position.probe = Some(sight);
                self.confirm(shared)
            }
            Input::ProbeFailed(failure) => self.try_again(shared, failure, Then::Probe),
            Input::Revoked | Input::Lost | Input::Drained => self.finish(shared),
            Input::Spent => self.budget_spent(shared),
            Input::Passed | Input::RetryDue | Input::Granted => Turn::Late,
            answers!(claim, observe, seek, poll, process) => Turn::Impossible,
        }
    }
}
