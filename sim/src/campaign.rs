//! Knows how many seeds are lived side by side, and when a campaign is good: nothing broken, and enough seen.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::cells::Cells;
use crate::faults::{CATALOGUE, Fault};
use crate::run::{Lived, Stage, Tier, difference, examine, live};
use crate::scenario::marked;
use crate::sometimes::Goal;

/// Every so many seeds one is lived twice, and both traces are compared.
const TWICE: u64 = 97;
/// Of so many worlds of tier A one is examined, which takes hundreds of further lives.
const EXAMINED: u64 = 100;
/// How often each goal must be hit.
const GOAL_FLOOR: u64 = 5;
/// Below so many seeds nothing is said about what was not seen: the rarest are met in a few of ten thousand worlds.
const FLOOR_SEEDS: u64 = 20_000;
/// What no world can meet: there is no relay yet.
const ELSEWHERE: Fault = Fault::RelayPaused;
/// Violations that are shown in full.
const SHOWN: usize = 5;

/// What is to be lived.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// Which tier.
    pub tier: Tier,
    /// Which seeds.
    pub seeds: Range<u64>,
    /// How many side by side, at least 1.
    pub jobs: usize,
    /// No further seed begins after this.
    pub time: Option<Duration>,
}

/// What came of it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Tally {
    /// `a` or `b`.
    pub tier: String,
    /// Worlds that were lived.
    pub seeds: u64,
    /// Worlds in which a property was broken, or two lives of one seed differed.
    pub violations: u64,
    /// The first of them, in order of their seeds.
    pub shown: Vec<String>,
    /// Facts.
    pub steps: u64,
    /// Worlds in which each fault made a difference.
    pub faults: BTreeMap<&'static str, u64>,
    /// How often each goal was hit, by its name.
    pub goals: BTreeMap<&'static str, u64>,
    /// Cells of the reducer's table that were never met.
    pub unmet: Vec<String>,
    /// Worlds a second, all jobs together.
    pub seeds_per_s: u64,
    /// What was not seen often enough.
    pub missed: Vec<String>,
    /// The same by the faults' places in the catalogue, while it is counted.
    #[serde(skip)]
    struck: [u64; CATALOGUE.len()],
    #[serde(skip)]
    cells: Cells,
    #[serde(skip)]
    hits: [u64; Goal::ALL.len()],
    #[serde(skip)]
    found: BTreeMap<u64, String>,
}

impl Campaign {
    /// Lives all seeds. `progress` is called now and then with the worlds so far.
    #[must_use]
    pub fn run(&self, progress: &(dyn Fn(u64) + Sync)) -> Tally {
        let (next, done) = (AtomicU64::new(self.seeds.start), AtomicU64::new(0));
        let is_over = AtomicBool::new(false);
        let tally = Mutex::new(Tally::new(self.tier));
        let began = Instant::now();
        thread::scope(|scope| {
            for _ in 0..self.jobs.max(1) {
                scope.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        let seed = next.fetch_add(1, Ordering::Relaxed);
                        if seed >= self.seeds.end {
                            break;
                        }
                        let lived = self.seed(seed);
                        tally.lock().unwrap_or_else(PoisonError::into_inner).add(seed, lived);
                        progress(done.fetch_add(1, Ordering::Relaxed) + 1);
                        if self.time.is_some_and(|time| began.elapsed() >= time) {
                            is_over.store(true, Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        let mut tally = tally.into_inner().unwrap_or_else(PoisonError::into_inner);
        let ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX).max(1);
        tally.seeds_per_s = tally.seeds * 1_000 / ms;
        tally.finish();
        tally
    }

    fn seed(&self, seed: u64) -> Result<Lived, String> {
        let is_sample = seed.is_multiple_of(TWICE);
        let schedule = marked::draw(seed);
        if self.tier == Tier::A && seed.is_multiple_of(EXAMINED) {
            examine(&schedule)?;
        }
        let again = is_sample.then(|| Stage::Drawn(schedule.clone()));
        let lived = live(self.tier, Stage::Drawn(schedule), is_sample).map_err(|error| error.to_string())?;
        if let Some(again) = again {
            let again = live(self.tier, again, true).map_err(|error| error.to_string())?;
            if let Some(why) = difference(&lived.trace, &again.trace) {
                return Err(format!("two lives of one seed differ at {why}"));
            }
        }
        Ok(lived)
    }
}

impl Tally {
    fn new(tier: Tier) -> Self {
        Self {
            tier: tier.to_string(),
            seeds: 0,
            violations: 0,
            shown: Vec::new(),
            steps: 0,
            faults: BTreeMap::new(),
            goals: BTreeMap::new(),
            unmet: Vec::new(),
            seeds_per_s: 0,
            missed: Vec::new(),
            struck: [0; CATALOGUE.len()],
            cells: Cells::default(),
            hits: [0; Goal::ALL.len()],
            found: BTreeMap::new(),
        }
    }

    fn add(&mut self, seed: u64, lived: Result<Lived, String>) {
        self.seeds += 1;
        let broken = match lived {
            Ok(lived) => {
                self.steps += lived.steps;
                self.cells.add(lived.cells);
                for fault in lived.struck.keys() {
                    self.struck[fault.index()] += 1;
                }
                for (goal, hits) in &lived.goals {
                    self.hits[*goal as usize] += u64::from(*hits);
                }
                lived.violation.map(|violation| violation.to_string())
            }
            Err(why) => Some(why),
        };
        if let Some(why) = broken {
            self.violations += 1;
            self.found.insert(seed, why);
            if self.found.len() > SHOWN {
                self.found.pop_last();
            }
        }
    }

    fn finish(&mut self) {
        let struck = CATALOGUE.iter().map(|entry| (entry.name, self.struck[entry.fault.index()]));
        self.faults = struck.filter(|(_, worlds)| *worlds > 0).collect();
        self.goals = Goal::ALL.iter().map(|goal| (goal.name(), self.hits[*goal as usize])).collect();
        self.shown = self.found.iter().map(|(seed, why)| format!("seed {seed}: {why}")).collect();
        self.unmet = Cells::table().without(self.cells).collect();
        if self.seeds < FLOOR_SEEDS {
            return;
        }
        let is_here = |fault: Fault| fault != ELSEWHERE;
        let unseen =
            CATALOGUE.iter().filter(|entry| is_here(entry.fault) && !self.faults.contains_key(entry.name));
        self.missed = unseen.map(|entry| format!("fault {}", entry.name)).collect();
        let rare = self.goals.iter().filter(|(_, hits)| **hits < GOAL_FLOOR);
        self.missed.extend(rare.map(|(goal, hits)| format!("{goal}, seen {hits} times")));
    }

    /// Whether nothing was broken and enough was seen.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.violations == 0 && self.missed.is_empty()
    }
}

/// The last line of a campaign.
impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tier, seeds, violations, seeds_per_s, .. } = self;
        let faults = self.faults.len();
        let hit = self.goals.values().filter(|hits| **hits > 0).count();
        write!(f, "campaign: tier={tier} seeds={seeds} violations={violations}")?;
        write!(f, " sometimes={hit}/{} faults={faults}/{}", Goal::ALL.len(), CATALOGUE.len())?;
        let cells = Cells::table().count() as usize;
        write!(f, " cells={}/{cells}", cells - self.unmet.len())?;
        // With no failure in n worlds, fewer than 3 of n fail, at 95 of 100.
        let bound = if *violations == 0 && *seeds > 0 { format!("3/{seeds}") } else { "-".to_owned() };
        write!(f, " seeds_per_s={seeds_per_s} bound={bound}")
    }
}
