//! A story as it is told: what is done when, what is waited for, and what is said when it does not come.

use amends_core::lifecycle::command::Command;
use amends_core::lifecycle::stop::StopReason;
use amends_sim::life::Life;
use amends_sim::scenario::Scenario;
use amends_sim::scenario::action::Action;
use amends_sim::scenario::telling::{Next, Telling};

use crate::judging::ByHand;

const TEXT: &str = "# A claim.
topic    orders
members  a
seeds    1

0s       start a
2s       pause a for 3s
+500ms   resume a
until    a stopped within 5s
mark     here
+1s      crash a

expect   a stopped reason=paused
";

#[test]
fn acts_are_due_at_their_time_or_after_the_line_above() {
    let scenario = Scenario::read(TEXT).unwrap();
    let mut world = ByHand::new();
    world.polling(Life::first(0));
    let mut telling = Telling::default();
    let mut next = |world: &ByHand| telling.next(&scenario.story, &world.outcome, &world.truth);
    assert_eq!(next(&world), Next::Perform(&Action::Start(0)));
    assert_eq!(next(&world), Next::Wait { at_ms: 2_000 });
    world.truth.now = 1_999;
    assert_eq!(next(&world), Next::Wait { at_ms: 2_000 });
    world.truth.now = 2_003;
    assert_eq!(next(&world), Next::Perform(&Action::Pause { worker: 0, for_ms: Some(3_000) }));
    assert_eq!(next(&world), Next::Wait { at_ms: 2_503 });
    world.truth.now = 2_503;
    assert_eq!(next(&world), Next::Perform(&Action::Resume(0)));
    assert_eq!(next(&world), Next::Wait { at_ms: 7_503 });
    world.truth.now = 4_000;
    world.asks(Life::first(0), &Command::Stop { reason: StopReason::Paused });
    assert_eq!(next(&world), Next::Mark("here"));
    assert_eq!(next(&world), Next::Wait { at_ms: 5_000 });
    world.truth.now = 5_000;
    assert_eq!(next(&world), Next::Perform(&Action::Crash(0)));
    assert_eq!(next(&world), Next::Over);
    assert_eq!(scenario.judge(&world.outcome, &world.truth), []);
}

#[test]
fn what_does_not_come_in_time_is_shown_at_its_line() {
    let scenario = Scenario::read(TEXT).unwrap();
    let mut world = ByHand::new();
    let mut telling = Telling::default();
    world.truth.now = 2_000;
    let mut next = |world: &ByHand| telling.next(&scenario.story, &world.outcome, &world.truth);
    assert!(matches!((next(&world), next(&world)), (Next::Perform(_), Next::Perform(_))));
    world.truth.now = 2_500;
    assert!(matches!(next(&world), Next::Perform(_)));
    world.truth.now = 7_499;
    assert_eq!(next(&world), Next::Wait { at_ms: 7_500 });
    world.truth.now = 7_500;
    let Next::Missed(mistake) = next(&world) else { panic!("it did not come") };
    insta::assert_snapshot!(mistake.show("some.scenario", TEXT));
    let wrong = scenario.judge(&world.outcome, &world.truth);
    insta::assert_snapshot!(wrong[0].show("some.scenario", TEXT));
}
