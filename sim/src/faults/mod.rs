//! Knows what goes wrong in a world, and decides it from the schedule alone.
//!
//! Two kinds: a *strike* is decided at each opportunity (a reply is lost, a poll fails), an *incident* happens at a time
//! (a process is paused, a topic is recreated). Every decision depends on the seed, the fault, and how many
//! opportunities for it came before, and on nothing else: one fault more or less moves no other.

use std::sync::Arc;

use crate::life::Life;

mod catalogue;
mod schedule;

pub use catalogue::{CATALOGUE, Entry, Fault};
pub use schedule::{Incident, Knob, Moment, Pick, Schedule, Scheduler, Shape};

/// One decision to strike, with what the fault needs to know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Strike {
    /// Milliseconds, a count or an offset, as the catalogue says.
    pub severity: u64,
    /// Which form, from 0, as the catalogue says.
    pub variant: u32,
}

/// A strike that a scenario orders: the next opportunity that fits gets it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Order {
    /// Which fault.
    pub fault: Fault,
    /// Only an opportunity of this worker; `None` for any.
    pub worker: Option<u8>,
    /// Only an opportunity of this partition; `None` for any.
    pub partition: Option<u32>,
    /// How.
    pub strike: Strike,
    /// How often; `u32::MAX` until the faults are over.
    pub times: u32,
}

/// Where an opportunity lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Place {
    /// Whose; `None` for a service's own.
    pub worker: Option<u8>,
    /// Of which partition; `None` when it concerns all.
    pub partition: Option<u32>,
}

impl Place {
    /// An opportunity of this process at this partition.
    #[must_use]
    pub fn of(who: Life, partition: u32) -> Self {
        Self { worker: Some(who.worker), partition: Some(partition) }
    }

    /// An opportunity of this process.
    #[must_use]
    pub fn at(who: Life) -> Self {
        Self { worker: Some(who.worker), partition: None }
    }
}

/// The decisions of one world.
#[derive(Clone, Debug)]
pub struct Faults {
    schedule: Arc<Schedule>,
    /// Of a thousand opportunities, by the faults' places in the catalogue: 0 for a fault that never strikes, and all of
    /// them where single ones are picked.
    rates: [u32; CATALOGUE.len()],
    orders: Vec<Order>,
    /// Opportunities so far.
    counted: [u32; CATALOGUE.len()],
    /// What struck, in order: the world's decisions, from which it can be played again whatever the rates are.
    struck: Vec<Pick>,
    is_wild: bool,
    /// A story is told first: only what it orders strikes.
    is_held: bool,
}

impl Faults {
    /// The decisions of a schedule.
    #[must_use]
    pub fn new(schedule: Arc<Schedule>) -> Self {
        let mut rates = [0; CATALOGUE.len()];
        for (fault, knob) in &schedule.strikes {
            rates[fault.index()] = if knob.picks.is_some() { 1_000 } else { knob.per_mille };
        }
        Self {
            schedule,
            rates,
            orders: Vec::new(),
            counted: [0; CATALOGUE.len()],
            struck: Vec::new(),
            is_wild: true,
            is_held: false,
        }
    }

    /// Only what is ordered strikes, until this is undone.
    pub fn hold(&mut self, is_held: bool) {
        self.is_held = is_held;
    }

    /// Orders a strike.
    pub fn order(&mut self, order: Order) {
        self.orders.push(order);
    }

    /// From now on nothing strikes.
    pub fn heal(&mut self) {
        self.is_wild = false;
        self.orders.clear();
    }

    /// Whether faults may strike.
    #[must_use]
    pub fn is_wild(&self) -> bool {
        self.is_wild
    }

    /// Decides one opportunity.
    pub fn strike(&mut self, fault: Fault, at: Place) -> Option<Strike> {
        self.strike_as(fault, at, |_| true)
    }

    /// Decides one opportunity at which the fault can take some of its forms only: an order of another one goes on
    /// waiting, and whatever else is drawn does not strike.
    pub fn strike_as(&mut self, fault: Fault, at: Place, can: impl Fn(u32) -> bool) -> Option<Strike> {
        if !self.is_wild {
            return None;
        }
        let strike = self.ordered(fault, at, &can).or_else(|| self.drawn(fault));
        strike.filter(|strike| can(strike.variant))
    }

    fn drawn(&mut self, fault: Fault) -> Option<Strike> {
        let rate = self.rates[fault.index()];
        if rate == 0 || self.is_held {
            return None;
        }
        let nth = &mut self.counted[fault.index()];
        *nth += 1;
        let nth = *nth;
        let key = mix(self.schedule.seed ^ mix(fault as u64, 0), u64::from(nth));
        if key % 1_000 >= u64::from(rate) {
            return None;
        }
        let knob = self.schedule.strikes.get(&fault)?;
        let strike = if let Some(picks) = &knob.picks {
            let pick = picks.iter().find(|pick| pick.nth == nth)?;
            Strike { severity: pick.severity, variant: pick.variant }
        } else {
            let drawn = mix(key, 1);
            let (least, most) = knob.severity;
            let variants = knob.variants.len() as u64;
            let index = usize::try_from(mix(key, 2) % variants.max(1)).unwrap_or(0);
            Strike {
                severity: least + drawn % (most.saturating_sub(least) + 1),
                variant: knob.variants.get(index).copied().unwrap_or(0),
            }
        };
        self.struck.push(Pick { fault, nth, severity: strike.severity, variant: strike.variant });
        Some(strike)
    }

    fn ordered(&mut self, fault: Fault, at: Place, can: &impl Fn(u32) -> bool) -> Option<Strike> {
        let fits = |wanted: Option<u8>, is: Option<u8>| wanted.is_none() || wanted == is;
        let index = self.orders.iter().position(|order| {
            order.fault == fault
                && fits(order.worker, at.worker)
                && (order.partition.is_none() || order.partition == at.partition)
                && can(order.strike.variant)
        })?;
        let order = &mut self.orders[index];
        let strike = order.strike;
        if order.times != u32::MAX {
            order.times -= 1;
            if order.times == 0 {
                self.orders.remove(index);
            }
        }
        Some(strike)
    }

    /// The decisions so far.
    #[must_use]
    pub fn struck(&self) -> &[Pick] {
        &self.struck
    }
}

/// Spreads a number over all of 64 bits (the finaliser of `SplitMix64`): a draw by position instead of by turn, so that
/// a decision can be told without those before it.
#[must_use]
pub fn mix(key: u64, nth: u64) -> u64 {
    let mut z = key.wrapping_add(nth.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
