//! When budgets and attempts begin again, and when they do not; the name is the claim.

use amends_core::ids::Offset;
use amends_core::lifecycle::command::{Command, Timer};
use amends_core::lifecycle::event::{Event, ProbeSight, ProcessFailure};

use crate::story::{Story, again, id};

fn fail_twice(story: &mut Story, first_wait: u32) {
    for wait in first_wait..first_wait + 2 {
        story.process_failed("0#1", ProcessFailure::Attempt(again("40001"))).after(200).retry("0#1", wait);
    }
}

#[test]
fn a_committed_half_begins_the_budget_again() {
    let mut story = Story::processing();
    story.refused("0#1").after(15_000).committed("0#1");
    story.after(6_000).expired(Timer::Budget { tenure: id("0#1") });
    assert!(!story.is_ending() && story.says("wait budget 14000ms"));
    story.after(14_000).expired(Timer::Budget { tenure: id("0#1") });
    assert!(story.says("cancel"));
}

#[test]
fn a_decision_begins_the_attempts_again() {
    let mut story = Story::processing();
    fail_twice(&mut story, 1);
    story.committed("0#1").polled("0#1", &[3]).checked(4);
    fail_twice(&mut story, 3);
    assert!(story.says("process 3-3 attempt=3"));
}

#[test]
fn a_committed_half_begins_the_attempts_again() {
    let mut story = Story::processing();
    story.refused("0#1");
    fail_twice(&mut story, 1);
    story.committed("0#1");
    fail_twice(&mut story, 3);
    assert!(story.says("process 1-2 attempt=3"));
}

#[test]
fn a_narrowed_range_begins_the_attempts_again() {
    for narrower in [ProcessFailure::Refused("22021".to_owned()), ProcessFailure::TooLarge { fit: 1 }] {
        let mut story = Story::processing();
        fail_twice(&mut story, 1);
        story.process_failed("0#1", narrower);
        assert!(story.says("process 0-0"));
        fail_twice(&mut story, 3);
        assert!(story.says("process 0-0 attempt=3"));
    }
}

#[test]
fn a_probe_and_its_seek_have_one_budget() {
    let mut story = Story::polling(1);
    story.after(19_000).expired(Timer::Budget { tenure: id("0#1") }).polled("0#1", &[5]);
    story.after(19_999).event(Event::Probed { tenure: id("0#1"), sight: ProbeSight::Record(Offset(1)) });
    story.after(1).expired(Timer::Budget { tenure: id("0#1") });
    assert!(story.close().starts_with("could not finish 0#1 in 20s"));
}

#[test]
fn a_read_between_a_seek_and_its_first_poll_draws_on_the_seeks_budget() {
    let mut story = Story::new(2);
    story.assigned(1, &[0, 1]).checked(1).claimed("0#1", 1, 0).observed("0#1", 1, 0);
    // Its neighbour is slow, so that what PostgreSQL said of 0#1 is old when its lane is placed.
    story.after(6_000).claimed("1#1", 1, 0).observed("1#1", 1, 0).checked(2).sought("0#1");
    let within = story.commands().into_iter().find_map(|command| match command {
        Command::Observe { tenure, within_ms, .. } if *tenure == id("0#1") => Some(*within_ms),
        _ => None,
    });
    assert_eq!(within, Some(14_000));
    story.observed("0#1", 1, 0);
    assert!(story.says("poll"));
    story.after(14_000).expired(Timer::Budget { tenure: id("0#1") });
    assert!(!story.is_ending(), "the poll ended it");
}

#[test]
fn a_partition_that_was_revoked_while_the_source_was_checked_is_not_claimed() {
    let mut story = Story::new(1);
    story.assigned(1, &[0]).revoked(2, &[0]).checked(1);
    assert!(!story.says("claim"));
}
