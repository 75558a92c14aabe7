//! What is said of a COMMIT under each fault, and what the server then shows.

use std::time::Duration;

use amends_core::ids::Frontier;
use amends_core::lifecycle::event::{Event, Failure, ProcessFailure};
use amends_sim::faults::Fault;
use madsim::time::{Instant, sleep};

use crate::desk::{CLAIM, Desk, OBSERVE, TENURE, World, records, world};

/// What a decision is answered with.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Said {
    Committed,
    NotCommitted,
    Unknown,
}

fn said(event: &Event) -> Said {
    match event {
        Event::Committed { .. } | Event::Claimed { .. } => Said::Committed,
        Event::ProcessFailed { failure: ProcessFailure::Attempt(Failure::Again(_)), .. }
        | Event::ClaimFailed { failure: Failure::Again(_), .. } => Said::NotCommitted,
        Event::CommitUnknown { .. } | Event::ClaimUnknown { .. } => Said::Unknown,
        other => panic!("{other:?}"),
    }
}

/// One decision under one fault: what is said of it, whether the fault struck, and the frontier read afterwards.
fn decision_under(fault: Fault, severity: u64, variant: u32) -> (Said, Frontier) {
    let (seen, trace) = world(7, true, async move |world: World| {
        let mut desk = Desk::of(&world, 0).await;
        let (token, frontier) = desk.claim().await;
        world.order(fault, severity, variant);
        let batch = records(&["T1 r1 assert 2026-01-05 -30"]);
        let said = said(&desk.process(token, frontier, &batch).await);
        assert!(world.has_struck(fault), "{fault:?}");
        let (seen, frontier) = desk.observe().await;
        assert_eq!(seen, Some(token));
        let frontier = frontier.unwrap();
        assert_eq!(world.rows("evidence").len(), usize::from(frontier == Frontier(1)));
        // Whatever happened before, it can be decided now.
        if frontier == Frontier(0) {
            assert_eq!(desk.process(token, frontier, &batch).await, Event::Committed { tenure: TENURE });
        }
        (said, frontier)
    });
    assert!(trace.contains(fault.entry().name), "{trace}");
    seen
}

const COMMITTED: Frontier = Frontier(1);
const NOT_COMMITTED: Frontier = Frontier(0);

#[test]
fn a_lost_reply_is_unknown_and_committed() {
    for (severity, variant) in [(0, 0), (2_000, 0), (0, 1)] {
        assert_eq!(decision_under(Fault::CommitReplyLost, severity, variant), (Said::Unknown, COMMITTED));
    }
    assert_eq!(decision_under(Fault::ConnectionDropped, 0, 3), (Said::Unknown, COMMITTED));
}

#[test]
fn a_lost_commit_is_unknown_and_not_committed() {
    for (severity, variant) in [(0, 0), (2_000, 0), (0, 1)] {
        assert_eq!(decision_under(Fault::CommitLost, severity, variant), (Said::Unknown, NOT_COMMITTED));
    }
    assert_eq!(decision_under(Fault::ConnectionDropped, 0, 2), (Said::Unknown, NOT_COMMITTED));
}

/// It holds its row lock until it lands, and the observation waits for that.
#[test]
fn a_late_commit_is_waited_for() {
    for variant in [0, 1] {
        assert_eq!(decision_under(Fault::CommitLate, 3_000, variant), (Said::Unknown, COMMITTED));
    }
    assert_eq!(decision_under(Fault::BytesDelayed, 1_000, 0), (Said::NotCommitted, NOT_COMMITTED));
}

#[test]
fn a_late_commit_is_late() {
    world(12, false, async |world: World| {
        let mut desk = Desk::of(&world, 0).await;
        let (token, frontier) = desk.claim().await;
        world.order(Fault::CommitLate, 3_000, 0);
        let began = Instant::now();
        let answer = desk.process(token, frontier, &records(&["T1 r1 cancel"])).await;
        assert_eq!(said(&answer), Said::Unknown);
        assert!(world.rows("evidence").is_empty());
        assert_eq!(desk.observe().await, (Some(token), Some(COMMITTED)));
        assert!(began.elapsed() > Duration::from_secs(3));
    });
}

