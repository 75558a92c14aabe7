//! Plain readers.

use std::time::{Duration, Instant};

use amends::kafka::{Reader, Settings};
use amends_core::ids::{Offset, Partition};
use amends_core::lifecycle::event::Failure;

use crate::support::{LONG, Topic, settings};

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
