//! S13 and S14: where a client is sent, and in which order its records are decided.

use std::sync::Arc;

use amends_core::ids::{Frontier, Offset};
use amends_core::lifecycle::command::{CheckId, CheckParts, Command, Range};
use amends_core::lifecycle::event::{Event, ProbeSight, ProcessFailure};
use amends_core::source::boundary::{Bounds, LogSpan, Sight, TopicSight};
use amends_sim::checks::{Check, s13, s14};

use super::good::{bisected, decided, deciding, handed_over, judged, polling, resolved};
use super::told::{A, Told, declared, row, t};

fn seek(frontier: i64) -> Command {
    Command::Seek { tenure: t(), frontier: Frontier(frontier), within_ms: 1_000 }
}

fn probe() -> Command {
    Command::Probe { tenure: t(), frontier: Frontier(0), within_ms: 1_000 }
}

fn probed(sight: ProbeSight) -> Event {
    Event::Probed { tenure: t(), sight }
}

/// Bounds of partition 0 are asked for, and shown.
fn bounds<C: Check>(told: &mut Told<C>, number: u64, start: i64, end: i64) {
    let span = |start, end| Some(LogSpan { start: Offset(start), end: Offset(end) });
    let bounds = Arc::new(Bounds {
        cleanup_policy: "delete".to_owned(),
        retention_ms: -1,
        retention_bytes: -1,
        unclean_leader_election: false,
        logs: vec![span(start, end), span(0, 0)],
    });
    let topic = TopicSight::Known { incarnation: Some(declared()), partitions: 2 };
    let check = CheckId(number);
    told.asks(A, Command::Check { check, parts: CheckParts::Bounds }).settled(A);
    told.hears(A, Event::Checked { check, sight: Sight { topic, bounds: Some(bounds) } });
}

#[test]
fn s13_targets() {
    handed_over::<s13::Seeks>().holds("S13");
    let checked = |start, end| {
        let mut told = decided::<s13::Seeks>();
        told.hears(A, Event::PollEmpty { tenure: t() }).allow(A, t());
        bounds(&mut told, 9, start, end);
        told
    };
    checked(0, 8).asks(A, seek(2)).holds("S13");
    checked(2, 2).asks(A, seek(2)).holds("S13");
    checked(0, 8).asks(A, seek(3)).breaks("S13", "a 0#1 is sent to 3, and read 2");
    checked(0, 8).asks(A, seek(0)).breaks("S13", "a 0#1 is sent to 0, and read 2");
    checked(3, 8).asks(A, seek(2)).breaks("S13", "a 0#1 is sent to 2, and the log goes from 3 to 8");
    checked(0, 1).asks(A, seek(2)).breaks("S13", "and the log goes from 0 to 1");
    let mut bad = checked(0, 8);
    bad.hears(A, Event::PollEmpty { tenure: t() }).asks(A, seek(2));
    bad.breaks("S13", "a 0#1 is sent to 2 without fresh bounds");
    // What the claim told is believed only once the row showed it.
    let mut bad = Told::<s13::Seeks>::new();
    bad.started(A).assigned(A, 1, &[0]).checked(A, 1, CheckParts::Bounds).claim(A, t());
    bad.commits(A, t(), row(1, 0), &[]);
    bad.hears(A, Event::Claimed { tenure: t(), token: row(1, 0).token.unwrap(), frontier: Frontier(0) });
    bad.placed(A, t()).breaks("S13", "a 0#1 is sent to 0, and read nothing");
}

#[test]
fn s13_first_records() {
    let sent = |offsets: &[i64]| {
        let mut told = polling::<s13::Seeks>();
        told.polled(A, t(), offsets).checked(A, 3, CheckParts::Bounds);
        told
    };
    sent(&[0]).process(A, t(), (0, 1)).holds("S13");
    sent(&[1])
        .process(A, t(), (0, 1))
        .breaks("S13", "a 0#1 decides from 1 where it was sent to 0, and no probe agrees");
    let probing = |sight| {
        let mut told = polling::<s13::Seeks>();
        told.polled(A, t(), &[1]).allow(A, t()).asks(A, probe()).settled(A).hears(A, probed(sight));
        bounds(&mut told, 3, 0, 8);
        told.asks(A, seek(0)).settled(A);
        told
    };
    let believed = |sight, first: i64| {
        let mut told = probing(sight);
        told.hears(A, Event::Sought { tenure: t() }).poll(A, t()).settled(A).polled(A, t(), &[first]);
        told.process(A, t(), (0, 1));
        told
    };
    believed(ProbeSight::Record(Offset(1)), 1).holds("S13");
    believed(ProbeSight::Record(Offset(1)), 3).breaks("S13", "sent to 0, and a probe saw 1");
    believed(ProbeSight::Tail(Offset(8)), 3).breaks("S13", "sent to 0, and a probe saw none below 8");
    // One gap that was probed says nothing of the next seek's.
    let mut bad = believed(ProbeSight::Record(Offset(1)), 1);
    bad.commits(A, t(), row(1, 2), &[1]).hears(A, Event::Committed { tenure: t() }).allow(A, t());
    bounds(&mut bad, 4, 0, 8);
    bad.asks(A, seek(2)).settled(A).hears(A, Event::Sought { tenure: t() }).poll(A, t()).settled(A);
    bad.polled(A, t(), &[3]).process(A, t(), (0, 1)).breaks("S13", "sent to 2, and no probe agrees");
    let mut bad = probing(ProbeSight::Record(Offset(0)));
    bad.polled(A, t(), &[0]).process(A, t(), (0, 1));
    bad.breaks("S13", "a 0#1 decides before its client is where it was sent");
}

