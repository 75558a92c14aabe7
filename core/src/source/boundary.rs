//! Knows what the broker showed of the source, and which sights a sink refuses.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::ids::{Frontier, Incarnation, Offset, Partition};
use crate::source::manifest::Config;

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

impl Bounds {
    /// The partition's log, when the broker showed it.
    #[must_use]
    pub fn log(&self, partition: Partition) -> Option<LogSpan> {
        self.logs.get(usize::try_from(partition.0).ok()?).copied().flatten()
    }
}

/// Which sink reads the source: it decides how strict the boundary is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sink {
    /// Restates positions: its source must keep every record for ever.
    Ledger,
    /// Copies events out: its source may forget what was copied.
    Archive,
    /// Starts workflows: its source may forget what was started.
    Workflow,
}

/// What the source was declared to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Declared {
    /// Who reads it.
    pub sink: Sink,
    /// The topic's UUID when it was declared.
    pub incarnation: Incarnation,
    /// How many partitions it had then.
    pub partitions: u32,
}

/// What a sight means.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Nothing speaks against it.
    Pass,
    /// A broker that is behind shows this too: ask again, and refuse when the budget ends.
    AskAgain(Refusal),
    /// Final at once.
    Refuse(Refusal),
}

impl Declared {
    /// What a ledger's source is held against.
    #[must_use]
    pub fn by_ledger(config: &Config) -> Self {
        Self { sink: Sink::Ledger, incarnation: config.source_incarnation(), partitions: config.partitions() }
    }

    /// Judges all that a sight shows of the source: the identity, then the bounds where they were asked for. Frontiers
    /// are judged apart, by whoever holds them.
    #[must_use]
    pub fn judge(&self, sight: &Sight) -> Verdict {
        match (self.judge_topic(sight.topic), sight.bounds.as_deref()) {
            (Verdict::Pass, Some(bounds)) => self.judge_bounds(bounds),
            (verdict, _) => verdict,
        }
    }

    /// Judges the identity of the topic.
    fn judge_topic(&self, topic: TopicSight) -> Verdict {
        let TopicSight::Known { incarnation, partitions } = topic else {
            return Verdict::AskAgain(Refusal::TopicGone { expected: self.incarnation });
        };
        let Some(seen) = incarnation else {
            return Verdict::AskAgain(Refusal::IncarnationUnknown { expected: self.incarnation });
        };
        let expected = self.partitions;
        if seen != self.incarnation {
            Verdict::Refuse(Refusal::AnotherIncarnation { expected: self.incarnation, seen })
        } else if partitions < expected {
            Verdict::Refuse(Refusal::PartitionsShrank { expected, seen: partitions })
        } else if partitions > expected && self.sink == Sink::Ledger {
            Verdict::Refuse(Refusal::PartitionsGrew { expected, seen: partitions })
        } else {
            Verdict::Pass
        }
    }

    /// Judges what holds for the whole source: a ledger's source must keep everything.
    fn judge_bounds(&self, bounds: &Bounds) -> Verdict {
        for number in 0..self.partitions {
            let partition = Partition(number);
            let Some(log) = bounds.log(partition) else {
                return Verdict::AskAgain(Refusal::NoLeader { partition });
            };
            if self.sink == Sink::Ledger && log.start > Offset(0) {
                return Verdict::Refuse(Refusal::StartAboveZero { partition, start: log.start });
            }
        }
        if self.sink != Sink::Ledger {
            return Verdict::Pass;
        }
        if bounds.cleanup_policy != "delete" {
            return Verdict::Refuse(Refusal::CleanupPolicy { seen: bounds.cleanup_policy.clone() });
        }
        for (setting, seen) in
            [("retention.ms", bounds.retention_ms), ("retention.bytes", bounds.retention_bytes)]
        {
            if seen != -1 {
                return Verdict::Refuse(Refusal::RetentionFinite { setting: setting.to_owned(), seen });
            }
        }
        if bounds.unclean_leader_election {
            return Verdict::Refuse(Refusal::UncleanElection);
        }
        Verdict::Pass
    }

