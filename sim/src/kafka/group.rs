//! Knows the group as its coordinator does: who sits in it, whether it forms anew, and which partitions fall to whom.
//!
//! The classic eager protocol with the range assignor: a round takes everything from everybody, ends when everybody has
//! joined it or its time is over, and gives everything anew.

use amends_core::ids::Partition;

use super::client::ClientId;
use super::{Due, Kafka, Step, Turn};
use crate::faults::Fault;
use crate::ground::Ground;
use crate::pace::{Actor, Wait};

/// How long a round waits for its members: their `max.poll.interval.ms`.
pub(super) const REBALANCE_TIMEOUT_MS: u64 = 60_000;
/// A client asks the coordinator how things are at least this often.
pub(super) const HEARTBEAT_MS: u64 = 3_000;

/// Consecutive partitions: what the range assignor gives to one member.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Span {
    first: u32,
    count: u32,
}

impl Span {
    pub(super) fn is_empty(self) -> bool {
        self.count == 0
    }

    pub(super) fn partitions(self) -> Vec<Partition> {
        (self.first..self.first + self.count).map(Partition).collect()
    }
}

#[derive(Default)]
pub(super) struct Group {
    /// In the order in which they came, which is the assignor's.
    seats: Vec<Seat>,
    generation: u32,
    rounds: u32,
    round: Option<Round>,
}

struct Seat {
    /// `None`: a deployment with a copy of the database has it, which no process of this world is.
    client: Option<ClientId>,
    /// It has joined the round that runs.
    has_joined: bool,
    /// When it was last given something.
    generation: u32,
    given: Span,
}

impl Seat {
    fn new(client: Option<ClientId>) -> Self {
        Self { client, has_joined: client.is_none(), generation: 0, given: Span::default() }
    }
}

struct Round {
    number: u32,
    /// It does not end earlier.
    not_before: u64,
    /// Which fault began it.
    cause: Option<Fault>,
}

impl Group {
    fn seat(&mut self, client: ClientId) -> Option<&mut Seat> {
        self.seats.iter_mut().find(|seat| seat.client == Some(client))
    }

    /// Why everything is taken now, where a fault did it.
    pub(super) fn cause(&self) -> Option<Fault> {
        self.round.as_ref()?.cause
    }

    /// The round that runs does not end earlier.
    pub(super) fn delay_until(&mut self, at: u64) {
        if let Some(round) = &mut self.round {
            round.not_before = round.not_before.max(at);
        }
    }

    /// No fault has a hand in the round that runs any more: it may end as soon as everybody has joined it.
    pub(super) fn calm(&mut self) {
        if let Some(round) = &mut self.round {
            (round.not_before, round.cause) = (0, None);
        }
    }

    /// Begins a round, unless one runs.
    fn begin(&mut self, cause: Option<Fault>) -> Option<u32> {
        if self.round.is_some() || self.seats.is_empty() {
            return None;
        }
        self.rounds += 1;
        self.round = Some(Round { number: self.rounds, not_before: 0, cause });
        self.seats.iter_mut().for_each(|seat| seat.has_joined = seat.client.is_none());
        Some(self.rounds)
    }

    fn may_end(&self, now: u64) -> bool {
        let is_time = self.round.as_ref().is_some_and(|round| round.not_before <= now);
        is_time && self.seats.iter().all(|seat| seat.has_joined)
    }

    /// Ends the round: everybody gets its range, the first ones one partition more where they do not divide evenly.
    fn end(&mut self, partitions: u32) {
        self.round = None;
        self.generation += 1;
        let members = u32::try_from(self.seats.len()).unwrap_or(u32::MAX).max(1);
        let (each, more) = (partitions / members, partitions % members);
        let mut first = 0;
        for (index, seat) in (0_u32..).zip(&mut self.seats) {
            let count = each + u32::from(index < more);
            (seat.generation, seat.given) = (self.generation, Span { first, count });
            first += count;
        }
    }
}

impl Kafka {
    /// Begins a round, unless one runs or nobody is there. Returns whether one began.
    pub(super) fn rebalance(&mut self, ground: &mut Ground, cause: Option<Fault>) -> bool {
        let Some(round) = self.group.begin(cause) else { return false };
        self.call(ground, round);
        true
    }

    /// Everybody who has not joined the round is to hear of it.
    fn call(&mut self, ground: &mut Ground, round: u32) {
        let at = ground.now() + REBALANCE_TIMEOUT_MS;
        self.agenda.at(at, Due::Broker(Turn::RoundOver { round }));
        for index in 0..self.group.seats.len() {
            let seat = &self.group.seats[index];
            if let Some(client) = seat.client.filter(|_| !seat.has_joined) {
                self.plan_hearing(ground, client);
            }
        }
    }

