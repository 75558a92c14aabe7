//! Each incident of Kafka's: what is so behind it.

use amends_core::ids::{ClaimId, Frontier, Offset, Partition, Token};
use amends_core::lifecycle::command::{CheckParts, Command};
use amends_core::lifecycle::event::Event;
use amends_sim::fact::{Commit, Entry, Fact, Row, TxId};
use amends_sim::faults::{Fault, Incident};

use crate::desk::{A, B, Desk, given, offsets, tenure};

const P: Partition = Partition(0);

/// A settled member, whose partition is decided up to here.
fn decided(records: u32, frontier: i64) -> Desk {
    let mut desk = Desk::settled(records);
    let token = Token { epoch: 1, claim_id: ClaimId(1) };
    let after = Row { token: Some(token), frontier: Some(Frontier(frontier)) };
    let commit = Commit {
        tx: TxId(1),
        ghost: None,
        partition: P,
        before: Row::default(),
        after,
        carried: None,
        expected: None,
        decided: Vec::new(),
        rows: None,
    };
    desk.ground.chronicle.tell(&Fact::Committed(&commit));
    desk
}

fn log(desk: &Desk) -> (i64, i64) {
    let truth = &desk.ground.chronicle.truth;
    let log = truth.logs.get(&(truth.current, P)).expect("the topic has the partition");
    (log.start().0, log.end().0)
}

#[test]
fn f16_the_same_member_is_given_the_same_a_while_later() {
    let mut desk = Desk::settled(0);
    let struck = desk.ground.now();
    desk.strike(Fault::ReassignedAtOnce, 5_000, 0);
    desk.run(4_900);
    assert_eq!(desk.callbacks(A)[1..], ["1.2 revoked 0"]);
    desk.run(5_000);
    assert_eq!(desk.callbacks(A)[1..], ["1.2 revoked 0", "1.3 assigned 0"]);
    let assigned = desk.told.iter().rfind(|told| matches!(told.2, Event::Assigned { .. })).expect("assigned");
    assert!((struck + 5_000..struck + 5_100).contains(&assigned.0));
    assert_eq!(desk.struck(Fault::ReassignedAtOnce), 1);
}

#[test]
fn f17_the_group_forms_again_and_again() {
    let mut desk = Desk::settled(0);
    desk.strike(Fault::RebalanceStorm, 5, 0);
    desk.run(60_000);
    assert_eq!(desk.struck(Fault::RebalanceStorm), 5);
    assert_eq!(desk.callbacks(A).len(), 11);
}

#[test]
fn f17_a_storm_ends_with_the_faults() {
    let mut desk = Desk::settled(0);
    desk.strike(Fault::RebalanceStorm, 20, 0);
    desk.heal();
    desk.run(60_000);
    assert_eq!(desk.callbacks(A)[1..], ["1.2 revoked 0", "1.3 assigned 0"], "one round had begun");
    assert_eq!(desk.struck(Fault::RebalanceStorm), 0);
}

#[test]
fn f19_a_client_that_is_not_served_is_out_and_loses_everything() {
    let mut desk = Desk::new(2, 1);
    for who in [A, B] {
        desk.join(who);
        desk.run(1_000);
    }
    let heard = desk.callbacks(A).len();
    desk.strike(Fault::PollThreadStarved, 70_000, 0);
    desk.poll(A, tenure(0, 2), 1_000);
    desk.run(59_000);
    assert_eq!(desk.assigned(B), [1]);
    let check = desk.checked(CheckParts::Identity);
    assert!(matches!(check, Event::Checked { .. }), "the rest of the process runs");
    desk.run(4_000);
    assert_eq!(desk.assigned(B), [0, 1]);
    let polled = |desk: &Desk| desk.told.iter().filter(|told| matches!(told.2, Event::Polled { .. })).count();
    assert_eq!((desk.callbacks(A).len(), polled(&desk)), (heard, 0));
    desk.run(12_000);
    assert_eq!(
        (desk.callbacks(A)[heard..].to_vec(), polled(&desk)),
        (vec!["1.4 lost".to_owned(), "1.5 assigned 1".to_owned()], 1)
    );
    assert_eq!(desk.struck(Fault::PollThreadStarved), 1);
}

