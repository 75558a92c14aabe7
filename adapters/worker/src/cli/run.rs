//! `amends run`: one pipeline, until it is told to stop or stops by itself.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use amends_core::lifecycle::command::CheckParts;
use amends_core::lifecycle::{BUDGET_MS, Settings};
use amends_core::source::boundary::Declared;
use amends_store::pipeline::{BATCH_EFFECTS, LEDGER, Pipeline};
use amends_store::{migrate, namespace};
use clap::Args;
use tracing::info;

use super::look::{Objection, Patience, look};
use super::{BrokerArgs, Failed, ManifestArg, process_name, runtime, store};
use crate::journal::Journal;
use crate::kafka::{self, Source};
use crate::worker::{Ended, Worker};

/// A broker that is behind may contradict the manifest for as long as a budget; one that does not answer is told.
const ACCEPT: Patience = Patience { objected: Duration::from_millis(BUDGET_MS), failed: Duration::ZERO };

/// Take records from the topic into the namespace; many processes share the work
///
/// The first run creates the namespace. The same command starts a stopped worker again: it goes on where PostgreSQL
/// says. SIGINT and SIGTERM stop it in order; a second one ends it at once.
#[derive(Args)]
#[command(after_help = "Example:\n  AMENDS_DATABASE_URL=postgres://amends:…@127.0.0.1:15432/amends \\\n  \
                        amends run --manifest demo.manifest.json")]
pub(super) struct Run {
    #[command(flatten)]
    manifest: ManifestArg,
    #[command(flatten)]
    brokers: BrokerArgs,
    /// Decisions that run side by side, each of another partition [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    lanes: Option<u32>,
    /// At most so many records are one decision
    #[arg(long, default_value_t = 500, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    batch_records: u32,
    /// At most so many bytes of keys, values and headers are one decision, but always one record
    #[arg(long, default_value_t = 4 << 20, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(1..=1 << 30))]
    batch_bytes: u64,
    /// At most so many rows are read, and written, by one decision
    #[arg(long, default_value_t = BATCH_EFFECTS, value_name = "ROWS", value_parser = at_least_one)]
    batch_effects: usize,
    /// One record at a time, one lane
    #[arg(long, conflicts_with_all = ["lanes", "batch_records"])]
    serial: bool,
    /// Append every step to this file as JSON lines; `cargo sim replay` replays it
    #[arg(long, value_name = "FILE")]
    journal: Option<PathBuf>,
}

impl Run {
    pub(super) fn run(self) -> Result<ExitCode, Failed> {
        let manifest = self.manifest.read()?;
        let kafka = self.brokers.settings()?;
        let cores =
            std::thread::available_parallelism().map_or(1, |cores| u32::try_from(cores.get()).unwrap_or(1));
        let lanes = if self.serial { 1 } else { self.lanes.unwrap_or(cores) };
        let config = manifest.config();
        let settings = Settings {
            topic: manifest.source_topic().to_owned(),
            source: Declared::by_ledger(config),
            lanes,
            batch_records: if self.serial { 1 } else { self.batch_records },
            batch_bytes: self.batch_bytes,
        };
        let sessions = usize::try_from(lanes).unwrap_or(1).saturating_add(1);
        let store = store(&format!("amends run {}", config.namespace()), sessions)?;
        runtime()?.block_on(async {
            migrate::check(&store).await?;
            // Before the namespace is made: it is immutable, and a wrong manifest would make it wrong for ever.
            accept(&kafka, &settings).await?;
            let journal = self.journal.as_deref().map(|path| Journal::open(path, &settings)).transpose();
            let journal = journal.map_err(Failed::usage)?;
            let namespace = namespace::open(&store, &manifest, LEDGER).await?;
            let owner = process_name();
            info!(
                namespace = namespace.name,
                topic = settings.topic,
                group = namespace.group_id(),
                lanes,
                owner,
                "starting"
            );
            let pipeline = kafka::Pipeline {
                settings: kafka,
                topic: settings.topic.clone(),
                group: namespace.group_id(),
                batch_records: settings.batch_records,
                batch_bytes: settings.batch_bytes,
            };
            let topic = settings.topic.clone();
            let into = Pipeline::ledger(&namespace, manifest.clone(), owner, self.batch_effects);
            let worker = Worker::start(settings, pipeline, store, into, journal)?;
            match worker.run().await {
                Ended::Stopped(reason) if reason.is_orderly() => {
                    info!(code = reason.code(), "{reason}");
                    Ok(ExitCode::SUCCESS)
                }
                // Not by the log, which may be switched off.
                Ended::Stopped(reason) => Err(Failed::new(reason.code(), format!("{topic}: {reason}"))),
                Ended::AtOnce(code) => Ok(ExitCode::from(code)),
            }
        })
    }
}

/// Looks at the source once before anything is joined, so that a wrong manifest is refused at the terminal. The
/// reducer looks again before it accepts an assignment.
async fn accept(kafka: &kafka::Settings, settings: &Settings) -> Result<(), Failed> {
    let (kafka, topic, declared) = (kafka.clone(), settings.topic.clone(), settings.source);
    let looked = tokio::task::spawn_blocking(move || {
        let source = Source::new(&kafka, &topic)?;
        look(&source, CheckParts::Bounds, ACCEPT, |sight| Objection::check(&declared.judge(sight)))
            .map_err(|unseen| unseen.fails("source refused").so("nothing was started"))
    });
    looked.await.map_err(|error| Failed::new("broken", format!("could not look at the source: {error}")))?
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("it must be at least 1".to_owned()),
        Ok(number) => Ok(number),
        Err(_) => Err("it is no number of rows".to_owned()),
    }
}
