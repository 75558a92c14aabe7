//! `amends source load` that ends before its last line: which lines it says are certain.

use std::io::{BufRead as _, BufReader, Read as _};
use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tokio_postgres::Client;

use crate::load::LOAD;
use crate::support::{Done, LONG, Place, SAFE, create_topic, delete_topic, interrupt, sql};

/// A load that takes its time: a full window waits for the linger.
const SLOWLY: [&str; 4] = ["-X", "linger.ms=700", "-X", "batch.num.messages=1000000"];
const LINES: usize = 60_000;

/// Begins a slow load, does `harm` once its first line is told, and gives what it did then.
fn interrupted(place: &Place, harm: impl FnOnce(&std::process::Child)) -> Done {
    let line = r#"{"key":null,"value":{"item":"widget","location":"berlin"}}"#;
    place.file("f.jsonl", format!("{line}\n").repeat(LINES));
    let mut child = place.start(&[&LOAD[..], &SLOWLY].concat());
    let mut reader = BufReader::new(child.stdout.take().expect("stdout"));
    let mut stdout = String::new();
    reader.read_line(&mut stdout).expect("a line");
    harm(&child);
    reader.read_to_string(&mut stdout).expect("text");
    let mut stderr = String::new();
    child.stderr.take().expect("stderr").read_to_string(&mut stderr).expect("text");
    Done { code: child.wait().expect("ended").code(), stdout, stderr }
}

/// Every line told is stored, and the sum says so.
fn holds(place: &Place, done: &Done) {
    let told = done.stdout.lines().count();
    let expected: Vec<_> =
        (1..=told).map(|line| format!("line {line} -> {}/0@{}", place.topic, line - 1)).collect();
    assert_eq!(done.stdout.lines().collect::<Vec<_>>(), expected);
    assert!(told < LINES, "the load was not interrupted");
    done.failed(1, &format!("; certain: lines 1 to {told}; not published: lines {} to {LINES}; ", told + 1));
    assert_eq!(place.records(0).len(), told);
}

#[test]
fn a_signal_stops_it_in_order() {
    let place = Place::with_source();
    let began = Instant::now();
    let done = interrupted(&place, interrupt);
    done.failed(1, "could not load f.jsonl: stopped by a signal; certain: ");
    done.failed(1, "load the whole file again: what is there twice changes nothing    code=shutdown");
    holds(&place, &done);
    assert!(began.elapsed() < LONG, "{:?}", began.elapsed());
}

#[test]
fn a_lost_guard_stops_it() {
    let place = Place::with_source();
    let done = interrupted(&place, |_| {
        let name = format!("amends load {}", place.topic).chars().take(63).collect::<String>();
        let ended: i64 = sql(&place.url(), async |client: &Client| {
            let end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                        WHERE datname = current_database() AND starts_with(application_name, $1)";
            client.query_one(end, &[&name]).await.expect("asked").get(0)
        });
        assert_eq!(ended, 1);
    });
    done.failed(1, "could not load f.jsonl: could not keep the guard: ");
    holds(&place, &done);
}

#[test]
fn a_topic_that_is_created_again_meanwhile_leaves_no_line_certain() {
    let place = Place::with_source();
    let done = interrupted(&place, |_| {
        assert!(delete_topic(&place.topic));
        create_topic(&place.topic, 2, &SAFE);
    });
    // The producer does not notice: every line is told, most of them with coordinates in the new topic.
    done.failed(1, "; it may have taken any record, so no line is certain    code=another-incarnation");
}

#[test]
fn a_record_that_the_broker_does_not_take_is_named() {
    let place = Place::with_source();
    // Noise, so that no compression makes it fit: within the client's limit, beyond the topic's.
    let mut state = 1_u32;
    let mut noise = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_le_bytes()[3]
    };
    let large = STANDARD.encode((0..2_000_000).map(|_| noise()).collect::<Vec<_>>());
    let raw =
        |value: &str| format!(r#"{{"raw_key_base64":null,"raw_value_base64":"{value}","partition":1}}"#);
    place.file("f.jsonl", [raw("AA=="), raw(&large)].join("\n"));
    let topic = &place.topic;
    for (more, why) in [
        (&[][..], "Message size too large"),
        (&["-X", "message.max.bytes=4000000"], "Message size too large"),
    ] {
        let done = place.run(&[&LOAD[..], more].concat());
        done.failed(1, "could not load f.jsonl: line 2: ");
        done.failed(1, why);
        done.failed(1, "; certain: line 1; failed: line 2; load the whole file again");
        done.failed(1, "code=undelivered");
        let lines: Vec<_> = done.stdout.lines().collect();
        assert!(lines[0].starts_with(&format!("line 1 -> {topic}/1@")), "{lines:?}");
        assert!(lines[1].starts_with(&format!("line 2 -> {topic}/1 failed: ")), "{lines:?}");
    }
    assert_eq!(place.records(1).len(), 2);
}
