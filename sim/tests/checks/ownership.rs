//! S7 to S12: what a tenure may ask for, and when it ends.

use amends_core::ids::{Frontier, RebalanceId};
use amends_core::lifecycle::command::{CheckId, CheckParts, Command, Timer};
use amends_core::lifecycle::event::Event;
use amends_core::lifecycle::stop::StopReason;
use amends_sim::checks::{s07, s07b, s08, s09, s09b, s10, s11, s12};
use amends_sim::fact::{Fact, Op, Row};

use super::good::{decided, deciding, doubted, handed_over, judged, polling};
use super::told::{A, B, P, Told, again, incarnation, rebalance, row, t, tenure, token};

fn seek(frontier: i64) -> Command {
    Command::Seek { tenure: t(), frontier: Frontier(frontier), within_ms: 1_000 }
}

fn claim_lost() -> Event {
    Event::ClaimUnknown { tenure: t(), why: "lost".to_owned() }
}

fn revoked() -> Event {
    Event::Revoked { rebalance: rebalance(2), partitions: vec![P] }
}

/// So many reads of the unknown outcome fail.
fn unread(times: u32) -> Told<s07::NoGuess> {
    let mut told = doubted(false);
    for wait in 1..=times {
        told.hears(A, Event::ObserveFailed { tenure: t(), failure: again() });
        if wait < times {
            told.wait(A, Timer::Retry { tenure: t(), wait }, 100).settled(A);
            told.hears(A, Event::Expired { timer: Timer::Retry { tenure: t(), wait } }).observe(A, t());
            told.settled(A);
        }
    }
    told
}

#[test]
fn s07_no_guess() {
    handed_over::<s07::NoGuess>().holds("S7");
    deciding::<s07::NoGuess>()
        .unknown(A, t())
        .settled(A)
        .breaks("S7", "a 0#1 did not read its row after a lost reply");
    deciding::<s07::NoGuess>()
        .unknown(A, t())
        .process(A, t(), (0, 2))
        .breaks("S7", "a 0#1: process 0-1, and the outcome of its Process is unknown");
    doubted::<s07::NoGuess>(true).allow(A, t()).poll(A, t()).breaks("S7", "a 0#1: poll, and the outcome");
    doubted::<s07::NoGuess>(true).asks(A, seek(2)).breaks("S7", "a 0#1: seek 2, and the outcome");
    let mut bad = Told::<s07::NoGuess>::new();
    bad.started(A).assigned(A, 1, &[0]).claim(A, t()).settled(A).hears(A, claim_lost());
    bad.claim(A, t()).breaks("S7", "a 0#1: claim, and the outcome of its Claim is unknown");
    // Nobody has to read what is not his any more.
    let mut good = deciding::<s07::NoGuess>();
    good.hears(A, revoked()).settled(A).unknown(A, t()).retire(A, t()).settled(A).holds("S7");
}

#[test]
fn s07_three_reads() {
    let unresolved =
        || StopReason::Unresolved { tenure: t(), epoch: None, offsets: None, why: String::new() };
    unread(3).drain(A).settled(A).stop(A, unresolved()).holds("S7");
    unread(2).settled(A).holds("S7");
    unread(3).settled(A).breaks("S7", "a 0#1 goes on after 3 reads of an unknown outcome failed");
    unread(3)
        .drain(A)
        .settled(A)
        .stop(A, StopReason::Shutdown)
        .breaks("S7", "a stops as shutdown with an outcome that it could not read");
}

