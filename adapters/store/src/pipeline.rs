//! Knows which namespace one stream works for, and how it shows itself there.

use amends_core::ids::Frontier;
use amends_core::source::manifest::Manifest;
use uuid::Uuid;

use crate::namespace::Namespace;

/// The word of the ledger sink in the namespace's row.
pub const LEDGER: &str = "ledger";

/// Rows that one decision may read, and rows that it may write, unless a flag says otherwise.
pub const BATCH_EFFECTS: usize = 100_000;

/// One stream into one namespace.
#[derive(Clone, Debug)]
pub struct Pipeline {
    pub(crate) namespace: Uuid,
    pub(crate) manifest: Manifest,
    /// Of the config, computed once.
    pub(crate) digest: [u8; 32],
    pub(crate) sink: String,
    pub(crate) owner: String,
    pub(crate) start: Frontier,
    pub(crate) batch_effects: usize,
}

impl Pipeline {
    /// A ledger over an opened namespace. `owner` is shown to people in the partition's row, such as `host:pid`.
    #[must_use]
    pub fn ledger(namespace: &Namespace, manifest: Manifest, owner: String, batch_effects: usize) -> Self {
        Self {
            namespace: namespace.uuid,
            digest: manifest.config().digest(),
            manifest,
            sink: LEDGER.to_owned(),
            owner,
            start: Frontier(0),
            batch_effects,
        }
    }
}
