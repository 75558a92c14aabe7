//! A world is the same whenever it is lived: from its seed, from its schedule as JSON, and from the decisions that were
//! made in it; and a fault that is taken out moves no other.
#![cfg(madsim)]
#![allow(clippy::unwrap_used, reason = "a test may fall over where it was written wrongly")]

use std::sync::Arc;

use amends_sim::faults::{Fault, Faults, Place, Schedule};
use amends_sim::run::{Lived, Stage, Tier, difference, live};
use amends_sim::scenario::marked;

fn lived(tier: Tier, schedule: Schedule) -> Lived {
    live(tier, Stage::Drawn(schedule), true).unwrap()
}

fn is_same(tier: Tier, seed: u64, one: &Lived, other: &Lived) {
    assert!(one.trace.lines().count() > 3, "tier {tier}, seed {seed}: nothing happened");
    if let Some(why) = difference(&one.trace, &other.trace) {
        panic!("tier {tier}, seed {seed}: {why}");
    }
}

/// A few worlds of tier B, more of tier A, with those that begin at a mark among them.
fn worlds() -> impl Iterator<Item = (Tier, u64)> {
    (0..200).map(|seed| (Tier::A, seed)).chain((0..40).map(|seed| (Tier::B, seed)))
}

#[test]
fn a_seed_is_one_world() {
    for (tier, seed) in worlds() {
        is_same(tier, seed, &lived(tier, marked::draw(seed)), &lived(tier, marked::draw(seed)));
    }
}

#[test]
fn a_schedule_is_one_world_also_when_it_was_written_down() {
    for (tier, seed) in worlds() {
        let drawn = marked::draw(seed);
        let text = serde_json::to_string(&drawn).unwrap();
        let read: Schedule = serde_json::from_str(&text).unwrap();
        assert_eq!(read, drawn);
        is_same(tier, seed, &lived(tier, drawn), &lived(tier, read));
    }
}

#[test]
fn the_decisions_of_a_world_are_all_that_its_rates_were_for() {
    let mut struck = 0;
    for (tier, seed) in worlds() {
        let mut schedule = marked::draw(seed);
        let first = lived(tier, schedule.clone());
        struck += first.picks.len();
        for (fault, knob) in &mut schedule.strikes {
            let picks = first.picks.iter().filter(|pick| pick.fault == *fault).copied();
            (knob.per_mille, knob.picks) = (0, Some(picks.collect()));
        }
        is_same(tier, seed, &first, &lived(tier, schedule));
    }
    assert!(struck > 1_000, "only {struck} decisions were replayed");
}

#[test]
fn a_fault_that_is_taken_out_moves_no_other() {
    let decisions = |schedule: &Schedule, asked: Fault| -> Vec<_> {
        let mut faults = Faults::new(Arc::new(schedule.clone()));
        let all: Vec<Fault> = schedule.strikes.keys().copied().collect();
        let mut decided = Vec::new();
        for _ in 0..50 {
            for fault in &all {
                let strike = faults.strike(*fault, Place::default());
                if *fault == asked {
                    decided.push(strike);
                }
            }
        }
        decided
    };
    for seed in 0..50 {
        let whole = Schedule::draw(seed);
        let faults: Vec<Fault> = whole.strikes.keys().copied().collect();
        for (out, kept) in faults.iter().zip(faults.iter().skip(1)) {
            let mut less = whole.clone();
            less.strikes.remove(out);
            assert_eq!(
                decisions(&whole, *kept),
                decisions(&less, *kept),
                "seed {seed}: {kept:?} without {out:?}"
            );
        }
    }
}
