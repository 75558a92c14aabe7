//! Knows the command line: which verbs there are, what they share, and how a failure reaches the person.

use std::fmt::Display;
use std::fs;
use std::io::{self, ErrorKind, IsTerminal as _, Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use amends_core::lifecycle::event::Failure;
use amends_core::source::manifest::Manifest;
use amends_store::{Store, StoreError, Target};
use clap::{Args, Parser, Subcommand};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::prelude::*;

use crate::env::TokioEnvironment;
use crate::kafka;

mod demo;
mod export;
mod inspect;
mod look;
mod migrate;
mod run;
mod source;

/// A manifest is a page, not a library: a longer file is the wrong file.
const MANIFEST_BYTES: u64 = 16 << 20;

/// Kafka topics into PostgreSQL, exactly once in effect
///
/// Verbs that touch PostgreSQL find it in AMENDS_DATABASE_URL. What a verb found is printed on stdout, everything else
/// on stderr. Exit codes: 0 done, 1 tried and failed, 2 a mistake of usage or configuration.
#[derive(Parser)]
#[command(name = "amends", version, propagate_version = true, max_term_width = 100)]
#[command(subcommand_value_name = "VERB", subcommand_help_heading = "Verbs")]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

/// In the order in which a person needs them.
#[derive(Subcommand)]
enum Verb {
    Demo(demo::Demo),
    Migrate(migrate::Migrate),
    Source(source::Source),
    Run(run::Run),
    Inspect(inspect::Inspect),
    Export(export::Export),
}

/// Where the brokers are, and how to speak to them.
#[derive(Args, Clone)]
struct BrokerArgs {
    /// Brokers to ask first, as HOST:PORT,…
    #[arg(long, env = "AMENDS_BROKERS", default_value = "127.0.0.1:19092", value_name = "LIST")]
    brokers: String,
    /// A librdkafka property, such as security.protocol=SASL_SSL; may be repeated
    #[arg(short = 'X', value_name = "KEY=VALUE")]
    overrides: Vec<String>,
}

impl BrokerArgs {
    fn settings(&self) -> Result<kafka::Settings, Failed> {
        let parsed: Result<Vec<_>, _> =
            self.overrides.iter().map(|text| kafka::Settings::parse_override(text)).collect();
        let settings = parsed.and_then(|overrides| kafka::Settings::new(&self.brokers, overrides));
        settings.map_err(Failed::usage)
    }
}

/// The environment variable that names the database. Not an argument: everybody who lists processes sees those.
const DATABASE_URL: &str = "AMENDS_DATABASE_URL";

/// PostgreSQL, as the environment names it; nothing is connected yet.
fn store(name: &str, sessions: usize) -> Result<Store<TokioEnvironment>, Failed> {
    let url = std::env::var(DATABASE_URL).map_err(|_| {
        Failed::usage(format!("{DATABASE_URL} is not set; it is postgres://USER:PASSWORD@HOST:PORT/DATABASE"))
    })?;
    let target = Target::parse(&url).map_err(|error| Failed::usage(format!("{DATABASE_URL}: {error}")))?;
    let settings = amends_store::Settings { application_name: name.to_owned(), sessions };
    Ok(Store::new(TokioEnvironment::new(), target, settings))
}

/// Which source, into which namespace.
#[derive(Args, Clone)]
struct ManifestArg {
    /// The manifest that `amends source create` printed
    #[arg(long, value_name = "FILE")]
    manifest: PathBuf,
}

impl ManifestArg {
    fn read(&self) -> Result<Manifest, Failed> {
        let bytes = read_file(&self.manifest, MANIFEST_BYTES)?;
        Manifest::parse(&bytes).map_err(|error| {
            Failed::usage(format!("{}: {error}; nothing was started", self.manifest.display()))
        })
    }
}

/// A whole file that a person named, within a bound.
fn read_file(path: &Path, at_most: u64) -> Result<Vec<u8>, Failed> {
    let unreadable = |why: &dyn Display| Failed::usage(format!("could not read {}: {why}", path.display()));
    let file = fs::File::open(path).map_err(|error| unreadable(&error))?;
    let mut bytes = Vec::new();
    file.take(at_most + 1).read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > at_most) {
        return Err(unreadable(&format!("it is longer than {at_most} bytes")));
    }
    Ok(bytes)
}

