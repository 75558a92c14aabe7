//! `amends export`: what a namespace holds, as JSON lines for other programs.

use std::io::{self, BufWriter, ErrorKind, Write};
use std::process::ExitCode;

use amends_store::export::{Kind, Snapshot};
use amends_store::migrate;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser as _};

use super::{Failed, ManifestArg, runtime, store, unprinted};

const OUT_BYTES: usize = 64 << 10;

/// Print evidence, positions, outbox, quarantine or frontiers as JSON lines
///
/// All lines show one moment, in a stable order and with their members in a stable order. The memory needed does not
/// grow with the number of lines.
#[derive(Args)]
#[command(after_help = "Example:\n  AMENDS_DATABASE_URL=postgres://amends:…@127.0.0.1:15432/amends \\\n  \
                        amends export --manifest demo.manifest.json positions > positions.jsonl")]
pub(super) struct Export {
    #[command(flatten)]
    manifest: ManifestArg,
    /// What to print
    #[arg(value_name = "KIND", value_parser = kinds())]
    kind: Kind,
}

fn kinds() -> impl clap::builder::TypedValueParser<Value = Kind> {
    PossibleValuesParser::new(Kind::ALL.map(Kind::as_str)).try_map(|word| word.parse::<Kind>())
}

impl Export {
    pub(super) fn run(self) -> Result<ExitCode, Failed> {
        let manifest = self.manifest.read()?;
        let store = store(&format!("amends export {}", manifest.config().namespace()), 1)?;
        runtime()?.block_on(async {
            migrate::check(&store).await?;
            let snapshot = Snapshot::open(&store, &manifest).await?;
            let mut lines = snapshot.lines(self.kind).await?;
            let mut out = BufWriter::with_capacity(OUT_BYTES, io::stdout().lock());
            while let Some(mut line) = lines.next().await? {
                line.push('\n');
                if !goes_on(out.write_all(line.as_bytes()))? {
                    return Ok(ExitCode::SUCCESS);
                }
            }
            goes_on(out.flush())?;
            drop(lines);
            snapshot.close();
            Ok(ExitCode::SUCCESS)
        })
    }
}

/// Whether somebody still reads. One who has gone has what he wanted.
fn goes_on(written: io::Result<()>) -> Result<bool, Failed> {
    match written {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(unprinted(&error)),
    }
}
