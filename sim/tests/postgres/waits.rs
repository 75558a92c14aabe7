//! Who waits for a row, for how long, and what ends it.

use std::time::Duration;

use amends_core::ids::Frontier;
use amends_core::lifecycle::command::Command;
use amends_core::lifecycle::event::{Event, Failure};
use amends_sim::faults::Fault;
use amends_sim::life::Life;
use madsim::time::{Instant, sleep};

use crate::desk::{CLAIM, Desk, OBSERVE, TENURE, World, records, world};

fn why(event: &Event) -> &str {
    match event {
        Event::ClaimFailed { failure: Failure::Again(why), .. }
        | Event::ObserveFailed { failure: Failure::Again(why), .. } => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_claim_waits_for_a_row_that_is_held() {
    world(20, false, async |world: World| {
        let mut desk = Desk::of(&world, 0).await;
        let began = Instant::now();
        world.befall(Fault::RowHeld, 2_500, 0);
        assert_eq!(desk.claim().await.0.epoch, 1);
        assert!(began.elapsed() > Duration::from_millis(2_500));
        assert!(world.has_struck(Fault::RowHeld));
    });
}

#[test]
fn a_row_that_is_held_for_too_long_is_given_up() {
    world(21, false, async |world: World| {
        let mut desk = Desk::of(&world, 0).await;
        world.befall(Fault::RowHeld, 60_000, 0);
        let began = Instant::now();
        let answer = desk.ask(&CLAIM).await;
        assert!(why(&answer).contains("55P03"), "{answer:?}");
        assert!((4_000..4_200).contains(&began.elapsed().as_millis()), "{:?}", began.elapsed());
        world.postgres.heal();
        assert_eq!(desk.claim().await.0.epoch, 1);
    });
}

#[test]
fn a_limit_that_nobody_set_ends_a_statement() {
    world(22, false, async |world: World| {
        world.order(Fault::StatementLimit, 1_000, 0);
        let mut desk = Desk::of(&world, 0).await;
        world.order(Fault::StatementLimit, 1_000, 0);
        world.befall(Fault::RowHeld, 60_000, 0);
        let answer = desk.ask(&OBSERVE).await;
        assert!(why(&answer).contains("57014"), "{answer:?}");
        assert!(world.has_struck(Fault::StatementLimit));
    });
}

#[test]
fn a_cancelled_claim_stops_waiting_and_holds_nothing() {
    world(23, false, async |world: World| {
        let mut desk = Desk::of(&world, 0).await;
        world.befall(Fault::RowHeld, 60_000, 0);
        let began = Instant::now();
        desk.tell(&CLAIM, None);
        sleep(Duration::from_secs(1)).await;
        desk.tell(&Command::Cancel { tenure: TENURE }, None);
        let answer = desk.answer().await;
        assert!(why(&answer).contains("57014"), "{answer:?}");
        assert!(began.elapsed() < Duration::from_millis(1_200), "{:?}", began.elapsed());
        world.postgres.heal();
        assert_eq!(desk.claim().await.0.epoch, 1);
    });
}

/// Those who wait are served in the order in which they came.
#[test]
fn the_first_who_asked_is_the_first_who_has_it() {
    world(24, false, async |world: World| {
        let mut desks = [Desk::of(&world, 0).await, Desk::of(&world, 1).await, Desk::of(&world, 2).await];
        world.befall(Fault::RowHeld, 2_000, 0);
        for desk in &mut desks {
            desk.tell(&CLAIM, None);
            sleep(Duration::from_millis(300)).await;
        }
        let mut epochs = Vec::new();
        for desk in &mut desks {
            match desk.answer().await {
                Event::Claimed { token, .. } => epochs.push(token.epoch),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(epochs, [1, 2, 3]);
    });
}

/// The transaction whose client fell silent is ended by the server, and its row is free then.
#[test]
fn an_idle_transaction_is_ended_by_the_server() {
    let ((), trace) = world(25, true, async |world: World| {
        let mut desk = Desk::of(&world, 0).await;
        let (token, frontier) = desk.claim().await;
        world.order(Fault::CommitLost, 0, 1);
        desk.tell(
            &crate::desk::process(token, frontier, &records(&["T1 r1 cancel"])),
            Some(records(&["T1 r1 cancel"])),
        );
        sleep(Duration::from_millis(500)).await;
        let began = Instant::now();
        let mut other = Desk::of(&world, 1).await;
        assert_eq!(other.observe().await, (Some(token), Some(Frontier(0))));
        assert!((1_000..2_200).contains(&began.elapsed().as_millis()), "{:?}", began.elapsed());
        assert!(matches!(desk.answer().await, Event::CommitUnknown { .. }));
    });
    assert!(trace.contains("is rolled back"), "{trace}");
}

/// Sessions that an administrator ends are found dead by whoever uses them next.
#[test]
fn a_terminated_session_costs_an_attempt() {
    world(26, false, async |world: World| {
        let mut desk = Desk::of(&world, 0).await;
        world.befall(Fault::RowHeld, 60_000, 0);
        desk.tell(&CLAIM, None);
        sleep(Duration::from_secs(1)).await;
        world.postgres.terminate(Life::first(0));
        let answer = desk.answer().await;
        assert!(why(&answer).contains("57P01"), "{answer:?}");
        world.postgres.heal();
        assert_eq!(desk.claim().await.0.epoch, 1);
    });
}
