//! Knows what a manifest declares: a source topic by its incarnation, and the stock keys of a ledger over it.

use std::collections::BTreeMap;
use std::fmt;

use serde::ser::{Serialize, SerializeStruct, Serializer};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::business_date::BusinessDate;
use super::strict_json::{self, Fault, Json, Whole, exactly, join, quoted};
use crate::ids::{Incarnation, Partition};

/// What `source create` declares where no `--config` is given: the fixtures' own ledger.
pub const FIXTURE_LEDGER: &str = include_str!("../../../fixtures/config.json");

/// The furthest that an opening balance or a threshold may lie from zero.
const BALANCE: i64 = 9_000_000_000_000_000;

/// The name of one stock: compared bytewise, `item` first.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StockKey {
    /// What is stocked.
    pub item: String,
    /// Where it is stocked.
    pub location: String,
}

/// One declared stock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stock {
    /// Its name.
    pub key: StockKey,
    /// The balance before the first live transaction, in units of the item, within ±9·10^15.
    pub opening_balance: i64,
    /// A balance below it, and not below zero, is `low`; within ±9·10^15.
    pub low_threshold: i64,
    /// The one partition whose records may speak of this stock.
    pub partition: Partition,
}

/// The part of a config that a person declares: what `source create --config FILE` reads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ledger {
    origin: BusinessDate,
    stocks: Vec<Stock>,
    by_key: BTreeMap<StockKey, usize>,
}

/// What a namespace is, immutable once it exists in PostgreSQL.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    namespace: String,
    source_incarnation: Incarnation,
    partitions: u32,
    ledger: Ledger,
}

/// The manifest file.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Manifest {
    source_topic: String,
    config: Config,
}

/// Why a manifest, a config or a `--config` file is refused, naming the member by its path. Prints as `manifest
/// refused: config.stock_keys[1].partition is 4, the topic has 2`; the caller adds what happens now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refused {
    document: &'static str,
    why: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} refused: {}", self.document, self.why)
    }
}

impl std::error::Error for Refused {}

fn refused(document: &'static str) -> impl Fn(Fault) -> Refused {
    move |fault| Refused { document, why: fault.to_string() }
}

impl Ledger {
    /// Reads a `--config` file: an object with `ledger_origin` and `stock_keys` only, for a topic of `partitions`.
    ///
    /// # Errors
    /// When a rule of the manifest is broken, naming the member.
    pub fn parse(file: &[u8], partitions: u32) -> Result<Self, Refused> {
        let read = || {
            let json = strict_json::read(file, strict_json::LEVELS)?;
            let [origin, stocks] = exactly("", json, ["ledger_origin", "stock_keys"])?;
            Self::read("", origin, stocks, partitions)
        };
        read().map_err(refused("config"))
    }

    fn read(path: &str, origin: Json<'_>, stocks: Json<'_>, partitions: u32) -> Result<Self, Fault> {
        let at = join(path, "ledger_origin");
        let origin = text(&at, origin)?;
        let origin =
            origin.parse().map_err(|why| Fault::at(&at, format!("is {}, {why}", quoted(&origin))))?;
        let path = join(path, "stock_keys");
        let Json::Array(stocks) = stocks else { return Err(stocks.is_not(&path, "an array")) };
        let mut ledger = Self { origin, stocks: Vec::new(), by_key: BTreeMap::new() };
        for (index, stock) in stocks.into_iter().enumerate() {
            let at = format!("{path}[{index}]");
            let stock = Stock::read(&at, stock, partitions)?;
            if let Some(first) = ledger.by_key.insert(stock.key.clone(), index) {
                return Err(Fault::at(&at, format!("names the same stock as {path}[{first}]")));
            }
            ledger.stocks.push(stock);
        }
        Ok(ledger)
    }

    /// The first business date that a record may carry.
    #[must_use]
    pub fn origin(&self) -> BusinessDate {
        self.origin
    }

    /// The stocks, in the order of the file.
    #[must_use]
    pub fn stocks(&self) -> &[Stock] {
        &self.stocks
    }

    /// The stock of that name, when it is declared.
    #[must_use]
    pub fn stock(&self, key: &StockKey) -> Option<&Stock> {
        self.by_key.get(key).and_then(|&index| self.stocks.get(index))
    }
}

impl Stock {
    fn read(path: &str, json: Json<'_>, partitions: u32) -> Result<Self, Fault> {
        let names = ["item", "location", "opening_balance", "low_threshold", "partition"];
        let [item, location, opening_balance, low_threshold, partition] = exactly(path, json, names)?;
        Ok(Self {
            key: StockKey {
                item: name(&join(path, "item"), item)?,
                location: name(&join(path, "location"), location)?,
            },
            opening_balance: whole(&join(path, "opening_balance"), &opening_balance, -BALANCE, BALANCE)?,
            low_threshold: whole(&join(path, "low_threshold"), &low_threshold, -BALANCE, BALANCE)?,
            partition: partition_below(&join(path, "partition"), &partition, partitions)?,
        })
    }
}

