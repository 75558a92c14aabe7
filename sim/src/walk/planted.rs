//! Knows how a driver with a planted defect takes a step.

use amends_core::driver;
use amends_core::driver::{Driver, World as _};
use amends_core::ids::Moment;
use amends_core::journal::Step;
use amends_core::lifecycle::command::Command;
use amends_core::lifecycle::event::Event;
use amends_core::lifecycle::{After, Settings};

use super::Seat;
use crate::plant::{Defect, Memory};
use crate::world::TOPIC;

/// A defect at work in one world.
pub(super) struct Planted {
    defects: &'static [Defect],
    memory: Memory,
}

impl Planted {
    pub(super) fn new(defects: &'static [Defect]) -> Self {
        Self { defects, memory: Memory::default() }
    }

    /// What a broken program starts its reducer with.
    pub(super) fn settings(&self, mut settings: Settings) -> Settings {
        for defect in self.defects {
            if let Defect::Starts(starts) = defect {
                starts(&mut settings);
            }
        }
        settings
    }

    /// One step: the world's log holds what really came and what really left.
    pub(super) fn deliver(&mut self, driver: &mut Driver, now: Moment, event: &Event, mut seat: Seat<'_>) {
        let (who, truth) = (seat.who, &seat.ground.chronicle.truth);
        let mut heard = Some(event.clone());
        for defect in self.defects {
            if let (Defect::Hears(hears), Some(event)) = (defect, &heard) {
                heard = hears(&mut self.memory, truth, who, event);
            }
        }
        let mut asked = Asked::default();
        if let Some(heard) = heard {
            driver.deliver(now, &heard, &mut asked);
        }
        for defect in self.defects {
            if let Defect::Asks(asks) = defect {
                asks(&mut self.memory, truth, who, event, &mut asked.commands);
            }
        }
        let step = Step { at: now, event, after: &asked.after, commands: &asked.commands };
        seat.ground.chronicle.step(who, TOPIC, &step);
        for command in &asked.commands {
            seat.perform(now, command);
        }
    }
}

/// What a reducer asked for, before the defect changes it.
#[derive(Default)]
struct Asked {
    after: Vec<After>,
    commands: Vec<Command>,
}

impl driver::World for Asked {
    fn perform(&mut self, _: Moment, command: &Command) {
        self.commands.push(command.clone());
    }

    fn record(&mut self, step: &Step<'_>) {
        self.after.extend_from_slice(step.after);
    }
}
