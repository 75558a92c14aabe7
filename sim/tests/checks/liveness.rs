//! L1 to L10, but for the one of runs.

use amends_core::ids::{Frontier, Offset};
use amends_core::lifecycle::command::{CheckParts, Command};
use amends_core::lifecycle::event::{Event, Failure};
use amends_core::lifecycle::stop::StopReason;
use amends_core::source::boundary::Refusal;
use amends_sim::checks::{Check, l01, l02, l03, l04, l05, l06, l07, l09, l10};
use amends_sim::fact::{Entry, Fact, LogChange};
use amends_sim::faults::Fault;

use super::told::{A, B, Told, again, declared, incarnation, rebalance, row, t, tenure, token};

fn healed<C: Check>() -> Told<C> {
    let mut told = Told::new();
    told.appended(0, &[Entry::Visible; 4]).working().at(1_000).tell(&Fact::Healed);
    told
}

#[test]
fn l01_drain() {
    let mut good = healed::<l01::Drain>();
    good.commits(A, t(), row(1, 4), &[0, 1, 2, 3]).at(200_000).tell(&Fact::Ended).holds("L1");
    // 80 s and half a second for each of four records.
    healed::<l01::Drain>().at(83_000).settled(A).holds("L1");
    healed::<l01::Drain>().at(83_001).settled(A).breaks("L1", "4 offsets are not decided at 83000ms, of 4");
    let mut bad = healed::<l01::Drain>();
    bad.commits(A, t(), row(1, 3), &[0, 1, 2])
        .at(99_000)
        .tell(&Fact::Ended)
        .breaks("L1", "1 offsets are not decided");
    // A spoilt source need not drain, and must not.
    healed::<l01::Drain>().tell(&Fact::Reconfigured).at(99_000).tell(&Fact::Ended).holds("L1");
}

#[test]
fn l02_owner() {
    let owned = || {
        let mut told = Told::<l02::Owner>::new();
        told.started(A).assigned(A, 1, &[0, 1]).owns(A, t(), row(1, 0)).owns(A, tenure(1, 1), row(1, 0));
        told.tell(&Fact::Healed);
        told
    };
    owned().at(76_001).settled(A).holds("L2");
    owned().retire(A, t()).at(76_001).settled(A).breaks("L2", "no living owner at 76000ms");
    let mut bad = owned();
    bad.started(B).tell(&Fact::Crashed { who: A }).at(76_001).settled(B).breaks("L2", "no living owner");
    healed::<l02::Owner>().at(77_001).settled(A).breaks("L2", "no living owner");
}

#[test]
fn l03_no_ping_pong() {
    let claimed = |workers: &[_], times: i64| {
        let mut told = Told::<l03::NoPingPong>::new();
        for who in workers {
            told.started(*who).assigned(*who, 1, &[0]);
        }
        told.tell(&Fact::Healed);
        for epoch in 1..=times {
            let who = workers[usize::try_from(epoch).unwrap() % workers.len()];
            told.commits(who, t(), row(epoch, 0), &[]);
        }
        told
    };
    claimed(&[A], 4).holds("L3");
    claimed(&[A, B], 6).holds("L3");
    claimed(&[A], 5).breaks("L3", "partition 0 was claimed 5 times");
    claimed(&[A, B], 7).breaks("L3", "by 2 workers");
}

#[test]
fn l04_visible_stop() {
    let spoilt = || {
        let mut told = healed::<l04::VisibleStop>();
        told.tell(&Fact::Recreated { incarnation: incarnation(9), partitions: 2 });
        told
    };
    let refused = |seen| StopReason::Refused {
        refusal: Refusal::AnotherIncarnation { expected: declared(), seen: incarnation(seen) },
    };
    spoilt().drain(A).stop(A, refused(9)).at(90_000).tell(&Fact::Ended).holds("L4");
    spoilt().at(6_800).settled(A).holds("L4");
    spoilt().at(6_801).settled(A).breaks("L4", "a works on, and the source is not what was declared");
    let mut bad = spoilt();
    bad.at(2_000).started(B).assigned(B, 1, &[0]).owns(B, t(), row(2, 0)).commits(B, t(), row(2, 1), &[0]);
    bad.breaks("L4", "b 0#1 decides at 2000ms, the source was spoilt by 1000ms");
    spoilt()
        .stop(A, refused(8))
        .breaks("L4", "a stops with another-incarnation, and nothing in the world explains it");
    let mut bad = spoilt();
    bad.tell(&Fact::Struck { fault: Fault::CommitLost, who: None }).started(B);
    let spent = || StopReason::BudgetSpent { tenure: t(), doing: String::new(), why: String::new() };
    bad.stop(B, spent()).breaks("L4", "b began after the source was spoilt, and stops with budget-spent");
    // Before the faults end nobody is judged by time.
    let mut good = Told::<l04::VisibleStop>::new();
    good.working().tell(&Fact::Reconfigured).at(90_000).settled(A).holds("L4");
    good.tell(&Fact::Healed).at(96_000).settled(A).breaks("L4", "a works on");
    // A frontier behind the end concerns its owner.
    let mut bad = healed::<l04::VisibleStop>();
    bad.commits(A, t(), row(1, 4), &[0, 1, 2, 3]);
    let change = LogChange::TruncatedTo(Offset(2));
    bad.tell(&Fact::LogChanged { incarnation: declared(), partition: t().partition, change });
    bad.assigned(A, 2, &[1]).at(90_000).settled(A).holds("L4");
    bad.assigned(A, 3, &[0]).at(115_000).settled(A).holds("L4");
    bad.at(116_000).settled(A).breaks("L4", "a works on");
}

