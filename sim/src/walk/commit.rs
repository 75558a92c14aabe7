//! Knows what a transaction does between its lock and its end: what its client decides, whether COMMIT takes effect, and
//! what is heard of it.

use amends_core::ids::{ClaimId, Frontier, Offset, Token};
use amends_core::lifecycle::event::{Event, Failure, ProcessFailure};

use super::operation::{Client, Operation, Server, Work};
use super::store::{Next, Store};
use crate::fact::{Commit, Fact, Op, Row};
use crate::faults::{Fault, Place};
use crate::ground::Ground;
use crate::pace::{Actor, Wait};
use crate::plant::Sql;

impl Store {
    /// The client has read what stands in the row, and decides.
    pub(super) fn read(&mut self, ground: &mut Ground, id: u64, operation: &mut Operation) {
        let (Some(ghost), Some(tenure)) = (operation.ghost, operation.tenure()) else { return };
        ground.chronicle.tell(&Fact::LockAnswered { tx: operation.tx });
        let row = ground.chronicle.truth.row(operation.partition);
        let place = Place::of(ghost.who, operation.partition.0);
        let answer = match &operation.work {
            Work::Observe | Work::Hold => {
                Some(Event::Observed { tenure, token: row.token, frontier: row.frontier })
            }
            Work::Process { token, .. }
                if row.token != Some(*token) && !self.defects.contains(&Sql::ComparesNoToken) =>
            {
                Some(Event::Fenced { tenure, by: row.token })
            }
            Work::Process { expected, .. }
                if row.frontier != Some(*expected) && !self.defects.contains(&Sql::ComparesNoFrontier) =>
            {
                Some(Event::Moved { tenure, frontier: row.frontier })
            }
            Work::Process { offsets, .. } => {
                let strike = ground.faults.strike(Fault::DecisionTooLarge, place);
                let fit = strike.and_then(|strike| u32::try_from(strike.severity).ok());
                fit.filter(|fit| (*fit as usize) < offsets.len()).map(|fit| {
                    let why = format_args!("{} {tenure}: {fit} fit", ghost.who);
                    ground.chronicle.struck(Fault::DecisionTooLarge, Some(ghost.who), why);
                    Event::ProcessFailed { tenure, failure: ProcessFailure::TooLarge { fit } }
                })
            }
            Work::Claim => None,
        };
        if let Some(answer) = answer {
            self.over(ground, id, operation);
            let wait = ground.pace.wait(Wait::Wire, Actor::Worker(ghost.who.worker));
            self.agenda.at(ground.now() + wait, (id, Next::Reply(answer)));
            return;
        }
        for fault in [Fault::ConnectionDropped, Fault::DiskFull] {
            let before_commit = if fault == Fault::DiskFull { 0 } else { 2 };
            if ground.faults.strike_as(fault, place, |form| form == before_commit).is_some() {
                ground.chronicle.struck(
                    fault,
                    Some(ghost.who),
                    format_args!("{} {tenure} before COMMIT", ghost.who),
                );
                self.end(ground, id, operation, Some(Failure::Again("the connection was closed".to_owned())));
                return;
            }
        }
        operation.client = Client::Committing;
        operation.server = Server::Committing;
        if !self.defects.contains(&Sql::BeginsNothing) {
            ground.chronicle.tell(&Fact::CommitSent { tx: operation.tx });
        }
        let wait = ground.pace.wait(Wait::Wire, Actor::Worker(ghost.who.worker));
        self.agenda.at(ground.now() + wait, (id, Next::Commit));
    }