    /// A client hears from the coordinator with its next heartbeat.
    pub(super) fn plan_hearing(&mut self, ground: &mut Ground, id: ClientId) {
        let wait = ground.pace.wait(Wait::Callback, Actor::Kafka).min(HEARTBEAT_MS);
        self.plan(ground.now() + wait, id, Step::Hear);
    }

    /// A client hears how things are. One that holds partitions gives them back before it joins; one that was thrown
    /// out has lost them.
    pub(super) fn hear(&mut self, ground: &mut Ground, id: ClientId) {
        let client = &self.clients[id];
        if !client.is_member() || client.pending.is_some() {
            return;
        }
        let holds_nothing = client.given.is_empty();
        let is_called = self.group.round.is_some();
        match self.group.seat(id) {
            None if holds_nothing => {
                let seat = Seat::new(Some(id));
                self.group.seats.push(seat);
                self.take_seat(ground, id);
            }
            None => self.lose(ground, id),
            Some(seat) if !is_called || seat.has_joined => {}
            Some(_) if holds_nothing => self.take_seat(ground, id),
            Some(_) => self.take_back(ground, id),
        }
    }

    fn take_seat(&mut self, ground: &mut Ground, id: ClientId) {
        let begun = self.group.begin(None);
        if let Some(seat) = self.group.seat(id) {
            seat.has_joined = true;
        }
        if let Some(round) = begun {
            self.call(ground, round);
        }
        self.settle(ground);
    }

    /// A client is no member any more, as far as the coordinator knows.
    pub(super) fn leave(&mut self, ground: &mut Ground, id: ClientId) {
        self.vacate(ground, Some(id));
    }

    /// F43: a deployment with a copy of the database sits in the group for a while. What falls to it is kept from ours.
    pub(super) fn seat_stranger(&mut self, ground: &mut Ground, for_ms: u64) {
        self.group.seats.push(Seat::new(None));
        self.rebalance(ground, Some(Fault::SecondDatabase));
        self.agenda.at(ground.now() + for_ms, Due::Broker(Turn::StrangerLeaves));
    }

    pub(super) fn vacate(&mut self, ground: &mut Ground, client: Option<ClientId>) {
        let members = self.group.seats.len();
        self.group.seats.retain(|seat| seat.client != client);
        if self.group.seats.len() < members {
            self.rebalance(ground, None);
            self.settle(ground);
        }
    }

    /// Ends the round when it may end.
    pub(super) fn settle(&mut self, ground: &mut Ground) {
        let now = ground.now();
        if !self.group.may_end(now) {
            return;
        }
        self.group.end(ground.chronicle.truth.current_partitions);
        let (generation, members) = (self.group.generation, self.group.seats.len());
        ground.chronicle.line(format_args!("group: generation {generation} has {members} members"));
        for seat in &self.group.seats {
            let wait = ground.pace.wait(Wait::Callback, Actor::Kafka).min(HEARTBEAT_MS);
            if let Some(client) = seat.client {
                self.agenda.at(now + wait, Due::Client(client, Step::Sync { generation }));
            }
        }
    }

    /// A round's time is over: whoever has not joined it is thrown out.
    pub(super) fn end_round(&mut self, ground: &mut Ground, round: u32) {
        if self.group.round.as_ref().is_none_or(|running| running.number != round) {
            return;
        }
        self.group.seats.retain(|seat| seat.has_joined);
        self.group.calm();
        self.settle(ground);
    }

    /// The coordinator's answer to a join. It is void when the client has joined another round since.
    pub(super) fn sync(&mut self, ground: &mut Ground, id: ClientId, generation: u32) {
        let is_called = self.group.round.is_some();
        let Some(seat) = self.group.seat(id) else { return };
        if seat.generation != generation || is_called && seat.has_joined || !self.clients[id].is_member() {
            return;
        }
        self.clients[id].given = seat.given;
        self.give(ground, id);
    }

    /// Nothing is heard of a client from now on.
    pub(super) fn fall_silent(&mut self, ground: &mut Ground, id: ClientId) {
        let client = &mut self.clients[id];
        if client.is_frozen || !client.is_member() {
            return;
        }
        client.silence += 1;
        let silence = client.silence;
        let since_heartbeat = ground.pace.wait(Wait::Callback, Actor::Kafka).min(HEARTBEAT_MS);
        let at = ground.now() + self.session_timeout_ms.saturating_sub(since_heartbeat);
        self.agenda.at(at, Due::Broker(Turn::SessionOver { client: id, silence }));
    }
}
