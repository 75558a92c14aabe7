//! Knows how a driver with a planted defect takes a step.

use amends_core::driver;
use amends_core::driver::{Driver, World as _};
use amends_core::ids::Moment;
use amends_core::journal::Step;
use amends_core::lifecycle::After;
use amends_core::lifecycle::command::Command;
use amends_core::lifecycle::event::Event;

use super::Seat;
use crate::plant::{Defect, Memory, Plant};
use crate::world::TOPIC;

/// A defect at work in one world.
pub(super) struct Planted {
    pub(super) plant: Plant,
    memory: Memory,
}

impl Planted {
    pub(super) fn new(plant: Plant) -> Self {
        Self { plant, memory: Memory::default() }
    }

    /// One step: the world's log holds what really came and what really left.
    pub(super) fn deliver(&mut self, driver: &mut Driver, now: Moment, event: &Event, mut seat: Seat<'_>) {
        let (who, truth) = (seat.who, &seat.ground.chronicle.truth);
        let heard = match self.plant.defect {
            Defect::Hears(hears) => hears(&mut self.memory, truth, who, event),
            Defect::Asks(_) | Defect::Says(_) => Some(event.clone()),
        };
        let mut asked = Asked::default();
        if let Some(heard) = heard {
            driver.deliver(now, &heard, &mut asked);
        }
        if let Defect::Asks(asks) = self.plant.defect {
            asks(&mut self.memory, truth, who, event, &mut asked.commands);
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
