//! Knows the values of columns and parameters: how they come in, how they go out, and how they look as text.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use postgres_types::{FromSql, IsNull, ToSql, Type};
use time::Date;
use uuid::Uuid;

use super::refusal::Refusal;

/// A text, shared between keys, rows and answers.
pub(super) type Text = Arc<str>;

/// Days since 2000-01-01, as the protocol has a date; the largest is `infinity`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Day(pub(super) i32);

impl Day {
    pub(super) const INFINITY: Self = Self(i32::MAX);
    const JULIAN_2000_01_01: i32 = 2_451_545;
}

impl<'a> FromSql<'a> for Day {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        i32::from_sql(&Type::INT4, raw).map(Self)
    }

    fn accepts(ty: &Type) -> bool {
        *ty == Type::DATE
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let julian = self.0.saturating_add(Self::JULIAN_2000_01_01);
        let Ok(date) = Date::from_julian_day(julian) else { return f.write_str("infinity") };
        let (month, day) = (u8::from(date.month()), date.day());
        // There is no year 0: it is 1 BC.
        match date.year() {
            year @ 1.. => write!(f, "{year:04}-{month:02}-{day:02}"),
            year => write!(f, "{:04}-{month:02}-{day:02} BC", 1 - year),
        }
    }
}

/// Microseconds since the world began. Prints as the clock of a server whose world began with the year 2026.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Instant(pub(super) i64);

impl Instant {
    const BEGIN: Day = Day(9_497);

    pub(super) fn from_ms(ms: u64) -> Self {
        Self(i64::try_from(ms).unwrap_or(i64::MAX).saturating_mul(1_000))
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, us) = (self.0 / 1_000_000, self.0 % 1_000_000);
        let day = Day(Self::BEGIN.0 + i32::try_from(seconds / 86_400).unwrap_or(0));
        let (hour, minute, second) = (seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
        write!(f, "{day} {hour:02}:{minute:02}:{second:02}")?;
        if us > 0 {
            let fraction = format!(".{us:06}");
            f.write_str(fraction.trim_end_matches('0'))?;
        }
        f.write_str("+00")
    }
}

/// One column of one row of an answer.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Int4(i32),
    Int8(i64),
    Text(Text),
    Bytes(Bytes),
    Date(Day),
    Uuid(Uuid),
}

impl Value {
    /// Writes it in binary form. Returns whether it is null.
    pub(super) fn encode(&self, out: &mut BytesMut) -> bool {
        let written = match self {
            Self::Null => return true,
            Self::Bool(value) => value.to_sql(&Type::BOOL, out),
            Self::Int4(value) | Self::Date(Day(value)) => value.to_sql(&Type::INT4, out),
            Self::Int8(value) => value.to_sql(&Type::INT8, out),
            Self::Text(value) => (&**value).to_sql(&Type::TEXT, out),
            Self::Bytes(value) => (&**value).to_sql(&Type::BYTEA, out),
            Self::Uuid(value) => value.to_sql(&Type::UUID, out),
        };
        matches!(written, Ok(IsNull::Yes))
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Int8(value)
    }
}

impl From<&Text> for Value {
    fn from(value: &Text) -> Self {
        Self::Text(Arc::clone(value))
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(value.into())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Text(value.into())
    }
}

impl From<Day> for Value {
    fn from(value: Day) -> Self {
        Self::Date(value)
    }
}

impl From<Uuid> for Value {
    fn from(value: Uuid) -> Self {
        Self::Uuid(value)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// A column as `psql` would print it; `None` is null.
pub(super) type Shown = Option<String>;

pub(super) fn shown(value: impl fmt::Display) -> Shown {
    Some(value.to_string())
}

pub(super) fn shown_bytes(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from(if half < 10 { b'0' + half } else { b'a' + half - 10 });
    let mut text = String::with_capacity(2 + 2 * bytes.len());
    text.push_str("\\x");
    text.extend(bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]));
    text
}

/// The parameters of a statement in binary form, as they were bound.
pub(super) struct Params<'a>(pub(super) &'a [Option<Bytes>]);

impl Params<'_> {
    /// Refuses what the server refuses in the text of any parameter: bytes that are no UTF-8, and NUL.
    pub(super) fn check_texts(&self, types: &[Type]) -> Result<(), Refusal> {
        let is_text = |raw: &[u8]| std::str::from_utf8(raw).is_ok() && !raw.contains(&0);
        let all_are_text = self.0.iter().zip(types).all(|(raw, ty)| match raw {
            Some(raw) if *ty == Type::TEXT => is_text(raw),
            Some(raw) if *ty == Type::TEXT_ARRAY => {
                let elements = Vec::<Option<&[u8]>>::from_sql(&Type::BYTEA_ARRAY, raw);
                elements.unwrap_or_default().into_iter().flatten().all(is_text)
            }
            _ => true,
        });
        let refusal = Refusal::error("22021", "invalid byte sequence for encoding \"UTF8\"");
        if all_are_text { Ok(()) } else { Err(refusal) }
    }

    /// Parameter `$number`.
    fn one<'a, T: FromSql<'a>>(&'a self, number: usize, ty: &Type) -> Option<T> {
        let raw = self.0.get(number - 1)?.as_ref()?;
        let value = T::from_sql(ty, raw);
        // A client that sends another form than it declared does not exist here.
        Some(value.unwrap_or_else(|why| panic!("${number} is no {ty}: {why}")))
    }

    pub(super) fn text(&self, number: usize) -> Option<Text> {
        self.one::<&str>(number, &Type::TEXT).map(Text::from)
    }

    pub(super) fn int4(&self, number: usize) -> Option<i32> {
        self.one(number, &Type::INT4)
    }

    pub(super) fn int8(&self, number: usize) -> Option<i64> {
        self.one(number, &Type::INT8)
    }

    pub(super) fn uuid(&self, number: usize) -> Option<Uuid> {
        self.one(number, &Type::UUID)
    }

    pub(super) fn bytes(&self, number: usize) -> Option<Bytes> {
        self.one::<&[u8]>(number, &Type::BYTEA).map(Bytes::copy_from_slice)
    }

    /// An array, as `unnest` makes a column of it: a null array is one without rows.
    fn array<'a, T: FromSql<'a>>(&'a self, number: usize, ty: &Type) -> Column<T> {
        Column(self.one::<Vec<Option<T>>>(number, ty).unwrap_or_default())
    }

    pub(super) fn texts(&self, number: usize) -> Column<Text> {
        let Column(texts) = self.array::<&str>(number, &Type::TEXT_ARRAY);
        Column(texts.into_iter().map(|text| text.map(Text::from)).collect())
    }

    pub(super) fn int8s(&self, number: usize) -> Column<i64> {
        self.array(number, &Type::INT8_ARRAY)
    }

    pub(super) fn days(&self, number: usize) -> Column<Day> {
        self.array(number, &Type::DATE_ARRAY)
    }

    pub(super) fn byte_arrays(&self, number: usize) -> Column<Bytes> {
        let Column(arrays) = self.array::<&[u8]>(number, &Type::BYTEA_ARRAY);
        Column(arrays.into_iter().map(|bytes| bytes.map(Bytes::copy_from_slice)).collect())
    }
}

/// One array of an `unnest`. The shorter ones are filled up with nulls.
pub(super) struct Column<T>(Vec<Option<T>>);

impl<T> Column<T> {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn take(&mut self, row: usize) -> Option<T> {
        self.0.get_mut(row)?.take()
    }
}
