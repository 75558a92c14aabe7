//! Knows what the server and its wires will do, and when: one list in order of time, and of entry where times are equal.

use std::collections::BTreeMap;

use super::refusal::Refusal;
use super::session::SessionId;
use super::talk::Sent;
use super::wire::Delivery;

/// What happens by itself.
pub(super) enum Due {
    /// Messages of a client arrive.
    Arrive(SessionId, Vec<Sent>),
    /// The end of a client's stream arrives.
    HangUp(SessionId),
    /// Answers can be read by their client.
    Deliver(SessionId, Delivery),
    /// The client reads the end of its stream.
    Cut(SessionId),
    /// A statement waited for long enough.
    GiveUp(SessionId, Refusal),
    /// A transaction was idle for long enough.
    Idle(SessionId),
    /// A running statement finds that its client is gone.
    Notice(SessionId),
    /// A COMMIT reaches the disk.
    Land(SessionId),
    /// A foreign hand is done with the row that it holds.
    LetGo(SessionId),
    /// A failover leaves so many of the commits.
    FailOver { keep: usize },
}

/// Names an entry, so that it can be taken off.
pub(super) type Appointment = (u64, u64);

/// What is due, in order.
#[derive(Default)]
pub(super) struct Agenda {
    entries: BTreeMap<Appointment, Due>,
    count: u64,
}

impl Agenda {
    pub(super) fn at(&mut self, at_ms: u64, due: Due) -> Appointment {
        self.count += 1;
        let appointment = (at_ms, self.count);
        self.entries.insert(appointment, due);
        appointment
    }

    pub(super) fn forget(&mut self, appointment: Appointment) {
        self.entries.remove(&appointment);
    }

    /// No failover that is still to come does.
    pub(super) fn call_off_failovers(&mut self) {
        self.entries.retain(|_, due| !matches!(due, Due::FailOver { .. }));
    }

    /// When the next entry is due.
    pub(super) fn next_ms(&self) -> Option<u64> {
        self.entries.first_key_value().map(|((at_ms, _), _)| *at_ms)
    }

    /// Takes the next entry that is due by now.
    pub(super) fn take(&mut self, now_ms: u64) -> Option<Due> {
        let first = self.entries.first_entry().filter(|entry| entry.key().0 <= now_ms)?;
        Some(first.remove())
    }
}
