//! Manifests: what is read, what is refused and by which words, and how two of them differ.

use amends_core::ids::Partition;
use amends_core::source::manifest::{Config, FIXTURE_LEDGER, Ledger, Manifest, StockKey};

const EXAMPLE: &str = r#"{
  "source_topic": "amends-source-demo-1",
  "config": {
    "namespace": "source-demo-1",
    "schema_version": 1,
    "source_incarnation": "kafka:0f3c00000000000000000000000000a1",
    "partitions": 2,
    "ledger_origin": "2026-01-01",
    "stock_keys": [
      {
        "item": "widget",
        "location": "berlin",
        "opening_balance": 100,
        "low_threshold": 20,
        "partition": 0
      },
      {
        "item": "gasket",
        "location": "köln",
        "opening_balance": -9000000000000000,
        "low_threshold": 9000000000000000,
        "partition": 1
      }
    ]
  }
}
"#;

const CANONICAL: &str = r#"{"ledger_origin":"2026-01-01","namespace":"source-demo-1","partitions":2,"schema_version":1,"source_incarnation":"kafka:0f3c00000000000000000000000000a1","stock_keys":[{"item":"widget","location":"berlin","low_threshold":20,"opening_balance":100,"partition":0},{"item":"gasket","location":"köln","low_threshold":9000000000000000,"opening_balance":-9000000000000000,"partition":1}]}"#;

fn parse(text: &str) -> Result<Manifest, String> {
    Manifest::parse(text.as_bytes()).map_err(|refused| refused.to_string())
}

fn with(old: &str, new: &str) -> String {
    assert!(EXAMPLE.contains(old), "{old}");
    EXAMPLE.replacen(old, new, 1)
}

#[test]
fn a_manifest_prints_as_it_is_read() {
    let manifest = parse(EXAMPLE).unwrap();
    assert_eq!(manifest.print(), EXAMPLE);
    assert_eq!(parse(&manifest.print()), Ok(manifest.clone()));
    let config = manifest.config();
    assert_eq!(Manifest::new(manifest.source_topic(), config.clone()), Ok(manifest.clone()));
    let key = |item: &str, location: &str| StockKey { item: item.to_owned(), location: location.to_owned() };
    let stock = config.ledger().stock(&key("gasket", "köln")).unwrap();
    assert_eq!((stock.partition, stock.low_threshold), (Partition(1), 9_000_000_000_000_000));
    assert_eq!(config.ledger().stock(&key("", "")), None);
}

#[test]
fn the_canonical_form_is_rfc_8785_and_its_digest_sha_256() {
    let config = parse(EXAMPLE).unwrap().config().clone();
    assert_eq!(config.canonical(), CANONICAL);
    assert_eq!(Config::parse(CANONICAL.as_bytes()).as_ref(), Ok(&config));
    let digest: String = config.digest().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(digest, "53e541c4f8d7b061162ade267b4e3eb88f006f100bda3d6ac59f94555092f6d1");
}

