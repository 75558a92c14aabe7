//! S11, absorbing ends: nothing is begun for a retired tenure, and nothing at all follows a stop.

use super::begins::each_going_on;
use super::{Check, Verdict};
use crate::fact::Fact;
use crate::truth::Truth;

/// Needs no memory: who ended is the truth's.
#[derive(Default)]
pub struct Absorbing;

impl Check for Absorbing {
    const NAME: &'static str = "S11";
    const CLAIM: &'static str =
        "a retired tenure claims, seeks, polls and decides nothing, and a stopped stream asks for nothing";

    #[inline(always)]
    fn see(&mut self, fact: &Fact<'_>, truth: &Truth) -> Verdict {
        let Fact::Commanded { who, command } = fact else { return Ok(()) };
        let Some(process) = truth.processes.get(who) else { return Ok(()) };
        if let Some(reason) = &process.stopped {
            return Err(format!("{who}: {command} after it stopped as {}", reason.code()));
        }
        each_going_on(command, |tenure| {
            if process.tenancies.get(&tenure).is_some_and(|tenancy| tenancy.is_retired) {
                return Err(format!("{who} {tenure}: {command} after it retired"));
            }
            Ok(())
        })
    }
}
