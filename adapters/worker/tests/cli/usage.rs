//! What every verb refuses before it begins, and what it says of services that are not as they should be.

use std::io::pipe;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use crate::support::{Place, database_url, url_of};

#[test]
fn help_tells_the_verbs_and_shows_an_example_of_each() {
    let place = Place::bare();
    let help = place.done(&["--help"]);
    let at = |verb: &str| help.find(&format!("\n  {verb} ")).unwrap_or_else(|| panic!("no {verb} in {help}"));
    let order = ["migrate", "source", "run", "inspect", "export"].map(at);
    assert!(order.is_sorted(), "{help}");
    let verbs: [&[&str]; 6] =
        [&["source", "create"], &["source", "load"], &["run"], &["inspect"], &["export"], &["migrate"]];
    for verb in verbs {
        let help = place.done(&[verb, &["--help"]].concat());
        let (description, rest) = help.split_once("\n\nUsage: ").expect("a description and a usage");
        assert!(description.len() > 40 && rest.contains("Example"), "{help}");
        assert!(rest.contains(&format!("amends {} --", verb.join(" "))) || verb == ["migrate"], "{help}");
        assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
    }
}

#[test]
fn a_mistake_of_usage_exits_2() {
    let place = Place::bare();
    place.fails(&[], 2, "Usage: amends <VERB>");
    place.fails(&["--frobnicate"], 2, "unexpected argument '--frobnicate'");
    place.fails(
        &["inspect", "--manifest", "m.json", "--frobnicate"],
        2,
        "unexpected argument '--frobnicate'",
    );
    place.fails(&["source", "load", "--manifest", "m.json"], 2, "--file <FILE>");
    place.fails(
        &["export", "--manifest", "m.json", "everything"],
        2,
        "possible values: evidence, positions, outbox",
    );
    place.fails(
        &["source", "create", "--namespace", "n", "--topic", "t", "--partitions", "0"],
        2,
        "0 is not in 1..",
    );
    let done = crate::support::Done::of(
        place.command(&["migrate"]).env("AMENDS_LOG", "lots=of=it").output().expect("ran"),
    );
    done.failed(2, "AMENDS_LOG: ");
}

#[test]
fn the_database_url_is_wanted_and_never_shown() {
    let place = Place::bare();
    place.fails(
        &["migrate"],
        2,
        "AMENDS_DATABASE_URL is not set; it is postgres://USER:PASSWORD@HOST:PORT/DATABASE",
    );
    let cases = [
        (
            "postgres://amends:hunter2@127.0.0.1:nowhere/amends",
            2,
            "AMENDS_DATABASE_URL: the database URL is refused: it is not of the form",
        ),
        ("postgres://amends:hunter2@%2Ftmp/amends", 2, "it names a Unix socket"),
        ("postgres://amends:hunter2@127.0.0.1:1/amends", 1, "could not reach postgres at 127.0.0.1:1, "),
    ];
    for (url, code, saying) in cases {
        let mut command = place.command(&["migrate"]);
        let done = crate::support::Done::of(command.env("AMENDS_DATABASE_URL", url).output().expect("ran"));
        done.failed(code, saying);
        assert!(!(done.stderr + &done.stdout).contains("hunter2"));
    }
}

#[test]
fn a_wrong_password_and_a_missing_database_are_told_apart() {
    let place = Place::bare();
    let (before, rest) =
        database_url().split_once("://").map(|(a, b)| (a.to_owned(), b.to_owned())).expect("a URL");
    let (credentials, address) = rest.rsplit_once('@').expect("credentials");
    let (user, password) = credentials.split_once(':').expect("a password");
    let wrong = format!("{before}://{user}:hunter2@{address}");
    let missing = url_of("amends_test_there_is_none");
    let cases = [
        (wrong, "postgres refused the user or the password (SQLSTATE 28P01)    code=broken"),
        (missing, "there is no such database (SQLSTATE 3D000)    code=broken"),
    ];
    for (url, saying) in cases {
        let mut command = place.command(&["migrate", "--pending"]);
        let done = crate::support::Done::of(command.env("AMENDS_DATABASE_URL", url).output().expect("ran"));
        done.failed(1, saying);
        assert!(!done.stderr.contains("hunter2") && !done.stderr.contains(password), "{}", done.stderr);
    }
}

