//! Knows every verb of a story: how it is written, what it means, and the action that it becomes.

use super::action::{Action, Request, Setting};
use super::mistakes::{Mistake, Parsed};
use super::words::{Word, Words};
use crate::fact::Entry;
use crate::faults::{CATALOGUE, Fault, Incident, Order, Strike};

/// One row of the author's table.
#[derive(Clone, Copy, Debug)]
pub struct Verb {
    /// The word that it begins with.
    pub word: &'static str,
    /// What follows it. A word in capitals stands for another.
    pub shape: &'static str,
    /// What it does, or what must be so.
    pub what: &'static str,
    /// A line that uses it.
    pub example: &'static str,
    parse: fn(&mut Words<'_>) -> Parsed<Action>,
}

const fn verb(
    word: &'static str,
    shape: &'static str,
    what: &'static str,
    example: &'static str,
    parse: fn(&mut Words<'_>) -> Parsed<Action>,
) -> Verb {
    Verb { word, shape, what, example, parse }
}

/// All verbs, as the author's guide prints them.
pub const VERBS: &[Verb] = &[
    verb("start", "MEMBER", "its process begins; nobody works before", "start a", |words| {
        words.worker().map(Action::Start)
    }),
    verb("crash", "MEMBER", "its process dies with whatever it holds, and stays dead", "crash a", |words| {
        words.worker().map(Action::Crash)
    }),
    verb("restart", "MEMBER", "its process dies, if it has one, and the next begins", "restart a", |words| {
        words.worker().map(Action::Restart)
    }),
    verb(
        "pause",
        "MEMBER [for TIME]",
        "its process stands still and does not know it; without a time until `resume`",
        "pause a for 60s",
        |words| {
            let worker = words.worker()?;
            let for_ms = words.peek().map(|_| words.span_ms()).transpose()?;
            Ok(Action::Pause { worker, for_ms })
        },
    ),
    verb("resume", "MEMBER", "its process goes on", "resume a", |words| words.worker().map(Action::Resume)),
    verb(
        "starve",
        "MEMBER for TIME",
        "its client's thread does not run, so that the group loses the member",
        "starve a for 70s",
        |words| Ok(of_worker(Fault::PollThreadStarved, words.worker()?, words.span_ms()?)),
    ),
    verb(
        "ask",
        "MEMBER shutdown|pause|stop",
        "a signal, or the operator; a second `shutdown` ends the process at once",
        "ask a shutdown",
        ask,
    ),
    verb(
        "revoke",
        "MEMBER",
        "the group takes its partitions and deals them out again",
        "revoke a",
        |words| words.worker().map(Action::Revoke),
    ),
    verb("publish", "PARTITION [N]", "N visible records, one if not said", "publish orders/0 3", |words| {
        append(words, Entry::Visible)
    }),
    verb("aborted", "PARTITION [N]", "N records of an aborted transaction", "aborted orders/0 3", |words| {
        append(words, Entry::Aborted)
    }),
    verb("control", "PARTITION [N]", "N transaction markers", "control orders/0 1", |words| {
        append(words, Entry::Control)
    }),
    verb(
        "open",
        "PARTITION [N]",
        "N records of a transaction that stays open: the read-committed end waits for it",
        "open orders/0 2",
        |words| append(words, Entry::Open),
    ),
    verb("commit", "PARTITION", "its open transaction commits", "commit orders/0", |words| {
        Ok(Action::Close { partition: words.partition()?, is_committed: true })
    }),
    verb("abort", "PARTITION", "its open transaction aborts", "abort orders/0", |words| {
        Ok(Action::Close { partition: words.partition()?, is_committed: false })
    }),
    verb(
        "delete-records",
        "PARTITION below=OFFSET",
        "the log begins at this offset now",
        "delete-records orders/0 below=2",
        |words| Ok(Action::DeleteBelow { partition: words.partition()?, offset: offset(words, "below")? }),
    ),
    verb(
        "truncate",
        "PARTITION to=OFFSET",
        "an unclean election loses this offset and all behind it",
        "truncate orders/0 to=2",
        |words| Ok(Action::TruncateTo { partition: words.partition()?, offset: offset(words, "to")? }),
    ),
    verb(
        "compact",
        "PARTITION at=OFFSET",
        "compaction removes the record at this offset",
        "compact orders/0 at=1",
        |words| Ok(Action::Compact { partition: words.partition()?, offset: offset(words, "at")? }),
    ),
    verb(
        "recreate",
        "[partitions=N]",
        "the topic is deleted and made again under its name",
        "recreate partitions=2",
        |words| Ok(Action::Recreate { partitions: words.option("partitions")? }),
    ),
    verb("delete-topic", "", "the topic is deleted", "delete-topic", |_| Ok(Action::DeleteTopic)),
    verb("partitions", "N", "the topic has N partitions now", "partitions 3", |words| {
        Ok(Action::Grow { partitions: words.number("a number of partitions")? })
    }),
    verb(
        "configure",
        "retention-finite|cleanup-policy|unclean-election",
        "the topic's configuration becomes what this refusal is about",
        "configure cleanup-policy",
        configure,
    ),
    verb(
        "leader-lost",
        "PARTITION for TIME",
        "the partition has no leader",
        "leader-lost orders/0 for 3s",
        |words| Ok(of_partition(Fault::LeaderMoved, words.partition()?, words.span_ms()?)),
    ),
    verb(
        "hold",
        "PARTITION for TIME",
        "another session of the database holds the row's lock",
        "hold orders/0 for 3s",
        |words| Ok(of_partition(Fault::RowHeld, words.partition()?, words.span_ms()?)),
    ),
    verb(
        "foreign-claim",
        "PARTITION",
        "another deployment claims the partition's row",
        "foreign-claim orders/0",
        |words| Ok(of_partition(Fault::SecondDeployment, words.partition()?, 0)),
    ),
    verb(
        "failover",
        "[forgetting N]",
        "every session is cut, and the new server never saw the last N commits",
        "failover forgetting 2",
        |words| match words.has("forgetting") {
            true => Ok(of_worker(Fault::CommitsForgotten, 0, words.number("a number of commits")?)),
            false => Ok(of_worker(Fault::FailedOver, 0, 0)),
        },
    ),
    verb(
        "postgres",
        "down for TIME",
        "every session is cut, and none can be opened",
        "postgres down for 5s",
        |words| {
            let word = words.take("down")?;
            if word.text != "down" {
                return Err(word.is_no("state of a server", "down"));
            }
            Ok(of_worker(Fault::FailedOver, 0, words.span_ms()?))
        },
    ),
    verb(
        "strike",
        "FAULT [MEMBER] [PARTITION] [FORM] [SEVERITY] [times=N|times=always]",
        "a fault of the catalogue: at its next opportunity there, or now if it is an incident",
        "strike commit-reply-lost a orders/0 cut 500ms times=2",
        strike,
    ),
    verb("heal", "", "the faults are over, and what they left is mended", "heal", |_| Ok(Action::Heal)),
];

/// Reads a verb and what follows it.
pub(super) fn action(words: &mut Words<'_>) -> Parsed<Action> {
    let word = words.take("a verb, such as start")?;
    let verb = VERBS.iter().find(|verb| verb.word == word.text);
    let verb =
        verb.ok_or_else(|| Mistake::none_of(word.at, word.text, "verb", VERBS.iter().map(|verb| verb.word)))?;
    let action = (verb.parse)(words)?;
    words.end()?;
    Ok(action)
}

/// Reads one word of a closed list.
fn one_of<T: Copy>(words: &mut Words<'_>, kind: &str, list: &[(&str, T)]) -> Parsed<T> {
    let all = || list.iter().map(|(word, _)| *word);
    let word = words.take(&all().collect::<Vec<_>>().join(" or "))?;
    let found = list.iter().find(|(known, _)| *known == word.text).map(|(_, meaning)| *meaning);
    found.ok_or_else(|| Mistake::none_of(word.at, word.text, kind, all()))
}

fn ask(words: &mut Words<'_>) -> Parsed<Action> {
    let list = [("shutdown", Request::Shutdown), ("pause", Request::Pause), ("stop", Request::Stop)];
    Ok(Action::Ask { worker: words.worker()?, request: one_of(words, "request", &list)? })
}

fn configure(words: &mut Words<'_>) -> Parsed<Action> {
    let list = [
        ("retention-finite", Setting::RetentionFinite),
        ("cleanup-policy", Setting::CleanupPolicy),
        ("unclean-election", Setting::UncleanElection),
    ];
    one_of(words, "setting", &list).map(Action::Configure)
}

fn append(words: &mut Words<'_>, entry: Entry) -> Parsed<Action> {
    let partition = words.partition()?;
    let times = words.peek().map(|_| words.number("a number of records")).transpose()?;
    Ok(Action::Append { partition, entry, times: times.unwrap_or(1) })
}

fn offset(words: &mut Words<'_>, key: &str) -> Parsed<i64> {
    match words.option(key)? {
        Some(offset) => Ok(offset),
        None => {
            let wanted = format!("{key}= and an offset");
            Err(words.take(&wanted)?.is_no("offset of the log", &wanted))
        }
    }
}

fn of_worker(fault: Fault, worker: u8, severity: u64) -> Action {
    Action::Incident(Incident { at_ms: 0, fault, severity, variant: 0, worker, partition: 0 })
}

fn of_partition(fault: Fault, partition: u32, severity: u64) -> Action {
    Action::Incident(Incident { at_ms: 0, fault, severity, variant: 0, worker: 0, partition })
}

/// Reads the name of a fault.
pub(super) fn fault(word: Word<'_>) -> Parsed<Fault> {
    let found = CATALOGUE.iter().find(|entry| entry.name == word.text);
    found.map(|entry| entry.fault).ok_or_else(|| {
        Mistake::none_of(
            word.at,
            word.text,
            "fault of the catalogue",
            CATALOGUE.iter().map(|entry| entry.name),
        )
    })
}

/// Forms and severities come from the catalogue, so that a new fault needs nothing here.
fn strike(words: &mut Words<'_>) -> Parsed<Action> {
    let entry = fault(words.take("the name of a fault, such as commit-reply-lost")?)?.entry();
    let is_incident = entry.is_incident;
    let (mut worker, mut partition, mut times) = (None, None, 1);
    let mut strike = Strike { severity: entry.severity.0, variant: 0 };
    while let Some(word) = words.next() {
        if let Some(form) = entry.variants.iter().position(|form| *form == word.text) {
            strike.variant = u32::try_from(form).unwrap_or(0);
        } else if word.is_partition() {
            partition = Some(word.partition(words.cast)?);
        } else if word.is_member() {
            worker = Some(word.worker(words.cast)?);
        } else if let Some((key, value)) = word.option().filter(|(key, _)| key.text == "times") {
            if is_incident {
                let why = format!("{} is an incident: it happens once, now", entry.name);
                return Err(Mistake::new(key.at, why));
            }
            times = if value.text == "always" { u32::MAX } else { value.number("a number, or always")? };
        } else if word.text.starts_with(|first: char| first.is_ascii_digit()) && !entry.unit.is_empty() {
            strike.severity = severity(word, entry.unit)?;
        } else {
            let kind = format!("form of {}", entry.name);
            let forms =
                entry.variants.iter().copied().chain([unit(entry.unit)]).filter(|form| !form.is_empty());
            return Err(Mistake::none_of(
                word.at,
                word.text,
                &kind,
                forms.chain(["a member", "a partition"]),
            ));
        }
    }
    let Strike { severity, variant } = strike;
    Ok(if is_incident {
        let (worker, partition) = (worker.unwrap_or(0), partition.unwrap_or(0));
        Action::Incident(Incident { at_ms: 0, fault: entry.fault, severity, variant, worker, partition })
    } else {
        Action::Order(Order { fault: entry.fault, worker, partition, strike, times })
    })
}

/// How a severity is written: with a unit of time where the catalogue counts milliseconds.
fn unit(unit: &str) -> &str {
    if unit.starts_with("ms") { "a time" } else { unit }
}

fn severity(word: Word<'_>, unit: &str) -> Parsed<u64> {
    if unit.starts_with("ms") { word.time() } else { word.number(&format!("a number: {unit}")) }
}
