//! `cargo sim --seed N`: one world, first in its process.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use amends_sim::run::{Lived, Stage, Tier, live};
use amends_sim::scenario::marked;
use clap::Args;

use super::complain;
use super::run::{read, wrong};

/// One world from one number.
#[derive(Args)]
pub(crate) struct One {
    /// The world's number
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// The scenario that is told in it
    #[arg(long, value_name = "FILE", requires = "seed")]
    scenario: Option<PathBuf>,
    /// How much of production runs in it
    #[arg(long, value_enum, default_value_t = Tier::B, requires = "seed")]
    tier: Tier,
    /// Print every step
    #[arg(long, requires = "seed")]
    trace: bool,
    /// Print everything that the world was made from, as JSON
    #[arg(long, requires = "seed")]
    json: bool,
}

impl One {
    pub(crate) fn run(&self) -> io::Result<ExitCode> {
        let Some(seed) = self.seed else { return Ok(ExitCode::from(2)) };
        let stage = match self.scenario.as_deref().map(read).transpose() {
            Ok(None) => Stage::Drawn(marked::draw(seed)),
            Ok(Some(scenario)) => Stage::Told(Arc::new(scenario), seed),
            Err(why) => {
                complain(why);
                return Ok(ExitCode::from(2));
            }
        };
        let mut out = io::stdout().lock();
        if self.json {
            match serde_json::to_string_pretty(&stage.schedule()) {
                Ok(options) => writeln!(out, "{options}")?,
                Err(error) => complain(format!("could not print the schedule: {error}")),
            }
        }
        let lived = match live(self.tier, stage, true) {
            Ok(lived) => lived,
            Err(error) => {
                complain(format!("could not live seed {seed}: {error}"));
                return Ok(ExitCode::FAILURE);
            }
        };
        if self.trace {
            out.write_all(lived.trace.as_bytes())?;
        }
        let file = self.scenario.as_deref().unwrap_or(Path::new(""));
        if let Some(why) = wrong(file, &lived) {
            writeln!(out, "seed {seed}: {why}")?;
            return Ok(ExitCode::FAILURE);
        }
        let Lived { steps, struck, .. } = lived;
        let kinds = struck.len();
        writeln!(out, "seed {seed}: nothing broken in {steps} facts, {kinds} kinds of fault struck")?;
        Ok(ExitCode::SUCCESS)
    }
}
