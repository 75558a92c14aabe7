//! Process: what one batch writes, what stops it, and how often it waits.

use std::sync::Arc;
use std::time::Duration;

use amends_core::ids::{ClaimId, Frontier, Token};
use amends_core::lifecycle::command::Command;
use amends_core::lifecycle::event::{Event, Failure, ProcessFailure};
use amends_core::source::record::Record;
use amends_store::export::{Kind, Snapshot};

use amends_store::{migrate, statements};

use crate::desk::{Database, Desk, TENURE, manifest, process, record, records, store};
use crate::proxy::{Passed, Proxy, trips};

const COMMITTED: Event = Event::Committed { tenure: TENURE };

const WORKED_EXAMPLE: [&str; 8] = [
    "T1 r1 assert 2026-01-05 -30",
    "T2 r1 assert 2026-01-07 -60",
    "T1 r2 assert 2026-01-06 -20",
    "T1 r1 assert 2026-01-05 -30",
    "T2 r2 cancel",
    "T1 r2 assert 2026-01-06 -20",
    "T1 r2 assert 2026-01-06 -21",
    "T2 r5 assert 2026-01-05 -100",
];

async fn exported(database: &Database, kind: Kind) -> Vec<String> {
    let snapshot = Snapshot::open(&database.store(), &manifest()).await.unwrap();
    let mut out = Vec::new();
    let count = snapshot.export(kind, &mut out).await.unwrap();
    let text = String::from_utf8(out).unwrap();
    assert_eq!(text.lines().count(), usize::try_from(count).unwrap());
    assert!(text.is_empty() || text.ends_with('\n'));
    text.lines().map(ToOwned::to_owned).collect()
}

