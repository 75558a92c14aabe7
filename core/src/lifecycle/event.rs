//! Knows everything that can happen to a worker: the closed list of what goes into the reducer.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::command::{CheckId, Timer};
use crate::ids::{Frontier, Offset, Partition, RebalanceId, TenureId, Token};
use crate::source::boundary::Sight;

/// What happened. Answers return the tenure of the command that asked; every question gets exactly one answer.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", tag = "event")]
pub enum Event {
    /// The group gave this member these partitions (the whole assignment, eager protocol).
    Assigned {
        /// Orders the member's callbacks.
        rebalance: RebalanceId,
        /// In ascending order; may be empty.
        partitions: Vec<Partition>,
    },
    /// The group takes these partitions back and waits for the member.
    Revoked {
        /// Orders the member's callbacks.
        rebalance: RebalanceId,
        /// In ascending order.
        partitions: Vec<Partition>,
    },
    /// The member lost whatever it held; nobody waits.
    Lost {
        /// Orders the member's callbacks.
        rebalance: RebalanceId,
    },
    /// Answers `Check`.
    Checked {
        /// Which request this answers.
        check: CheckId,
        /// What the broker showed.
        sight: Sight,
    },
    /// Answers `Check`: the broker did not say.
    CheckFailed {
        /// Which request this answers.
        check: CheckId,
        /// What happens next.
        failure: Failure,
    },
    /// Answers `Claim`: the claim committed.
    Claimed {
        /// Whose claim.
        tenure: TenureId,
        /// What it installed.
        token: Token,
        /// The partition's frontier under it.
        frontier: Frontier,
    },
    /// Answers `Claim`: it may have committed.
    ClaimUnknown {
        /// Whose claim.
        tenure: TenureId,
        /// For people.
        why: String,
    },
    /// Answers `Claim`: it did not commit.
    ClaimFailed {
        /// Whose claim.
        tenure: TenureId,
        /// What happens next.
        failure: Failure,
    },
    /// Answers `Observe`: the row, read under its lock.
    Observed {
        /// Who asked.
        tenure: TenureId,
        /// The token in the row; `None` before the first claim.
        token: Option<Token>,
        /// The frontier in the row; `None` before the first claim.
        frontier: Option<Frontier>,
    },
    /// Answers `Observe`: the row could not be read.
    ObserveFailed {
        /// Who asked.
        tenure: TenureId,
        /// What happens next.
        failure: Failure,
    },
    /// Answers `Seek`, or one position of `Assign`.
    Sought {
        /// Whose lane.
        tenure: TenureId,
    },
    /// Answers `Seek`, or one position of `Assign`.
    SeekFailed {
        /// Whose lane.
        tenure: TenureId,
        /// What happens next.
        failure: Failure,
    },
    /// Answers `Probe`: what a client with a throw-away group saw at or after the frontier.
    Probed {
        /// Whose lane.
        tenure: TenureId,
        /// What it saw.
        sight: ProbeSight,
    },
    /// Answers `Probe`: it saw nothing that can be told.
    ProbeFailed {
        /// Whose lane.
        tenure: TenureId,
        /// What happens next.
        failure: Failure,
    },
    /// Answers `Poll`: visible records of one partition.
    Polled {
        /// Whose lane.
        tenure: TenureId,
        /// Their offsets, at least one, in the order in which the client gave them.
        offsets: Offsets,
    },
    /// Answers `Poll`: no record within its wait.
    PollEmpty {
        /// Whose lane.
        tenure: TenureId,
    },
    /// Answers `Poll`: the client could not fetch.
    PollFailed {
        /// Whose lane.
        tenure: TenureId,
        /// What happens next.
        failure: PollFailure,
    },
    /// Answers `Process`: the decision is durable.
    Committed {
        /// Whose decision.
        tenure: TenureId,
    },
    /// Answers `Process`: the decision may be durable.
    CommitUnknown {
        /// Whose decision.
        tenure: TenureId,
        /// For people.
        why: String,
    },
    /// Answers `Process`: another token stood in the row; nothing was written.
    Fenced {
        /// Whose decision.
        tenure: TenureId,
        /// The token that stood there; `None` when a failover forgot every claim.
        by: Option<Token>,
    },
    /// Answers `Process`: another frontier stood in the row; nothing was written.
    Moved {
        /// Whose decision.
        tenure: TenureId,
        /// The frontier that stood there.
        frontier: Option<Frontier>,
    },
    /// Answers `Process`: nothing was written.
    ProcessFailed {
        /// Whose decision.
        tenure: TenureId,
        /// What happens next.
        failure: ProcessFailure,
    },
    /// Answers `Wait`.
    Expired {
        /// Which timer.
        timer: Timer,
    },
    /// SIGINT or SIGTERM.
    ShutdownRequested,
    /// An operator pauses the stream: drain, leave the group.
    PauseRequested,
    /// An operator stops the stream: drain, leave the group.
    StopRequested,
    /// The member's client cannot go on (a fatal error of the client or the group).
    ClientFailed {
        /// Which join's client.
        member: u32,
        /// For people.
        why: String,
    },
    /// Answers `Close`: the client is gone, or was left behind.
    Closed,
}

