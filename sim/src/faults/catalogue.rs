//! Knows every fault by number and name, what its parameters mean, and how strong it can be drawn.

use serde::{Deserialize, Serialize};

/// What can go wrong, by its number in the catalogue.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum Fault {
    /// F01: the reply to a decision's COMMIT is lost; it committed.
    CommitReplyLost = 1,
    /// F02: a decision's COMMIT does not commit, and no reply comes.
    CommitLost = 2,
    /// F03: a decision's reply is lost, and its COMMIT lands later.
    CommitLate = 3,
    /// F04: the reply to a claim's COMMIT is lost.
    ClaimReplyLost = 4,
    /// F05: PostgreSQL chooses the transaction to give way.
    TransactionAborted = 5,
    /// F06: another session holds the row's lock.
    RowHeld = 6,
    /// F07: the connection drops.
    ConnectionDropped = 7,
    /// F08: a read of the row fails.
    ObserveFails = 8,
    /// F09: a new session lands on a standby.
    OnStandby = 9,
    /// F10: a failover loses acknowledged commits.
    CommitsForgotten = 10,
    /// F11: a failover without loss: every session is cut.
    FailedOver = 11,
    /// F12: the server ends a session or takes no new one.
    SessionRefused = 12,
    /// F13: a callback comes late.
    CallbackDelayed = 13,
    /// F14: a callback comes out of order, twice, or never.
    CallbackOutOfOrder = 14,
    /// F15: the group takes a partition while the tenure works.
    RevokedDuring = 15,
    /// F16: a partition is revoked and given to the same worker again.
    ReassignedAtOnce = 16,
    /// F17: the group rebalances again and again.
    RebalanceStorm = 17,
    /// F18: a process stands still and does not know it.
    Paused = 18,
    /// F19: the client's thread does not run; its member is lost.
    PollThreadStarved = 19,
    /// F20: a process dies.
    Crashed = 20,
    /// F21: somebody asks the worker to stop.
    Asked = 21,
    /// F22: a partition's leader changes.
    LeaderMoved = 22,
    /// F23: an unclean election truncates the log below the frontier.
    TruncatedBelow = 23,
    /// F24: the topic is deleted and made again.
    Recreated = 24,
    /// F25: the topic gets more partitions.
    PartitionsAdded = 25,
    /// F26: the log's beginning is deleted.
    RetentionTruncated = 26,
    /// F27: compaction leaves a hole, or is switched on.
    Compacted = 27,
    /// F28: aborted transactions lie between the records.
    AbortedInterleaved = 28,
    /// F29: control records lie at the end.
    ControlTail = 29,
    /// F30: an open transaction holds the stable end back.
    TransactionHangs = 30,
    /// F31: the client gives records again.
    Redelivered = 31,
    /// F32: records fetched before a seek come after it.
    StalePrefetch = 32,
    /// F33: a seek is late, fails, or does not take.
    SeekMisbehaves = 33,
    /// F34: a check is answered by a broker that is behind, or by none.
    MetadataStale = 34,
    /// F35: the broker's protocol has no topic id.
    TopicIdAbsent = 35,
    /// F36: a group offset wins over the first seek.
    GroupOffsetPlanted = 36,
    /// F37: a poll fails, or says nothing.
    PollMisbehaves = 37,
    /// F38: a timer is early or late.
    TimerMisbehaves = 38,
    /// F39: a record cannot be read.
    Poison = 39,
    /// F40: another deployment works for the namespace.
    SecondDeployment = 40,
    /// F41: a dead process's transaction commits after it.
    OrphanCommits = 41,
    /// F42: the server's statement limit is another than the worker's.
    StatementLimit = 42,
    /// F43: a second database has the same namespace.
    SecondDatabase = 43,
    /// F44: a decision is larger than it may be.
    DecisionTooLarge = 44,
    /// F45: COMMIT is answered with a warning of the synchronous standby.
    StandbyWarned = 45,
    /// F46: a claim of the same process lands after its fresh one was sent.
    OrphanClaim = 46,
    /// F47: a decision's bytes reach the server late.
    BytesDelayed = 47,
    /// F48: the log is cut and grows past where it was.
    TruncatedAndRegrown = 48,
    /// F49: the guard's session is lost.
    GuardLost = 49,
    /// F50: a relay is paused while a second one runs.
    RelayPaused = 50,
    /// F51: the server has no room.
    DiskFull = 51,
    /// F52: the client is closed while the group rebalances.
    ClosedDuringRebalance = 52,
}

