//! Knows what is to happen and when; what is due at the same time happens in the order in which it was planned.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// What is to happen.
#[derive(Clone, Debug)]
pub struct Agenda<T> {
    heap: BinaryHeap<Reverse<Planned<T>>>,
    planned: u64,
}

#[derive(Clone, Debug)]
struct Planned<T> {
    at_ms: u64,
    nth: u64,
    what: T,
}

impl<T> Default for Agenda<T> {
    fn default() -> Self {
        Self { heap: BinaryHeap::new(), planned: 0 }
    }
}

impl<T> Agenda<T> {
    /// Plans something.
    pub fn at(&mut self, at_ms: u64, what: T) {
        self.planned += 1;
        self.heap.push(Reverse(Planned { at_ms, nth: self.planned, what }));
    }

    /// When the next thing is due.
    #[must_use]
    pub fn next_due(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse(planned)| planned.at_ms)
    }

    /// Takes the next thing that is due by now.
    pub fn take(&mut self, now: u64) -> Option<T> {
        self.next_due().filter(|at_ms| *at_ms <= now)?;
        self.heap.pop().map(|Reverse(planned)| planned.what)
    }
}

impl<T> Planned<T> {
    fn key(&self) -> (u64, u64) {
        (self.at_ms, self.nth)
    }
}

impl<T> PartialEq for Planned<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<T> Eq for Planned<T> {}

impl<T> PartialOrd for Planned<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Planned<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}
