//! One story per rule; the name is the claim.

use amends_core::ids::Offset;
use amends_core::lifecycle::command::{CheckId, CheckParts, Timer};
use amends_core::lifecycle::event::{Event, PollFailure, ProbeSight, ProcessFailure};
use amends_core::source::boundary::{Sink, TopicSight};
use insta::assert_snapshot;

use crate::story::{Story, again, id, incarnation};

#[test]
fn happy_path_checks_claims_reads_back_seeks_and_decides() {
    let mut story = Story::processing();
    story.after(4).committed("0#1").after(1_000).poll_empty("0#1");
    assert_snapshot!(story.trace());
}

// Rule 1.

#[test]
fn a_check_counts_only_for_polls_before_its_request() {
    let mut story = Story::with(2, Sink::Ledger, 2);
    story.assigned(1, &[0, 1]).checked(1).claimed("0#1", 1, 0).claimed("1#1", 1, 0);
    story.observed("0#1", 1, 0).observed("1#1", 1, 0).checked(2);
    story.sought("0#1").sought("1#1").polled("0#1", &[0]);
    // The request for 0#1 is out; the poll of 1#1 comes after it and needs the next one.
    story.polled("1#1", &[0]).checked(3);
    assert_eq!(story.last_check(), Some(CheckParts::Identity));
    story.checked_identity(4);
    assert_snapshot!(story.trace());
}

#[test]
fn a_gap_needs_bounds_and_fresh_bounds_serve_the_rest() {
    let mut story = Story::polling(0);
    story.polled("0#1", &[0, 1]);
    assert_eq!(story.last_check(), Some(CheckParts::Identity));
    story.checked_identity(3).committed("0#1").polled("0#1", &[4]);
    assert_eq!(story.last_check(), Some(CheckParts::Bounds));
    story.checked(4).committed("0#1").after(1_001).polled("0#1", &[5]);
    assert_eq!(story.last_check(), Some(CheckParts::Bounds));
}

#[test]
fn a_recreated_topic_is_refused_at_once() {
    let mut story = Story::polling(0);
    story.source.topic = TopicSight::Known { incarnation: Some(incarnation(8)), partitions: 1 };
    story.polled("0#1", &[0]).checked(3);
    assert_snapshot!(format!("{}\n{}", story.close(), story.trace()));
}

#[test]
fn a_missing_topic_is_asked_again_until_the_budget_ends() {
    let mut story = Story::new(1);
    story.source.topic = TopicSight::Unknown;
    story.assigned(1, &[0]).checked(1).after(200).expired(Timer::CheckAgain { wait: 1 }).checked(2);
    story.after(19_800).expired(Timer::Budget { tenure: id("0#1") });
    assert_snapshot!(format!("{}\n{}", story.close(), story.trace()));
}

#[test]
fn a_broker_without_topic_ids_is_refused_when_the_budget_ends() {
    let mut story = Story::new(1);
    story.source.topic = TopicSight::Known { incarnation: None, partitions: 1 };
    story.assigned(1, &[0]).checked(1).after(20_000).expired(Timer::Budget { tenure: id("0#1") });
    assert_snapshot!(story.close());
}

#[test]
fn a_partition_without_a_leader_is_asked_again() {
    let mut story = Story::new(1);
    let log = std::mem::take(&mut story.source.bounds.logs);
    story.source.bounds.logs = vec![None];
    story.assigned(1, &[0]).checked(1);
    story.source.bounds.logs = log;
    story.after(200).expired(Timer::CheckAgain { wait: 1 }).checked(2);
    assert_snapshot!(story.trace());
}

#[test]
fn a_background_check_that_fails_is_repeated_and_never_stops() {
    let mut story = Story::polling(0);
    for check in 3..7 {
        story.after(1_000).poll_empty("0#1");
        story.event(Event::CheckFailed {
            check: CheckId(check),
            failure: again("the broker did not answer in 5s"),
        });
    }
    assert!(!story.is_ending());
}

