//! Knows what becomes of each operation of the store: whether it gets the row, whether it commits, whether anybody hears.

use std::collections::BTreeSet;
use std::mem;

use amends_core::ids::{Partition, TenureId};
use amends_core::lifecycle::command::Command;
use amends_core::lifecycle::event::{Event, Failure, ProcessFailure};

use super::locks::Locks;
use super::operation::{Client, Operation, Server, Work};
use crate::agenda::Agenda;
use crate::fact::{Fact, Ghost, Op, TxId};
use crate::faults::{Fault, Place};
use crate::few::Few;
use crate::ground::Ground;
use crate::life::Life;
use crate::pace::{Actor, Wait};
use crate::plant::Sql;
use crate::world::{Happening, World};

/// The waits of a worker's transaction, as the store sets them.
const ATTEMPT_MS: u64 = 6_000;
const LOCK_MS: u64 = 4_000;
const IDLE_MS: u64 = 2_000;
/// How long a cancel request and its effect are waited for.
const CANCEL_MS: u64 = 1_500;

/// PostgreSQL as tier A sees it.
#[derive(Default)]
pub(super) struct Store {
    pub(super) operations: Few<u64, Box<Operation>>,
    pub(super) locks: Locks,
    pub(super) agenda: Agenda<(u64, Next)>,
    began: u64,
    pub(super) claims: u128,
    /// No session can be opened before.
    pub(super) refuses_until: u64,
    answers: Vec<(Life, Event)>,
    /// What is due for clients that stand still.
    held: Vec<(u64, Next)>,
    /// What is wrong with the store, in a world that is to show it.
    pub(super) defects: BTreeSet<Sql>,
}

/// The next step of an operation.
#[derive(Clone, Debug)]
pub(super) enum Next {
    /// BEGIN and the lock reach the server.
    Arrive,
    /// The lock was waited for long enough.
    LockTimeout,
    /// The client reads the answer of its lock.
    Read,
    /// The server ends a transaction whose client says nothing.
    Idle,
    /// COMMIT reaches the server, or lands at last.
    Commit,
    /// The client hears.
    Reply(Event),
    /// The client has waited long enough.
    Deadline,
    /// The client has waited long enough for what a cancel request did.
    Cancelled,
    /// The server notices that the client is gone.
    Dropped,
    /// A foreign session lets go.
    LetGo,
}

impl Store {
    /// When something happens next.
    pub(super) fn next_due(&self) -> Option<u64> {
        self.agenda.next_due()
    }

    /// Lets everything happen that is due.
    pub(super) fn advance(&mut self, ground: &mut Ground, world: &mut World, out: &mut Vec<Happening>) {
        while let Some((id, next)) = self.agenda.take(ground.now()) {
            if let Some(mut operation) = self.operations.remove(&id) {
                self.step(ground, world, id, &mut operation, next);
                if operation.server != Server::Over || operation.client != Client::Answered {
                    self.operations.insert(id, operation);
                } else if !world.is_told() {
                    // What is still due for it does nothing. A story looks at the world also then.
                    self.agenda.retain(|(other, _)| *other != id);
                }
            }
        }
        if !self.answers.is_empty() {
            self.answers.drain(..).for_each(|(who, event)| world.answer(who, event, out));
        }
    }

