//! Probes and plain readers.

use std::time::{Duration, Instant};

use amends::kafka::{Reader, Settings};
use amends_core::ids::{Frontier, Offset, Partition};
use amends_core::lifecycle::command::Command;
use amends_core::lifecycle::event::{Event, Failure, ProbeSight};

use crate::support::{LONG, Topic, Transactions, World, settings, tenure};

fn probe(world: &mut World, frontier: i64) -> Result<ProbeSight, Failure> {
    let lane = tenure(0, 1);
    world.perform(Command::Probe { tenure: lane, frontier: Frontier(frontier), within_ms: 10_000 });
    world.until("Probed", |delivery| match delivery.event {
        Event::Probed { tenure, sight } if tenure == lane => Some(Ok(sight)),
        Event::ProbeFailed { tenure, failure } if tenure == lane => Some(Err(failure)),
        _ => None,
    })
}

#[test]
fn a_probe_sees_over_gaps_and_tells_a_tail() {
    let topic = Topic::new(1);
    let mut world = World::start(&topic);
    // Empty log.
    assert_eq!(probe(&mut world, 0), Ok(ProbeSight::Tail(Offset(0))));
    topic.fill_some(0, 1);
    let aborted = Transactions::begin(&topic);
    aborted.publish(0, "aborted");
    aborted.publish(0, "aborted");
    aborted.abort();
    // A tail of aborted records and a marker: 1, 2, 3.
    assert_eq!(probe(&mut world, 0), Ok(ProbeSight::Record(Offset(0))));
    let begun = Instant::now();
    assert_eq!(probe(&mut world, 1), Ok(ProbeSight::Tail(Offset(4))));
    eprintln!("measured: a probe of a tail took {:?}", begun.elapsed());
    topic.fill_some(0, 2);
    // A gap.
    let begun = Instant::now();
    assert_eq!(probe(&mut world, 1), Ok(ProbeSight::Record(Offset(4))));
    eprintln!("measured: a probe over a gap took {:?}", begun.elapsed());
    assert_eq!(probe(&mut world, 5), Ok(ProbeSight::Record(Offset(5))));
    assert_eq!(probe(&mut world, 6), Ok(ProbeSight::Tail(Offset(6))));
    // An open transaction hides what comes after it.
    let open = Transactions::begin(&topic);
    open.publish(0, "open");
    assert_eq!(probe(&mut world, 6), Ok(ProbeSight::Tail(Offset(6))));
    open.commit();
    assert_eq!(probe(&mut world, 6), Ok(ProbeSight::Record(Offset(6))));
    world.close();
}

#[test]
fn a_reader_ends_at_the_end_that_it_asked() {
    let topic = Topic::new(2);
    topic.fill_some(1, 3000);
    let mut reader = Reader::open(&settings(), &topic.name, Partition(1), Offset(10), LONG).expect("opened");
    assert_eq!(reader.end(), Offset(3000));
    topic.fill_some(1, 10);
    for wanted in 10..3000_i64 {
        let record = reader.next(LONG).expect("an answer").expect("a record");
        assert_eq!(record.offset, Offset(wanted));
        assert_eq!(record.value.as_deref(), Some(wanted.to_string().as_bytes()));
    }
    assert_eq!(reader.next(LONG), Ok(None));
    assert_eq!(reader.next(LONG), Ok(None));
}

#[test]
fn a_reader_without_a_broker_fails_in_time() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("one").port();
    let nowhere = Settings::new(&format!("127.0.0.1:{port}"), []).expect("settings");
    let begun = Instant::now();
    let opened = Reader::open(&nowhere, "orders", Partition(0), Offset(0), Duration::from_secs(2));
    match opened.err() {
        Some(Failure::Unreached(why) | Failure::Again(why)) => {
            assert!(why.contains(&port.to_string()), "{why}")
        }
        other => panic!("{other:?}"),
    }
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
}
