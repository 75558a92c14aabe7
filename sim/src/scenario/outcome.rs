//! Knows what a scenario is judged by: what each process was told and asked for, in order, and since when nothing moves.

use std::fmt::{self, Write as _};

use amends_core::ids::{Partition, TenureId};
use amends_core::lifecycle::command::Command;
use amends_core::lifecycle::event::Event;

use crate::fact::{Fact, Op};
use crate::life::Life;
use crate::truth::Truth;

/// Longer than an idle owner goes without reading its row, or a supervisor without starting a process.
const QUIET_MS: u64 = 6_000;

/// The words of events and commands, as traces print them, and whether they are about partitions.
pub const WORDS: &[(&str, bool)] = &[
    ("assigned", true),
    ("revoked", true),
    ("lost", false),
    ("checked", false),
    ("check-failed", false),
    ("claimed", true),
    ("claim-unknown", true),
    ("claim-failed", true),
    ("observed", true),
    ("observe-failed", true),
    ("sought", true),
    ("seek-failed", true),
    ("probed", true),
    ("probe-failed", true),
    ("polled", true),
    ("poll-empty", true),
    ("poll-failed", true),
    ("committed", true),
    ("commit-unknown", true),
    (FENCED, true),
    ("moved", true),
    ("process-failed", true),
    ("expired", true),
    ("shutdown-requested", false),
    ("pause-requested", false),
    ("stop-requested", false),
    ("client-failed", false),
    ("closed", false),
    ("check", false),
    ("claim", true),
    ("observe", true),
    ("assign", true),
    ("unassign", false),
    ("seek", true),
    ("probe", true),
    ("poll", true),
    ("process", true),
    ("wait", true),
    ("cancel", true),
    ("allow-rebalance", true),
    ("retire", true),
    ("rejoin", false),
    ("close", false),
    ("stop", false),
];

/// An answer showed a tenure that its token is the row's no more: by refusing its decision, or by the row as it is.
const FENCED: &str = "fenced";

/// An event or a command.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Said {
    pub(super) who: Life,
    pub(super) word: &'static str,
    pub(super) tenure: Option<TenureId>,
    partitions: Vec<Partition>,
    /// The epoch that fenced it.
    pub(super) by: Option<i64>,
}

impl Said {
    pub(super) fn is_about(&self, partition: u32) -> bool {
        self.tenure.is_some_and(|tenure| tenure.partition.0 == partition)
            || self.partitions.contains(&Partition(partition))
    }
}

/// What happened so far, as far as a scenario can ask for it.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    pub(super) said: Vec<Said>,
    /// When something was last left to be done.
    busy_at: u64,
}

impl Outcome {
    /// Before anything happened.
    #[must_use]
    pub const fn new() -> Self {
        Self { said: Vec::new(), busy_at: 0 }
    }

    /// Takes in a fact that the truth has taken in.
    pub fn see(&mut self, fact: &Fact<'_>, truth: &Truth) {
        match fact {
            Fact::Delivered { who, event } => self.heard(*who, event, truth),
            Fact::Commanded { who, command } => {
                let partitions = match command {
                    Command::Assign { positions, .. } => {
                        positions.iter().map(|(id, _)| id.partition).collect()
                    }
                    _ => Vec::new(),
                };
                self.say(*who, first_word(command), command.tenure(), partitions, None);
            }
            _ => {}
        }
        if is_busy(truth) {
            self.busy_at = truth.now;
        }
    }

    fn heard(&mut self, who: Life, event: &Event, truth: &Truth) {
        let (partitions, by) = match event {
            Event::Assigned { partitions, .. } | Event::Revoked { partitions, .. } => {
                (partitions.clone(), None)
            }
            Event::Fenced { by, .. } => (Vec::new(), by.map(|token| token.epoch)),
            _ => (Vec::new(), None),
        };
        self.say(who, first_word(event), event.tenure(), partitions, by);
        if let Event::Observed { tenure, token, .. } = event {
            let claimed = truth.tenancy(who, *tenure).and_then(|tenancy| tenancy.claimed);
            if claimed.is_some() && claimed != *token {
                self.say(who, Some(FENCED), Some(*tenure), Vec::new(), token.map(|token| token.epoch));
            }
        }
    }

    fn say(
        &mut self,
        who: Life,
        word: Option<&'static str>,
        tenure: Option<TenureId>,
        partitions: Vec<Partition>,
        by: Option<i64>,
    ) {
        if let Some(word) = word {
            self.said.push(Said { who, word, tenure, partitions, by });
        }
    }

    /// Nothing has been left to be done for a while: whoever runs holds what it should and has decided what there is.
    #[must_use]
    pub fn is_quiet(&self, truth: &Truth) -> bool {
        !is_busy(truth) && truth.now >= self.busy_at + QUIET_MS
    }
}

/// What is printed, up to its first space.
#[derive(Default)]
struct FirstWord(String);

impl fmt::Write for FirstWord {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let Some((end, _)) = text.split_once(' ') else { return self.0.write_str(text) };
        self.0.push_str(end);
        // Nobody reads the rest.
        Err(fmt::Error)
    }
}

/// The word of an event or a command, as traces print it first.
fn first_word(said: impl fmt::Display) -> Option<&'static str> {
    let mut first = FirstWord::default();
    // That it ends early is no failure.
    let _ = write!(first, "{said}");
    WORDS.iter().map(|(word, _)| *word).find(|word| *word == first.0)
}

fn is_busy(truth: &Truth) -> bool {
    let mut living = truth.processes.values().filter(|process| process.is_living()).peekable();
    if living.peek().is_none() {
        return false;
    }
    let is_working = living.any(|process| {
        process.frozen_since.is_some()
            || process.tenancies.values().any(|tenancy| {
                tenancy.is_own() && tenancy.open.is_some()
                    || tenancy.in_flight.is_some_and(|in_flight| in_flight.op != Op::Observe)
            })
    });
    is_working || !truth.is_drained() || !truth.has_owners()
}
