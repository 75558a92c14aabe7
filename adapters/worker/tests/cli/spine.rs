//! The whole way of a record: two members, every fixture, restarts, a kill -9, and the journals of it all.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use amends_core::journal::Replay;
use amends_core::source::manifest::Manifest;
use serde_json::Value;
use tokio_postgres::Client;

use crate::support::{LONG, Place, SAFE, create_topic, delete_topic, interrupt, sql};

const FIXTURES: [&str; 3] = [
    include_str!("../../../../fixtures/before.jsonl"),
    include_str!("../../../../fixtures/correction.jsonl"),
    include_str!("../../../../fixtures/cancel-last-day.jsonl"),
];

/// Where the frontiers stand behind each fixture.
const BEHIND: [[i64; 2]; 3] = [[17, 9], [19, 12], [20, 13]];

/// A worker that dies with its test.
struct Worker(Child);

impl Worker {
    fn start(place: &Place, more: &[&str]) -> Self {
        let mut command = place.command(&["run", "--manifest", "m.json", "-X", "session.timeout.ms=6000"]);
        Self(command.args(more).stderr(Stdio::null()).spawn().expect("started"))
    }

    fn told(&self, signal: &str) {
        let told = Command::new("kill").args([signal, &self.0.id().to_string()]).status().expect("kill runs");
        assert!(told.success());
    }

