//! Knows what became of each line of a load file: told line by line in the order of the file, and summed up for the
//! person who has to know which lines are certain.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io::{self, ErrorKind, Write};

use amends_core::ids::Partition;

use crate::kafka::{Outcome, Report};

/// Lines from the first that is not told yet, and what is known of those before it.
pub(super) struct Tally<W> {
    out: Option<W>,
    topic: String,
    /// The line of the first slot, from 1.
    first: u64,
    slots: VecDeque<Slot>,
    bytes: usize,
    stored: Ranges,
    failed: Ranges,
    unknown: Ranges,
    /// The first outcome that is not `Stored`, for people.
    trouble: Option<String>,
    /// Why lines are no longer told.
    untold: Option<io::Error>,
}

struct Slot {
    partition: Partition,
    bytes: usize,
    outcome: Option<Outcome>,
}

impl<W: Write> Tally<W> {
    pub(super) fn new(topic: &str, out: W) -> Self {
        Self {
            out: Some(out),
            topic: topic.to_owned(),
            first: 1,
            slots: VecDeque::new(),
            bytes: 0,
            stored: Ranges::default(),
            failed: Ranges::default(),
            unknown: Ranges::default(),
            trouble: None,
            untold: None,
        }
    }

    /// The next line is being published; gives its number.
    pub(super) fn give(&mut self, partition: Partition, bytes: usize) -> u64 {
        self.slots.push_back(Slot { partition, bytes, outcome: None });
        self.bytes += bytes;
        self.given()
    }

    /// Takes reports, whose tickets are line numbers, and tells the lines that are next in the order of the file.
    pub(super) fn take(&mut self, reports: impl IntoIterator<Item = Report>) {
        for Report { ticket, outcome, .. } in reports {
            let slot =
                ticket.checked_sub(self.first).and_then(|at| self.slots.get_mut(usize::try_from(at).ok()?));
            if let Some(slot) = slot {
                if let (None, Outcome::Failed(why) | Outcome::Unknown(why)) = (&self.trouble, &outcome) {
                    self.trouble = Some(format!("line {ticket}: {why}"));
                }
                slot.outcome = Some(outcome);
            }
        }
        while let Some(Slot { outcome: Some(_), .. }) = self.slots.front() {
            self.tell_next();
        }
        self.write(|out| out.flush());
    }

    fn tell_next(&mut self) {
        let Some(Slot { partition, bytes, outcome: Some(outcome) }) = self.slots.pop_front() else { return };
        let (line, topic) = (self.first, self.topic.clone());
        self.first += 1;
        self.bytes -= bytes;
        match outcome {
            Outcome::Stored(offset) => {
                self.stored.push(line);
                self.write(|out| writeln!(out, "line {line} -> {topic}/{partition}@{}", offset.0));
            }
            Outcome::Failed(why) => {
                self.failed.push(line);
                self.write(|out| writeln!(out, "line {line} -> {topic}/{partition} failed: {why}"));
            }
            Outcome::Unknown(why) => {
                self.unknown.push(line);
                self.write(|out| writeln!(out, "line {line} -> {topic}/{partition} unknown: {why}"));
            }
        }
    }

    /// A reader that has gone, or a full disk, does not end a load: what was begun is finished.
    fn write(&mut self, write: impl FnOnce(&mut W) -> io::Result<()>) {
        if let Some(out) = &mut self.out
            && let Err(error) = write(out)
        {
            self.out = None;
            self.untold = (error.kind() != ErrorKind::BrokenPipe).then_some(error);
        }
    }

    /// Lines given, told or not.
    pub(super) fn given(&self) -> u64 {
        self.told() + self.slots.len() as u64
    }

    /// Lines given and not told.
    pub(super) fn waiting(&self) -> usize {
        self.slots.len()
    }

    /// Bytes of the lines given and not told.
    pub(super) fn waiting_bytes(&self) -> usize {
        self.bytes
    }

    /// Lines told.
    pub(super) fn told(&self) -> u64 {
        self.first - 1
    }

