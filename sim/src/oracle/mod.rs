//! Knows what the ledger must say of the records of a world: recomputed as plainly as can be, from their bytes, and from
//! nothing that the ledger itself is made of.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{Display, Write as _};

use amends_core::ids::{Offset, Partition};
use amends_core::source::manifest::{Config, StockKey};

use crate::fact::Written;
use book::{Book, Envelope, Place, Position, state};
use said::Said;

mod book;
mod json;
mod said;

type Row = Vec<Option<String>>;

/// The ledger once more.
#[derive(Clone, Debug)]
pub struct Oracle {
    config: Config,
    records: BTreeMap<(Partition, Offset), Recorded>,
    books: BTreeMap<Partition, Book>,
    /// Records that PostgreSQL refused to keep: quarantined whatever they say.
    refused: BTreeSet<(Partition, Offset)>,
}

#[derive(Clone, Debug)]
struct Recorded {
    key: Option<Vec<u8>>,
    value: Option<Vec<u8>>,
    said: Said,
}

impl Oracle {
    /// The ledger of a config, before its first record.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self { config, records: BTreeMap::new(), books: BTreeMap::new(), refused: BTreeSet::new() }
    }

    /// A visible record lies there; what lay there before is forgotten.
    pub fn record(&mut self, partition: Partition, offset: Offset, key: Option<&[u8]>, value: Option<&[u8]>) {
        let said = Said::read(&self.config, partition, key, value);
        let (key, value) = (key.map(<[u8]>::to_vec), value.map(<[u8]>::to_vec));
        self.records.insert((partition, offset), Recorded { key, value, said });
    }

    /// PostgreSQL refused to keep what this record decides.
    pub fn refuse(&mut self, partition: Partition, offset: Offset) {
        self.refused.insert((partition, offset));
    }

    /// Forgets every decision, to begin again.
    pub fn rewind(&mut self) {
        self.books.clear();
    }

    /// Decides records in their order: the rows that a commit must leave, positions only where they changed.
    ///
    /// # Errors
    /// When no record is known to lie at one of the offsets.
    pub fn decide(
        &mut self,
        partition: Partition,
        offsets: &[Offset],
        epoch: i64,
    ) -> Result<Written, String> {
        let mut written = Written::default();
        let mut moved: BTreeMap<Place, Position> = BTreeMap::new();
        let book = self.books.entry(partition).or_default();
        for offset in offsets {
            let Some(record) = self.records.get(&(partition, *offset)) else {
                return Err(format!("no record is known to lie at {offset}"));
            };
            let (code, envelopes) = if self.refused.contains(&(partition, *offset)) {
                ("REFUSED_BY_STORE", Vec::new())
            } else {
                book.decide(&self.config, *offset, &record.said, &mut moved)
            };
            let names = record.said.names.as_ref().filter(|_| code != "REFUSED_BY_STORE");
            written.evidence.push(vec![
                shown(partition),
                shown(offset),
                shown(code),
                names.map(|(id, _)| id.clone()),
                names.and_then(|(_, revision)| shown(revision)),
                record.key.as_deref().map(hex),
                record.value.as_deref().map(hex),
                shown(epoch),
            ]);
            for envelope in &envelopes {
                written.outbox.push(envelope_row(&self.config, partition, envelope, names));
            }
        }
        let changed = moved.into_iter().filter_map(|(place, before)| {
            let now = book.position(&place).filter(|now| before != *now)?;
            Some(position_row(&self.config, &place, now))
        });
        written.positions = changed.collect();
        Ok(written)
    }

    /// The row of a position as the decisions so far left it.
    #[must_use]
    pub fn position(&self, item: &str, location: &str, day: &str) -> Option<Row> {
        let stock = StockKey { item: item.to_owned(), location: location.to_owned() };
        let partition = self.config.ledger().stock(&stock)?.partition;
        let place = (stock, day.parse().ok()?);
        let now = self.books.get(&partition)?.position(&place)?;
        Some(position_row(&self.config, &place, now))
    }
}

fn shown(value: impl Display) -> Option<String> {
    Some(value.to_string())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold("\\x".to_owned(), |mut text, byte| {
        // Writing to a String does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn state_of(config: &Config, stock: &StockKey, balance: Option<i64>) -> Option<String> {
    Some(state(config.ledger().stock(stock)?, balance?).to_owned())
}

fn position_row(config: &Config, place: &Place, now: Position) -> Row {
    let (stock, day) = place;
    vec![
        Some(stock.item.clone()),
        Some(stock.location.clone()),
        shown(day),
        shown(now.version),
        shown(now.live),
        now.balance.and_then(shown),
        state_of(config, stock, now.balance),
    ]
}

fn envelope_row(
    config: &Config,
    partition: Partition,
    envelope: &Envelope,
    names: Option<&(String, i64)>,
) -> Row {
    let Envelope { cause, place: (stock, day), position, code } = envelope;
    vec![
        shown(partition),
        shown(cause),
        shown(day),
        Some(stock.item.clone()),
        Some(stock.location.clone()),
        shown(position.version),
        position.balance.and_then(shown),
        state_of(config, stock, position.balance),
        names.map(|(id, _)| id.clone()),
        names.and_then(|(_, revision)| shown(revision)),
        shown(code),
    ]
}
