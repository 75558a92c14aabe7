//! Each condition, held against a world made by hand: so before, or not, and what is told instead.

use std::sync::Arc;

use amends_core::ids::{ClaimId, Frontier, Offset, Partition, RebalanceId, TenureId, Token};
use amends_core::lifecycle::command::{Command, Range};
use amends_core::lifecycle::event::{Event, Offsets};
use amends_core::lifecycle::stop::StopReason;
use amends_sim::fact::{Commit, Entry, Fact, Row, TxId};
use amends_sim::faults::Fault;
use amends_sim::life::Life;
use amends_sim::scenario::Scenario;
use amends_sim::scenario::outcome::Outcome;
use amends_sim::truth::Truth;
use amends_sim::world::declared;

const ZERO: Partition = Partition(0);

/// A world of two partitions, told fact by fact.
pub struct ByHand {
    pub truth: Truth,
    pub outcome: Outcome,
}

pub fn token(epoch: i64) -> Token {
    Token { epoch, claim_id: ClaimId(u128::from(epoch.unsigned_abs())) }
}

fn tenure(number: u32) -> TenureId {
    TenureId { partition: ZERO, number }
}

impl ByHand {
    pub fn new() -> Self {
        Self { truth: Truth::new(declared(), 2, 2), outcome: Outcome::default() }
    }

    pub fn tell(&mut self, fact: &Fact<'_>) -> &mut Self {
        self.truth.take(fact);
        self.outcome.see(fact, &self.truth);
        self
    }

    pub fn hears(&mut self, who: Life, event: &Event) -> &mut Self {
        self.tell(&Fact::Delivered { who, event })
    }

    pub fn asks(&mut self, who: Life, command: &Command) -> &mut Self {
        self.tell(&Fact::Commanded { who, command })
    }

    fn appended(&mut self, entries: &[Entry]) -> &mut Self {
        let first = self.truth.log(ZERO).end();
        self.tell(&Fact::Appended { incarnation: declared(), partition: ZERO, first, entries })
    }

    fn committed(&mut self, epoch: i64, frontier: i64, decided: &[i64]) -> &mut Self {
        let after = Row { token: Some(token(epoch)), frontier: Some(Frontier(frontier)) };
        let commit = Commit {
            tx: TxId(self.truth.step),
            ghost: None,
            partition: ZERO,
            before: self.truth.row(ZERO),
            after,
            carried: (!decided.is_empty()).then(|| token(epoch)),
            expected: None,
            decided: decided.iter().copied().map(Offset).collect(),
            rows: None,
        };
        self.tell(&Fact::Committed(&commit))
    }

    /// The member's process owns partition 0 as its first tenure, under epoch 1, and polls.
    pub fn polling(&mut self, who: Life) -> &mut Self {
        let rebalance = RebalanceId { member: 1, number: 1 };
        self.tell(&Fact::Started { who })
            .hears(who, &Event::Assigned { rebalance, partitions: vec![ZERO] })
            .asks(who, &Command::Claim { tenure: tenure(1), within_ms: 1 })
            .committed(1, 0, &[])
            .hears(who, &Event::Claimed { tenure: tenure(1), token: token(1), frontier: Frontier(0) })
            .asks(who, &Command::Poll { tenure: tenure(1), records: 1, bytes: 1, wait_ms: 1 })
    }

    /// Records 0 and 1 are here, and their decision is in flight.
    fn processing(&mut self, who: Life) -> &mut Self {
        let offsets = Offsets::new(Arc::from([Offset(0), Offset(1)]));
        let range = Range { from: 0, to: 2, first: Offset(0), last: Offset(1) };
        self.polling(who)
            .hears(who, &Event::Polled { tenure: tenure(1), offsets })
            .asks(who, &process(1, range))
    }

    /// `None` when it is so, else what is so instead.
    pub fn judge(&self, condition: &str) -> Option<String> {
        let world = "# A claim.\ntopic orders partitions=2\nmembers a b\nseeds 1\n\n0s start a\n\nexpect";
        let scenario = Scenario::read(&format!("{world} {condition}\n")).unwrap();
        scenario.judge(&self.outcome, &self.truth).pop().map(|mistake| mistake.what)
    }

