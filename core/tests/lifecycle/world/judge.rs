//! Holds every command against what the world knows to be true; it never asks the reducer what it believes.

use std::collections::BTreeMap;

use amends_core::ids::{Frontier, Partition, RebalanceId, TenureId};
use amends_core::lifecycle::command::{CheckId, CheckParts, Command, Timer};
use amends_core::lifecycle::event::{Event, Failure, ProcessFailure};

use super::Verdict;
use super::kafka::Kafka;
use super::postgres::Postgres;
use super::tenancy::{Op, Tenancy, ensure};

/// A rebalance callback waits at most this long, and timers may be this late.
const REBALANCE_MS: u64 = 20_000;
pub const LATE_MS: u64 = 2_100;
/// From the first sign of an end to the last: drain, cut, close.
pub const END_MS: u64 = 12_000 + 3_000 + 5_000 + 3 * LATE_MS;
/// From a fence to the rejoin, when the assignment stands: the longest wait, then decisions in flight.
const REJOIN_MS: u64 = 8_000 + 20_000 + 2 * LATE_MS;

pub struct Judge {
    pub tenancies: BTreeMap<TenureId, Tenancy>,
    numbers: BTreeMap<Partition, u32>,
    lanes: usize,
    check: Option<(CheckId, CheckParts)>,
    /// The steps at which the last checks that passed were sent: of any kind, and with bounds.
    sent: u64,
    passed: u64,
    passed_bounds: u64,
    fenced_at: Option<u64>,
    leaving_since: Option<u64>,
    pub draining_since: Option<u64>,
    is_closed: bool,
}

impl Judge {
    pub fn new(lanes: u32) -> Self {
        Self {
            tenancies: BTreeMap::new(),
            numbers: BTreeMap::new(),
            lanes: lanes as usize,
            check: None,
            sent: 0,
            passed: 0,
            passed_bounds: 0,
            fenced_at: None,
            leaving_since: None,
            draining_since: None,
            is_closed: false,
        }
    }

    /// The group gave partitions: whatever was held is over.
    pub fn assigned(&mut self, step: u64, partitions: &[Partition]) {
        self.taken();
        if self.draining_since.is_some() {
            return;
        }
        for partition in partitions {
            let number = self.numbers.entry(*partition).or_insert(0);
            *number += 1;
            let id = TenureId { partition: *partition, number: *number };
            let tenancy = Tenancy { is_own: true, since: step, ..Tenancy::default() };
            self.tenancies.insert(id, tenancy);
        }
    }

    pub fn taken(&mut self) {
        self.tenancies.values_mut().for_each(|tenancy| tenancy.is_own = false);
        self.fenced_at = None;
    }

