//! Knows how a mistake in a scenario is shown: where it stands, the line, the word underlined, and what may stand there.

use std::fmt;

/// Where something stands in a file: line and columns from 1, the last column excluded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// The line.
    pub line: usize,
    /// The first column.
    pub from: usize,
    /// The column behind the last.
    pub to: usize,
}

/// Something that cannot stand where it stands, or that did not come true.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mistake {
    /// Where.
    pub at: Span,
    /// What is wrong, in one sentence.
    pub what: String,
    /// What may stand there.
    pub expected: Vec<String>,
    /// The word of these that was probably meant.
    pub meant: Option<String>,
}

/// What a part of the parser returns.
pub(super) type Parsed<T> = Result<T, Mistake>;

impl Mistake {
    pub(super) fn new(at: Span, what: impl Into<String>) -> Self {
        Self { at, what: what.into(), expected: Vec::new(), meant: None }
    }

    /// The same, with what may stand there.
    pub(super) fn expecting(mut self, expected: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.expected = expected.into_iter().map(Into::into).collect();
        self
    }

    /// A word that is none of a closed list.
    pub(super) fn none_of<'a>(at: Span, word: &str, kind: &str, list: impl Iterator<Item = &'a str>) -> Self {
        let list: Vec<&str> = list.collect();
        let far = 1 + word.chars().count() / 4;
        let near = list.iter().map(|known| (distance(word, known), *known)).min();
        let meant = near.filter(|(distance, _)| *distance <= far).map(|(_, known)| known.to_owned());
        Self { meant, ..Self::new(at, format!("`{word}` is no {kind}")).expecting(list) }
    }

    /// The mistake as a compiler shows it, in a file of this name and text.
    #[must_use]
    pub fn show<'a>(&'a self, file: &'a str, text: &'a str) -> Shown<'a> {
        Shown { mistake: self, file, line: text.lines().nth(self.at.line - 1).unwrap_or_default() }
    }
}

/// A mistake on its way to a person.
pub struct Shown<'a> {
    mistake: &'a Mistake,
    file: &'a str,
    line: &'a str,
}

/// Where a list of words that may stand there is wrapped.
const WIDTH: usize = 96;

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { mistake: Mistake { at, what, expected, meant }, file, line } = self;
        let number = at.line.to_string();
        let (margin, blank) = (" ".repeat(number.len()), " ".repeat(at.from - 1));
        writeln!(f, "{file}:{number}:{}: {what}", at.from)?;
        // A tab would move the marks away from their word.
        writeln!(f, "{number} | {}", line.replace('\t', " ").trim_end())?;
        write!(f, "{margin} | {blank}{}", "^".repeat((at.to - at.from).max(1)))?;
        if let Some(meant) = meant {
            write!(f, " did you mean `{meant}`?")?;
        }
        for line in wrapped(expected) {
            write!(f, "\n{margin} = {line}")?;
        }
        Ok(())
    }
}

fn wrapped(expected: &[String]) -> Vec<String> {
    let Some((first, rest)) = expected.split_first() else { return Vec::new() };
    let mut lines = vec![format!("here may stand: {first}")];
    for word in rest {
        match lines.last_mut() {
            Some(line) if line.len() + word.len() + 2 <= WIDTH => line.extend([", ", word]),
            Some(line) => {
                line.push(',');
                lines.push(format!("  {word}"));
            }
            None => {}
        }
    }
    lines
}

/// How many letters must be put in, taken out or changed to make one word of the other.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (index, letter) in one.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], index + 1);
        for (column, wanted) in other.iter().enumerate() {
            let changed = diagonal + usize::from(letter != *wanted);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}
