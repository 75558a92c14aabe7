//! L8, a fair run from everywhere: wherever the faults are switched off, the world ends well. A property of a run, not of
//! facts.

use super::Verdict;
use crate::truth::Truth;

/// Told of a world whose faults were switched off at some step and which was then run fairly to its end.
pub struct FairRun;

impl FairRun {
    /// Its number in the catalogue.
    pub const NAME: &'static str = "L8";
    /// The property, in one sentence.
    pub const CLAIM: &'static str =
        "from every state a fair run drains an intact source, or stops every worker of a spoilt one";
}

/// Whether a fair run ended well: everything is decided by living owners; or, where the source is not what was declared,
/// nobody works on it.
///
/// # Errors
/// What is left to be done.
pub fn ended_well(truth: &Truth) -> Verdict {
    if truth.is_source_intact() {
        if !truth.is_drained() {
            return Err("the source is intact, and not everything visible is decided".to_owned());
        }
        if !truth.has_owners() {
            return Err("the source is intact, and a partition has no living owner".to_owned());
        }
        return Ok(());
    }
    let working = truth.processes.iter().filter(|(_, process)| process.is_living()).find(|(_, process)| {
        process.tenancies.iter().any(|(id, tenancy)| {
            tenancy.is_own()
                && !tenancy.is_retired
                && (truth.is_visibly_spoilt() || truth.is_short(id.partition))
        })
    });
    match working {
        Some((who, _)) => Err(format!("the source is not what was declared, and {who} works on")),
        None => Ok(()),
    }
}
