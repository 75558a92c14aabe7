//! Knows every setting of a scenario's world: how it is written, what it is when nothing is said, and the schedule that
//! follows from all of them.

use super::mistakes::{Mistake, Parsed};
use super::words::{Cast, Words, letter};
use crate::faults::{Schedule, Scheduler, Shape};
use crate::world::TOPIC;

/// What a scenario's world is made of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scene {
    /// The world.
    pub shape: Shape,
    /// It is lived with the seeds from 0 up to this one.
    pub seeds: u64,
    /// Waits and orders are drawn as in a campaign.
    pub is_pace_mixed: bool,
    /// Faults strike besides those of the story, as in a campaign.
    pub has_random_faults: bool,
}

/// One row of the author's table.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The word that it begins with.
    pub word: &'static str,
    /// What follows it.
    pub shape: &'static str,
    /// What it sets, and what it is when nothing is said.
    pub what: &'static str,
    /// A line that uses it.
    pub example: &'static str,
    parse: fn(&mut Words<'_>, &mut Scene) -> Parsed<()>,
}

const fn setting(
    word: &'static str,
    shape: &'static str,
    what: &'static str,
    example: &'static str,
    parse: fn(&mut Words<'_>, &mut Scene) -> Parsed<()>,
) -> Setting {
    Setting { word, shape, what, example, parse }
}

/// Settings without which there is no world.
pub(super) const NEEDED: [&str; 3] = ["topic", "members", "seeds"];

/// All settings, as the author's guide prints them.
pub const SETTINGS: &[Setting] = &[
    setting(
        "topic",
        "orders [partitions=N] [records=N] [grows-every=TIME]",
        "the topic: 1 partition, none of its records there at the beginning, and none that come by themselves",
        "topic orders partitions=2 records=100",
        topic,
    ),
    setting("members", "a b …", "the workers, by their letters", "members a b", members),
    setting(
        "seeds",
        "N",
        "how many seeds it is lived with; the first is traced",
        "seeds 200",
        |words, scene| {
            scene.seeds = words.number("a number of seeds")?;
            Ok(())
        },
    ),
    setting("lanes", "N", "decisions side by side in one process: 2", "lanes 1", |words, scene| {
        scene.shape.lanes = words.number("a number of lanes")?;
        Ok(())
    }),
    setting("batch", "N", "the most records of one decision: 500", "batch 2", |words, scene| {
        scene.shape.batch_records = words.number("a number of records")?;
        Ok(())
    }),
    setting(
        "session-timeout",
        "TIME",
        "how long the broker waits for a heartbeat: 15s",
        "session-timeout 6s",
        |words, scene| {
            scene.shape.session_timeout_ms = words.take("a time, such as 6s")?.time()?;
            Ok(())
        },
    ),
    setting(
        "pace",
        "uniform|mixed",
        "uniform: every wait is drawn alike; mixed: some actors are slow, as in a campaign",
        "pace mixed",
        |words, scene| {
            scene.is_pace_mixed = choice(words, "pace", ["uniform", "mixed"])?;
            Ok(())
        },
    ),
    setting(
        "faults",
        "told|random",
        "told: only those of the story; random: also those that a campaign would draw",
        "faults random",
        |words, scene| {
            scene.has_random_faults = choice(words, "choice of faults", ["told", "random"])?;
            Ok(())
        },
    ),
];

/// Which of two words stands there: whether the second.
fn choice(words: &mut Words<'_>, kind: &str, list: [&'static str; 2]) -> Parsed<bool> {
    let word = words.take(&list.join(" or "))?;
    let index = list.iter().position(|known| *known == word.text);
    index.map(|index| index == 1).ok_or_else(|| Mistake::none_of(word.at, word.text, kind, list.into_iter()))
}

fn topic(words: &mut Words<'_>, scene: &mut Scene) -> Parsed<()> {
    let name = words.take(TOPIC)?;
    if name.text != TOPIC {
        return Err(Mistake::none_of(name.at, name.text, "topic of a scenario", [TOPIC].into_iter()));
    }
    while let Some(word) = words.next() {
        let keys = ["partitions", "records", "grows-every"];
        let unknown = |text| Mistake::none_of(word.at, text, "option of a topic", keys.into_iter());
        let Some((key, value)) = word.option() else { return Err(unknown(word.text)) };
        match key.text {
            "partitions" => scene.shape.partitions = value.number("a number of partitions")?,
            "records" => scene.shape.records = value.number("a number of records")?,
            "grows-every" => scene.shape.grows_every_ms = value.time()?,
            _ => return Err(Mistake { at: key.at, ..unknown(key.text) }),
        }
    }
    Ok(())
}

fn members(words: &mut Words<'_>, scene: &mut Scene) -> Parsed<()> {
    let mut workers = 0;
    while workers == 0 || words.peek().is_some() {
        let wanted = letter(workers).to_string();
        let word = words.take(&wanted)?;
        if word.text != wanted {
            return Err(word.is_no("next member", &wanted));
        }
        workers += 1;
    }
    scene.shape.workers = workers;
    Ok(())
}

/// Reads a setting and what follows it; returns its word.
pub(super) fn read(words: &mut Words<'_>, scene: &mut Scene) -> Parsed<&'static str> {
    let word = words.take("a setting, such as topic")?;
    let setting = SETTINGS.iter().find(|setting| setting.word == word.text);
    let setting = setting.ok_or_else(|| {
        let all =
            SETTINGS.iter().map(|setting| setting.word).chain(["until", "mark", "expect", "a time like 0s"]);
        Mistake::none_of(word.at, word.text, "setting, and begins no other line", all)
    })?;
    (setting.parse)(words, scene)?;
    words.end()?;
    Ok(setting.word)
}

impl Scene {
    pub(super) fn new() -> Self {
        let shape = Shape {
            partitions: 1,
            workers: 0,
            lanes: 2,
            batch_records: 500,
            records: 0,
            grows_every_ms: 0,
            session_timeout_ms: 15_000,
            // Until the story says that the faults are over.
            wild_ms: u64::MAX,
        };
        Self { shape, seeds: 0, is_pace_mixed: false, has_random_faults: false }
    }

    /// Who may be named. Before the world is told that is anybody, so that one mistake is not reported on every line.
    pub(super) fn cast(&self, is_told: bool) -> Cast {
        if is_told {
            Cast { workers: self.shape.workers, partitions: self.shape.partitions }
        } else {
            Cast { workers: 26, partitions: u32::MAX }
        }
    }

    /// The world of one of its seeds.
    #[must_use]
    pub fn schedule(&self, seed: u64) -> Schedule {
        let mut schedule = Schedule::draw(seed);
        self.befall(&mut schedule);
        if !self.is_pace_mixed {
            schedule.scheduler = Scheduler::Uniform;
        }
        if !self.has_random_faults {
            (schedule.strikes, schedule.incidents) = Default::default();
        }
        schedule
    }

    /// Lets what was drawn happen in this world.
    pub(super) fn befall(&self, schedule: &mut Schedule) {
        schedule.shape = self.shape.clone();
        for incident in &mut schedule.incidents {
            incident.worker %= self.shape.workers.max(1);
            incident.partition %= self.shape.partitions.max(1);
        }
    }
}
