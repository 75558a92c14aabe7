//! Knows one member's client: which callback waits for its answer, what it holds, and where each lane reads.

use amends_core::ids::{Incarnation, Offset, TenureId};

use super::Step;
use super::callback::Callback;
use super::group::Span;
use crate::life::Life;
use crate::truth::Log;

/// A client, by its place in the order of their beginnings.
pub(super) type ClientId = usize;

pub(super) struct Client {
    pub(super) who: Life,
    /// Counts the process's joins, from 1.
    pub(super) member: u32,
    /// Callbacks so far.
    pub(super) callbacks: u32,
    /// The callback that waits for its answer; no other is served meanwhile.
    pub(super) pending: Option<u32>,
    /// What it holds, as far as it knows.
    pub(super) given: Span,
    pub(super) lanes: Vec<Lane>,
    /// Polls so far.
    pub(super) asks: u32,
    /// A callback that is posted, but has not reached the reducer.
    pub(super) late: Option<Callback>,
    /// A callback that comes behind the one after it.
    pub(super) withheld: Option<Callback>,
    /// Counts the times since when nothing is heard of it.
    pub(super) silence: u32,
    pub(super) is_frozen: bool,
    /// Its thread does not run; the rest of the process does.
    pub(super) is_starved: bool,
    /// It was closed: it takes no orders.
    pub(super) has_left: bool,
    /// It tells nothing more.
    pub(super) is_gone: bool,
}

impl Client {
    pub(super) fn new(who: Life, member: u32) -> Self {
        Self {
            who,
            member,
            callbacks: 0,
            pending: None,
            given: Span::default(),
            lanes: Vec::new(),
            asks: 0,
            late: None,
            withheld: None,
            silence: 0,
            is_frozen: false,
            is_starved: false,
            has_left: false,
            is_gone: false,
        }
    }

    /// Whether it is there to be called back.
    pub(super) fn is_member(&self) -> bool {
        !self.has_left && !self.is_gone
    }

    /// Whether a step must wait. Threads of their own make checks and probes, and wait for a close.
    pub(super) fn holds(&self, step: &Step) -> bool {
        let is_elsewhere =
            matches!(step, Step::Checked { .. } | Step::Unchecked { .. } | Step::Probe { .. } | Step::Closed);
        self.is_frozen || self.is_starved && !is_elsewhere
    }

    pub(super) fn lane(&mut self, tenure: TenureId) -> Option<&mut Lane> {
        self.lanes.iter_mut().find(|lane| lane.tenure == tenure)
    }
}

/// Which log, and how often it had been cut; nothing before the first fetch.
pub(super) type Source = Option<(Incarnation, u32)>;

/// Where one tenure reads.
pub(super) struct Lane {
    pub(super) tenure: TenureId,
    /// What is fetched next.
    pub(super) position: Offset,
    /// Fetched, but not given.
    pub(super) queue: Vec<Offset>,
    /// The log that they lie in.
    pub(super) source: Source,
    /// The position was found outside of the log: nothing is fetched until the next seek.
    pub(super) is_reset: bool,
    pub(super) waiting: Option<Waiting>,
}

/// A poll that waits for its answer.
#[derive(Clone, Copy)]
pub(super) struct Waiting {
    pub(super) ask: u32,
    pub(super) records: u32,
    pub(super) deadline: u64,
    /// The form in which F37 struck it.
    pub(super) misbehaves: Option<u32>,
}

impl Lane {
    pub(super) fn new(tenure: TenureId, position: Offset) -> Self {
        Self { tenure, position, queue: Vec::new(), source: None, is_reset: false, waiting: None }
    }

    pub(super) fn move_to(&mut self, position: Offset) {
        self.queue.clear();
        self.position = position;
        self.is_reset = false;
    }

    /// Fetches until so many records are queued, or all there are. What was fetched from another log is given first.
    pub(super) fn fetch(&mut self, incarnation: Incarnation, log: &Log, ahead: usize) {
        let missing = ahead.saturating_sub(self.queue.len());
        let source = Some((incarnation, log.cuts()));
        let is_elsewhere = !self.queue.is_empty() && self.source != source;
        if missing == 0 || is_elsewhere || self.is_reset || self.is_outside(log) {
            return;
        }
        self.source = source;
        let queued = self.queue.len();
        self.queue.extend(log.visible(self.position).take(missing));
        if let Some(last) = self.queue[queued..].last() {
            self.position = Offset(last.0 + 1);
        }
        // What is not visible is passed over as well.
        if self.queue.len() < ahead {
            self.position = self.position.max(log.stable_end());
        }
    }

    pub(super) fn is_outside(&self, log: &Log) -> bool {
        self.position < log.start() || self.position > log.end()
    }
}
