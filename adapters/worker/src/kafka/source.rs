//! Knows how to look at the source: identity and bounds of one topic, as the broker shows them now.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use amends_core::ids::{Incarnation, Offset};
use amends_core::lifecycle::command::{CheckId, CheckParts};
use amends_core::lifecycle::event::{Event, Failure};
use amends_core::source::boundary::{Bounds, LogSpan, Sight, TopicSight};
use rdkafka::TopicPartitionList;
use rdkafka::consumer::{BaseConsumer, Consumer};

use super::config::{Settings, unmade};
use super::describe::{self, Trouble};
use super::watch::{Watch, sort};
use super::{Deliver, Delivery};

/// The longest that one look may take.
pub const LOOK_WITHIN: Duration = Duration::from_secs(5);

/// With every broker known to be down, a look waits no longer than this for one to come back.
const DOWN_WITHIN: Duration = Duration::from_millis(500);

const CLEANUP_POLICY: &str = "cleanup.policy";
const RETENTION_MS: &str = "retention.ms";
const RETENTION_BYTES: &str = "retention.bytes";
const UNCLEAN: &str = "unclean.leader.election.enable";

/// One connection that asks about one topic. Its calls block: at most [`LOOK_WITHIN`] each.
pub struct Source {
    client: BaseConsumer<Watch>,
    topic: String,
    c_topic: CString,
    brokers: String,
}

impl Source {
    /// Makes the client; connects when first asked.
    ///
    /// # Errors
    /// `Broken` when librdkafka cannot make a client of these settings.
    pub fn new(settings: &Settings, topic: &str) -> Result<Self, Failure> {
        let client =
            settings.asker().create_with_context(Watch::default()).map_err(|error| unmade(&error))?;
        let c_topic = describe::c_name(topic).map_err(|trouble| Failure::Broken(trouble.text))?;
        Ok(Self { client, topic: topic.to_owned(), c_topic, brokers: settings.brokers().to_owned() })
    }

    /// Looks now: nothing in the answer was cached. One metadata request for the identity; for the bounds also one for
    /// the configuration and two (starts, ends) per leader, however many partitions and lanes there are.
    ///
    /// # Errors
    /// `Unreached` when no broker could be reached, `Again` when one did not answer in time or answered with an error
    /// that may pass, `Broken` for one that will not (permissions, credentials, an unsupported request).
    pub fn look(&self, parts: CheckParts) -> Result<Sight, Failure> {
        let deadline = Instant::now() + LOOK_WITHIN;
        let topic = describe::topic(self.client.client(), &self.c_topic, LOOK_WITHIN, self.patience())
            .map_err(|trouble| self.fail("describe", trouble))?;
        self.client.context().heard();
        let Some(topic) = topic else { return Ok(Sight { topic: TopicSight::Unknown, bounds: None }) };
        let sight = TopicSight::Known {
            incarnation: Incarnation::from_bytes(topic.id),
            partitions: u32::try_from(topic.has_leader.len()).unwrap_or(u32::MAX),
        };
        let bounds = match parts {
            CheckParts::Identity => None,
            CheckParts::Bounds => Some(Arc::new(self.bounds(&topic.has_leader, deadline)?)),
        };
        Ok(Sight { topic: sight, bounds })
    }

    fn bounds(&self, has_leader: &[bool], deadline: Instant) -> Result<Bounds, Failure> {
        let wanted = [CLEANUP_POLICY, RETENTION_MS, RETENTION_BYTES, UNCLEAN];
        let client = self.client.client();
        let rest = deadline.saturating_duration_since(Instant::now());
        let mut shown = describe::configuration(client, &self.c_topic, &wanted, rest, self.patience())
            .map_err(|trouble| self.fail("read the configuration of", trouble))?;
        let starts = self.ask_offsets(has_leader, rdkafka::Offset::Beginning, deadline)?;
        // The isolation is the client's: the last stable offset, not the high watermark.
        let ends = self.ask_offsets(has_leader, rdkafka::Offset::End, deadline)?;
        let logs = (0..has_leader.len()).map(|partition| {
            let partition = i32::try_from(partition).ok()?;
            Some(LogSpan { start: *starts.get(&partition)?, end: *ends.get(&partition)? })
        });
        Ok(Bounds {
            logs: logs.collect(),
            retention_ms: self.number(RETENTION_MS, &shown)?,
            retention_bytes: self.number(RETENTION_BYTES, &shown)?,
            // A broker without the setting (Redpanda) has no unclean elections to enable.
            unclean_leader_election: shown.get(UNCLEAN).is_some_and(|value| value == "true"),
            cleanup_policy: shown.remove(CLEANUP_POLICY).ok_or_else(|| self.not_shown(CLEANUP_POLICY))?,
        })
    }

