//! `amends source load`: publishes the lines of a file in their order, under the guard of the source.

use std::io::{self, BufWriter, IsTerminal as _, Stdout, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use amends_core::lifecycle::command::CheckParts;
use amends_core::source::boundary::Declared;
use amends_core::source::manifest::Manifest;
use amends_store::guard::Guard;
use clap::Args;
use tokio::signal::unix::{SignalKind, signal};
use tracing::{info, warn};

use super::super::look::{Objection, Patience, Unseen, look};
use super::load_file::LoadFile;
use super::tally::Tally;
use crate::cli::{BrokerArgs, Failed, ManifestArg, process_name, runtime, store, unprinted};
use crate::env::TokioEnvironment;
use crate::kafka::{Outcome, Publisher, Report, Source};

/// Every record has its outcome after this.
const DELIVERY: Duration = Duration::from_secs(30);

/// The guard is probed after so many records.
const PROBE_EVERY: u64 = 1_000;

/// So much is under way at most: it bounds the memory, and what may still land after a stop.
const WAITING_LINES: usize = 10_000;
const WAITING_BYTES: usize = 32 << 20;

/// How long a full window is left alone.
const NAP: Duration = Duration::from_millis(2);

const BEFORE: Patience = Patience { objected: Duration::from_secs(5), failed: Duration::ZERO };
const AFTER: Patience = Patience { objected: Duration::from_secs(10), failed: Duration::from_secs(5) };

/// Publish the records of a file to the source topic
///
/// A line is {"key": {…} or null, "value": {…}}, or {"raw_key_base64": …, "raw_value_base64": …, "partition": …} for a
/// record that must be malformed on purpose. The whole file is checked before its first record is published; then one
/// line per record says where it lies, in the order of the file. Loading a file again is safe: the ledger knows what it
/// has seen. Meanwhile no verification and no other load of this source can run.
#[derive(Args)]
#[command(after_help = "Example:\n  AMENDS_DATABASE_URL=postgres://amends:…@127.0.0.1:15432/amends \\\n  \
                        amends source load --manifest demo.manifest.json --file fixtures/before.jsonl")]
pub(super) struct Load {
    #[command(flatten)]
    manifest: ManifestArg,
    /// The records, one a line
    #[arg(long, value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    brokers: BrokerArgs,
}

impl Load {
    pub(super) fn run(self) -> Result<ExitCode, Failed> {
        let manifest = self.manifest.read()?;
        let kafka = self.brokers.settings()?;
        let topic = manifest.source_topic();
        let name = format!("amends load {topic} {}", process_name());
        let store = store(&name, 1)?;
        let mut file = LoadFile::check(&self.file, manifest.config())?;
        runtime()?.block_on(async {
            let nothing = |failed: Failed| failed.so("nothing was published");
            let config = manifest.config();
            let guard = Guard::exclusive(&store, config.source_incarnation(), &name).await;
            let guard = guard.map_err(|error| nothing(error.into()))?;
            let source = Source::new(&kafka, topic)?;
            compare(&manifest, &source, BEFORE)
                .map_err(|unseen| nothing(unseen.fails(&format!("source refused: topic {topic}"))))?;
            let publisher = Publisher::open(&kafka, topic, DELIVERY)?;
            let tally = Tally::new(topic, BufWriter::new(io::stdout()));
            let stop = listen()?;
            let began = Instant::now();
            let mut loading = Loading { manifest: &manifest, publisher, tally, stop, guard: &guard };
            let stopped = loading.publish(&mut file).await.err();
            let Loading { publisher, mut tally, .. } = loading;
            tally.take(publisher.finish());
            let lines = file.count() as u64;
            let ended = end(&manifest, &source, &guard, &tally, stopped, lines).await;
            // Not before every record has its outcome and the source was seen again.
            guard.release();
            ended.map_err(|failed| {
                let text = format!("could not load {}: {}", self.file.display(), failed.text);
                Failed { text, ..failed }
            })?;
            info!(topic, records = lines, ms = ms(began.elapsed()), "loaded");
            Ok(ExitCode::SUCCESS)
        })
    }
}

fn ms(elapsed: Duration) -> u64 {
    u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
}

/// Holds the source against the manifest: the topic's id and its partitions. Blocks.
fn compare(manifest: &Manifest, source: &Source, patience: Patience) -> Result<(), Unseen> {
    let declared = Declared::by_ledger(manifest.config());
    look(source, CheckParts::Identity, patience, |sight| Objection::check(&declared.judge(sight)))
}

/// A load between its first record and its last.
struct Loading<'a> {
    manifest: &'a Manifest,
    publisher: Publisher,
    tally: Tally<BufWriter<Stdout>>,
    stop: Arc<AtomicBool>,
    guard: &'a Guard<TokioEnvironment>,
}

