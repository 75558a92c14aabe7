//! Knows what a batch of records does to a partition of the ledger: rules 5 to 14, in three steps.

use std::collections::{BTreeMap, BTreeSet};

use super::book::Book;
use super::code::Code;
use super::envelope::{Content, Envelope, read_value};
use super::export::{Cause, OutboxEnvelope};
use super::positions::{Change, PositionRow, Want};
use super::reach::Reach;
use crate::ids::{Offset, Partition};
use crate::source::manifest::{Config, StockKey};
use crate::source::record::Record;
use crate::source::record_key::read_key;

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
    records: Vec<(Offset, Judged)>,
}

/// What one record is by itself.
#[derive(Debug)]
enum Judged {
    /// One of rules 1 to 4 applies, or the store refused it.
    Unread(Code),
    /// One of rules 5 to 8 applies.
    Misplaced(Code, Envelope),
    /// The heads decide.
    Open(Envelope),
}

/// A batch that knows its heads.
#[derive(Debug)]
pub struct Plan<'a> {
    batch: Batch<'a>,
    heads: BTreeMap<String, Head>,
    batch_effects: usize,
    wants: Vec<Want>,
    /// For each want, the index of the record that needs it.
    wanted_by: Vec<usize>,
    /// For each record, the change that was planned for.
    planned: Vec<Option<Change>>,
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
        let judge = |record: &Record| {
            if refused { Judged::Unread(Code::RefusedByStore) } else { judge(config, partition, record) }
        };
        Self { config, records: records.iter().map(|record| (record.offset, judge(record))).collect() }
    }

    /// The transactions whose heads on this partition have to be loaded: each once, in ascending order.
    #[must_use]
    pub fn transaction_ids(&self) -> Vec<&str> {
        let ids = self.records.iter().filter_map(|(_, judged)| match judged {
            Judged::Open(envelope) => Some(envelope.transaction_id.as_str()),
            Judged::Unread(_) | Judged::Misplaced(..) => None,
        });
        ids.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Says which positions are needed, given the heads that exist (in any order) of [`Batch::transaction_ids`].
    ///
    /// `batch_effects` bounds two sums, each by itself: the rows read (one for each transaction id, and the rows that
    /// the wants return) and the rows written (evidence, heads, positions and outbox).
    #[must_use]
    pub fn plan(self, heads: Vec<Head>, batch_effects: usize) -> Plan<'a> {
        let heads: BTreeMap<_, _> =
            heads.into_iter().map(|head| (head.transaction_id.clone(), head)).collect();
        let mut foreseen = heads.clone();
        let mut reach = Reach::default();
        let (mut wants, mut wanted_by, mut planned) = (Vec::new(), Vec::new(), Vec::new());
        for (index, (_, judged)) in self.records.iter().enumerate() {
            let Judged::Open(envelope) = judged else {
                planned.push(None);
                continue;
            };
            let step =
                succeed(foreseen.get(&envelope.transaction_id), envelope).ok().map(|(_, change)| change);
            if let Some(change) = &step {
                wants.extend(reach.extend(change));
                wanted_by.resize(wants.len(), index);
                foreseen.insert(envelope.transaction_id.clone(), Head::from(envelope));
            }
            planned.push(step);
        }
        Plan { batch: self, heads, batch_effects, wants, wanted_by, planned }
    }
}

impl From<&Envelope> for Head {
    fn from(envelope: &Envelope) -> Self {
        Self {
            transaction_id: envelope.transaction_id.clone(),
            revision: envelope.revision,
            stock_key: envelope.stock_key.clone(),
            content: envelope.content,
        }
    }
}

/// Rules 1 to 8.
fn judge(config: &Config, partition: Partition, record: &Record) -> Judged {
    let ledger = config.ledger();
    let envelope = match read_value(record.value.as_deref(), ledger.origin()) {
        Ok(envelope) => envelope,
        Err(code) => return Judged::Unread(code),
    };
    let Some(stock) = ledger.stock(&envelope.stock_key) else {
        return Judged::Misplaced(Code::UnknownStockKey, envelope);
    };
    if read_key(record.key.as_deref()).as_ref() != Some(&envelope.stock_key) {
        return Judged::Misplaced(Code::KeyMismatch, envelope);
    }
    if stock.partition != partition {
        return Judged::Misplaced(Code::Routing, envelope);
    }
    match envelope.content {
        Content::Assert { business_date, .. } if business_date < ledger.origin() => {
            Judged::Misplaced(Code::BeforeOrigin, envelope)
        }
        Content::Assert { .. } | Content::Cancel => Judged::Open(envelope),
    }
}

/// Rules 9 to 12 as an error, else rule 14 with what it would change.
fn succeed(head: Option<&Head>, envelope: &Envelope) -> Result<(Code, Change), Code> {
    if let Some(head) = head {
        if head.stock_key != envelope.stock_key {
            return Err(Code::KeyChange);
        }
        if envelope.revision < head.revision {
            return Err(Code::Stale);
        }
        if envelope.revision == head.revision {
            return Err(if envelope.content == head.content { Code::Duplicate } else { Code::Conflict });
        }
    }
    let old = head.map(|head| head.content);
    let code = match (envelope.content, old) {
        (Content::Cancel, _) => Code::Cancelled,
        (Content::Assert { .. }, None) => Code::Applied,
        (Content::Assert { .. }, Some(Content::Assert { .. })) => Code::Corrected,
        (Content::Assert { .. }, Some(Content::Cancel)) => Code::Reinstated,
    };
    Ok((code, Change::new(&envelope.stock_key, old, envelope.content)))
}

