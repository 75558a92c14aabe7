//! The turns that a campaign must have seen are recognised, each by its own facts and by no others.

use amends_core::ids::{Frontier, Offset};
use amends_core::lifecycle::command::{CheckParts, Command, Timer};
use amends_core::lifecycle::event::{Event, ProbeSight};
use amends_core::lifecycle::stop::StopReason;
use amends_core::source::boundary::Refusal;
use amends_sim::checks::{Check, Verdict};
use amends_sim::fact::{Entry, Fact};
use amends_sim::faults::Fault;
use amends_sim::sometimes::{Goal, Goals};
use amends_sim::truth::Truth;

use super::told::{A, B, Told, incarnation, rebalance, row, t, token};

/// Goals, fed like a check.
#[derive(Default)]
struct Watched(Goals);

impl Check for Watched {
    const NAME: &'static str = "goals";
    const CLAIM: &'static str = "";

    fn see(&mut self, fact: &Fact<'_>, truth: &Truth) -> Verdict {
        self.0.see(fact, truth);
        Ok(())
    }
}

#[track_caller]
fn saw(told: &Told<Watched>, wanted: &[Goal]) {
    let hits = told.check.0.hits();
    let seen: Vec<Goal> = hits.filter(|(_, times)| *times > 0).map(|(goal, _)| goal).collect();
    assert_eq!(seen, wanted);
}

fn working() -> Told<Watched> {
    let mut told = Told::new();
    told.appended(0, &[Entry::Visible, Entry::Aborted, Entry::Visible]).working();
    told
}

fn deciding() -> Told<Watched> {
    let mut told = working();
    told.polled(A, t(), &[0, 2]).process(A, t(), (0, 2)).settled(A);
    told
}

#[test]
fn nothing_rare_is_seen_in_a_plain_life() {
    saw(&working(), &[]);
    assert_eq!(Goal::ALL.len(), 31);
}

#[test]
fn unknown_outcomes() {
    let unknown = || {
        let mut told = deciding();
        told.unknown(A, t()).observe(A, t());
        told
    };
    saw(unknown().observed(A, t(), row(1, 3)), &[Goal::UnknownCommitted]);
    saw(unknown().observed(A, t(), row(1, 0)), &[Goal::UnknownAborted]);
    saw(unknown().observed(A, t(), row(2, 0)), &[Goal::UnknownForeign]);
    let failed = Event::ObserveFailed { tenure: t(), failure: super::told::again() };
    saw(unknown().hears(A, failed), &[Goal::UnknownUnread]);
    let mut told = Told::new();
    told.started(A).assigned(A, 1, &[0]).claim(A, t()).commits(A, t(), row(1, 0), &[]);
    told.hears(A, Event::ClaimUnknown { tenure: t(), why: String::new() }).observe(A, t());
    told.observed(A, t(), row(1, 0)).claim(A, t());
    saw(&told, &[Goal::ClaimedAfresh]);
    saw(told.commits(A, t(), row(2, 0), &[]), &[Goal::ClaimedAfresh, Goal::EpochBurnt]);
}

#[test]
fn revoked_fenced_and_late() {
    let revoked = || {
        let mut told = deciding();
        told.hears(A, Event::Revoked { rebalance: rebalance(2), partitions: vec![t().partition] });
        told
    };
    let fenced = || Event::Fenced { tenure: t(), by: Some(token(2)) };
    let gap = [Goal::RevokedCommitWins, Goal::GapAdvance, Goal::AbortedSkipped];
    saw(revoked().commits(A, t(), row(1, 3), &[0, 2]), &gap);
    saw(revoked().hears(A, fenced()), &[Goal::RevokedFenceWins]);
    saw(deciding().tell(&Fact::Thawed { who: A }).hears(A, fenced()), &[Goal::ZombieFenced]);
    saw(deciding().retire(A, t()).hears(A, fenced()), &[Goal::LateAnswerIgnored]);
    let retry = Event::Expired { timer: Timer::Retry { tenure: t(), wait: 1 } };
    saw(deciding().retire(A, t()).hears(A, retry), &[Goal::WokenAfterCancel]);
    saw(deciding().asks(A, Command::Rejoin { member: 2 }), &[Goal::RejoinAfterFence]);
    saw(deciding().assigned(A, 1, &[0]), &[Goal::CallbacksOutOfOrder]);
    let mut told = deciding();
    told.commits(A, t(), row(1, 1), &[0]).tell(&Fact::Crashed { who: A });
    saw(&told, &[Goal::CrashBeforeReply]);
    let mut told = working();
    told.observe(A, t()).started(B).assigned(B, 1, &[0]).claim(B, t()).commits(B, t(), row(2, 0), &[]);
    saw(told.observed(A, t(), row(1, 0)), &[Goal::ObserveOvertaken]);
}

