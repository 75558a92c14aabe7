//! Checks: identity and bounds.

use std::fmt;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use amends::kafka::{LOOK_WITHIN, Settings, Source};
use amends_core::ids::{Incarnation, Offset};
use amends_core::lifecycle::command::CheckParts;
use amends_core::lifecycle::event::Failure;
use amends_core::source::boundary::{Bounds, LogSpan, Sight, TopicSight};

use crate::support::{Topic, Transactions, brokers, fresh_name, settings};

fn sight(topic: &Topic) -> TopicSight {
    let source = Source::new(&settings(), &topic.name).expect("a client");
    source.look(CheckParts::Identity).expect("an answer").topic
}

fn known(topic: &Topic) -> Incarnation {
    match sight(topic) {
        TopicSight::Known { incarnation, .. } => incarnation.expect("a UUID"),
        TopicSight::Unknown => panic!("the topic is unknown"),
    }
}

/// A topic so new may still be without its leaders: that is asked again.
fn settled(source: &Source, parts: CheckParts) -> Sight {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        match source.look(parts) {
            Ok(sight) if sight.bounds.iter().all(|bounds| !bounds.logs.contains(&None)) => return sight,
            Ok(_) | Err(Failure::Again(_)) if Instant::now() < deadline => {}
            other => panic!("{other:?}"),
        }
    }
}

fn bounds(topic: &Topic) -> Arc<Bounds> {
    let source = Source::new(&settings(), &topic.name).expect("a client");
    settled(&source, CheckParts::Bounds).bounds.expect("bounds")
}

fn span(start: i64, end: i64) -> Option<LogSpan> {
    Some(LogSpan { start: Offset(start), end: Offset(end) })
}

/// The UUID in a metadata answer (version 12) that no client library read.
fn uuid_on_the_wire(topic: &str) -> [u8; 16] {
    let mut body = Vec::new();
    body.extend(3_i16.to_be_bytes());
    body.extend(12_i16.to_be_bytes());
    body.extend(7_i32.to_be_bytes());
    body.extend(4_i16.to_be_bytes());
    body.extend(b"test");
    body.push(0);
    body.push(2);
    body.extend([0; 16]);
    body.push(u8::try_from(topic.len() + 1).expect("a short name"));
    body.extend(topic.as_bytes());
    body.extend([0, 0, 0, 0]);
    let mut stream = TcpStream::connect(brokers()).expect("a broker");
    stream.write_all(&u32::try_from(body.len()).expect("short").to_be_bytes()).expect("sent");
    stream.write_all(&body).expect("sent");
    let mut length = [0; 4];
    stream.read_exact(&mut length).expect("an answer");
    let mut answer = vec![0; usize::try_from(u32::from_be_bytes(length)).expect("a length")];
    stream.read_exact(&mut answer).expect("an answer");
    let name = topic.as_bytes();
    let at = answer.windows(name.len()).position(|window| window == name).expect("the topic") + name.len();
    answer[at..at + 16].try_into().expect("16 bytes")
}

#[test]
fn the_topic_id_is_the_brokers_and_changes_with_the_topic() {
    let topic = Topic::new(3);
    let first = known(&topic);
    assert_eq!(first.bytes(), uuid_on_the_wire(&topic.name));
    assert_eq!(sight(&topic), TopicSight::Known { incarnation: Some(first), partitions: 3 });
    assert_eq!(known(&topic), first);
    topic.delete();
    topic.create(2, &[]);
    let second = known(&topic);
    assert_ne!(second, first);
    assert_eq!(second.bytes(), uuid_on_the_wire(&topic.name));
    assert_eq!(sight(&topic), TopicSight::Known { incarnation: Some(second), partitions: 2 });
}

#[test]
fn one_source_sees_a_topic_go_and_come_back() {
    let topic = Topic::new(1);
    let source = Source::new(&settings(), &topic.name).expect("a client");
    let TopicSight::Known { incarnation: first, .. } = settled(&source, CheckParts::Bounds).topic else {
        panic!("unknown")
    };
    topic.delete();
    let gone = Instant::now() + Duration::from_secs(10);
    // Between the two parts of a look the topic may go: that is a failure that passes.
    while source.look(CheckParts::Bounds).map(|sight| sight.topic) != Ok(TopicSight::Unknown) {
        assert!(Instant::now() < gone, "the deleted topic is still shown");
    }
    topic.create(1, &[]);
    let back = Instant::now() + Duration::from_secs(10);
    loop {
        // A partition may still be without its leader.
        let sight = source.look(CheckParts::Identity).expect("an answer");
        if let TopicSight::Known { incarnation, .. } = sight.topic {
            assert_ne!(incarnation, first);
            return;
        }
        assert!(Instant::now() < back, "the new topic is not shown");
    }
}

#[test]
fn an_unknown_topic_is_an_answer() {
    let source = Source::new(&settings(), &fresh_name()).expect("a client");
    for parts in [CheckParts::Identity, CheckParts::Bounds] {
        let sight = source.look(parts).expect("an answer");
        assert_eq!((sight.topic, sight.bounds), (TopicSight::Unknown, None));
    }
}

