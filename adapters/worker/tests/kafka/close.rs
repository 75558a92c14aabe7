//! Leaving: a healthy broker, a frozen one, orders that come too late; a lost assignment.

use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use amends::kafka::{Pipeline, Settings};
use amends_core::lifecycle::command::Command;
use amends_core::lifecycle::event::Event;
use rdkafka::mocking::MockCluster;
use rdkafka_sys::RDKafkaRespErr;

use crate::support::{Topic, World, fresh_name, pipeline, tenure};

#[test]
fn a_close_with_an_unanswered_callback_is_quick() {
    let topic = Topic::new(1);
    let mut world = World::start(&topic);
    world.assigned();
    let begun = Instant::now();
    world.close();
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    eprintln!("measured: closing with an unanswered callback took {:?}", begun.elapsed());
}

/// Whatever a thread is stuck in: a call of librdkafka's looks the same from outside.
#[test]
fn a_member_that_is_stuck_does_not_hold_up_the_close() {
    let topic = Topic::new(1);
    let (release, stuck) = channel::<()>();
    let stuck = Mutex::new(stuck);
    let mut world = World::heard(pipeline(&topic, &fresh_name()), move |event| {
        if matches!(event, Event::Assigned { .. }) {
            let released = stuck.lock().expect("nobody panics").recv();
            assert!(released.is_err(), "the test lets go of it");
        }
    });
    world.assigned();
    let begun = Instant::now();
    world.close();
    assert!(begun.elapsed() < Duration::from_secs(7), "{:?}", begun.elapsed());
    drop(release);
    let late = world.next(Duration::from_secs(2));
    assert!(late.is_none(), "it is left behind: {late:?}");
}

fn mocked(cluster: &MockCluster<'_, rdkafka::producer::DefaultProducerContext>) -> World {
    let topic = fresh_name();
    cluster.create_topic(&topic, 1, 1).expect("a topic");
    let quick = [("session.timeout.ms", "3000"), ("heartbeat.interval.ms", "500")];
    let quick = quick.map(|(name, value)| (name.to_owned(), value.to_owned()));
    World::of(Pipeline {
        settings: Settings::new(&cluster.bootstrap_servers(), quick).expect("settings"),
        topic,
        group: fresh_name(),
        batch_records: 500,
        batch_bytes: 1 << 20,
    })
}

/// A broker that does not answer cannot be had from the one that other tests use.
#[test]
fn a_frozen_broker_does_not_hold_up_the_close() {
    let cluster = MockCluster::new(1).expect("a mock");
    let mut world = mocked(&cluster);
    world.take(tenure(0, 1), 0);
    cluster.broker_round_trip_time(1, Duration::from_secs(120)).expect("frozen");
    let begun = Instant::now();
    world.close();
    let took = begun.elapsed();
    eprintln!("measured: closing on a frozen broker took {took:?}");
    assert!(took < Duration::from_secs(7), "{took:?}");
}

#[test]
fn a_member_that_the_group_forgot_has_lost_its_partitions() {
    let cluster = MockCluster::new(1).expect("a mock");
    let mut world = mocked(&cluster);
    world.take(tenure(0, 1), 0);
    cluster.request_errors(
        rdkafka_sys::RDKafkaApiKey::Heartbeat,
        &[RDKafkaRespErr::RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID],
    );
    let lost = world.until("Lost", |delivery| match delivery.event {
        Event::Lost { rebalance } => Some(rebalance),
        Event::Revoked { .. } => panic!("revoked"),
        _ => None,
    });
    assert_eq!((lost.member, lost.number), (1, 2));
    world.perform(Command::Unassign { rebalance: lost });
    let (again, _) = world.assigned();
    assert_eq!(again.number, 3);
    world.close();
}
