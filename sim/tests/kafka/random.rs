//! Worlds of chance: every question has exactly one answer, callbacks keep the protocol, the same seed tells the same.

use std::collections::BTreeMap;

use amends_core::ids::{Frontier, Partition};
use amends_core::lifecycle::command::{CheckId, CheckParts, Command};
use amends_core::lifecycle::event::Event;
use amends_sim::faults::{Schedule, mix};
use amends_sim::life::Life;

use crate::desk::Desk;
use crate::question::{Question, answered, asked};

struct Member {
    life: Life,
    member: u32,
    checks: u64,
    open: BTreeMap<(Life, Question), u32>,
    is_frozen: bool,
    is_closed: bool,
}

struct Chance {
    desk: Desk,
    seed: u64,
    drawn: u64,
    members: Vec<Member>,
    read: usize,
}

impl Chance {
    fn new(seed: u64) -> Self {
        let schedule = Schedule::draw(seed);
        let desk = Desk::of(&schedule);
        let mut chance = Self { desk, seed, drawn: 0, members: Vec::new(), read: 0 };
        for worker in 0..schedule.shape.workers {
            let life = Life::first(worker);
            chance.desk.join(life);
            let (open, is_frozen, is_closed) = (BTreeMap::new(), false, false);
            chance.members.push(Member { life, member: 1, checks: 0, open, is_frozen, is_closed });
        }
        for incident in schedule.incidents {
            chance.act();
            chance.desk.kafka.strike(&mut chance.desk.ground, &incident);
            chance.check_answers();
        }
        chance
    }

    fn draw(&mut self, below: u64) -> u64 {
        self.drawn += 1;
        mix(self.seed, self.drawn) % below
    }

    /// Some member asks something, or something happens to it or to the topic.
    fn act(&mut self) {
        let count = u64::try_from(self.members.len()).expect("few");
        let index = usize::try_from(self.draw(count)).expect("few");
        let (life, member) = (self.members[index].life, self.members[index].member);
        let partition = Partition(u32::try_from(self.draw(3)).expect("few"));
        let records = 1 + u32::try_from(self.draw(6)).expect("few");
        let mut tenure = self.desk.last_tenure(life, partition);
        // Now and then a lane that is gone.
        tenure.number -= u32::from(tenure.number > 1 && self.draw(8) == 0);
        let frontier = Frontier(i64::try_from(self.draw(12)).expect("few"));
        let what = self.draw(24);
        match what {
            20 if !self.members[index].is_closed => {
                let desk = &mut self.desk;
                let member = &mut self.members[index];
                member.is_frozen = !member.is_frozen;
                if member.is_frozen {
                    desk.kafka.freeze(&mut desk.ground, life);
                } else {
                    desk.kafka.thaw(&mut desk.ground, life);
                }
            }
            21 if !self.members[index].is_closed => {
                let life = life.next();
                let member = &mut self.members[index];
                self.desk.kafka.crash(&mut self.desk.ground, member.life);
                member.open.clear();
                (member.life, member.member, member.is_frozen) = (life, 1, false);
                self.desk.join(life);
            }
            22 => self.desk.publish(partition.0),
            23 => {
                self.desk.kafka.revoke(&mut self.desk.ground, life);
            }
            _ if self.members[index].is_frozen || self.members[index].is_closed => {}
            0..3 => {
                self.members[index].checks += 1;
                let check = CheckId(self.members[index].checks);
                let parts = if what == 0 { CheckParts::Identity } else { CheckParts::Bounds };
                self.ask(index, &Command::Check { check, parts });
            }
            3..6 => {
                let within_ms = self.draw(3_000);
                self.ask(index, &Command::Seek { tenure, frontier, within_ms });
            }
            6..8 => {
                let within_ms = self.draw(3_000);
                self.ask(index, &Command::Probe { tenure, frontier, within_ms });
            }
            8..16 => {
                let wait_ms = self.draw(1_500);
                let command = Command::Poll { tenure, records, bytes: 1, wait_ms };
                self.ask(index, &command);
            }
            16 => self.desk.perform(life, &Command::Retire { tenure }),
            17 => {
                self.members[index].member += 1;
                self.desk.perform(life, &Command::Rejoin { member: member + 1 });
            }
            18 if self.draw(4) == 0 => {
                self.members[index].is_closed = true;
                self.ask(index, &Command::Close);
            }
            19 => self.run(20_000),
            _ => {}
        }
        let ms = self.draw(400);
        self.run(ms);
    }

