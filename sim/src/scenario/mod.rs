//! Knows what a scenario is: a world, a story and an outcome, read from lines and told to a world.
//!
//! Reading order: `words` and [`mistakes`] are the language's letters, [`scene`], [`verbs`] and [`expect`] its tables,
//! `read` its grammar. [`action`] and [`condition`] are what it means, [`outcome`] is what a condition is held against,
//! [`telling`] walks through the story.

use std::ops::Range;

use crate::faults::Schedule;
use crate::truth::Truth;
use action::Action;
use condition::Condition;
use mistakes::{Mistake, Span};
use outcome::Outcome;
use scene::Scene;

pub mod action;
pub mod condition;
pub mod expect;
pub mod marked;
pub mod mistakes;
pub mod outcome;
mod read;
pub mod scene;
pub mod telling;
pub mod verbs;
mod words;

/// A story, the world that it plays in, and how it must end.
#[derive(Clone, PartialEq, Debug)]
pub struct Scenario {
    /// What it claims: the comment that it begins with, without its marks.
    pub claim: String,
    /// What the world is made of.
    pub scene: Scene,
    /// What happens, in order.
    pub story: Vec<Act>,
    /// What must be so when the story is told.
    pub outcome: Vec<Expectation>,
}

/// One line of a story.
#[derive(Clone, PartialEq, Debug)]
pub struct Act {
    /// Where it stands.
    pub at: Span,
    /// What it does.
    pub deed: Deed,
}

/// What one line of a story does.
#[derive(Clone, PartialEq, Debug)]
pub enum Deed {
    /// Something is done to the world.
    Perform {
        /// When.
        when: When,
        /// What.
        action: Action,
    },
    /// Something is waited for.
    Until {
        /// What.
        condition: Condition,
        /// How long at most, from the line above.
        within_ms: u64,
    },
    /// A campaign may begin here.
    Mark(String),
}

/// The left margin of a story.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    /// So many milliseconds after the world began.
    At(u64),
    /// So many milliseconds after the line above was over.
    After(u64),
}

/// Something that must be so.
#[derive(Clone, PartialEq, Debug)]
pub struct Expectation {
    /// Where it stands.
    pub at: Span,
    /// What must be so.
    pub condition: Condition,
}

impl Scenario {
    /// Reads a scenario.
    ///
    /// # Errors
    /// The first mistake of each line, in order.
    pub fn read(text: &str) -> Result<Self, Vec<Mistake>> {
        read::scenario(text)
    }

    /// The seeds that it is lived with. The first is the one whose trace is kept.
    #[must_use]
    pub fn seeds(&self) -> Range<u64> {
        0..self.scene.seeds
    }

    /// The world of one of them.
    #[must_use]
    pub fn schedule(&self, seed: u64) -> Schedule {
        self.scene.schedule(seed)
    }

    /// What did not come out as it must, once the story is told.
    #[must_use]
    pub fn judge(&self, outcome: &Outcome, truth: &Truth) -> Vec<Mistake> {
        let wrong = |expectation: &Expectation| {
            let instead = expectation.condition.judge(outcome, truth).err()?;
            Some(Mistake::new(expectation.at, instead))
        };
        self.outcome.iter().filter_map(wrong).collect()
    }
}
