//! Knows when the faults are over, who is started again, and when a world has shown all that it can.

use amends_core::lifecycle::stop::StopReason;

use super::{Due, Happening, RESTART_MS, World};
use crate::fact::Fact;
use crate::ground::Ground;
use crate::life::Life;

/// How far a world is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// Faults strike.
    Wild,
    /// They are over, and what they left is mended.
    Healing {
        /// Nothing was left to be done from here on.
        quiet_since: Option<u64>,
    },
    /// All was seen.
    Over,
}

/// How often a healing world is looked at.
const LOOK_MS: u64 = 250;
/// A world that is drained is watched for so long.
const QUIET_MS: u64 = 2_000;
/// A rebalance, a claim's budget, and as much again for what a thawed process still has to be told.
const PATIENCE_MS: u64 = 200_000;

impl World {
    /// A process said why it ends; its supervisor decides whether another one begins.
    pub(super) fn stopped(&mut self, ground: &mut Ground, who: Life, reason: &StopReason) {
        self.processes.end(who);
        ground.chronicle.line(format_args!("{who} exits, {}", reason.code()));
        ground.chronicle.tell(&Fact::Exited { who });
        self.kafka.crash(ground, who);
        let is_restarted = match reason {
            StopReason::Refused { .. } | StopReason::Contended { .. } | StopReason::Impossible { .. } => {
                false
            }
            // Who was asked to stop before the faults ended is started again by whoever looks then.
            StopReason::Shutdown | StopReason::Paused | StopReason::Stopped => {
                matches!(self.phase, Phase::Healing { .. })
            }
            StopReason::Unresolved { .. }
            | StopReason::SeekNotTaken { .. }
            | StopReason::BudgetSpent { .. }
            | StopReason::AttemptsSpent { .. }
            | StopReason::Broken { .. } => true,
        };
        // In a story whoever tells it starts the next one.
        if is_restarted && !self.is_staged {
            self.agenda.at(ground.now() + RESTART_MS, Due::Start(who.next()));
        }
    }

    /// The faults are over: a person looked, and every worker is started again.
    pub(crate) fn heal(&mut self, ground: &mut Ground, out: &mut Vec<Happening>) {
        if ground.chronicle.truth.healed_at.is_some() {
            return;
        }
        ground.faults.heal();
        ground.pace.heal();
        ground.chronicle.line(format_args!("the faults are over"));
        self.kafka.heal(ground);
        ground.chronicle.tell(&Fact::Healed);
        out.push(Happening::Heal);
        if self.schedule.begins_at.is_some() {
            // A fair run may come before the mark.
            (self.story, self.is_staged) = (None, false);
        }
        if self.is_staged {
            return;
        }
        let all: Vec<(Life, bool)> = self.processes.all().collect();
        for (who, is_living) in all {
            if is_living {
                self.thaw(ground, who, out);
            } else {
                self.agenda.at(ground.now() + RESTART_MS, Due::Start(who.next()));
            }
        }
        self.phase = Phase::Healing { quiet_since: None };
        self.agenda.at(ground.now() + LOOK_MS, Due::Look);
    }

    /// Looks whether there is anything left to be seen.
    pub(super) fn look(&mut self, ground: &mut Ground) {
        let Phase::Healing { quiet_since } = self.phase else { return };
        let now = ground.now();
        let truth = &ground.chronicle.truth;
        let is_deserted = self.processes.all().all(|(_, is_living)| !is_living);
        let is_quiet = is_deserted || !truth.is_found_spoilt() && truth.is_drained() && truth.has_owners();
        let since = if is_quiet { quiet_since.or(Some(now)) } else { None };
        let is_seen = since.is_some_and(|since| now >= since + QUIET_MS);
        let is_late = truth.healed_at.is_some_and(|healed| now >= healed + PATIENCE_MS);
        if is_seen || is_late {
            self.phase = Phase::Over;
            ground.chronicle.tell(&Fact::Ended);
        } else {
            self.phase = Phase::Healing { quiet_since: since };
            self.agenda.at(now + LOOK_MS, Due::Look);
        }
    }
}