    fn stop(mut self) {
        self.told("-TERM");
        assert_eq!(self.0.wait().expect("ended").code(), Some(0));
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn load(place: &Place, text: &str) {
    place.file("load.jsonl", text);
    place.done(&["source", "load", "--manifest", "m.json", "--file", "load.jsonl"]);
}

fn frontiers(place: &Place) -> Vec<i64> {
    let lines = place.done(&["export", "--manifest", "m.json", "frontiers"]);
    let next = |line: &str| {
        serde_json::from_str::<Value>(line).expect("JSON")["next_offset"].as_i64().expect("a number")
    };
    lines.lines().map(next).collect()
}

fn await_frontiers(place: &Place, wanted: [i64; 2]) {
    let deadline = Instant::now() + LONG;
    while frontiers(place) != wanted {
        assert!(Instant::now() < deadline, "the frontiers stay at {:?}, wanted {wanted:?}", frontiers(place));
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn inspect(place: &Place) -> Value {
    serde_json::from_str(&place.done(&["inspect", "--json", "--manifest", "m.json"])).expect("JSON")
}

fn owners(place: &Place) -> Vec<String> {
    let partitions = inspect(place)["partitions"].as_array().expect("partitions").clone();
    partitions.iter().map(|row| row["owner"].as_str().unwrap_or_default().to_owned()).collect()
}

/// Times, owners, epochs and what is drawn anew for each run are masked.
fn masked(mut inspection: Value) -> Value {
    for name in ["uuid", "group_id", "source_topic", "incarnation", "created_at"] {
        inspection[name] = Value::from("…");
    }
    for row in inspection["partitions"].as_array_mut().expect("partitions") {
        for name in ["epoch", "owner", "claimed_at", "last_work"] {
            row[name] = Value::from("…");
        }
    }
    // Which partition committed last, and so comes first, is chance.
    assert_eq!(inspection["recent"].as_array().map(Vec::len), Some(20));
    inspection["recent"] = Value::from("…");
    inspection
}

fn exports_are_as_stored(place: &Place) {
    for kind in ["positions", "outbox", "quarantine"] {
        insta::assert_snapshot!(kind, place.done(&["export", "--manifest", "m.json", kind]));
    }
}

#[test]
fn two_members_decide_every_fixture_and_inspect_shows_it() {
    let place = Place::ready();
    let workers = [Worker::start(&place, &[]), Worker::start(&place, &[])];
    let deadline = Instant::now() + LONG;
    let is_shared = |owners: &[String]| {
        workers
            .iter()
            .all(|worker| owners.iter().any(|owner| owner.ends_with(&format!(":{}", worker.0.id()))))
    };
    while !is_shared(&owners_if_any(&place)) {
        assert!(Instant::now() < deadline, "the owners stay {:?}", owners_if_any(&place));
        std::thread::sleep(Duration::from_millis(50));
    }
    for (fixture, behind) in FIXTURES.into_iter().zip(BEHIND) {
        load(&place, fixture);
        await_frontiers(&place, behind);
    }
    insta::assert_json_snapshot!("inspect", masked(inspect(&place)));
    exports_are_as_stored(&place);
    // NUL and invalid UTF-8, byte for byte; a right key on the wrong partition.
    let quarantine = place.done(&["export", "--manifest", "m.json", "quarantine"]);
    assert!(quarantine.contains(r#""raw_key":"AP8=","raw_value":"AG5vdCBqc29uIP8=""#), "{quarantine}");
    assert!(quarantine.contains(r#""partition":1,"offset":7,"code":"ROUTING""#), "{quarantine}");
    for worker in workers {
        worker.stop();
    }
}

/// Before the first worker opened the namespace there is nothing to inspect.
fn owners_if_any(place: &Place) -> Vec<String> {
    let done = place.run(&["inspect", "--json", "--manifest", "m.json"]);
    if done.code == Some(0) { owners(place) } else { Vec::new() }
}

#[test]
fn restarts_and_single_records_never_show_in_a_result() {
    let place = Place::ready();
    for (fixture, behind) in FIXTURES.into_iter().zip(BEHIND) {
        load(&place, fixture);
        let worker = Worker::start(&place, &["--serial"]);
        let deadline = Instant::now() + LONG;
        while place.run(&["export", "--manifest", "m.json", "frontiers"]).code != Some(0) {
            assert!(Instant::now() < deadline, "the namespace was not opened");
        }
        await_frontiers(&place, behind);
        worker.stop();
    }
    exports_are_as_stored(&place);
}

#[test]
fn the_demo_loses_nothing_and_its_journals_replay() {
    let place = Place::with_database();
    let done = place.run(&["demo", "--folder", "demo", "--records", "4000"]);
    let manifest = Manifest::parse(place.read("demo/manifest.json").as_bytes()).expect("a manifest");
    assert!(delete_topic(manifest.source_topic()));
    assert_eq!(done.code, Some(0), "{}\n{}", done.stdout, done.stderr);
    let last: Vec<&str> = done.stdout.lines().rev().take(3).collect();
    assert_eq!(last[0], "lost=0 doubled=0", "{}", done.stdout);
    assert!(last[1].starts_with("frontiers=0:"), "{}", done.stdout);
    assert!(last[2].starts_with("records=4033 evidence=4033 positions="), "{}", done.stdout);
    for number in 1..=2 {
        let steps = replay(&place.dir.join(format!("demo/worker-{number}.journal")));
        assert!(steps > 20, "worker {number} took {steps} steps");
    }
}

/// Every step of a journal gives the same commands again; how many there are.
fn replay(journal: &Path) -> u64 {
    let mut lines =
        BufReader::new(File::open(journal).expect("a journal")).lines().map(|line| line.expect("text"));
    let mut replay = Replay::begin(&lines.next().expect("a header")).expect("a header");
    for line in lines {
        if let Err(error) = replay.line(&line) {
            panic!("{}: {error}", journal.display());
        }
    }
    replay.end().steps
}

#[test]
fn a_recreated_topic_is_refused_before_anything_is_joined() {
    let place = Place::ready();
    assert!(delete_topic(&place.topic));
    create_topic(&place.topic, 2, &SAFE);
    place
        .fails(&["run", "--manifest", "m.json"], 1, "source refused: expected the topic kafka:")
        .failed(1, "code=another-incarnation");
}

#[test]
fn a_topic_that_may_forget_is_refused_by_name() {
    let place = Place::ready();
    assert!(delete_topic(&place.topic));
    create_topic(&place.topic, 2, &[("retention.ms", "86400000")]);
    // The manifest of the new topic, by adoption, is refused for the same reason.
    let adopt = ["source", "create", "--adopt", "--namespace", "test", "--topic", &place.topic];
    place.fails(&adopt, 1, "expected retention.ms=-1 (keep everything), the topic has retention.ms=86400000");
}

/// Waits until both partitions are the worker's.
fn await_claims(place: &Place, worker: &Worker) {
    let (deadline, end) = (Instant::now() + LONG, format!(":{}", worker.0.id()));
    while owners_if_any(place).iter().filter(|owner| owner.ends_with(&end)).count() < 2 {
        assert!(Instant::now() < deadline, "the owners stay {:?}", owners_if_any(place));
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_second_signal_ends_a_worker_at_once_and_a_restart_reads_again() {
    let place = Place::ready();
    for (first, second, code, records) in [("-TERM", "-TERM", 143, 17), ("-TERM", "-INT", 130, 34)] {
        let mut worker = Worker::start(&place, &[]);
        await_claims(&place, &worker);
        sql(&place.url(), async |client: &Client| {
            client.batch_execute("BEGIN; SELECT FROM amends.partition FOR UPDATE").await.expect("held");
            load(&place, FIXTURES[0]);
            let waits = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
            let deadline = Instant::now() + LONG;
            while client.query(waits, &[]).await.expect("asked").is_empty() {
                assert!(Instant::now() < deadline, "no decision waits for its row");
            }
            worker.told(first);
            std::thread::sleep(Duration::from_millis(500));
            assert_eq!(worker.0.try_wait().expect("asked"), None, "the first signal lets a decision end");
            let began = Instant::now();
            worker.told(second);
            assert_eq!(worker.0.wait().expect("ended").code(), Some(code));
            assert!(began.elapsed() < Duration::from_secs(1), "it took {:?}", began.elapsed());
            client.batch_execute("ROLLBACK").await.expect("let go");
        });
        let worker = Worker::start(&place, &[]);
        await_frontiers(&place, [records, records * 9 / 17]);
        worker.stop();
    }
}

#[test]
fn a_signal_ends_an_idle_worker_in_order() {
    let place = Place::ready();
    let mut worker = Worker::start(&place, &[]);
    await_claims(&place, &worker);
    let began = Instant::now();
    interrupt(&worker.0);
    assert_eq!(worker.0.wait().expect("ended").code(), Some(0));
    assert!(began.elapsed() < Duration::from_secs(10), "it took {:?}", began.elapsed());
}

#[test]
fn a_broker_that_does_not_answer_ends_the_start_with_its_address() {
    let place = Place::ready();
    let began = Instant::now();
    place.fails(&["run", "--manifest", "m.json", "--brokers", "127.0.0.1:1"], 1, "127.0.0.1:1");
    assert!(began.elapsed() < Duration::from_secs(20), "it took {:?}", began.elapsed());
}

#[test]
fn a_journal_that_cannot_be_opened_is_a_mistake_of_usage() {
    let place = Place::ready();
    place.fails(
        &["run", "--manifest", "m.json", "--journal", "no/such/folder"],
        2,
        "could not open the journal",
    );
}
