//! Publishing: coordinates in the order of the file, and outcomes told apart.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use amends::kafka::{Outcome, Publisher, Reader, Settings};
use amends_core::ids::{Offset, Partition};

use crate::support::{LONG, Topic, settings};

#[test]
fn every_record_gets_its_coordinates_in_order() {
    const COUNT: u64 = 20_000;
    let topic = Topic::new(2);
    let begun = Instant::now();
    let mut publisher = Publisher::open(&settings(), &topic.name, LONG).expect("a producer");
    let mut reports = Vec::new();
    for ticket in 0..COUNT {
        let partition = Partition(u32::try_from(ticket % 2).expect("0 or 1"));
        publisher
            .publish(ticket, partition, Some(b"key"), Some(ticket.to_string().as_bytes()))
            .expect("taken");
        reports.extend(publisher.reports());
    }
    reports.extend(publisher.finish());
    eprintln!("measured: {COUNT} records published in {:?}", begun.elapsed());
    reports.sort_by_key(|report| report.ticket);
    assert_eq!(reports.len() as u64, COUNT);
    for (ticket, report) in (0..COUNT).zip(&reports) {
        let offset = i64::try_from(ticket / 2).expect("small");
        assert_eq!((report.ticket, u64::from(report.partition.0)), (ticket, ticket % 2));
        assert_eq!(report.outcome, Outcome::Stored(Offset(offset)));
    }
    let mut reader = Reader::open(&settings(), &topic.name, Partition(1), Offset(0), LONG).expect("opened");
    let first = reader.next(LONG).expect("an answer").expect("a record");
    assert_eq!(first.value.as_deref(), Some(b"1".as_slice()));
}

#[test]
fn without_an_answer_a_record_is_unknown() {
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = silent.local_addr().expect("an address").to_string();
    let nowhere = Settings::new(&address, []).expect("settings");
    let begun = Instant::now();
    let mut publisher = Publisher::open(&nowhere, "orders", Duration::from_secs(1)).expect("a producer");
    publisher.publish(1, Partition(0), None, Some(b"x")).expect("taken");
    let reports = publisher.finish();
    assert_eq!(reports.len(), 1);
    assert!(matches!(reports[0].outcome, Outcome::Unknown(_)), "{reports:?}");
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

#[test]
fn a_record_too_large_for_its_topic_is_known_to_have_failed() {
    let topic = Topic::with(1, &[("max.message.bytes", "1000")]);
    let mut publisher = Publisher::open(&settings(), &topic.name, LONG).expect("a producer");
    // What zstd cannot shrink.
    let noise: Vec<u8> =
        (0_u32..5000).map(|n| n.wrapping_mul(2_654_435_761).rotate_left(n % 31).to_le_bytes()[1]).collect();
    publisher.publish(1, Partition(0), None, Some(&noise)).expect("taken");
    let reports = publisher.finish();
    assert!(matches!(reports[0].outcome, Outcome::Failed(_)), "{reports:?}");
    let mut publisher = Publisher::open(&settings(), &topic.name, LONG).expect("a producer");
    let refused = publisher.publish(2, Partition(0), None, Some(&vec![0; 2_000_000]));
    assert!(refused.is_err());
    assert_eq!(publisher.in_flight(), 0);
}
