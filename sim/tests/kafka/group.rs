//! The group: who is given what, what is taken first, and what becomes of those who do not answer.

use amends_core::ids::{Frontier, RebalanceId};
use amends_core::lifecycle::command::Command;
use amends_core::lifecycle::event::Event;
use amends_sim::life::Life;

use crate::desk::{A, B, C, Desk, schedule, shape, tenure};

#[test]
fn ranges_divide_evenly_with_the_rest_in_front() {
    let mut desk = Desk::new(5, 0);
    for who in [A, B, C] {
        desk.join(who);
        desk.run(1_000);
    }
    assert_eq!([desk.assigned(A), desk.assigned(B), desk.assigned(C)], [vec![0, 1], vec![2, 3], vec![4]]);
}

#[test]
fn a_member_too_many_is_given_nothing_and_told_so() {
    let mut desk = Desk::new(1, 0);
    desk.join(A);
    desk.run(1_000);
    desk.join(B);
    desk.run(1_000);
    assert_eq!(desk.callbacks(B), ["1.1 assigned "]);
}

#[test]
fn a_member_that_holds_nothing_joins_without_a_callback() {
    let mut desk = Desk::new(1, 0);
    for who in [A, B, C] {
        desk.join(who);
        desk.run(1_000);
    }
    assert_eq!(desk.callbacks(B), ["1.1 assigned ", "1.2 assigned "]);
}

#[test]
fn no_callback_is_served_while_another_waits() {
    let mut desk = Desk::new(2, 0);
    desk.is_obedient = false;
    desk.join(A);
    desk.run(1_000);
    desk.join(B);
    desk.run(10_000);
    assert_eq!(desk.callbacks(A), ["1.1 assigned 0,1"]);
    desk.is_obedient = true;
    let (_, _, assigned) = desk.told[0].clone();
    desk.obey(A, &assigned);
    desk.run(10_000);
    assert_eq!((desk.assigned(A), desk.assigned(B)), (vec![0], vec![1]));
}

/// Numbers rise by one, and what is held is taken before anything is given.
fn keeps_the_protocol(callbacks: &[String]) {
    for (number, pair) in (1..).zip(callbacks.windows(2)) {
        assert!(pair[0].starts_with(&format!("1.{number} ")), "{callbacks:?}");
        let holds = pair[0].contains("assigned ") && !pair[0].ends_with(' ');
        assert!(!(holds && pair[1].contains("assigned")), "{callbacks:?}");
    }
}

#[test]
fn whenever_a_member_joins_nothing_is_given_before_everything_was_taken() {
    for (seed, after_ms) in (0..20).flat_map(|seed| (0..60).map(move |after_ms| (seed, after_ms))) {
        let mut desk = Desk::of(&schedule(seed, shape(3, 0)));
        desk.join(C);
        desk.run(1_000);
        desk.join(A);
        desk.run(after_ms);
        // The round waits for it, whatever the others have been given by then.
        desk.kafka.freeze(&mut desk.ground, C);
        desk.join(B);
        desk.run(20_000);
        assert_eq!(desk.assigned(A).len() + desk.assigned(B).len(), 3);
        keeps_the_protocol(&desk.callbacks(A));
        keeps_the_protocol(&desk.callbacks(B));
    }
}

#[test]
fn an_answer_to_another_callback_is_none() {
    let mut desk = Desk::new(1, 1);
    desk.is_obedient = false;
    desk.join(A);
    desk.run(1_000);
    desk.perform(A, &Command::Unassign { rebalance: RebalanceId { member: 1, number: 7 } });
    let rebalance = RebalanceId { member: 1, number: 1 };
    let positions = vec![(tenure(0, 1), Frontier(0))];
    let placed = desk.answer(A, &Command::Assign { rebalance, positions }, 1_000);
    assert!(matches!(placed, Event::Sought { .. }), "{placed}");
}

#[test]
fn a_frozen_member_that_dies_is_out_no_later() {
    let mut desk = Desk::new(2, 0);
    for who in [A, B] {
        desk.join(who);
        desk.run(1_000);
    }
    desk.kafka.freeze(&mut desk.ground, A);
    desk.run(6_000);
    desk.kafka.crash(&mut desk.ground, A);
    desk.run(5_000);
    assert_eq!(desk.assigned(B), [0, 1]);
}

#[test]
fn a_frozen_member_is_out_after_its_session_and_hears_of_it_when_it_thaws() {
    let mut desk = Desk::new(2, 0);
    for who in [A, B] {
        desk.join(who);
        desk.run(1_000);
    }
    desk.kafka.freeze(&mut desk.ground, A);
    desk.run(6_000);
    assert_eq!(desk.assigned(B), [1], "the session of 10 s has at least 7 s to go");
    desk.run(5_000);
    assert_eq!(desk.assigned(B), [0, 1]);
    let heard = desk.callbacks(A).len();
    desk.kafka.thaw(&mut desk.ground, A);
    desk.run(4_000);
    let callbacks = desk.callbacks(A);
    assert_eq!(
        callbacks[heard..],
        ["1.4 lost", "1.5 assigned 1"],
        "the numbers go on, its seat is a new one"
    );
    assert_eq!(desk.assigned(B), [0]);
}