#[test]
fn a_manifest_is_refused_by_the_path_of_the_member() {
    let name = "not 1 to 63 of a-z, 0-9 and -, beginning with a letter or digit";
    let id = "not kafka: and the 32 lowercase hex digits of a topic UUID that is not zero";
    let whole = "not a whole number";
    let many = "allowed are 1 to 2147483647";
    let wide = "allowed are -9000000000000000 to 9000000000000000";
    let day = "not a calendar day such as 2026-01-05";
    let first = "config.stock_keys[0]";
    let (upper, zero) = (format!("kafka:{}", "A".repeat(32)), format!("kafka:{}", "0".repeat(32)));
    let namespace = |text: &str| with("\"source-demo-1\"", text);
    let incarnation = |text: &str| with("kafka:0f3c00000000000000000000000000a1", text);
    let partitions = |text: &str| with("\"partitions\": 2", &format!("\"partitions\": {text}"));
    let origin = |text: &str| with("\"2026-01-01\"", text);
    let berlin = |text: &str| with("\"berlin\"", text);
    let opening = |text: &str| with("\"opening_balance\": 100", &format!("\"opening_balance\": {text}"));
    let low = |text: &str| with("\"low_threshold\": 20", &format!("\"low_threshold\": {text}"));
    let partition = |text: &str| with("\"partition\": 1", &format!("\"partition\": {text}"));
    let quoted = |n: usize| format!("\"{}\"", "x".repeat(n));
    let all = EXAMPLE.find("\"stock_keys\"").unwrap();
    let stocks = |text: &str| format!("{}\"stock_keys\": {text}}}}}", &EXAMPLE[..all]);
    let rows: Vec<(String, String)> = vec![
        (String::new(), "it is not JSON: EOF while parsing a value at line 1 column 0".into()),
        ("[]".into(), "it is an array, not an object".into()),
        ("{}".into(), "source_topic is missing".into()),
        (format!("{EXAMPLE}x"), "it is not JSON: trailing characters at line 27 column 1".into()),
        (format!("\u{feff}{EXAMPLE}"), "it is not JSON: expected value at line 1 column 1".into()),
        (with("amends-source-demo-1", ""), "source_topic is empty".into()),
        (with("\"amends-source-demo-1\"", "null"), "source_topic is null, not a string".into()),
        (
            with("amends-source-demo-1", "\\ud800"),
            "source_topic is not JSON: unexpected end of hex escape at line 1 column 8".into(),
        ),
        (with("\"source_topic\"", "\"a\": 1, \"source_topic\""), "a is unknown".into()),
        (with("\"namespace\"", "\"a b\": 1, \"namespace\""), "config.\"a b\" is unknown".into()),
        (with("\"namespace\"", "\"Namespace\": 1, \"namespace\""), "config.Namespace is unknown".into()),
        (
            with("\"namespace\"", "\"name\\u0073pace\": 1, \"namespace\""),
            "config.namespace occurs twice".into(),
        ),
        (with("\"namespace\": \"source-demo-1\",", ""), "config.namespace is missing".into()),
        (namespace("null"), "config.namespace is null, not a string".into()),
        (namespace("\"\""), format!("config.namespace is \"\", {name}")),
        (namespace("\"-a\""), format!("config.namespace is \"-a\", {name}")),
        (namespace("\"A\""), format!("config.namespace is \"A\", {name}")),
        (namespace("\"a_b\""), format!("config.namespace is \"a_b\", {name}")),
        (namespace(&quoted(64)), format!("config.namespace is {}…, {name}", quoted(40))),
        (
            with("\"schema_version\": 1", "\"schema_version\": 2"),
            "config.schema_version is 2, this program knows 1".into(),
        ),
        (
            with("\"schema_version\": 1", "\"schema_version\": 1.0"),
            format!("config.schema_version is 1.0, {whole}"),
        ),
        (incarnation(&upper), format!("config.source_incarnation is wrong: \"{upper}\" is {id}")),
        (incarnation(&zero), format!("config.source_incarnation is wrong: \"{zero}\" is {id}")),
        (partitions("0"), format!("config.partitions is 0, {many}")),
        (partitions("2147483648"), format!("config.partitions is 2147483648, {many}")),
        (partitions("123456789012345678901"), format!("config.partitions is a long number, {many}")),
        (partitions("2e0"), format!("config.partitions is 2e0, {whole}")),
        (partitions("\"2\""), format!("config.partitions is a string, {whole}")),
        (partitions("1"), "config.stock_keys[1].partition is 1, the topic has 1".into()),
        (origin("20260101"), "config.ledger_origin is 20260101, not a string".into()),
        (origin("\"2026-02-29\""), format!("config.ledger_origin is \"2026-02-29\", {day}")),
        (origin("\"0000-01-01\""), format!("config.ledger_origin is \"0000-01-01\", {day}")),
        (stocks("{}"), "config.stock_keys is an object, not an array".into()),
        (stocks("null"), "config.stock_keys is null, not an array".into()),
        (stocks("[null]"), "config.stock_keys[0] is null, not an object".into()),
        (stocks("[{}]"), "config.stock_keys[0].item is missing".into()),
        (berlin("\"\""), "config.stock_keys[0].location has 0 bytes, allowed are 1 to 128".into()),
        (berlin(&quoted(129)), "config.stock_keys[0].location has 129 bytes, allowed are 1 to 128".into()),
        (berlin("\"a\\u0000\""), "config.stock_keys[0].location contains U+0000".into()),
        (berlin("1"), "config.stock_keys[0].location is 1, not a string".into()),
        (opening("-0"), format!("{first}.opening_balance is -0, {whole}")),
        (opening("9000000000000001"), format!("{first}.opening_balance is 9000000000000001, {wide}")),
        (low("-9000000000000001"), format!("{first}.low_threshold is -9000000000000001, {wide}")),
        (partition("4"), "config.stock_keys[1].partition is 4, the topic has 2".into()),
        (partition("-1"), "config.stock_keys[1].partition is -1, the topic has 2".into()),
        (partition("1, \"colour\": 1"), "config.stock_keys[1].colour is unknown".into()),
        (partition("1, \"partition\": 1"), "config.stock_keys[1].partition occurs twice".into()),
        (
            partition("[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]"),
            format!("config.stock_keys[1].partition{} is nested too deeply", "[0]".repeat(12)),
        ),
        (
            with("\"gasket\",\n        \"location\": \"köln\"", "\"widget\", \"location\": \"berlin\""),
            "config.stock_keys[1] names the same stock as config.stock_keys[0]".into(),
        ),
    ];
    for (text, why) in rows {
        assert_eq!(parse(&text).map(|_| ()), Err(format!("manifest refused: {why}")), "{text}");
    }
    assert!(parse(&stocks("[]")).is_ok(), "a ledger may be empty");
    assert!(parse(&berlin(&quoted(128))).is_ok());
    assert!(parse(&namespace(&quoted(63))).is_ok());
    assert!(parse(&partitions("2147483647")).is_ok());
}

