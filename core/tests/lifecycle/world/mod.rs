//! A small world of chance around the reducer: it answers every question in any legal order, and knows the truth.

use std::collections::BTreeMap;

use amends_core::ids::{Moment, TenureId};
use amends_core::journal::Step;
use amends_core::lifecycle::command::{CheckId, CheckParts, Command, Timer};
use amends_core::lifecycle::event::Event;
use amends_core::lifecycle::stop::StopReason;
use amends_core::lifecycle::{Lifecycle, Settings};
use amends_core::source::boundary::{Declared, Sight, Sink, TopicSight};

use crate::story::incarnation;
use dice::Dice;
use judge::{Judge, LATE_MS};
use kafka::Kafka;
use postgres::{Kind, Postgres};

mod dice;
mod judge;
mod kafka;
mod moves;
mod postgres;
mod tenancy;

/// What will happen, and when.
enum Happening {
    Timer(Timer),
    Store(u64),
    Poll(TenureId, u64),
    Answer(Event),
    Check(CheckId, CheckParts, Option<Sight>),
    Group,
    Log,
    Stranger,
    Shutdown,
}

pub struct World {
    dice: Dice,
    now: u64,
    step: u64,
    next: u64,
    agenda: BTreeMap<(u64, u64), Happening>,
    lifecycle: Lifecycle,
    commands: Vec<Command>,
    /// Records come in.
    pub is_growing: bool,
    grows_every_ms: u64,
    kafka: Kafka,
    postgres: Postgres,
    judge: Judge,
    pub stopped: Option<StopReason>,
    /// Commands by word since the last reset, for the rule against busy loops.
    pub counted: BTreeMap<&'static str, u64>,
    /// What struck, for what a stop must be explained by.
    struck: BTreeMap<&'static str, u32>,
    pub trace: Option<String>,
}

type Verdict = Result<(), String>;

impl World {
    pub fn new(seed: u64, is_traced: bool) -> Self {
        let mut dice = Dice::new(seed);
        let partitions = 1 + dice.index(3);
        let lanes = 1 + u32::try_from(dice.below(2)).expect("small");
        let kafka = Kafka::new(partitions, &mut dice);
        let mut postgres = Postgres::new(partitions);
        if dice.chance(300) {
            postgres.poison = (0..3).map(|_| i64::try_from(dice.below(30)).expect("small")).collect();
        }
        if dice.chance(200) {
            postgres.most = 1 + dice.index(4);
        }
        let grows_every_ms = if dice.chance(300) { 300 } else { 2_000 };
        let declared = u32::try_from(partitions).expect("small");
        let settings = Settings {
            topic: "orders".to_owned(),
            source: Declared { sink: Sink::Ledger, incarnation: incarnation(7), partitions: declared },
            lanes,
            batch_records: u32::try_from(kafka::BATCH).expect("small"),
            batch_bytes: 1 << 20,
        };
        let mut world = Self {
            dice,
            now: 0,
            step: 0,
            next: 0,
            agenda: BTreeMap::new(),
            lifecycle: Lifecycle::new(settings),
            commands: Vec::new(),
            is_growing: true,
            grows_every_ms,
            kafka,
            postgres,
            judge: Judge::new(lanes),
            stopped: None,
            counted: BTreeMap::new(),
            struck: BTreeMap::new(),
            trace: is_traced.then(String::new),
        };
        for happening in [Happening::Group, Happening::Log, Happening::Stranger] {
            let first = world.dice.below(3_000);
            world.plan(first, happening);
        }
        if world.dice.chance(400) {
            let at = world.dice.below(60_000);
            world.plan(at, Happening::Shutdown);
        }
        world
    }

    fn plan(&mut self, after_ms: u64, happening: Happening) {
        self.next += 1;
        self.agenda.insert((self.now + after_ms, self.next), happening);
    }

    /// Lets everything happen that is due until then.
    pub fn run(&mut self, until: u64) -> Verdict {
        while let Some(entry) = self.agenda.first_entry() {
            if entry.key().0 > until {
                break;
            }
            let ((at, _), happening) = entry.remove_entry();
            self.now = self.now.max(at);
            self.happen(happening)?;
            if self.stopped.is_none() {
                self.judge.between(self.now, &self.kafka)?;
            }
        }
        self.now = self.now.max(until);
        Ok(())
    }