#[test]
fn a_short_freeze_changes_nothing() {
    let mut desk = Desk::new(2, 0);
    for who in [A, B] {
        desk.join(who);
        desk.run(1_000);
    }
    let told = desk.told.len();
    desk.kafka.freeze(&mut desk.ground, A);
    desk.run(5_000);
    desk.kafka.thaw(&mut desk.ground, A);
    desk.run(30_000);
    assert_eq!(desk.told.len(), told);
}

#[test]
fn what_is_due_for_a_frozen_process_comes_when_it_thaws() {
    let mut desk = Desk::settled(2);
    desk.poll(A, tenure(0, 1), 1_000);
    desk.kafka.freeze(&mut desk.ground, A);
    let told = desk.told.len();
    desk.run(5_000);
    assert_eq!(desk.told.len(), told);
    desk.kafka.thaw(&mut desk.ground, A);
    desk.run(0);
    assert!(matches!(desk.told[told..], [(_, A, Event::Polled { .. })]), "{:?}", &desk.told[told..]);
}

#[test]
fn a_crashed_member_is_out_after_its_session() {
    let mut desk = Desk::new(2, 0);
    for who in [A, B] {
        desk.join(who);
        desk.run(1_000);
    }
    let told = desk.callbacks(A).len();
    desk.kafka.crash(&mut desk.ground, A);
    desk.join(Life::first(0).next());
    desk.run(6_000);
    assert!(desk.assigned(B).is_empty(), "the group waits for the dead member's session");
    desk.run(6_000);
    assert_eq!((desk.assigned(B), desk.assigned(A.next())), (vec![0], vec![1]));
    assert_eq!(desk.callbacks(A).len(), told, "the dead are told nothing");
}

#[test]
fn a_member_that_does_not_answer_is_out_after_a_minute() {
    let mut desk = Desk::new(2, 0);
    desk.join(A);
    desk.run(1_000);
    desk.is_obedient = false;
    desk.join(B);
    desk.run(59_000);
    assert_eq!(desk.callbacks(A).last().expect("one"), "1.2 revoked 0,1");
    assert!(desk.callbacks(B).is_empty());
    desk.run(2_000);
    assert_eq!(desk.callbacks(B), ["1.1 assigned 0,1"]);
    // It had given up what it held: it has nothing to lose, and comes back.
    desk.is_obedient = true;
    let of = |desk: &Desk, who| desk.told.iter().rev().find(|told| told.1 == who).expect("told").2.clone();
    let (late, given) = (of(&desk, A), of(&desk, B));
    desk.obey(B, &given);
    desk.obey(A, &late);
    desk.run(5_000);
    assert_eq!((desk.assigned(A), desk.assigned(B)), (vec![1], vec![0]));
}

#[test]
fn a_member_that_waits_with_its_assignment_for_a_minute_loses_it() {
    let mut desk = Desk::new(2, 0);
    desk.is_obedient = false;
    desk.join(A);
    desk.run(1_000);
    desk.join(B);
    desk.run(62_000);
    assert_eq!(desk.callbacks(B), ["1.1 assigned 0,1"]);
    desk.is_obedient = true;
    let (_, _, assigned) = desk.told[0].clone();
    desk.obey(A, &assigned);
    desk.run(4_000);
    assert_eq!(desk.callbacks(A)[1], "1.2 lost");
}

#[test]
fn who_rejoins_is_a_new_member_and_its_numbers_begin_again() {
    let mut desk = Desk::new(2, 0);
    for who in [A, B] {
        desk.join(who);
        desk.run(1_000);
    }
    let heard = desk.callbacks(A).len();
    desk.perform(A, &Command::Rejoin { member: 2 });
    desk.run(2_000);
    assert_eq!(desk.callbacks(A)[heard..], ["2.1 assigned 1"]);
    assert_eq!(desk.assigned(B), [0]);
}

#[test]
fn more_partitions_form_the_group_anew() {
    let mut desk = Desk::new(1, 0);
    for who in [A, B] {
        desk.join(who);
        desk.run(1_000);
    }
    desk.kafka.grow(&mut desk.ground, 4);
    desk.run(4_000);
    assert_eq!((desk.assigned(A), desk.assigned(B)), (vec![0, 1], vec![2, 3]));
    let told = desk.told.len();
    desk.kafka.grow(&mut desk.ground, 3);
    desk.run(4_000);
    assert_eq!(
        (desk.told.len(), desk.ground.chronicle.truth.current_partitions),
        (told, 4),
        "it never shrinks"
    );
}

#[test]
fn a_revoke_takes_from_its_holder_at_once() {
    let mut desk = Desk::settled(0);
    let before = desk.ground.now();
    assert!(desk.kafka.revoke(&mut desk.ground, A));
    desk.run(5_000);
    assert_eq!(desk.callbacks(A)[1..], ["1.2 revoked 0", "1.3 assigned 0"]);
    let revoked = desk.told.iter().find(|told| matches!(told.2, Event::Revoked { .. })).expect("revoked");
    assert_eq!(revoked.0, before);
    assert!(!desk.kafka.revoke(&mut desk.ground, B), "who is not there holds nothing");
}
