//! Marked moments: every one is known, is come to, and nothing strikes by itself before it.

use amends_sim::faults::Moment;
use amends_sim::run::{Stage, Tier, live};
use amends_sim::scenario::action::Action;
use amends_sim::scenario::{Deed, Scenario, marked};

#[test]
fn every_mark_is_one_at_which_a_world_may_begin() {
    let mut named = Vec::new();
    for file in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../scenarios")).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "scenario") {
            continue;
        }
        let scenario = Scenario::read(&std::fs::read_to_string(&path).unwrap()).unwrap();
        for act in &scenario.story {
            match &act.deed {
                Deed::Mark(mark) => {
                    let name = path.file_stem().unwrap().to_string_lossy().into_owned();
                    named.push(Moment { scenario: name, mark: mark.clone() });
                }
                // A world whose faults are over before its mark shows nothing.
                Deed::Perform { action: Action::Heal, .. } => {
                    let behind = scenario.story.iter().skip_while(|behind| *behind != act);
                    assert!(
                        !behind.into_iter().any(|act| matches!(act.deed, Deed::Mark(_))),
                        "{}",
                        path.display()
                    );
                }
                Deed::Perform { .. } | Deed::Until { .. } => {}
            }
        }
    }
    let order = |moment: &Moment| (moment.scenario.clone(), moment.mark.clone());
    named.sort_by_key(order);
    assert_eq!(marked::all().cloned().collect::<Vec<_>>(), named);
}

#[test]
fn one_world_of_ten_begins_at_a_mark_and_every_mark_is_begun_at() {
    let begun: Vec<Moment> = (0..5_000).filter_map(|seed| marked::draw(seed).begins_at).collect();
    assert!((450..550).contains(&begun.len()), "{}", begun.len());
    for moment in marked::all() {
        assert!(begun.contains(moment), "{moment:?}");
    }
}

#[test]
fn a_world_leads_to_its_mark_before_anything_strikes_by_itself() {
    let seeds: Vec<u64> = (0..400).filter(|seed| marked::draw(*seed).begins_at.is_some()).collect();
    for seed in seeds {
        let lived = live(Tier::A, Stage::Drawn(marked::draw(seed)), true).unwrap();
        let before: Vec<&str> =
            lived.trace.lines().take_while(|line| !line.contains("at the mark")).collect();
        assert!(before.len() < lived.trace.lines().count(), "seed {seed} never comes to its mark");
        assert!(
            !before.iter().any(|line| line.contains("timer-misbehaves")),
            "seed {seed} strikes too early"
        );
    }
}
