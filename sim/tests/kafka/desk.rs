//! A desk in front of SimKafka: a tiny loop, members that answer their callbacks, and a list of what was told.

use std::collections::BTreeMap;
use std::sync::Arc;

use amends_core::ids::{Frontier, Incarnation, Offset, Partition, RebalanceId, TenureId};
use amends_core::lifecycle::command::{CheckId, CheckParts, Command};
use amends_core::lifecycle::event::Event;
use amends_core::source::boundary::Sight;
use amends_sim::checks::Judges;
use amends_sim::chronicle::Chronicle;
use amends_sim::faults::{Fault, Faults, Incident, Order, Schedule, Scheduler, Shape, Strike};
use amends_sim::ground::Ground;
use amends_sim::kafka::{Kafka, Told};
use amends_sim::life::Life;
use amends_sim::pace::Pace;
use amends_sim::truth::Truth;

use crate::question::{answered, asked};

pub const A: Life = Life { worker: 0, number: 1 };
pub const B: Life = Life { worker: 1, number: 1 };
pub const C: Life = Life { worker: 2, number: 1 };

pub struct Desk {
    pub ground: Ground,
    pub kafka: Kafka,
    /// What was told, and when.
    pub told: Vec<(u64, Life, Event)>,
    /// Members answer their callbacks: positions at 0, and what is taken is given up at once.
    pub is_obedient: bool,
    tenures: BTreeMap<(Life, Partition), u32>,
    checks: u64,
    inbox: Vec<Told>,
}

pub fn declared() -> Incarnation {
    Incarnation::from_bytes([7; 16]).expect("not zero")
}

pub fn shape(partitions: u32, records: u32) -> Shape {
    Shape {
        partitions,
        workers: 3,
        lanes: 1,
        batch_records: 4,
        records,
        grows_every_ms: 0,
        session_timeout_ms: 10_000,
        wild_ms: 60_000,
    }
}

pub fn schedule(seed: u64, shape: Shape) -> Schedule {
    let (strikes, incidents) = (BTreeMap::new(), Vec::new());
    Schedule { seed, shape, scheduler: Scheduler::Uniform, begins_at: None, strikes, incidents }
}

impl Desk {
    pub fn new(partitions: u32, records: u32) -> Self {
        Self::of(&schedule(1, shape(partitions, records)))
    }

    pub fn of(schedule: &Schedule) -> Self {
        let shape = &schedule.shape;
        let truth = Truth::new(declared(), shape.partitions, shape.lanes);
        let mut ground = Ground {
            chronicle: Chronicle::new(truth, true),
            faults: Faults::new(Arc::new(schedule.clone())),
            pace: Pace::new(schedule.seed, schedule.scheduler.clone()),
        };
        // Commits are made up here, to put the log where a test wants it.
        ground.chronicle.let_judge(Judges::Nobody);
        let kafka = Kafka::new(shape, declared(), &mut ground);
        let (told, tenures, inbox) = (Vec::new(), BTreeMap::new(), Vec::new());
        Self { ground, kafka, told, is_obedient: true, tenures, checks: 0, inbox }
    }

    /// One partition, one member that has it.
    pub fn settled(records: u32) -> Self {
        let mut desk = Self::new(1, records);
        desk.join(A);
        desk.run(1_000);
        desk
    }

    pub fn join(&mut self, who: Life) {
        self.kafka.join(&mut self.ground, who);
    }

    pub fn order(&mut self, fault: Fault, severity: u64, variant: u32) {
        let strike = Strike { severity, variant };
        self.ground.faults.order(Order { fault, worker: None, partition: None, strike, times: 1 });
    }

    pub fn strike(&mut self, fault: Fault, severity: u64, variant: u32) {
        let at_ms = self.ground.now();
        let incident = Incident { at_ms, fault, severity, variant, worker: 0, partition: 0 };
        assert!(self.kafka.strike(&mut self.ground, &incident), "{fault:?} is Kafka's");
    }

    /// The faults are over.
    pub fn heal(&mut self) {
        self.ground.faults.heal();
        self.kafka.heal(&mut self.ground);
    }

    pub fn struck(&self, fault: Fault) -> u32 {
        self.ground.chronicle.truth.struck.get(&fault).copied().unwrap_or(0)
    }

    /// Lets so many milliseconds pass.
    pub fn run(&mut self, ms: u64) {
        let until = self.ground.now() + ms;
        while let Some(due) = self.kafka.next_due().filter(|due| *due <= until) {
            self.ground.advance_to(due);
            let mut inbox = std::mem::take(&mut self.inbox);
            self.kafka.advance(&mut self.ground, &mut inbox);
            for (who, event) in inbox.drain(..) {
                self.told.push((self.ground.now(), who, event.clone()));
                if self.is_obedient {
                    self.obey(who, &event);
                }
            }
            self.inbox = inbox;
        }
        self.ground.advance_to(until);
    }