    /// An answer is on its way to the reducer. `passes`: what the world thinks of a check's sight.
    pub fn answered(&mut self, step: u64, event: &Event, passes: bool, postgres: &Postgres) {
        if let Event::Checked { .. } | Event::CheckFailed { .. } = event {
            let (_, parts) = self.check.take().expect("a check was asked");
            if passes {
                self.passed = self.sent;
                if parts == CheckParts::Bounds {
                    self.passed_bounds = self.sent;
                }
            }
        }
        let Some(id) = event.tenure() else { return };
        let Some(tenancy) = self.tenancies.get_mut(&id) else { return };
        match event {
            Event::Polled { .. } | Event::PollEmpty { .. } | Event::PollFailed { .. } => {
                (tenancy.is_polling, tenancy.since, tenancy.polled) = (false, step, step);
                tenancy.tickets += 1;
                if let Event::Polled { offsets, .. } = event {
                    (tenancy.batch, tenancy.decided) = (Some(offsets.clone()), 0);
                }
            }
            Event::Probed { .. } | Event::SeekFailed { .. } => tenancy.since = step,
            Event::Claimed { token, .. } => {
                (tenancy.op, tenancy.claimed, tenancy.failed) = (None, Some(*token), 0);
            }
            Event::ClaimUnknown { .. } | Event::CommitUnknown { .. } => {
                (tenancy.op, tenancy.must_observe) = (None, true);
                tenancy.failed += 1;
            }
            Event::Observed { token, frontier, .. } => {
                (tenancy.op, tenancy.must_observe) = (None, false);
                if token.is_some() && *token == tenancy.claimed {
                    if tenancy.read_back != tenancy.claimed {
                        (tenancy.read_back, tenancy.since) = (tenancy.claimed, step);
                        tenancy.failovers = postgres.row(id).failovers;
                    }
                    let frontier = frontier.map_or(0, |frontier| frontier.0);
                    if frontier != tenancy.frontier
                        && tenancy.sent.is_some_and(|sent| sent.last.0 + 1 == frontier)
                    {
                        tenancy.decided = tenancy.sent.map_or(0, |sent| sent.to);
                        tenancy.failed = 0;
                    }
                    tenancy.frontier = frontier;
                }
            }
            Event::Committed { .. } => {
                (tenancy.op, tenancy.failed) = (None, 0);
                if let Some(sent) = tenancy.sent.take() {
                    (tenancy.frontier, tenancy.decided) = (sent.last.0 + 1, sent.to);
                }
            }
            Event::Fenced { .. } | Event::Moved { .. } => (tenancy.op, tenancy.must_retire) = (None, true),
            Event::ClaimFailed { failure: Failure::Again(_), .. }
            | Event::ProcessFailed { failure: ProcessFailure::Attempt(Failure::Again(_)), .. } => {
                tenancy.op = None;
                tenancy.failed += 1;
            }
            Event::ProcessFailed {
                failure: ProcessFailure::Refused(_) | ProcessFailure::TooLarge { .. },
                ..
            } => {
                (tenancy.op, tenancy.failed) = (None, 0);
            }
            Event::ClaimFailed { .. } | Event::ObserveFailed { .. } | Event::ProcessFailed { .. } => {
                tenancy.op = None;
            }
            _ => {}
        }
    }

    /// A claim or a read got the lock: what was lost under an older one has ended.
    pub fn locked(&mut self, by: TenureId, lock: u64) {
        for (id, tenancy) in &mut self.tenancies {
            if id.partition == by.partition && tenancy.open.is_some_and(|open| open < lock) {
                tenancy.open = None;
            }
        }
    }

    /// The reply of a claim or a decision was lost; it ran under this row lock.
    pub fn left_open(&mut self, id: TenureId, lock: u64) {
        self.tenancies.get_mut(&id).expect("it asked").open = Some(lock);
    }

    fn tickets(&self) -> i32 {
        self.tenancies.values().map(|tenancy| tenancy.tickets).sum()
    }

