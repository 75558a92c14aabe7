//! Knows one operation of the store as its client and its server see it.

use amends_core::ids::{Frontier, Offset, Partition, TenureId, Token};
use amends_core::lifecycle::command::Range;
use amends_core::lifecycle::event::{Event, Failure, ProcessFailure};

use crate::fact::{Ghost, TxId};

/// One operation, from its command to the end of its transaction.
#[derive(Clone, Debug)]
pub(super) struct Operation {
    pub(super) tx: TxId,
    /// `None` for a hand that is no worker's.
    pub(super) ghost: Option<Ghost>,
    pub(super) partition: Partition,
    pub(super) work: Work,
    /// Its tenure is over: its client sends nothing more.
    pub(super) is_cancelled: bool,
    pub(super) server: Server,
    pub(super) client: Client,
    /// The rest of the budget when it was asked for.
    pub(super) within_ms: u64,
}

/// What it is to do.
#[derive(Clone, Debug)]
pub(super) enum Work {
    Claim,
    Observe,
    Process {
        token: Token,
        expected: Frontier,
        range: Range,
        offsets: Vec<Offset>,
    },
    /// A foreign session holds the row, and does nothing.
    Hold,
}

/// How far the server is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Server {
    /// Nothing came yet.
    Idle,
    /// Waits for the row.
    Waiting,
    /// Has the row.
    Locked,
    /// COMMIT came, and is being carried out.
    Committing,
    /// The transaction is over.
    Over,
}

/// How far the client is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Client {
    /// Nothing was sent.
    Reaching,
    /// Waits for the answer of its lock.
    Working,
    /// COMMIT was handed over.
    Committing,
    /// The question was answered.
    Answered,
}

impl Operation {
    pub(super) fn tenure(&self) -> Option<TenureId> {
        self.ghost.map(|ghost| ghost.tenure)
    }

    /// Whether it has, or may still get, the row.
    pub(super) fn is_open(&self) -> bool {
        !matches!(self.server, Server::Idle | Server::Over)
    }

    /// The answer of an attempt that surely had no effect.
    pub(super) fn failed(&self, tenure: TenureId, failure: Failure) -> Event {
        match self.work {
            Work::Claim => Event::ClaimFailed { tenure, failure },
            Work::Observe | Work::Hold => Event::ObserveFailed { tenure, failure },
            Work::Process { .. } => {
                Event::ProcessFailed { tenure, failure: ProcessFailure::Attempt(failure) }
            }
        }
    }

    /// The answer of an attempt that is given up here.
    pub(super) fn given_up(&self, tenure: TenureId, why: &str) -> Event {
        let why = why.to_owned();
        match (self.client, &self.work) {
            (Client::Committing, Work::Claim) => Event::ClaimUnknown { tenure, why },
            (Client::Committing, Work::Process { .. }) => Event::CommitUnknown { tenure, why },
            (Client::Reaching, _) => self.failed(tenure, Failure::Unreached(why)),
            _ => self.failed(tenure, Failure::Again(why)),
        }
    }
}
