//! Knows one partition of the ledger by folding every record again: after each, all positions of its stock are computed
//! anew from all transactions.

use std::collections::BTreeMap;

use amends_core::ids::Offset;
use amends_core::source::business_date::BusinessDate;
use amends_core::source::manifest::{Config, Stock, StockKey};

use super::said::{EXACT, Said, Wish};

/// A position's name.
pub(super) type Place = (StockKey, BusinessDate);

/// What a transaction is.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Head {
    revision: i64,
    wish: Wish,
}

/// A position, shown or retracted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Position {
    pub(super) version: i64,
    /// How many live transactions have this day.
    pub(super) live: i64,
    /// `None` while it is retracted.
    pub(super) balance: Option<i64>,
}

/// One envelope.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Envelope {
    pub(super) cause: Offset,
    pub(super) place: Place,
    pub(super) position: Position,
    pub(super) code: &'static str,
}

/// What one partition has come to.
#[derive(Clone, Debug, Default)]
pub(super) struct Book {
    heads: BTreeMap<String, Head>,
    positions: BTreeMap<Place, Position>,
}

/// The word for a balance.
pub(super) fn state(stock: &Stock, balance: i64) -> &'static str {
    match balance {
        ..0 => "negative",
        _ if balance < stock.low_threshold => "low",
        _ => "ok",
    }
}

impl Book {
    pub(super) fn position(&self, place: &Place) -> Option<Position> {
        self.positions.get(place).copied()
    }

    /// Decides a record: its code, and what it sends out in the order of days. What a position was before it first moved
    /// is kept in `moved`.
    pub(super) fn decide(
        &mut self,
        config: &Config,
        offset: Offset,
        said: &Said,
        moved: &mut BTreeMap<Place, Position>,
    ) -> (&'static str, Vec<Envelope>) {
        let (Some((id, revision)), Some(wish), None) = (&said.names, &said.wish, said.refused) else {
            return (said.refused.unwrap_or("MALFORMED_JSON"), Vec::new());
        };
        let Some(stock) = config.ledger().stock(&wish.stock) else {
            return ("UNKNOWN_STOCK_KEY", Vec::new());
        };
        let code = match self.heads.get(id) {
            Some(head) if head.wish.stock != wish.stock => return ("KEY_CHANGE", Vec::new()),
            Some(head) if *revision < head.revision => return ("STALE", Vec::new()),
            Some(head) if *revision == head.revision => {
                return (if head.wish == *wish { "DUPLICATE" } else { "CONFLICT" }, Vec::new());
            }
            head => match (&wish.live, head.map(|head| head.wish.live.is_some())) {
                (None, _) => "CANCELLED",
                (Some(_), None) => "APPLIED",
                (Some(_), Some(true)) => "CORRECTED",
                (Some(_), Some(false)) => "REINSTATED",
            },
        };
        let head = Head { revision: *revision, wish: wish.clone() };
        let before = self.heads.insert(id.clone(), head);
        let after = self.balances(stock);
        if after.values().any(|(_, balance)| balance.abs() > i128::from(EXACT)) {
            match before {
                Some(head) => self.heads.insert(id.clone(), head),
                None => self.heads.remove(id),
            };
            return ("BALANCE_OVERFLOW", Vec::new());
        }
        (code, self.move_to(stock, &after, (offset, code), moved))
    }

    /// The days on which the stock has live transactions: how many, and the balance up to there.
    fn balances(&self, stock: &Stock) -> BTreeMap<BusinessDate, (i64, i128)> {
        let mut days: BTreeMap<BusinessDate, (i64, i128)> = BTreeMap::new();
        for head in self.heads.values().filter(|head| head.wish.stock == stock.key) {
            if let Some((day, quantity)) = head.wish.live {
                let (live, sum) = days.entry(day).or_insert((0, 0));
                (*live, *sum) = (*live + 1, *sum + i128::from(quantity));
            }
        }
        let mut balance = i128::from(stock.opening_balance);
        for (_, sum) in days.values_mut() {
            balance += *sum;
            *sum = balance;
        }
        days
    }

    fn move_to(
        &mut self,
        stock: &Stock,
        after: &BTreeMap<BusinessDate, (i64, i128)>,
        (cause, code): (Offset, &'static str),
        moved: &mut BTreeMap<Place, Position>,
    ) -> Vec<Envelope> {
        for day in after.keys() {
            self.positions.entry((stock.key.clone(), *day)).or_default();
        }
        let mut envelopes = Vec::new();
        let of_stock = self.positions.iter_mut().filter(|((key, _), _)| *key == stock.key);
        for (place, position) in of_stock {
            let now = after.get(&place.1);
            let balance = now.and_then(|(_, balance)| i64::try_from(*balance).ok());
            let live = now.map_or(0, |(live, _)| *live);
            if (position.live, position.balance) != (live, balance) {
                moved.entry(place.clone()).or_insert(*position);
            }
            position.live = live;
            // The state follows from the balance.
            if position.balance != balance {
                position.balance = balance;
                position.version += 1;
                envelopes.push(Envelope { cause, place: place.clone(), position: *position, code });
            }
        }
        envelopes
    }
}
