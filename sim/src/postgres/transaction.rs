//! Knows how a transaction begins, waits for its row, commits or never was; and tells it to the world.

use amends_core::ids::{Offset, Partition};

use super::conversation::ABORTED_BEFORE;
use super::due::Due;
use super::lies::Lie;
use super::locks::Key;
use super::refusal::{Halt, Refusal};
use super::server::Server;
use super::session::{SessionId, Tx};
use super::statement::Statement;
use super::talk::Sent;
use super::value::{Instant, Params};
use super::work::{Outcome, Work};
use crate::fact::{Commit, Fact, Written};
use crate::faults::{Fault, Place};
use crate::ground::Ground;
use crate::pace::{Actor, Wait};

/// How long after a commit without its standby the server is lost, so that the answer is there first.
const FAILS_OVER_AFTER_MS: u64 = 100;

impl Server {
    /// Carries out a statement, or does what a fault wants instead.
    pub(super) fn perform(
        &mut self,
        ground: &mut Ground,
        id: SessionId,
        sent: &Sent,
        statement: Statement,
        is_landed: bool,
    ) -> Result<Outcome, Halt> {
        let Some(session) = self.sessions.get_mut(&id) else { return Ok(Outcome::of("")) };
        if session.is_failed() && !statement.ends_a_transaction() {
            return Err(ABORTED_BEFORE.into());
        }
        if let Some(Lie::Refuse(fault, code)) = sent.lie {
            self.struck(ground, fault, id, "is refused");
            return Err(Refusal::of(code).into());
        }
        if session.is_standby {
            if statement.needs_a_primary() {
                return Err(Refusal::error("25006", "cannot write in a read-only transaction").into());
            }
            if statement == Statement::Begin {
                return Err(Refusal::error(
                    "0A000",
                    "cannot set transaction read-write mode during recovery",
                )
                .into());
            }
            if statement == Statement::SetUp {
                self.struck(ground, Fault::OnStandby, id, "stands before a standby");
            }
        }
        match statement {
            Statement::Begin => Ok(self.begin(ground, id, sent)),
            Statement::Rollback => {
                self.warn_outside(id);
                self.abort(ground, id, true);
                Ok(Outcome::of("ROLLBACK"))
            }
            Statement::Commit => self.commit_statement(ground, id, sent.lie, is_landed),
            _ => self.work(ground, id, sent, statement),
        }
    }

    fn begin(&mut self, ground: &Ground, id: SessionId, sent: &Sent) -> Outcome {
        if let Some(session) = self.sessions.get_mut(&id) {
            if session.is_in_block() {
                session.answers.warn("25001", "there is already a transaction in progress");
            } else {
                let now = Instant::from_ms(ground.now());
                session.tx = Some(Tx::new(sent.tx, true, now, session.settings.clone()));
            }
        }
        Outcome::of("BEGIN")
    }

    fn warn_outside(&mut self, id: SessionId) {
        if let Some(session) = self.sessions.get_mut(&id).filter(|session| !session.is_in_block()) {
            session.answers.warn("25P01", "there is no transaction in progress");
        }
    }

    fn commit_statement(
        &mut self,
        ground: &mut Ground,
        id: SessionId,
        lie: Option<Lie>,
        is_landed: bool,
    ) -> Result<Outcome, Halt> {
        self.warn_outside(id);
        let Some(session) = self.sessions.get(&id).filter(|session| session.tx.is_some()) else {
            return Ok(Outcome::of("COMMIT"));
        };
        if session.is_failed() {
            self.abort(ground, id, true);
            return Ok(Outcome::of("ROLLBACK"));
        }
        if !is_landed {
            return Err(Halt::Lands(self.lands_after_ms(ground, id, lie)));
        }
        self.commit(ground, id);
        if let Some(Lie::Warn { is_forgotten }) = lie {
            self.struck(ground, Fault::StandbyWarned, id, "is warned that no standby has its COMMIT");
            if let Some(session) = self.sessions.get_mut(&id) {
                session
                    .answers
                    .warn("01000", "canceling wait for synchronous replication due to user request");
            }
            if is_forgotten {
                let keep = self.commits.len().saturating_sub(1);
                self.agenda.at(ground.now() + FAILS_OVER_AFTER_MS, Due::FailOver { keep });
            }
        }
        Ok(Outcome::of("COMMIT"))
    }

    fn lands_after_ms(&mut self, ground: &mut Ground, id: SessionId, lie: Option<Lie>) -> u64 {
        if let Some(Lie::Late(after_ms, loss)) = lie {
            self.struck(ground, Fault::CommitLate, id, "has its COMMIT land late, and does not learn of it");
            self.lose(ground, id, loss);
            return after_ms;
        }
        let wait = ground.pace.wait(Wait::Store, Actor::Postgres);
        let Some(who) = self.sessions.get(&id).and_then(|session| session.who) else { return wait };
        let is_orphan = ground.chronicle.truth.processes.get(&who).is_some_and(|process| process.is_crashed);
        let strike =
            if is_orphan { ground.faults.strike(Fault::OrphanCommits, Place::at(who)) } else { None };
        strike.map_or(wait, |strike| {
            self.struck(ground, Fault::OrphanCommits, id, "is dead, and its COMMIT lands later");
            strike.severity
        })
    }

