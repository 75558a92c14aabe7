//! One story per rule of budgets, rebalances, refusals of data and ends; the name is the claim.

use amends_core::ids::{Offset, RebalanceId};
use amends_core::lifecycle::command::Timer;
use amends_core::lifecycle::event::{Event, Failure, ProbeSight, ProcessFailure};
use amends_core::source::boundary::{LogSpan, Sink, TopicSight};
use insta::assert_snapshot;

use crate::story::{Story, again, id, incarnation};

// Rule 8.

#[test]
fn an_operation_has_three_attempts() {
    let mut story = Story::processing();
    for wait in 1..=3 {
        story.process_failed("0#1", ProcessFailure::Attempt(again("40001"))).after(100).retry("0#1", wait);
    }
    assert_snapshot!(format!("{}\n{}", story.close(), story.trace()));
}

#[test]
fn a_refused_connect_is_no_attempt_and_the_budget_ends_it() {
    let mut story = Story::processing();
    for wait in 1..=6 {
        let failure = Failure::Unreached("connection refused".to_owned());
        story.process_failed("0#1", ProcessFailure::Attempt(failure)).after(200).retry("0#1", wait);
    }
    assert_eq!(story.stopped(), None);
    story.after(19_000).expired(Timer::Budget { tenure: id("0#1") });
    assert_snapshot!(story.trace());
}

// Rules 9 and 10.

#[test]
fn a_revocation_waits_for_the_decision_in_flight() {
    let mut story = Story::processing();
    story.revoked(2, &[0]).after(5).committed("0#1");
    assert_snapshot!(story.trace());
}

#[test]
fn a_revocation_waits_no_longer_than_the_budget() {
    let mut story = Story::processing();
    let rebalance = RebalanceId { member: 1, number: 2 };
    story.revoked(2, &[0]).after(20_000).expired(Timer::Rebalance { rebalance });
    assert_snapshot!(story.trace());
}

#[test]
fn a_revoked_claim_is_cancelled_and_answered_before_the_group_goes_on() {
    let mut story = Story::new(1);
    story.assigned(1, &[0]).checked(1).revoked(2, &[0]);
    story.event(Event::ClaimFailed { tenure: id("0#1"), failure: again("57014") });
    assert_snapshot!(story.trace());
}

#[test]
fn a_lost_partition_is_answered_at_once_and_its_statement_cancelled() {
    let mut story = Story::processing();
    story.lost(2).commit_unknown("0#1").assigned(3, &[0]).checked(4).claimed("0#2", 2, 3);
    assert_snapshot!(story.trace());
}

#[test]
fn an_assignment_over_a_living_tenure_ends_it_as_lost() {
    let mut story = Story::processing();
    story.assigned(2, &[0]).committed("0#1");
    assert_snapshot!(story.trace());
}

#[test]
fn rebalances_of_older_members_and_numbers_change_nothing() {
    let mut story = Story::polling(0);
    story.revoked(1, &[0]).lost(1);
    assert_snapshot!(story.trace());
}

#[test]
fn a_late_answer_changes_nothing_and_a_late_ticket_comes_straight_back() {
    let mut story = Story::polling(0);
    story.revoked(2, &[0]).polled("0#1", &[0]);
    assert_snapshot!(story.trace());
}

#[test]
fn a_revocation_in_a_drain_waits_for_the_read_that_settles() {
    let mut story = Story::processing();
    story.event(Event::ShutdownRequested).commit_unknown("0#1").revoked(2, &[0]).observed("0#1", 1, 3);
    assert_snapshot!(story.trace());
}

#[test]
fn a_budget_ends_when_records_are_thrown_away() {
    let mut story = Story::processing();
    // A stale record begins a budget, is thrown away, and then the lane is silent: the budget is over with it.
    story.committed("0#1").polled("0#1", &[1]);
    story
        .event(Event::Probed { tenure: id("0#1"), sight: ProbeSight::Tail(Offset(10)) })
        .checked(4)
        .sought("0#1");
    story.after(30_000).expired(Timer::Budget { tenure: id("0#1") }).poll_empty("0#1");
    assert_eq!(story.stopped(), None);
}

// Rule 11.

#[test]
fn aborted_records_move_the_frontier_with_the_next_visible_one() {
    let mut story = Story::polling(0);
    story.polled("0#1", &[0]).checked(3).committed("0#1").polled("0#1", &[4]).checked(4).committed("0#1");
    assert_snapshot!(story.trace());
}

// Rule 12.

#[test]
fn a_record_that_postgres_refuses_is_isolated_by_bisection() {
    let mut story = Story::polling(0);
    story.polled("0#1", &[0, 1, 3, 4]).checked(3);
    // Offset 3 is the one: the left half passes, then the right half is halved, then 3 is quarantined, then 4.
    story.refused("0#1").committed("0#1").refused("0#1").refused("0#1").committed("0#1").committed("0#1");
    assert_snapshot!(story.trace());
}

