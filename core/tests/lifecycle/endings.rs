//! One story per rule of fences, budgets, rebalances, refusals of data and ends; the name is the claim.

use amends_core::ids::{Frontier, Offset, Partition, RebalanceId};
use amends_core::lifecycle::command::Timer;
use amends_core::lifecycle::event::{Event, Failure, ProbeSight, ProcessFailure};
use amends_core::source::boundary::{LogSpan, Sink, TopicSight};
use insta::assert_snapshot;

use crate::story::{Story, again, id, incarnation};

// Rule 7.

#[test]
fn a_fenced_member_rejoins_and_stops_contended_at_the_fifth_time() {
    let mut story = Story::new(1);
    for (round, check) in (1..=5).zip(1..) {
        let tenure = format!("0#{round}");
        story.event(Event::Assigned {
            rebalance: RebalanceId { member: round, number: 1 },
            partitions: vec![Partition(0)],
        });
        story.checked(check).claimed(&tenure, i64::from(round) * 2, 0).observed(
            &tenure,
            i64::from(round) * 2 + 1,
            0,
        );
        story.after(1_000 << (round - 1)).expired(Timer::Rejoin { wait: round });
    }
    assert_snapshot!(format!("{}\n{}", story.close(), story.trace()));
}

#[test]
fn a_decision_resets_the_count_of_fences() {
    let mut story = Story::new(1);
    for (round, check) in (1..=4_u32).zip(1..) {
        story.assigned(round, &[0]).checked(check);
        let tenure = format!("0#{round}");
        story.claimed(&tenure, 1, 0).observed(&tenure, 2, 0);
    }
    story.assigned(5, &[0]).checked(5).claimed("0#5", 3, 0).observed("0#5", 3, 0).checked(6).sought("0#5");
    story.polled("0#5", &[0]).checked(7).committed("0#5").polled("0#5", &[1]).checked(8).fenced("0#5", 4);
    // The first of a new count, so its wait is the shortest.
    assert!(story.says("wait rejoin 5 1000ms"));
}

#[test]
fn another_frontier_ends_the_tenure_like_another_token() {
    let mut story = Story::processing();
    story.event(Event::Moved { tenure: id("0#1"), frontier: Some(Frontier(2)) });
    assert!(story.says("retire") && story.says("wait rejoin 1 1000ms"));
}

/// 0#1 was fenced; 1#1 has a decision in flight when the member is to leave.
pub fn leaving() -> Story {
    let mut story = Story::with(2, Sink::Ledger, 2);
    story.assigned(1, &[0, 1]).checked(1).claimed("0#1", 1, 0).claimed("1#1", 1, 0);
    story.observed("0#1", 1, 0).observed("1#1", 1, 0).checked(2).sought("0#1").sought("1#1");
    story.polled("0#1", &[0]).polled("1#1", &[0]).checked(3).checked(4).fenced("0#1", 2);
    story.after(1_000).expired(Timer::Rejoin { wait: 1 });
    assert!(!story.says("rejoin 2"));
    story
}

#[test]
fn a_member_leaves_when_its_decisions_have_ended() {
    let mut story = leaving();
    story.committed("1#1");
    assert!(story.says("rejoin 2"));
}

#[test]
fn a_member_that_leaves_waits_no_longer_than_the_budget() {
    let mut story = leaving();
    story.after(20_000).expired(Timer::Leave { wait: 1 });
    assert!(story.says("1#1 cancel") && story.says("rejoin 2"));
}

#[test]
fn the_ten_minutes_of_contended_slide() {
    let mut story = Story::new(1);
    for (round, at) in (1_u32..).zip([0, 570, 580, 590, 605, 610]) {
        story.at(at * 1_000).event(Event::Assigned {
            rebalance: RebalanceId { member: 1, number: round },
            partitions: vec![Partition(0)],
        });
        let tenure = format!("0#{round}");
        story.checked(u64::from(round)).claimed(&tenure, 1, 0).observed(&tenure, 2, 0);
        // The fence at 0 s is too old when that at 605 s comes; five lie within ten minutes at 610 s.
        assert_eq!(story.commands().iter().any(|command| command.to_string() == "close"), at == 610, "{at}");
    }
}

#[test]
fn a_rebalance_cancels_a_pending_rejoin() {
    let mut story = Story::processing();
    story.fenced("0#1", 2).revoked(2, &[0]).after(1_000).expired(Timer::Rejoin { wait: 1 });
    assert_snapshot!(story.trace());
}

#[test]
fn an_idle_owner_reads_its_row_and_retires_when_a_failover_lost_it() {
    let mut story = Story::processing();
    story.committed("0#1");
    for _ in 0..5 {
        story.after(1_000).poll_empty("0#1");
    }
    story.observe_failed("0#1").after(1_000).poll_empty("0#1").observed("0#1", 1, 0);
    assert_snapshot!(story.trace());
}

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
    assert!(!story.is_ending());
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
    assert_eq!(story.counters().late_rebalances, 2);
}

#[test]
fn a_client_that_closes_has_answered_its_callbacks() {
    let mut story = Story::processing();
    story.event(Event::ShutdownRequested).commit_unknown("0#1").revoked(2, &[0]).observed("0#1", 1, 3);
    assert!(story.says("close"));
    story.after(20_000).expired(Timer::Rebalance { rebalance: RebalanceId { member: 1, number: 2 } });
    assert!(story.commands().is_empty());
    story.lost(3);
    assert!(story.commands().is_empty());
}

#[test]
fn a_late_answer_changes_nothing_and_a_late_ticket_comes_straight_back() {
    let mut story = Story::polling(0);
    story.revoked(2, &[0]).polled("0#1", &[0]);
    assert_snapshot!(story.trace());
    assert_eq!(story.counters().late_answers, 1);
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
    assert!(!story.is_ending());
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

#[test]
fn a_client_that_complains_while_it_is_dropped_changes_nothing() {
    let mut story = Story::polling(0);
    story.event(Event::ShutdownRequested);
    story.event(Event::ClientFailed { member: 1, why: "the group is gone".to_owned() });
    assert_eq!(story.close(), "shut down; nothing is in flight or unresolved");
}
