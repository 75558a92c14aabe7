//! Knows by when something must have happened, and finds what is overdue with one comparison.

use amends_core::ids::{Partition, TenureId};

use crate::fact::Fact;
use crate::few::Few;
use crate::life::Life;
use crate::truth::Truth;

/// What a process owes, by when.
pub(super) struct Due<K> {
    by: Few<K, u64>,
    /// Nothing is due before.
    first: u64,
}

/// Who owes it.
pub(super) trait Owed: Ord + Copy {
    fn who(&self) -> Life;
}

impl Owed for Life {
    fn who(&self) -> Life {
        *self
    }
}

impl Owed for (Life, Partition) {
    fn who(&self) -> Life {
        self.0
    }
}

impl Owed for (Life, TenureId) {
    fn who(&self) -> Life {
        self.0
    }
}

impl<K> Default for Due<K> {
    fn default() -> Self {
        Self { by: Few::default(), first: u64::MAX }
    }
}

impl<K: Owed> Due<K> {
    /// From now on it is due then, whatever was said before.
    pub(super) fn set(&mut self, key: K, by_ms: u64) {
        self.first = self.first.min(by_ms);
        self.by.insert(key, by_ms);
    }

    /// By when it is due.
    pub(super) fn get(&self, key: &K) -> Option<u64> {
        self.by.get(key).copied()
    }

    /// It happened, or is not wanted any more.
    pub(super) fn clear(&mut self, key: &K) {
        if !self.by.is_empty() {
            self.by.remove(key);
        }
    }

    /// A process owes nothing any more.
    pub(super) fn forgive(&mut self, who: Life) {
        if !self.by.is_empty() {
            self.by.retain(|key, _| key.who() != who);
        }
    }

    /// What is overdue at this fact. A process that stands still owes nothing until it has gone on for `grace_ms`, and
    /// one that is over owes nothing.
    #[inline(always)]
    pub(super) fn late(&mut self, fact: &Fact<'_>, truth: &Truth, grace_ms: u64) -> Option<K> {
        match fact {
            Fact::Thawed { who } => self.put_off(*who, truth.now + grace_ms),
            Fact::Crashed { who } | Fact::Exited { who } => self.forgive(*who),
            _ => {}
        }
        if truth.now <= self.first {
            return None;
        }
        self.look(truth, grace_ms)
    }

    fn put_off(&mut self, who: Life, until_ms: u64) {
        for (_, by) in self.by.iter_mut().filter(|(key, _)| key.who() == who) {
            *by = (*by).max(until_ms);
        }
    }

    #[cold]
    fn look(&mut self, truth: &Truth, grace_ms: u64) -> Option<K> {
        let mut late = None;
        self.by.retain(|key, by| {
            if *by >= truth.now {
                return true;
            }
            let process = truth.processes.get(&key.who()).filter(|process| process.is_living());
            if process.is_some_and(|process| process.frozen_since.is_some()) {
                *by = truth.now + grace_ms;
            } else if process.is_some() {
                late = late.or(Some(*key));
            }
            process.is_some()
        });
        self.first = self.by.values().copied().min().unwrap_or(u64::MAX);
        late
    }
}
