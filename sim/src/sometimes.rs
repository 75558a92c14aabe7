//! Knows what a campaign must have seen to mean anything: rare turns, each recognised from facts and counted.

use std::collections::BTreeSet;

use amends_core::ids::{Frontier, Offset, Partition, TenureId, Token};
use amends_core::lifecycle::command::{Command, Timer};
use amends_core::lifecycle::event::{Event, ProbeSight};
use amends_core::lifecycle::stop::StopReason;
use amends_core::source::boundary::{Refusal, TopicSight};

use crate::fact::{Commit, Entry, Fact, Op};
use crate::faults::Fault;
use crate::few::Few;
use crate::life::Life;
use crate::truth::{Own, Process, Tenancy, Truth};

macro_rules! goals {
    ($($goal:ident => $name:literal),* $(,)?) => {
        /// A turn that must come sometimes.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub enum Goal { $(#[doc = $name] $goal),* }

        impl Goal {
            /// Every goal.
            pub const ALL: &[Self] = &[$(Self::$goal),*];

            /// Its name in a campaign's tally.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$goal => $name),* }
            }
        }
    };
}

goals! {
    UnknownCommitted => "unknown, was committed",
    UnknownAborted => "unknown, was aborted",
    UnknownForeign => "unknown, then foreign",
    UnknownUnread => "unknown, observe failed",
    ClaimedAfresh => "claim unknown, claimed afresh",
    EpochBurnt => "epoch burnt",
    RevokedCommitWins => "revoked during process, commit wins",
    RevokedFenceWins => "revoked during process, fence wins",
    ZombieFenced => "zombie fenced",
    LateAnswerIgnored => "stale completion ignored",
    WokenAfterCancel => "wake-up after cancel",
    ThirdSucceeds => "attempt 3 succeeds",
    ThirdExhausts => "attempt 3 exhausts",
    GapAdvance => "gap advance",
    AbortedSkipped => "aborted skipped",
    TailLeft => "tail left",
    RecreatedBeforeClaim => "recreate found before claim",
    RecreatedAfterPoll => "recreate found after poll",
    PartitionsGrew => "partition increase",
    StartAboveFrontier => "start above frontier",
    FrontierAboveEnd => "frontier above end",
    CrashBeforeReply => "crash between commit and reply",
    SameEpochTwice => "two processes believe in one epoch",
    PlantedOverruled => "frontier overrides a group offset",
    CallbacksOutOfOrder => "out-of-order callbacks",
    StandbyRefused => "standby refused",
    ObserveOvertaken => "observe answer overtaken by a claim",
    SeekNotTaken => "first seek did not take",
    ProbeConfirmsGap => "probe confirms a gap",
    RejoinAfterFence => "rejoin after a fence",
    FailoverNoticed => "idle owner notices a failover",
}

/// What one world has shown.
#[derive(Clone, Debug)]
pub struct Goals {
    hits: [u32; Goal::ALL.len()],
    tenures: Few<(Life, TenureId), Turns>,
    /// The token of each partition's last claim, until its answer comes.
    unheard: Few<Partition, Token>,
    slept: BTreeSet<Life>,
    planted: BTreeSet<Life>,
}

/// What a tenure went through.
#[derive(Clone, Copy, Debug, Default)]
struct Turns {
    is_claim_lost: bool,
    attempt: u32,
    /// The step of its last commit.
    committed: u64,
}

impl Default for Goals {
    fn default() -> Self {
        Self {
            hits: [0; Goal::ALL.len()],
            tenures: Few::default(),
            unheard: Few::default(),
            slept: BTreeSet::new(),
            planted: BTreeSet::new(),
        }
    }
}

