//! Claims and observations.

use std::time::Duration;

use amends_core::ids::{ClaimId, Frontier, Token};
use amends_core::lifecycle::command::Command;
use amends_core::lifecycle::event::{Event, Failure};
use amends_store::namespace;
use amends_store::pipeline::{BATCH_EFFECTS, LEDGER};

use crate::desk::{BUDGET_MS, Database, Desk, TENURE, manifest, manifest_of, store};
use crate::proxy::{Proxy, Then};

const CLAIM: Command = Command::Claim { tenure: TENURE, within_ms: BUDGET_MS };

#[tokio::test]
async fn a_claim_raises_the_epoch_and_draws_a_new_id() {
    let database = Database::migrated().await;
    let mut desk = Desk::at(&database.url()).await;
    assert_eq!(desk.observe().await, (None, None), "the row is there before the first claim");
    let (first, frontier) = desk.claim().await;
    assert_eq!((first.epoch, frontier), (1, Frontier(0)));
    assert_eq!(desk.observe().await, (Some(first), Some(Frontier(0))));
    let (second, _) = desk.claim().await;
    assert_eq!(second.epoch, 2);
    assert_ne!(second.claim_id, first.claim_id);
    assert_eq!(desk.observe().await, (Some(second), Some(Frontier(0))));
    let rows = database
        .rows("SELECT partition, epoch, owner, claimed_at IS NOT NULL FROM amends.partition ORDER BY 1");
    assert_eq!(rows.await, ["0 2 tester:1 t", "1 0 - f"]);
}

/// A failover may forget a claim and give its epoch again; the id differs then.
#[tokio::test]
async fn an_epoch_that_comes_again_is_another_token() {
    let database = Database::migrated().await;
    let mut desk = Desk::at(&database.url()).await;
    let (forgotten, _) = desk.claim().await;
    database.sql("UPDATE amends.partition SET epoch = 0, claim_id = NULL, next_offset = NULL").await;
    let (again, _) = desk.claim().await;
    assert_eq!(again.epoch, forgotten.epoch);
    assert_ne!(again, forgotten);
}

#[tokio::test]
async fn a_row_that_is_missing_is_an_error_and_no_answer() {
    let database = Database::migrated().await;
    let mut desk = Desk::at(&database.url()).await;
    database.sql("DELETE FROM amends.partition").await;
    let why = "namespace source-demo-1 has no row for partition 0";
    let failure = Failure::Broken(format!("could not claim orders/0#1: {why}"));
    assert_eq!(desk.ask(&CLAIM, None).await, Event::ClaimFailed { tenure: TENURE, failure });
    let observe = Command::Observe { tenure: TENURE, fresh: false, within_ms: BUDGET_MS };
    let failure = Failure::Broken(format!("could not observe orders/0#1: {why}"));
    assert_eq!(desk.ask(&observe, None).await, Event::ObserveFailed { tenure: TENURE, failure });
}

/// A lock that found no row waited for nothing, whatever the next statement then sees.
#[tokio::test]
async fn a_row_that_appears_behind_the_lock_is_no_answer_either() {
    let database = Database::migrated().await;
    let proxy = Proxy::to(database.server()).await;
    let mut desk = Desk::at(&database.url_through(proxy.port)).await;
    database.sql("DELETE FROM amends.partition").await;
    proxy.when("SELECT pg_current_xact_id()", Then::Delay);
    desk.tell(&CLAIM, None);
    while !proxy.has_struck() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    // The lock was asked for and found no row; what decides is not asked yet.
    let asked = "state = 'idle in transaction' AND query LIKE '%FOR UPDATE%' AND pid <> pg_backend_pid()";
    database
        .until(&format!("SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND {asked}"))
        .await;
    database.sql("INSERT INTO amends.partition (namespace, partition) VALUES ('source-demo-1', 0)").await;
    let answer = desk.answer().await;
    assert!(matches!(answer, Event::ClaimFailed { failure: Failure::Broken(_), .. }), "{answer:?}");
}

