//! Knows what a manifest declares: a source topic by its incarnation, and the stock keys of a ledger over it.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::business_date::BusinessDate;
use crate::ids::{Incarnation, Partition};

/// What `source create` declares where no `--config` is given: the fixtures' own ledger.
pub const FIXTURE_LEDGER: &str = include_str!("../../../fixtures/config.json");

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
#[derive(Clone, PartialEq, Eq, Debug)]
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

impl Ledger {
    /// Reads a `--config` file: an object with `ledger_origin` and `stock_keys` only, for a topic of `partitions`.
    ///
    /// # Errors
    /// When a rule of the manifest is broken, naming the member.
    pub fn parse(file: &[u8], partitions: u32) -> Result<Self, Refused> {
        let _ = (file, partitions);
        unimplemented!()
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
        let _ = (namespace, source_incarnation, partitions, ledger);
        unimplemented!()
    }

    /// Reads the config as PostgreSQL keeps it.
    ///
    /// # Errors
    /// When a rule of the manifest is broken, naming the member.
    pub fn parse(json: &[u8]) -> Result<Self, Refused> {
        let _ = json;
        unimplemented!()
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
        unimplemented!()
    }

    /// SHA-256 of the canonical form.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        unimplemented!()
    }

    /// The first member in which this config differs from the one that a namespace was created with, such as
    /// `config.stock_keys[1].low_threshold is 30, the namespace was created with 20`; `None` when they are equal.
    #[must_use]
    pub fn difference(&self, created_with: &Self) -> Option<String> {
        let _ = created_with;
        unimplemented!()
    }
}

impl Manifest {
    /// Puts a manifest together.
    ///
    /// # Errors
    /// When `source_topic` is empty.
    pub fn new(source_topic: &str, config: Config) -> Result<Self, Refused> {
        let _ = (source_topic, config);
        unimplemented!()
    }

    /// Reads a manifest file.
    ///
    /// # Errors
    /// When it is not exactly a manifest, naming the member.
    pub fn parse(file: &[u8]) -> Result<Self, Refused> {
        let _ = file;
        unimplemented!()
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
        unimplemented!()
    }
}

impl Serialize for Stock {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let _ = serializer;
        unimplemented!()
    }
}
