//! Stories of polls that fail.

use amends_core::lifecycle::command::Timer;
use amends_core::lifecycle::event::{Event, PollFailure};
use insta::assert_snapshot;

use crate::story::{Story, id};

fn poll_failed(story: &mut Story) -> &mut Story {
    let failure = PollFailure::Again("the batch at 1 cannot be decompressed".to_owned());
    story.event(Event::PollFailed { tenure: id("0#1"), failure })
}

/// A batch that the client cannot read comes again with every fetch: without a budget the lane would wait for ever.
#[test]
fn a_poll_that_fails_for_ever_stops_when_its_budget_ends() {
    let mut story = Story::polling(0);
    for retry in 1..=20 {
        poll_failed(&mut story).after(1_000).retry("0#1", retry);
        // The owner reads its row in between, and the budget goes on.
        if retry % 5 == 0 {
            story.observed("0#1", 1, 0);
        }
    }
    story.expired(Timer::Budget { tenure: id("0#1") });
    assert_snapshot!(format!("{}\n{}", story.close(), story.trace()));
}

#[test]
fn a_poll_that_failed_and_then_waits_in_vain_has_mended_itself() {
    let mut story = Story::polling(0);
    story.polled("0#1", &[0]).checked_identity(3).committed("0#1");
    poll_failed(&mut story).after(200).retry("0#1", 1).after(1_000).poll_empty("0#1");
    story.after(30_000).expired(Timer::Budget { tenure: id("0#1") });
    assert!(!story.is_ending());
}
