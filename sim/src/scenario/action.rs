//! Knows everything that a story can do to a world: the closed list of what whoever runs it must carry out.

use crate::fact::Entry;
use crate::faults::{Incident, Order};

/// What is done. Workers are numbered from 0, and it is their newest process that is meant.
#[derive(Clone, PartialEq, Debug)]
pub enum Action {
    /// The worker's next process begins.
    Start(u8),
    /// Its process dies. It is not started again by itself.
    Crash(u8),
    /// Its process dies, where it has one, and the next begins.
    Restart(u8),
    /// Its process stands still and does not know it.
    Pause {
        /// Whose.
        worker: u8,
        /// How long; `None` until it is resumed.
        for_ms: Option<u64>,
    },
    /// It goes on.
    Resume(u8),
    /// Somebody asks for an end.
    Ask {
        /// Whom.
        worker: u8,
        /// For what. A second shutdown ends the process at once.
        request: Request,
    },
    /// The group takes the worker's partitions and deals them out again.
    Revoke(u8),
    /// The log grows.
    Append {
        /// Of which partition.
        partition: u32,
        /// What is appended.
        entry: Entry,
        /// How often.
        times: u32,
    },
    /// The open transaction of a partition ends.
    Close {
        /// Which partition.
        partition: u32,
        /// Whether its records become visible.
        is_committed: bool,
    },
    /// Everything below an offset is deleted.
    DeleteBelow {
        /// Of which partition.
        partition: u32,
        /// Where the log begins now.
        offset: i64,
    },
    /// An unclean election loses everything from an offset on.
    TruncateTo {
        /// Of which partition.
        partition: u32,
        /// Where the log ends now.
        offset: i64,
    },
    /// Compaction removes one record.
    Compact {
        /// Of which partition.
        partition: u32,
        /// Which.
        offset: i64,
    },
    /// The topic is deleted and made again.
    Recreate {
        /// With how many partitions; `None` for as many as before.
        partitions: Option<u32>,
    },
    /// The topic is deleted.
    DeleteTopic,
    /// The topic has more partitions.
    Grow {
        /// How many now.
        partitions: u32,
    },
    /// The topic's configuration becomes what a ledger refuses.
    Configure(Setting),
    /// The next opportunity that fits is struck.
    Order(Order),
    /// Something goes wrong now, whatever its `at_ms` says.
    Incident(Incident),
    /// The faults are over.
    Heal,
}

/// What somebody asks a worker for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Request {
    /// A signal.
    Shutdown,
    /// An operator pauses the stream.
    Pause,
    /// An operator stops the stream.
    Stop,
}

/// A configuration that a ledger refuses, called as the refusal is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Setting {
    /// Records are deleted after a while.
    RetentionFinite,
    /// Records are compacted.
    CleanupPolicy,
    /// A replica that is behind may lead.
    UncleanElection,
}
