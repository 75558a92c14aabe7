//! Knows how a defect is planted between a reducer and its world, or into the store, so that a check can be seen to
//! catch it. Production code has no switch for this: a reducer that ignores an event is one that never hears it, a
//! reducer that sends the wrong command is one whose command was changed on the way out.

use amends_core::lifecycle::Settings;
use amends_core::lifecycle::command::Command;
use amends_core::lifecycle::event::Event;

use crate::life::Life;
use crate::truth::Truth;

/// A place of one defect; a broken program may have several.
#[derive(Clone, Copy)]
pub enum Defect {
    /// In what a reducer is started with.
    Starts(fn(&mut Settings)),
    /// In how the reducer takes an event: what it hears instead, or nothing.
    Hears(fn(&mut Memory, &Truth, Life, &Event) -> Option<Event>),
    /// In what the reducer asks for after an event.
    Asks(fn(&mut Memory, &Truth, Life, &Event, &mut Vec<Command>)),
    /// In what the store says to PostgreSQL.
    Says(Sql),
}

impl Defect {
    /// The store's defect, where it is one.
    #[must_use]
    pub fn sql(&self) -> Option<Sql> {
        if let Self::Says(sql) = self { Some(*sql) } else { None }
    }
}

/// A defect of the store. Tier A carries out those of a transaction's outcome, `SimPostgres` those of the rows, and both
/// the last two.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
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
    /// A failed attempt is reported as a refusal of what the records say.
    RefusesWhatFailed,
    /// COMMIT is sent before the answer of the lock was read.
    CommitsBeforeTheLock,
    /// No BEGIN is sent: what is written commits by itself.
    BeginsNothing,
    /// The frontier moves to the last record instead of behind it.
    StopsOneShort,
    /// One record too few is decided, and the frontier moves behind all of them.
    SkipsTheLast,
    /// The frontier moves behind everything that lies in the log, visible or not.
    MovesBehindTheTail,
    /// What lies in a gap is decided like records.
    DecidesTheGap,
    /// The upsert of a position that is there does nothing.
    UpdatesNoPosition,
    /// The upsert of a position adds one to the version that it is given.
    RaisesTheVersionAgain,
    /// All evidence has one code.
    WritesOneCode,
    /// The last envelope is left out.
    LeavesOutAnEnvelope,
    /// The effects commit, and the frontier stays.
    KeepsTheFrontier,
    /// The frontier moves, and nothing is decided.
    DecidesNothing,
}

/// What a defect remembers within one world.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// How often it has acted.
    pub times: u32,
}
