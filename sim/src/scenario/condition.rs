//! Knows what can be so at a moment, and holds it against the truth and the outcome so far.

use std::fmt;

use amends_core::ids::Partition;

use super::outcome::{Outcome, Said};
use crate::faults::Fault;
use crate::life::Life;
use crate::truth::Truth;

/// Something that is so at a moment, or is not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Condition {
    /// Nothing has been left to be done for a while.
    Quiet,
    /// Every visible record is decided, or not.
    Drained(bool),
    /// A member owns a partition under the token of its row, and reads.
    Active(Who, u32),
    /// A process of this member stopped, for this reason.
    Stopped(Who, Option<&'static str>),
    /// The member's newest process runs.
    Running(Who),
    /// So many events and commands of a member, each by its word.
    Said {
        /// Whose.
        who: Who,
        /// How many of which.
        counts: Vec<(&'static str, Bound)>,
        /// Only those about this partition.
        partition: Option<u32>,
        /// Only those where this epoch fenced.
        by: Option<i64>,
    },
    /// What follows never follows what comes before it, in the same tenure or, where there is none, process.
    Never {
        /// Whose.
        who: Who,
        /// What never comes.
        word: &'static str,
        /// After what.
        after: &'static str,
        /// Only in tenures of this partition.
        partition: Option<u32>,
    },
    /// These words come in this order, whatever lies between them.
    Ordered {
        /// Whose.
        who: Who,
        /// Which.
        words: Vec<&'static str>,
        /// Only those about this partition.
        partition: Option<u32>,
    },
    /// What the services hold, of one partition or of all.
    Held(Option<u32>, Vec<(Measure, Bound)>),
    /// A fault made a difference so often.
    Struck(Fault, Bound),
}

/// A member, or one of its processes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Who {
    /// Which.
    pub worker: u8,
    /// Only this process of it, from 1.
    pub life: Option<u16>,
}

/// What can be counted of a partition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Measure {
    /// The epoch of its row.
    Epoch,
    /// The frontier of its row.
    Frontier,
    /// Records that surviving commits decided.
    Decided,
    /// Surviving commits that decided something.
    Commits,
    /// Records that two surviving commits decided.
    StoredTwice,
    /// Visible records below the frontier that no surviving commit decided.
    Lost,
}

/// What a count must be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bound {
    /// How it is compared.
    pub compare: Compare,
    /// With what.
    pub number: i64,
}

/// How a count is compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compare {
    /// `=`
    Exactly,
    /// `>=`
    AtLeast,
    /// `<=`
    AtMost,
}

pub(super) const MEASURES: [(&str, Measure); 6] = [
    ("epoch", Measure::Epoch),
    ("frontier", Measure::Frontier),
    ("decided", Measure::Decided),
    ("commits", Measure::Commits),
    ("stored-twice", Measure::StoredTwice),
    ("lost", Measure::Lost),
];

impl Who {
    /// Whether this process is meant.
    #[must_use]
    pub fn is(self, who: Life) -> bool {
        self.worker == who.worker && self.life.is_none_or(|life| life == who.number)
    }
}

impl Bound {
    /// Whether a count is within.
    #[must_use]
    pub fn holds(self, count: i64) -> bool {
        match self.compare {
            Compare::Exactly => count == self.number,
            Compare::AtLeast => count >= self.number,
            Compare::AtMost => count <= self.number,
        }
    }
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = super::words::letter(self.worker);
        match self.life {
            Some(life) => write!(f, "{letter}.{life}"),
            None => write!(f, "{letter}"),
        }
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = MEASURES.iter().find(|(_, measure)| measure == self).map(|(name, _)| *name);
        f.write_str(name.unwrap_or_default())
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = match self.compare {
            Compare::Exactly => "=",
            Compare::AtLeast => ">=",
            Compare::AtMost => "<=",
        };
        write!(f, "{mark}{}", self.number)
    }
}

/// `Err` says what is so instead.
pub(super) type Verdict = Result<(), String>;

fn so(is_so: bool, instead: impl FnOnce() -> String) -> Verdict {
    if is_so { Ok(()) } else { Err(instead()) }
}

impl Condition {
    /// Whether it is so now.
    ///
    /// # Errors
    /// What is so instead, for people.
    pub fn judge(&self, outcome: &Outcome, truth: &Truth) -> Verdict {
        match self {
            Self::Quiet => so(outcome.is_quiet(truth), || "something is left to be done".to_owned()),
            Self::Drained(is_drained) => so(truth.is_drained() == *is_drained, || {
                if *is_drained {
                    "some visible record is not decided"
                } else {
                    "every visible record is decided"
                }
                .to_owned()
            }),
            Self::Active(who, partition) => so(is_active(truth, *who, Partition(*partition)), || {
                format!("{who} does not read partition {partition} under the token of its row")
            }),
            Self::Stopped(who, reason) => stopped(truth, *who, *reason),
            Self::Running(who) => {
                so(is_running(truth, *who), || format!("the newest process of {who} is over"))
            }
            Self::Said { who, counts, partition, by } => {
                let said = || {
                    let all = said(outcome, *who, *partition);
                    all.filter(|said| by.is_none() || said.by == *by)
                };
                let wrong = counts.iter().find_map(|(word, bound)| {
                    let count = said().filter(|said| said.word == *word).count();
                    let holds = bound.holds(i64::try_from(count).unwrap_or(i64::MAX));
                    (!holds).then(|| format!("{word}={count}, and not {word}{bound}"))
                });
                wrong.map_or(Ok(()), Err)
            }
            Self::Never { who, word, after, partition } => never(outcome, *who, word, after, *partition),
            Self::Ordered { who, words, partition } => {
                let mut said = said(outcome, *who, *partition);
                let missing = words.iter().position(|word| !said.any(|said| said.word == *word));
                missing.map_or(Ok(()), |index| {
                    let before = index.checked_sub(1).map_or("the beginning", |before| words[before]);
                    Err(format!("no {} came after {before}", words[index]))
                })
            }
            Self::Held(partition, measures) => held(truth, *partition, measures),
            Self::Struck(fault, bound) => {
                let times = i64::from(truth.struck.get(fault).copied().unwrap_or(0));
                so(bound.holds(times), || format!("it struck {times} times, and not {bound}"))
            }
        }
    }
}

