//! Processes that die or stand still in the moment in which they begin, or are told something.

use std::sync::Arc;

use amends_sim::run::{Stage, Tier, live};
use amends_sim::scenario::Scenario;

/// What a story of one member misses.
fn missed_of(story: &str, expect: &str) -> Vec<String> {
    missed(&format!("# A claim.\ntopic    orders\nmembers  a\nseeds    1\n\n{story}\n\n{expect}\n"))
}

/// What is missed when `b` begins beside `a`, to whom this has happened.
fn missed_beside(what: &str) -> Vec<String> {
    missed(&format!(
        "# A claim.\ntopic    orders partitions=2 records=3\nmembers  a b\nseeds    1\n\n0s       start a\n0s       {what}\n\
         +100ms   start b\nuntil    b active orders/1 within 30s\n\nexpect   b claim=2\n"
    ))
}

fn missed(text: &str) -> Vec<String> {
    let scenario = Arc::new(Scenario::read(text).unwrap());
    let lived = [Tier::A, Tier::B].map(|tier| live(tier, Stage::Told(scenario.clone(), 0), false).unwrap());
    lived.into_iter().flat_map(|lived| lived.missed).map(|mistake| mistake.what).collect()
}

#[test]
fn who_dies_as_it_begins_takes_no_seat_in_the_group() {
    assert_eq!(missed_beside("crash a"), [""; 0]);
}

#[test]
fn who_stands_still_as_it_begins_takes_no_seat_in_the_group() {
    assert_eq!(missed_beside("pause a"), [""; 0]);
}

#[test]
fn who_dies_hears_nothing_of_that_moment() {
    let told = "0s       start a\n5s       ask a shutdown\n+0s      crash a\n+5s      publish orders/0";
    assert_eq!(missed_of(told, "expect   a shutdown-requested=0"), [""; 0]);
}

#[test]
fn who_stands_still_hears_of_that_moment_later() {
    let told =
        "0s       start a\n5s       ask a shutdown\n+0s      pause a for 3s\n+1s      publish orders/0";
    assert_eq!(missed_of(told, "expect   a shutdown-requested=0"), [""; 0]);
    assert_eq!(
        missed_of(&format!("{told}\n+5s      publish orders/0"), "expect   a stopped reason=shutdown"),
        [""; 0]
    );
}
