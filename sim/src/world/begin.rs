//! Knows how a world begins, at its start or behind the mark of a story: who starts, and what is planned from then on.

use super::{Due, World};
use crate::faults::Moment;
use crate::ground::Ground;
use crate::life::Life;
use crate::pace::{Actor, Wait};

impl World {
    /// Whoever does not work starts, faults may strike, and their end is near.
    pub(super) fn let_loose(&mut self, ground: &mut Ground) {
        if let Some(Moment { mark, .. }) = &self.schedule.begins_at {
            ground.chronicle.line(format_args!("at the mark {mark}"));
        }
        ground.chronicle.stop_watching();
        ground.faults.hold(false);
        self.is_staged = false;
        for worker in 0..self.schedule.shape.workers {
            let newest = self.processes.newest(worker);
            if newest.is_some_and(|who| self.processes.living(worker) == Some(who)) {
                continue;
            }
            // Not at once: who comes first is part of the schedule.
            let after = ground.pace.wait(Wait::Callback, Actor::Worker(worker));
            let next = newest.map_or(Life::first(worker), Life::next);
            self.agenda.at(ground.now() + after, Due::Start(next));
        }
        self.plan(ground.now());
        self.agenda.at(ground.now() + self.schedule.shape.wild_ms, Due::Heal);
    }

    /// What happens at its time, by the schedule.
    pub(super) fn plan(&mut self, from_ms: u64) {
        for incident in &self.schedule.incidents {
            self.agenda.at(from_ms + incident.at_ms, Due::Incident(incident.clone()));
        }
        let grows_every_ms = self.schedule.shape.grows_every_ms;
        if grows_every_ms > 0 {
            self.agenda.at(from_ms + grows_every_ms, Due::Publish);
        }
    }
}
