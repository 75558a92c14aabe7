//! `cargo sim replay`: the journal of a worker, step by step through the reducer of today.

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal, Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use amends_core::journal::{Replay, ReplayError, Replayed};
use clap::Args;

use super::complain;

/// A step names offsets as runs, so a line is short; a longer one is no line of a journal.
const LINE_BYTES: u64 = 64 << 20;
/// How often progress is shown on a terminal.
const SAY_EVERY: Duration = Duration::from_millis(250);

/// Feed a journal's events to the reducer and compare its commands, byte for byte
///
/// The journal of any run will do, also of production: `amends run --journal FILE`. Exits with 0 when all commands are
/// equal, with 1 and the first step that differs when they are not, and with 2 when the file is no journal.
#[derive(Args)]
#[command(after_help = "Example:\n  cargo sim replay stock.journal")]
pub(crate) struct ReplayFile {
    /// The journal
    journal: PathBuf,
}

impl ReplayFile {
    pub(crate) fn run(self) -> io::Result<ExitCode> {
        let path = self.journal.display();
        let mut out = io::stdout().lock();
        let code = match self.replay() {
            Ok(Replayed { runs, steps, torn }) => {
                let left_out = if torn == 0 {
                    String::new()
                } else {
                    format!(", {} left out", counted(torn, "torn line"))
                };
                let steps = counted(steps, "step");
                let runs = counted(runs, "run");
                writeln!(out, "replayed {steps} in {runs}, all commands equal{left_out}")?;
                ExitCode::SUCCESS
            }
            Err(Trouble::Replay(error @ ReplayError::Differs { .. })) => {
                writeln!(out, "{path}: {error}")?;
                ExitCode::FAILURE
            }
            Err(Trouble::Replay(error @ ReplayError::Unreadable { .. })) => {
                complain(format!("could not replay {path}: {error}"));
                ExitCode::from(2)
            }
            Err(Trouble::File(why)) => {
                complain(format!("could not replay {path}: {why}"));
                ExitCode::from(2)
            }
        };
        Ok(code)
    }

    fn replay(&self) -> Result<Replayed, Trouble> {
        let file = File::open(&self.journal).map_err(|error| Trouble::File(error.to_string()))?;
        let size = file.metadata().map_or(0, |metadata| metadata.len());
        let mut lines = Lines { file: BufReader::new(file), number: 0, bytes: 0 };
        let mut progress = Progress::of(size);
        let header = lines.next()?.ok_or_else(|| Trouble::File("it is empty".to_owned()))?;
        let mut replay = Replay::begin(&header)?;
        while let Some(line) = lines.next()? {
            replay.line(&line)?;
            progress.show(lines.number, lines.bytes);
        }
        progress.clear();
        Ok(replay.end())
    }
}

fn counted(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

enum Trouble {
    File(String),
    Replay(ReplayError),
}

impl From<ReplayError> for Trouble {
    fn from(error: ReplayError) -> Self {
        Self::Replay(error)
    }
}

/// The lines of a file, in bounded memory.
struct Lines {
    file: BufReader<File>,
    number: u64,
    bytes: u64,
}

impl Lines {
    fn next(&mut self) -> Result<Option<String>, Trouble> {
        self.number += 1;
        let trouble = |why: &dyn std::fmt::Display| Trouble::File(format!("line {}: {why}", self.number));
        let mut line = Vec::new();
        let read = self.file.by_ref().take(LINE_BYTES + 1).read_until(b'\n', &mut line);
        let read = u64::try_from(read.map_err(|error| trouble(&error))?).unwrap_or(u64::MAX);
        if read > LINE_BYTES {
            return Err(trouble(&format!("it is longer than {LINE_BYTES} bytes")));
        }
        self.bytes += read;
        if line.last() == Some(&b'\n') {
            line.pop();
        }
        let text = String::from_utf8(line).map_err(|_| trouble(&"it is not UTF-8"))?;
        Ok((read > 0).then_some(text))
    }
}

/// How far the replay is, on a terminal only.
struct Progress {
    size: u64,
    shown: Option<Instant>,
}

impl Progress {
    fn of(size: u64) -> Self {
        Self { size, shown: std::io::stderr().is_terminal().then(Instant::now) }
    }

    fn show(&mut self, lines: u64, bytes: u64) {
        if self.shown.is_some_and(|shown| shown.elapsed() >= SAY_EVERY) {
            self.shown = Some(Instant::now());
            let hundredths = (bytes * 100).checked_div(self.size).unwrap_or(100);
            self.say(&format!("\rreplayed {lines} lines, {hundredths} of 100"));
        }
    }

    fn clear(&self) {
        if self.shown.is_some() {
            self.say("\r\x1b[K");
        }
    }

    /// Nothing depends on a line of progress.
    fn say(&self, text: &str) {
        let _ = io::stderr().write_all(text.as_bytes());
    }
}
