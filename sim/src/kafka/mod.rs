//! Knows the broker, its group and each member's client, as one machine without I/O: commands and times go in, events
//! come out when they are due.
//!
//! `group` is the coordinator, `callback` what passes between it and a client, `fetch` what a client reads, `topic` what
//! brokers show, `admin` what happens to the topic, `incident` what goes wrong at its time. The log itself is the
//! truth's: it is changed by telling facts, and read there.

use amends_core::ids::{Incarnation, Partition, RebalanceId, TenureId};
use amends_core::lifecycle::command::{CheckId, CheckParts, Command};
use amends_core::lifecycle::event::{Event, Failure};
use amends_core::source::boundary::Sight;

use crate::agenda::Agenda;
use crate::faults::Shape;
use crate::few::Few;
use crate::ground::Ground;
use crate::life::Life;
use crate::pace::{Actor, Wait};

mod admin;
mod callback;
mod client;
mod fetch;
mod group;
mod incident;
mod topic;

use callback::Callback;
use client::{Client, ClientId};
use group::Group;
use topic::Topic;

pub use topic::Setting;

/// An event on its way to the reducer of a process.
pub type Told = (Life, Event);

/// The cluster.
pub struct Kafka {
    agenda: Agenda<Due>,
    /// Every client that ever was; a process acts through its last one.
    clients: Vec<Client>,
    group: Group,
    topic: Topic,
    /// When the last check of each process is answered.
    asked_until: Few<Life, u64>,
    /// What is due for clients that stand still, in its order.
    held: Vec<(ClientId, Step)>,
    /// A client fetches so many records ahead of each lane.
    ahead: usize,
    session_timeout_ms: u64,
    /// Visible records of each partition of a new topic.
    records: u32,
    /// The log that each tenure's last records were read from.
    read: Few<(Life, TenureId), (Incarnation, u32)>,
}

/// What happens at its time.
enum Due {
    /// In a client: it waits while the client stands still.
    Client(ClientId, Step),
    /// At the brokers.
    Broker(Turn),
}

/// What a client does or hears.
enum Step {
    /// It hears from the coordinator how things are, and does its part.
    Hear,
    /// The coordinator gives it what it has in this generation.
    Sync { generation: u32 },
    /// A callback reaches the reducer.
    Tell(Callback),
    /// The late callback reaches the reducer, unless it has already.
    TellLate,
    /// A lane stands where it was sent.
    Sought { tenure: TenureId },
    /// It does not.
    NotSought { tenure: TenureId, why: &'static str },
    /// A waiting poll may have something to say.
    Serve { tenure: TenureId, ask: u32 },
    /// A poll has nothing to say.
    Empty { tenure: TenureId },
    /// A throw-away client looks.
    Probe { tenure: TenureId, from: i64 },
    /// A check is answered.
    Checked { check: CheckId, sight: Sight },
    /// A check is not.
    Unchecked { check: CheckId },
    /// The client is gone.
    Closed,
}

/// What the brokers do.
enum Turn {
    /// A broker sees a check's request; the answer is there at its time.
    Sample { client: ClientId, check: CheckId, parts: CheckParts, answer_at: u64 },
    /// Nothing was heard of a client for the session's length, if it is still that silence.
    SessionOver { client: ClientId, silence: u32 },
    /// A round has lasted as long as it may.
    RoundOver { round: u32 },
    /// A round may end now.
    Settle,
    /// The partitions are other ones than those that were given.
    Rebalance,
    /// The deployment with a copy of the database leaves the group.
    StrangerLeaves,
    /// The next rebalance of a storm.
    Storm { left: u64 },
    /// A client was not served for the poll interval.
    PollIntervalOver { client: ClientId },
    /// A client is served again.
    Served { client: ClientId },
    /// A partition may have a leader again.
    LeaderBack { partition: Partition },
    /// An open transaction ends.
    TransactionOver { partition: Partition, is_committed: bool },
}

impl Kafka {
    /// A cluster with the topic as the shape has it. Tells the facts of the records that lie there.
    #[must_use]
    pub fn new(shape: &Shape, declared: Incarnation, ground: &mut Ground) -> Self {
        let mut kafka = Self {
            agenda: Agenda::default(),
            clients: Vec::new(),
            group: Group::default(),
            topic: Topic::new(declared, shape.partitions),
            asked_until: Few::default(),
            held: Vec::new(),
            ahead: 2 * usize::try_from(shape.batch_records).unwrap_or(1).max(1),
            session_timeout_ms: shape.session_timeout_ms,
            records: shape.records,
            read: Few::default(),
        };
        kafka.fill(ground);
        kafka
    }