#[test]
fn an_awaited_check_fails_three_times_and_stops() {
    let mut story = Story::new(1);
    story.assigned(1, &[0]);
    for (check, wait) in [(1, 1), (2, 2), (3, 3)] {
        story.event(Event::CheckFailed {
            check: CheckId(check),
            failure: again("the broker did not answer in 5s"),
        });
        story.after(100).expired(Timer::CheckAgain { wait });
    }
    assert_snapshot!(format!("{}\n{}", story.close(), story.trace()));
}

#[test]
fn an_answer_ends_the_count_of_failed_checks_also_when_it_must_be_asked_again() {
    let mut story = Story::new(1);
    story.source.bounds.logs = vec![None];
    story.assigned(1, &[0]);
    for (check, wait) in [(1, 1), (2, 2), (4, 4), (5, 5)] {
        story.event(Event::CheckFailed {
            check: CheckId(check),
            failure: again("the broker did not answer in 5s"),
        });
        story.after(200).expired(Timer::CheckAgain { wait });
        if check == 2 {
            story.checked(3).after(200).expired(Timer::CheckAgain { wait: 3 });
        }
    }
    assert!(!story.is_ending());
}

#[test]
fn an_idle_source_is_checked_every_five_seconds() {
    let mut story = Story::polling(0);
    story.event(Event::PollFailed { tenure: id("0#1"), failure: PollFailure::Again("no broker".to_owned()) });
    story.after(4_998).expired(Timer::CheckDue).after(5).expired(Timer::CheckDue);
    assert_snapshot!(story.trace());
}

// Rule 2.

#[test]
fn a_claim_is_kept_only_when_the_row_shows_its_own_token() {
    let mut story = Story::new(1);
    story.assigned(1, &[0]).checked(1).claimed("0#1", 4, 0).observed("0#1", 5, 0);
    assert_snapshot!(story.trace());
}

// Rule 3.

#[test]
fn a_planted_group_offset_is_probed_and_the_lane_seeks_afresh() {
    let mut story = Story::polling(1);
    story.polled("0#1", &[5]);
    story.event(Event::Probed { tenure: id("0#1"), sight: ProbeSight::Record(Offset(1)) }).checked(3);
    story.sought("0#1").polled("0#1", &[1, 2, 3, 4, 5]).checked(4);
    assert_snapshot!(story.trace());
}

#[test]
fn a_gap_before_the_first_record_is_believed_after_a_probe_that_agrees() {
    let mut story = Story::polling(1);
    story.polled("0#1", &[5]);
    story.event(Event::Probed { tenure: id("0#1"), sight: ProbeSight::Record(Offset(5)) }).checked(3);
    story.sought("0#1").polled("0#1", &[5]);
    assert_eq!(story.last_check(), Some(CheckParts::Bounds));
    story.checked(4);
    assert_snapshot!(story.trace());
}

#[test]
fn an_empty_first_poll_below_the_end_is_probed() {
    let mut story = Story::polling(1);
    story.after(1_000).poll_empty("0#1").checked(3).after(1_000).poll_empty("0#1");
    assert_snapshot!(story.trace());
}

#[test]
fn a_control_tail_is_left_alone_and_the_record_after_it_probed() {
    let mut story = Story::polling(8);
    story.after(1_000).poll_empty("0#1").checked(3).after(1_000).poll_empty("0#1");
    story
        .event(Event::Probed { tenure: id("0#1"), sight: ProbeSight::Tail(Offset(10)) })
        .checked(4)
        .sought("0#1");
    for check in 5..7 {
        story.after(1_000).poll_empty("0#1").checked(check);
    }
    story.polled("0#1", &[10]);
    story.event(Event::Probed { tenure: id("0#1"), sight: ProbeSight::Record(Offset(10)) });
    assert_snapshot!(story.trace());
}

#[test]
fn a_seek_that_never_takes_stops_after_three() {
    let mut story = Story::polling(1);
    story.polled("0#1", &[5]);
    story.event(Event::Probed { tenure: id("0#1"), sight: ProbeSight::Record(Offset(1)) });
    for check in 3..6 {
        story.checked(check).sought("0#1").polled("0#1", &[5]);
    }
    assert_snapshot!(format!("{}\n{}", story.close(), story.trace()));
}