#[test]
fn bounds_show_effective_settings_and_read_committed_ends() {
    let topic = Topic::with(3, &[("cleanup.policy", "compact"), ("retention.ms", "86400000")]);
    let seen = bounds(&topic);
    assert_eq!(seen.cleanup_policy, "compact");
    assert_eq!(seen.retention_ms, 86_400_000);
    assert_eq!(seen.retention_bytes, -1);
    assert!(!seen.unclean_leader_election);
    assert_eq!(seen.logs, [span(0, 0), span(0, 0), span(0, 0)]);
    let topic = Topic::new(2);
    topic.fill_some(0, 5);
    let mut open = Transactions::begin(&topic);
    open.publish(0, "open");
    open.publish(1, "open");
    // The last stable offset, not the high watermark: 5, not 6; 0, not 1.
    let seen = bounds(&topic);
    assert_eq!((seen.cleanup_policy.as_str(), seen.retention_ms), ("delete", -1));
    assert_eq!(seen.logs, [span(0, 5), span(0, 0)]);
    topic.fill_some(0, 1);
    assert_eq!(bounds(&topic).logs, [span(0, 5), span(0, 0)]);
    open.commit();
    // The marker takes an offset of its own.
    assert_eq!(bounds(&topic).logs, [span(0, 8), span(0, 2)]);
}

#[test]
fn a_refused_connection_is_unreached_and_names_the_address() {
    let port = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port();
    let address = format!("127.0.0.1:{port}");
    let source = Source::new(&Settings::new(&address, []).expect("settings"), "orders").expect("a client");
    for _ in 0..2 {
        let asked = Instant::now();
        match source.look(CheckParts::Identity) {
            Err(Failure::Unreached(why)) => {
                assert!(why.contains(&address) && why.contains("orders"), "{why}");
            }
            other => panic!("{other:?}"),
        }
        assert!(asked.elapsed() < Duration::from_secs(2), "{:?}", asked.elapsed());
    }
}

#[test]
fn a_silent_broker_is_bounded_and_named() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let source = Source::new(&Settings::new(&address, []).expect("settings"), "orders").expect("a client");
    let asked = Instant::now();
    match source.look(CheckParts::Bounds) {
        Err(Failure::Again(why)) => assert!(why.contains(&address), "{why}"),
        other => panic!("{other:?}"),
    }
    assert!(asked.elapsed() < LOOK_WITHIN + Duration::from_secs(1), "{:?}", asked.elapsed());
}

/// librdkafka's debug lines about requests, by the thread that read them: that of the test which looks.
static SENT: Mutex<Vec<(ThreadId, String)>> = Mutex::new(Vec::new());

/// Collects them. It must be everybody's: whether a line is wanted is asked once, by whichever test comes to it first,
/// and for good.
struct Requests;

impl Requests {
    fn count(request: &str) -> usize {
        let mine = |line: &&(ThreadId, String)| line.0 == thread::current().id();
        let wanted = format!("Sent {request}");
        SENT.lock().expect("lines").iter().filter(mine).filter(|(_, line)| line.contains(&wanted)).count()
    }
}

impl tracing::Subscriber for Requests {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }
    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        struct Line(String);
        impl tracing::field::Visit for Line {
            fn record_debug(&mut self, _: &tracing::field::Field, value: &dyn fmt::Debug) {
                self.0.push_str(&format!("{value:?}"));
            }
        }
        let mut line = Line(String::new());
        event.record(&mut line);
        if line.0.contains("Sent ") {
            SENT.lock().expect("lines").push((thread::current().id(), line.0));
        }
    }
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

#[test]
fn requests_per_check_do_not_grow_with_the_partitions() {
    tracing::subscriber::set_global_default(Requests).expect("the only one");
    // Another test may have asked while it was not set yet.
    tracing::callsite::rebuild_interest_cache();
    let count = |partitions: u32, parts: CheckParts| {
        let topic = Topic::new(partitions);
        let debugged = [("debug".to_owned(), "protocol".to_owned())];
        let settings = Settings::new(&brokers(), debugged).expect("settings");
        let source = Source::new(&settings, &topic.name).expect("a client");
        // The first looks also connect and ask for brokers; the last one reads the lines that are still queued.
        for parts in [parts, parts, CheckParts::Identity] {
            settled(&source, parts);
            thread::sleep(Duration::from_millis(50));
        }
        let kinds = ["Metadata", "DescribeConfigs", "ListOffsets", "Fetch", "OffsetForLeaderEpoch"];
        let before = kinds.map(Requests::count);
        for _ in 0..10 {
            source.look(parts).expect("an answer");
        }
        // Again for the lines that are still queued.
        thread::sleep(Duration::from_millis(50));
        source.look(CheckParts::Identity).expect("an answer");
        let after = kinds.map(Requests::count);
        [0, 1, 2, 3, 4].map(|kind| after[kind] - before[kind])
    };
    for (partitions, parts, bounds) in
        [(1, CheckParts::Identity, 0), (1, CheckParts::Bounds, 10), (12, CheckParts::Bounds, 10)]
    {
        let [metadata, configs, offsets, fetches, epochs] = count(partitions, parts);
        assert_eq!([configs, offsets, fetches, epochs], [bounds, 2 * bounds, 0, 0]);
        // Ten looks, and one more for the identity; librdkafka may refresh its own view of a topic so new.
        assert!((11..=13).contains(&metadata), "{metadata} metadata requests");
    }
}