#[test]
fn a_config_file_is_held_to_the_same_rules() {
    let ledger = Ledger::parse(FIXTURE_LEDGER.as_bytes(), 2).unwrap();
    assert_eq!(ledger.stocks()[0].key, StockKey { item: "widget".to_owned(), location: "berlin".to_owned() });
    let refused =
        |text: &str, partitions| Ledger::parse(text.as_bytes(), partitions).unwrap_err().to_string();
    assert_eq!(refused(FIXTURE_LEDGER, 1), "config refused: stock_keys[1].partition is 1, the topic has 1");
    assert_eq!(refused("{}", 2), "config refused: ledger_origin is missing");
    let more = r#"{"ledger_origin":"2026-01-01","stock_keys":[],"namespace":"a"}"#;
    assert_eq!(refused(more, 2), "config refused: namespace is unknown");
    let incarnation = "kafka:0f3c00000000000000000000000000a1".parse().unwrap();
    let new = |namespace, partitions| {
        Config::new(namespace, incarnation, partitions, ledger.clone()).map_err(|refused| refused.to_string())
    };
    assert!(new("source-demo-1", 2).is_ok());
    assert_eq!(new("a", 1).unwrap_err(), "config refused: stock_keys[1].partition is 1, the topic has 1");
    assert_eq!(new("a", 0).unwrap_err(), "config refused: partitions is 0, allowed are 1 to 2147483647");
    assert!(new("", 2).unwrap_err().starts_with("config refused: namespace is \"\""));
}

#[test]
fn two_configs_differ_in_a_member_that_is_named() {
    let example = parse(EXAMPLE).unwrap().config().clone();
    let created = "the namespace was created with";
    let rows = [
        (EXAMPLE.to_owned(), None),
        (
            with("\"low_threshold\": 20", "\"low_threshold\": 30"),
            Some(format!("stock_keys[0].low_threshold is 30, {created} 20")),
        ),
        (with("köln", "koeln"), Some(format!("stock_keys[1].location is \"koeln\", {created} \"köln\""))),
        (with("\"partitions\": 2", "\"partitions\": 3"), Some(format!("partitions is 3, {created} 2"))),
        (
            with("2026-01-01", "2026-01-02"),
            Some(format!("ledger_origin is \"2026-01-02\", {created} \"2026-01-01\"")),
        ),
        (
            with("\"stock_keys\": [", "\"stock_keys\": [], \"x\": [")
                .split(", \"x\"")
                .next()
                .unwrap()
                .to_owned()
                + "}}",
            Some(format!("stock_keys has 0 members, {created} 2")),
        ),
    ];
    for (text, difference) in rows {
        let found = parse(&text).unwrap().config().difference(&example);
        assert_eq!(found, difference.map(|text| format!("config.{text}")), "{text}");
    }
}