#[test]
fn a_record_that_the_probe_saw_and_that_never_comes_is_sought_again() {
    let mut story = Story::polling(1);
    story
        .polled("0#1", &[5])
        .event(Event::Probed { tenure: id("0#1"), sight: ProbeSight::Record(Offset(1)) });
    story.checked(3).sought("0#1");
    for _ in 0..4 {
        story.after(100).poll_empty("0#1");
        assert!(story.says("poll"));
    }
    story.after(100).poll_empty("0#1");
    assert!(story.says("check 4 bounds") && !story.says("poll"));
}

#[test]
fn a_position_outside_of_the_log_is_probed() {
    let mut story = Story::polling(1);
    let failure = PollFailure::Reset("offset 99 is out of range".to_owned());
    story.event(Event::PollFailed { tenure: id("0#1"), failure });
    assert_snapshot!(story.trace());
}

#[test]
fn records_below_the_frontier_are_thrown_away_and_probed() {
    let mut story = Story::processing();
    story.committed("0#1").polled("0#1", &[1, 2, 3]);
    assert_snapshot!(story.trace());
}

#[test]
fn one_assign_per_assigned_also_an_empty_one() {
    let mut story = Story::new(2);
    story.assigned(1, &[]);
    story.assigned(2, &[0, 1]).checked(1).claimed("0#1", 1, 0).observed("0#1", 1, 0);
    // 1#1 is fenced before it is placed: the assignment is given without it, and the member rejoins.
    story.claimed("1#1", 1, 0).observed("1#1", 2, 0).checked(2);
    assert_snapshot!(story.trace());
}

#[test]
fn an_idle_neighbour_does_not_keep_an_empty_lane_from_its_probe() {
    let mut story = Story::with(2, Sink::Ledger, 2);
    story.assigned(1, &[0, 1]).checked(1).claimed("0#1", 1, 0).claimed("1#1", 1, 0);
    story.observed("0#1", 1, 0).observed("1#1", 1, 0).checked(2).sought("0#1").sought("1#1");
    story.polled("0#1", &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]).checked_identity(3).committed("0#1");
    // The seek of 1#1 landed at the end. Its neighbour polls first, every second, and takes each idle check.
    for check in 4..6 {
        story.after(1_000).poll_empty("0#1").after(1).poll_empty("1#1").checked(check);
    }
    story.after(1_000).poll_empty("1#1");
    assert_snapshot!(story.trace());
}

#[test]
fn a_check_of_identity_does_not_serve_an_empty_lane() {
    let mut story = Story::with(2, Sink::Ledger, 2);
    story.assigned(1, &[0, 1]).checked(1).claimed("0#1", 1, 0).claimed("1#1", 1, 0);
    story.observed("0#1", 1, 0).observed("1#1", 1, 0).checked(2).sought("0#1").sought("1#1");
    // The bounds that are known came before the empty poll, so they prove nothing against it.
    story.poll_empty("1#1").polled("0#1", &[0]).checked_identity(3).poll_empty("1#1");
    assert!(story.commands().iter().all(|command| !command.to_string().starts_with("probe")));
}

#[test]
fn records_out_of_order_are_thrown_away() {
    let mut story = Story::polling(0);
    story.polled("0#1", &[0, 2, 1]);
    assert!(story.commands().iter().any(|command| command.to_string() == "probe 0"));
}

#[test]
fn a_seek_that_failed_is_checked_again_before_the_next() {
    let mut story = Story::new(1);
    story.assigned(1, &[0]).checked(1).claimed("0#1", 1, 0).observed("0#1", 1, 0).checked(2);
    story.event(Event::SeekFailed { tenure: id("0#1"), failure: again("erroneous state") });
    story.after(100).retry("0#1", 1).checked(3);
    assert_snapshot!(story.trace());
}

// Rule 4.

#[test]
fn lanes_bound_the_decisions_side_by_side() {
    let mut story = Story::with(2, Sink::Ledger, 1);
    story.assigned(1, &[0, 1]).checked(1).claimed("0#1", 1, 0).claimed("1#1", 1, 0);
    story.observed("0#1", 1, 0).observed("1#1", 1, 0).checked(2);
    story.sought("0#1").sought("1#1").polled("0#1", &[0]).polled("1#1", &[0]).checked(3).checked(4);
    story.committed("0#1");
    assert_snapshot!(story.trace());
}