    /// Asks each leader once, for all its partitions. Those without a leader are left out: the request would wait.
    fn ask_offsets(
        &self,
        has_leader: &[bool],
        which: rdkafka::Offset,
        deadline: Instant,
    ) -> Result<BTreeMap<i32, Offset>, Failure> {
        let mut asked = TopicPartitionList::with_capacity(has_leader.len());
        let led = (0_i32..).zip(has_leader).filter(|(_, has_leader)| **has_leader);
        for (partition, _) in led {
            asked.add_partition_offset(&self.topic, partition, which).map_err(|error| unmade(&error))?;
        }
        if asked.count() == 0 {
            return Ok(BTreeMap::new());
        }
        let rest = deadline.saturating_duration_since(Instant::now());
        let shown = self.client.offsets_for_times(asked, rest).map_err(|error| {
            sort(error.rdkafka_error_code(), self.explain("read the offsets of", &error.to_string()))
        })?;
        let mut offsets = BTreeMap::new();
        for element in shown.elements() {
            if let Err(error) = element.error() {
                let why = self.explain("read the offsets of", &error.to_string());
                // A leader that went or moved since is no error of the request: the partition has none now.
                match sort(error.rdkafka_error_code(), why) {
                    Failure::Again(_) | Failure::Unreached(_) => continue,
                    broken @ Failure::Broken(_) => return Err(broken),
                }
            }
            if let rdkafka::Offset::Offset(offset) = element.offset() {
                offsets.insert(element.partition(), Offset(offset));
            }
        }
        Ok(offsets)
    }

    fn number(&self, name: &str, shown: &BTreeMap<String, String>) -> Result<i64, Failure> {
        shown.get(name).and_then(|value| value.parse().ok()).ok_or_else(|| self.not_shown(name))
    }

    fn not_shown(&self, name: &str) -> Failure {
        Failure::Broken(self.explain("read the configuration of", &format!("the broker shows no {name}")))
    }

    /// Serves the client's events during a wait, and tells whether it is worth waiting on.
    fn patience(&self) -> impl FnMut() -> bool + '_ {
        let asked = Instant::now();
        move || {
            let watch = self.client.context();
            // Every event is told to the watch.
            while self.client.poll(Duration::ZERO).is_some() || watch.was_stirred() {}
            !(watch.is_refused() || watch.is_down() && asked.elapsed() >= DOWN_WITHIN)
        }
    }

    fn fail(&self, what: &str, trouble: Trouble) -> Failure {
        let why = self.explain(what, &trouble.text);
        let watch = self.client.context();
        if watch.is_refused() {
            Failure::Broken(why)
        } else if watch.is_down() {
            Failure::Unreached(why)
        } else {
            sort(Some(trouble.code), why)
        }
    }

    fn explain(&self, what: &str, why: &str) -> String {
        let complaint = self.client.context().complaint();
        let complaint = complaint.map(|complaint| format!(" ({complaint})")).unwrap_or_default();
        format!("could not {what} topic {} at {}: {why}{complaint}", self.topic, self.brokers)
    }
}

/// A [`Source`] on a thread of its own, which answers checks in the order in which they are asked. The thread ends when
/// this is dropped.
pub(super) struct SourceThread {
    checks: Sender<(CheckId, CheckParts)>,
}

impl SourceThread {
    pub(super) fn start(source: Source, deliver: Deliver) -> std::io::Result<Self> {
        let (checks, inbox) = channel();
        thread::Builder::new()
            .name("kafka-source".to_owned())
            .spawn(move || answer(&source, &inbox, &deliver))?;
        Ok(Self { checks })
    }

    pub(super) fn check(&self, check: CheckId, parts: CheckParts) -> bool {
        self.checks.send((check, parts)).is_ok()
    }
}

fn answer(source: &Source, inbox: &Receiver<(CheckId, CheckParts)>, deliver: &Deliver) {
    while let Ok((check, parts)) = inbox.recv() {
        let event = match source.look(parts) {
            Ok(sight) => Event::Checked { check, sight },
            Err(failure) => Event::CheckFailed { check, failure },
        };
        deliver(Delivery::of(event));
    }
}
