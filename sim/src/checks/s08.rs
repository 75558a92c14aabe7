//! S8, no adoption: a tenure decides under the token of its own claim, never under one that it read.

use amends_core::lifecycle::command::Command;

use super::{Check, Verdict};
use crate::fact::Fact;
use crate::truth::Truth;

/// Needs no memory: what each claim was answered with is the truth's.
#[derive(Default)]
pub struct NoAdoption;

impl Check for NoAdoption {
    const NAME: &'static str = "S8";
    const CLAIM: &'static str = "a decision carries the token that its tenure's last claim was answered with";

    #[inline(always)]
    fn see(&mut self, fact: &Fact<'_>, truth: &Truth) -> Verdict {
        let Fact::Commanded { who, command: Command::Process { tenure, token, .. } } = fact else {
            return Ok(());
        };
        match truth.tenancy(*who, *tenure).and_then(|tenancy| tenancy.claimed) {
            Some(claimed) if claimed == *token => Ok(()),
            Some(claimed) => {
                Err(format!("{who} {tenure} decides under epoch {token}, its own claim gave epoch {claimed}"))
            }
            None => Err(format!("{who} {tenure} decides under epoch {token} without a claim of its own")),
        }
    }
}