#[test]
fn attempts_and_failovers() {
    let third = |told: &mut Told<Watched>| {
        let tenancy = told.truth.tenancy(A, t()).unwrap();
        let (range, expected, token) = tenancy.sent.unwrap();
        let (tenure, refused, within_ms) = (t(), false, 1_000);
        told.asks(A, Command::Process { tenure, token, expected, range, attempt: 3, refused, within_ms });
    };
    let mut told = deciding();
    third(&mut told);
    saw(told.hears(A, Event::Committed { tenure: t() }), &[Goal::ThirdSucceeds]);
    let spent = StopReason::AttemptsSpent { tenure: t(), doing: String::new(), why: String::new() };
    saw(deciding().stop(A, spent), &[Goal::ThirdExhausts]);
    let mut told = working();
    told.tell(&Fact::Forgot { commits: 1 }).observe(A, t());
    saw(told.observed(A, t(), row(2, 0)), &[Goal::FailoverNoticed]);
    let mut told = working();
    told.tell(&Fact::Forgot { commits: 1 }).started(B).assigned(B, 1, &[0]).claim(B, t());
    let twin = amends_core::ids::Token { claim_id: amends_core::ids::ClaimId(99), ..token(1) };
    told.hears(B, Event::Claimed { tenure: t(), token: twin, frontier: Frontier(0) });
    saw(&told, &[Goal::SameEpochTwice]);
    let standby = Fact::Struck { fault: Fault::OnStandby, who: Some(A) };
    saw(working().tell(&standby), &[Goal::StandbyRefused]);
}

#[test]
fn the_source() {
    let refused = |refusal| StopReason::Refused { refusal };
    let partition = t().partition;
    saw(
        working().stop(A, refused(Refusal::PartitionsGrew { expected: 2, seen: 3 })),
        &[Goal::PartitionsGrew],
    );
    saw(
        working().stop(A, refused(Refusal::StartAboveZero { partition, start: Offset(1) })),
        &[Goal::StartAboveFrontier],
    );
    let short = Refusal::FrontierAboveEnd { partition, frontier: Frontier(3), end: Offset(1) };
    saw(working().stop(A, refused(short)), &[Goal::FrontierAboveEnd]);
    let mut told = Told::new();
    saw(
        told.started(A).assigned(A, 1, &[0]).shown(A, 1, incarnation(9), None),
        &[Goal::RecreatedBeforeClaim],
    );
    saw(deciding().shown(A, 1, incarnation(9), None), &[Goal::RecreatedAfterPoll]);
    saw(working().checked(A, 1, CheckParts::Identity), &[]);
    let probe = Command::Probe { tenure: t(), frontier: Frontier(0), within_ms: 1_000 };
    saw(working().asks(A, probe), &[Goal::SeekNotTaken]);
    let probed = |first| Event::Probed { tenure: t(), sight: ProbeSight::Record(Offset(first)) };
    saw(working().hears(A, probed(2)), &[Goal::ProbeConfirmsGap]);
    saw(working().hears(A, probed(0)), &[]);
    let planted = Fact::Struck { fault: Fault::GroupOffsetPlanted, who: Some(A) };
    let mut told = working();
    told.commits(A, t(), row(1, 1), &[0]).tell(&planted).commits(A, t(), row(1, 2), &[1]);
    saw(&told, &[Goal::PlantedOverruled]);
    let mut told = working();
    told.appended(3, &[Entry::Control]).commits(A, t(), row(1, 1), &[0]).commits(A, t(), row(1, 3), &[2]);
    told.tell(&Fact::Ended);
    saw(&told, &[Goal::GapAdvance, Goal::AbortedSkipped, Goal::TailLeft]);
}
