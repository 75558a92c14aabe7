//! Knows what can happen to the topic: records come, logs are cut, the topic is made anew. Each tells its facts.

use amends_core::ids::{Incarnation, Offset, Partition};

use super::{Due, Kafka, Setting, Turn};
use crate::fact::{Entry, Fact, LogChange};
use crate::faults::{Fault, Place, mix};
use crate::ground::Ground;
use crate::pace::{Actor, Wait};
use crate::truth::Log;

impl Kafka {
    /// A visible record is published; F28 may put an aborted transaction in front of it, and F39 spoil it.
    pub fn publish(&mut self, ground: &mut Ground, partition: Partition) {
        let Some(log) = self.log(ground, partition) else { return };
        let end = log.end().0;
        let place = Place { worker: None, partition: Some(partition.0) };
        let mut entries = Vec::new();
        if let Some(strike) = ground.faults.strike(Fault::AbortedInterleaved, place) {
            let aborted = usize::try_from(strike.severity).unwrap_or(0);
            entries.resize(aborted, Entry::Aborted);
            entries.push(Entry::Control);
            ground.chronicle.struck(
                Fault::AbortedInterleaved,
                None,
                format_args!("{aborted} aborted records in partition {partition} from {end} on"),
            );
        }
        if let Some(strike) = ground.faults.strike(Fault::Poison, place) {
            let offset = Offset(end + i64::try_from(entries.len()).unwrap_or(0));
            self.topic.poison(partition, offset, strike.variant);
            ground.chronicle.struck(Fault::Poison, None, format_args!("{partition} at {offset}"));
        }
        if entries.is_empty() {
            return self.append(ground, partition, &[Entry::Visible]);
        }
        entries.push(Entry::Visible);
        self.append(ground, partition, &entries);
    }

    /// In which way the record of the current topic that lies there cannot be read, by the forms of F39; `None` when it
    /// can.
    #[must_use]
    pub fn poison(&self, partition: Partition, offset: Offset) -> Option<u32> {
        self.topic.poison_at(partition, offset)
    }

    /// Where the record of the current topic that lies there lay first: a load may have been made again.
    #[must_use]
    pub fn loaded_first(&self, partition: Partition, offset: Offset) -> Offset {
        self.topic.loaded_first(partition, offset)
    }

    /// F49: a load loses its guard, ends, and is made again from its first line: so many of the last records come
    /// twice.
    pub(super) fn load_again(&mut self, ground: &mut Ground, partition: Partition, lines: u64) {
        let Some(log) = self.log(ground, partition) else { return };
        let (end, lines) = (log.end(), usize::try_from(lines).unwrap_or(0));
        let visible: Vec<Offset> = log.visible(log.start()).collect();
        let last = &visible[visible.len().saturating_sub(lines)..];
        if last.is_empty() {
            return;
        }
        let count = last.len();
        for (offset, again) in (end.0..).map(Offset).zip(last) {
            self.topic.load_again(partition, offset, self.topic.loaded_first(partition, *again));
        }
        ground.chronicle.struck(
            Fault::GuardLost,
            None,
            format_args!("a load of partition {partition} is made again, {count} records come twice"),
        );
        self.append(ground, partition, &vec![Entry::Visible; count]);
    }

    /// Records of an aborted transaction are published, without its marker.
    pub fn publish_aborted(&mut self, ground: &mut Ground, partition: Partition, records: u32) {
        self.append(ground, partition, &entries(Entry::Aborted, records));
    }

    /// Transaction markers are published.
    pub fn publish_control(&mut self, ground: &mut Ground, partition: Partition, markers: u32) {
        self.append(ground, partition, &entries(Entry::Control, markers));
    }

    /// Records of a transaction are published that stays open: it holds the stable end back.
    pub fn open_transaction(&mut self, ground: &mut Ground, partition: Partition, records: u32) {
        self.append(ground, partition, &entries(Entry::Open, records));
    }

    /// The open transactions of a partition end, with a marker. Nothing happens when there are none.
    pub fn close_transaction(&mut self, ground: &mut Ground, partition: Partition, is_committed: bool) {
        if self.log(ground, partition).is_some_and(|log| log.stable_end() < log.end()) {
            self.change(ground, partition, LogChange::Closed(is_committed));
            self.append(ground, partition, &[Entry::Control]);
        }
    }

    /// The log begins here from now on; no further up than its end.
    pub fn delete_records(&mut self, ground: &mut Ground, partition: Partition, start: Offset) {
        let Some(log) = self.log(ground, partition) else { return };
        let start = start.min(log.end());
        if start > log.start() {
            self.change(ground, partition, LogChange::StartsAt(start));
        }
    }

    /// An unclean election: a new leader has only what lies below this offset.
    pub fn truncate(&mut self, ground: &mut Ground, partition: Partition, to: Offset) {
        if self.log(ground, partition).is_some_and(|log| log.start() <= to && to < log.end()) {
            self.topic.cut_records(partition, to);
            self.change(ground, partition, LogChange::TruncatedTo(to));
        }
    }

