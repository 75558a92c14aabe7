//! Knows how a session works through what its client sends: in order, one statement at a time, errors up to the next
//! Sync.

use super::due::Due;
use super::frontend::Message;
use super::lies::Lie;
use super::refusal::{Halt, Refusal};
use super::server::Server;
use super::session::{Cause, Pause, SessionId};
use super::statement::Statement;
use super::talk::Sent;
use super::value::Params;
use super::wire::Delivery;
use super::work::Outcome;
use crate::faults::Fault;
use crate::ground::Ground;

impl Server {
    /// Works until the client has nothing more to say, or until something has to be waited for.
    pub(super) fn run(&mut self, ground: &mut Ground, id: SessionId) {
        while let Some(sent) = self.next_message(id) {
            self.handle(ground, id, sent);
        }
        self.flush(ground, id);
        let Some(session) = self.sessions.get_mut(&id).filter(|session| session.pause.is_none()) else {
            return;
        };
        let idle_ms = session.settings.idle_in_transaction_ms;
        if session.is_hung_up {
            self.end(ground, id);
        } else if session.is_in_block() && idle_ms > 0 {
            session.timer = Some(self.agenda.at(ground.now() + idle_ms, Due::Idle(id)));
        }
    }

    fn next_message(&mut self, id: SessionId) -> Option<Sent> {
        self.sessions.get_mut(&id).filter(|session| session.pause.is_none())?.inbox.pop_front()
    }

    /// Goes on with what was waited for.
    pub(super) fn go_on(&mut self, ground: &mut Ground, id: SessionId) {
        self.forget_timer(id);
        let Some(session) = self.sessions.get_mut(&id) else { return };
        if session.hand.is_some() {
            self.hold(ground, id);
        } else if let Some(Pause { sent, cause }) = session.pause.take() {
            self.carry_out(ground, id, sent, matches!(cause, Cause::Landed));
            self.run(ground, id);
        }
    }

