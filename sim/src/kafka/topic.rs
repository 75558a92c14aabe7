//! Knows what brokers show of the topic: what it is, how its logs are bounded, who leads them; now, or as a broker that
//! is behind remembers it.

use std::collections::BTreeMap;
use std::sync::Arc;

use amends_core::ids::{Incarnation, Offset, Partition};
use amends_core::lifecycle::command::CheckParts;
use amends_core::source::boundary::{Bounds, LogSpan, Sight, TopicSight};

use crate::faults::{Fault, Place};
use crate::ground::Ground;
use crate::life::Life;
use crate::truth::{Log, Truth};

/// Forms of F34.
const OLD: u32 = 0;
const UNKNOWN: u32 = 1;
const NO_LEADER: u32 = 2;

/// A setting of the topic, changed to what a ledger cannot have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Setting {
    /// `retention.ms` is finite.
    Retention {
        /// How long records are kept, in milliseconds.
        ms: i64,
    },
    /// `cleanup.policy` is `compact`.
    Compaction,
    /// `unclean.leader.election.enable` is on.
    UncleanElection,
}

pub(super) struct Topic {
    /// What the topic was, and from when on; the last is of now.
    views: Vec<View>,
    /// Each bound that a log ever had, and from when on.
    spans: Vec<(u64, Incarnation, Partition, LogSpan)>,
    /// Brokers know nothing newer than the first until the second, in milliseconds.
    lag: Option<(u64, u64)>,
    /// Partitions without a leader, and until when.
    leaderless: BTreeMap<Partition, u64>,
    /// Offsets that the group has, although nobody committed any.
    planted: BTreeMap<Partition, Offset>,
    /// The form of each record that cannot be read.
    poison: BTreeMap<(Partition, Offset), u32>,
    /// Which record was loaded again there.
    again: BTreeMap<(Partition, Offset), Offset>,
    /// The bounds of now, until something changes.
    bounds: Option<Arc<Bounds>>,
}

#[derive(Clone, Copy)]
struct View {
    since: u64,
    incarnation: Incarnation,
    /// 0 for a topic that is not there.
    partitions: u32,
    retention_ms: i64,
    is_compacted: bool,
    is_unclean: bool,
}

impl Topic {
    pub(super) fn new(declared: Incarnation, partitions: u32) -> Self {
        let view = View {
            since: 0,
            incarnation: declared,
            partitions,
            retention_ms: -1,
            is_compacted: false,
            is_unclean: false,
        };
        Self {
            views: vec![view],
            spans: Vec::new(),
            lag: None,
            leaderless: BTreeMap::new(),
            planted: BTreeMap::new(),
            poison: BTreeMap::new(),
            again: BTreeMap::new(),
            bounds: None,
        }
    }

    /// What brokers know of now is not what they knew.
    pub(super) fn changed(&mut self) {
        self.bounds = None;
    }

    /// The topic of the name is another one, or has another number of partitions.
    pub(super) fn is_now(&mut self, truth: &Truth) {
        let Some(last) = self.views.last().copied() else { return };
        if last.incarnation != truth.current {
            self.poison.clear();
            self.again.clear();
        }
        let (since, partitions) = (truth.now, truth.current_partitions);
        self.views.push(View { since, incarnation: truth.current, partitions, ..last });
        self.changed();
    }

    pub(super) fn set(&mut self, now: u64, setting: Setting) {
        let Some(last) = self.views.last().copied() else { return };
        let last = View { since: now, ..last };
        self.views.push(match setting {
            Setting::Retention { ms } => View { retention_ms: ms, ..last },
            Setting::Compaction => View { is_compacted: true, ..last },
            Setting::UncleanElection => View { is_unclean: true, ..last },
        });
        self.changed();
    }

    /// A log has other bounds, or another content.
    pub(super) fn log_changed(&mut self, truth: &Truth, partition: Partition) {
        if let Some(log) = truth.logs.get(&(truth.current, partition)) {
            self.spans.push((truth.now, truth.current, partition, span(log)));
        }
        self.changed();
    }

    pub(super) fn lag(&mut self, now: u64, until: u64) {
        self.lag = Some((now, until));
    }

    pub(super) fn lose_leader(&mut self, partition: Partition, until: u64) {
        self.leaderless.insert(partition, until);
        self.changed();
    }

    fn is_led(&self, partition: Partition, now: u64) -> bool {
        self.leaderless.get(&partition).is_none_or(|until| *until <= now)
    }

