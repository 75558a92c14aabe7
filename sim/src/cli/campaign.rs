//! `cargo sim campaign`: many worlds, and whether enough was seen in them.

use std::io::{self, Write};
use std::ops::Range;
use std::process::ExitCode;
use std::time::Duration;

use amends_sim::campaign::Campaign;
use amends_sim::run::Tier;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};

/// Live many seeds and count
///
/// Exits with 1 when a property is broken, when two lives of one seed differ, or when something that must be seen was
/// not.
#[derive(Args)]
#[command(after_help = "Example:\n  cargo sim campaign --tier a --seeds 0..100000 --jobs 2")]
pub(crate) struct Run {
    /// Which seeds, the last excluded
    #[arg(long, value_name = "A..B", value_parser = seeds)]
    seeds: Range<u64>,
    /// How much of production runs in each world
    #[arg(long, value_enum, default_value_t = Tier::B)]
    tier: Tier,
    /// How many worlds side by side [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// Begin no world after this
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    time: Option<Duration>,
    /// Print the last line as JSON
    #[arg(long)]
    json: bool,
}

impl Run {
    pub(crate) fn run(self) -> io::Result<ExitCode> {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        let jobs = self.jobs.map_or_else(cores, usize::from);
        let bar = ProgressBar::new(self.seeds.end - self.seeds.start);
        if let Ok(style) =
            ProgressStyle::with_template("{wide_bar} {pos}/{len} worlds, {per_sec}, {eta} left")
        {
            bar.set_style(style);
        }
        let campaign = Campaign { tier: self.tier, seeds: self.seeds, jobs, time: self.time };
        let tally = campaign.run(&|done| bar.set_position(done));
        bar.finish_and_clear();
        let mut out = io::stdout().lock();
        for shown in &tally.shown {
            writeln!(out, "{shown}")?;
        }
        for missed in &tally.missed {
            writeln!(out, "missed: {missed}")?;
        }
        if self.json {
            writeln!(out, "{}", serde_json::to_string(&tally).unwrap_or_default())?;
        } else {
            writeln!(out, "{tally}")?;
        }
        Ok(if tally.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

fn seeds(text: &str) -> Result<Range<u64>, String> {
    let parsed = text.split_once("..").and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
    match parsed {
        Some((from, to)) if from < to => Ok(from..to),
        Some(_) => Err("there is no seed in it: the second number must be the larger one".to_owned()),
        None => Err("two numbers with .. between them, such as 0..1000".to_owned()),
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let number = text
        .strip_suffix('s')
        .unwrap_or(text)
        .parse()
        .map_err(|_| "a number of seconds, such as 60s".to_owned())?;
    Ok(Duration::from_secs(number))
}
