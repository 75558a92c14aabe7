//! Knows which lie meets a client: decided from the faults when it dials or writes, and told where it makes a difference.

use std::collections::BTreeMap;

use super::refusal::Refusal;
use super::statement::Statement;
use super::talk::{Sent, Talk};
use crate::fact::Op;
use crate::faults::{Fault, Place, Strike};
use crate::ground::Ground;
use crate::life::Life;

/// What the server does with a statement instead of what it should.
#[derive(Clone, Copy, Debug)]
pub(super) enum Lie {
    /// Refuses it with this SQLSTATE.
    Refuse(Fault, &'static str),
    /// Carries it out; its answer never comes.
    LoseAnswer(Fault, Loss),
    /// Carries it out so much later; its answer never comes.
    Late(u64, Loss),
    /// Carries it out with a warning that no standby has it; and perhaps the server is lost before one does.
    Warn { is_forgotten: bool },
}

/// How a wire is lost.
#[derive(Clone, Copy, Debug)]
pub(super) enum Loss {
    /// Both ends see the end of the stream; the client after so many milliseconds.
    Cut(u64),
    /// Nothing comes back any more, and no end either.
    Silence,
    /// Nothing passes in either direction.
    Dead,
}

/// How messages pass that a client wrote at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passage {
    /// On top of what a wire takes anyway.
    pub(super) delay_ms: u64,
    /// Only so many of them arrive.
    pub(super) arriving: usize,
    /// What becomes of the wire behind them.
    pub(super) loss: Option<Loss>,
}

/// What one fault wants to happen to these messages.
enum Verdict {
    /// The server lies to this one.
    Lie(usize, Lie),
    /// They pass in another way.
    Pass(Fault, Passage),
}

/// Messages that a client wrote at once: at which of them a transaction begins or ends, and its first effects.
struct Trip<'a> {
    ground: &'a mut Ground,
    talk: &'a mut Talk,
    who: Life,
    at: Place,
    length: usize,
    begin: Option<usize>,
    effects: Option<usize>,
    commit: Option<usize>,
    rollback: Option<usize>,
}

/// How a client is met that dials.
#[derive(Default)]
pub(super) struct Reception {
    /// The fault, with the answer to its start-up message; without one it gets no connection at all.
    pub(super) refusal: Option<(Fault, Option<Refusal>)>,
    pub(super) is_standby: bool,
    pub(super) forced_statement_ms: Option<u64>,
}

/// A worker that gets no session, for a time or so many times.
#[derive(Clone, Copy)]
struct Door {
    fault: Fault,
    code: Option<&'static str>,
    until_ms: u64,
    dials: u64,
}

/// What goes on over several opportunities.
#[derive(Default)]
pub(super) struct Lies {
    streaks: BTreeMap<(Fault, u8), (u64, Strike)>,
    doors: BTreeMap<u8, Door>,
}

impl Lies {
    /// The faults are over.
    pub(super) fn heal(&mut self) {
        *self = Self::default();
    }

    /// Decides an opportunity of a fault whose severity says how often in a row it strikes.
    fn in_a_row(&mut self, ground: &mut Ground, fault: Fault, at: Place) -> Option<Strike> {
        let key = (fault, at.worker?);
        if let Some((left, strike)) = self.streaks.get_mut(&key).filter(|(left, _)| *left > 0) {
            *left -= 1;
            return Some(*strike);
        }
        let strike = ground.faults.strike(fault, at)?;
        self.streaks.insert(key, (strike.severity.saturating_sub(1), strike));
        Some(strike)
    }

    /// A client dials.
    pub(super) fn reception(&mut self, ground: &mut Ground, who: Life) -> Reception {
        let at = Place::at(who);
        self.shut_door(ground, who, at);
        Reception {
            refusal: self.refusal(ground.now(), who),
            is_standby: self.in_a_row(ground, Fault::OnStandby, at).is_some(),
            forced_statement_ms: ground
                .faults
                .strike(Fault::StatementLimit, at)
                .map(|strike| strike.severity),
        }
    }

