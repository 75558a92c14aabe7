//! Knows how to show a whole table.

use super::tables::Tables;
use super::value::{Shown, Text};

impl Tables {
    pub(super) fn dump(&self, table: &str) -> Vec<Vec<Shown>> {
        match table {
            "namespace" => self.namespaces.iter().map(|(name, row)| row.text(name)).collect(),
            "partition" => of_namespace(self.partitions.iter().map(|((name, n), row)| (name, row.text(*n)))),
            "evidence" => of_namespace(
                self.evidence.iter().map(|((name, n, offset), row)| (name, row.text(*n, *offset))),
            ),
            "head" => of_namespace(self.heads.iter().map(|((name, n, id), row)| (name, row.text(*n, id)))),
            "position" => of_namespace(
                self.positions.iter().map(|((name, item, at, day), row)| (name, row.text(item, at, *day))),
            ),
            "outbox" => of_namespace(
                self.outbox.iter().map(|((name, n, offset, day), row)| (name, row.text(*n, *offset, *day))),
            ),
            _ => panic!("the schema has no table {table}"),
        }
    }
}

/// Puts the namespace in front.
fn of_namespace<'a>(rows: impl Iterator<Item = (&'a Text, Vec<Shown>)>) -> Vec<Vec<Shown>> {
    let whole = |(name, mut row): (&Text, Vec<Shown>)| {
        row.insert(0, Some(name.to_string()));
        row
    };
    rows.map(whole).collect()
}
