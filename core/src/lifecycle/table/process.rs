//! Prints what befalls the process: rebalances, checks, timers and the end of the stream, by phase.

use std::fmt::Write as _;

use super::*;
use crate::ids::TenureId;
use crate::lifecycle::command::CheckId;

/// A worker whose partition 0 has a decision in flight, and the periodic check, number 4, as well.
fn running() -> Lifecycle {
    let mut lifecycle = Lifecycle::new(settings());
    let tenure = TenureId { partition: Partition(0), number: 1 };
    let (token, frontier) = (token(7), Frontier(10));
    let check = |number| Event::Checked { check: CheckId(number), sight: sight(20) };
    for event in [
        Event::Assigned { rebalance: rebalance(1), partitions: vec![Partition(0)] },
        check(1),
        Event::Claimed { tenure, token, frontier },
        Event::Observed { tenure, token: Some(token), frontier: Some(frontier) },
        check(2),
        Event::Sought { tenure },
        Event::Polled { tenure, offsets: offsets(&[10, 11]) },
        check(3),
    ] {
        lifecycle.handle(Moment(1_000), &event, &mut Vec::new());
    }
    after(lifecycle, &Event::Expired { timer: Timer::CheckDue })
}

fn rebalance(number: u32) -> RebalanceId {
    RebalanceId { member: 1, number }
}

fn after(mut lifecycle: Lifecycle, event: &Event) -> Lifecycle {
    lifecycle.handle(Moment(6_000), event, &mut Vec::new());
    lifecycle
}

fn phases() -> Vec<(&'static str, Lifecycle)> {
    let tenure = TenureId { partition: Partition(0), number: 1 };
    let fenced = after(running(), &Event::Fenced { tenure, by: Some(token(8)) });
    let revoked =
        after(running(), &Event::Revoked { rebalance: rebalance(2), partitions: vec![Partition(0)] });
    let draining = after(running(), &Event::ShutdownRequested);
    let closing = after(draining.clone(), &Event::Committed { tenure });
    vec![
        ("Running, nothing assigned yet.", Lifecycle::new(settings())),
        ("Running, `0#1` has a decision in flight.", running()),
        ("Running, `0#1` was fenced while the group assigns its partition: a rejoin is due.", fenced),
        ("Running, the group takes partition 0 back and waits for the decision of `0#1`.", revoked),
        ("Draining, `0#1` has a decision in flight.", draining),
        ("Closing, the client leaves the group.", closing),
    ]
}

fn events() -> Vec<(&'static str, Event)> {
    let gone = Sight { topic: TopicSight::Unknown, bounds: None };
    let recreated = Incarnation::from_bytes([8; 16]);
    let recreated = TopicSight::Known { incarnation: recreated, partitions: 2 };
    let recreated = Sight { topic: recreated, bounds: None };
    let failure = Failure::Again("no answer".to_owned());
    let expired = |timer| Event::Expired { timer };
    let client_failed = |member| Event::ClientFailed { member, why: "fatal".to_owned() };
    let partitions = || vec![Partition(0), Partition(1)];
    vec![
        ("assigned 0 1", Event::Assigned { rebalance: rebalance(9), partitions: partitions() }),
        ("assigned none", Event::Assigned { rebalance: rebalance(9), partitions: Vec::new() }),
        ("assigned (old number)", Event::Assigned { rebalance: rebalance(0), partitions: partitions() }),
        (
            "assigned (unknown member)",
            Event::Assigned { rebalance: RebalanceId { member: 2, number: 1 }, partitions: partitions() },
        ),
        ("revoked 0 1", Event::Revoked { rebalance: rebalance(9), partitions: partitions() }),
        ("lost", Event::Lost { rebalance: rebalance(9) }),
        ("checked (passes)", Event::Checked { check: CheckId(4), sight: sight(20) }),
        ("checked (no such topic)", Event::Checked { check: CheckId(4), sight: gone }),
        ("checked (recreated)", Event::Checked { check: CheckId(4), sight: recreated }),
        ("checked (end below the frontier)", Event::Checked { check: CheckId(4), sight: sight(9) }),
        ("check-failed", Event::CheckFailed { check: CheckId(4), failure }),
        ("expired check-due", expired(Timer::CheckDue)),
        ("expired rebalance", expired(Timer::Rebalance { rebalance: rebalance(2) })),
        ("expired rejoin", expired(Timer::Rejoin { wait: 1 })),
        ("expired leave", expired(Timer::Leave { wait: 1 })),
        ("expired drain", expired(Timer::Drain)),
        ("shutdown-requested", Event::ShutdownRequested),
        ("pause-requested", Event::PauseRequested),
        ("stop-requested", Event::StopRequested),
        ("client-failed", client_failed(1)),
        ("client-failed (old member)", client_failed(0)),
        ("closed", Event::Closed),
    ]
}

fn phase_word(phase: &Phase) -> String {
    match phase {
        Phase::Running => "running".to_owned(),
        Phase::Draining { reason, .. } => format!("draining {}", reason.code()),
        Phase::Closing(reason) => format!("closing {}", reason.code()),
        Phase::Over => "over".to_owned(),
    }
}

/// One paragraph a phase.
pub(super) fn section(page: &mut String) {
    page.push_str(
        "\n## The process\n\nWhat befalls the worker rather than one tenure: the phase after it, the commands. Once the \
         stream is\nover, nothing follows anything.\n",
    );
    for (about, lifecycle) in phases() {
        write!(page, "\n{about}\n\n").expect("a string");
        let mut lines = Lines::default();
        for (name, event) in events() {
            let mut lifecycle = lifecycle.clone();
            let mut out = Vec::new();
            let before = phase_word(&lifecycle.phase);
            lifecycle.handle(Moment(60_000), &event, &mut out);
            let phase = phase_word(&lifecycle.phase);
            let commands = commands(&out, None);
            if phase != before {
                lines.add(name, &phase, &commands);
            } else if out.is_empty() {
                lines.late(name);
            } else {
                lines.add(name, "(same)", &commands);
            }
        }
        lines.print(page, &[]);
    }
}
