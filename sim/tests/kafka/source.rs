//! What a check shows of the topic: now, before its leaders are back, and through brokers that are behind.

use amends_core::ids::{Offset, Partition};
use amends_core::lifecycle::command::{CheckId, CheckParts, Command};
use amends_core::lifecycle::event::Event;
use amends_core::source::boundary::{LogSpan, TopicSight};
use amends_sim::kafka::Setting;

use crate::desk::{A, Desk, declared};

const P: Partition = Partition(0);

fn known(partitions: u32) -> TopicSight {
    TopicSight::Known { incarnation: Some(declared()), partitions }
}

fn span(start: i64, end: i64) -> Option<LogSpan> {
    Some(LogSpan { start: Offset(start), end: Offset(end) })
}

fn logs(desk: &mut Desk) -> Vec<Option<LogSpan>> {
    desk.sight(CheckParts::Bounds).bounds.expect("asked for").logs.clone()
}

#[test]
fn bounds_are_what_a_ledger_needs_until_they_are_changed() {
    let mut desk = Desk::settled(2);
    let bounds = desk.sight(CheckParts::Bounds).bounds.expect("asked for");
    assert_eq!(
        (bounds.cleanup_policy.as_str(), bounds.retention_ms, bounds.retention_bytes),
        ("delete", -1, -1)
    );
    assert_eq!((bounds.unclean_leader_election, bounds.logs.as_slice()), (false, [span(0, 2)].as_slice()));
    for setting in [Setting::Retention { ms: 5 }, Setting::Compaction, Setting::UncleanElection] {
        desk.kafka.reconfigure(&mut desk.ground, setting);
    }
    let bounds = desk.sight(CheckParts::Bounds).bounds.expect("asked for");
    assert_eq!((bounds.cleanup_policy.as_str(), bounds.retention_ms), ("compact", 5));
    assert!(bounds.unclean_leader_election && !desk.ground.chronicle.truth.is_configured);
}

#[test]
fn the_end_is_the_stable_one_and_follows_every_change() {
    let mut desk = Desk::settled(2);
    assert_eq!(logs(&mut desk), [span(0, 2)]);
    desk.kafka.open_transaction(&mut desk.ground, P, 1);
    desk.publish(0);
    assert_eq!(logs(&mut desk), [span(0, 2)]);
    desk.kafka.close_transaction(&mut desk.ground, P, false);
    assert_eq!(logs(&mut desk), [span(0, 5)]);
    desk.kafka.delete_records(&mut desk.ground, P, Offset(1));
    assert_eq!(logs(&mut desk), [span(1, 5)]);
    desk.kafka.truncate(&mut desk.ground, P, Offset(2));
    assert_eq!(logs(&mut desk), [span(1, 2)]);
    desk.kafka.lose_leader(&mut desk.ground, P, 1_000);
    assert_eq!(logs(&mut desk), [None]);
    desk.run(1_000);
    assert_eq!(logs(&mut desk), [span(1, 2)]);
}

#[test]
fn another_topic_of_the_name_is_seen_by_its_id() {
    let mut desk = Desk::settled(2);
    desk.kafka.recreate(&mut desk.ground, 3);
    let TopicSight::Known { incarnation: Some(first), partitions: 3 } =
        desk.sight(CheckParts::Identity).topic
    else {
        panic!("there are three partitions, with an id")
    };
    assert!(first != declared() && first == desk.ground.chronicle.truth.current);
    assert_eq!(logs(&mut desk), [span(0, 2); 3]);
    desk.kafka.recreate(&mut desk.ground, 3);
    let second = desk.ground.chronicle.truth.current;
    assert!(second != first && second != declared());
    desk.kafka.delete_topic(&mut desk.ground);
    assert_eq!(desk.sight(CheckParts::Bounds).topic, TopicSight::Unknown);
}

#[test]
fn brokers_that_hear_nothing_new_show_what_was() {
    let mut desk = Desk::settled(2);
    desk.run(1_000);
    desk.kafka.stale_metadata(&desk.ground, 2_000);
    desk.run(1);
    desk.publish(0);
    desk.kafka.grow(&mut desk.ground, 2);
    let sight = desk.sight(CheckParts::Bounds);
    assert_eq!(
        (sight.topic, sight.bounds.expect("asked for").logs.as_slice()),
        (known(1), [span(0, 2)].as_slice())
    );
    desk.run(2_000);
    let sight = desk.sight(CheckParts::Bounds);
    assert_eq!(sight.topic, known(2));
    assert_eq!(sight.bounds.expect("asked for").logs, [span(0, 3), span(0, 0)]);
}

#[test]
fn brokers_hear_everything_when_the_faults_are_over() {
    let mut desk = Desk::settled(2);
    desk.kafka.stale_metadata(&desk.ground, 100_000);
    desk.run(1);
    desk.kafka.grow(&mut desk.ground, 2);
    desk.heal();
    assert_eq!(desk.sight(CheckParts::Identity).topic, known(2));
}

#[test]
fn a_check_sees_the_topic_between_its_request_and_its_answer() {
    let mut desk = Desk::settled(0);
    let (before, check) = (desk.told.len(), CheckId(99));
    desk.perform(A, &Command::Check { check, parts: CheckParts::Bounds });
    while desk.told.len() == before {
        desk.publish(0);
        desk.run(1);
    }
    let Event::Checked { sight, .. } = &desk.told[before].2 else { panic!("{:?}", desk.told[before]) };
    let seen = sight.bounds.as_ref().expect("asked for").log(P).expect("led").end;
    let end = desk.ground.chronicle.truth.log(P).stable_end();
    assert!(Offset(1) < seen && seen < end, "it saw {seen} of {end}");
}