    /// Returns whether the session at hand ends as well.
    fn shut_door(&mut self, ground: &mut Ground, who: Life, at: Place) -> bool {
        let fault = Fault::SessionRefused;
        let Some(strike) = ground.faults.strike(fault, at) else { return false };
        let code = [Some("57P01"), Some("53300"), None][strike.variant.min(2) as usize];
        let until_ms = ground.now() + strike.severity;
        self.doors.insert(who.worker, Door { fault, code, until_ms, dials: 0 });
        code == Some("57P01")
    }

    fn refusal(&mut self, now_ms: u64, who: Life) -> Option<(Fault, Option<Refusal>)> {
        let door = self.doors.get_mut(&who.worker)?;
        if door.dials == 0 && door.until_ms < now_ms {
            return None;
        }
        door.dials = door.dials.saturating_sub(1);
        Some((door.fault, door.code.map(|code| Refusal { is_fatal: true, ..Refusal::of(code) })))
    }

    /// A client has written these messages. Marks the one to which the server will lie, and says how they pass.
    pub(super) fn passage(
        &mut self,
        ground: &mut Ground,
        who: Life,
        talk: &mut Talk,
        chunk: &mut [Sent],
    ) -> Passage {
        let through = Passage { delay_ms: 0, arriving: chunk.len(), loss: None };
        if !ground.faults.is_wild() {
            return through;
        }
        let run = |statement| chunk.iter().position(|sent| sent.runs == Some(statement));
        let mut trip = Trip {
            at: talk.place(who),
            ground,
            talk,
            who,
            length: chunk.len(),
            begin: run(Statement::Begin),
            effects: run(Statement::InsertEvidence),
            commit: run(Statement::Commit),
            rollback: run(Statement::Rollback),
        };
        // All are asked, whatever the others say: a fault more or less moves no other.
        let verdicts = [
            trip.dropped(),
            self.ended(&mut trip),
            trip.delayed(),
            self.aborted(&mut trip),
            self.disk_full(&mut trip),
            self.unread(&mut trip),
            trip.commit_lost(),
            trip.commit_late(),
            trip.reply_lost(),
            trip.warned(),
        ];
        match verdicts.into_iter().flatten().next() {
            Some(Verdict::Lie(index, lie)) => {
                chunk[index].lie = Some(lie);
                through
            }
            Some(Verdict::Pass(fault, passage)) => {
                let Passage { arriving, delay_ms, .. } = passage;
                let lost = chunk.len() - arriving;
                trip.ground.chronicle.struck(
                    fault,
                    Some(who),
                    format_args!(
                        "{who} loses its wire and {lost} messages; the others come {delay_ms} ms late"
                    ),
                );
                passage
            }
            None => through,
        }
    }

    fn ended(&mut self, trip: &mut Trip<'_>) -> Option<Verdict> {
        let begin = trip.begin?;
        let is_ended = self.shut_door(trip.ground, trip.who, trip.at);
        is_ended.then_some(Verdict::Lie(begin, Lie::Refuse(Fault::SessionRefused, "57P01")))
    }

    fn aborted(&mut self, trip: &mut Trip<'_>) -> Option<Verdict> {
        let at = trip.effects.or(trip.commit)?;
        let strike = self.in_a_row(trip.ground, Fault::TransactionAborted, trip.at)?;
        let code = if strike.variant == 0 { "40001" } else { "40P01" };
        Some(Verdict::Lie(at, Lie::Refuse(Fault::TransactionAborted, code)))
    }

    fn disk_full(&mut self, trip: &mut Trip<'_>) -> Option<Verdict> {
        let fault = Fault::DiskFull;
        let no_room = Lie::Refuse(fault, "53100");
        if let Some(effects) = trip.effects {
            let strike = self.in_a_row(trip.ground, fault, trip.at)?;
            match strike.variant {
                0 => return Some(Verdict::Lie(effects, no_room)),
                1 => trip.talk.is_disk_full = true,
                _ => {
                    let door = Door { fault, code: Some("53300"), until_ms: 0, dials: strike.severity };
                    self.doors.insert(trip.who.worker, door);
                }
            }
        }
        let commit = trip.commit.filter(|_| trip.talk.is_disk_full)?;
        Some(Verdict::Lie(commit, no_room))
    }

