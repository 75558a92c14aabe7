//! Knows the marked moments of scenarios: random worlds may begin there, where something interesting is about to happen.

use std::sync::{Arc, LazyLock};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{Deed, Scenario};
use crate::faults::{Moment, Schedule, mix};

macro_rules! scenarios {
    ($($name:literal)*) => {
        /// The scenarios with marks; a seed must be the same world wherever it is lived, so that they are part of the
        /// program.
        const SCENARIOS: &[(&str, &str)] = &[$((
            $name,
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../scenarios/", $name, ".scenario")),
        ),)*];
    };
}

scenarios! {
    "a-commit-that-was-lost-is-tried-again"
    "a-commit-whose-reply-was-lost-is-not-applied-again"
    "a-crash-between-commit-and-reply-is-no-loss-and-no-repeat"
    "a-dead-processs-commit-lands-before-the-next-claim-or-never"
    "a-fenced-member-leaves-and-comes-back"
    "a-partition-taken-during-a-check-is-let-go"
    "a-revocation-waits-for-the-decision-in-flight"
    "a-shutdown-lets-the-decision-land"
    "a-zombie-that-is-idle-writes-nothing"
    "an-idle-owner-notices-a-failover"
    "an-open-transaction-holds-the-end-back"
    "an-unknown-outcome-outlives-its-tenure"
    "bytes-that-come-late-decide-nothing-twice"
    "records-from-before-a-seek-are-thrown-away"
}

static MARKED: LazyLock<Vec<(Moment, Arc<Scenario>)>> = LazyLock::new(|| {
    let mut marked = Vec::new();
    for (name, text) in SCENARIOS {
        let Ok(scenario) = Scenario::read(text).map(Arc::new) else { continue };
        for act in &scenario.story {
            if let Deed::Mark(mark) = &act.deed {
                let moment = Moment { scenario: (*name).to_owned(), mark: mark.clone() };
                marked.push((moment, Arc::clone(&scenario)));
            }
        }
    }
    marked
});

/// Every marked moment at which a world may begin.
pub fn all() -> impl Iterator<Item = &'static Moment> {
    MARKED.iter().map(|(moment, _)| moment)
}

/// The world of a seed in a campaign: one of ten begins at a marked moment.
#[must_use]
pub fn draw(seed: u64) -> Schedule {
    let mut schedule = Schedule::draw(seed);
    let mut rng = ChaCha8Rng::seed_from_u64(mix(seed, 10));
    if !rng.random_ratio(1, 10) {
        return schedule;
    }
    let (moment, scenario) = &MARKED[rng.random_range(0..MARKED.len())];
    let (wild_ms, grows_every_ms) = (schedule.shape.wild_ms, schedule.shape.grows_every_ms);
    scenario.scene.befall(&mut schedule);
    (schedule.shape.wild_ms, schedule.shape.grows_every_ms) = (wild_ms, grows_every_ms);
    schedule.begins_at = Some(moment.clone());
    schedule
}

/// The scenario that leads to a moment.
///
/// # Panics
/// When there is no such moment: who drew it knows better.
#[must_use]
pub fn scenario(moment: &Moment) -> Arc<Scenario> {
    let found = MARKED.iter().find(|(known, _)| known == moment);
    let (_, scenario) =
        found.unwrap_or_else(|| panic!("no scenario {} has a mark {}", moment.scenario, moment.mark));
    Arc::clone(scenario)
}
