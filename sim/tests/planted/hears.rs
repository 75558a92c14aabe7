//! Reducers that take an event for another one, or do not hear it.

use std::sync::Arc;

use amends_core::source::boundary::{Sight, TopicSight};

use super::*;

pub fn a_lost_commit_as_a_failure(_: &mut Memory, _: &Truth, _: Life, event: &Event) -> Option<Event> {
    Some(match event {
        Event::CommitUnknown { tenure, why } => Event::ProcessFailed {
            tenure: *tenure,
            failure: ProcessFailure::Attempt(Failure::Again(why.clone())),
        },
        event => event.clone(),
    })
}

pub fn a_lost_commit_as_a_success(_: &mut Memory, _: &Truth, _: Life, event: &Event) -> Option<Event> {
    Some(match event {
        Event::CommitUnknown { tenure, .. } => Event::Committed { tenure: *tenure },
        event => event.clone(),
    })
}

pub fn a_lost_claim_as_a_failure(_: &mut Memory, _: &Truth, _: Life, event: &Event) -> Option<Event> {
    Some(match event {
        Event::ClaimUnknown { tenure, why } => {
            Event::ClaimFailed { tenure: *tenure, failure: Failure::Again(why.clone()) }
        }
        event => event.clone(),
    })
}

/// Whatever stood in the row, the range is believed to be committed.
pub fn an_observed_frontier_behind_the_range(
    _: &mut Memory,
    truth: &Truth,
    who: Life,
    event: &Event,
) -> Option<Event> {
    let Event::Observed { tenure, token, .. } = event else { return Some(event.clone()) };
    let tenancy = truth.tenancy(who, *tenure);
    let sent = tenancy.filter(|tenancy| tenancy.open.is_some()).and_then(|tenancy| tenancy.sent);
    let Some((range, ..)) = sent else { return Some(event.clone()) };
    Some(Event::Observed { tenure: *tenure, token: *token, frontier: Some(range.last.frontier_after()) })
}

pub fn a_fence_as_a_failure(_: &mut Memory, _: &Truth, _: Life, event: &Event) -> Option<Event> {
    Some(match event {
        Event::Fenced { tenure, .. } => Event::ProcessFailed {
            tenure: *tenure,
            failure: ProcessFailure::Attempt(Failure::Again("fenced".to_owned())),
        },
        event => event.clone(),
    })
}

pub fn a_foreign_row_as_ones_own(_: &mut Memory, truth: &Truth, who: Life, event: &Event) -> Option<Event> {
    let Event::Observed { tenure, .. } = event else { return Some(event.clone()) };
    let tenancy = truth.tenancy(who, *tenure);
    let Some((token, frontier)) = tenancy.and_then(|tenancy| Some((tenancy.claimed?, tenancy.frontier?)))
    else {
        return Some(event.clone());
    };
    Some(Event::Observed { tenure: *tenure, token: Some(token), frontier: Some(frontier) })
}

pub fn ones_own_row_as_a_foreign_one(_: &mut Memory, _: &Truth, _: Life, event: &Event) -> Option<Event> {
    Some(match event {
        Event::Observed { tenure, frontier, .. } => {
            Event::Observed { tenure: *tenure, token: None, frontier: *frontier }
        }
        event => event.clone(),
    })
}

pub fn a_success_as_a_fence(_: &mut Memory, _: &Truth, _: Life, event: &Event) -> Option<Event> {
    Some(match event {
        Event::Committed { tenure } => Event::Fenced { tenure: *tenure, by: None },
        event => event.clone(),
    })
}

pub fn no_revocation(_: &mut Memory, _: &Truth, _: Life, event: &Event) -> Option<Event> {
    (!matches!(event, Event::Revoked { .. })).then(|| event.clone())
}

pub fn no_loss(_: &mut Memory, _: &Truth, _: Life, event: &Event) -> Option<Event> {
    (!matches!(event, Event::Lost { .. })).then(|| event.clone())
}

pub fn no_assignment(_: &mut Memory, _: &Truth, _: Life, event: &Event) -> Option<Event> {
    (!matches!(event, Event::Assigned { .. })).then(|| event.clone())
}

pub fn no_shutdown(_: &mut Memory, _: &Truth, _: Life, event: &Event) -> Option<Event> {
    (!matches!(event, Event::ShutdownRequested)).then(|| event.clone())
}

pub fn no_fence(_: &mut Memory, _: &Truth, _: Life, event: &Event) -> Option<Event> {
    (!matches!(event, Event::Fenced { .. })).then(|| event.clone())
}

pub fn no_end_of_a_budget(_: &mut Memory, _: &Truth, _: Life, event: &Event) -> Option<Event> {
    (!matches!(event, Event::Expired { timer: Timer::Budget { .. } })).then(|| event.clone())
}

pub fn no_rejoin_due(_: &mut Memory, _: &Truth, _: Life, event: &Event) -> Option<Event> {
    (!matches!(event, Event::Expired { timer: Timer::Rejoin { .. } })).then(|| event.clone())
}

pub fn an_empty_poll(_: &mut Memory, _: &Truth, _: Life, event: &Event) -> Option<Event> {
    Some(match event {
        Event::Polled { tenure, .. } => Event::PollEmpty { tenure: *tenure },
        event => event.clone(),
    })
}

fn seen(event: &Event, change: impl FnOnce(&mut Sight)) -> Option<Event> {
    let Event::Checked { check, sight } = event else { return Some(event.clone()) };
    let mut sight = sight.clone();
    change(&mut sight);
    Some(Event::Checked { check: *check, sight })
}

pub fn the_declared_topic_always(_: &mut Memory, truth: &Truth, _: Life, event: &Event) -> Option<Event> {
    let declared = TopicSight::Known { incarnation: Some(truth.declared), partitions: truth.partitions };
    seen(event, |sight| sight.topic = declared)
}

pub fn as_many_partitions_as_declared(
    _: &mut Memory,
    truth: &Truth,
    _: Life,
    event: &Event,
) -> Option<Event> {
    seen(event, |sight| {
        if let TopicSight::Known { partitions, .. } = &mut sight.topic {
            *partitions = truth.partitions;
        }
    })
}

/// Every log seems to be as long as its row's frontier at least.
pub fn a_longer_log(_: &mut Memory, truth: &Truth, _: Life, event: &Event) -> Option<Event> {
    seen(event, |sight| {
        let Some(bounds) = &mut sight.bounds else { return };
        for (partition, span) in (0..).map(Partition).zip(Arc::make_mut(bounds).logs.iter_mut()) {
            let frontier = truth.row(partition).frontier.unwrap_or(Frontier(0));
            if let Some(span) = span {
                span.end = Offset(span.end.0.max(frontier.0));
            }
        }
    })
}

/// A client whose position is beyond the end has nothing to give, and that is all.
pub fn a_position_beyond_the_end_as_no_news(
    _: &mut Memory,
    _: &Truth,
    _: Life,
    event: &Event,
) -> Option<Event> {
    Some(match event {
        Event::PollFailed { tenure, failure: PollFailure::Reset(_) } => Event::PollEmpty { tenure: *tenure },
        event => event.clone(),
    })
}

/// The answers to checks that were put in are not heard: the reducer did not ask for them.
pub fn its_own_checks_only(_: &mut Memory, _: &Truth, _: Life, event: &Event) -> Option<Event> {
    let is_put_in =
        matches!(event, Event::Checked { check, .. } | Event::CheckFailed { check, .. } if check.0 > 1_000);
    (!is_put_in).then(|| event.clone())
}
