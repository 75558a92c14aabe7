//! Knows what the server and its wires will do by themselves.

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