impl Loading<'_> {
    /// Gives every line to the producer, or says why it stopped. It waits on this thread; sessions and signals live on
    /// others.
    async fn publish(&mut self, file: &mut LoadFile) -> Result<(), Failed> {
        let config = self.manifest.config();
        let mut progress = Progress::new(file.count() as u64);
        let changed = |why: &dyn std::fmt::Display| {
            Failed::new("load-file", format!("the file changed after it was checked: {why}"))
        };
        let mut lines = file.lines().map_err(|error| changed(&error))?;
        while let Some(publication) = lines.next(config).map_err(|failed| changed(&failed.text))? {
            self.wait_for_room(&mut progress)?;
            let (key, value) = (publication.key.as_deref(), publication.value.as_deref());
            let bytes = key.map_or(0, <[u8]>::len) + value.map_or(0, <[u8]>::len);
            let line = self.tally.give(publication.partition, bytes);
            if let Err(failure) = self.publisher.publish(line, publication.partition, key, value) {
                let outcome = Outcome::Failed(Failed::from(failure).text);
                self.tally.take([Report { ticket: line, partition: publication.partition, outcome }]);
            }
            if line.is_multiple_of(PROBE_EVERY) {
                self.guard.probe().await.map_err(Failed::from)?;
            }
        }
        let given = self.tally.given();
        if given == progress.lines {
            Ok(())
        } else {
            Err(changed(&format!("it had {} lines and now has {given}", progress.lines)))
        }
    }

    /// Takes reports until the next line may be given. The first line that is not stored ends the load: what follows it
    /// shall not overtake it.
    fn wait_for_room(&mut self, progress: &mut Progress) -> Result<(), Failed> {
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Err(Failed::new("shutdown", "stopped by a signal"));
            }
            let reports = self.publisher.reports();
            if !reports.is_empty() {
                self.tally.take(reports);
                progress.show(self.tally.told());
            }
            if self.tally.trouble().is_some() {
                // What it was is said at the end.
                return Err(Failed::new("undelivered", "a record was not stored"));
            }
            if self.tally.waiting() < WAITING_LINES && self.tally.waiting_bytes() < WAITING_BYTES {
                return Ok(());
            }
            std::thread::sleep(NAP);
        }
    }
}

/// Judges a load of which every record has its outcome.
async fn end(
    manifest: &Manifest,
    source: &Source,
    guard: &Guard<TokioEnvironment>,
    tally: &Tally<BufWriter<Stdout>>,
    stopped: Option<Failed>,
    lines: u64,
) -> Result<(), Failed> {
    let compared = compare(manifest, source, AFTER);
    if let Err(Unseen::Objected(objection)) = compared {
        let why = format!("source refused: topic {}: {}", manifest.source_topic(), objection.why);
        return Err(
            Failed::new(objection.code, why).so("it may have taken any record, so no line is certain")
        );
    }
    // What stopped the load is said before what was found out afterwards.
    let ended = match (tally.trouble(), stopped) {
        (Some(trouble), _) => Err(Failed::new("undelivered", trouble)),
        (None, Some(stopped)) => Err(stopped),
        (None, None) => Ok(()),
    };
    if let Err(failed) = ended {
        let failed = failed.so(tally.sum(lines));
        return Err(match compared {
            Err(Unseen::Failed(unseen)) => {
                failed.so(unseen.text).so("whether the topic is still the same is not certain")
            }
            Err(Unseen::Objected(_)) | Ok(()) => {
                failed.so("load the whole file again: what is there twice changes nothing")
            }
        });
    }
    compared.map_err(|unseen| {
        unseen
            .fails("source refused")
            .so(tally.sum(lines))
            .so("whether the topic is still the same is not certain")
    })?;
    guard.probe().await.map_err(|error| {
        Failed::from(error).so(tally.sum(lines)).so("a verification that ran meanwhile has to be made again")
    })?;
    match tally.untold() {
        Some(error) => Err(unprinted(error).so(tally.sum(lines))),
        None => Ok(()),
    }
}

/// Raised by the first SIGINT or SIGTERM; the second ends the process at once.
fn listen() -> Result<Arc<AtomicBool>, Failed> {
    let unheard = |error: io::Error| Failed::new("broken", format!("could not listen for signals: {error}"));
    let mut interrupt = signal(SignalKind::interrupt()).map_err(unheard)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(unheard)?;
    let stop = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&stop);
    tokio::spawn(async move {
        loop {
            let exit = tokio::select! {
                Some(()) = interrupt.recv() => 130,
                Some(()) = terminate.recv() => 143,
                else => return,
            };
            if raised.swap(true, Ordering::Relaxed) {
                warn!(
                    code = "shutdown",
                    "a second signal: ended at once; a line without coordinates is not certain"
                );
                std::process::exit(exit);
            }
            info!(code = "shutdown", "no more is published; waiting for what is under way");
        }
    });
    Ok(stop)
}

/// A count for whoever looks on, when the lines themselves go elsewhere.
struct Progress {
    is_shown: bool,
    shown: Instant,
    lines: u64,
    drawn: bool,
}

const SHOW_EVERY: Duration = Duration::from_millis(500);

impl Progress {
    fn new(lines: u64) -> Self {
        let is_shown = io::stderr().is_terminal() && !io::stdout().is_terminal();
        Self { is_shown, shown: Instant::now(), lines, drawn: false }
    }

    fn show(&mut self, told: u64) {
        if self.is_shown && self.shown.elapsed() >= SHOW_EVERY {
            self.shown = Instant::now();
            self.drawn = true;
            // Nothing depends on it.
            let _ = write!(io::stderr(), "\r{told} of {} records stored", self.lines);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.drawn {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}
