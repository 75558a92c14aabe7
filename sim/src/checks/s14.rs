//! S14, order: ranges rise within a tenure. What was sent before is sent again whole, or in part once it was refused.

use amends_core::lifecycle::command::{Command, Range};

use super::{Check, Verdict};
use crate::fact::Fact;
use crate::truth::{Tenancy, Truth};

/// Needs no memory: what was sent before is the truth's.
#[derive(Default)]
pub struct Order;

impl Check for Order {
    const NAME: &'static str = "S14";
    const CLAIM: &'static str = "ranges rise strictly within a tenure but for a retry of the same one or the leading part of a refused \
         one, and name records that were polled after the last seek";

    #[inline(always)]
    fn see(&mut self, fact: &Fact<'_>, truth: &Truth) -> Verdict {
        let Fact::Commanded { who, command: Command::Process { tenure, range, .. } } = fact else {
            return Ok(());
        };
        let Some(tenancy) = truth.tenancy(*who, *tenure) else { return Ok(()) };
        match disorder(tenancy, *range) {
            Some(why) => Err(format!("{who} {tenure} decides {}-{}: {why}", range.first, range.last)),
            None => Ok(()),
        }
    }
}

/// What is wrong with a range.
fn disorder(tenancy: &Tenancy, range: Range) -> Option<String> {
    let (Some(batch), Some(offsets)) = (&tenancy.batch, tenancy.named(range)) else {
        return Some("these records are not in hand".to_owned());
    };
    if (offsets.first(), offsets.last()) != (Some(&range.first), Some(&range.last)) {
        return Some("the records in hand have other offsets".to_owned());
    }
    if offsets.windows(2).any(|pair| pair[0] >= pair[1]) {
        return Some("they do not ascend".to_owned());
    }
    if tenancy.arrived.is_none_or(|arrived| batch.step < arrived) {
        return Some("they were polled before the last seek".to_owned());
    }
    let frontier = tenancy.frontier.filter(|frontier| range.first < frontier.next_offset());
    if let Some(frontier) = frontier {
        return Some(format!("everything below {frontier} is decided"));
    }
    if range.from != batch.decided {
        return Some(format!(
            "{} of these records are decided, and it begins with {}",
            batch.decided, range.from
        ));
    }
    let (sent, ..) = tenancy.sent.filter(|(sent, ..)| range.first <= sent.last)?;
    let is_part = tenancy.is_refused && range.first == sent.first && range.to < sent.to;
    (range != sent && !is_part).then(|| format!("{}-{} was sent before", sent.first, sent.last))
}
