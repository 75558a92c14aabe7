//! Knows the rows of the schema, by primary key; what a commit adds to them, and how to take it back.

use std::collections::BTreeMap;

use super::rows::{Evidence, Head, Namespace, Outbox, Partition, Position};
use super::value::{Day, Text};

/// Namespace and number.
pub(super) type PartitionKey = (Text, i32);

/// Rows of all tables: the committed ones of the server, or those that one transaction wrote. No statement deletes.
#[derive(Default)]
pub(super) struct Tables {
    pub(super) namespaces: BTreeMap<Text, Namespace>,
    pub(super) partitions: BTreeMap<PartitionKey, Partition>,
    pub(super) evidence: BTreeMap<(Text, i32, i64), Evidence>,
    pub(super) heads: BTreeMap<(Text, i32, Text), Head>,
    pub(super) positions: BTreeMap<(Text, Text, Text, Day), Position>,
    pub(super) outbox: BTreeMap<(Text, i32, i64, Day), Outbox>,
}

/// What stood where one commit wrote.
pub(super) struct Undo {
    namespaces: Before<Text, Namespace>,
    partitions: Before<PartitionKey, Partition>,
    evidence: Before<(Text, i32, i64), Evidence>,
    heads: Before<(Text, i32, Text), Head>,
    positions: Before<(Text, Text, Text, Day), Position>,
    outbox: Before<(Text, i32, i64, Day), Outbox>,
}

type Before<K, V> = Vec<(K, Option<V>)>;

impl Tables {
    pub(super) fn is_empty(&self) -> bool {
        let Self { namespaces, partitions, evidence, heads, positions, outbox } = self;
        namespaces.is_empty()
            && partitions.is_empty()
            && evidence.is_empty()
            && heads.is_empty()
            && positions.is_empty()
            && outbox.is_empty()
    }

    /// Takes in what a transaction wrote.
    pub(super) fn commit(&mut self, own: Self) -> Undo {
        Undo {
            namespaces: put(&mut self.namespaces, own.namespaces),
            partitions: put(&mut self.partitions, own.partitions),
            evidence: put(&mut self.evidence, own.evidence),
            heads: put(&mut self.heads, own.heads),
            positions: put(&mut self.positions, own.positions),
            outbox: put(&mut self.outbox, own.outbox),
        }
    }

    /// Lets a commit never have been; only the last one that stands can be taken back.
    pub(super) fn undo(&mut self, undo: Undo) {
        restore(&mut self.namespaces, undo.namespaces);
        restore(&mut self.partitions, undo.partitions);
        restore(&mut self.evidence, undo.evidence);
        restore(&mut self.heads, undo.heads);
        restore(&mut self.positions, undo.positions);
        restore(&mut self.outbox, undo.outbox);
    }
}

fn put<K: Ord + Clone, V>(rows: &mut BTreeMap<K, V>, own: BTreeMap<K, V>) -> Before<K, V> {
    own.into_iter().map(|(key, row)| (key.clone(), rows.insert(key, row))).collect()
}

fn restore<K: Ord, V>(rows: &mut BTreeMap<K, V>, before: Before<K, V>) {
    for (key, row) in before {
        match row {
            Some(row) => rows.insert(key, row),
            None => rows.remove(&key),
        };
    }
}
