//! `amends migrate`: brings the schema to the version that this program was built for.

use std::fmt::Write as _;
use std::process::ExitCode;

use amends_store::migrate;
use clap::Args;

use super::{Failed, print, runtime, store};

/// Bring the database's schema up to date
///
/// Applies what is pending, one program at a time, and prints the name of each migration that it applied. Migrations go
/// up only. A database that is up to date is left alone.
#[derive(Args)]
#[command(after_help = "Example:\n  AMENDS_DATABASE_URL=postgres://amends:…@127.0.0.1:15432/amends \\\n  \
                        amends migrate")]
pub(super) struct Migrate {
    /// Apply nothing, only show what is pending
    #[arg(long, visible_alias = "dry-run")]
    pending: bool,
}

impl Migrate {
    pub(super) fn run(self) -> Result<ExitCode, Failed> {
        let store = store("amends migrate", 1)?;
        let (word, names) = runtime()?.block_on(async {
            if self.pending {
                migrate::pending(&store).await.map(|names| ("pending", names))
            } else {
                migrate::apply(&store).await.map(|names| ("applied", names))
            }
        })?;
        if names.is_empty() {
            return print("the schema is up to date\n");
        }
        let mut text = String::new();
        for name in names {
            // Writing to a String does not fail.
            let _ = writeln!(text, "{word} {name}");
        }
        print(&text)
    }
}
