//! Knows what befalls the server itself at its time: foreign hands on a row, failovers, and the end of all of it.

use super::due::Due;
use super::locks::Key;
use super::refusal::Refusal;
use super::rows::Partition;
use super::server::Server;
use super::session::{Cause, SessionId, Tx};
use super::tables::PartitionKey;
use super::value::Instant;
use crate::fact::Fact;
use crate::faults::{Fault, Incident};
use crate::ground::Ground;
use crate::life::Life;
use crate::pace::{Actor, Wait};

/// A session that is no client's, and wants one row.
pub(super) struct Hand {
    fault: Fault,
    key: PartitionKey,
    hold_ms: u64,
    /// It claims the partition; else it only holds the row.
    is_claiming: bool,
}

impl Hand {
    /// The lock that it holds or waits for.
    pub(super) fn key(&self) -> Key {
        Key::Partition(self.key.0.clone(), self.key.1)
    }
}

impl Server {
    /// An incident. Returns whether it was one of the server's.
    pub(super) fn befall(&mut self, ground: &mut Ground, incident: &Incident) -> bool {
        match incident.fault {
            Fault::RowHeld => self.reach_out(ground, incident, incident.severity, false),
            Fault::SecondDeployment => {
                let hold_ms = ground.pace.wait(Wait::Wire, Actor::Postgres);
                // A deployment with another manifest reads the row under its lock, and refuses.
                self.reach_out(ground, incident, hold_ms, incident.variant == 0);
            }
            Fault::CommitsForgotten => {
                let forgotten = usize::try_from(incident.severity).unwrap_or(usize::MAX);
                self.fail_over(ground, self.commits.len().saturating_sub(forgotten));
            }
            Fault::FailedOver => {
                ground.chronicle.struck(Fault::FailedOver, None, format_args!("every session is cut"));
                self.closed_until_ms = ground.now() + incident.severity;
                self.cut_all(ground);
            }
            _ => return false,
        }
        self.settle(ground);
        true
    }

    /// The faults are over: whatever is held or refused ends, and what is late lands.
    pub(super) fn heal(&mut self, ground: &mut Ground) {
        self.lies.heal();
        self.closed_until_ms = 0;
        self.agenda.retain(|due| !matches!(due, Due::FailOver { .. }));
        for session in self.sessions.values_mut() {
            session.forced_statement_ms = None;
        }
        let ids: Vec<SessionId> = self.sessions.keys().copied().collect();
        for id in ids {
            self.let_go(ground, id);
            self.land_now(ground, id);
        }
        self.settle(ground);
    }

    /// Ends every session of a process. A COMMIT on its way lands, and its answer is given first.
    pub(super) fn terminate(&mut self, ground: &mut Ground, who: Life) {
        let its_own = self.sessions.iter().filter(|(_, session)| session.who == Some(who));
        let ids: Vec<SessionId> = its_own.map(|(id, _)| *id).collect();
        for id in ids {
            self.land_now(ground, id);
            self.die(ground, id, Refusal::of("57P01"));
        }
        self.settle(ground);
    }

    fn land_now(&mut self, ground: &mut Ground, id: SessionId) {
        let pause = self.sessions.get_mut(&id).and_then(|session| session.pause.as_mut());
        if let Some(pause) = pause.filter(|pause| matches!(pause.cause, Cause::Landing)) {
            pause.cause = Cause::Landed;
            self.go_on(ground, id);
        }
    }

    /// A foreign session asks for a partition's row.
    fn reach_out(&mut self, ground: &mut Ground, incident: &Incident, hold_ms: u64, is_claiming: bool) {
        let is_it = |key: &&PartitionKey| u32::try_from(key.1) == Ok(incident.partition);
        let Some(key) = self.tables.partitions.keys().find(is_it).cloned() else { return };
        let now = Instant::from_ms(ground.now());
        let tx = self.txs.next();
        let (id, session) = self.open();
        session.tx = Some(Tx::new(Some(tx), true, now, session.settings.clone()));
        session.hand = Some(Hand { fault: incident.fault, key: key.clone(), hold_ms, is_claiming });
        if self.locks.take(&Key::Partition(key.0, key.1), id) {
            self.hold(ground, id);
        }
    }

    /// A foreign session has its row.
    pub(super) fn hold(&mut self, ground: &mut Ground, id: SessionId) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let (Some(hand), Some(tx)) = (&session.hand, &mut session.tx) else { return };
        tx.held.push(hand.key());
        tx.partition = Some(hand.key.clone());
        self.agenda.at(ground.now() + hand.hold_ms, Due::LetGo(id));
        if let (Some(tx), Ok(partition)) = (tx.id, u32::try_from(hand.key.1)) {
            let partition = amends_core::ids::Partition(partition);
            ground.chronicle.tell(&Fact::Locked { tx, ghost: None, partition });
        }
    }

    /// A foreign session is done.
    pub(super) fn let_go(&mut self, ground: &mut Ground, id: SessionId) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let (Some(hand), Some(tx)) = (&session.hand, &mut session.tx) else { return };
        if !hand.is_claiming || tx.partition.is_none() {
            self.end(ground, id);
            return;
        }
        let row = self.tables.partitions.get(&hand.key).cloned().unwrap_or_default();
        let claimed = Partition {
            epoch: row.epoch + 1,
            claim_id: Some(self.draws.uuid()),
            next_offset: row.next_offset.or(Some(0)),
            owner: Some("another deployment".into()),
            claimed_at: Some(Instant::from_ms(ground.now())),
            ..row
        };
        tx.own.partitions.insert(hand.key.clone(), claimed);
        let what = format_args!("another deployment claims partition {}", hand.key.1);
        ground.chronicle.struck(Fault::SecondDeployment, None, what);
        self.commit(ground, id);
        self.end(ground, id);
    }

    /// A client's statement has to wait. When it is for a foreign hand, that makes the difference.
    pub(super) fn told_to_wait(&self, ground: &mut Ground, id: SessionId, key: &Key) {
        let holder = self.locks.holder(key).and_then(|holder| self.sessions.get(&holder));
        if let Some(Hand { fault: Fault::RowHeld, .. }) = holder.and_then(|holder| holder.hand.as_ref()) {
            self.struck(ground, Fault::RowHeld, id, "waits for a row that a foreign session holds");
        }
    }

    /// The server is replaced by one that has only the first so many of the commits.
    pub(super) fn fail_over(&mut self, ground: &mut Ground, keep: usize) {
        self.cut_all(ground);
        let forgotten = self.commits.split_off(keep.min(self.commits.len()));
        let commits = u32::try_from(forgotten.len()).unwrap_or(u32::MAX);
        for undo in forgotten.into_iter().rev() {
            self.tables.undo(undo);
        }
        if commits > 0 {
            ground.chronicle.tell(&Fact::Forgot { commits });
        }
        ground.chronicle.struck(
            Fault::CommitsForgotten,
            None,
            format_args!("{commits} commits are forgotten"),
        );
    }

    /// Every session ends without a word, and what was on its way never comes.
    fn cut_all(&mut self, ground: &mut Ground) {
        let ids: Vec<SessionId> = self.sessions.keys().copied().collect();
        for id in ids {
            if let Some(wire) = self.wires.get_mut(&id) {
                wire.is_mute = true;
                self.agenda.at(ground.now(), Due::Cut(id));
            }
            self.end(ground, id);
        }
    }
}