fn said(outcome: &Outcome, who: Who, partition: Option<u32>) -> impl Iterator<Item = &Said> {
    let is_meant =
        move |said: &&Said| who.is(said.who) && partition.is_none_or(|partition| said.is_about(partition));
    outcome.said.iter().filter(is_meant)
}

fn never(outcome: &Outcome, who: Who, word: &str, after: &str, partition: Option<u32>) -> Verdict {
    let mut ended: Vec<&Said> = Vec::new();
    for said in said(outcome, who, partition) {
        let is_over = |before: &&Said| {
            before.who == said.who && (before.tenure.is_none() || before.tenure == said.tenure)
        };
        if said.word == word && ended.iter().any(is_over) {
            let tenure = said.tenure.map(|tenure| format!(" of {tenure}")).unwrap_or_default();
            return Err(format!("{}{tenure}: {word} came after {after}", said.who));
        }
        if said.word == after {
            ended.push(said);
        }
    }
    so(!ended.is_empty(), || format!("{after} never came, so that nothing is shown"))
}

fn is_active(truth: &Truth, who: Who, partition: Partition) -> bool {
    let token = truth.row(partition).token;
    let mut meant = truth.processes.iter().filter(|(life, process)| who.is(**life) && process.is_living());
    meant.any(|(_, process)| {
        process.newest(partition).is_some_and(|(_, tenancy)| {
            let is_owner =
                tenancy.is_own() && !tenancy.is_retired && token.is_some() && tenancy.claimed == token;
            is_owner && (tenancy.is_polling || tenancy.batch.is_some())
        })
    })
}

fn is_running(truth: &Truth, who: Who) -> bool {
    let newest = truth.processes.iter().rfind(|(life, _)| who.is(**life));
    newest.is_some_and(|(_, process)| process.is_living())
}

fn stopped(truth: &Truth, who: Who, wanted: Option<&str>) -> Verdict {
    let meant = truth.processes.iter().filter(|(life, _)| who.is(**life));
    let codes: Vec<&str> =
        meant.filter_map(|(_, process)| process.stopped.as_ref()).map(|why| why.code()).collect();
    let is_there = |wanted: &str| codes.contains(&wanted);
    so(!codes.is_empty() && wanted.is_none_or(is_there), || match codes.as_slice() {
        [] => format!("no process of {who} stopped"),
        codes => format!("{who} stopped with {}", codes.join(" and ")),
    })
}

fn held(truth: &Truth, partition: Option<u32>, measures: &[(Measure, Bound)]) -> Verdict {
    let wrong = measures.iter().find_map(|(measure, bound)| {
        let count = match partition {
            Some(partition) => measure.of(truth, Partition(partition)),
            None => Some(truth.rows.keys().filter_map(|partition| measure.of(truth, *partition)).sum()),
        };
        let shown = count.map_or("none".to_owned(), |count| count.to_string());
        (!count.is_some_and(|count| bound.holds(count)))
            .then(|| format!("{measure}={shown}, and not {measure}{bound}"))
    });
    wrong.map_or(Ok(()), Err)
}

impl Measure {
    /// `None` where there is no row yet.
    fn of(self, truth: &Truth, partition: Partition) -> Option<i64> {
        let row = truth.row(partition);
        let decided = || truth.decided(partition).map(|(_, offset)| offset);
        let count = match self {
            Self::Epoch => return row.token.map(|token| token.epoch),
            Self::Frontier => return row.frontier.map(|frontier| frontier.0),
            Self::Decided => decided().count(),
            Self::Commits => {
                let of = truth.commits.iter().filter(|commit| commit.partition == partition);
                of.filter(|commit| !commit.decided.is_empty()).count()
            }
            Self::StoredTwice => {
                decided().count() - decided().collect::<std::collections::BTreeSet<_>>().len()
            }
            Self::Lost => {
                let frontier = row.frontier.map_or(0, |frontier| frontier.0);
                let visible = truth.log(partition).visible(amends_core::ids::Offset(0));
                let below = visible.take_while(|offset| offset.0 < frontier);
                below.filter(|offset| !decided().any(|decided| decided == *offset)).count()
            }
        };
        i64::try_from(count).ok()
    }
}
