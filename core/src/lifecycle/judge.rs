//! Knows what a check of the source means for everybody who has a tenure.

use super::check::{CheckFailure, Need};
use super::command::CheckId;
use super::event::Failure;
use super::stop::StopReason;
use super::tenure::{Input, Turn};
use super::{Lifecycle, Phase};
use crate::source::boundary::{Bounds, Sight, Verdict};

impl Lifecycle {
    pub(super) fn checked(&mut self, check: CheckId, sight: &Sight) -> Turn {
        let Some(parts) = self.shared.checks.answered(check) else { return Turn::Impossible };
        if self.phase != Phase::Running {
            return Turn::Late;
        }
        match self.judge(sight) {
            Verdict::Pass => {}
            Verdict::AskAgain(refusal) => {
                let (now, out) = (self.shared.now, &mut self.shared.out);
                if let Some(reason) = self.shared.checks.suspected(now, refusal, out) {
                    self.shared.stop(reason);
                }
                return Turn::Done;
            }
            Verdict::Refuse(refusal) => {
                self.shared.stop(StopReason::Refused { refusal });
                return Turn::Done;
            }
        }
        let is_served = |need: Need| need.is_served_by(check, parts);
        self.shared.checks.passed(sight.bounds.as_ref());
        for tenure in self.tenures.values_mut() {
            tenure.hold_empty_poll(&self.shared, is_served);
        }
        self.turn_each(Input::Passed, |tenure| tenure.need().is_some_and(is_served));
        Turn::Done
    }

    /// The source, then each partition that was given.
    fn judge(&self, sight: &Sight) -> Verdict {
        match (self.shared.settings.source.judge(sight), sight.bounds.as_deref()) {
            (Verdict::Pass, Some(bounds)) => self.judge_partitions(bounds),
            (verdict, _) => verdict,
        }
    }

    fn judge_partitions(&self, bounds: &Bounds) -> Verdict {
        let source = &self.shared.settings.source;
        self.tenures
            .values()
            .filter(|tenure| tenure.is_living())
            .map(|tenure| {
                source.judge_partition(bounds, tenure.id.partition, tenure.hold.map(|hold| hold.frontier))
            })
            .find(|verdict| *verdict != Verdict::Pass)
            .unwrap_or(Verdict::Pass)
    }

    pub(super) fn check_failed(&mut self, check: CheckId, failure: &Failure) -> Turn {
        if self.shared.checks.answered(check).is_none() {
            return Turn::Impossible;
        }
        if self.phase != Phase::Running {
            return Turn::Late;
        }
        let waiting = self.tenures.values().find(|tenure| tenure.need().is_some());
        let awaited = waiting.map(|tenure| (tenure.id, tenure.state.word()));
        let ends = self.shared.checks.failed(failure, awaited.is_some(), &mut self.shared.out);
        match (ends, awaited) {
            (Some(CheckFailure::Broken(why)), _) => self.shared.stop(StopReason::Broken { why }),
            (Some(CheckFailure::Spent(why)), Some((tenure, doing))) => {
                self.shared.stop(StopReason::AttemptsSpent { tenure, doing: doing.to_owned(), why });
            }
            (Some(CheckFailure::Spent(_)) | None, _) => {}
        }
        Turn::Done
    }
}
