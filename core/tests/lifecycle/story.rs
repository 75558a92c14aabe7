//! Tells the reducer what happens and keeps the trace. A story says every answer itself.

use std::sync::Arc;

use amends_core::driver::{Driver, World};
use amends_core::ids::{
    ClaimId, Frontier, Incarnation, Moment, Offset, Partition, RebalanceId, TenureId, Token,
};
use amends_core::journal::Step;
use amends_core::lifecycle::command::{CheckId, CheckParts, Command, Timer};
use amends_core::lifecycle::event::{Event, Failure, Offsets, ProcessFailure};
use amends_core::lifecycle::stop::StopReason;
use amends_core::lifecycle::{Counters, Settings};
use amends_core::source::boundary::{Bounds, Declared, LogSpan, Sight, Sink, TopicSight};

/// A worker and the world around it, as far as a story has told it.
pub struct Story {
    driver: Driver,
    now: u64,
    pub source: Source,
    seen: Seen,
}

/// What the broker shows, until the story changes it.
#[derive(Clone)]
pub struct Source {
    pub topic: TopicSight,
    pub bounds: Bounds,
}

#[derive(Default)]
struct Seen {
    trace: String,
    /// The stream drains, closes or is over.
    is_ending: bool,
    commands: Vec<(u64, Command)>,
}

impl World for Seen {
    fn perform(&mut self, now: Moment, command: &Command) {
        self.is_ending |= matches!(
            command,
            Command::Wait { timer: Timer::Drain, .. } | Command::Close | Command::Stop { .. }
        );
        self.commands.push((now.0, command.clone()));
    }

    fn record(&mut self, step: &Step<'_>) {
        self.trace.push_str(&step.line("orders"));
        self.trace.push('\n');
    }
}

pub fn incarnation(first: u8) -> Incarnation {
    let mut bytes = [0; 16];
    bytes[0] = first;
    Incarnation::from_bytes(bytes).expect("not zero")
}

pub fn token(epoch: i64) -> Token {
    Token { epoch, claim_id: ClaimId(u128::try_from(epoch).expect("an epoch")) }
}

pub fn id(text: &str) -> TenureId {
    text.parse().expect("a tenure")
}

pub fn again(why: &str) -> Failure {
    Failure::Again(why.to_owned())
}

pub fn offsets(list: &[i64]) -> Offsets {
    Offsets::new(list.iter().copied().map(Offset).collect::<Arc<[_]>>())
}

impl Story {
    /// A worker of a topic with so many partitions, each with records 0 to 9.
    pub fn new(partitions: u32) -> Self {
        Self::with(partitions, Sink::Ledger, 2)
    }

    pub fn with(partitions: u32, sink: Sink, lanes: u32) -> Self {
        let log = LogSpan { start: Offset(0), end: Offset(10) };
        let count = usize::try_from(partitions).expect("small");
        Self {
            driver: Driver::new(Settings {
                topic: "orders".to_owned(),
                source: Declared { sink, incarnation: incarnation(7), partitions },
                lanes,
                batch_records: 500,
                batch_bytes: 4 << 20,
            }),
            now: 0,
            source: Source {
                topic: TopicSight::Known { incarnation: Some(incarnation(7)), partitions },
                bounds: Bounds {
                    cleanup_policy: "delete".to_owned(),
                    retention_ms: -1,
                    retention_bytes: -1,
                    unclean_leader_election: false,
                    logs: vec![Some(log); count],
                },
            },
            seen: Seen::default(),
        }
    }

    /// Time passes.
    pub fn after(&mut self, ms: u64) -> &mut Self {
        self.now += ms;
        self
    }

    /// It is so late.
    pub fn at(&mut self, ms: u64) -> &mut Self {
        self.now = ms;
        self
    }

    /// Something happens now.
    pub fn event(&mut self, event: Event) -> &mut Self {
        self.seen.commands.clear();
        self.driver.deliver(Moment(self.now), &event, &mut self.seen);
        self
    }

    /// The client gives the member these partitions.
    pub fn assigned(&mut self, number: u32, partitions: &[u32]) -> &mut Self {
        let partitions = partitions.iter().copied().map(Partition).collect();
        self.event(Event::Assigned { rebalance: RebalanceId { member: 1, number }, partitions })
    }

    pub fn revoked(&mut self, number: u32, partitions: &[u32]) -> &mut Self {
        let partitions = partitions.iter().copied().map(Partition).collect();
        self.event(Event::Revoked { rebalance: RebalanceId { member: 1, number }, partitions })
    }

    pub fn lost(&mut self, number: u32) -> &mut Self {
        self.event(Event::Lost { rebalance: RebalanceId { member: 1, number } })
    }

    /// The broker answers a check with what the story holds true.
    pub fn checked(&mut self, check: u64) -> &mut Self {
        let bounds =
            matches!(self.source.topic, TopicSight::Known { .. }).then(|| self.source.bounds.clone());
        let sight = Sight { topic: self.source.topic, bounds: bounds.map(Arc::new) };
        self.event(Event::Checked { check: CheckId(check), sight })
    }

