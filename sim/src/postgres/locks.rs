//! Knows who holds which row, and who waits for it, in the order in which they came.

use std::collections::{BTreeMap, VecDeque};

use super::session::SessionId;
use super::value::{Day, Text};

/// A row by its table and primary key.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Key {
    Namespace(Text),
    Partition(Text, i32),
    Evidence(Text, i32, i64),
    Head(Text, i32, Text),
    Position(Text, Text, Text, Day),
    Outbox(Text, i32, i64, Day),
}

#[derive(Debug)]
struct Lock {
    holder: SessionId,
    waiters: VecDeque<SessionId>,
}

/// All row locks. A lock lives until its transaction ends.
#[derive(Default, Debug)]
pub(super) struct Locks(BTreeMap<Key, Lock>);

impl Locks {
    /// Takes a lock, or queues for it. Returns whether it is held now.
    pub(super) fn take(&mut self, key: &Key, by: SessionId) -> bool {
        let Some(lock) = self.0.get_mut(key) else {
            self.0.insert(key.clone(), Lock { holder: by, waiters: VecDeque::new() });
            return true;
        };
        if lock.holder != by && !lock.waiters.contains(&by) {
            lock.waiters.push_back(by);
        }
        lock.holder == by
    }

    /// Who holds it.
    pub(super) fn holder(&self, key: &Key) -> Option<SessionId> {
        self.0.get(key).map(|lock| lock.holder)
    }

    /// Waits no longer; it may have been given the lock just now. Returns who holds it instead.
    pub(super) fn leave(&mut self, key: &Key, by: SessionId) -> Option<SessionId> {
        let lock = self.0.get_mut(key)?;
        lock.waiters.retain(|waiter| *waiter != by);
        if lock.holder == by { self.release(key) } else { None }
    }

    /// Gives a lock back. Returns who holds it now.
    pub(super) fn release(&mut self, key: &Key) -> Option<SessionId> {
        let lock = self.0.get_mut(key)?;
        match lock.waiters.pop_front() {
            Some(next) => {
                lock.holder = next;
                Some(next)
            }
            None => {
                self.0.remove(key);
                None
            }
        }
    }
}
