//! `cargo sim`: what production decided, decided again.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod replay;

/// Replay what production did through the same reducer.
#[derive(Parser)]
#[command(name = "cargo sim", bin_name = "cargo sim", version, about, long_about = None, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Replay(replay::ReplayFile),
}

/// Built without the simulation flag: whatever ran here would not be the simulated program.
const NOT_SIMULATED: u8 = 64;

fn main() -> ExitCode {
    if !cfg!(madsim) {
        eprintln!(
            "could not run: built without `--cfg madsim`, which .cargo/config.toml sets; a RUSTFLAGS variable, even an \
             empty one, switches it off: unset it"
        );
        return ExitCode::from(NOT_SIMULATED);
    }
    match Cli::parse().verb {
        Verb::Replay(verb) => verb.run(),
    }
}
