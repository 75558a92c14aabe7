//! Knows the one value from which a world follows: what it is made of, what goes wrong in it, and in which order things
//! happen. It is what is printed, saved, replayed and, later, shrunk.

use std::collections::BTreeMap;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::catalogue::{CATALOGUE, Fault};

/// Everything about one world.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Schedule {
    /// From which everything else was drawn; the chance of what is not said here.
    pub seed: u64,
    /// What the world is made of.
    pub shape: Shape,
    /// In which order things happen that may happen in any.
    pub scheduler: Scheduler,
    /// Where it begins: everything below begins then; at the start where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begins_at: Option<Moment>,
    /// What may go wrong at each opportunity; a fault that is left out never strikes.
    pub strikes: BTreeMap<Fault, Knob>,
    /// What goes wrong at its time, in order of time.
    pub incidents: Vec<Incident>,
}

/// What a world is made of.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Shape {
    /// Partitions of the topic.
    pub partitions: u32,
    /// Workers, each one process at a time.
    pub workers: u8,
    /// Decisions side by side in one process.
    pub lanes: u32,
    /// The most records of one decision.
    pub batch_records: u32,
    /// Visible records of each partition at the beginning.
    pub records: u32,
    /// A further record comes every so many milliseconds while the faults last; 0 for none.
    pub grows_every_ms: u64,
    /// How long the broker waits for a heartbeat.
    pub session_timeout_ms: u64,
    /// Faults strike for so long.
    pub wild_ms: u64,
}

/// In which order things happen that may happen in any.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", tag = "by")]
pub enum Scheduler {
    /// Each kind of wait has a weight of its own.
    Swarm {
        /// Milliseconds at most, for each kind of wait in the order of `Wait`.
        most_ms: Vec<u64>,
    },
    /// Every wait is drawn alike.
    Uniform,
    /// Actors have priorities, and the lowest waits; at `changes` steps one falls to the end.
    Priority {
        /// Each actor's rank.
        ranks: Vec<u8>,
        /// The steps at which the running actor falls to the end.
        changes: Vec<u32>,
    },
}

/// A marked moment of a scenario.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Moment {
    /// The scenario's name.
    pub scenario: String,
    /// The mark's.
    pub mark: String,
}

/// How a fault strikes in this world.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Knob {
    /// Of a thousand opportunities.
    pub per_mille: u32,
    /// The least and the most severity, both included.
    pub severity: (u64, u64),
    /// Which forms it takes, by number.
    pub variants: Vec<u32>,
    /// Instead of a rate: exactly these opportunities.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub picks: Option<Vec<Pick>>,
}

/// One opportunity that was struck.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Pick {
    /// Which fault.
    pub fault: Fault,
    /// Its opportunity, from 1.
    pub nth: u32,
    /// As the catalogue says.
    pub severity: u64,
    /// As the catalogue says.
    pub variant: u32,
}

/// What goes wrong at a time.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Incident {
    /// When.
    pub at_ms: u64,
    /// What.
    pub fault: Fault,
    /// As the catalogue says.
    pub severity: u64,
    /// As the catalogue says.
    pub variant: u32,
    /// Which worker, where it concerns one.
    pub worker: u8,
    /// Which partition, where it concerns one.
    pub partition: u32,
}

impl Schedule {
    /// The world of a seed that begins at the start: each fault is left out with probability one half, else drawn once.
    #[must_use]
    pub fn draw(seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut shape = Shape::draw(&mut rng);
        let scheduler = Scheduler::draw(&mut rng);
        let (mut strikes, mut incidents) = (BTreeMap::new(), Vec::new());
        for entry in CATALOGUE {
            if rng.random_bool(0.5) {
                continue;
            }
            let (least, most) = entry.severity;
            // Mild oftener than severe: what lasts too long ends in one and the same way.
            let mut severity = || {
                let most = rng.random_range(least..=most);
                rng.random_range(least..=most)
            };
            let (one, two) = (severity(), severity());
            let forms = u32::try_from(entry.variants.len()).unwrap_or(1).max(1);
            if !entry.is_incident {
                let per_mille = rng.random_range(1..=entry.per_mille);
                let mut variants: Vec<u32> = (0..forms).filter(|_| rng.random_bool(0.5)).collect();
                if variants.is_empty() {
                    variants.push(rng.random_range(0..forms));
                }
                let knob = Knob { per_mille, severity: (one.min(two), one.max(two)), variants, picks: None };
                strikes.insert(entry.fault, knob);
            } else if rng.random_ratio(entry.per_mille, 1_000) {
                let at_ms = rng.random_range(0..=shape.wild_ms);
                if entry.fault == Fault::PollThreadStarved {
                    // It shows only when it has lasted.
                    shape.wild_ms = shape.wild_ms.max(at_ms + one + 5_000);
                }
                incidents.push(Incident {
                    at_ms,
                    fault: entry.fault,
                    severity: one,
                    variant: rng.random_range(0..forms),
                    worker: rng.random_range(0..shape.workers),
                    partition: rng.random_range(0..shape.partitions),
                });
            }
        }
        incidents.sort_by_key(|incident| incident.at_ms);
        Self { seed, shape, scheduler, begins_at: None, strikes, incidents }
    }
}

impl Shape {
    /// Small and short oftener than large and long: what a fault leads to is seen soon, or not at all.
    fn draw(rng: &mut ChaCha8Rng) -> Self {
        let (most_partitions, longest_ms) = (rng.random_range(1..=3), rng.random_range(1_000..=20_000));
        Self {
            partitions: rng.random_range(1..=most_partitions),
            workers: rng.random_range(1..=3),
            lanes: rng.random_range(1..=3),
            batch_records: rng.random_range(1..=8),
            records: rng.random_range(0..=8),
            grows_every_ms: if rng.random_bool(0.5) { 0 } else { rng.random_range(500..=5_000) },
            session_timeout_ms: rng.random_range(6_000..=15_000),
            wild_ms: rng.random_range(1_000..=longest_ms),
        }
    }
}

impl Scheduler {
    fn draw(rng: &mut ChaCha8Rng) -> Self {
        match rng.random_range(0..9) {
            0..4 => Self::Swarm { most_ms: (0..8).map(|_| 1 << rng.random_range(0..10)).collect() },
            4..7 => Self::Uniform,
            _ => {
                let depth = rng.random_range(2..=3);
                Self::Priority {
                    ranks: (0..6).map(|_| rng.random_range(0..6)).collect(),
                    changes: (1..depth).map(|_| rng.random_range(0..400)).collect(),
                }
            }
        }
    }
}