    fn work(
        &mut self,
        ground: &mut Ground,
        id: SessionId,
        sent: &Sent,
        statement: Statement,
    ) -> Result<Outcome, Halt> {
        let Some(session) = self.sessions.get_mut(&id) else { return Ok(Outcome::of("")) };
        let now = Instant::from_ms(ground.now());
        let tx = session.tx.get_or_insert_with(|| Tx::new(None, false, now, session.settings.clone()));
        let had = tx.partition.is_some();
        let mut work = Work {
            id,
            now,
            is_standby: session.is_standby,
            committed: &self.tables,
            locks: &mut self.locks,
            xids: &mut self.xids,
            draws: &mut self.draws,
            settings: &mut session.settings,
            tx,
        };
        let result = work.carry_out(statement, &Params(&session.bound));
        for defect in self.defects {
            defect.spoil(statement, &mut tx.own, &self.tables);
        }
        if let Some((_, partition)) = tx.partition.as_ref().filter(|_| !had) {
            tx.ghost = sent.ghost;
            let tx = *tx.id.get_or_insert_with(|| self.txs.next());
            ground.chronicle.tell(&Fact::Locked { tx, ghost: sent.ghost, partition: number(*partition) });
            ground.chronicle.line(format_args!("transaction {}: holds partition {partition}", tx.0));
        }
        result
    }

    /// Makes what a session's transaction wrote everybody's.
    pub(super) fn commit(&mut self, ground: &mut Ground, id: SessionId) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let Some(mut tx) = session.tx.take() else { return };
        session.settings = tx.after.take().unwrap_or_else(|| tx.before.clone());
        self.xids.end(tx.xid, true);
        let commit = self.commit_fact(&tx);
        let own = std::mem::take(&mut tx.own);
        if own.is_empty() {
            Self::tell_rolled_back(ground, &tx);
        } else {
            let undo = self.tables.commit(own);
            if let Some(commit) = commit {
                self.commits.push(undo);
                ground.chronicle.tell(&Fact::Committed(&commit));
                let Commit { tx, partition, decided, .. } = &commit;
                let decided = decided.len();
                ground.chronicle.line(format_args!(
                    "transaction {}: commits {decided} records at partition {partition}",
                    tx.0
                ));
            }
        }
        self.release(tx.held);
    }

    /// What a transaction that holds a partition is about to do to it.
    fn commit_fact(&self, tx: &Tx) -> Option<Commit> {
        let key = tx.partition.as_ref()?;
        let partition = key.1;
        let before = self.tables.partitions.get(key).map(super::rows::Partition::fact).unwrap_or_default();
        let own = &tx.own;
        let mut written = Written::default();
        let mut decided = Vec::new();
        for ((_, at, offset), row) in &own.evidence {
            if *at == partition {
                decided.push(Offset(*offset));
                written.evidence.push(row.text(*at, *offset));
            }
        }
        for ((_, item, location, day), row) in &own.positions {
            written.positions.push(row.text(item, location, *day));
        }
        for ((_, at, offset, day), row) in &own.outbox {
            written.outbox.push(row.text(*at, *offset, *day));
        }
        Some(Commit {
            tx: tx.id?,
            ghost: tx.ghost,
            partition: number(partition),
            before,
            after: own.partitions.get(key).map_or(before, super::rows::Partition::fact),
            carried: tx.carried,
            expected: tx.expected,
            decided,
            rows: Some(Box::new(written)),
        })
    }

    /// A session's transaction never was. One that a BEGIN opened stays as a failed one until its end is asked for.
    pub(super) fn abort(&mut self, ground: &mut Ground, id: SessionId, is_over: bool) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let Some(tx) = session.tx.take() else { return };
        session.settings = tx.before.clone();
        self.xids.end(tx.xid, false);
        if !is_over && tx.is_block {
            let failed = Tx::new(tx.id, true, tx.began, tx.before.clone());
            session.tx = Some(Tx { is_failed: true, ..failed });
        }
        Self::tell_rolled_back(ground, &tx);
        self.release(tx.held);
    }

    fn tell_rolled_back(ground: &mut Ground, tx: &Tx) {
        if let Some(id) = tx.id.filter(|_| tx.partition.is_some()) {
            ground.chronicle.tell(&Fact::RolledBack { tx: id });
            ground.chronicle.line(format_args!("transaction {}: is rolled back", id.0));
        }
    }

    fn release(&mut self, held: Vec<Key>) {
        for key in held {
            self.granted.extend(self.locks.release(&key));
        }
    }
}

/// A partition's number as the world has it.
fn number(partition: i32) -> Partition {
    Partition(u32::try_from(partition).unwrap_or(u32::MAX))
}