#[test]
fn a_tenure_that_ends_in_the_queue_takes_no_lane_with_it() {
    let mut story = Story::with(2, Sink::Ledger, 1);
    story.assigned(1, &[0, 1]).checked(1).claimed("0#1", 1, 0).claimed("1#1", 1, 0);
    story.observed("0#1", 1, 0).observed("1#1", 1, 0).checked(2).sought("0#1").sought("1#1");
    story.polled("0#1", &[0]).polled("1#1", &[0]).checked(3).checked(4);
    story.lost(2).process_failed("0#1", ProcessFailure::Attempt(again("57014")));
    story.assigned(3, &[0]).checked(5).claimed("0#2", 2, 0).observed("0#2", 2, 0).checked(6).sought("0#2");
    story.polled("0#2", &[0]).checked(7);
    assert!(story.says("process 0-0"));
}

#[test]
fn a_range_that_touches_too_many_rows_is_given_in_parts() {
    let mut story = Story::processing();
    story.process_failed("0#1", ProcessFailure::TooLarge { fit: 2 }).committed("0#1").committed("0#1");
    assert_snapshot!(story.trace());
}

// Rule 5.

#[test]
fn an_unknown_commit_that_committed_is_not_applied_again() {
    let mut story = Story::processing();
    story.commit_unknown("0#1").observed("0#1", 1, 3);
    assert_snapshot!(story.trace());
}

#[test]
fn an_unknown_commit_that_did_not_commit_is_tried_again() {
    let mut story = Story::processing();
    story.commit_unknown("0#1").observed("0#1", 1, 0).after(100).retry("0#1", 1).committed("0#1");
    assert_snapshot!(story.trace());
}

#[test]
fn an_unknown_commit_under_another_token_retires() {
    let mut story = Story::processing();
    story.commit_unknown("0#1").observed("0#1", 2, 3);
    assert_snapshot!(story.trace());
}

#[test]
fn an_unknown_commit_at_another_frontier_retires() {
    let mut story = Story::processing();
    story.commit_unknown("0#1").observed("0#1", 1, 2);
    assert_snapshot!(story.trace());
}

#[test]
fn the_third_failed_read_of_an_unknown_commit_stops_unresolved() {
    let mut story = Story::processing();
    story.commit_unknown("0#1").observe_failed("0#1").after(100).retry("0#1", 1);
    story.observe_failed("0#1").after(200).retry("0#1", 2).observe_failed("0#1");
    assert_snapshot!(format!("{}\n{}", story.close(), story.trace()));
}

// Rule 6.

#[test]
fn an_unknown_claim_is_read_and_then_made_afresh() {
    let mut story = Story::new(1);
    story.assigned(1, &[0]).checked(1);
    story.event(Event::ClaimUnknown { tenure: id("0#1"), why: "the connection was cut".to_owned() });
    story.observed("0#1", 1, 0).claimed("0#1", 2, 0).observed("0#1", 2, 0);
    assert_snapshot!(story.trace());
}

#[test]
fn a_third_lost_claim_stops() {
    let mut story = Story::new(1);
    story.assigned(1, &[0]).checked(1);
    for epoch in 1..=3 {
        story.event(Event::ClaimUnknown { tenure: id("0#1"), why: "the connection was cut".to_owned() });
        assert!(story.says("observe fresh"));
        story.observed("0#1", epoch, 0);
    }
    assert!(story.says("close"));
}

#[test]
fn an_unknown_claim_whose_tenure_is_over_is_read_once_more_at_the_end() {
    let mut story = Story::new(1);
    story.assigned(1, &[0]).checked(1).event(Event::ShutdownRequested);
    story.event(Event::ClaimUnknown { tenure: id("0#1"), why: "the connection was cut".to_owned() });
    story.observe_failed("0#1");
    assert_snapshot!(format!("{}\n{}", story.close(), story.trace()));
}
