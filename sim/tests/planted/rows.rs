//! Statements that write something else: what stands in the rows, tier B alone knows.

use std::thread;

use amends_sim::faults::Scheduler;
use amends_sim::member::Member;

use super::*;

/// So many worlds are tried: rows are written in each.
const WORLDS: u64 = 5;

/// One worker decides a few records at a time, and nothing else goes wrong.
fn calm(seed: u64) -> Schedule {
    let mut schedule = Schedule::draw(seed);
    schedule.strikes.clear();
    schedule.incidents.clear();
    schedule.scheduler = Scheduler::Uniform;
    let shape = &mut schedule.shape;
    (shape.partitions, shape.workers, shape.records, shape.batch_records) = (1, 1, 12, 3);
    (shape.grows_every_ms, shape.wild_ms) = (0, 2_000);
    schedule
}

/// As in tier A. Each world is the first of its thread.
fn caught(check: &'static str, defects: &'static [Sql]) {
    let live = |seed, defects| {
        let world = thread::spawn(move || {
            let (world, mut ground) = World::new(calm(seed), true);
            ground.chronicle.let_judge(Judges::Only(check));
            Member::live_planted(world, ground, defects).with(|_, ground| told(check, ground).cloned())
        });
        world.join().unwrap_or_else(|_| panic!("seed {seed}: the simulator fell over"))
    };
    let caught = (0..WORLDS).find_map(|seed| Some((seed, live(seed, defects)?)));
    let Some((seed, violation)) = caught else { panic!("{check} did not see it in {WORLDS} worlds") };
    assert_eq!(live(seed, &[]), None, "seed {seed}: it fires without the defect");
    println!("seed {seed}: {violation}");
}

planted! {
    caught:
    s20_the_frontier_stays: "S20" by &[Sql::KeepsTheFrontier];
    s20_the_frontier_moves_alone: "S20" by &[Sql::DecidesNothing];
    s20_a_position_is_left_as_it_was: "S20" by &[Sql::UpdatesNoPosition];
    s26_a_version_is_given_twice: "S26" by &[Sql::UpdatesNoPosition];
    s26_a_version_is_left_out: "S26" by &[Sql::RaisesTheVersionAgain];
    s32_all_records_are_called_applied: "S32" by &[Sql::WritesOneCode];
    s32_an_envelope_is_left_out: "S32" by &[Sql::LeavesOutAnEnvelope];
    s32_a_position_is_left_as_it_was: "S32" by &[Sql::UpdatesNoPosition];
}
