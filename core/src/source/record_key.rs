//! Knows when the key of a record names a stock.

use super::manifest::StockKey;

/// The stock that a record key names; `None` for a key that is absent or invalid, which matches nothing, not even a
/// stock of odd strings.
#[must_use]
pub fn read_key(key: Option<&[u8]>) -> Option<StockKey> {
    let _ = key;
    unimplemented!()
}