/// Why a verb ended without doing what was asked.
#[derive(Debug)]
struct Failed {
    /// 1: it was tried; 2: it was never begun.
    exit: u8,
    code: &'static str,
    text: String,
}

impl Failed {
    /// A mistake of usage or configuration.
    fn usage(text: impl Display) -> Self {
        Self { exit: 2, code: "usage", text: text.to_string() }
    }

    fn new(code: &'static str, text: impl Display) -> Self {
        Self { exit: 1, code, text: text.to_string() }
    }

    /// Adds what happens now.
    fn so(mut self, then: impl Display) -> Self {
        self.text = format!("{}; {then}", self.text);
        self
    }
}

impl From<StoreError> for Failed {
    fn from(error: StoreError) -> Self {
        Self::new(error.code(), error)
    }
}

impl From<Failure> for Failed {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Unreached(why) | Failure::Again(why) => Self::new("again", why),
            Failure::Broken(why) => Self::new("broken", why),
        }
    }
}

/// Runs the verb that the arguments name.
#[must_use]
pub fn main() -> ExitCode {
    // Clap ends the process itself with 2 after a mistake of usage, and with 0 after --help.
    let cli = Cli::parse();
    if let Err(failed) = log() {
        return report(&failed);
    }
    let done = match cli.verb {
        Verb::Migrate(verb) => verb.run(),
        Verb::Source(verb) => verb.run(),
        Verb::Run(verb) => verb.run(),
        Verb::Inspect(verb) => verb.run(),
        Verb::Export(verb) => verb.run(),
        Verb::Demo(verb) => verb.run(),
    };
    match done {
        Ok(code) => code,
        Err(failed) => report(&failed),
    }
}

fn report(failed: &Failed) -> ExitCode {
    complain(&format!("{}    code={}\n", failed.text, failed.code));
    ExitCode::from(failed.exit)
}

/// Logs go to stderr: what a verb prints on stdout is for other programs.
fn log() -> Result<(), Failed> {
    let wanted = std::env::var("AMENDS_LOG").ok().filter(|wanted| !wanted.is_empty());
    let wanted = wanted.unwrap_or_else(|| "info".to_owned());
    // A lone word that is no level would be read as a target, and nothing else would be logged.
    let odd = wanted.split(',').find(|part| !part.contains('=') && part.parse::<LevelFilter>().is_err());
    let targets = match odd {
        Some(odd) => Err(format!("{odd:?} is no level")),
        None => wanted.parse::<Targets>().map_err(|error| error.to_string()),
    };
    let targets = targets.map_err(|why| {
        Failed::usage(format!(
            "AMENDS_LOG: {why}; it is a level such as info, or a list such as amends=debug,warn"
        ))
    })?;
    let is_coloured =
        io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|no| no.is_empty());
    let lines =
        tracing_subscriber::fmt::layer().with_writer(io::stderr).with_target(false).with_ansi(is_coloured);
    tracing_subscriber::registry().with(lines.with_filter(targets)).init();
    Ok(())
}

/// The runtime of the verbs that wait for services.
fn runtime() -> Result<tokio::runtime::Runtime, Failed> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failed::new("broken", format!("could not start threads: {error}")))
}

/// Prints what a verb found, as the last that it does.
fn print(text: &str) -> Result<ExitCode, Failed> {
    say(text)?;
    Ok(ExitCode::SUCCESS)
}

/// Says something on stdout. A reader that has gone has what it wanted.
fn say(text: &str) -> Result<(), Failed> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(unprinted(&error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Says on stderr what went wrong; if nobody reads that either, the exit code is left.
fn complain(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

fn unprinted(error: &io::Error) -> Failed {
    Failed::new("output", format!("could not write to stdout: {error}"))
}

/// Who this is, for people: `host:pid`.
fn process_name() -> String {
    let host = std::env::var("HOSTNAME").ok().filter(|name| !name.is_empty());
    let host = host.or_else(|| fs::read_to_string("/proc/sys/kernel/hostname").ok()).unwrap_or_default();
    let host = if host.trim().is_empty() { "localhost" } else { host.trim() };
    format!("{host}:{}", std::process::id())
}