/// A failure that surely had no effect, sorted by what happens next.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "next", content = "why")]
pub enum Failure {
    /// Nothing was sent: no attempt was made, and it is tried again until the budget ends.
    Unreached(String),
    /// An attempt failed and may be made again.
    Again(String),
    /// It will not get better by itself: the worker stops.
    Broken(String),
}

impl Failure {
    /// What failed and why, for people.
    #[must_use]
    pub fn why(&self) -> &String {
        match self {
            Self::Unreached(why) | Self::Again(why) | Self::Broken(why) => why,
        }
    }
}

/// Why a `Process` wrote nothing.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProcessFailure {
    /// An outage or a mistake, not the records' data.
    Attempt(Failure),
    /// PostgreSQL refused some record's data (SQLSTATE class 22, 23 or 54 before COMMIT was sent).
    Refused(String),
    /// The range would read or write over `batch-effects` rows; this many leading records fit (at least 1).
    TooLarge {
        /// How many leading records fit.
        fit: u32,
    },
}

/// Why a `Poll` has no records to show.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PollFailure {
    /// The client's position is outside of the log: the seek may not have taken.
    Reset(String),
    /// The client reports trouble that it mends by itself.
    Again(String),
}

/// What a probe saw at or after the frontier.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProbeSight {
    /// The first visible record.
    Record(Offset),
    /// No visible record below this read-committed end.
    Tail(Offset),
}

/// The offsets of polled records, shared with the adapter that keeps the records themselves.
#[derive(Clone, PartialEq, Eq)]
pub struct Offsets(Arc<[Offset]>);

impl Offsets {
    /// Wraps the offsets of polled records; a poll that returned has at least one.
    #[must_use]
    pub fn new(offsets: Arc<[Offset]>) -> Self {
        Self(offsets)
    }

    /// Maximal runs of consecutive offsets, as (first, last).
    fn runs(&self) -> impl Iterator<Item = (i64, i64)> + '_ {
        let mut rest = self.0.iter().map(|offset| offset.0).peekable();
        std::iter::from_fn(move || {
            let first = rest.next()?;
            let mut last = first;
            while let Some(next) = rest.next_if(|next| last.checked_add(1) == Some(*next)) {
                last = next;
            }
            Some((first, last))
        })
    }
}

impl Deref for Offsets {
    type Target = [Offset];

    fn deref(&self) -> &[Offset] {
        &self.0
    }
}

impl fmt::Debug for Offsets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// As runs: `0-3,5`.
impl fmt::Display for Offsets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (first, last)) in self.runs().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            if first == last { write!(f, "{comma}{first}")? } else { write!(f, "{comma}{first}-{last}")? }
        }
        Ok(())
    }
}

/// As runs: `[[0,3],[5,5]]`, so that a journal's size does not grow with the batch.
impl Serialize for Offsets {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.runs())
    }
}

impl<'de> Deserialize<'de> for Offsets {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let runs = Vec::<(i64, i64)>::deserialize(deserializer)?;
        Ok(Self(runs.into_iter().flat_map(|(first, last)| (first..=last).map(Offset)).collect()))
    }
}
