//! Knows how an answer looks as text, and which values no two servers have equal: these get a name by the order in
//! which they first appear.

use serde_json::Value;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::case::Word;

/// One value of a row, as `psql` would print it; `None` is null.
pub(crate) type Cell = Option<String>;

/// What one trip was answered with.
pub(crate) enum Answer {
    /// Rows that were returned, with name and type of each column, and how many were returned or written.
    Rows { columns: Vec<(String, String)>, rows: Vec<Vec<Cell>>, count: u64 },
    /// Anything that is said in words.
    Words(String),
}

/// A table of the schema. The columns of its key come first.
pub(crate) struct Table {
    pub(crate) name: &'static str,
    /// Columns of the key.
    pub(crate) key: usize,
    pub(crate) columns: &'static [&'static str],
}

/// All of them.
pub(crate) const TABLES: [Table; 6] = [
    Table {
        name: "namespace",
        key: 1,
        columns: &["name", "uuid", "sink", "source_topic", "incarnation", "config", "digest", "created_at"],
    },
    Table {
        name: "partition",
        key: 2,
        columns: &[
            "namespace",
            "partition",
            "epoch",
            "claim_id",
            "next_offset",
            "owner",
            "claimed_at",
            "work_records",
            "work_bytes",
            "work_elapsed_us",
            "committed_at",
        ],
    },
    Table {
        name: "evidence",
        key: 3,
        columns: &[
            "namespace",
            "partition",
            "source_offset",
            "code",
            "transaction_id",
            "revision",
            "raw_key",
            "raw_value",
            "epoch",
        ],
    },
    Table {
        name: "head",
        key: 3,
        columns: &[
            "namespace",
            "partition",
            "transaction_id",
            "revision",
            "item",
            "location",
            "business_date",
            "quantity",
        ],
    },
    Table {
        name: "position",
        key: 4,
        columns: &["namespace", "item", "location", "business_date", "version", "live", "balance", "state"],
    },
    Table {
        name: "outbox",
        key: 4,
        columns: &[
            "namespace",
            "partition",
            "cause_offset",
            "business_date",
            "item",
            "location",
            "version",
            "balance",
            "state",
            "transaction_id",
            "revision",
            "code",
        ],
    },
];

/// Written by clocks.
const WHEN: [&str; 4] = ["created_at", "claimed_at", "committed_at", "work_elapsed_us"];

/// Which values have a name.
#[derive(Default)]
pub(crate) struct Names {
    uuids: Vec<String>,
    xids: Vec<String>,
}

impl Names {
    /// A value of a row.
    fn cell(&mut self, column: &str, cell: &Cell) -> String {
        let Some(text) = cell else { return "null".to_owned() };
        if WHEN.contains(&column) {
            return "set".to_owned();
        }
        if column == "pg_current_xact_id" {
            return name("xid", &mut self.xids, text);
        }
        if let Some(uuid) = Uuid::try_parse(text).ok().filter(|_| text.len() == 36) {
            return self.uuid(uuid);
        }
        quoted(text)
    }

    pub(crate) fn uuid(&mut self, uuid: Uuid) -> String {
        name("uuid", &mut self.uuids, &uuid.to_string())
    }

    fn row(&mut self, columns: &[&str], row: &[Cell]) -> String {
        let cells = columns.iter().zip(row).map(|(column, cell)| self.cell(column, cell));
        cells.collect::<Vec<_>>().join(" ")
    }

    /// The lines of an answer.
    pub(crate) fn answer(&mut self, answer: &Answer) -> Vec<String> {
        match answer {
            Answer::Words(words) => vec![words.clone()],
            Answer::Rows { columns, rows, count } => {
                let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
                let types: Vec<&str> = columns.iter().map(|(_, ty)| ty.as_str()).collect();
                let mut lines = Vec::new();
                if !rows.is_empty() {
                    lines.push(format!("({})", types.join(" ")));
                }
                lines.extend(rows.iter().map(|row| self.row(&names, row)));
                lines.push(if *count == 1 { "1 row".to_owned() } else { format!("{count} rows") });
                lines
            }
        }
    }

    /// The lines of a table with these rows.
    pub(crate) fn table(&mut self, table: &Table, rows: &[Vec<Cell>]) -> Vec<String> {
        if rows.is_empty() {
            return vec![format!("> {} is empty", table.name)];
        }
        let mut lines = vec![format!("> {} {}", table.name, table.columns.join(" "))];
        lines.extend(rows.iter().map(|row| format!("  {}", self.row(table.columns, row))));
        lines
    }

    /// What a parameter stands for.
    pub(crate) fn value(&self, word: &Word) -> Result<Value, String> {
        match word {
            Word::Json(value) => Ok(value.clone()),
            Word::Option(name, _) => Err(format!("{name}= is for the store")),
            Word::Name(name) => {
                let value = name.split_once('-').and_then(|(kind, number)| {
                    let number = number.parse::<usize>().ok()?.checked_sub(1)?;
                    match kind {
                        "uuid" => self.uuids.get(number),
                        "xid" => self.xids.get(number),
                        _ => None,
                    }
                });
                value.cloned().map(Value::String).ok_or_else(|| format!("nothing has the name {name} yet"))
            }
        }
    }
}

fn name(kind: &str, known: &mut Vec<String>, value: &str) -> String {
    let at = known.iter().position(|known| known == value).unwrap_or_else(|| {
        known.push(value.to_owned());
        known.len() - 1
    });
    format!("{kind}-{}", at + 1)
}

/// The characters for which `noise-3000` stands: they do not compress.
pub(crate) fn noise(name: &str) -> Option<String> {
    let length: usize = name.strip_prefix("noise-")?.parse().ok()?;
    let mut text = String::new();
    while text.len() < length {
        let digest = Sha256::digest(&text);
        text.extend(digest.iter().map(|byte| char::from(b'A' + byte % 26)));
    }
    text.truncate(length);
    Some(text)
}

/// A plain word as it is, all else as JSON.
fn quoted(text: &str) -> String {
    let name = format!("noise-{}", text.len());
    if text.len() > 99 && noise(&name).as_deref() == Some(text) {
        return name;
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.:/\\+".contains(c);
    let is_word = !text.is_empty() && text != "null" && text.chars().all(is_plain);
    if is_word { text.to_owned() } else { Value::from(text).to_string() }
}

/// `\\x00ff`.
pub(crate) fn shown_bytes(bytes: &[u8]) -> String {
    bytes.iter().fold("\\x".to_owned(), |text, byte| format!("{text}{byte:02x}"))
}
