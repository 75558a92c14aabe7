//! `amends source`: the verbs that make a source topic and fill it.

use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::Failed;

mod create;
mod load;
mod load_file;
mod tally;

/// Create a source topic, or load records into it
#[derive(Args)]
#[command(subcommand_value_name = "VERB", subcommand_help_heading = "Verbs")]
#[command(
    after_help = "Example:\n  amends source create --namespace demo --topic demo-source --out demo.manifest.json\n  \
                        amends source load --manifest demo.manifest.json --file fixtures/before.jsonl"
)]
pub(super) struct Source {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Create(create::Create),
    Load(load::Load),
}

impl Source {
    pub(super) fn run(self) -> Result<ExitCode, Failed> {
        match self.verb {
            Verb::Create(verb) => verb.run(),
            Verb::Load(verb) => verb.run(),
        }
    }
}