    #[track_caller]
    fn is_so(&self, condition: &str) -> &Self {
        assert_eq!(self.judge(condition), None, "{condition}");
        self
    }

    #[track_caller]
    fn is_not(&self, condition: &str, instead: &str) -> &Self {
        assert_eq!(self.judge(condition).as_deref(), Some(instead), "{condition}");
        self
    }
}

fn process(number: u32, range: Range) -> Command {
    Command::Process {
        tenure: tenure(number),
        token: token(1),
        expected: Frontier(0),
        range,
        attempt: 1,
        refused: false,
        within_ms: 1,
    }
}

fn a() -> Life {
    Life::first(0)
}

#[test]
fn a_world_is_drained_when_every_visible_record_is_decided() {
    let mut world = ByHand::new();
    world.is_so("drained").is_not("not drained", "every visible record is decided");
    world.appended(&[Entry::Visible, Entry::Aborted]);
    world.is_so("not drained").is_not("drained", "some visible record is not decided");
    world.committed(1, 1, &[0]).is_so("drained");
}

#[test]
fn a_member_is_active_under_the_token_of_its_row_alone() {
    let mut world = ByHand::new();
    world.is_not("a active orders/0", "a does not read partition 0 under the token of its row");
    world.polling(a()).is_so("a active orders/0").is_so("a.1 active orders/0");
    assert!(world.judge("b active orders/0").is_some() && world.judge("a.2 active orders/0").is_some());
    assert!(world.judge("a active orders/1").is_some());
    let mut fenced = ByHand::new();
    fenced.polling(a()).committed(2, 0, &[]);
    assert!(fenced.judge("a active orders/0").is_some(), "another token stands in the row");
    world.asks(a(), &Command::Retire { tenure: tenure(1) });
    assert!(world.judge("a active orders/0").is_some(), "its tenure is over");
}

#[test]
fn a_member_stopped_for_its_reason() {
    let mut world = ByHand::new();
    world.polling(a()).is_so("a running").is_not("a stopped", "no process of a stopped");
    world.asks(a(), &Command::Stop { reason: StopReason::Paused });
    world.is_so("a stopped").is_so("a stopped reason=paused").is_so("a.1 stopped");
    world.is_not("a stopped reason=unresolved", "a stopped with paused");
    world.is_not("a running", "the newest process of a is over");
    world.tell(&Fact::Started { who: a().next() }).is_so("a running").is_so("a stopped reason=paused");
    world.is_not("a.1 running", "the newest process of a.1 is over");
}

#[test]
fn events_and_commands_are_counted_by_member_process_and_partition() {
    let mut world = ByHand::new();
    world.processing(a());
    world.is_so("a process").is_so("a claim=1 process>=1 poll<=1 orders/0").is_so("a process=0 orders/1");
    world.is_so("b process=0").is_so("a.2 process=0").is_so("a assigned=1 orders/0 assigned<=1");
    world.is_not("a claim=1 process=2", "process=1, and not process=2");
    world.is_not("a process<=0", "process=1, and not process<=0");
    world.is_not("a committed", "committed=0, and not committed>=1");
    world.is_not("a assigned orders/1", "assigned=0, and not assigned>=1");
}

#[test]
fn a_fence_is_told_by_a_refused_decision_or_by_the_row() {
    let mut world = ByHand::new();
    world.processing(a()).is_so("a fenced=0");
    world.hears(a(), &Event::Observed { tenure: tenure(1), token: Some(token(1)), frontier: None });
    world.is_so("a fenced=0");
    world.hears(a(), &Event::Observed { tenure: tenure(1), token: Some(token(2)), frontier: None });
    world.is_so("a fenced=1 orders/0 by=2").is_not("a fenced by=3", "fenced=0, and not fenced>=1");
    world.hears(a(), &Event::Fenced { tenure: tenure(1), by: Some(token(3)) });
    world.is_so("a fenced=2").is_so("a fenced=1 by=3");
}