#[test]
fn l04_no_stop_without_a_cause() {
    let working = || {
        let mut told = Told::<l04::VisibleStop>::new();
        told.working().polled(A, t(), &[0]).process(A, t(), (0, 1));
        told
    };
    let unresolved =
        || StopReason::Unresolved { tenure: t(), epoch: None, offsets: None, why: String::new() };
    let contended = || StopReason::Contended { partition: t().partition, times: 5 };
    let broken = || StopReason::Broken { why: String::new() };
    let short = || StopReason::Refused {
        refusal: Refusal::FrontierAboveEnd {
            partition: t().partition,
            frontier: Frontier(0),
            end: Offset(0),
        },
    };
    let impossible = || StopReason::Impossible { state: String::new(), event: String::new() };
    working().hears(A, Event::ShutdownRequested).stop(A, StopReason::Shutdown).holds("L4");
    working().unknown(A, t()).stop(A, unresolved()).holds("L4");
    let failure = Failure::Broken("schema".to_owned());
    working().hears(A, Event::ObserveFailed { tenure: t(), failure }).stop(A, broken()).holds("L4");
    let mut good = working();
    for epoch in 2..=10 {
        good.commits(if epoch % 2 == 0 { B } else { A }, t(), row(epoch, 0), &[]);
    }
    good.stop(A, contended()).holds("L4");
    let mut good = working();
    good.tell(&Fact::Struck { fault: Fault::MetadataStale, who: None }).stop(A, short()).holds("L4");
    for reason in [StopReason::Shutdown, contended(), broken(), short(), impossible()] {
        let code = reason.code();
        working()
            .stop(A, reason)
            .breaks("L4", &format!("a stops with {code}, and nothing in the world explains it"));
    }
    let mut bad = working();
    bad.process_failed(A, t()).stop(A, unresolved()).breaks("L4", "nothing in the world explains it");
}

#[test]
fn l05_cancel_joins() {
    let asked = || {
        let mut told = Told::<l05::CancelJoins>::new();
        told.working().hears(A, Event::ShutdownRequested).drain(A);
        told
    };
    asked().at(20_000).stop(A, StopReason::Shutdown).at(90_000).tell(&Fact::Ended).holds("L5");
    asked().tell(&Fact::Crashed { who: A }).at(90_000).tell(&Fact::Ended).holds("L5");
    asked().at(20_501).settled(A).breaks("L5", "a was to end, and has not after 20500ms");
    let mut bad = Told::<l05::CancelJoins>::new();
    bad.working().hears(A, Event::PauseRequested).at(20_501).settled(A).breaks("L5", "a was to end");
    let mut bad = Told::<l05::CancelJoins>::new();
    bad.working().at(1_000).drain(A).at(21_501).settled(A).breaks("L5", "a was to end");
    asked()
        .stop(A, StopReason::Shutdown)
        .asks(A, Command::Close)
        .breaks("L5", "after it stopped with shutdown");
}