#[test]
fn a_manifest_is_read_strictly() {
    let place = Place::bare();
    let url = "postgres://amends:x@127.0.0.1:1/amends";
    place.file("empty.json", "");
    place.file("unknown.json", r#"{"source_topic": "t", "config": {}, "colour": "red"}"#);
    place.file(
        "member.json",
        r#"{"source_topic": "t", "config": {"namespace": "n", "schema_version": 1, "partitions": 1, "colour": 1}}"#,
    );
    let cases = [
        ("nowhere.json", "could not read nowhere.json: No such file or directory"),
        (".", "could not read .: Is a directory"),
        ("empty.json", "empty.json: manifest refused: it is not JSON"),
        (
            "unknown.json",
            "unknown.json: manifest refused: colour is unknown; nothing was started    code=usage",
        ),
        (
            "member.json",
            "member.json: manifest refused: config.colour is unknown; nothing was started    code=usage",
        ),
    ];
    for verb in [&["inspect"][..], &["export", "frontiers"], &["source", "load", "--file", "f"], &["run"]] {
        for (file, saying) in cases {
            let mut command = place.command(&[verb, &["--manifest", file]].concat());
            crate::support::Done::of(command.env("AMENDS_DATABASE_URL", url).output().expect("ran"))
                .failed(2, saying);
        }
    }
}

#[test]
fn a_property_is_refused_by_its_name_and_never_shown() {
    let place = Place::bare();
    let cases = [
        (
            "isolation.level=read_uncommitted",
            "-X isolation.level is refused: amends forces isolation.level=read_committed",
        ),
        ("group.id=mine", "-X group.id is refused: amends derives the group from the namespace"),
        ("sasl.pasword=hunter2", "sasl.pasword is no property of librdkafka"),
        ("security.protocol=hunter2", "librdkafka refuses the value of security.protocol"),
        ("hunter2", "-X wants NAME=VALUE"),
    ];
    for (property, saying) in cases {
        let args = ["source", "create", "--namespace", "n", "--topic", &place.topic, "-X", property];
        let done = place.fails(&args, 2, saying);
        assert!(!done.stderr.contains("hunter2"), "{}", done.stderr);
    }
}

#[test]
fn a_broker_that_does_not_answer_is_named_before_long() {
    let place = Place::bare();
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let silent = silent.local_addr().expect("an address").to_string();
    for (broker, within) in [(silent.as_str(), 8), ("127.0.0.1:1", 3)] {
        let began = Instant::now();
        let args = ["source", "create", "--namespace", "n", "--topic", "t", "--brokers", broker];
        let done = place.fails(&args, 1, "; nothing was created    code=again");
        assert!(
            done.stderr.contains(&format!("could not describe topic t at {broker}: ")),
            "{}",
            done.stderr
        );
        assert!(began.elapsed() < Duration::from_secs(within), "{:?}", began.elapsed());
    }
}

#[test]
fn readers_that_have_gone_change_no_exit_code() {
    let place = Place::bare();
    // The demo tells much before its first verb fails, as there is no database.
    for (args, code) in [(&["migrate"][..], 2), (&["demo", "--folder", "."], 1)] {
        let ((out, stdout), (err, stderr)) = (pipe().expect("a pipe"), pipe().expect("a pipe"));
        drop((out, err));
        let status = place.command(args).stdout(stdout).stderr(stderr).status().expect("ran");
        assert_eq!(status.code(), Some(code), "{args:?}");
    }
}