    /// Starts an operation, or cancels one.
    pub(super) fn perform(&mut self, ground: &mut Ground, who: Life, command: &Command) {
        let (tenure, within_ms, op, work) = match command {
            Command::Claim { tenure, within_ms } => (*tenure, *within_ms, Op::Claim, Work::Claim),
            Command::Observe { tenure, within_ms, .. } => (*tenure, *within_ms, Op::Observe, Work::Observe),
            Command::Process { tenure, token, expected, range, within_ms, .. } => {
                let tenancy = ground.chronicle.truth.tenancy(who, *tenure);
                let offsets = tenancy.and_then(|tenancy| tenancy.named(*range)).unwrap_or_default().to_vec();
                let work = Work::Process { token: *token, expected: *expected, range: *range, offsets };
                (*tenure, *within_ms, Op::Process, work)
            }
            Command::Cancel { tenure } => return self.cancel(ground, who, *tenure),
            _ => return,
        };
        let generation = ground.chronicle.truth.tenancy(who, tenure).map(|tenancy| tenancy.generation);
        let Some(generation) = generation else { return };
        let ghost = Ghost { who, tenure, generation, op };
        let id = self.begin(Some(ghost), tenure.partition, work, within_ms);
        let now = ground.now();
        self.agenda.at(now + ATTEMPT_MS.min(within_ms), (id, Next::Deadline));
        let place = Place::of(who, tenure.partition.0);
        let mut wait = ground.pace.wait(Wait::Wire, Actor::Worker(who.worker));
        if let Some(failure) = self.refuse(ground, who, place, op) {
            if let Some(operation) = self.operations.get(&id) {
                let event = operation.failed(tenure, failure);
                self.agenda.at(now + wait, (id, Next::Reply(event)));
            }
            return;
        }
        let late = if op == Op::Claim { Fault::OrphanClaim } else { Fault::BytesDelayed };
        if op != Op::Observe
            && let Some(strike) = ground.faults.strike(late, place)
        {
            wait += strike.severity;
            ground.chronicle.struck(late, Some(who), format_args!("{who} {tenure} by {}ms", strike.severity));
        }
        self.agenda.at(now + wait, (id, Next::Arrive));
    }

    pub(super) fn begin(
        &mut self,
        ghost: Option<Ghost>,
        partition: Partition,
        work: Work,
        within_ms: u64,
    ) -> u64 {
        self.began += 1;
        let operation = Operation {
            tx: TxId(self.began),
            ghost,
            partition,
            work,
            is_cancelled: false,
            server: Server::Idle,
            client: if ghost.is_some() { Client::Reaching } else { Client::Answered },
            within_ms,
        };
        self.operations.insert(self.began, Box::new(operation));
        self.began
    }

    /// Why no lock is even asked for.
    fn refuse(&self, ground: &mut Ground, who: Life, at: Place, op: Op) -> Option<Failure> {
        if ground.now() < self.refuses_until {
            return Some(Failure::Unreached("connection refused".to_owned()));
        }
        let unreached =
            [(Fault::OnStandby, "the server is read-only"), (Fault::SessionRefused, "no connection left")];
        for (fault, why) in unreached {
            if ground.faults.strike(fault, at).is_some() {
                ground.chronicle.struck(fault, Some(who), format_args!("{who} {why}"));
                return Some(Failure::Unreached(why.to_owned()));
            }
        }
        let observe = (op == Op::Observe).then_some(Fault::ObserveFails);
        for fault in [Some(Fault::ConnectionDropped), observe].into_iter().flatten() {
            if ground.faults.strike_as(fault, at, |form| form <= 1).is_some() {
                ground.chronicle.struck(fault, Some(who), format_args!("{who} before the lock"));
                return Some(Failure::Again("the connection was closed".to_owned()));
            }
        }
        None
    }

    fn cancel(&mut self, ground: &mut Ground, who: Life, tenure: TenureId) {
        let is_it = |operation: &Operation| {
            operation.client != Client::Answered
                && operation.ghost.is_some_and(|ghost| ghost.who == who && ghost.tenure == tenure)
        };
        let Some((id, operation)) = self.operations.iter_mut().find(|(_, operation)| is_it(operation)) else {
            return;
        };
        // Nothing more is sent for it. What was sent is cancelled at the server, or answered first.
        operation.is_cancelled = true;
        let wait = match operation.client {
            Client::Committing => CANCEL_MS,
            _ => ground.pace.wait(Wait::Wire, Actor::Worker(who.worker)),
        };
        self.agenda.at(ground.now() + wait, (*id, Next::Cancelled));
    }

