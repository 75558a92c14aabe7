//! S17 to S31, but for those of rows and of runs.

use amends_core::ids::Offset;
use amends_core::lifecycle::command::{CheckParts, Command, Timer};
use amends_core::lifecycle::event::{Event, ProcessFailure};
use amends_core::lifecycle::stop::StopReason;
use amends_sim::checks::{s17, s19, s20, s21, s22, s23, s27, s28, s29, s30, s31};
use amends_sim::fact::{Entry, Fact, LogChange, Op};

use super::told::{A, B, Told, declared, rebalance, row, t, tenure, token};

#[test]
fn s17_lanes() {
    let deciding = || {
        let mut told = Told::<s17::Lanes>::new();
        told.working().assigned(A, 2, &[0, 1]).settled(A);
        for partition in [0, 1] {
            let id = tenure(partition, 2 - partition);
            told.owns(A, id, row(2, 0)).placed(A, id).poll(A, id).polled(A, id, &[0, 1]);
        }
        told.process(A, tenure(0, 2), (0, 1));
        told
    };
    let first = tenure(0, 2);
    let mut good = deciding();
    good.commits(A, first, row(2, 1), &[0]).hears(A, Event::Committed { tenure: first }).process(
        A,
        first,
        (1, 2),
    );
    good.commits(A, first, row(2, 2), &[1]).hears(A, Event::Committed { tenure: first });
    good.allow(A, first).poll(A, first).process(A, tenure(1, 1), (0, 2)).holds("S17");
    // Lost: the ticket goes back at once, the lane with the last answer.
    let mut good = deciding();
    good.allow(A, first)
        .retire(A, first)
        .process_failed(A, first)
        .process(A, tenure(1, 1), (0, 2))
        .holds("S17");

    deciding().process(A, tenure(1, 1), (0, 1)).breaks("S17", "a 1#1 decides as the 2.");
    deciding().allow(A, first).process(A, tenure(1, 1), (0, 1)).breaks("S17", "which has 1 lanes");
    let mut bad = deciding();
    bad.unknown(A, first).process(A, tenure(1, 1), (0, 1)).breaks("S17", "as the 2.");
    deciding().observe(A, first).breaks("S17", "a 0#2 asks for observe");
    deciding().poll(A, first).breaks("S17", "polls with a range in hand");
    let mut bad = Told::<s17::Lanes>::new();
    bad.working().poll(A, t()).breaks("S17", "polls twice at a time");
}

#[test]
fn s19_gate() {
    let revoked = || {
        let mut told = Told::<s19::Gate>::new();
        told.working().polled(A, t(), &[0]).process(A, t(), (0, 1)).settled(A);
        told.hears(A, Event::Revoked { rebalance: rebalance(2), partitions: vec![t().partition] }).settled(A);
        told
    };
    let unassign = || Command::Unassign { rebalance: rebalance(2) };
    let mut good = revoked();
    good.hears(A, Event::Committed { tenure: t() })
        .retire(A, t())
        .allow(A, t())
        .asks(A, unassign())
        .settled(A);
    good.at(90_000).settled(A).holds("S19");
    revoked().at(20_000).asks(A, unassign()).settled(A).holds("S19");

    revoked()
        .asks(A, unassign())
        .breaks("S19", "a lets the group go on with 1.2, and a ticket of 0#1 is out");
    revoked().at(20_501).settled(A).breaks("S19", "a left callback 1.2 (Revoked at 0ms) without an answer");
    let mut bad = revoked();
    bad.allow(A, t()).asks(A, unassign()).asks(A, unassign()).breaks("S19", "which does not wait for that");
    revoked().allow(A, t()).allow(A, t()).breaks("S19", "a 0#1 gives back a ticket that is not out");
    revoked().retire(A, t()).settled(A).breaks("S19", "a 0#1 is over, and 1 of its tickets are out");
    let mut bad = Told::<s19::Gate>::new();
    bad.working().hears(A, Event::PollEmpty { tenure: t() }).poll(A, t());
    bad.breaks("S19", "the ticket of the last poll is out");
    // A poll that is answered after its tenure ended.
    let late = || {
        let mut told = Told::<s19::Gate>::new();
        told.working()
            .hears(A, Event::Lost { rebalance: rebalance(2) })
            .retire(A, t())
            .asks(A, unassign())
            .settled(A);
        told.hears(A, Event::PollEmpty { tenure: t() });
        told
    };
    late().allow(A, t()).settled(A).holds("S19");
    late().settled(A).breaks("S19", "1 of its tickets are out");
}

