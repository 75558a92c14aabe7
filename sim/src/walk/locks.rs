//! Knows who holds each partition's row, and who waits for it in which order.

use std::collections::VecDeque;

use crate::few::Few;
use amends_core::ids::Partition;

/// The row locks.
#[derive(Clone, Debug, Default)]
pub(super) struct Locks {
    rows: Few<Partition, Row>,
}

#[derive(Clone, Debug, Default)]
struct Row {
    holder: Option<u64>,
    waiting: VecDeque<u64>,
}

impl Locks {
    /// Asks for a row; true when it is got at once.
    pub(super) fn ask(&mut self, partition: Partition, op: u64) -> bool {
        let row = self.rows.or_default(partition);
        if row.holder.is_none() && row.waiting.is_empty() {
            row.holder = Some(op);
            true
        } else {
            row.waiting.push_back(op);
            false
        }
    }

    /// Gives a row back, or stops waiting for it. Returns who has it next, when it was held and somebody waits.
    pub(super) fn give_back(&mut self, partition: Partition, op: u64) -> Option<u64> {
        let row = self.rows.find_mut(&partition)?;
        if row.holder != Some(op) {
            row.waiting.retain(|waiting| *waiting != op);
            return None;
        }
        row.holder = row.waiting.pop_front();
        row.holder
    }
}
