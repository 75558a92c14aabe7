//! `amends demo`: the whole story on real services, told through the program's own verbs.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use amends_core::ids::{Offset, Partition};
use amends_core::source::manifest::Manifest;
use clap::Args;

use super::{BrokerArgs, Failed, say};
use crate::kafka::{self, Reader};

mod positions;
mod program;
mod proof;

use positions::Positions;
use program::{Program, Worker};

/// The three fixtures, one after the other: name, text, story.
const FIXTURES: [(&str, &str, &str); 3] = [
    (
        "before.jsonl",
        include_str!("../../../../../fixtures/before.jsonl"),
        "what was first reported, every kind of mistake among it",
    ),
    (
        "correction.jsonl",
        include_str!("../../../../../fixtures/correction.jsonl"),
        "a correction, which restates the days behind it",
    ),
    (
        "cancel-last-day.jsonl",
        include_str!("../../../../../fixtures/cancel-last-day.jsonl"),
        "a cancellation of the last day, which retracts its position",
    ),
];

/// Everything that waits here gives up after this long.
const PATIENCE: Duration = Duration::from_secs(120);
/// How often a wait looks, and how often it says how far it is.
const LOOK_EVERY: Duration = Duration::from_millis(100);
const SAY_EVERY: Duration = Duration::from_secs(1);

/// Show the whole story on real services: corrections, a cancellation, a kill -9
///
/// Makes a namespace and a topic of its own, runs two workers, loads three small files one after the other, shows the
/// positions before and after, kills one worker in the middle of a larger load, and proves from an own read of the
/// topic that nothing was lost or doubled. What it makes stays.
#[derive(Args)]
#[command(
    after_help = "Example:\n  make up\n  AMENDS_DATABASE_URL=postgres://amends:amends-local-only@127.0.0.1:15432/amends \
                        amends demo"
)]
pub(super) struct Demo {
    #[command(flatten)]
    brokers: BrokerArgs,
    /// Where the manifest, the journals and the workers' logs go [default: a new folder for temporary files]
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// Records of the load in whose middle a worker is killed
    #[arg(long, default_value_t = 20_000, value_name = "N", value_parser = clap::value_parser!(u32).range(1_000..=10_000_000))]
    records: u32,
}

/// How far the namespace is, by partition.
type Frontiers = BTreeMap<u32, i64>;