#[test]
fn a_warning_is_unknown_and_committed() {
    assert_eq!(decision_under(Fault::StandbyWarned, 0, 0), (Said::Unknown, COMMITTED));
}

/// The failover comes a moment later, and the server that is left never had it.
#[test]
fn a_warned_commit_may_be_forgotten() {
    world(11, false, async |world: World| {
        let mut desk = Desk::of(&world, 0).await;
        let (token, frontier) = desk.claim().await;
        world.order(Fault::StandbyWarned, 0, 1);
        let answer = desk.process(token, frontier, &records(&["T1 r1 cancel"])).await;
        assert_eq!(said(&answer), Said::Unknown);
        sleep(Duration::from_millis(100)).await;
        assert!(world.has_struck(Fault::CommitsForgotten));
        assert_eq!(desk.observe().await, (Some(token), Some(frontier)));
        assert!(world.rows("evidence").is_empty());
    });
}

#[test]
fn a_refusal_is_not_committed() {
    for variant in [0, 1] {
        assert_eq!(
            decision_under(Fault::TransactionAborted, 1, variant),
            (Said::NotCommitted, NOT_COMMITTED)
        );
        assert_eq!(decision_under(Fault::DiskFull, 1, variant), (Said::NotCommitted, NOT_COMMITTED));
    }
}

#[test]
fn a_connection_that_drops_before_commit_did_not_commit() {
    for variant in [0, 1, 4] {
        assert_eq!(decision_under(Fault::ConnectionDropped, 0, variant), (Said::NotCommitted, NOT_COMMITTED));
    }
    assert_eq!(decision_under(Fault::SessionRefused, 0, 0), (Said::NotCommitted, NOT_COMMITTED));
}

#[test]
fn a_claim_whose_reply_is_lost_is_unknown() {
    for (fault, variant, installed) in
        [(Fault::ClaimReplyLost, 0, true), (Fault::ClaimReplyLost, 1, false), (Fault::OrphanClaim, 0, true)]
    {
        world(8, false, async move |world: World| {
            let mut desk = Desk::of(&world, 0).await;
            world.order(fault, 1_500, variant);
            assert_eq!(said(&desk.ask(&CLAIM).await), Said::Unknown);
            assert!(world.has_struck(fault));
            let (token, _) = desk.observe().await;
            assert_eq!(token.map(|token| token.epoch), installed.then_some(1), "{fault:?}");
            assert_eq!(desk.claim().await.0.epoch, if installed { 2 } else { 1 });
        });
    }
}

#[test]
fn an_observation_fails_as_often_as_it_is_told_to() {
    world(9, false, async |world: World| {
        let mut desk = Desk::of(&world, 0).await;
        let (token, _) = desk.claim().await;
        world.order(Fault::ObserveFails, 2, 0);
        for _ in 0..2 {
            let answer = desk.ask(&OBSERVE).await;
            assert!(matches!(answer, Event::ObserveFailed { failure: Failure::Again(_), .. }), "{answer:?}");
        }
        assert_eq!(desk.observe().await.0, Some(token));
    });
}

/// A standby and a server that is full are outages before anything was sent.
#[test]
fn a_session_that_cannot_be_had_is_no_attempt() {
    for (fault, variant) in [(Fault::OnStandby, 0), (Fault::SessionRefused, 1), (Fault::SessionRefused, 2)] {
        world(10, false, async move |world: World| {
            let mut desk = Desk::of(&world, 0).await;
            desk.claim().await;
            world.order(fault, 1, variant);
            let answer = desk.ask(&OBSERVE).await;
            assert!(
                matches!(answer, Event::ObserveFailed { failure: Failure::Unreached(_), .. }),
                "{fault:?} {answer:?}"
            );
            assert!(world.has_struck(fault));
        });
    }
}
