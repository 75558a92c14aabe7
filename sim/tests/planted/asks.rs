//! Reducers that ask for something else, for more, or not at all.

use super::*;

type Commands = Vec<Command>;

/// Changes each command in its place.
fn each(commands: &mut Commands, mut change: impl FnMut(&mut Command)) {
    commands.iter_mut().for_each(&mut change);
}

pub fn sends_a_committed_range_again(
    _: &mut Memory,
    truth: &Truth,
    who: Life,
    event: &Event,
    commands: &mut Commands,
) {
    let Event::Committed { tenure } = event else { return };
    let sent = of(truth, who, event).and_then(|tenancy| tenancy.sent);
    let (Some((range, _, token)), true) = (sent, commands.iter().any(|command| is_about(command, *tenure)))
    else {
        return;
    };
    let expected = range.last.frontier_after();
    commands.clear();
    commands.push(process(*tenure, token, expected, range));
}

fn is_about(command: &Command, tenure: amends_core::ids::TenureId) -> bool {
    command.tenure() == Some(tenure)
}

fn process(tenure: amends_core::ids::TenureId, token: Token, expected: Frontier, range: Range) -> Command {
    Command::Process { tenure, token, expected, range, attempt: 1, refused: false, within_ms: 10_000 }
}

pub fn begins_one_later(_: &mut Memory, truth: &Truth, who: Life, _: &Event, commands: &mut Commands) {
    each(commands, |command| {
        let Command::Process { tenure, range, .. } = command else { return };
        let tenancy = truth.tenancy(who, *tenure);
        let offsets = tenancy.and_then(|tenancy| tenancy.batch.as_ref()).map(|batch| &batch.offsets);
        let next = range.from + 1;
        if let Some(first) = offsets.and_then(|offsets| offsets.get(next as usize))
            && next < range.to
        {
            (range.from, range.first) = (next, *first);
        }
    });
}

pub fn gives_up_the_assignment_at_once(
    _: &mut Memory,
    _: &Truth,
    _: Life,
    event: &Event,
    commands: &mut Commands,
) {
    if let Event::Revoked { rebalance, .. } = event {
        commands.retain(|command| !matches!(command, Command::Unassign { .. }));
        commands.insert(0, Command::Unassign { rebalance: *rebalance });
    }
}

pub fn observes_after_the_end(_: &mut Memory, truth: &Truth, who: Life, _: &Event, commands: &mut Commands) {
    if commands.iter().any(|command| matches!(command, Command::Unassign { .. })) {
        let Some(process) = truth.processes.get(&who) else { return };
        if let Some((tenure, _)) = process.newest(Partition(0)) {
            commands.push(Command::Observe { tenure, fresh: true, within_ms: 10_000 });
        }
    }
}

pub fn expects_one_less(_: &mut Memory, _: &Truth, _: Life, _: &Event, commands: &mut Commands) {
    each(commands, |command| {
        if let Command::Process { expected, .. } = command {
            expected.0 -= 1;
        }
    });
}

pub fn decides_under_the_next_epoch(_: &mut Memory, _: &Truth, _: Life, _: &Event, commands: &mut Commands) {
    each(commands, |command| {
        if let Command::Process { token, .. } = command {
            token.epoch += 1;
        }
    });
}

pub fn decides_under_the_rows_token(
    _: &mut Memory,
    truth: &Truth,
    _: Life,
    _: &Event,
    commands: &mut Commands,
) {
    each(commands, |command| {
        if let Command::Process { tenure, token, .. } = command
            && let Some(stands) = truth.row(tenure.partition).token
        {
            *token = stands;
        }
    });
}

pub fn retires_when_idle(_: &mut Memory, _: &Truth, _: Life, event: &Event, commands: &mut Commands) {
    if let Event::PollEmpty { tenure } = event {
        commands.retain(|command| !matches!(command, Command::Poll { .. }));
        commands.push(Command::Retire { tenure: *tenure });
    }
}

pub fn polls_after_retiring(_: &mut Memory, _: &Truth, _: Life, _: &Event, commands: &mut Commands) {
    let retired = commands.iter().find_map(|command| match command {
        Command::Retire { tenure } => Some(*tenure),
        _ => None,
    });
    if let Some(tenure) = retired {
        commands.push(Command::Poll { tenure, records: 1, bytes: 1, wait_ms: 1_000 });
    }
}

pub fn checks_after_the_stop(_: &mut Memory, _: &Truth, _: Life, _: &Event, commands: &mut Commands) {
    if commands.iter().any(|command| matches!(command, Command::Stop { .. })) {
        commands.push(Command::Check {
            check: amends_core::lifecycle::command::CheckId(1_000),
            parts: CheckParts::Bounds,
        });
    }
}