impl Goals {
    /// How often each goal was hit.
    pub fn hits(&self) -> impl Iterator<Item = (Goal, u32)> + '_ {
        Goal::ALL.iter().map(|goal| (*goal, self.hits[*goal as usize]))
    }

    fn hit(&mut self, goal: Goal) {
        self.hits[goal as usize] += 1;
    }

    fn hit_if(&mut self, is_so: bool, goal: Goal) {
        if is_so {
            self.hit(goal);
        }
    }

    /// Looks at a fact, before the truth takes it in.
    pub fn see(&mut self, fact: &Fact<'_>, truth: &Truth) {
        match fact {
            Fact::Delivered { who, event } => self.delivered(*who, event, truth),
            Fact::Commanded { who, command } => self.commanded(*who, command, truth),
            Fact::Committed(commit) => self.committed(commit, truth),
            Fact::Crashed { who } => self.crashed(*who, truth),
            Fact::Thawed { who } => drop(self.slept.insert(*who)),
            Fact::Struck { fault: Fault::OnStandby, .. } => self.hit(Goal::StandbyRefused),
            Fact::Struck { fault: Fault::GroupOffsetPlanted, who: Some(who) } => {
                self.planted.insert(*who);
            }
            Fact::Ended => {
                let has_tail = |partition: &Partition| {
                    let frontier = truth.row(*partition).frontier.unwrap_or(Frontier(0));
                    truth.log(*partition).end() > frontier.next_offset()
                };
                let is_left = truth.is_drained() && truth.rows.keys().any(has_tail);
                self.hit_if(is_left, Goal::TailLeft);
            }
            _ => {}
        }
    }

    fn delivered(&mut self, who: Life, event: &Event, truth: &Truth) {
        let Some(process) = truth.processes.get(&who) else { return };
        match event {
            Event::Assigned { rebalance, .. }
            | Event::Revoked { rebalance, .. }
            | Event::Lost { rebalance } => {
                self.hit_if(!process.is_next(*rebalance), Goal::CallbacksOutOfOrder);
                return;
            }
            Event::Checked { sight, .. } => {
                if let TopicSight::Known { incarnation: Some(seen), .. } = sight.topic
                    && seen != truth.declared
                {
                    self.recreated(process);
                }
                return;
            }
            _ => {}
        }
        let Some(id) = event.tenure() else { return };
        let Some(tenancy) = process.tenancies.get(&id) else { return };
        let is_over = tenancy.is_retired || !tenancy.is_own();
        if let Event::Expired { timer } = event {
            self.hit_if(is_over && matches!(timer, Timer::Retry { .. }), Goal::WokenAfterCancel);
            return;
        }
        self.hit_if(tenancy.is_retired, Goal::LateAnswerIgnored);
        match event {
            Event::Claimed { token, .. } => {
                self.unheard.remove(&id.partition);
                if truth.failovers > 0 {
                    self.hit_if(is_believed_elsewhere(who, *token, truth), Goal::SameEpochTwice);
                }
            }
            Event::ClaimUnknown { .. } => self.tenures.or_default((who, id)).is_claim_lost = true,
            Event::Observed { token, frontier, .. } => {
                self.observed((who, id), tenancy, (*token, *frontier), truth);
            }
            Event::ObserveFailed { .. } => self.hit_if(tenancy.open.is_some(), Goal::UnknownUnread),
            Event::Fenced { .. } => {
                self.hit_if(self.slept.contains(&who), Goal::ZombieFenced);
                self.hit_if(tenancy.own == Own::Revoked, Goal::RevokedFenceWins);
            }
            Event::Committed { .. } => {
                let attempt = self.tenures.get(&(who, id)).map_or(0, |turns| turns.attempt);
                self.hit_if(attempt == 3, Goal::ThirdSucceeds);
            }
            Event::Probed { sight: ProbeSight::Record(first), .. } => {
                let is_gap = tenancy.frontier.is_some_and(|frontier| *first > frontier.next_offset());
                self.hit_if(is_gap, Goal::ProbeConfirmsGap);
            }
            _ => {}
        }
    }

    fn observed(
        &mut self,
        (who, id): (Life, TenureId),
        tenancy: &Tenancy,
        (token, frontier): (Option<Token>, Option<Frontier>),
        truth: &Truth,
    ) {
        let is_own = token.is_some() && token == tenancy.claimed;
        if tenancy.open == Some(Op::Process)
            && let Some((range, expected, _)) = tenancy.sent
        {
            self.hit_if(!is_own, Goal::UnknownForeign);
            self.hit_if(is_own && frontier == Some(range.last.frontier_after()), Goal::UnknownCommitted);
            self.hit_if(is_own && frontier == Some(expected), Goal::UnknownAborted);
        }
        self.hit_if(is_own && truth.row(id.partition).token != token, Goal::ObserveOvertaken);
        if tenancy.open.is_some() || tenancy.sought.is_none() {
            return;
        }
        self.hit_if(!is_own && self.slept.contains(&who), Goal::ZombieFenced);
        let is_changed = !is_own || frontier != tenancy.frontier;
        self.hit_if(truth.failovers > 0 && is_changed, Goal::FailoverNoticed);
    }

    fn recreated(&mut self, process: &Process) {
        let mut own = process.tenancies.values().filter(|tenancy| tenancy.is_own() && !tenancy.is_retired);
        let Some(first) = own.next() else { return };
        let (mut is_claimed, mut is_polled) = (first.claimed.is_some(), first.batch.is_some());
        for tenancy in own {
            is_claimed |= tenancy.claimed.is_some();
            is_polled |= tenancy.batch.is_some();
        }
        self.hit_if(!is_claimed, Goal::RecreatedBeforeClaim);
        self.hit_if(is_polled, Goal::RecreatedAfterPoll);
    }

    fn commanded(&mut self, who: Life, command: &Command, truth: &Truth) {
        match command {
            Command::Claim { tenure, .. } => {
                let is_lost = self.tenures.get(&(who, *tenure)).is_some_and(|turns| turns.is_claim_lost);
                self.hit_if(is_lost, Goal::ClaimedAfresh);
            }
            Command::Process { tenure, attempt, .. } => {
                self.tenures.or_default((who, *tenure)).attempt = *attempt;
            }
            Command::Probe { .. } => self.hit(Goal::SeekNotTaken),
            Command::Rejoin { .. } => self.hit(Goal::RejoinAfterFence),
            Command::Stop { reason } => match reason {
                StopReason::AttemptsSpent { .. } => self.hit(Goal::ThirdExhausts),
                StopReason::Refused { refusal: Refusal::PartitionsGrew { .. } } => {
                    self.hit(Goal::PartitionsGrew)
                }
                StopReason::Refused { refusal: Refusal::FrontierAboveEnd { .. } } => {
                    self.hit(Goal::FrontierAboveEnd);
                }
                StopReason::Refused {
                    refusal:
                        Refusal::StartAboveZero { partition, start }
                        | Refusal::StartAboveFrontier { partition, start, .. },
                } => {
                    let frontier = truth.row(*partition).frontier.unwrap_or(Frontier(0));
                    self.hit_if(*start > frontier.next_offset(), Goal::StartAboveFrontier);
                }
                _ => {}
            },
            _ => {}
        }
    }

    fn committed(&mut self, commit: &Commit, truth: &Truth) {
        let Some(ghost) = commit.ghost else { return };
        self.tenures.or_default((ghost.who, ghost.tenure)).committed = truth.step;
        let (Some(last), Some(before)) = (commit.decided.last(), commit.before.frontier) else {
            if let Some(token) = commit.after.token {
                let is_burnt = self.unheard.insert(commit.partition, token).is_some();
                self.hit_if(is_burnt, Goal::EpochBurnt);
            }
            return;
        };
        let tenancy = truth.tenancy(ghost.who, ghost.tenure);
        let is_revoked = tenancy.is_some_and(|tenancy| tenancy.own == Own::Revoked);
        self.hit_if(is_revoked, Goal::RevokedCommitWins);
        self.hit_if(before.0 > 0 && self.planted.contains(&ghost.who), Goal::PlantedOverruled);
        let passed = last.frontier_after().0 - before.0;
        if usize::try_from(passed).is_ok_and(|passed| passed > commit.decided.len()) {
            self.hit(Goal::GapAdvance);
            let log = truth.log(commit.partition);
            let mut offsets = (before.0..last.0).map(Offset);
            let is_aborted = offsets.any(|offset| log.entry(offset) == Some(Entry::Aborted));
            self.hit_if(is_aborted, Goal::AbortedSkipped);
        }
    }

    fn crashed(&mut self, who: Life, truth: &Truth) {
        let Some(process) = truth.processes.get(&who) else { return };
        let is_unheard = |(id, tenancy): (&TenureId, &Tenancy)| {
            let committed = self.tenures.get(&(who, *id)).map_or(0, |turns| turns.committed);
            tenancy.in_flight.is_some_and(|in_flight| committed > in_flight.step)
        };
        let is_unheard = process.tenancies.iter().any(is_unheard);
        self.hit_if(is_unheard, Goal::CrashBeforeReply);
    }
}

/// Another living process holds the same epoch by another claim.
fn is_believed_elsewhere(who: Life, token: Token, truth: &Truth) -> bool {
    let others = truth.processes.iter().filter(|(other, process)| **other != who && process.is_living());
    let mut tenancies = others.flat_map(|(_, process)| process.tenancies.values());
    tenancies.any(|tenancy| {
        tenancy.is_own()
            && tenancy
                .claimed
                .is_some_and(|held| held.epoch == token.epoch && held.claim_id != token.claim_id)
    })
}
