//! Knows the words of a step: how an event, a command and the state after it print in a line for people.

use std::fmt;

use super::Step;
use crate::ids::TenureId;
use crate::lifecycle::After;
use crate::lifecycle::command::{CheckParts, Command, Timer};
use crate::lifecycle::event::{Event, Failure, PollFailure, ProbeSight, ProcessFailure};
use crate::source::boundary::TopicSight;

impl Step<'_> {
    /// The step as one line: time, tenure and event, state after, commands.
    #[must_use]
    pub fn line(&self, topic: &str) -> String {
        let event = match self.event.tenure() {
            Some(tenure) => format!("{topic}/{tenure} {}", self.event),
            None => format!("{topic} {}", self.event),
        };
        let after: Vec<String> = self.after.iter().map(|after| after.text(self.event.tenure())).collect();
        let commands: Vec<String> =
            self.commands.iter().map(|command| command.text(self.event.tenure())).collect();
        let line = format!(
            "{:>8}  {event:<46} | {:<34} > {}",
            self.at.to_string(),
            after.join(", "),
            commands.join(", ")
        );
        line.trim_end_matches([' ', '>']).to_owned()
    }
}

impl After {
    fn text(&self, subject: Option<TenureId>) -> String {
        let mut text = if subject == Some(self.tenure) { String::new() } else { format!("{} ", self.tenure) };
        text.push_str(self.state);
        if let (Some(epoch), Some(frontier)) = (self.epoch, self.frontier) {
            text.push_str(&format!(" epoch={epoch} frontier={frontier}"));
        }
        text
    }
}

impl Event {
    /// The tenure that the event is for; `None` for what concerns the member, the source or the process.
    #[must_use]
    pub fn tenure(&self) -> Option<TenureId> {
        match self {
            Self::Claimed { tenure, .. }
            | Self::ClaimUnknown { tenure, .. }
            | Self::ClaimFailed { tenure, .. }
            | Self::Observed { tenure, .. }
            | Self::ObserveFailed { tenure, .. }
            | Self::Sought { tenure }
            | Self::SeekFailed { tenure, .. }
            | Self::Probed { tenure, .. }
            | Self::ProbeFailed { tenure, .. }
            | Self::Polled { tenure, .. }
            | Self::PollEmpty { tenure }
            | Self::PollFailed { tenure, .. }
            | Self::Committed { tenure }
            | Self::CommitUnknown { tenure, .. }
            | Self::Fenced { tenure, .. }
            | Self::Moved { tenure, .. }
            | Self::ProcessFailed { tenure, .. }
            | Self::Expired { timer: Timer::Retry { tenure, .. } | Timer::Budget { tenure } } => {
                Some(*tenure)
            }
            Self::Assigned { .. }
            | Self::Revoked { .. }
            | Self::Lost { .. }
            | Self::Checked { .. }
            | Self::CheckFailed { .. }
            | Self::Expired { .. }
            | Self::ShutdownRequested
            | Self::PauseRequested
            | Self::StopRequested
            | Self::ClientFailed { .. }
            | Self::Closed => None,
        }
    }
}

/// Something that may be absent, as it prints: `none`.
struct Maybe<T>(Option<T>);

impl<T: fmt::Display> fmt::Display for Maybe<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(value) => value.fmt(f),
            None => f.write_str("none"),
        }
    }
}

/// A list as it prints: `0,1`; `none` when it is empty.
fn list<T: fmt::Display>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    if items.is_empty() { "none".to_owned() } else { items.join(",") }
}

/// The event's word first, then what it carries; its tenure stands in front of it.
impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Assigned { rebalance, partitions } => {
                write!(f, "assigned {rebalance} {}", list(partitions))
            }
            Self::Revoked { rebalance, partitions } => write!(f, "revoked {rebalance} {}", list(partitions)),
            Self::Lost { rebalance } => write!(f, "lost {rebalance}"),
            Self::Checked { check, sight } => {
                write!(f, "checked {}", check.0)?;
                match sight.topic {
                    TopicSight::Unknown => f.write_str(" topic=none"),
                    TopicSight::Known { incarnation, partitions } => {
                        let short = incarnation.map(|incarnation| format!("{incarnation:.14}"));
                        write!(f, " topic={} partitions={partitions}", Maybe(short))
                    }
                }?;
                let Some(bounds) = &sight.bounds else { return Ok(()) };
                let logs = bounds.logs.iter().map(|log| match log {
                    Some(log) => format!("{}..{}", log.start, log.end),
                    None => "none".to_owned(),
                });
                write!(f, " logs={}", list(logs))
            }
            Self::CheckFailed { check, failure } => write!(f, "check-failed {} {failure}", check.0),
            Self::Claimed { token, frontier, .. } => write!(f, "claimed epoch={token} frontier={frontier}"),
            Self::ClaimUnknown { why, .. } => write!(f, "claim-unknown {why}"),
            Self::ClaimFailed { failure, .. } => write!(f, "claim-failed {failure}"),
            Self::Observed { token, frontier, .. } => {
                write!(f, "observed epoch={} frontier={}", Maybe(*token), Maybe(*frontier))
            }
            Self::ObserveFailed { failure, .. } => write!(f, "observe-failed {failure}"),
            Self::Sought { .. } => f.write_str("sought"),
            Self::SeekFailed { failure, .. } => write!(f, "seek-failed {failure}"),
            Self::Probed { sight: ProbeSight::Record(offset), .. } => write!(f, "probed record={offset}"),
            Self::Probed { sight: ProbeSight::Tail(end), .. } => write!(f, "probed tail={end}"),
            Self::ProbeFailed { failure, .. } => write!(f, "probe-failed {failure}"),
            Self::Polled { offsets, .. } => write!(f, "polled {offsets}"),
            Self::PollEmpty { .. } => f.write_str("poll-empty"),
            Self::PollFailed { failure: PollFailure::Reset(why), .. } => write!(f, "poll-failed reset {why}"),
            Self::PollFailed { failure: PollFailure::Again(why), .. } => write!(f, "poll-failed again {why}"),
            Self::Committed { .. } => f.write_str("committed"),
            Self::CommitUnknown { why, .. } => write!(f, "commit-unknown {why}"),
            Self::Fenced { by, .. } => write!(f, "fenced by={}", Maybe(*by)),
            Self::Moved { frontier, .. } => write!(f, "moved frontier={}", Maybe(*frontier)),
            Self::ProcessFailed { failure, .. } => write!(f, "process-failed {failure}"),
            Self::Expired { timer } => write!(f, "expired {timer}"),
            Self::ShutdownRequested => f.write_str("shutdown-requested"),
            Self::PauseRequested => f.write_str("pause-requested"),
            Self::StopRequested => f.write_str("stop-requested"),
            Self::ClientFailed { member, why } => write!(f, "client-failed {member} {why}"),
            Self::Closed => f.write_str("closed"),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreached(why) => write!(f, "unreached: {why}"),
            Self::Again(why) => write!(f, "again: {why}"),
            Self::Broken(why) => write!(f, "broken: {why}"),
        }
    }
}

