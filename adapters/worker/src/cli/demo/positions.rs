//! Knows how positions look side by side.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::super::Failed;

/// The positions at one time, by stock key and date.
pub(super) struct Positions(BTreeMap<(String, String, String), String>);

#[derive(Deserialize)]
struct Line {
    item: String,
    location: String,
    business_date: String,
    version: i64,
    balance: i64,
    state: String,
}

impl Positions {
    /// Reads what `amends export positions` printed.
    pub(super) fn parse(export: &str) -> Result<Self, Failed> {
        let rows = export.lines().map(|line| {
            let Line { item, location, business_date, version, balance, state } = serde_json::from_str(line)?;
            Ok(((item, location, business_date), format!("{balance} {state} v{version}")))
        });
        let rows: Result<_, serde_json::Error> = rows.collect();
        rows.map(Self)
            .map_err(|error| Failed::new("broken", format!("could not read the positions: {error}")))
    }
}

/// One row a position, one column a time; what a column changed is marked.
pub(super) fn table(times: &[Positions]) -> String {
    let mut keys: Vec<_> = times.iter().flat_map(|time| time.0.keys()).collect();
    keys.sort();
    keys.dedup();
    let mut rows = vec![
        ["item", "location", "date", "before", "after correction", "after cancellation"].map(str::to_owned),
    ];
    for key in keys {
        let cells: Vec<String> = times
            .iter()
            .enumerate()
            .map(|(index, time)| {
                let text = time.0.get(key).map_or("-", String::as_str);
                let before = index.checked_sub(1).and_then(|last| times.get(last));
                let is_changed = before.is_some_and(|before| before.0.get(key) != time.0.get(key));
                if is_changed { format!("{text} *") } else { text.to_owned() }
            })
            .collect();
        let [before, corrected, cancelled] =
            [0, 1, 2].map(|time| cells.get(time).cloned().unwrap_or_default());
        rows.push([key.0.clone(), key.1.clone(), key.2.clone(), before, corrected, cancelled]);
    }
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..6).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        text.push_str(&format!("  {}\n", cells.join("  ").trim_end()));
    }
    text.push_str("  * changed by this load\n");
    text
}
