//! Knows what the value of a record says: rules 1 to 4.

use std::collections::BTreeMap;

use super::code::Code;
use crate::source::business_date::{BusinessDate, DAYS_AFTER_ORIGIN};
use crate::source::manifest::StockKey;
use crate::source::strict_json::{self, Json, Whole};

/// How many bytes a value may have.
pub const VALUE_BYTES: usize = 1_048_576;
/// How many bytes a transaction id may have, unescaped.
pub const TRANSACTION_ID_BYTES: usize = 128;
/// The highest revision, and the furthest that a balance may lie from zero: 2^53-1.
pub const EXACT_INTEGER: i64 = (1 << 53) - 1;
/// How far a quantity may lie from zero.
pub const QUANTITY: i64 = 1_000_000_000_000;

/// A value that passed rules 1 to 4.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Envelope {
    /// 1 to 128 bytes without U+0000.
    pub transaction_id: String,
    /// 1 to 2^53-1.
    pub revision: i64,
    /// Of any strings.
    pub stock_key: StockKey,
    /// What it says of the transaction.
    pub content: Content,
}

/// What a revision says of its transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Content {
    /// The transaction is live.
    Assert {
        /// The day that it belongs to.
        business_date: BusinessDate,
        /// In units of the item, within ±10^12.
        quantity: i64,
    },
    /// The transaction is cancelled.
    Cancel,
}

/// Reads a value by rules 1 to 4; `origin` bounds the business date from above.
///
/// # Errors
/// The code of the first rule that applies.
pub fn read_value(value: Option<&[u8]>, origin: BusinessDate) -> Result<Envelope, Code> {
    let members = read_object(value).ok_or(Code::MalformedJson)?;
    match members.get("schema_version").and_then(Json::whole) {
        Some(Whole::Fits(1)) => {}
        Some(Whole::Fits(_) | Whole::Beyond) => return Err(Code::UnsupportedSchema),
        None => return Err(Code::MalformedEnvelope),
    }
    read_shape(members).ok_or(Code::MalformedEnvelope)?.within_bounds(origin).ok_or(Code::InvalidField)
}

/// Rule 1.
fn read_object(value: Option<&[u8]>) -> Option<BTreeMap<String, Json<'_>>> {
    let value = value.filter(|bytes| bytes.len() <= VALUE_BYTES)?;
    match strict_json::read(value, strict_json::LEVELS) {
        Ok(Json::Object(members)) => Some(members),
        Ok(_) | Err(_) => None,
    }
}

/// A value whose members have the right names and types, but any size.
struct Shape {
    transaction_id: String,
    revision: Whole,
    stock_key: StockKey,
    assert: Option<(String, Whole)>,
}

/// Rule 3, but for `schema_version`.
fn read_shape(mut members: BTreeMap<String, Json<'_>>) -> Option<Shape> {
    members.remove("schema_version");
    let transaction_id = text(members.remove("transaction_id")?)?;
    let revision = members.remove("revision")?.whole()?;
    let stock_key =
        StockKey { item: text(members.remove("item")?)?, location: text(members.remove("location")?)? };
    let assert = match text(members.remove("action")?)?.as_str() {
        "assert" => Some((text(members.remove("business_date")?)?, members.remove("quantity")?.whole()?)),
        "cancel" => None,
        _ => return None,
    };
    members.is_empty().then_some(Shape { transaction_id, revision, stock_key, assert })
}

fn text(member: Json<'_>) -> Option<String> {
    if let Json::String(text) = member { Some(text) } else { None }
}

fn within(number: Whole, lowest: i64, highest: i64) -> Option<i64> {
    match number {
        Whole::Fits(number) if (lowest..=highest).contains(&number) => Some(number),
        Whole::Fits(_) | Whole::Beyond => None,
    }
}

impl Shape {
    /// Rule 4.
    fn within_bounds(self, origin: BusinessDate) -> Option<Envelope> {
        let id = &self.transaction_id;
        if id.is_empty() || id.len() > TRANSACTION_ID_BYTES || id.contains('\0') {
            return None;
        }
        let revision = within(self.revision, 1, EXACT_INTEGER)?;
        let content = match self.assert {
            None => Content::Cancel,
            Some((date, quantity)) => {
                let business_date: BusinessDate = date.parse().ok()?;
                if business_date.days_since(origin) > DAYS_AFTER_ORIGIN {
                    return None;
                }
                Content::Assert { business_date, quantity: within(quantity, -QUANTITY, QUANTITY)? }
            }
        };
        Some(Envelope { transaction_id: self.transaction_id, revision, stock_key: self.stock_key, content })
    }
}
