//! What the tests share: topics that are deleted again, a world with its deliveries, plain producers.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use amends::kafka::{Delivery, KafkaWorld, Outcome, Pipeline, Publisher, Report};
use amends_core::ids::{Frontier, Offset, Partition, RebalanceId, TenureId};
use amends_core::lifecycle::command::Command;
use amends_core::lifecycle::event::Event;
use amends_core::source::record::Record;
use rdkafka::TopicPartitionList;
use rdkafka::admin::{AdminClient, AdminOptions, NewPartitions};
use rdkafka::client::DefaultClientContext;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};

pub use crate::services::{
    LONG, brokers, create_topic, delete_topic, fresh_name, settings, try_delete_topic,
};

/// A topic of this test; dropping it deletes it.
pub struct Topic {
    pub name: String,
}

impl Topic {
    pub fn new(partitions: u32) -> Self {
        Self::with(partitions, &[("retention.ms", "-1"), ("retention.bytes", "-1")])
    }

    pub fn with(partitions: u32, config: &[(&str, &str)]) -> Self {
        let topic = Self { name: fresh_name() };
        topic.create(partitions, config);
        topic
    }

    pub fn create(&self, partitions: u32, config: &[(&str, &str)]) {
        create_topic(&self.name, partitions, config);
    }

    pub fn delete(&self) {
        assert!(delete_topic(&self.name), "{} was there", self.name);
    }

    pub fn grow(&self, partitions: u32) {
        let partitions = usize::try_from(partitions).expect("few");
        let wanted = NewPartitions::new(&self.name, partitions);
        let answer = now(admin().create_partitions(&[wanted], &AdminOptions::new())).expect("an answer");
        answer.into_iter().for_each(|grown| assert!(grown.is_ok(), "{grown:?}"));
    }

    pub fn delete_records(&self, partition: Partition, below: Offset) {
        let mut list = TopicPartitionList::new();
        let number = i32::try_from(partition.0).expect("few");
        list.add_partition_offset(&self.name, number, rdkafka::Offset::Offset(below.0)).expect("a list");
        now(admin().delete_records(&list, &AdminOptions::new())).expect("deleted");
    }

    /// Publishes values to a partition and waits until they are stored.
    pub fn fill<T: AsRef<[u8]>>(&self, partition: u32, values: impl IntoIterator<Item = T>) {
        let mut publisher = Publisher::open(&settings(), &self.name, LONG).expect("a producer");
        for (ticket, value) in (0..).zip(values) {
            publisher.publish(ticket, Partition(partition), None, Some(value.as_ref())).expect("taken");
        }
        for report in publisher.finish() {
            assert!(matches!(report, Report { outcome: Outcome::Stored(_), .. }), "{report:?}");
        }
    }

    /// `count` records of a few bytes.
    pub fn fill_some(&self, partition: u32, count: u32) {
        self.fill(partition, (0..count).map(|n| n.to_string()));
    }
}

impl Drop for Topic {
    fn drop(&mut self) {
        // A test that failed has more to say; one that deleted it itself finds none.
        let gone = try_delete_topic(&self.name);
        if !std::thread::panicking() {
            gone.expect("an answer");
        }
    }
}

fn admin() -> AdminClient<DefaultClientContext> {
    ClientConfig::new().set("bootstrap.servers", brokers()).create().expect("a client")
}

fn now<T>(answer: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(answer)
}

/// A producer whose transactions the test ends itself.
pub struct Transactions {
    producer: BaseProducer,
    topic: String,
    touched: BTreeSet<i32>,
}

impl Transactions {
    pub fn begin(topic: &Topic) -> Self {
        let producer: BaseProducer = ClientConfig::new()
            .set("bootstrap.servers", brokers())
            .set("transactional.id", fresh_name())
            .set("linger.ms", "0")
            .create()
            .expect("producer");
        producer.init_transactions(LONG).expect("initialised");
        producer.begin_transaction().expect("begun");
        Self { producer, topic: topic.name.clone(), touched: BTreeSet::new() }
    }

    pub fn publish(&mut self, partition: i32, value: &str) {
        self.touched.insert(partition);
        let record: BaseRecord<'_, [u8], str> =
            BaseRecord::to(&self.topic).partition(partition).payload(value);
        self.producer.send(record).map_err(|(error, _)| error).expect("taken");
        self.producer.flush(LONG).expect("flushed");
    }

    pub fn abort(self) {
        self.producer.abort_transaction(LONG).expect("aborted");
        self.end();
    }

    pub fn commit(self) {
        self.producer.commit_transaction(LONG).expect("committed");
        self.end();
    }

    /// The broker answers before it has written the markers: waits until nothing of a partition is open any more.
    fn end(self) {
        let deadline = Instant::now() + LONG;
        let [stable, high] = ["read_committed", "read_uncommitted"].map(|isolation| {
            let reader = ClientConfig::new()
                .set("bootstrap.servers", brokers())
                .set("isolation.level", isolation)
                .create::<BaseConsumer>()
                .expect("a client");
            let topic = &self.topic;
            move |partition| reader.fetch_watermarks(topic, partition, LONG).expect("an answer").1
        });
        for partition in self.touched {
            while stable(partition) < high(partition) {
                assert!(Instant::now() < deadline, "partition {partition} has no marker");
            }
        }
    }
}