#[test]
fn s07b_right_answer() {
    handed_over::<s07b::RightAnswer>().holds("S7b");
    let again = |told: &mut Told<s07b::RightAnswer>| {
        let timer = Timer::Retry { tenure: t(), wait: 1 };
        told.wait(A, timer, 100).settled(A).hears(A, Event::Expired { timer });
        told.process(A, t(), (0, 2)).settled(A);
    };
    let mut good = doubted::<s07b::RightAnswer>(false);
    again(good.observed(A, t(), row(1, 2)));
    good.commits(A, t(), row(1, 6), &[3, 5]).holds("S7b");
    // The read told what was not so: it had not committed, and it had.
    let mut bad = doubted::<s07b::RightAnswer>(false);
    bad.observed(A, t(), row(1, 6)).allow(A, t()).poll(A, t());
    bad.breaks("S7b", "a 0#1 takes 3-5 under epoch 1 for committed");
    let mut bad = doubted::<s07b::RightAnswer>(true);
    again(bad.observed(A, t(), row(1, 2)));
    bad.breaks("S7b", "a 0#1 sends 3-5 again, committed under epoch 1");
    // The read waited for no lock: the lost decision may still commit, or does.
    let running = || {
        let mut told = decided::<s07b::RightAnswer>();
        told.polled(A, t(), &[3, 5]).checked(A, 4, CheckParts::Bounds).process(A, t(), (0, 2)).settled(A);
        let tx = told.locked(A, t(), Op::Process);
        told.tell(&Fact::LockAnswered { tx }).tell(&Fact::CommitSent { tx });
        told.unknown(A, t()).observe(A, t()).settled(A).observed(A, t(), row(1, 2));
        (told, tx)
    };
    let (mut bad, tx) = running();
    again(&mut bad);
    bad.breaks("S7b", &format!("a 0#1 sends 3-5 again, and its transaction {} may still commit", tx.0));
    let (mut bad, tx) = running();
    let commit = bad.commit(tx, A, t(), row(1, 6), &[3, 5]);
    bad.tell(&Fact::Committed(&commit));
    bad.breaks("S7b", "a 0#1: 3-5 committed after the row was read to learn whether it had");
    let (mut good, tx) = running();
    again(good.tell(&Fact::RolledBack { tx }));
    good.holds("S7b");
    // It went on behind a commit that a failover forgot meanwhile.
    let mut good = doubted::<s07b::RightAnswer>(true);
    good.tell(&Fact::Forgot { commits: 1 }).observed(A, t(), row(1, 6)).allow(A, t()).poll(A, t());
    good.holds("S7b");
}

#[test]
fn s08_no_adoption() {
    handed_over::<s08::NoAdoption>().holds("S8");
    let under = |mut told: Told<s08::NoAdoption>, epoch| {
        let range = told.truth.tenancy(A, t()).unwrap().sent.unwrap().0;
        let (token, expected) = (token(epoch), Frontier(0));
        let (tenure, attempt, refused, within_ms) = (t(), 2, false, 1_000);
        told.asks(A, Command::Process { tenure, token, expected, range, attempt, refused, within_ms });
        told
    };
    under(deciding(), 1).holds("S8");
    under(deciding(), 2).breaks("S8", "a 0#1 decides under epoch 2, its own claim gave epoch 1");
    // It read another owner's token, and goes on under that.
    let mut read = deciding::<s08::NoAdoption>();
    read.started(B).commits(B, t(), row(5, 0), &[]).observe(A, t()).observed(A, t(), row(5, 0));
    under(read, 5).breaks("S8", "a 0#1 decides under epoch 5, its own claim gave epoch 1");
    let mut bad = deciding::<s08::NoAdoption>();
    bad.assigned(A, 2, &[0]);
    let range = bad.truth.tenancy(A, t()).unwrap().sent.unwrap().0;
    bad.asks(
        A,
        Command::Process {
            tenure: tenure(0, 2),
            token: token(1),
            expected: Frontier(0),
            range,
            attempt: 1,
            refused: false,
            within_ms: 1_000,
        },
    );
    bad.breaks("S8", "a 0#2 decides under epoch 1 without a claim of its own");
}

#[test]
fn s09_retires() {
    handed_over::<s09::Retires>().holds("S9");
    let fenced = || Event::Fenced { tenure: t(), by: Some(token(2)) };
    deciding::<s09::Retires>().hears(A, fenced()).allow(A, t()).retire(A, t()).settled(A).holds("S9");
    deciding::<s09::Retires>()
        .hears(A, fenced())
        .process(A, t(), (0, 2))
        .settled(A)
        .breaks("S9", "a 0#1 was fenced, and did not retire");
    deciding::<s09::Retires>()
        .hears(A, Event::Moved { tenure: t(), frontier: Some(Frontier(1)) })
        .settled(A)
        .breaks("S9", "a 0#1 found its frontier moved, and did not retire");
    let read = |row: Row| {
        let mut told = doubted::<s09::Retires>(true);
        told.observed(A, t(), row).settled(A);
        told
    };
    read(row(1, 6)).holds("S9");
    read(row(1, 2)).holds("S9");
    read(row(2, 6)).breaks("S9", "a 0#1 read another token, and did not retire");
    read(row(1, 4)).breaks("S9", "a 0#1 read an unexpected frontier, and did not retire");
    read(Row::default()).breaks("S9", "read another token");
    // A decision that surely failed moves nothing, an idle owner knows one frontier only, and after a lost claim every
    // row is right.
    let mut bad = deciding::<s09::Retires>();
    bad.process_failed(A, t()).observe(A, t()).observed(A, t(), row(1, 2)).settled(A);
    bad.breaks("S9", "an unexpected frontier");
    let mut bad = decided::<s09::Retires>();
    bad.observe(A, t()).observed(A, t(), row(1, 0)).settled(A).breaks("S9", "an unexpected frontier");
    let mut good = Told::<s09::Retires>::new();
    good.started(A).assigned(A, 1, &[0]).claim(A, t()).hears(A, claim_lost()).observe(A, t());
    good.observed(A, t(), row(7, 3)).claim(A, t()).settled(A).holds("S9");
}

