//! `cargo sim`: worlds that lie around the production code, and what production decided, decided again.

use std::io::ErrorKind;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod cli;

/// Live whole worlds of the worker from one number, and replay what production did through the same reducer.
///
/// The same number gives the same world, byte for byte. Exits with 0 when nothing was broken, with 1 when a property
/// was, with 2 for a mistake in the call, with 64 when it was built without the simulation flag, and with 141 when
/// nobody reads what it prints.
#[derive(Parser)]
#[command(name = "cargo sim", bin_name = "cargo sim", version, about, max_term_width = 100)]
#[command(args_conflicts_with_subcommands = true, arg_required_else_help = true)]
struct Cli {
    #[command(flatten)]
    one: cli::one::One,
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Subcommand)]
enum Verb {
    Run(cli::run::Run),
    Campaign(cli::campaign::Run),
    #[cfg(madsim)]
    Contract(cli::contract::Contract),
    Replay(cli::replay::ReplayFile),
}

/// Built without the simulation flag: whatever ran here would not be the simulated program.
const NOT_SIMULATED: u8 = 64;
/// What a shell says of a program that SIGPIPE ended. It is no 0: what was found was not told.
const UNREAD: u8 = 141;

fn main() -> ExitCode {
    if !cfg!(madsim) {
        cli::complain(
            "could not run: built without `--cfg madsim`, which .cargo/config.toml sets; a RUSTFLAGS variable, even an \
             empty one, switches it off: unset it",
        );
        return ExitCode::from(NOT_SIMULATED);
    }
    let Cli { one, verb } = Cli::parse();
    let done = match verb {
        None => one.run(),
        Some(Verb::Run(verb)) => verb.run(),
        Some(Verb::Campaign(verb)) => verb.run(),
        #[cfg(madsim)]
        Some(Verb::Contract(verb)) => verb.run(),
        Some(Verb::Replay(verb)) => verb.run(),
    };
    match done {
        Ok(code) => code,
        Err(error) if error.kind() == ErrorKind::BrokenPipe => ExitCode::from(UNREAD),
        Err(error) => {
            cli::complain(format!("could not write to stdout: {error}"));
            ExitCode::FAILURE
        }
    }
}
