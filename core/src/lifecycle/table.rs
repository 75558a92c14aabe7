//! Prints what follows each input in each state into docs/transitions.md, and fails when that page is stale.

use std::fmt::Write as _;
use std::sync::Arc;

use super::command::Range;
use super::event::{Failure, Offsets, PollFailure, ProbeSight, ProcessFailure};
use super::tenure::table::{Situation, situations};
use super::*;
use crate::ids::{ClaimId, Frontier, Incarnation, Offset, RebalanceId, Token};
use crate::source::boundary::{Bounds, LogSpan, Sight, Sink, TopicSight};

mod process;

const HEAD: &str = "\
# What follows what

Printed by a test from the reducer (`make bless` rewrites it); a review of the protocol begins with the diff of this
page.

Each paragraph is one tenure in one state: what happens, the state after it, the commands. The tenure's token is epoch
7, its frontier 10, its records 10 and 11.

    polled at the frontier                              judging      > check bounds
    (same)     the state stays
    !code      the stream drains, and stops with this code
    ·          comes too late and changes nothing; the ticket of a late poll comes straight back
    ×          impossible, as nobody asked: each answer to these questions stops the process with `impossible`

To a tenure that is gone every answer comes too late. `passed` is a check that serves the tenure and found nothing; a
check that found something never reaches a tenure (see *The process*). `granted` is a free lane, `spent` the end of the
budget, `drained` the end of the stream.
";

/// What the tenures share, before an input: one lane is taken when the tenure has it.
pub(super) fn shared() -> Shared {
    let mut shared = Lifecycle::new(settings()).shared;
    shared.now = Moment(60_000);
    shared.gate.assigned(RebalanceId { member: 1, number: 1 });
    shared.gate.assigning = None;
    shared.checks.passed(Some(&Arc::new(bounds(20))));
    shared
}

pub(super) fn settings() -> Settings {
    Settings {
        topic: "orders".to_owned(),
        source: Declared { sink: Sink::Ledger, incarnation: incarnation(), partitions: 2 },
        lanes: 1,
        batch_records: 500,
        batch_bytes: 4 << 20,
    }
}

pub(super) fn incarnation() -> Incarnation {
    Incarnation::from_bytes([7; 16]).expect("not zero")
}

pub(super) fn bounds(end: i64) -> Bounds {
    let log = Some(LogSpan { start: Offset(0), end: Offset(end) });
    Bounds {
        cleanup_policy: "delete".to_owned(),
        retention_ms: -1,
        retention_bytes: -1,
        unclean_leader_election: false,
        logs: vec![log, log],
    }
}

pub(super) fn sight(end: i64) -> Sight {
    let topic = TopicSight::Known { incarnation: Some(incarnation()), partitions: 2 };
    Sight { topic, bounds: Some(Arc::new(bounds(end))) }
}

pub(super) fn token(epoch: i64) -> Token {
    Token { epoch, claim_id: ClaimId(u128::from(epoch.unsigned_abs())) }
}

pub(super) fn offsets(list: &[i64]) -> Offsets {
    Offsets::new(list.iter().copied().map(Offset).collect())
}

pub(super) fn range(first: i64, last: i64) -> Range {
    let to = u32::try_from(last - first + 1).expect("small");
    Range { from: 0, to, first: Offset(first), last: Offset(last) }
}

