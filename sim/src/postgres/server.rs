//! Knows the whole server: what it keeps, and what it does when something is due.

use std::collections::{BTreeMap, VecDeque};

use uuid::{Builder, Uuid};

use super::due::Due;
use super::lies::Lies;
use super::locks::Locks;
use super::refusal::Refusal;
use super::session::{Cause, Session, SessionId};
use super::tables::{Tables, Undo};
use super::wire::Wire;
use super::xids::Xids;
use crate::agenda::Agenda;
use crate::fact::TxId;
use crate::faults::mix;
use crate::ground::Ground;
use crate::life::Life;
use crate::plant::Sql;

/// How often a running statement looks whether its client is still there.
const CONNECTION_CHECK_MS: u64 = 1_000;

/// The server, its wires, and what is on its way.
#[derive(Default)]
pub(super) struct Server {
    pub(super) agenda: Agenda<Due>,
    pub(super) wires: BTreeMap<SessionId, Wire>,
    pub(super) sessions: BTreeMap<SessionId, Session>,
    pub(super) tables: Tables,
    pub(super) locks: Locks,
    /// Sessions that were given the lock for which they wait.
    pub(super) granted: VecDeque<SessionId>,
    /// The commits that stand and were told, in their order.
    pub(super) commits: Vec<Undo>,
    pub(super) txs: TxIds,
    pub(super) xids: Xids,
    pub(super) draws: Draws,
    pub(super) lies: Lies,
    /// What is wrong with the statements, in a world that is to show it.
    pub(super) defects: &'static [Sql],
    /// A failover takes so long that nobody can dial.
    pub(super) closed_until_ms: u64,
    sessions_so_far: u32,
}

/// Numbers transactions.
#[derive(Default)]
pub(super) struct TxIds(u64);

impl TxIds {
    pub(super) fn next(&mut self) -> TxId {
        self.0 += 1;
        TxId(self.0)
    }
}

/// What the server draws by chance, from the world's seed.
#[derive(Default)]
pub(super) struct Draws {
    seed: u64,
    count: u64,
}

impl Draws {
    fn next(&mut self) -> u64 {
        self.count += 1;
        mix(self.seed, self.count)
    }

    pub(super) fn uuid(&mut self) -> Uuid {
        let bits = u128::from(self.next()) << 64 | u128::from(self.next());
        Builder::from_random_bytes(bits.to_be_bytes()).into_uuid()
    }
}

impl Server {
    pub(super) fn new(seed: u64, defects: &'static [Sql]) -> Self {
        Self { draws: Draws { seed: mix(seed, 5_432), count: 0 }, defects, ..Self::default() }
    }

    /// A session that has not begun yet.
    pub(super) fn open(&mut self) -> (SessionId, &mut Session) {
        self.sessions_so_far += 1;
        let id = SessionId(self.sessions_so_far);
        let secret = i32::from_be_bytes(*self.draws.next().to_be_bytes().first_chunk().unwrap_or(&[0; 4]));
        (id, self.sessions.entry(id).or_insert(Session { secret, ..Session::default() }))
    }

    /// A client reaches the server, or does not: then it is told why.
    pub(super) fn dialed(&mut self, ground: &mut Ground, who: Life) -> Result<SessionId, &'static str> {
        if ground.now() < self.closed_until_ms {
            return Err("connection refused");
        }
        let reception = self.lies.reception(ground, who);
        if let Some((fault, None)) = reception.refusal {
            ground.chronicle.struck(fault, Some(who), format_args!("{who} gets no connection"));
            return Err("no connection is free");
        }
        let (id, session) = self.open();
        session.who = Some(who);
        session.is_standby = reception.is_standby;
        session.forced_statement_ms = reception.forced_statement_ms;
        session.turned_away = reception.refusal.and_then(|(fault, refusal)| Some((fault, refusal?)));
        self.wires.insert(id, Wire::new(who));
        Ok(id)
    }

    /// Lets everything happen that is due by now.
    pub(super) fn advance(&mut self, ground: &mut Ground) {
        while let Some(due) = self.agenda.take(ground.now()) {
            self.happen(ground, due);
            self.settle(ground);
        }
    }

    /// Lets whoever was given a lock go on.
    pub(super) fn settle(&mut self, ground: &mut Ground) {
        while let Some(id) = self.granted.pop_front() {
            self.go_on(ground, id);
        }
    }

    fn happen(&mut self, ground: &mut Ground, due: Due) {
        match due {
            Due::Arrive(id, chunk) => {
                let Some(session) = self.sessions.get_mut(&id) else { return };
                session.inbox.extend(chunk);
                if session.pause.is_none() {
                    self.forget_timer(id);
                    self.run(ground, id);
                }
            }
            Due::HangUp(id) => {
                let Some(session) = self.sessions.get_mut(&id) else { return };
                session.is_hung_up = true;
                if session.pause.is_none() {
                    self.end(ground, id);
                } else if session.settings.is_checking_connection {
                    self.agenda.at(ground.now() + CONNECTION_CHECK_MS, Due::Notice(id));
                }
            }
            Due::Deliver(id, delivery) => self.deliver(id, delivery),
            Due::Cut(id) => self.cut(id),
            Due::GiveUp(id, refusal) => self.give_up(ground, id, refusal),
            Due::Idle(id) => {
                let refusal =
                    Refusal::fatal("25P03", "terminating connection due to idle-in-transaction timeout");
                self.die(ground, id, refusal);
            }
            Due::Notice(id) => {
                if self.waits_for_row(id) {
                    self.end(ground, id);
                }
            }
            Due::Land(id) => {
                let pause = self.sessions.get_mut(&id).and_then(|session| session.pause.as_mut());
                if let Some(pause) = pause {
                    pause.cause = Cause::Landed;
                    self.go_on(ground, id);
                }
            }
            Due::LetGo(id) => self.let_go(ground, id),
            Due::FailOver { keep } => self.fail_over(ground, keep),
        }
    }

    pub(super) fn waits_for_row(&self, id: SessionId) -> bool {
        let pause = self.sessions.get(&id).and_then(|session| session.pause.as_ref());
        pause.is_some_and(|pause| matches!(pause.cause, Cause::Row(_)))
    }

    pub(super) fn forget_timer(&mut self, id: SessionId) {
        let timer = self.sessions.get_mut(&id).and_then(|session| session.timer.take());
        if let Some(appointment) = timer {
            self.agenda.forget(appointment);
        }
    }
}
