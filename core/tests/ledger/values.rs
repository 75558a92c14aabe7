//! Rules 1 to 4 and record keys: bytes and the verdict they get.

use amends_core::ledger::code::Code::{
    self, InvalidField, MalformedEnvelope, MalformedJson, UnsupportedSchema,
};
use amends_core::ledger::envelope::{Content, read_value};
use amends_core::source::manifest::StockKey;
use amends_core::source::record_key::read_key;
use proptest::prelude::*;

const ASSERT: &str = r#"{"schema_version":1,"transaction_id":"T-1001","revision":1,"action":"assert","item":"widget","location":"berlin","business_date":"2026-01-05","quantity":-3}"#;
const CANCEL: &str = r#"{"schema_version":1,"transaction_id":"T-1001","revision":1,"action":"cancel","item":"widget","location":"berlin"}"#;

fn verdict(value: &[u8]) -> Result<(), Code> {
    read_value(Some(value), "2026-01-01".parse().unwrap()).map(|_| ())
}

/// The example assert with one piece of its text replaced.
fn with(old: &str, new: &str) -> String {
    assert!(ASSERT.contains(old), "{old}");
    ASSERT.replacen(old, new, 1)
}

fn nested(levels: usize) -> String {
    "[".repeat(levels) + &"]".repeat(levels)
}

#[test]
fn the_two_examples_of_the_contract_are_read() {
    let origin = "2026-01-01".parse().unwrap();
    let assert = read_value(Some(ASSERT.as_bytes()), origin).unwrap();
    assert_eq!((assert.transaction_id.as_str(), assert.revision), ("T-1001", 1));
    assert_eq!(assert.stock_key, StockKey { item: "widget".to_owned(), location: "berlin".to_owned() });
    let business_date = "2026-01-05".parse().unwrap();
    assert_eq!(assert.content, Content::Assert { business_date, quantity: -3 });
    assert_eq!(read_value(Some(CANCEL.as_bytes()), origin).unwrap().content, Content::Cancel);
}

