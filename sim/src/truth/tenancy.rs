//! Knows one tenure as the world gave it: what it was told, and what was asked for it.

use amends_core::ids::{Frontier, Offset, RebalanceId, Token};
use amends_core::lifecycle::command::{Command, Range};
use amends_core::lifecycle::event::{Event, Offsets, ProbeSight, ProcessFailure};

use crate::fact::Op;

/// Who has the partition, as the last delivered callback says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Own {
    /// This tenure.
    Assigned,
    /// The group took it.
    Revoked,
    /// It was lost.
    Lost,
    /// The stream ends, or its member leaves the group.
    Cancelled,
}

/// A store operation in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InFlight {
    /// Which.
    pub op: Op,
    /// The step at which it was asked for.
    pub step: u64,
    /// When.
    pub at: u64,
}

/// The records in hand.
#[derive(Clone, PartialEq, Debug)]
pub struct Batch {
    /// Their offsets.
    pub offsets: Offsets,
    /// The step of the poll's answer.
    pub step: u64,
    /// How many of them are decided.
    pub decided: u32,
}

/// One stretch of having a partition.
#[derive(Clone, Debug)]
pub struct Tenancy {
    /// The callback that gave it.
    pub generation: RebalanceId,
    /// When.
    pub since: u64,
    /// At which step.
    pub began: u64,
    /// Whose it is.
    pub own: Own,
    /// The revocation that took it.
    pub revoked_by: Option<RebalanceId>,
    /// That revocation was answered.
    pub is_acknowledged: bool,
    /// Its process retired it.
    pub is_retired: bool,
    /// The token of its last claim that was answered with success.
    pub claimed: Option<Token>,
    /// The same, once the row was read and showed it.
    pub read_back: Option<Token>,
    /// The frontier of the last answer that showed its own token.
    pub frontier: Option<Frontier>,
    /// The step at which the last question was asked whose answer told what stands in the row.
    pub told: u64,
    /// The store operation in flight.
    pub in_flight: Option<InFlight>,
    /// A claim or decision whose reply was lost and whose outcome was not read yet.
    pub open: Option<Op>,
    /// The last range sent, with the frontier that it expected.
    pub sent: Option<(Range, Frontier, Token)>,
    /// That range was refused for a record's data, or for its size.
    pub is_refused: bool,
    /// The records in hand.
    pub batch: Option<Batch>,
    /// Answered polls whose tickets are out.
    pub tickets: u32,
    /// A poll waits for its answer.
    pub is_polling: bool,
    /// Where it was sent by its last assign or seek.
    pub sought: Option<Frontier>,
    /// The step at which that was answered; `None` until then.
    pub arrived: Option<u64>,
    /// Something was decided since that seek, so that its client is where it was sent.
    pub is_proven: bool,
    /// What the last probe saw, until something was decided.
    pub probe: Option<ProbeSight>,
    /// The step of the last thing that a check must come after before a seek: its beginning, its claim read back, an
    /// answered poll or probe, a failed seek.
    pub unchecked: u64,
}

impl Tenancy {
    pub(super) fn new(generation: RebalanceId, now: u64, step: u64) -> Self {
        Self {
            generation,
            since: now,
            began: step,
            own: Own::Assigned,
            revoked_by: None,
            is_acknowledged: false,
            is_retired: false,
            claimed: None,
            read_back: None,
            frontier: None,
            told: 0,
            in_flight: None,
            open: None,
            sent: None,
            is_refused: false,
            batch: None,
            tickets: 0,
            is_polling: false,
            sought: None,
            arrived: None,
            is_proven: false,
            probe: None,
            unchecked: step,
        }
    }

    /// Whether it may begin something new.
    #[must_use]
    pub fn is_own(&self) -> bool {
        self.own == Own::Assigned
    }

    /// Whether its token stood in the row when it was read.
    #[must_use]
    pub fn is_read_back(&self) -> bool {
        self.claimed.is_some() && self.read_back == self.claimed
    }