pub fn decides_before_the_check(
    _: &mut Memory,
    truth: &Truth,
    who: Life,
    event: &Event,
    commands: &mut Commands,
) {
    let Event::Polled { tenure, offsets } = event else { return };
    let Some(tenancy) = of(truth, who, event) else { return };
    let (Some(token), Some(expected)) = (tenancy.claimed, tenancy.frontier) else { return };
    let (Some(first), Some(last)) = (offsets.first(), offsets.last()) else { return };
    if *first < expected.next_offset()
        || !commands.iter().any(|command| matches!(command, Command::Check { .. }))
    {
        return;
    }
    let to = u32::try_from(offsets.len()).expect("small");
    let range = Range { from: 0, to, first: *first, last: *last };
    commands.push(process(*tenure, token, expected, range));
}

pub fn is_placed_one_later(_: &mut Memory, _: &Truth, _: Life, _: &Event, commands: &mut Commands) {
    each(commands, |command| {
        if let Command::Assign { positions, .. } = command {
            positions.iter_mut().for_each(|(_, frontier)| frontier.0 += 1);
        }
    });
}

pub fn seeks_one_further(_: &mut Memory, _: &Truth, _: Life, _: &Event, commands: &mut Commands) {
    each(commands, |command| {
        if let Command::Seek { frontier, .. } = command {
            frontier.0 += 1;
        }
    });
}

pub fn shortens_a_retry(_: &mut Memory, truth: &Truth, who: Life, _: &Event, commands: &mut Commands) {
    each(commands, |command| {
        let Command::Process { tenure, range, attempt, .. } = command else { return };
        let tenancy = truth.tenancy(who, *tenure);
        let offsets = tenancy.and_then(|tenancy| tenancy.batch.as_ref()).map(|batch| &batch.offsets);
        if *attempt > 1
            && range.to - range.from > 1
            && let Some(last) = offsets.and_then(|offsets| offsets.get(range.to as usize - 2))
        {
            (range.to, range.last) = (range.to - 1, *last);
        }
    });
}

pub fn sends_a_decision_twice(_: &mut Memory, _: &Truth, _: Life, _: &Event, commands: &mut Commands) {
    let twice = commands.iter().find(|command| matches!(command, Command::Process { .. })).cloned();
    commands.extend(twice);
}

pub fn tries_for_the_fourth_time(
    _: &mut Memory,
    truth: &Truth,
    who: Life,
    event: &Event,
    commands: &mut Commands,
) {
    let Event::ProcessFailed { tenure, failure: ProcessFailure::Attempt(Failure::Again(_)) } = event else {
        return;
    };
    let sent = of(truth, who, event).and_then(|tenancy| tenancy.sent);
    let is_retry = |command: &Command| matches!(command, Command::Wait { timer: Timer::Retry { .. }, .. });
    let is_spent = !commands.iter().any(is_retry);
    if let (Some((range, expected, token)), true) = (sent, is_spent) {
        commands.clear();
        commands.push(process(*tenure, token, expected, range));
    }
}

pub fn waits_for_nothing(_: &mut Memory, _: &Truth, _: Life, _: &Event, commands: &mut Commands) {
    each(commands, |command| {
        if let Command::Wait { timer: Timer::Retry { .. }, after_ms } = command {
            *after_ms = 0;
        }
    });
}

pub fn keeps_its_tickets(_: &mut Memory, _: &Truth, _: Life, _: &Event, commands: &mut Commands) {
    commands.retain(|command| !matches!(command, Command::AllowRebalance { .. }));
}

pub fn gives_a_ticket_back_twice(_: &mut Memory, _: &Truth, _: Life, _: &Event, commands: &mut Commands) {
    let ticket = commands.iter().find(|command| matches!(command, Command::AllowRebalance { .. })).cloned();
    commands.extend(ticket);
}

pub fn stops_at_a_refused_record(_: &mut Memory, _: &Truth, _: Life, _: &Event, commands: &mut Commands) {
    if commands.iter().any(|command| matches!(command, Command::Process { refused: true, .. })) {
        commands.clear();
        commands.push(Command::Stop { reason: StopReason::Broken { why: "refused".to_owned() } });
    }
}

pub fn stops_at_once(_: &mut Memory, _: &Truth, _: Life, event: &Event, commands: &mut Commands) {
    if matches!(event, Event::ShutdownRequested) {
        commands.clear();
        commands.push(Command::Stop { reason: StopReason::Shutdown });
    }
}

pub fn calls_every_stop_orderly(_: &mut Memory, _: &Truth, _: Life, _: &Event, commands: &mut Commands) {
    each(commands, |command| {
        if let Command::Stop { reason } = command {
            *reason = StopReason::Shutdown;
        }
    });
}

pub fn calls_spent_attempts_a_spent_budget(
    _: &mut Memory,
    _: &Truth,
    _: Life,
    _: &Event,
    commands: &mut Commands,
) {
    each(commands, |command| {
        if let Command::Stop { reason } = command
            && let StopReason::AttemptsSpent { tenure, doing, why } = reason.clone()
        {
            *reason = StopReason::BudgetSpent { tenure, doing, why };
        }
    });
}

