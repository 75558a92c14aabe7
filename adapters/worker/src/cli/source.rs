//! `amends source`: the verbs that make a source topic and fill it, and what they share: looking until a broker that is
//! behind has caught up.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use amends_core::lifecycle::command::CheckParts;
use amends_core::lifecycle::event::Failure;
use amends_core::source::boundary::{Refusal, Sight, Verdict};
use clap::{Args, Subcommand};

use super::Failed;
use crate::kafka;

mod create;
mod load;
mod load_file;
mod tally;

const ASK_AGAIN_AFTER: Duration = Duration::from_millis(200);

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

/// What speaks against a sight.
struct Objection {
    /// A broker that is behind shows this too.
    may_pass: bool,
    code: &'static str,
    why: String,
}

impl Objection {
    fn of(refusal: &Refusal, may_pass: bool) -> Self {
        Self { may_pass, code: refusal.code(), why: refusal.to_string() }
    }

    /// `Ok` for a sight against which nothing speaks.
    fn check(verdict: &Verdict) -> Result<(), Self> {
        match verdict {
            Verdict::Pass => Ok(()),
            Verdict::AskAgain(refusal) => Err(Self::of(refusal, true)),
            Verdict::Refuse(refusal) => Err(Self::of(refusal, false)),
        }
    }
}

/// How long a look may last.
#[derive(Clone, Copy)]
struct Patience {
    /// With a broker that is behind.
    objected: Duration,
    /// With one that fails to answer, beyond the first failure.
    failed: Duration,
}

/// Why there is no sight that will do.
enum Unseen {
    /// The source is not what it should be.
    Objected(Objection),
    /// Nobody said what it is.
    Failed(Failed),
}

/// Looks at the source until `judge` is content or the patience ends. Blocks.
fn look<T>(
    source: &kafka::Source,
    parts: CheckParts,
    patience: Patience,
    judge: impl Fn(&Sight) -> Result<T, Objection>,
) -> Result<T, Unseen> {
    let began = Instant::now();
    loop {
        match source.look(parts).map(|sight| judge(&sight)) {
            Ok(Ok(seen)) => return Ok(seen),
            Ok(Err(objection)) if objection.may_pass && began.elapsed() < patience.objected => {}
            Ok(Err(objection)) => return Err(Unseen::Objected(objection)),
            Err(Failure::Unreached(_) | Failure::Again(_)) if began.elapsed() < patience.failed => {}
            Err(failure) => return Err(Unseen::Failed(failure.into())),
        }
        std::thread::sleep(ASK_AGAIN_AFTER);
    }
}

impl Unseen {
    /// `what` is what cannot be done over a source that is not what it should be.
    fn fails(self, what: &str) -> Failed {
        match self {
            Self::Objected(Objection { code, why, .. }) => Failed::new(code, format!("{what}: {why}")),
            Self::Failed(failed) => failed,
        }
    }
}
