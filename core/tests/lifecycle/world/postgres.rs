//! The rows of the partitions, as PostgreSQL keeps them: a lock, a list of commits, replies that come late or not.

use std::collections::BTreeMap;

use amends_core::ids::{ClaimId, Frontier, TenureId, Token};
use amends_core::lifecycle::command::Range;
use amends_core::lifecycle::event::{Event, Failure, ProcessFailure};

use super::dice::Dice;

/// What one commit left in the row.
#[derive(Clone, Copy)]
pub struct Left {
    pub token: Option<Token>,
    pub frontier: Option<i64>,
}

/// One partition's row: its surviving commits.
#[derive(Default)]
pub struct Row {
    commits: Vec<Left>,
    lock: Option<u64>,
    locks: u64,
    /// How often commits were forgotten.
    pub failovers: u32,
}

/// One operation in flight.
pub struct Op {
    tenure: TenureId,
    kind: Kind,
    stage: Stage,
    since: u64,
    deadline: u64,
    is_cancelled: bool,
    /// Its reply was given before it ended.
    is_orphan: bool,
    /// The number of its row lock, once it got it.
    lock: Option<u64>,
}

#[derive(Clone)]
pub enum Kind {
    Claim,
    Observe,
    Process { token: Token, expected: i64, range: Range, offsets: Vec<i64>, is_refused: bool },
}

enum Stage {
    Waiting,
    Locked,
    Replying(Event),
}

#[derive(Default)]
pub struct Postgres {
    pub rows: Vec<Row>,
    ops: BTreeMap<u64, Op>,
    claims: u128,
    /// Offsets whose data is refused, in each partition.
    pub poison: Vec<i64>,
    /// At most so many records are one decision.
    pub most: usize,
}

/// What a step of an operation did.
pub struct Stepped {
    /// Its reply, with the number of the row lock that it got.
    pub reply: Option<(Event, Option<u64>)>,
    /// When it goes on; `None` when it is over.
    pub again_in: Option<u64>,
}

impl Row {
    pub fn left(&self) -> Left {
        self.commits.last().copied().unwrap_or(Left { token: None, frontier: None })
    }
}

impl Postgres {
    pub fn new(partitions: usize) -> Self {
        let rows = (0..partitions).map(|_| Row::default()).collect();
        Self { rows, most: usize::MAX, ..Self::default() }
    }

    pub fn row(&self, tenure: TenureId) -> &Row {
        &self.rows[tenure.partition.0 as usize]
    }

    pub fn begin(&mut self, id: u64, now: u64, tenure: TenureId, kind: Kind, within_ms: u64) {
        let deadline = now + within_ms.min(6_000);
        let op = Op {
            tenure,
            kind,
            stage: Stage::Waiting,
            since: now,
            deadline,
            is_cancelled: false,
            is_orphan: false,
            lock: None,
        };
        self.ops.insert(id, op);
    }

    /// The statement to end; `None` when the request does not reach it.
    pub fn cancel(&mut self, tenure: TenureId, dice: &mut Dice) -> Option<u64> {
        if dice.fault(dice.rates.hang * 10) {
            return None;
        }
        let found = self.ops.iter_mut().find(|(_, op)| op.tenure == tenure && !op.is_orphan);
        found.map(|(id, op)| {
            op.is_cancelled = true;
            *id
        })
    }

    fn draw_token(&mut self, partition: usize) -> Token {
        // A failover may have forgotten epochs: the row counts, not what was once given.
        let epoch = self.rows[partition].left().token.map_or(0, |token| token.epoch) + 1;
        self.claims += 1;
        Token { epoch, claim_id: ClaimId(self.claims) }
    }

    /// One step of an operation: it gets the lock, it ends, it replies.
    pub fn step(&mut self, id: u64, now: u64, dice: &mut Dice) -> Stepped {
        let Some(op) = self.ops.get_mut(&id) else { return Stepped { reply: None, again_in: None } };
        let done = |event, lock| Stepped { reply: Some((event, lock)), again_in: None };
        let partition = op.tenure.partition.0 as usize;
        let is_cut = op.is_cancelled || now >= op.deadline;
        let goes_on = if dice.fault(dice.rates.hang) { dice.below(25_000) } else { dice.latency() };
        match std::mem::replace(&mut op.stage, Stage::Locked) {
            Stage::Replying(event) => {
                let lock = op.lock;
                self.ops.remove(&id);
                done(event, lock)
            }
            Stage::Waiting => {
                if is_cut || now - op.since > 4_000 || dice.fault(dice.rates.fail) {
                    let failure = match dice.below(60) {
                        0 if dice.is_wild && dice.chance(50) => Failure::Broken("no permission".to_owned()),
                        0..20 if !is_cut => Failure::Unreached("connection refused".to_owned()),
                        _ => Failure::Again("57014".to_owned()),
                    };
                    let event = failed(op, failure);
                    self.ops.remove(&id);
                    return done(event, None);
                }
                let row = &mut self.rows[partition];
                if row.lock.is_some() {
                    op.stage = Stage::Waiting;
                    return Stepped { reply: None, again_in: Some(1 + dice.below(50)) };
                }
                row.locks += 1;
                op.lock = Some(row.locks);
                if let Some(refusal) = refuse(op, row.left(), &self.poison, self.most) {
                    op.stage = Stage::Replying(refusal);
                } else {
                    row.lock = Some(id);
                }
                Stepped { reply: None, again_in: Some(goes_on) }
            }
            Stage::Locked => self.end(id, dice, is_cut),
        }
    }

