//! `cargo sim contract`: what the model of PostgreSQL and PostgreSQL itself must both do.

use std::io::{self, Write};
use std::process::ExitCode;

use amends_sim::contract::{Verdict, run_live, run_simulated};
use clap::Args;

use super::complain;

/// Hold the contract cases' stored answers against the model of PostgreSQL, or against a real one
#[derive(Args)]
#[command(after_help = "Example:\n  cargo sim contract --live postgres://amends:…@127.0.0.1:15432/amends")]
pub(crate) struct Contract {
    /// The real server; each case gets a database of its own there, which is dropped
    #[arg(long, value_name = "URL")]
    live: Option<String>,
    /// Keep what the real server answers
    #[arg(long, requires = "live")]
    bless: bool,
}

impl Contract {
    pub(crate) fn run(self) -> io::Result<ExitCode> {
        let (mut cases, mut differ) = (0, 0);
        let said = |verdict: &Verdict| {
            // Every case is played to its end; the last line finds out whether anybody reads.
            let _ = writeln!(io::stdout(), "{verdict}");
            cases += 1;
            differ += u32::from(verdict.difference.is_some());
        };
        let run = match &self.live {
            Some(url) => run_live(url, self.bless, said),
            None => run_simulated(said),
        };
        if let Err(why) = run {
            complain(why);
            return Ok(ExitCode::FAILURE);
        }
        writeln!(io::stdout(), "contract: cases={cases} differ={differ}")?;
        Ok(if differ == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}
