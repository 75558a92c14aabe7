//! Knows what the model of PostgreSQL and PostgreSQL itself must both do: cases, and the answers of a real server.
//!
//! A case is `fixtures/contract/NAME.case`; [`case`] says how it is written. Beside it lies `NAME.answers`: what a real
//! server replied to each step and what then stood in its tables, with the digest of every text that was said. A case is
//! played through the production store and client only, so that one and the same code meets both servers.

mod answers;
mod case;
mod live;
mod operation;
mod play;
mod session;
mod shown;
mod simulated;
mod statement;

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use answers::Answers;
pub use answers::Difference;
use case::Step;
use live::Live;
use play::{Played, play};

/// One case with its stored answers.
pub struct Case {
    name: String,
    steps: Vec<Step>,
    /// `None` before its first live run.
    stored: Option<Answers>,
    path: PathBuf,
}

/// What became of one case. Prints as a line, and two more when the answers differ.
#[derive(Debug)]
pub struct Verdict {
    /// The case's name.
    pub case: String,
    /// How many steps it has.
    pub steps: usize,
    /// Where it parts from the stored answers.
    pub difference: Option<Difference>,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { case, steps, difference } = self;
        match difference {
            None => write!(f, "{case}: {steps} steps, as stored"),
            Some(difference) => write!(f, "{case}: differs at {difference}"),
        }
    }
}

/// The cases of this repository, by name.
///
/// # Errors
/// When one cannot be read; the text names it.
pub fn cases() -> Result<Vec<Case>, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/contract");
    let trouble = |error: std::io::Error| format!("could not read the contract cases: {error}");
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(trouble)? {
        let path = entry.map_err(trouble)?.path();
        if path.extension().is_some_and(|extension| extension == "case") {
            paths.push(path);
        }
    }
    paths.sort();
    paths.into_iter().map(Case::read).collect()
}

impl Case {
    fn read(path: PathBuf) -> Result<Self, String> {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text =
            fs::read_to_string(&path).map_err(|error| format!("could not read case {name}: {error}"))?;
        let steps = case::parse(&text).map_err(|why| format!("could not read case {name}: {why}"))?;
        let path = path.with_extension("answers");
        let stored = fs::read_to_string(&path).ok().map(Answers);
        Ok(Self { name, steps, stored, path })
    }

    /// The names of the statements that it says itself; what its stores say besides is their business.
    #[must_use]
    pub fn statements(&self) -> BTreeSet<&str> {
        answers::spoken(&self.steps)
    }

    /// The tables in which it left a row.
    #[must_use]
    pub fn tables(&self) -> BTreeSet<&str> {
        self.stored.iter().flat_map(Answers::tables).collect()
    }

    /// Holds what was played against what is stored, and the texts of then against those of today.
    fn judge(&self, played: &str) -> Verdict {
        let absent = || Difference {
            step: "its start".to_owned(),
            stored: "nothing: it was never played live".to_owned(),
            answered: played.lines().next().unwrap_or_default().to_owned(),
        };
        let difference = match &self.stored {
            Some(stored) => stored.stale(&self.steps).or_else(|| stored.difference(played)),
            None => Some(absent()),
        };
        Verdict { case: self.name.clone(), steps: self.steps.len(), difference }
    }

    /// Plays it against a real PostgreSQL, and keeps its answers when `is_blessed`.
    async fn live(&mut self, server: &str, number: usize, is_blessed: bool) -> Result<Verdict, String> {
        let live = Live::make(server, number).await?;
        let played = play(&live, &self.steps).await;
        let version = live.version().await;
        live.drop().await?;
        let Played { text, stopped } = played?;
        if is_blessed {
            if let Some(why) = stopped {
                return Err(why);
            }
            let answers = Answers::new(&version?, &self.steps, &text);
            fs::write(&self.path, &answers.0)
                .map_err(|error| format!("could not keep the answers: {error}"))?;
            self.stored = Some(answers);
        }
        Ok(self.judge(&text))
    }
}

/// Plays all cases against the model of PostgreSQL, each in a world of its own. `said` hears each verdict as soon as it
/// is there.
///
/// # Errors
/// When a case cannot be read or played; the text names it.
pub fn run_simulated(mut said: impl FnMut(&Verdict)) -> Result<(), String> {
    for case in cases()? {
        let played = simulated::play_alone(&case.steps);
        let played = played.map_err(|why| format!("could not play {}: {why}", case.name))?;
        said(&case.judge(&played.text));
    }
    Ok(())
}

/// Plays all cases against the real PostgreSQL of a URL, each in a database of its own, which is dropped. With
/// `is_blessed` its answers become the stored ones. `said` hears each verdict as soon as it is there.
///
/// # Errors
/// When no server answers, or a case cannot be read or played; the text names it.
pub fn run_live(server: &str, is_blessed: bool, mut said: impl FnMut(&Verdict)) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| error.to_string())?.block_on(async {
        for (number, mut case) in cases()?.into_iter().enumerate() {
            let verdict = case.live(server, number, is_blessed).await;
            said(&verdict.map_err(|why| format!("could not play {}: {why}", case.name))?);
        }
        Ok(())
    })
}
