//! Knows how many decisions run side by side, and who waits for a place.

use std::collections::VecDeque;

use crate::ids::TenureId;

/// The places for decisions in flight, given in the order in which they were asked for.
#[derive(Clone, Debug)]
pub(super) struct Lanes {
    free: u32,
    waiting: VecDeque<TenureId>,
}

impl Lanes {
    pub(super) fn new(lanes: u32) -> Self {
        Self { free: lanes, waiting: VecDeque::new() }
    }

    pub(super) fn ask(&mut self, tenure: TenureId) {
        self.waiting.push_back(tenure);
    }

    /// The next tenure to get a place; the place is taken.
    pub(super) fn grant(&mut self) -> Option<TenureId> {
        if self.free == 0 {
            return None;
        }
        let next = self.waiting.pop_front()?;
        self.free -= 1;
        Some(next)
    }

    /// A place comes back.
    pub(super) fn give_back(&mut self) {
        self.free += 1;
    }

    /// The tenure does not want a place any more.
    pub(super) fn forget(&mut self, tenure: TenureId) {
        self.waiting.retain(|waiting| *waiting != tenure);
    }
}
