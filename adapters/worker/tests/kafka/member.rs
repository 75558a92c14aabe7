//! Lanes: assign, poll, seek, and what a full queue costs.

use std::time::{Duration, Instant};

use amends_core::ids::{Frontier, Partition};
use amends_core::lifecycle::command::Command;
use amends_core::lifecycle::event::{Event, Failure, PollFailure};
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer};
use rdkafka::{Offset, TopicPartitionList};

use crate::support::{LONG, Topic, World, brokers, fresh_name, offsets, tenure};

#[test]
fn an_assign_long_after_the_callback_works() {
    let topic = Topic::new(2);
    topic.fill_some(1, 3);
    let mut world = World::start(&topic);
    let (rebalance, partitions) = world.assigned();
    assert_eq!((rebalance.member, rebalance.number), (1, 1));
    assert_eq!(partitions, [Partition(0), Partition(1)]);
    // The group waits, and nothing else is heard meanwhile.
    assert!(world.next(Duration::from_secs(5)).is_none());
    world.assign(rebalance, &[(tenure(0, 1), 0), (tenure(1, 2), 1)]);
    world.sought(tenure(0, 1));
    world.sought(tenure(1, 2));
    assert_eq!(offsets(&world.poll(tenure(1, 2), 500)), [1, 2]);
    world.ask(tenure(0, 1), 500);
    assert!(world.answer(tenure(0, 1)).is_none());
    world.close();
}

#[test]
fn a_group_offset_never_chooses_the_position() {
    let topic = Topic::new(1);
    topic.fill_some(0, 9);
    let group = fresh_name();
    let planter: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", brokers())
        .set("group.id", &group)
        .create()
        .expect("a consumer");
    let mut planted = TopicPartitionList::new();
    planted.add_partition_offset(&topic.name, 0, Offset::Offset(5)).expect("a list");
    planter.commit(&planted, CommitMode::Sync).expect("committed");
    let stored = planter.committed_offsets(planted, LONG).expect("committed");
    assert_eq!(stored.elements()[0].offset(), Offset::Offset(5));
    drop(planter);
    let mut world = World::join(&topic, &group);
    world.take(tenure(0, 1), 1);
    assert_eq!(offsets(&world.poll(tenure(0, 1), 500)), [1, 2, 3, 4, 5, 6, 7, 8]);
    world.close();
}

#[test]
fn a_poll_keeps_its_limits_and_takes_one_record_at_least() {
    let topic = Topic::new(1);
    topic.fill(0, ["12345678", "12345678", "12345678", "12345678"]);
    let mut world = World::start(&topic);
    let lane = tenure(0, 1);
    world.take(lane, 0);
    assert_eq!(offsets(&world.poll(lane, 1)), [0]);
    let mut by_bytes = |bytes| {
        world.perform(Command::Poll { tenure: lane, records: 500, bytes, wait_ms: 5000 });
        offsets(&world.answer(lane).expect("records"))
    };
    assert_eq!(by_bytes(1), [1]);
    // The record that did not fit is held, neither lost nor repeated.
    assert_eq!(by_bytes(16), [2, 3]);
    world.ask(lane, 500);
    assert!(world.answer(lane).is_none());
    world.close();
}

#[test]
fn the_bytes_are_exact() {
    let topic = Topic::new(1);
    type Part = Option<&'static [u8]>;
    let cases: [(Part, Part); 5] = [
        (None, None),
        (Some(b""), Some(b"")),
        (Some(b"a\0b"), Some(b"\xff\xfe\0")),
        (None, Some(b"")),
        (Some(b""), None),
    ];
    let settings = crate::support::settings();
    let mut publisher = amends::kafka::Publisher::open(&settings, &topic.name, LONG).expect("a producer");
    for (ticket, (key, value)) in (0..).zip(cases) {
        publisher.publish(ticket, Partition(0), key, value).expect("taken");
    }
    publisher.finish();
    let mut world = World::start(&topic);
    world.take(tenure(0, 1), 0);
    let records = world.poll(tenure(0, 1), 500);
    let seen: Vec<_> =
        records.iter().map(|record| (record.key.as_deref(), record.value.as_deref())).collect();
    assert_eq!(seen, cases);
    world.close();
}

#[test]
fn a_seek_moves_the_lane_and_throws_away_what_was_fetched() {
    let topic = Topic::new(2);
    topic.fill_some(0, 2000);
    let mut world = World::start(&topic);
    let lane = tenure(0, 1);
    world.take(lane, 0);
    assert_eq!(world.poll(lane, 500).len(), 500);
    let mut slowest = Duration::ZERO;
    for to in [7, 1990, 0, 499] {
        let asked = Instant::now();
        world.perform(Command::Seek { tenure: lane, frontier: Frontier(to), within_ms: 5000 });
        world.sought(lane);
        slowest = slowest.max(asked.elapsed());
        assert_eq!(offsets(&world.poll(lane, 2)), [to, to + 1]);
    }
    eprintln!("measured: a seek took at most {slowest:?}");
    let stranger = tenure(0, 9);
    world.perform(Command::Seek { tenure: stranger, frontier: Frontier(0), within_ms: 5000 });
    let failure = world.until("SeekFailed", |delivery| match delivery.event {
        Event::SeekFailed { tenure, failure } if tenure == stranger => Some(failure),
        _ => None,
    });
    assert!(matches!(failure, Failure::Again(_)), "{failure:?}");
    world.close();
}