#[test]
fn f19_a_starved_client_is_left_behind_and_its_group_learns_of_it_when_its_session_ends() {
    for (starved_ms, within) in [(70_000, 9_000..=10_100), (2_000, 2_000..=2_400)] {
        let mut desk = Desk::new(1, 0);
        desk.join(A);
        desk.run(1_000);
        desk.join(B);
        desk.run(4_000);
        let owner = if desk.assigned(A).is_empty() { B } else { A };
        assert_eq!(owner, A, "the first member has the only partition");
        desk.strike(Fault::PollThreadStarved, starved_ms, 0);
        let closed = desk.ground.now();
        assert_eq!(desk.answer(A, &Command::Close, 5_000), Event::Closed);
        assert!(desk.last_at() >= closed + 5_000, "another thread waits for it");
        desk.run(10_000);
        let given = desk.told.iter().rfind(|told| told.1 == B && matches!(told.2, Event::Assigned { .. }));
        let after = given.expect("B takes over").0 - closed;
        assert!(within.contains(&after), "{after}");
        assert_eq!(desk.assigned(B), [0]);
    }
}

#[test]
fn f22_a_partition_has_no_leader_for_a_while() {
    let mut desk = Desk::settled(1);
    desk.strike(Fault::LeaderMoved, 2_000, 0);
    assert_eq!(desk.sight(CheckParts::Bounds).bounds.expect("asked for").logs, [None]);
    desk.run(2_000);
    let bounds = desk.sight(CheckParts::Bounds).bounds.expect("asked for");
    assert!(bounds.log(P).is_some() && !bounds.unclean_leader_election);
    desk.strike(Fault::LeaderMoved, 0, 1);
    assert!(desk.sight(CheckParts::Bounds).bounds.expect("asked for").unclean_leader_election);
}

#[test]
fn f23_the_log_ends_below_the_frontier_or_grows_past_where_it_was() {
    let mut desk = decided(6, 5);
    desk.strike(Fault::TruncatedBelow, 2, 0);
    assert_eq!(log(&desk), (0, 3));
    let mut desk = decided(6, 5);
    desk.strike(Fault::TruncatedBelow, 10, 1);
    assert_eq!(log(&desk), (0, 7));
    let mut desk = decided(6, 0);
    desk.strike(Fault::TruncatedBelow, 2, 0);
    assert_eq!((log(&desk), desk.struck(Fault::TruncatedBelow)), ((0, 6), 0), "nothing lies below");
}

#[test]
fn f24_the_topic_is_another_one() {
    let mut desk = Desk::settled(2);
    let before = desk.ground.chronicle.truth.current;
    desk.strike(Fault::Recreated, 3, 0);
    let truth = &desk.ground.chronicle.truth;
    assert!(truth.current != before && truth.current_partitions == 3);
    desk.run(4_000);
    assert_eq!(desk.assigned(A), [0, 1, 2]);
}

#[test]
fn f24_what_was_fetched_before_comes_from_the_old_log() {
    let mut desk = Desk::settled(6);
    let (lane, old) = (desk.last_tenure(A, P), desk.ground.chronicle.truth.current);
    assert_eq!(given(&desk.polled(lane)), offsets(&[0, 1, 2, 3]));
    desk.strike(Fault::Recreated, 1, 0);
    // The new log is longer, so that its records lie where the client reads on.
    (0..8).for_each(|_| desk.publish(0));
    let mut polled = || (given(&desk.polled(lane)), desk.kafka.read_from(A, lane));
    assert_eq!(polled(), (offsets(&[4, 5]), Some((old, 0))));
    let (records, source) = polled();
    assert_eq!(records[..2], offsets(&[6, 7]));
    assert_eq!(source, Some((desk.ground.chronicle.truth.current, 0)));
    assert_ne!(desk.ground.chronicle.truth.current, old);
}

#[test]
fn f25_the_topic_has_more_partitions() {
    let mut desk = Desk::settled(2);
    desk.strike(Fault::PartitionsAdded, 2, 0);
    assert_eq!(desk.ground.chronicle.truth.current_partitions, 3);
}

