//! What the simulator's model does as well: `sim/tests/kafka/cases.rs` plays the same cases.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use amends::kafka::Source;
use amends_core::ids::Partition;
use amends_core::lifecycle::command::{CheckParts, Command};
use amends_core::lifecycle::event::Event;
use amends_core::source::boundary::{Sight, TopicSight};

use crate::play::{Act, Side, play_all};
use crate::support::{LONG, Topic, Transactions, World, fresh_name, settings};

struct Broker {
    topic: Topic,
    group: String,
    worlds: Vec<World>,
    open: BTreeMap<Partition, Transactions>,
}

impl Broker {
    fn start(partitions: u32) -> Self {
        let topic = Topic::new(partitions);
        let broker = Self { topic, group: fresh_name(), worlds: Vec::new(), open: BTreeMap::new() };
        broker.shows(|sight| is_led(sight, partitions));
        broker
    }

    /// Waits until what was done is to be seen.
    fn shows(&self, wanted: impl Fn(&Sight) -> bool) {
        let source = Source::new(&settings(), &self.topic.name).expect("a client");
        let deadline = Instant::now() + LONG;
        while !source.look(CheckParts::Bounds).is_ok_and(|sight| wanted(&sight)) {
            assert!(Instant::now() < deadline, "what was done is not to be seen");
        }
    }
}

fn is_led(sight: &Sight, partitions: u32) -> bool {
    let bounds = sight.bounds.as_ref();
    matches!(sight.topic, TopicSight::Known { partitions: now, .. } if now == partitions)
        && bounds.is_some_and(|bounds| !bounds.logs.contains(&None))
}

impl Side for Broker {
    fn act(&mut self, act: Act) {
        match act {
            Act::Publish { partition, records } => self.topic.fill_some(partition.0, records),
            Act::Open { partition, records } => {
                let mut open = Transactions::begin(&self.topic);
                for n in 0..records {
                    open.publish(i32::try_from(partition.0).expect("few"), &n.to_string());
                }
                self.open.insert(partition, open);
            }
            Act::Close { partition, is_committed } => {
                let open = self.open.remove(&partition).expect("an open transaction");
                if is_committed { open.commit() } else { open.abort() }
            }
            Act::DeleteRecords { partition, below } => {
                self.topic.delete_records(partition, below);
                self.shows(|sight| {
                    let log = sight.bounds.as_ref().and_then(|bounds| bounds.log(partition));
                    log.is_some_and(|log| log.start == below)
                });
            }
            Act::Grow { partitions } => {
                self.topic.grow(partitions);
                self.shows(|sight| is_led(sight, partitions));
            }
            Act::Recreate { partitions } => {
                self.act(Act::Delete);
                self.topic.create(partitions, &[]);
                self.shows(|sight| is_led(sight, partitions));
            }
            Act::Delete => {
                self.topic.delete();
                self.shows(|sight| sight.topic == TopicSight::Unknown);
            }
        }
    }

    fn join(&mut self) {
        self.worlds.push(World::join(&self.topic, &self.group));
    }

    fn perform(&mut self, member: usize, command: &Command) {
        self.worlds[member].perform(command.clone());
    }

    fn next(&mut self, member: usize, within_ms: u64) -> Option<Event> {
        self.worlds[member].next(Duration::from_millis(within_ms)).map(|delivery| delivery.event)
    }
}

#[test]
fn the_broker_passes_every_case() {
    play_all(Broker::start);
}
