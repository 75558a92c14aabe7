//! Each fault that strikes at an opportunity: what it changes for whom, and that it is told only when it did.

use amends_core::ids::{Offset, Partition};
use amends_core::lifecycle::command::{CheckParts, Command};
use amends_core::lifecycle::event::{Event, PollFailure};
use amends_core::source::boundary::TopicSight;
use amends_sim::fact::Entry;
use amends_sim::faults::{Fault, Knob};

use crate::desk::{A, B, Desk, declared, given, offsets, schedule, shape, tenure};

const P: Partition = Partition(0);

/// Two members that have one partition each.
fn pair() -> Desk {
    let mut desk = Desk::new(2, 4);
    for who in [A, B] {
        desk.join(who);
        desk.run(1_000);
    }
    desk
}

#[test]
fn f13_a_callback_reaches_the_reducer_late_and_the_group_waits() {
    let mut desk = pair();
    let heard = desk.callbacks(A).len();
    desk.order(Fault::CallbackDelayed, 30_000, 0);
    desk.kafka.revoke(&mut desk.ground, A);
    desk.run(29_000);
    assert_eq!(desk.callbacks(A).len(), heard);
    desk.run(2_000);
    assert_eq!(desk.callbacks(A)[heard..], ["1.4 revoked 0", "1.5 assigned 0"]);
    assert_eq!(desk.struck(Fault::CallbackDelayed), 1);
}

#[test]
fn f13_a_callback_of_a_member_that_left_still_comes() {
    let mut desk = Desk::settled(0);
    desk.order(Fault::CallbackDelayed, 30_000, 0);
    desk.kafka.revoke(&mut desk.ground, A);
    desk.run(1_000);
    desk.perform(A, &Command::Rejoin { member: 2 });
    desk.run(40_000);
    assert_eq!(desk.callbacks(A)[1..], ["2.1 assigned 0", "1.2 revoked 0"]);
}

#[test]
fn f13_a_callback_comes_when_the_faults_are_over() {
    let mut desk = Desk::settled(0);
    desk.order(Fault::CallbackDelayed, 30_000, 0);
    desk.kafka.revoke(&mut desk.ground, A);
    desk.run(1_000);
    desk.heal();
    desk.run(1_000);
    assert_eq!(desk.callbacks(A)[1..], ["1.2 revoked 0", "1.3 assigned 0"]);
    desk.run(60_000);
    assert_eq!(desk.callbacks(A).len(), 3, "it comes once");
}

#[test]
fn f13_both_of_a_pair_come() {
    let mut desk = Desk::new(1, 0);
    desk.order(Fault::CallbackOutOfOrder, 0, 1);
    desk.order(Fault::CallbackDelayed, 500, 0);
    desk.order(Fault::CallbackDelayed, 500, 0);
    desk.join(A);
    desk.run(1_000);
    assert_eq!(desk.callbacks(A), ["1.1 assigned 0", "1.1 assigned 0"]);
}

#[test]
fn f14_revoked_comes_behind_the_assigned_after_it() {
    let mut desk = pair();
    let heard = desk.callbacks(A).len();
    desk.order(Fault::CallbackOutOfOrder, 0, 0);
    desk.kafka.revoke(&mut desk.ground, A);
    desk.run(5_000);
    assert_eq!(desk.callbacks(A)[heard..], ["1.5 assigned 0", "1.4 revoked 0"]);
    assert_eq!(desk.struck(Fault::CallbackOutOfOrder), 1);
}

#[test]
fn f14_assigned_comes_twice() {
    let mut desk = Desk::new(1, 0);
    desk.order(Fault::CallbackOutOfOrder, 0, 1);
    desk.join(A);
    desk.run(1_000);
    assert_eq!(desk.callbacks(A), ["1.1 assigned 0", "1.1 assigned 0"]);
}

#[test]
fn f14_lost_comes_for_revoked() {
    let mut desk = pair();
    let heard = desk.callbacks(A).len();
    desk.order(Fault::CallbackOutOfOrder, 0, 2);
    desk.kafka.revoke(&mut desk.ground, A);
    desk.run(5_000);
    assert_eq!(desk.callbacks(A)[heard..], ["1.4 lost", "1.5 assigned 0"]);
}

