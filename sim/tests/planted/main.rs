//! Broken programs that each check must catch: at least two different ones for every check, and no check may fire on a
//! change that breaks nothing.
#![cfg(madsim)]
#![allow(
    clippy::wildcard_enum_match_arm,
    clippy::ptr_arg,
    reason = "a defect touches a few events and commands, and all of its kind have one signature"
)]

use amends_core::ids::{Frontier, Offset, Partition, Token};
use amends_core::lifecycle::Settings;
use amends_core::lifecycle::command::{CheckParts, Command, Range, Timer};
use amends_core::lifecycle::event::{Event, Failure, PollFailure, ProcessFailure};
use amends_core::lifecycle::stop::StopReason;
use amends_sim::checks::{ALL, Judges, Violation};
use amends_sim::faults::{Fault, Incident, Schedule};
use amends_sim::ground::Ground;
use amends_sim::life::Life;
use amends_sim::plant::{Defect, Memory, Sql};
use amends_sim::scenario::marked;
use amends_sim::truth::Truth;
use amends_sim::walk::Walk;
use amends_sim::world::World;

/// One test for each broken program, and which checks they are to be caught by.
macro_rules! planted {
    ($caught_by:path: $($name:ident: $check:literal by $defects:expr;)*) => {
        $(#[test]
        fn $name() {
            $caught_by($check, $defects);
        })*

        /// The checks that catch something here.
        pub const CAUGHT: &[&str] = &[$($check),*];
    };
}

mod aimed;
mod asks;
mod harmless;
mod hears;
mod rows;
mod runs;

use Defect::{Asks, Hears, Says, Starts};

/// So many worlds are tried before a defect counts as unseen.
const WORLDS: u64 = 1_000;

/// Lives drawn worlds with the defects in them until the check objects.
fn caught(check: &'static str, defects: &'static [Defect]) {
    caught_in(Schedule::draw, check, defects);
}

/// Lives worlds with the defects in them until the check, judging alone, objects; and the same world without them, in
/// which it must not.
fn caught_in(world: impl Fn(u64) -> Schedule, check: &'static str, defects: &'static [Defect]) {
    assert!(ALL.iter().any(|(name, _)| *name == check), "there is no check {check}");
    let live = |seed: u64, defects| {
        let (world, mut ground) = World::new(world(seed), true);
        ground.chronicle.let_judge(Judges::Only(check));
        let mut walk = Walk::planted(world, ground, defects);
        walk.live();
        walk
    };
    for seed in 0..WORLDS {
        if let Some(violation) = told(check, live(seed, defects).ground()) {
            let without = live(seed, &[]).ground().chronicle.broken().cloned();
            assert_eq!(without, None, "seed {seed}: it fires without the defect");
            println!("seed {seed}: {violation}");
            return;
        }
    }
    panic!("{check} did not see it in {WORLDS} worlds");
}

/// The violation of a world in which one check judged, if it objected; the trace names it, and its step.
fn told<'a>(check: &str, ground: &'a Ground) -> Option<&'a Violation> {
    let violation = ground.chronicle.broken()?;
    assert_eq!(violation.name, check);
    let told = format!("! {check} is broken at step {}", violation.step);
    assert!(ground.chronicle.trace().contains(&told), "the trace does not name invariant and step: {told}");
    Some(violation)
}

#[test]
fn every_check_has_two() {
    let caught = [CAUGHT, aimed::CAUGHT, rows::CAUGHT, runs::CAUGHT, runs::groups::CAUGHT].concat();
    let few = ALL.iter().map(|(name, _)| *name);
    let few = few.filter(|name| caught.iter().filter(|check| *check == name).count() < 2);
    assert_eq!(few.collect::<Vec<_>>(), Vec::<&str>::new(), "plant two defects for each of these");
}