    /// A partition's log, while there is somebody to read it from.
    pub(super) fn led<'a>(&self, truth: &'a Truth, partition: Partition) -> Option<&'a Log> {
        let is_there = partition.0 < truth.current_partitions && self.is_led(partition, truth.now);
        truth.logs.get(&(truth.current, partition)).filter(|_| is_there)
    }

    pub(super) fn plant(&mut self, partition: Partition, offset: Offset) {
        self.planted.insert(partition, offset);
    }

    pub(super) fn planted(&self, partition: Partition) -> Option<Offset> {
        self.planted.get(&partition).copied()
    }

    pub(super) fn poison(&mut self, partition: Partition, offset: Offset, form: u32) {
        self.poison.insert((partition, offset), form);
    }

    pub(super) fn poison_at(&self, partition: Partition, offset: Offset) -> Option<u32> {
        self.poison.get(&(partition, offset)).copied()
    }

    pub(super) fn load_again(&mut self, partition: Partition, offset: Offset, first: Offset) {
        self.again.insert((partition, offset), first);
    }

    pub(super) fn loaded_first(&self, partition: Partition, offset: Offset) -> Offset {
        self.again.get(&(partition, offset)).copied().unwrap_or(offset)
    }

    pub(super) fn cut_records(&mut self, partition: Partition, from: Offset) {
        self.poison.retain(|(of, offset), _| *of != partition || *offset < from);
        self.again.retain(|(of, offset), _| *of != partition || *offset < from);
    }

    pub(super) fn heal(&mut self) {
        self.leaderless.clear();
        self.planted.clear();
        self.lag = None;
        self.changed();
    }

    /// What a broker shows to this process now; `None` when none answers.
    pub(super) fn look(&mut self, ground: &mut Ground, who: Life, parts: CheckParts) -> Option<Sight> {
        let now = ground.now();
        let stale = ground.faults.strike(Fault::MetadataStale, Place::at(who));
        let has_no_id = ground.faults.strike(Fault::TopicIdAbsent, Place::at(who)).is_some();
        let truth = &ground.chronicle.truth;
        let mut sight = match self.lag.filter(|(_, until)| now < *until) {
            Some((then, _)) => self.remembered(then, parts),
            None => self.of_now(truth, parts),
        };
        if let Some(strike) = stale {
            let shown = match strike.variant {
                OLD => Some(self.remembered(now.saturating_sub(strike.severity), parts)),
                UNKNOWN => Some(Sight { topic: TopicSight::Unknown, bounds: None }),
                NO_LEADER => Some(without_leader(&sight, strike.severity)),
                _ => None,
            };
            if shown.as_ref() != Some(&sight) {
                let what = shown.as_ref().map_or("by nobody", |_| "by a broker that is behind");
                ground.chronicle.struck(
                    Fault::MetadataStale,
                    Some(who),
                    format_args!("a check of {who} is answered {what}"),
                );
            }
            sight = shown?;
        }
        if let TopicSight::Known { incarnation, .. } = &mut sight.topic
            && has_no_id
            && incarnation.take().is_some()
        {
            ground.chronicle.struck(
                Fault::TopicIdAbsent,
                Some(who),
                format_args!("a check of {who} shows no topic id"),
            );
        }
        Some(sight)
    }

    fn of_now(&mut self, truth: &Truth, parts: CheckParts) -> Sight {
        let topic = topic_sight(truth.current, truth.current_partitions);
        if parts == CheckParts::Identity || topic == TopicSight::Unknown {
            return Sight { topic, bounds: None };
        }
        // A partition gets its leader back by itself.
        if self.bounds.is_none()
            && let Some(view) = self.views.last()
        {
            let logs = (0..truth.current_partitions).map(|partition| {
                let partition = Partition(partition);
                self.led(truth, partition).map(span)
            });
            self.bounds = Some(Arc::new(view.bounds(logs.collect())));
        }
        Sight { topic, bounds: self.bounds.clone() }
    }

    /// As a broker shows it that has heard nothing since then.
    fn remembered(&self, then: u64, parts: CheckParts) -> Sight {
        let view = self.views.iter().rev().find(|view| view.since <= then).unwrap_or(&self.views[0]);
        let topic = topic_sight(view.incarnation, view.partitions);
        if parts == CheckParts::Identity || topic == TopicSight::Unknown {
            return Sight { topic, bounds: None };
        }
        let logs = (0..view.partitions).map(|partition| {
            let mut spans = self.spans.iter().rev();
            let span = spans.find(|(since, incarnation, of, _)| {
                *since <= then && *incarnation == view.incarnation && of.0 == partition
            });
            Some(span.map_or(LogSpan { start: Offset(0), end: Offset(0) }, |(.., span)| *span))
        });
        Sight { topic, bounds: Some(Arc::new(view.bounds(logs.collect()))) }
    }
}

impl View {
    fn bounds(&self, logs: Vec<Option<LogSpan>>) -> Bounds {
        Bounds {
            cleanup_policy: if self.is_compacted { "compact" } else { "delete" }.to_owned(),
            retention_ms: self.retention_ms,
            retention_bytes: -1,
            unclean_leader_election: self.is_unclean,
            logs,
        }
    }
}

fn topic_sight(incarnation: Incarnation, partitions: u32) -> TopicSight {
    match partitions {
        0 => TopicSight::Unknown,
        partitions => TopicSight::Known { incarnation: Some(incarnation), partitions },
    }
}

fn span(log: &Log) -> LogSpan {
    LogSpan { start: log.start(), end: log.stable_end() }
}

/// The same, with one partition less that has a leader.
fn without_leader(sight: &Sight, which: u64) -> Sight {
    let bounds = sight.bounds.as_deref().map(|bounds| {
        let mut bounds = bounds.clone();
        let index = usize::try_from(which).unwrap_or(0) % bounds.logs.len().max(1);
        if let Some(log) = bounds.logs.get_mut(index) {
            *log = None;
        }
        Arc::new(bounds)
    });
    Sight { topic: sight.topic, bounds }
}
