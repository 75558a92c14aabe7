//! A world of one check that is told facts by hand, with the usual sequences ready-made.

use std::sync::Arc;

use amends_core::ids::{ClaimId, Frontier, Incarnation, Offset, Partition, RebalanceId, TenureId, Token};
use amends_core::lifecycle::command::{CheckId, CheckParts, Command, Range, Timer};
use amends_core::lifecycle::event::{Event, Failure, Offsets, ProcessFailure};
use amends_core::lifecycle::stop::StopReason;
use amends_core::source::boundary::{Bounds, LogSpan, Sight, TopicSight};
use amends_sim::checks::Check;
use amends_sim::fact::{Commit, Entry, Fact, Ghost, Op, Row, TxId, Written};
use amends_sim::life::Life;
use amends_sim::truth::Truth;

pub const A: Life = Life { worker: 0, number: 1 };
pub const B: Life = Life { worker: 1, number: 1 };
pub const P: Partition = Partition(0);

pub fn declared() -> Incarnation {
    incarnation(7)
}

pub fn incarnation(last: u8) -> Incarnation {
    let mut bytes = [0; 16];
    bytes[15] = last;
    Incarnation::from_bytes(bytes).unwrap()
}

pub fn tenure(partition: u32, number: u32) -> TenureId {
    TenureId { partition: Partition(partition), number }
}

/// The first tenure of partition 0.
pub fn t() -> TenureId {
    tenure(0, 1)
}

pub fn token(epoch: i64) -> Token {
    Token { epoch, claim_id: ClaimId(epoch.unsigned_abs().into()) }
}

pub fn rebalance(number: u32) -> RebalanceId {
    RebalanceId { member: 1, number }
}

pub fn again() -> Failure {
    Failure::Again("lost".to_owned())
}

pub fn row(epoch: i64, frontier: i64) -> Row {
    Row { token: Some(token(epoch)), frontier: Some(Frontier(frontier)) }
}

/// One check, and the truth that it is shown.
pub struct Told<C> {
    pub truth: Truth,
    pub check: C,
    broken: Option<String>,
    began: u64,
}

impl<C: Check> Told<C> {
    /// Two partitions, one lane.
    pub fn new() -> Self {
        let truth = Truth::new(declared(), 2, 1);
        Self { truth, check: C::default(), broken: None, began: 0 }
    }

    pub fn tell(&mut self, fact: &Fact<'_>) -> &mut Self {
        if self.broken.is_none() {
            self.broken = self.check.see(fact, &self.truth).err();
            self.truth.take(fact);
        }
        self
    }

    pub fn at(&mut self, now: u64) -> &mut Self {
        self.truth.now = now;
        self
    }

    #[track_caller]
    pub fn holds(&self, name: &str) {
        assert_eq!((C::NAME, &self.broken), (name, &None));
    }

    #[track_caller]
    pub fn breaks(&self, name: &str, why: &str) {
        assert_eq!(C::NAME, name);
        let broken = self.broken.as_deref().unwrap_or("nothing is broken");
        assert!(broken.contains(why), "{broken:?} does not say {why:?}");
    }

    pub fn hears(&mut self, who: Life, event: Event) -> &mut Self {
        self.tell(&Fact::Delivered { who, event: &event })
    }

    pub fn asks(&mut self, who: Life, command: Command) -> &mut Self {
        self.tell(&Fact::Commanded { who, command: &command })
    }

    pub fn settled(&mut self, who: Life) -> &mut Self {
        self.tell(&Fact::Settled { who })
    }

    pub fn started(&mut self, who: Life) -> &mut Self {
        self.tell(&Fact::Started { who })
    }

    pub fn assigned(&mut self, who: Life, number: u32, partitions: &[u32]) -> &mut Self {
        let partitions = partitions.iter().copied().map(Partition).collect();
        self.hears(who, Event::Assigned { rebalance: rebalance(number), partitions })
    }

