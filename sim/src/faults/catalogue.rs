//! Knows every fault by number and name, what its parameters mean, and how strong it can be drawn.

use serde::{Deserialize, Serialize};

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
    /// It happens at a drawn time, once at most; else it strikes at opportunities.
    pub is_incident: bool,
    /// Of a thousand: opportunities that it strikes at most, or worlds in which it happens.
    pub per_mille: u32,
    /// Its forms; empty when it has one only.
    pub variants: &'static [&'static str],
}

impl Fault {
    /// Its place in the catalogue, from 0.
    #[must_use]
    pub fn index(self) -> usize {
        self as usize - 1
    }

    /// Its row in the catalogue.
    #[must_use]
    pub fn entry(self) -> &'static Entry {
        &CATALOGUE[self.index()]
    }
}

macro_rules! catalogue {
    ($($number:literal $fault:ident $name:literal ($least:literal, $most:literal) $unit:literal $kind:ident
       $per_mille:literal [$($variant:literal),*]: $what:literal,)*) => {
        /// What can go wrong, by its number in the catalogue.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
        #[repr(u8)]
        pub enum Fault {
            $(#[doc = $what] #[serde(rename = $name)] $fault = $number,)*
        }

        /// All faults, by number.
        pub const CATALOGUE: &[Entry] = &[$(Entry {
            fault: Fault::$fault,
            name: $name,
            what: $what,
            unit: $unit,
            severity: ($least, $most),
            is_incident: matches!(stringify!($kind).as_bytes(), b"once"),
            per_mille: $per_mille,
            variants: &[$($variant),*],
        },)*];
    };
}

// Number, fault, name, least and most severity and its unit, whether it strikes at each opportunity or happens once and
// how often of a thousand, forms: what happens.
catalogue! {
    1 CommitReplyLost "commit-reply-lost" (0, 3_000) "ms until the client knows" each 600 ["cut", "silent"]: "the reply to a decision's COMMIT is lost; it committed",
    2 CommitLost "commit-lost" (0, 3_000) "ms until the client knows" each 300 ["cut", "silent"]: "a decision's COMMIT does not commit, and no reply comes",
    3 CommitLate "commit-late" (1, 30_000) "ms until it lands" each 300 ["cut", "silent"]: "a decision's reply is lost, and its COMMIT lands later",
    4 ClaimReplyLost "claim-reply-lost" (0, 3_000) "ms until the client knows" each 600 ["installed", "not-installed"]: "the reply to a claim's COMMIT is lost",
    5 TransactionAborted "transaction-aborted" (1, 5) "in a row" each 200 ["40001", "40P01"]: "PostgreSQL chooses the transaction to give way",
    6 RowHeld "row-held" (0, 25_000) "ms" once 1000 ["foreign", "worker"]: "another session holds the row's lock",
    7 ConnectionDropped "connection-dropped" (0, 0) "" each 150 ["before-begin", "mid-statement", "before-commit", "after-commit", "half-open"]: "the connection drops",
    8 ObserveFails "observe-fails" (1, 5) "in a row" each 250 []: "a read of the row fails",
    9 OnStandby "on-standby" (1, 5) "in a row" each 200 []: "a new session lands on a standby",
    10 CommitsForgotten "commits-forgotten" (1, 5) "commits" once 200 ["old-holder-alive", "old-holder-dead"]: "a failover loses acknowledged commits",
    11 FailedOver "failed-over" (0, 30_000) "ms until the new server takes connections" once 500 []: "a failover without loss: every session is cut",
    12 SessionRefused "session-refused" (0, 5_000) "ms" each 150 ["57P01", "53300", "pool-exhausted"]: "the server ends a session or takes no new one",
    13 CallbackDelayed "callback-delayed" (0, 60_000) "ms" each 200 []: "a callback comes late",
    14 CallbackOutOfOrder "callback-out-of-order" (0, 0) "" each 150 ["revoked-after-assigned", "assigned-twice", "lost-for-revoked", "revoked-never"]: "a callback comes out of order, twice, or never",
    15 RevokedDuring "revoked-during" (0, 0) "" each 60 ["claim", "seek", "check", "process", "retry-wait", "observe"]: "the group takes a partition while the tenure works",
    16 ReassignedAtOnce "reassigned-at-once" (0, 5_000) "ms between" once 1000 []: "a partition is revoked and given to the same worker again",
    17 RebalanceStorm "rebalance-storm" (1, 20) "rebalances" once 300 []: "the group rebalances again and again",
    18 Paused "paused" (0, 120_000) "ms" once 700 []: "a process stands still and does not know it",
    19 PollThreadStarved "poll-thread-starved" (61000, 90000) "ms" once 50 []: "the client's thread does not run; its member is lost",
    20 Crashed "crashed" (0, 30_000) "ms until it starts again" once 700 ["at-once", "in-a-transaction"]: "a process dies",
    21 Asked "asked" (0, 0) "" once 300 ["shutdown", "shutdown-twice", "pause", "stop"]: "somebody asks the worker to end",
    22 LeaderMoved "leader-moved" (0, 10_000) "ms without a leader" once 700 ["clean", "unclean"]: "a partition's leader changes",
    23 TruncatedBelow "truncated-below" (1, 10) "offsets" once 60 ["left-short", "regrown"]: "an unclean election truncates the log below the frontier",
    24 Recreated "recreated" (1, 4) "partitions" once 80 []: "the topic is deleted and made again",
    25 PartitionsAdded "partitions-added" (1, 8) "partitions" once 60 []: "the topic gets more partitions",
    26 RetentionTruncated "retention-truncated" (1, 10) "offsets" once 80 ["below", "at", "above"]: "the log's beginning is deleted",
    27 Compacted "compacted" (1, 3) "offsets" once 60 ["hole", "policy"]: "compaction leaves a hole, or is switched on",
    28 AbortedInterleaved "aborted-interleaved" (1, 3) "records in front of one, and a marker" each 1000 []: "aborted transactions lie between the records",
    29 ControlTail "control-tail" (1, 5) "records" once 700 []: "control records lie at the end",
    30 TransactionHangs "transaction-hangs" (0, 300_000) "ms" once 400 []: "an open transaction holds the stable end back",
    31 Redelivered "redelivered" (1, 20) "records" each 100 []: "the client gives records again",
    32 StalePrefetch "stale-prefetch" (1, 5) "records" each 150 []: "records fetched before a seek come after it",
    33 SeekMisbehaves "seek-misbehaves" (0, 5_000) "ms" each 300 ["late", "erroneous-state", "not-taken"]: "a seek is late, fails, or does not take",
    34 MetadataStale "metadata-stale" (0, 5_000) "ms" each 200 ["old", "unknown", "no-leader", "no-answer"]: "a check is answered by a broker that is behind, or by none",
    35 TopicIdAbsent "topic-id-absent" (0, 0) "" each 30 []: "the broker's protocol has no topic id",
    36 GroupOffsetPlanted "group-offset-planted" (0, 10) "offset" each 200 ["within", "beyond-end"]: "a group offset wins over the first seek",
    37 PollMisbehaves "poll-misbehaves" (0, 0) "" each 150 ["error", "empty"]: "a poll fails, or says nothing",
    38 TimerMisbehaves "timer-misbehaves" (0, 50) "ms" each 300 ["late", "early"]: "a timer is early or late",
    39 Poison "poison" (0, 0) "" each 150 ["key", "value", "size", "utf8", "nul"]: "a record cannot be read",
    40 SecondDeployment "second-deployment" (0, 0) "" once 300 ["same-manifest", "other-manifest"]: "another deployment works for the namespace",
    41 OrphanCommits "orphan-commits" (0, 4_000) "ms" each 300 []: "a dead process's transaction commits after it",
    42 StatementLimit "statement-limit" (1_000, 60_000) "ms" each 400 []: "the server's statement limit is another than the worker's",
    43 SecondDatabase "second-database" (1_000, 30_000) "ms in the group" once 300 []: "a deployment with a copy of the database, and so of the namespace's id, shares the group",
    44 DecisionTooLarge "decision-too-large" (1, 4) "records that fit" each 150 []: "a decision is larger than it may be",
    45 StandbyWarned "standby-warned" (0, 0) "" each 150 ["kept", "forgotten"]: "COMMIT is answered with a warning of the synchronous standby",
    46 OrphanClaim "orphan-claim" (0, 4_000) "ms" each 200 []: "a claim of the same process lands after its fresh one was sent",
    47 BytesDelayed "bytes-delayed" (0, 4_000) "ms" each 150 []: "a decision's bytes reach the server late",
    48 TruncatedAndRegrown "truncated-and-regrown" (1, 10) "offsets" once 50 []: "the log is cut and grows past where it was",
    49 GuardLost "guard-lost" (1, 20) "lines" once 300 []: "a load loses the session of its guard, ends, and is made again",
    50 RelayPaused "relay-paused" (0, 120_000) "ms" once 300 []: "a relay is paused while a second one runs",
    51 DiskFull "disk-full" (1, 5) "times" each 150 ["effects", "commit", "53300"]: "the server has no room",
    52 ClosedDuringRebalance "closed-during-rebalance" (0, 0) "" each 300 []: "the client is closed while the group rebalances",
}
