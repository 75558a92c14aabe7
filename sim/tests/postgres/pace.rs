//! That the same seed is the same world, and how many worlds a second there are.

use std::time::Instant;

use amends_core::ids::Frontier;
use amends_core::lifecycle::event::Event;
use amends_sim::faults::Fault;

use crate::desk::{Desk, TENURE, World, record, world};

/// A namespace, a claim, an observation and ten decisions.
async fn twelve(world: World) {
    let mut desk = Desk::of(&world, 0).await;
    let (token, _) = desk.claim().await;
    desk.observe().await;
    for offset in 0..10 {
        let batch = [record(offset, &format!("T{offset} r1 assert 2026-01-05 -3"))].into();
        let answer = desk.process(token, Frontier(offset), &batch).await;
        assert_eq!(answer, Event::Committed { tenure: TENURE });
    }
    desk.close();
}

async fn with_faults(world: World) {
    let (mut one, mut two) = (Desk::of(&world, 0).await, Desk::of(&world, 1).await);
    for (fault, severity) in
        [(Fault::CommitReplyLost, 100), (Fault::CommitLate, 700), (Fault::ObserveFails, 1)]
    {
        world.order(fault, severity, 0);
        let (token, frontier) = one.claim().await;
        let batch = [record(frontier.0, "T1 r1 assert 2026-01-05 -3")].into();
        one.process(token, frontier, &batch).await;
        two.claim().await;
        two.ask(&crate::desk::OBSERVE).await;
    }
}

#[test]
fn the_same_seed_is_the_same_world() {
    let trace = |seed| world(seed, true, with_faults).1;
    let first = trace(50);
    assert!(first.lines().count() > 40, "{first}");
    assert_eq!(first, trace(50));
    assert_ne!(first, trace(51));
}

/// Prints a figure and asserts none: a rate is a property of the machine.
#[test]
fn worlds_a_second() {
    let began = Instant::now();
    let worlds = 50;
    for seed in 0..worlds {
        world(seed, false, twelve);
    }
    let rate = f64::from(u32::try_from(worlds).unwrap()) / began.elapsed().as_secs_f64();
    println!("{rate:.0} worlds of twelve transactions a second");
}
