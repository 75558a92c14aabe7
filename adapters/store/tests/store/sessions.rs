//! Sessions that wait, are cancelled, are ended, or lead to a server that will not do.

use std::time::{Duration, Instant};

use amends_core::ids::{Frontier, TenureId};
use amends_core::lifecycle::command::Command;
use amends_core::lifecycle::event::{Event, Failure, ProcessFailure};
use tokio_postgres::Client;

use crate::desk::{BUDGET_MS, Database, Desk, TENURE, process, records};
use crate::proxy::{Proxy, Then};

const CLAIM: Command = Command::Claim { tenure: TENURE, within_ms: BUDGET_MS };

/// A session that holds the row's lock until it is dropped.
async fn holding_the_row(database: &Database) -> Client {
    let client = database.client().await;
    client.batch_execute("BEGIN; SELECT 1 FROM amends.partition FOR UPDATE").await.unwrap();
    client
}

const BLOCKED: &str = "SELECT pid FROM pg_stat_activity
                        WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0";

#[tokio::test]
async fn a_wait_for_the_lock_ends_by_itself() {
    let database = Database::migrated().await;
    let mut desk = Desk::at(&database.url()).await;
    let holder = holding_the_row(&database).await;
    // The lock's own four seconds, and a budget that is shorter.
    for (within_ms, least, most) in [(BUDGET_MS, 3_900, 5_000), (700, 600, 1_500)] {
        let began = Instant::now();
        let answer = desk.ask(&Command::Claim { tenure: TENURE, within_ms }, None).await;
        let Event::ClaimFailed { failure: Failure::Again(why), .. } = &answer else { panic!("{answer:?}") };
        let took = began.elapsed();
        assert!(took >= Duration::from_millis(least) && took < Duration::from_millis(most), "{took:?} {why}");
    }
    drop(holder);
    assert_eq!(desk.claim().await.0.epoch, 1, "none of the lost claims landed");
}

#[tokio::test]
async fn a_cancelled_wait_is_answered_at_once_and_its_backend_is_gone() {
    let database = Database::migrated().await;
    let mut desk = Desk::at(&database.url()).await;
    let holder = holding_the_row(&database).await;
    desk.tell(&CLAIM, None);
    database.until(BLOCKED).await;
    let began = Instant::now();
    desk.tell(&Command::Cancel { tenure: TENURE }, None);
    let answer = desk.answer().await;
    // The connection alone would be given up half a second later.
    assert!(began.elapsed() < Duration::from_millis(450), "{:?}", began.elapsed());
    assert!(matches!(answer, Event::ClaimFailed { failure: Failure::Again(_), .. }), "{answer:?}");
    database.until(&format!("SELECT 1 WHERE NOT EXISTS ({BLOCKED})")).await;
    let left = database.rows("SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'amends test' AND wait_event_type = 'Lock'").await;
    assert!(left.is_empty());
    drop(holder);
    assert_eq!(desk.claim().await.0.epoch, 1);
    // Nothing in flight: nobody is hurt, and nobody answers.
    desk.tell(&Command::Cancel { tenure: TENURE }, None);
    desk.tell(&Command::Cancel { tenure: TenureId { number: 9, ..TENURE } }, None);
    assert_eq!(desk.claim().await.0.epoch, 2);
}

