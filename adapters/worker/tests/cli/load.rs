//! `amends source load`: what it publishes, byte for byte, and what it refuses before its first record.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use amends::env::TokioEnvironment;
use amends_core::source::record::Record;
use amends_store::guard::Guard;
use amends_store::{Settings, Store, Target};

use crate::support::{LONG, Place, SAFE, create_topic, delete_topic};

pub const LOAD: [&str; 6] = ["source", "load", "--manifest", "m.json", "--file", "f.jsonl"];

const GOOD: &str = r#"{"key": {"item":"widget","location":"berlin"}, "value": {"schema_version":1}}"#;

#[test]
fn every_line_is_published_byte_for_byte_and_told() {
    let place = Place::with_source();
    let raw = |key: &str, value: &str, partition: u32| {
        format!(r#"{{"raw_key_base64":{key},"raw_value_base64":{value},"partition":{partition}}}"#)
    };
    let lines = [
        // White space, escapes and the order of members stay as they stand.
        r#"{ "value" : {"b" :1e3,  "a":"\u00e9é"} , "key":{"location":"lisboa" ,"item":"widget"}}"#
            .to_owned(),
        r#"{"key": null, "value": {"item":"widget","location":"berlin"}}"#.to_owned(),
        raw(r#""AP/+""#, r#""eyJhIjog""#, 0),
        raw("null", r#""""#, 0),
        raw(r#""""#, "null", 1),
    ];
    // The last line needs no line feed.
    place.file("f.jsonl", lines.join("\n"));
    let topic = &place.topic;
    let told = [("1", 0), ("0", 0), ("0", 1), ("0", 2), ("1", 1)];
    let mut expected = String::new();
    for (line, (partition, offset)) in told.iter().enumerate() {
        writeln!(expected, "line {} -> {topic}/{partition}@{offset}", line + 1).expect("text");
    }
    assert_eq!(place.done(&LOAD), expected);
    let parts = |records: Vec<Record>| records.into_iter().map(|r| (r.key, r.value)).collect::<Vec<_>>();
    let bytes = |text: &[u8]| Some(text.to_vec());
    assert_eq!(
        parts(place.records(1)),
        [
            (
                bytes(br#"{"location":"lisboa" ,"item":"widget"}"#),
                bytes(r#"{"b" :1e3,  "a":"\u00e9é"}"#.as_bytes())
            ),
            (bytes(b""), None),
        ]
    );
    assert_eq!(
        parts(place.records(0)),
        [
            (None, bytes(br#"{"item":"widget","location":"berlin"}"#)),
            (bytes(b"\x00\xff\xfe"), bytes(br#"{"a": "#)),
            (None, bytes(b"")),
        ]
    );
    // Again, and behind what is there.
    assert!(place.done(&LOAD).starts_with(&format!("line 1 -> {topic}/1@2\n")));
}

#[test]
fn the_fixtures_load() {
    let place = Place::with_source();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    for name in ["before", "correction", "cancel-last-day"] {
        let file = fixtures.join(format!("{name}.jsonl")).display().to_string();
        let lines = std::fs::read_to_string(&file).expect("a fixture").lines().count();
        let done = place.run(&["source", "load", "--manifest", "m.json", "--file", &file]);
        assert_eq!((done.code, done.stdout.lines().count()), (Some(0), lines), "{}", done.stderr);
        assert!(done.stderr.contains(&format!("records={lines} ")), "{}", done.stderr);
    }
}

#[test]
fn a_file_without_records_is_loaded_too() {
    let place = Place::with_source();
    place.file("f.jsonl", "");
    assert_eq!(place.done(&LOAD), "");
}

#[test]
fn one_bad_line_and_nothing_is_published() {
    let place = Place::with_source();
    let cases = [
        ("{\"key\": null}", "line 3: value is missing"),
        ("", "line 3: it is not JSON"),
        ("{\"key\":7,\"value\":{}}", "line 3: key is 7, not an object or null"),
        (
            "{\"key\":null,\"value\":{}}",
            "line 3: it names no stock of the manifest, neither in key nor in value",
        ),
        (
            "{\"raw_key_base64\":null,\"raw_value_base64\":\"AA==\",\"partition\":2}",
            "line 3: partition is 2, the topic has 2",
        ),
        (
            "{\"raw_key_base64\":null,\"raw_value_base64\":\"AA\",\"partition\":0}",
            "line 3: raw_value_base64 is not standard base64 with padding",
        ),
        ("{\"key\":null,\"value\":{},\"value\":{}}", "line 3: value occurs twice"),
    ];
    for (line, saying) in cases {
        place.file("f.jsonl", format!("{GOOD}\n{GOOD}\n{line}\n{GOOD}\n"));
        let done = place.fails(&LOAD, 2, &format!("could not load f.jsonl: {saying}"));
        done.failed(2, "; nothing was published    code=load-file");
    }
    assert!(place.records(0).is_empty());
}

#[test]
fn only_a_regular_file_is_loaded() {
    let place = Place::with_source();
    place.fails(
        &LOAD,
        2,
        "could not read f.jsonl: No such file or directory (os error 2); nothing was published",
    );
    std::fs::create_dir(place.dir.join("f.jsonl")).expect("a folder");
    let saying =
        "could not read f.jsonl: it is a directory, and a load file is a regular file with an end; nothing";
    place.fails(&LOAD, 2, saying);
    std::fs::remove_dir(place.dir.join("f.jsonl")).expect("removed");
    assert!(Command::new("mkfifo").arg(place.dir.join("f.jsonl")).status().expect("mkfifo runs").success());
    place.fails(
        &LOAD,
        2,
        "could not read f.jsonl: it is a pipe or device, and a load file is a regular file",
    );
}

#[test]
fn a_guarded_source_is_not_loaded() {
    let place = Place::with_source();
    place.file("f.jsonl", GOOD);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let target = Target::parse(&place.url()).expect("a target");
    let settings = Settings { application_name: "a test".to_owned(), sessions: 1 };
    let store = Store::new(runtime.block_on(async { TokioEnvironment::new() }), target, settings);
    let source = place.manifest().config().source_incarnation();
    let guard =
        runtime.block_on(Guard::shared(&store, source, "amends verify somewhere:7")).expect("the guard");
    let saying =
        format!("could not guard {source}: held by amends verify somewhere:7 (backend {})", guard.backend());
    let done = place.fails(&LOAD, 1, &saying);
    done.failed(1, "; try again later; nothing was published    code=guarded");
    assert!(place.records(0).is_empty());
    runtime.block_on(async { guard.release() });
    // The server lets go a moment after the goodbye.
    let deadline = Instant::now() + LONG;
    while place.run(&LOAD).code != Some(0) {
        assert!(Instant::now() < deadline, "the guard was not let go");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

#[test]
fn another_topic_of_the_same_name_is_not_loaded() {
    let place = Place::with_source();
    place.file("f.jsonl", GOOD);
    assert!(delete_topic(&place.topic));
    create_topic(&place.topic, 2, &SAFE);
    let expected = place.manifest().config().source_incarnation();
    let topic = &place.topic;
    let saying =
        format!("source refused: topic {topic}: expected the topic {expected}, the broker has kafka:");
    let done = place.fails(&LOAD, 1, &saying);
    done.failed(1, " under this name; nothing was published    code=another-incarnation");
    assert!(place.records(0).is_empty());
    assert!(delete_topic(&place.topic));
    let done = place.fails(
        &LOAD,
        1,
        &format!("expected the topic {expected}, the broker knows no topic of this name"),
    );
    done.failed(1, "; nothing was published    code=topic-gone");
}

#[test]
fn a_reader_that_has_gone_ends_no_load() {
    let place = Place::with_source();
    let count = 20_000;
    place.file("f.jsonl", format!("{GOOD}\n").repeat(count));
    let mut child = place.start(&LOAD);
    let mut first = String::new();
    // Dropped with its buffer: the pipe is closed.
    BufReader::new(child.stdout.take().expect("stdout")).read_line(&mut first).expect("a line");
    assert_eq!(first, format!("line 1 -> {}/0@0\n", place.topic));
    let mut stderr = String::new();
    child.stderr.take().expect("stderr").read_to_string(&mut stderr).expect("text");
    assert!(child.wait().expect("ended").success(), "{stderr}");
    assert_eq!(place.records(0).len(), count);
}
