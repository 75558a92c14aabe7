//! What a client reads: polls, seeks and probes over logs with everything that is not a record.

use amends_core::ids::{Offset, Partition};
use amends_core::lifecycle::command::Command;
use amends_core::lifecycle::event::{Event, PollFailure, ProbeSight};

use crate::desk::{A, Desk, given, offsets, tenure};

const P: Partition = Partition(0);

fn is_empty(event: &Event) -> bool {
    matches!(event, Event::PollEmpty { .. })
}

fn is_reset(event: &Event) -> bool {
    matches!(event, Event::PollFailed { failure: PollFailure::Reset(_), .. })
}

/// 0 visible, 1 and 2 aborted, 3 their marker, 4 visible, 5 a hole, 6 visible.
fn mixed() -> Desk {
    let mut desk = Desk::settled(1);
    desk.kafka.publish_aborted(&mut desk.ground, P, 2);
    desk.kafka.publish_control(&mut desk.ground, P, 1);
    for _ in 0..3 {
        desk.publish(0);
    }
    desk.kafka.compact_away(&mut desk.ground, P, Offset(5));
    desk
}

#[test]
fn a_poll_gives_what_is_visible_and_no_more_than_asked() {
    let mut desk = mixed();
    for _ in 0..3 {
        desk.publish(0);
    }
    assert_eq!(given(&desk.polled(tenure(0, 1))), offsets(&[0, 4, 6, 7]));
    assert_eq!(given(&desk.polled(tenure(0, 1))), offsets(&[8, 9]));
}

#[test]
fn a_poll_with_nothing_to_give_ends_at_its_deadline() {
    let mut desk = Desk::settled(0);
    let asked = desk.ground.now();
    assert!(is_empty(&desk.polled(tenure(0, 1))));
    assert_eq!(desk.last_at(), asked + 1_000);
}

#[test]
fn a_record_wakes_the_poll_that_waits() {
    let mut desk = Desk::settled(0);
    desk.poll(A, tenure(0, 1), 1_000);
    desk.run(300);
    let published = desk.ground.now();
    desk.publish(0);
    desk.run(100);
    let (at, _, event) = desk.told.last().expect("told");
    assert_eq!(given(event), offsets(&[0]));
    assert!(*at <= published + 20, "{at}");
}

#[test]
fn a_position_behind_the_stable_end_is_inside() {
    let mut desk = Desk::settled(0);
    desk.kafka.open_transaction(&mut desk.ground, P, 2);
    desk.sought(tenure(0, 1), 1);
    assert!(is_empty(&desk.polled(tenure(0, 1))));
}

#[test]
fn what_is_not_visible_is_passed_over() {
    let mut desk = Desk::settled(1);
    desk.kafka.publish_control(&mut desk.ground, P, 4);
    assert_eq!(given(&desk.polled(tenure(0, 1))), offsets(&[0]));
    desk.kafka.truncate(&mut desk.ground, P, Offset(3));
    assert!(is_reset(&desk.polled(tenure(0, 1))), "the position was behind the markers");
}

#[test]
fn a_truncation_leaves_the_position_outside() {
    let mut desk = Desk::settled(3);
    assert_eq!(given(&desk.polled(tenure(0, 1))), offsets(&[0, 1, 2]));
    desk.poll(A, tenure(0, 1), 1_000);
    desk.kafka.truncate(&mut desk.ground, P, Offset(1));
    desk.run(1_000);
    assert!(is_reset(&desk.told.last().expect("told").2));
}

#[test]
fn what_was_fetched_before_a_recreation_is_still_given() {
    let mut desk = Desk::settled(6);
    assert_eq!(given(&desk.polled(tenure(0, 1))), offsets(&[0, 1, 2, 3]));
    desk.kafka.recreate(&mut desk.ground, 1);
    assert_eq!(given(&desk.polled(tenure(0, 1))), offsets(&[4, 5]));
    desk.publish(0);
    assert_eq!(
        given(&desk.polled(tenure(0, 1))),
        offsets(&[6]),
        "an old position may be readable in the new log"
    );
}

#[test]
fn a_recreated_topic_may_end_before_the_position() {
    let mut desk = Desk::settled(0);
    for _ in 0..3 {
        desk.publish(0);
    }
    desk.polled(tenure(0, 1));
    desk.kafka.recreate(&mut desk.ground, 1);
    assert!(is_reset(&desk.polled(tenure(0, 1))));
}

#[test]
fn a_partition_without_a_leader_gives_nothing_until_it_has_one() {
    let mut desk = Desk::settled(0);
    desk.kafka.lose_leader(&mut desk.ground, P, 1_500);
    desk.publish(0);
    assert!(is_empty(&desk.polled(tenure(0, 1))));
    desk.run(1_000);
    let asked = desk.ground.now();
    assert_eq!(given(&desk.polled(tenure(0, 1))), offsets(&[0]));
    assert!(desk.last_at() <= asked + 20);
}

#[test]
fn a_leader_that_is_back_wakes_the_poll_that_waits() {
    let mut desk = Desk::settled(0);
    desk.kafka.lose_leader(&mut desk.ground, P, 500);
    desk.publish(0);
    let asked = desk.ground.now();
    assert_eq!(given(&desk.polled(tenure(0, 1))), offsets(&[0]));
    assert!((asked + 500..=asked + 520).contains(&desk.last_at()));
}

#[test]
fn a_probe_sees_the_first_record_or_the_stable_end() {
    let mut desk = mixed();
    let sight = |desk: &mut Desk, from| match desk.probed(tenure(0, 1), from) {
        Event::Probed { sight, .. } => sight,
        other => panic!("{other}"),
    };
    assert_eq!(sight(&mut desk, 0), ProbeSight::Record(Offset(0)));
    assert_eq!(sight(&mut desk, 1), ProbeSight::Record(Offset(4)));
    assert_eq!(sight(&mut desk, 7), ProbeSight::Tail(Offset(7)));
    desk.kafka.open_transaction(&mut desk.ground, P, 1);
    desk.publish(0);
    assert_eq!(sight(&mut desk, 7), ProbeSight::Tail(Offset(7)));
    desk.kafka.publish_control(&mut desk.ground, P, 1);
    desk.kafka.close_transaction(&mut desk.ground, P, false);
    assert_eq!(sight(&mut desk, 9), ProbeSight::Tail(Offset(11)));
    desk.kafka.delete_records(&mut desk.ground, P, Offset(3));
    assert!(matches!(desk.probed(tenure(0, 1), 1), Event::ProbeFailed { .. }), "the start is above");
    desk.kafka.lose_leader(&mut desk.ground, P, 10_000);
    assert!(matches!(desk.probed(tenure(0, 1), 7), Event::ProbeFailed { .. }));
}

#[test]
fn a_retired_lane_answers_its_poll_and_reads_no_more() {
    let mut desk = Desk::settled(0);
    let told = desk.told.len();
    desk.poll(A, tenure(0, 1), 1_000);
    desk.perform(A, &Command::Retire { tenure: tenure(0, 1) });
    desk.run(0);
    assert!(matches!(desk.told[told..], [(_, A, Event::PollEmpty { .. })]));
    desk.publish(0);
    let asked = desk.ground.now();
    assert!(is_empty(&desk.polled(tenure(0, 1))));
    assert_eq!(desk.last_at(), asked + 1_000, "not at once, or an idle worker would spin");
    assert!(matches!(desk.sought(tenure(0, 1), 0), Event::SeekFailed { .. }));
}