#[test]
fn s09b_no_spurious_end() {
    handed_over::<s09b::NoSpuriousEnd>().holds("S9b");
    let mut bad = polling::<s09b::NoSpuriousEnd>();
    bad.hears(A, Event::PollEmpty { tenure: t() }).allow(A, t()).retire(A, t()).settled(A);
    bad.breaks("S9b", "a 0#1 retired, and nothing speaks against it");
    // PostgreSQL fences its owner.
    let fenced = || Event::Fenced { tenure: t(), by: Some(token(2)) };
    let mut bad = deciding::<s09b::NoSpuriousEnd>();
    bad.hears(A, fenced()).allow(A, t()).retire(A, t()).settled(A).breaks("S9b", "a 0#1 retired");
    let mut bad = doubted::<s09b::NoSpuriousEnd>(true);
    bad.observed(A, t(), row(1, 6)).retire(A, t()).settled(A).breaks("S9b", "a 0#1 retired");
    // Another owner, or a failover meanwhile, or the end of the stream.
    let mut good = deciding::<s09b::NoSpuriousEnd>();
    good.started(B).commits(B, t(), row(2, 0), &[]).hears(A, fenced()).retire(A, t()).settled(A).holds("S9b");
    let mut good = deciding::<s09b::NoSpuriousEnd>();
    good.started(B).commits(B, t(), row(2, 0), &[]).tell(&Fact::Forgot { commits: 1 });
    good.hears(A, fenced()).retire(A, t()).settled(A).holds("S9b");
    let mut good = decided::<s09b::NoSpuriousEnd>();
    good.observe(A, t()).settled(A).tell(&Fact::Forgot { commits: 1 });
    good.observed(A, t(), row(1, 0)).retire(A, t()).settled(A).holds("S9b");
    let mut good = decided::<s09b::NoSpuriousEnd>();
    good.tell(&Fact::Forgot { commits: 1 }).observe(A, t()).settled(A);
    good.observed(A, t(), row(1, 0)).retire(A, t()).settled(A).holds("S9b");
    // A fence of one partition ends no tenure of another.
    let mut bad = Told::<s09b::NoSpuriousEnd>::new();
    bad.started(A).assigned(A, 1, &[0, 1]).settled(A).owns(A, t(), row(1, 0)).owns(
        A,
        tenure(1, 1),
        row(2, 0),
    );
    bad.started(B).commits(B, t(), row(3, 0), &[]).hears(A, fenced());
    bad.retire(A, t()).retire(A, tenure(1, 1)).settled(A).breaks("S9b", "a 1#1 retired");
    let mut good = polling::<s09b::NoSpuriousEnd>();
    good.hears(A, Event::ShutdownRequested).retire(A, t()).drain(A).settled(A).holds("S9b");
    let mut good = polling::<s09b::NoSpuriousEnd>();
    good.hears(A, Event::PollEmpty { tenure: t() }).retire(A, t()).drain(A).settled(A).holds("S9b");
}

#[test]
fn s10_ownership() {
    handed_over::<s10::Ownership>().holds("S10");
    let mut bad = judged::<s10::Ownership>();
    bad.hears(A, revoked()).settled(A).process(A, t(), (0, 2));
    bad.breaks("S10", "a 0#1: process 0-1, and it is Revoked");
    let lost = || Event::Lost { rebalance: rebalance(2) };
    decided::<s10::Ownership>().hears(A, lost()).asks(A, seek(2)).breaks("S10", "seek 2, and it is Lost");
    decided::<s10::Ownership>()
        .hears(A, Event::ShutdownRequested)
        .claim(A, t())
        .breaks("S10", "a 0#1: claim, and it is Cancelled");
    // A wait that ends after the stream began to.
    let mut bad = judged::<s10::Ownership>();
    bad.drain(A).settled(A).hears(A, Event::Expired { timer: Timer::Retry { tenure: t(), wait: 1 } });
    bad.process(A, t(), (0, 2)).breaks("S10", "a 0#1: process 0-1, and it is Cancelled");
    let positions = vec![(tenure(0, 2), Frontier(2))];
    decided::<s10::Ownership>()
        .asks(A, Command::Assign { rebalance: rebalance(1), positions })
        .breaks("S10", "a 0#2: assign 1.1 0#2@2, and it was never assigned");
    // A callback of an older member, or one that came before, takes nothing.
    let old = RebalanceId { member: 0, number: 9 };
    let mut good = judged::<s10::Ownership>();
    good.hears(A, Event::Lost { rebalance: old }).process(A, t(), (0, 2)).holds("S10");
    // An answer to a tenure that is over starts nothing for the next one.
    let reassigned = || {
        let mut told = deciding::<s10::Ownership>();
        told.assigned(A, 2, &[0]).settled(A).hears(A, Event::Committed { tenure: t() });
        told
    };
    reassigned().retire(A, t()).settled(A).holds("S10");
    reassigned().claim(A, tenure(0, 2)).breaks("S10", "a 0#2: claim, upon an answer to 0#1, which is over");
    reassigned().poll(A, tenure(0, 2)).breaks("S10", "a 0#2: poll, upon an answer to 0#1");
}