    /// A process begins: its client joins the group as member 1.
    pub fn join(&mut self, ground: &mut Ground, who: Life) {
        self.open_client(ground, who, 1);
    }

    fn open_client(&mut self, ground: &mut Ground, who: Life, member: u32) {
        let id = self.clients.len();
        self.clients.push(Client::new(who, member));
        let wait = ground.pace.wait(Wait::Wire, Actor::Worker(who.worker));
        self.plan(ground.now() + wait, id, Step::Hear);
    }

    /// Starts one of Kafka's commands: `Check`, `Assign`, `Unassign`, `Seek`, `Probe`, `Poll`, `Retire`, `Rejoin`,
    /// `Close`, `AllowRebalance`. Returns whether it was one of these, of a process that has joined.
    pub fn perform(&mut self, ground: &mut Ground, who: Life, command: &Command) -> bool {
        let Some(id) = self.clients.iter().rposition(|client| client.who == who) else { return false };
        match command {
            Command::Check { check, parts } => self.check(ground, id, *check, *parts),
            Command::Assign { rebalance, positions } => self.assign(ground, id, *rebalance, positions),
            Command::Unassign { rebalance } => self.unassign(ground, id, *rebalance),
            Command::Seek { tenure, frontier, within_ms } => {
                self.seek(ground, id, *tenure, frontier.next_offset(), *within_ms);
            }
            Command::Probe { tenure, frontier, within_ms } => {
                self.probe(ground, id, *tenure, *frontier, *within_ms);
            }
            Command::Poll { tenure, records, wait_ms, .. } => {
                self.poll(ground, id, *tenure, *records, *wait_ms);
            }
            Command::Retire { tenure } => self.retire(ground, id, *tenure),
            Command::Rejoin { member } => {
                self.quit(ground, id);
                self.leave(ground, id);
                self.open_client(ground, who, *member);
            }
            Command::Close => self.close(ground, id),
            Command::AllowRebalance { .. } => {}
            _ => return false,
        }
        true
    }

    fn check(&mut self, ground: &mut Ground, client: ClientId, check: CheckId, parts: CheckParts) {
        let wait = ground.pace.wait(Wait::Check, Actor::Kafka);
        // One thread of the process asks, one check after the other.
        let asked_until = self.asked_until.or_default(self.clients[client].who);
        let begins_at = ground.now().max(*asked_until);
        *asked_until = begins_at + wait;
        let sample = Turn::Sample { client, check, parts, answer_at: *asked_until };
        self.agenda.at(begins_at + wait / 2, Due::Broker(sample));
    }

    /// A process dies, or is over: its client says nothing more, and leaves no group.
    pub fn crash(&mut self, ground: &mut Ground, who: Life) {
        for id in 0..self.clients.len() {
            if self.clients[id].who == who && !self.clients[id].is_gone {
                self.fall_silent(ground, id);
                self.clients[id].is_gone = true;
            }
        }
    }

    /// A process stands still; its client sends no heartbeat.
    pub fn freeze(&mut self, ground: &mut Ground, who: Life) {
        for id in 0..self.clients.len() {
            if self.clients[id].who == who {
                self.fall_silent(ground, id);
                self.clients[id].is_frozen = true;
            }
        }
    }

    /// It goes on.
    pub fn thaw(&mut self, ground: &mut Ground, who: Life) {
        for id in 0..self.clients.len() {
            let client = &mut self.clients[id];
            if client.who == who && client.is_frozen {
                client.is_frozen = false;
                // A client that was left behind says nothing, however awake its process is.
                client.silence += u32::from(client.is_member());
                self.resume(ground, id);
            }
        }
    }

    /// What was held for a client happens now, and it hears what it missed.
    fn resume(&mut self, ground: &mut Ground, id: ClientId) {
        let now = ground.now();
        for (holder, step) in std::mem::take(&mut self.held) {
            if holder == id { self.plan(now, id, step) } else { self.held.push((holder, step)) }
        }
        self.plan_hearing(ground, id);
    }

    /// When something happens next by itself; `None` when nothing will.
    #[must_use]
    pub fn next_due(&self) -> Option<u64> {
        self.agenda.next_due()
    }

