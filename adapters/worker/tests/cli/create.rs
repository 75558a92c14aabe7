//! `amends source create`: what it makes, and everything that it refuses before it makes anything.

use std::fs::File;
use std::process::Stdio;

use amends::kafka::Source;
use amends_core::lifecycle::command::CheckParts;
use amends_core::source::boundary::{Declared, Sink, Verdict};
use amends_core::source::manifest::Manifest;

use crate::support::{Done, Place, SAFE, create_topic, settings};

const CONFIG: &str = r#"{"ledger_origin": "2026-01-01", "stock_keys": [
    {"item": "bolt", "location": "ghent", "opening_balance": 7, "low_threshold": 1, "partition": 2}]}"#;

fn create<'a>(place: &'a Place, more: &[&'a str]) -> Vec<&'a str> {
    [&["source", "create", "--namespace", "test", "--topic", &place.topic], more].concat()
}

#[test]
fn a_topic_is_created_safe_and_its_manifest_printed() {
    let place = Place::bare();
    place.file("my config.json", CONFIG);
    let text = place.done(&create(&place, &["--partitions", "3", "--config", "my config.json"]));
    let manifest = Manifest::parse(text.as_bytes()).expect("a manifest");
    let config = manifest.config();
    assert_eq!(
        (manifest.source_topic(), config.namespace(), config.partitions()),
        (place.topic.as_str(), "test", 3)
    );
    assert_eq!(config.ledger().stocks()[0].key.item, "bolt");
    let sight =
        Source::new(&settings(), &place.topic).expect("a client").look(CheckParts::Bounds).expect("a sight");
    let declared = Declared { sink: Sink::Ledger, incarnation: config.source_incarnation(), partitions: 3 };
    assert!(sight.bounds.is_some());
    assert_eq!(declared.judge(&sight), Verdict::Pass);
    // What exists can be adopted, and gives the same manifest.
    let adopted = place.done(&create(&place, &["--adopt", "--config", "my config.json", "--out", "m.json"]));
    let incarnation = config.source_incarnation();
    let topic = &place.topic;
    assert_eq!(
        adopted,
        format!("wrote m.json: namespace test over topic {topic}, 3 partitions, {incarnation}\n")
    );
    assert_eq!(place.read("m.json"), text);
    let refused = format!("could not create topic {topic} at ");
    let done = place.fails(&create(&place, &[]), 1, &refused);
    done.failed(
        1,
        "it exists already; nothing was created; --adopt writes a manifest for it    code=topic-exists",
    );
}

#[test]
fn nothing_is_created_when_the_manifest_could_not_be_written() {
    let place = Place::bare();
    place.file("there.json", "mine");
    let refused =
        "could not write there.json: it exists already, and nothing is overwritten; nothing was created";
    place.fails(&create(&place, &["--out", "there.json"]), 2, refused);
    assert_eq!(place.read("there.json"), "mine");
    let refused =
        "could not write nowhere/m.json: No such file or directory (os error 2); nothing was created";
    place.fails(&create(&place, &["--out", "nowhere/m.json"]), 2, refused);
    assert!(!place.topic_exists());
}

#[test]
fn nothing_is_created_for_a_config_that_is_refused() {
    let place = Place::bare();
    place.file("unknown.json", r#"{"ledger_origin": "2026-01-01", "stock_keys": [], "colour": 1}"#);
    place.file("three.json", CONFIG);
    let cases: [(&[&str], &str); 5] = [
        (&["--config", "nowhere.json"], "could not read nowhere.json: No such file or directory"),
        (
            &["--config", "unknown.json"],
            "unknown.json: config refused: colour is unknown; nothing was created",
        ),
        (
            &["--config", "three.json"],
            "three.json: config refused: stock_keys[0].partition is 2, the topic has 2; nothing",
        ),
        (
            &["--partitions", "1"],
            "without --config: config refused: stock_keys[1].partition is 1, the topic has 1",
        ),
        (&["--out", "m.json", "--config", "unknown.json"], "unknown.json: config refused"),
    ];
    for (more, saying) in cases {
        place.fails(&create(&place, more), 2, saying);
    }
    for namespace in ["Test", "-test", "a_b", "", &"x".repeat(64)] {
        let args = ["source", "create", &format!("--namespace={namespace}"), "--topic", &place.topic];
        let refused =
            format!("config refused: namespace is {namespace:?}").chars().take(60).collect::<String>();
        let done = place.fails(&args, 2, &refused);
        done.failed(
            2,
            "not 1 to 63 of a-z, 0-9 and -, beginning with a letter or digit; nothing was created",
        );
    }
    place.fails(&["source", "create", "--namespace", "n", "--topic", ""], 2, "source_topic is empty");
    assert!(!place.topic_exists() && !place.dir.join("m.json").exists());
}

#[test]
fn what_the_broker_refuses_is_told() {
    let place = Place::bare();
    let done = place.fails(&create(&place, &["--replication", "9"]), 1, "could not create topic ");
    done.failed(1, "; nothing was created    code=broken");
    let args = ["source", "create", "--namespace", "n", "--topic", "no spaces"];
    place.fails(&args, 2, "source_topic is no name of a topic");
    assert!(!place.topic_exists());
}

#[test]
fn a_manifest_that_stdout_does_not_take_goes_to_stderr() {
    let place = Place::bare();
    let full = File::options().write(true).open("/dev/full").expect("a full device");
    let mut command = place.command(&create(&place, &[]));
    let done = Done::of(command.stdout(Stdio::from(full)).output().expect("ran"));
    done.failed(1, "could not write the manifest to stdout: No space left on device");
    done.failed(
        1,
        &format!("; topic {} was created, its manifest is printed above    code=output", place.topic),
    );
    let (manifest, _) = done.stderr.split_once("could not write").expect("a manifest before the error");
    assert_eq!(Manifest::parse(manifest.as_bytes()).expect("a manifest").source_topic(), place.topic);
    assert!(place.topic_exists());
}

#[test]
fn only_a_safe_topic_is_adopted() {
    let cases: [(&[(&str, &str)], &str); 4] = [
        (
            &[("retention.ms", "1000000"), SAFE[1]],
            "expected retention.ms=-1 (keep everything), the topic has retention.ms=1000000",
        ),
        (&[SAFE[0], ("retention.bytes", "5000000")], "expected retention.bytes=-1 (keep everything)"),
        (
            &[SAFE[0], SAFE[1], ("cleanup.policy", "compact")],
            "expected cleanup.policy=delete, the topic has cleanup.policy=compact",
        ),
        (
            &[SAFE[0], SAFE[1], ("unclean.leader.election.enable", "true")],
            "expected unclean.leader.election.enable=false",
        ),
    ];
    for (config, saying) in cases {
        let place = Place::bare();
        create_topic(&place.topic, 2, config);
        let done = place.fails(&create(&place, &["--adopt", "--out", "m.json"]), 1, saying);
        done.failed(1, &format!("could not adopt topic {} at ", place.topic));
        done.failed(1, "; nothing was written    code=");
        assert!(!place.dir.join("m.json").exists());
    }
    let place = Place::bare();
    let done = place.fails(
        &create(&place, &["--adopt"]),
        1,
        "the broker knows no topic of this name; nothing was written",
    );
    done.failed(1, "code=topic-gone");
    create_topic(&place.topic, 1, &SAFE);
    place.fails(
        &create(&place, &["--adopt"]),
        2,
        "without --config: config refused: stock_keys[1].partition is 1",
    );
}

#[test]
fn another_namespace_reads_the_same_source() {
    let place = Place::bare();
    place.done(&create(&place, &["--out", "m.json"]));
    let first = place.manifest();
    let text = place.done(&["source", "create", "--namespace", "again", "--from", "m.json"]);
    assert_eq!(text, place.read("m.json").replace(r#""namespace": "test""#, r#""namespace": "again""#));
    let second = Manifest::parse(text.as_bytes()).expect("a manifest");
    assert_eq!(second.config().source_incarnation(), first.config().source_incarnation());
    let same = ["source", "create", "--namespace", "test", "--from", "m.json"];
    place.fails(&same, 2, "m.json: its namespace is test itself; nothing was created");
    let both = ["source", "create", "--namespace", "again", "--from", "m.json", "--topic", "t"];
    place.fails(&both, 2, "cannot be used with");
    place.fails(&["source", "create", "--namespace", "again"], 2, "--topic <T>");
    let missing = ["source", "create", "--namespace", "again", "--from", "nowhere.json"];
    place.fails(&missing, 2, "could not read nowhere.json: No such file");
}