    /// The offsets that a range names, when they are those in hand.
    #[must_use]
    pub fn named(&self, range: Range) -> Option<&[Offset]> {
        let (from, to) = (usize::try_from(range.from).ok()?, usize::try_from(range.to).ok()?);
        self.batch.as_ref()?.offsets.get(from..to)
    }
}

impl Tenancy {
    pub(super) fn delivered(&mut self, step: u64, event: &Event) {
        match event {
            Event::Claimed { .. }
            | Event::Observed { .. }
            | Event::Committed { .. }
            | Event::Fenced { .. }
            | Event::Moved { .. } => self.told = self.in_flight.map_or(self.told, |asked| asked.step),
            Event::Polled { .. }
            | Event::PollEmpty { .. }
            | Event::PollFailed { .. }
            | Event::Probed { .. }
            | Event::SeekFailed { .. } => self.unchecked = step,
            Event::ProcessFailed { failure, .. } => {
                self.is_refused = !matches!(failure, ProcessFailure::Attempt(_));
            }
            _ => {}
        }
        match event {
            Event::Claimed { token, frontier, .. } => {
                (self.in_flight, self.claimed, self.frontier) = (None, Some(*token), Some(*frontier));
            }
            Event::ClaimUnknown { .. } => (self.in_flight, self.open) = (None, Some(Op::Claim)),
            Event::CommitUnknown { .. } => (self.in_flight, self.open) = (None, Some(Op::Process)),
            Event::Observed { token, frontier, .. } => {
                (self.in_flight, self.open) = (None, None);
                if token.is_some() && *token == self.claimed {
                    if let (Some((range, expected, _)), Some(batch)) = (self.sent, self.batch.as_mut())
                        && *frontier == Some(range.last.frontier_after())
                        && *frontier != Some(expected)
                    {
                        batch.decided = batch.decided.max(range.to);
                    }
                    self.frontier = *frontier;
                    if self.read_back != self.claimed {
                        (self.read_back, self.unchecked) = (self.claimed, step);
                    }
                }
            }
            Event::Committed { .. } => {
                self.in_flight = None;
                if let Some((range, ..)) = self.sent {
                    self.frontier = Some(range.last.frontier_after());
                    if let Some(batch) = &mut self.batch {
                        batch.decided = range.to;
                    }
                }
            }
            Event::Sought { .. } => self.arrived = Some(step),
            Event::Probed { sight, .. } => self.probe = Some(*sight),
            Event::ClaimFailed { .. }
            | Event::ObserveFailed { .. }
            | Event::ProcessFailed { .. }
            | Event::Fenced { .. }
            | Event::Moved { .. } => self.in_flight = None,
            Event::Polled { offsets, .. } => {
                self.is_polling = false;
                self.tickets += 1;
                self.batch = Some(Batch { offsets: offsets.clone(), step, decided: 0 });
            }
            Event::PollEmpty { .. } | Event::PollFailed { .. } => {
                self.is_polling = false;
                self.tickets += 1;
                self.batch = None;
            }
            _ => {}
        }
    }

    pub(super) fn seeks(&mut self, frontier: Frontier) {
        (self.sought, self.arrived, self.is_proven) = (Some(frontier), None, false);
    }

    pub(super) fn commanded(&mut self, now: u64, step: u64, command: &Command) {
        let in_flight = |op| Some(InFlight { op, step, at: now });
        match command {
            Command::Claim { .. } => self.in_flight = in_flight(Op::Claim),
            Command::Observe { .. } => self.in_flight = in_flight(Op::Observe),
            Command::Process { range, expected, token, .. } => {
                self.in_flight = in_flight(Op::Process);
                self.sent = Some((*range, *expected, *token));
                (self.is_refused, self.is_proven, self.probe) = (false, true, None);
            }
            Command::Seek { frontier, .. } => self.seeks(*frontier),
            Command::Poll { .. } => self.is_polling = true,
            Command::AllowRebalance { .. } => {
                self.tickets = self.tickets.saturating_sub(1);
                self.batch = None;
            }
            Command::Retire { .. } => self.is_retired = true,
            _ => {}
        }
    }
}