    /// Judges one partition that the group gave, and its frontier when that is known. A declared one without a leader is
    /// judged by [`Self::judge`].
    #[must_use]
    pub fn judge_partition(
        &self,
        bounds: &Bounds,
        partition: Partition,
        frontier: Option<Frontier>,
    ) -> Verdict {
        let Some(LogSpan { start, end }) = bounds.log(partition) else {
            return match self.sink {
                _ if partition.0 < self.partitions => Verdict::Pass,
                // The group has more partitions than the broker that was asked: it is behind.
                Sink::Ledger => Verdict::AskAgain(Refusal::PartitionsGrew {
                    expected: self.partitions,
                    seen: partition.0.saturating_add(1),
                }),
                Sink::Archive | Sink::Workflow => Verdict::AskAgain(Refusal::NoLeader { partition }),
            };
        };
        match frontier {
            Some(frontier) if start > frontier.next_offset() => {
                Verdict::Refuse(Refusal::StartAboveFrontier { partition, frontier, start })
            }
            Some(frontier) if frontier.next_offset() > end => {
                Verdict::AskAgain(Refusal::FrontierAboveEnd { partition, frontier, end })
            }
            Some(_) | None => Verdict::Pass,
        }
    }
}

/// Why a source is refused: what was expected and what was seen.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", tag = "refusal")]
#[expect(missing_docs, reason = "the sentences below say what each field is")]
pub enum Refusal {
    /// The topic of this name has another UUID.
    AnotherIncarnation { expected: Incarnation, seen: Incarnation },
    /// The broker tells no UUID.
    IncarnationUnknown { expected: Incarnation },
    /// The broker knows no topic of this name.
    TopicGone { expected: Incarnation },
    /// The topic has fewer partitions than declared.
    PartitionsShrank { expected: u32, seen: u32 },
    /// The topic has more partitions than declared.
    PartitionsGrew { expected: u32, seen: u32 },
    /// A partition has no leader, so its log cannot be bounded.
    NoLeader { partition: Partition },
    /// The stored frontier lies behind the end of the log.
    FrontierAboveEnd { partition: Partition, frontier: Frontier, end: Offset },
    /// Records at and after the stored frontier are gone.
    StartAboveFrontier { partition: Partition, frontier: Frontier, start: Offset },
    /// The log does not begin at 0.
    StartAboveZero { partition: Partition, start: Offset },
    /// The topic may forget records by age or size.
    RetentionFinite { setting: String, seen: i64 },
    /// The topic may forget records by key.
    CleanupPolicy { seen: String },
    /// A leader that lacks acknowledged records may be elected.
    UncleanElection,
}

impl Refusal {
    /// The word for this refusal in logs, traces and docs/operations.md.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::AnotherIncarnation { .. } => "another-incarnation",
            Self::IncarnationUnknown { .. } => "incarnation-unknown",
            Self::TopicGone { .. } => "topic-gone",
            Self::PartitionsShrank { .. } => "partitions-shrank",
            Self::PartitionsGrew { .. } => "partitions-grew",
            Self::NoLeader { .. } => "no-leader",
            Self::FrontierAboveEnd { .. } => "frontier-above-end",
            Self::StartAboveFrontier { .. } => "start-above-frontier",
            Self::StartAboveZero { .. } => "start-above-zero",
            Self::RetentionFinite { .. } => "retention-finite",
            Self::CleanupPolicy { .. } => "cleanup-policy",
            Self::UncleanElection => "unclean-election",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AnotherIncarnation { expected, seen } => {
                write!(f, "expected the topic {expected}, the broker has {seen} under this name")
            }
            Self::IncarnationUnknown { expected } => {
                write!(f, "expected the topic {expected}, the broker tells no topic id")
            }
            Self::TopicGone { expected } => {
                write!(f, "expected the topic {expected}, the broker knows no topic of this name")
            }
            Self::PartitionsShrank { expected, seen } => {
                write!(f, "expected {expected} partitions, the topic has only {seen}")
            }
            Self::PartitionsGrew { expected, seen } => {
                write!(f, "expected {expected} partitions, the topic has {seen}")
            }
            Self::NoLeader { partition } => {
                write!(f, "expected a leader for partition {partition}, the broker names none")
            }
            Self::FrontierAboveEnd { partition, frontier, end } => write!(
                f,
                "expected partition {partition} to reach the stored frontier {frontier}, its read-committed end is {end}"
            ),
            Self::StartAboveFrontier { partition, frontier, start } => write!(
                f,
                "expected partition {partition} to begin at or below the stored frontier {frontier}, its log starts at \
                 {start}: offsets {frontier} to {} are lost",
                start.0 - 1
            ),
            Self::StartAboveZero { partition, start } => {
                write!(f, "expected partition {partition} to begin at 0, its log starts at {start}")
            }
            Self::RetentionFinite { setting, seen } => {
                write!(f, "expected {setting}=-1 (keep everything), the topic has {setting}={seen}")
            }
            Self::CleanupPolicy { seen } => {
                write!(f, "expected cleanup.policy=delete, the topic has cleanup.policy={seen}")
            }
            Self::UncleanElection => {
                write!(f, "expected unclean.leader.election.enable=false, the topic has true")
            }
        }
    }
}
