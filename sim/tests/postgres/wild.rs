//! Worlds in which everything goes wrong that can, and then nothing does.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use amends_core::ids::{Frontier, Token};
use amends_core::lifecycle::event::Event;
use amends_sim::faults::{Faults, Schedule};
use madsim::time::sleep;

use crate::desk::{CLAIM, Desk, OBSERVE, TENURE, World, record, world};

/// Claims, decides and observes for a while, whatever is answered; tells how often the server said yes.
async fn work(mut desk: Desk) -> u32 {
    let mut position: Option<(Token, Frontier)> = None;
    let mut acknowledged = 0;
    for round in 0..12 {
        let Some((token, frontier)) = position else {
            if let Event::Claimed { token, frontier, .. } = desk.ask(&CLAIM).await {
                position = Some((token, frontier));
            }
            continue;
        };
        let batch = [record(frontier.0, &format!("T{round} r1 assert 2026-01-05 -1"))].into();
        position = match desk.process(token, frontier, &batch).await {
            Event::Committed { .. } => {
                acknowledged += 1;
                Some((token, Frontier(frontier.0 + 1)))
            }
            Event::ProcessFailed { .. } => position,
            _ => match desk.ask(&OBSERVE).await {
                Event::Observed { token: Some(seen), frontier: Some(frontier), .. } if seen == token => {
                    Some((token, frontier))
                }
                _ => None,
            },
        };
    }
    acknowledged
}

/// Two workers under all faults of a seed, then one under none.
async fn wild(world: World) -> u32 {
    let schedule = Schedule::draw(world.seed);
    let (one, two) = (Desk::of(&world, 0).await, Desk::of(&world, 1).await);
    world.ground.lock().unwrap().faults = Faults::new(Arc::new(schedule.clone()));
    let other = madsim::task::spawn(work(two));
    let incidents = world.clone();
    madsim::task::spawn(async move {
        for incident in schedule.incidents {
            let after = incident.at_ms.saturating_sub(incidents.postgres.now_ms());
            sleep(Duration::from_millis(after)).await;
            if !incidents.ground.lock().unwrap().faults.is_wild() {
                return;
            }
            incidents.postgres.strike(&incident);
        }
    });
    let acknowledged = work(one).await + other.await.unwrap();
    world.ground.lock().unwrap().faults.heal();
    world.postgres.heal();

    // A session that was cut without a word is found out at its next use only.
    let mut desk = Desk::of(&world, 0).await;
    let (token, frontier) = desk.claim().await;
    let batch = [record(frontier.0, "T99 r1 assert 2026-01-05 -1")].into();
    assert_eq!(desk.process(token, frontier, &batch).await, Event::Committed { tenure: TENURE });
    let evidence = world.rows("evidence").len();
    assert_eq!(i64::try_from(evidence).unwrap(), frontier.0 + 1, "each record below the frontier is decided");
    assert_eq!(desk.observe().await, (Some(token), Some(Frontier(frontier.0 + 1))));
    acknowledged
}

#[test]
fn after_all_faults_work_goes_on() {
    let (mut acknowledged, mut struck) = (0, BTreeSet::new());
    for seed in 100..160 {
        let ((said_yes, faults), _) = world(seed, false, async |world: World| {
            let said_yes = wild(world.clone()).await;
            let faults: Vec<_> =
                world.ground.lock().unwrap().chronicle.truth.struck.keys().copied().collect();
            (said_yes, faults)
        });
        acknowledged += said_yes;
        struck.extend(faults);
    }
    assert!(acknowledged > 100, "{acknowledged}");
    assert!(struck.len() >= 15, "{} faults struck: {struck:?}", struck.len());
}

#[test]
fn a_wild_world_is_the_same_twice() {
    for seed in 200..210 {
        let trace = || world(seed, true, wild).1;
        assert_eq!(trace(), trace());
    }
}
