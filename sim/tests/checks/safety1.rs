//! S1 to S6, S15 and S16: what commits.

use amends_core::ids::{Frontier, Offset, Token};
use amends_core::lifecycle::command::{CheckId, CheckParts, Command};
use amends_core::lifecycle::event::Event;
use amends_core::source::boundary::{Bounds, LogSpan, Sight, TopicSight};
use amends_sim::checks::{Check, s01, s02, s03, s03b, s04, s04b, s05, s06, s15, s16};
use amends_sim::fact::{Commit, Entry, Fact, LogChange, Op, Row};

use super::good::{decided, deciding, doubted, handed_over, polling};
use super::told::{A, B, P, Told, again, declared, incarnation, rebalance, row, t, token};

/// A commit as the good one of 0 and 1, but for what is changed in it.
fn commits<C: Check>(mut told: Told<C>, change: impl FnOnce(&mut Commit)) -> Told<C> {
    let tx = told.locked(A, t(), Op::Process);
    let mut commit = told.commit(tx, A, t(), row(1, 2), &[0, 1]);
    change(&mut commit);
    told.tell(&Fact::LockAnswered { tx }).tell(&Fact::CommitSent { tx }).tell(&Fact::Committed(&commit));
    told
}

fn offsets(offsets: &[i64]) -> Vec<Offset> {
    offsets.iter().copied().map(Offset).collect()
}

/// Somebody else claims, and decides nothing.
fn foreign(commit: &mut Commit, epoch: i64, frontier: i64) {
    (commit.ghost, commit.after, commit.carried, commit.expected) = (None, row(epoch, frontier), None, None);
    commit.decided.clear();
}

#[test]
fn s01_one_effect() {
    handed_over::<s01::OneEffect>().holds("S1");
    // The same records once more: by another epoch, by the same, within one decision.
    let mut bad = decided::<s01::OneEffect>();
    bad.started(B).commits(B, t(), row(2, 2), &[]).commits(B, t(), row(2, 3), &[1]);
    bad.breaks("S1", "b 0#1 decided offset 1 of partition 0 once more");
    decided::<s01::OneEffect>().commits(A, t(), row(1, 2), &[0]).breaks("S1", "a 0#1 decided offset 0");
    commits(deciding::<s01::OneEffect>(), |commit| commit.decided = offsets(&[0, 0]))
        .breaks("S1", "offset 0 of");
    // What a failover forgot is decided again, and what it kept is not.
    let mut good = decided::<s01::OneEffect>();
    good.tell(&Fact::Forgot { commits: 1 }).commits(A, t(), row(1, 2), &[0, 1]).holds("S1");
    good.commits(A, t(), row(1, 2), &[1]).breaks("S1", "offset 1");
}

#[test]
fn s02_none_lost() {
    handed_over::<s02::NoneLost>().holds("S2");
    commits(deciding::<s02::NoneLost>(), |commit| commit.decided = offsets(&[0]))
        .breaks("S2", "a 0#1 moved partition 0 from 0 to 2, and 1 is not decided");
    commits(deciding::<s02::NoneLost>(), |commit| {
        (commit.decided, commit.after) = (offsets(&[0, 1, 5]), row(1, 6));
    })
    .breaks("S2", "and 3 is not decided");
    // A claim that moves the frontier loses records as well.
    let mut bad = decided::<s02::NoneLost>();
    bad.started(B).commits(B, t(), row(2, 5), &[]).breaks("S2", "b 0#1 moved partition 0 from 2 to 5, and 3");
    commits(deciding::<s02::NoneLost>(), |commit| commit.after = row(1, 1))
        .breaks("S2", "decided 1, and left partition 0 at 1");
    // Retention took a record before it was decided: it was there.
    let mut bad = decided::<s02::NoneLost>();
    let change = LogChange::StartsAt(Offset(5));
    bad.tell(&Fact::LogChanged { incarnation: declared(), partition: P, change });
    bad.commits(A, t(), row(1, 6), &[5]).breaks("S2", "3 is not decided");
    // Compaction took one: it need not be decided, and may be when it was polled before.
    for (frontier, decided_now) in [(6, &[5][..]), (6, &[3, 5])] {
        let mut good = decided::<s02::NoneLost>();
        let change = LogChange::HoleAt(Offset(3));
        good.tell(&Fact::LogChanged { incarnation: declared(), partition: P, change });
        good.commits(A, t(), row(1, frontier), decided_now).holds("S2");
    }
}

