//! Knows how to read one partition without a group: from an absolute offset to the read-committed end.

use std::thread;
use std::time::{Duration, Instant};

use amends_core::ids::{Frontier, Offset, Partition, TenureId};
use amends_core::lifecycle::event::{Event, Failure, ProbeSight};
use amends_core::source::record::Record;
use rdkafka::TopicPartitionList;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{BorrowedMessage, Headers, Message};

use super::config::{Settings, unmade};
use super::watch::{Watch, sort};
use super::{Deliver, Delivery};

/// How long one wait inside librdkafka lasts at most, so that a deadline is kept.
const SLICE: Duration = Duration::from_millis(50);

/// Reads the visible records of one partition in order, in bounded memory. Its calls block.
pub struct Reader {
    /// `None` only while dropping.
    client: Option<BaseConsumer<Watch>>,
    place: String,
    end: Offset,
    at_end: bool,
}

/// What comes next.
enum Next {
    Record(Record),
    /// No visible record from here to the end that was asked when the reader was opened.
    End,
}

impl Reader {
    /// Asks for the read-committed end and then begins at `from`: one absolute position, no group offset, no reset.
    ///
    /// # Errors
    /// As of a check: no broker, no answer in time, or an error that will not pass.
    pub fn open(
        settings: &Settings,
        topic: &str,
        partition: Partition,
        from: Offset,
        within: Duration,
    ) -> Result<Self, Failure> {
        let client: BaseConsumer<Watch> =
            settings.stranger().create_with_context(Watch::default()).map_err(|error| unmade(&error))?;
        let place = format!("{topic}/{partition} at {}", settings.brokers());
        let mut reader = Self { client: Some(client), place, end: from, at_end: false };
        let Ok(number) = i32::try_from(partition.0) else {
            return Err(Failure::Broken(format!("could not read {}: no such partition", reader.place)));
        };
        reader.end = reader.ask_end(topic, number, within)?;
        reader.at_end = reader.end <= from;
        if let Some(client) = reader.client.as_ref().filter(|_| !reader.at_end) {
            let mut start = TopicPartitionList::new();
            start
                .add_partition_offset(topic, number, rdkafka::Offset::Offset(from.0))
                .and_then(|()| client.assign(&start))
                .map_err(|error| reader.fail(&error))?;
        }
        Ok(reader)
    }

    /// The read-committed end, as it was when the reader was opened.
    #[must_use]
    pub fn end(&self) -> Offset {
        self.end
    }

    /// The next visible record below [`Reader::end`]; `None` when there is none.
    ///
    /// # Errors
    /// `Again` when neither came in time; `Broken` when the position lies outside of the log or nothing can be read.
    pub fn next(&mut self, within: Duration) -> Result<Option<Record>, Failure> {
        Ok(match self.advance(within)? {
            Next::Record(record) if record.offset < self.end => Some(record),
            Next::Record(_) | Next::End => {
                self.at_end = true;
                None
            }
        })
    }

    fn advance(&mut self, within: Duration) -> Result<Next, Failure> {
        let deadline = Instant::now() + within;
        let Some(client) = self.client.as_ref().filter(|_| !self.at_end) else { return Ok(Next::End) };
        loop {
            let rest = deadline.saturating_duration_since(Instant::now());
            match client.poll(rest.min(SLICE)) {
                Some(Ok(message)) => return Ok(Next::Record(record(&message))),
                // The position is the end of now, which is not below the end asked before.
                Some(Err(KafkaError::PartitionEOF(_))) => return Ok(Next::End),
                Some(Err(error)) if ends_a_read(&error) => return Err(self.fail(&error)),
                // A client mends the rest by itself, and the deadline bounds it.
                Some(Err(_)) | None => {}
            }
            if rest.is_zero() {
                let complaint = client.context().complaint();
                let complaint = complaint.map(|complaint| format!(" ({complaint})")).unwrap_or_default();
                let why = format!("could not read {}: no record in {within:?}{complaint}", self.place);
                let is_down = client.context().is_down();
                return Err(if is_down { Failure::Unreached(why) } else { Failure::Again(why) });
            }
        }
    }

