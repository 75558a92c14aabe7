//! Migrations, the guard, exports and inspection.

use std::sync::Arc;

use amends_core::ids::Frontier;
use amends_core::lifecycle::event::Event;
use amends_core::source::record::Record;
use amends_store::export::{Kind, Snapshot};
use amends_store::guard::Guard;
use amends_store::inspect::inspect;
use amends_store::migrate;

use crate::desk::{Database, Desk, TENURE, manifest, record, records};

#[tokio::test]
async fn migrations_are_applied_once_by_however_many_programs() {
    let database = Database::empty().await;
    let store = database.store();
    let pending = migrate::pending(&store).await.unwrap();
    assert_eq!(pending, ["V1__ownership", "V2__ledger"]);
    let refused = migrate::check(&store).await.unwrap_err();
    assert_eq!(refused.code(), "schema");
    assert_eq!(refused.to_string(), "the schema lacks V1__ownership, V2__ledger; run amends migrate");

    let (one, two, three) = (database.store(), database.store(), database.store());
    let applied = tokio::join!(migrate::apply(&one), migrate::apply(&two), migrate::apply(&three));
    let mut applied = [applied.0.unwrap(), applied.1.unwrap(), applied.2.unwrap()];
    applied.sort();
    assert_eq!(applied, [vec![], vec![], pending]);
    migrate::check(&store).await.unwrap();
    assert!(migrate::apply(&store).await.unwrap().is_empty());

    database.sql("UPDATE amends.schema_history SET checksum = '1' WHERE version = 2").await;
    let refused = migrate::check(&store).await.unwrap_err().to_string();
    assert!(refused.contains("V2__ledger"), "{refused}");
    database.sql("UPDATE amends.schema_history SET version = 99 WHERE version = 2").await;
    let refused = migrate::check(&store).await.unwrap_err().to_string();
    assert!(refused.contains("V99__ledger, which this program does not know"), "{refused}");
}

#[tokio::test]
async fn the_guard_lets_in_many_readers_or_one_loader() {
    let database = Database::empty().await;
    let store = database.store();
    let source = manifest().config().source_incarnation();
    let load = Guard::exclusive(&store, source, "amends load orders here:1").await.unwrap();
    load.probe().await.unwrap();
    for refused in [
        Guard::exclusive(&store, source, "amends load orders here:2").await.err().unwrap(),
        Guard::shared(&store, source, "amends verify orders here:3").await.err().unwrap(),
    ] {
        assert_eq!(refused.code(), "guarded");
        let named = format!("held by amends load orders here:1 (backend {})", load.backend());
        assert!(refused.to_string().contains(&named), "{refused}");
    }
    let other = "kafka:ff0102030405060708090a0b0c0d0e0f".parse().unwrap();
    Guard::exclusive(&store, other, "amends load others here:4").await.unwrap().release();

    load.release();
    database
        .until(
            "SELECT 1 WHERE NOT EXISTS (SELECT FROM pg_locks l JOIN pg_database d ON d.oid = l.database
                         WHERE l.locktype = 'advisory' AND d.datname = current_database())",
        )
        .await;
    let one = Guard::shared(&store, source, "amends verify orders here:5").await.unwrap();
    let two = Guard::shared(&store, source, "amends verify orders here:6").await.unwrap();
    assert!(Guard::exclusive(&store, source, "amends load orders here:7").await.is_err());
    database.sql(&format!("SELECT pg_terminate_backend({})", one.backend())).await;
    assert!(one.probe().await.is_err(), "a guard whose backend is gone is lost");
    two.probe().await.unwrap();
}

#[tokio::test]
async fn every_export_of_a_snapshot_shows_the_same_moment() {
    let database = Database::migrated().await;
    let refused = Snapshot::open(&database.store(), &manifest()).await.err().unwrap();
    assert_eq!(refused.code(), "manifest");
    assert!(refused.to_string().contains("amends run creates it"), "{refused}");

    let mut desk = Desk::at(&database.url()).await;
    let (token, frontier) = desk.claim().await;
    let snapshot = Snapshot::open(&desk.store, &manifest()).await.unwrap();
    let batch = records(&["T1 r1 assert 2026-01-05 -30"]);
    assert_eq!(desk.process(token, frontier, &batch).await, Event::Committed { tenure: TENURE });
    for (kind, lines) in [(Kind::Evidence, 0), (Kind::Outbox, 0), (Kind::Positions, 0), (Kind::Frontiers, 2)]
    {
        let mut out = Vec::new();
        assert_eq!(snapshot.export(kind, &mut out).await.unwrap(), lines, "{kind}");
    }
    snapshot.close();
}

#[tokio::test]
async fn an_inspection_tells_where_a_namespace_stands() {
    let database = Database::migrated().await;
    let mut desk = Desk::at(&database.url()).await;
    let (token, mut frontier) = desk.claim().await;
    for start in [0, 20] {
        let batch: Arc<[Record]> =
            (start..start + 20).map(|n| record(n, &format!("T{} r1 assert 2026-01-05 1", n % 30))).collect();
        assert_eq!(desk.process(token, frontier, &batch).await, Event::Committed { tenure: TENURE });
        frontier = Frontier(start + 20);
    }
    let snapshot = Snapshot::open(&desk.store, &manifest()).await.unwrap();
    let inspection = inspect(&snapshot).await.unwrap();
    assert_eq!(inspection.group_id, desk.namespace.group_id());
    assert_eq!(
        inspection.counts.iter().map(|(code, n)| format!("{code} {n}")).collect::<Vec<_>>(),
        ["APPLIED 30", "DUPLICATE 10"]
    );
    assert_eq!(inspection.recent.len(), 20);
    assert_eq!((inspection.recent[0].offset, inspection.recent[19].offset), (39, 20));
    let [worked, idle] = &inspection.partitions[..] else { panic!("two partitions") };
    assert_eq!((worked.next_offset, worked.epoch, worked.owner.as_deref()), (Some(40), 1, Some("tester:1")));
    assert_eq!(worked.last_work.as_ref().unwrap().records, 20);
    assert_eq!((idle.next_offset, idle.epoch, &idle.last_work), (None, 0, &None));
}

/// Two hundred megabytes of evidence pass through a process that grows by a small part of that.
#[tokio::test]
async fn an_export_does_not_gather_what_it_exports() {
    let database = Database::migrated().await;
    let desk = Desk::at(&database.url()).await;
    database
        .sql(
            "INSERT INTO amends.evidence SELECT 'source-demo-1', 0, n, 'MALFORMED_JSON', NULL, NULL, NULL,
                    convert_to(repeat('x', 20000), 'UTF8'), 1 FROM generate_series(0, 7499) n",
        )
        .await;
    let snapshot = Snapshot::open(&desk.store, &manifest()).await.unwrap();
    let before = resident_kb();
    let mut lines = snapshot.lines(Kind::Evidence).await.unwrap();
    let (mut count, mut bytes, mut most) = (0, 0, before);
    while let Some(line) = lines.next().await.unwrap() {
        count += 1;
        bytes += line.len();
        if count == 1 {
            // Somebody pages through it. A worker's limits would have ended the session by now.
            tokio::time::sleep(std::time::Duration::from_secs(7)).await;
        }
        if count % 500 == 0 {
            most = most.max(resident_kb());
        }
    }
    assert_eq!(count, 7_500);
    assert!(bytes > 190_000_000, "{bytes}");
    assert!(most - before < 40_000, "grew by {} kB", most - before);
}

fn resident_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
