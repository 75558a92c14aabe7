//! A store in memory that hands out exactly the rows that were asked for, and keeps what it is told.

use std::collections::BTreeMap;

use amends_core::ids::{Offset, Partition};
use amends_core::ledger::decision::{Batch, Decision, Effects, Head, Loaded};
use amends_core::ledger::positions::{PositionRow, Want};
use amends_core::source::business_date::BusinessDate;
use amends_core::source::manifest::{Config, Ledger, StockKey};
use amends_core::source::record::Record;

/// Everything that one partition has come to, but for epochs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Model {
    pub heads: BTreeMap<String, Head>,
    pub positions: BTreeMap<(StockKey, BusinessDate), PositionRow>,
    /// `offset CODE transaction revision`.
    pub evidence: Vec<String>,
    /// JSON lines.
    pub outbox: Vec<String>,
}

/// What one transaction cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cost {
    pub read: usize,
    pub written: usize,
}

pub const WITHOUT_LIMIT: usize = 1_000_000;

pub fn config(partitions: u32, declaration: &str) -> Config {
    let ledger = Ledger::parse(declaration.as_bytes(), partitions).unwrap();
    let incarnation = "kafka:0f3c0000000000000000000000000001".parse().unwrap();
    Config::new("source-demo-1", incarnation, partitions, ledger).unwrap()
}

pub fn record(offset: i64, key: &str, value: &str) -> Record {
    Record {
        offset: Offset(offset),
        key: Some(key.as_bytes().to_vec()),
        value: Some(value.as_bytes().to_vec()),
    }
}

impl Model {
    /// Decides `records` in batches as large as `batch_effects` allows; says what each transaction cost.
    pub fn process(
        &mut self,
        config: &Config,
        partition: Partition,
        records: &[Record],
        batch_effects: usize,
    ) -> Vec<Cost> {
        let mut costs = Vec::new();
        let mut rest = records;
        let mut count = rest.len();
        while !rest.is_empty() {
            match self.decide(config, partition, &rest[..count], batch_effects) {
                (Decision::TooLarge { fit }, _) => {
                    assert!((1..count).contains(&fit), "{fit} of {count} fit");
                    let (again, _) = self.decide(config, partition, &rest[..fit], batch_effects);
                    assert!(matches!(again, Decision::Effects(_)), "what is said to fit fits");
                    count = fit;
                }
                (Decision::Effects(effects), read) => {
                    let Effects { evidence, heads, positions, outbox } = &effects;
                    let written = evidence.len() + heads.len() + positions.len() + outbox.len();
                    assert!(
                        count == 1 || written.max(read) <= batch_effects,
                        "{read} {written} {batch_effects}"
                    );
                    costs.push(Cost { read, written });
                    self.keep(config, partition, effects);
                    rest = &rest[count..];
                    count = rest.len();
                }
            }
        }
        costs
    }

    fn decide(
        &self,
        config: &Config,
        partition: Partition,
        records: &[Record],
        batch_effects: usize,
    ) -> (Decision, usize) {
        let batch = Batch::read(config, partition, records, false);
        let ids = batch.transaction_ids();
        let asked = ids.len();
        let heads = ids.into_iter().rev().filter_map(|id| self.heads.get(id).cloned()).collect();
        let plan = batch.plan(heads, batch_effects);
        let wants = plan.wants().iter().enumerate();
        let rows = wants.flat_map(|(want, wanted)| self.load(wanted).map(move |row| Loaded { want, row }));
        let rows: Vec<_> = match plan.row_limit() {
            Some(limit) => rows.take(limit).collect(),
            None => rows.collect(),
        };
        let read = asked + rows.len();
        (plan.decide(rows), read)
    }

    fn load(&self, want: &Want) -> impl Iterator<Item = PositionRow> {
        let of_key = self.positions.values().filter(|row| row.stock_key == want.stock_key);
        let (mut rows, mut below) = (Vec::new(), None);
        for row in of_key {
            let (date, present) = (row.business_date, row.closing.is_some());
            let in_range = present && date > want.from && want.before.is_none_or(|before| date < before);
            if date == want.from || in_range {
                rows.push(row.clone());
            }
            if date < want.from && present {
                below = Some(row.clone());
            }
        }
        rows.into_iter().chain(below)
    }

    fn keep(&mut self, config: &Config, partition: Partition, effects: Effects) {
        for row in effects.evidence {
            let id = row.transaction_id.as_deref().unwrap_or("-");
            let revision = row.revision.map_or("-".to_owned(), |revision| revision.to_string());
            self.evidence.push(format!("{} {} {id} {revision}", row.offset, row.code));
        }
        for head in effects.heads {
            self.heads.insert(head.transaction_id.clone(), head);
        }
        for row in effects.positions {
            self.positions.insert((row.stock_key.clone(), row.business_date), row);
        }
        self.outbox
            .extend(effects.outbox.iter().map(|envelope| envelope.json(config.namespace(), partition)));
    }

    /// The codes, in order.
    pub fn codes(&self) -> Vec<&str> {
        self.evidence.iter().map(|line| line.split(' ').nth(1).unwrap()).collect()
    }

    /// `item/location date version balance state`, present positions only.
    pub fn shown(&self) -> Vec<String> {
        let present = self.positions.values().filter_map(|row| row.closing.map(|closing| (row, closing)));
        let line = |(row, closing): (&PositionRow, _)| {
            let amends_core::ledger::positions::Closing { balance, state } = closing;
            let StockKey { item, location } = &row.stock_key;
            format!("{item}/{location} {} v{} {balance} {state}", row.business_date, row.version)
        };
        present.map(line).collect()
    }
}
