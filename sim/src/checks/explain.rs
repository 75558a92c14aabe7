//! Knows what must have happened for a worker to end with a reason: a stop without a cause is a defect.

use amends_core::ids::Frontier;
use amends_core::lifecycle::stop::StopReason;
use amends_core::source::boundary::Refusal;

use crate::fact::Op;
use crate::faults::Fault;
use crate::life::Life;
use crate::truth::{Tenancy, Truth};

/// Whether nobody has told the process yet what became of a transaction.
pub(super) fn is_open(tenancy: &Tenancy) -> bool {
    let op = tenancy.in_flight.map(|in_flight| in_flight.op);
    tenancy.open.is_some() || matches!(op, Some(Op::Claim | Op::Process))
}

/// Whether the world knows a cause for a stop. `was_broken`: the process was told of something that will not get better.
pub(super) fn is_explained(reason: &StopReason, who: Life, was_broken: bool, truth: &Truth) -> bool {
    let process = truth.processes.get(&who);
    match reason {
        StopReason::Shutdown | StopReason::Paused | StopReason::Stopped => {
            process.is_some_and(|process| process.asked_at.is_some())
        }
        StopReason::Refused { refusal } => is_refusable(refusal, truth),
        StopReason::Unresolved { tenure, .. } => {
            process.and_then(|process| process.tenancies.get(tenure)).is_some_and(is_open)
        }
        // Each fence needs somebody else's claim, or a failover that forgot our own.
        StopReason::Contended { partition, times } => {
            let claims = truth
                .commits
                .iter()
                .filter(|commit| commit.partition == *partition && commit.before.token != commit.after.token);
            truth.failovers > 0 || claims.count() >= 2 * *times as usize
        }
        StopReason::SeekNotTaken { .. } => has_struck(
            truth,
            &[
                Fault::SeekMisbehaves,
                Fault::GroupOffsetPlanted,
                Fault::StalePrefetch,
                Fault::Redelivered,
                Fault::PollMisbehaves,
                Fault::MetadataStale,
                Fault::RetentionTruncated,
                Fault::TruncatedBelow,
                Fault::TruncatedAndRegrown,
                // A record that a probe saw may be gone before the client comes to it.
                Fault::Compacted,
                Fault::Recreated,
            ],
        ),
        StopReason::BudgetSpent { .. } | StopReason::AttemptsSpent { .. } => !truth.struck.is_empty(),
        StopReason::Broken { .. } => was_broken,
        StopReason::Impossible { .. } => false,
    }
}

fn has_struck(truth: &Truth, any: &[Fault]) -> bool {
    any.iter().any(|fault| truth.struck.contains_key(fault))
}

/// Whether the source is, or was once shown as, what it is refused for.
fn is_refusable(refusal: &Refusal, truth: &Truth) -> bool {
    let is_recreated = truth.current != truth.declared;
    match refusal {
        Refusal::AnotherIncarnation { expected, seen } => {
            *expected == truth.declared && *seen == truth.current && is_recreated
        }
        Refusal::PartitionsGrew { seen, .. } => {
            *seen > truth.partitions && (is_recreated || truth.current_partitions > truth.partitions)
        }
        Refusal::PartitionsShrank { seen, .. } => *seen < truth.partitions && is_recreated,
        Refusal::RetentionFinite { .. } | Refusal::CleanupPolicy { .. } | Refusal::UncleanElection => {
            !truth.is_configured
        }
        Refusal::StartAboveZero { partition, start }
        | Refusal::StartAboveFrontier { partition, start, .. } => {
            truth.log(*partition).start() >= *start && start.0 > 0
        }
        Refusal::FrontierAboveEnd { partition, frontier, .. } => {
            let is_short = |frontier: &Frontier| truth.log(*partition).stable_end() < frontier.next_offset();
            is_short(frontier)
                || is_recreated
                || has_struck(
                    truth,
                    &[Fault::MetadataStale, Fault::TruncatedBelow, Fault::TruncatedAndRegrown],
                )
        }
        Refusal::TopicGone { .. } => is_recreated || has_struck(truth, &[Fault::MetadataStale]),
        Refusal::IncarnationUnknown { .. } => {
            has_struck(truth, &[Fault::TopicIdAbsent, Fault::MetadataStale])
        }
        Refusal::NoLeader { .. } => {
            is_recreated
                || has_struck(truth, &[Fault::LeaderMoved, Fault::MetadataStale, Fault::TruncatedBelow])
        }
    }
}
