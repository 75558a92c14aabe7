//! Knows one member of the consumer group: the thread that makes all calls of its client.
//!
//! The thread waits on one inbox for everything: orders, a record that came into an empty queue, an event of the client.
//! A rebalance callback posts its event and returns; the group then waits, with heartbeats going on, until an order
//! (`Assign`, `Unassign`) answers it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use amends_core::ids::{Frontier, Partition, TenureId};
use amends_core::lifecycle::event::{Event, Failure};
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use rdkafka::{Offset, TopicPartitionList};

use super::config::unmade;
use super::context::{Bell, Context};
use super::queue::{Lane, Waiting};
use super::watch;
use super::{Deliver, Delivery, Pipeline};

/// How long a closed client may take to leave its group before it is left behind.
const CLOSE_WITHIN: Duration = Duration::from_secs(5);

/// The longest that one seek may block the other lanes.
const SEEK_WITHIN: Duration = Duration::from_secs(2);

/// The client is served at least this often, whether or not it called.
const TICK: Duration = Duration::from_millis(20);

/// What a member is told.
pub(super) enum Order {
    Assign {
        positions: Vec<(TenureId, Frontier)>,
    },
    Unassign,
    Seek {
        tenure: TenureId,
        frontier: Frontier,
        within: Duration,
    },
    Poll(Waiting),
    Retire {
        tenure: TenureId,
    },
    /// Nothing follows it.
    Close,
    /// Something may have come in.
    Wake,
}

impl Order {
    /// What is said to an order that no member is there to carry out.
    pub(super) fn refuse(self, deliver: &Deliver) {
        let gone = || Failure::Again("the client has left its group".to_owned());
        match self {
            Self::Assign { positions } => {
                for (tenure, _) in positions {
                    deliver(Delivery::of(Event::SeekFailed { tenure, failure: gone() }));
                }
            }
            Self::Seek { tenure, .. } => deliver(Delivery::of(Event::SeekFailed { tenure, failure: gone() })),
            Self::Poll(poll) => deliver(poll.empty()),
            Self::Unassign | Self::Retire { .. } | Self::Close | Self::Wake => {}
        }
    }
}

/// A running member.
pub(super) struct Member {
    /// Counts the joins.
    pub(super) number: u32,
    inbox: Sender<Order>,
    /// Hangs up when the client is gone.
    alive: Receiver<()>,
}

impl Member {
    /// Makes the client, joins the group and starts the thread.
    pub(super) fn join(pipeline: &Pipeline, number: u32, deliver: &Deliver) -> Result<Self, Failure> {
        let context = Context::new(number, deliver.clone());
        let config = pipeline.settings.member(&pipeline.group, pipeline.batch_records, pipeline.batch_bytes);
        let mut client: BaseConsumer<Context> =
            config.create_with_context(context).map_err(|error| unmade(&error))?;
        let (sender, inbox) = channel();
        let bell = Bell::new(sender.clone());
        client.set_nonempty_callback({
            let bell = bell.clone();
            move || bell.ring()
        });
        client.subscribe(&[&pipeline.topic]).map_err(|error| unmade(&error))?;
        let name = format!("kafka-member-{number}");
        let (living, alive) = channel();
        let member = Running {
            client: Arc::new(client),
            topic: pipeline.topic.clone(),
            deliver: deliver.clone(),
            lanes: BTreeMap::new(),
            homeless: Vec::new(),
            paused: BTreeSet::new(),
            has_failed: false,
            bell,
            living,
        };
        thread::Builder::new()
            .name(name)
            .spawn(move || member.run(&inbox))
            .map_err(|error| Failure::Broken(format!("could not start the client's thread: {error}")))?;
        Ok(Self { number, inbox: sender, alive })
    }

    /// Gives an order; it comes back when the thread is gone.
    pub(super) fn order(&self, order: Order) -> Result<(), Order> {
        self.inbox.send(order).map_err(|error| error.0)
    }

    /// Closes the client and tells it when it is gone or left behind, whatever its thread is stuck in: a call may hang,
    /// and so may dropping a client on a frozen broker.
    pub(super) fn close(self, answer: Option<Deliver>) {
        // A thread that is gone does not read it.
        let _ = self.inbox.send(Order::Close);
        let tell = move || {
            if let Some(deliver) = &answer {
                deliver(Delivery::of(Event::Closed));
            }
        };
        let waiter = thread::Builder::new().name("kafka-close".to_owned()).spawn({
            let tell = tell.clone();
            move || {
                if self.alive.recv_timeout(CLOSE_WITHIN) == Err(RecvTimeoutError::Timeout) {
                    tracing::warn!(
                        "could not leave the group in {CLOSE_WITHIN:?}: the client is left behind"
                    );
                }
                tell();
            }
        });
        if waiter.is_err() {
            tell();
        }
    }
}

