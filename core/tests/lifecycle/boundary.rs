//! Every sight that the boundary knows, judged for every sink: one row a sight, with code and message.

use std::fmt::Write as _;
use std::sync::Arc;

use amends_core::ids::{Frontier, Offset, Partition};
use amends_core::source::boundary::{Bounds, Declared, LogSpan, Sight, Sink, TopicSight, Verdict};
use insta::assert_snapshot;

use crate::story::incarnation;

const SINKS: [Sink; 3] = [Sink::Ledger, Sink::Archive, Sink::Workflow];

/// Two partitions that kept everything, records 0 to 9 in each.
fn healthy() -> (TopicSight, Bounds) {
    let log = LogSpan { start: Offset(0), end: Offset(10) };
    let bounds = Bounds {
        cleanup_policy: "delete".to_owned(),
        retention_ms: -1,
        retention_bytes: -1,
        unclean_leader_election: false,
        logs: vec![Some(log); 2],
    };
    (TopicSight::Known { incarnation: Some(incarnation(7)), partitions: 2 }, bounds)
}

fn shown(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Pass => "pass".to_owned(),
        Verdict::AskAgain(refusal) => format!("ask again, then {}: {refusal}", refusal.code()),
        Verdict::Refuse(refusal) => format!("refuse {}: {refusal}", refusal.code()),
    }
}

#[test]
fn each_sight_has_its_verdict_for_each_sink() {
    type Change = fn(&mut TopicSight, &mut Bounds);
    let known = |seen: u8, partitions| TopicSight::Known { incarnation: Some(incarnation(seen)), partitions };
    let topics = [
        ("as declared", known(7, 2)),
        ("another UUID", known(8, 2)),
        ("another UUID, fewer partitions", known(8, 1)),
        ("no UUID", TopicSight::Known { incarnation: None, partitions: 2 }),
        ("topic unknown", TopicSight::Unknown),
        ("partitions shrank", known(7, 1)),
        ("partitions grew", known(7, 3)),
    ];
    let changes: [(&str, Change); 7] = [
        ("no leader", |_, bounds| bounds.logs[1] = None),
        ("log start above 0", |_, bounds| {
            bounds.logs[1] = Some(LogSpan { start: Offset(3), end: Offset(10) })
        }),
        ("retention by age", |_, bounds| bounds.retention_ms = 604_800_000),
        ("retention by size", |_, bounds| bounds.retention_bytes = 1 << 30),
        ("compaction", |_, bounds| bounds.cleanup_policy = "compact".to_owned()),
        ("both policies", |_, bounds| bounds.cleanup_policy = "compact,delete".to_owned()),
        ("unclean election", |_, bounds| bounds.unclean_leader_election = true),
    ];
    let mut sights: Vec<(&str, Sight)> = Vec::new();
    for (name, topic) in topics {
        sights.push((name, Sight { topic, bounds: Some(Arc::new(healthy().1)) }));
    }
    for (name, change) in changes {
        let (mut topic, mut bounds) = healthy();
        change(&mut topic, &mut bounds);
        sights.push((name, Sight { topic, bounds: Some(Arc::new(bounds)) }));
    }
    let mut table = String::new();
    for (name, sight) in &sights {
        for sink in SINKS {
            let declared = Declared { sink, incarnation: incarnation(7), partitions: 2 };
            writeln!(table, "{name:<31} {sink:<10?} {}", shown(&declared.judge(sight))).expect("a string");
        }
    }
    assert_snapshot!(table);
}

#[test]
fn each_frontier_is_held_against_its_log() {
    let declared = Declared { sink: Sink::Archive, incarnation: incarnation(7), partitions: 2 };
    let (_, mut bounds) = healthy();
    bounds.logs[1] = Some(LogSpan { start: Offset(3), end: Offset(10) });
    let mut table = String::new();
    for frontier in [2, 3, 10, 11] {
        let verdict = declared.judge_partition(&bounds, Partition(1), Some(Frontier(frontier)));
        writeln!(table, "{frontier:>2} in 3..10  {}", shown(&verdict)).expect("a string");
    }
    assert_snapshot!(table);
}

#[test]
fn a_partition_that_no_broker_shows_is_never_passed() {
    let (_, bounds) = healthy();
    let mut table = String::new();
    for sink in SINKS {
        let declared = Declared { sink, incarnation: incarnation(7), partitions: 2 };
        let verdict = declared.judge_partition(&bounds, Partition(2), None);
        writeln!(table, "{sink:<10?} {}", shown(&verdict)).expect("a string");
    }
    assert_snapshot!(table);
}