    pub fn command(
        &mut self,
        (step, now): (u64, u64),
        command: &Command,
        kafka: &Kafka,
        postgres: &Postgres,
    ) -> Verdict {
        let is_running = self.draining_since.is_none();
        ensure!(
            !self.is_closed
                || matches!(
                    command,
                    Command::Stop { .. }
                        | Command::AllowRebalance { .. }
                        | Command::Unassign { .. }
                        | Command::Wait { .. }
                ),
            "{command} after close"
        );
        match command {
            Command::Check { check, parts } => {
                ensure!(self.check.is_none(), "two checks in flight");
                ensure!(is_running, "a check while the stream drains");
                (self.check, self.sent) = (Some((*check, *parts)), step);
            }
            Command::Assign { rebalance, positions } => return self.assign(*rebalance, positions, kafka),
            Command::Unassign { rebalance } => return self.unassign(now, *rebalance, kafka),
            Command::Wait { timer: Timer::Drain, .. } => {
                self.draining_since.get_or_insert(now);
            }
            // From here on nothing new begins: the member is about to leave.
            Command::Wait { timer: Timer::Leave { .. }, .. } => {
                ensure!(self.fenced_at.is_some(), "leaves, and nobody was fenced");
                self.leaving_since = Some(now);
                self.tenancies.values_mut().for_each(|tenancy| tenancy.is_own = false);
            }
            Command::Rejoin { member } => {
                ensure!(*member == kafka.group.member + 1, "rejoins as {member}");
                ensure!(is_running, "rejoins while the stream drains");
                ensure!(self.fenced_at.is_some(), "rejoins, and nobody was fenced");
                let is_overdue = self.leaving_since.is_some_and(|since| now + 100 >= since + REBALANCE_MS);
                ensure!(
                    is_overdue || !(self.is_asking() || self.tickets() > 0),
                    "rejoins with work in flight"
                );
                self.taken();
            }
            Command::Close => {
                self.is_closed = true;
                for (id, tenancy) in &self.tenancies {
                    ensure!(tenancy.tickets == 0, "closes with a ticket of {id} out");
                }
            }
            Command::Stop { reason } => {
                let open = self.tenancies.iter().find(|(_, tenancy)| {
                    tenancy.open.is_some() || matches!(tenancy.op, Some(Op::Claim | Op::Process))
                });
                if reason.is_orderly()
                    && let Some((id, _)) = open
                {
                    return Err(format!("stops with {}, and an outcome of {id} is unknown", reason.code()));
                }
            }
            _ => {}
        }
        let Some(id) = command.tenure() else { return Ok(()) };
        let in_process = self.tenancies.values().filter(|tenancy| tenancy.op == Some(Op::Process)).count();
        let (passed, passed_bounds, lanes) = (self.passed, self.passed_bounds, self.lanes);
        let Some(tenancy) = self.tenancies.get_mut(&id) else { return Err(format!("{command} for nobody")) };
        let begins = !matches!(
            command,
            Command::Cancel { .. }
                | Command::AllowRebalance { .. }
                | Command::Retire { .. }
                | Command::Observe { .. }
                | Command::Wait { .. }
        );
        if begins {
            ensure!(tenancy.is_own && is_running, "{id} {command} without the assignment");
            ensure!(!tenancy.is_retired, "{id} {command} after retire");
            ensure!(!tenancy.must_retire, "{id} {command} after its row spoke against it");
            ensure!(!tenancy.must_observe, "{id} {command} where the outcome is unknown");
        }
        if matches!(command, Command::Claim { .. } | Command::Process { .. }) {
            ensure!(tenancy.failed < 3, "{id} {command} for the fourth time");
        }
        match command {
            Command::Claim { .. } => {
                ensure!(passed_bounds >= tenancy.since, "{id} claims without a check");
                ensure!(tenancy.op.replace(Op::Claim).is_none(), "{id}: two operations");
            }
            Command::Observe { fresh, .. } => {
                ensure!(tenancy.op.replace(Op::Observe).is_none(), "{id}: two operations");
                ensure!(tenancy.is_own || !is_running, "{id} observes without the assignment");
                ensure!(*fresh || !tenancy.must_observe, "{id} resolves on an old session");
            }
            Command::Seek { frontier, .. } => {
                ensure!(tenancy.is_placed && frontier.0 == tenancy.frontier, "{id} seeks to {frontier}");
                ensure!(passed_bounds >= tenancy.since, "{id} seeks without a check");
            }
            Command::Probe { frontier, .. } => {
                ensure!(frontier.0 == tenancy.frontier, "{id} probes {frontier}");
            }
            Command::Poll { .. } => {
                ensure!(!std::mem::replace(&mut tenancy.is_polling, true), "{id}: two polls");
                ensure!(tenancy.tickets == 0, "{id} polls with a ticket out");
                ensure!(tenancy.is_placed, "{id} polls before it is placed");
            }
            Command::Process { token, expected, range, refused, .. } => {
                ensure!(tenancy.op.replace(Op::Process).is_none(), "{id}: two operations");
                ensure!(in_process < lanes, "{} decisions in {lanes} lanes", in_process + 1);
                ensure!(tenancy.read_back == Some(*token), "{id} decides under {token:?}");
                ensure!(passed >= tenancy.polled, "{id} decides without a check of identity");
                tenancy.sent = Some(*range);
                return tenancy.decide(id, *expected, *range, *refused, passed_bounds, kafka, postgres);
            }
            Command::AllowRebalance { .. } => {
                tenancy.tickets -= 1;
                ensure!(tenancy.tickets >= 0, "{id}: a ticket came back twice");
            }
            Command::Retire { .. } => {
                ensure!(!std::mem::replace(&mut tenancy.is_retired, true), "{id} retires twice");
                if tenancy.is_own && is_running {
                    self.fenced_at = Some(self.fenced_at.unwrap_or(now));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn assign(
        &mut self,
        rebalance: RebalanceId,
        positions: &[(TenureId, Frontier)],
        kafka: &Kafka,
    ) -> Verdict {
        let waits = kafka.group.pending.map(|(rebalance, is_assigned, _)| (rebalance, is_assigned));
        ensure!(waits == Some((rebalance, true)), "assign {rebalance}, and {waits:?} waits");
        let owned: Vec<TenureId> = self.owned().collect();
        ensure!(positions.iter().all(|(id, _)| owned.contains(id)), "assigns what is not its own");
        if self.draining_since.is_some() {
            ensure!(positions.is_empty(), "assigns while the stream drains");
            return Ok(());
        }
        for id in owned {
            let tenancy = self.tenancies.get_mut(&id).expect("owned");
            let position = positions.iter().find(|(placed, _)| *placed == id);
            let Some((_, frontier)) = position else {
                ensure!(tenancy.is_retired, "{id} is left out of the assignment, and lives");
                continue;
            };
            ensure!(tenancy.read_back.is_some() && !tenancy.is_retired, "{id} is assigned before its claim");
            ensure!(frontier.0 == tenancy.frontier, "{id} is assigned at {frontier}");
            ensure!(self.passed_bounds >= tenancy.since, "{id} is assigned without a check");
            tenancy.is_placed = true;
        }
        Ok(())
    }

    fn unassign(&self, now: u64, rebalance: RebalanceId, kafka: &Kafka) -> Verdict {
        let waits = kafka.group.pending;
        let Some((_, _, since)) = waits.filter(|(waits, is_assigned, _)| *waits == rebalance && !is_assigned)
        else {
            return Err(format!("unassign {rebalance}, and {waits:?} waits"));
        };
        let is_overdue = now + 100 >= since + REBALANCE_MS;
        ensure!(self.tickets() == 0 || is_overdue, "the group goes on, and a ticket is out");
        // Nobody waits for what was lost; else nothing may take a row lock after the answer.
        let is_asking = self.tenancies.values().any(|tenancy| !tenancy.is_own && tenancy.op.is_some());
        ensure!(
            !is_asking || is_overdue || kafka.group.is_lost,
            "the group goes on, and a statement is in flight"
        );
        Ok(())
    }

    /// Somebody waits for PostgreSQL.
    pub fn is_asking(&self) -> bool {
        self.tenancies.values().any(|tenancy| tenancy.op.is_some())
    }

    pub fn owned(&self) -> impl Iterator<Item = TenureId> + '_ {
        self.tenancies.iter().filter(|(_, tenancy)| tenancy.is_own).map(|(id, _)| *id)
    }

    /// What must hold between steps. `foreign`: partitions whose row or history speaks against their owner.
    pub fn between(&mut self, now: u64, kafka: &Kafka) -> Verdict {
        if let Some(since) = self.draining_since {
            ensure!(now <= since + END_MS, "draining since {since}");
            return Ok(());
        }
        if let Some((rebalance, is_assigned, since)) = kafka.group.pending {
            let within = REBALANCE_MS + LATE_MS;
            ensure!(now <= since + within, "{rebalance} waits since {since} (assigned: {is_assigned})");
        }
        if let Some(since) = self.fenced_at {
            ensure!(now <= since + REJOIN_MS, "fenced at {since}, and no rejoin");
        }
        Ok(())
    }

    /// A tenure that ended by itself had a reason.
    pub fn retired(&self, command: &Command, postgres: &Postgres) -> Verdict {
        let Command::Retire { tenure } = command else { return Ok(()) };
        let tenancy = &self.tenancies[tenure];
        if !tenancy.is_own || self.draining_since.is_some() {
            return Ok(());
        }
        let row = postgres.row(*tenure);
        let is_foreign = row.left().token != tenancy.claimed;
        let has_lost = row.failovers > tenancy.failovers;
        ensure!(is_foreign || has_lost, "{tenure} retires, and its row is its own");
        Ok(())
    }
}
