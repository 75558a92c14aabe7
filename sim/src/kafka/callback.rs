//! Knows what passes between the group and a client's reducer: callbacks, late, out of order or lost, and their answers.

use amends_core::ids::{Frontier, RebalanceId, TenureId};

use super::client::ClientId;
use super::group::Span;
use super::{Kafka, Step};
use crate::faults::{Fault, Place};
use crate::ground::Ground;
use crate::life::Life;
use crate::pace::{Actor, Wait};

/// How long a client may take to leave its group before it is left behind.
const CLOSE_WITHIN_MS: u64 = 5_000;

/// Forms of F14.
const REVOKED_AFTER_ASSIGNED: u32 = 0;
const ASSIGNED_TWICE: u32 = 1;
const LOST_FOR_REVOKED: u32 = 2;
const REVOKED_NEVER: u32 = 3;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Assigned,
    Revoked,
    Lost,
}

/// One rebalance callback.
#[derive(Clone, Copy, Debug)]
pub(super) struct Callback {
    pub(super) number: u32,
    pub(super) kind: Kind,
    pub(super) span: Span,
}

impl Kafka {
    /// The group gives a client what it holds from now on.
    pub(super) fn give(&mut self, ground: &mut Ground, id: ClientId) {
        let callback = self.post(id, Kind::Assigned);
        let who = self.clients[id].who;
        let strike = ground.faults.strike(Fault::CallbackOutOfOrder, Place::at(who));
        self.deliver(ground, id, callback);
        if strike.is_some_and(|strike| strike.variant == ASSIGNED_TWICE) {
            ground.chronicle.struck(
                Fault::CallbackOutOfOrder,
                Some(who),
                format_args!("{who} is assigned twice"),
            );
            self.deliver(ground, id, callback);
        }
        if let Some(withheld) = self.clients[id].withheld.take() {
            self.deliver(ground, id, withheld);
        }
    }

    /// The group takes back what a client holds, and waits for its answer.
    pub(super) fn take_back(&mut self, ground: &mut Ground, id: ClientId) {
        let who = self.clients[id].who;
        if let Some(cause) = self.group.cause() {
            ground.chronicle.struck(cause, Some(who), format_args!("everything is taken from {who}"));
        }
        let mut callback = self.post(id, Kind::Revoked);
        let strike = ground.faults.strike(Fault::CallbackOutOfOrder, Place::at(who));
        match strike.map(|strike| strike.variant) {
            Some(LOST_FOR_REVOKED) => callback.kind = Kind::Lost,
            // The client goes on as if it had its answer: that alone lets another callback come before this one.
            Some(REVOKED_AFTER_ASSIGNED) => self.clients[id].withheld = Some(callback),
            Some(REVOKED_NEVER) => {}
            _ => return self.deliver(ground, id, callback),
        }
        let what = if callback.kind == Kind::Lost { "hears a loss" } else { "does not hear" };
        ground.chronicle.struck(
            Fault::CallbackOutOfOrder,
            Some(who),
            format_args!("{who} {what} that it is revoked"),
        );
        if callback.kind == Kind::Lost {
            self.deliver(ground, id, callback);
        } else {
            self.empty_lanes(ground, id);
            self.give_up(ground, id);
        }
    }

    /// A client hears that it was thrown out while it held something.
    pub(super) fn lose(&mut self, ground: &mut Ground, id: ClientId) {
        let callback = self.post(id, Kind::Lost);
        self.deliver(ground, id, callback);
    }

    /// Numbers a callback. From here on no other one is served until this one has its answer.
    fn post(&mut self, id: ClientId, kind: Kind) -> Callback {
        let client = &mut self.clients[id];
        client.callbacks += 1;
        client.pending = Some(client.callbacks);
        Callback { number: client.callbacks, kind, span: client.given }
    }

    /// Tells it, and then what it does to the lanes.
    fn deliver(&mut self, ground: &mut Ground, id: ClientId, callback: Callback) {
        let (now, who) = (ground.now(), self.clients[id].who);
        match ground.faults.strike(Fault::CallbackDelayed, Place::at(who)) {
            Some(strike) if strike.severity > 0 && self.clients[id].late.is_none() => {
                let late_ms = strike.severity;
                ground.chronicle.struck(
                    Fault::CallbackDelayed,
                    Some(who),
                    format_args!("a callback of {who} comes {late_ms} ms late"),
                );
                self.clients[id].late = Some(callback);
                self.plan(now + late_ms, id, Step::TellLate);
            }
            _ => self.plan(now, id, Step::Tell(callback)),
        }
        self.empty_lanes(ground, id);
    }