    /// The faults are over: the member is assigned everything, and nobody disturbs it.
    pub fn calm(&mut self) {
        self.dice.is_wild = false;
    }

    pub fn shut_down(&mut self) -> Verdict {
        self.strike("asked");
        self.deliver(Event::ShutdownRequested)
    }

    /// Nobody spins: what an idle member asks in so many milliseconds is bounded.
    pub fn idled(&self, ms: u64) -> Verdict {
        let (seconds, tenures) = (ms / 1_000, u64::try_from(self.judge.owned().count()).expect("small"));
        let most = |word| match word {
            "poll" | "allow-rebalance" => tenures * (seconds + seconds / 2),
            "check" => seconds + 2,
            "observe" => tenures * (seconds / 5 + 2),
            "wait" => tenures + seconds / 5 + 2,
            _ => 0,
        };
        match self.counted.iter().find(|(word, count)| **count > most(word)) {
            Some((word, count)) => {
                Err(format!("{count} times {word} in {seconds} idle seconds of {tenures} tenures"))
            }
            None => Ok(()),
        }
    }

    /// Behind the last visible record of each partition.
    pub fn ends(&self) -> Vec<i64> {
        self.kafka.logs.iter().map(|log| log.visible.last().map_or(0, |last| last + 1)).collect()
    }

    /// The group assigns everything, and each partition is decided at least so far.
    pub fn decided(&self, ends: &[i64]) -> Verdict {
        for (row, end) in self.postgres.rows.iter().zip(ends) {
            let frontier = row.left().frontier.unwrap_or(0);
            if frontier < *end {
                return Err(format!("a partition stands at {frontier} of {end}"));
            }
        }
        let assigned = self.kafka.group.assigned.as_ref().map_or(0, Vec::len);
        if self.judge.owned().count() != self.kafka.logs.len() || assigned != self.kafka.logs.len() {
            return Err("a partition has no tenure".to_owned());
        }
        Ok(())
    }

    /// One step of the reducer: the world learns from the answer, then holds every command against what it knows.
    fn deliver(&mut self, event: Event) -> Verdict {
        self.step += 1;
        let passes = self.passes(&event);
        let is_new = !matches!(event, Event::Assigned { .. } | Event::Revoked { .. } | Event::Lost { .. });
        if is_new {
            self.judge.answered(self.step, &event, passes, &self.postgres);
        }
        let mut commands = std::mem::take(&mut self.commands);
        commands.clear();
        self.lifecycle.handle(Moment(self.now), &event, &mut commands);
        if let Some(trace) = &mut self.trace {
            let after = self.lifecycle.after();
            let step = Step { at: Moment(self.now), event: &event, after, commands: &commands };
            trace.push_str(&step.line("orders"));
            trace.push('\n');
        }
        if let Some(reason) = &self.stopped
            && let Some(command) = commands.first()
        {
            return Err(format!("{command} after stop {}", reason.code()));
        }
        for command in &commands {
            *self.counted.entry(word(command)).or_insert(0) += 1;
            self.judge.command((self.step, self.now), command, &self.kafka, &self.postgres)?;
            self.perform(command)?;
        }
        // What ended a tenure is known once the whole step is.
        for command in &commands {
            self.judge.retired(command, &self.postgres)?;
        }
        self.commands = commands;
        Ok(())
    }

    /// What the world thinks of a sight.
    fn passes(&self, event: &Event) -> bool {
        let Event::Checked { sight, .. } = event else { return false };
        let is_known = matches!(sight.topic, TopicSight::Known { incarnation: Some(seen), .. } if seen == incarnation(7));
        let is_whole = sight.bounds.as_deref().is_none_or(|bounds| bounds.logs.iter().all(Option::is_some));
        is_known && is_whole
    }

