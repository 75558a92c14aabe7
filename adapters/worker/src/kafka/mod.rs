//! Knows Kafka: carries out what the reducer asks of it and answers each question with exactly one event. Nothing here
//! chooses a position or judges an answer.
//!
//! Threads: one member (all calls of the group's client), one source (checks), one for each probe and each closing.

use std::sync::Arc;
use std::time::{Duration, Instant};

use amends_core::ids::RebalanceId;
use amends_core::lifecycle::command::Command;
use amends_core::lifecycle::event::{Event, Failure};
use amends_core::source::record::Record;

mod config;
mod context;
mod describe;
mod member;
mod producer;
mod queue;
mod reader;
mod source;
mod topic;
mod watch;

pub use config::{Settings, SettingsError};
pub use producer::{Outcome, Publisher, Report};
pub use reader::Reader;
pub use source::{LOOK_WITHIN, Source};
pub use topic::{Creation, NewTopic, create};

use member::{Member, Order};
use queue::Waiting;
use source::SourceThread;

/// An event on its way to the reducer and, beside a `Polled`, its records in the same order.
#[derive(Debug)]
pub struct Delivery {
    /// What happened.
    pub event: Event,
    /// The records whose offsets a `Polled` names; `None` with every other event.
    pub records: Option<Arc<[Record]>>,
}

impl Delivery {
    fn of(event: Event) -> Self {
        Self { event, records: None }
    }
}

/// Takes deliveries, from several threads; it must not wait.
pub type Deliver = Arc<dyn Fn(Delivery) + Send + Sync>;

/// What one pipeline reads, and as whom.
#[derive(Clone, Debug)]
pub struct Pipeline {
    /// How to reach the brokers.
    pub settings: Settings,
    /// The source topic.
    pub topic: String,
    /// The consumer group.
    pub group: String,
    /// The most records of one batch; about twice as many are fetched ahead for each partition.
    pub batch_records: u32,
    /// The most bytes of one batch; about twice as many are fetched ahead for each partition.
    pub batch_bytes: u64,
}

/// The Kafka side of a worker's world.
pub struct KafkaWorld {
    pipeline: Pipeline,
    deliver: Deliver,
    source: SourceThread,
    member: Option<Member>,
}

impl KafkaWorld {
    /// Starts the source's thread and joins the group as member 1. Nothing is waited for: what happens is delivered.
    ///
    /// # Errors
    /// `Broken` when librdkafka makes no client of these settings, or no thread can be started.
    pub fn start(pipeline: Pipeline, deliver: Deliver) -> Result<Self, Failure> {
        let source = Source::new(&pipeline.settings, &pipeline.topic)?;
        let source = SourceThread::start(source, deliver.clone())
            .map_err(|error| Failure::Broken(format!("could not start a thread: {error}")))?;
        let member = Member::join(&pipeline, 1, &deliver)?;
        Ok(Self { pipeline, deliver, source, member: Some(member) })
    }

    /// Starts what the command asks, when it is Kafka's: `Check`, `Assign`, `Unassign`, `Seek`, `Probe`, `Poll`,
    /// `Retire`, `Rejoin` and `Close`. Returns at once; `false` means that the command is somebody else's. `Retire` and
    /// `Close` may be others' as well.
    pub fn perform(&mut self, command: &Command) -> bool {
        match command {
            Command::Check { check, parts } => {
                if !self.source.check(*check, *parts) {
                    let failure = Failure::Broken("could not check: the source's thread is gone".to_owned());
                    self.tell(Event::CheckFailed { check: *check, failure });
                }
            }
            Command::Assign { rebalance, positions } => {
                self.answer(*rebalance, Order::Assign { positions: positions.clone() });
            }
            Command::Unassign { rebalance } => self.answer(*rebalance, Order::Unassign),
            Command::Seek { tenure, frontier, within_ms } => {
                let within = Duration::from_millis(*within_ms);
                self.order(Order::Seek { tenure: *tenure, frontier: *frontier, within });
            }
            Command::Probe { tenure, frontier, within_ms } => {
                let Pipeline { settings, topic, .. } = self.pipeline.clone();
                let within = Duration::from_millis(*within_ms);
                reader::probe(settings, topic, *tenure, *frontier, within, self.deliver.clone());
            }
            Command::Poll { tenure, records, bytes, wait_ms } => {
                let deadline = Instant::now() + Duration::from_millis(*wait_ms);
                let (tenure, records, bytes) = (*tenure, *records, *bytes);
                self.order(Order::Poll(Waiting { tenure, records, bytes, deadline }));
            }
            Command::Retire { tenure } => self.order(Order::Retire { tenure: *tenure }),
            Command::Rejoin { member } => self.rejoin(*member),
            Command::Close => match self.member.take() {
                Some(member) => member.close(Some(self.deliver.clone())),
                None => self.tell(Event::Closed),
            },
            Command::Claim { .. }
            | Command::Observe { .. }
            | Command::Process { .. }
            | Command::Wait { .. }
            | Command::Cancel { .. }
            | Command::AllowRebalance { .. }
            | Command::Stop { .. } => return false,
        }
        true
    }

    fn rejoin(&mut self, number: u32) {
        // The old client leaves in its own time, and its late events carry its old number.
        self.leave();
        match Member::join(&self.pipeline, number, &self.deliver) {
            Ok(member) => self.member = Some(member),
            Err(Failure::Unreached(why) | Failure::Again(why) | Failure::Broken(why)) => {
                self.tell(Event::ClientFailed { member: number, why });
            }
        }
    }

    fn leave(&mut self) {
        if let Some(member) = self.member.take() {
            member.close(None);
        }
    }

    /// A callback is answered to the member that was called back, or to nobody.
    fn answer(&self, rebalance: RebalanceId, order: Order) {
        match &self.member {
            Some(member) if member.number == rebalance.member => self.order(order),
            Some(_) | None => order.refuse(&self.deliver),
        }
    }

    fn order(&self, order: Order) {
        let refused = match &self.member {
            Some(member) => member.order(order).err(),
            None => Some(order),
        };
        if let Some(order) = refused {
            order.refuse(&self.deliver);
        }
    }

    fn tell(&self, event: Event) {
        (self.deliver)(Delivery::of(event));
    }
}

impl Drop for KafkaWorld {
    /// The member's inbox never hangs up by itself: the client's callbacks hold it too.
    fn drop(&mut self) {
        self.leave();
    }
}