    fn step(&mut self, ground: &mut Ground, world: &World, id: u64, operation: &mut Operation, next: Next) {
        let now = ground.now();
        // A process that stands still reads nothing and gives nothing up.
        let is_client = matches!(next, Next::Read | Next::Reply(_) | Next::Deadline | Next::Cancelled);
        if is_client && operation.ghost.is_some_and(|ghost| world.processes().is_frozen(ghost.who)) {
            self.held.push((id, next));
            return;
        }
        match next {
            Next::Arrive => {
                if operation.client == Client::Answered || operation.is_cancelled {
                    operation.server = Server::Over;
                    return;
                }
                operation.client = Client::Working;
                operation.server = Server::Waiting;
                if self.defects.contains(&Sql::CommitsBeforeTheLock) {
                    ground.chronicle.tell(&Fact::CommitSent { tx: operation.tx });
                }
                if self.locks.ask(operation.partition, id) || self.defects.contains(&Sql::LocksNothing) {
                    self.lock(ground, id, operation);
                } else {
                    let limit = self.limit(ground, operation);
                    self.agenda.at(now + limit, (id, Next::LockTimeout));
                }
            }
            Next::LockTimeout if operation.server == Server::Waiting => {
                self.end(ground, id, operation, Some(Failure::Again("55P03".to_owned())));
            }
            Next::Read if operation.is_cancelled => {}
            Next::Read if operation.server == Server::Locked && operation.client == Client::Working => {
                self.read(ground, id, operation);
            }
            Next::Read if operation.client == Client::Working => {
                self.give_up(operation, "25P03");
            }
            Next::Idle if operation.server == Server::Locked && operation.client == Client::Working => {
                self.end(ground, id, operation, None);
            }
            Next::Commit if operation.server == Server::Committing => self.commit(ground, id, operation),
            Next::Reply(event) if operation.client != Client::Answered => {
                self.tell(operation, event);
                if operation.is_open() && operation.server != Server::Committing {
                    let wait = ground.pace.wait(Wait::Wire, Actor::Postgres);
                    self.agenda.at(now + wait, (id, Next::Dropped));
                } else if operation.server == Server::Idle {
                    operation.server = Server::Over;
                }
            }
            Next::Deadline if operation.client != Client::Answered => {
                self.give_up(operation, "no answer in time");
                let wait = ground.pace.wait(Wait::Wire, Actor::Postgres);
                self.agenda.at(now + wait, (id, Next::Dropped));
            }
            Next::Cancelled if operation.client != Client::Answered => {
                self.give_up(operation, "its tenure ended");
                let wait = ground.pace.wait(Wait::Wire, Actor::Postgres);
                self.agenda.at(now + wait, (id, Next::Dropped));
            }
            Next::Dropped if matches!(operation.server, Server::Waiting | Server::Locked) => {
                self.end(ground, id, operation, None);
            }
            Next::Dropped if operation.server == Server::Idle => operation.server = Server::Over,
            Next::LetGo => self.end(ground, id, operation, None),
            _ => {}
        }
    }

    /// How long the row is waited for: the server may have a limit of its own.
    fn limit(&self, ground: &mut Ground, operation: &Operation) -> u64 {
        let limit = LOCK_MS.min(operation.within_ms).max(1);
        let Some(ghost) = operation.ghost else { return limit };
        let place = Place::of(ghost.who, operation.partition.0);
        match ground.faults.strike(Fault::StatementLimit, place) {
            Some(strike) if strike.severity < limit => {
                let what = format_args!("{} {} waits {}ms at most", ghost.who, ghost.tenure, strike.severity);
                ground.chronicle.struck(Fault::StatementLimit, Some(ghost.who), what);
                strike.severity
            }
            _ => limit,
        }
    }

    /// The row is this operation's.
    pub(super) fn lock(&mut self, ground: &mut Ground, id: u64, operation: &mut Operation) {
        operation.server = Server::Locked;
        let Operation { tx, ghost, partition, .. } = *operation;
        ground.chronicle.tell(&Fact::Locked { tx, ghost, partition });
        if matches!(operation.work, Work::Hold) {
            return;
        }
        let wait = ground.pace.wait(Wait::Store, Actor::Postgres);
        self.agenda.at(ground.now() + wait, (id, Next::Read));
        self.agenda.at(ground.now() + IDLE_MS + wait, (id, Next::Idle));
    }

