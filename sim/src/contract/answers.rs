//! Knows the stored answers of a case: what a real PostgreSQL said, and to which texts.

use std::collections::BTreeSet;
use std::fmt;

use super::case::{Act, Step};
use super::statement::digest;
use amends_store::statements::OF_A_WORKER;

/// Stored answers, as text.
pub(crate) struct Answers(pub(crate) String);

/// Where two answers to one case part.
#[derive(PartialEq, Eq, Debug)]
pub struct Difference {
    /// The step or table behind which they part.
    pub step: String,
    /// What is stored.
    pub stored: String,
    /// What was answered this time.
    pub answered: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { step, stored, answered } = self;
        write!(f, "{step}\n    stored:   {stored}\n    answered: {answered}")
    }
}

impl Answers {
    /// Writes down what a server of this version answered.
    pub(crate) fn new(version: &str, steps: &[Step], played: &str) -> Self {
        Self(format!(
            "# Of PostgreSQL {version}; written by `make contract BLESS=1`, never by hand.\n{}\n\n{played}",
            digests(steps).join("\n")
        ))
    }

    /// The first text of a statement that has changed since, or was not said then.
    pub(crate) fn stale(&self, steps: &[Step]) -> Option<Difference> {
        let (header, _) = self.parts();
        let stored: BTreeSet<&str> = header.lines().filter(|line| !line.starts_with('#')).collect();
        let now = digests(steps);
        let fresh = now.iter().find(|line| !stored.contains(line.as_str()));
        let gone = stored.iter().find(|line| !now.iter().any(|now| now == *line));
        let of = |step: &str, stored: String, answered: String| Difference {
            step: step.to_owned(),
            stored,
            answered,
        };
        let name = |line: &str| line.split(' ').next().unwrap_or_default().to_owned();
        match (fresh, gone) {
            (Some(fresh), _) => {
                let name = name(fresh);
                let old = stored.iter().find(|line| line.starts_with(&format!("{name} ")));
                Some(of(
                    &format!("the text of {name}"),
                    old.map_or("not said", |old| old).to_owned(),
                    fresh.clone(),
                ))
            }
            (None, Some(gone)) => {
                Some(of(&format!("the text of {}", name(gone)), (*gone).to_owned(), "not said".to_owned()))
            }
            (None, None) => None,
        }
    }

    /// Where what was played parts from what is stored.
    pub(crate) fn difference(&self, played: &str) -> Option<Difference> {
        let (_, stored) = self.parts();
        let (mut ours, mut theirs) = (stored.lines(), played.lines());
        let mut step = String::new();
        loop {
            match (ours.next(), theirs.next()) {
                (None, None) => return None,
                (ours, theirs) if ours == theirs => {
                    if let Some(line) = ours.and_then(|line| line.strip_prefix("> ")) {
                        step = line.to_owned();
                    }
                }
                (ours, theirs) => {
                    let side = |line: Option<&str>| line.unwrap_or("nothing more").trim().to_owned();
                    return Some(Difference { step, stored: side(ours), answered: side(theirs) });
                }
            }
        }
    }

    /// The tables in which the case left a row.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &str> {
        let (_, played) = self.parts();
        let (_, tables) = played.rsplit_once("\n\n").unwrap_or_default();
        let heads = tables.lines().filter_map(|line| line.strip_prefix("> "));
        heads.filter(|head| !head.ends_with(" is empty")).filter_map(|head| head.split(' ').next())
    }

    fn parts(&self) -> (&str, &str) {
        self.0.split_once("\n\n").unwrap_or((&self.0, ""))
    }
}

/// The names of the statements that a case says word by word.
pub(crate) fn spoken(steps: &[Step]) -> BTreeSet<&str> {
    let mut said = BTreeSet::new();
    for step in steps {
        if let Act::Say(_, lines, _) = &step.act {
            said.extend(lines.iter().map(|line| line.name.as_str()));
        }
    }
    said
}

/// The digest of each text that a case says. A store may say any.
fn digests(steps: &[Step]) -> Vec<String> {
    let mut said = spoken(steps);
    if steps.iter().any(|step| matches!(step.act, Act::Store(..))) {
        said.extend(OF_A_WORKER.iter().map(|(name, _)| *name));
    }
    said.into_iter().filter_map(digest).collect()
}

#[cfg(test)]
mod tests {
    use super::super::case::parse;
    use super::*;

    const PLAYED: &str = "> open a\n> a lock \"stock\" 0\n  1 row\n\n> head is empty\n";

    fn steps(text: &str) -> Vec<Step> {
        parse(text).expect("a case")
    }

    #[test]
    fn a_wrong_answer_is_named_with_both_sides() {
        let stored = Answers::new("18", &steps("open a\na lock \"stock\" 0"), PLAYED);
        assert_eq!(stored.difference(PLAYED), None);
        let wrong = stored.difference(&PLAYED.replace("1 row", "2 rows")).expect("a difference");
        assert_eq!(wrong.to_string(), "a lock \"stock\" 0\n    stored:   1 row\n    answered: 2 rows");
        let short = stored.difference(&PLAYED.replace("> head is empty\n", "")).expect("a difference");
        assert_eq!((&*short.stored, &*short.answered), ("> head is empty", "nothing more"));
        let long = stored.difference(&format!("{PLAYED}> outbox is empty\n")).expect("a difference");
        assert_eq!((&*long.stored, &*long.answered), ("nothing more", "> outbox is empty"));
    }

    #[test]
    fn a_changed_text_is_named() {
        let case = steps("open a\na lock \"stock\" 0");
        let stored = Answers::new("18", &case, PLAYED);
        assert_eq!(stored.stale(&case), None);
        let changed = Answers(stored.0.replace("lock 1", "lock 2"));
        assert_eq!(changed.stale(&case).expect("a difference").step, "the text of lock");
        let more = stored.stale(&steps("a lock \"stock\" 0\na begin")).expect("a difference");
        assert_eq!((&*more.step, &*more.stored), ("the text of begin", "not said"));
        let less = stored.stale(&steps("open a")).expect("a difference");
        assert_eq!((&*less.step, &*less.answered), ("the text of lock", "not said"));
    }

    #[test]
    fn only_tables_with_rows_are_written() {
        let played = format!("{PLAYED}> outbox namespace partition\n  stock 0\n");
        let stored = Answers::new("18", &steps("open a"), &played);
        assert_eq!(stored.tables().collect::<Vec<_>>(), ["outbox"]);
    }
}
