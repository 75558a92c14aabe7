//! `amends migrate`, `inspect` and `export`: what they show of a database, and what they refuse to read.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;

use tokio_postgres::Client;

use crate::load::LOAD;
use crate::support::{Done, Place, sql};

const INSPECT: [&str; 3] = ["inspect", "--manifest", "m.json"];
const KINDS: [&str; 5] = ["evidence", "positions", "outbox", "quarantine", "frontiers"];

fn export(kind: &str) -> [&str; 4] {
    ["export", "--manifest", "m.json", kind]
}

#[test]
fn a_schema_is_brought_up_to_date() {
    let place = Place::with_source();
    let lacks = "the schema lacks V1__ownership, V2__ledger";
    for args in [&INSPECT[..], &export("frontiers"), &["run", "--manifest", "m.json"]] {
        place.fails(args, 1, lacks).failed(1, "; run amends migrate    code=schema");
    }
    let pending = place.done(&["migrate", "--pending"]);
    assert!(pending.starts_with("pending V1__ownership\npending V2__ledger\n"), "{pending}");
    assert_eq!(place.done(&["migrate", "--dry-run"]), pending);
    // Of two at once one waits and finds nothing to do.
    let both = [place.start(&["migrate"]), place.start(&["migrate"])].map(|child| {
        let done = Done::of(child.wait_with_output().expect("ended"));
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        done.stdout
    });
    let (applied, idle) = (pending.replace("pending", "applied"), "the schema is up to date\n".to_owned());
    assert!(both == [applied.clone(), idle.clone()] || both == [idle.clone(), applied], "{both:?}");
    assert_eq!(place.done(&["migrate"]), idle);
    assert_eq!(place.done(&["migrate", "--pending"]), idle);
}

#[test]
fn a_fresh_namespace_shows_that_nothing_is_there_yet() {
    let place = Place::ready();
    let missing =
        "could not read namespace test: it does not exist in this database yet; amends run creates it";
    place.fails(&INSPECT, 1, missing).failed(1, "code=manifest");
    place.fails(&export("frontiers"), 1, missing);
    place.work([0, 0]);
    let page = place.done(&INSPECT);
    assert!(
        page.starts_with("namespace  test  ") && page.ends_with("\n\nno record is decided yet\n"),
        "{page}"
    );
    assert!(page.contains(&format!("\nsource     {}  kafka:", place.topic)), "{page}");
    for kind in KINDS {
        let lines = place.done(&export(kind));
        let expected = if kind == "frontiers" { 2 } else { 0 };
        assert_eq!(lines.lines().count(), expected, "{kind}: {lines}");
    }
}

#[test]
fn what_was_decided_is_shown() {
    let place = Place::ready();
    let record = |revision: u32, quantity: i32| {
        format!(
            r#"{{"key":{{"item":"widget","location":"lisboa"}},"value":{{"schema_version":1,"transaction_id":"T-1",
"revision":{revision},"action":"assert","item":"widget","location":"lisboa","business_date":"2026-01-05","quantity":{quantity}}}}}"#
        )
        .replace('\n', "")
    };
    let raw = r#"{"raw_key_base64":null,"raw_value_base64":"AP8=","partition":1}"#;
    place.file("f.jsonl", [record(1, -3), record(2, -35), raw.to_owned()].join("\n"));
    place.done(&LOAD);
    place.work([0, 3]);
    assert_eq!(
        place.done(&export("positions")),
        "{\"item\":\"widget\",\"location\":\"lisboa\",\"business_date\":\"2026-01-05\",\"version\":2,\"balance\":5,\"state\":\"low\"}\n"
    );
    assert_eq!(
        place.done(&export("quarantine")),
        "{\"partition\":1,\"offset\":2,\"code\":\"MALFORMED_JSON\",\"transaction_id\":null,\"revision\":null,\"raw_key\":null,\
         \"raw_value\":\"AP8=\",\"reason\":\"the value is absent, over 1 MiB, not UTF-8, or not one strict JSON object nested \
         at most 16 levels deep\"}\n"
    );
    assert_eq!(place.done(&export("evidence")).lines().count(), 3);
    assert_eq!(place.done(&export("outbox")).lines().count(), 2);
    let page = place.done(&INSPECT);
    let counts = "\nrecords  code\n      1  MALFORMED_JSON\n      1  APPLIED\n      1  CORRECTED\n";
    let recent = "\npartition  offset  last records, newest first\n        1       2  MALFORMED_JSON\n        1       1  CORRECTED\n";
    assert!(page.contains(counts) && page.contains(recent), "{page}");
    let json = place.done(&[&INSPECT[..], &["--json"]].concat());
    assert_eq!(json.lines().count(), 1);
    let members = [
        "namespace",
        "uuid",
        "group_id",
        "sink",
        "source_topic",
        "incarnation",
        "created_at",
        "partitions",
        "counts",
        "recent",
    ];
    let places = members
        .map(|name| json.find(&format!("\"{name}\":")).unwrap_or_else(|| panic!("no {name} in {json}")));
    assert!(places.is_sorted(), "{json}");
    assert!(json.contains(r#""counts":{"APPLIED":1,"CORRECTED":1,"MALFORMED_JSON":1}"#), "{json}");
}

#[test]
fn another_config_is_refused_by_its_member() {
    let place = Place::ready();
    place.work([0, 0]);
    let text = place.read("m.json");
    let changed = text.replacen(r#""low_threshold": 20"#, r#""low_threshold": 30"#, 1);
    assert_ne!(changed, text);
    place.file("m.json", changed);
    let saying = "namespace test: config.stock_keys[0].low_threshold is 30, the namespace was created with 20    code=manifest";
    for args in [&INSPECT[..], &export("evidence"), &["run", "--manifest", "m.json"]] {
        place.fails(args, 1, saying);
    }
}

#[test]
fn a_reader_that_has_gone_ends_an_export_quietly() {
    let place = Place::ready();
    place.work([0, 0]);
    sql(&place.url(), async |client: &Client| {
        let many = "INSERT INTO amends.evidence (namespace, partition, source_offset, code, raw_value, epoch)
                    SELECT 'test', 0, n, 'MALFORMED_JSON', repeat('x', 200)::bytea, 1 FROM generate_series(0, 19999) n";
        client.batch_execute(many).await.expect("inserted");
    });
    let mut child = place.start(&export("evidence"));
    let mut first = String::new();
    // Dropped with its buffer: the pipe is closed.
    BufReader::new(child.stdout.take().expect("stdout")).read_line(&mut first).expect("a line");
    assert!(first.starts_with(r#"{"partition":0,"offset":0,"code":"MALFORMED_JSON","#), "{first}");
    let mut stderr = String::new();
    child.stderr.take().expect("stderr").read_to_string(&mut stderr).expect("text");
    assert_eq!((child.wait().expect("ended").code(), stderr.as_str()), (Some(0), ""));
    assert_eq!(place.done(&export("evidence")).lines().count(), 20_000);
    for args in [&export("evidence")[..], &INSPECT] {
        let full = File::options().write(true).open("/dev/full").expect("a full device");
        let mut command = place.command(args);
        let done = Done::of(command.stdout(Stdio::from(full)).output().expect("ran"));
        done.failed(1, "could not write to stdout: No space left on device (os error 28)    code=output");
    }
}
