//! A life in which nothing is wrong: no check objects to it, and every bad one begins like it.

use amends_core::ids::Partition;
use amends_core::lifecycle::command::{CheckParts, Command};
use amends_core::lifecycle::event::{Event, ProcessFailure};
use amends_sim::checks::{Check, Checks, Verdict};
use amends_sim::fact::{Entry, Fact, Op};
use amends_sim::truth::Truth;

use super::told::{A, B, Told, rebalance, row, t};

use CheckParts::{Bounds, Identity};
use Entry::{Aborted, Control, Visible};

/// Every check at once.
#[derive(Default)]
struct All(Checks);

impl Check for All {
    const NAME: &'static str = "all";
    const CLAIM: &'static str = "every property holds";

    fn see(&mut self, fact: &Fact<'_>, truth: &Truth) -> Verdict {
        self.0.see(fact, truth).map_err(|violation| violation.to_string())
    }
}

#[test]
fn no_check_objects_to_a_good_life() {
    decided::<All>().holds("all");
    resolved::<All>().holds("all");
    bisected::<All>().holds("all");
    handed_over::<All>().holds("all");
}

/// Offsets 0, 1, 3, 5, 6 and 7 are visible. A claimed partition 0, read its row back, and polls.
pub fn polling<C: Check>() -> Told<C> {
    let mut told = Told::new();
    told.appended(0, &[Visible, Visible, Aborted, Visible, Control, Visible, Visible, Visible]);
    told.started(A).assigned(A, 1, &[0]).checked(A, 1, Bounds).owns(A, t(), row(1, 0));
    told.checked(A, 2, Bounds).placed(A, t()).poll(A, t()).settled(A);
    told
}

/// It has 0 and 1 in hand, and the topic is checked.
pub fn judged<C: Check>() -> Told<C> {
    let mut told = polling();
    told.polled(A, t(), &[0, 1]).checked(A, 3, Identity);
    told
}

/// The decision of 0 and 1 is on its way.
pub fn deciding<C: Check>() -> Told<C> {
    let mut told = judged();
    told.process(A, t(), (0, 2)).settled(A);
    told
}

/// 0 and 1 are decided.
pub fn decided<C: Check>() -> Told<C> {
    let mut told = deciding();
    told.commits(A, t(), row(1, 2), &[0, 1]).hears(A, Event::Committed { tenure: t() });
    told.allow(A, t()).poll(A, t()).settled(A);
    told
}

/// The reply to the decision of 3 and 5 was lost; it committed, or not, and the row is being read.
pub fn doubted<C: Check>(is_committed: bool) -> Told<C> {
    let mut told = decided();
    told.polled(A, t(), &[3, 5]).checked(A, 4, Bounds).process(A, t(), (0, 2)).settled(A);
    if is_committed {
        told.commits(A, t(), row(1, 6), &[3, 5]);
    } else {
        let tx = told.locked(A, t(), Op::Process);
        told.tell(&Fact::LockAnswered { tx }).tell(&Fact::CommitSent { tx }).tell(&Fact::RolledBack { tx });
    }
    told.unknown(A, t()).observe(A, t()).settled(A);
    told
}

/// The row told that it had committed.
pub fn resolved<C: Check>() -> Told<C> {
    let mut told = doubted(true);
    told.observed(A, t(), row(1, 6)).allow(A, t()).poll(A, t()).settled(A);
    told
}

/// PostgreSQL refused 6 and 7 together, and takes them one by one.
pub fn bisected<C: Check>() -> Told<C> {
    let mut told = resolved();
    told.polled(A, t(), &[6, 7]).checked(A, 5, Identity).process(A, t(), (0, 2)).settled(A);
    let failure = ProcessFailure::Refused("22021".to_owned());
    told.hears(A, Event::ProcessFailed { tenure: t(), failure }).process(A, t(), (0, 1)).settled(A);
    told.commits(A, t(), row(1, 7), &[6]).hears(A, Event::Committed { tenure: t() });
    told.process(A, t(), (1, 2)).settled(A);
    told.commits(A, t(), row(1, 8), &[7]).hears(A, Event::Committed { tenure: t() });
    told.allow(A, t()).poll(A, t()).settled(A);
    told
}

/// The group gave the partition to another member.
pub fn handed_over<C: Check>() -> Told<C> {
    let mut told = bisected();
    let revoked = Event::Revoked { rebalance: rebalance(2), partitions: vec![Partition(0)] };
    told.hears(A, revoked).retire(A, t()).asks(A, Command::Unassign { rebalance: rebalance(2) }).settled(A);
    told.hears(A, Event::PollEmpty { tenure: t() }).allow(A, t()).settled(A);
    told.started(B).assigned(B, 1, &[0]).checked(B, 1, Bounds).owns(B, t(), row(2, 8));
    told.checked(B, 2, Bounds).placed(B, t()).poll(B, t()).settled(B);
    told
}