#[test]
fn s20_atomicity() {
    let owner = || {
        let mut told = Told::<s20::Atomicity>::new();
        told.working();
        told
    };
    owner().commits(A, t(), row(1, 3), &[0, 2]).holds("S20");
    owner()
        .commits(A, t(), row(1, 0), &[0, 2])
        .breaks("S20", "decides up to 2, and leaves the frontier at 0");
    owner().commits(A, t(), row(1, 3), &[]).breaks("S20", "moves the frontier and decides nothing");
    owner().commits(A, t(), row(2, 3), &[2]).breaks("S20", "decides and changes the token");
}

#[test]
fn s21_honest_log() {
    let asked = || {
        let mut told = Told::<s21::HonestLog>::new();
        told.working().polled(A, t(), &[0]).process(A, t(), (0, 1)).settled(A);
        told
    };
    let committed = || Event::Committed { tenure: t() };
    let mut good = asked();
    good.commits(A, t(), row(1, 1), &[0]);
    // A failover may take back what was acknowledged.
    good.tell(&Fact::Forgot { commits: 1 }).hears(A, committed()).holds("S21");
    let mut good = asked();
    good.owns(B, tenure(0, 1), row(2, 0)).locked(A, t(), Op::Process);
    good.hears(A, Event::Fenced { tenure: t(), by: Some(token(2)) }).holds("S21");

    asked().hears(A, committed()).breaks("S21", "this attempt did not commit");
    let mut bad = asked();
    bad.commits(A, t(), row(1, 1), &[0]).process_failed(A, t()).breaks("S21", "and this attempt committed");
    asked()
        .process_failed(A, t())
        .commits(A, t(), row(1, 1), &[0])
        .breaks("S21", "commits Process after it was told");
    let mut bad = asked();
    bad.locked(A, t(), Op::Process);
    bad.hears(A, Event::Fenced { tenure: t(), by: Some(token(2)) })
        .breaks("S21", "had epoch 1 and frontier 0");
    let mut bad = asked();
    bad.locked(A, t(), Op::Process);
    bad.hears(A, Event::Moved { tenure: t(), frontier: Some(amends_core::ids::Frontier(0)) })
        .breaks("S21", "0#1");
    asked().process_failed(A, t()).process_failed(A, t()).breaks("S21", "asked for no Process");
    let mut bad = Told::<s21::HonestLog>::new();
    bad.working().observe(A, t()).locked(A, t(), Op::Observe);
    bad.observed(A, t(), row(1, 5)).breaks("S21", "had epoch 1 and frontier 0");
}

#[test]
fn s22_read_committed() {
    let owner = || {
        let mut told = Told::<s22::ReadCommitted>::new();
        use Entry::{Aborted, Control, Hole, Open, Visible};
        told.appended(0, &[Visible, Aborted, Control, Hole, Visible, Open]).working();
        told
    };
    owner().commits(A, t(), row(1, 5), &[0, 4]).holds("S22");
    owner().commits(A, t(), row(1, 2), &[0, 1]).breaks("S22", "decides offset 1, where Some(Aborted) lies");
    owner().commits(A, t(), row(1, 3), &[2]).breaks("S22", "Some(Control)");
    owner().commits(A, t(), row(1, 4), &[3]).breaks("S22", "Some(Hole)");
    owner().commits(A, t(), row(1, 6), &[5]).breaks("S22", "Some(Open)");
    owner().commits(A, t(), row(1, 1), &[0, 4]).breaks("S22", "stands at 1 after record 4 was decided");
    // A record that compaction took after it was polled.
    let hole = Fact::LogChanged {
        incarnation: declared(),
        partition: t().partition,
        change: LogChange::HoleAt(Offset(0)),
    };
    owner().tell(&hole).commits(A, t(), row(1, 1), &[0]).holds("S22");
}