    fn perform(&mut self, command: &Command) -> Verdict {
        let latency = self.dice.latency();
        match command {
            Command::Check { check, parts } => {
                let has_bounds = *parts == CheckParts::Bounds;
                let sight = self.dice.chance(500).then(|| self.kafka.sight(has_bounds, &mut self.dice));
                self.plan(latency, Happening::Check(*check, *parts, sight));
            }
            Command::Claim { tenure, within_ms } => self.ask_store(*tenure, Kind::Claim, *within_ms),
            Command::Observe { tenure, within_ms, .. } => self.ask_store(*tenure, Kind::Observe, *within_ms),
            Command::Process { tenure, token, expected, range, refused, within_ms, .. } => {
                let visible = self.kafka.log(tenure.partition).from(range.first.0);
                let offsets = visible[..(range.to - range.from) as usize].to_vec();
                let expected = expected.0;
                let kind =
                    Kind::Process { token: *token, expected, range: *range, offsets, is_refused: *refused };
                self.ask_store(*tenure, kind, *within_ms);
            }
            Command::Assign { positions, .. } => {
                self.kafka.group.pending = None;
                self.kafka.forget_lanes();
                for (tenure, frontier) in positions {
                    let event = self.kafka.seek(*tenure, frontier.0, &mut self.dice);
                    self.plan(latency, Happening::Answer(event));
                }
            }
            Command::Unassign { .. } => {
                self.kafka.group.pending = None;
                self.kafka.forget_lanes();
            }
            Command::Seek { tenure, frontier, .. } => {
                let event = self.kafka.seek(*tenure, frontier.0, &mut self.dice);
                self.plan(latency, Happening::Answer(event));
            }
            Command::Probe { tenure, frontier, .. } => {
                let event = self.kafka.probe(*tenure, frontier.0, &mut self.dice);
                self.plan(latency, Happening::Answer(event));
            }
            Command::Poll { tenure, wait_ms, .. } => {
                self.plan(latency.min(*wait_ms), Happening::Poll(*tenure, self.now + wait_ms));
            }
            Command::Wait { timer, after_ms } => {
                let late =
                    if self.dice.fault(50) { self.dice.below(LATE_MS - 100) } else { self.dice.below(50) };
                let early = if self.dice.chance(500) { self.dice.below(50).min(*after_ms) } else { 0 };
                let after_ms = if early > 0 { after_ms - early } else { after_ms + late };
                self.plan(after_ms, Happening::Timer(*timer));
            }
            Command::Cancel { tenure } => {
                if let Some(id) = self.postgres.cancel(*tenure, &mut self.dice) {
                    self.plan(latency.min(50), Happening::Store(id));
                }
            }
            Command::Retire { tenure } => self.kafka.retire(*tenure),
            Command::Rejoin { member } => {
                self.kafka.group.rejoin(*member);
                self.kafka.forget_lanes();
            }
            Command::Close => {
                self.kafka.group.is_closing = true;
                if self.judge.is_asking() {
                    self.strike("unknown");
                }
                let within = self.dice.below(5_000);
                self.plan(within, Happening::Answer(Event::Closed));
            }
            Command::Stop { reason } => {
                self.stopped = Some(reason.clone());
                return self.explain(reason);
            }
            Command::AllowRebalance { .. } => {}
        }
        Ok(())
    }

    fn ask_store(&mut self, tenure: TenureId, kind: Kind, within_ms: u64) {
        self.next += 1;
        let id = self.next;
        self.postgres.begin(id, self.now, tenure, kind, within_ms);
        let latency = self.dice.latency();
        self.plan(latency, Happening::Store(id));
    }

    fn strike(&mut self, what: &'static str) {
        *self.struck.entry(what).or_insert(0) += 1;
    }

    /// A stop has a reason that the world knows of.
    fn explain(&self, reason: &StopReason) -> Verdict {
        let has = |what| self.struck.contains_key(what);
        let is_explained = match reason {
            StopReason::Shutdown | StopReason::Paused | StopReason::Stopped => has("asked"),
            StopReason::Refused { .. } => has("recreated") || has("suspect"),
            StopReason::Unresolved { .. } => has("unknown"),
            StopReason::Contended { .. } => self.struck.get("foreign").is_some_and(|times| *times >= 5),
            StopReason::SeekNotTaken { .. } => has("chaos"),
            StopReason::BudgetSpent { .. } | StopReason::AttemptsSpent { .. } => has("chaos"),
            StopReason::Broken { .. } => has("broken"),
            StopReason::Impossible { .. } => false,
        };
        if is_explained { Ok(()) } else { Err(format!("stopped without a cause: {reason}")) }
    }
}

fn word(command: &Command) -> &'static str {
    match command {
        Command::Check { .. } => "check",
        Command::Observe { .. } => "observe",
        Command::Poll { .. } => "poll",
        Command::Wait { .. } => "wait",
        Command::AllowRebalance { .. } => "allow-rebalance",
        _ => "other",
    }
}
