//! Knows how to publish records to explicit partitions, and what became of each.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use amends_core::ids::{Offset, Partition};
use amends_core::lifecycle::event::Failure;
use rdkafka::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{DeliveryResult, Message};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer, ProducerContext};

use super::config::{Settings, unmade};
use super::watch::{Watch, is_final};

/// How long a full local queue is waited on at a time.
const SLICE: Duration = Duration::from_millis(20);

/// Time beyond the delivery deadline for the last reports to come in.
const REPORT_WITHIN: Duration = Duration::from_secs(2);

/// What became of one record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It lies at this offset, acknowledged by all in-sync replicas.
    Stored(Offset),
    /// It surely lies nowhere.
    Failed(String),
    /// It may lie in the log, or may not.
    Unknown(String),
}

/// The report on one record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// The caller's number for the record.
    pub ticket: u64,
    /// Where it was published to.
    pub partition: Partition,
    /// What became of it.
    pub outcome: Outcome,
}

/// Publishes to one topic with an idempotent producer: records of one partition are stored in the order in which they
/// were given, each once. Its calls block.
pub struct Publisher {
    /// `None` only while dropping.
    client: Option<BaseProducer<Reports>>,
    topic: String,
    deadline: Duration,
    waiting: BTreeMap<u64, Partition>,
}

#[derive(Default)]
struct Reports {
    watch: Watch,
    came: Mutex<Vec<Report>>,
}

impl ClientContext for Reports {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, text: &str) {
        self.watch.log(level, facility, text);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        self.watch.note(&error, reason);
    }
}

impl ProducerContext for Reports {
    type DeliveryOpaque = Box<u64>;

    fn delivery(&self, result: &DeliveryResult<'_>, ticket: Self::DeliveryOpaque) {
        let (message, outcome) = match result {
            Ok(message) => (message, Outcome::Stored(Offset(message.offset()))),
            Err((error, message)) => (message, sort_report(error)),
        };
        let partition = Partition(u32::try_from(message.partition()).unwrap_or(u32::MAX));
        let report = Report { ticket: *ticket, partition, outcome };
        self.came.lock().unwrap_or_else(PoisonError::into_inner).push(report);
    }
}

impl Publisher {
    /// Makes the producer; each record is reported on at most `deadline` after it was given.
    ///
    /// # Errors
    /// `Broken` when librdkafka makes no client of these settings.
    pub fn open(settings: &Settings, topic: &str, deadline: Duration) -> Result<Self, Failure> {
        let config = settings.producer(deadline);
        let client = config.create_with_context(Reports::default()).map_err(|error| unmade(&error))?;
        Ok(Self { client: Some(client), topic: topic.to_owned(), deadline, waiting: BTreeMap::new() })
    }

    /// Gives one record; waits while the local queue is full. `ticket` comes back in its report and must be new.
    ///
    /// # Errors
    /// `Broken` when this record is not taken: it surely lies nowhere, and no report follows.
    pub fn publish(
        &mut self,
        ticket: u64,
        partition: Partition,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
    ) -> Result<(), Failure> {
        let Some(client) = &self.client else { return Err(closed()) };
        let number = i32::try_from(partition.0)
            .map_err(|_| Failure::Broken(format!("could not publish to {}/{partition}", self.topic)))?;
        let mut record: BaseRecord<'_, [u8], [u8], Box<u64>> =
            BaseRecord::with_opaque_to(&self.topic, Box::new(ticket)).partition(number);
        record.key = key;
        record.payload = value;
        while let Err((error, refused)) = client.send(record) {
            if error.rdkafka_error_code() != Some(RDKafkaErrorCode::QueueFull) {
                let why = format!("could not publish to {}/{partition}: {error}", self.topic);
                return Err(Failure::Broken(why));
            }
            record = refused;
            client.poll(SLICE);
        }
        self.waiting.insert(ticket, partition);
        client.poll(Duration::ZERO);
        Ok(())
    }

    /// How many records have no report yet.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.waiting.len()
    }

    /// The reports that came since the last call.
    pub fn reports(&mut self) -> Vec<Report> {
        let Some(client) = &self.client else { return Vec::new() };
        client.poll(Duration::ZERO);
        let reports =
            std::mem::take(&mut *client.context().came.lock().unwrap_or_else(PoisonError::into_inner));
        for report in &reports {
            self.waiting.remove(&report.ticket);
        }
        reports
    }

    /// Waits until every record has its report, at most a little longer than the delivery deadline; one without a
    /// report by then is `Unknown`.
    pub fn finish(mut self) -> Vec<Report> {
        let deadline = Instant::now() + self.deadline + REPORT_WITHIN;
        let mut reports = self.reports();
        while !self.waiting.is_empty() && Instant::now() < deadline {
            // It also cuts the linger short.
            let flushed = self.client.as_ref().map(|client| client.flush(SLICE));
            if let Some(Err(error)) = flushed {
                tracing::trace!("flush: {error}");
            }
            reports.extend(self.reports());
        }
        let unknown = || Outcome::Unknown("the broker did not acknowledge it in time".to_owned());
        let missing = std::mem::take(&mut self.waiting);
        reports.extend(missing.into_iter().map(|(ticket, partition)| Report {
            ticket,
            partition,
            outcome: unknown(),
        }));
        reports
    }
}

impl Drop for Publisher {
    /// A client waits for its brokers when it is dropped: not on the caller's time.
    fn drop(&mut self) {
        let client = self.client.take();
        // Without a thread the client was dropped by the failed call itself.
        let _ = thread::Builder::new().name("kafka-drop".to_owned()).spawn(move || drop(client));
    }
}

fn closed() -> Failure {
    Failure::Broken("could not publish: the producer is closed".to_owned())
}

/// librdkafka tells its reports' persistence by code: only a refusal by the broker, or one before sending, is certain.
fn sort_report(error: &KafkaError) -> Outcome {
    use RDKafkaErrorCode as Code;
    let why = error.to_string();
    match error.rdkafka_error_code() {
        Some(
            Code::MessageSizeTooLarge
            | Code::MessageBatchTooLarge
            | Code::InvalidMessage
            | Code::InvalidRecord
            | Code::InvalidTopic
            | Code::UnknownPartition
            | Code::UnknownTopic
            | Code::PurgeQueue,
        ) => Outcome::Failed(why),
        Some(code) if code != Code::Fatal && is_final(code) => Outcome::Failed(why),
        Some(_) | None => Outcome::Unknown(why),
    }
}