#[test]
fn s02_what_nobody_can_see_is_not_judged() {
    let misled = |sees: u8| {
        let mut told = decided::<s02::NoneLost>();
        told.tell(&Fact::Recreated { incarnation: incarnation(9), partitions: 2 });
        let check = Command::Check { check: CheckId(9), parts: CheckParts::Identity };
        told.asks(A, check).settled(A).shown(A, 9, incarnation(sees), None);
        told.commits(A, t(), row(1, 6), &[5]);
        told
    };
    misled(7).holds("S2");
    misled(9).breaks("S2", "3 is not decided");
    let mut good = decided::<s02::NoneLost>();
    let change = LogChange::TruncatedTo(Offset(3));
    good.tell(&Fact::LogChanged { incarnation: declared(), partition: P, change });
    good.appended(3, &[Entry::Visible; 3]).commits(A, t(), row(1, 6), &[5]).holds("S2");
}

#[test]
fn s03_ascent() {
    handed_over::<s03::Ascent>().holds("S3");
    let changed = |change: fn(&mut Commit)| commits(deciding::<s03::Ascent>(), change);
    let mut bad = decided::<s03::Ascent>();
    bad.started(B)
        .commits(B, t(), row(2, 0), &[])
        .breaks("S3", "b 0#1, partition 0: the frontier fell from 2 to 0");
    changed(|commit| commit.after = row(1, 3)).breaks("S3", "the frontier is 3 behind a decision to 1");
    changed(|commit| commit.after = row(1, 1)).breaks("S3", "the frontier is 1 behind a decision to 1");
    changed(|commit| commit.decided = offsets(&[1, 0]))
        .breaks("S3", "the frontier is 2 behind a decision to 0");
    changed(|commit| commit.decided = offsets(&[1, 0, 1])).breaks("S3", "1 is decided before 0");
    changed(|commit| commit.decided = offsets(&[1])).breaks("S3", "0 is left out of a decision from 0 to 2");
    changed(|commit| (commit.decided, commit.after) = (offsets(&[0, 1, 2]), row(1, 3)))
        .breaks("S3", "2 is decided, and is no visible record");
    let mut bad = decided::<s03::Ascent>();
    bad.commits(A, t(), row(1, 4), &[1, 3]).breaks("S3", "1 is decided at frontier 2");
    // A record that was compacted away after it was polled is no invisible one.
    let mut good = decided::<s03::Ascent>();
    let change = LogChange::HoleAt(Offset(3));
    good.tell(&Fact::LogChanged { incarnation: declared(), partition: P, change });
    good.commits(A, t(), row(1, 6), &[3, 5]).holds("S3");
    // After a failover the frontier of now counts; an operator may move it.
    let mut good = decided::<s03::Ascent>();
    good.tell(&Fact::Forgot { commits: 1 }).commits(A, t(), row(1, 1), &[0]).holds("S3");
    commits(decided::<s03::Ascent>(), |commit| foreign(commit, 2, 0)).holds("S3");
    commits(decided::<s03::Ascent>(), |commit| foreign(commit, 1, 0)).breaks("S3", "a foreign hand");
}

#[test]
fn s03b_mirror() {
    handed_over::<s03b::Mirror>().holds("S3b");
    // Told of a commit that was none; told of a failure that was a commit.
    let mut bad = deciding::<s03b::Mirror>();
    bad.hears(A, Event::Committed { tenure: t() }).settled(A);
    bad.breaks("S3b", "a 0#1 goes by frontier 2, and its row has 0");
    let mut bad = deciding::<s03b::Mirror>();
    bad.commits(A, t(), row(1, 2), &[0, 1]).process_failed(A, t()).process(A, t(), (0, 2));
    bad.breaks("S3b", "a 0#1 goes by frontier 0, and its row has 2");
    let seeks = |frontier| Command::Seek { tenure: t(), frontier: Frontier(frontier), within_ms: 1_000 };
    decided::<s03b::Mirror>().asks(A, seeks(2)).holds("S3b");
    decided::<s03b::Mirror>().asks(A, seeks(1)).breaks("S3b", "goes by frontier 1, and its row has 2");
    // Nobody told it what a failover dropped, nor that its row is another's.
    let mut good = decided::<s03b::Mirror>();
    good.tell(&Fact::Forgot { commits: 1 })
        .hears(A, Event::PollEmpty { tenure: t() })
        .settled(A)
        .holds("S3b");
    let mut good = decided::<s03b::Mirror>();
    good.started(B).commits(B, t(), row(2, 2), &[]).commits(B, t(), row(2, 4), &[3]);
    good.polled(A, t(), &[3]).process(A, t(), (0, 1)).settled(A).holds("S3b");
    // Nor what became of a decision, while the read of it fails.
    let mut good = doubted::<s03b::Mirror>(true);
    good.hears(A, Event::ObserveFailed { tenure: t(), failure: again() }).settled(A).holds("S3b");
}

