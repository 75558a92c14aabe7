//! Thousands of small worlds of chance, each with its own idea of the truth.

use std::collections::BTreeMap;

use crate::world::World;

/// Faults strike for this long; then come 30 s to recover, 60 s under load, 20 s to fall silent and 20 s of silence.
const WILD_MS: u64 = 60_000;
const RECOVERED_MS: u64 = WILD_MS + 60_000;
const LOADED_MS: u64 = RECOVERED_MS + 30_000;
const SILENT_MS: u64 = LOADED_MS + 20_000;
const IDLE_MS: u64 = 20_000;

/// How many worlds; more by hand: `AMENDS_WORLDS=100000 cargo test -p amends-core --test lifecycle random`.
fn worlds() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "a test may be asked for more")]
    let asked = std::env::var("AMENDS_WORLDS").ok();
    asked.map_or(5_000, |worlds| worlds.parse().expect("AMENDS_WORLDS is a number"))
}

/// One world from its beginning to its stop.
fn live(world: &mut World) -> Result<(), String> {
    world.run(WILD_MS)?;
    world.calm();
    world.run(RECOVERED_MS)?;
    let ends = world.ends();
    world.run(LOADED_MS)?;
    if world.stopped.is_none() {
        // Whatever the neighbours do, a record is decided within half a minute.
        world.decided(&ends)?;
        world.is_growing = false;
        world.run(SILENT_MS)?;
        world.decided(&world.ends())?;
        world.counted.clear();
        world.run(SILENT_MS + IDLE_MS)?;
        world.idled(IDLE_MS)?;
        world.shut_down()?;
    }
    world.run(SILENT_MS + 3 * IDLE_MS)?;
    if world.stopped.is_none() { Err("it never stopped".to_owned()) } else { Ok(()) }
}

#[test]
fn no_order_of_events_breaks_an_invariant() {
    let mut reasons = BTreeMap::new();
    for seed in 0..worlds() {
        let mut world = World::new(seed, false);
        if live(&mut world).is_err() {
            let mut again = World::new(seed, true);
            let broken = live(&mut again).expect_err("the same world");
            let trace = again.trace.unwrap_or_default();
            let lines: Vec<&str> = trace.lines().collect();
            let tail = lines[lines.len().saturating_sub(60)..].join("\n");
            panic!("seed {seed}: {broken}\n{tail}");
        }
        *reasons.entry(world.stopped.as_ref().map_or("none", |reason| reason.code())).or_insert(0_u32) += 1;
    }
    // A world in which nothing happens shows nothing: each of these ends is seen.
    for reason in [
        "another-incarnation",
        "attempts-spent",
        "broken",
        "budget-spent",
        "paused",
        "seek-not-taken",
        "shutdown",
        "stopped",
        "unresolved",
    ] {
        assert!(reasons.get(reason).is_some_and(|worlds| *worlds >= 5), "{reason} is too rare: {reasons:?}");
    }
}