impl Demo {
    pub(super) fn run(self) -> Result<ExitCode, Failed> {
        let began = Instant::now();
        let stamp = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
        let name = format!("demo-{stamp}");
        let folder =
            self.folder.clone().unwrap_or_else(|| std::env::temp_dir().join(format!("amends-{name}")));
        fs::create_dir_all(&folder).map_err(|error| {
            Failed::usage(format!("could not make the folder {}: {error}", folder.display()))
        })?;
        let program = Program::new(&self.brokers, &folder)?;

        heading(began, "a namespace, a topic and its manifest")?;
        let topic = format!("amends-{name}");
        let manifest_path = folder.join("manifest.json");
        program.tell(&mut program.verb("migrate"))?;
        let mut create = program.kafka_verb("source create");
        program.tell(create.args(["--namespace", &name, "--topic", &topic, "--out"]).arg(&manifest_path))?;
        let bytes = super::read_file(&manifest_path, super::MANIFEST_BYTES)?;
        let manifest = Manifest::parse(&bytes).map_err(Failed::usage)?;
        let mut stage = Stage {
            kafka: self.brokers.settings()?,
            program,
            folder,
            manifest_path,
            manifest,
            workers: vec![],
        };

        heading(began, "two workers of one group")?;
        for number in 1..=2 {
            stage.workers.push(stage.program.worker(&stage.manifest_path, number)?);
        }
        let owners = stage.await_owners()?;
        for (partition, owner) in &owners {
            say(&format!("  partition {partition} is owned by {owner}\n"))?;
        }

        let mut times = Vec::new();
        for (file, text, story) in FIXTURES {
            heading(began, story)?;
            times.push(stage.load_fixture(file, text)?);
        }
        heading(began, "what inspect shows")?;
        let inspected =
            stage.program.tell(stage.program.verb("inspect --manifest").arg(&stage.manifest_path))?;
        say(&indented(&inspected))?;
        heading(began, "the positions")?;
        say(&positions::table(&times))?;

        heading(began, &format!("kill -9 of one worker in the middle of {} records", self.records))?;
        stage.kill_in_the_middle(self.records, &owners)?;

        heading(
            began,
            "the proof: an own read of the topic, without a group, joined to the exported evidence",
        )?;
        let proof = proof::prove(&stage.kafka, &stage.program, &stage.manifest_path, &stage.manifest)?;
        for worker in &mut stage.workers {
            worker.stop()?;
        }
        let folder = stage.folder.display();
        say(&format!("  namespace {name} and topic {topic} stay; manifest, journals and logs: {folder}\n"))?;
        say(&format!("\n{proof}\n"))?;
        let of_fixtures: usize = FIXTURES.iter().map(|(_, text, _)| text.lines().count()).sum();
        let published =
            u64::from(self.records).saturating_add(u64::try_from(of_fixtures).unwrap_or(u64::MAX));
        Ok(if proof.holds(published) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// What the story is played on.
struct Stage {
    kafka: kafka::Settings,
    program: Program,
    folder: PathBuf,
    manifest_path: PathBuf,
    manifest: Manifest,
    workers: Vec<Worker>,
}

impl Stage {
    /// Publishes one of the fixtures, waits until it is decided, and gives the positions.
    fn load_fixture(&mut self, file: &str, text: &str) -> Result<Positions, Failed> {
        let path = self.folder.join(file);
        fs::write(&path, text).map_err(|error| unwritable(&path, &error))?;
        let mut command = self.program.kafka_verb("source load");
        command.arg("--manifest").arg(&self.manifest_path).arg("--file").arg(&path);
        let report = self.program.tell(&mut command)?;
        let (count, last) = (report.lines().count(), report.lines().last().unwrap_or("-"));
        say(&format!("  {count} records published, the last: {last}\n"))?;
        self.await_drained()?;
        Positions::parse(&self.program.export(&self.manifest_path, "positions")?)
    }

    fn kill_in_the_middle(&mut self, records: u32, owners: &BTreeMap<u32, String>) -> Result<(), Failed> {
        let load = self.folder.join("load.jsonl");
        write_load(&load, &self.manifest, records)?;
        let before = self.frontiers()?;
        let loading = self.program.load(&self.manifest_path, &load)?;
        let Some(victim) = self.workers.pop() else {
            return Err(Failed::new("broken", "there is no worker to kill"));
        };
        let theirs =
            owners.iter().find(|(_, owner)| victim.is_owner(owner)).map_or(0, |(partition, _)| *partition);
        let share = i64::from(records) / i64::try_from(owners.len()).unwrap_or(1).max(1);
        let start = before.get(&theirs).copied().unwrap_or(0);
        self.await_that("the load to be under way", |now| {
            let done = now.get(&theirs).unwrap_or(&0) - start;
            if done > share / 10 {
                Ok(())
            } else {
                Err(format!("{done} of {share} of partition {theirs} are decided"))
            }
        })?;
        let pid = victim.kill()?;
        let killed = Instant::now();
        let at_kill = self.frontiers()?.get(&theirs).copied().unwrap_or(0);
        let done = at_kill - start;
        say(&format!("  killed worker {pid}, the owner of partition {theirs}, after {done} of {share}\n"))?;
        self.await_that("the other worker to take over", |now| {
            let frontier = now.get(&theirs).copied().unwrap_or(0);
            if frontier > at_kill { Ok(()) } else { Err(format!("partition {theirs} rests at {frontier}")) }
        })?;
        let after = killed.elapsed().as_secs_f64();
        say(&format!("  the other worker went on with partition {theirs} after {after:.1}s\n"))?;
        loading.finish()?;
        self.await_drained()
    }

    fn frontiers(&self) -> Result<Frontiers, Failed> {
        frontiers(&self.program, &self.manifest_path)
    }

    /// Waits until each partition is owned by one of the workers, and each worker owns one.
    fn await_owners(&mut self) -> Result<BTreeMap<u32, String>, Failed> {
        let began = Instant::now();
        loop {
            // The first worker makes the namespace; before that there is nothing to inspect.
            let so_far = match self.program.owners(&self.manifest_path) {
                Ok(owners) => {
                    let is_owning = |worker: &Worker| owners.values().any(|owner| worker.is_owner(owner));
                    if self.workers.iter().all(is_owning) {
                        return Ok(owners);
                    }
                    format!("the owners are {owners:?}")
                }
                Err(failed) => failed.text,
            };
            self.must_go_on(began, "two owners", &so_far)?;
        }
    }

    /// Waits until every record that the topic has now is decided.
    fn await_drained(&mut self) -> Result<(), Failed> {
        let mut ends = Frontiers::new();
        for number in 0..self.manifest.config().partitions() {
            let topic = self.manifest.source_topic();
            let reader = Reader::open(&self.kafka, topic, Partition(number), Offset(0), PATIENCE)?;
            ends.insert(number, reader.end().0);
        }
        self.await_that("everything to be decided", |now| {
            let left: i64 =
                ends.iter().map(|(partition, end)| (end - now.get(partition).unwrap_or(&0)).max(0)).sum();
            if left == 0 { Ok(()) } else { Err(format!("{left} records to go")) }
        })
    }

    /// Looks at the frontiers until they are what it waits for, and says now and then how far they are.
    fn await_that(
        &mut self,
        what: &str,
        look: impl Fn(&Frontiers) -> Result<(), String>,
    ) -> Result<(), Failed> {
        let began = Instant::now();
        let mut said = began;
        while let Err(so_far) = look(&self.frontiers()?) {
            if said.elapsed() >= SAY_EVERY {
                said = Instant::now();
                say(&format!("  waiting for {what}: {so_far}\n"))?;
            }
            self.must_go_on(began, what, &so_far)?;
        }
        Ok(())
    }

    /// One pause of a wait, which ends when a worker ended or when it has lasted too long.
    fn must_go_on(&mut self, began: Instant, what: &str, so_far: &str) -> Result<(), Failed> {
        for worker in &mut self.workers {
            worker.must_live()?;
        }
        if began.elapsed() > PATIENCE {
            return Err(Failed::new("demo", format!("waited {}s for {what}: {so_far}", PATIENCE.as_secs())));
        }
        std::thread::sleep(LOOK_EVERY);
        Ok(())
    }
}

fn heading(began: Instant, text: &str) -> Result<(), Failed> {
    say(&format!("\n[{:>5.1}s] {text}\n", began.elapsed().as_secs_f64()))
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failed {
    Failed::new("broken", format!("could not write {}: {error}", path.display()))
}

fn frontiers(program: &Program, manifest: &Path) -> Result<Frontiers, Failed> {
    #[derive(serde::Deserialize)]
    struct Line {
        partition: u32,
        next_offset: i64,
    }
    let lines = program.export(manifest, "frontiers")?;
    let parsed: Result<Frontiers, serde_json::Error> = lines
        .lines()
        .map(|line| serde_json::from_str::<Line>(line).map(|line| (line.partition, line.next_offset)))
        .collect();
    parsed.map_err(|error| Failed::new("broken", format!("could not read the frontiers: {error}")))
}

/// Movements of every stock key over a month, each transaction first asserted and later corrected.
fn write_load(path: &Path, manifest: &Manifest, records: u32) -> Result<(), Failed> {
    let stocks = manifest.config().ledger().stocks();
    let write = || -> std::io::Result<()> {
        let mut file = BufWriter::new(fs::File::create_new(path)?);
        let count = u32::try_from(stocks.len()).unwrap_or(1).max(1);
        for number in 0..records {
            let Some(stock) = stocks.get(usize::try_from(number % count).unwrap_or(0)) else { break };
            let round = number / count;
            let key = serde_json::json!({"item": stock.key.item, "location": stock.key.location});
            let value = serde_json::json!({
                "schema_version": 1,
                "transaction_id": format!("L-{}", round / 2),
                "revision": 1 + round % 2,
                "action": "assert",
                "item": stock.key.item,
                "location": stock.key.location,
                "business_date": format!("2026-02-{:02}", 1 + round / 2 % 28),
                "quantity": i64::from(number % 7) - 3,
            });
            writeln!(file, "{}", serde_json::json!({"key": key, "value": value}))?;
        }
        file.flush()
    };
    write().map_err(|error| unwritable(path, &error))
}