#[test]
fn s11_absorbing() {
    handed_over::<s11::Absorbing>().holds("S11");
    let retired = || {
        let mut told = judged::<s11::Absorbing>();
        told.retire(A, t());
        told
    };
    retired().allow(A, t()).observe(A, t()).holds("S11");
    retired().assigned(A, 2, &[0]).claim(A, tenure(0, 2)).holds("S11");
    retired().process(A, t(), (0, 2)).breaks("S11", "a 0#1: process 0-1 after it retired");
    retired().poll(A, t()).breaks("S11", "a 0#1: poll after it retired");
    retired().claim(A, t()).breaks("S11", "a 0#1: claim after it retired");
    let positions = vec![(t(), Frontier(0))];
    retired()
        .asks(A, Command::Assign { rebalance: rebalance(1), positions })
        .breaks("S11", "a 0#1: assign 1.1 0#1@0 after it retired");
    let mut bad = polling::<s11::Absorbing>();
    bad.stop(A, StopReason::Shutdown).allow(A, t());
    bad.breaks("S11", "a: allow-rebalance after it stopped as shutdown");
}

#[test]
fn s12_right_topic() {
    handed_over::<s12::RightTopic>().holds("S12");
    let mut bad = Told::<s12::RightTopic>::new();
    bad.started(A).assigned(A, 1, &[2]).claim(A, tenure(2, 1));
    bad.breaks("S12", "a 2#1: claim, and 2 partitions were declared");
    let mut bad = Told::<s12::RightTopic>::new();
    bad.started(A).assigned(A, 1, &[0]).claim(A, t());
    bad.breaks("S12", "a 0#1: claim, and no check that was sent after step 2 showed");
    // A check that was sent before the poll was answered does not speak of its records.
    let asked = |told: &mut Told<s12::RightTopic>| {
        let check = Command::Check { check: CheckId(3), parts: CheckParts::Identity };
        told.asks(A, check).settled(A);
    };
    let mut bad = polling::<s12::RightTopic>();
    asked(&mut bad);
    bad.polled(A, t(), &[0, 1]).settled(A).shown(A, 3, incarnation(7), None).process(A, t(), (0, 2));
    bad.breaks("S12", "a 0#1: process 0-1, and no check that was sent after step");
    let mut bad = polling::<s12::RightTopic>();
    bad.polled(A, t(), &[0, 1]).process(A, t(), (0, 2)).breaks("S12", "a 0#1: process 0-1");
    let mut bad = polling::<s12::RightTopic>();
    bad.hears(A, Event::PollEmpty { tenure: t() })
        .asks(A, seek(0))
        .breaks("S12", "a 0#1: seek 0, and no check");
    // Read back, and placed without a check after it.
    let mut bad = Told::<s12::RightTopic>::new();
    bad.started(A).assigned(A, 1, &[0]).checked(A, 1, CheckParts::Bounds).owns(A, t(), row(1, 0));
    bad.placed(A, t()).breaks("S12", "a 0#1: assign 1.1 0#1@0, and no check");
    // Another topic ends the stream, and makes no check.
    let mut bad = polling::<s12::RightTopic>();
    asked(&mut bad);
    bad.shown(A, 3, incarnation(9), None).settled(A);
    bad.breaks("S12", "a was shown another topic than kafka:00000000000000000000000000000007, and goes on");
    let mut good = polling::<s12::RightTopic>();
    asked(&mut good);
    good.shown(A, 3, incarnation(9), None).retire(A, t()).drain(A).settled(A).holds("S12");
    let mut bad = polling::<s12::RightTopic>();
    asked(bad.polled(A, t(), &[0, 1]));
    bad.shown(A, 3, incarnation(9), None).process(A, t(), (0, 2)).breaks("S12", "a 0#1: process 0-1");
}
