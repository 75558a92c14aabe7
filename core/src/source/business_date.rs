//! Knows which ten characters are a calendar day that a position can close on.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};
use time::{Date, Month};

/// How many days behind `ledger_origin` a business date may lie, so that one record changes a bounded number of
/// positions.
pub const DAYS_AFTER_ORIGIN: i32 = 36_524;

/// A day of the proleptic Gregorian calendar from 0001-01-01 to 9999-12-31. Prints as `2026-01-05`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BusinessDate(Date);

impl BusinessDate {
    /// `None` outside of the years 1 to 9999.
    #[must_use]
    pub fn from_date(date: Date) -> Option<Self> {
        (1..=9999).contains(&date.year()).then_some(Self(date))
    }

    /// The day, for a database that has a type for it.
    #[must_use]
    pub fn date(self) -> Date {
        self.0
    }

    /// Days from `origin` to here; negative when this lies before.
    #[must_use]
    pub fn days_since(self, origin: Self) -> i32 {
        self.0.to_julian_day() - origin.0.to_julian_day()
    }

    /// The day after; `None` behind the last day there is.
    #[must_use]
    pub fn next(self) -> Option<Self> {
        self.0.next_day().and_then(Self::from_date)
    }
}

impl fmt::Display for BusinessDate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.0.year(), u8::from(self.0.month()), self.0.day())
    }
}

/// The text is not exactly `YYYY-MM-DD`, or there is no such day.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoSuchDay;

impl fmt::Display for NoSuchDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a calendar day such as 2026-01-05")
    }
}

impl std::error::Error for NoSuchDay {}

impl FromStr for BusinessDate {
    type Err = NoSuchDay;

    fn from_str(text: &str) -> Result<Self, NoSuchDay> {
        parse(text.as_bytes()).ok_or(NoSuchDay)
    }
}

fn parse(text: &[u8]) -> Option<BusinessDate> {
    let &[y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = text else { return None };
    let number = |digits: &[u8]| {
        digits.iter().try_fold(0u16, |n, d| d.is_ascii_digit().then(|| n * 10 + u16::from(d - b'0')))
    };
    let month = Month::try_from(u8::try_from(number(&[m1, m2])?).ok()?).ok()?;
    let day = u8::try_from(number(&[d1, d2])?).ok()?;
    let date = Date::from_calendar_date(i32::from(number(&[y1, y2, y3, y4])?), month, day).ok()?;
    BusinessDate::from_date(date)
}

impl Serialize for BusinessDate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
