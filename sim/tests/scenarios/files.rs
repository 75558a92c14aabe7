//! Every scenario of the repository is read, is called as a claim is, and comes out as it must.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use amends_sim::run::{Stage, Tier, live};
use amends_sim::scenario::Scenario;
use amends_sim::walk::Walk;

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios");
    let all = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        all.filter(|path| path.extension().is_some_and(|end| end == "scenario")).collect();
    files.sort();
    files
}

#[test]
fn every_scenario_is_read() {
    let files = files();
    assert!(files.len() >= 45, "only {} scenarios were found", files.len());
    let mut shown = String::new();
    for path in files {
        let (name, text) = (path.file_name().unwrap().to_string_lossy(), fs::read_to_string(&path).unwrap());
        for mistake in Scenario::read(&text).err().into_iter().flatten() {
            shown.push_str(&format!("{}\n\n", mistake.show(&name, &text)));
        }
    }
    assert!(shown.is_empty(), "\n{shown}");
}

#[test]
fn a_name_is_a_claim_in_plain_words() {
    for path in files() {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let is_plain =
            name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
        assert!(is_plain && name.split('-').count() >= 3, "{name} is no sentence of lower-case words");
    }
}

#[test]
fn no_two_scenarios_claim_the_same() {
    let mut claims: Vec<String> = files()
        .iter()
        .map(|path| Scenario::read(&fs::read_to_string(path).unwrap()).unwrap().claim)
        .collect();
    let all = claims.len();
    claims.sort();
    claims.dedup();
    assert_eq!(claims.len(), all);
}

/// More are lived by `cargo sim run`.
const SEEDS: usize = 5;

#[test]
fn every_scenario_comes_out_as_it_must() {
    let mut shown = String::new();
    for path in files() {
        let (name, text) = (path.file_name().unwrap().to_string_lossy(), fs::read_to_string(&path).unwrap());
        let Ok(scenario) = Scenario::read(&text).map(Arc::new) else { continue };
        for seed in scenario.seeds().take(SEEDS) {
            let mut walk = Walk::staged(Arc::clone(&scenario), seed, false);
            walk.live();
            for mistake in walk.judge() {
                shown.push_str(&format!("seed {seed}: {}\n\n", mistake.show(&name, &text)));
            }
            if let Some(violation) = walk.ground().chronicle.broken() {
                shown.push_str(&format!("seed {seed}: {name}: {violation}\n\n"));
            }
        }
    }
    assert!(shown.is_empty(), "\n{shown}");
}

/// The trace of each first seed over the production code, reviewed like code: `scenarios/NAME.snap`.
#[test]
fn every_trace_is_the_one_that_was_reviewed() {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../../scenarios");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        for path in files() {
            let scenario = Arc::new(Scenario::read(&fs::read_to_string(&path).unwrap()).unwrap());
            let lived = live(Tier::B, Stage::Told(scenario, 0), true).unwrap();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            assert!(lived.is_good(), "{name}: {:?} {:?}", lived.violation, lived.missed);
            insta::assert_snapshot!(name, lived.trace);
        }
    });
}
