//! What the ledger makes of records: manifests, keys, values, decisions, lines.
#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

mod decisions;
mod fixtures;
mod lines;
mod manifests;
mod model;
mod naive;
mod properties;
mod values;
