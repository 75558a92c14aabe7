//! Knows which rows a batch has asked for already, so that a row is read once however many records need it.

use std::collections::{BTreeMap, BTreeSet};

use super::positions::{Change, Want};
use crate::source::business_date::BusinessDate;
use crate::source::manifest::StockKey;

/// What the wants of a batch reach so far.
#[derive(Debug, Default)]
pub(super) struct Reach {
    by_key: BTreeMap<StockKey, Dates>,
}

#[derive(Debug, Default)]
struct Dates {
    /// Where the row is asked for, be it present or retracted.
    points: BTreeSet<BusinessDate>,
    /// Where the present rows are asked for: start and excluded end of ranges that do not overlap.
    ranges: BTreeMap<BusinessDate, Option<BusinessDate>>,
}

impl Reach {
    /// What `change` needs and nobody asked for yet.
    pub(super) fn extend(&mut self, change: &Change) -> Vec<Want> {
        let mut wants = Vec::new();
        for step in &change.steps {
            let dates = self.by_key.entry(change.stock_key.clone()).or_default();
            let mut pieces = dates.uncovered(step.date, step.before);
            dates.ranges.extend(pieces.iter().copied());
            let begins_here = pieces.first().is_some_and(|&(from, _)| from == step.date);
            if !begins_here && !dates.points.contains(&step.date) {
                // Inside of a range the row itself may be retracted and so not be part of it.
                pieces.insert(0, (step.date, step.date.next()));
            }
            for (from, before) in pieces {
                dates.points.insert(from);
                wants.push(Want { stock_key: change.stock_key.clone(), from, before });
            }
        }
        wants
    }
}

impl Dates {
    /// What of the range from `from` to `before` no range covers, in order.
    fn uncovered(
        &self,
        from: BusinessDate,
        before: Option<BusinessDate>,
    ) -> Vec<(BusinessDate, Option<BusinessDate>)> {
        let mut pieces = Vec::new();
        let first = self.ranges.range(..=from).next_back().map_or(from, |(&start, _)| start);
        let mut at = from;
        for (&start, &end) in self.ranges.range(first..) {
            if before.is_some_and(|before| before <= start) {
                break;
            }
            if end.is_some_and(|end| end <= at) {
                continue;
            }
            if at < start {
                pieces.push((at, Some(start)));
            }
            let Some(end) = end else { return pieces };
            at = end;
        }
        if before.is_none_or(|before| at < before) {
            pieces.push((at, before));
        }
        pieces
    }
}
