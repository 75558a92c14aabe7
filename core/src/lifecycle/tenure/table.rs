//! Puts a tenure into each state, for the page of transitions.

use super::*;
use crate::ids::{Offset, Partition};
use crate::lifecycle::MAX_SEEKS;
use crate::lifecycle::command::CheckId;
use crate::lifecycle::table::{offsets, range, shared, token};

/// A tenure in a state, and what makes this paragraph another one than its neighbour.
pub(in super::super) struct Situation {
    pub(in super::super) about: &'static str,
    pub(in super::super) shared: Shared,
    pub(in super::super) tenure: Tenure,
}

/// What each state looks like; a new state stops the build here, and owes a situation below.
const fn _every_state_is_here(state: State) {
    match state {
        State::Checking(_)
        | State::Claiming
        | State::ReadingBack(_)
        | State::Recovering
        | State::Confirming(_)
        | State::Placing
        | State::Seeking
        | State::Polling
        | State::Judging(_)
        | State::Probing
        | State::Queued
        | State::Processing
        | State::Resolving
        | State::Observing
        | State::Waiting(_)
        | State::Ending(_)
        | State::Unresolved
        | State::Settling
        | State::Gone => {}
    }
}

/// A tenure of partition 0 that was begun and is then changed.
fn tenure(about: &'static str, change: impl FnOnce(&mut Tenure, &mut Shared)) -> Situation {
    let mut shared = shared();
    let id = TenureId { partition: Partition(0), number: 1 };
    let mut tenure = Tenure::begin(id, RebalanceId { member: 1, number: 1 }, &mut shared);
    tenure.observe_at = shared.now.after_ms(OBSERVE_AFTER_MS);
    change(&mut tenure, &mut shared);
    shared.checks.flush(shared.now, &mut Vec::new());
    if tenure.need().is_none() {
        shared.checks.answered(CheckId(1));
    }
    shared.out.clear();
    Situation { about, shared, tenure }
}

/// One that owns its partition, at frontier 10 under epoch 7.
fn owner(about: &'static str, change: impl FnOnce(&mut Tenure, &mut Shared)) -> Situation {
    tenure(about, |tenure, shared| {
        tenure.hold = Some(Hold { token: token(7), frontier: Frontier(10) });
        tenure.is_placed = true;
        change(tenure, shared);
    })
}

/// One whose records 10 and 11 are here.
fn holder(about: &'static str, change: impl FnOnce(&mut Tenure, &mut Shared)) -> Situation {
    owner(about, |tenure, shared| {
        tenure.position.is_proven = true;
        tenure.batch.offsets = Some(offsets(&[10, 11]));
        tenure.batch.ends = vec![2];
        change(tenure, shared);
    })
}

/// One whose decision about them was sent.
fn sender(about: &'static str, state: State) -> Situation {
    holder(about, |tenure, shared| {
        shared.lanes.ask(tenure.id);
        tenure.has_lane = shared.lanes.grant().is_some();
        tenure.batch.sent = Some(range(10, 11));
        tenure.state = state;
    })
}

fn polling(about: &'static str, position: Position) -> Situation {
    owner(about, |tenure, _| {
        tenure.position = position;
        tenure.budget.deadline = None;
        tenure.state = State::Polling;
    })
}

