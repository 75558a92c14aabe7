//! Knows how the rows of the ledger read as JSON lines: which members, in which order, without white space.

use serde::Serialize;

use super::code::Code;
use super::positions::{Closing, State};
use crate::ids::{Offset, Partition};
use crate::source::business_date::BusinessDate;
use crate::source::manifest::StockKey;

/// One change of one position, as its readers get it. The order of the outbox of a partition is (offset,
/// business date).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OutboxEnvelope {
    /// Whose position.
    pub stock_key: StockKey,
    /// Which day.
    pub business_date: BusinessDate,
    /// 1, 2, 3 … for each position.
    pub version: i64,
    /// What it shows now: `Some` is an `upsert`, `None` a `retract`.
    pub closing: Option<Closing>,
    /// The record that changed it.
    pub cause: Cause,
}

/// The record behind an envelope, on the partition of its stock key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cause {
    /// Its offset.
    pub offset: Offset,
    /// Its transaction.
    pub transaction_id: String,
    /// Its revision.
    pub revision: i64,
    /// What was decided about it.
    pub code: Code,
}

/// A line of `amends export evidence`; the members are in the order of the contract.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct EvidenceLine<'a> {
    /// The record's partition.
    pub partition: u32,
    /// The record's offset.
    pub offset: i64,
    /// The verdict.
    pub code: Code,
    /// The transaction, from rule 5 on.
    pub transaction_id: Option<&'a str>,
    /// Its revision, from rule 5 on.
    pub revision: Option<i64>,
    /// The key in standard base64 with padding; `None` when the record has none.
    pub raw_key: Option<&'a str>,
    /// The value in standard base64 with padding; `None` when the record has none.
    pub raw_value: Option<&'a str>,
    /// The epoch of the token that wrote it.
    pub epoch: i64,
}

/// A line of `amends export quarantine`: evidence of a quarantined code, without its epoch.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct QuarantineLine<'a> {
    /// The record's partition.
    pub partition: u32,
    /// The record's offset.
    pub offset: i64,
    /// The verdict.
    pub code: Code,
    /// The transaction, from rule 5 on.
    pub transaction_id: Option<&'a str>,
    /// Its revision, from rule 5 on.
    pub revision: Option<i64>,
    /// The key in standard base64 with padding; `None` when the record has none.
    pub raw_key: Option<&'a str>,
    /// The value in standard base64 with padding; `None` when the record has none.
    pub raw_value: Option<&'a str>,
    /// [`Code::reason`].
    pub reason: Option<&'a str>,
}

/// A line of `amends export positions`: a present position.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct PositionLine<'a> {
    /// The stock key's item.
    pub item: &'a str,
    /// The stock key's location.
    pub location: &'a str,
    /// Which day.
    pub business_date: BusinessDate,
    /// How many envelopes the position has had.
    pub version: i64,
    /// The closing balance.
    pub balance: i64,
    /// How it is to be judged.
    pub state: State,
}

/// A line of `amends export frontiers`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct FrontierLine {
    /// The partition.
    pub partition: u32,
    /// The next input offset; 0 where nothing is decided.
    pub next_offset: i64,
    /// The epoch of the last claim; 0 where nobody claimed.
    pub epoch: i64,
}

/// The JSON text of a line, without a line feed.
#[must_use]
pub fn line(row: &impl Serialize) -> String {
    serde_json::to_string(row).expect("texts and integers have a JSON text")
}

/// The members of an envelope in the order of the contract.
#[derive(Serialize)]
struct EnvelopeJson<'a> {
    namespace: &'a str,
    item: &'a str,
    location: &'a str,
    business_date: BusinessDate,
    version: i64,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    balance: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<State>,
    cause: CauseJson<'a>,
}

#[derive(Serialize)]
struct CauseJson<'a> {
    partition: u32,
    offset: i64,
    transaction_id: &'a str,
    revision: i64,
    code: Code,
}

impl OutboxEnvelope {
    /// The JSON text of the envelope, which is its line in `amends export outbox` and what a relay publishes.
    #[must_use]
    pub fn json(&self, namespace: &str, partition: Partition) -> String {
        line(&EnvelopeJson {
            namespace,
            item: &self.stock_key.item,
            location: &self.stock_key.location,
            business_date: self.business_date,
            version: self.version,
            kind: if self.closing.is_some() { "upsert" } else { "retract" },
            balance: self.closing.map(|closing| closing.balance),
            state: self.closing.map(|closing| closing.state),
            cause: CauseJson {
                partition: partition.0,
                offset: self.cause.offset.0,
                transaction_id: &self.cause.transaction_id,
                revision: self.cause.revision,
                code: self.cause.code,
            },
        })
    }
}
