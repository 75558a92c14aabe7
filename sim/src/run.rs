//! Knows how one world is lived from its schedule: on a thread of its own, to its end, and what is left of it.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::panic;

use crate::checks::Violation;
use crate::faults::{Fault, Pick, Schedule};
use crate::ground::Ground;
use crate::walk::Walk;

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

/// What is left of a world.
#[derive(Clone, Debug)]
pub struct Lived {
    /// The property that was broken, if one was.
    pub violation: Option<Violation>,
    /// Its lines; empty unless asked for.
    pub trace: String,
    /// How many facts it had.
    pub steps: u64,
    /// Which faults made a difference, and how often.
    pub struck: BTreeMap<Fault, u32>,
    /// Its decisions, from which it can be played again.
    pub picks: Vec<Pick>,
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
/// values. (Tier B must be the first thing that its thread does.)
///
/// # Errors
/// When the simulator panics.
pub fn live(tier: Tier, schedule: Schedule, is_traced: bool) -> Result<Lived, FellOver> {
    match tier {
        Tier::A => {
            let lived = panic::catch_unwind(|| {
                let mut walk = Walk::new(schedule, is_traced);
                walk.live();
                left_of(walk.ground())
            });
            lived.map_err(|panic| FellOver { why: said(panic.as_ref()) })
        }
        Tier::B => on_a_fresh_thread(schedule, is_traced),
    }
}

#[cfg(madsim)]
fn on_a_fresh_thread(schedule: Schedule, is_traced: bool) -> Result<Lived, FellOver> {
    let world = std::thread::Builder::new().name("world".to_owned()).spawn(move || {
        let ground = crate::member::live(schedule, is_traced);
        let ground = ground.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        left_of(&ground)
    });
    let world = world.map_err(|error| FellOver { why: error.to_string() })?;
    world.join().map_err(|panic| FellOver { why: said(panic.as_ref()) })
}

/// Without the flag there is no madsim world.
#[cfg(not(madsim))]
fn on_a_fresh_thread(_: Schedule, _: bool) -> Result<Lived, FellOver> {
    Err(FellOver { why: "built without --cfg madsim".to_owned() })
}

fn left_of(ground: &Ground) -> Lived {
    let chronicle = &ground.chronicle;
    Lived {
        violation: chronicle.broken().cloned(),
        trace: chronicle.trace().to_owned(),
        steps: chronicle.truth.step,
        struck: chronicle.truth.struck.clone(),
        picks: ground.faults.struck().to_vec(),
    }
}

fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it did not say why").to_owned()
}