    /// What the first line that is not stored suffered.
    pub(super) fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// Why the lines could not all be told, unless nobody wanted them.
    pub(super) fn untold(&self) -> Option<&io::Error> {
        self.untold.as_ref()
    }

    /// Which of the file's `lines` are certain, once every line given has its report.
    pub(super) fn sum(&self, lines: u64) -> String {
        let mut text = match self.stored.to_string().as_str() {
            "" => "no line is certain".to_owned(),
            stored => format!("certain: {stored}"),
        };
        let mut rest = Ranges::default();
        if self.told() < lines {
            rest.0.push((self.told() + 1, lines));
        }
        for (word, ranges) in [("unknown", &self.unknown), ("failed", &self.failed), ("not published", &rest)]
        {
            if !ranges.0.is_empty() {
                // Writing to a String does not fail.
                let _ = write!(text, "; {word}: {ranges}");
            }
        }
        text
    }
}

/// Lines in ascending order, as ranges.
#[derive(Default)]
struct Ranges(Vec<(u64, u64)>);

/// More of them are named on stdout only.
const RANGES_SHOWN: usize = 20;

impl Ranges {
    fn push(&mut self, line: u64) {
        match self.0.last_mut() {
            Some((_, last)) if *last + 1 == line => *last = line,
            Some(_) | None => self.0.push((line, line)),
        }
    }
}

/// `line 3`, `lines 1 to 3`, `lines 1 to 3, 5, 7 to 9`; nothing for no line.
impl std::fmt::Display for Ranges {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0.as_slice() {
            [] => return Ok(()),
            [(first, last)] if first == last => return write!(f, "line {first}"),
            _ => {}
        }
        for (index, (first, last)) in self.0.iter().take(RANGES_SHOWN).enumerate() {
            f.write_str(if index == 0 { "lines " } else { ", " })?;
            if first == last { write!(f, "{first}")? } else { write!(f, "{first} to {last}")? }
        }
        if self.0.len() > RANGES_SHOWN { f.write_str(", and others") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use amends_core::ids::Offset;

    use super::*;

    fn report(ticket: u64, outcome: Outcome) -> Report {
        Report { ticket, partition: Partition(0), outcome }
    }

    #[test]
    fn lines_are_told_in_the_order_of_the_file() {
        let mut told = Vec::new();
        let mut tally = Tally::new("orders", &mut told);
        for line in 1..=5 {
            assert_eq!(tally.give(Partition(u32::from(line % 2 == 0)), 10), line);
        }
        tally.take([
            report(2, Outcome::Stored(Offset(7))),
            report(3, Outcome::Unknown("no answer".to_owned())),
        ]);
        assert_eq!((tally.told(), tally.waiting(), tally.waiting_bytes()), (0, 5, 50));
        tally.take([report(1, Outcome::Stored(Offset(0)))]);
        assert_eq!((tally.told(), tally.waiting(), tally.waiting_bytes()), (3, 2, 20));
        tally.take([
            report(5, Outcome::Stored(Offset(1))),
            report(4, Outcome::Failed("too large".to_owned())),
        ]);
        assert_eq!(tally.trouble(), Some("line 3: no answer"));
        let sum = "certain: lines 1 to 2, 5; unknown: line 3; failed: line 4; not published: lines 6 to 9";
        assert_eq!(tally.sum(9), sum);
        let expected = "\
line 1 -> orders/0@0
line 2 -> orders/1@7
line 3 -> orders/0 unknown: no answer
line 4 -> orders/1 failed: too large
line 5 -> orders/0@1
";
        assert_eq!(String::from_utf8(told).expect("text"), expected);
    }

    #[test]
    fn a_reader_that_has_gone_ends_no_load() {
        let mut buffer = [0; 4];
        let mut tally = Tally::new("orders", &mut buffer[..]);
        tally.give(Partition(0), 1);
        tally.take([report(1, Outcome::Stored(Offset(0)))]);
        assert_eq!(tally.told(), 1);
        assert!(tally.untold().is_some());
        assert_eq!(
            Tally::new("orders", io::sink()).sum(3),
            "no line is certain; not published: lines 1 to 3"
        );
    }
}