#[test]
fn f14_revoked_never_comes() {
    let mut desk = pair();
    let heard = desk.callbacks(A).len();
    desk.order(Fault::CallbackOutOfOrder, 0, 3);
    desk.kafka.revoke(&mut desk.ground, A);
    desk.run(60_000);
    assert_eq!(desk.callbacks(A)[heard..], ["1.5 assigned 0"]);
}

#[test]
fn f28_aborted_records_and_their_marker_lie_in_front_of_a_visible_one() {
    let mut desk = Desk::settled(0);
    desk.order(Fault::AbortedInterleaved, 3, 0);
    desk.publish(0);
    let log = desk.ground.chronicle.truth.log(P);
    let found: Vec<_> = (0..log.end().0).map(|offset| log.entry(Offset(offset)).expect("inside")).collect();
    use Entry::{Aborted, Control, Visible};
    assert_eq!(found, [Aborted, Aborted, Aborted, Control, Visible]);
    assert_eq!(given(&desk.polled(tenure(0, 1))), offsets(&[4]));
}

#[test]
fn f31_records_come_again() {
    let mut desk = Desk::settled(6);
    desk.polled(tenure(0, 1));
    desk.order(Fault::Redelivered, 2, 0);
    assert_eq!(given(&desk.polled(tenure(0, 1))), offsets(&[2, 3, 4, 5]));
    assert_eq!(desk.struck(Fault::Redelivered), 1);
}

#[test]
fn f31_there_must_be_something_to_come_again() {
    let mut desk = Desk::settled(2);
    desk.order(Fault::Redelivered, 20, 0);
    assert_eq!(given(&desk.polled(tenure(0, 1))), offsets(&[0, 1]));
    assert_eq!(desk.struck(Fault::Redelivered), 0);
}

#[test]
fn f32_what_was_fetched_before_a_seek_comes_after_it() {
    let mut desk = Desk::settled(8);
    desk.polled(tenure(0, 1));
    desk.order(Fault::StalePrefetch, 2, 0);
    desk.sought(tenure(0, 1), 1);
    assert_eq!(given(&desk.polled(tenure(0, 1))), offsets(&[4, 5, 1, 2]));
    assert_eq!(given(&desk.polled(tenure(0, 1))), offsets(&[3, 4, 5, 6]));
    assert_eq!(desk.struck(Fault::StalePrefetch), 1);
}

#[test]
fn f33_a_seek_is_late_or_too_late() {
    let mut desk = Desk::settled(2);
    desk.order(Fault::SeekMisbehaves, 1_000, 0);
    let asked = desk.ground.now();
    assert!(matches!(desk.sought(tenure(0, 1), 1), Event::Sought { .. }));
    assert!(desk.last_at() > asked + 1_000);
    desk.order(Fault::SeekMisbehaves, 5_000, 0);
    let asked = desk.ground.now();
    assert!(matches!(desk.sought(tenure(0, 1), 0), Event::SeekFailed { .. }));
    assert_eq!(desk.last_at(), asked + 2_000);
    assert_eq!(given(&desk.polled(tenure(0, 1))), offsets(&[0, 1]), "it moved all the same");
}

#[test]
fn f33_a_seek_fails_or_does_not_take() {
    let mut desk = Desk::settled(3);
    desk.polled(tenure(0, 1));
    desk.order(Fault::SeekMisbehaves, 0, 1);
    assert!(matches!(desk.sought(tenure(0, 1), 0), Event::SeekFailed { .. }));
    desk.order(Fault::SeekMisbehaves, 0, 2);
    assert!(matches!(desk.sought(tenure(0, 1), 0), Event::Sought { .. }));
    assert!(matches!(desk.polled(tenure(0, 1)), Event::PollEmpty { .. }), "it stands where it stood");
    assert_eq!(desk.struck(Fault::SeekMisbehaves), 2);
}

#[test]
fn f33_a_first_position_does_not_take() {
    let mut desk = Desk::new(1, 3);
    desk.order(Fault::SeekMisbehaves, 0, 2);
    desk.join(A);
    desk.run(1_000);
    assert!(matches!(desk.told.last().expect("told").2, Event::Sought { .. }));
    assert!(matches!(desk.polled(tenure(0, 1)), Event::PollEmpty { .. }), "it stands at the end");
}

