//! S19, the rebalance gate: every ticket comes back once, and every callback is answered once, in time, with none out.

use amends_core::ids::{RebalanceId, TenureId};
use amends_core::lifecycle::command::{Command, Timer};
use amends_core::lifecycle::event::Event;

use super::due::Due;
use super::{Check, Verdict};
use crate::fact::Fact;
use crate::few::Few;
use crate::life::Life;
use crate::truth::{Process, Truth};

const REBALANCE_MS: u64 = 20_000;
/// Timers are not quite exact.
const LATE_MS: u64 = 500;

/// The callbacks that wait, and the tickets that must be back when the step is over.
#[derive(Default)]
pub struct Gate {
    waiting: Few<Life, Waiting>,
    due: Due<Life>,
    /// Whose client closes: nothing waits for an answer of it any more.
    closed: Few<Life, ()>,
    /// Whose ticket the step must give back.
    owing: Option<TenureId>,
}

struct Waiting {
    rebalance: RebalanceId,
    kind: Kind,
    since: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Assigned,
    Revoked,
    Lost,
}

impl Check for Gate {
    const NAME: &'static str = "S19";
    const CLAIM: &'static str = "every answered poll gives its ticket back once, and every callback is answered once within 20 s, with none out";

    #[inline(always)]
    fn see(&mut self, fact: &Fact<'_>, truth: &Truth) -> Verdict {
        match fact {
            Fact::Delivered { who, event } => self.delivered(*who, event, truth),
            Fact::Commanded { who, command } => self.commanded(*who, command, truth)?,
            Fact::Settled { who } => self.settled(*who, truth)?,
            Fact::Crashed { who } | Fact::Exited { who } => {
                self.waiting.remove(who);
                self.closed.remove(who);
            }
            _ => {}
        }
        let Some(who) = self.due.late(fact, truth, LATE_MS) else { return Ok(()) };
        let Some(Waiting { rebalance, kind, since }) = self.waiting.get(&who) else { return Ok(()) };
        Err(format!("{who} left callback {rebalance} ({kind:?} at {since}ms) without an answer"))
    }
}

impl Gate {
    fn delivered(&mut self, who: Life, event: &Event, truth: &Truth) {
        let (rebalance, kind) = match event {
            Event::Assigned { rebalance, .. } => (*rebalance, Kind::Assigned),
            Event::Revoked { rebalance, .. } => (*rebalance, Kind::Revoked),
            Event::Lost { rebalance } => (*rebalance, Kind::Lost),
            Event::Polled { tenure, .. } | Event::PollEmpty { tenure } | Event::PollFailed { tenure, .. } => {
                let is_over = |process: &Process| {
                    let tenancy = process.tenancies.get(tenure);
                    tenancy.is_none_or(|tenancy| tenancy.is_retired || !tenancy.is_own())
                };
                if truth.processes.get(&who).is_some_and(is_over) {
                    self.owing = Some(*tenure);
                }
                return;
            }
            _ => return,
        };
        let is_next = truth.processes.get(&who).is_some_and(|process| process.is_next(rebalance));
        if !is_next || self.closed.get(&who).is_some() {
            return;
        }
        self.waiting.insert(who, Waiting { rebalance, kind, since: truth.now });
        // Nobody waits for a member that lost its partitions, and nothing has to end first.
        let within = if kind == Kind::Lost { 0 } else { REBALANCE_MS };
        self.due.set(who, truth.now + within + LATE_MS);
    }

    fn commanded(&mut self, who: Life, command: &Command, truth: &Truth) -> Verdict {
        match command {
            Command::AllowRebalance { tenure } => {
                let tickets = truth.tenancy(who, *tenure).map_or(0, |tenancy| tenancy.tickets);
                if tickets == 0 {
                    return Err(format!("{who} {tenure} gives back a ticket that is not out"));
                }
            }
            Command::Poll { tenure, .. }
                if truth.tenancy(who, *tenure).is_some_and(|tenancy| tenancy.tickets > 0) =>
            {
                return Err(format!("{who} {tenure} polls, and the ticket of the last poll is out"));
            }
            Command::Retire { tenure } => self.owing = Some(*tenure),
            Command::Assign { rebalance, .. } => return self.answered(who, *rebalance, true, truth),
            Command::Unassign { rebalance } => return self.answered(who, *rebalance, false, truth),
            // The member leaves: its callbacks are answered by that. While a stream drains the gate stays.
            Command::Rejoin { .. } | Command::Close => {
                self.waiting.remove(&who);
                self.due.clear(&who);
                if matches!(command, Command::Close) {
                    self.closed.insert(who, ());
                }
            }
            // An assignment is answered within the budgets of its tenures; they end with the stream.
            Command::Wait { timer: Timer::Drain, .. }
                if self.waiting.get(&who).is_some_and(|waiting| waiting.kind == Kind::Assigned) =>
            {
                self.due.clear(&who);
            }
            _ => {}
        }
        Ok(())
    }

    fn answered(&mut self, who: Life, rebalance: RebalanceId, by_assign: bool, truth: &Truth) -> Verdict {
        let waiting = self.waiting.remove(&who);
        self.due.clear(&who);
        let fits = |waiting: &Waiting| {
            waiting.rebalance == rebalance && (waiting.kind == Kind::Assigned) == by_assign
        };
        let Some(waiting) = waiting.filter(fits) else {
            return Err(format!("{who} answers callback {rebalance}, which does not wait for that"));
        };
        let is_free = waiting.kind != Kind::Revoked || truth.now + LATE_MS >= waiting.since + REBALANCE_MS;
        let Some(process) = truth.processes.get(&who).filter(|_| !is_free) else { return Ok(()) };
        match process.tenancies.iter().find(|(_, tenancy)| tenancy.tickets > 0) {
            Some((id, _)) => {
                Err(format!("{who} lets the group go on with {rebalance}, and a ticket of {id} is out"))
            }
            None => Ok(()),
        }
    }

    fn settled(&mut self, who: Life, truth: &Truth) -> Verdict {
        let Some(tenure) = self.owing.take() else { return Ok(()) };
        match truth.tenancy(who, tenure).map_or(0, |tenancy| tenancy.tickets) {
            0 => Ok(()),
            tickets => Err(format!("{who} {tenure} is over, and {tickets} of its tickets are out")),
        }
    }
}
