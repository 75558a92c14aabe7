//! Knows how the positions of a stock move when one transaction changes, and which rows that takes.

use std::fmt;
use std::str::FromStr;

use crate::source::business_date::BusinessDate;
use crate::source::manifest::StockKey;

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