/// What the thread owns.
struct Running {
    client: Arc<BaseConsumer<Context>>,
    topic: String,
    deliver: Deliver,
    lanes: BTreeMap<Partition, Lane>,
    /// Polls of tenures that have no lane (any more): they end empty at their deadline.
    homeless: Vec<Waiting>,
    /// Retired partitions, still assigned.
    paused: BTreeSet<Partition>,
    has_failed: bool,
    bell: Bell,
    /// Dropped last.
    living: Sender<()>,
}

impl Running {
    fn run(mut self, inbox: &Receiver<Order>) {
        loop {
            // It cannot hang up: this thread rings it itself.
            let mut next = inbox.recv_timeout(self.nap()).ok();
            self.bell.hush();
            while let Some(order) = next {
                match order {
                    Order::Assign { positions } => self.assign(&positions),
                    Order::Unassign => self.unassign(),
                    Order::Seek { tenure, frontier, within } => self.seek(tenure, frontier, within),
                    Order::Poll(poll) => self.poll(poll),
                    Order::Retire { tenure } => self.retire(tenure),
                    Order::Wake => {}
                    Order::Close => return self.close(),
                }
                next = inbox.try_recv().ok();
            }
            self.serve_client();
            self.serve_lanes();
        }
    }

    /// How long nothing need be done.
    fn nap(&self) -> Duration {
        let polls = self.lanes.values().filter_map(|lane| lane.waiting).chain(self.homeless.iter().copied());
        let deadline = polls.map(|poll| poll.deadline).min();
        deadline.map_or(TICK, |deadline| deadline.saturating_duration_since(Instant::now()).min(TICK))
    }

    /// Runs the client's callbacks and reads its errors.
    fn serve_client(&mut self) {
        loop {
            // A record outside of the lanes' queues belongs to no tenure: only the error is kept.
            let polled = self.client.poll(Duration::ZERO).map(Result::err);
            let rebalanced = self.client.context().was_rebalanced();
            if rebalanced {
                self.empty_queues();
            }
            match polled {
                Some(Some(error)) => self.note(&error),
                Some(None) => {}
                // A callback ends the poll early: there may be more behind it.
                None if rebalanced || self.client.context().watch.was_stirred() => {}
                None => return,
            }
        }
    }

    fn serve_lanes(&mut self) {
        let now = Instant::now();
        let mut failed = None;
        for lane in self.lanes.values_mut() {
            let context = self.client.context();
            let answer = lane.serve(now, |error| {
                failed = Some(error.clone());
                context.explain(error)
            });
            if let Some(answer) = answer {
                (self.deliver)(answer);
            }
        }
        if let Some(error) = failed {
            self.note(&error);
        }
        for poll in self.homeless.extract_if(.., |poll| now >= poll.deadline) {
            (self.deliver)(poll.empty());
        }
    }

    /// Tells, once, that the client cannot go on; it mends all else by itself.
    fn note(&mut self, error: &KafkaError) {
        let is_fatal = matches!(error, KafkaError::MessageConsumptionFatal(_))
            || error.rdkafka_error_code().is_some_and(watch::is_final);
        if is_fatal && !self.has_failed {
            self.has_failed = true;
            let context = self.client.context();
            let (member, why) = (context.member, context.explain(error));
            (self.deliver)(Delivery::of(Event::ClientFailed { member, why }));
        }
    }

    /// Ends every lane; the polls that wait are answered now.
    fn empty_queues(&mut self) {
        for lane in std::mem::take(&mut self.lanes).into_values() {
            if let Some(poll) = lane.waiting {
                (self.deliver)(poll.empty());
            }
        }
    }

    /// One `assign` with absolute positions. The queues are split off first, so that no record can come out elsewhere.
    fn assign(&mut self, positions: &[(TenureId, Frontier)]) {
        self.empty_queues();
        let assigned = self.split(positions).and_then(|(list, lanes)| {
            self.resume();
            self.client.context().answered();
            self.client.assign(&list).map(|()| lanes)
        });
        match assigned {
            Ok(lanes) => {
                self.lanes = lanes;
                for &(tenure, _) in positions {
                    (self.deliver)(Delivery::of(Event::Sought { tenure }));
                }
            }
            Err(error) => {
                for &(tenure, _) in positions {
                    let failure = self.explain_seek(tenure, &error);
                    (self.deliver)(Delivery::of(Event::SeekFailed { tenure, failure }));
                }
            }
        }
    }

    fn split(
        &self,
        positions: &[(TenureId, Frontier)],
    ) -> KafkaResult<(TopicPartitionList, BTreeMap<Partition, Lane>)> {
        let mut list = TopicPartitionList::with_capacity(positions.len());
        let mut lanes = BTreeMap::new();
        for &(tenure, frontier) in positions {
            let number = i32::try_from(tenure.partition.0).unwrap_or(i32::MAX);
            list.add_partition_offset(&self.topic, number, Offset::Offset(frontier.0))?;
            let mut queue = (self.client.split_partition_queue(&self.topic, number))
                .ok_or_else(|| KafkaError::Subscription("no queue for the partition".to_owned()))?;
            let bell = self.bell.clone();
            queue.set_nonempty_callback(move || bell.ring());
            lanes.insert(tenure.partition, Lane::new(tenure, frontier, queue));
        }
        Ok((list, lanes))
    }