    /// The lock is held: commits or not, and replies or not.
    fn end(&mut self, id: u64, dice: &mut Dice, is_cut: bool) -> Stepped {
        let op = &self.ops[&id];
        let (tenure, partition, kind) = (op.tenure, op.tenure.partition.0 as usize, op.kind.clone());
        let is_lost = !op.is_orphan && (dice.fault(dice.rates.lost) || (is_cut && dice.chance(500)));
        if is_lost && !matches!(kind, Kind::Observe) && dice.chance(400) {
            // The reply is lost, and the statement still runs: whoever locks the row waits for it.
            let op = self.ops.get_mut(&id).expect("in flight");
            op.is_orphan = true;
            let reply = (unknown(op), op.lock);
            return Stepped { reply: Some(reply), again_in: Some(1 + dice.below(3_000)) };
        }
        let commits = !(dice.fault(dice.rates.lost) || (is_cut && dice.chance(500)));
        let left = self.rows[partition].left();
        let reply = match &kind {
            Kind::Observe if is_lost || !commits => failed(op, Failure::Again("no answer".to_owned())),
            Kind::Observe => {
                Event::Observed { tenure, token: left.token, frontier: left.frontier.map(Frontier) }
            }
            Kind::Claim | Kind::Process { .. } if !commits => failed(op, Failure::Again("40001".to_owned())),
            Kind::Claim => {
                let token = self.draw_token(partition);
                let frontier = left.frontier.unwrap_or(0);
                self.rows[partition].commits.push(Left { token: Some(token), frontier: Some(frontier) });
                Event::Claimed { tenure, token, frontier: Frontier(frontier) }
            }
            Kind::Process { range, .. } => {
                let frontier = Some(range.last.0 + 1);
                self.rows[partition].commits.push(Left { token: left.token, frontier });
                Event::Committed { tenure }
            }
        };
        self.rows[partition].lock = None;
        if self.ops[&id].is_orphan {
            self.ops.remove(&id);
            return Stepped { reply: None, again_in: None };
        }
        let op = self.ops.get_mut(&id).expect("in flight");
        let is_lost = is_lost && !matches!(kind, Kind::Observe);
        op.stage = Stage::Replying(if is_lost { unknown(op) } else { reply });
        Stepped { reply: None, again_in: Some(dice.latency()) }
    }

    /// Another member claims the row, and decides what lies at its frontier.
    pub fn claim_by_another(&mut self, partition: usize, next: Option<i64>) {
        if self.rows[partition].lock.is_some() {
            return;
        }
        let token = Some(self.draw_token(partition));
        let row = &mut self.rows[partition];
        let frontier = row.left().frontier.unwrap_or(0);
        row.commits.push(Left { token, frontier: Some(frontier) });
        if let Some(next) = next {
            row.commits.push(Left { token, frontier: Some(next + 1) });
        }
    }

    /// The last commits are forgotten.
    pub fn fail_over(&mut self, partition: usize, lost: usize) {
        let row = &mut self.rows[partition];
        if row.lock.is_none() && !row.commits.is_empty() {
            row.commits.truncate(row.commits.len().saturating_sub(lost));
            row.failovers += 1;
        }
    }
}

/// What the row, once locked, says against a decision.
fn refuse(op: &Op, left: Left, poison: &[i64], most: usize) -> Option<Event> {
    let tenure = op.tenure;
    let Kind::Process { token, expected, offsets, is_refused, .. } = &op.kind else { return None };
    if left.token != Some(*token) {
        return Some(Event::Fenced { tenure, by: left.token });
    }
    if left.frontier != Some(*expected) {
        return Some(Event::Moved { tenure, frontier: left.frontier.map(Frontier) });
    }
    if offsets.len() > most {
        let fit = u32::try_from(most).expect("small");
        return Some(Event::ProcessFailed { tenure, failure: ProcessFailure::TooLarge { fit } });
    }
    let is_poisoned = !is_refused && offsets.iter().any(|offset| poison.contains(offset));
    let failure = || ProcessFailure::Refused("22021".to_owned());
    is_poisoned.then(|| Event::ProcessFailed { tenure, failure: failure() })
}

fn failed(op: &Op, failure: Failure) -> Event {
    let tenure = op.tenure;
    match op.kind {
        Kind::Claim => Event::ClaimFailed { tenure, failure },
        Kind::Observe => Event::ObserveFailed { tenure, failure },
        Kind::Process { .. } => Event::ProcessFailed { tenure, failure: ProcessFailure::Attempt(failure) },
    }
}

fn unknown(op: &Op) -> Event {
    let (tenure, why) = (op.tenure, "the connection was cut".to_owned());
    match op.kind {
        Kind::Claim => Event::ClaimUnknown { tenure, why },
        Kind::Observe => Event::ObserveFailed { tenure, failure: Failure::Again(why) },
        Kind::Process { .. } => Event::CommitUnknown { tenure, why },
    }
}