pub(in super::super) fn situations() -> Vec<Situation> {
    let need = |shared: &mut Shared| shared.want(CheckParts::Bounds);
    let accepting = |about, then| tenure(about, |tenure, _| tenure.state = State::Waiting(then));
    let reading = |about, then| owner(about, |tenure, _| tenure.state = State::Waiting(then));
    let cancelled = |asked| {
        move |tenure: &mut Tenure, _: &mut Shared| {
            (tenure.is_cancelled, tenure.state) = (true, State::Ending(asked));
        }
    };
    let probed = |sight| Position { probe: Some(sight), ..Position::default() };
    let mut situations = vec![
        tenure("The source is checked before the assignment is accepted.", |_, _| {}),
        tenure("A claim is in flight.", |tenure, _| tenure.state = State::Claiming),
        tenure("The claim's row is read back.", |tenure, _| tenure.state = State::ReadingBack(token(7))),
        tenure("The row is read after a claim whose reply was lost.", |tenure, _| {
            tenure.state = State::Recovering;
        }),
        owner("The source is checked before the first seek.", |tenure, shared| {
            tenure.is_placed = false;
            tenure.state = State::Confirming(need(shared));
        }),
        owner("The source is checked before a later seek.", |tenure, shared| {
            tenure.state = State::Confirming(need(shared));
        }),
        owner("Waits for the other partitions of its assignment.", |tenure, _| {
            tenure.is_placed = false;
            tenure.state = State::Placing;
        }),
        owner("The client moves to the frontier.", |tenure, _| tenure.state = State::Seeking),
        polling("No record has proved the seek yet.", Position::default()),
        polling(
            "No record has proved the seek yet, and the broker's end lies above the frontier.",
            Position { must_probe: true, ..Position::default() },
        ),
        polling("A probe saw the next record at 15.", probed(ProbeSight::Record(Offset(15)))),
        polling(
            "A probe saw the next record at 15, and two seeks did not take.",
            Position { misses: MAX_SEEKS - 1, ..probed(ProbeSight::Record(Offset(15))) },
        ),
        polling("A probe saw nothing below 20.", probed(ProbeSight::Tail(Offset(20)))),
        polling("A record proved the seek.", Position { is_proven: true, ..Position::default() }),
        owner("A record proved the seek; PostgreSQL has not answered for 5 s.", |tenure, shared| {
            tenure.position.is_proven = true;
            tenure.observe_at = shared.now;
            tenure.state = State::Polling;
        }),
        holder("Records are here; the source is checked before they are decided.", |tenure, shared| {
            tenure.state = State::Judging(need(shared));
        }),
        owner("A client with a throw-away group looks for the first visible record.", |tenure, _| {
            tenure.state = State::Probing;
        }),
        holder("Waits for a lane.", |tenure, shared| {
            shared.lanes.ask(tenure.id);
            tenure.state = State::Queued;
        }),
        sender("A decision about 10 and 11 is in flight.", State::Processing),
        holder(
            "The third attempt at record 10 alone, which PostgreSQL refused, is in flight.",
            |tenure, _| {
                tenure.batch.ends = vec![2, 1];
                tenure.batch.is_refused = true;
                tenure.attempts = MAX_ATTEMPTS - 1;
                tenure.batch.sent = Some(range(10, 10));
                tenure.state = State::Processing;
            },
        ),
        sender("The row is read after a decision about 10 and 11 whose reply was lost.", State::Resolving),
        holder("The same, for the third time.", |tenure, _| {
            tenure.batch.sent = Some(range(10, 11));
            (tenure.attempts, tenure.reads) = (MAX_ATTEMPTS - 1, MAX_ATTEMPTS - 1);
            tenure.state = State::Resolving;
        }),
        owner("The row is read because PostgreSQL has not answered for 5 s.", |tenure, _| {
            tenure.budget.deadline = None;
            tenure.state = State::Observing;
        }),
        accepting("Waits before the next claim.", Then::Claim),
        accepting("Waits before the next read-back.", Then::ReadBack(token(7))),
        accepting("Waits before the next read of the row after a lost claim.", Then::Recover),
        reading("Waits before the check of the next seek.", Then::Confirm),
        reading("Waits before the next poll.", Then::Poll),
        reading("Waits before the next probe.", Then::Probe),
        sender("Waits before the next attempt at a decision.", State::Waiting(Then::Process)),
        sender("Waits before the next read of the row after a lost decision.", State::Waiting(Then::Resolve)),
        tenure("Over; a cancelled claim is in flight.", cancelled(Asked::Claim)),
        owner("Over; a cancelled read is in flight.", cancelled(Asked::Observe)),
        sender("Over; a decision is in flight.", State::Ending(Asked::Process)),
        {
            let about = "Over; a cancelled read that resolves a lost decision is in flight.";
            let mut situation = sender(about, State::Ending(Asked::Observe));
            (situation.tenure.is_cancelled, situation.tenure.is_unknown) = (true, true);
            situation
        },
        {
            let about = "Over; a decision is in flight, and the stream drains.";
            let mut situation = sender(about, State::Ending(Asked::Process));
            situation.shared.is_running = false;
            situation
        },
        owner("Over, with a decision whose outcome nobody read yet.", |tenure, _| {
            (tenure.batch.sent, tenure.is_retired) = (Some(range(10, 11)), true);
            tenure.state = State::Unresolved;
        }),
        owner("The stream drains; the outcome of the last decision is read once more.", |tenure, shared| {
            (tenure.batch.sent, tenure.state) = (Some(range(10, 11)), State::Settling);
            shared.is_running = false;
        }),
    ];
    for Situation { tenure, .. } in &mut situations {
        tenure.is_unknown |= matches!(
            tenure.state,
            State::Recovering
                | State::Resolving
                | State::Waiting(Then::Recover | Then::Resolve)
                | State::Unresolved
                | State::Settling
        );
    }
    situations
}
