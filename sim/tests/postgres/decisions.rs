//! What the store writes when nothing goes wrong.

use amends_core::ids::Frontier;
use amends_core::lifecycle::event::Event;
use amends_store::pipeline::LEDGER;
use amends_store::{migrate, namespace};

use crate::desk::{Desk, TENURE, manifest, record, records, store, world};

#[test]
fn the_server_is_migrated_and_keeps_a_namespace() {
    world(1, false, async |world| {
        let store = store(&world, 0);
        migrate::check(&store).await.unwrap();
        let first = namespace::open(&store, &manifest(), LEDGER).await.unwrap();
        let again = namespace::open(&store, &manifest(), LEDGER).await.unwrap();
        assert_eq!(first, again);
        assert_eq!(
            world.rows("partition"),
            ["source-demo-1 0 0 - - - - - - - -", "source-demo-1 1 0 - - - - - - - -"]
        );
        let refused = namespace::open(&store, &manifest(), "archive").await.unwrap_err();
        assert!(refused.to_string().contains("the namespace was created with ledger"), "{refused}");
    });
}

#[test]
fn batches_become_rows() {
    world(2, false, async |world| {
        let mut desk = Desk::of(&world, 0).await;
        let (token, frontier) = desk.claim().await;
        assert_eq!((token.epoch, frontier), (1, Frontier(0)));
        assert_eq!(desk.observe().await, (Some(token), Some(frontier)));
        let batch = records(&[
            "T1 r1 assert 2026-01-05 -30",
            "T2 r1 assert 2026-01-03 5",
            "T1 r2 assert 2026-01-05 -90",
            "T1 r1 assert 2026-01-05 -30",
        ]);
        assert_eq!(desk.process(token, frontier, &batch).await, Event::Committed { tenure: TENURE });
        let batch = [record(6, "T2 r2 cancel")].into();
        assert_eq!(desk.process(token, Frontier(4), &batch).await, Event::Committed { tenure: TENURE });

        assert_eq!(desk.observe().await, (Some(token), Some(Frontier(7))));
        let evidence = world.rows("evidence");
        let columns: Vec<Vec<&str>> = evidence.iter().map(|row| row.split(' ').collect()).collect();
        let decided: Vec<String> = columns.iter().map(|c| [c[2], c[3], c[4], c[5], c[8]].join(" ")).collect();
        assert_eq!(
            decided,
            [
                "0 APPLIED T1 1 1",
                "1 APPLIED T2 1 1",
                "2 CORRECTED T1 2 1",
                "3 STALE T1 1 1",
                "6 CANCELLED T2 2 1"
            ]
        );
        let key = columns[0][6].strip_prefix("\\x7b226974656d223a22776964676574222c").unwrap();
        assert_eq!(key.len(), 2 * r#""location":"berlin"}"#.len());
        assert_eq!(
            world.rows("head"),
            ["source-demo-1 0 T1 2 widget berlin 2026-01-05 -90", "source-demo-1 0 T2 2 widget berlin - -"]
        );
        assert_eq!(
            world.rows("position"),
            [
                "source-demo-1 widget berlin 2026-01-03 2 0 - -",
                "source-demo-1 widget berlin 2026-01-05 4 1 10 low"
            ]
        );
        assert_eq!(
            world.rows("outbox"),
            [
                "source-demo-1 0 0 2026-01-05 widget berlin 1 70 ok T1 1 APPLIED",
                "source-demo-1 0 1 2026-01-03 widget berlin 1 105 ok T2 1 APPLIED",
                "source-demo-1 0 1 2026-01-05 widget berlin 2 75 ok T2 1 APPLIED",
                "source-demo-1 0 2 2026-01-05 widget berlin 3 15 low T1 2 CORRECTED",
                "source-demo-1 0 6 2026-01-03 widget berlin 2 - - T2 2 CANCELLED",
                "source-demo-1 0 6 2026-01-05 widget berlin 4 10 low T2 2 CANCELLED"
            ]
        );
        let partition = world.rows("partition").remove(0);
        let claim_id = uuid::Uuid::from_u128(token.claim_id.0);
        let begins = format!("source-demo-1 0 1 {claim_id} 7 tester:1 2026-01-01 00:00:00.");
        assert!(partition.starts_with(&begins), "{partition}");
    });
}

/// What is read for a correction: its own day, the days behind it, and the last one before it.
#[test]
fn a_day_stands_on_the_last_one_before_it() {
    world(4, false, async |world| {
        let mut desk = Desk::of(&world, 0).await;
        let (token, frontier) = desk.claim().await;
        let batch = records(&[
            "T1 r1 assert 2026-01-02 -10",
            "T2 r1 assert 2026-01-04 -20",
            "T3 r1 assert 2026-01-08 5",
            "T4 r1 assert 2026-01-03 1",
            "T4 r2 cancel",
        ]);
        desk.process(token, frontier, &batch).await;
        let batch = [record(5, "T5 r1 assert 2026-01-06 -40")].into();
        assert_eq!(desk.process(token, Frontier(5), &batch).await, Event::Committed { tenure: TENURE });
        let positions: Vec<_> = world.rows("position");
        assert_eq!(
            positions,
            [
                "source-demo-1 widget berlin 2026-01-02 1 1 90 ok",
                "source-demo-1 widget berlin 2026-01-03 2 0 - -",
                "source-demo-1 widget berlin 2026-01-04 3 1 70 ok",
                "source-demo-1 widget berlin 2026-01-06 1 1 30 ok",
                "source-demo-1 widget berlin 2026-01-08 4 1 35 ok"
            ]
        );
    });
}

#[test]
fn a_second_claim_fences_the_first() {
    world(3, false, async |world| {
        let (mut old, mut new) = (Desk::of(&world, 0).await, Desk::of(&world, 1).await);
        assert_eq!(old.namespace, new.namespace);
        let (token, frontier) = old.claim().await;
        let batch = records(&["T1 r1 assert 2026-01-05 -30"]);
        let (other, _) = new.claim().await;
        assert_eq!(other.epoch, 2);
        assert_ne!(other.claim_id, token.claim_id);
        let answer = old.process(token, frontier, &batch).await;
        assert_eq!(answer, Event::Fenced { tenure: TENURE, by: Some(other) });
        let answer = new.process(other, Frontier(5), &batch).await;
        assert_eq!(answer, Event::Moved { tenure: TENURE, frontier: Some(frontier) });
        assert!(world.rows("evidence").is_empty());
    });
}