    fn handle(&mut self, ground: &mut Ground, id: SessionId, sent: Sent) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        if session.is_skipping && !matches!(sent.message, Message::Sync | Message::Terminate) {
            return;
        }
        match sent.message {
            Message::Query(_) | Message::Execute => self.carry_out(ground, id, sent, false),
            Message::Startup => self.start(ground, id),
            Message::Cancel { process, secret } => {
                self.end(ground, id);
                self.cancel(ground, process, secret);
            }
            Message::Terminate => self.end(ground, id),
            Message::Sync => {
                session.is_skipping = false;
                self.end_statement(ground, id);
            }
            Message::Parse { statement, types } => {
                let expected = statement.parameters().iter().map(|ty| ty.oid());
                assert!(expected.eq(types.iter().copied()), "{statement:?} comes with the types {types:?}");
                if session.is_failed() && !statement.ends_a_transaction() {
                    self.fail(ground, id, None, ABORTED_BEFORE);
                } else {
                    session.parsed = Some(statement);
                    session.answers.parsed();
                }
            }
            Message::Bind(parameters) => {
                let types = session.parsed.map_or(&[][..], Statement::parameters);
                if let Err(refusal) = Params(&parameters).check_texts(types) {
                    self.fail(ground, id, None, refusal);
                } else {
                    session.bound = parameters;
                    session.answers.bound();
                }
            }
            Message::Describe => {
                if let Some(statement) = session.parsed {
                    session.answers.described(statement.parameters(), statement.columns());
                }
            }
        }
    }

    fn start(&mut self, ground: &mut Ground, id: SessionId) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        if let Some((fault, refusal)) = session.turned_away {
            self.struck(ground, fault, id, "gets no session");
            self.die(ground, id, refusal);
        } else {
            session.answers.welcome(id.process(), session.secret);
        }
    }

    /// A transaction that no BEGIN opened ends here, and the client may go on.
    fn end_statement(&mut self, ground: &mut Ground, id: SessionId) {
        let is_implicit =
            self.sessions.get(&id).is_some_and(|session| session.tx.is_some() && !session.is_in_block());
        if is_implicit {
            self.commit(ground, id);
        }
        if let Some(session) = self.sessions.get_mut(&id) {
            session.answers.ready(session.readiness());
        }
    }

    fn carry_out(&mut self, ground: &mut Ground, id: SessionId, mut sent: Sent, is_landed: bool) {
        // What was decided before the faults were over strikes no more.
        sent.lie = sent.lie.filter(|_| ground.faults.is_wild());
        let Some(statement) = sent.runs else { return };
        let result = self.perform(ground, id, &sent, statement, is_landed);
        let Some(session) = self.sessions.get_mut(&id) else { return };
        match result {
            Ok(Outcome { rows, tag }) => {
                session.statement_since_ms = None;
                rows.iter().for_each(|row| session.answers.row(row));
                session.answers.complete(&tag);
                if let Some(tx) = session.tx.as_ref().filter(|_| statement == Statement::Lock) {
                    session.lock_answers.extend(tx.id.map(|tx| (session.answers.len(), tx)));
                }
                if let Some(Lie::LoseAnswer(fault, loss)) = sent.lie {
                    self.struck(ground, fault, id, "loses the answer to its COMMIT");
                    self.lose(ground, id, loss);
                }
                if matches!(sent.message, Message::Query(_)) {
                    self.end_statement(ground, id);
                }
            }
            Err(Halt::Refused(refusal)) => self.fail(ground, id, Some(&sent), refusal),
            Err(Halt::Waits(key)) => {
                self.told_to_wait(ground, id, &key);
                self.pause(ground, id, sent, Cause::Row(key));
            }
            Err(Halt::Lands(after_ms)) => {
                self.agenda.at(ground.now() + after_ms, Due::Land(id));
                self.pause(ground, id, sent, Cause::Landing);
            }
        }
    }

    /// Waits. For a row no longer than the session's limits say.
    fn pause(&mut self, ground: &mut Ground, id: SessionId, sent: Sent, cause: Cause) {
        let now = ground.now();
        let Some(session) = self.sessions.get_mut(&id) else { return };
        if matches!(cause, Cause::Row(_)) {
            let settings = &session.settings;
            let since = *session.statement_since_ms.get_or_insert(now);
            let statement_ms = session.forced_statement_ms.unwrap_or(settings.statement_ms);
            let too_long = Refusal::error("57014", "canceling statement due to statement timeout");
            let locked = Refusal::error("55P03", "canceling statement due to lock timeout");
            let limits = [(settings.lock_ms, now, locked), (statement_ms, since, too_long)];
            let limits = limits.into_iter().filter(|(ms, ..)| *ms > 0);
            if let Some((at_ms, refusal)) =
                limits.map(|(ms, since, refusal)| (since + ms, refusal)).min_by_key(|(at_ms, _)| *at_ms)
            {
                session.timer = Some(self.agenda.at(at_ms, Due::GiveUp(id, refusal)));
            }
        }
        session.pause = Some(Pause { sent, cause });
    }

    /// A statement waits no longer for its row.
    pub(super) fn give_up(&mut self, ground: &mut Ground, id: SessionId, refusal: Refusal) {
        self.forget_timer(id);
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let Some(Pause { sent, cause: Cause::Row(key) }) = session.pause.take() else { return };
        let is_forced = session.forced_statement_ms.is_some_and(|ms| ms < session.settings.statement_ms);
        self.granted.extend(self.locks.leave(&key, id));
        if refusal.code == "57014" && is_forced {
            self.struck(ground, Fault::StatementLimit, id, "is stopped by a limit that it did not set");
        }
        self.fail(ground, id, Some(&sent), refusal);
        self.run(ground, id);
    }

    /// Somebody asks for the end of whatever a session does. When it does nothing, or commits, nothing comes of it.
    fn cancel(&mut self, ground: &mut Ground, process: i32, secret: i32) {
        let mut its_own =
            self.sessions.iter().filter(|(id, session)| id.process() == process && session.secret == secret);
        let Some((&id, _)) = its_own.next() else { return };
        if self.waits_for_row(id) {
            self.give_up(ground, id, Refusal::error("57014", "canceling statement due to user request"));
        }
    }

    /// Answers with an error. `sent` is the statement that failed, when it came to that.
    fn fail(&mut self, ground: &mut Ground, id: SessionId, sent: Option<&Sent>, refusal: Refusal) {
        if refusal.is_fatal {
            self.die(ground, id, refusal);
            return;
        }
        let is_over = sent.is_some_and(|sent| sent.runs == Some(Statement::Commit));
        self.abort(ground, id, is_over);
        let Some(session) = self.sessions.get_mut(&id) else { return };
        session.statement_since_ms = None;
        session.answers.refused(&refusal);
        if sent.is_some_and(|sent| matches!(sent.message, Message::Query(_))) {
            session.answers.ready(session.readiness());
        } else {
            session.is_skipping = true;
        }
    }

    /// Ends a session with a last word.
    pub(super) fn die(&mut self, ground: &mut Ground, id: SessionId, refusal: Refusal) {
        if let Some(session) = self.sessions.get_mut(&id) {
            session.answers.refused(&refusal);
            self.end(ground, id);
        }
    }

    /// Ends a session: its transaction never was, and its client reads the end of the stream.
    pub(super) fn end(&mut self, ground: &mut Ground, id: SessionId) {
        self.forget_timer(id);
        self.abort(ground, id, true);
        self.flush(ground, id);
        let Some(session) = self.sessions.remove(&id) else { return };
        let waiting = match (session.pause, session.hand) {
            (Some(Pause { cause: Cause::Row(key), .. }), _) => Some(key),
            (None, Some(hand)) => Some(hand.key()),
            _ => None,
        };
        if let Some(key) = waiting {
            self.granted.extend(self.locks.leave(&key, id));
        }
        if let Some(wire) = self.wires.get_mut(&id).filter(|wire| !wire.is_mute) {
            let at_ms = wire.arrives_down(ground);
            self.agenda.at(at_ms, Due::Cut(id));
        }
    }

    /// Sends the answers so far.
    fn flush(&mut self, ground: &mut Ground, id: SessionId) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let (bytes, lock_answers) = (session.answers.take(), std::mem::take(&mut session.lock_answers));
        let Some(wire) = self.wires.get_mut(&id).filter(|wire| !wire.is_mute && !bytes.is_empty()) else {
            return;
        };
        let at_ms = wire.arrives_down(ground);
        self.agenda.at(at_ms, Due::Deliver(id, Delivery::new(bytes, lock_answers)));
    }

    /// A fault made a difference to the client of a session.
    pub(super) fn struck(&self, ground: &mut Ground, fault: Fault, id: SessionId, what: &str) {
        if let Some(who) = self.sessions.get(&id).and_then(|session| session.who) {
            ground.chronicle.struck(fault, Some(who), format_args!("{who} {what}"));
        }
    }
}

/// What every statement of a failed transaction is answered with.
pub(super) const ABORTED_BEFORE: Refusal = Refusal {
    is_fatal: false,
    code: "25P02",
    message: "current transaction is aborted, commands ignored until end of transaction block",
    table: None,
    column: None,
    constraint: None,
};
