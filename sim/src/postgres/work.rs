//! Knows what a statement may see and do while it is carried out: committed rows and those of its own transaction, locks,
//! settings and the clock.

use std::collections::BTreeMap;

use super::locks::{Key, Locks};
use super::refusal::Halt;
use super::rows::Partition;
use super::server::Draws;
use super::session::{SessionId, Settings, Tx};
use super::statement::Statement;
use super::tables::{PartitionKey, Tables};
use super::value::{Instant, Params, Value};
use super::xids::Xids;

/// One statement at work. When it has to wait it has written nothing, and is carried out again from its beginning.
pub(super) struct Work<'a> {
    pub(super) id: SessionId,
    pub(super) now: Instant,
    pub(super) is_standby: bool,
    pub(super) committed: &'a Tables,
    pub(super) locks: &'a mut Locks,
    pub(super) xids: &'a mut Xids,
    pub(super) draws: &'a mut Draws,
    pub(super) settings: &'a mut Settings,
    pub(super) tx: &'a mut Tx,
}

/// What a statement answers.
pub(super) struct Outcome {
    pub(super) rows: Vec<Vec<Value>>,
    pub(super) tag: String,
}

impl Outcome {
    /// Without rows.
    pub(super) fn of(tag: &str) -> Self {
        Self { rows: Vec::new(), tag: tag.to_owned() }
    }

    pub(super) fn selected(rows: Vec<Vec<Value>>) -> Self {
        let tag = format!("SELECT {}", rows.len());
        Self { rows, tag }
    }

    pub(super) fn inserted(count: usize) -> Self {
        Self::of(&format!("INSERT 0 {count}"))
    }

    pub(super) fn updated(count: usize) -> Self {
        Self::of(&format!("UPDATE {count}"))
    }
}

impl Work<'_> {
    /// Carries out a statement that neither begins nor ends a transaction.
    pub(super) fn carry_out(&mut self, statement: Statement, p: &Params<'_>) -> Result<Outcome, Halt> {
        match statement {
            Statement::SetUp => self.set_up(p),
            Statement::Limits => self.limits(p),
            Statement::Status => self.status(p),
            Statement::HasHistory => Ok(Self::has_history(p)),
            Statement::AppliedMigrations => Ok(Self::applied_migrations()),
            Statement::CreateNamespace => self.create_namespace(p),
            Statement::FindNamespace => Ok(self.find_namespace(p)),
            Statement::CreatePartitions => self.create_partitions(p),
            Statement::Lock => self.lock_partition(p),
            Statement::Read => Ok(self.read(p)),
            Statement::Claim => self.claim(p),
            Statement::Advance => self.advance(p),
            Statement::Heads => Ok(self.heads(p)),
            Statement::Positions => self.positions(p),
            Statement::InsertEvidence => self.insert_evidence(p),
            Statement::UpsertHeads => self.upsert_heads(p),
            Statement::UpsertPositions => self.upsert_positions(p),
            Statement::InsertOutbox => self.insert_outbox(p),
            Statement::Begin | Statement::Commit | Statement::Rollback => Ok(Outcome::of("")),
        }
    }

    /// Takes the lock of a row until the transaction ends.
    pub(super) fn lock(&mut self, key: Key) -> Result<(), Halt> {
        self.xid();
        if !self.locks.take(&key, self.id) {
            return Err(Halt::Waits(key));
        }
        if !self.tx.held.contains(&key) {
            self.tx.held.push(key);
        }
        Ok(())
    }

    /// The server's number of this transaction.
    pub(super) fn xid(&mut self) -> u64 {
        *self.tx.xid.get_or_insert_with(|| self.xids.assign())
    }

    /// A partition's row as this transaction sees it.
    pub(super) fn partition(&self, key: &PartitionKey) -> Option<&Partition> {
        seen(&self.tx.own.partitions, &self.committed.partitions, key)
    }
}

/// A row as its transaction sees it.
pub(super) fn seen<'a, K: Ord, V>(
    own: &'a BTreeMap<K, V>,
    committed: &'a BTreeMap<K, V>,
    key: &K,
) -> Option<&'a V> {
    own.get(key).or_else(|| committed.get(key))
}