pub fn calls_a_spent_budget_spent_attempts(
    _: &mut Memory,
    _: &Truth,
    _: Life,
    _: &Event,
    commands: &mut Commands,
) {
    each(commands, |command| {
        if let Command::Stop { reason } = command
            && let StopReason::BudgetSpent { tenure, doing, why } = reason.clone()
        {
            *reason = StopReason::AttemptsSpent { tenure, doing, why };
        }
    });
}

pub fn checks_identity_only(_: &mut Memory, _: &Truth, _: Life, _: &Event, commands: &mut Commands) {
    each(commands, |command| {
        if let Command::Check { parts, .. } = command {
            *parts = CheckParts::Identity;
        }
    });
}

pub fn never_rejoins(_: &mut Memory, _: &Truth, _: Life, _: &Event, commands: &mut Commands) {
    commands.retain(|command| !matches!(command, Command::Rejoin { .. }));
}

pub fn never_polls(_: &mut Memory, _: &Truth, _: Life, _: &Event, commands: &mut Commands) {
    commands.retain(|command| !matches!(command, Command::Poll { .. }));
}

pub fn never_claims(_: &mut Memory, _: &Truth, _: Life, _: &Event, commands: &mut Commands) {
    commands.retain(|command| !matches!(command, Command::Claim { .. }));
}

pub fn never_closes(_: &mut Memory, _: &Truth, _: Life, _: &Event, commands: &mut Commands) {
    commands.retain(|command| !matches!(command, Command::Close));
}

pub fn claims_when_idle(_: &mut Memory, _: &Truth, _: Life, event: &Event, commands: &mut Commands) {
    if let Event::PollEmpty { tenure } = event {
        commands.push(Command::Claim { tenure: *tenure, within_ms: 10_000 });
    }
}

pub fn polls_without_a_wait(_: &mut Memory, _: &Truth, _: Life, _: &Event, commands: &mut Commands) {
    each(commands, |command| {
        if let Command::Poll { wait_ms, .. } = command {
            *wait_ms = 1;
        }
    });
}

pub fn checks_when_idle(memory: &mut Memory, _: &Truth, _: Life, event: &Event, commands: &mut Commands) {
    if let Event::PollEmpty { .. } | Event::Checked { .. } = event {
        memory.times += 1;
        let check = amends_core::lifecycle::command::CheckId(1_000 + u64::from(memory.times));
        commands.push(Command::Check { check, parts: CheckParts::Identity });
    }
}

/// The number of an attempt is counted for the whole process.
pub fn counts_attempts_for_all(memory: &mut Memory, _: &Truth, _: Life, _: &Event, commands: &mut Commands) {
    each(commands, |command| {
        if let Command::Process { attempt, .. } = command {
            memory.times += 1;
            *attempt = memory.times;
        }
    });
}

/// A partition decides less at a time once another one has decided something.
pub fn shares_a_batch(_: &mut Memory, truth: &Truth, who: Life, _: &Event, commands: &mut Commands) {
    each(commands, |command| {
        let Command::Process { tenure, range, .. } = command else { return };
        let is_shared = truth
            .commits
            .iter()
            .any(|commit| commit.partition != tenure.partition && !commit.decided.is_empty());
        let tenancy = truth.tenancy(who, *tenure);
        let offsets = tenancy.and_then(|tenancy| tenancy.batch.as_ref()).map(|batch| &batch.offsets);
        if let Some(last) = offsets.and_then(|offsets| offsets.get(range.from as usize))
            && is_shared
        {
            (range.to, range.last) = (range.from + 1, *last);
        }
    });
}

/// What concerns several tenures comes in another order each time.
pub fn hands_over_in_any_order(memory: &mut Memory, _: &Truth, _: Life, _: &Event, commands: &mut Commands) {
    memory.times += 1;
    if memory.times.is_multiple_of(2) {
        commands.reverse();
    }
}

/// Processes that wait for the same do not try again at once.
pub fn waits_by_chance(memory: &mut Memory, _: &Truth, _: Life, _: &Event, commands: &mut Commands) {
    each(commands, |command| {
        if let Command::Wait { timer: Timer::Retry { .. } | Timer::CheckAgain { .. }, after_ms } = command {
            memory.times += 1;
            *after_ms += u64::from(memory.times % 7);
        }
    });
}

pub fn never_observes_when_idle(
    _: &mut Memory,
    truth: &Truth,
    who: Life,
    _: &Event,
    commands: &mut Commands,
) {
    // A tenure in doubt, or one that was never read back, has to observe.
    commands.retain(|command| match command {
        Command::Observe { tenure, .. } => truth
            .tenancy(who, *tenure)
            .is_none_or(|tenancy| tenancy.open.is_some() || tenancy.sought.is_none()),
        _ => true,
    });
}