#[test]
fn f34_a_broker_shows_what_was() {
    let mut desk = Desk::settled(1);
    desk.run(1_000);
    desk.kafka.recreate(&mut desk.ground, 2);
    desk.publish(0);
    desk.order(Fault::MetadataStale, 500, 0);
    let sight = desk.sight(CheckParts::Bounds);
    assert_eq!(sight.topic, TopicSight::Known { incarnation: Some(declared()), partitions: 1 });
    assert_eq!(sight.bounds.expect("asked for").log(P).expect("led").end, Offset(1));
    assert_eq!(desk.struck(Fault::MetadataStale), 1);
    desk.run(1_000);
    desk.order(Fault::MetadataStale, 500, 0);
    let now = desk.sight(CheckParts::Bounds);
    assert_eq!(now.bounds.expect("asked for").log(P).expect("led").end, Offset(2));
    assert_eq!(desk.struck(Fault::MetadataStale), 1, "it showed what is");
}

#[test]
fn f34_what_was_of_one_topic_says_nothing_of_the_next() {
    let mut desk = Desk::settled(0);
    desk.publish(0);
    desk.kafka.recreate(&mut desk.ground, 1);
    desk.run(1_000);
    desk.order(Fault::MetadataStale, 500, 0);
    let bounds = desk.sight(CheckParts::Bounds).bounds.expect("asked for");
    assert_eq!(bounds.log(P).expect("led").end, Offset(0));
}

#[test]
fn f34_a_broker_knows_no_topic_no_leader_or_does_not_answer() {
    let mut desk = Desk::settled(1);
    desk.order(Fault::MetadataStale, 0, 1);
    assert_eq!(desk.sight(CheckParts::Bounds).topic, TopicSight::Unknown);
    desk.order(Fault::MetadataStale, 0, 2);
    assert_eq!(desk.sight(CheckParts::Bounds).bounds.expect("asked for").logs, [None]);
    desk.order(Fault::MetadataStale, 0, 2);
    desk.sight(CheckParts::Identity);
    assert_eq!(desk.struck(Fault::MetadataStale), 2, "an identity shows no leaders");
    desk.order(Fault::MetadataStale, 0, 3);
    assert!(matches!(desk.checked(CheckParts::Identity), Event::CheckFailed { .. }));
    assert_eq!(desk.struck(Fault::MetadataStale), 3);
}

#[test]
fn f35_a_check_shows_no_id() {
    let mut desk = Desk::settled(0);
    desk.order(Fault::TopicIdAbsent, 0, 0);
    assert_eq!(
        desk.sight(CheckParts::Identity).topic,
        TopicSight::Known { incarnation: None, partitions: 1 }
    );
    assert_eq!(desk.struck(Fault::TopicIdAbsent), 1);
}

#[test]
fn f36_a_group_offset_wins_over_the_first_position() {
    for (variant, first) in [(0, vec![2, 3]), (1, vec![])] {
        let mut desk = Desk::new(1, 4);
        desk.order(Fault::GroupOffsetPlanted, 2, variant);
        desk.join(A);
        desk.run(1_000);
        assert!(matches!(desk.told.last().expect("told").2, Event::Sought { .. }));
        match desk.polled(tenure(0, 1)) {
            Event::PollFailed { failure: PollFailure::Reset(_), .. } => assert!(first.is_empty()),
            records => assert_eq!(given(&records), offsets(&first)),
        }
        assert_eq!(desk.struck(Fault::GroupOffsetPlanted), 1);
        desk.sought(tenure(0, 1), 0);
        assert_eq!(given(&desk.polled(tenure(0, 1))), offsets(&[0, 1, 2, 3]), "a seek is the cure");
    }
}

#[test]
fn f36_a_planted_offset_wins_over_each_assignment() {
    let mut desk = Desk::settled(4);
    desk.kafka.plant_group_offset(P, Offset(3));
    desk.kafka.revoke(&mut desk.ground, A);
    desk.run(5_000);
    assert_eq!(given(&desk.polled(tenure(0, 2))), offsets(&[3]));
    desk.heal();
    desk.kafka.revoke(&mut desk.ground, A);
    desk.run(5_000);
    assert_eq!(given(&desk.polled(tenure(0, 3))), offsets(&[0, 1, 2, 3]));
}