#[test]
fn s23_totality() {
    let refused = |records: u32| {
        let mut told = Told::<s23::Totality>::new();
        told.appended(0, &[Entry::Visible; 4]).working().polled(A, t(), &[0, 1, 2, 3]);
        told.process(A, t(), (0, records)).hears(A, refusal());
        told
    };
    fn refusal() -> Event {
        Event::ProcessFailed { tenure: t(), failure: ProcessFailure::Refused("22P05".to_owned()) }
    }
    refused(4).process(A, t(), (0, 2)).hears(A, refusal()).process(A, t(), (0, 1)).holds("S23");
    refused(1).process_as(A, t(), (0, 1), true).commits(A, t(), row(1, 1), &[0]).holds("S23");

    refused(4).process(A, t(), (0, 4)).breaks("S23", "was refused 0 to 3 and goes on with 0 to 3");
    refused(4).process(A, t(), (1, 4)).breaks("S23", "goes on with 1 to 3");
    refused(1).process(A, t(), (0, 1)).breaks("S23", "goes on with 0 to 0");
    refused(1).allow(A, t()).breaks("S23", "drops a range of which a record was refused");
    let spent = StopReason::AttemptsSpent { tenure: t(), doing: String::new(), why: String::new() };
    refused(1).stop(A, spent).breaks("S23", "stops over the data of 0");
    let broken = StopReason::Broken { why: "22P05".to_owned() };
    refused(4).stop(A, broken).breaks("S23", "stops over the data of 0");
    refused(4).commits(A, t(), row(1, 4), &[0, 1, 3]).breaks("S23", "moves from 0 to 4 and passes over 2");
    refused(4).commits(A, t(), row(1, 2), &[1]).breaks("S23", "passes over 0");
}

#[test]
fn s27_exit_truth() {
    let asked = || {
        let mut told = Told::<s27::ExitTruth>::new();
        told.working().polled(A, t(), &[0, 1]).process(A, t(), (0, 2)).settled(A);
        told
    };
    let unresolved =
        |epoch, offsets| StopReason::Unresolved { tenure: t(), epoch, offsets, why: String::new() };
    asked().unknown(A, t()).observed(A, t(), row(1, 0)).stop(A, StopReason::Shutdown).holds("S27");
    let range = Some((Offset(0), Offset(1)));
    let mut good = asked();
    good.unknown(A, t()).stop(A, unresolved(Some(1), range)).tell(&Fact::Exited { who: A }).holds("S27");
    // A younger tenure that got the lock proves that the older outcome has ended.
    let mut good = asked();
    good.unknown(A, t()).assigned(A, 2, &[0]).owns(A, tenure(0, 2), row(2, 0)).stop(A, StopReason::Paused);
    good.holds("S27");

    asked().unknown(A, t()).stop(A, StopReason::Shutdown).breaks("S27", "an outcome of 0#1 is unknown");
    asked().stop(A, StopReason::Shutdown).breaks("S27", "Process of 0#1 is in flight");
    asked().unknown(A, t()).stop(A, unresolved(None, None)).breaks("S27", "and names None and None");
    let mut bad = asked();
    bad.unknown(A, t())
        .stop(A, unresolved(Some(2), range))
        .breaks("S27", "is unresolved under epoch Some(1)");
    asked().tell(&Fact::Exited { who: A }).breaks("S27", "a exits, and did not say why");
}

#[test]
fn s28_lock_first() {
    let owner = || {
        let mut told = Told::<s28::LockFirst>::new();
        told.working();
        told
    };
    owner().commits(A, t(), row(1, 1), &[0]).holds("S28");
    let mut bad = owner();
    let tx = bad.locked(A, t(), Op::Process);
    let commit = bad.commit(tx, A, t(), row(1, 1), &[0]);
    bad.tell(&Fact::CommitSent { tx }).tell(&Fact::LockAnswered { tx }).tell(&Fact::CommitSent { tx });
    bad.tell(&Fact::Committed(&commit))
        .breaks("S28", "COMMIT was sent before the answer of the lock was read");
    let mut bad = owner();
    let tx = amends_sim::fact::TxId(9);
    let commit = bad.commit(tx, A, t(), row(1, 1), &[0]);
    bad.tell(&Fact::Committed(&commit))
        .breaks("S28", "transaction 9 of a 0#1 commits, and it never had the lock");
    let mut bad = owner();
    let tx = bad.locked(A, t(), Op::Process);
    let commit = bad.commit(tx, A, t(), row(1, 1), &[0]);
    bad.tell(&Fact::LockAnswered { tx })
        .tell(&Fact::Committed(&commit))
        .breaks("S28", "its client never sent COMMIT");
}

