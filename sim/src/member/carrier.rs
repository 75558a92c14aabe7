//! Knows how the bytes of records travel: through madsim-rdkafka's producer, broker and consumer.
//!
//! Its broker has no groups, topic ids, markers or retention and spreads partitions as it likes, so each log gets a topic
//! of its own with one partition, and every offset of the log lies there, the invisible ones as empty records. What may
//! be seen is the cluster's business.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use amends_core::ids::{Incarnation, Offset, Partition};
use amends_core::source::record::Record;
use madsim_rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use madsim_rdkafka::config::FromClientConfig;
use madsim_rdkafka::consumer::BaseConsumer;
use madsim_rdkafka::error::{KafkaError, RDKafkaErrorCode};
use madsim_rdkafka::producer::{BaseProducer, BaseRecord};
use madsim_rdkafka::{ClientConfig, Message, SimBroker, TopicPartitionList};

use crate::faults::mix;

/// Where the broker listens.
const ADDRESS: &str = "10.0.0.1:9092";
/// A record that was just published may still be on its way.
const AGAIN: Duration = Duration::from_millis(1);

/// One log, as the broker names it: a cut log goes on under another name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct LogName {
    pub(super) incarnation: Incarnation,
    pub(super) partition: Partition,
    /// How often it was cut.
    pub(super) cuts: u32,
}

impl LogName {
    /// From which its records are drawn: other logs hold other records.
    pub(super) fn seed(self, seed: u64) -> u64 {
        let id = u128::from_be_bytes(self.incarnation.bytes());
        mix(seed ^ u64::try_from(id & u128::from(u64::MAX)).unwrap_or(0), u64::from(self.cuts))
    }

    fn topic(self) -> String {
        let hex: String = self.incarnation.bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{hex}-{}-{}", self.partition, self.cuts)
    }
}

/// Starts the broker on a node of its own.
pub(super) fn serve(handle: &madsim::runtime::Handle) {
    let address: SocketAddr = ADDRESS.parse().expect("the address is written above");
    let node = handle.create_node().name("kafka").ip(address.ip()).build();
    node.spawn(async move {
        // It serves until its world ends.
        let _ = SimBroker::default().serve(address).await;
    });
}

fn config() -> ClientConfig {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", ADDRESS).set("enable.auto.commit", "false");
    config
}

/// Publishes every log of a world.
pub(super) struct Publisher {
    admin: AdminClient<madsim_rdkafka::client::DefaultClientContext>,
    producer: BaseProducer,
    published: BTreeMap<LogName, i64>,
}

impl Publisher {
    pub(super) async fn connect() -> Result<Self, KafkaError> {
        let admin = AdminClient::from_config(&config()).await?;
        let producer = BaseProducer::from_config(&config()).await?;
        Ok(Self { admin, producer, published: BTreeMap::new() })
    }

    /// How far a log was published.
    pub(super) fn published(&self, log: LogName) -> Offset {
        Offset(self.published.get(&log).copied().unwrap_or(0))
    }

    /// Publishes the next offsets of a log, `None` for what nobody can see.
    pub(super) async fn publish(
        &mut self,
        log: LogName,
        records: &[Option<Record>],
    ) -> Result<(), KafkaError> {
        let topic = log.topic();
        if !self.published.contains_key(&log) {
            let new = NewTopic::new(&topic, 1, TopicReplication::Fixed(1));
            self.admin.create_topics(&[new], &AdminOptions::new()).await?;
            self.published.insert(log, 0);
        }
        for record in records {
            let mut sent: BaseRecord<'_, [u8], [u8]> = BaseRecord::to(&topic);
            if let Some(record) = record {
                (sent.key, sent.payload) = (record.key.as_deref(), record.value.as_deref());
            }
            self.producer.send(sent).map_err(|(error, _)| error)?;
        }
        self.producer.flush(None).await?;
        *self.published.entry(log).or_insert(0) += i64::try_from(records.len()).unwrap_or(0);
        Ok(())
    }
}

/// Fetches the bytes of records for one process.
pub(super) struct Fetcher {
    consumer: BaseConsumer,
}

impl Fetcher {
    pub(super) async fn connect() -> Result<Self, KafkaError> {
        Ok(Self { consumer: BaseConsumer::from_config(&config()).await? })
    }

    /// The records at these offsets, ascending or not, once all of them are there.
    pub(super) async fn fetch(&self, log: LogName, offsets: &[Offset]) -> Result<Vec<Record>, KafkaError> {
        let Some(first) = offsets.iter().min() else { return Ok(Vec::new()) };
        let topic = log.topic();
        let mut list = TopicPartitionList::new();
        list.add_partition_offset(&topic, 0, madsim_rdkafka::Offset::Offset(first.0))?;
        self.consumer.assign(&list)?;
        let mut fetched = BTreeMap::new();
        while !offsets.iter().all(|offset| fetched.contains_key(offset)) {
            match self.consumer.poll(None).await {
                // What the assignment before had fetched comes first.
                Some(Ok(message)) => {
                    if message.topic() == topic {
                        let record = Record {
                            offset: Offset(message.offset()),
                            key: message.key().map(<[u8]>::to_vec),
                            value: message.payload().map(<[u8]>::to_vec),
                        };
                        fetched.insert(record.offset, record);
                    }
                }
                // Neither the record nor, perhaps, its log has been published yet.
                None | Some(Err(KafkaError::MessageConsumption(RDKafkaErrorCode::UnknownTopic))) => {
                    madsim::time::sleep(AGAIN).await;
                }
                Some(Err(error)) => return Err(error),
            }
        }
        Ok(offsets.iter().filter_map(|offset| fetched.get(offset).cloned()).collect())
    }
}
