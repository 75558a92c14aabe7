//! Knows how far a story is told: what is to be done now, and what is waited for.

use super::action::Action;
use super::mistakes::Mistake;
use super::outcome::Outcome;
use super::words::time;
use super::{Act, Deed, When};
use crate::truth::Truth;

/// A story while it is told.
#[derive(Clone, Debug, Default)]
pub struct Telling {
    /// How many acts are over.
    told: usize,
    /// When the last of them was.
    since_ms: u64,
}

/// What a story asks of whoever tells it.
#[derive(Clone, PartialEq, Debug)]
pub enum Next<'a> {
    /// Do this, now, and ask again.
    Perform(&'a Action),
    /// A campaign may begin here. Ask again.
    Mark(&'a str),
    /// Let the world go on, and ask again after its next step, at this time at the latest.
    Wait {
        /// Milliseconds since the world began.
        at_ms: u64,
    },
    /// What was waited for did not come.
    Missed(Mistake),
    /// All is told: judge the outcome.
    Over,
}

impl Telling {
    /// What comes next in the story, which is always the same one, by what is so now.
    pub fn next<'a>(&mut self, story: &'a [Act], outcome: &Outcome, truth: &Truth) -> Next<'a> {
        while let Some(act) = story.get(self.told) {
            match &act.deed {
                Deed::Perform { when, action } => {
                    let at_ms = match when {
                        When::At(ms) => *ms,
                        When::After(ms) => self.since_ms + ms,
                    };
                    if truth.now < at_ms {
                        return Next::Wait { at_ms };
                    }
                    (self.told, self.since_ms) = (self.told + 1, truth.now);
                    return Next::Perform(action);
                }
                Deed::Until { condition, within_ms } => {
                    if let Err(instead) = condition.judge(outcome, truth) {
                        let at_ms = self.since_ms + within_ms;
                        if truth.now < at_ms {
                            return Next::Wait { at_ms };
                        }
                        let what = format!("in {} it did not come: {instead}", time(*within_ms));
                        return Next::Missed(Mistake::new(act.at, what));
                    }
                    (self.told, self.since_ms) = (self.told + 1, truth.now);
                }
                Deed::Mark(name) => {
                    self.told += 1;
                    return Next::Mark(name);
                }
            }
        }
        Next::Over
    }
}
