//! Knows every condition that a story can wait for and an outcome can demand: how it is written and read.

use super::condition::{Bound, Compare, Condition, MEASURES, Measure, Who};
use super::mistakes::{Mistake, Parsed};
use super::outcome::WORDS;
use super::verbs::fault;
use super::words::{Word, Words};

/// Every condition: how it is written, what it means, and a line that uses it.
pub const CONDITIONS: &[(&str, &str, &str)] = &[
    (
        "quiet",
        "for 6 s nothing was left to be done: all is decided, each partition has its owner, nobody stands still; or nobody lives",
        "quiet",
    ),
    ("drained", "every visible record is decided", "drained"),
    ("not drained", "some visible record is not decided", "not drained"),
    (
        "MEMBER active PARTITION",
        "it owns the partition under the token of its row, and reads",
        "a active orders/0",
    ),
    ("MEMBER running", "its newest process runs", "a running"),
    (
        "MEMBER stopped [reason=CODE]",
        "a process of it stopped, for this reason; the codes are those of `operations.md`",
        "a stopped reason=unresolved",
    ),
    (
        "MEMBER fenced PARTITION [by=EPOCH]",
        "an answer of PostgreSQL showed it that another token stands in the row",
        "a fenced orders/0 by=2",
    ),
    (
        "MEMBER WORD[=N] … [PARTITION]",
        "so many events and commands of it, by the words of the trace; at least one if no number is said",
        "a claim=2 observe>=1 process=0 orders/0",
    ),
    (
        "MEMBER order WORD WORD … [PARTITION]",
        "these come in this order, whatever lies between",
        "a order claim observe check assign",
    ),
    (
        "MEMBER never WORD after WORD [PARTITION]",
        "once the second came, the first never comes again: in that tenure, or in that process where the second is no tenure's",
        "a never process after fenced",
    ),
    (
        "PARTITION MEASURE=N …",
        "what its row and its surviving commits show: `epoch`, `frontier`, `decided`, `commits`, `stored-twice`, `lost`",
        "orders/0 epoch=2 frontier=100",
    ),
    (
        "MEASURE=N …",
        "the same over all partitions; there is no `epoch` and no `frontier` of all",
        "lost=0 stored-twice=0",
    ),
    ("struck FAULT[=N]", "the fault made a difference, so often", "struck commit-reply-lost"),
];

/// Why a stream can stop, by the words of `StopReason` and `Refusal`.
pub const REASONS: &[&str] = &[
    "shutdown",
    "paused",
    "stopped",
    "unresolved",
    "contended",
    "seek-not-taken",
    "budget-spent",
    "attempts-spent",
    "broken",
    "impossible",
    "another-incarnation",
    "incarnation-unknown",
    "topic-gone",
    "partitions-shrank",
    "partitions-grew",
    "no-leader",
    "frontier-above-end",
    "start-above-frontier",
    "start-above-zero",
    "retention-finite",
    "cleanup-policy",
    "unclean-election",
];

/// Reads a condition, up to the end of the line or to `within`.
pub(super) fn condition(words: &mut Words<'_>) -> Parsed<Condition> {
    let word = words.take("a condition, such as quiet")?;
    match word.text {
        "quiet" => Ok(Condition::Quiet),
        "drained" => Ok(Condition::Drained(true)),
        "not" => {
            let word = words.take("drained")?;
            let is_drained = word.text == "drained";
            is_drained.then_some(Condition::Drained(false)).ok_or_else(|| word.is_no("opposite", "drained"))
        }
        "struck" => {
            let (name, bound) = words.take("the name of a fault")?.counted()?;
            Ok(Condition::Struck(fault(name)?, bound))
        }
        _ if word.is_partition() => {
            let first = words.take("a measure, such as frontier=3")?;
            held(first, Some(word.partition(words.cast)?), words)
        }
        _ if word.text.contains(['=', '<', '>']) => held(word, None, words),
        _ if word.is_member() => of_member(word.who(words)?, words),
        _ => {
            let all = ["quiet", "drained", "not", "struck", "a member", "a partition"].into_iter();
            let measures = MEASURES.iter().map(|(name, _)| *name);
            Err(Mistake::none_of(word.at, word.text, "condition", all.chain(measures)))
        }
    }
}

fn held(first: Word<'_>, partition: Option<u32>, words: &mut Words<'_>) -> Parsed<Condition> {
    let mut measures = vec![measure(first, partition)?];
    while let Some(word) = words.peek().filter(|word| word.text != WITHIN) {
        words.next();
        measures.push(measure(word, partition)?);
    }
    Ok(Condition::Held(partition, measures))
}

fn measure(word: Word<'_>, partition: Option<u32>) -> Parsed<(Measure, Bound)> {
    let (name, bound) = word.counted()?;
    let is_of_one = |measure: &Measure| matches!(measure, Measure::Epoch | Measure::Frontier);
    let fits = |measure: &Measure| partition.is_some() || !is_of_one(measure);
    let found = MEASURES.iter().find(|(known, measure)| *known == name.text && fits(measure));
    found.map(|(_, measure)| (*measure, bound)).ok_or_else(|| {
        let all = MEASURES.iter().filter(|(_, measure)| fits(measure)).map(|(known, _)| *known);
        let kind = if partition.is_some() { "measure" } else { "measure of all partitions" };
        Mistake::none_of(name.at, name.text, kind, all)
    })
}

/// Ends a condition of a story.
pub(super) const WITHIN: &str = "within";