#[test]
fn rule_1_is_the_grammar_of_the_whole_value() {
    assert_eq!(read_value(None, "2026-01-01".parse().unwrap()), Err(MalformedJson), "no value");
    let deep = |levels| with("-3", &nested(levels));
    let long = |bytes: usize| ASSERT.to_owned() + &" ".repeat(bytes - ASSERT.len());
    let rows: &[(String, Result<(), Code>)] = &[
        (String::new(), Err(MalformedJson)),
        (" \t\r\n".to_owned(), Err(MalformedJson)),
        ("null".to_owned(), Err(MalformedJson)),
        ("[]".to_owned(), Err(MalformedJson)),
        (format!("[{ASSERT}]"), Err(MalformedJson)),
        (format!("\u{feff}{ASSERT}"), Err(MalformedJson)),
        (format!("\u{a0}{ASSERT}"), Err(MalformedJson)),
        (format!("{ASSERT}x"), Err(MalformedJson)),
        (format!("{ASSERT}{ASSERT}"), Err(MalformedJson)),
        (format!("{ASSERT}\0"), Err(MalformedJson)),
        (format!(" \t\r\n{ASSERT} \t\r\n"), Ok(())),
        (with("\"item\"", " \"\\u0069tem\" "), Ok(())),
        (with("-3}", "-3,}"), Err(MalformedJson)),
        (with("-3}", "-3"), Err(MalformedJson)),
        (with("-3", "NaN"), Err(MalformedJson)),
        (with("-3", "Infinity"), Err(MalformedJson)),
        (with("-3", "-Infinity"), Err(MalformedJson)),
        (with("-3", "-03"), Err(MalformedJson)),
        (with("-3", "+3"), Err(MalformedJson)),
        (with("-3", "3."), Err(MalformedJson)),
        (with("-3", ".3"), Err(MalformedJson)),
        (with("-3", "-"), Err(MalformedJson)),
        (with("-3", "0x3"), Err(MalformedJson)),
        (with("-3", "'3'"), Err(MalformedJson)),
        (with("-3", "True"), Err(MalformedJson)),
        (with("-3", "nul"), Err(MalformedJson)),
        (with("-3", "/**/-3"), Err(MalformedJson)),
        (with("widget", "wid\nget"), Err(MalformedJson)),
        (with("widget", "wid\u{1f}get"), Err(MalformedJson)),
        (with("widget", "wid\0get"), Err(MalformedJson)),
        (with("widget", "wid\u{7f}get"), Ok(())),
        (with("widget", "\\ud83d"), Err(MalformedJson)),
        (with("widget", "\\ude00"), Err(MalformedJson)),
        (with("widget", "\\ude00\\ud83d"), Err(MalformedJson)),
        (with("widget", "\\ud83dx"), Err(MalformedJson)),
        (with("widget", "\\ud83d\\u0041"), Err(MalformedJson)),
        (with("widget", "\\ud83d\\ude00"), Ok(())),
        (with("widget", "\\x41"), Err(MalformedJson)),
        (with("widget", "\\u00g0"), Err(MalformedJson)),
        (with("\"item\"", "\"\\ud800\":1,\"item\""), Err(MalformedJson)),
        (with("\"item\":\"widget\"", "\"item\":[{\"a\":\"\\udc00\"}]"), Err(MalformedJson)),
        (with("-3", "-3,\"quantity\":-3"), Err(MalformedJson)),
        (with("-3", "-3,\"\\u0071uantity\":-3"), Err(MalformedJson)),
        (with("-3", "{\"a\":[{\"b\":1,\"\\u0062\":2}]}"), Err(MalformedJson)),
        (with("\"schema_version\":1", "\"schema_version\":2,\"schema_version\":2"), Err(MalformedJson)),
        // The value itself is level 1.
        (deep(15), Err(MalformedEnvelope)),
        (deep(16), Err(MalformedJson)),
        (deep(100_000), Err(MalformedJson)),
        ("[".repeat(200_000), Err(MalformedJson)),
        (with("-3", &"{\"a\":".repeat(15)).replace(":}", ":1}") + &"}".repeat(15), Err(MalformedEnvelope)),
        (long(1_048_576), Ok(())),
        (long(1_048_577), Err(MalformedJson)),
        // The grammar behind comes before the schema in front.
        (with("\"schema_version\":1", "\"schema_version\":2").replace("-3", "-03"), Err(MalformedJson)),
        // A name that a reader of raw numbers could mistake for one of its own.
        (with("-3", "{\"$serde_json::private::Number\":\"-3\"}"), Err(MalformedEnvelope)),
        (with("-3", "{\"$serde_json::private::RawValue\":\"-3\"}"), Err(MalformedEnvelope)),
    ];
    for (value, expected) in rows {
        assert_eq!(verdict(value.as_bytes()), *expected, "{:.200}", value);
    }
    let mut bytes = ASSERT.as_bytes().to_vec();
    for bad in [&b"\xff"[..], b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc3"] {
        let at = ASSERT.find("widget").unwrap();
        bytes.splice(at..at + 6, bad.iter().copied());
        assert_eq!(verdict(&bytes), Err(MalformedJson), "{bad:x?}");
        bytes = ASSERT.as_bytes().to_vec();
    }
}