    fn unread(&mut self, trip: &mut Trip<'_>) -> Option<Verdict> {
        let rollback = trip.rollback.filter(|_| trip.talk.kind == Some(Op::Observe))?;
        self.in_a_row(trip.ground, Fault::ObserveFails, trip.at)?;
        Some(Verdict::Lie(rollback, Lie::Refuse(Fault::ObserveFails, "57P01")))
    }
}

impl Trip<'_> {
    fn strike(&mut self, fault: Fault) -> Option<Strike> {
        self.ground.faults.strike(fault, self.at)
    }

    /// COMMIT, when it is of such an operation.
    fn commit_of(&self, op: Op) -> Option<usize> {
        self.commit.filter(|_| self.talk.kind == Some(op))
    }

    /// Where the connection drops is decided when the transaction begins.
    fn dropped(&mut self) -> Option<Verdict> {
        let fault = Fault::ConnectionDropped;
        if self.begin.is_some() {
            self.talk.drop = self.strike(fault).map(|strike| strike.variant);
        }
        let end = self.commit.or(self.rollback);
        let lose = |arriving, loss| Verdict::Pass(fault, Passage { delay_ms: 0, arriving, loss: Some(loss) });
        let verdict = match self.talk.drop? {
            0 => lose(0, Loss::Cut(0)),
            1 if self.begin.is_none() => lose(self.length / 2, Loss::Cut(0)),
            2 => lose(end?, Loss::Cut(0)),
            3 => Verdict::Lie(end?, Lie::LoseAnswer(fault, Loss::Cut(0))),
            4 if self.begin.is_none() => lose(0, Loss::Dead),
            _ => return None,
        };
        self.talk.drop = None;
        Some(verdict)
    }

    /// Where the bytes of a decision are delayed, its lock may be among them; those of a claim only with its COMMIT.
    fn delayed(&mut self) -> Option<Verdict> {
        let fault = match self.talk.kind? {
            Op::Process => self.begin.or(self.commit).map(|_| Fault::BytesDelayed)?,
            Op::Claim => self.commit.map(|_| Fault::OrphanClaim)?,
            Op::Observe => return None,
        };
        let delay_ms = self.strike(fault)?.severity;
        let passage = Passage { delay_ms, arriving: self.length, loss: Some(Loss::Cut(0)) };
        Some(Verdict::Pass(fault, passage))
    }

    fn commit_lost(&mut self) -> Option<Verdict> {
        let arriving = self.commit_of(Op::Process)?;
        let strike = self.strike(Fault::CommitLost)?;
        let loss = if strike.variant == 0 { Loss::Cut(strike.severity) } else { Loss::Dead };
        Some(Verdict::Pass(Fault::CommitLost, Passage { delay_ms: 0, arriving, loss: Some(loss) }))
    }

    fn commit_late(&mut self) -> Option<Verdict> {
        let commit = self.commit_of(Op::Process)?;
        let strike = self.strike(Fault::CommitLate)?;
        let loss = if strike.variant == 0 { Loss::Cut(0) } else { Loss::Silence };
        Some(Verdict::Lie(commit, Lie::Late(strike.severity, loss)))
    }

    fn reply_lost(&mut self) -> Option<Verdict> {
        if let Some(commit) = self.commit_of(Op::Process) {
            let fault = Fault::CommitReplyLost;
            let strike = self.strike(fault)?;
            let loss = if strike.variant == 0 { Loss::Cut(strike.severity) } else { Loss::Silence };
            return Some(Verdict::Lie(commit, Lie::LoseAnswer(fault, loss)));
        }
        let commit = self.commit_of(Op::Claim)?;
        let fault = Fault::ClaimReplyLost;
        let strike = self.strike(fault)?;
        let loss = Loss::Cut(strike.severity);
        Some(if strike.variant == 0 {
            Verdict::Lie(commit, Lie::LoseAnswer(fault, loss))
        } else {
            Verdict::Pass(fault, Passage { delay_ms: 0, arriving: commit, loss: Some(loss) })
        })
    }

    fn warned(&mut self) -> Option<Verdict> {
        let commit = self.commit.filter(|_| self.talk.kind.is_some())?;
        let strike = self.strike(Fault::StandbyWarned)?;
        Some(Verdict::Lie(commit, Lie::Warn { is_forgotten: strike.variant == 1 }))
    }
}