fn of_member(who: Who, words: &mut Words<'_>) -> Parsed<Condition> {
    let word = words.take("what is said of the member, such as active, stopped, or a word of the trace")?;
    match word.text {
        "active" => words.partition().map(|partition| Condition::Active(who, partition)),
        "running" => Ok(Condition::Running(who)),
        "stopped" => stopped(who, words),
        "order" => {
            let (said, partition) = said(words)?;
            let [_, _, ..] = said.as_slice() else {
                return Err(Mistake::new(word.at, "an order needs two words at least"));
            };
            Ok(Condition::Ordered { who, words: said, partition })
        }
        "never" => {
            let never = words.take("a word of the trace")?;
            let after = words.take("after")?;
            if after.text != "after" {
                return Err(after.is_no("way to go on", "after"));
            }
            let behind = words.take("a word of the trace")?;
            let partition = words.peek().filter(|word| word.is_partition()).map(|_| words.partition());
            let partition = partition.transpose()?;
            let (word, after) = (never.said(partition)?, behind.said(partition)?);
            Ok(Condition::Never { who, word, after, partition })
        }
        _ => counts(who, word, words),
    }
}

/// What can be said of a member, besides the words of the trace.
const OF_MEMBER: [&str; 5] = ["active", "running", "stopped", "order", "never"];

fn stopped(who: Who, words: &mut Words<'_>) -> Parsed<Condition> {
    let Some(word) = words.peek().filter(|word| word.text != WITHIN) else {
        return Ok(Condition::Stopped(who, None));
    };
    words.next();
    match word.option() {
        Some((key, value)) if key.text == "reason" => {
            let known = REASONS.iter().find(|known| **known == value.text);
            let known = known.ok_or_else(|| {
                Mistake::none_of(value.at, value.text, "reason to stop", REASONS.iter().copied())
            })?;
            Ok(Condition::Stopped(who, Some(known)))
        }
        _ => Err(word.is_no("way to say why", "reason= and a code")),
    }
}

/// The words of a trace up to the end of the condition, and the partition among them.
fn said(words: &mut Words<'_>) -> Parsed<(Vec<&'static str>, Option<u32>)> {
    let (mut said, mut partition) = (Vec::new(), None);
    while let Some(word) = words.peek().filter(|word| word.text != WITHIN) {
        words.next();
        if word.is_partition() {
            partition = Some(word.partition(words.cast)?);
        } else {
            said.push(word);
        }
    }
    let said = said.into_iter().map(|word| word.said(partition)).collect::<Parsed<_>>()?;
    Ok((said, partition))
}

fn counts(who: Who, first: Word<'_>, words: &mut Words<'_>) -> Parsed<Condition> {
    let (name, bound) = first.counted()?;
    if !WORDS.iter().any(|(word, _)| *word == name.text) {
        let all = OF_MEMBER.into_iter().chain(WORDS.iter().map(|(word, _)| *word));
        return Err(Mistake::none_of(name.at, name.text, "word about a member", all));
    }
    let (mut counted, mut partition, mut by) = (vec![(name, bound)], None, None);
    while let Some(word) = words.peek().filter(|word| word.text != WITHIN) {
        words.next();
        match word.option() {
            _ if word.is_partition() => partition = Some(word.partition(words.cast)?),
            Some((key, value)) if key.text == "by" && name.text == "fenced" => {
                by = Some(value.number("an epoch")?);
            }
            _ => counted.push(word.counted()?),
        }
    }
    let counts = counted.into_iter().map(|(name, bound)| Ok((name.said(partition)?, bound)));
    Ok(Condition::Said { who, counts: counts.collect::<Parsed<_>>()?, partition, by })
}

impl<'a> Word<'a> {
    /// A name and the bound behind it; at least one when there is none.
    fn counted(self) -> Parsed<(Word<'a>, Bound)> {
        let Some(index) = self.text.find(['=', '<', '>']) else {
            return Ok((self, Bound { compare: Compare::AtLeast, number: 1 }));
        };
        let (compare, mark) = match &self.text[index..] {
            rest if rest.starts_with(">=") => (Compare::AtLeast, 2),
            rest if rest.starts_with("<=") => (Compare::AtMost, 2),
            rest if rest.starts_with('=') => (Compare::Exactly, 1),
            _ => return Err(self.is_no("count", "a name, then =, >= or <=, then a number, without blanks")),
        };
        let (name, number) = self.split(index, mark);
        Ok((name, Bound { compare, number: number.number("a number")? }))
    }

    /// A word of the trace; about partitions, where one is named.
    fn said(self, partition: Option<u32>) -> Parsed<&'static str> {
        let fits = |(_, is_about): &&(&str, bool)| partition.is_none() || *is_about;
        let found = WORDS.iter().filter(fits).find(|(word, _)| *word == self.text);
        found.map(|(word, _)| *word).ok_or_else(|| {
            let kind = if partition.is_some() { "word about a partition" } else { "word of the trace" };
            Mistake::none_of(self.at, self.text, kind, WORDS.iter().filter(fits).map(|(word, _)| *word))
        })
    }

    fn who(self, words: &Words<'_>) -> Parsed<Who> {
        let Some(index) = self.text.find('.') else {
            return Ok(Who { worker: self.worker(words.cast)?, life: None });
        };
        let (letter, number) = self.split(index, 1);
        let life = number.number("the number of a process, from 1")?;
        Ok(Who { worker: letter.worker(words.cast)?, life: Some(life) })
    }
}