    pub fn appended(&mut self, first: i64, entries: &[Entry]) -> &mut Self {
        self.tell(&Fact::Appended { incarnation: declared(), partition: P, first: Offset(first), entries })
    }

    /// A transaction gets its lock, and its client reads the answer and sends COMMIT.
    pub fn locked(&mut self, who: Life, tenure: TenureId, op: Op) -> TxId {
        self.began += 1;
        let tx = TxId(self.began);
        let ghost = Some(self.ghost(who, tenure, op));
        self.tell(&Fact::Locked { tx, ghost, partition: tenure.partition });
        tx
    }

    pub fn ghost(&self, who: Life, tenure: TenureId, op: Op) -> Ghost {
        let generation = self.truth.tenancy(who, tenure).map_or(rebalance(1), |tenancy| tenancy.generation);
        Ghost { who, tenure, generation, op }
    }

    /// The commit of a transaction of this tenure: a claim when nothing is decided.
    pub fn commit(&self, tx: TxId, who: Life, tenure: TenureId, after: Row, decided: &[i64]) -> Commit {
        let before = self.truth.row(tenure.partition);
        let is_claim = decided.is_empty();
        Commit {
            tx,
            ghost: Some(self.ghost(who, tenure, if is_claim { Op::Claim } else { Op::Process })),
            partition: tenure.partition,
            before,
            after,
            carried: before.token.filter(|_| !is_claim),
            expected: before.frontier.filter(|_| !is_claim),
            decided: decided.iter().copied().map(Offset).collect(),
            rows: None,
        }
    }

    /// Lock, answer, COMMIT, effect.
    pub fn commits(&mut self, who: Life, tenure: TenureId, after: Row, decided: &[i64]) -> &mut Self {
        let tx = self.locked(who, tenure, if decided.is_empty() { Op::Claim } else { Op::Process });
        self.tell(&Fact::LockAnswered { tx }).tell(&Fact::CommitSent { tx });
        let commit = self.commit(tx, who, tenure, after, decided);
        self.tell(&Fact::Committed(&commit))
    }

    /// The same with the rows that it leaves.
    pub fn commits_rows(&mut self, after: Row, decided: &[i64], rows: Written) -> &mut Self {
        let mut commit = self.commit(TxId(0), A, t(), after, decided);
        commit.rows = Some(Box::new(rows));
        self.tell(&Fact::Committed(&commit))
    }

    pub fn claim(&mut self, who: Life, tenure: TenureId) -> &mut Self {
        self.asks(who, Command::Claim { tenure, within_ms: 1_000 })
    }

    pub fn observe(&mut self, who: Life, tenure: TenureId) -> &mut Self {
        self.asks(who, Command::Observe { tenure, fresh: false, within_ms: 1_000 })
    }

    /// Claimed and read back.
    pub fn owns(&mut self, who: Life, tenure: TenureId, row: Row) -> &mut Self {
        let (Some(token), Some(frontier)) = (row.token, row.frontier) else { panic!("an owner has a row") };
        self.claim(who, tenure).settled(who).commits(who, tenure, row, &[]);
        self.hears(who, Event::Claimed { tenure, token, frontier }).observe(who, tenure).settled(who);
        self.locked(who, tenure, Op::Observe);
        self.observed(who, tenure, row).settled(who)
    }

    pub fn observed(&mut self, who: Life, tenure: TenureId, row: Row) -> &mut Self {
        self.hears(who, Event::Observed { tenure, token: row.token, frontier: row.frontier })
    }

    /// Given to the client at its frontier, which goes there.
    pub fn placed(&mut self, who: Life, tenure: TenureId) -> &mut Self {
        let frontier = self.truth.row(tenure.partition).frontier.unwrap();
        let generation = self.truth.tenancy(who, tenure).unwrap().generation;
        self.asks(who, Command::Assign { rebalance: generation, positions: vec![(tenure, frontier)] });
        self.settled(who).hears(who, Event::Sought { tenure })
    }

