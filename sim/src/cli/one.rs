//! `cargo sim --seed N`: one world, first in its process.

use std::process::ExitCode;

use amends_sim::faults::Schedule;
use amends_sim::run::{Lived, Stage, Tier, live};
use clap::Args;

/// One world from one number.
#[derive(Args)]
pub(crate) struct One {
    /// The world's number
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// How much of production runs in it
    #[arg(long, value_enum, default_value_t = Tier::A, requires = "seed")]
    tier: Tier,
    /// Print every step
    #[arg(long, requires = "seed")]
    trace: bool,
    /// Print everything that the world was made from, as JSON
    #[arg(long, requires = "seed")]
    json: bool,
}

impl One {
    pub(crate) fn run(&self) -> ExitCode {
        let Some(seed) = self.seed else { return ExitCode::from(2) };
        let schedule = Schedule::draw(seed);
        let options = serde_json::to_string_pretty(&schedule).unwrap_or_default();
        if self.json {
            println!("{options}");
        }
        let lived = match live(self.tier, Stage::Drawn(schedule), true) {
            Ok(lived) => lived,
            Err(error) => {
                eprintln!("could not live seed {seed}: {error}");
                return ExitCode::FAILURE;
            }
        };
        if self.trace {
            print!("{}", lived.trace);
        }
        let Lived { violation, steps, struck, .. } = lived;
        match violation {
            Some(violation) => {
                println!("seed {seed}: {violation}");
                ExitCode::FAILURE
            }
            None => {
                println!(
                    "seed {seed}: nothing broken in {steps} facts, {} kinds of fault struck",
                    struck.len()
                );
                ExitCode::SUCCESS
            }
        }
    }
}
