//! What the group hears of a member: once, in turn, and nothing where it asked nothing; the name is the claim.

use amends_core::ids::{Partition, RebalanceId};
use amends_core::lifecycle::command::Timer;
use amends_core::lifecycle::event::Event;
use amends_core::source::boundary::Sink;

use crate::endings::leaving;
use crate::story::Story;

/// So many partitions, each polling under epoch 1.
fn polling(partitions: u32, lanes: u32) -> Story {
    let mut story = Story::with(partitions, Sink::Ledger, lanes);
    story.assigned(1, &(0..partitions).collect::<Vec<_>>()).checked(1);
    let tenures: Vec<String> = (0..partitions).map(|partition| format!("{partition}#1")).collect();
    for tenure in &tenures {
        story.claimed(tenure, 1, 0).observed(tenure, 1, 0);
    }
    story.checked(2);
    for tenure in &tenures {
        story.sought(tenure);
    }
    story
}

#[test]
fn a_callback_of_an_older_member_changes_nothing_whatever_its_number() {
    let mut story = leaving();
    story.committed("1#1");
    assert!(story.says("rejoin 2"));
    let rebalance = RebalanceId { member: 2, number: 1 };
    story.event(Event::Assigned { rebalance, partitions: vec![Partition(0)] });
    let older = RebalanceId { member: 1, number: 9 };
    for event in [
        Event::Assigned { rebalance: older, partitions: vec![Partition(0)] },
        Event::Revoked { rebalance: older, partitions: vec![Partition(0)] },
        Event::Lost { rebalance: older },
    ] {
        assert!(story.event(event).commands().is_empty());
    }
}

#[test]
fn a_member_that_lost_everything_does_not_rejoin_for_an_earlier_fence() {
    let mut story = Story::processing();
    story.fenced("0#1", 2).lost(2).after(1_000).expired(Timer::Rejoin { wait: 1 });
    assert!(story.commands().is_empty());
}

#[test]
fn a_fence_after_a_revocation_is_no_reason_to_rejoin() {
    let mut story = polling(2, 2);
    story.polled("0#1", &[0]).polled("1#1", &[0]).checked(3).checked(4).revoked(2, &[0]).fenced("1#1", 2);
    assert!(story.says("retire") && !story.says("wait rejoin 1 1000ms"));
}

#[test]
fn a_member_that_is_to_end_leaves_once() {
    let mut story = leaving();
    story.event(Event::ShutdownRequested).after(20_000).expired(Timer::Leave { wait: 1 });
    assert!(story.commands().is_empty(), "a member that drains does not join again");
}

#[test]
fn a_revocation_that_was_overdue_is_not_answered_again() {
    let mut story = Story::processing();
    story
        .revoked(2, &[0])
        .after(20_000)
        .expired(Timer::Rebalance { rebalance: RebalanceId { member: 1, number: 2 } });
    assert!(story.says("unassign 1.2"));
    story.committed("0#1");
    assert!(story.says("retire") && !story.says("unassign 1.2"));
}

#[test]
fn decisions_get_their_lane_in_the_order_in_which_they_asked() {
    let mut story = polling(3, 1);
    story.polled("1#1", &[0]).checked(3).polled("2#1", &[0]).checked(4).polled("0#1", &[0]).checked(5);
    story.committed("1#1");
    assert!(story.says("2#1 process 0-0"));
    story.committed("2#1");
    assert!(story.says("0#1 process 0-0"));
}

#[test]
fn a_stream_that_drains_checks_nothing() {
    let mut story = polling(3, 1);
    // A decision is in flight, a check too, and a further one is wanted.
    story.polled("0#1", &[0]).checked(3).polled("1#1", &[0]).polled("2#1", &[0]);
    story.event(Event::ShutdownRequested).checked(4);
    assert!(story.commands().is_empty());
}
