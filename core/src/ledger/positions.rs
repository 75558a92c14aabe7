//! Knows how the positions of a stock move when one transaction changes, and which rows that takes.

use std::fmt;
use std::str::FromStr;

use super::envelope::Content;
use crate::source::business_date::BusinessDate;
use crate::source::manifest::{Stock, StockKey};

/// A row of the positions: one per (stock key, business date), never deleted, because its version never restarts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PositionRow {
    /// Whose position. A stock key has one partition, so the partition is not part of the row's identity.
    pub stock_key: StockKey,
    /// Which day.
    pub business_date: BusinessDate,
    /// How many envelopes the position has had; 0 for a position that never showed, which is never written.
    pub version: i64,
    /// How many live transactions have this stock key and date.
    pub live: i64,
    /// What the position shows; `None` while it is retracted, that is exactly while `live` is 0.
    pub closing: Option<Closing>,
}

/// What a present position shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Closing {
    /// Opening balance and all live quantities up to the day, within ±(2^53-1).
    pub balance: i64,
    /// How the balance is to be judged.
    pub state: State,
}

/// How a balance is to be judged. Prints as `negative`, `low` or `ok`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum State {
    /// Below zero.
    Negative,
    /// Below the threshold, but not below zero.
    Low,
    /// Neither.
    Ok,
}

/// Rows that have to be loaded, for one record of a batch: of one stock key
///
/// * the row at `from`, present or retracted;
/// * the *present* rows behind `from` and below `before` (`None`: without end);
/// * the last *present* row below `from`.
///
/// What is behind these changes nothing and is not read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Want {
    /// Whose positions.
    pub stock_key: StockKey,
    /// The first day of the range.
    pub from: BusinessDate,
    /// The day behind the range, excluded; `None` when the range has no end.
    pub before: Option<BusinessDate>,
}

/// What one transaction's new content does to the positions of its stock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Change {
    pub(super) stock_key: StockKey,
    /// In order of date, each date once; empty when nothing moves.
    pub(super) steps: Vec<Step>,
}

/// What happens at one date of a change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Step {
    pub(super) date: BusinessDate,
    /// How many live transactions the date gains.
    pub(super) live: i64,
    /// How much all positions from this date to the next step gain, the earlier steps included.
    pub(super) gain: i64,
    /// Behind the last date whose position may change because of this step; `None` when there is no such date.
    pub(super) before: Option<BusinessDate>,
}

impl Change {
    /// The change from `old` (`None`: no transaction) to `new`.
    pub(super) fn new(stock_key: &StockKey, old: Option<Content>, new: Content) -> Self {
        let live = |content: Option<Content>, sign: i64| match content {
            Some(Content::Assert { business_date, quantity }) => Some((business_date, sign, sign * quantity)),
            Some(Content::Cancel) | None => None,
        };
        let mut moves: Vec<_> = live(old, -1).into_iter().chain(live(Some(new), 1)).collect();
        moves.sort_by_key(|&(date, ..)| date);
        if let [one, other] = moves[..]
            && one.0 == other.0
        {
            moves = vec![(one.0, one.1 + other.1, one.2 + other.2)];
        }
        moves.retain(|&(_, live, quantity)| (live, quantity) != (0, 0));
        let dates: Vec<_> = moves.iter().map(|&(date, ..)| date).collect();
        let mut gain = 0;
        let mut steps = Vec::with_capacity(moves.len());
        for (index, (date, live, quantity)) in moves.into_iter().enumerate() {
            gain += quantity;
            // A gain of zero is visible at the date itself only, where a position may come or go.
            let before = if gain == 0 { date.next() } else { dates.get(index + 1).copied() };
            steps.push(Step { date, live, gain, before });
        }
        Self { stock_key: stock_key.clone(), steps }
    }
}

impl Stock {
    pub(super) fn closing(&self, balance: i64) -> Closing {
        let state = match balance {
            ..0 => State::Negative,
            _ if balance < self.low_threshold => State::Low,
            _ => State::Ok,
        };
        Closing { balance, state }
    }
}

impl State {
    /// The word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Negative => "negative",
            Self::Low => "low",
            Self::Ok => "ok",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The text is no state of a position.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NoSuchState(pub String);

impl fmt::Display for NoSuchState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is not a state of a position", self.0)
    }
}

impl std::error::Error for NoSuchState {}

impl FromStr for State {
    type Err = NoSuchState;

    fn from_str(text: &str) -> Result<Self, NoSuchState> {
        match text {
            "negative" => Ok(Self::Negative),
            "low" => Ok(Self::Low),
            "ok" => Ok(Self::Ok),
            other => Err(NoSuchState(other.to_owned())),
        }
    }
}

impl serde::Serialize for State {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