planted! {
    caught:
    s01_a_lost_reply_is_applied_again: "S1" by &[Says(Sql::BelievesInFailure), Says(Sql::ComparesNoFrontier)];
    s01_a_committed_range_is_sent_once_more: "S1" by &[Asks(asks::sends_a_committed_range_again)];
    s01_effects_commit_without_their_frontier: "S1" by &[Says(Sql::KeepsTheFrontier)];
    s02_the_last_record_is_left_out: "S2" by &[Says(Sql::SkipsTheLast)];
    s02_the_first_record_is_left_out: "S2" by &[Asks(asks::begins_one_later)];
    s03_the_frontier_stops_one_short: "S3" by &[Says(Sql::StopsOneShort)];
    s03_a_range_begins_one_later: "S3" by &[Asks(asks::begins_one_later)];
    s03b_a_lost_commit_is_believed_in: "S3b" by &[Says(Sql::BelievesInSuccess)];
    s03b_the_row_is_one_short_of_what_was_told: "S3b" by &[Says(Sql::StopsOneShort)];
    s04_a_claim_raises_no_epoch: "S4" by &[Says(Sql::RaisesNoEpoch)];
    s04b_the_group_goes_on_at_once: "S4b" by &[Asks(asks::gives_up_the_assignment_at_once)];
    s04b_a_revoked_tenure_reads_once_more: "S4b" by &[Asks(asks::observes_after_the_end)];
    s05_the_token_is_not_compared: "S5" by &[Says(Sql::ComparesNoToken)];
    s05_the_row_is_read_without_its_lock: "S5" by &[Says(Sql::LocksNothing)];
    s06_the_frontier_is_not_compared: "S6" by &[Says(Sql::ComparesNoFrontier), Says(Sql::BelievesInFailure)];
    s06_another_frontier_is_expected: "S6" by &[Says(Sql::ComparesNoFrontier), Asks(asks::expects_one_less)];
    s07_a_lost_commit_is_tried_again: "S7" by &[Hears(hears::a_lost_commit_as_a_failure)];
    s07_a_lost_commit_is_believed_in: "S7" by &[Hears(hears::a_lost_commit_as_a_success)];
    s07_a_lost_claim_is_tried_again: "S7" by &[Hears(hears::a_lost_claim_as_a_failure)];
    s07b_a_read_is_believed_to_be_further: "S7b" by &[Hears(hears::an_observed_frontier_behind_the_range)];
    s07b_a_read_waits_for_nobody: "S7b" by &[Says(Sql::LocksNothing)];
    s08_a_later_epoch_is_made_up: "S8" by &[Asks(asks::decides_under_the_next_epoch)];
    s08_another_owners_token_is_taken_over: "S8" by &[Asks(asks::decides_under_the_rows_token)];
    s09_a_fence_is_tried_again: "S9" by &[Hears(hears::a_fence_as_a_failure)];
    s09_a_foreign_row_is_taken_for_ones_own: "S9" by &[Hears(hears::a_foreign_row_as_ones_own)];
    s09b_a_success_is_taken_for_a_fence: "S9b" by &[Hears(hears::a_success_as_a_fence)];
    s09b_an_idle_tenure_retires: "S9b" by &[Asks(asks::retires_when_idle)];
    s10_a_revocation_is_not_heard: "S10" by &[Hears(hears::no_revocation)];
    s11_a_retired_tenure_polls: "S11" by &[Asks(asks::polls_after_retiring)];
    s11_a_stopped_stream_checks: "S11" by &[Asks(asks::checks_after_the_stop)];
    s12_another_topic_is_taken_for_the_declared: "S12" by &[Hears(hears::the_declared_topic_always)];
    s12_records_are_decided_before_the_check: "S12" by &[Asks(asks::decides_before_the_check)];
    s13_an_assignment_begins_one_later: "S13" by &[Asks(asks::is_placed_one_later)];
    s13_a_seek_goes_one_further: "S13" by &[Asks(asks::seeks_one_further)];
    s14_a_decided_range_is_sent_again: "S14" by &[Asks(asks::sends_a_committed_range_again)];
    s14_a_retry_is_another_range: "S14" by &[Asks(asks::shortens_a_retry)];
    s15_the_frontier_moves_behind_the_tail: "S15" by &[Says(Sql::MovesBehindTheTail)];
    s15_the_frontier_moves_alone: "S15" by &[Says(Sql::DecidesNothing)];
    s16_the_frontier_moves_beyond_the_stable_end: "S16" by &[Says(Sql::MovesBehindTheTail)];
    s17_two_lanes_too_many: "S17" by &[Starts(more_lanes)];
    s17_a_decision_is_sent_twice: "S17" by &[Asks(asks::sends_a_decision_twice)];
    s18_no_wait_between_attempts: "S18" by &[Asks(asks::waits_for_nothing)];
    s18_a_budget_never_ends: "S18" by &[Hears(hears::no_end_of_a_budget)];
    s18_spent_attempts_are_called_a_spent_budget: "S18" by &[Asks(asks::calls_spent_attempts_a_spent_budget)];
    s18_a_spent_budget_is_called_spent_attempts: "S18" by &[Asks(asks::calls_a_spent_budget_spent_attempts)];
    s19_a_ticket_is_kept: "S19" by &[Asks(asks::keeps_its_tickets)];
    s19_a_ticket_comes_back_twice: "S19" by &[Asks(asks::gives_a_ticket_back_twice)];
    s19_the_group_goes_on_at_once: "S19" by &[Asks(asks::gives_up_the_assignment_at_once)];
    s21_a_lost_commit_is_called_acknowledged: "S21" by &[Says(Sql::BelievesInSuccess)];
    s21_a_lost_commit_is_called_failed: "S21" by &[Says(Sql::BelievesInFailure)];
    s22_an_aborted_record_is_decided: "S22" by &[Says(Sql::DecidesTheGap)];
    s22_a_gap_is_crossed_in_two_steps: "S22" by &[Says(Sql::StopsOneShort)];
    s23_a_record_is_passed_over: "S23" by &[Says(Sql::SkipsTheLast)];
    s23_a_refused_record_stops_the_stream: "S23" by
        &[Says(Sql::RefusesWhatFailed), Asks(asks::stops_at_a_refused_record)];
    s27_a_shutdown_waits_for_nobody: "S27" by &[Asks(asks::stops_at_once)];
    s27_an_unresolved_stop_is_called_orderly: "S27" by &[Asks(asks::calls_every_stop_orderly)];
    s28_commit_is_sent_before_the_lock_was_read: "S28" by &[Says(Sql::CommitsBeforeTheLock)];
    s28_a_decision_commits_by_itself: "S28" by &[Says(Sql::BeginsNothing)];
    s30_a_gap_is_believed_without_bounds: "S30" by &[Asks(asks::checks_identity_only)];
    s30_records_are_decided_before_the_check: "S30" by &[Asks(asks::decides_before_the_check)];
    s31_a_fenced_member_stays: "S31" by &[Asks(asks::never_rejoins)];
    s31_nobody_waits_for_a_rejoin: "S31" by &[Hears(hears::no_rejoin_due)];
    l01_nobody_polls: "L1" by &[Asks(asks::never_polls)];
    l01_records_are_thrown_away: "L1" by &[Hears(hears::an_empty_poll)];
    l02_nobody_claims: "L2" by &[Asks(asks::never_claims)];
    l02_an_assignment_is_not_heard: "L2" by &[Hears(hears::no_assignment)];
    l03_an_idle_owner_claims_again: "L3" by &[Asks(asks::claims_when_idle)];
    l04_another_topic_is_taken_for_the_declared: "L4" by &[Hears(hears::the_declared_topic_always)];
    l04_more_partitions_are_overlooked: "L4" by &[Hears(hears::as_many_partitions_as_declared)];
    l05_the_client_is_never_closed: "L5" by &[Asks(asks::never_closes)];
    l05_a_shutdown_is_not_heard: "L5" by &[Hears(hears::no_shutdown)];
    l07_a_poll_waits_for_nothing: "L7" by &[Asks(asks::polls_without_a_wait)];
    l07_every_idle_poll_checks: "L7" by &[Asks(asks::checks_when_idle), Hears(hears::its_own_checks_only)];
    l09_an_assignment_is_not_heard: "L9" by &[Hears(hears::no_assignment)];
    l09_a_fenced_member_stays: "L9" by &[Asks(asks::never_rejoins)];
}

fn more_lanes(settings: &mut Settings) {
    settings.lanes += 2;
}

/// A process's newest tenure of the partition that an event is about, as the truth has it.
fn of<'a>(truth: &'a Truth, who: Life, event: &Event) -> Option<&'a amends_sim::truth::Tenancy> {
    truth.tenancy(who, event.tenure()?)
}