    /// The transaction ends without effect; `failure` is what its client hears, when it hears.
    pub(super) fn end(
        &mut self,
        ground: &mut Ground,
        id: u64,
        operation: &mut Operation,
        failure: Option<Failure>,
    ) {
        if operation.is_open() && !matches!(operation.work, Work::Hold) {
            ground.chronicle.tell(&Fact::RolledBack { tx: operation.tx });
        }
        self.over(ground, id, operation);
        if let (Some(failure), Some(tenure)) = (failure, operation.tenure()) {
            let event = operation.failed(tenure, failure);
            let wait = ground.pace.wait(Wait::Wire, Actor::Postgres);
            self.agenda.at(ground.now() + wait, (id, Next::Reply(event)));
        }
    }

    /// The transaction is over: whoever waits for its row gets it.
    pub(super) fn over(&mut self, ground: &mut Ground, id: u64, operation: &mut Operation) {
        operation.server = Server::Over;
        let Some(next) = self.locks.give_back(operation.partition, id) else { return };
        if let Some(mut waiting) = self.operations.remove(&next) {
            self.lock(ground, next, &mut waiting);
            self.operations.insert(next, waiting);
        }
    }

    /// The client gives the operation up.
    fn give_up(&mut self, operation: &mut Operation, why: &str) {
        if let Some(tenure) = operation.tenure() {
            let event = operation.given_up(tenure, why);
            self.tell(operation, event);
        }
    }

    pub(super) fn tell(&mut self, operation: &mut Operation, event: Event) {
        operation.client = Client::Answered;
        let event = match event {
            Event::CommitUnknown { tenure, .. } if self.defects.contains(&Sql::BelievesInSuccess) => {
                Event::Committed { tenure }
            }
            Event::CommitUnknown { tenure, why } if self.defects.contains(&Sql::BelievesInFailure) => {
                operation.failed(tenure, Failure::Again(why))
            }
            Event::ProcessFailed { tenure, failure: ProcessFailure::Attempt(Failure::Again(why)) }
                if self.defects.contains(&Sql::RefusesWhatFailed) =>
            {
                Event::ProcessFailed { tenure, failure: ProcessFailure::Refused(why) }
            }
            event => event,
        };
        if let Some(ghost) = operation.ghost {
            self.answers.push((ghost.who, event));
        }
    }

    /// A process goes on: its clients read what came, and give up what has taken too long.
    pub(super) fn thaw(&mut self, ground: &Ground, who: Life) {
        let of = |operation: &Operation| operation.ghost.is_some_and(|ghost| ghost.who == who);
        for (id, next) in mem::take(&mut self.held) {
            if self.operations.get(&id).is_some_and(|operation| of(operation)) {
                self.agenda.at(ground.now(), (id, next));
            } else {
                self.held.push((id, next));
            }
        }
    }

    /// A process is gone: nobody hears its answers, and its sessions end. What was committing may land.
    pub(super) fn kill(&mut self, ground: &mut Ground, who: Life) {
        let now = ground.now();
        let of = |operation: &Operation| operation.ghost.is_some_and(|ghost| ghost.who == who);
        for (id, operation) in self.operations.iter_mut().filter(|(_, operation)| of(operation)) {
            operation.client = Client::Answered;
            let place = Place::of(who, operation.partition.0);
            let mut wait = ground.pace.wait(Wait::Wire, Actor::Postgres);
            if operation.server == Server::Committing
                && let Some(strike) = ground.faults.strike(Fault::OrphanCommits, place)
            {
                wait += strike.severity;
                let why = format_args!("{who} by {}ms after its end", strike.severity);
                ground.chronicle.struck(Fault::OrphanCommits, Some(who), why);
            }
            self.agenda.at(now + wait, (*id, Next::Dropped));
        }
    }
}
