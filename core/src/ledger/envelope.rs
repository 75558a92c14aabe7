//! Knows what the value of a record says: rules 1 to 4.

use super::code::Code;
use crate::source::business_date::BusinessDate;
use crate::source::manifest::StockKey;

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
    let _ = (value, origin);
    unimplemented!()
}
