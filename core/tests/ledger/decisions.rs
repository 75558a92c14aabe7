//! Rules 5 to 14, as stories of a few records and the verdicts they get.

use amends_core::ids::Partition;
use amends_core::ledger::code::Code;
use amends_core::ledger::decision::{Batch, Decision};
use amends_core::source::business_date::BusinessDate;
use amends_core::source::record::Record;

use super::model::{Cost, Model, WITHOUT_LIMIT, config, record};

const DECLARATION: &str = r#"{"ledger_origin":"2026-01-01","stock_keys":[
    {"item":"widget","location":"berlin","opening_balance":100,"low_threshold":20,"partition":0},
    {"item":"gasket","location":"berlin","opening_balance":0,"low_threshold":0,"partition":0},
    {"item":"bolt","location":"lisboa","opening_balance":0,"low_threshold":0,"partition":1},
    {"item":"full","location":"berlin","opening_balance":9000000000000000,"low_threshold":0,"partition":0},
    {"item":"void","location":"berlin","opening_balance":-9000000000000000,"low_threshold":0,"partition":0}
]}"#;

fn key(item: &str, location: &str) -> String {
    format!(r#"{{"item":"{item}","location":"{location}"}}"#)
}

/// `T1 r2 assert widget 2026-01-05 -3` or `T1 r2 cancel widget`, all in berlin, with the right key.
fn say(text: &str) -> (String, String) {
    let words: Vec<_> = text.split(' ').collect();
    let (id, revision, action, item) = (words[0], &words[1][1..], words[2], words[3]);
    let location = if item == "bolt" { "lisboa" } else { "berlin" };
    let rest = match words[4..] {
        [date, quantity] => format!(r#","business_date":"{date}","quantity":{quantity}"#),
        _ => String::new(),
    };
    let value = format!(
        r#"{{"schema_version":1,"transaction_id":"{id}","revision":{revision},"action":"{action}","item":"{item}","location":"{location}"{rest}}}"#
    );
    (key(item, location), value)
}

fn records(first_offset: i64, lines: &[&str]) -> Vec<Record> {
    let of = |(offset, line): (i64, &&str)| {
        let (key, value) = say(line);
        record(offset, &key, &value)
    };
    (first_offset..).zip(lines).map(of).collect()
}

fn tell(lines: &[&str]) -> Model {
    let config = config(2, DECLARATION);
    let records = records(0, lines);
    let mut whole = Model::default();
    let costs = whole.process(&config, Partition(0), &records, WITHOUT_LIMIT);
    assert!(costs.len() == 1 || whole.codes().contains(&"BALANCE_OVERFLOW"), "the batch was cut for nothing");
    let mut single = Model::default();
    for record in &records {
        single.process(&config, Partition(0), std::slice::from_ref(record), 1);
    }
    assert_eq!(whole, single, "a batch boundary shows");
    whole
}

/// One record under a key of its own choice.
fn judge(partition: u32, key: Option<&str>, line: &str) -> (Code, Option<String>, Option<i64>) {
    let config = config(2, DECLARATION);
    let mut record = record(7, "", &say(line).1);
    record.key = key.map(|key| key.as_bytes().to_vec());
    let plan = Batch::read(&config, Partition(partition), &[record], false).plan(Vec::new(), WITHOUT_LIMIT);
    let Decision::Effects(effects) = plan.decide(Vec::new()) else { panic!("one record is always decided") };
    let evidence = effects.evidence[0].clone();
    (evidence.code, evidence.transaction_id, evidence.revision)
}

#[test]
fn the_worked_example_of_the_contract() {
    let model = tell(&[
        "T1 r1 assert widget 2026-01-05 -30",
        "T2 r1 assert widget 2026-01-07 -60",
        "T1 r2 assert widget 2026-01-06 -20",
        "T1 r1 assert widget 2026-01-05 -30",
        "T2 r2 cancel widget",
        "T1 r2 assert widget 2026-01-06 -20",
        "T1 r2 assert widget 2026-01-06 -21",
        "T2 r5 assert widget 2026-01-05 -100",
    ]);
    let codes =
        ["APPLIED", "APPLIED", "CORRECTED", "STALE", "CANCELLED", "DUPLICATE", "CONFLICT", "REINSTATED"];
    assert_eq!(model.codes(), codes);
    let envelope = |date: &str, version: u32, what: &str, cause: &str| {
        format!(
            r#"{{"namespace":"source-demo-1","item":"widget","location":"berlin","business_date":"{date}","version":{version},{what},"cause":{{"partition":0,{cause}}}}}"#
        )
    };
    let upsert =
        |balance: i64, state: &str| format!(r#""kind":"upsert","balance":{balance},"state":"{state}""#);
    let retract = r#""kind":"retract""#;
    let cause = |offset: u32, id: &str, revision: u32, code: &str| {
        format!(r#""offset":{offset},"transaction_id":"{id}","revision":{revision},"code":"{code}""#)
    };
    let corrected = cause(2, "T1", 2, "CORRECTED");
    let reinstated = cause(7, "T2", 5, "REINSTATED");
    let expected = [
        envelope("2026-01-05", 1, &upsert(70, "ok"), &cause(0, "T1", 1, "APPLIED")),
        envelope("2026-01-07", 1, &upsert(10, "low"), &cause(1, "T2", 1, "APPLIED")),
        envelope("2026-01-05", 2, retract, &corrected),
        envelope("2026-01-06", 1, &upsert(80, "ok"), &corrected),
        envelope("2026-01-07", 2, &upsert(20, "ok"), &corrected),
        envelope("2026-01-07", 3, retract, &cause(4, "T2", 2, "CANCELLED")),
        envelope("2026-01-05", 3, &upsert(0, "low"), &reinstated),
        envelope("2026-01-06", 2, &upsert(-20, "negative"), &reinstated),
    ];
    assert_eq!(model.outbox, expected);
    assert_eq!(
        model.shown(),
        ["widget/berlin 2026-01-05 v3 0 low", "widget/berlin 2026-01-06 v2 -20 negative"]
    );
    assert_eq!(model.positions.len(), 3, "the retracted position keeps its version");
}

#[test]
fn a_record_alone_meets_rules_5_to_8_in_their_order() {
    let widget = key("widget", "berlin");
    let bolt = key("bolt", "lisboa");
    let early = "T1 r3 assert widget 2025-12-31 1";
    let rows: &[(u32, Option<&str>, &str, Code)] = &[
        (0, Some(&widget), "T1 r3 assert widget 2026-01-01 1", Code::Applied),
        (0, Some("{}"), "T1 r3 assert sprocket 2025-12-31 1", Code::UnknownStockKey),
        (0, None, "T1 r3 cancel sprocket", Code::UnknownStockKey),
        (1, None, early, Code::KeyMismatch),
        (0, Some(""), early, Code::KeyMismatch),
        (1, Some(&bolt), early, Code::KeyMismatch),
        (1, Some("not json"), early, Code::KeyMismatch),
        (0, Some(&key("", "")), early, Code::KeyMismatch),
        (1, Some(&widget), early, Code::Routing),
        (9, Some(&widget), early, Code::Routing),
        (0, Some(&bolt), "T1 r3 cancel bolt", Code::Routing),
        (0, Some(&widget), early, Code::BeforeOrigin),
        (0, Some(&widget), "T1 r3 assert widget 0001-01-01 1", Code::BeforeOrigin),
        (0, Some(&widget), "T1 r3 cancel widget", Code::Cancelled),
    ];
    for &(partition, key, line, code) in rows {
        let found = judge(partition, key, line);
        assert_eq!(found, (code, Some("T1".to_owned()), Some(3)), "{partition} {key:?} {line}");
    }
}

#[test]
fn heads_decide_rules_9_to_12_and_14_in_their_order() {
    let rows: &[(&[&str], &str)] = &[
        // Another stock is refused before any revision is looked at, over a cancelled head too.
        (&["T1 r5 assert widget 2026-01-05 1", "T1 r1 assert gasket 2026-01-05 1"], "KEY_CHANGE"),
        (&["T1 r5 assert widget 2026-01-05 1", "T1 r9 cancel gasket"], "KEY_CHANGE"),
        (&["T1 r5 cancel widget", "T1 r5 cancel gasket"], "KEY_CHANGE"),
        (&["T1 r5 assert widget 2026-01-05 1", "T1 r4 assert widget 2026-01-05 1"], "STALE"),
        (&["T1 r5 cancel widget", "T1 r4 cancel widget"], "STALE"),
        (&["T1 r5 assert widget 2026-01-05 1", "T1 r5 assert widget 2026-01-05 1"], "DUPLICATE"),
        (&["T1 r5 cancel widget", "T1 r5 cancel widget"], "DUPLICATE"),
        (&["T1 r5 assert widget 2026-01-05 1", "T1 r5 assert widget 2026-01-06 1"], "CONFLICT"),
        (&["T1 r5 assert widget 2026-01-05 1", "T1 r5 assert widget 2026-01-05 2"], "CONFLICT"),
        (&["T1 r5 assert widget 2026-01-05 1", "T1 r5 cancel widget"], "CONFLICT"),
        (&["T1 r5 cancel widget", "T1 r5 assert widget 2026-01-05 1"], "CONFLICT"),
        (&["T1 r9007199254740991 assert widget 2026-01-05 1"], "APPLIED"),
        (&["T1 r5 assert widget 2026-01-05 1", "T1 r7 assert widget 2026-01-05 1"], "CORRECTED"),
        (&["T1 r5 cancel widget", "T1 r7 assert widget 2026-01-05 1"], "REINSTATED"),
        (&["T1 r5 cancel widget"], "CANCELLED"),
        (&["T1 r5 cancel widget", "T1 r6 cancel widget"], "CANCELLED"),
        // A quarantined record changes no head: the transaction is still free for another stock.
        (&["T1 r5 assert widget 2025-01-05 1", "T1 r1 assert gasket 2026-01-05 1"], "APPLIED"),
    ];
    for (story, code) in rows {
        assert_eq!(tell(story).codes().last(), Some(code), "{story:?}");
    }
}

#[test]
fn a_new_head_without_a_visible_change_writes_no_envelope() {
    let same = tell(&["T1 r1 assert widget 2026-01-05 1", "T1 r2 assert widget 2026-01-05 1"]);
    assert_eq!((same.outbox.len(), same.heads["T1"].revision), (1, 2));
    let twice = tell(&["T1 r1 cancel widget", "T1 r2 cancel widget"]);
    assert_eq!((twice.outbox.len(), twice.positions.len(), twice.heads["T1"].revision), (0, 0, 2));
    let joined = tell(&["T1 r1 assert widget 2026-01-05 1", "T2 r1 assert widget 2026-01-05 0"]);
    assert_eq!(joined.outbox.len(), 1);
    assert_eq!(joined.positions.values().next().unwrap().live, 2, "what keeps the position when T1 leaves");
}

#[test]
fn a_position_stands_while_one_transaction_of_its_day_is_live() {
    let zero = tell(&["T1 r1 assert widget 2026-01-05 0"]);
    assert_eq!(zero.shown(), ["widget/berlin 2026-01-05 v1 100 ok"]);
    let two =
        ["T1 r1 assert widget 2026-01-05 -90", "T2 r1 assert widget 2026-01-05 0", "T1 r2 cancel widget"];
    assert_eq!(tell(&two).shown(), ["widget/berlin 2026-01-05 v2 100 ok"]);
    let none = [&two[..], &["T2 r2 cancel widget"]].concat();
    assert_eq!(tell(&none).shown(), Vec::<String>::new());
    let again = [&none[..], &["T2 r3 assert widget 2026-01-05 0"]].concat();
    assert_eq!(tell(&again).shown(), ["widget/berlin 2026-01-05 v4 100 ok"], "versions never restart");
}

#[test]
fn a_balance_beyond_exact_integers_is_refused_whole() {
    let fill: Vec<_> = (1..=7).map(|n| format!("T{n} r1 assert full 2026-01-1{n} 1000000000000")).collect();
    let mut story: Vec<&str> = fill.iter().map(String::as_str).collect();
    // 9·10^15 + 7·10^12 leaves 199,254,740,991 below 2^53-1.
    story.push("T8 r1 assert full 2026-01-20 199254740991");
    assert_eq!(tell(&story).codes().last(), Some(&"APPLIED"));
    assert_eq!(tell(&story).shown().last().unwrap(), "full/berlin 2026-01-20 v1 9007199254740991 ok");
    story.push("T9 r1 assert full 2026-01-01 1");
    let full = tell(&story);
    assert_eq!(full.codes().last(), Some(&"BALANCE_OVERFLOW"), "a later position would overflow");
    assert!(!full.heads.contains_key("T9") && full.outbox.len() == 8);
    story.extend(["T10 r1 assert full 2026-01-21 -1", "T9 r1 assert full 2026-01-21 1"]);
    assert_eq!(tell(&story).codes().last(), Some(&"APPLIED"), "in its own place it fits");
    // Taking a negative quantity back raises what follows.
    story.extend([
        "T11 r1 assert full 2026-01-15 -5",
        "T12 r1 assert full 2026-01-16 5",
        "T11 r2 cancel full",
    ]);
    assert_eq!(tell(&story).codes().last(), Some(&"BALANCE_OVERFLOW"));
    story.extend(["T11 r3 assert full 2026-01-15 -4", "T12 r2 cancel full", "T11 r2 cancel full"]);
    assert_eq!(tell(&story).codes()[14..], ["BALANCE_OVERFLOW", "CANCELLED", "CANCELLED"]);
    let below: Vec<_> = (1..=8).map(|n| format!("T{n} r1 assert void 2026-01-11 -1000000000000")).collect();
    let below: Vec<&str> = below.iter().map(String::as_str).collect();
    assert_eq!(tell(&below).codes().last(), Some(&"BALANCE_OVERFLOW"));
}

#[test]
fn a_record_that_overflows_leaves_later_ones_of_its_transaction_to_the_old_head() {
    let fill: Vec<_> = (1..=7).map(|n| format!("F{n} r1 assert full 2026-02-01 1000000000000")).collect();
    let mut story: Vec<&str> = fill.iter().map(String::as_str).collect();
    story.extend([
        "T r1 assert full 2026-03-01 5",
        "T r9 assert full 2026-01-01 1000000000000",
        "T r3 assert full 2026-01-20 6",
        "T r2 assert full 2026-01-20 7",
    ]);
    let codes = ["APPLIED", "BALANCE_OVERFLOW", "CORRECTED", "STALE"];
    assert_eq!(tell(&story).codes()[7..], codes);
}

#[test]
fn what_the_store_refused_keeps_nothing_but_its_offset() {
    let config = config(2, DECLARATION);
    let (key, value) = say("T1 r1 assert widget 2026-01-05 1");
    let batch = Batch::read(&config, Partition(0), &[record(7, &key, &value)], true);
    assert_eq!(batch.transaction_ids(), Vec::<&str>::new());
    let plan = batch.plan(Vec::new(), WITHOUT_LIMIT);
    assert_eq!(plan.wants(), []);
    let Decision::Effects(effects) = plan.decide(Vec::new()) else { panic!("one record is always decided") };
    let evidence = &effects.evidence[0];
    assert_eq!(
        (evidence.code, &evidence.transaction_id, evidence.revision),
        (Code::RefusedByStore, &None, None)
    );
    assert!(effects.heads.is_empty() && effects.positions.is_empty() && effects.outbox.is_empty());
}

#[test]
fn a_record_costs_what_it_changes_and_not_what_lies_behind() {
    let config = config(2, DECLARATION);
    let mut model = Model::default();
    let mut offset = 0;
    let mut cost = |line: &str| {
        let (key, value) = say(line);
        let costs = model.process(&config, Partition(0), &[record(offset, &key, &value)], 1);
        offset += 1;
        costs[0]
    };
    for n in 1..=200 {
        cost(&format!("T{n} r1 assert widget 2026-0{}-{:02} 1", 1 + n / 28, 1 + n % 28));
    }
    // Each position that changes is read, written and told; the last unchanged one below is read.
    assert_eq!(cost("A r1 assert widget 2026-08-28 5"), Cost { read: 2, written: 4 }, "behind all");
    assert_eq!(cost("A r1 assert widget 2026-08-28 5"), Cost { read: 1, written: 1 }, "a duplicate");
    assert_eq!(cost("A r2 assert widget 2026-08-28 5"), Cost { read: 1, written: 2 }, "nothing visible");
    assert_eq!(cost("A r3 assert widget 2026-01-03 5"), Cost { read: 203, written: 402 }, "moved far");
    assert_eq!(cost("A r4 assert widget 2026-01-05 5"), Cost { read: 6, written: 7 }, "moved near");
    assert_eq!(cost("B r1 assert widget 2026-01-05 0"), Cost { read: 3, written: 3 }, "nothing to add");
    assert_eq!(cost("A r5 assert widget 2026-01-05 6"), Cost { read: 199, written: 396 }, "another quantity");
}

#[test]
fn a_batch_over_the_limit_says_how_much_of_it_fits() {
    let lines: Vec<_> = (1..=9).map(|n| format!("T{n} r1 assert widget 2026-01-0{} 1", 10 - n)).collect();
    let records = records(0, &lines.iter().map(String::as_str).collect::<Vec<_>>());
    let config = config(2, DECLARATION);
    let fit = |limit: usize| {
        let plan = Batch::read(&config, Partition(0), &records, false).plan(Vec::new(), limit);
        plan.decide(Vec::new())
    };
    // The n-th record moves n positions: 3 rows each and 1 + 2 + … + n envelopes.
    assert_eq!(fit(4), Decision::TooLarge { fit: 1 });
    assert_eq!(fit(3), Decision::TooLarge { fit: 1 }, "one record is never too large");
    assert_eq!(fit(9), Decision::TooLarge { fit: 2 });
    assert_eq!(fit(71), Decision::TooLarge { fit: 8 });
    assert!(matches!(fit(72), Decision::Effects(_)));
}

#[test]
fn rows_read_count_against_the_limit_by_themselves() {
    let config = config(2, DECLARATION);
    let mut model = Model::default();
    let full: Vec<_> = (1..=7).map(|n| format!("T{n} r1 assert full 2026-01-1{n} 1000000000000")).collect();
    let full: Vec<&str> = full.iter().map(String::as_str).collect();
    model.process(&config, Partition(0), &records(0, &full), WITHOUT_LIMIT);
    // Both overflow, so that they write their evidence only: the first reads the last four positions and the one
    // below them, the second, of what is missing then, two more and the one below. Their heads are two rows more.
    let two = records(
        7,
        &["A r1 assert full 2026-01-14 1000000000000", "B r1 assert full 2026-01-12 1000000000000"],
    );
    let at = |limit| model.clone().process(&config, Partition(0), &two, limit);
    assert_eq!(at(10), [Cost { read: 10, written: 2 }]);
    assert_eq!(at(9), [Cost { read: 6, written: 1 }, Cost { read: 8, written: 1 }]);
}

#[test]
fn what_one_record_of_a_batch_reads_the_next_does_not_read_again() {
    let config = config(2, DECLARATION);
    let wants = |lines: &[&str]| {
        let plan =
            Batch::read(&config, Partition(0), &records(0, lines), false).plan(Vec::new(), WITHOUT_LIMIT);
        let show = |date: BusinessDate| date.to_string()[5..].to_owned();
        let ranges = plan.wants().iter();
        ranges.map(|want| (show(want.from), want.before.map(show).unwrap_or_default())).collect::<Vec<_>>()
    };
    let pairs = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|(from, before)| (from.to_string(), before.to_string())).collect::<Vec<_>>()
    };
    let (a, b, c) =
        ("A r1 assert widget 2026-01-03 1", "B r1 assert widget 2026-01-07 1", "C r1 cancel widget");
    assert_eq!(wants(&[a, b, c]), pairs(&[("01-03", ""), ("01-07", "01-08")]), "a point may be retracted");
    assert_eq!(wants(&[b, a]), pairs(&[("01-07", ""), ("01-03", "01-07")]), "only what is missing");
    assert_eq!(wants(&[a, "D r1 assert widget 2026-01-03 0"]), pairs(&[("01-03", "")]));
    let moved = "A r2 assert widget 2026-01-05 1";
    assert_eq!(wants(&[a, moved]), pairs(&[("01-03", ""), ("01-05", "01-06")]));
    let zero = "Z r1 assert widget 2026-01-05 0";
    assert_eq!(wants(&[zero, a]), pairs(&[("01-05", "01-06"), ("01-03", "01-05"), ("01-06", "")]));
    assert_eq!(wants(&[a, "E r1 assert gasket 2026-01-03 0"]).len(), 2, "each stock by itself");
}

#[test]
fn after_an_overflow_a_batch_is_cut_where_it_needs_what_nobody_foresaw() {
    let config = config(2, DECLARATION);
    let mut model = Model::default();
    let mut before = vec![
        "T r1 assert full 2026-03-01 5",
        "U r1 assert full 2026-01-10 1",
        "V r1 assert full 2026-01-25 1",
    ];
    let full: Vec<_> = (1..=7).map(|n| format!("F{n} r1 assert full 2026-02-0{n} 1000000000000")).collect();
    before.extend(full.iter().map(String::as_str));
    model.process(&config, Partition(0), &records(0, &before), WITHOUT_LIMIT);
    // Had the first not overflowed, the second would be stale and read nothing.
    let batch = records(10, &["T r9 assert full 2026-03-05 1000000000000", "T r3 assert full 2026-01-20 6"]);
    let mut single = model.clone();
    for record in &batch {
        single.process(&config, Partition(0), std::slice::from_ref(record), 1);
    }
    assert_eq!(model.process(&config, Partition(0), &batch, WITHOUT_LIMIT).len(), 2);
    assert_eq!(model.codes()[10..], ["BALANCE_OVERFLOW", "CORRECTED"]);
    assert_eq!(model, single);
}
