//! Knows the positions that a batch has loaded and changed so far, and moves them.

use std::collections::BTreeMap;
use std::ops::Bound;

use super::envelope::EXACT_INTEGER;
use super::positions::{Change, Closing, PositionRow};
use crate::source::business_date::BusinessDate;
use crate::source::manifest::{Ledger, Stock, StockKey};

/// The loaded part of the positions.
#[derive(Debug)]
pub(super) struct Book<'a> {
    ledger: &'a Ledger,
    by_key: BTreeMap<StockKey, Days>,
    /// How many rows differ from what was loaded.
    written: usize,
}

type Days = BTreeMap<BusinessDate, Entry>;

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    version: i64,
    live: i64,
    closing: Option<Closing>,
    written: bool,
}

/// A position that changed visibly.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Moved {
    pub(super) business_date: BusinessDate,
    pub(super) version: i64,
    pub(super) closing: Option<Closing>,
}

/// A resulting position would leave ±(2^53-1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Overflow;

impl<'a> Book<'a> {
    pub(super) fn new(ledger: &'a Ledger, rows: impl IntoIterator<Item = PositionRow>) -> Self {
        let mut by_key: BTreeMap<StockKey, Days> = BTreeMap::new();
        for PositionRow { stock_key, business_date, version, live, closing } in rows {
            let entry = Entry { version, live, closing, written: false };
            by_key.entry(stock_key).or_default().insert(business_date, entry);
        }
        Self { ledger, by_key, written: 0 }
    }

    /// Applies all of `change`, or nothing. What moved visibly comes back in order of date.
    pub(super) fn apply(&mut self, change: &Change) -> Result<Vec<Moved>, Overflow> {
        let Some(stock) = self.ledger.stock(&change.stock_key) else { return Ok(Vec::new()) };
        if change.steps.is_empty() {
            return Ok(Vec::new());
        }
        let days = self.by_key.entry(change.stock_key.clone()).or_default();
        let next = after(stock, days, change);
        let fits = |entry: &Entry| {
            entry.closing.is_none_or(|c| (-EXACT_INTEGER..=EXACT_INTEGER).contains(&c.balance))
        };
        if !next.iter().all(|(_, entry)| fits(entry)) {
            return Err(Overflow);
        }
        let mut moved = Vec::new();
        for (business_date, mut entry) in next {
            let old = days.get(&business_date).copied().unwrap_or_default();
            if entry.closing != old.closing {
                entry.version += 1;
                moved.push(Moved { business_date, version: entry.version, closing: entry.closing });
            }
            self.written += usize::from(!old.written);
            days.insert(business_date, Entry { written: true, ..entry });
        }
        Ok(moved)
    }

    pub(super) fn written(&self) -> usize {
        self.written
    }

    /// The rows that differ from what was loaded, by stock key and date.
    pub(super) fn into_written(self) -> Vec<PositionRow> {
        let mut rows = Vec::with_capacity(self.written);
        for (stock_key, days) in self.by_key {
            for (business_date, Entry { version, live, closing, written }) in days {
                if written {
                    rows.push(PositionRow {
                        stock_key: stock_key.clone(),
                        business_date,
                        version,
                        live,
                        closing,
                    });
                }
            }
        }
        rows
    }
}

/// The entries that `change` touches, as they are after it, in order of date.
fn after(stock: &Stock, days: &Days, change: &Change) -> Vec<(BusinessDate, Entry)> {
    let mut next = Vec::new();
    for step in &change.steps {
        let old = days.get(&step.date).copied().unwrap_or_default();
        let live = old.live + step.live;
        assert!(live >= 0, "no position has fewer live transactions than none");
        // Nothing is dated between a day and the last position below it, so both close alike.
        let closed =
            old.closing.or_else(|| days.range(..step.date).rev().find_map(|(_, entry)| entry.closing));
        let balance = closed.map_or(stock.opening_balance, |c| c.balance) + step.gain;
        let closing = (live > 0).then(|| stock.closing(balance));
        next.push((step.date, Entry { live, closing, ..old }));
        if step.gain == 0 {
            continue;
        }
        let end = step.before.map_or(Bound::Unbounded, Bound::Excluded);
        for (&date, &old) in days.range((Bound::Excluded(step.date), end)) {
            if let Some(closing) = old.closing {
                next.push((date, Entry { closing: Some(stock.closing(closing.balance + step.gain)), ..old }));
            }
        }
    }
    next
}