#[tokio::test]
async fn a_claim_compares_namespace_incarnation_and_config() {
    let database = Database::migrated().await;
    let mut desk = Desk::at(&database.url()).await;
    let zeros = "00000000-0000-0000-0000-000000000000";
    for (change, named) in [
        (format!("uuid = '{zeros}'"), "the UUID of namespace source-demo-1 is 00000000"),
        (
            "incarnation = 'kafka:ff'".to_owned(),
            "config.source_incarnation of namespace source-demo-1 is kafka:ff",
        ),
        ("digest = decode(repeat('00', 32), 'hex')".to_owned(), "the config's digest of namespace"),
        ("source_topic = 'other'".to_owned(), "source_topic of namespace source-demo-1 is other"),
    ] {
        let held =
            database.rows("SELECT uuid, incarnation, digest, source_topic FROM amends.namespace").await;
        let held: Vec<_> = held[0].split(' ').collect();
        database.sql(&format!("UPDATE amends.namespace SET {change}")).await;
        let Event::ClaimFailed { failure: Failure::Broken(why), .. } = desk.ask(&CLAIM, None).await else {
            panic!("claimed in spite of {change}");
        };
        assert!(why.contains(named), "{why}");
        database
            .sql(&format!(
                "UPDATE amends.namespace SET uuid = '{}', incarnation = '{}', digest = '{}', source_topic = '{}'",
                held[0], held[1], held[2], held[3]
            ))
            .await;
    }
    assert_eq!(desk.claim().await.0.epoch, 1, "none of the refused claims moved the row");
}

#[tokio::test]
async fn the_first_manifest_of_a_namespace_wins() {
    let database = Database::migrated().await;
    let (one, two) = (store(&database.url()), store(&database.url()));
    let (manifest_one, manifest_two) = (manifest(), manifest());
    let opened = tokio::join!(
        namespace::open(&one, &manifest_one, LEDGER),
        namespace::open(&two, &manifest_two, LEDGER)
    );
    let namespace = opened.0.unwrap();
    assert_eq!(opened.1.unwrap(), namespace, "two workers that begin at once share it");
    let hex = namespace.uuid.simple().to_string();
    assert_eq!(namespace.group_id(), format!("amends-source-demo-1-{}", &hex[..12]));
    let rows = database.rows("SELECT partition, epoch, next_offset FROM amends.partition ORDER BY 1").await;
    assert_eq!(rows, ["0 0 -", "1 0 -"]);

    let other = manifest_of(
        r#"{"ledger_origin":"2026-01-01","stock_keys":[
            {"item":"widget","location":"berlin","opening_balance":100,"low_threshold":21,"partition":0}]}"#,
    );
    let refused = namespace::open(&one, &other, LEDGER).await.unwrap_err();
    assert_eq!(refused.code(), "manifest");
    assert!(refused.to_string().contains("stock_keys"), "{refused}");
    assert_eq!(namespace::find(&one, &other, LEDGER).await.unwrap_err(), {
        let text = refused.to_string().replace("could not open", "could not read");
        amends_store::StoreError::Refused { code: "manifest", why: text }
    });

    // A worker that slips past the start is refused by its first claim.
    let mut desk = Desk::over(one, namespace, other, BATCH_EFFECTS);
    let answer = desk.ask(&CLAIM, None).await;
    assert!(matches!(answer, Event::ClaimFailed { failure: Failure::Broken(_), .. }), "{answer:?}");
}

#[tokio::test]
async fn a_namespace_of_two_databases_has_two_groups() {
    let (one, two) = (Database::migrated().await, Database::migrated().await);
    let one = namespace::open(&one.store(), &manifest(), LEDGER).await.unwrap();
    let two = namespace::open(&two.store(), &manifest(), LEDGER).await.unwrap();
    assert_ne!(one.group_id(), two.group_id());
}

#[tokio::test]
async fn a_token_that_was_never_installed_is_no_ones() {
    let database = Database::migrated().await;
    let mut desk = Desk::at(&database.url()).await;
    let records = crate::desk::records(&["T1 r1 assert 2026-01-05 -30"]);
    let token = Token { epoch: 0, claim_id: ClaimId(0) };
    let answer = desk.process(token, Frontier(0), &records).await;
    assert_eq!(answer, Event::Fenced { tenure: TENURE, by: None });
}