    fn ask_end(&self, topic: &str, partition: i32, within: Duration) -> Result<Offset, Failure> {
        let Some(client) = &self.client else { return Ok(self.end) };
        let mut asked = TopicPartitionList::new();
        let shown = asked
            .add_partition_offset(topic, partition, rdkafka::Offset::End)
            .and_then(|()| client.offsets_for_times(asked, within))
            .map_err(|error| self.fail(&error))?;
        for element in shown.elements() {
            element.error().map_err(|error| self.fail(&error))?;
            if let rdkafka::Offset::Offset(end) = element.offset() {
                return Ok(Offset(end));
            }
        }
        Err(Failure::Again(format!("could not read {}: the broker showed no end", self.place)))
    }

    fn fail(&self, error: &KafkaError) -> Failure {
        let complaint = self.client.as_ref().and_then(|client| client.context().complaint());
        let complaint = complaint.map(|complaint| format!(" ({complaint})")).unwrap_or_default();
        sort(error.rdkafka_error_code(), format!("could not read {}: {error}{complaint}", self.place))
    }
}

impl Drop for Reader {
    /// A client waits for its brokers when it is dropped: not on the caller's time.
    fn drop(&mut self) {
        let client = self.client.take();
        // Without a thread the client was dropped by the failed call itself.
        let _ = thread::Builder::new().name("kafka-drop".to_owned()).spawn(move || drop(client));
    }
}

/// A position outside of the log, or what no wait mends.
fn ends_a_read(error: &KafkaError) -> bool {
    error.rdkafka_error_code().is_some_and(|code| {
        // A reader joins no group: that it may not is not its trouble.
        (super::watch::is_final(code) && code != RDKafkaErrorCode::GroupAuthorizationFailed) || is_reset(code)
    })
}

/// The position lies outside of the log, and the reset policy refuses to choose another.
pub(super) fn is_reset(code: RDKafkaErrorCode) -> bool {
    matches!(code, RDKafkaErrorCode::AutoOffsetReset | RDKafkaErrorCode::OffsetOutOfRange)
}

/// The record's exact bytes, where an absent part differs from an empty one.
pub(super) fn record(message: &BorrowedMessage<'_>) -> Record {
    Record {
        offset: Offset(message.offset()),
        key: message.key().map(<[u8]>::to_vec),
        value: message.payload().map(<[u8]>::to_vec),
    }
}

/// Bytes of key, value and headers: what `batch-bytes` counts.
pub(super) fn size(message: &BorrowedMessage<'_>) -> u64 {
    let headers = message.headers().map_or(0, |headers| {
        headers.iter().map(|header| header.key.len() + header.value.map_or(0, <[u8]>::len)).sum()
    });
    let bytes = message.key_len() + message.payload_len() + headers;
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// Answers a `Probe` from a thread of its own.
pub(super) fn probe(
    settings: Settings,
    topic: String,
    tenure: TenureId,
    frontier: Frontier,
    within: Duration,
    deliver: Deliver,
) {
    let answer = deliver.clone();
    let look = move || {
        let event = match look_from(&settings, &topic, tenure.partition, frontier.next_offset(), within) {
            Ok(sight) => Event::Probed { tenure, sight },
            Err(failure) => Event::ProbeFailed { tenure, failure },
        };
        deliver(Delivery::of(event));
    };
    if let Err(error) = thread::Builder::new().name("kafka-probe".to_owned()).spawn(look) {
        let failure = Failure::Again(format!("could not probe: no thread: {error}"));
        answer(Delivery::of(Event::ProbeFailed { tenure, failure }));
    }
}

fn look_from(
    settings: &Settings,
    topic: &str,
    partition: Partition,
    from: Offset,
    within: Duration,
) -> Result<ProbeSight, Failure> {
    let deadline = Instant::now() + within;
    let mut reader = Reader::open(settings, topic, partition, from, within)?;
    Ok(match reader.advance(deadline.saturating_duration_since(Instant::now()))? {
        // Also one that became visible since: it is the first.
        Next::Record(record) => ProbeSight::Record(record.offset),
        Next::End => ProbeSight::Tail(reader.end),
    })
}
