//! Defects that show in a situation to which a drawn world seldom comes.

use std::collections::BTreeMap;

use amends_sim::faults::{Knob, Pick};

use super::*;

/// A drawn world in which only one thing goes wrong, in its midst and to the first worker.
fn with(seed: u64, fault: Fault, severity: u64) -> Schedule {
    let mut schedule = Schedule::draw(seed);
    schedule.strikes.clear();
    let shape = &mut schedule.shape;
    (shape.workers, shape.records, shape.grows_every_ms) = (2, 4, 1_000);
    (shape.session_timeout_ms, shape.wild_ms) = (6_000, 20_000);
    schedule.incidents =
        vec![Incident { at_ms: 5_000, fault, severity, variant: 0, worker: 0, partition: 0 }];
    schedule
}

/// A log is cut below its frontier.
fn cut(seed: u64) -> Schedule {
    let mut schedule = with(seed, Fault::TruncatedBelow, 1);
    schedule.shape.grows_every_ms = 0;
    schedule
}

/// A failover forgets the last commit: a claim, where nothing was decided.
fn failover(seed: u64) -> Schedule {
    let mut schedule = with(seed, Fault::CommitsForgotten, 1);
    (schedule.shape.records, schedule.shape.grows_every_ms) = (0, 0);
    schedule
}

/// A process stands still for longer than the broker waits for it.
fn pause(seed: u64) -> Schedule {
    with(seed, Fault::Paused, 12_000)
}

/// One worker has one partition, and its decisions give way to other transactions: the first commit is its claim's.
fn aborts(seed: u64) -> Schedule {
    let mut schedule = alone(seed);
    (schedule.shape.partitions, schedule.shape.wild_ms) = (1, 20_000);
    let fault = Fault::TransactionAborted;
    let picks = (2..=4).map(|nth| Pick { fault, nth, severity: 1, variant: 0 }).collect();
    let knob = Knob { per_mille: 0, severity: (1, 1), variants: vec![0], picks: Some(picks) };
    schedule.strikes = BTreeMap::from([(fault, knob)]);
    schedule
}

/// One worker is alone, and nothing goes wrong.
fn alone(seed: u64) -> Schedule {
    let mut schedule = with(seed, Fault::Paused, 0);
    schedule.incidents.clear();
    (schedule.shape.workers, schedule.shape.wild_ms) = (1, 100);
    schedule
}

type Aim = (fn(u64) -> Schedule, &'static [Defect]);

fn caught(check: &'static str, (world, defects): Aim) {
    caught_in(world, check, defects);
}

planted! {
    caught:
    s04_a_claim_keeps_the_claim_id: "S4" by (failover, &[Says(Sql::DrawsNoClaimId)]);
    s10_a_loss_is_not_heard: "S10" by (pause, &[Hears(hears::no_loss)]);
    s16_a_frontier_above_the_end_is_not_seen: "S16" by
        (cut, &[Hears(hears::a_longer_log), Hears(hears::a_position_beyond_the_end_as_no_news)]);
    s16_a_frontier_above_the_end_is_sought: "S16" by (cut, &[Hears(hears::a_longer_log)]);
    s18_a_fourth_attempt: "S18" by (aborts, &[Asks(asks::tries_for_the_fourth_time)]);
    l03_ones_own_row_is_taken_for_a_foreign_one: "L3" by (alone, &[Hears(hears::ones_own_row_as_a_foreign_one)]);
    l06_a_fence_is_not_heard: "L6" by (pause, &[Hears(hears::no_fence)]);
    l06_a_fence_is_tried_again: "L6" by (pause, &[Hears(hears::a_fence_as_a_failure)]);
    l10_an_idle_owner_reads_nothing: "L10" by (failover, &[Asks(asks::never_observes_when_idle)]);
    l10_a_foreign_row_is_taken_for_ones_own: "L10" by (failover, &[Hears(hears::a_foreign_row_as_ones_own)]);
}
