//! Knows what a batch of records does to a partition of the ledger: rules 5 to 14, in three steps.

use super::code::Code;
use super::envelope::Content;
use super::export::OutboxEnvelope;
use super::positions::{PositionRow, Want};
use crate::ids::{Offset, Partition};
use crate::source::manifest::{Config, StockKey};
use crate::source::record::Record;

/// What a transaction currently is: one row per (partition, transaction id).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Head {
    /// Which transaction of the partition: 1 to 128 bytes.
    pub transaction_id: String,
    /// The revision that made it so.
    pub revision: i64,
    /// The stock that it belongs to for ever.
    pub stock_key: StockKey,
    /// Live with a date and a quantity, or cancelled.
    pub content: Content,
}

/// What was decided about one record. The store adds partition, epoch and the raw bytes, which this does not repeat.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Evidence {
    /// The record.
    pub offset: Offset,
    /// The verdict.
    pub code: Code,
    /// The transaction, from rule 5 on.
    pub transaction_id: Option<String>,
    /// Its revision in this record, from rule 5 on.
    pub revision: Option<i64>,
}

/// Everything that a batch writes besides the frontier.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Effects {
    /// One for each record, in the order of the records.
    pub evidence: Vec<Evidence>,
    /// The heads to insert or replace, each transaction once, by transaction id.
    pub heads: Vec<Head>,
    /// The positions to insert or replace, each (stock key, business date) once and in that order.
    pub positions: Vec<PositionRow>,
    /// The envelopes of all records, in order, also those that a later record overtakes.
    pub outbox: Vec<OutboxEnvelope>,
}

/// The answer to a batch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Decision {
    /// Write this and move the frontier behind the last record.
    Effects(Effects),
    /// Roll back: so many leading records (at least 1, fewer than the batch has) can be decided in one transaction.
    TooLarge {
        /// How many.
        fit: usize,
    },
}

/// A batch whose records have been judged by themselves: rules 1 to 8.
#[derive(Debug)]
pub struct Batch<'a> {
    config: &'a Config,
    partition: Partition,
}

/// A batch that knows its heads.
#[derive(Debug)]
pub struct Plan<'a> {
    batch: Batch<'a>,
    wants: Vec<Want>,
}

/// A row that was loaded for a want.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Loaded {
    /// The index in [`Plan::wants`] of the want that asked for it.
    pub want: usize,
    /// The row.
    pub row: PositionRow,
}

impl<'a> Batch<'a> {
    /// Judges each record by itself. `records` are in ascending order of offset and all of `partition`. With
    /// `refused`, PostgreSQL refused the batch for its data: its records (there is one) become `REFUSED_BY_STORE`.
    #[must_use]
    pub fn read(config: &'a Config, partition: Partition, records: &[Record], refused: bool) -> Self {
        let _ = (records, refused);
        Self { config, partition }
    }

    /// The transactions whose heads on this partition have to be loaded: each once, in ascending order.
    #[must_use]
    pub fn transaction_ids(&self) -> Vec<&str> {
        let _ = (self.config, self.partition);
        unimplemented!()
    }

    /// Says which positions are needed, given the heads that exist (in any order) of [`Batch::transaction_ids`].
    /// `batch_effects` bounds the rows read and the rows written.
    #[must_use]
    pub fn plan(self, heads: Vec<Head>, batch_effects: usize) -> Plan<'a> {
        let _ = (heads, batch_effects);
        Plan { batch: self, wants: Vec::new() }
    }
}

impl Plan<'_> {
    /// What has to be loaded, in the order of the records that need it. Two wants hardly overlap: a later one leaves
    /// out the ranges of the earlier ones.
    #[must_use]
    pub fn wants(&self) -> &[Want] {
        let _ = &self.batch;
        &self.wants
    }

    /// How many rows are worth loading, *in the order of the wants*: with that many the answer is `TooLarge` whatever
    /// follows. `None` for a batch of one record, which is always decided.
    #[must_use]
    pub fn row_limit(&self) -> Option<usize> {
        unimplemented!()
    }

    /// Decides. `rows` are what the wants ask for and exists, in the order of the wants (the rows of one want in any
    /// order), cut after [`Plan::row_limit`] rows. A row that two wants ask for may come twice.
    #[must_use]
    pub fn decide(self, rows: Vec<Loaded>) -> Decision {
        let _ = rows;
        unimplemented!()
    }
}
