//! Load files: the shapes of a line, where it goes, and what the fixtures come to.

use std::fmt::Write;

use amends_core::ids::{Offset, Partition};
use amends_core::source::load_file::{Publication, read_line};
use amends_core::source::manifest::{Config, FIXTURE_LEDGER};
use amends_core::source::record::Record;

use super::model::{Model, WITHOUT_LIMIT, config};

/// Standard base64 with padding, for tests: the program brings a library.
fn base64(text: &str) -> Option<Vec<u8>> {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = text.trim_end_matches('=');
    let mut bits = String::new();
    for digit in digits.bytes() {
        let value = ALPHABET.iter().position(|&known| known == digit)?;
        write!(bits, "{value:06b}").unwrap();
    }
    let bytes = bits.as_bytes().chunks_exact(8).map(|byte| std::str::from_utf8(byte).unwrap());
    text.len().is_multiple_of(4).then(|| bytes.map(|byte| u8::from_str_radix(byte, 2).unwrap()).collect())
}

fn fixture_config() -> Config {
    config(2, FIXTURE_LEDGER)
}

fn load(line: &str) -> Result<(Option<String>, Option<String>, u32), String> {
    let text = |bytes: Option<Vec<u8>>| bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let Publication { key, value, partition } =
        read_line(&fixture_config(), 7, line.as_bytes(), base64).map_err(|refused| refused.to_string())?;
    Ok((text(key), text(value), partition.0))
}

#[test]
fn an_ordinary_line_is_published_byte_for_byte_to_the_partition_of_its_stock() {
    let (key, value) =
        (r#"{ "location":"berlin", "\u0069tem":"gasket" }"#, r#"{"b" : 1.0,"a":[ "ü\u00fc" ]}"#);
    let line = format!(" {{ \"value\" : {value}\t, \"\\u006bey\":{key} }} ");
    assert_eq!(load(&line), Ok((Some(key.to_owned()), Some(value.to_owned()), 1)));
    let widget = r#"{"item":"widget","location":"berlin"}"#;
    let gasket = r#"{"item":"gasket","location":"berlin"}"#;
    let partition =
        |key: &str, value: &str| load(&format!(r#"{{"key":{key},"value":{value}}}"#)).map(|l| l.2);
    assert_eq!(partition(widget, gasket), Ok(0), "the key comes first");
    assert_eq!(partition("null", gasket), Ok(1), "without a key the value decides");
    assert_eq!(partition(r#"{"item":"nothing","location":"berlin"}"#, gasket), Ok(1));
    assert_eq!(load(&format!(r#"{{"key":null,"value":{gasket}}}"#)).unwrap().0, None);
    let deep = format!(r#"{{"item":"gasket","location":"berlin","x":{}{}}}"#, "[".repeat(15), "]".repeat(15));
    assert_eq!(partition("null", &deep), Ok(1), "a value may have 16 levels");
}

#[test]
fn a_raw_line_is_published_as_it_says() {
    let raw = r#"{"raw_key_base64":"","raw_value_base64":"AGE=","partition":1}"#;
    assert_eq!(load(raw), Ok((Some(String::new()), Some("\0a".to_owned()), 1)));
    let absent = r#"{"raw_key_base64":null,"raw_value_base64":null,"partition":0}"#;
    assert_eq!(load(absent), Ok((None, None, 0)));
}

#[test]
fn a_line_of_another_shape_is_refused() {
    let stray = "names no stock of the manifest, neither in key nor in value; \
                 such a line is given as raw_key_base64, raw_value_base64 and partition";
    let rows = [
        ("", "line 7: it is not JSON: EOF while parsing a value at line 1 column 0"),
        ("[]", "line 7: it is an array, not an object"),
        ("{}", "line 7: key is missing"),
        (r#"{"key":null}"#, "line 7: value is missing"),
        (r#"{"key":null,"value":{},"note":1}"#, "line 7: note is unknown"),
        (r#"{"key":null,"key":null,"value":{}}"#, "line 7: key occurs twice"),
        (r#"{"key":"widget","value":{}}"#, "line 7: key is a string, not an object or null"),
        (r#"{"key":null,"value":null}"#, "line 7: value is null, not an object"),
        (r#"{"key":null,"value":{"a":1,"a":1}}"#, "line 7: value.a occurs twice"),
        (r#"{"key":null,"value":{}}"#, &format!("line 7: it {stray}")),
        (r#"{"key":null,"value":{"item":"widget","location":1}}"#, &format!("line 7: it {stray}")),
        (r#"{"raw_key_base64":null,"partition":0}"#, "line 7: raw_value_base64 is missing"),
        (r#"{"raw_key_base64":null,"value":{},"partition":0}"#, "line 7: value is unknown"),
        (
            r#"{"raw_key_base64":"*","raw_value_base64":null,"partition":0}"#,
            "line 7: raw_key_base64 is not standard base64 with padding",
        ),
        (
            r#"{"raw_key_base64":null,"raw_value_base64":1,"partition":0}"#,
            "line 7: raw_value_base64 is 1, not a string or null",
        ),
        (
            r#"{"raw_key_base64":null,"raw_value_base64":null,"partition":2}"#,
            "line 7: partition is 2, the topic has 2",
        ),
        (
            r#"{"raw_key_base64":null,"raw_value_base64":null,"partition":0.0}"#,
            "line 7: partition is 0.0, not a whole number",
        ),
    ];
    for (line, why) in rows {
        assert_eq!(load(line), Err(why.to_owned()), "{line}");
    }
    let not_utf8 = read_line(&fixture_config(), 1, b"\xff", base64).unwrap_err();
    assert_eq!(not_utf8.to_string(), "line 1: it is not UTF-8");
}

/// The three files one after the other, a partition at a time.
#[test]
fn the_fixtures_tell_a_correction_from_a_cancellation() {
    let files = [
        ("before", include_str!("../../../fixtures/before.jsonl")),
        ("correction", include_str!("../../../fixtures/correction.jsonl")),
        ("cancel-last-day", include_str!("../../../fixtures/cancel-last-day.jsonl")),
    ];
    let config = fixture_config();
    let mut partitions = [(0, Model::default()), (0, Model::default())];
    let mut told = String::new();
    for (name, text) in files {
        let mut records = [Vec::new(), Vec::new()];
        for (number, line) in (1..).zip(text.lines()) {
            let Publication { key, value, partition } =
                read_line(&config, number, line.as_bytes(), base64).unwrap();
            let index = partition.0 as usize;
            records[index].push(Record { offset: Offset(partitions[index].0), key, value });
            partitions[index].0 += 1;
        }
        for (index, (_, model)) in partitions.iter_mut().enumerate() {
            let (evidence, outbox) = (model.evidence.len(), model.outbox.len());
            model.process(&config, Partition(u32::try_from(index).unwrap()), &records[index], WITHOUT_LIMIT);
            writeln!(told, "== {name}, partition {index}").unwrap();
            for line in model.evidence[evidence..].iter().chain(&model.outbox[outbox..]).chain(&model.shown())
            {
                writeln!(told, "{line}").unwrap();
            }
        }
    }
    insta::assert_snapshot!(told);
}