#[test]
fn s04_tokens() {
    handed_over::<s04::Tokens>().holds("S4");
    let claim = |token| Row { token: Some(token), frontier: Some(Frontier(2)) };
    let mut bad = decided::<s04::Tokens>();
    let same_epoch = Token { epoch: 1, ..token(5) };
    bad.started(B).commits(B, t(), claim(same_epoch), &[]);
    bad.breaks("S4", "b 0#1 claimed epoch 1, and epoch 1 stood in the row");
    decided::<s04::Tokens>()
        .commits(A, t(), row(1, 2), &[])
        .breaks("S4", "claimed epoch 1, and epoch 1 stood");
    commits(deciding::<s04::Tokens>(), |commit| commit.after = row(2, 2))
        .breaks("S4", "a 0#1 changed the token of partition 0 without a claim");
    // A failover forgot a claim: its number comes again, its id never.
    let forgotten = || {
        let mut told = decided::<s04::Tokens>();
        told.commits(A, t(), row(2, 2), &[]).tell(&Fact::Forgot { commits: 1 }).started(B);
        told
    };
    let fresh = Token { epoch: 2, ..token(5) };
    forgotten().commits(B, t(), claim(fresh), &[]).holds("S4");
    forgotten()
        .commits(B, t(), row(2, 2), &[])
        .breaks("S4", "b 0#1 claimed epoch 2 with a claim id that was given before");
    let mut bad = polling::<s04::Tokens>();
    bad.started(B).assigned(B, 1, &[0]);
    bad.hears(B, Event::Claimed { tenure: t(), token: token(1), frontier: Frontier(0) });
    bad.breaks("S4", "b 0#1 was told of a claim of epoch 1, which it did not install");
}

#[test]
fn s04b_late_locks() {
    let acknowledged = || {
        let mut told = deciding::<s04b::LateLocks>();
        told.hears(A, Event::Revoked { rebalance: rebalance(2), partitions: vec![P] });
        told
    };
    let unassign = || Command::Unassign { rebalance: rebalance(2) };
    handed_over::<s04b::LateLocks>().holds("S4b");
    let mut good = acknowledged();
    good.commits(A, t(), row(1, 2), &[0, 1]).asks(A, unassign()).holds("S4b");
    let mut bad = acknowledged();
    bad.asks(A, unassign()).commits(A, t(), row(1, 2), &[0, 1]);
    bad.breaks("S4b", "a 0#1 took the row for a Process after its revocation was acknowledged");
    let mut bad = acknowledged();
    bad.asks(A, unassign()).commits(A, t(), row(2, 0), &[]).breaks("S4b", "for a Claim after");
    let mut bad = acknowledged();
    let tx = bad.asks(A, unassign()).locked(A, t(), Op::Observe);
    bad.tell(&Fact::LockAnswered { tx }).breaks("S4b", "for a Observe after");
    // A lock whose client is gone commits nothing.
    let mut good = acknowledged();
    let tx = good.asks(A, unassign()).locked(A, t(), Op::Process);
    good.tell(&Fact::RolledBack { tx }).holds("S4b");
    // Nobody waits for a member that lost its partitions; and a stream that ends reads once more.
    let mut good = acknowledged();
    good.hears(A, Event::Lost { rebalance: rebalance(3) });
    good.asks(A, Command::Unassign { rebalance: rebalance(3) })
        .commits(A, t(), row(1, 2), &[0, 1])
        .holds("S4b");
    let mut good = acknowledged();
    let tx = good.asks(A, unassign()).drain(A).locked(A, t(), Op::Observe);
    good.tell(&Fact::LockAnswered { tx }).holds("S4b");
}

#[test]
fn s05_fence() {
    handed_over::<s05::Fence>().holds("S5");
    let mut bad = decided::<s05::Fence>();
    bad.started(B).commits(B, t(), row(2, 2), &[]);
    commits(bad, |commit| commit.carried = Some(token(1)))
        .breaks("S5", "partition 0 was decided under epoch 1, its row has 2");
    // The same epoch of another claim is another token.
    let other = Token { epoch: 1, ..token(5) };
    commits(deciding::<s05::Fence>(), |commit| commit.carried = Some(other)).breaks("S5", "under epoch 1");
    let mut bad = Told::<s05::Fence>::new();
    bad.started(A);
    commits(bad, |commit| commit.carried = Some(token(1))).breaks("S5", "its row has none");
}

