//! S24, S25 and L8: properties of whole runs.

use amends_core::ids::Offset;
use amends_core::ids::{Frontier, Moment, Partition};
use amends_core::lifecycle::Settings;
use amends_core::lifecycle::command::{Command, Range, Timer};
use amends_core::lifecycle::event::Event;
use amends_core::lifecycle::{Lifecycle, stop::StopReason};
use amends_core::source::boundary::{Declared, Sink};
use amends_sim::checks::{l01, l08, s24, s25};
use amends_sim::fact::{Entry, Fact};

use super::told::{A, Told, declared, rebalance, row, t, tenure, token};

type Steps = Vec<(Moment, Event, Vec<Command>)>;

fn settings() -> Settings {
    Settings {
        topic: "orders".to_owned(),
        source: Declared { sink: Sink::Ledger, incarnation: declared(), partitions: 2 },
        lanes: 2,
        batch_records: 10,
        batch_bytes: 1_000,
    }
}

#[test]
fn s25_purity() {
    let mut lifecycle = Lifecycle::new(settings());
    let events = [
        Event::Assigned { rebalance: rebalance(1), partitions: vec![Partition(0), Partition(1)] },
        Event::Expired { timer: Timer::CheckDue },
        Event::ShutdownRequested,
        Event::Closed,
    ];
    let mut steps: Steps = Vec::new();
    for (nth, event) in (0..).zip(events) {
        let mut commands = Vec::new();
        lifecycle.handle(Moment(nth * 100), &event, &mut commands);
        steps.push((Moment(nth * 100), event, commands));
    }
    assert_eq!(s25::purity(&settings(), &steps), Ok(()));
    let says = |steps: &Steps, why: &str| {
        let broken = s25::purity(&settings(), steps).unwrap_err();
        assert!(broken.contains(why), "{broken}");
    };
    let mut fewer = steps.clone();
    fewer[0].2.pop();
    says(&fewer, "step 0 at 0.000, assigned");
    let mut swapped = steps.clone();
    swapped[0].2.swap(0, 1);
    says(&swapped, "step 0");
    let mut other = steps;
    other[3].2 = vec![Command::Stop { reason: StopReason::Paused }];
    says(&other, "step 3 at 0.300, closed");
}

/// A claim, a place, two decisions, an end; with idle rounds between.
fn asked(partition: u32) -> Vec<Command> {
    let tenure = tenure(partition, 1);
    let poll = Command::Poll { tenure, records: 10, bytes: 1_000, wait_ms: 1_000 };
    let process = |first: i64| Command::Process {
        tenure,
        token: token(1),
        expected: Frontier(first),
        range: Range { from: 0, to: 1, first: Offset(first), last: Offset(first) },
        attempt: 1,
        refused: false,
        within_ms: 20_000,
    };
    vec![
        Command::Claim { tenure, within_ms: 20_000 },
        Command::Assign { rebalance: rebalance(1), positions: vec![(tenure, Frontier(0))] },
        poll.clone(),
        process(0),
        poll,
        process(1),
        Command::Retire { tenure },
    ]
}

fn run(commands: impl IntoIterator<Item = Command>) -> Steps {
    let step = |(at, command): (u64, Command)| (Moment(at), Event::Closed, vec![command]);
    (0..).zip(commands).map(step).collect()
}

#[test]
fn s24_isolation() {
    let alone = run(asked(0));
    let mut both: Vec<Command> = asked(1);
    both.extend(asked(0));
    // Another time, another wait, one idle round more.
    both.insert(9, Command::Poll { tenure: t(), records: 10, bytes: 1_000, wait_ms: 400 });
    for command in &mut both {
        if let Command::Process { within_ms, .. } = command {
            *within_ms -= 101;
        }
    }
    assert_eq!(s24::isolated(&run(both.clone()), &alone, Partition(0)), Ok(()));
    let says = |commands: Vec<Command>, why: &str| {
        let broken = s24::isolated(&run(commands), &alone, Partition(0)).unwrap_err();
        assert!(broken.contains(why), "{broken}");
    };
    let mut swapped = both.clone();
    let last = swapped.len() - 1;
    swapped.swap(last, last - 1);
    says(swapped, "command 4 of partition 0 is Retire");
    let mut elsewhere = both.clone();
    elsewhere[8] = Command::Assign { rebalance: rebalance(1), positions: vec![(t(), Frontier(1))] };
    says(elsewhere, "command 2 of partition 0 is Place");
    both.truncate(both.len() - 1);
    says(both, "command 5 of partition 0 is nothing");
}

#[test]
fn l08_fair_run() {
    let world = || {
        let mut told = Told::<l01::Drain>::new();
        told.appended(0, &[Entry::Visible]).started(A).assigned(A, 1, &[0, 1]);
        told.owns(A, t(), row(1, 0)).owns(A, tenure(1, 1), row(1, 0));
        told
    };
    let mut drained = world();
    drained.commits(A, t(), row(1, 1), &[0]);
    assert_eq!(l08::ended_well(&drained.truth), Ok(()));
    let says = |told: &Told<l01::Drain>, why: &str| {
        let broken = l08::ended_well(&told.truth).unwrap_err();
        assert!(broken.contains(why), "{broken}");
    };
    says(&world(), "not everything visible is decided");
    drained.retire(A, t());
    says(&drained, "a partition has no living owner");
    let mut spoilt = world();
    spoilt.tell(&Fact::Reconfigured);
    says(&spoilt, "and a works on");
    spoilt.stop(A, StopReason::Shutdown);
    assert_eq!(l08::ended_well(&spoilt.truth), Ok(()));
}
