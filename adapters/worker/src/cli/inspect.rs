//! `amends inspect`: how far a namespace is, who works on it and what was decided last.

use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use amends_core::ledger::code::Code;
use amends_store::export::Snapshot;
use amends_store::inspect::{Inspection, PartitionInspection, inspect};
use amends_store::migrate;
use clap::Args;
use time::{Date, Month, PrimitiveDateTime, Time};

use super::{Failed, ManifestArg, print, runtime, store};

/// Show frontiers, epochs, owners, counts and the last records of a namespace
///
/// Everything shows one moment. Times are UTC; ages are told by this machine's clock.
#[derive(Args)]
#[command(after_help = "Example:\n  AMENDS_DATABASE_URL=postgres://amends:…@127.0.0.1:15432/amends \\\n  \
                        amends inspect --manifest demo.manifest.json")]
pub(super) struct Inspect {
    #[command(flatten)]
    manifest: ManifestArg,
    /// Print one JSON object for other programs
    #[arg(long)]
    json: bool,
}

impl Inspect {
    pub(super) fn run(self) -> Result<ExitCode, Failed> {
        let manifest = self.manifest.read()?;
        let store = store(&format!("amends inspect {}", manifest.config().namespace()), 1)?;
        let inspection = runtime()?.block_on(async {
            migrate::check(&store).await?;
            let snapshot = Snapshot::open(&store, &manifest).await?;
            let inspection = inspect(&snapshot).await?;
            snapshot.close();
            Ok::<_, Failed>(inspection)
        })?;
        if self.json {
            let json = serde_json::to_string(&inspection)
                .map_err(|error| Failed::new("broken", format!("could not print the namespace: {error}")))?;
            return print(&format!("{json}\n"));
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        print(&tell(&inspection, i64::try_from(now).unwrap_or(i64::MAX)))
    }
}

/// The page for people; `now` is in seconds since 1970.
fn tell(inspection: &Inspection, now: i64) -> String {
    let mut text = String::new();
    let at = |time: &str| format!("{time} ({})", age(time, now));
    let facts = [
        ("namespace", format!("{}  {}", inspection.namespace, inspection.uuid)),
        ("sink", inspection.sink.clone()),
        ("source", format!("{}  {}", inspection.source_topic, inspection.incarnation)),
        ("group", inspection.group_id.clone()),
        ("created", at(&inspection.created_at)),
    ];
    for (name, fact) in facts {
        // Writing to a String does not fail, here and below.
        let _ = writeln!(text, "{name:<9}  {fact}");
    }
    let header = ["partition", "frontier", "epoch", "owner", "claimed", "last decision"].map(str::to_owned);
    let rows = inspection.partitions.iter().map(|partition| row(partition, &at));
    table(&mut text, &[Side::Right, Side::Right, Side::Right], header.to_vec(), rows.collect());
    if inspection.counts.is_empty() {
        text.push_str("\nno record is decided yet\n");
        return text;
    }
    let counts = Code::ALL.into_iter().filter_map(|code| {
        let count = inspection.counts.get(code.as_str())?;
        Some(vec![count.to_string(), code.to_string()])
    });
    table(&mut text, &[Side::Right], vec!["records".to_owned(), "code".to_owned()], counts.collect());
    let recent = inspection
        .recent
        .iter()
        .map(|record| vec![record.partition.to_string(), record.offset.to_string(), record.code.to_string()]);
    let header = ["partition", "offset", "last records, newest first"].map(str::to_owned);
    table(&mut text, &[Side::Right, Side::Right], header.to_vec(), recent.collect());
    text
}

fn row(partition: &PartitionInspection, at: &impl Fn(&str) -> String) -> Vec<String> {
    let none = || "-".to_owned();
    let last_work = partition.last_work.as_ref().map(|work| {
        let ms = work.elapsed_us.saturating_add(999) / 1000;
        let records = if work.records == 1 { "record" } else { "records" };
        let (count, bytes) = (work.records, work.bytes);
        format!("{count} {records}, {bytes} bytes in {ms} ms, {}", at(&work.committed_at))
    });
    vec![
        partition.partition.to_string(),
        partition.next_offset.map_or_else(none, |offset| offset.to_string()),
        partition.epoch.to_string(),
        partition.owner.clone().unwrap_or_else(none),
        partition.claimed_at.as_deref().map_or_else(none, at),
        last_work.unwrap_or_else(none),
    ]
}

#[derive(Clone, Copy)]
enum Side {
    Left,
    Right,
}

/// An empty line, the header and the rows in columns; a column beyond `sides` stands on the left.
fn table(text: &mut String, sides: &[Side], header: Vec<String>, rows: Vec<Vec<String>>) {
    let rows: Vec<Vec<String>> = std::iter::once(header).chain(rows).collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widest = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(widest).collect();
    text.push('\n');
    for row in &rows {
        let mut line = String::new();
        for (column, (cell, &width)) in row.iter().zip(&widths).enumerate() {
            let gap = if column == 0 { "" } else { "  " };
            let _ = match sides.get(column).copied().unwrap_or(Side::Left) {
                Side::Right => write!(line, "{gap}{cell:>width$}"),
                Side::Left => write!(line, "{gap}{cell:<width$}"),
            };
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
}

/// How long ago a time such as `2026-01-05T10:00:00.123Z` is.
fn age(time: &str, now: i64) -> String {
    let Some(then) = seconds_since_1970(time) else { return "age unknown".to_owned() };
    // The database's clock may be ahead of this one.
    let seconds = now.saturating_sub(then).max(0);
    let (count, unit) = match seconds {
        0..=119 => (seconds, "s"),
        120..=7_199 => (seconds / 60, "min"),
        7_200..=172_799 => (seconds / 3600, "h"),
        _ => (seconds / 86_400, "days"),
    };
    format!("{count} {unit} ago")
}

fn seconds_since_1970(time: &str) -> Option<i64> {
    let number = |from: usize, to: usize| time.get(from..to)?.parse::<u16>().ok();
    let part = |from: usize| u8::try_from(number(from, from + 2)?).ok();
    let month = Month::try_from(part(5)?).ok()?;
    let date = Date::from_calendar_date(i32::from(number(0, 4)?), month, part(8)?).ok()?;
    let time = Time::from_hms(part(11)?, part(14)?, part(17)?).ok()?;
    Some(PrimitiveDateTime::new(date, time).assume_utc().unix_timestamp())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use amends_store::inspect::{LastWork, RecentRecord};

    use super::*;

    #[test]
    fn a_page_is_aligned() {
        let partition = |partition, next_offset, epoch, owner: Option<&str>, last_work| PartitionInspection {
            partition,
            next_offset,
            epoch,
            owner: owner.map(str::to_owned),
            claimed_at: owner.map(|_| "2026-01-05T10:00:00.123Z".to_owned()),
            last_work,
        };
        let work = LastWork {
            records: 8,
            bytes: 1200,
            elapsed_us: 11_001,
            committed_at: "2026-01-05T10:02:00.500Z".to_owned(),
        };
        let inspection = Inspection {
            namespace: "demo".to_owned(),
            uuid: "5c1e".to_owned(),
            group_id: "amends-demo-5c1e".to_owned(),
            sink: "ledger".to_owned(),
            source_topic: "orders".to_owned(),
            incarnation: "kafka:0f3c".to_owned(),
            created_at: "2026-01-01T00:00:00Z".to_owned(),
            partitions: vec![
                partition(0, Some(1041), 3, Some("host:1234"), Some(work)),
                partition(10, None, 0, None, None),
            ],
            counts: BTreeMap::from([("CORRECTED".to_owned(), 3), ("STALE".to_owned(), 1038)]),
            recent: vec![RecentRecord { partition: 0, offset: 1040, code: Code::Corrected }],
        };
        let now = seconds_since_1970("2026-01-05T10:03:00Z").expect("a time");
        let expected = "\
namespace  demo  5c1e
sink       ledger
source     orders  kafka:0f3c
group      amends-demo-5c1e
created    2026-01-01T00:00:00Z (4 days ago)

partition  frontier  epoch  owner      claimed                               last decision
        0      1041      3  host:1234  2026-01-05T10:00:00.123Z (3 min ago)  8 records, 1200 bytes in 12 ms, \
2026-01-05T10:02:00.500Z (60 s ago)
       10         -      0  -          -                                     -

records  code
   1038  STALE
      3  CORRECTED

partition  offset  last records, newest first
        0    1040  CORRECTED
";
        assert_eq!(tell(&inspection, now), expected);
    }

    #[test]
    fn ages_read_well() {
        let ages =
            [(0, "0 s"), (119, "119 s"), (120, "2 min"), (7_200, "2 h"), (200_000, "2 days"), (-5, "0 s")];
        for (seconds, expected) in ages {
            let then = seconds_since_1970("2026-01-05T10:00:00.123Z").expect("a time");
            assert_eq!(age("2026-01-05T10:00:00.123Z", then + seconds), format!("{expected} ago"));
        }
        assert_eq!(age("yesterday", 0), "age unknown");
    }
}