    /// Every queue is emptied, and each poll that waits is answered.
    fn empty_lanes(&mut self, ground: &Ground, id: ClientId) {
        let now = ground.now();
        let mut lanes = std::mem::take(&mut self.clients[id].lanes);
        for lane in lanes.drain(..) {
            if lane.waiting.is_some() {
                self.plan(now, id, Step::Empty { tenure: lane.tenure });
            }
        }
        self.clients[id].lanes = lanes;
    }

    /// What a client held is not its any more; it joins again.
    fn give_up(&mut self, ground: &mut Ground, id: ClientId) {
        let client = &mut self.clients[id];
        client.pending = None;
        client.given = Span::default();
        let wait = ground.pace.wait(Wait::Wire, Actor::Worker(client.who.worker));
        self.plan(ground.now() + wait, id, Step::Hear);
    }

    /// Whether this is the callback that waits.
    fn is_awaited(&self, id: ClientId, rebalance: RebalanceId) -> bool {
        let client = &self.clients[id];
        client.is_member() && client.member == rebalance.member && client.pending == Some(rebalance.number)
    }

    pub(super) fn unassign(&mut self, ground: &mut Ground, id: ClientId, rebalance: RebalanceId) {
        if self.is_awaited(id, rebalance) {
            self.give_up(ground, id);
        }
    }

    pub(super) fn assign(
        &mut self,
        ground: &mut Ground,
        id: ClientId,
        rebalance: RebalanceId,
        positions: &[(TenureId, Frontier)],
    ) {
        if !self.is_awaited(id, rebalance) {
            let now = ground.now();
            for (tenure, _) in positions {
                let why = "the client does not wait for this assignment";
                self.plan(now, id, Step::NotSought { tenure: *tenure, why });
            }
            return;
        }
        self.clients[id].pending = None;
        for (tenure, frontier) in positions {
            self.place(ground, id, *tenure, frontier.next_offset());
        }
        // The group may have formed anew meanwhile.
        self.plan_hearing(ground, id);
    }

    /// The client takes no more orders, and every question put to it is answered.
    pub(super) fn quit(&mut self, ground: &mut Ground, id: ClientId) {
        self.empty_lanes(ground, id);
        self.clients[id].has_left = true;
    }

    pub(super) fn close(&mut self, ground: &mut Ground, id: ClientId) {
        let (now, who) = (ground.now(), self.clients[id].who);
        if self.clients[id].is_starved {
            // Its thread does not come to it: another one waits, and leaves it behind. The group hears nothing of that.
            self.fall_silent(ground, id);
            self.quit(ground, id);
            return self.plan(now + CLOSE_WITHIN_MS, id, Step::Closed);
        }
        if ground.faults.strike(Fault::ClosedDuringRebalance, Place::at(who)).is_none() {
            self.quit(ground, id);
            self.leave(ground, id);
            let wait = ground.pace.wait(Wait::Close, Actor::Worker(who.worker)).min(CLOSE_WITHIN_MS);
            return self.plan(now + wait, id, Step::Closed);
        }
        ground.chronicle.struck(
            Fault::ClosedDuringRebalance,
            Some(who),
            format_args!("{who} cannot leave the group, which forms anew"),
        );
        self.fall_silent(ground, id);
        self.quit(ground, id);
        self.rebalance(ground, Some(Fault::ClosedDuringRebalance));
        self.plan(now + CLOSE_WITHIN_MS, id, Step::Closed);
    }

    /// The group takes from this process whatever it holds, now (F15). Returns whether it held something.
    pub fn revoke(&mut self, ground: &mut Ground, who: Life) -> bool {
        let is_holder = |client: &super::Client| client.is_member() && !client.given.is_empty();
        let holder = self.clients.iter().rposition(|client| client.who == who && is_holder(client));
        let Some(id) = holder.filter(|id| self.clients[*id].pending.is_none()) else { return false };
        let cause = ground.faults.is_wild().then_some(Fault::RevokedDuring);
        self.rebalance(ground, cause);
        self.plan(ground.now(), id, Step::Hear);
        true
    }
}