#[test]
fn f37_a_poll_fails_or_says_nothing() {
    let mut desk = Desk::settled(2);
    desk.order(Fault::PollMisbehaves, 0, 0);
    let failed = desk.polled(tenure(0, 1));
    assert!(matches!(failed, Event::PollFailed { failure: PollFailure::Again(_), .. }), "{failed}");
    desk.order(Fault::PollMisbehaves, 0, 1);
    assert!(matches!(desk.polled(tenure(0, 1)), Event::PollEmpty { .. }));
    assert_eq!(desk.struck(Fault::PollMisbehaves), 2);
    assert_eq!(given(&desk.polled(tenure(0, 1))), offsets(&[0, 1]));
    desk.order(Fault::PollMisbehaves, 0, 1);
    desk.polled(tenure(0, 1));
    assert_eq!(desk.struck(Fault::PollMisbehaves), 2, "there was nothing to be said");
}

#[test]
fn f39_a_record_is_remembered_as_poison() {
    let mut desk = Desk::settled(1);
    desk.order(Fault::Poison, 0, 3);
    desk.publish(0);
    assert_eq!((desk.kafka.poison(P, Offset(0)), desk.kafka.poison(P, Offset(1))), (None, Some(3)));
    desk.kafka.truncate(&mut desk.ground, P, Offset(1));
    desk.publish(0);
    assert_eq!(desk.kafka.poison(P, Offset(1)), None, "another record lies there now");
    desk.order(Fault::Poison, 0, 3);
    desk.publish(0);
    desk.kafka.recreate(&mut desk.ground, 1);
    assert_eq!(desk.kafka.poison(P, Offset(2)), None, "nothing does");
}

#[test]
fn f52_a_client_that_closes_while_the_group_forms_is_left_behind() {
    let mut desk = pair();
    desk.order(Fault::ClosedDuringRebalance, 0, 0);
    let asked = desk.ground.now();
    let told = desk.told.len();
    desk.perform(A, &Command::Close);
    desk.run(5_000);
    let closed = desk.told[told..].iter().find(|told| told.2 == Event::Closed).expect("closed");
    assert_eq!(closed.0, asked + 5_000);
    assert!(desk.assigned(B).is_empty(), "the group waits for a member that does not come");
    desk.run(7_000);
    assert_eq!(desk.assigned(B), [0, 1]);
    assert!(desk.struck(Fault::ClosedDuringRebalance) >= 1);
}

#[test]
fn f52_a_client_that_was_left_behind_says_nothing_when_its_process_thaws() {
    let mut desk = pair();
    desk.order(Fault::ClosedDuringRebalance, 0, 0);
    desk.perform(A, &Command::Close);
    desk.kafka.freeze(&mut desk.ground, A);
    desk.kafka.thaw(&mut desk.ground, A);
    desk.run(12_000);
    assert_eq!(desk.assigned(B), [0, 1]);
}

#[test]
fn nothing_strikes_after_the_faults_are_over() {
    let mut all = schedule(3, shape(2, 4));
    for entry in amends_sim::faults::CATALOGUE.iter().filter(|entry| entry.per_mille > 0) {
        let variants = (0..u32::try_from(entry.variants.len()).expect("few").max(1)).collect();
        let knob = Knob { per_mille: 1_000, severity: entry.severity, variants, picks: None };
        all.strikes.insert(entry.fault, knob);
    }
    let mut desk = Desk::of(&all);
    desk.join(A);
    desk.run(20_000);
    assert!(desk.struck(Fault::MetadataStale) == 0 && desk.struck(Fault::AbortedInterleaved) > 0);
    desk.heal();
    let struck = desk.ground.chronicle.truth.struck.clone();
    desk.run(5_000);
    desk.kafka.revoke(&mut desk.ground, A);
    desk.run(5_000);
    assert_eq!(desk.assigned(A), [0, 1], "{:?}", desk.callbacks(A));
    let lane = desk.last_tenure(A, P);
    let placed = desk.told.iter().filter(|told| told.2 == Event::Sought { tenure: lane });
    assert_eq!(placed.count(), 1);
    assert!(matches!(desk.sight(CheckParts::Bounds).topic, TopicSight::Known { incarnation: Some(_), .. }));
    assert!(!given(&desk.polled(lane)).is_empty());
    assert!(matches!(desk.sought(lane, 0), Event::Sought { .. }));
    desk.publish(0);
    assert_eq!(desk.ground.chronicle.truth.struck, struck);
}
