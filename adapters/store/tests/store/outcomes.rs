//! What is said of a COMMIT, and what PostgreSQL then shows.

use amends_core::ids::Frontier;
use amends_core::lifecycle::command::Command;
use amends_core::lifecycle::event::{Event, Failure, ProcessFailure};

use crate::desk::{BUDGET_MS, Database, Desk, TENURE, records};
use crate::proxy::{Proxy, Then};

const CLAIM: Command = Command::Claim { tenure: TENURE, within_ms: BUDGET_MS };

async fn through_a_proxy() -> (Database, Proxy, Desk) {
    let database = Database::migrated().await;
    let proxy = Proxy::to(database.server()).await;
    let desk = Desk::at(&database.url_through(proxy.port)).await;
    (database, proxy, desk)
}

fn is_again(event: &Event) -> bool {
    matches!(
        event,
        Event::ProcessFailed { failure: ProcessFailure::Attempt(Failure::Again(_)), .. }
            | Event::ClaimFailed { failure: Failure::Again(_), .. }
    )
}

#[tokio::test]
async fn a_lost_reply_of_a_commit_is_unknown_and_an_observation_tells() {
    let (database, proxy, mut desk) = through_a_proxy().await;
    let (token, frontier) = desk.claim().await;
    let batch = records(&["T1 r1 assert 2026-01-05 -30"]);
    proxy.when("COMMIT", Then::LoseAnswer);
    let answer = desk.process(token, frontier, &batch).await;
    assert!(matches!(answer, Event::CommitUnknown { .. }), "{answer:?}");
    assert!(proxy.has_struck());
    assert_eq!(desk.observe().await, (Some(token), Some(Frontier(1))), "it had committed");
    assert_eq!(database.rows("SELECT code FROM amends.evidence").await, ["APPLIED"]);
}

#[tokio::test]
async fn a_commit_that_was_cut_off_is_unknown_and_an_observation_tells() {
    let (_database, proxy, mut desk) = through_a_proxy().await;
    let (token, frontier) = desk.claim().await;
    let batch = records(&["T1 r1 assert 2026-01-05 -30"]);
    proxy.when("COMMIT", Then::CutBefore);
    let answer = desk.process(token, frontier, &batch).await;
    assert!(matches!(answer, Event::CommitUnknown { .. }), "it was handed over: {answer:?}");
    assert_eq!(desk.observe().await, (Some(token), Some(frontier)), "it had not committed");
    assert_eq!(desk.process(token, frontier, &batch).await, Event::Committed { tenure: TENURE });
}

#[tokio::test]
async fn a_claim_whose_reply_is_lost_is_unknown() {
    let (_database, proxy, mut desk) = through_a_proxy().await;
    proxy.when("COMMIT", Then::LoseAnswer);
    let answer = desk.ask(&CLAIM, None).await;
    assert!(matches!(answer, Event::ClaimUnknown { .. }), "{answer:?}");
    let (token, _) = desk.observe().await;
    assert_eq!(token.unwrap().epoch, 1);
    assert_eq!(desk.claim().await.0.epoch, 2);
}

/// Any failure in front of COMMIT is a plain failure, wherever it strikes.
#[tokio::test]
async fn a_cut_before_commit_did_not_commit() {
    let (database, proxy, mut desk) = through_a_proxy().await;
    let (token, frontier) = desk.claim().await;
    let batch = records(&["T1 r1 assert 2026-01-05 -30"]);
    for (begins, then) in [
        ("BEGIN", Then::CutBefore),
        ("SELECT 1 FROM amends.partition", Then::LoseAnswer),
        ("SELECT * FROM", Then::CutBefore),
        ("INSERT INTO amends.evidence", Then::LoseAnswer),
        ("UPDATE amends.partition", Then::CutBefore),
    ] {
        proxy.when(begins, then);
        let answer = desk.process(token, frontier, &batch).await;
        assert!(proxy.has_struck(), "{begins}");
        assert!(is_again(&answer), "{begins}: {answer:?}");
        assert_eq!(desk.observe().await, (Some(token), Some(frontier)), "{begins}");
    }
    proxy.when("UPDATE amends.partition", Then::CutBefore);
    assert!(is_again(&desk.ask(&CLAIM, None).await));
    assert_eq!(desk.observe().await.0, Some(token));
    assert!(database.rows("SELECT 1 FROM amends.evidence").await.is_empty());
}