    /// The broker answers a check with the identity only.
    pub fn checked_identity(&mut self, check: u64) -> &mut Self {
        let sight = Sight { topic: self.source.topic, bounds: None };
        self.event(Event::Checked { check: CheckId(check), sight })
    }

    pub fn claimed(&mut self, tenure: &str, epoch: i64, frontier: i64) -> &mut Self {
        self.event(Event::Claimed { tenure: id(tenure), token: token(epoch), frontier: Frontier(frontier) })
    }

    pub fn observed(&mut self, tenure: &str, epoch: i64, frontier: i64) -> &mut Self {
        let (token, frontier) = (Some(token(epoch)), Some(Frontier(frontier)));
        self.event(Event::Observed { tenure: id(tenure), token, frontier })
    }

    pub fn observe_failed(&mut self, tenure: &str) -> &mut Self {
        let failure = again("postgres did not answer in 5s");
        self.event(Event::ObserveFailed { tenure: id(tenure), failure })
    }

    pub fn sought(&mut self, tenure: &str) -> &mut Self {
        self.event(Event::Sought { tenure: id(tenure) })
    }

    pub fn polled(&mut self, tenure: &str, list: &[i64]) -> &mut Self {
        self.event(Event::Polled { tenure: id(tenure), offsets: offsets(list) })
    }

    pub fn poll_empty(&mut self, tenure: &str) -> &mut Self {
        self.event(Event::PollEmpty { tenure: id(tenure) })
    }

    pub fn committed(&mut self, tenure: &str) -> &mut Self {
        self.event(Event::Committed { tenure: id(tenure) })
    }

    pub fn commit_unknown(&mut self, tenure: &str) -> &mut Self {
        self.event(Event::CommitUnknown { tenure: id(tenure), why: "the connection was cut".to_owned() })
    }

    pub fn fenced(&mut self, tenure: &str, by: i64) -> &mut Self {
        self.event(Event::Fenced { tenure: id(tenure), by: Some(token(by)) })
    }

    pub fn process_failed(&mut self, tenure: &str, failure: ProcessFailure) -> &mut Self {
        self.event(Event::ProcessFailed { tenure: id(tenure), failure })
    }

    pub fn refused(&mut self, tenure: &str) -> &mut Self {
        self.process_failed(tenure, ProcessFailure::Refused("22021".to_owned()))
    }

    pub fn expired(&mut self, timer: Timer) -> &mut Self {
        self.event(Event::Expired { timer })
    }

    pub fn retry(&mut self, tenure: &str, wait: u32) -> &mut Self {
        self.expired(Timer::Retry { tenure: id(tenure), wait })
    }

    /// One partition, owned under epoch 1 and polling at `frontier`.
    pub fn polling(frontier: i64) -> Self {
        let mut story = Self::new(1);
        story.assigned(1, &[0]).after(2).checked(1);
        story.after(3).claimed("0#1", 1, frontier).observed("0#1", 1, frontier);
        story.after(1).checked(2).after(1).sought("0#1");
        story
    }

    /// One partition with records 0 to 2 in process.
    pub fn processing() -> Self {
        let mut story = Self::polling(0);
        story.after(1).polled("0#1", &[0, 1, 2]).after(1).checked(3);
        story
    }

    /// The commands of the last event.
    pub fn commands(&self) -> Vec<&Command> {
        self.seen.commands.iter().map(|(_, command)| command).collect()
    }

    /// Whether the last event was followed by this command, as it prints; another tenure's begins with its name.
    pub fn says(&self, command: &str) -> bool {
        let is_it = |asked: &&Command| {
            let text = asked.to_string();
            let named = asked.tenure().map(|tenure| format!("{tenure} {text}"));
            text == command || named.is_some_and(|named| named == command)
        };
        self.commands().iter().any(is_it)
    }

    /// Whether the stream began to end; `stopped` is told only when it has closed.
    pub fn is_ending(&self) -> bool {
        self.seen.is_ending
    }

    pub fn stopped(&self) -> Option<&StopReason> {
        self.driver.stopped()
    }

    /// What changed nothing, so far.
    pub fn counters(&self) -> Counters {
        self.driver.lifecycle().counters()
    }

    pub fn trace(&self) -> &str {
        &self.seen.trace
    }

    /// How much the last check was asked for.
    pub fn last_check(&self) -> Option<CheckParts> {
        self.seen.commands.iter().rev().find_map(|(_, command)| match command {
            Command::Check { parts, .. } => Some(*parts),
            _ => None,
        })
    }

    /// Drains to the end and tells why the worker stopped.
    pub fn close(&mut self) -> String {
        self.event(Event::Closed);
        self.stopped().map(ToString::to_string).unwrap_or_default()
    }
}