#[test]
fn l06_zombie() {
    let resumed = || {
        let mut told = Told::<l06::Zombie>::new();
        told.working().tell(&Fact::Froze { who: A });
        told.started(B).assigned(B, 1, &[0]).owns(B, t(), row(2, 0));
        told.tell(&Fact::Thawed { who: A }).polled(A, t(), &[0]).process(A, t(), (0, 1)).settled(A);
        told
    };
    let fenced = || Event::Fenced { tenure: t(), by: Some(token(2)) };
    resumed().hears(A, fenced()).allow(A, t()).retire(A, t()).settled(A).holds("L6");
    resumed()
        .hears(A, Event::Lost { rebalance: rebalance(2) })
        .settled(A)
        .hears(A, fenced())
        .settled(A)
        .holds("L6");
    resumed()
        .hears(A, fenced())
        .allow(A, t())
        .settled(A)
        .breaks("L6", "a 0#1 slept, was shown that it was replaced");
    let mut bad = resumed();
    bad.process_failed(A, t()).observe(A, t()).observed(A, t(), row(2, 0)).settled(A);
    bad.breaks("L6", "and does not retire");
    resumed()
        .commits(A, t(), row(2, 1), &[0])
        .breaks("L6", "a 0#1 slept, was replaced, and decides [Offset(0)]");
    // A failover forgot the other claim: it owns the partition again.
    let mut good = resumed();
    good.tell(&Fact::Forgot { commits: 1 }).commits(A, t(), row(1, 1), &[0]).holds("L6");
}

#[test]
fn l07_quiet() {
    fn idle(seconds: u64, polls: u64, checks: u64) -> Told<l07::Quiet> {
        let mut told = healed::<l07::Quiet>();
        let mut number = 0;
        for second in 1..=seconds {
            told.at(1_000 + 1_000 * second);
            for _ in 0..polls {
                told.hears(A, Event::PollEmpty { tenure: t() }).allow(A, t()).poll(A, t());
            }
            for _ in 0..checks {
                number += 1;
                told.checked(A, number, CheckParts::Bounds);
            }
        }
        told
    }
    idle(60, 1, 1).holds("L7");
    idle(20, 3, 0).breaks("L7", "a polls");
    idle(20, 1, 3).breaks("L7", "checks in");
    let mut bad = healed::<l07::Quiet>();
    for _ in 0..30 {
        bad.allow(A, t());
    }
    bad.breaks("L7", "a asks");
    // Whoever has work may be busy.
    let mut good = healed::<l07::Quiet>();
    for _ in 0..30 {
        good.polled(A, t(), &[0]).process(A, t(), (0, 1)).hears(A, Event::Committed { tenure: t() });
        good.allow(A, t()).poll(A, t());
    }
    good.holds("L7");
}

#[test]
fn l09_no_orphan() {
    let owned = || {
        let mut told = Told::<l09::NoOrphan>::new();
        told.started(A).assigned(A, 1, &[0, 1]).tell(&Fact::Healed).settled(A);
        told
    };
    let wait = |told: &mut Told<l09::NoOrphan>, until: u64| {
        for now in (1_000..=until).step_by(1_000) {
            told.at(now).settled(A);
        }
    };
    let mut good = owned();
    wait(&mut good, 200_000);
    good.holds("L9");
    let mut bad = owned();
    bad.retire(A, t());
    wait(&mut bad, 61_000);
    bad.holds("L9");
    bad.at(62_000).settled(A).breaks("L9", "partition 0 has had no tenure since 1000ms");
    let mut bad = owned();
    bad.assigned(A, 2, &[0]);
    wait(&mut bad, 62_000);
    bad.breaks("L9", "partition 1 has had no tenure");
}

#[test]
fn l10_failover_noticed() {
    let forgotten = || {
        let mut told = Told::<l10::Noticed>::new();
        told.working().tell(&Fact::Forgot { commits: 1 }).settled(A);
        told
    };
    forgotten().at(6_000).observe(A, t()).retire(A, t()).at(90_000).settled(A).holds("L10");
    forgotten().polled(A, t(), &[0]).at(90_000).settled(A).holds("L10");
    forgotten()
        .at(12_501)
        .settled(A)
        .breaks("L10", "a 0#1 is idle, a failover forgot its row, and it does not notice");
    // A read that fails is repeated, and no excuse for ever.
    let failed = || {
        let mut told = forgotten();
        told.at(12_000).hears(A, Event::ObserveFailed { tenure: t(), failure: again() });
        told
    };
    failed().at(20_500).settled(A).holds("L10");
    failed().at(20_501).settled(A).breaks("L10", "it does not notice");
    // A frontier that was forgotten, under a token that was not.
    let mut bad = Told::<l10::Noticed>::new();
    bad.working().polled(A, t(), &[0]).process(A, t(), (0, 1)).commits(A, t(), row(1, 1), &[0]);
    bad.hears(A, Event::Committed { tenure: t() }).allow(A, t()).poll(A, t());
    bad.tell(&Fact::Forgot { commits: 1 })
        .settled(A)
        .at(12_501)
        .settled(A)
        .breaks("L10", "it does not notice");
}
