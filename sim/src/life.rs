//! Knows who acts in a world: a worker, and which of its process lives.

use std::fmt;

/// One process of a worker, from its start to its crash or exit. Prints as `a`, its second life as `a.2`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Life {
    /// Which worker, from 0; the first prints as `a`.
    pub worker: u8,
    /// Which of its processes, from 1.
    pub number: u16,
}

impl Life {
    /// A worker's first process.
    #[must_use]
    pub fn first(worker: u8) -> Self {
        Self { worker, number: 1 }
    }

    /// The process after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self { worker: self.worker, number: self.number + 1 }
    }

    /// The worker's letter.
    #[must_use]
    pub fn letter(self) -> char {
        char::from(b'a' + self.worker.min(25))
    }
}

impl fmt::Display for Life {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = self.letter();
        if self.number == 1 { write!(f, "{letter}") } else { write!(f, "{letter}.{}", self.number) }
    }
}
