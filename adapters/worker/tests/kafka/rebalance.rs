//! The group: a member that leaves and joins again, and a partition that comes back.

use std::time::Instant;

use amends_core::lifecycle::command::Command;
use amends_core::lifecycle::event::Event;

use crate::support::{Topic, World, fresh_name, offsets, tenure};

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
