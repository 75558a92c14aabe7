//! Knows what lies in the records of a world: ledger messages of every kind, drawn by their place alone.

use amends_core::ids::{Offset, Partition};
use amends_core::source::manifest::{Config, Ledger, Manifest, Refused};
use amends_core::source::record::Record;

use crate::faults::mix;
use crate::world::{TOPIC, declared};

/// The namespace of every world.
pub const NAMESPACE: &str = "world";

/// Few, so that records meet: transactions of a partition, days, and stocks of a partition.
const TRANSACTIONS: u64 = 4;
const DAYS: u64 = 5;
const STOCKS: u64 = 2;

/// The manifest of a world's one deployment.
///
/// # Errors
/// When the config that is put together here breaks a rule of its own.
pub fn manifest(partitions: u32) -> Result<Manifest, Refused> {
    let stocks: Vec<String> = (0..partitions)
        .flat_map(|partition| (0..STOCKS).map(move |stock| (partition, stock)))
        .map(|(partition, stock)| {
            format!(
                r#"{{"item":"i{stock}","location":"l{partition}","opening_balance":10,"low_threshold":5,"partition":{partition}}}"#
            )
        })
        .collect();
    let file = format!(r#"{{"ledger_origin":"2026-01-01","stock_keys":[{}]}}"#, stocks.join(","));
    let ledger = Ledger::parse(file.as_bytes(), partitions)?;
    Manifest::new(TOPIC, Config::new(NAMESPACE, declared(), partitions, ledger)?)
}

/// The record at a place. `poison` is the form of an unreadable one.
#[must_use]
pub fn record(seed: u64, partition: Partition, offset: Offset, poison: Option<u32>) -> Record {
    let place = mix(seed ^ (u64::from(partition.0) << 32), offset.0.unsigned_abs());
    let draw = |nth: u64, below: u64| mix(place, nth) % below;
    let (stock, transaction) = (draw(1, STOCKS), draw(2, TRANSACTIONS));
    let (day, quantity) = (1 + draw(3, DAYS), i64::try_from(draw(4, 21)).unwrap_or(0) - 10);
    // Mostly newer than what came before, so that corrections happen; at times stale or the same again.
    let revision = 1 + offset.0.unsigned_abs() / 2 + draw(5, 4);
    let names = format!(r#""item":"i{stock}","location":"l{}""#, partition.0);
    let content = match draw(6, 10) {
        0 | 1 => r#""action":"cancel""#.to_owned(),
        _ => format!(r#""action":"assert","business_date":"2026-01-{day:02}","quantity":{quantity}"#),
    };
    let key = format!("{{{names}}}").into_bytes();
    let value = format!(
        r#"{{"schema_version":1,"transaction_id":"t{transaction}","revision":{revision},{content},{names}}}"#
    );
    let (key, value) = match poison {
        None => (Some(key), Some(value.into_bytes())),
        Some(0) => (Some(b"no stock".to_vec()), Some(value.into_bytes())),
        Some(1) => (Some(key), Some(b"{\"schema_version\":1".to_vec())),
        Some(2) => (Some(key), None),
        Some(3) => (Some(vec![0xff, 0xfe]), Some(vec![0xc3, 0x28])),
        Some(_) => (Some(key), Some(value.replace(":\"t", ":\"\\u0000t").into_bytes())),
    };
    Record { offset, key, value }
}
