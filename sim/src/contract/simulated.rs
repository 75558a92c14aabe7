//! Knows the model of PostgreSQL as a server of a case: a world without faults, on a thread of its own.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use amends_store::env::Environment;
use madsim::runtime::{Handle, Runtime};
use madsim::time::sleep;

use super::case::Step;
use super::operation::incarnation;
use super::play::{Played, Server, play};
use super::shown::{Cell, Table};
use crate::chronicle::Chronicle;
use crate::faults::{Faults, Schedule, Scheduler};
use crate::ground::Ground;
use crate::life::Life;
use crate::pace::Pace;
use crate::postgres::SimPostgres;
use crate::postgres::env::SimEnvironment;
use crate::truth::Truth;

/// Any number would do: nothing in an answer may depend on it.
const SEED: u64 = 1;
/// Longer than bytes are on their way, there and back.
const SETTLED_MS: u64 = 100;

struct Simulated {
    postgres: SimPostgres,
}

/// Plays a case in a world of its own.
pub(crate) fn play_alone(steps: &[Step]) -> Result<Played, String> {
    let world = || {
        Runtime::with_seed_and_config(SEED, madsim::Config::default()).block_on(async {
            let mut schedule = Schedule::draw(SEED);
            schedule.strikes.clear();
            let ground = Ground {
                chronicle: Chronicle::new(Truth::new(incarnation()?, 2, 0), false),
                faults: Faults::new(Arc::new(schedule)),
                pace: Pace::new(SEED, Scheduler::Uniform),
            };
            let postgres = SimPostgres::start(Arc::new(Mutex::new(ground)), SEED);
            let played = play(&Simulated { postgres }, steps).await;
            Handle::current().kill("postgres");
            sleep(Duration::from_millis(1)).await;
            played
        })
    };
    let played = thread::scope(|scope| scope.spawn(world).join());
    played.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

impl Server for Simulated {
    type Env = SimEnvironment;

    fn env(&self, client: &str) -> SimEnvironment {
        SimEnvironment::new(self.postgres.clone(), life(client))
    }

    fn url(&self) -> &str {
        SimEnvironment::URL
    }

    async fn settle(&self, _: usize) -> Result<(), String> {
        self.env("clock").sleep(SETTLED_MS).await;
        Ok(())
    }

    async fn terminate(&self, client: &str) -> Result<(), String> {
        self.postgres.terminate(life(client));
        Ok(())
    }

    async fn rows(&self, table: &Table) -> Result<Vec<Vec<Cell>>, String> {
        Ok(self.postgres.rows(table.name))
    }
}

/// A process for each client, by its first letter.
fn life(client: &str) -> Life {
    Life::first(client.bytes().next().unwrap_or_default())
}
