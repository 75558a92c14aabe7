//! What a worker says when it cannot begin, or ends by itself.

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support::{LONG, Place, create_topic, delete_topic, interrupt};

#[test]
fn a_word_that_is_no_level_is_refused_and_an_empty_one_is_none() {
    let place = Place::ready();
    for word in ["nonsense", "warning", "9", "info,verbose"] {
        let mut command = place.command(&["export", "--manifest", "m.json", "frontiers"]);
        let done = command.env("AMENDS_LOG", word).output().expect("started");
        let said = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{word}: {said}");
        assert!(said.contains("is no level"), "{word}: {said}");
    }
    let done = place.command(&["migrate"]).env("AMENDS_LOG", "").output().expect("started");
    assert_eq!(done.status.code(), Some(0));
}

#[test]
fn the_reason_of_a_stop_is_told_also_where_nothing_is_logged() {
    let place = Place::ready();
    let mut command = place.command(&["run", "--manifest", "m.json"]);
    let worker = command.env("AMENDS_LOG", "off").stderr(Stdio::piped()).spawn().expect("started");
    let deadline = Instant::now() + LONG;
    while !place.run(&["export", "--manifest", "m.json", "frontiers"]).stdout.contains("\"epoch\":1") {
        assert!(Instant::now() < deadline, "nothing was claimed");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(delete_topic(&place.topic));
    create_topic(&place.topic, 2, &[]);
    let done = worker.wait_with_output().expect("ended");
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(1), "{said}");
    assert!(said.contains("source refused: expected the topic kafka:"), "{said}");
    assert!(said.trim_end().ends_with("code=another-incarnation"), "{said}");
}

#[test]
fn a_journal_has_one_writer_and_no_other_file_is_taken_for_one() {
    let place = Place::ready();
    let args = ["run", "--manifest", "m.json", "--journal", "j"];
    let mut first = place.command(&args).stderr(Stdio::null()).spawn().expect("started");
    let deadline = Instant::now() + LONG;
    while !place.dir.join("j").exists() || place.read("j").is_empty() {
        assert!(Instant::now() < deadline, "no journal");
        std::thread::sleep(Duration::from_millis(20));
    }
    place.fails(&args, 2, "could not open the journal j: another worker writes to it");
    interrupt(&first);
    assert!(first.wait().expect("ended").success());
    let before = place.read("m.json");
    let wrong = ["run", "--manifest", "m.json", "--journal", "m.json"];
    place.fails(&wrong, 2, "it is not empty and no journal; nothing was written to it");
    assert_eq!(place.read("m.json"), before);
}

#[test]
fn odd_numbers_and_names_are_mistakes_of_usage() {
    let place = Place::ready();
    place.fails(&["run", "--manifest", "m.json", "--batch-effects", "0"], 2, "it must be at least 1");
    let create = ["source", "create", "--namespace", "n", "--topic", "t", "--partitions", "100001"];
    place.fails(&create, 2, "100001 is not in 1..=100000");
    place.file("odd.json", place.read("m.json").replace(&place.topic, "a\\u001b[31m"));
    let done = place.fails(&["run", "--manifest", "odd.json"], 2, "source_topic is no name of a topic");
    assert!(!done.stderr.contains('\u{1b}'), "{:?}", done.stderr);
}
