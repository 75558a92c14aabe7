//! Knows how a line falls into words, and reads what a word can be: a member, a partition, a time, a number.

use super::mistakes::{Mistake, Parsed, Span};
use crate::world::TOPIC;

/// One word of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Word<'a> {
    pub(super) text: &'a str,
    pub(super) at: Span,
}

/// Who and what a scenario may name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cast {
    pub(super) workers: u8,
    pub(super) partitions: u32,
}

/// The words of one line that nobody has read yet.
pub(super) struct Words<'a> {
    rest: std::iter::Peekable<std::vec::IntoIter<Word<'a>>>,
    /// The whole line, without blanks around it and without its comment.
    pub(super) line: Span,
    pub(super) cast: Cast,
}

impl<'a> Words<'a> {
    /// A comment begins at a `#` that stands alone or opens a word; inside of one it is part of it.
    pub(super) fn of(number: usize, text: &'a str, cast: Cast) -> Self {
        let mut words: Vec<Word<'a>> = Vec::new();
        let mut rest = text.char_indices().enumerate().peekable();
        while let Some((column, (begin, letter))) = rest.next() {
            if letter == '#' {
                break;
            }
            if letter.is_whitespace() {
                continue;
            }
            let (mut to, mut end) = (column + 1, begin + letter.len_utf8());
            while let Some((column, (index, letter))) = rest.next_if(|(_, (_, next))| !next.is_whitespace()) {
                (to, end) = (column + 1, index + letter.len_utf8());
            }
            let at = Span { line: number, from: column + 1, to: to + 1 };
            words.push(Word { text: &text[begin..end], at });
        }
        let line = Span {
            line: number,
            from: words.first().map_or(1, |word| word.at.from),
            to: words.last().map_or(1, |word| word.at.to),
        };
        Self { rest: words.into_iter().peekable(), line, cast }
    }

    pub(super) fn peek(&mut self) -> Option<Word<'a>> {
        self.rest.peek().copied()
    }

    pub(super) fn next(&mut self) -> Option<Word<'a>> {
        self.rest.next()
    }

    /// The next word, which must be there.
    pub(super) fn take(&mut self, wanted: &str) -> Parsed<Word<'a>> {
        let behind = Span { from: self.line.to + 1, to: self.line.to + 2, ..self.line };
        self.next().ok_or_else(|| Mistake::new(behind, "the line ends too early").expecting([wanted]))
    }

    /// The next word, when it is this one.
    pub(super) fn has(&mut self, wanted: &str) -> bool {
        self.rest.next_if(|word| word.text == wanted).is_some()
    }

    /// Nothing may follow.
    pub(super) fn end(&mut self) -> Parsed<()> {
        match self.next() {
            None => Ok(()),
            Some(word) => Err(Mistake::new(word.at, format!("`{}` is one word too many", word.text))
                .expecting(["the end of the line, or a comment"])),
        }
    }

    pub(super) fn worker(&mut self) -> Parsed<u8> {
        let cast = self.cast;
        self.take("a member, such as a")?.worker(cast)
    }

    pub(super) fn partition(&mut self) -> Parsed<u32> {
        let cast = self.cast;
        self.take("a partition, such as orders/0")?.partition(cast)
    }

    pub(super) fn number<T: TryFrom<u64>>(&mut self, wanted: &str) -> Parsed<T> {
        self.take(wanted)?.number(wanted)
    }

    /// `for` and a time.
    pub(super) fn span_ms(&mut self) -> Parsed<u64> {
        let word = self.take("for and a time, such as for 3s")?;
        if word.text == "for" {
            self.take("a time, such as 3s")?.time()
        } else {
            Err(word.is_no("way to say how long", "for and a time, such as for 3s"))
        }
    }

    /// `key=` and a number, where it stands.
    pub(super) fn option<T: TryFrom<u64>>(&mut self, key: &str) -> Parsed<Option<T>> {
        match self.peek().and_then(|word| word.option()) {
            Some((found, value)) if found.text == key => {
                self.next();
                value.number(&format!("a number behind {key}=")).map(Some)
            }
            _ => Ok(None),
        }
    }
}

/// Milliseconds as they are written.
pub(super) fn time(ms: u64) -> String {
    if ms.is_multiple_of(1_000) { format!("{}s", ms / 1_000) } else { format!("{ms}ms") }
}

/// The letter of a worker.
pub(super) fn letter(worker: u8) -> char {
    crate::life::Life::first(worker).letter()
}

impl<'a> Word<'a> {
    pub(super) fn is_no(self, kind: &str, expected: &str) -> Mistake {
        let what = if self.text.is_empty() {
            "here something is missing".to_owned()
        } else {
            format!("`{}` is no {kind}", self.text)
        };
        Mistake::new(self.at, what).expecting([expected])
    }

    /// What stands before and behind the `=`.
    pub(super) fn option(self) -> Option<(Self, Self)> {
        self.text.find('=').map(|index| self.split(index, 1))
    }

    /// The parts before this byte and so many bytes behind it; what lies between is plain.
    pub(super) fn split(self, index: usize, between: usize) -> (Self, Self) {
        let before = &self.text[..index];
        let middle = self.at.from + before.chars().count();
        (
            Self { text: before, at: Span { to: middle, ..self.at } },
            Self { text: &self.text[index + between..], at: Span { from: middle + between, ..self.at } },
        )
    }

    pub(super) fn is_partition(self) -> bool {
        self.text.contains('/')
    }

    /// Whether it looks like a member, whoever there is.
    pub(super) fn is_member(self) -> bool {
        let letter = self.text.split('.').next().unwrap_or_default();
        letter.len() == 1 && letter.bytes().all(|byte| byte.is_ascii_lowercase())
    }

    pub(super) fn worker(self, cast: Cast) -> Parsed<u8> {
        let number =
            self.text.bytes().next().filter(|byte| self.text.len() == 1 && byte.is_ascii_lowercase());
        number.map(|byte| byte - b'a').filter(|worker| *worker < cast.workers).ok_or_else(|| {
            let members = (0..cast.workers).map(|worker| letter(worker).to_string());
            Mistake::new(self.at, format!("`{}` is no member", self.text)).expecting(members)
        })
    }

    pub(super) fn partition(self, cast: Cast) -> Parsed<u32> {
        let number = self.text.strip_prefix(TOPIC).and_then(|rest| rest.strip_prefix('/')?.parse().ok());
        number.filter(|number| *number < cast.partitions).ok_or_else(|| {
            let all = (0..cast.partitions).map(|number| format!("{TOPIC}/{number}"));
            Mistake::new(self.at, format!("`{}` is no partition", self.text)).expecting(all)
        })
    }

    /// Milliseconds.
    pub(super) fn time(self) -> Parsed<u64> {
        let (number, factor) = match self.text.strip_suffix("ms") {
            Some(number) => (number, 1),
            None => (self.text.strip_suffix('s').unwrap_or_default(), 1_000),
        };
        let ms = number.parse().ok().and_then(|number: u64| number.checked_mul(factor));
        ms.ok_or_else(|| self.is_no("time", "a whole number and its unit, such as 3s or 500ms"))
    }

    pub(super) fn number<T: TryFrom<u64>>(self, wanted: &str) -> Parsed<T> {
        let number = self.text.parse::<u64>().ok().and_then(|number| T::try_from(number).ok());
        number.ok_or_else(|| self.is_no("number", wanted))
    }
}
