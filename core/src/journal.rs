//! Knows how one step is written as JSON, and how a journal is replayed.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::ids::Moment;
use crate::lifecycle::command::Command;
use crate::lifecycle::event::Event;
use crate::lifecycle::{After, Lifecycle, Settings};

mod words;

/// One step of the reducer: what happened, what the touched tenures became, what was asked for.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Step<'a> {
    /// When.
    pub at: Moment,
    /// What happened.
    pub event: &'a Event,
    /// The touched tenures, after it.
    pub after: &'a [After],
    /// What was asked for.
    pub commands: &'a [Command],
}

/// The first line of a journal.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Header {
    /// The version of the format: 1.
    pub journal: u32,
    /// What the worker was started with.
    pub settings: Settings,
}

impl Header {
    /// The header of a journal in today's format.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self { journal: 1, settings }
    }
}

/// A journal that is replayed line by line, each run of a worker in it through a fresh reducer.
#[derive(Debug)]
pub struct Replay {
    lifecycle: Lifecycle,
    commands: Vec<Command>,
    line: u64,
    replayed: Replayed,
    /// A line that ends in its middle, as a killed worker leaves it: excused when nothing of its run follows.
    torn: Option<ReplayError>,
}

/// What was replayed with equal commands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Replayed {
    /// Runs of a worker: headers.
    pub runs: u64,
    /// Steps.
    pub steps: u64,
    /// Runs whose last line was torn; it was left out.
    pub torn: u64,
}

/// Why a journal does not replay.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ReplayError {
    /// A line that is not of a journal.
    Unreadable {
        /// The line's number, from 1.
        line: u64,
        /// For people.
        why: String,
    },
    /// The reducer of today decides otherwise.
    Differs {
        /// The line's number, from 1.
        line: u64,
        /// The event at which it differs.
        event: String,
        /// The commands in the journal, as JSON.
        journal: String,
        /// The commands of this reducer, as JSON.
        reducer: String,
    },
}

#[derive(Deserialize)]
#[serde(bound = "'a: 'de, 'de: 'a")]
struct Recorded<'a> {
    at: Moment,
    event: Event,
    #[serde(borrow)]
    commands: &'a RawValue,
}

impl Replay {
    /// Begins with the journal's first line.
    ///
    /// # Errors
    /// When it is not the header of a journal in a known format.
    pub fn begin(header: &str) -> Result<Self, ReplayError> {
        Ok(Self {
            lifecycle: Lifecycle::new(read_header(header, 1)?),
            commands: Vec::new(),
            line: 1,
            replayed: Replayed { runs: 1, ..Replayed::default() },
            torn: None,
        })
    }

    /// Feeds the next line's event and compares the commands, byte for byte; a header begins the next run.
    ///
    /// # Errors
    /// When the line is neither, or this reducer gives other commands.
    pub fn line(&mut self, line: &str) -> Result<(), ReplayError> {
        self.line += 1;
        if line.starts_with(HEADER_BEGINS) {
            self.lifecycle = Lifecycle::new(read_header(line, self.line)?);
            self.replayed.runs += 1;
            self.replayed.torn += u64::from(self.torn.take().is_some());
            return Ok(());
        }
        if let Some(torn) = self.torn.take() {
            return Err(torn);
        }
        let recorded: Recorded<'_> = match serde_json::from_str(line) {
            Ok(recorded) => recorded,
            Err(error) => {
                let unreadable = ReplayError::Unreadable { line: self.line, why: error.to_string() };
                if !error.is_eof() {
                    return Err(unreadable);
                }
                self.torn = Some(unreadable);
                return Ok(());
            }
        };
        self.step(&recorded)
    }

    fn step(&mut self, recorded: &Recorded<'_>) -> Result<(), ReplayError> {
        self.commands.clear();
        self.lifecycle.handle(recorded.at, &recorded.event, &mut self.commands);
        let reducer = serde_json::to_string(&self.commands)
            .map_err(|error| ReplayError::Unreadable { line: self.line, why: error.to_string() })?;
        if recorded.commands.get() == reducer {
            self.replayed.steps += 1;
            return Ok(());
        }
        Err(ReplayError::Differs {
            line: self.line,
            event: recorded.event.to_string(),
            journal: recorded.commands.get().to_owned(),
            reducer,
        })
    }

    /// What was replayed, once the last line was read.
    #[must_use]
    pub fn end(mut self) -> Replayed {
        self.replayed.torn += u64::from(self.torn.is_some());
        self.replayed
    }
}

/// How the line of a header begins, and no other.
pub const HEADER_BEGINS: &str = "{\"journal\":";

fn read_header(text: &str, line: u64) -> Result<Settings, ReplayError> {
    let unreadable = |why: String| ReplayError::Unreadable { line, why };
    let header: Header = serde_json::from_str(text).map_err(|error| unreadable(error.to_string()))?;
    if header.journal != 1 {
        return Err(unreadable(format!("journal format {} is unknown, 1 is known", header.journal)));
    }
    Ok(header.settings)
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { line, why } => write!(f, "could not read line {line}: {why}"),
            Self::Differs { line, event, journal, reducer } => {
                write!(f, "line {line} differs at {event}\n  journal: {journal}\n  reducer: {reducer}")
            }
        }
    }
}

impl std::error::Error for ReplayError {}