/// A world and what it delivered.
pub struct World {
    pub kafka: KafkaWorld,
    deliveries: Receiver<Delivery>,
}

pub fn pipeline(topic: &Topic, group: &str) -> Pipeline {
    Pipeline {
        settings: settings(),
        topic: topic.name.clone(),
        group: group.to_owned(),
        batch_records: 500,
        batch_bytes: 4 << 20,
    }
}

impl World {
    pub fn start(topic: &Topic) -> Self {
        Self::join(topic, &fresh_name())
    }

    pub fn join(topic: &Topic, group: &str) -> Self {
        Self::of(pipeline(topic, group))
    }

    pub fn of(pipeline: Pipeline) -> Self {
        Self::heard(pipeline, |_| {})
    }

    /// The same, with something that each event does to the thread that delivered it.
    pub fn heard(pipeline: Pipeline, hear: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        let (sender, deliveries) = channel();
        let deliver = Arc::new(move |delivery: Delivery| {
            let event = delivery.event.clone();
            let _ = sender.send(delivery);
            hear(&event);
        });
        Self { kafka: KafkaWorld::start(pipeline, deliver).expect("started"), deliveries }
    }

    pub fn perform(&mut self, command: Command) {
        assert!(self.kafka.perform(&command), "not Kafka's: {command:?}");
    }

    pub fn next(&self, within: Duration) -> Option<Delivery> {
        match self.deliveries.recv_timeout(within) {
            Ok(delivery) => Some(delivery),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => panic!("nobody delivers any more"),
        }
    }

    /// The first delivery that `wanted` accepts; a test that waits in vain says what came instead.
    pub fn until<T>(&self, what: &str, mut wanted: impl FnMut(Delivery) -> Option<T>) -> T {
        let deadline = Instant::now() + LONG;
        let mut others = String::new();
        while let Some(delivery) = self.next(deadline.saturating_duration_since(Instant::now())) {
            let _ = writeln!(others, "  {:?}", delivery.event);
            if let Some(found) = wanted(delivery) {
                return found;
            }
        }
        panic!("waited in vain for {what}; came:\n{others}");
    }

    pub fn assigned(&self) -> (RebalanceId, Vec<Partition>) {
        self.until("Assigned", |delivery| match delivery.event {
            Event::Assigned { rebalance, partitions } => Some((rebalance, partitions)),
            _ => None,
        })
    }

    pub fn revoked(&self) -> RebalanceId {
        self.until("Revoked", |delivery| match delivery.event {
            Event::Revoked { rebalance, .. } => Some(rebalance),
            _ => None,
        })
    }

    pub fn assign(&mut self, rebalance: RebalanceId, positions: &[(TenureId, i64)]) {
        let positions = positions.iter().map(|&(tenure, frontier)| (tenure, Frontier(frontier))).collect();
        self.perform(Command::Assign { rebalance, positions });
    }

    pub fn sought(&self, wanted: TenureId) {
        self.until("Sought", |delivery| match delivery.event {
            Event::Sought { tenure } if tenure == wanted => Some(()),
            Event::SeekFailed { tenure, failure } if tenure == wanted => panic!("{failure:?}"),
            _ => None,
        });
    }

    /// Joins, takes the assignment with one position and waits until it is taken.
    pub fn take(&mut self, wanted: TenureId, frontier: i64) {
        let (rebalance, _) = self.assigned();
        self.assign(rebalance, &[(wanted, frontier)]);
        self.sought(wanted);
    }

    pub fn ask(&mut self, tenure: TenureId, records: u32) {
        self.perform(Command::Poll { tenure, records, bytes: 4 << 20, wait_ms: 1000 });
    }

    /// The answer to the poll that waits: records, or `None` for an empty one.
    pub fn answer(&self, wanted: TenureId) -> Option<Arc<[Record]>> {
        self.until("an answer to Poll", |delivery| match delivery.event {
            Event::Polled { tenure, offsets } if tenure == wanted => {
                let records = delivery.records.expect("records beside Polled");
                let seen: Vec<_> = records.iter().map(|record| record.offset).collect();
                assert_eq!(*offsets, *seen, "the records of the offsets");
                Some(Some(records))
            }
            Event::PollEmpty { tenure } if tenure == wanted => Some(None),
            Event::PollFailed { tenure, failure } if tenure == wanted => panic!("{failure:?}"),
            _ => None,
        })
    }

    /// Polls until records come.
    pub fn poll(&mut self, tenure: TenureId, records: u32) -> Arc<[Record]> {
        let deadline = Instant::now() + LONG;
        while Instant::now() < deadline {
            self.ask(tenure, records);
            if let Some(records) = self.answer(tenure) {
                return records;
            }
        }
        panic!("no records of {tenure} in {LONG:?}");
    }

    pub fn close(&mut self) {
        self.perform(Command::Close);
        self.until("Closed", |delivery| (delivery.event == Event::Closed).then_some(()));
    }
}

pub fn tenure(partition: u32, number: u32) -> TenureId {
    TenureId { partition: Partition(partition), number }
}

pub fn offsets(records: &[Record]) -> Vec<i64> {
    records.iter().map(|record| record.offset.0).collect()
}