#[test]
fn s06_compare_and_set() {
    handed_over::<s06::CompareAndSet>().holds("S6");
    commits(deciding::<s06::CompareAndSet>(), |commit| commit.expected = Some(Frontier(1)))
        .breaks("S6", "a 0#1 decided partition 0 from 1, its row has 0");
    commits(decided::<s06::CompareAndSet>(), |commit| commit.expected = Some(Frontier(0)))
        .breaks("S6", "a 0#1 decided partition 0 from 0, its row has 2");
    // An older owner's decision behind another owner's.
    let mut bad = decided::<s06::CompareAndSet>();
    bad.started(B).commits(B, t(), row(2, 2), &[]).commits(B, t(), row(2, 4), &[3]);
    commits(bad, |commit| commit.expected = Some(Frontier(2))).breaks("S6", "its row has 4");
}

#[test]
fn s15_no_cursor_only_commit() {
    handed_over::<s15::NoCursorOnly>().holds("S15");
    let changed = |change: fn(&mut Commit)| commits(deciding::<s15::NoCursorOnly>(), change);
    changed(|commit| commit.decided.clear())
        .breaks("S15", "a 0#1 moved partition 0 from 0 to 2, and decided nothing");
    changed(|commit| commit.after = row(1, 3)).breaks("S15", "from 0 to 3, and decided up to 1");
    let mut bad = decided::<s15::NoCursorOnly>();
    bad.started(B).commits(B, t(), row(2, 3), &[]).breaks("S15", "b 0#1 moved partition 0 from 2 to 3");
    let mut bad = Told::<s15::NoCursorOnly>::new();
    bad.started(A).commits(A, t(), row(1, 4), &[]).breaks("S15", "from none to 4, and decided nothing");
    commits(decided::<s15::NoCursorOnly>(), |commit| foreign(commit, 2, 0)).holds("S15");
}

#[test]
fn s16_bounds_grant_nothing() {
    handed_over::<s16::BoundsGrantNothing>().holds("S16");
    commits(deciding::<s16::BoundsGrantNothing>(), |commit| commit.after = row(1, 9))
        .breaks("S16", "a 0#1 moved partition 0 to 9, and its stable end is 8");
    let mut bad = decided::<s16::BoundsGrantNothing>();
    bad.appended(8, &[Entry::Open, Entry::Visible]).commits(A, t(), row(1, 10), &[3, 5, 6, 7, 9]);
    bad.breaks("S16", "its stable end is 8");
    let mut good = decided::<s16::BoundsGrantNothing>();
    good.appended(8, &[Entry::Open, Entry::Visible]);
    let change = LogChange::Closed(true);
    good.tell(&Fact::LogChanged { incarnation: declared(), partition: P, change });
    good.commits(A, t(), row(1, 10), &[3, 5, 6, 7, 8, 9]).holds("S16");

    let shown = |told: &mut Told<s16::BoundsGrantNothing>, now: u64, end: i64| {
        let log = Some(LogSpan { start: Offset(0), end: Offset(end) });
        let bounds = Bounds {
            cleanup_policy: "delete".to_owned(),
            retention_ms: -1,
            retention_bytes: -1,
            unclean_leader_election: false,
            logs: vec![log, log],
        };
        let topic = TopicSight::Known { incarnation: Some(declared()), partitions: 2 };
        let sight = Sight { topic, bounds: Some(bounds.into()) };
        let check = CheckId(now);
        told.at(now).asks(A, Command::Check { check, parts: CheckParts::Bounds }).settled(A);
        told.hears(A, Event::Checked { check, sight });
    };
    let mut bad = decided::<s16::BoundsGrantNothing>();
    for now in [5_000, 20_000, 27_000] {
        shown(&mut bad, now, 1);
        bad.settled(A);
    }
    bad.breaks("S16", "a was shown an end below its frontier for 20s, and goes on");
    // Shown in between that nothing is missing, or ended.
    let mut good = decided::<s16::BoundsGrantNothing>();
    for (now, end) in [(5_000, 1), (20_000, 2), (27_000, 1)] {
        shown(&mut good, now, end);
        good.settled(A);
    }
    good.holds("S16");
    shown(&mut good, 50_000, 1);
    good.drain(A).settled(A).holds("S16");
    let mut bad = decided::<s16::BoundsGrantNothing>();
    shown(&mut bad, 5_000, 1);
    bad.asks(A, Command::Seek { tenure: t(), frontier: Frontier(2), within_ms: 1_000 });
    bad.breaks("S16", "a 0#1 is sent to 2, and was shown the end 1");
}
