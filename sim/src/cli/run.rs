//! `cargo sim run`: scenario files, every seed that they name.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use amends_sim::run::{Lived, Stage, Tier, difference, live};
use amends_sim::scenario::Scenario;
use clap::Args;

use super::complain;

/// Live scenario files with every seed that they name
///
/// The trace of each first seed is held against the one that is stored beside the file. Exits with 1 when a property is
/// broken, an expectation is not met or a trace differs, and with 2 when a file cannot be read or is no scenario.
#[derive(Args)]
#[command(after_help = "Example:\n  cargo sim run scenarios/*.scenario")]
pub(crate) struct Run {
    /// The files
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// How much of production runs in each world
    #[arg(long, value_enum, default_value_t = Tier::B)]
    tier: Tier,
    /// At most so many seeds of each
    #[arg(long, value_name = "N")]
    seeds: Option<u64>,
}

impl Run {
    pub(crate) fn run(self) -> io::Result<ExitCode> {
        let mut out = io::stdout().lock();
        let mut failed = 0;
        for file in &self.files {
            let scenario = match read(file) {
                Ok(scenario) => Arc::new(scenario),
                Err(why) => {
                    complain(why);
                    return Ok(ExitCode::from(2));
                }
            };
            let seeds = scenario.seeds().end.min(self.seeds.unwrap_or(u64::MAX));
            match self.tell(file, &scenario, seeds) {
                Ok(()) => writeln!(out, "{}: {seeds} seeds, as told", file.display())?,
                Err(why) => {
                    writeln!(out, "{}: {why}", file.display())?;
                    failed += 1;
                }
            }
        }
        Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn tell(&self, file: &Path, scenario: &Arc<Scenario>, seeds: u64) -> Result<(), String> {
        for seed in 0..seeds {
            let lived = live(self.tier, Stage::Told(Arc::clone(scenario), seed), seed == 0);
            let lived = lived.map_err(|error| format!("seed {seed}: {error}"))?;
            if let Some(why) = wrong(file, &lived) {
                return Err(format!("seed {seed}: {why}"));
            }
            if seed == 0
                && self.tier == Tier::B
                && let Some(why) = difference(&stored(file), lived.trace.trim_end())
            {
                return Err(format!("seed 0: the trace is not the one that is stored, {why}"));
            }
        }
        Ok(())
    }
}

/// The trace that is stored beside a scenario, behind the head of its snapshot; empty where there is none.
fn stored(file: &Path) -> String {
    let text = std::fs::read_to_string(file.with_extension("snap")).unwrap_or_default();
    text.splitn(3, "---\n").nth(2).unwrap_or_default().trim_end().to_owned()
}

/// Reads a scenario file.
///
/// # Errors
/// What is wrong with it, as a compiler would show it.
pub(crate) fn read(file: &Path) -> Result<Scenario, String> {
    let name = file.display().to_string();
    let text = std::fs::read_to_string(file).map_err(|error| format!("could not read {name}: {error}"))?;
    Scenario::read(&text).map_err(|mistakes| {
        mistakes.iter().map(|mistake| mistake.show(&name, &text).to_string()).collect::<Vec<_>>().join("\n")
    })
}

/// What is wrong with a world that was told, if anything is.
pub(crate) fn wrong(file: &Path, lived: &Lived) -> Option<String> {
    if let Some(violation) = &lived.violation {
        return Some(violation.to_string());
    }
    let name = file.display().to_string();
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let shown: Vec<String> =
        lived.missed.iter().map(|mistake| mistake.show(&name, &text).to_string()).collect();
    (!shown.is_empty()).then(|| shown.join("\n"))
}
