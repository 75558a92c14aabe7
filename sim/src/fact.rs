//! Knows what can be seen of a world: the closed list of what its log holds, and what every check is told.
//!
//! A fact is what the services and the wires did, and what passed between a reducer and its world. What a reducer
//! believes is never among them.

use amends_core::ids::{Frontier, Incarnation, Offset, Partition, RebalanceId, TenureId, Token};
use amends_core::lifecycle::command::Command;
use amends_core::lifecycle::event::Event;
use amends_core::source::manifest::Config;
use amends_core::source::record::Record;

use crate::faults::Fault;
use crate::life::Life;

/// Numbers the transactions of a world, in the order in which they began.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TxId(pub u64);

/// For whom a transaction works, as the world saw its command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ghost {
    /// Which process.
    pub who: Life,
    /// Which of its tenures.
    pub tenure: TenureId,
    /// The callback that gave the partition: the tenure's generation.
    pub generation: RebalanceId,
    /// What it does.
    pub op: Op,
}

/// An operation of the store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// Installs a token.
    Claim,
    /// Reads the row under its lock.
    Observe,
    /// Decides a range.
    Process,
}

/// A partition's row.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Row {
    /// `None` before the first claim.
    pub token: Option<Token>,
    /// `None` before the first claim.
    pub frontier: Option<Frontier>,
}

/// What one committed transaction did to a partition.
#[derive(Clone, PartialEq, Debug)]
pub struct Commit {
    /// Which transaction.
    pub tx: TxId,
    /// For whom; `None` for a hand that is no worker's.
    pub ghost: Option<Ghost>,
    /// Which partition.
    pub partition: Partition,
    /// The row at the commit point, before it.
    pub before: Row,
    /// The row behind it.
    pub after: Row,
    /// The token that the decision carried; `None` for a claim.
    pub carried: Option<Token>,
    /// The frontier that the decision expected; `None` for a claim.
    pub expected: Option<Frontier>,
    /// Offsets that it decided, ascending; empty for a claim.
    pub decided: Vec<Offset>,
    /// The rows that it wrote, in a world that keeps rows; `None` where only offsets are kept.
    pub rows: Option<Box<Written>>,
}

impl Commit {
    /// Who made it, for people.
    #[must_use]
    pub fn maker(&self) -> String {
        self.ghost.map_or("a foreign hand".to_owned(), |ghost| format!("{} {}", ghost.who, ghost.tenure))
    }

    /// Whether an operator moved the frontier, which no worker may: under a raised epoch, and without a decision.
    #[must_use]
    pub fn is_operators_seek(&self) -> bool {
        self.ghost.is_none() && self.decided.is_empty() && self.before.token != self.after.token
    }
}

/// Rows of the ledger as one commit left them, each as the text of its columns in the order of the table.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Written {
    /// `amends.evidence`, without the namespace.
    pub evidence: Vec<Vec<Option<String>>>,
    /// `amends.position`, without the namespace.
    pub positions: Vec<Vec<Option<String>>>,
    /// `amends.outbox`, without the namespace.
    pub outbox: Vec<Vec<Option<String>>>,
}

/// One thing that happened.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Fact<'a> {
    /// A process began.
    Started {
        /// Which.
        who: Life,
    },
    /// A process died with whatever it held.
    Crashed {
        /// Which.
        who: Life,
    },
    /// A process ended after its `Stop`.
    Exited {
        /// Which.
        who: Life,
    },
    /// A process stands still, and does not know it.
    Froze {
        /// Which.
        who: Life,
    },
    /// It goes on.
    Thawed {
        /// Which.
        who: Life,
    },
    /// A reducer is given an event.
    Delivered {
        /// Whose.
        who: Life,
        /// What.
        event: &'a Event,
    },
    /// A reducer asks for something, in answer to the last `Delivered` of the same process.
    Commanded {
        /// Whose.
        who: Life,
        /// What.
        command: &'a Command,
    },
    /// A client joined a group, in a world that has names for them.
    Joined {
        /// Whose client.
        who: Life,
        /// The group's id.
        group: &'a str,
        /// The UUID of the namespace in the database that this process works for.
        namespace: u128,
    },
    /// The config of the namespace, in a world that keeps rows.
    Declared(&'a Config),
    /// What a visible record of the declared topic carries, in a world that keeps rows.
    Published {
        /// Which partition.
        partition: Partition,
        /// The record.
        record: &'a Record,
    },
    /// All commands of a step were told.
    Settled {
        /// Whose step.
        who: Life,
    },
    /// A transaction got the row lock.
    Locked {
        /// Which transaction.
        tx: TxId,
        /// For whom.
        ghost: Option<Ghost>,
        /// Which row.
        partition: Partition,
    },
    /// The answer of its lock reached the client.
    LockAnswered {
        /// Which transaction.
        tx: TxId,
    },
    /// The client handed COMMIT over to the wire.
    CommitSent {
        /// Which transaction.
        tx: TxId,
    },
    /// It committed.
    Committed(&'a Commit),
    /// It ended without effect.
    RolledBack {
        /// Which transaction.
        tx: TxId,
    },
    /// The last commits are gone, counted over all partitions.
    Forgot {
        /// How many.
        commits: u32,
    },
    /// The log grew.
    Appended {
        /// Which incarnation.
        incarnation: Incarnation,
        /// Which partition.
        partition: Partition,
        /// Its first new offset.
        first: Offset,
        /// What lies there.
        entries: &'a [Entry],
    },
    /// The log begins later, or ends earlier, or has another hole.
    LogChanged {
        /// Which incarnation.
        incarnation: Incarnation,
        /// Which partition.
        partition: Partition,
        /// What.
        change: LogChange,
    },
    /// The topic of the name is another one now.
    Recreated {
        /// The new one.
        incarnation: Incarnation,
        /// How many partitions it has.
        partitions: u32,
    },
    /// There is no topic of the name any more.
    Deleted,
    /// The topic has more partitions.
    Grew {
        /// How many now.
        partitions: u32,
    },
    /// The topic's configuration is not what a ledger needs any more.
    Reconfigured,
    /// A live member received another answer or callback than it would have, later or never.
    Struck {
        /// Which fault did it.
        fault: Fault,
        /// To whom; `None` when to a service.
        who: Option<Life>,
    },
    /// The faults are over.
    Healed,
    /// The world is at its end.
    Ended,
}

/// What lies at one offset.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Entry {
    /// A visible record.
    Visible,
    /// A record of an aborted transaction.
    Aborted,
    /// A transaction marker.
    Control,
    /// Nothing: compacted away.
    Hole,
    /// A record of a transaction that is still open: it and all behind it are beyond the stable end.
    Open,
}

/// How a log changed other than by growing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogChange {
    /// The log start moved up to here.
    StartsAt(Offset),
    /// Everything from here on is gone; what comes next takes its place.
    TruncatedTo(Offset),
    /// The record here is gone.
    HoleAt(Offset),
    /// The open transactions ended: `true` committed, `false` aborted.
    Closed(bool),
}
