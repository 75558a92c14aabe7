//! Knows how long everything takes, and thereby in which order things happen that may happen in any.

use crate::faults::{Scheduler, mix};

/// A kind of wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Wait {
    /// Bytes on their way to a server or back.
    Wire,
    /// A server works.
    Store,
    /// A broker answers a check.
    Check,
    /// A client moves to a position.
    Seek,
    /// A client fetches.
    Poll,
    /// The group calls back.
    Callback,
    /// A client closes.
    Close,
    /// A timer is not quite exact.
    Timer,
}

/// Who waits: a worker by its number, or one of the services.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Actor {
    /// A worker.
    Worker(u8),
    /// The brokers.
    Kafka,
    /// The server.
    Postgres,
}

/// Draws every wait of one world.
#[derive(Clone, Debug)]
pub struct Pace {
    seed: u64,
    scheduler: Scheduler,
    drawn: [u32; 8],
    steps: u32,
}

/// The longest wait where nothing else is said.
const MOST_MS: u64 = 20;
/// What the actor of lowest priority waits.
const LOW_MS: u64 = 400;

impl Pace {
    /// The waits of a seed under a scheduler.
    #[must_use]
    pub fn new(seed: u64, scheduler: Scheduler) -> Self {
        Self { seed: mix(seed, 7), scheduler, drawn: [0; 8], steps: 0 }
    }

    /// From now on nobody is slower than others.
    pub fn heal(&mut self) {
        self.scheduler = Scheduler::Uniform;
    }

    /// How long it takes this time, in milliseconds, at least 1.
    pub fn wait(&mut self, wait: Wait, actor: Actor) -> u64 {
        let nth = &mut self.drawn[wait as usize];
        *nth += 1;
        let drawn = mix(self.seed ^ (wait as u64 + 1), u64::from(*nth));
        self.steps += 1;
        match &mut self.scheduler {
            Scheduler::Swarm { most_ms } => {
                let most = most_ms.get(wait as usize).copied().unwrap_or(MOST_MS).max(1);
                1 + drawn % most
            }
            Scheduler::Uniform => 1 + drawn % MOST_MS,
            Scheduler::Priority { ranks, changes } => {
                let index = match actor {
                    Actor::Worker(worker) => 2 + usize::from(worker),
                    Actor::Kafka => 0,
                    Actor::Postgres => 1,
                };
                let lowest = ranks.iter().copied().max().unwrap_or(0);
                if changes.contains(&self.steps)
                    && let Some(rank) = ranks.get_mut(index)
                {
                    *rank = lowest.saturating_add(1);
                }
                let rank = u64::from(ranks.get(index).copied().unwrap_or(0));
                1 + drawn % 3 + rank * LOW_MS / 8
            }
        }
    }
}