/// Everything that a sample input borrows.
struct Samples {
    again: Failure,
    unreached: Failure,
    broken: Failure,
    polled: Vec<(&'static str, Offsets)>,
    poll_failed: Vec<(&'static str, PollFailure)>,
    process_failed: Vec<(&'static str, ProcessFailure)>,
}

impl Samples {
    fn new() -> Self {
        let again = Failure::Again("no answer".to_owned());
        let unreached = Failure::Unreached("refused".to_owned());
        let broken = Failure::Broken("no permission".to_owned());
        Self {
            polled: vec![
                ("at the frontier", offsets(&[10, 11])),
                ("15", offsets(&[15])),
                ("12", offsets(&[12])),
                ("below the frontier", offsets(&[9, 10])),
                ("out of order", offsets(&[11, 10])),
            ],
            poll_failed: vec![
                ("reset", PollFailure::Reset("out of range".to_owned())),
                ("again", PollFailure::Again("no broker".to_owned())),
            ],
            process_failed: vec![
                ("unreached", ProcessFailure::Attempt(unreached.clone())),
                ("again", ProcessFailure::Attempt(again.clone())),
                ("broken", ProcessFailure::Attempt(broken.clone())),
                ("refused", ProcessFailure::Refused("22021".to_owned())),
                ("too-large fit=1", ProcessFailure::TooLarge { fit: 1 }),
            ],
            again,
            unreached,
            broken,
        }
    }

    /// Every input, several where what it carries decides: (what it carries, the input).
    fn inputs(&self) -> Vec<(&str, Input<'_>)> {
        let mut inputs = vec![("", Input::Passed), ("", Input::Claimed(token(7))), ("", Input::ClaimUnknown)];
        let failures = [("unreached", &self.unreached), ("again", &self.again), ("broken", &self.broken)];
        let each = |input: fn(&Failure) -> Input<'_>| failures.map(|(word, failure)| (word, input(failure)));
        inputs.extend(each(|failure| Input::ClaimFailed(failure)));
        inputs.extend([
            ("own token, own frontier", Input::Observed(Some(token(7)), Some(Frontier(10)))),
            ("own token, last sent + 1", Input::Observed(Some(token(7)), Some(Frontier(12)))),
            ("own token, other frontier", Input::Observed(Some(token(7)), Some(Frontier(11)))),
            ("other token", Input::Observed(Some(token(8)), Some(Frontier(10)))),
            ("no claim", Input::Observed(None, None)),
        ]);
        inputs.extend(each(|failure| Input::ObserveFailed(failure)));
        inputs.push(("", Input::Sought));
        inputs.extend(each(|failure| Input::SeekFailed(failure)));
        inputs.push(("record", Input::Probed(ProbeSight::Record(Offset(15)))));
        inputs.push(("tail", Input::Probed(ProbeSight::Tail(Offset(20)))));
        inputs.extend(each(|failure| Input::ProbeFailed(failure)));
        inputs.extend(self.polled.iter().map(|(word, offsets)| (*word, Input::Polled(offsets))));
        inputs.push(("", Input::PollEmpty));
        inputs.extend(self.poll_failed.iter().map(|(word, failure)| (*word, Input::PollFailed(failure))));
        inputs.push(("", Input::Committed));
        inputs.extend([("", Input::CommitUnknown), ("", Input::Fenced), ("", Input::Moved)]);
        inputs
            .extend(self.process_failed.iter().map(|(word, failure)| (*word, Input::ProcessFailed(failure))));
        inputs.extend([("", Input::RetryDue), ("", Input::Granted), ("", Input::Spent)]);
        inputs.extend([("", Input::Revoked), ("", Input::Lost), ("", Input::Drained)]);
        inputs
    }
}

/// The input's word; a new input stops the build here, and owes a sample above.
fn word(input: Input<'_>) -> &'static str {
    match input {
        Input::Passed => "passed",
        Input::Claimed(_) => "claimed",
        Input::ClaimUnknown => "claim-unknown",
        Input::ClaimFailed(_) => "claim-failed",
        Input::Observed(..) => "observed",
        Input::ObserveFailed(_) => "observe-failed",
        Input::Sought => "sought",
        Input::SeekFailed(_) => "seek-failed",
        Input::Probed(_) => "probed",
        Input::ProbeFailed(_) => "probe-failed",
        Input::Polled(_) => "polled",
        Input::PollEmpty => "poll-empty",
        Input::PollFailed(_) => "poll-failed",
        Input::Committed => "committed",
        Input::CommitUnknown => "commit-unknown",
        Input::Fenced => "fenced",
        Input::Moved => "moved",
        Input::ProcessFailed(_) => "process-failed",
        Input::RetryDue => "retry-due",
        Input::Granted => "granted",
        Input::Spent => "spent",
        Input::Revoked => "revoked",
        Input::Lost => "lost",
        Input::Drained => "drained",
    }
}

/// The words of commands, as few as tell them apart, and the code of a stop.
pub(super) fn commands(out: &[Command], stopping: Option<&StopReason>) -> String {
    let word = |command: &Command| {
        let text = command.to_string();
        let words: Vec<&str> = text.split(' ').collect();
        if let Command::Check { .. } = command {
            return format!("check {}", words.last().expect("its parts"));
        }
        let kept = if matches!(command, Command::Process { .. } | Command::Observe { .. }) {
            words.len()
        } else if matches!(command, Command::Wait { .. } | Command::Stop { .. }) {
            2
        } else {
            1
        };
        words[..kept].join(" ")
    };
    let stop = stopping.map(|reason| format!("!{}", reason.code()));
    out.iter().map(word).chain(stop).collect::<Vec<_>>().join(", ")
}

/// What an input does to a tenure: `None` with the turn when it does nothing.
fn follow(situation: &Situation, input: Input<'_>) -> Result<(&'static str, String), Turn> {
    let (mut shared, mut tenure) = (situation.shared.clone(), situation.tenure.clone());
    let turn = tenure.turn(&mut shared, input);
    if turn != Turn::Done {
        return Err(turn);
    }
    let now = shared.now;
    if shared.stopping.is_none() {
        shared.checks.flush(now, &mut shared.out);
    }
    let is_same = tenure.state == situation.tenure.state;
    let state = if is_same { "(same)" } else { tenure.state.word() };
    Ok((state, commands(&shared.out, shared.stopping.as_ref())))
}

/// How wide the first column is.
const WIDE: usize = 50;

/// What follows, line by line; neighbours with the same consequence share one where it is wide enough.
#[derive(Default)]
pub(super) struct Lines {
    lines: Vec<(String, String, String)>,
    late: Vec<&'static str>,
}

impl Lines {
    pub(super) fn add(&mut self, input: &str, state: &str, commands: &str) {
        if let Some((inputs, of_last, last)) = self.lines.last_mut()
            && (of_last.as_str(), last.as_str()) == (state, commands)
        {
            // One word with several samples is said once: `polled 12 | out of order`.
            let is_same_word =
                |word: &str| inputs.rsplit(", ").next().is_some_and(|last| last.starts_with(word));
            let joined = match input.split_once(' ') {
                Some((word, carries)) if is_same_word(word) => format!("{inputs} | {carries}"),
                Some(_) | None => format!("{inputs}, {input}"),
            };
            if joined.len() <= WIDE {
                *inputs = joined;
                return;
            }
        }
        self.lines.push((input.to_owned(), state.to_owned(), commands.to_owned()));
    }

    pub(super) fn late(&mut self, input: &'static str) {
        self.late.push(input);
    }

    fn print(&self, page: &mut String, impossible: &[&str]) {
        for (input, state, commands) in &self.lines {
            let line = format!("    {input:<WIDE$}  {state:<12} > {commands}");
            page.push_str(line.trim_end_matches([' ', '>']));
            page.push('\n');
        }
        for (sign, words) in [("·", self.late.as_slice()), ("×", impossible)] {
            if !words.is_empty() {
                writeln!(page, "    {sign}  {}", words.join(", ")).expect("a string");
            }
        }
    }
}

/// The question whose answer this is.
fn question(input: Input<'_>) -> Option<&'static str> {
    match word(input) {
        "claimed" | "claim-unknown" | "claim-failed" => Some("claim"),
        "observed" | "observe-failed" => Some("observe"),
        "sought" | "seek-failed" => Some("seek"),
        "probed" | "probe-failed" => Some("probe"),
        "polled" | "poll-empty" | "poll-failed" => Some("poll"),
        "committed" | "commit-unknown" | "fenced" | "moved" | "process-failed" => Some("process"),
        _ => None,
    }
}

/// One paragraph: a line per input.
fn paragraph(page: &mut String, situation: &Situation, samples: &Samples) {
    let heading = format!("\n## {}\n", situation.tenure.state.word());
    if !page.contains(&heading) {
        page.push_str(&heading);
    }
    write!(page, "\n{}\n\n", situation.about).expect("a string");
    let inputs = samples.inputs();
    let (mut lines, mut impossible) = (Lines::default(), Vec::new());
    for of_word in inputs.chunk_by(|(_, one), (_, other)| word(*one) == word(*other)) {
        let name = word(of_word[0].1);
        let follows: Vec<_> = of_word.iter().map(|(_, input)| follow(situation, *input)).collect();
        let are_equal = follows.iter().all(|one| *one == follows[0]);
        for ((carries, input), follows) in of_word.iter().zip(follows) {
            let sample = if are_equal { name.to_owned() } else { format!("{name} {carries}") };
            match follows {
                Ok((state, commands)) => lines.add(&sample, state, &commands),
                Err(Turn::Late) => lines.late(name),
                Err(_) if are_equal => {
                    impossible.push((question(*input).expect("only answers are impossible"), name));
                }
                Err(_) => lines.add(&sample, "×", ""),
            }
            if are_equal {
                break;
            }
        }
    }
    // A question is impossible with all of its answers, or with none.
    let questions: Vec<_> = impossible.chunk_by(|one, other| one.0 == other.0).map(|of| of[0].0).collect();
    let answers =
        inputs.iter().filter(|(_, input)| question(*input).is_some_and(|of| questions.contains(&of)));
    let mut answers: Vec<_> = answers.map(|(_, input)| word(*input)).collect();
    answers.dedup();
    assert_eq!(answers, impossible.iter().map(|(_, name)| *name).collect::<Vec<_>>(), "{}", situation.about);
    lines.print(page, &questions);
}

#[test]
fn transitions_page_is_what_the_reducer_does() {
    let samples = Samples::new();
    let mut page = HEAD.to_owned();
    for situation in situations() {
        paragraph(&mut page, &situation, &samples);
    }
    process::section(&mut page);
    compare(&page);
}

#[expect(clippy::disallowed_methods, reason = "the page is rewritten on request, by the test alone")]
fn compare(page: &str) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/transitions.md");
    if std::env::var_os("AMENDS_BLESS").is_some_and(|bless| bless == "1") {
        std::fs::write(path, page).expect("docs/transitions.md can be written");
    }
    let stored = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        stored == page,
        "docs/transitions.md is stale: run `make bless`, then review its diff\nfirst difference: {:?}",
        page.lines().zip(stored.lines()).find(|(now, then)| now != then)
    );
}
