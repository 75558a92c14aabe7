//! Knows what is still to happen: in order of time, and at one time in the order in which it was planned.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// What is still to happen.
pub(super) struct Agenda<T> {
    heap: BinaryHeap<Planned<T>>,
    planned: u64,
}

struct Planned<T> {
    at: u64,
    nth: u64,
    what: T,
}

impl<T> Agenda<T> {
    pub(super) fn new() -> Self {
        Self { heap: BinaryHeap::new(), planned: 0 }
    }

    pub(super) fn plan(&mut self, at: u64, what: T) {
        self.planned += 1;
        self.heap.push(Planned { at, nth: self.planned, what });
    }

    /// When the next thing happens.
    pub(super) fn next_due(&self) -> Option<u64> {
        self.heap.peek().map(|planned| planned.at)
    }

    /// The next thing that is due by then.
    pub(super) fn pop_due(&mut self, now: u64) -> Option<T> {
        self.next_due().filter(|at| *at <= now)?;
        self.heap.pop().map(|planned| planned.what)
    }
}

/// The earliest is the greatest, since a heap gives its greatest first.
impl<T> Ord for Planned<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.nth).cmp(&(self.at, self.nth))
    }
}

impl<T> PartialOrd for Planned<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Planned<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Planned<T> {}
