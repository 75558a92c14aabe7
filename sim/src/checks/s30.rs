//! S30, bounds before a gap: a gap is believed only when bounds that were asked for after its poll allow it.

use std::sync::Arc;

use amends_core::ids::TenureId;
use amends_core::lifecycle::command::{CheckParts, Command};
use amends_core::lifecycle::event::Event;
use amends_core::source::boundary::{Bounds, TopicSight};

use super::{Check, Verdict};
use crate::fact::Fact;
use crate::few::Few;
use crate::life::Life;
use crate::truth::Truth;

/// The last bounds that each process was shown of the declared topic, with every log in them.
#[derive(Default)]
pub struct GapsChecked {
    shown: Few<Life, (u64, Arc<Bounds>)>,
}

impl Check for GapsChecked {
    const NAME: &'static str = "S30";
    const CLAIM: &'static str = "a range with a gap is decided only after bounds whose request was sent after the poll that returned it";

    #[inline(always)]
    fn see(&mut self, fact: &Fact<'_>, truth: &Truth) -> Verdict {
        match fact {
            Fact::Delivered { who, event: Event::Checked { check, sight } } => {
                let process = truth.processes.get(who);
                let asked = process.and_then(|process| process.check);
                let is_declared = matches!(
                    sight.topic,
                    TopicSight::Known { incarnation: Some(seen), .. } if seen == truth.declared
                );
                if let (Some((asked, CheckParts::Bounds, sent)), Some(bounds)) = (asked, &sight.bounds)
                    && asked == *check
                    && is_declared
                    && bounds.logs.iter().all(Option::is_some)
                {
                    self.shown.insert(*who, (sent, Arc::clone(bounds)));
                }
                Ok(())
            }
            Fact::Commanded { who, command: Command::Process { tenure, range, expected, .. } } => {
                let records = i64::from(range.to) - i64::from(range.from);
                let is_gap = range.last.frontier_after().0 - expected.0 != records;
                if is_gap { self.believed(*who, *tenure, expected.0, truth) } else { Ok(()) }
            }
            _ => Ok(()),
        }
    }
}

impl GapsChecked {
    fn believed(&self, who: Life, tenure: TenureId, expected: i64, truth: &Truth) -> Verdict {
        let batch = truth.tenancy(who, tenure).and_then(|tenancy| tenancy.batch.as_ref());
        let Some(polled) = batch.map(|batch| batch.step) else { return Ok(()) };
        let Some((_, bounds)) = self.shown.get(&who).filter(|(sent, _)| *sent > polled) else {
            return Err(format!(
                "{who} {tenure} decides over a gap at {expected}, and no bounds were asked for after its poll"
            ));
        };
        match bounds.log(tenure.partition).filter(|log| log.start.0 > expected) {
            Some(log) => Err(format!(
                "{who} {tenure} decides over a gap at {expected}, and its log starts at {}",
                log.start
            )),
            None => Ok(()),
        }
    }
}