/// One row of the catalogue.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Which fault.
    pub fault: Fault,
    /// Its name in schedules, scenarios and traces.
    pub name: &'static str,
    /// What happens.
    pub what: &'static str,
    /// What its severity counts; empty when it has none.
    pub unit: &'static str,
    /// The least and the most severity that is drawn.
    pub severity: (u64, u64),
    /// Opportunities of a thousand at most; 0 for an incident, which happens at drawn times instead.
    pub per_mille: u32,
    /// Its forms; empty when it has one only.
    pub variants: &'static [&'static str],
}

impl Fault {
    /// Its row in the catalogue.
    #[must_use]
    pub fn entry(self) -> &'static Entry {
        &CATALOGUE[self as usize - 1]
    }
}

/// All faults, by number.
pub const CATALOGUE: [Entry; 52] = [
    Entry {
        fault: Fault::CommitReplyLost,
        name: "commit-reply-lost",
        what: "the reply to a decision's COMMIT is lost; it committed",
        unit: "ms until the client knows",
        severity: (0, 3_000),
        per_mille: 600,
        variants: &["cut", "silent"],
    },
    Entry {
        fault: Fault::CommitLost,
        name: "commit-lost",
        what: "a decision's COMMIT does not commit, and no reply comes",
        unit: "ms until the client knows",
        severity: (0, 3_000),
        per_mille: 300,
        variants: &["cut", "silent"],
    },
    Entry {
        fault: Fault::CommitLate,
        name: "commit-late",
        what: "a decision's reply is lost, and its COMMIT lands later",
        unit: "ms until it lands",
        severity: (1, 30_000),
        per_mille: 300,
        variants: &["cut", "silent"],
    },
    Entry {
        fault: Fault::ClaimReplyLost,
        name: "claim-reply-lost",
        what: "the reply to a claim's COMMIT is lost",
        unit: "ms until the client knows",
        severity: (0, 3_000),
        per_mille: 600,
        variants: &["installed", "not-installed"],
    },
    Entry {
        fault: Fault::TransactionAborted,
        name: "transaction-aborted",
        what: "PostgreSQL chooses the transaction to give way",
        unit: "in a row",
        severity: (1, 5),
        per_mille: 200,
        variants: &["40001", "40P01"],
    },
    Entry {
        fault: Fault::RowHeld,
        name: "row-held",
        what: "another session holds the row's lock",
        unit: "ms",
        severity: (0, 25_000),
        per_mille: 0,
        variants: &["foreign", "worker"],
    },
    Entry {
        fault: Fault::ConnectionDropped,
        name: "connection-dropped",
        what: "the connection drops",
        unit: "",
        severity: (0, 0),
        per_mille: 150,
        variants: &["before-begin", "mid-statement", "before-commit", "after-commit", "half-open"],
    },
    Entry {
        fault: Fault::ObserveFails,
        name: "observe-fails",
        what: "a read of the row fails",
        unit: "in a row",
        severity: (1, 5),
        per_mille: 250,
        variants: &[],
    },
    Entry {
        fault: Fault::OnStandby,
        name: "on-standby",
        what: "a new session lands on a standby",
        unit: "in a row",
        severity: (1, 5),
        per_mille: 200,
        variants: &[],
    },
    Entry {
        fault: Fault::CommitsForgotten,
        name: "commits-forgotten",
        what: "a failover loses acknowledged commits",
        unit: "commits",
        severity: (1, 5),
        per_mille: 0,
        variants: &["old-holder-alive", "old-holder-dead"],
    },
    Entry {
        fault: Fault::FailedOver,
        name: "failed-over",
        what: "a failover without loss: every session is cut",
        unit: "ms until the new server takes connections",
        severity: (0, 30_000),
        per_mille: 0,
        variants: &[],
    },
    Entry {
        fault: Fault::SessionRefused,
        name: "session-refused",
        what: "the server ends a session or takes no new one",
        unit: "ms",
        severity: (0, 5_000),
        per_mille: 150,
        variants: &["57P01", "53300", "pool-exhausted"],
    },
    Entry {
        fault: Fault::CallbackDelayed,
        name: "callback-delayed",
        what: "a callback comes late",
        unit: "ms",
        severity: (0, 60_000),
        per_mille: 200,
        variants: &[],
    },
    Entry {
        fault: Fault::CallbackOutOfOrder,
        name: "callback-out-of-order",
        what: "a callback comes out of order, twice, or never",
        unit: "",
        severity: (0, 0),
        per_mille: 150,
        variants: &["revoked-after-assigned", "assigned-twice", "lost-for-revoked", "revoked-never"],
    },
    Entry {
        fault: Fault::RevokedDuring,
        name: "revoked-during",
        what: "the group takes a partition while the tenure works",
        unit: "",
        severity: (0, 0),
        per_mille: 60,
        variants: &["claim", "seek", "check", "process", "retry-wait", "observe"],
    },
    Entry {
        fault: Fault::ReassignedAtOnce,
        name: "reassigned-at-once",
        what: "a partition is revoked and given to the same worker again",
        unit: "ms between",
        severity: (0, 5_000),
        per_mille: 0,
        variants: &[],
    },
    Entry {
        fault: Fault::RebalanceStorm,
        name: "rebalance-storm",
        what: "the group rebalances again and again",
        unit: "rebalances",
        severity: (1, 20),
        per_mille: 0,
        variants: &[],
    },
    Entry {
        fault: Fault::Paused,
        name: "paused",
        what: "a process stands still and does not know it",
        unit: "ms",
        severity: (0, 120_000),
        per_mille: 0,
        variants: &[],
    },
    Entry {
        fault: Fault::PollThreadStarved,
        name: "poll-thread-starved",
        what: "the client's thread does not run; its member is lost",
        unit: "ms",
        severity: (60_000, 180_000),
        per_mille: 0,
        variants: &[],
    },
    Entry {
        fault: Fault::Crashed,
        name: "crashed",
        what: "a process dies",
        unit: "ms until it starts again",
        severity: (0, 30_000),
        per_mille: 0,
        variants: &["new-member", "same-member"],
    },
    Entry {
        fault: Fault::Asked,
        name: "asked",
        what: "somebody asks the worker to stop",
        unit: "",
        severity: (0, 0),
        per_mille: 0,
        variants: &["once", "twice"],
    },
    Entry {
        fault: Fault::LeaderMoved,
        name: "leader-moved",
        what: "a partition's leader changes",
        unit: "ms without a leader",
        severity: (0, 10_000),
        per_mille: 0,
        variants: &["clean", "unclean"],
    },
    Entry {
        fault: Fault::TruncatedBelow,
        name: "truncated-below",
        what: "an unclean election truncates the log below the frontier",
        unit: "offsets",
        severity: (1, 10),
        per_mille: 0,
        variants: &["left-short", "regrown"],
    },
    Entry {
        fault: Fault::Recreated,
        name: "recreated",
        what: "the topic is deleted and made again",
        unit: "partitions",
        severity: (1, 4),
        per_mille: 0,
        variants: &[],
    },
    Entry {
        fault: Fault::PartitionsAdded,
        name: "partitions-added",
        what: "the topic gets more partitions",
        unit: "partitions",
        severity: (1, 8),
        per_mille: 0,
        variants: &[],
    },
    Entry {
        fault: Fault::RetentionTruncated,
        name: "retention-truncated",
        what: "the log's beginning is deleted",
        unit: "offsets",
        severity: (1, 10),
        per_mille: 0,
        variants: &["below", "at", "above"],
    },
    Entry {
        fault: Fault::Compacted,
        name: "compacted",
        what: "compaction leaves a hole, or is switched on",
        unit: "offsets",
        severity: (1, 3),
        per_mille: 0,
        variants: &["hole", "policy"],
    },
    Entry {
        fault: Fault::AbortedInterleaved,
        name: "aborted-interleaved",
        what: "aborted transactions lie between the records",
        unit: "records in front of one, and a marker",
        severity: (1, 3),
        per_mille: 1_000,
        variants: &[],
    },
    Entry {
        fault: Fault::ControlTail,
        name: "control-tail",
        what: "control records lie at the end",
        unit: "records",
        severity: (1, 5),
        per_mille: 0,
        variants: &[],
    },
    Entry {
        fault: Fault::TransactionHangs,
        name: "transaction-hangs",
        what: "an open transaction holds the stable end back",
        unit: "ms",
        severity: (0, 300_000),
        per_mille: 0,
        variants: &[],
    },
    Entry {
        fault: Fault::Redelivered,
        name: "redelivered",
        what: "the client gives records again",
        unit: "records",
        severity: (1, 20),
        per_mille: 100,
        variants: &[],
    },
    Entry {
        fault: Fault::StalePrefetch,
        name: "stale-prefetch",
        what: "records fetched before a seek come after it",
        unit: "records",
        severity: (1, 5),
        per_mille: 150,
        variants: &[],
    },
    Entry {
        fault: Fault::SeekMisbehaves,
        name: "seek-misbehaves",
        what: "a seek is late, fails, or does not take",
        unit: "ms",
        severity: (0, 5_000),
        per_mille: 300,
        variants: &["late", "erroneous-state", "not-taken"],
    },
    Entry {
        fault: Fault::MetadataStale,
        name: "metadata-stale",
        what: "a check is answered by a broker that is behind, or by none",
        unit: "ms",
        severity: (0, 5_000),
        per_mille: 200,
        variants: &["old", "unknown", "no-leader", "no-answer"],
    },
    Entry {
        fault: Fault::TopicIdAbsent,
        name: "topic-id-absent",
        what: "the broker's protocol has no topic id",
        unit: "",
        severity: (0, 0),
        per_mille: 30,
        variants: &[],
    },
    Entry {
        fault: Fault::GroupOffsetPlanted,
        name: "group-offset-planted",
        what: "a group offset wins over the first seek",
        unit: "offset",
        severity: (0, 10),
        per_mille: 200,
        variants: &["within", "beyond-end"],
    },
    Entry {
        fault: Fault::PollMisbehaves,
        name: "poll-misbehaves",
        what: "a poll fails, or says nothing",
        unit: "",
        severity: (0, 0),
        per_mille: 150,
        variants: &["error", "empty"],
    },
    Entry {
        fault: Fault::TimerMisbehaves,
        name: "timer-misbehaves",
        what: "a timer is early or late",
        unit: "ms",
        severity: (0, 50),
        per_mille: 300,
        variants: &["late", "early"],
    },
    Entry {
        fault: Fault::Poison,
        name: "poison",
        what: "a record cannot be read",
        unit: "",
        severity: (0, 0),
        per_mille: 150,
        variants: &["key", "value", "size", "utf8", "nul"],
    },
    Entry {
        fault: Fault::SecondDeployment,
        name: "second-deployment",
        what: "another deployment works for the namespace",
        unit: "",
        severity: (0, 0),
        per_mille: 0,
        variants: &["same-manifest", "other-manifest"],
    },
    Entry {
        fault: Fault::OrphanCommits,
        name: "orphan-commits",
        what: "a dead process's transaction commits after it",
        unit: "ms",
        severity: (0, 4_000),
        per_mille: 300,
        variants: &[],
    },
    Entry {
        fault: Fault::StatementLimit,
        name: "statement-limit",
        what: "the server's statement limit is another than the worker's",
        unit: "ms",
        severity: (1_000, 60_000),
        per_mille: 100,
        variants: &[],
    },
    Entry {
        fault: Fault::SecondDatabase,
        name: "second-database",
        what: "a second database has the same namespace",
        unit: "",
        severity: (0, 0),
        per_mille: 0,
        variants: &[],
    },
    Entry {
        fault: Fault::DecisionTooLarge,
        name: "decision-too-large",
        what: "a decision is larger than it may be",
        unit: "records that fit",
        severity: (1, 4),
        per_mille: 150,
        variants: &[],
    },
    Entry {
        fault: Fault::StandbyWarned,
        name: "standby-warned",
        what: "COMMIT is answered with a warning of the synchronous standby",
        unit: "",
        severity: (0, 0),
        per_mille: 150,
        variants: &["kept", "forgotten"],
    },
    Entry {
        fault: Fault::OrphanClaim,
        name: "orphan-claim",
        what: "a claim of the same process lands after its fresh one was sent",
        unit: "ms",
        severity: (0, 4_000),
        per_mille: 200,
        variants: &[],
    },
    Entry {
        fault: Fault::BytesDelayed,
        name: "bytes-delayed",
        what: "a decision's bytes reach the server late",
        unit: "ms",
        severity: (0, 4_000),
        per_mille: 150,
        variants: &[],
    },
    Entry {
        fault: Fault::TruncatedAndRegrown,
        name: "truncated-and-regrown",
        what: "the log is cut and grows past where it was",
        unit: "offsets",
        severity: (1, 10),
        per_mille: 0,
        variants: &[],
    },
    Entry {
        fault: Fault::GuardLost,
        name: "guard-lost",
        what: "the guard's session is lost",
        unit: "",
        severity: (0, 0),
        per_mille: 0,
        variants: &["load", "verify"],
    },
    Entry {
        fault: Fault::RelayPaused,
        name: "relay-paused",
        what: "a relay is paused while a second one runs",
        unit: "ms",
        severity: (0, 120_000),
        per_mille: 0,
        variants: &[],
    },
    Entry {
        fault: Fault::DiskFull,
        name: "disk-full",
        what: "the server has no room",
        unit: "times",
        severity: (1, 5),
        per_mille: 150,
        variants: &["effects", "commit", "53300"],
    },
    Entry {
        fault: Fault::ClosedDuringRebalance,
        name: "closed-during-rebalance",
        what: "the client is closed while the group rebalances",
        unit: "",
        severity: (0, 0),
        per_mille: 300,
        variants: &[],
    },
];
