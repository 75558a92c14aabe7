//! Knows the cells of the reducer's table, `docs/transitions.md`: which events may find a tenure in which state, and a
//! process in which phase. A campaign says how many of them it met.

use std::sync::LazyLock;

use amends_core::lifecycle::command::Timer;
use amends_core::lifecycle::event::Event;

/// The page, which a test of core prints from the reducer.
const PAGE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/transitions.md"));

/// States of a tenure and phases of a process, by their words.
const ROWS: [&str; 21] = [
    "polling",
    "processing",
    "claiming",
    "reading-back",
    "seeking",
    "probing",
    "resolving",
    "recovering",
    "observing",
    "ending",
    "settling",
    "checking",
    "confirming",
    "placing",
    "judging",
    "queued",
    "waiting",
    "unresolved",
    "running",
    "draining",
    "closing",
];

/// So many of them are states; only answers find one.
const STATES: usize = 18;
const ANSWERS: usize = 17;

/// Answers to a tenure, then what is no tenure's, by the words of the page.
const COLUMNS: [&str; 32] = [
    "claimed",
    "claim-unknown",
    "claim-failed",
    "observed",
    "observe-failed",
    "sought",
    "seek-failed",
    "probed",
    "probe-failed",
    "polled",
    "poll-empty",
    "poll-failed",
    "committed",
    "commit-unknown",
    "fenced",
    "moved",
    "process-failed",
    "assigned",
    "revoked",
    "lost",
    "checked",
    "check-failed",
    "shutdown-requested",
    "pause-requested",
    "stop-requested",
    "client-failed",
    "closed",
    "expired check-due",
    "expired rebalance",
    "expired rejoin",
    "expired leave",
    "expired drain",
];

/// The column of an event; `None` for what the page says by another name: a timer of a tenure, or of a check.
fn column(event: &Event) -> Option<u32> {
    Some(match event {
        Event::Claimed { .. } => 0,
        Event::ClaimUnknown { .. } => 1,
        Event::ClaimFailed { .. } => 2,
        Event::Observed { .. } => 3,
        Event::ObserveFailed { .. } => 4,
        Event::Sought { .. } => 5,
        Event::SeekFailed { .. } => 6,
        Event::Probed { .. } => 7,
        Event::ProbeFailed { .. } => 8,
        Event::Polled { .. } => 9,
        Event::PollEmpty { .. } => 10,
        Event::PollFailed { .. } => 11,
        Event::Committed { .. } => 12,
        Event::CommitUnknown { .. } => 13,
        Event::Fenced { .. } => 14,
        Event::Moved { .. } => 15,
        Event::ProcessFailed { .. } => 16,
        Event::Assigned { .. } => 17,
        Event::Revoked { .. } => 18,
        Event::Lost { .. } => 19,
        Event::Checked { .. } => 20,
        Event::CheckFailed { .. } => 21,
        Event::ShutdownRequested => 22,
        Event::PauseRequested => 23,
        Event::StopRequested => 24,
        Event::ClientFailed { .. } => 25,
        Event::Closed => 26,
        Event::Expired { timer } => match timer {
            Timer::CheckDue => 27,
            Timer::Rebalance { .. } => 28,
            Timer::Rejoin { .. } => 29,
            Timer::Leave { .. } => 30,
            Timer::Drain => 31,
            Timer::Retry { .. } | Timer::Budget { .. } | Timer::CheckAgain { .. } => return None,
        },
    })
}

/// A set of cells: of each row, its columns.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Cells([u32; ROWS.len()]);

/// Every cell that the page does not call impossible.
static TABLE: LazyLock<Cells> = LazyLock::new(|| Cells::of(PAGE));

impl Cells {
    /// The cells of the whole table.
    #[must_use]
    pub fn table() -> Self {
        *TABLE
    }

    /// An event came to a tenure in this state, or to a process in this phase.
    pub fn meet(&mut self, found: &str, event: &Event) {
        if let (Some(row), Some(column)) = (ROWS.iter().position(|row| *row == found), column(event)) {
            self.0[row] |= 1 << column;
        }
    }

    /// Takes in what another world met.
    pub fn add(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(row, other)| *row |= other);
    }

    /// How many they are.
    #[must_use]
    pub fn count(self) -> u32 {
        self.0.iter().map(|row| row.count_ones()).sum()
    }

    /// Those that are not among the others, for people: `polling: probed`.
    pub fn without(self, others: Self) -> impl Iterator<Item = String> {
        let named = move |(row, (mine, others)): (usize, (u32, u32))| {
            let left = (0..COLUMNS.len()).filter(move |column| mine & !others & (1 << column) != 0);
            left.map(move |column| format!("{}: {}", ROWS[row], COLUMNS[column]))
        };
        self.0.into_iter().zip(others.0).enumerate().flat_map(named)
    }

    fn of(page: &str) -> Self {
        let (mut cells, mut row) = (Self::default(), None);
        for line in page.lines() {
            // A heading names a state; the paragraphs of the process begin with its phase.
            let name = line.strip_prefix("## ").or_else(|| line.split_once(',').map(|(phase, _)| phase));
            if let Some(name) = name.filter(|_| !line.starts_with(' ')) {
                row = ROWS.iter().position(|row| row.eq_ignore_ascii_case(name)).or(row);
            }
            let Some(row) = row else { continue };
            let is_impossible =
                line.starts_with("    ×") || line.ends_with("stop impossible") || line.ends_with('×');
            let Some(line) = line.strip_prefix("    ").filter(|_| !is_impossible) else { continue };
            // The first column of the page is 50 wide; what comes too late fills a line of its own.
            let inputs = line.strip_prefix('·').unwrap_or_else(|| line.get(..50).unwrap_or(line));
            for input in inputs.trim().split(", ") {
                let is_it = |word: &&str| input == *word || input.starts_with(&format!("{word} "));
                // What the page says of a tenure by `revoked` is one of many things that an event of the process does.
                match COLUMNS.iter().position(is_it) {
                    Some(column) if (row < STATES) == (column < ANSWERS) => cells.0[row] |= 1 << column,
                    Some(_) | None => {}
                }
            }
        }
        cells
    }
}