#[test]
fn s13_empty_polls() {
    /// Polls come back empty, and bounds show an end.
    fn empty(told: &mut Told<s13::Seeks>, number: u64, end: i64) {
        told.hears(A, Event::PollEmpty { tenure: t() }).allow(A, t()).poll(A, t()).settled(A);
        bounds(told, number, 0, end);
        told.settled(A);
    }
    let polls = |told: &mut Told<s13::Seeks>, times| {
        for _ in 0..times {
            told.hears(A, Event::PollEmpty { tenure: t() }).allow(A, t()).poll(A, t()).settled(A);
        }
    };
    let mut bad = polling::<s13::Seeks>();
    empty(&mut bad, 3, 8);
    polls(&mut bad, 4);
    bad.breaks("S13", "a 0#1 polls on where records are, sees none, and does not probe");
    // An idle poll more, then the probe.
    let mut good = polling::<s13::Seeks>();
    empty(&mut good, 3, 8);
    polls(&mut good, 2);
    good.asks(A, probe());
    polls(&mut good, 5);
    good.holds("S13");
    // Nothing is there; or what is there is a tail that a probe saw, and then it grows.
    let mut good = polling::<s13::Seeks>();
    empty(&mut good, 3, 0);
    polls(&mut good, 9);
    good.holds("S13");
    let mut told = polling::<s13::Seeks>();
    told.asks(A, probe()).hears(A, probed(ProbeSight::Tail(Offset(8)))).settled(A);
    empty(&mut told, 3, 8);
    polls(&mut told, 9);
    told.holds("S13");
    empty(&mut told, 4, 9);
    polls(&mut told, 4);
    told.breaks("S13", "polls on where records are");
    // Records came: the seek took.
    let mut good = polling::<s13::Seeks>();
    empty(&mut good, 3, 8);
    good.polled(A, t(), &[0]).process(A, t(), (0, 1)).commits(A, t(), row(1, 1), &[0]);
    good.hears(A, Event::Committed { tenure: t() }).allow(A, t()).poll(A, t());
    polls(&mut good, 9);
    good.holds("S13");
}

#[test]
fn s14_order() {
    handed_over::<s14::Order>().holds("S14");
    bisected::<s14::Order>().holds("S14");
    deciding::<s14::Order>().process_failed(A, t()).process(A, t(), (0, 2)).holds("S14");
    deciding::<s14::Order>()
        .process_failed(A, t())
        .process(A, t(), (0, 1))
        .breaks("S14", "a 0#1 decides 0-0: 0-1 was sent before");
    // Refused: the leading part, and then the rest; not the rest at once.
    let refused = || {
        let mut told = deciding::<s14::Order>();
        let failure = ProcessFailure::TooLarge { fit: 1 };
        told.hears(A, Event::ProcessFailed { tenure: t(), failure });
        told
    };
    refused().process(A, t(), (0, 1)).holds("S14");
    refused()
        .process(A, t(), (1, 2))
        .breaks("S14", "a 0#1 decides 1-1: 0 of these records are decided, and it begins with 1");
    deciding::<s14::Order>()
        .hears(A, Event::Committed { tenure: t() })
        .process(A, t(), (0, 2))
        .breaks("S14", "a 0#1 decides 0-1: everything below 2 is decided");
    resolved::<s14::Order>()
        .polled(A, t(), &[3, 5])
        .process(A, t(), (0, 2))
        .breaks("S14", "a 0#1 decides 3-5: everything below 6 is decided");
    resolved::<s14::Order>()
        .polled(A, t(), &[1, 6])
        .process(A, t(), (0, 2))
        .breaks("S14", "a 0#1 decides 1-6: everything below 6 is decided");
    judged::<s14::Order>()
        .polled(A, t(), &[1, 0])
        .process(A, t(), (0, 2))
        .breaks("S14", "they do not ascend");
}

#[test]
fn s14_records_in_hand() {
    let process = |range| Command::Process {
        tenure: t(),
        token: row(1, 0).token.unwrap(),
        expected: Frontier(0),
        range,
        attempt: 1,
        refused: false,
        within_ms: 1_000,
    };
    let range = |last| Range { from: 0, to: 2, first: Offset(0), last: Offset(last) };
    judged::<s14::Order>().asks(A, process(range(1))).holds("S14");
    judged::<s14::Order>()
        .asks(A, process(range(3)))
        .breaks("S14", "a 0#1 decides 0-3: the records in hand have other offsets");
    judged::<s14::Order>()
        .allow(A, t())
        .asks(A, process(range(1)))
        .breaks("S14", "a 0#1 decides 0-1: these records are not in hand");
    let mut bad = judged::<s14::Order>();
    bad.asks(A, seek(0)).settled(A).hears(A, Event::Sought { tenure: t() });
    bad.asks(A, process(range(1))).breaks("S14", "they were polled before the last seek");
}
