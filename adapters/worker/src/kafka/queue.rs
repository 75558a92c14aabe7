//! Knows what is fetched for one lane and who waits for it: a bounded queue of one partition, and at most one `Poll`.
//!
//! The queue is librdkafka's own for the partition, split off from the client's. It is bounded by records
//! (`queued.min.messages`) and bytes (`queued.max.messages.kbytes`); when it is full librdkafka fetches the partition
//! no further and the other partitions go on. `pause` would do the same and throw the fetched records away each time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use amends_core::ids::{Frontier, TenureId};
use amends_core::lifecycle::event::{Event, Offsets, PollFailure};
use amends_core::source::record::Record;
use rdkafka::consumer::base_consumer::PartitionQueue;
use rdkafka::error::KafkaError;

use super::Delivery;
use super::context::Context;
use super::reader::{is_reset, record, size};

/// A `Poll` that waits for its first record.
#[derive(Clone, Copy)]
pub(super) struct Waiting {
    pub(super) tenure: TenureId,
    pub(super) records: u32,
    pub(super) bytes: u64,
    pub(super) deadline: Instant,
}

impl Waiting {
    pub(super) fn empty(self) -> Delivery {
        Delivery::of(Event::PollEmpty { tenure: self.tenure })
    }
}

/// One tenure's share of the client.
pub(super) struct Lane {
    pub(super) tenure: TenureId,
    pub(super) waiting: Option<Waiting>,
    /// Behind the last record taken out of the queue.
    next: Frontier,
    queue: PartitionQueue<Context>,
    /// Fetched, but too large for the batch before it.
    held: Option<(Record, u64)>,
    /// Came behind records: told to the next `Poll`.
    failed: Option<KafkaError>,
}

impl Lane {
    pub(super) fn new(tenure: TenureId, frontier: Frontier, queue: PartitionQueue<Context>) -> Self {
        Self { tenure, waiting: None, next: frontier, queue, held: None, failed: None }
    }

    /// Forgets what was taken out of the queue; what is still inside is outdated by the seek itself.
    pub(super) fn start_at(&mut self, frontier: Frontier) {
        self.next = frontier;
        self.held = None;
        self.failed = None;
    }

    /// Where the next `Poll` goes on.
    pub(super) fn position(&self) -> Frontier {
        self.held.as_ref().map_or(self.next, |(record, _)| Frontier(record.offset.0))
    }

    /// Answers the `Poll` that waits, when there is something to say. `explain` words an error of the client.
    pub(super) fn serve(
        &mut self,
        now: Instant,
        explain: impl FnOnce(&KafkaError) -> String,
    ) -> Option<Delivery> {
        let poll = self.waiting?;
        let records = self.take(poll);
        let answer = if !records.is_empty() {
            let offsets = Offsets::new(records.iter().map(|record| record.offset).collect());
            let event = Event::Polled { tenure: poll.tenure, offsets };
            Delivery { event, records: Some(Arc::from(records)) }
        } else if let Some(error) = self.failed.take() {
            let why = explain(&error);
            let failure = match error.rdkafka_error_code() {
                Some(code) if is_reset(code) => PollFailure::Reset(why),
                Some(_) | None => PollFailure::Again(why),
            };
            Delivery::of(Event::PollFailed { tenure: poll.tenure, failure })
        } else if now >= poll.deadline {
            poll.empty()
        } else {
            return None;
        };
        self.waiting = None;
        Some(answer)
    }

    /// Takes what is queued, within the limits of the `Poll`.
    fn take(&mut self, poll: Waiting) -> Vec<Record> {
        let (mut records, mut bytes) = (Vec::new(), 0_u64);
        if let Some((record, size)) = self.held.take() {
            bytes = size;
            records.push(record);
        }
        let limit = usize::try_from(poll.records.max(1)).unwrap_or(usize::MAX);
        while records.len() < limit && self.failed.is_none() {
            match self.queue.poll(Duration::ZERO) {
                None => break,
                Some(Err(error)) => self.failed = Some(error),
                Some(Ok(message)) => {
                    let (record, size) = (record(&message), size(&message));
                    self.next = record.offset.frontier_after();
                    bytes = bytes.saturating_add(size);
                    if bytes > poll.bytes && !records.is_empty() {
                        self.held = Some((record, size));
                        break;
                    }
                    records.push(record);
                }
            }
        }
        records
    }
}
