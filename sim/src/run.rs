//! Knows how one world is lived from its schedule: on a thread of its own, to its end, and what is left of it.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::panic;
use std::sync::Arc;

use crate::cells::Cells;
use crate::checks::Violation;
use crate::checks::l08::ended_well;
use crate::checks::s25::purity;
use crate::faults::{Fault, Pick, Schedule};
use crate::ground::Ground;
use crate::scenario::Scenario;
use crate::scenario::mistakes::Mistake;
use crate::sometimes::Goal;
use crate::walk::Walk;
use crate::world::World;

/// How much of production a world runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Tier {
    /// Core alone, in a discrete-event loop.
    A,
    /// The production driver, store and client, in a madsim world.
    B,
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::A => f.write_str("a"),
            Self::B => f.write_str("b"),
        }
    }
}

/// What a world is lived from.
#[derive(Clone, Debug)]
pub enum Stage {
    /// A schedule: everybody starts, faults strike, then they are over.
    Drawn(Schedule),
    /// A scenario with one of its seeds: what happens stands in its story.
    Told(Arc<Scenario>, u64),
}

impl Stage {
    /// Everything that the world is made from.
    #[must_use]
    pub fn schedule(&self) -> Schedule {
        match self {
            Self::Drawn(schedule) => schedule.clone(),
            Self::Told(scenario, seed) => scenario.schedule(*seed),
        }
    }

    fn build(self, is_traced: bool) -> (World, Ground) {
        match self {
            Self::Drawn(schedule) => World::new(schedule, is_traced),
            Self::Told(scenario, seed) => World::staged(scenario, seed, is_traced),
        }
    }
}

/// What is left of a world.
#[derive(Clone, Debug)]
pub struct Lived {
    /// The property that was broken, if one was.
    pub violation: Option<Violation>,
    /// What a story missed or did not lead to.
    pub missed: Vec<Mistake>,
    /// Its lines; empty unless asked for.
    pub trace: String,
    /// How many facts it had.
    pub steps: u64,
    /// Which faults made a difference, and how often.
    pub struck: BTreeMap<Fault, u32>,
    /// What a campaign must have seen, and how often it was.
    pub goals: Vec<(Goal, u32)>,
    /// The cells of the reducer's table that were met.
    pub cells: Cells,
    /// Its decisions, from which it can be played again.
    pub picks: Vec<Pick>,
}

impl Lived {
    /// Whether nothing was broken and the story led where it should.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.violation.is_none() && self.missed.is_empty()
    }
}

/// A world whose harness fell over: a defect of the simulator, never a kill.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FellOver {
    /// What the panic said.
    pub why: String,
}

impl fmt::Display for FellOver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the simulator itself fell over: {}", self.why)
    }
}

impl std::error::Error for FellOver {}

/// Lives a world to its end, so that nothing of an earlier one is left in it: tier A keeps nothing outside of its own
/// values, tier B gets a fresh thread.
///
/// # Errors
/// When the simulator panics.
pub fn live(tier: Tier, stage: Stage, is_traced: bool) -> Result<Lived, FellOver> {
    match tier {
        Tier::A => {
            let lived = panic::catch_unwind(|| {
                let (world, ground) = stage.build(is_traced);
                let mut walk = Walk::of(world, ground);
                walk.live();
                left_of(walk.world(), walk.ground())
            });
            lived.map_err(|panic| FellOver { why: said(panic.as_ref()) })
        }
        Tier::B => on_a_fresh_thread(stage, is_traced),
    }
}

/// Lives a world of tier A with everything that is too dear for every one: its reducers are given their events once more,
/// and every so many steps its faults are switched off, to see whether it ends well from there.
///
/// # Errors
/// What is broken, or when the simulator panics.
pub fn examine(schedule: &Schedule) -> Result<(), String> {
    let examined = panic::catch_unwind(|| {
        let (world, mut ground) = World::new(schedule.clone(), false);
        ground.chronicle.keep_steps();
        let mut walk = Walk::of(world, ground);
        let mut steps = 0;
        while walk.step() {
            steps += 1;
        }
        for (who, kept) in walk.ground().chronicle.steps() {
            purity(walk.world().settings(), kept).map_err(|why| format!("S25 is broken by {who}: {why}"))?;
        }
        for from in (FAIR_EVERY..steps).step_by(FAIR_EVERY) {
            if let Err(why) = fair_run(schedule, from, false).0 {
                let (_, trace) = fair_run(schedule, from, true);
                let lines: Vec<&str> = trace.lines().collect();
                let tail = lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n");
                return Err(format!("L8 is broken by a fair run from step {from}: {why}\n{tail}"));
            }
        }
        Ok(())
    });
    examined.unwrap_or_else(|panic| Err(FellOver { why: said(panic.as_ref()) }.to_string()))
}

/// The same world, whose faults are over from a step on: whether it ends well, and its lines.
fn fair_run(schedule: &Schedule, from: usize, is_traced: bool) -> (Result<(), String>, String) {
    let (world, ground) = World::new(schedule.clone(), is_traced);
    let mut walk = Walk::of(world, ground);
    for _ in 0..from {
        walk.step();
    }
    walk.heal();
    walk.live();
    let chronicle = &walk.ground().chronicle;
    let broken = chronicle.broken().map_or(Ok(()), |violation| Err(violation.to_string()));
    (broken.and_then(|()| ended_well(&chronicle.truth)), chronicle.trace().to_owned())
}

/// How much of a trace is shown with a world that was examined.
const SHOWN_LINES: usize = 60;
/// From how many steps of a world a fair run begins.
const FAIR_EVERY: usize = 50;

#[cfg(madsim)]
fn on_a_fresh_thread(stage: Stage, is_traced: bool) -> Result<Lived, FellOver> {
    let world = std::thread::Builder::new().name("world".to_owned()).spawn(move || {
        let (world, ground) = stage.build(is_traced);
        crate::member::Member::live(world, ground).with(left_of)
    });
    let world = world.map_err(|error| FellOver { why: error.to_string() })?;
    world.join().map_err(|panic| FellOver { why: said(panic.as_ref()) })
}

/// Without the flag there is no madsim world.
#[cfg(not(madsim))]
fn on_a_fresh_thread(_: Stage, _: bool) -> Result<Lived, FellOver> {
    Err(FellOver { why: "built without --cfg madsim".to_owned() })
}

/// Where two traces part, for people; `None` when they are the same.
#[must_use]
pub fn difference(one: &str, other: &str) -> Option<String> {
    if one == other {
        return None;
    }
    let (mut ones, mut others) = (one.lines(), other.lines());
    for number in 1.. {
        match (ones.next(), others.next()) {
            (Some(one), Some(other)) if one == other => {}
            (None, None) => break,
            (one, other) => {
                let line = |line: Option<&str>| line.unwrap_or("(nothing more)").to_owned();
                return Some(format!("line {number}:\n  {}\n  {}", line(one), line(other)));
            }
        }
    }
    Some("in how its lines end".to_owned())
}

fn left_of(world: &World, ground: &Ground) -> Lived {
    let chronicle = &ground.chronicle;
    Lived {
        violation: chronicle.broken().cloned(),
        missed: world.judge(ground),
        trace: chronicle.trace().to_owned(),
        steps: chronicle.truth.step,
        struck: chronicle.truth.struck.clone(),
        goals: chronicle.goals().hits().collect(),
        cells: chronicle.cells(),
        picks: ground.faults.struck().to_vec(),
    }
}

fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it did not say why").to_owned()
}
