//! Knows why a stream ends, and the code word and the sentence of each reason.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ids::{Frontier, Offset, Partition, TenureId};
use crate::source::boundary::Refusal;

/// Why a stream ended.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", tag = "reason")]
pub enum StopReason {
    /// A signal asked for it, and nothing is in flight or unresolved.
    Shutdown,
    /// An operator paused the stream.
    Paused,
    /// An operator stopped the stream.
    Stopped,
    /// The source is not what it was declared to be.
    Refused {
        /// What was expected and what was seen.
        refusal: Refusal,
    },
    /// A commit whose reply was lost could not be resolved by reading.
    Unresolved {
        /// Whose commit, or claim.
        tenure: TenureId,
        /// The epoch that it was sent under; `None` when it was a claim.
        epoch: Option<i64>,
        /// First and last offset of the range; `None` when it was a claim.
        offsets: Option<(Offset, Offset)>,
        /// For people.
        why: String,
    },
    /// The partition was fenced again and again while Kafka assigned it to us.
    Contended {
        /// Which partition.
        partition: Partition,
        /// How many times within ten minutes.
        times: u32,
    },
    /// The client did not go where it was sent.
    SeekNotTaken {
        /// Whose lane.
        tenure: TenureId,
        /// Where it was sent.
        frontier: Frontier,
    },
    /// A budget ran out.
    BudgetSpent {
        /// Whose budget.
        tenure: TenureId,
        /// The state in which it ran out.
        doing: String,
        /// For people: the last failure within the budget; empty when nothing failed.
        why: String,
    },
    /// Every attempt at an operation failed.
    AttemptsSpent {
        /// Whose operation.
        tenure: TenureId,
        /// The state in which it failed.
        doing: String,
        /// For people: the last failure.
        why: String,
    },
    /// Something failed that will not get better by itself.
    Broken {
        /// For people: what and why.
        why: String,
    },
    /// An answer came that nobody asked for. Going on would be a guess.
    Impossible {
        /// Who got it, in which state.
        state: String,
        /// What came.
        event: String,
    },
}

impl StopReason {
    /// The word for this reason in logs, traces and docs/operations.md.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Shutdown => "shutdown",
            Self::Paused => "paused",
            Self::Stopped => "stopped",
            Self::Refused { refusal } => refusal.code(),
            Self::Unresolved { .. } => "unresolved",
            Self::Contended { .. } => "contended",
            Self::SeekNotTaken { .. } => "seek-not-taken",
            Self::BudgetSpent { .. } => "budget-spent",
            Self::AttemptsSpent { .. } => "attempts-spent",
            Self::Broken { .. } => "broken",
            Self::Impossible { .. } => "impossible",
        }
    }

    /// Whether somebody asked for the end, so that the process exits 0.
    #[must_use]
    pub fn is_orderly(&self) -> bool {
        matches!(self, Self::Shutdown | Self::Paused | Self::Stopped)
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shutdown => write!(f, "shut down; nothing is in flight or unresolved"),
            Self::Paused => write!(f, "paused; nothing is in flight or unresolved"),
            Self::Stopped => write!(f, "stopped; nothing is in flight or unresolved"),
            Self::Refused { refusal } => {
                write!(f, "source refused: {refusal}; the worker stops, what is decided stays")
            }
            Self::Unresolved { tenure, epoch: Some(epoch), offsets: Some((first, last)), why } => write!(
                f,
                "could not tell whether {first} to {last} of {tenure} committed under epoch {epoch}: {why}; \
                 the worker stops, and a restart reads again"
            ),
            Self::Unresolved { tenure, why, .. } => write!(
                f,
                "could not tell whether the claim of {tenure} committed: {why}; the worker stops, and a restart \
                 reads again"
            ),
            Self::Contended { partition, times } => write!(
                f,
                "could not keep partition {partition}: fenced {times} times within ten minutes while the group \
                 assigns it to this member; the worker stops, look for a second deployment"
            ),
            Self::SeekNotTaken { tenure, frontier } => write!(
                f,
                "could not seek {tenure} to {frontier}: the client went elsewhere three times; the worker stops"
            ),
            Self::BudgetSpent { tenure, doing, why } => {
                write!(f, "could not finish {tenure} in 20s: still {doing}")?;
                if !why.is_empty() {
                    write!(f, ", the last failure: {why}")?;
                }
                write!(f, "; the worker stops, start it again")
            }
            Self::AttemptsSpent { tenure, doing, why } => {
                write!(
                    f,
                    "could not finish {tenure}: {doing} failed three times, {why}; the worker stops, start it again"
                )
            }
            Self::Broken { why } => write!(f, "{why}; the worker stops"),
            Self::Impossible { state, event } => write!(
                f,
                "impossible: {event} came while {state}; the worker stops, nothing was guessed, please report the journal"
            ),
        }
    }
}