    /// COMMIT is at the server: what becomes of it, and what is heard of that.
    pub(super) fn commit(&mut self, ground: &mut Ground, id: u64, operation: &mut Operation) {
        let (Some(ghost), Some(tenure)) = (operation.ghost, operation.tenure()) else { return };
        let (now, who) = (ground.now(), ghost.who);
        let place = Place::of(who, operation.partition.0);
        let is_claim = ghost.op == Op::Claim;
        let strike = |ground: &mut Ground, fault: Fault| {
            let strike = ground.faults.strike(fault, place)?;
            ground.chronicle.struck(fault, Some(who), format_args!("{who} {tenure}"));
            Some(strike)
        };
        if operation.client == Client::Committing {
            for (fault, code) in [(Fault::TransactionAborted, "40001"), (Fault::DiskFull, "53100")] {
                if strike(ground, fault).is_some() {
                    return self.end(ground, id, operation, Some(Failure::Again(code.to_owned())));
                }
            }
            if !is_claim && let Some(late) = strike(ground, Fault::CommitLate) {
                let lost = operation.given_up(tenure, "the connection was cut");
                self.agenda.at(now + late.severity, (id, Next::Commit));
                return self.tell(operation, lost);
            }
            let (lost, fault) = match is_claim {
                true => (strike(ground, Fault::ClaimReplyLost), Fault::ClaimReplyLost),
                false => match strike(ground, Fault::CommitReplyLost) {
                    Some(lost) => (Some(lost), Fault::CommitReplyLost),
                    None => (strike(ground, Fault::CommitLost), Fault::CommitLost),
                },
            };
            if let Some(lost) = lost {
                let is_kept = match fault {
                    Fault::ClaimReplyLost => lost.variant == 0,
                    _ => fault == Fault::CommitReplyLost,
                };
                let unknown = operation.given_up(tenure, "the connection was cut");
                if is_kept {
                    self.apply(ground, operation);
                } else {
                    ground.chronicle.tell(&Fact::RolledBack { tx: operation.tx });
                }
                self.over(ground, id, operation);
                self.agenda.at(now + lost.severity.max(1), (id, Next::Reply(unknown)));
                return;
            }
        }
        let row = self.apply(ground, operation);
        self.over(ground, id, operation);
        if operation.client != Client::Committing {
            return;
        }
        let answer = match (strike(ground, Fault::StandbyWarned), &operation.work, row.token, row.frontier) {
            (None, Work::Claim, Some(token), Some(frontier)) => Event::Claimed { tenure, token, frontier },
            (None, ..) => Event::Committed { tenure },
            (Some(_), ..) => operation.given_up(tenure, "a warning came before COMMIT's answer"),
        };
        let wait = ground.pace.wait(Wait::Wire, Actor::Worker(who.worker));
        self.agenda.at(now + wait, (id, Next::Reply(answer)));
    }

    /// The transaction's effect, at its commit point.
    pub(super) fn apply(&mut self, ground: &mut Ground, operation: &Operation) -> Row {
        let before = ground.chronicle.truth.row(operation.partition);
        let (after, carried, expected, decided) = match &operation.work {
            Work::Claim => (self.claimed(before), None, None, Vec::new()),
            Work::Process { token, expected, range, offsets } => {
                let (mut next, mut decided) = (range.last.frontier_after(), offsets.clone());
                for defect in &self.defects {
                    match defect {
                        Sql::StopsOneShort => next = Frontier(range.last.0),
                        Sql::SkipsTheLast => drop(decided.pop()),
                        Sql::KeepsTheFrontier => next = *expected,
                        Sql::DecidesNothing => decided.clear(),
                        Sql::MovesBehindTheTail => {
                            next = Frontier(ground.chronicle.truth.log(operation.partition).end().0);
                        }
                        Sql::DecidesTheGap => {
                            decided = (expected.0..=range.last.0).map(Offset).collect();
                        }
                        _ => {}
                    }
                }
                let after = Row { token: before.token, frontier: Some(next) };
                (after, Some(*token), Some(*expected), decided)
            }
            Work::Observe | Work::Hold => return before,
        };
        let Operation { tx, ghost, partition, .. } = *operation;
        let commit = Commit { tx, ghost, partition, before, after, carried, expected, decided, rows: None };
        ground.chronicle.tell(&Fact::Committed(&commit));
        after
    }

    fn claimed(&mut self, before: Row) -> Row {
        self.claims += 1;
        // A failover may have forgotten epochs: the row counts, not what was once given.
        let raised = i64::from(!self.defects.contains(&Sql::RaisesNoEpoch));
        let epoch = (before.token.map_or(0, |token| token.epoch) + raised).max(1);
        let kept = before.token.filter(|_| self.defects.contains(&Sql::DrawsNoClaimId));
        let claim_id = kept.map_or(ClaimId(self.claims), |token| token.claim_id);
        Row { token: Some(Token { epoch, claim_id }), frontier: before.frontier.or(Some(Frontier(0))) }
    }
}