#[test]
fn rule_2_is_a_whole_schema_version_other_than_1() {
    let long = "9".repeat(10_000);
    let unsupported = ["0", "2", "-1", "10", "9223372036854775808", "-9223372036854775809", &long];
    for version in unsupported {
        let value = format!(r#"{{"schema_version":{version},"whatever":null}}"#);
        assert_eq!(verdict(value.as_bytes()), Err(UnsupportedSchema), "{version:.30}");
    }
    for version in ["1.0", "2.0", "1e0", "2e3", "1e999", "-0", "-0.0", "\"2\"", "null", "true", "[2]", "{}"] {
        let value = with("\"schema_version\":1", &format!("\"schema_version\":{version}"));
        assert_eq!(verdict(value.as_bytes()), Err(MalformedEnvelope), "{version}");
    }
    assert_eq!(verdict(b"{}"), Err(MalformedEnvelope));
}

#[test]
fn rule_3_is_the_members_and_their_types() {
    for member in ["transaction_id", "revision", "action", "item", "location", "business_date", "quantity"] {
        let mut value: serde_json::Value = serde_json::from_str(ASSERT).unwrap();
        for wrong in [serde_json::json!(null), true.into(), serde_json::json!([]), serde_json::json!({})] {
            value[member] = wrong;
            assert_eq!(verdict(value.to_string().as_bytes()), Err(MalformedEnvelope), "{value}");
        }
        value.as_object_mut().unwrap().remove(member);
        assert_eq!(verdict(value.to_string().as_bytes()), Err(MalformedEnvelope), "no {member}");
    }
    let mut rows = vec![
        with("\"item\"", "\"Item\""),
        with("\"item\"", "\"extra\":1,\"item\""),
        with("\"item\"", "\"\":1,\"item\""),
        with("\"assert\"", "\"Assert\""),
        with("\"assert\"", "\"\""),
        with("\"assert\"", "\"cancel\""),
        with("\"T-1001\"", "1001"),
        with("\"2026-01-05\"", "20260105"),
        CANCEL.replace("\"berlin\"", "\"berlin\",\"business_date\":\"2026-01-05\""),
        CANCEL.replace("\"berlin\"", "\"berlin\",\"quantity\":0"),
        CANCEL.replace("\"berlin\"", "\"berlin\",\"quantity\":null"),
    ];
    for number in ["1.0", "1e3", "1E3", "1e999", "-0", "-0.0", "-0e1", "1.5", "\"1\""] {
        rows.push(with("-3", number));
        rows.push(with("\"revision\":1", &format!("\"revision\":{number}")));
    }
    for value in rows {
        assert_eq!(verdict(value.as_bytes()), Err(MalformedEnvelope), "{value}");
    }
    // Every type is looked at before any bound.
    let both = with("\"revision\":1", "\"revision\":0").replace("-3", "1.0");
    assert_eq!(verdict(both.as_bytes()), Err(MalformedEnvelope));
}

#[test]
fn rule_4_is_the_bounds() {
    let long = "1".repeat(5_000);
    let bytes = |n: usize| format!("\"{}\"", "x".repeat(n));
    let id = |id: &str, ok: bool| (with("\"T-1001\"", id), ok);
    let revision =
        |revision: &str, ok: bool| (with("\"revision\":1", &format!("\"revision\":{revision}")), ok);
    let quantity = |quantity: &str, ok: bool| (with("-3", quantity), ok);
    let date = |date: &str, ok: bool| (with("2026-01-05", date), ok);
    let rows = [
        id("\"\"", false),
        id("\" \"", true),
        id(&bytes(128), true),
        id(&bytes(129), false),
        id(&format!("\"{}\"", "ü".repeat(64)), true),
        id(&format!("\"{}x\"", "ü".repeat(64)), false),
        id(&format!("\"{}\"", "\\u0041".repeat(128)), true),
        id("\"T\\u0000\"", false),
        id("\"\\u0001\"", true),
        revision("0", false),
        revision("-1", false),
        revision("9007199254740991", true),
        revision("9007199254740992", false),
        revision(&long, false),
        quantity("0", true),
        quantity("1000000000000", true),
        quantity("1000000000001", false),
        quantity("-1000000000000", true),
        quantity("-1000000000001", false),
        quantity(&long, false),
        quantity(&format!("-{long}"), false),
        date("2026-01-01", true),
        date("2025-12-31", true), // in bounds; before the origin is a later rule
        date("0001-01-01", true),
        date("0000-12-31", false),
        date("2028-02-29", true),
        date("2027-02-29", false),
        date("2100-02-29", false),
        date("2026-02-30", false),
        date("2026-13-01", false),
        date("2026-00-01", false),
        date("2026-01-00", false),
        date("2026-1-05", false),
        date("2026-01-5", false),
        date(" 2026-01-05", false),
        date("+026-01-05", false),
        date("2026/01/05", false),
        date("2026-01-0５", false),
        date("٢٠٢٦-٠١-٠٥", false),
        date("12026-01-05", false),
        date("", false),
        // 36,524 days behind 2026-01-01, and one more.
        date("2126-01-01", true),
        date("2126-01-02", false),
        date("9999-12-31", false),
    ];
    for (value, ok) in rows {
        let expected = if ok { Ok(()) } else { Err(InvalidField) };
        assert_eq!(verdict(value.as_bytes()), expected, "{value:.300}");
    }
    // Names of stocks have no bound: odd ones are unknown later.
    for odd in ["", "\\u0000", &"x".repeat(100_000)] {
        assert_eq!(verdict(with("widget", odd).as_bytes()), Ok(()));
    }
}

#[test]
fn the_last_days_of_the_calendar_are_days() {
    let value = with("2026-01-05", "9999-12-31");
    assert!(read_value(Some(value.as_bytes()), "9999-01-01".parse().unwrap()).is_ok());
}

#[test]
fn a_key_is_exactly_two_strings() {
    let good = [
        r#"{"item":"widget","location":"berlin"}"#,
        " { \"location\" : \"berlin\" ,\n\t\"item\" : \"widget\" } ",
        r#"{"\u0069tem":"w\u0069dget","location":"berlin"}"#,
    ];
    for key in good {
        let found = read_key(Some(key.as_bytes())).unwrap();
        assert_eq!((found.item.as_str(), found.location.as_str()), ("widget", "berlin"));
    }
    let long = format!(r#"{{"item":"{}","location":""}}"#, "x".repeat(2_000_000));
    assert_eq!(read_key(Some(long.as_bytes())).unwrap().item.len(), 2_000_000, "a key has no bound");
    let bad: &[&[u8]] = &[
        b"",
        b"null",
        b"{}",
        b"\"widget\"",
        b"[\"widget\",\"berlin\"]",
        br#"{"item":"widget"}"#,
        br#"{"item":"widget","location":null}"#,
        br#"{"item":"widget","location":1}"#,
        br#"{"Item":"widget","location":"berlin"}"#,
        br#"{"item":"widget","location":"berlin","extra":""}"#,
        br#"{"item":"widget","location":"berlin","item":"widget"}"#,
        br#"{"item":"widget","location":"berlin","\u0069tem":"widget"}"#,
        br#"{"item":"widget","location":"berlin"}x"#,
        br#"{"item":"\ud800","location":"berlin"}"#,
        b"{\"item\":\"\xff\",\"location\":\"berlin\"}",
        b"\xef\xbb\xbf{\"item\":\"widget\",\"location\":\"berlin\"}",
    ];
    for key in bad {
        assert_eq!(read_key(Some(key)), None, "{}", String::from_utf8_lossy(key));
    }
    assert_eq!(read_key(None), None);
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = verdict(&bytes);
        let _ = read_key(Some(&bytes));
    }

    #[test]
    fn no_mutation_of_a_value_panics(
        cuts in proptest::collection::vec((any::<prop::sample::Index>(), 0usize..4, any::<u8>()), 1..6),
    ) {
        let mut bytes = ASSERT.as_bytes().to_vec();
        for (at, kind, byte) in cuts {
            let at = at.index(bytes.len().max(1)).min(bytes.len().saturating_sub(1));
            match kind {
                0 => { bytes.insert(at, byte); }
                1 if !bytes.is_empty() => { bytes[at] = b"{}[]\",:\\u0e-\0"[usize::from(byte) % 13]; }
                2 => bytes.truncate(at),
                _ => bytes.extend_from_within(at..),
            }
        }
        let _ = verdict(&bytes);
        let _ = read_key(Some(&bytes));
    }

    /// What the strict reader accepts, an ordinary one accepts, and they agree about it.
    #[test]
    fn the_strict_reader_accepts_only_json(text in r#"[ {}\[\]",:a0-9\\ue.+-]{0,24}"#) {
        let strict = amends_core::source::strict_json::read(text.as_bytes(), 16);
        if strict.is_ok() {
            let plain: Result<serde_json::Value, _> = serde_json::from_str(&text);
            // An ordinary reader may still refuse a number that no float can hold.
            prop_assert!(plain.is_ok() || plain.unwrap_err().to_string().contains("out of range"));
        }
    }
}
