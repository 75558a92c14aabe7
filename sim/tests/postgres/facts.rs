//! What the world is told of transactions.

use std::time::Duration;

use amends_core::ids::{Frontier, Offset, Partition, RebalanceId, TenureId};
use amends_core::lifecycle::command::Command;
use amends_core::lifecycle::event::Event;
use amends_sim::fact::{Fact, Ghost, Op, Row};
use amends_sim::faults::Fault;
use amends_sim::life::Life;
use madsim::runtime::Handle;
use madsim::time::{Instant, sleep};

use crate::desk::{CLAIM, Desk, TENURE, World, process, records, world};

#[test]
fn a_commit_is_told_with_all_that_it_did() {
    world(40, false, async |world: World| {
        let who = Life::first(0);
        let generation = RebalanceId { member: 1, number: 1 };
        let tell = |fact: &Fact<'_>| world.ground.lock().unwrap().chronicle.tell(fact);
        let mut desk = Desk::of(&world, 0).await;
        tell(&Fact::Started { who });
        let event = Event::Assigned { rebalance: generation, partitions: [Partition(0)].into() };
        tell(&Fact::Delivered { who, event: &event });
        tell(&Fact::Commanded { who, command: &CLAIM });
        let (token, frontier) = desk.claim().await;
        let batch = records(&["T1 r1 assert 2026-01-05 -30", "T1 r2 cancel"]);
        tell(&Fact::Commanded { who, command: &process(token, frontier, &batch) });
        desk.process(token, frontier, &batch).await;

        let ground = world.ground.lock().unwrap();
        let [claim, decision] = &ground.chronicle.truth.commits[..] else { panic!("two commits") };
        let ghost = |op| Some(Ghost { who, tenure: TENURE, generation, op });
        assert_eq!((claim.ghost, decision.ghost), (ghost(Op::Claim), ghost(Op::Process)));
        assert_eq!(claim.before, Row::default());
        assert_eq!((claim.carried, claim.expected, claim.decided.len()), (None, None, 0));
        let row = |frontier| Row { token: Some(token), frontier: Some(frontier) };
        assert_eq!((claim.after, decision.before), (row(frontier), row(frontier)));
        assert_eq!(decision.after, row(Frontier(2)));
        assert_eq!((decision.carried, decision.expected), (Some(token), Some(frontier)));
        assert_eq!(decision.decided, [Offset(0), Offset(1)]);
        let written = decision.rows.as_ref().unwrap();
        let some =
            |columns: &[&str]| columns.iter().map(|column| Some((*column).to_owned())).collect::<Vec<_>>();
        assert_eq!(written.positions[0][..5], some(&["widget", "berlin", "2026-01-05", "2", "0"]));
        assert_eq!(written.positions[0][5..], [None, None]);
        assert_eq!(written.evidence[1][..4], some(&["0", "1", "CANCELLED", "T1"]));
        assert_eq!(written.outbox.len(), 2);
    });
}

/// A process may have an old tenure's operation in flight beside the new one's.
#[test]
fn a_transaction_is_for_the_newest_operation() {
    world(43, false, async |world: World| {
        let who = Life::first(0);
        let tell = |fact: &Fact<'_>| world.ground.lock().unwrap().chronicle.tell(fact);
        let mut desk = Desk::of(&world, 0).await;
        tell(&Fact::Started { who });
        let generation = |number| RebalanceId { member: 1, number };
        for number in [1, 2] {
            let partitions = [Partition(0)].into();
            let event = Event::Assigned { rebalance: generation(number), partitions };
            tell(&Fact::Delivered { who, event: &event });
            let tenure = TenureId { partition: Partition(0), number };
            tell(&Fact::Commanded { who, command: &Command::Claim { tenure, within_ms: 20_000 } });
        }
        desk.claim().await;
        let ground = world.ground.lock().unwrap();
        let ghost = ground.chronicle.truth.commits[0].ghost.unwrap();
        assert_eq!((ghost.tenure.number, ghost.generation), (2, generation(2)));
    });
}

/// Lock, its answer, COMMIT, commit: in this order and each once.
#[test]
fn a_transaction_is_told_step_by_step() {
    let (_, trace) = world(41, true, async |world: World| Desk::of(&world, 0).await.claim().await);
    let told: Vec<&str> = trace.lines().filter_map(|line| line.split("transaction 1: ").nth(1)).collect();
    assert_eq!(
        told,
        [
            "holds partition 0",
            "a reads that it has the lock",
            "a sends COMMIT",
            "commits 0 records at partition 0"
        ]
    );
}

/// A dead process's COMMIT lands after it, and the next owner's claim waits for that.
#[test]
fn an_orphan_commits() {
    world(42, true, async |world: World| {
        let who = Life::first(0);
        let tell = |fact: &Fact<'_>| world.ground.lock().unwrap().chronicle.tell(fact);
        tell(&Fact::Started { who });
        world.order(Fault::OrphanCommits, 3_000, 0);
        let mut heir = Desk::of(&world, 1).await;
        let node = Handle::current().create_node().name("a").build();
        let its_world = world.clone();
        node.spawn(async move {
            let mut desk = Desk::of(&its_world, 0).await;
            let (token, frontier) = desk.claim().await;
            desk.process(token, frontier, &records(&["T1 r1 cancel"])).await;
        });
        while !world.ground.lock().unwrap().chronicle.trace().contains("transaction 2: a sends COMMIT") {
            sleep(Duration::from_millis(1)).await;
        }
        Handle::current().kill(node.id());
        tell(&Fact::Crashed { who });
        let began = Instant::now();
        assert_eq!(heir.claim().await.1, Frontier(1));
        assert!(began.elapsed() > Duration::from_secs(3));
        assert!(world.has_struck(Fault::OrphanCommits));
    });
}