#[test]
fn f26_the_log_begins_below_at_or_above_the_frontier() {
    for (variant, start) in [(0, 2), (1, 4), (2, 6)] {
        let mut desk = decided(8, 4);
        desk.strike(Fault::RetentionTruncated, 2, variant);
        assert_eq!(log(&desk), (start, 8));
    }
    let mut desk = decided(8, 4);
    desk.strike(Fault::RetentionTruncated, 10, 0);
    assert_eq!((log(&desk), desk.struck(Fault::RetentionTruncated)), ((0, 8), 0), "it began there");
    desk.strike(Fault::RetentionTruncated, 10, 2);
    assert_eq!(log(&desk), (8, 8), "no further than the end");
}

#[test]
fn f27_records_vanish_or_may() {
    let mut desk = Desk::settled(8);
    desk.strike(Fault::Compacted, 3, 0);
    let truth = &desk.ground.chronicle.truth;
    let holes = (0..8).filter(|offset| truth.log(P).entry(Offset(*offset)) == Some(Entry::Hole)).count();
    assert!((1..=3).contains(&holes) && truth.is_configured);
    desk.strike(Fault::Compacted, 1, 1);
    assert_eq!(desk.sight(CheckParts::Bounds).bounds.expect("asked for").cleanup_policy, "compact");
}

#[test]
fn f29_markers_lie_at_the_end() {
    let mut desk = Desk::settled(1);
    desk.strike(Fault::ControlTail, 4, 0);
    assert_eq!(log(&desk), (0, 5));
    assert_eq!(given(&desk.polled(tenure(0, 1))), offsets(&[0]));
}

#[test]
fn f30_a_transaction_holds_the_stable_end_back_until_it_ends() {
    for (severity, then) in [(2_000, vec![2]), (2_001, vec![1, 2])] {
        let mut desk = Desk::settled(1);
        desk.strike(Fault::TransactionHangs, severity, 0);
        desk.publish(0);
        assert_eq!(given(&desk.polled(tenure(0, 1))), offsets(&[0]));
        desk.run(1_001);
        assert_eq!(given(&desk.polled(tenure(0, 1))), offsets(&then));
    }
}

#[test]
fn f30_a_transaction_ends_when_the_faults_do() {
    let mut desk = Desk::settled(0);
    desk.strike(Fault::TransactionHangs, 300_000, 0);
    desk.publish(0);
    desk.heal();
    assert_eq!(given(&desk.polled(tenure(0, 1))), offsets(&[1]));
}

#[test]
fn f48_the_log_is_cut_and_grows_past_where_it_was() {
    let mut desk = Desk::settled(4);
    desk.strike(Fault::TruncatedAndRegrown, 10, 0);
    assert_eq!(log(&desk), (0, 5));
    assert!(!desk.ground.chronicle.truth.log(P).is_intact(Frontier(0)));
}

#[test]
fn a_starved_client_and_a_missing_leader_are_back_when_the_faults_are_over() {
    let mut desk = Desk::settled(1);
    desk.strike(Fault::PollThreadStarved, 180_000, 0);
    desk.strike(Fault::LeaderMoved, 180_000, 0);
    desk.heal();
    assert!(matches!(desk.probed(tenure(0, 1), 0), Event::Probed { .. }));
    assert_eq!(given(&desk.polled(tenure(0, 1))), offsets(&[0]));
    desk.run(200_000);
    assert_eq!((desk.callbacks(A).len(), desk.struck(Fault::PollThreadStarved)), (1, 1));
}

#[test]
fn what_is_not_kafkas_is_left_to_others() {
    let mut desk = Desk::settled(1);
    let incident =
        Incident { at_ms: 0, fault: Fault::RowHeld, severity: 1, variant: 0, worker: 0, partition: 0 };
    assert!(!desk.kafka.strike(&mut desk.ground, &incident));
    assert!(!desk.kafka.perform(&mut desk.ground, A, &Command::Cancel { tenure: tenure(0, 1) }));
}
