//! Knows one partition's log as it is: what lies at each offset, where it begins, and where its stable end is.

use amends_core::ids::{Frontier, Offset};

use crate::fact::{Entry, LogChange};

/// One partition of one incarnation.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Log {
    entries: Vec<Entry>,
    start: i64,
    /// Where the first open transaction begins.
    open: Option<usize>,
    /// How often its end was cut off.
    cuts: u32,
    /// The visible records that vanished inside.
    compacted: Vec<Offset>,
}

impl Log {
    /// A log in which nothing ever lay.
    pub(super) const fn empty() -> Self {
        Self { entries: Vec::new(), start: 0, open: None, cuts: 0, compacted: Vec::new() }
    }

    /// Where the log begins.
    #[must_use]
    pub fn start(&self) -> Offset {
        Offset(self.start)
    }

    /// Behind the last entry: the high watermark.
    #[must_use]
    pub fn end(&self) -> Offset {
        Offset(i64::try_from(self.entries.len()).unwrap_or(i64::MAX))
    }

    /// The read-committed end: the first offset of an open transaction, or the end.
    #[must_use]
    pub fn stable_end(&self) -> Offset {
        self.open.and_then(|index| i64::try_from(index).ok()).map_or_else(|| self.end(), Offset)
    }

    /// How often its end was cut off: what comes next lies where other records lay.
    #[must_use]
    pub fn cuts(&self) -> u32 {
        self.cuts
    }

    /// What lies at an offset; `None` outside of the log.
    #[must_use]
    pub fn entry(&self, offset: Offset) -> Option<Entry> {
        if offset.0 < self.start {
            return None;
        }
        self.entries.get(usize::try_from(offset.0).ok()?).copied()
    }

    /// The first visible offset at or after this one, below the stable end.
    #[must_use]
    pub fn next_visible(&self, from: Offset) -> Option<Offset> {
        self.visible(from).next()
    }

    /// The visible offsets from this one on, below the stable end.
    pub fn visible(&self, from: Offset) -> impl Iterator<Item = Offset> + '_ {
        let from = from.0.max(self.start).max(0);
        let skipped = usize::try_from(from).unwrap_or(usize::MAX);
        let rest = self.entries.iter().enumerate().skip(skipped);
        rest.take_while(|(_, entry)| **entry != Entry::Open)
            .filter(|(_, entry)| **entry == Entry::Visible)
            .filter_map(|(index, _)| i64::try_from(index).ok().map(Offset))
    }

    /// Whether a decision may have been made of what lies here: it is visible, or was.
    #[must_use]
    pub fn is_decidable(&self, offset: Offset) -> bool {
        let index = usize::try_from(offset.0).unwrap_or(usize::MAX);
        self.entries.get(index) == Some(&Entry::Visible) || self.compacted.contains(&offset)
    }

    /// The first visible record between two frontiers that is not among those decided, which ascend. One below the log's
    /// start counts: it was there, and is lost.
    #[must_use]
    pub fn skipped(&self, from: Frontier, to: Frontier, decided: &[Offset]) -> Option<Offset> {
        (from.0.max(0)..to.0.min(self.end().0)).map(Offset).find(|offset| {
            let entry = usize::try_from(offset.0).ok().and_then(|index| self.entries.get(index));
            entry == Some(&Entry::Visible) && decided.binary_search(offset).is_err()
        })
    }

    /// Whether every record that was ever visible is still there, and the frontier lies within.
    #[must_use]
    pub fn is_intact(&self, frontier: Frontier) -> bool {
        self.start == 0 && self.cuts == 0 && self.compacted.is_empty() && frontier.0 <= self.stable_end().0
    }

    pub(super) fn append(&mut self, first: Offset, entries: &[Entry]) {
        assert_eq!(first, self.end(), "a log grows at its end");
        let open = entries.iter().position(|entry| *entry == Entry::Open);
        self.open = self.open.or(open.map(|index| self.entries.len() + index));
        self.entries.extend_from_slice(entries);
    }

    pub(super) fn change(&mut self, change: LogChange) {
        match change {
            LogChange::StartsAt(offset) => self.start = self.start.max(offset.0),
            LogChange::TruncatedTo(offset) => {
                self.entries.truncate(usize::try_from(offset.0).unwrap_or(0));
                self.open = self.open.filter(|index| *index < self.entries.len());
                self.cuts += 1;
            }
            LogChange::HoleAt(offset) => {
                let index = usize::try_from(offset.0).unwrap_or(usize::MAX);
                if let Some(entry) = self.entries.get_mut(index) {
                    if *entry == Entry::Visible {
                        self.compacted.push(offset);
                    }
                    *entry = Entry::Hole;
                }
            }
            LogChange::Closed(is_committed) => {
                let now = if is_committed { Entry::Visible } else { Entry::Aborted };
                self.open = None;
                for entry in &mut self.entries {
                    if *entry == Entry::Open {
                        *entry = now;
                    }
                }
            }
        }
    }
}
