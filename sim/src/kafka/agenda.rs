//! Knows what is still to happen: in order of time, and at one time in the order in which it was planned.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What is still to happen.
pub(super) struct Agenda<T> {
    /// When, the how manyth plan it is, and in which slot. What happens is larger: it stays where it is put.
    heap: BinaryHeap<Reverse<(u64, u64, usize)>>,
    slots: Vec<Option<T>>,
    free: Vec<usize>,
    planned: u64,
}

impl<T> Agenda<T> {
    pub(super) fn new() -> Self {
        Self { heap: BinaryHeap::new(), slots: Vec::new(), free: Vec::new(), planned: 0 }
    }

    pub(super) fn plan(&mut self, at: u64, what: T) {
        let slot = self.free.pop().unwrap_or(self.slots.len());
        match self.slots.get_mut(slot) {
            Some(free) => *free = Some(what),
            None => self.slots.push(Some(what)),
        }
        self.planned += 1;
        self.heap.push(Reverse((at, self.planned, slot)));
    }

    /// When the next thing happens.
    pub(super) fn next_due(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse((at, ..))| *at)
    }

    /// The next thing that is due by then.
    pub(super) fn pop_due(&mut self, now: u64) -> Option<T> {
        self.next_due().filter(|at| *at <= now)?;
        let Reverse((.., slot)) = self.heap.pop()?;
        self.free.push(slot);
        self.slots[slot].take()
    }
}
