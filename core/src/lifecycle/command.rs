//! Knows everything that the reducer can ask for: the closed list of what comes out of it.

use serde::{Deserialize, Serialize};

use super::stop::StopReason;
use crate::ids::{Frontier, Offset, RebalanceId, TenureId, Token};

/// What is to be done. `Check`, `Claim`, `Observe`, `Assign` (once per position), `Seek`, `Probe`, `Poll`, `Process`,
/// `Wait` and `Close` are answered by exactly one event each; the others are told.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", tag = "command")]
pub enum Command {
    /// Ask the broker what the source is. Answered `Checked` or `CheckFailed`.
    Check {
        /// Numbers the requests of this process.
        check: CheckId,
        /// How much to ask.
        parts: CheckParts,
    },
    /// Install a new token in the partition's row. Answered `Claimed`, `ClaimUnknown` or `ClaimFailed`.
    Claim {
        /// For whom.
        tenure: TenureId,
        /// The rest of the budget: no wait inside may be longer.
        within_ms: u64,
    },
    /// Read the partition's row under its lock. Answered `Observed` or `ObserveFailed`.
    Observe {
        /// For whom.
        tenure: TenureId,
        /// On a session of its own, opened for this read.
        fresh: bool,
        /// The rest of the budget: no wait inside may be longer.
        within_ms: u64,
    },
    /// Give the client its assignment, once per `Assigned`, with absolute positions. Answered `Sought` or `SeekFailed`
    /// for each position.
    Assign {
        /// The callback that waits for it.
        rebalance: RebalanceId,
        /// Where each lane begins; a partition that is not named is left out.
        positions: Vec<(TenureId, Frontier)>,
    },
    /// Tell the client that its assignment is over: the group goes on.
    Unassign {
        /// The callback that waits for it.
        rebalance: RebalanceId,
    },
    /// Move the lane to the frontier and throw away what was fetched before. Answered `Sought` or `SeekFailed`.
    Seek {
        /// Whose lane.
        tenure: TenureId,
        /// The absolute position, without a leader epoch.
        frontier: Frontier,
        /// The rest of the budget: no wait inside may be longer.
        within_ms: u64,
    },
    /// Ask a client with a throw-away group for the first visible record at or after the frontier. Answered `Probed`
    /// or `ProbeFailed`.
    Probe {
        /// Whose lane.
        tenure: TenureId,
        /// Where it begins to look.
        frontier: Frontier,
        /// The rest of the budget: no wait inside may be longer.
        within_ms: u64,
    },
    /// Take what is queued for the lane, waiting for the first record only. Answered `Polled`, `PollEmpty` or
    /// `PollFailed`.
    Poll {
        /// Whose lane.
        tenure: TenureId,
        /// At most so many records.
        records: u32,
        /// At most so many bytes of keys, values and headers, but always one record.
        bytes: u64,
        /// The longest wait for the first record.
        wait_ms: u64,
    },
    /// Decide a range of the polled records in one transaction. Answered `Committed`, `CommitUnknown`, `Fenced`,
    /// `Moved` or `ProcessFailed`.
    Process {
        /// Whose decision.
        tenure: TenureId,
        /// What the row must show.
        token: Token,
        /// What the row must show.
        expected: Frontier,
        /// Which of the polled records.
        range: Range,
        /// The attempt at this range, from 1.
        attempt: u32,
        /// The range is one record that PostgreSQL refused: quarantine it as `REFUSED_BY_STORE`.
        refused: bool,
        /// The rest of the budget: no wait inside may be longer.
        within_ms: u64,
    },
    /// Answer `Expired` after a while.
    Wait {
        /// Which timer.
        timer: Timer,
        /// How long.
        after_ms: u64,
    },
    /// End the tenure's statement in flight: a cancel request, then its connection. Its question is still answered.
    Cancel {
        /// Whose statement.
        tenure: TenureId,
    },
    /// The ticket of an answered `Poll` comes back: its records may be forgotten.
    AllowRebalance {
        /// Whose ticket.
        tenure: TenureId,
    },
    /// The tenure is over: its queue and records may be forgotten, its partition is fetched no more.
    Retire {
        /// Which tenure.
        tenure: TenureId,
    },
    /// Leave the group and join it again as a new member.
    Rejoin {
        /// The new member's number.
        member: u32,
    },
    /// Leave the group and drop the client, off the reducer's path. Answered `Closed`.
    Close,
    /// The stream is over; nothing follows.
    Stop {
        /// Why.
        reason: StopReason,
    },
}

/// Numbers the checks of one process, from 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CheckId(pub u64);

/// How much a check asks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CheckParts {
    /// Topic UUID and partition count.
    Identity,
    /// Also the effective retention settings, log starts and read-committed ends.
    Bounds,
}

/// A range of the records of one `Polled`, by index, with the offsets that bound it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Range {
    /// Index of the first record.
    pub from: u32,
    /// Index behind the last record.
    pub to: u32,
    /// Offset of the first record.
    pub first: Offset,
    /// Offset of the last record.
    pub last: Offset,
}

/// What a `Wait` was for. A timer that is no longer wanted expires all the same and changes nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case")]
pub enum Timer {
    /// The wait before an operation of this tenure is tried again.
    Retry {
        /// Whose.
        tenure: TenureId,
        /// Numbers the tenure's waits.
        wait: u32,
    },
    /// The tenure's budget may have ended.
    Budget {
        /// Whose.
        tenure: TenureId,
    },
    /// A check that failed, or whose answer was to be asked for again, is repeated.
    CheckAgain {
        /// Numbers the waits for repetitions.
        wait: u32,
    },
    /// The periodic check may be due.
    CheckDue,
    /// The rebalance callback has waited as long as it may.
    Rebalance {
        /// Which callback.
        rebalance: RebalanceId,
    },
    /// The member may leave and join again.
    Rejoin {
        /// Numbers the waits for rejoins.
        wait: u32,
    },
    /// The decisions in flight have had as long as a rejoin gives them.
    Leave {
        /// Numbers the waits for rejoins.
        wait: u32,
    },
    /// The drain has lasted as long as it may.
    Drain,
}
