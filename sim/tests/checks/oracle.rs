//! The oracle against the worked example, against lines that are read in one way only, and against the ledger itself.

use std::collections::BTreeMap;

use amends_core::ids::{Offset, Partition};
use amends_core::ledger::decision::{Batch, Decision, Effects, Head, Loaded};
use amends_core::ledger::positions::{PositionRow, Want};
use amends_core::source::business_date::BusinessDate;
use amends_core::source::load_file::read_line;
use amends_core::source::manifest::{Config, FIXTURE_LEDGER, Ledger, StockKey};
use amends_core::source::record::Record;
use amends_sim::fact::Written;
use amends_sim::faults::mix;
use amends_sim::oracle::Oracle;
use amends_sim::records;

use super::told::{P, declared};

pub fn config() -> Config {
    let ledger = Ledger::parse(FIXTURE_LEDGER.as_bytes(), 2).unwrap();
    Config::new("world", declared(), 2, ledger).unwrap()
}

pub fn record(offset: i64, value: &str) -> Record {
    let key = br#"{"item":"widget","location":"berlin"}"#.to_vec();
    Record { offset: Offset(offset), key: Some(key), value: Some(value.as_bytes().to_vec()) }
}

/// `T1 1 01-05 -30`, or `T1 1` for a cancel.
pub fn said(offset: i64, line: &str) -> Record {
    let words: Vec<&str> = line.split(' ').collect();
    let content = match words[2..] {
        [day, quantity] => format!(r#""action":"assert","business_date":"2026-{day}","quantity":{quantity}"#),
        _ => r#""action":"cancel""#.to_owned(),
    };
    let (id, revision) = (words[0], words[1]);
    record(
        offset,
        &format!(
            r#"{{"schema_version":1,"transaction_id":"{id}","revision":{revision},{content},"item":"widget","location":"berlin"}}"#
        ),
    )
}

fn tell(oracle: &mut Oracle, partition: Partition, record: &Record) {
    oracle.record(partition, record.offset, record.key.as_deref(), record.value.as_deref());
}

fn columns(row: &[Option<String>], columns: &[usize]) -> String {
    let shown: Vec<&str> = columns.iter().map(|column| row[*column].as_deref().unwrap_or("-")).collect();
    shown.join(" ")
}

#[test]
fn the_worked_example() {
    let story = [
        ("T1 1 01-05 -30", "APPLIED", "01-05 1 70 ok"),
        ("T2 1 01-07 -60", "APPLIED", "01-07 1 10 low"),
        ("T1 2 01-06 -20", "CORRECTED", "01-05 2 - -, 01-06 1 80 ok, 01-07 2 20 ok"),
        ("T1 1 01-05 -30", "STALE", ""),
        ("T2 2", "CANCELLED", "01-07 3 - -"),
        ("T1 2 01-06 -20", "DUPLICATE", ""),
        ("T1 2 01-06 -21", "CONFLICT", ""),
        ("T2 5 01-05 -100", "REINSTATED", "01-05 3 0 low, 01-06 2 -20 negative"),
    ];
    let mut oracle = Oracle::new(config());
    for (offset, (line, code, envelopes)) in (0..).zip(story) {
        tell(&mut oracle, P, &said(offset, line));
        let written = oracle.decide(P, &[Offset(offset)], 7).unwrap();
        assert_eq!(columns(&written.evidence[0], &[1, 2, 7]), format!("{offset} {code} 7"));
        let shown: Vec<String> = written.outbox.iter().map(|row| columns(row, &[2, 5, 6, 7])).collect();
        assert_eq!(shown.join(", ").replace("2026-", ""), envelopes, "{line}");
    }
    assert_eq!(oracle.decide(P, &[Offset(8)], 7).unwrap_err(), "no record is known to lie at 8");
    // Everything again in one commit: rows as they are behind all of it, envelopes one by one.
    oracle.rewind();
    let all: Vec<Offset> = (0..8).map(Offset).collect();
    let written = oracle.decide(P, &all, 7).unwrap();
    assert_eq!((written.evidence.len(), written.outbox.len()), (8, 8));
    let positions: Vec<String> = written.positions.iter().map(|row| columns(row, &[2, 3, 4, 5, 6])).collect();
    assert_eq!(positions, ["2026-01-05 3 1 0 low", "2026-01-06 2 1 -20 negative", "2026-01-07 3 0 - -"]);
}

#[test]
fn json_is_read_in_one_way_only() {
    let one = |change: (&str, &str)| {
        let text = String::from_utf8(said(0, "T1 1 01-05 -30").value.unwrap()).unwrap();
        assert!(text.contains(change.0), "{change:?}");
        text.replacen(change.0, change.1, 1)
    };
    let deep = |levels: usize| format!("\"x\":{}{},\"rev", "[".repeat(levels), "]".repeat(levels));
    let rows = [
        (one(("T1", "T1")), "APPLIED"),
        (one(("{", " \t\r\n{ ")), "APPLIED"),
        (one(("item", r"\u0069tem")), "APPLIED"),
        (one(("T1", r"\ud83d\ude00\/\b\f\n\r\t\\\u00e9")), "APPLIED"),
        (one(("{", "\u{feff}{")), "MALFORMED_JSON"),
        (one(("{", "\u{b}{")), "MALFORMED_JSON"),
        (one(("}", "}}")), "MALFORMED_JSON"),
        (one(("}", ",}")), "MALFORMED_JSON"),
        (one(("T1", r"\ud83d")), "MALFORMED_JSON"),
        (one(("T1", r"\ude00")), "MALFORMED_JSON"),
        (one(("T1", r"\ud83d\u0041")), "MALFORMED_JSON"),
        (one(("T1", "\u{1}")), "MALFORMED_JSON"),
        (one(("T1", r"\x")), "MALFORMED_JSON"),
        (one(("-30", "-030")), "MALFORMED_JSON"),
        (one(("-30", "+30")), "MALFORMED_JSON"),
        (one(("-30", "30.")), "MALFORMED_JSON"),
        (one(("-30", ".5")), "MALFORMED_JSON"),
        (one(("-30", "NaN")), "MALFORMED_JSON"),
        (one(("\"rev", r#""action":"assert","rev"#)), "MALFORMED_JSON"),
        (one(("\"rev", r#""x":{"a":1,"\u0061":2},"rev"#)), "MALFORMED_JSON"),
        (one(("\"rev", &deep(16))), "MALFORMED_JSON"),
        (one(("\"rev", &deep(15))), "MALFORMED_ENVELOPE"),
        (format!("[{}]", one(("T1", "T1"))), "MALFORMED_JSON"),
        (one((":1,", ":2,")), "UNSUPPORTED_SCHEMA"),
        (one((":1,", ":99999999999999999999,")), "UNSUPPORTED_SCHEMA"),
        (one((":1,", ":1.0,")), "MALFORMED_ENVELOPE"),
        (one((":1,", ":-0,")), "MALFORMED_ENVELOPE"),
        (one(("-30", "-3e1")), "MALFORMED_ENVELOPE"),
        (one(("-30", "1e999")), "MALFORMED_ENVELOPE"),
        (one(("-30", "-0")), "MALFORMED_ENVELOPE"),
        (one(("-30", "null")), "MALFORMED_ENVELOPE"),
        (one(("assert", "cancel")), "MALFORMED_ENVELOPE"),
        (one(("assert", "Assert")), "MALFORMED_ENVELOPE"),
        (one(("-30", "9999999999999")), "INVALID_FIELD"),
        (one(("-30", "99999999999999999999")), "INVALID_FIELD"),
        (one((r#""revision":1"#, r#""revision":0"#)), "INVALID_FIELD"),
        (one((r#""revision":1"#, r#""revision":9007199254740992"#)), "INVALID_FIELD"),
        (one(("T1", "")), "INVALID_FIELD"),
        (one(("T1", r"\u0000")), "INVALID_FIELD"),
        (one(("T1", &"é".repeat(65))), "INVALID_FIELD"),
        (one(("2026-01-05", "2026-02-29")), "INVALID_FIELD"),
        (one(("2026-01-05", "2126-01-01")), "APPLIED"),
        (one(("2026-01-05", "2126-01-02")), "INVALID_FIELD"),
        (one(("berlin", "bern")), "UNKNOWN_STOCK_KEY"),
        (one(("berlin", "lisboa")), "KEY_MISMATCH"),
        (one(("2026-01-05", "2025-12-31")), "BEFORE_ORIGIN"),
    ];
    for (value, code) in rows {
        let record = record(0, &value);
        let mut oracle = Oracle::new(config());
        tell(&mut oracle, P, &record);
        let written = oracle.decide(P, &[Offset(0)], 1).unwrap();
        assert_eq!(columns(&written.evidence[0], &[2]), code, "{value}");
        assert_eq!(written, Stored::default().decide(&config(), P, std::slice::from_ref(&record)), "{value}");
    }
}

#[test]
fn the_fixtures_come_to_what_the_ledger_makes_of_them() {
    let config = config();
    let text = [
        include_str!("../../../fixtures/before.jsonl"),
        include_str!("../../../fixtures/correction.jsonl"),
        include_str!("../../../fixtures/cancel-last-day.jsonl"),
    ];
    let mut records = [Vec::new(), Vec::new()];
    for (number, line) in (1..).zip(text.concat().lines()) {
        let read =
            read_line(&config, number, line.as_bytes(), |text| Some(text.as_bytes().to_vec())).unwrap();
        let of = &mut records[read.partition.0 as usize];
        of.push(Record {
            offset: Offset(i64::try_from(of.len()).unwrap()),
            key: read.key,
            value: read.value,
        });
    }
    let mut oracle = Oracle::new(config.clone());
    let mut codes: BTreeMap<String, u32> = BTreeMap::new();
    for (partition, records) in (0..).map(Partition).zip(&records) {
        for row in same(&mut oracle, &config, partition, records, 3).evidence {
            *codes.entry(columns(&row, &[2])).or_insert(0) += 1;
        }
    }
    assert!(codes.len() >= 12, "the fixtures show {codes:?}");
}

/// Stocks of partition 0, one of them nearly full, and one of partition 1.
const STOCKS: &str = r#"{"ledger_origin":"2026-01-01","stock_keys":[
    {"item":"widget","location":"berlin","opening_balance":100,"low_threshold":20,"partition":0},
    {"item":"full","location":"berlin","opening_balance":9000000000000000,"low_threshold":0,"partition":0},
    {"item":"widget","location":"lisboa","opening_balance":0,"low_threshold":0,"partition":1}
]}"#;

/// Records of every kind, in commits of every size: each commit's rows are the ledger's.
#[test]
fn the_oracle_and_the_ledger_agree() {
    let config = Config::new("world", declared(), 2, Ledger::parse(STOCKS.as_bytes(), 2).unwrap()).unwrap();
    let mut codes: BTreeMap<String, u32> = BTreeMap::new();
    for seed in 0..400 {
        let records: Vec<Record> = (0..90).map(|offset| drawn(seed, offset)).collect();
        let mut oracle = Oracle::new(config.clone());
        let size = 1 + usize::try_from(mix(seed, 99) % 9).unwrap();
        for row in same(&mut oracle, &config, P, &records, size).evidence {
            *codes.entry(columns(&row, &[2])).or_insert(0) += 1;
        }
    }
    // Each code but REFUSED_BY_STORE.
    assert_eq!(codes.len(), 17, "seen were {codes:?}");
}

/// The records of the worlds themselves, poison among them.
#[test]
fn the_oracle_agrees_on_the_records_of_worlds() {
    let config = records::manifest(2).unwrap().config().clone();
    for seed in 0..50 {
        let mut oracle = Oracle::new(config.clone());
        for partition in [Partition(0), Partition(1)] {
            let poison = |offset| u32::try_from(mix(seed, offset) % 25).ok().filter(|form| *form < 5);
            let records: Vec<Record> = (0..60)
                .map(|offset| records::record(seed, partition, Offset(offset), poison(offset.unsigned_abs())))
                .collect();
            same(&mut oracle, &config, partition, &records, 7);
        }
    }
}

/// In the order of the forms of `poison`: key, value, size, utf8, nul.
#[test]
fn each_form_of_poison_is_refused_for_what_it_is() {
    let config = records::manifest(1).unwrap().config().clone();
    let codes = (0..5).map(|form| {
        let record = records::record(0, P, Offset(0), Some(form));
        let effects = same(&mut Oracle::new(config.clone()), &config, P, &[record], 1);
        columns(&effects.evidence[0], &[2])
    });
    let malformed = "MALFORMED_JSON";
    assert_eq!(codes.collect::<Vec<_>>(), ["KEY_MISMATCH", malformed, malformed, malformed, "INVALID_FIELD"]);
}

/// Few transactions, days and stocks, so that records meet; at times a quantity that fills a position, or a mistake.
fn drawn(seed: u64, offset: i64) -> Record {
    let draw = |nth: u64, below: u64| mix(mix(seed, offset.unsigned_abs()), nth) % below;
    let pick = |nth: u64, of: &[&'static str]| of[usize::try_from(draw(nth, of.len() as u64)).unwrap()];
    let stocks = ["widget/berlin", "widget/berlin", "widget/lisboa", "bolt/berlin", "full/berlin"];
    let stock = if draw(11, 2) == 0 { "full/berlin" } else { pick(1, &stocks) };
    let (item, location) = stock.split_once('/').unwrap();
    // Mostly its own transactions, at times another stock's.
    let (owner, ids) = if item == "full" && draw(10, 20) > 0 { ('f', 12) } else { ('w', 5) };
    let (id, revision) = (format!("{owner}{}", draw(2, ids)), 1 + draw(3, 6));
    let content = match draw(4, 4) {
        0 => r#""action":"cancel""#.to_owned(),
        _ => {
            let day = pick(5, &["01-01", "01-02", "01-03", "01-05", "01-05"]);
            let year = if draw(6, 15) == 0 { 2025 } else { 2026 };
            let much = "1000000000000";
            let quantity = match item {
                "full" => pick(7, &[much, much, much, much, "-1000000000000", "0"]),
                _ => pick(7, &["0", "-90", "5", "7", "-5"]),
            };
            format!(r#""action":"assert","business_date":"{year}-{day}","quantity":{quantity}"#)
        }
    };
    let names = format!(r#""item":"{item}","location":"{location}""#);
    let value =
        format!(r#"{{"schema_version":1,"transaction_id":"{id}","revision":{revision},{content},{names}}}"#);
    let value = match draw(8, 30) {
        0 => value.replacen(":1,", ":2,", 1),
        1 => value.replace("revision", "version"),
        2 => value.replace(r#"_id":""#, r#"_id":"\u0000"#),
        3 => value[..value.len() - 1].to_owned(),
        _ => value,
    };
    let key = if draw(9, 20) == 0 { None } else { Some(format!("{{{names}}}").into_bytes()) };
    Record { offset: Offset(offset), key, value: Some(value.into_bytes()) }
}

/// Decides the records in commits of one size by both, and compares each; returns all that was written.
fn same(
    oracle: &mut Oracle,
    config: &Config,
    partition: Partition,
    records: &[Record],
    size: usize,
) -> Written {
    let (mut stored, mut all) = (Stored::default(), Written::default());
    for record in records {
        tell(oracle, partition, record);
    }
    for batch in records.chunks(size) {
        let offsets: Vec<Offset> = batch.iter().map(|record| record.offset).collect();
        let expected = oracle.decide(partition, &offsets, 1).unwrap();
        let mut written = stored.decide(config, partition, batch);
        // The ledger may write a position again as it was.
        written.positions.retain(|row| expected.positions.contains(row));
        assert_eq!(written, expected);
        all.evidence.extend(expected.evidence);
    }
    for row in stored.positions.values().map(position) {
        let place = [&row[0], &row[1], &row[2]].map(|column| column.clone().unwrap());
        assert_eq!(oracle.position(&place[0], &place[1], &place[2]), Some(row));
    }
    all
}

/// A store in memory under the ledger: exactly the rows that are asked for, and what it is told.
#[derive(Default)]
struct Stored {
    heads: BTreeMap<String, Head>,
    positions: BTreeMap<(StockKey, BusinessDate), PositionRow>,
}

impl Stored {
    fn decide(&mut self, config: &Config, partition: Partition, records: &[Record]) -> Written {
        let batch = Batch::read(config, partition, records, false);
        let ids = batch.transaction_ids();
        let heads = ids.into_iter().filter_map(|id| self.heads.get(id).cloned()).collect();
        let plan = batch.plan(heads, 100_000);
        let wants = plan.wants().iter().enumerate();
        let rows: Vec<Loaded> =
            wants.flat_map(|(want, wanted)| self.load(wanted).map(move |row| Loaded { want, row })).collect();
        match plan.decide(rows) {
            Decision::Effects(effects) => self.keep(partition, records, effects),
            Decision::TooLarge { fit } => {
                let mut written = self.decide(config, partition, &records[..fit]);
                let rest = self.decide(config, partition, &records[fit..]);
                written.evidence.extend(rest.evidence);
                written.outbox.extend(rest.outbox);
                let mut positions: BTreeMap<Vec<Option<String>>, Vec<Option<String>>> = BTreeMap::new();
                for row in written.positions.into_iter().chain(rest.positions) {
                    positions.insert(row[..3].to_vec(), row);
                }
                written.positions = positions.into_values().collect();
                written
            }
        }
    }

    fn load(&self, want: &Want) -> impl Iterator<Item = PositionRow> {
        let of_stock = self.positions.values().filter(|row| row.stock_key == want.stock_key);
        let is_present = |row: &PositionRow| row.closing.is_some();
        let below = of_stock.clone().rfind(|row| is_present(row) && row.business_date < want.from);
        let within = of_stock.filter(|row| {
            let day = row.business_date;
            day == want.from
                || (is_present(row) && day > want.from && want.before.is_none_or(|before| day < before))
        });
        within.chain(below).cloned().collect::<Vec<_>>().into_iter()
    }

    fn keep(&mut self, partition: Partition, records: &[Record], effects: Effects) -> Written {
        let shown = |value: &dyn ToString| Some(value.to_string());
        let bytes = |bytes: &Option<Vec<u8>>| {
            let hex = |bytes: &Vec<u8>| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
            bytes.as_ref().map(|bytes| format!("\\x{}", hex(bytes)))
        };
        let mut written = Written::default();
        for (row, record) in effects.evidence.iter().zip(records) {
            written.evidence.push(vec![
                shown(&partition),
                shown(&row.offset),
                shown(&row.code),
                row.transaction_id.clone(),
                row.revision.and_then(|revision| shown(&revision)),
                bytes(&record.key),
                bytes(&record.value),
                shown(&1),
            ]);
        }
        for envelope in &effects.outbox {
            written.outbox.push(vec![
                shown(&partition),
                shown(&envelope.cause.offset),
                shown(&envelope.business_date),
                shown(&envelope.stock_key.item),
                shown(&envelope.stock_key.location),
                shown(&envelope.version),
                envelope.closing.and_then(|closing| shown(&closing.balance)),
                envelope.closing.and_then(|closing| shown(&closing.state)),
                shown(&envelope.cause.transaction_id),
                shown(&envelope.cause.revision),
                shown(&envelope.cause.code),
            ]);
        }
        for row in effects.positions {
            self.positions.insert((row.stock_key.clone(), row.business_date), row.clone());
            written.positions.push(position(&row));
        }
        written.positions.sort();
        for head in effects.heads {
            self.heads.insert(head.transaction_id.clone(), head);
        }
        written
    }
}

fn position(row: &PositionRow) -> Vec<Option<String>> {
    vec![
        Some(row.stock_key.item.clone()),
        Some(row.stock_key.location.clone()),
        Some(row.business_date.to_string()),
        Some(row.version.to_string()),
        Some(row.live.to_string()),
        row.closing.map(|closing| closing.balance.to_string()),
        row.closing.map(|closing| closing.state.to_string()),
    ]
}
