//! Knows the statements about what the ledger decided: heads and positions are read and written, evidence and outbox are
//! written only.

use std::collections::BTreeMap;

use super::locks::Key;
use super::refusal::{Halt, Refusal, required};
use super::rows::{Evidence, Head, Outbox, Position};
use super::value::{Day, Params, Text};
use super::work::{Outcome, Work, seen};

/// The longest row of an index, in bytes.
const LONGEST_INDEX_ROW: usize = 2_704;

type PositionKey = (Text, Text, Text, Day);

impl Work<'_> {
    pub(super) fn heads(&self, p: &Params<'_>) -> Outcome {
        let (Some(namespace), Some(partition)) = (p.text(1), p.int4(2)) else {
            return Outcome::selected(Vec::new());
        };
        let mut ids = p.texts(3);
        let mut ids: Vec<Text> = (0..ids.len()).filter_map(|row| ids.take(row)).collect();
        ids.sort();
        ids.dedup();
        let rows = ids.into_iter().filter_map(|id| {
            let key = (namespace.clone(), partition, id);
            let head = seen(&self.tx.own.heads, &self.committed.heads, &key)?;
            let Head { revision, item, location, business_date, quantity } = head;
            Some(vec![
                (&key.2).into(),
                (*revision).into(),
                item.into(),
                location.into(),
                (*business_date).into(),
                (*quantity).into(),
            ])
        });
        Outcome::selected(rows.collect())
    }

    pub(super) fn positions(&self, p: &Params<'_>) -> Result<Outcome, Halt> {
        let limit = match p.int8(6) {
            Some(limit) => {
                usize::try_from(limit).map_err(|_| Refusal::error("2201W", "LIMIT must not be negative"))?
            }
            None => usize::MAX,
        };
        let (mut items, mut locations, mut since, mut before) =
            (p.texts(2), p.texts(3), p.days(4), p.days(5));
        let wants = [items.len(), locations.len(), since.len(), before.len()].into_iter().max().unwrap_or(0);
        let mut rows = Vec::new();
        for want in 0..wants {
            let (item, location) = (items.take(want), locations.take(want));
            let (since, before) = (since.take(want), before.take(want).unwrap_or(Day::INFINITY));
            let (Some(namespace), Some(item), Some(location), Some(since)) =
                (p.text(1), item, location, since)
            else {
                continue;
            };
            let ordinal = i64::try_from(want + 1).unwrap_or(i64::MAX);
            let found = self.positions_of(&namespace, &item, &location, since, before);
            rows.extend(found.into_iter().map(|(day, row)| {
                vec![
                    ordinal.into(),
                    (&item).into(),
                    (&location).into(),
                    day.into(),
                    row.version.into(),
                    row.live.into(),
                    row.balance.into(),
                    row.state.as_ref().into(),
                ]
            }));
        }
        rows.truncate(limit);
        Ok(Outcome::selected(rows))
    }

    /// The row of the first day, present ones behind it, and the last present one before it.
    fn positions_of(
        &self,
        namespace: &Text,
        item: &Text,
        location: &Text,
        since: Day,
        before: Day,
    ) -> Vec<(Day, &Position)> {
        let day = |day| (namespace.clone(), item.clone(), location.clone(), day);
        let all = day(Day(i32::MIN))..=day(Day::INFINITY);
        let rows = self.committed.positions.range(all.clone()).chain(self.tx.own.positions.range(all));
        // Rows of its own come later and hide the committed ones.
        let rows: BTreeMap<Day, &Position> = rows.map(|(key, row)| (key.3, row)).collect();
        let present = |(_, row): &(&Day, &&Position)| row.live > 0;
        let at = rows.get_key_value(&since);
        let behind = rows.iter().filter(present).filter(|(day, _)| **day > since && **day < before);
        let last = rows.range(..since).rev().find(present);
        at.into_iter().chain(behind).chain(last).map(|(day, row)| (*day, *row)).collect()
    }

    pub(super) fn insert_evidence(&mut self, p: &Params<'_>) -> Result<Outcome, Halt> {
        const TABLE: &str = "evidence";
        let (mut offsets, mut codes, mut ids) = (p.int8s(3), p.texts(4), p.texts(5));
        let (mut revisions, mut keys, mut values) = (p.int8s(6), p.byte_arrays(7), p.byte_arrays(8));
        let lengths = [offsets.len(), codes.len(), ids.len(), revisions.len(), keys.len(), values.len()];
        let mut written = BTreeMap::new();
        for row in 0..lengths.into_iter().max().unwrap_or(0) {
            let namespace = required(p.text(1), TABLE, "namespace")?;
            let partition = required(p.int4(2), TABLE, "partition")?;
            let key = (namespace, partition, required(offsets.take(row), TABLE, "source_offset")?);
            let row = Evidence {
                code: required(codes.take(row), TABLE, "code")?,
                transaction_id: ids.take(row),
                revision: revisions.take(row),
                raw_key: keys.take(row),
                raw_value: values.take(row),
                epoch: required(p.int8(9), TABLE, "epoch")?,
            };
            self.lock(Key::Evidence(key.0.clone(), key.1, key.2))?;
            let is_there = seen(&self.tx.own.evidence, &self.committed.evidence, &key).is_some();
            if is_there || written.contains_key(&key) {
                return Err(Refusal::row("23505", TABLE, "evidence_pkey").into());
            }
            written.insert(key, row);
        }
        let count = written.len();
        self.tx.own.evidence.extend(written);
        Ok(Outcome::inserted(count))
    }

    pub(super) fn upsert_heads(&mut self, p: &Params<'_>) -> Result<Outcome, Halt> {
        const TABLE: &str = "head";
        let (mut ids, mut revisions, mut items) = (p.texts(3), p.int8s(4), p.texts(5));
        let (mut locations, mut dates, mut quantities) = (p.texts(6), p.days(7), p.int8s(8));
        let lengths =
            [ids.len(), revisions.len(), items.len(), locations.len(), dates.len(), quantities.len()];
        let mut written = BTreeMap::new();
        for row in 0..lengths.into_iter().max().unwrap_or(0) {
            let namespace = required(p.text(1), TABLE, "namespace")?;
            let partition = required(p.int4(2), TABLE, "partition")?;
            let key = (namespace, partition, required(ids.take(row), TABLE, "transaction_id")?);
            let row = Head {
                revision: required(revisions.take(row), TABLE, "revision")?,
                item: required(items.take(row), TABLE, "item")?,
                location: required(locations.take(row), TABLE, "location")?,
                business_date: dates.take(row),
                quantity: quantities.take(row),
            };
            row.check()?;
            check_index_row(TABLE, "head_pkey", &[&key.0, &key.2], 4)?;
            self.lock(Key::Head(key.0.clone(), key.1, key.2.clone()))?;
            put_once(&mut written, key, row)?;
        }
        let count = written.len();
        self.tx.own.heads.extend(written);
        Ok(Outcome::inserted(count))
    }

    pub(super) fn upsert_positions(&mut self, p: &Params<'_>) -> Result<Outcome, Halt> {
        const TABLE: &str = "position";
        let (mut items, mut locations, mut dates) = (p.texts(2), p.texts(3), p.days(4));
        let (mut versions, mut lives, mut balances, mut states) =
            (p.int8s(5), p.int8s(6), p.int8s(7), p.texts(8));
        let lengths = [items.len(), locations.len(), dates.len(), versions.len(), lives.len()];
        let lengths = lengths.into_iter().chain([balances.len(), states.len()]);
        let mut written: BTreeMap<PositionKey, Position> = BTreeMap::new();
        for row in 0..lengths.max().unwrap_or(0) {
            let namespace = required(p.text(1), TABLE, "namespace")?;
            let item = required(items.take(row), TABLE, "item")?;
            let location = required(locations.take(row), TABLE, "location")?;
            let key = (namespace, item, location, required(dates.take(row), TABLE, "business_date")?);
            let row = Position {
                version: required(versions.take(row), TABLE, "version")?,
                live: required(lives.take(row), TABLE, "live")?,
                balance: balances.take(row),
                state: states.take(row),
            };
            row.check()?;
            check_index_row(TABLE, "position_pkey", &[&key.0, &key.1, &key.2], 4)?;
            self.lock(Key::Position(key.0.clone(), key.1.clone(), key.2.clone(), key.3))?;
            put_once(&mut written, key, row)?;
        }
        let count = written.len();
        self.tx.own.positions.extend(written);
        Ok(Outcome::inserted(count))
    }

    pub(super) fn insert_outbox(&mut self, p: &Params<'_>) -> Result<Outcome, Halt> {
        const TABLE: &str = "outbox";
        let (mut causes, mut dates, mut items, mut locations) =
            (p.int8s(3), p.days(4), p.texts(5), p.texts(6));
        let (mut versions, mut balances, mut states) = (p.int8s(7), p.int8s(8), p.texts(9));
        let (mut ids, mut revisions, mut codes) = (p.texts(10), p.int8s(11), p.texts(12));
        let lengths = [causes.len(), dates.len(), items.len(), locations.len(), versions.len()];
        let more = [balances.len(), states.len(), ids.len(), revisions.len(), codes.len()];
        let mut written = BTreeMap::new();
        for row in 0..lengths.into_iter().chain(more).max().unwrap_or(0) {
            let namespace = required(p.text(1), TABLE, "namespace")?;
            let partition = required(p.int4(2), TABLE, "partition")?;
            let cause = required(causes.take(row), TABLE, "cause_offset")?;
            let key = (namespace, partition, cause, required(dates.take(row), TABLE, "business_date")?);
            let row = Outbox {
                item: required(items.take(row), TABLE, "item")?,
                location: required(locations.take(row), TABLE, "location")?,
                version: required(versions.take(row), TABLE, "version")?,
                balance: balances.take(row),
                state: states.take(row),
                transaction_id: required(ids.take(row), TABLE, "transaction_id")?,
                revision: required(revisions.take(row), TABLE, "revision")?,
                code: required(codes.take(row), TABLE, "code")?,
            };
            row.check()?;
            self.lock(Key::Outbox(key.0.clone(), key.1, key.2, key.3))?;
            let is_there = seen(&self.tx.own.outbox, &self.committed.outbox, &key).is_some();
            if is_there || written.contains_key(&key) {
                return Err(Refusal::row("23505", TABLE, "outbox_pkey").into());
            }
            written.insert(key, row);
        }
        let count = written.len();
        self.tx.own.outbox.extend(written);
        Ok(Outcome::inserted(count))
    }
}

/// An upsert may touch each row once.
fn put_once<K: Ord, V>(written: &mut BTreeMap<K, V>, key: K, row: V) -> Result<(), Refusal> {
    let refusal = Refusal::error("21000", "ON CONFLICT DO UPDATE command cannot affect row a second time");
    if written.insert(key, row).is_some() { Err(refusal) } else { Ok(()) }
}

/// Refuses a key that no index page can hold three of. The server compresses long texts first; those that it can
/// shorten are refused here too early.
fn check_index_row(
    table: &'static str,
    constraint: &'static str,
    texts: &[&Text],
    others: usize,
) -> Result<(), Refusal> {
    let header = 8;
    let length =
        |text: &&Text| if text.len() < 127 { text.len() + 1 } else { (text.len() + 4).next_multiple_of(4) };
    let row = header + texts.iter().map(length).sum::<usize>() + others;
    if row <= LONGEST_INDEX_ROW {
        return Ok(());
    }
    let message = "index row size exceeds btree version 4 maximum 2704";
    Err(Refusal { message, ..Refusal::row("54000", table, constraint) })
}
