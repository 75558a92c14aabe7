//! Changes that break nothing: no check may fire on them.

use super::*;

/// So many drawn worlds.
const WORLDS: u64 = 1_000;

/// Lives worlds with a change in them, and no check objects.
fn breaks_nothing(change: &'static [Defect]) {
    for seed in 0..WORLDS {
        let (world, ground) = World::new(marked::draw(seed), false);
        let mut walk = Walk::planted(world, ground, change);
        walk.live();
        let broken = walk.ground().chronicle.broken();
        assert_eq!(broken, None, "seed {seed}");
    }
}

/// What concerns other partitions may go first. A lane passes from one to the other: then the order counts.
fn another_order(_: &mut Memory, _: &Truth, _: Life, _: &Event, commands: &mut Vec<Command>) {
    if commands.iter().any(|command| matches!(command, Command::Process { .. })) {
        return;
    }
    for alike in commands.chunk_by_mut(|one, next| one.tenure().is_some() && next.tenure().is_some()) {
        alike.sort_by_key(|command| std::cmp::Reverse(command.tenure()));
    }
}

fn a_wait_of_101_ms(_: &mut Memory, _: &Truth, _: Life, _: &Event, commands: &mut Vec<Command>) {
    for command in commands {
        if let Command::Wait { timer: Timer::Retry { .. }, after_ms } = command {
            *after_ms += 1;
        }
    }
}

fn an_idle_poll_more(memory: &mut Memory, _: &Truth, _: Life, event: &Event, commands: &mut Vec<Command>) {
    let Event::PollEmpty { .. } = event else { return };
    for command in commands {
        if let Command::Poll { wait_ms, .. } = command {
            memory.times += 1;
            *wait_ms = if memory.times == 1 { 1 } else { *wait_ms };
        }
    }
}

#[test]
fn independent_commands_in_another_order() {
    breaks_nothing(&[Asks(another_order)]);
}

#[test]
fn a_millisecond_more_before_a_retry() {
    breaks_nothing(&[Asks(a_wait_of_101_ms)]);
}

#[test]
fn an_idle_poll_more_than_there_would_be() {
    breaks_nothing(&[Asks(an_idle_poll_more)]);
}
