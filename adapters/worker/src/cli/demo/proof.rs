//! Knows how to hold the topic, read without a group, against the evidence that was exported.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use amends_core::ids::{Offset, Partition};
use amends_core::source::manifest::Manifest;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use super::super::Failed;
use super::program::Program;
use crate::kafka::{self, Reader};

/// The longest wait for one record of the topic.
const READ_WITHIN: Duration = Duration::from_secs(10);

/// What was counted.
#[derive(Debug, Default)]
pub(super) struct Proof {
    records: u64,
    evidence: u64,
    positions: u64,
    envelopes: u64,
    frontiers: BTreeMap<u32, i64>,
    /// Records of the topic without an evidence row of the same bytes.
    lost: u64,
    /// Evidence rows without a record of their own, and versions that were written twice.
    doubled: u64,
}

#[derive(Deserialize)]
struct Evidence {
    partition: u32,
    offset: i64,
    raw_key: Option<String>,
    raw_value: Option<String>,
}

#[derive(Deserialize)]
struct Envelope {
    item: String,
    location: String,
    business_date: String,
    version: i64,
}

/// Reads the topic from 0 to its end and joins it with the evidence, by partition and offset, in bounded memory.
pub(super) fn prove(
    kafka: &kafka::Settings,
    program: &Program,
    manifest_path: &Path,
    manifest: &Manifest,
) -> Result<Proof, Failed> {
    let mut proof = Proof { frontiers: super::frontiers(program, manifest_path)?, ..Proof::default() };
    let mut rows = program.export_lines(manifest_path, "evidence")?.map(|line| evidence(&line?)).peekable();
    for number in 0..manifest.config().partitions() {
        let mut reader =
            Reader::open(kafka, manifest.source_topic(), Partition(number), Offset(0), READ_WITHIN)?;
        while let Some(record) = reader.next(READ_WITHIN)? {
            proof.records += 1;
            // Both sides rise by (partition, offset): rows before the record have none, rows at it are compared.
            let place = (number, record.offset.0);
            let mut found = 0_u64;
            while let Some(row) =
                rows.next_if(|row| !matches!(row, Ok(row) if (row.partition, row.offset) > place))
            {
                let row = row?;
                proof.evidence += 1;
                let is_record = (row.partition, row.offset) == place
                    && same(row.raw_key.as_deref(), record.key.as_deref())
                    && same(row.raw_value.as_deref(), record.value.as_deref());
                found += u64::from(is_record);
                proof.doubled += u64::from(!is_record || found > 1);
            }
            proof.lost += u64::from(found == 0);
        }
    }
    for row in rows {
        row?;
        proof.evidence += 1;
        proof.doubled += 1;
    }
    for line in program.export_lines(manifest_path, "positions")? {
        line?;
        proof.positions += 1;
    }
    proof.count_envelopes(program, manifest_path)?;
    Ok(proof)
}

fn evidence(line: &str) -> Result<Evidence, Failed> {
    serde_json::from_str(line)
        .map_err(|error| Failed::new("broken", format!("could not read the evidence: {error}")))
}

/// The exact bytes; an absent part is not an empty one.
fn same(exported: Option<&str>, read: Option<&[u8]>) -> bool {
    match (exported, read) {
        (None, None) => true,
        (Some(text), Some(bytes)) => STANDARD.decode(text).is_ok_and(|decoded| decoded == bytes),
        (None, Some(_)) | (Some(_), None) => false,
    }
}

impl Proof {
    /// Each position's versions are 1, 2, 3 …: a decision that was applied twice would write one again.
    fn count_envelopes(&mut self, program: &Program, manifest: &Path) -> Result<(), Failed> {
        let mut versions: BTreeMap<(String, String, String), i64> = BTreeMap::new();
        for line in program.export_lines(manifest, "outbox")? {
            let Envelope { item, location, business_date, version } = serde_json::from_str(&line?)
                .map_err(|error| Failed::new("broken", format!("could not read the outbox: {error}")))?;
            let last = versions.entry((item, location, business_date)).or_insert(0);
            self.envelopes += 1;
            self.doubled += u64::from(version != *last + 1);
            *last = version;
        }
        Ok(())
    }

    /// Whether so many records were published, and each was decided once.
    pub(super) fn holds(&self, published: u64) -> bool {
        self.lost == 0 && self.doubled == 0 && self.records == published && self.evidence == published
    }
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let frontiers: Vec<String> =
            self.frontiers.iter().map(|(partition, frontier)| format!("{partition}:{frontier}")).collect();
        let Self { records, evidence, positions, envelopes, lost, doubled, .. } = self;
        writeln!(f, "records={records} evidence={evidence} positions={positions} outbox={envelopes}")?;
        writeln!(f, "frontiers={}", frontiers.join(" "))?;
        write!(f, "lost={lost} doubled={doubled}")
    }
}