    pub fn obey(&mut self, who: Life, event: &Event) {
        match event {
            Event::Assigned { rebalance, partitions } => {
                let positions =
                    partitions.iter().map(|partition| (self.next_tenure(who, *partition), Frontier(0)));
                let positions = positions.collect();
                self.perform(who, &Command::Assign { rebalance: *rebalance, positions });
            }
            Event::Revoked { rebalance, .. } | Event::Lost { rebalance } => {
                self.perform(who, &Command::Unassign { rebalance: *rebalance });
            }
            _ => {}
        }
    }

    pub fn next_tenure(&mut self, who: Life, partition: Partition) -> TenureId {
        let number = self.tenures.entry((who, partition)).or_insert(0);
        *number += 1;
        TenureId { partition, number: *number }
    }

    pub fn last_tenure(&self, who: Life, partition: Partition) -> TenureId {
        let number = self.tenures.get(&(who, partition)).copied().unwrap_or(1);
        TenureId { partition, number }
    }

    pub fn perform(&mut self, who: Life, command: &Command) {
        assert!(self.kafka.perform(&mut self.ground, who, command), "{command} is Kafka's");
    }

    pub fn poll(&mut self, who: Life, tenure: TenureId, wait_ms: u64) {
        self.perform(who, &Command::Poll { tenure, records: 4, bytes: 1 << 20, wait_ms });
    }

    /// Asks, waits so many milliseconds, and returns the one answer.
    pub fn answer(&mut self, who: Life, command: &Command, within_ms: u64) -> Event {
        let before = self.told.len();
        self.perform(who, command);
        self.run(within_ms);
        let is_answer = |event: &Event| answered(event) == asked(command) && answered(event).is_some();
        let told = self.told[before..].iter().filter(|(_, told, event)| *told == who && is_answer(event));
        let answers: Vec<&Event> = told.map(|(_, _, event)| event).collect();
        let [answer] = answers[..] else { panic!("{command} is answered {answers:?}") };
        answer.clone()
    }

    /// What a poll of a waiting second answers.
    pub fn polled(&mut self, tenure: TenureId) -> Event {
        self.answer(A, &Command::Poll { tenure, records: 4, bytes: 1 << 20, wait_ms: 1_000 }, 1_000)
    }

    pub fn sought(&mut self, tenure: TenureId, to: i64) -> Event {
        self.answer(A, &Command::Seek { tenure, frontier: Frontier(to), within_ms: 20_000 }, 6_000)
    }

    pub fn probed(&mut self, tenure: TenureId, from: i64) -> Event {
        self.answer(A, &Command::Probe { tenure, frontier: Frontier(from), within_ms: 20_000 }, 1_000)
    }

    pub fn checked(&mut self, parts: CheckParts) -> Event {
        self.checks += 1;
        let check = CheckId(self.checks);
        self.answer(A, &Command::Check { check, parts }, 100)
    }

    pub fn sight(&mut self, parts: CheckParts) -> Sight {
        match self.checked(parts) {
            Event::Checked { sight, .. } => sight,
            other => panic!("{other} instead of a sight"),
        }
    }

    /// The callbacks that this process was told, as text.
    pub fn callbacks(&self, who: Life) -> Vec<String> {
        let of = self.told.iter().filter(|(_, told, _)| *told == who);
        of.filter_map(|(_, _, event)| callback(event)).collect()
    }

    /// What it has, by the last callback that gave something.
    pub fn assigned(&self, who: Life) -> Vec<u32> {
        let mut last = Vec::new();
        for (_, told, event) in &self.told {
            match event {
                Event::Assigned { partitions, .. } if *told == who => {
                    last = partitions.iter().map(|partition| partition.0).collect();
                }
                Event::Revoked { .. } | Event::Lost { .. } if *told == who => last.clear(),
                _ => {}
            }
        }
        last
    }

    pub fn publish(&mut self, partition: u32) {
        self.kafka.publish(&mut self.ground, Partition(partition));
    }

    pub fn last_at(&self) -> u64 {
        self.told.last().expect("something was told").0
    }
}

fn callback(event: &Event) -> Option<String> {
    let list = |partitions: &[Partition]| {
        let texts: Vec<String> = partitions.iter().map(ToString::to_string).collect();
        texts.join(",")
    };
    let name = |RebalanceId { member, number }: &RebalanceId| format!("{member}.{number}");
    Some(match event {
        Event::Assigned { rebalance, partitions } => {
            format!("{} assigned {}", name(rebalance), list(partitions))
        }
        Event::Revoked { rebalance, partitions } => {
            format!("{} revoked {}", name(rebalance), list(partitions))
        }
        Event::Lost { rebalance } => format!("{} lost", name(rebalance)),
        _ => return None,
    })
}

pub fn tenure(partition: u32, number: u32) -> TenureId {
    TenureId { partition: Partition(partition), number }
}

pub fn offsets(offsets: &[i64]) -> Vec<Offset> {
    offsets.iter().copied().map(Offset).collect()
}

/// The offsets of a poll's answer, in the order in which they came.
pub fn given(event: &Event) -> Vec<Offset> {
    match event {
        Event::Polled { offsets, .. } => offsets.to_vec(),
        other => panic!("{other} instead of records"),
    }
}
