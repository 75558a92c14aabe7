//! S27, exit truth: who ends well leaves nothing open, and who leaves something open says what.

use amends_core::ids::{Partition, TenureId};
use amends_core::lifecycle::command::{Command, Timer};
use amends_core::lifecycle::event::Event;
use amends_core::lifecycle::stop::StopReason;

use super::{Check, Verdict};
use crate::fact::{Fact, Op};
use crate::few::Few;
use crate::life::Life;
use crate::truth::{Tenancy, Truth};

/// Outcomes that nobody read yet.
#[derive(Default)]
pub struct ExitTruth {
    /// The newest tenure of the partition whose outcome is open.
    open: Few<(Life, Partition), u32>,
    /// What was open of a tenure when its process began to drain: it may be read after the reason was given.
    doubted: Few<(Life, TenureId), Op>,
}

impl Check for ExitTruth {
    const NAME: &'static str = "S27";
    const CLAIM: &'static str = "an orderly end leaves nothing in flight or open, and an unresolved one names partition, range and epoch";

    #[inline(always)]
    fn see(&mut self, fact: &Fact<'_>, truth: &Truth) -> Verdict {
        match fact {
            Fact::Delivered { who, event } => {
                self.delivered(*who, event);
                Ok(())
            }
            Fact::Commanded { who, command: Command::Wait { timer: Timer::Drain, .. } } => {
                self.drained(*who, truth);
                Ok(())
            }
            Fact::Commanded { who, command: Command::Stop { reason } } => self.stopped(*who, reason, truth),
            Fact::Exited { who } => match truth.processes.get(who).map(|process| &process.stopped) {
                Some(None) => Err(format!("{who} exits, and did not say why")),
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }
}

impl ExitTruth {
    fn delivered(&mut self, who: Life, event: &Event) {
        match event {
            Event::ClaimUnknown { tenure, .. } | Event::CommitUnknown { tenure, .. } => {
                self.open.insert((who, tenure.partition), tenure.number);
            }
            // Whoever got the row's lock knows that what came before it has ended.
            Event::Claimed { tenure, .. } | Event::Observed { tenure, .. } => {
                let key = (who, tenure.partition);
                if self.open.get(&key).is_some_and(|number| *number <= tenure.number) {
                    self.open.remove(&key);
                }
            }
            _ => {}
        }
    }

    fn drained(&mut self, who: Life, truth: &Truth) {
        let Some(process) = truth.processes.get(&who) else { return };
        for (id, tenancy) in process.tenancies.iter() {
            if let Some(op) = open_of(tenancy) {
                self.doubted.insert((who, *id), op);
            }
        }
    }

    fn stopped(&self, who: Life, reason: &StopReason, truth: &Truth) -> Verdict {
        let Some(process) = truth.processes.get(&who) else { return Ok(()) };
        if let StopReason::Unresolved { tenure, epoch, offsets, .. } = reason {
            let Some(tenancy) = process.tenancies.get(tenure) else {
                return Err(format!("{who} stops over {tenure}, which it never had"));
            };
            let op = open_of(tenancy).or_else(|| self.doubted.get(&(who, *tenure)).copied());
            let sent = tenancy.sent.filter(|_| op == Some(Op::Process));
            let names =
                (sent.map(|(_, _, token)| token.epoch), sent.map(|(range, ..)| (range.first, range.last)));
            if names != (*epoch, *offsets) {
                return Err(format!(
                    "{who} {tenure} is unresolved under epoch {:?} over {:?}, and names {epoch:?} and {offsets:?}",
                    names.0, names.1
                ));
            }
        }
        if !reason.is_orderly() {
            return Ok(());
        }
        if let Some(((_, partition), number)) = self.open.iter().find(|((other, _), _)| *other == who) {
            let tenure = TenureId { partition: *partition, number: *number };
            return Err(format!("{who} stops with {}, and an outcome of {tenure} is unknown", reason.code()));
        }
        let in_flight = process.tenancies.iter().find_map(|(id, tenancy)| {
            let op = tenancy.in_flight.map(|in_flight| in_flight.op)?;
            (op != Op::Observe).then_some((id, op))
        });
        match in_flight {
            Some((tenure, op)) => {
                Err(format!("{who} stops with {}, and {op:?} of {tenure} is in flight", reason.code()))
            }
            None => Ok(()),
        }
    }
}

/// The question whose outcome nobody has told the process yet.
fn open_of(tenancy: &Tenancy) -> Option<Op> {
    tenancy.open.or(tenancy.in_flight.map(|in_flight| in_flight.op))
}