    fn unassign(&mut self) {
        self.empty_queues();
        self.resume();
        self.client.context().answered();
        if let Err(error) = self.client.unassign() {
            tracing::warn!(
                "could not give up the assignment: {error}; the group goes on without this member"
            );
        }
    }

    fn seek(&mut self, tenure: TenureId, frontier: Frontier, within: Duration) {
        let failure = match self.lanes.get_mut(&tenure.partition).filter(|lane| lane.tenure == tenure) {
            None => Some(Failure::Again(format!("could not seek {tenure}: it has no lane"))),
            Some(lane) => {
                lane.start_at(frontier);
                self.seek_to(tenure, frontier, within).err().map(|error| self.explain_seek(tenure, &error))
            }
        };
        (self.deliver)(Delivery::of(match failure {
            None => Event::Sought { tenure },
            Some(failure) => Event::SeekFailed { tenure, failure },
        }));
    }

    fn seek_to(&mut self, tenure: TenureId, frontier: Frontier, within: Duration) -> KafkaResult<()> {
        let mut list = TopicPartitionList::new();
        let number = i32::try_from(tenure.partition.0).unwrap_or(i32::MAX);
        list.add_partition_offset(&self.topic, number, Offset::Offset(frontier.0))?;
        // A wait of 0 would not tell whether it took.
        let within = within.clamp(Duration::from_millis(1), SEEK_WITHIN);
        let sought = self.client.seek_partitions(list, within)?;
        match sought.elements().iter().try_for_each(|element| element.error()) {
            Err(error) if error.rdkafka_error_code() == Some(RDKafkaErrorCode::State) => self.assign_afresh(),
            sought => sought,
        }
    }

    /// librdkafka stops fetching a partition for good at a reset error, and refuses to seek in it: only an `assign`
    /// starts it again. It names every lane where it stands, so that none moves. Should the group have begun to form
    /// again meanwhile, its callback empties every lane and waits for its own answer all the same.
    fn assign_afresh(&mut self) -> KafkaResult<()> {
        let mut list = TopicPartitionList::with_capacity(self.lanes.len());
        for (partition, lane) in &mut self.lanes {
            let position = lane.position();
            lane.start_at(position);
            let number = i32::try_from(partition.0).unwrap_or(i32::MAX);
            list.add_partition_offset(&self.topic, number, Offset::Offset(position.0))?;
        }
        self.client.assign(&list)
    }

    fn explain_seek(&self, tenure: TenureId, error: &KafkaError) -> Failure {
        let why = format!("could not seek {}/{tenure}: {error}", self.topic);
        match error.rdkafka_error_code() {
            Some(code) if watch::is_final(code) => Failure::Broken(why),
            Some(_) | None => Failure::Again(why),
        }
    }

    fn poll(&mut self, poll: Waiting) {
        match self.lanes.get_mut(&poll.tenure.partition).filter(|lane| lane.tenure == poll.tenure) {
            Some(lane) => {
                // Each question has its answer, also one that was never to be asked.
                if let Some(earlier) = lane.waiting.replace(poll) {
                    (self.deliver)(earlier.empty());
                }
            }
            None => self.homeless.push(poll),
        }
    }

    /// The partition stays assigned until the group takes it back, but is fetched no more.
    fn retire(&mut self, tenure: TenureId) {
        if self.lanes.get(&tenure.partition).is_none_or(|lane| lane.tenure != tenure) {
            return;
        }
        if let Some(poll) = self.lanes.remove(&tenure.partition).and_then(|lane| lane.waiting) {
            (self.deliver)(poll.empty());
        }
        if let Err(error) = self.client.pause(&self.list([tenure.partition])) {
            tracing::warn!("could not pause {}/{tenure}: {error}; its records are dropped", self.topic);
        }
        self.paused.insert(tenure.partition);
    }

    /// A pause outlives an assignment: it ends before the next one.
    fn resume(&mut self) {
        let paused = std::mem::take(&mut self.paused);
        if paused.is_empty() {
            return;
        }
        if let Err(error) = self.client.resume(&self.list(paused)) {
            tracing::warn!("could not resume the retired partitions of {}: {error}", self.topic);
        }
    }

    fn list(&self, partitions: impl IntoIterator<Item = Partition>) -> TopicPartitionList {
        let mut list = TopicPartitionList::new();
        for partition in partitions {
            list.add_partition(&self.topic, i32::try_from(partition.0).unwrap_or(i32::MAX));
        }
        list
    }

    /// Leaves the group and drops the client; every other handle of it went with the lanes.
    fn close(mut self) {
        self.empty_queues();
        for poll in std::mem::take(&mut self.homeless) {
            (self.deliver)(poll.empty());
        }
        self.client.context().open_gate();
        self.client.context().give_up(&self.client);
        drop(self.client);
        drop(self.living);
    }
}
