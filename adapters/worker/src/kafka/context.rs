//! Knows what runs inside the client's callbacks: they post, ring and note, and never wait.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::Sender;

use amends_core::ids::{Partition, RebalanceId};
use amends_core::lifecycle::event::Event;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::{ClientContext, TopicPartitionList};
use rdkafka_sys::RDKafkaRespErr;

use super::member::Order;
use super::watch::Watch;
use super::{Deliver, Delivery};

/// Wakes the thread, once until it has looked.
#[derive(Clone)]
pub(super) struct Bell {
    rung: Arc<AtomicBool>,
    inbox: Sender<Order>,
}

impl Bell {
    pub(super) fn new(inbox: Sender<Order>) -> Self {
        Self { rung: Arc::new(AtomicBool::new(false)), inbox }
    }

    /// The thread looks now: what comes in from here on rings again.
    pub(super) fn hush(&self) {
        self.rung.store(false, Ordering::Release);
    }

    pub(super) fn ring(&self) {
        if !self.rung.swap(true, Ordering::AcqRel) {
            // A thread that is gone needs no waking.
            let _ = self.inbox.send(Order::Wake);
        }
    }
}

/// What the client's callbacks know.
pub(super) struct Context {
    pub(super) watch: Watch,
    pub(super) member: u32,
    callbacks: AtomicU32,
    /// A callback waits for its `assign` or `unassign`.
    unanswered: AtomicBool,
    /// A callback came since the thread last looked: every queue is to be emptied.
    rebalanced: AtomicBool,
    /// The client is closing: callbacks answer themselves, so that leaving the group succeeds.
    gate_open: AtomicBool,
    deliver: Deliver,
}

impl ClientContext for Context {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, text: &str) {
        self.watch.log(level, facility, text);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        self.watch.note(&error, reason);
    }
}

impl ConsumerContext for Context {
    /// Posts the event and returns. A client that is closing waits for nobody, and nobody hears of it.
    fn rebalance(
        &self,
        client: &BaseConsumer<Self>,
        kind: RDKafkaRespErr,
        partitions: &mut TopicPartitionList,
    ) {
        self.unanswered.store(true, Ordering::Release);
        if self.gate_open.load(Ordering::Acquire) {
            return self.give_up(client);
        }
        let number = self.callbacks.fetch_add(1, Ordering::AcqRel) + 1;
        let rebalance = RebalanceId { member: self.member, number };
        let listed: BTreeSet<Partition> = (partitions.elements().iter())
            .filter_map(|element| u32::try_from(element.partition()).ok().map(Partition))
            .collect();
        let partitions = listed.into_iter().collect();
        let event = if kind == RDKafkaRespErr::RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS {
            Event::Assigned { rebalance, partitions }
        } else if client.assignment_lost() {
            Event::Lost { rebalance }
        } else {
            Event::Revoked { rebalance, partitions }
        };
        self.rebalanced.store(true, Ordering::Release);
        (self.deliver)(Delivery::of(event));
    }
}

impl Context {
    pub(super) fn new(member: u32, deliver: Deliver) -> Self {
        Self {
            watch: Watch::default(),
            member,
            callbacks: AtomicU32::new(0),
            unanswered: AtomicBool::new(false),
            rebalanced: AtomicBool::new(false),
            gate_open: AtomicBool::new(false),
            deliver,
        }
    }

    /// A callback came since the last call.
    pub(super) fn was_rebalanced(&self) -> bool {
        self.rebalanced.swap(false, Ordering::AcqRel)
    }

    /// The callback has its answer.
    pub(super) fn answered(&self) {
        self.unanswered.store(false, Ordering::Release);
    }

    /// From here on callbacks answer themselves.
    pub(super) fn open_gate(&self) {
        self.gate_open.store(true, Ordering::Release);
    }

    /// Lets the group go on without this member.
    pub(super) fn give_up(&self, client: &BaseConsumer<Self>) {
        if self.unanswered.swap(false, Ordering::AcqRel)
            && let Err(error) = client.unassign()
        {
            tracing::debug!("could not give up the assignment while closing: {error}");
        }
    }

    /// An error in the client's words, with the reason that came with it.
    pub(super) fn explain(&self, error: &KafkaError) -> String {
        let code = error.rdkafka_error_code().filter(|code| *code != RDKafkaErrorCode::NoError);
        match (code, self.watch.complaint()) {
            (Some(code), Some(reason)) => format!("{code}: {reason}"),
            (Some(code), None) => code.to_string(),
            (None, _) => error.to_string(),
        }
    }
}