/// The server keeps silent: the client's own deadline is the last resort.
#[tokio::test]
async fn a_silent_server_is_given_up_by_how_far_the_attempt_had_come() {
    let database = Database::migrated().await;
    let proxy = Proxy::to(database.server()).await;
    let mut desk = Desk::at(&database.url_through(proxy.port)).await;
    let (token, frontier) = desk.claim().await;
    let batch = records(&["T1 r1 assert 2026-01-05 -30"]);
    for begins in ["INSERT INTO amends.evidence", "COMMIT"] {
        proxy.when(begins, Then::Freeze);
        let mut command = process(token, frontier, &batch);
        if let Command::Process { within_ms, .. } = &mut command {
            *within_ms = 1_000;
        }
        let began = Instant::now();
        let answer = desk.ask(&command, Some(batch.clone())).await;
        assert!(began.elapsed() < Duration::from_millis(1_500));
        match answer {
            Event::ProcessFailed { failure: ProcessFailure::Attempt(Failure::Again(why)), .. } => {
                assert_eq!(why, "could not commit orders/0#1 from 0 to 0: postgres did not answer in 1s");
                assert_ne!(begins, "COMMIT");
            }
            Event::CommitUnknown { .. } => assert_eq!(begins, "COMMIT"),
            other => panic!("{other:?}"),
        }
        for _ in 0..100 {
            if proxy.open() == 0 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(proxy.open(), 0, "a connection that was given up is cut, not waited for");
        assert_eq!(desk.observe().await, (Some(token), Some(frontier)));
    }
    assert_eq!(desk.process(token, frontier, &batch).await, Event::Committed { tenure: TENURE });
}

#[tokio::test]
async fn a_session_that_the_server_ends_is_an_outage() {
    let database = Database::migrated().await;
    let mut desk = Desk::at(&database.url()).await;
    let (token, frontier) = desk.claim().await;
    let batch = records(&["T1 r1 assert 2026-01-05 -30"]);

    let holder = holding_the_row(&database).await;
    desk.tell(&process(token, frontier, &batch), Some(batch.clone()));
    database.until(BLOCKED).await;
    database.sql(&format!("SELECT pg_terminate_backend(pid) FROM ({BLOCKED}) blocked")).await;
    let answer = desk.answer().await;
    let again =
        matches!(&answer, Event::ProcessFailed { failure: ProcessFailure::Attempt(Failure::Again(_)), .. });
    assert!(again, "{answer:?}");
    drop(holder);

    // Idle sessions that were ended are noticed before they are used.
    assert_eq!(desk.process(token, frontier, &batch).await, Event::Committed { tenure: TENURE });
    database
        .sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'amends test'")
        .await;
    let own = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'amends test'";
    database.until(&format!("SELECT 1 WHERE NOT EXISTS ({own})")).await;
    assert_eq!(desk.claim().await.1, Frontier(1));
}

#[tokio::test]
async fn a_read_only_server_is_an_outage_that_is_waited_for() {
    let database = Database::migrated().await;
    let mut desk = Desk::at(&database.url()).await;
    let name = database.rows("SELECT current_database()").await.remove(0);
    database.sql(&format!("ALTER DATABASE {name} SET default_transaction_read_only = on")).await;
    let answer = desk.ask(&CLAIM, None).await;
    // Nothing of the claim was sent: no attempt.
    let Event::ClaimFailed { failure: Failure::Unreached(why), .. } = &answer else { panic!("{answer:?}") };
    assert!(why.contains("the server is read-only"), "{why}");
    let observe = Command::Observe { tenure: TENURE, fresh: true, within_ms: BUDGET_MS };
    let answer = desk.ask(&observe, None).await;
    assert!(matches!(answer, Event::ObserveFailed { failure: Failure::Unreached(_), .. }), "{answer:?}");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_no_attempt() {
    let database = Database::migrated().await;
    let mut desk = Desk::at(&database.url()).await;
    let namespace = desk.namespace.clone();
    let manifest = crate::desk::manifest();
    // Nobody listens on port 1.
    let nowhere = crate::desk::store(&database.url_through(1));
    let mut lost = Desk::over(nowhere, namespace, manifest, 100);
    let answer = lost.ask(&CLAIM, None).await;
    let Event::ClaimFailed { failure: Failure::Unreached(why), .. } = &answer else { panic!("{answer:?}") };
    assert!(
        why.starts_with("could not claim orders/0#1: could not reach postgres at 127.0.0.1:1, "),
        "{why}"
    );
    assert!(!why.contains("amends-local-only"));
    assert_eq!(desk.claim().await.0.epoch, 1);
}

/// The role's or the database's own settings change nothing.
#[tokio::test]
async fn a_session_forces_its_settings() {
    let database = Database::migrated().await;
    let name = database.rows("SELECT current_database()").await.remove(0);
    let settings = [
        "synchronous_commit = off",
        "client_min_messages = error",
        "default_transaction_isolation = serializable",
        "search_path = nowhere",
        "statement_timeout = 200",
        "idle_session_timeout = 200",
    ];
    let own: Vec<_> = settings.iter().map(|setting| format!("ALTER DATABASE {name} SET {setting}")).collect();
    database
        .sql(&format!(
            "CREATE TABLE public.seen (setting text);
             CREATE FUNCTION public.look() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                INSERT INTO public.seen SELECT current_setting(s) FROM unnest('{{synchronous_commit,
                    client_min_messages, transaction_isolation, statement_timeout, lock_timeout,
                    idle_in_transaction_session_timeout, client_connection_check_interval}}'::text[]) s;
                RETURN NEW; END $$;
             CREATE TRIGGER look BEFORE UPDATE ON amends.partition FOR EACH ROW EXECUTE FUNCTION public.look();
             {}",
            own.join(";")
        ))
        .await;
    let mut desk = Desk::at(&database.url()).await;
    assert_eq!(desk.claim().await.0.epoch, 1);
    let backend = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'amends test'";
    database.until(&format!("SELECT 1 FROM ({backend}) own HAVING count(*) = 1")).await;
    let first = database.rows(backend).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(database.rows(backend).await, first, "an idle session of the pool was ended");
    let seen = database.rows("SELECT setting FROM public.seen").await;
    assert_eq!(seen, ["on", "warning", "read committed", "5s", "4s", "2s", "1s"]);

    // Each limit is the smaller of its own and the rest of the budget.
    database.sql("DELETE FROM public.seen").await;
    let answer = desk.ask(&Command::Claim { tenure: TENURE, within_ms: 3_500 }, None).await;
    assert!(matches!(answer, Event::Claimed { .. }), "{answer:?}");
    let seen = database.rows("SELECT setting FROM public.seen").await;
    assert_eq!(seen[3..6], ["3500ms", "3500ms", "2s"]);
}

/// Behind a pooler another server session may answer than the one that was set up.
#[tokio::test]
async fn a_pooler_in_between_is_refused() {
    let database = Database::migrated().await;
    let proxy = Proxy::to(database.server()).await;
    let mut desk = Desk::at(&database.url_through(proxy.port)).await;
    for statement in ["DISCARD ALL", "SELECT set_config('amends.session', gen_random_uuid()::text, false)"] {
        proxy.when("BEGIN", Then::SlipIn(statement));
        let answer = desk.ask(&CLAIM, None).await;
        let Event::ClaimFailed { failure: Failure::Broken(why), .. } = &answer else { panic!("{answer:?}") };
        assert!(why.contains("a pooler stands in between"), "{why}");
    }
    assert_eq!(desk.claim().await.0.epoch, 1);
}

/// What was sent is still answered: the server says what the cancel request came to.
#[tokio::test]
async fn a_cancelled_commit_tells_its_outcome() {
    let database = Database::migrated().await;
    let mut desk = Desk::at(&database.url()).await;
    let (token, frontier) = desk.claim().await;
    database
        .sql(
            "CREATE FUNCTION public.wait() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN PERFORM pg_catalog.pg_sleep(4); RETURN NULL; END $$;
             CREATE CONSTRAINT TRIGGER wait AFTER INSERT ON amends.evidence
                DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.wait()",
        )
        .await;
    let batch = records(&["T1 r1 assert 2026-01-05 -30"]);
    desk.tell(&process(token, frontier, &batch), Some(batch.clone()));
    database.until("SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep' AND query = 'COMMIT'").await;
    desk.tell(&Command::Cancel { tenure: TENURE }, None);
    let answer = desk.answer().await;
    let again =
        matches!(&answer, Event::ProcessFailed { failure: ProcessFailure::Attempt(Failure::Again(_)), .. });
    assert!(again, "{answer:?}");
    assert_eq!(desk.observe().await, (Some(token), Some(frontier)));
}
