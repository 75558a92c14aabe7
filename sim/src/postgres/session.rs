//! Knows one session of the server: its settings, its transaction, and what it waits for.

use std::collections::VecDeque;

use amends_core::ids::{Frontier, Token};
use bytes::Bytes;

use super::answer::{Answers, Readiness};
use super::incidents::Hand;
use super::locks::Key;
use super::refusal::Refusal;
use super::statement::Statement;
use super::tables::{PartitionKey, Tables};
use super::talk::Sent;
use super::value::{Instant, Text};
use crate::agenda::Appointment;
use crate::fact::{Ghost, TxId};
use crate::faults::Fault;
use crate::life::Life;

/// Numbers the sessions of a world, in the order in which they were dialed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct SessionId(pub(super) u32);

impl SessionId {
    /// The number of the server's process that serves it.
    pub(super) fn process(self) -> i32 {
        i32::try_from(self.0).unwrap_or(i32::MAX)
    }
}

/// A session, from its start-up message to its end.
#[derive(Default)]
pub(super) struct Session {
    /// Whose it is; `None` for a hand that is no worker's.
    pub(super) who: Option<Life>,
    /// What a cancel request must show.
    pub(super) secret: i32,
    pub(super) settings: Settings,
    /// It leads to a standby.
    pub(super) is_standby: bool,
    /// A statement limit that the client did not ask for.
    pub(super) forced_statement_ms: Option<u64>,
    /// What its start-up message is answered with instead of a welcome.
    pub(super) turned_away: Option<(Fault, Refusal)>,
    /// It is no client's: a foreign hand that holds a row.
    pub(super) hand: Option<Hand>,

    /// What has arrived and was not worked on.
    pub(super) inbox: VecDeque<Sent>,
    /// The client's end of the wire is closed.
    pub(super) is_hung_up: bool,
    pub(super) pause: Option<Pause>,
    /// When it is given up, idle or waiting.
    pub(super) timer: Option<Appointment>,
    /// When the running statement began.
    pub(super) statement_since_ms: Option<u64>,
    /// Everything up to the next Sync is skipped.
    pub(super) is_skipping: bool,
    pub(super) parsed: Option<Statement>,
    pub(super) bound: Vec<Option<Bytes>>,
    pub(super) tx: Option<Tx>,

    pub(super) answers: Answers,
    /// Which of the answers tell their client that its transaction holds the lock: up to which byte.
    pub(super) lock_answers: Vec<(usize, TxId)>,
}

/// What a session has in hand while it waits.
pub(super) struct Pause {
    pub(super) sent: Sent,
    pub(super) cause: Cause,
}

/// What for.
pub(super) enum Cause {
    /// Another transaction's end.
    Row(Key),
    /// Its COMMIT, on its way to the disk. Nothing interrupts it.
    Landing,
    /// It is there.
    Landed,
}

/// What of a session's settings the server goes by. `None` was never set.
#[derive(Clone, Default)]
pub(super) struct Settings {
    pub(super) nonce: Option<Text>,
    pub(super) statement_ms: u64,
    pub(super) lock_ms: u64,
    pub(super) idle_in_transaction_ms: u64,
    /// Whether a running statement looks for the end of its connection, once a second.
    pub(super) is_checking_connection: bool,
}

/// A transaction.
pub(super) struct Tx {
    /// `None` while it has touched no partition and the client said no BEGIN.
    pub(super) id: Option<TxId>,
    /// A BEGIN opened it; else the next Sync ends it.
    pub(super) is_block: bool,
    pub(super) is_failed: bool,
    pub(super) began: Instant,
    pub(super) xid: Option<u64>,
    /// The settings to which an end without COMMIT returns; those that were set locally return at every end.
    pub(super) before: Settings,
    /// Settings of the session that it changed beyond its own end.
    pub(super) after: Option<Settings>,
    /// What it wrote.
    pub(super) own: Tables,
    pub(super) held: Vec<Key>,
    /// The partition that it moves: the first whose row it locked.
    pub(super) partition: Option<PartitionKey>,
    pub(super) ghost: Option<Ghost>,
    pub(super) carried: Option<Token>,
    pub(super) expected: Option<Frontier>,
}

impl Session {
    pub(super) fn readiness(&self) -> Readiness {
        match &self.tx {
            Some(tx) if tx.is_block && tx.is_failed => Readiness::Failed,
            Some(tx) if tx.is_block => Readiness::InTransaction,
            _ => Readiness::Idle,
        }
    }

    pub(super) fn is_in_block(&self) -> bool {
        self.tx.as_ref().is_some_and(|tx| tx.is_block)
    }

    pub(super) fn is_failed(&self) -> bool {
        self.tx.as_ref().is_some_and(|tx| tx.is_failed)
    }
}

impl Tx {
    pub(super) fn new(id: Option<TxId>, is_block: bool, began: Instant, before: Settings) -> Self {
        Self {
            id,
            is_block,
            is_failed: false,
            began,
            xid: None,
            before,
            after: None,
            own: Tables::default(),
            held: Vec::new(),
            partition: None,
            ghost: None,
            carried: None,
            expected: None,
        }
    }
}