    /// Callbacks are answered after the loop of the desk, so that the questions of their answers are counted.
    fn run(&mut self, ms: u64) {
        self.desk.is_obedient = false;
        self.desk.run(ms);
        self.check_answers();
    }

    fn ask(&mut self, index: usize, command: &Command) {
        let question = asked(command).expect("a question");
        let member = &mut self.members[index];
        *member.open.entry((member.life, question)).or_insert(0) += 1;
        self.desk.perform(member.life, command);
    }

    fn check_answers(&mut self) {
        while let Some((_, who, event)) = self.desk.told.get(self.read).cloned() {
            self.read += 1;
            let index = self.members.iter().position(|member| member.life == who);
            let index = index.unwrap_or_else(|| panic!("seed {}: {who} is dead and told {event}", self.seed));
            if let Some(question) = answered(&event) {
                let open = self.members[index].open.get_mut(&(who, question));
                let open = open.filter(|open| **open > 0);
                *open.unwrap_or_else(|| panic!("seed {}: nobody asked for {event}", self.seed)) -= 1;
            } else if self.members[index].is_closed {
                // Its stream is at its end.
            } else if self.draw(8) > 0 {
                if let Event::Assigned { partitions, .. } = &event {
                    for partition in partitions {
                        let tenure = self.desk.next_tenure(who, *partition);
                        *self.members[index].open.entry((who, Question::Seek(tenure))).or_insert(0) += 1;
                    }
                }
                self.assign(&event, who);
            }
        }
    }

    /// As the desk does it, with the tenures that were just counted.
    fn assign(&mut self, event: &Event, who: Life) {
        let Event::Assigned { rebalance, partitions } = event else { return self.desk.obey(who, event) };
        let positions =
            partitions.iter().map(|partition| (self.desk.last_tenure(who, *partition), Frontier(0)));
        let positions = positions.collect();
        self.desk.perform(who, &Command::Assign { rebalance: *rebalance, positions });
    }

    /// The faults are over, everybody is awake: whatever was asked is answered.
    fn settle(&mut self) {
        self.desk.heal();
        for member in &mut self.members {
            member.is_frozen = false;
            self.desk.kafka.thaw(&mut self.desk.ground, member.life);
        }
        // Answers to what is told last are told behind it.
        let mut told = 0;
        while told < self.desk.told.len() {
            told = self.desk.told.len();
            self.run(70_000);
        }
        for member in &self.members {
            let open: Vec<_> = member.open.iter().filter(|(_, open)| **open > 0).collect();
            // A process that closed is told nothing behind `Closed`.
            assert!(
                member.is_closed && member.open.get(&(member.life, Question::Close)) == Some(&0)
                    || open.is_empty(),
                "seed {}: {open:?} of {} have no answer",
                self.seed,
                member.life
            );
        }
    }
}

fn play(seed: u64) -> Chance {
    let mut chance = Chance::new(seed);
    for _ in 0..120 {
        chance.act();
    }
    chance.settle();
    chance
}

#[test]
fn every_question_has_exactly_one_answer() {
    let mut events = 0;
    for seed in 0..400 {
        events += play(seed).desk.told.len();
    }
    assert!(events > 20_000, "only {events} events");
}

#[test]
fn the_same_seed_tells_the_same() {
    for seed in 0..20 {
        let (one, two) = (play(seed), play(seed));
        assert_eq!(one.desk.told, two.desk.told, "seed {seed}");
        assert_eq!(one.desk.ground.chronicle.trace(), two.desk.ground.chronicle.trace(), "seed {seed}");
    }
}

#[test]
fn every_fault_of_kafkas_strikes_somewhere() {
    let mut struck = BTreeMap::new();
    for seed in 0..400 {
        for (fault, times) in &play(seed).desk.ground.chronicle.truth.struck {
            *struck.entry(*fault as u32).or_insert(0) += times;
        }
    }
    for fault in
        [13, 14, 15, 16, 17, 19, 22, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 39, 48, 52]
    {
        assert!(struck.contains_key(&fault), "F{fault} never struck: {struck:?}");
    }
}