#[test]
fn a_refused_quarantine_stops() {
    let mut story = Story::polling(0);
    story.polled("0#1", &[0]).checked(3).refused("0#1").refused("0#1");
    assert_snapshot!(format!("{}\n{}", story.close(), story.trace()));
}

// Rule 13.

#[test]
fn a_shutdown_lets_the_decision_land_and_closes() {
    let mut story = Story::processing();
    story.event(Event::ShutdownRequested).after(5).committed("0#1");
    assert_snapshot!(format!("{}\n{}", story.close(), story.trace()));
}

#[test]
fn a_shutdown_reads_an_unknown_outcome_once_more() {
    let mut story = Story::processing();
    story.event(Event::ShutdownRequested).commit_unknown("0#1").observed("0#1", 1, 3);
    assert_snapshot!(format!("{}\n{}", story.close(), story.trace()));
}

#[test]
fn a_shutdown_that_cannot_read_the_outcome_is_unresolved() {
    let mut story = Story::processing();
    story.event(Event::ShutdownRequested).commit_unknown("0#1").observe_failed("0#1");
    assert_snapshot!(format!("{}\n{}", story.close(), story.trace()));
}

#[test]
fn a_late_read_of_an_older_tenure_resolves_nothing_younger() {
    let mut story = Story::processing();
    story.committed("0#1");
    for _ in 0..5 {
        story.after(1_000).poll_empty("0#1");
    }
    // 0#1 reads its row as an idle owner; the answer comes when 0#2 has left a decision unknown.
    story
        .checked(4)
        .lost(2)
        .assigned(3, &[0])
        .checked(5)
        .claimed("0#2", 2, 3)
        .observed("0#2", 2, 3)
        .checked(6);
    story.sought("0#2").polled("0#2", &[3]).checked(7).lost(4).commit_unknown("0#2");
    story.observed("0#1", 1, 3).event(Event::ShutdownRequested);
    assert_eq!(story.commands().iter().filter(|command| command.to_string() == "observe fresh").count(), 1);
}

#[test]
fn the_read_that_settles_is_cut_though_an_older_read_was() {
    let mut story = Story::processing();
    story.commit_unknown("0#1").revoked(2, &[0]).event(Event::ShutdownRequested).observe_failed("0#1");
    story.after(12_000).expired(Timer::Drain);
    assert_eq!(story.commands().iter().filter(|command| command.to_string() == "cancel").count(), 1);
}

#[test]
fn a_pause_drains_and_leaves_the_group() {
    let mut story = Story::polling(0);
    story.event(Event::PauseRequested);
    assert_snapshot!(format!("{}\n{}", story.close(), story.trace()));
}

#[test]
fn a_drain_that_hangs_is_cut_and_ends() {
    let mut story = Story::processing();
    story.event(Event::StopRequested).after(12_000).expired(Timer::Drain).after(3_000).expired(Timer::Drain);
    assert_snapshot!(format!("{}\n{}", story.close(), story.trace()));
}

// Section 2.

#[test]
fn an_answer_that_nobody_asked_for_stops_the_process() {
    let mut story = Story::polling(0);
    story.committed("0#1");
    assert_snapshot!(story.trace());
    assert!(story.stopped().is_some());
}

// The boundary, per sink.

#[test]
fn partitions_that_grew_are_refused_by_the_ledger_alone() {
    for (sink, is_refused) in [(Sink::Ledger, true), (Sink::Archive, false), (Sink::Workflow, false)] {
        let mut story = Story::with(1, sink, 1);
        story.source.topic = TopicSight::Known { incarnation: Some(incarnation(7)), partitions: 2 };
        story.assigned(1, &[0]).checked(1);
        assert_eq!(story.commands().iter().any(|c| c.to_string() == "close"), is_refused, "{sink:?}");
    }
}

#[test]
fn a_log_that_starts_above_the_frontier_is_refused_by_every_sink() {
    for sink in [Sink::Ledger, Sink::Archive, Sink::Workflow] {
        let mut story = Story::with(1, sink, 1);
        story.assigned(1, &[0]).checked(1).claimed("0#1", 1, 4).observed("0#1", 1, 4);
        story.source.bounds.logs = vec![Some(LogSpan { start: Offset(6), end: Offset(9) })];
        story.checked(2);
        assert_snapshot!(format!("start_above_frontier_{sink:?}"), story.close());
    }
}

#[test]
fn a_frontier_above_the_end_is_asked_again_and_then_refused() {
    let mut story = Story::new(1);
    story.assigned(1, &[0]).checked(1).claimed("0#1", 1, 12).observed("0#1", 1, 12);
    for (check, wait) in (2..).zip(1..=100) {
        story.checked(check).after(200).expired(Timer::CheckAgain { wait });
    }
    story.checked(102);
    assert_eq!(
        story.close(),
        "source refused: expected partition 0 to reach the stored frontier 12, its read-committed end is 10; \
         the worker stops, what is decided stays"
    );
}