impl Plan<'_> {
    /// What has to be loaded, in the order of the records that need it. Two wants hardly overlap: a later one leaves
    /// out the ranges of the earlier ones.
    #[must_use]
    pub fn wants(&self) -> &[Want] {
        &self.wants
    }

    /// How many rows are worth loading, *in the order of the wants*: with that many the answer is `TooLarge` whatever
    /// follows. `None` for a batch of one record, which is always decided.
    #[must_use]
    pub fn row_limit(&self) -> Option<usize> {
        let ids = self.batch.transaction_ids().len();
        (self.batch.records.len() > 1).then(|| self.batch_effects.saturating_sub(ids).saturating_add(1))
    }

    /// Decides. `rows` are what the wants ask for and exists, in the order of the wants (the rows of one want in any
    /// order), cut after [`Plan::row_limit`] rows. A row that two wants ask for may come twice.
    #[must_use]
    pub fn decide(self, rows: Vec<Loaded>) -> Decision {
        let count = self.batch.records.len();
        let whole = self.row_limit().is_none_or(|limit| rows.len() < limit);
        // The rows of the last want may go on; what was wanted before it is complete.
        let last = rows.last().and_then(|row| self.wanted_by.get(row.want)).copied().unwrap_or_default();
        let fit = if whole { count } else { last };
        let Self { batch, heads, batch_effects, planned, .. } = self;
        let mut state = State {
            book: Book::new(batch.config.ledger(), rows.into_iter().map(|loaded| loaded.row)),
            heads,
            changed: BTreeSet::new(),
            effects: Effects::default(),
        };
        let records = batch.records.into_iter().zip(planned).take(fit);
        for (index, ((offset, judged), planned)) in records.enumerate() {
            let (code, envelope) = match judged {
                Judged::Unread(code) => (code, None),
                Judged::Misplaced(code, envelope) => (code, Some(envelope)),
                Judged::Open(envelope) => match state.decide(offset, &envelope, planned.as_ref()) {
                    Ok(code) => (code, Some(envelope)),
                    Err(NotForeseen) => return Decision::TooLarge { fit: index.max(1) },
                },
            };
            let revision = envelope.as_ref().map(|envelope| envelope.revision);
            let transaction_id = envelope.map(|envelope| envelope.transaction_id);
            state.effects.evidence.push(Evidence { offset, code, transaction_id, revision });
            if count > 1 && state.written() > batch_effects {
                return Decision::TooLarge { fit: index.max(1) };
            }
        }
        if whole { Decision::Effects(state.into_effects()) } else { Decision::TooLarge { fit: fit.max(1) } }
    }
}

/// What the records of a batch have done so far.
struct State<'a> {
    book: Book<'a>,
    heads: BTreeMap<String, Head>,
    /// Whose heads differ from what was loaded.
    changed: BTreeSet<String>,
    effects: Effects,
}

/// An overflow left another head than was foreseen, so the positions of this change may not be here: the records
/// before it are decided first, and then nothing has to be foreseen. Only records that follow an overflow of their own
/// transaction in one batch come to this.
struct NotForeseen;

impl State<'_> {
    /// Rules 9 to 14 for one record.
    fn decide(
        &mut self,
        offset: Offset,
        envelope: &Envelope,
        planned: Option<&Change>,
    ) -> Result<Code, NotForeseen> {
        let id = &envelope.transaction_id;
        let (code, change) = match succeed(self.heads.get(id), envelope) {
            Ok(next) => next,
            Err(code) => return Ok(code),
        };
        if !change.steps.is_empty() && planned != Some(&change) {
            return Err(NotForeseen);
        }
        let Ok(moved) = self.book.apply(&change) else { return Ok(Code::BalanceOverflow) };
        let (transaction_id, revision) = (id.clone(), envelope.revision);
        let cause = Cause { offset, transaction_id, revision, code };
        self.effects.outbox.extend(moved.into_iter().map(|moved| OutboxEnvelope {
            stock_key: change.stock_key.clone(),
            business_date: moved.business_date,
            version: moved.version,
            closing: moved.closing,
            cause: cause.clone(),
        }));
        self.heads.insert(id.clone(), Head::from(envelope));
        self.changed.insert(id.clone());
        Ok(code)
    }

    fn written(&self) -> usize {
        let Effects { evidence, outbox, .. } = &self.effects;
        evidence.len() + self.changed.len() + self.book.written() + outbox.len()
    }

    fn into_effects(self) -> Effects {
        let Self { book, mut heads, changed, mut effects } = self;
        heads.retain(|id, _| changed.contains(id));
        effects.heads = heads.into_values().collect();
        effects.positions = book.into_written();
        effects
    }
}
