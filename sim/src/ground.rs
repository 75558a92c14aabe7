//! Knows what every part of a world shares: its log, its faults, its waits.

use crate::chronicle::Chronicle;
use crate::faults::Faults;
use crate::pace::Pace;

/// What every part of a world stands on.
pub struct Ground {
    /// The world's own log. Its `truth.now` is the time of the world.
    pub chronicle: Chronicle,
    /// What goes wrong.
    pub faults: Faults,
    /// How long things take.
    pub pace: Pace,
}

impl Ground {
    /// Milliseconds since the world began.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.chronicle.truth.now
    }

    /// Lets the time be at least this.
    pub fn advance_to(&mut self, now: u64) {
        let truth = &mut self.chronicle.truth;
        truth.now = truth.now.max(now);
    }
}
