//! Knows how a stream ends: nothing new begins, decisions in flight end, the client closes, the worker stops.

use super::command::{Command, Timer};
use super::stop::StopReason;
use super::tenure::{Input, State, Turn};
use super::{CUT_MS, DRAIN_MS, Lifecycle, Phase, note};

impl Lifecycle {
    /// Cancels the statements of tenures that are over.
    pub(super) fn cut(&mut self) {
        for tenure in self.tenures.values_mut().filter(|tenure| !tenure.is_living()) {
            if matches!(tenure.state, State::Ending(_) | State::Settling) {
                tenure.cut(&mut self.shared);
            }
        }
    }

    pub(super) fn ask_to_stop(&mut self, reason: StopReason) -> Turn {
        self.shared.stop(reason);
        Turn::Done
    }

    pub(super) fn drain_expired(&mut self) -> Turn {
        let Phase::Draining { reason, is_cut } = &mut self.phase else { return Turn::Late };
        if !*is_cut {
            *is_cut = true;
            self.cut();
            self.shared.out.push(Command::Wait { timer: Timer::Drain, after_ms: CUT_MS });
            return Turn::Done;
        }
        // An answer that never came leaves its outcome unknown.
        for (_, mut tenure) in std::mem::take(&mut self.tenures) {
            let left = tenure.abandon(&mut self.shared);
            note(&mut self.after, &tenure);
            if let Some(unknown) = left.filter(|_| reason.is_orderly()) {
                *reason = unknown;
            }
        }
        Turn::Done
    }

    pub(super) fn closed(&mut self) -> Turn {
        let Phase::Closing(reason) = &self.phase else { return Turn::Impossible };
        self.shared.out.push(Command::Stop { reason: reason.clone() });
        self.phase = Phase::Over;
        Turn::Done
    }

    /// What follows for everybody: the end of the stream, free lanes, the callbacks that wait.
    pub(super) fn settle(&mut self) {
        if let Some(reason) = self.shared.stopping.take() {
            self.drain(reason);
        }
        if self.shared.is_running {
            while let Some(id) = self.shared.lanes.grant() {
                self.turn(id, Input::Granted);
            }
        }
        match &self.phase {
            Phase::Running => {
                self.settle_gate();
                self.shared.checks.flush(self.shared.now, &mut self.shared.out);
            }
            Phase::Draining { reason, .. } => {
                if self.tenures.is_empty() {
                    self.shared.gate.close(&mut self.shared.out);
                    self.phase = Phase::Closing(reason.clone());
                } else {
                    self.settle_gate();
                }
            }
            Phase::Closing(_) | Phase::Over => {}
        }
    }

    fn drain(&mut self, reason: StopReason) {
        match &mut self.phase {
            Phase::Running => {
                self.phase = Phase::Draining { reason, is_cut: false };
                self.shared.is_running = false;
                self.shared.gate.stays();
                self.shared.out.push(Command::Wait { timer: Timer::Drain, after_ms: DRAIN_MS });
                self.turn_each(Input::Drained, |_| true);
                // Settling inside the drain may have found an outcome that stays unknown.
                if let Some(reason) = self.shared.stopping.take() {
                    self.drain(reason);
                }
            }
            Phase::Draining { reason: first, .. } | Phase::Closing(first) => {
                if first.is_orderly() && !reason.is_orderly() {
                    *first = reason;
                }
            }
            Phase::Over => {}
        }
    }
}