#[test]
fn s29_one_group() {
    let joined = || {
        let mut told = Told::<s29::OneGroup>::new();
        told.tell(&Fact::Joined { who: A, group: "amends-n-1", namespace: 1 });
        told
    };
    let mut good = joined();
    good.tell(&Fact::Joined { who: B, group: "amends-n-1", namespace: 1 });
    good.tell(&Fact::Joined { who: B.next(), group: "amends-n-2", namespace: 2 }).holds("S29");
    let mut bad = joined();
    bad.tell(&Fact::Joined { who: B, group: "amends-n-1", namespace: 2 }).breaks("S29", "b joins amends-n-1");
    let mut bad = joined();
    bad.tell(&Fact::Joined { who: B, group: "amends-n", namespace: 1 })
        .breaks("S29", "others joined amends-n-1");
}

#[test]
fn s30_bounds_before_a_gap() {
    let polled = |offsets: &[i64]| {
        let mut told = Told::<s30::GapsChecked>::new();
        told.working().checked(A, 1, CheckParts::Bounds).polled(A, t(), offsets);
        told
    };
    let bounds = CheckParts::Bounds;
    polled(&[0, 1]).process(A, t(), (0, 2)).holds("S30");
    polled(&[0, 2]).checked(A, 2, bounds).process(A, t(), (0, 2)).holds("S30");
    polled(&[2]).checked(A, 2, bounds).process(A, t(), (0, 1)).holds("S30");

    polled(&[0, 2]).process(A, t(), (0, 2)).breaks("S30", "a 0#1 decides over a gap at 0, and no bounds");
    polled(&[2]).checked(A, 2, CheckParts::Identity).process(A, t(), (0, 1)).breaks("S30", "and no bounds");
    // Sent before the poll was answered, answered after it.
    let mut bad = Told::<s30::GapsChecked>::new();
    bad.working()
        .asks(A, Command::Check { check: amends_core::lifecycle::command::CheckId(1), parts: bounds });
    bad.polled(A, t(), &[2])
        .shown(A, 1, declared(), Some(0))
        .process(A, t(), (0, 1))
        .breaks("S30", "and no bounds");
    let mut bad = polled(&[2]);
    bad.asks(A, Command::Check { check: amends_core::lifecycle::command::CheckId(2), parts: bounds });
    bad.shown(A, 2, declared(), Some(1)).process(A, t(), (0, 1)).breaks("S30", "and its log starts at 1");
}

#[test]
fn s31_rejoin() {
    let fenced = || {
        let mut told = Told::<s31::Rejoins>::new();
        told.working().polled(A, t(), &[0]).process(A, t(), (0, 1)).settled(A);
        told.hears(A, Event::Fenced { tenure: t(), by: Some(token(2)) }).allow(A, t()).retire(A, t());
        told
    };
    let (wait, leave) = (Timer::Rejoin { wait: 1 }, Timer::Leave { wait: 1 });
    let mut good = fenced();
    good.wait(A, wait, 1_000)
        .at(1_000)
        .wait(A, leave, 20_000)
        .at(21_000)
        .asks(A, Command::Rejoin { member: 2 });
    good.at(90_000).settled(A).holds("S31");
    let mut good = fenced();
    good.wait(A, wait, 1_000).assigned(A, 2, &[0]).at(90_000).settled(A).holds("S31");
    fenced().drain(A).at(90_000).settled(A).holds("S31");

    fenced().at(28_501).settled(A).breaks("S31", "a gave up partition 0");
    fenced().wait(A, wait, 1_000).at(21_501).settled(A).breaks("S31", "and does not rejoin");
    fenced().wait(A, wait, 16_000).breaks("S31", "waits 16000ms before it rejoins");
}
