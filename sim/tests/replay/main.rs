//! `cargo sim replay` as a reviewer meets it, and what each verb does when nobody reads it.

use std::io::pipe;
use std::path::PathBuf;
use std::process::Command;

const HEADER: &str = r#"{"journal":1,"settings":{"topic":"orders","source":{"sink":"ledger","incarnation":"kafka:07000000000000000000000000000000","partitions":1},"lanes":2,"batch-records":500,"batch-bytes":4194304}}"#;
const ASSIGNED: &str = r#"{"at":0,"event":{"event":"assigned","rebalance":{"member":1,"number":1},"partitions":[]},"after":[],"commands":[{"command":"assign","rebalance":{"member":1,"number":1},"positions":[]}]}"#;
const SHUTDOWN: &str = r#"{"at":5,"event":{"event":"shutdown-requested"},"after":[],"commands":[{"command":"wait","timer":"drain","after-ms":12000},{"command":"close"}]}"#;

struct Done {
    code: Option<i32>,
    text: String,
}

/// Replays a journal of these lines, under a name that only this test uses.
fn replay(name: &str, journal: &[u8]) -> Done {
    let path = std::env::temp_dir().join(format!("amends-sim-{}-{name}", std::process::id()));
    std::fs::write(&path, journal).expect("written");
    let done = of(&[&"replay", &path]);
    std::fs::remove_file(&path).expect("removed");
    done
}

fn of(args: &[&dyn AsRef<std::ffi::OsStr>]) -> Done {
    let output =
        Command::new(env!("CARGO_BIN_EXE_amends-sim")).args(args.iter().map(|arg| arg.as_ref())).output();
    let output = output.expect("started");
    let text = [output.stdout, output.stderr].concat();
    Done { code: output.status.code(), text: String::from_utf8(text).expect("text") }
}

#[test]
fn equal_commands_are_told() {
    let done = replay("equal", format!("{HEADER}\n{ASSIGNED}\n{SHUTDOWN}\n").as_bytes());
    assert_eq!(done.text, "replayed 2 steps in 1 run, all commands equal\n");
    assert_eq!(done.code, Some(0));
}

#[test]
fn the_first_step_that_differs_is_named() {
    let other = ASSIGNED.replace(r#""positions":[]"#, r#""positions":[["0#1",4]]"#);
    let done = replay("differs", format!("{HEADER}\n{other}\n{SHUTDOWN}\n").as_bytes());
    assert!(done.text.contains("line 2 differs at assigned 1.1 none\n  journal: ["), "{}", done.text);
    assert_eq!(done.code, Some(1));
}

#[test]
fn a_killed_worker_leaves_a_torn_line_and_the_next_run_goes_on() {
    let torn = &ASSIGNED[..ASSIGNED.len() / 2];
    let done = replay("torn", format!("{HEADER}\n{torn}\n{HEADER}\n{ASSIGNED}\n{torn}").as_bytes());
    assert_eq!(done.text, "replayed 1 step in 2 runs, all commands equal, 2 torn lines left out\n");
    assert_eq!(done.code, Some(0));
}

#[test]
fn a_torn_line_within_a_run_is_no_journal() {
    let torn = &ASSIGNED[..ASSIGNED.len() / 2];
    let done = replay("within", format!("{HEADER}\n{torn}\n{SHUTDOWN}\n").as_bytes());
    assert!(done.text.contains("could not read line 2"), "{}", done.text);
    assert_eq!(done.code, Some(2));
}

#[test]
fn what_is_no_journal_is_refused() {
    let later = HEADER.replace(r#""journal":1"#, r#""journal":2"#);
    let cases: [(&str, &[u8], &str); 5] = [
        ("empty", b"", "it is empty"),
        ("text", b"hello\n", "could not read line 1"),
        ("later", later.as_bytes(), "journal format 2 is unknown, 1 is known"),
        ("step", ASSIGNED.as_bytes(), "could not read line 1"),
        ("bytes", b"\xff\xfe\n", "line 1: it is not UTF-8"),
    ];
    for (name, journal, saying) in cases {
        let done = replay(name, journal);
        assert!(done.text.contains(saying), "{name}: {}", done.text);
        assert_eq!(done.code, Some(2), "{name}");
    }
}

#[test]
fn a_missing_file_and_a_missing_verb_are_mistakes_of_usage() {
    let done = of(&[&"replay", &PathBuf::from("no-such-journal")]);
    assert!(done.text.starts_with("could not replay no-such-journal: "), "{}", done.text);
    assert_eq!(done.code, Some(2));
    assert_eq!(of(&[]).code, Some(2));
}

#[test]
fn a_line_without_an_end_is_refused_before_it_fills_the_memory() {
    let mut journal = format!("{HEADER}\n").into_bytes();
    journal.resize(journal.len() + (64 << 20) + 1, b'x');
    let done = replay("endless", &journal);
    assert!(done.text.contains("line 2: it is longer than 67108864 bytes"), "{}", done.text);
    assert_eq!(done.code, Some(2));
}

#[test]
fn what_nobody_reads_is_no_success() {
    let path = std::env::temp_dir().join(format!("amends-sim-{}-unread", std::process::id()));
    std::fs::write(&path, format!("{HEADER}\n{ASSIGNED}\n")).expect("written");
    let journal = path.to_str().expect("text");
    for args in [
        &["replay", journal][..],
        &["--seed", "7", "--tier", "a", "--json"],
        &["--seed", "7", "--tier", "a", "--trace"],
        &["campaign", "--tier", "a", "--seeds", "0..2"],
        &[
            "run",
            "--tier",
            "a",
            "--seeds",
            "1",
            "../scenarios/a-storm-of-rebalances-ends-with-one-owner.scenario",
        ],
        &["contract"],
    ] {
        let (reader, writer) = pipe().expect("a pipe");
        drop(reader);
        let mut command = Command::new(env!("CARGO_BIN_EXE_amends-sim"));
        let done = command.args(args).stdout(writer).output().expect("ran");
        let said = String::from_utf8_lossy(&done.stderr);
        assert_eq!((done.status.code(), said.as_ref()), (Some(141), ""), "{args:?}");
    }
    std::fs::remove_file(&path).expect("removed");
    let (reader, writer) = pipe().expect("a pipe");
    drop(reader);
    let mut command = Command::new(env!("CARGO_BIN_EXE_amends-sim"));
    let done = command.args(["run", "no.scenario"]).stderr(writer).output().expect("ran");
    assert_eq!(done.status.code(), Some(2), "a complaint that nobody reads is none the less one");
}
