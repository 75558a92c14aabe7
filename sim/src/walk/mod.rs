//! Knows tier A: core alone in a discrete-event loop, by the ten thousand a second. No task, no wire, no row of a ledger;
//! the store is its outcomes under a row lock.

use std::sync::Arc;

use amends_core::driver::{self, Driver};
use amends_core::ids::Moment;
use amends_core::journal::Step;
use amends_core::lifecycle::command::Command;

use crate::agenda::earlier;
use crate::faults::Schedule;
use crate::few::Few;
use crate::ground::Ground;
use crate::life::Life;
use crate::plant::Defect;
use crate::scenario::Scenario;
use crate::scenario::mistakes::Mistake;
use crate::world::{Happening, TOPIC, World};
use planted::Planted;
use store::Store;

mod commit;
mod incidents;
mod locks;
mod operation;
mod planted;
mod store;

/// One world of tier A.
pub struct Walk {
    ground: Ground,
    world: World,
    store: Store,
    drivers: Few<Life, Driver>,
    happenings: Vec<Happening>,
    planted: Option<Planted>,
}

impl Walk {
    /// The world of a schedule, before anything happened.
    #[must_use]
    pub fn new(schedule: Schedule, is_traced: bool) -> Self {
        let (world, ground) = World::new(schedule, is_traced);
        Self::of(world, ground)
    }

    /// A world before anything happened.
    #[must_use]
    pub fn of(world: World, ground: Ground) -> Self {
        let (drivers, happenings) = (Few::default(), Vec::new());
        Self { ground, world, store: Store::default(), drivers, happenings, planted: None }
    }

    /// The world of a scenario with one of its seeds.
    #[must_use]
    pub fn staged(scenario: Arc<Scenario>, seed: u64, is_traced: bool) -> Self {
        let (world, ground) = World::staged(scenario, seed, is_traced);
        Self::of(world, ground)
    }

    /// What the story missed or did not lead to.
    #[must_use]
    pub fn judge(&self) -> Vec<Mistake> {
        self.world.judge(&self.ground)
    }

    /// A world before anything happened, with a broken program in it.
    #[must_use]
    pub fn planted(world: World, ground: Ground, defects: &'static [Defect]) -> Self {
        let mut walk = Self::of(world, ground);
        walk.store.defects = defects.iter().filter_map(Defect::sql).collect();
        walk.planted = Some(Planted::new(defects));
        walk
    }

    /// Lives until the world is over.
    pub fn live(&mut self) {
        while self.step() {}
    }

    /// Lets the next thing happen; false when nothing will.
    pub fn step(&mut self) -> bool {
        if self.world.is_over(&self.ground) {
            return false;
        }
        let worlds = self.world.next_due();
        let Some(due) = earlier(worlds, self.store.next_due()) else { return false };
        self.ground.advance_to(due);
        // Only a story looks also when nothing is due in the world itself.
        if self.world.is_told() || worlds.is_some_and(|worlds| worlds <= self.ground.now()) {
            self.world.advance(&mut self.ground, &mut self.happenings);
        }
        self.store.advance(&mut self.ground, &mut self.world, &mut self.happenings);
        while !self.happenings.is_empty() {
            let mut happenings = std::mem::take(&mut self.happenings);
            for happening in happenings.drain(..) {
                self.carry_out(happening);
            }
            // What a story waits for is there now, and not only when the next thing happens.
            self.world.tell(&mut self.ground, &mut happenings);
            self.happenings = happenings;
        }
        true
    }

    fn carry_out(&mut self, happening: Happening) {
        let ground = &mut self.ground;
        match happening {
            Happening::Start(who) => {
                let settings = self.world.settings().clone();
                let settings = match &self.planted {
                    None => settings,
                    Some(planted) => planted.settings(settings),
                };
                self.drivers.insert(who, Driver::new(settings));
                self.world.ready(ground, who);
            }
            Happening::Deliver(who, event) => {
                let Some(driver) = self.drivers.find_mut(&who) else { return };
                let now = Moment(ground.now());
                ground.chronicle.meet(driver.lifecycle().finds(&event), &event);
                let mut seat = Seat { who, ground, world: &mut self.world, store: &mut self.store };
                match &mut self.planted {
                    None => driver.deliver(now, &event, &mut seat),
                    Some(planted) => planted.deliver(driver, now, &event, seat),
                }
                if driver.stopped().is_some() {
                    self.drivers.remove(&who);
                    self.store.kill(&mut self.ground, who);
                }
            }
            Happening::Kill(who) => {
                self.drivers.remove(&who);
                self.store.kill(ground, who);
            }
            // Whoever stands still reads no answer: the store asks the processes.
            Happening::Freeze(_) => {}
            Happening::Thaw(who) => self.store.thaw(ground, who),
            Happening::Store(incident) => self.store.strike(ground, &incident),
            Happening::Heal => self.store.heal(ground),
        }
    }

    /// What the world stands on: its log above all.
    #[must_use]
    pub fn ground(&self) -> &Ground {
        &self.ground
    }

    /// The world itself.
    #[must_use]
    pub fn world(&self) -> &World {
        &self.world
    }

    /// Ends the faults now, whatever the schedule says.
    pub fn heal(&mut self) {
        let mut happenings = Vec::new();
        self.world.heal(&mut self.ground, &mut happenings);
        for happening in happenings {
            self.carry_out(happening);
        }
    }

    /// What the world was made from.
    #[must_use]
    pub fn schedule(&self) -> &Schedule {
        self.world.schedule()
    }
}

/// One process's place in the world, while its driver takes a step.
struct Seat<'a> {
    who: Life,
    ground: &'a mut Ground,
    world: &'a mut World,
    store: &'a mut Store,
}

impl driver::World for Seat<'_> {
    fn perform(&mut self, _: Moment, command: &Command) {
        if !self.world.perform(self.ground, self.who, command) {
            self.store.perform(self.ground, self.who, command);
        }
    }

    fn record(&mut self, step: &Step<'_>) {
        self.ground.chronicle.step(self.who, TOPIC, step);
    }
}