/// COMMIT of a failed transaction is answered like any other; its status is not.
#[tokio::test]
async fn an_aborted_transaction_that_answers_commit_did_not_commit() {
    let (_database, proxy, mut desk) = through_a_proxy().await;
    let (token, frontier) = desk.claim().await;
    let batch = records(&["T1 r1 assert 2026-01-05 -30"]);
    proxy.when("COMMIT", Then::SlipIn("SELECT 1/0"));
    let answer = desk.process(token, frontier, &batch).await;
    assert!(is_again(&answer), "{answer:?}");
    assert!(format!("{answer:?}").contains("the transaction is aborted"), "{answer:?}");
    assert_eq!(desk.observe().await, (Some(token), Some(frontier)));
    proxy.when("COMMIT", Then::SlipIn("SELECT 1/0"));
    assert!(is_again(&desk.ask(&CLAIM, None).await));
    assert_eq!(desk.observe().await.0, Some(token));
}

/// As a cancelled wait for a synchronous standby warns, and then answers as if nothing were.
#[tokio::test]
async fn a_warning_before_the_answer_of_commit_is_unknown() {
    let database = Database::migrated().await;
    let mut desk = Desk::at(&database.url()).await;
    let (token, frontier) = desk.claim().await;
    database
        .sql(
            "CREATE FUNCTION warn() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN RAISE WARNING 'canceling wait for synchronous replication'; RETURN NULL; END $$;
             CREATE CONSTRAINT TRIGGER warn AFTER INSERT ON amends.evidence
                DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION warn()",
        )
        .await;
    let batch = records(&["T1 r1 assert 2026-01-05 -30"]);
    let answer = desk.process(token, frontier, &batch).await;
    assert!(matches!(answer, Event::CommitUnknown { .. }), "{answer:?}");
    assert_eq!(desk.observe().await, (Some(token), Some(Frontier(1))));

    // A warning before COMMIT is handed over says nothing of it; nor does a notice.
    database
        .sql(
            "DROP TRIGGER warn ON amends.evidence;
             CREATE TRIGGER warn AFTER INSERT ON amends.evidence FOR EACH ROW EXECUTE FUNCTION warn()",
        )
        .await;
    let batch = [crate::desk::record(1, "T1 r2 assert 2026-01-05 -31")].into();
    assert_eq!(desk.process(token, Frontier(1), &batch).await, Event::Committed { tenure: TENURE });
}

/// A deferred refusal comes with COMMIT's own answer.
#[tokio::test]
async fn a_commit_that_is_answered_by_an_error_did_not_commit() {
    let database = Database::migrated().await;
    let mut desk = Desk::at(&database.url()).await;
    let (token, frontier) = desk.claim().await;
    let raise = |code: &str| {
        format!(
            "CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '{code}'; END $$;
             DROP TRIGGER IF EXISTS refuse ON amends.evidence;
             CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON amends.evidence
                DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse()"
        )
    };
    let batch = records(&["T1 r1 assert 2026-01-05 -30"]);
    for code in ["23514", "40001", "57014", "53100"] {
        database.sql(&raise(code)).await;
        let answer = desk.process(token, frontier, &batch).await;
        assert!(is_again(&answer), "{code}: {answer:?}");
    }
    // Classes that speak of a lost outcome are believed only with the status, which says aborted here.
    for code in ["08006", "40003", "57P01"] {
        database.sql(&raise(code)).await;
        let answer = desk.process(token, frontier, &batch).await;
        assert!(is_again(&answer), "{code}: {answer:?}");
    }
    assert_eq!(desk.observe().await, (Some(token), Some(frontier)));
}