impl Config {
    /// Declares a namespace.
    ///
    /// # Errors
    /// When `namespace` is not a name, `partitions` is out of bounds or a stock lies on a partition that is not there.
    pub fn new(
        namespace: &str,
        source_incarnation: Incarnation,
        partitions: u32,
        ledger: Ledger,
    ) -> Result<Self, Refused> {
        let config = Self { namespace: namespace.to_owned(), source_incarnation, partitions, ledger };
        // What is put together is read like what is written: one set of rules.
        Self::parse(config.canonical().as_bytes())
    }

    /// Reads the config as PostgreSQL keeps it.
    ///
    /// # Errors
    /// When a rule of the manifest is broken, naming the member.
    pub fn parse(json: &[u8]) -> Result<Self, Refused> {
        strict_json::read(json, strict_json::LEVELS)
            .and_then(|json| Self::read("", json))
            .map_err(refused("config"))
    }

    fn read(path: &str, json: Json<'_>) -> Result<Self, Fault> {
        let names = [
            "namespace",
            "schema_version",
            "source_incarnation",
            "partitions",
            "ledger_origin",
            "stock_keys",
        ];
        let [namespace, version, incarnation, partitions, origin, stocks] = exactly(path, json, names)?;
        let at = join(path, "namespace");
        let namespace = text(&at, namespace)?;
        if !is_namespace(&namespace) {
            let wanted = "not 1 to 63 of a-z, 0-9 and -, beginning with a letter or digit";
            return Err(Fault::at(&at, format!("is {}, {wanted}", quoted(&namespace))));
        }
        let at = join(path, "schema_version");
        match version.whole() {
            Some(Whole::Fits(1)) => {}
            Some(_) => return Err(Fault::at(&at, format!("is {}, this program knows 1", version.kind()))),
            None => return Err(version.is_not(&at, "a whole number")),
        }
        let at = join(path, "source_incarnation");
        let source_incarnation =
            text(&at, incarnation)?.parse().map_err(|why| Fault::at(&at, format!("is wrong: {why}")))?;
        let partitions = whole(&join(path, "partitions"), &partitions, 1, i64::from(i32::MAX))?;
        let partitions = u32::try_from(partitions).unwrap_or(u32::MAX);
        let ledger = Ledger::read(path, origin, stocks, partitions)?;
        Ok(Self { namespace, source_incarnation, partitions, ledger })
    }

    /// The name of the sink's state in PostgreSQL: 1 to 63 of `a-z`, `0-9` and `-`.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The one topic that this is about, also when another of its name comes later.
    #[must_use]
    pub fn source_incarnation(&self) -> Incarnation {
        self.source_incarnation
    }

    /// How many partitions the topic has, 1 to 2^31-1.
    #[must_use]
    pub fn partitions(&self) -> u32 {
        self.partitions
    }

    /// The declared ledger.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The canonical form (RFC 8785), which is what PostgreSQL keeps and what [`Config::digest`] digests.
    #[must_use]
    pub fn canonical(&self) -> String {
        serde_json_canonicalizer::to_string(self).expect("texts and exact integers have a canonical form")
    }

    /// SHA-256 of the canonical form.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        Sha256::digest(self.canonical()).into()
    }

    /// The first member in which this config differs from the one that a namespace was created with, such as
    /// `config.stock_keys[1].low_threshold is 30, the namespace was created with 20`; `None` when they are equal.
    #[must_use]
    pub fn difference(&self, created_with: &Self) -> Option<String> {
        let tree = |config| serde_json::to_value(config).unwrap_or_default();
        difference("config", &tree(self), &tree(created_with))
    }
}

fn difference(path: &str, ours: &Value, theirs: &Value) -> Option<String> {
    match (ours, theirs) {
        (Value::Object(ours), Value::Object(theirs)) => {
            ours.iter().find_map(|(name, member)| difference(&join(path, name), member, theirs.get(name)?))
        }
        (Value::Array(ours), Value::Array(theirs)) => {
            let mut pairs = ours.iter().zip(theirs).enumerate();
            pairs
                .find_map(|(index, (one, other))| difference(&format!("{path}[{index}]"), one, other))
                .or_else(|| {
                    let (one, other) = (ours.len(), theirs.len());
                    let text = format!("{path} has {one} members, the namespace was created with {other}");
                    (one != other).then_some(text)
                })
        }
        _ => (ours != theirs).then(|| format!("{path} is {ours}, the namespace was created with {theirs}")),
    }
}

