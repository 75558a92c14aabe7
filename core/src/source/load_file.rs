//! Knows the lines of a load file: what is published, and to which partition.

use std::fmt;

use super::manifest::{Config, StockKey, partition_below};
use super::record_key::read_key;
use super::strict_json::{self, Fault, Json, exactly};
use crate::ids::Partition;

/// What one line publishes.
#[derive(Clone, PartialEq, Eq)]
pub struct Publication {
    /// The key's bytes; `None` publishes a record without a key.
    pub key: Option<Vec<u8>>,
    /// The value's bytes; `None` publishes a record without a value.
    pub value: Option<Vec<u8>>,
    /// Where to.
    pub partition: Partition,
}

/// Sizes only: a payload is never logged.
impl fmt::Debug for Publication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let len = |part: &Option<Vec<u8>>| part.as_ref().map(Vec::len);
        let (key, value) = (len(&self.key), len(&self.value));
        write!(f, "publication to {} (key {key:?} bytes, value {value:?} bytes)", self.partition)
    }
}

/// Why a line is refused. Prints as `line 7: partition is 4, the topic has 2`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LineRefused {
    line: usize,
    why: Fault,
}

impl fmt::Display for LineRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.why)
    }
}

impl std::error::Error for LineRefused {}

/// Reads the line with this number (from 1), without its line feed. `base64` decodes the standard alphabet with
/// padding and refuses everything else.
///
/// `{"key": {…} or null, "value": {…}}` publishes the two members byte for byte as they stand in the line, to the
/// partition of the stock that the key names; when the key names none, of the stock that the value names. A line
/// whose parts or partition must be wrong on purpose is written as `{"raw_key_base64": … or null, "raw_value_base64":
/// … or null, "partition": …}`.
///
/// # Errors
/// When the line has neither shape, or no partition follows from it.
pub fn read_line(
    config: &Config,
    number: usize,
    line: &[u8],
    base64: impl Fn(&str) -> Option<Vec<u8>>,
) -> Result<Publication, LineRefused> {
    read(config, line, base64).map_err(|why| LineRefused { line: number, why })
}

fn read(
    config: &Config,
    line: &[u8],
    base64: impl Fn(&str) -> Option<Vec<u8>>,
) -> Result<Publication, Fault> {
    // One level more than a value may have: the line itself.
    let json = strict_json::read(line, strict_json::LEVELS + 1)?;
    let raw = |name: &String| matches!(name.as_str(), "raw_key_base64" | "raw_value_base64" | "partition");
    if matches!(&json, Json::Object(members) if members.keys().any(raw)) {
        let [key, value, partition] = exactly("", json, ["raw_key_base64", "raw_value_base64", "partition"])?;
        return Ok(Publication {
            key: decode("raw_key_base64", &key, &base64)?,
            value: decode("raw_value_base64", &value, &base64)?,
            partition: partition_below("partition", &partition, config.partitions())?,
        });
    }
    let [key, value] = exactly("", json, ["key", "value"])?;
    if !matches!(key, Json::Object(_) | Json::Null) {
        return Err(key.is_not("key", "an object or null"));
    }
    if !matches!(value, Json::Object(_)) {
        return Err(value.is_not("value", "an object"));
    }
    let mut texts = strict_json::raw_members(std::str::from_utf8(line).unwrap_or_default());
    let mut bytes = |name| texts.remove(name).map(|text| text.as_bytes().to_vec());
    let (key_bytes, value_bytes) = (bytes("key").filter(|_| key != Json::Null), bytes("value"));
    let named = |key: StockKey| config.ledger().stock(&key).map(|stock| stock.partition);
    let partition =
        read_key(key_bytes.as_deref()).and_then(named).or_else(|| named_by(&value).and_then(named));
    let Some(partition) = partition else {
        let cure = "such a line is given as raw_key_base64, raw_value_base64 and partition";
        return Err(Fault::at(
            "",
            format!("names no stock of the manifest, neither in key nor in value; {cure}"),
        ));
    };
    Ok(Publication { key: key_bytes, value: value_bytes, partition })
}

fn named_by(value: &Json<'_>) -> Option<StockKey> {
    let Json::Object(members) = value else { return None };
    let text =
        |name| if let Some(Json::String(text)) = members.get(name) { Some(text.clone()) } else { None };
    Some(StockKey { item: text("item")?, location: text("location")? })
}

fn decode(
    path: &str,
    json: &Json<'_>,
    base64: impl Fn(&str) -> Option<Vec<u8>>,
) -> Result<Option<Vec<u8>>, Fault> {
    match json {
        Json::Null => Ok(None),
        Json::String(text) => {
            base64(text).map(Some).ok_or_else(|| Fault::at(path, "is not standard base64 with padding"))
        }
        Json::Bool(_) | Json::Number(_) | Json::Array(_) | Json::Object(_) => {
            Err(json.is_not(path, "a string or null"))
        }
    }
}