#[test]
fn what_never_comes_is_judged_in_its_tenure() {
    let mut world = ByHand::new();
    world.processing(a());
    world.is_not("a never process after retire", "retire never came, so that nothing is shown");
    world.asks(a(), &Command::Retire { tenure: tenure(1) });
    let range = Range { from: 0, to: 1, first: Offset(0), last: Offset(0) };
    world.asks(a(), &process(2, range)).is_so("a never process after retire orders/0");
    world.asks(a(), &process(1, range));
    world.is_not("a never process after retire orders/0", "a of 0#1: process came after retire");
    world.hears(a(), &Event::StopRequested).asks(a(), &process(2, range));
    world.is_not("a never process after stop-requested", "a of 0#2: process came after stop-requested");
}

#[test]
fn an_order_allows_what_lies_between() {
    let mut world = ByHand::new();
    world.processing(a());
    world.is_so("a order assigned claim poll process").is_so("a order claim process orders/0");
    world.is_not("a order poll claim", "no claim came after poll");
    world.is_not("a order retire claim", "no retire came after the beginning");
}

#[test]
fn rows_and_surviving_commits_are_measured() {
    let mut world = ByHand::new();
    world.is_not("orders/0 epoch=0", "epoch=none, and not epoch=0");
    world.appended(&[Entry::Visible; 3]).committed(1, 0, &[]).committed(1, 3, &[0, 2]);
    world
        .is_so("orders/0 epoch=1 frontier=3 decided=2 commits=1 lost=1 stored-twice=0")
        .is_so("lost=1 decided=2");
    world.is_so("orders/1 decided=0 lost=0").is_not("lost=0", "lost=1, and not lost=0");
    world.committed(2, 3, &[2]).is_so("orders/0 stored-twice=1 epoch>=2 commits=2");
    world.tell(&Fact::Forgot { commits: 2 }).is_so("orders/0 frontier=0 decided=0 lost=0");
}

#[test]
fn a_fault_struck_so_often() {
    let mut world = ByHand::new();
    world.is_not("struck paused", "it struck 0 times, and not >=1");
    world
        .tell(&Fact::Struck { fault: Fault::Paused, who: Some(a()) })
        .is_so("struck paused")
        .is_so("struck paused=1");
    world.is_not("struck paused=2", "it struck 1 times, and not =2");
}

#[test]
fn a_world_is_quiet_when_nothing_was_left_to_be_done_for_a_while() {
    let mut world = ByHand::new();
    let is_quiet_after = |world: &mut ByHand, ms: u64| {
        world.truth.now += ms;
        world.judge("quiet").is_none()
    };
    world.truth = Truth::new(declared(), 1, 1);
    world.processing(a());
    assert!(!is_quiet_after(&mut world, 60_000), "a decision is in flight");
    world
        .appended(&[Entry::Visible; 2])
        .committed(1, 2, &[0, 1])
        .hears(a(), &Event::Committed { tenure: tenure(1) });
    assert!(!is_quiet_after(&mut world, 5_999), "that was just now");
    assert!(is_quiet_after(&mut world, 1));
    world.asks(a(), &Command::Observe { tenure: tenure(1), fresh: false, within_ms: 1 });
    assert!(is_quiet_after(&mut world, 0), "an idle owner looks at its row");
    world.tell(&Fact::Froze { who: a() });
    assert!(!is_quiet_after(&mut world, 60_000), "somebody will wake up");
    world.tell(&Fact::Thawed { who: a() }).appended(&[Entry::Visible]);
    assert!(!is_quiet_after(&mut world, 60_000), "a record waits");
    world.committed(1, 3, &[2]).hears(a(), &Event::CommitUnknown { tenure: tenure(1), why: String::new() });
    assert!(!is_quiet_after(&mut world, 60_000), "an outcome was not read");
    world.asks(a(), &Command::Stop { reason: StopReason::Stopped });
    assert!(is_quiet_after(&mut world, 6_000), "nobody lives");
    world.tell(&Fact::Started { who: a().next() });
    assert!(!is_quiet_after(&mut world, 60_000), "nobody owns the partition");
}