    /// Compaction takes the record there. Nothing happens outside of the log.
    pub fn compact_away(&mut self, ground: &mut Ground, partition: Partition, offset: Offset) {
        if self.log(ground, partition).is_some_and(|log| log.entry(offset).is_some()) {
            self.change(ground, partition, LogChange::HoleAt(offset));
        }
    }

    /// The topic is deleted and made again, with as many visible records in each partition as the first one had.
    pub fn recreate(&mut self, ground: &mut Ground, partitions: u32) {
        let truth = &ground.chronicle.truth;
        let incarnation = after(truth.current);
        let is_same_size = truth.current_partitions == partitions;
        ground.chronicle.tell(&Fact::Recreated { incarnation, partitions });
        self.topic.is_now(&ground.chronicle.truth);
        for partition in (0..partitions).map(Partition) {
            self.begin_log(ground, partition);
        }
        self.fill(ground);
        if !is_same_size {
            self.plan_rebalance(ground);
        }
    }

    /// The topic is deleted.
    pub fn delete_topic(&mut self, ground: &mut Ground) {
        ground.chronicle.tell(&Fact::Deleted);
        self.topic.is_now(&ground.chronicle.truth);
        self.plan_rebalance(ground);
    }

    /// The topic has so many partitions from now on. Nothing happens when it has them already, or is not there.
    pub fn grow(&mut self, ground: &mut Ground, partitions: u32) {
        let before = ground.chronicle.truth.current_partitions;
        if before == 0 || partitions <= before {
            return;
        }
        ground.chronicle.tell(&Fact::Grew { partitions });
        self.topic.is_now(&ground.chronicle.truth);
        for partition in (before..partitions).map(Partition) {
            self.begin_log(ground, partition);
        }
        self.plan_rebalance(ground);
    }

    /// A setting of the topic is changed.
    pub fn reconfigure(&mut self, ground: &mut Ground, setting: Setting) {
        ground.chronicle.tell(&Fact::Reconfigured);
        self.topic.set(ground.now(), setting);
    }

    /// The group has an offset of the partition: from now on it wins over the first position of each assignment.
    pub fn plant_group_offset(&mut self, partition: Partition, offset: Offset) {
        self.topic.plant(partition, offset);
    }

    /// A partition has no leader for so many milliseconds.
    pub fn lose_leader(&mut self, ground: &mut Ground, partition: Partition, ms: u64) {
        let until = ground.now() + ms;
        self.topic.lose_leader(partition, until);
        self.agenda.at(until, Due::Broker(Turn::LeaderBack { partition }));
    }

    /// Brokers hear nothing new for so many milliseconds: checks are answered as of now.
    pub fn stale_metadata(&mut self, ground: &Ground, ms: u64) {
        self.topic.lag(ground.now(), ground.now() + ms);
    }

    /// The log of a partition that the topic has now.
    pub(super) fn log<'a>(&self, ground: &'a Ground, partition: Partition) -> Option<&'a Log> {
        let truth = &ground.chronicle.truth;
        let is_there = partition.0 < truth.current_partitions;
        truth.logs.get(&(truth.current, partition)).filter(|_| is_there)
    }

    /// The records of a topic that was just made.
    pub(super) fn fill(&mut self, ground: &mut Ground) {
        for partition in (0..ground.chronicle.truth.current_partitions).map(Partition) {
            for _ in 0..self.records {
                self.publish(ground, partition);
            }
        }
    }

    fn begin_log(&mut self, ground: &mut Ground, partition: Partition) {
        let incarnation = ground.chronicle.truth.current;
        ground.chronicle.tell(&Fact::Appended { incarnation, partition, first: Offset(0), entries: &[] });
    }

    pub(super) fn append(&mut self, ground: &mut Ground, partition: Partition, entries: &[Entry]) {
        let Some(first) = self.log(ground, partition).map(Log::end) else { return };
        let incarnation = ground.chronicle.truth.current;
        ground.chronicle.tell(&Fact::Appended { incarnation, partition, first, entries });
        self.topic.log_changed(&ground.chronicle.truth, partition);
        self.stir(ground, partition);
    }

    fn change(&mut self, ground: &mut Ground, partition: Partition, change: LogChange) {
        let incarnation = ground.chronicle.truth.current;
        ground.chronicle.tell(&Fact::LogChanged { incarnation, partition, change });
        self.topic.log_changed(&ground.chronicle.truth, partition);
        self.stir(ground, partition);
    }

    /// Members see with their next metadata that the partitions are other ones.
    fn plan_rebalance(&mut self, ground: &mut Ground) {
        let wait = ground.pace.wait(Wait::Callback, Actor::Kafka);
        self.agenda.at(ground.now() + wait, Due::Broker(Turn::Rebalance));
    }
}

fn entries(entry: Entry, count: u32) -> Vec<Entry> {
    vec![entry; usize::try_from(count).unwrap_or(0)]
}

/// The UUID that follows: a broker draws one, a world derives it.
fn after(incarnation: Incarnation) -> Incarnation {
    let bits = u128::from_be_bytes(incarnation.bytes());
    let drawn = mix((bits >> 64) as u64 ^ bits as u64, 0) | 1;
    let bytes = (u128::from(drawn) << 64 | u128::from(mix(drawn, 1))).to_be_bytes();
    Incarnation::from_bytes(bytes).unwrap_or(incarnation)
}
