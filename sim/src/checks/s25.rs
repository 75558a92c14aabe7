//! S25, purity: the same events give the same commands, byte for byte. A property of a run, not of facts.

use amends_core::ids::Moment;
use amends_core::lifecycle::command::Command;
use amends_core::lifecycle::event::Event;
use amends_core::lifecycle::{Lifecycle, Settings};

use super::Verdict;

/// Told of the steps of one process.
pub struct Purity;

impl Purity {
    /// Its number in the catalogue.
    pub const NAME: &'static str = "S25";
    /// The property, in one sentence.
    pub const CLAIM: &'static str =
        "a fresh reducer gives the same commands to the same events, byte for byte";
}

/// Whether a fresh reducer, given the same events at the same times, asks for the same.
///
/// # Errors
/// At the first step that differs, or that cannot be written as a journal has it.
pub fn purity(settings: &Settings, steps: &[(Moment, Event, Vec<Command>)]) -> Verdict {
    let mut lifecycle = Lifecycle::new(settings.clone());
    let mut again = Vec::new();
    for (nth, (at, event, commands)) in steps.iter().enumerate() {
        again.clear();
        lifecycle.handle(*at, event, &mut again);
        let written = |commands: &[Command]| serde_json::to_string(commands).map_err(|why| why.to_string());
        let (was, is) = (written(commands)?, written(&again)?);
        if again != *commands || was != is {
            return Err(format!("step {nth} at {at}, {event}: {was} once, {is} again"));
        }
    }
    Ok(())
}