fn worked_outbox() -> Vec<String> {
    let envelope = |date: &str,
                    version: u32,
                    what: &str,
                    offset: u32,
                    id: &str,
                    revision: u32,
                    code: &str| {
        format!(
            r#"{{"namespace":"source-demo-1","item":"widget","location":"berlin","business_date":"2026-01-{date}","version":{version},"kind":{what},"cause":{{"partition":0,"offset":{offset},"transaction_id":"{id}","revision":{revision},"code":"{code}"}}}}"#
        )
    };
    let retract = r#""retract""#;
    vec![
        envelope("05", 1, r#""upsert","balance":70,"state":"ok""#, 0, "T1", 1, "APPLIED"),
        envelope("07", 1, r#""upsert","balance":10,"state":"low""#, 1, "T2", 1, "APPLIED"),
        envelope("05", 2, retract, 2, "T1", 2, "CORRECTED"),
        envelope("06", 1, r#""upsert","balance":80,"state":"ok""#, 2, "T1", 2, "CORRECTED"),
        envelope("07", 2, r#""upsert","balance":20,"state":"ok""#, 2, "T1", 2, "CORRECTED"),
        envelope("07", 3, retract, 4, "T2", 2, "CANCELLED"),
        envelope("05", 3, r#""upsert","balance":0,"state":"low""#, 7, "T2", 5, "REINSTATED"),
        envelope("06", 2, r#""upsert","balance":-20,"state":"negative""#, 7, "T2", 5, "REINSTATED"),
    ]
}

/// In one batch, or record by record: the same rows, the same bytes.
#[tokio::test]
async fn the_worked_example_of_the_contract() {
    for size in [8, 1, 3] {
        let database = Database::migrated().await;
        let mut desk = Desk::at(&database.url()).await;
        let (token, mut frontier) = desk.claim().await;
        let all = records(&WORKED_EXAMPLE);
        for batch in all.chunks(size) {
            let batch: Arc<[Record]> = batch.into();
            assert_eq!(desk.process(token, frontier, &batch).await, COMMITTED);
            frontier = batch.last().unwrap().offset.frontier_after();
        }
        assert_eq!(desk.observe().await, (Some(token), Some(Frontier(8))));
        assert_eq!(exported(&database, Kind::Outbox).await, worked_outbox(), "in batches of {size}");
        let position = |date: &str, version: u32, balance: i32, state: &str| {
            format!(
                r#"{{"item":"widget","location":"berlin","business_date":"2026-01-{date}","version":{version},"balance":{balance},"state":"{state}"}}"#
            )
        };
        assert_eq!(
            exported(&database, Kind::Positions).await,
            [position("05", 3, 0, "low"), position("06", 2, -20, "negative")]
        );
        assert_eq!(
            exported(&database, Kind::Frontiers).await,
            [r#"{"partition":0,"next_offset":8,"epoch":1}"#, r#"{"partition":1,"next_offset":0,"epoch":0}"#]
        );
        let heads = database
            .rows(
                "SELECT transaction_id, revision, item, business_date, quantity FROM amends.head ORDER BY 1",
            )
            .await;
        assert_eq!(heads, ["T1 2 widget 2026-01-06 -20", "T2 5 widget 2026-01-05 -100"]);
        let codes = database.rows("SELECT code FROM amends.evidence ORDER BY source_offset").await;
        assert_eq!(
            codes,
            ["APPLIED", "APPLIED", "CORRECTED", "STALE", "CANCELLED", "DUPLICATE", "CONFLICT", "REINSTATED"]
        );
        let quarantine = exported(&database, Kind::Quarantine).await;
        assert_eq!(quarantine.len(), 1);
        assert!(
            quarantine[0].starts_with(r#"{"partition":0,"offset":6,"code":"CONFLICT","transaction_id":"T1""#)
        );
        let work = database
            .rows(
                "SELECT work_records, work_bytes > 0, work_elapsed_us > 0, committed_at >= claimed_at
                   FROM amends.partition WHERE partition = 0",
            )
            .await;
        assert_eq!(work, [format!("{} t t t", if size == 3 { 2 } else { size })]);
    }
}

#[tokio::test]
async fn raw_bytes_are_kept_whatever_they_are() {
    let database = Database::migrated().await;
    let mut desk = Desk::at(&database.url()).await;
    let (token, _) = desk.claim().await;
    let raw = |offset, key: Option<&[u8]>, value: Option<&[u8]>| Record {
        key: key.map(<[u8]>::to_vec),
        value: value.map(<[u8]>::to_vec),
        ..record(offset, "T r1 cancel")
    };
    // With a hole: offset 2 was aborted.
    let batch: Arc<[Record]> =
        [raw(0, Some(b"\0\xff"), Some(b"\xc3\x28\0")), raw(1, Some(b""), None), raw(3, None, Some(b""))]
            .into();
    assert_eq!(desk.process(token, Frontier(0), &batch).await, COMMITTED);
    let line = |offset: u32, key: &str, value: &str| {
        format!(
            r#"{{"partition":0,"offset":{offset},"code":"MALFORMED_JSON","transaction_id":null,"revision":null,"raw_key":{key},"raw_value":{value},"epoch":1}}"#
        )
    };
    assert_eq!(
        exported(&database, Kind::Evidence).await,
        [line(0, r#""AP8=""#, r#""wygA""#), line(1, r#""""#, "null"), line(3, "null", r#""""#)]
    );
    assert_eq!(desk.observe().await.1, Some(Frontier(4)));
}

#[tokio::test]
async fn the_fence_compares_epoch_and_claim_id_and_then_the_frontier() {
    let database = Database::migrated().await;
    let mut desk = Desk::at(&database.url()).await;
    let (old, _) = desk.claim().await;
    let (token, frontier) = desk.claim().await;
    let batch = records(&WORKED_EXAMPLE[..1]);
    let fenced = Event::Fenced { tenure: TENURE, by: Some(token) };
    assert_eq!(desk.process(old, frontier, &batch).await, fenced);
    let same_epoch = Token { claim_id: ClaimId(7), ..token };
    assert_eq!(desk.process(same_epoch, frontier, &batch).await, fenced);
    let both_differ = desk.process(old, Frontier(9), &batch).await;
    assert_eq!(both_differ, fenced, "the token comes first");
    let moved = Event::Moved { tenure: TENURE, frontier: Some(frontier) };
    assert_eq!(desk.process(token, Frontier(1), &batch).await, moved);
    assert!(exported(&database, Kind::Evidence).await.is_empty());
    assert_eq!(desk.process(token, frontier, &batch).await, COMMITTED);
    let moved = Event::Moved { tenure: TENURE, frontier: Some(Frontier(1)) };
    assert_eq!(
        desk.process(token, frontier, &batch).await,
        moved,
        "the same batch again is not applied again"
    );
}

#[tokio::test]
async fn a_batch_that_touches_too_many_rows_is_rolled_back_with_what_fits() {
    let database = Database::migrated().await;
    let mut desk = Desk::with(&database.url(), 10).await;
    let (token, frontier) = desk.claim().await;
    let lines: Vec<String> = (1..=9).map(|day| format!("T{day} r1 assert 2026-01-0{day} 1")).collect();
    let batch = records(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    let answer = desk.process(token, frontier, &batch).await;
    let Event::ProcessFailed { failure: ProcessFailure::TooLarge { fit }, .. } = answer else {
        panic!("{answer:?}")
    };
    assert!((1..9).contains(&fit), "{fit}");
    assert_eq!(desk.observe().await, (Some(token), Some(frontier)));
    assert!(exported(&database, Kind::Evidence).await.is_empty());
    let leading: Arc<[Record]> = batch[..fit as usize].into();
    assert_eq!(desk.process(token, frontier, &leading).await, COMMITTED);
}

#[tokio::test]
async fn data_that_postgres_refuses_is_told_apart_and_can_be_quarantined() {
    let database = Database::migrated().await;
    let mut desk = Desk::at(&database.url()).await;
    let (token, frontier) = desk.claim().await;
    database.sql("ALTER TABLE amends.head ADD CONSTRAINT not_you CHECK (transaction_id <> 'T1')").await;
    let batch = records(&WORKED_EXAMPLE[..1]);
    let Event::ProcessFailed { failure: ProcessFailure::Refused(why), .. } =
        desk.process(token, frontier, &batch).await
    else {
        panic!("not refused");
    };
    assert_eq!(
        why,
        "could not commit orders/0#1 from 0 to 0: postgres answered with an error (SQLSTATE 23514, constraint not_you)"
    );
    // The same by class 22 and 54, and what is no record's fault by another class.
    for (code, is_refused) in [("22003", true), ("54000", true), ("53100", false), ("40001", false)] {
        database
            .sql(&format!(
                "CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
                 $$ BEGIN RAISE EXCEPTION 'secret payload' USING ERRCODE = '{code}'; END $$;
                 ALTER TABLE amends.head DROP CONSTRAINT IF EXISTS not_you;
                 CREATE OR REPLACE TRIGGER refuse BEFORE INSERT ON amends.head FOR EACH ROW EXECUTE FUNCTION refuse()"
            ))
            .await;
        let answer = desk.process(token, frontier, &batch).await;
        let Event::ProcessFailed { failure, .. } = &answer else { panic!("{code} {answer:?}") };
        let refused = matches!(failure, ProcessFailure::Refused(_));
        let again = matches!(failure, ProcessFailure::Attempt(Failure::Again(_)));
        assert_eq!((refused, again), (is_refused, !is_refused), "{code} {answer:?}");
        assert!(!format!("{answer:?}").contains("secret"), "{answer:?}");
    }
    database.sql("DROP TRIGGER refuse ON amends.head; ALTER TABLE amends.outbox RENAME TO elsewhere").await;
    let answer = desk.process(token, frontier, &batch).await;
    let broken =
        matches!(answer, Event::ProcessFailed { failure: ProcessFailure::Attempt(Failure::Broken(_)), .. });
    assert!(broken, "{answer:?}");
    database.sql("ALTER TABLE amends.elsewhere RENAME TO outbox").await;

    // The record left over: raw bytes kept, transaction and revision null.
    let mut command = process(token, frontier, &batch);
    if let Command::Process { refused, .. } = &mut command {
        *refused = true;
    }
    assert_eq!(desk.ask(&command, Some(Arc::clone(&batch))).await, COMMITTED);
    let evidence = exported(&database, Kind::Quarantine).await;
    assert!(
        evidence[0].contains(r#""code":"REFUSED_BY_STORE","transaction_id":null,"revision":null"#),
        "{evidence:?}"
    );
}

/// Lock, positions, effects, COMMIT: four waits, for one record and for five hundred; and nothing but reads before the
/// lock's answer was delivered.
#[tokio::test]
async fn round_trips_do_not_grow_with_the_batch() {
    let database = Database::migrated().await;
    let proxy = Proxy::to(database.server()).await;
    let mut desk = Desk::at(&database.url_through(proxy.port)).await;
    let (token, mut frontier) = desk.claim().await;
    proxy.slow(Duration::from_millis(60));
    let mut seen = Vec::new();
    for size in [1, 500] {
        let batch: Arc<[Record]> = (frontier.0..frontier.0 + size)
            .map(|offset| record(offset, &format!("T{offset} r1 assert 2026-01-{:02} 1", 1 + offset % 28)))
            .collect();
        proxy.log();
        assert_eq!(desk.process(token, frontier, &batch).await, COMMITTED);
        frontier = Frontier(frontier.0 + size);
        let log = proxy.log();
        let questions: Vec<String> = log
            .iter()
            .filter_map(|passed| match passed {
                Passed::Question(text) => Some(text.clone()),
                Passed::Answer => None,
            })
            .collect();
        assert_eq!(trips(&log), 4, "{questions:#?}");
        let answered_before = |wanted: &str| {
            let at = log
                .iter()
                .position(|passed| matches!(passed, Passed::Question(text) if text.starts_with(wanted)));
            log[..at.unwrap()].iter().filter(|passed| **passed == Passed::Answer).count()
        };
        assert!(answered_before("INSERT INTO amends.evidence") >= 6, "effects wait for lock and facts");
        assert_eq!(answered_before("COMMIT"), questions.len() - 2, "COMMIT waits for every effect");
        assert_eq!(questions.last().unwrap(), "SELECT pg_xact_status($1::xid8)");
        seen.push(questions);
    }
    assert_eq!(seen[0], seen[1]);
}

/// Whatever a worker says is listed, and whatever is listed is said: a simulator answers exactly these.
#[tokio::test]
async fn the_list_of_a_workers_statements_is_complete() {
    let database = Database::migrated().await;
    let proxy = Proxy::to(database.server()).await;
    let url = database.url_through(proxy.port);
    migrate::check(&store(&url)).await.unwrap();
    let mut desk = Desk::at(&url).await;
    let (token, frontier) = desk.claim().await;
    assert_eq!(desk.process(token, frontier, &records(&WORKED_EXAMPLE)).await, COMMITTED);
    desk.observe().await;
    let mut said: Vec<String> = proxy
        .log()
        .into_iter()
        .filter_map(|passed| match passed {
            Passed::Question(text) => Some(text),
            Passed::Answer => None,
        })
        .collect();
    said.sort_unstable();
    said.dedup();
    let mut listed = statements::OF_A_WORKER.map(|(_, text)| text.to_owned());
    listed.sort_unstable();
    assert_eq!(said, listed);
}
