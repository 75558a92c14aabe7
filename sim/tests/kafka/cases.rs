//! What a real broker does as well: `adapters/worker/tests/kafka/cases.rs` plays the same cases.

use amends_core::lifecycle::command::Command;
use amends_core::lifecycle::event::Event;
use amends_sim::life::Life;

use crate::desk::{Desk, schedule, shape};
use crate::play::{Act, Side, play_all};

struct Model {
    desk: Desk,
    /// How far each member has listened.
    heard: Vec<usize>,
}

fn life(member: usize) -> Life {
    Life::first(u8::try_from(member).expect("few"))
}

impl Side for Model {
    fn act(&mut self, act: Act) {
        let Desk { kafka, ground, .. } = &mut self.desk;
        match act {
            Act::Publish { partition, records } => {
                (0..records).for_each(|_| kafka.publish(ground, partition));
            }
            Act::Open { partition, records } => kafka.open_transaction(ground, partition, records),
            Act::Close { partition, is_committed } => {
                kafka.close_transaction(ground, partition, is_committed);
            }
            Act::DeleteRecords { partition, below } => kafka.delete_records(ground, partition, below),
            Act::Grow { partitions } => kafka.grow(ground, partitions),
            Act::Recreate { partitions } => kafka.recreate(ground, partitions),
            Act::Delete => kafka.delete_topic(ground),
        }
    }

    fn join(&mut self) {
        self.desk.join(life(self.heard.len()));
        self.heard.push(0);
    }

    fn perform(&mut self, member: usize, command: &Command) {
        self.desk.perform(life(member), command);
    }

    fn next(&mut self, member: usize, within_ms: u64) -> Option<Event> {
        let until = self.desk.ground.now() + within_ms;
        loop {
            let mut told = (0..).zip(&self.desk.told).skip(self.heard[member]);
            if let Some((index, (_, _, event))) = told.find(|(_, told)| told.1 == life(member)) {
                self.heard[member] = index + 1;
                return Some(event.clone());
            }
            if self.desk.ground.now() >= until {
                return None;
            }
            self.desk.run(1);
        }
    }
}

/// Whatever happens first that may happen in any order.
#[test]
fn the_model_passes_every_case() {
    for seed in 0..50 {
        play_all(|partitions| {
            let mut desk = Desk::of(&schedule(seed, shape(partitions, 0)));
            desk.is_obedient = false;
            Model { desk, heard: Vec::new() }
        });
    }
}