    /// Lets everything happen that is due by the ground's time; what reducers are to be told is appended.
    pub fn advance(&mut self, ground: &mut Ground, told: &mut Vec<Told>) {
        while let Some(due) = self.agenda.take(ground.now()) {
            match due {
                Due::Client(id, step) => {
                    let client = &self.clients[id];
                    if client.is_gone {
                        continue;
                    }
                    if client.holds(&step) {
                        self.held.push((id, step));
                        continue;
                    }
                    let who = client.who;
                    if let Some(event) = self.step(ground, id, step) {
                        told.push((who, event));
                    }
                }
                Due::Broker(turn) => self.turn(ground, turn),
            }
        }
    }

    fn step(&mut self, ground: &mut Ground, id: ClientId, step: Step) -> Option<Event> {
        Some(match step {
            Step::Hear => {
                self.hear(ground, id);
                return None;
            }
            Step::Sync { generation } => {
                self.sync(ground, id, generation);
                return None;
            }
            Step::Tell(callback) => callback.event(self.clients[id].member),
            Step::TellLate => {
                let callback = self.clients[id].late.take()?;
                callback.event(self.clients[id].member)
            }
            Step::Sought { tenure } => {
                self.fetch(ground, id, tenure);
                Event::Sought { tenure }
            }
            Step::NotSought { tenure, why } => {
                Event::SeekFailed { tenure, failure: Failure::Again(why.to_owned()) }
            }
            Step::Serve { tenure, ask } => return self.serve(ground, id, tenure, ask),
            Step::Empty { tenure } => Event::PollEmpty { tenure },
            Step::Probe { tenure, from } => self.probed(ground, tenure, from),
            Step::Checked { check, sight } => Event::Checked { check, sight },
            Step::Unchecked { check } => {
                Event::CheckFailed { check, failure: Failure::Again("no broker answered".to_owned()) }
            }
            Step::Closed => Event::Closed,
        })
    }

    fn turn(&mut self, ground: &mut Ground, turn: Turn) {
        match turn {
            Turn::Sample { client, check, parts, answer_at } => {
                if !self.clients[client].is_gone {
                    let who = self.clients[client].who;
                    let seen = self.topic.look(ground, who, parts);
                    let step = seen.map_or(Step::Unchecked { check }, |sight| Step::Checked { check, sight });
                    self.plan(answer_at, client, step);
                }
            }
            Turn::SessionOver { client, silence } => {
                if self.clients[client].silence == silence {
                    self.leave(ground, client);
                }
            }
            Turn::RoundOver { round } => self.end_round(ground, round),
            Turn::Settle => self.settle(ground),
            Turn::Rebalance => {
                self.rebalance(ground, None);
            }
            Turn::StrangerLeaves => self.vacate(ground, None),
            Turn::Storm { left } => self.storm(ground, left),
            Turn::PollIntervalOver { client } => self.poll_interval_over(ground, client),
            Turn::Served { client } => self.served(ground, client),
            Turn::LeaderBack { partition } => {
                self.topic.changed();
                self.stir(ground, partition);
            }
            Turn::TransactionOver { partition, is_committed } => {
                self.close_transaction(ground, partition, is_committed);
            }
        }
    }

    /// The faults are over: every leader is there, transactions end, late callbacks arrive.
    pub fn heal(&mut self, ground: &mut Ground) {
        let now = ground.now();
        self.topic.heal();
        for partition in (0..ground.chronicle.truth.current_partitions).map(Partition) {
            self.close_transaction(ground, partition, false);
            self.stir(ground, partition);
        }
        for id in 0..self.clients.len() {
            self.plan(now, id, Step::TellLate);
            self.served(ground, id);
        }
        self.group.calm();
        self.vacate(ground, None);
        self.settle(ground);
    }

    fn plan(&mut self, at: u64, id: ClientId, step: Step) {
        self.agenda.at(at, Due::Client(id, step));
    }
}

impl Callback {
    fn event(self, member: u32) -> Event {
        let rebalance = RebalanceId { member, number: self.number };
        match self.kind {
            callback::Kind::Assigned => Event::Assigned { rebalance, partitions: self.span.partitions() },
            callback::Kind::Revoked => Event::Revoked { rebalance, partitions: self.span.partitions() },
            callback::Kind::Lost => Event::Lost { rebalance },
        }
    }
}