impl Manifest {
    /// Puts a manifest together.
    ///
    /// # Errors
    /// When `source_topic` is empty.
    pub fn new(source_topic: &str, config: Config) -> Result<Self, Refused> {
        topic("source_topic", Json::String(source_topic.to_owned()))
            .map(|source_topic| Self { source_topic, config })
            .map_err(refused("manifest"))
    }

    /// Reads a manifest file.
    ///
    /// # Errors
    /// When it is not exactly a manifest, naming the member.
    pub fn parse(file: &[u8]) -> Result<Self, Refused> {
        let read = || {
            let json = strict_json::read(file, strict_json::LEVELS)?;
            let [source_topic, config] = exactly("", json, ["source_topic", "config"])?;
            let source_topic = topic("source_topic", source_topic)?;
            Ok(Self { source_topic, config: Config::read("config", config)? })
        };
        read().map_err(refused("manifest"))
    }

    /// The topic's name on the broker.
    #[must_use]
    pub fn source_topic(&self) -> &str {
        &self.source_topic
    }

    /// The immutable part.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The manifest file: indented JSON and a final line feed.
    #[must_use]
    pub fn print(&self) -> String {
        serde_json::to_string_pretty(self).expect("texts and integers have a JSON text") + "\n"
    }
}

fn is_namespace(name: &str) -> bool {
    let allowed = |b: u8| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-');
    (1..=63).contains(&name.len()) && name.bytes().all(allowed) && !name.starts_with('-')
}

fn text(path: &str, json: Json<'_>) -> Result<String, Fault> {
    if let Json::String(text) = json { Ok(text) } else { Err(json.is_not(path, "a string")) }
}

fn topic(path: &str, json: Json<'_>) -> Result<String, Fault> {
    let topic = text(path, json)?;
    // Kafka knows no other names; a control character would also reach a terminal.
    let is_legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    if topic.is_empty() {
        Err(Fault::at(path, "is empty"))
    } else if topic.len() > 249 || !topic.bytes().all(is_legal) {
        Err(Fault::at(path, "is no name of a topic: 1 to 249 of letters, digits, '.', '_' and '-'"))
    } else {
        Ok(topic)
    }
}

/// An `item` or a `location`.
fn name(path: &str, json: Json<'_>) -> Result<String, Fault> {
    let name = text(path, json)?;
    if !(1..=128).contains(&name.len()) {
        return Err(Fault::at(path, format!("has {} bytes, allowed are 1 to 128", name.len())));
    }
    if name.contains('\0') {
        return Err(Fault::at(path, "contains U+0000"));
    }
    Ok(name)
}

fn whole(path: &str, json: &Json<'_>, lowest: i64, highest: i64) -> Result<i64, Fault> {
    match json.whole() {
        Some(Whole::Fits(number)) if (lowest..=highest).contains(&number) => Ok(number),
        Some(_) => Err(Fault::at(path, format!("is {}, allowed are {lowest} to {highest}", json.kind()))),
        None => Err(json.is_not(path, "a whole number")),
    }
}

/// The number of a partition of a topic that has `partitions`.
pub(super) fn partition_below(path: &str, json: &Json<'_>, partitions: u32) -> Result<Partition, Fault> {
    let number = match json.whole() {
        Some(Whole::Fits(number)) => u32::try_from(number).ok(),
        Some(Whole::Beyond) => None,
        None => return Err(json.is_not(path, "a whole number")),
    };
    let there = number.filter(|&number| number < partitions).map(Partition);
    there.ok_or_else(|| Fault::at(path, format!("is {}, the topic has {partitions}", json.kind())))
}

/// The members of a stock in the order in which a manifest prints them.
impl Serialize for Stock {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut members = serializer.serialize_struct("Stock", 5)?;
        members.serialize_field("item", &self.key.item)?;
        members.serialize_field("location", &self.key.location)?;
        members.serialize_field("opening_balance", &self.opening_balance)?;
        members.serialize_field("low_threshold", &self.low_threshold)?;
        members.serialize_field("partition", &self.partition)?;
        members.end()
    }
}

/// The members of a config in the order in which a manifest prints them.
impl Serialize for Config {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut members = serializer.serialize_struct("Config", 6)?;
        members.serialize_field("namespace", &self.namespace)?;
        members.serialize_field("schema_version", &1)?;
        members.serialize_field("source_incarnation", &self.source_incarnation)?;
        members.serialize_field("partitions", &self.partitions)?;
        members.serialize_field("ledger_origin", &self.ledger.origin)?;
        members.serialize_field("stock_keys", &self.ledger.stocks)?;
        members.end()
    }
}
