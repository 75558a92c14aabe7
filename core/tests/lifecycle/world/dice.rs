//! Chance, from a seed.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

pub struct Dice {
    rng: ChaCha8Rng,
    /// Faults may strike.
    pub is_wild: bool,
    /// How often each strikes, of a thousand times; drawn once per world, so that worlds differ.
    pub rates: Rates,
}

#[derive(Clone, Copy)]
pub struct Rates {
    /// A store operation fails before it has the lock.
    pub fail: u32,
    /// The reply of one that held the lock is lost, or it aborts.
    pub lost: u32,
    /// A seek lands elsewhere, or fails.
    pub seek: u32,
    /// A poll or a probe fails, or gives what is stale.
    pub poll: u32,
    /// A check fails, or shows what a broker behind the others shows.
    pub check: u32,
    /// Another member claims, or a failover forgets.
    pub strange: u32,
    /// Something takes half a second; a tenth of them, several seconds.
    pub slow: u32,
    /// A statement hangs, whatever it was given.
    pub hang: u32,
    /// The group calls back at least so often; a storm in some worlds.
    pub calls_ms: u64,
}

impl Dice {
    pub fn new(seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut rate = |most: u32| if rng.random_bool(0.5) { 0 } else { rng.random_range(0..=most) };
        let rates = Rates {
            fail: rate(200),
            lost: rate(250),
            seek: rate(600),
            poll: rate(100),
            check: rate(200),
            strange: rate(400),
            slow: rate(300),
            hang: rate(30),
            calls_ms: if rate(1_000) > 800 { 1_000 } else { 15_000 },
        };
        Self { rng, is_wild: true, rates }
    }

    /// True `in_1000` times of a thousand.
    pub fn chance(&mut self, in_1000: u32) -> bool {
        self.rng.random_ratio(in_1000, 1_000)
    }

    /// The same, and never once the faults are over.
    pub fn fault(&mut self, in_1000: u32) -> bool {
        self.is_wild && self.chance(in_1000)
    }

    /// From 0 to `below`, exclusive; 0 when that is 0.
    pub fn below(&mut self, below: u64) -> u64 {
        if below == 0 { 0 } else { self.rng.random_range(0..below) }
    }

    pub fn index(&mut self, len: usize) -> usize {
        self.rng.random_range(0..len)
    }

    /// A wait in milliseconds: short mostly, long at times.
    pub fn latency(&mut self) -> u64 {
        if !self.fault(self.rates.slow) {
            return 1 + self.below(20);
        }
        if self.chance(100) { self.below(8_000) } else { self.below(500) }
    }
}
