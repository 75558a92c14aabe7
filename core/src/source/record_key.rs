//! Knows when the key of a record names a stock.

use super::manifest::StockKey;
use super::strict_json::{self, Json};

/// The stock that a record key names: a JSON object with exactly the strings `item` and `location`. `None` for a key
/// that is absent or invalid, which matches nothing, not even a stock of odd strings.
#[must_use]
pub fn read_key(key: Option<&[u8]>) -> Option<StockKey> {
    let Ok(Json::Object(mut members)) = strict_json::read(key?, strict_json::LEVELS) else { return None };
    let (item, location) = (members.remove("item")?, members.remove("location")?);
    match (item, location) {
        (Json::String(item), Json::String(location)) if members.is_empty() => {
            Some(StockKey { item, location })
        }
        _ => None,
    }
}
