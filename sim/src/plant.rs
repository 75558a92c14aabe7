//! Knows how a defect is planted between a reducer and its world, or into the store, so that a check can be seen to
//! catch it. Production code has no switch for this: a reducer that ignores an event is one that never hears it, a
//! reducer that sends the wrong command is one whose command was changed on the way out.

use amends_core::lifecycle::command::Command;
use amends_core::lifecycle::event::Event;

use crate::life::Life;
use crate::truth::Truth;

/// One defect.
#[derive(Clone, Copy)]
pub struct Plant {
    /// What is wrong, as the name of an edit.
    pub name: &'static str,
    /// The check that must catch it.
    pub caught_by: &'static str,
    /// Where it sits.
    pub defect: Defect,
}

/// Where a defect sits.
#[derive(Clone, Copy)]
pub enum Defect {
    /// In how the reducer takes an event: what it hears instead, or nothing.
    Hears(fn(&mut Memory, &Truth, Life, &Event) -> Option<Event>),
    /// In what the reducer asks for after an event.
    Asks(fn(&mut Memory, &Truth, Life, &Event, &mut Vec<Command>)),
    /// In what the store says to PostgreSQL.
    Says(Sql),
}

/// A defect of the store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sql {
    /// The token of the row is not compared.
    ComparesNoToken,
    /// The frontier of the row is not compared.
    ComparesNoFrontier,
    /// The row is read without its lock.
    LocksNothing,
    /// A claim leaves the epoch as it is.
    RaisesNoEpoch,
    /// A claim keeps the claim id that it found.
    DrawsNoClaimId,
    /// A lost reply is reported as a success.
    BelievesInSuccess,
    /// A lost reply is reported as a failure without effect.
    BelievesInFailure,
    /// COMMIT is sent before the answer of the lock was read.
    CommitsBeforeTheLock,
    /// The frontier moves to the last record instead of behind it.
    StopsOneShort,
    /// One record too few is decided, and the frontier moves behind all of them.
    SkipsTheLast,
}

/// What a defect remembers within one world.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// How often it has acted.
    pub times: u32,
    /// A command or an event that it kept for later.
    pub kept: Vec<(Life, Kept)>,
}

/// What a defect kept.
#[derive(Clone, PartialEq, Debug)]
pub enum Kept {
    /// A command.
    Asked(Command),
    /// An event.
    Heard(Event),
}
