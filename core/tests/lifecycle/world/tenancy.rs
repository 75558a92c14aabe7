//! One stretch of ownership, as the world saw it, and what may be decided in it.

use amends_core::ids::{Frontier, TenureId, Token};
use amends_core::lifecycle::command::Range;
use amends_core::lifecycle::event::Offsets;

use super::Verdict;
use super::kafka::Kafka;
use super::postgres::Postgres;

macro_rules! ensure {
    ($holds:expr, $($why:tt)+) => { if !$holds { return Err(format!($($why)+)); } };
}
pub(super) use ensure;

/// One stretch of ownership, as the world saw it.
#[derive(Default)]
pub struct Tenancy {
    /// The group gave it, and nobody took it.
    pub(super) is_own: bool,
    pub(super) is_retired: bool,
    pub(super) is_placed: bool,
    /// The token of the last claim that was answered.
    pub(super) claimed: Option<Token>,
    /// The same, once the row showed it.
    pub(super) read_back: Option<Token>,
    pub(super) failovers: u32,
    pub(super) frontier: i64,
    /// Tickets of answered polls, and a poll in flight.
    pub(super) tickets: i32,
    pub(super) is_polling: bool,
    /// The store operation in flight.
    pub(super) op: Option<Op>,
    pub(super) must_observe: bool,
    /// The row spoke against it: nothing follows but its end.
    pub(super) must_retire: bool,
    /// Attempts at the claim or the range in hand that failed since it was begun.
    pub(super) failed: u32,
    /// The last step that needs a check before a claim or a seek, and the last poll.
    pub(super) since: u64,
    pub(super) polled: u64,
    pub(super) batch: Option<Offsets>,
    pub(super) decided: u32,
    pub(super) sent: Option<Range>,
    /// The number of the row lock under which a lost claim or decision ran.
    pub(super) open: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    Claim,
    Observe,
    Process,
}

impl Tenancy {
    #[expect(clippy::too_many_arguments, reason = "the fields of one command")]
    pub(super) fn decide(
        &self,
        id: TenureId,
        expected: Frontier,
        range: Range,
        is_refused: bool,
        passed_bounds: u64,
        kafka: &Kafka,
        postgres: &Postgres,
    ) -> Verdict {
        ensure!(self.tickets == 1, "{id} decides what was given back");
        ensure!(expected.0 == self.frontier, "{id} expects {expected}, was told {}", self.frontier);
        let batch = self.batch.as_deref().unwrap_or_default();
        ensure!(range.from == self.decided, "{id} decides from {}, not from {}", range.from, self.decided);
        let given = &batch[range.from as usize..range.to as usize];
        let given: Vec<i64> = given.iter().map(|offset| offset.0).collect();
        ensure!(
            given.first() == Some(&range.first.0) && given.last() == Some(&range.last.0),
            "{id}: {range:?}"
        );
        let visible = kafka.log(id.partition).from(expected.0);
        ensure!(visible.starts_with(&given), "{id} decides {given:?}, visible are {visible:?}");
        let is_gap = range.last.0 + 1 - expected.0 != i64::from(range.to - range.from);
        ensure!(!is_gap || passed_bounds >= self.polled, "{id} believes a gap without bounds");
        if is_refused {
            let is_poison = given.len() == 1 && postgres.poison.contains(&given[0]);
            ensure!(is_poison, "{id} quarantines {given:?}");
        }
        let row = postgres.row(id);
        let has_lost = row.failovers > self.failovers;
        let is_mine = row.left().token == self.read_back;
        ensure!(has_lost || !is_mine || row.left().frontier == Some(expected.0), "{id} expects {expected}");
        Ok(())
    }
}
