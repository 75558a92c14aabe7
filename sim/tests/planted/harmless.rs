//! Changes that break nothing: no check may fire on them.

use super::*;

/// Lives worlds with a change in them, and no check objects.
fn breaks_nothing(change: &'static [Defect]) {
    for seed in 0..2_000 {
        let mut walk = Walk::planted(Schedule::draw(seed), change, None);
        walk.live();
        let broken = walk.ground().chronicle.broken();
        assert_eq!(broken, None, "seed {seed}");
    }
}

fn another_order(_: &mut Memory, _: &Truth, _: Life, _: &Event, commands: &mut Vec<Command>) {
    // What concerns other partitions may go first.
    commands.sort_by_key(|command| std::cmp::Reverse(command.tenure().map(|tenure| tenure.partition)));
}

fn a_wait_of_101_ms(_: &mut Memory, _: &Truth, _: Life, _: &Event, commands: &mut Vec<Command>) {
    for command in commands {
        if let Command::Wait { timer: Timer::Retry { .. }, after_ms } = command {
            *after_ms += 1;
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