    pub fn poll(&mut self, who: Life, tenure: TenureId) -> &mut Self {
        self.asks(who, Command::Poll { tenure, records: 10, bytes: 1_000, wait_ms: 1_000 })
    }

    pub fn polled(&mut self, who: Life, tenure: TenureId, offsets: &[i64]) -> &mut Self {
        let offsets: Arc<[Offset]> = offsets.iter().copied().map(Offset).collect();
        self.hears(who, Event::Polled { tenure, offsets: Offsets::new(offsets) })
    }

    /// From assigned to a poll in flight.
    pub fn working(&mut self) -> &mut Self {
        self.started(A).assigned(A, 1, &[0]).settled(A).owns(A, t(), row(1, 0));
        self.placed(A, t()).poll(A, t()).settled(A)
    }

    pub fn process(&mut self, who: Life, tenure: TenureId, range: (u32, u32)) -> &mut Self {
        self.process_as(who, tenure, range, false)
    }

    pub fn process_as(&mut self, who: Life, tenure: TenureId, range: (u32, u32), refused: bool) -> &mut Self {
        let tenancy = self.truth.tenancy(who, tenure).unwrap();
        let (token, expected) = (tenancy.claimed.unwrap(), tenancy.frontier.unwrap());
        let offsets = &tenancy.batch.as_ref().unwrap().offsets;
        let (from, to) = range;
        let (first, last) = (offsets[from as usize], offsets[to as usize - 1]);
        let range = Range { from, to, first, last };
        self.asks(
            who,
            Command::Process { tenure, token, expected, range, attempt: 1, refused, within_ms: 1_000 },
        )
    }

    pub fn allow(&mut self, who: Life, tenure: TenureId) -> &mut Self {
        self.asks(who, Command::AllowRebalance { tenure })
    }

    pub fn retire(&mut self, who: Life, tenure: TenureId) -> &mut Self {
        self.asks(who, Command::Retire { tenure })
    }

    pub fn wait(&mut self, who: Life, timer: Timer, after_ms: u64) -> &mut Self {
        self.asks(who, Command::Wait { timer, after_ms })
    }

    pub fn drain(&mut self, who: Life) -> &mut Self {
        self.wait(who, Timer::Drain, 12_000)
    }

    pub fn stop(&mut self, who: Life, reason: StopReason) -> &mut Self {
        self.asks(who, Command::Stop { reason })
    }

    pub fn process_failed(&mut self, who: Life, tenure: TenureId) -> &mut Self {
        self.hears(who, Event::ProcessFailed { tenure, failure: ProcessFailure::Attempt(again()) })
    }

    pub fn unknown(&mut self, who: Life, tenure: TenureId) -> &mut Self {
        self.hears(who, Event::CommitUnknown { tenure, why: "lost".to_owned() })
    }

    /// A check is asked and answered with what is declared, or with its bounds too.
    pub fn checked(&mut self, who: Life, number: u64, parts: CheckParts) -> &mut Self {
        let check = CheckId(number);
        self.asks(who, Command::Check { check, parts }).settled(who);
        self.shown(who, number, declared(), (parts == CheckParts::Bounds).then_some(0))
    }

    /// The answer to a check: which topic, and where its logs start when bounds are shown.
    pub fn shown(&mut self, who: Life, number: u64, seen: Incarnation, start: Option<i64>) -> &mut Self {
        let bounds = start.map(|start| {
            let log = Some(LogSpan { start: Offset(start), end: Offset(100) });
            Arc::new(Bounds {
                cleanup_policy: "delete".to_owned(),
                retention_ms: -1,
                retention_bytes: -1,
                unclean_leader_election: false,
                logs: vec![log, log],
            })
        });
        let topic = TopicSight::Known { incarnation: Some(seen), partitions: 2 };
        self.hears(who, Event::Checked { check: CheckId(number), sight: Sight { topic, bounds } })
    }
}