impl fmt::Display for ProcessFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Attempt(failure) => failure.fmt(f),
            Self::Refused(why) => write!(f, "refused: {why}"),
            Self::TooLarge { fit } => write!(f, "too-large fit={fit}"),
        }
    }
}

impl fmt::Display for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Retry { wait, .. } => write!(f, "retry {wait}"),
            Self::Budget { .. } => f.write_str("budget"),
            Self::CheckAgain { wait } => write!(f, "check-again {wait}"),
            Self::CheckDue => f.write_str("check-due"),
            Self::Rebalance { rebalance } => write!(f, "rebalance {rebalance}"),
            Self::Rejoin { wait } => write!(f, "rejoin {wait}"),
            Self::Leave { wait } => write!(f, "leave {wait}"),
            Self::Drain => f.write_str("drain"),
        }
    }
}

impl Command {
    /// The tenure that the command is for; `None` for what concerns the member, the source or the process.
    #[must_use]
    pub fn tenure(&self) -> Option<TenureId> {
        match self {
            Self::Claim { tenure, .. }
            | Self::Observe { tenure, .. }
            | Self::Seek { tenure, .. }
            | Self::Probe { tenure, .. }
            | Self::Poll { tenure, .. }
            | Self::Process { tenure, .. }
            | Self::Cancel { tenure }
            | Self::AllowRebalance { tenure }
            | Self::Retire { tenure }
            | Self::Wait { timer: Timer::Retry { tenure, .. } | Timer::Budget { tenure }, .. } => {
                Some(*tenure)
            }
            Self::Check { .. }
            | Self::Assign { .. }
            | Self::Unassign { .. }
            | Self::Wait { .. }
            | Self::Rejoin { .. }
            | Self::Close
            | Self::Stop { .. } => None,
        }
    }

    /// The command in a line about `subject`, whose own name need not be said again.
    fn text(&self, subject: Option<TenureId>) -> String {
        match self.tenure() {
            Some(tenure) if Some(tenure) != subject => format!("{tenure} {self}"),
            Some(_) | None => self.to_string(),
        }
    }
}

/// The command's word first, then what it carries; rests of budgets are left to the JSON.
impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Check { check, parts: CheckParts::Identity } => write!(f, "check {} identity", check.0),
            Self::Check { check, parts: CheckParts::Bounds } => write!(f, "check {} bounds", check.0),
            Self::Claim { .. } => f.write_str("claim"),
            Self::Observe { fresh: false, .. } => f.write_str("observe"),
            Self::Observe { fresh: true, .. } => f.write_str("observe fresh"),
            Self::Assign { rebalance, positions } => {
                let positions = positions.iter().map(|(tenure, frontier)| format!("{tenure}@{frontier}"));
                write!(f, "assign {rebalance} {}", list(positions))
            }
            Self::Unassign { rebalance } => write!(f, "unassign {rebalance}"),
            Self::Seek { frontier, .. } => write!(f, "seek {frontier}"),
            Self::Probe { frontier, .. } => write!(f, "probe {frontier}"),
            Self::Poll { .. } => f.write_str("poll"),
            Self::Process { range, attempt, refused, .. } => {
                write!(f, "process {}-{}", range.first, range.last)?;
                if *attempt > 1 {
                    write!(f, " attempt={attempt}")?;
                }
                if *refused { f.write_str(" refused") } else { Ok(()) }
            }
            Self::Wait { timer, after_ms } => write!(f, "wait {timer} {after_ms}ms"),
            Self::Cancel { .. } => f.write_str("cancel"),
            Self::AllowRebalance { .. } => f.write_str("allow-rebalance"),
            Self::Retire { .. } => f.write_str("retire"),
            Self::Rejoin { member } => write!(f, "rejoin {member}"),
            Self::Close => f.write_str("close"),
            Self::Stop { reason } => write!(f, "stop {}", reason.code()),
        }
    }
}
