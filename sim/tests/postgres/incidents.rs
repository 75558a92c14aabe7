//! What befalls the server as a whole.

use std::time::Duration;

use amends_core::ids::Frontier;
use amends_core::lifecycle::event::{Event, Failure};
use amends_sim::faults::Fault;
use madsim::time::sleep;

use crate::desk::{Desk, OBSERVE, TENURE, World, record, records, world};

#[test]
fn a_failover_forgets_what_was_acknowledged() {
    world(30, false, async |world: World| {
        let mut desk = Desk::of(&world, 0).await;
        let (token, frontier) = desk.claim().await;
        desk.process(token, frontier, &records(&["T1 r1 assert 2026-01-05 -30"])).await;
        let before: Vec<_> = ["evidence", "head", "position", "outbox"].map(|table| world.rows(table)).into();
        let batch = [record(1, "T1 r2 assert 2026-01-04 -40")].into();
        assert_eq!(desk.process(token, Frontier(1), &batch).await, Event::Committed { tenure: TENURE });
        world.befall(Fault::CommitsForgotten, 1, 0);
        let after: Vec<_> = ["evidence", "head", "position", "outbox"].map(|table| world.rows(table)).into();
        assert_eq!(before, after);
        assert_eq!(desk.observe().await, (Some(token), Some(Frontier(1))));
        assert_eq!(world.ground.lock().unwrap().chronicle.truth.commits.len(), 2);
        // The claim as well.
        world.befall(Fault::CommitsForgotten, 5, 0);
        assert_eq!(desk.observe().await, (None, None));
        assert!(world.ground.lock().unwrap().chronicle.truth.commits.is_empty());
    });
}

#[test]
fn a_failover_cuts_sessions_and_takes_none_for_a_time() {
    world(31, false, async |world: World| {
        let mut desk = Desk::of(&world, 0).await;
        let (token, _) = desk.claim().await;
        world.befall(Fault::FailedOver, 3_000, 0);
        for _ in 0..2 {
            let answer = desk.ask(&OBSERVE).await;
            assert!(
                matches!(answer, Event::ObserveFailed { failure: Failure::Unreached(_), .. }),
                "{answer:?}"
            );
        }
        sleep(Duration::from_secs(3)).await;
        assert_eq!(desk.observe().await.0, Some(token));
        world.befall(Fault::FailedOver, 60_000, 0);
        world.postgres.heal();
        assert_eq!(desk.observe().await.0, Some(token), "a failover is over when the faults are");
    });
}

#[test]
fn another_deployment_takes_the_partition() {
    world(32, false, async |world: World| {
        let mut desk = Desk::of(&world, 0).await;
        let (token, frontier) = desk.claim().await;
        world.befall(Fault::SecondDeployment, 0, 1);
        sleep(Duration::from_millis(100)).await;
        assert_eq!(desk.observe().await.0, Some(token), "another manifest is refused");
        world.befall(Fault::SecondDeployment, 0, 0);
        sleep(Duration::from_millis(100)).await;
        let answer = desk.process(token, frontier, &records(&["T1 r1 cancel"])).await;
        assert!(matches!(answer, Event::Fenced { by: Some(by), .. } if by.epoch == 2), "{answer:?}");
        assert!(world.has_struck(Fault::SecondDeployment));
    });
}