#[test]
fn a_seek_right_after_the_assign_is_answered_and_takes() {
    let topic = Topic::new(1);
    topic.fill_some(0, 20);
    let mut world = World::start(&topic);
    let lane = tenure(0, 1);
    let (rebalance, _) = world.assigned();
    world.assign(rebalance, &[(lane, 0)]);
    world.perform(Command::Seek { tenure: lane, frontier: Frontier(9), within_ms: 5000 });
    world.sought(lane);
    let sought = world.until("an answer to Seek", |delivery| match delivery.event {
        Event::Sought { .. } => Some(Ok(())),
        Event::SeekFailed { failure, .. } => Some(Err(failure)),
        _ => None,
    });
    eprintln!("measured: a seek right after assign gave {sought:?}");
    let first = offsets(&world.poll(lane, 1))[0];
    match sought {
        Ok(()) => assert_eq!(first, 9),
        Err(Failure::Again(_)) => assert_eq!(first, 0),
        Err(other) => panic!("{other:?}"),
    }
    world.close();
}

/// librdkafka then fetches the partition no more until it is assigned again; the other lane must not notice.
#[test]
fn a_position_outside_of_the_log_is_a_reset_and_a_seek_mends_it() {
    let topic = Topic::new(2);
    topic.fill_some(0, 3);
    topic.fill(1, ["12345678", "12345678", "12345678", "12345678"]);
    let mut world = World::start(&topic);
    let (rebalance, _) = world.assigned();
    let (lane, other) = (tenure(0, 1), tenure(1, 2));
    world.assign(rebalance, &[(lane, 1000), (other, 0)]);
    // One is held back: it did not fit.
    world.perform(Command::Poll { tenure: other, records: 500, bytes: 16, wait_ms: 10_000 });
    assert_eq!(offsets(&world.answer(other).expect("records")), [0, 1]);
    let why = loop {
        world.ask(lane, 500);
        let failed = world.until("an answer to Poll", |delivery| match delivery.event {
            Event::PollFailed { failure, .. } => Some(Some(failure)),
            Event::PollEmpty { .. } => Some(None),
            Event::Polled { offsets, .. } => panic!("{offsets}"),
            _ => None,
        });
        match failed {
            Some(PollFailure::Reset(why)) => break why,
            Some(PollFailure::Again(why)) => panic!("{why}"),
            None => {}
        }
    };
    eprintln!("measured: a reset says {why:?}");
    world.perform(Command::Seek { tenure: lane, frontier: Frontier(1), within_ms: 5000 });
    world.sought(lane);
    assert_eq!(offsets(&world.poll(lane, 500)), [1, 2]);
    assert_eq!(offsets(&world.poll(other, 500)), [2, 3]);
    world.close();
}

/// 100,000 small records through queues that are full most of the time: every one once, in order.
#[test]
fn full_queues_lose_and_repeat_nothing() {
    const COUNT: i64 = 100_000;
    let topic = Topic::new(3);
    topic.fill(0, (0..COUNT).map(|n| format!("{n:0100}")));
    topic.fill(2, (0..COUNT).map(|n| format!("{n:0100}")));
    let mut world = World::start(&topic);
    let (rebalance, _) = world.assigned();
    let lanes = [tenure(0, 1), tenure(2, 3)];
    // Partition 1 stays empty: the broker holds its fetch as long as it may.
    world.assign(rebalance, &[(lanes[0], 0), (tenure(1, 2), 0), (lanes[1], 0)]);
    let begun = Instant::now();
    let mut next = [0_i64; 2];
    let mut polls = 0;
    while next.iter().any(|next| *next < COUNT) {
        for (lane, next) in lanes.iter().zip(&mut next).filter(|(_, next)| **next < COUNT) {
            let records = world.poll(*lane, 500);
            for record in records.iter() {
                assert_eq!(record.offset.0, *next, "{lane}");
                assert_eq!(record.value.as_deref(), Some(format!("{next:0100}").as_bytes()));
                *next += 1;
            }
            polls += 1;
            // Long enough for the fetcher to fill the queue and stop, now and then for its backoff to end.
            if polls % 50 == 0 {
                std::thread::sleep(Duration::from_millis(40));
            }
        }
    }
    let rate = 2.0 * COUNT as f64 / begun.elapsed().as_secs_f64();
    eprintln!("measured: {} records in {polls} polls, {rate:.0} records/s", 2 * COUNT);
    world.close();
}

#[test]
fn a_record_reaches_a_poll_that_waits_at_once() {
    let topic = Topic::new(2);
    let mut world = World::start(&topic);
    let lane = tenure(0, 1);
    world.take(lane, 0);
    // The first fetch of an empty log is out.
    world.ask(lane, 500);
    assert!(world.answer(lane).is_none());
    let settings = crate::support::settings();
    let mut waits = Vec::new();
    for ticket in 0..20 {
        world.perform(Command::Poll { tenure: lane, records: 500, bytes: 1 << 20, wait_ms: 10_000 });
        let mut publisher = amends::kafka::Publisher::open(&settings, &topic.name, LONG).expect("a producer");
        publisher.publish(ticket, Partition(0), None, Some(b"x")).expect("taken");
        publisher.finish();
        let stored = Instant::now();
        assert_eq!(world.answer(lane).expect("the record").len(), 1);
        waits.push(stored.elapsed());
    }
    waits.sort();
    eprintln!("measured: acknowledged to polled {:?} median, {:?} at most", waits[10], waits[19]);
    let mut orders = Vec::new();
    for _ in 0..20 {
        std::thread::sleep(Duration::from_millis(7));
        let asked = Instant::now();
        world.perform(Command::Poll { tenure: lane, records: 500, bytes: 1 << 20, wait_ms: 0 });
        assert!(world.answer(lane).is_none());
        orders.push(asked.elapsed());
    }
    orders.sort();
    eprintln!("measured: an order to an idle member {:?} median, {:?} at most", orders[10], orders[19]);
    world.close();
}
