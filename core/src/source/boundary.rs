//! Knows what the broker showed of the source, and which sights a sink refuses.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::ids::{Incarnation, Offset};

/// What one check saw. Both parts are separate observations of the broker.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Sight {
    /// The identity part.
    pub topic: TopicSight,
    /// The bounds part, when it was asked for and the topic was there.
    pub bounds: Option<Arc<Bounds>>,
}

/// The identity of the topic, from one metadata answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TopicSight {
    /// The broker knows a topic of this name.
    Known {
        /// Its UUID; `None` when the broker answered the zero UUID.
        incarnation: Option<Incarnation>,
        /// How many partitions it has.
        partitions: u32,
    },
    /// The broker knows no topic of this name.
    Unknown,
}

/// The bounds of the source.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Bounds {
    /// `cleanup.policy` in force.
    pub cleanup_policy: String,
    /// `retention.ms` in force; -1 is unlimited.
    pub retention_ms: i64,
    /// `retention.bytes` in force; -1 is unlimited.
    pub retention_bytes: i64,
    /// `unclean.leader.election.enable` in force.
    pub unclean_leader_election: bool,
    /// Each partition's log, by partition number; `None` while it has no leader.
    pub logs: Vec<Option<LogSpan>>,
}

/// Where one partition's log begins and ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LogSpan {
    /// The log start offset.
    pub start: Offset,
    /// The read-committed end (the last stable offset), never the high watermark.
    pub end: Offset,
}

use std::fmt;

/// Why a source is refused: what was expected and what was seen.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", tag = "refusal")]
pub enum Refusal {
    /// The topic of this name has another UUID.
    AnotherIncarnation {
        /// The manifest's.
        expected: Incarnation,
        /// The broker's.
        seen: Incarnation,
    },
}

impl Refusal {
    /// The word for this refusal in logs, traces and docs/operations.md.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::AnotherIncarnation { .. } => "another-incarnation",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AnotherIncarnation { expected, seen } => write!(f, "expected {expected}, saw {seen}"),
        }
    }
}
