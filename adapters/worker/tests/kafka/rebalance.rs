//! The group: revocations, two members, a member that leaves and joins again.

use std::time::{Duration, Instant};

use amends_core::ids::Partition;
use amends_core::lifecycle::command::Command;
use amends_core::lifecycle::event::Event;

use crate::support::{Topic, World, fresh_name, offsets, tenure};

#[test]
fn two_members_share_and_take_over() {
    let topic = Topic::new(2);
    topic.fill_some(0, 4);
    topic.fill_some(1, 4);
    let group = fresh_name();
    let mut one = World::join(&topic, &group);
    let (rebalance, both) = one.assigned();
    assert_eq!(both, [Partition(0), Partition(1)]);
    one.assign(rebalance, &[(tenure(0, 1), 0), (tenure(1, 2), 0)]);
    assert_eq!(offsets(&one.poll(tenure(0, 1), 2)), [0, 1]);
    assert_eq!(offsets(&one.poll(tenure(1, 2), 2)), [0, 1]);

    let mut two = World::join(&topic, &group);
    let revoked = one.revoked();
    assert_eq!((revoked.member, revoked.number), (1, 2));
    // The group waits for the answer; the other one gets nothing meanwhile.
    assert!(two.next(Duration::from_secs(3)).is_none());
    let answered = Instant::now();
    one.perform(Command::Unassign { rebalance: revoked });
    let (rebalance, mine) = one.assigned();
    assert_eq!((rebalance.number, mine.len()), (3, 1));
    let (other, theirs) = two.assigned();
    eprintln!("measured: unassign to both assigned {:?}", answered.elapsed());
    assert_eq!((other.member, other.number, theirs.len()), (1, 1, 1));
    let (mine, theirs) = (tenure(mine[0].0, 3), tenure(theirs[0].0, 1));
    assert_ne!(mine.partition, theirs.partition);
    // What was queued before the callback is gone: the position is the order's.
    one.assign(rebalance, &[(mine, 1)]);
    two.assign(other, &[(theirs, 2)]);
    assert_eq!(offsets(&one.poll(mine, 500)), [1, 2, 3]);
    assert_eq!(offsets(&two.poll(theirs, 500)), [2, 3]);

    // The group forms again while a poll waits: it is answered, and the survivor gets both.
    two.ask(theirs, 500);
    let left = Instant::now();
    one.close();
    eprintln!("measured: a close took {:?}", left.elapsed());
    let revoked = two.revoked();
    two.perform(Command::Unassign { rebalance: revoked });
    let (rebalance, both) = two.assigned();
    assert_eq!(both, [Partition(0), Partition(1)]);
    two.assign(rebalance, &[(tenure(0, 5), 3), (tenure(1, 6), 3)]);
    assert_eq!(offsets(&two.poll(tenure(0, 5), 500)), [3]);
    assert_eq!(offsets(&two.poll(tenure(1, 6), 500)), [3]);
    two.close();
}

/// A retired partition was paused; the pause does not outlive the assignment.
#[test]
fn a_rejoin_gives_a_new_member_and_every_partition_again() {
    let topic = Topic::new(2);
    topic.fill_some(0, 3);
    let mut world = World::start(&topic);
    world.take(tenure(0, 1), 0);
    assert_eq!(offsets(&world.poll(tenure(0, 1), 500)), [0, 1, 2]);
    world.perform(Command::Retire { tenure: tenure(0, 1) });
    let begun = Instant::now();
    world.perform(Command::Rejoin { member: 2 });
    let mut old = 0;
    let (rebalance, partitions) = world.until("Assigned of member 2", |delivery| match delivery.event {
        Event::Assigned { rebalance, partitions } if rebalance.member == 2 => Some((rebalance, partitions)),
        Event::Revoked { rebalance, .. } | Event::Lost { rebalance } => {
            assert_eq!(rebalance.member, 1);
            old += 1;
            None
        }
        _ => None,
    });
    eprintln!("measured: a rejoin took {:?}, {old} late callbacks of the old member", begun.elapsed());
    assert_eq!((rebalance.number, partitions.len()), (1, 2));
    world.assign(rebalance, &[(tenure(0, 2), 1)]);
    assert_eq!(offsets(&world.poll(tenure(0, 2), 500)), [1, 2]);
    world.close();
}

#[test]
fn a_retired_partition_is_fetched_again_under_its_next_tenure() {
    let topic = Topic::new(1);
    topic.fill_some(0, 3);
    let group = fresh_name();
    let mut one = World::join(&topic, &group);
    one.take(tenure(0, 1), 0);
    assert_eq!(offsets(&one.poll(tenure(0, 1), 1)), [0]);
    one.perform(Command::Retire { tenure: tenure(0, 1) });
    let mut two = World::join(&topic, &group);
    let revoked = one.revoked();
    one.perform(Command::Unassign { rebalance: revoked });
    // Whoever gets it: the other leaves, and it comes to member one.
    let (rebalance, _) = one.assigned();
    one.assign(rebalance, &[]);
    two.close();
    let revoked = one.revoked();
    one.perform(Command::Unassign { rebalance: revoked });
    one.take(tenure(0, 2), 1);
    assert_eq!(offsets(&one.poll(tenure(0, 2), 500)), [1, 2]);
    one.close();
}
