//! Knows what each identifier of the lifecycle is, how it prints and how it is parsed.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A partition of the source topic, by its Kafka number. A PostgreSQL time partition is a *slice*, never this.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Partition(pub u32);

/// One stretch of having a partition: the `number`-th that this process was given, counted from 1. Prints as `3#2`;
/// traces and logs put the topic in front: `orders/3#2`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TenureId {
    /// Which partition.
    pub partition: Partition,
    /// Which stretch of it, from 1, in this process.
    pub number: u32,
}

/// One broker-created topic, by the broker's 16-byte topic UUID. Prints as `kafka:` and 32 lowercase hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Incarnation([u8; 16]);

/// The UUID that PostgreSQL draws for one claim, so that a failover which forgets a claim never repeats a token.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ClaimId(pub u128);

/// What a claim installs in the partition's row and every fence compares: the pair, never the epoch alone.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Token {
    /// Raised by every claim; 0 before the first.
    pub epoch: i64,
    /// Drawn for this claim.
    pub claim_id: ClaimId,
}

/// The offset of one record.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Offset(pub i64);

/// The next input offset of a partition: everything below it is decided. Not an [`Offset`], so that an off-by-one
/// does not compile.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Frontier(pub i64);

/// Milliseconds since the process (or the simulated world) began; monotonic, not a wall clock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Moment(pub u64);

/// One rebalance callback: the `number`-th that this `member` was given, in the order in which its client gave them.
/// Kafka's own generation cannot be read from a client; a join starts a new member whose numbers begin at 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct RebalanceId {
    /// Counts this process's joins, from 1.
    pub member: u32,
    /// Counts the member's callbacks, from 1.
    pub number: u32,
}

impl Offset {
    /// The frontier once this record is decided.
    #[must_use]
    pub fn frontier_after(self) -> Frontier {
        Frontier(self.0.saturating_add(1))
    }
}

impl Frontier {
    /// Where a record would lie that continues the frontier without a gap.
    #[must_use]
    pub fn next_offset(self) -> Offset {
        Offset(self.0)
    }
}

impl Moment {
    /// The moment `ms` milliseconds later.
    #[must_use]
    pub fn after_ms(self, ms: u64) -> Self {
        Self(self.0.saturating_add(ms))
    }

    /// Milliseconds from `earlier` to here; 0 when it lies in the future.
    #[must_use]
    pub fn ms_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl Incarnation {
    /// The incarnation with these UUID bytes. A broker without topic ids answers the zero UUID, which names nothing:
    /// `None`.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 16]) -> Option<Self> {
        (bytes != [0; 16]).then_some(Self(bytes))
    }

    /// The UUID's bytes, most significant first.
    #[must_use]
    pub fn bytes(self) -> [u8; 16] {
        self.0
    }
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for TenureId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.partition, self.number)
    }
}

impl fmt::Display for Incarnation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("kafka:{:032x}", u128::from_be_bytes(self.0)))
    }
}

impl fmt::Display for ClaimId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.epoch.fmt(f)
    }
}

impl fmt::Display for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Frontier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}

impl fmt::Display for RebalanceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.member, self.number)
    }
}

/// What could not be parsed as an identifier, and what it should have looked like.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseIdError {
    text: String,
    wanted: &'static str,
}

impl fmt::Display for ParseIdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is not {}", self.text, self.wanted)
    }
}

impl std::error::Error for ParseIdError {}

fn refuse(text: &str, wanted: &'static str) -> ParseIdError {
    ParseIdError { text: text.to_owned(), wanted }
}

/// Exactly `N` lowercase hex digits, so that an identifier has one spelling only.
fn parse_hex(text: &str) -> Option<u128> {
    let canonical = text.len() == 32 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    canonical.then(|| u128::from_str_radix(text, 16).ok()).flatten()
}

impl FromStr for TenureId {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = text.split_once('#').and_then(|(p, n)| Some((p.parse().ok()?, n.parse().ok()?)));
        let (partition, number) = parts.ok_or_else(|| refuse(text, "a tenure such as 3#2"))?;
        Ok(Self { partition: Partition(partition), number })
    }
}

impl FromStr for Incarnation {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.strip_prefix("kafka:")
            .and_then(parse_hex)
            .and_then(|id| Self::from_bytes(id.to_be_bytes()))
            .ok_or_else(|| {
                refuse(text, "kafka: and the 32 lowercase hex digits of a topic UUID that is not zero")
            })
    }
}

impl FromStr for ClaimId {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse_hex(text).map(Self).ok_or_else(|| refuse(text, "a claim id of 32 lowercase hex digits"))
    }
}

/// Identifiers that are text in JSON: as they print, and read back by the same parser.
macro_rules! serde_as_text {
    ($($id:ty),*) => {$(
        impl Serialize for $id {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        impl<'de> Deserialize<'de> for $id {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}

serde_as_text!(TenureId, Incarnation, ClaimId);
