//! Knows what is so in a world: logs, rows, commits, and who was told what. Kept from facts alone, and told to nobody
//! but the checks.

use std::collections::BTreeMap;
use std::sync::Arc;

use amends_core::ids::{Frontier, Incarnation, Offset, Partition, TenureId};
use amends_core::lifecycle::command::CheckId;
use amends_core::lifecycle::event::Event;
use amends_core::source::boundary::{Sight, TopicSight};

use crate::fact::{Commit, Fact, Row};
use crate::faults::Fault;
use crate::few::Few;
use crate::life::Life;

mod log;
mod process;
mod tenancy;

pub use log::Log;
pub use process::Process;
pub use tenancy::{Batch, InFlight, Own, Tenancy};

/// All that is so.
#[derive(Clone, Debug)]
pub struct Truth {
    /// Milliseconds since the world began.
    pub now: u64,
    /// Counts facts.
    pub step: u64,
    /// What the manifest declares.
    pub declared: Incarnation,
    /// How many partitions the manifest declares.
    pub partitions: u32,
    /// Decisions side by side in one process.
    pub lanes: u32,
    /// The topic that has the name now; another one than the declared when it was recreated.
    pub current: Incarnation,
    /// How many partitions it has now; 0 when it was deleted.
    pub current_partitions: u32,
    /// Its configuration is what a ledger needs.
    pub is_configured: bool,
    /// Every log that ever was.
    pub logs: Few<(Incarnation, Partition), Log>,
    /// Each partition's row.
    pub rows: Few<Partition, Row>,
    /// The surviving commits, in their order.
    pub commits: Vec<Commit>,
    /// How often commits were forgotten.
    pub failovers: u32,
    /// The step at which a commit of each partition was last forgotten.
    forgotten: Few<Partition, u64>,
    /// The step at which another topic took the declared one's name.
    recreated: Option<u64>,
    /// Every process that ever began.
    pub processes: Few<Life, Process>,
    /// Since when the faults are over.
    pub healed_at: Option<u64>,
    /// Which faults struck, and how often.
    pub struck: BTreeMap<Fault, u32>,
}

impl Truth {
    /// A world before its first fact.
    #[must_use]
    pub fn new(declared: Incarnation, partitions: u32, lanes: u32) -> Self {
        let all = || (0..partitions).map(Partition);
        Self {
            now: 0,
            step: 0,
            declared,
            partitions,
            lanes,
            current: declared,
            current_partitions: partitions,
            is_configured: true,
            logs: all().map(|partition| ((declared, partition), Log::default())).collect(),
            rows: all().map(|partition| (partition, Row::default())).collect(),
            commits: Vec::new(),
            failovers: 0,
            forgotten: Few::default(),
            recreated: None,
            processes: Few::default(),
            healed_at: None,
            struck: BTreeMap::new(),
        }
    }

    /// The log of the declared topic's partition; empty where it has no such partition.
    #[must_use]
    pub fn log(&self, partition: Partition) -> &Log {
        static EMPTY: Log = Log::empty();
        self.logs.get(&(self.declared, partition)).unwrap_or(&EMPTY)
    }

    /// A partition's row.
    #[must_use]
    pub fn row(&self, partition: Partition) -> Row {
        self.rows.get(&partition).copied().unwrap_or_default()
    }

    /// A tenure that its process was given.
    #[must_use]
    pub fn tenancy(&self, who: Life, tenure: TenureId) -> Option<&Tenancy> {
        self.processes.get(&who)?.tenancies.get(&tenure)
    }

    /// Whether the source is what the manifest declares, so that work can go on for ever.
    #[must_use]
    pub fn is_source_intact(&self) -> bool {
        self.current == self.declared
            && self.current_partitions == self.partitions
            && self.is_configured
            && self.logs.iter().all(|((incarnation, partition), log)| {
                *incarnation != self.declared || log.is_intact(self.frontier(*partition))
            })
    }

    fn frontier(&self, partition: Partition) -> Frontier {
        self.row(partition).frontier.unwrap_or(Frontier(0))
    }

    /// Everything visible of every partition is decided.
    #[must_use]
    pub fn is_drained(&self) -> bool {
        let all = self.rows.keys();
        all.copied().all(|partition| {
            self.log(partition).next_visible(self.frontier(partition).next_offset()).is_none()
        })
    }

    /// Whether every check of the source shows that it is not what the manifest declares. A log that was cut, or lacks a
    /// record inside, shows that to nobody, or to its owner alone.
    #[must_use]
    pub fn is_visibly_spoilt(&self) -> bool {
        self.current != self.declared
            || self.current_partitions != self.partitions
            || !self.is_configured
            || self.rows.keys().any(|partition| self.log(*partition).start() > Offset(0))
    }

    /// Whether some owner must find out that the source is spoilt, and stop.
    #[must_use]
    pub fn is_found_spoilt(&self) -> bool {
        self.is_visibly_spoilt() || self.rows.keys().any(|partition| self.is_short(*partition))
    }

    /// Whether a partition's frontier lies behind its stable end: its owner must find out.
    #[must_use]
    pub fn is_short(&self, partition: Partition) -> bool {
        self.frontier(partition).next_offset() > self.log(partition).stable_end()
    }

    /// Every partition has a living owner under an installed token.
    #[must_use]
    pub fn has_owners(&self) -> bool {
        self.rows.iter().all(|(partition, row)| {
            self.processes.values().filter(|process| process.is_living()).any(|process| {
                process.newest(*partition).is_some_and(|(_, tenancy)| {
                    tenancy.is_own()
                        && !tenancy.is_retired
                        && row.token.is_some()
                        && tenancy.claimed == row.token
                })
            })
        })
    }

    /// Whether a commit of the partition was forgotten after this step.
    #[must_use]
    pub fn has_forgotten_since(&self, partition: Partition, step: u64) -> bool {
        self.forgotten.get(&partition).is_some_and(|at| *at > step)
    }

    /// Whether nobody but `verify` can tell that a commit decided other records than the declared topic's: its process was
    /// misled by a broker that is behind, or the log was cut and what comes next lies where other records lay.
    #[must_use]
    pub fn is_undetectable(&self, commit: &Commit) -> bool {
        let process = commit.ghost.and_then(|ghost| self.processes.get(&ghost.who));
        process.is_some_and(|process| process.is_misled) || self.log(commit.partition).cuts() > 0
    }

    /// The offsets that surviving commits decided of a partition, with the commit's index.
    pub fn decided(&self, partition: Partition) -> impl Iterator<Item = (usize, Offset)> + '_ {
        let of = self.commits.iter().enumerate().filter(move |(_, commit)| commit.partition == partition);
        of.flat_map(|(index, commit)| commit.decided.iter().map(move |offset| (index, *offset)))
    }

    /// Takes a fact in. The checks have seen it before.
    pub fn take(&mut self, fact: &Fact<'_>) {
        self.step += 1;
        match fact {
            Fact::Started { who } => {
                self.processes.insert(*who, Process::default());
            }
            Fact::Crashed { who } => self.process(*who, |process, _| process.crashed()),
            Fact::Exited { who } => self.process(*who, |process, _| process.exited()),
            Fact::Froze { who } => self.process(*who, |process, now| process.frozen_since = Some(now)),
            Fact::Thawed { who } => self.process(*who, |process, _| process.frozen_since = None),
            Fact::Delivered { who, event } => {
                let step = self.step;
                if let Event::Checked { check, sight } = event {
                    self.checked(*who, *check, sight);
                }
                self.process(*who, |process, now| process.delivered(now, step, event));
            }
            Fact::Commanded { who, command } => {
                let step = self.step;
                self.process(*who, |process, now| process.commanded(now, step, command));
            }
            Fact::Locked { .. } | Fact::LockAnswered { .. } | Fact::CommitSent { .. } => {}
            Fact::Settled { .. } | Fact::RolledBack { .. } | Fact::Ended => {}
            Fact::Joined { .. } | Fact::Declared(_) | Fact::Published { .. } => {}
            Fact::Committed(commit) => {
                self.rows.insert(commit.partition, commit.after);
                self.commits.push((*commit).clone());
            }
            Fact::Forgot { commits } => self.forget(*commits),
            Fact::Appended { incarnation, partition, first, entries } => {
                self.logs.or_default((*incarnation, *partition)).append(*first, entries);
            }
            Fact::LogChanged { incarnation, partition, change } => {
                self.logs.or_default((*incarnation, *partition)).change(*change);
            }
            Fact::Recreated { incarnation, partitions } => {
                (self.current, self.current_partitions) = (*incarnation, *partitions);
                self.recreated = Some(self.step);
            }
            Fact::Deleted => self.current_partitions = 0,
            Fact::Grew { partitions } => self.current_partitions = *partitions,
            Fact::Reconfigured => self.is_configured = false,
            Fact::Struck { fault, .. } => *self.struck.entry(*fault).or_insert(0) += 1,
            Fact::Healed => self.healed_at = Some(self.now),
        }
    }

    fn process(&mut self, who: Life, with: impl FnOnce(&mut Process, u64)) {
        if let Some(process) = self.processes.find_mut(&who) {
            with(process, self.now);
        }
    }

    fn checked(&mut self, who: Life, check: CheckId, sight: &Sight) {
        let TopicSight::Known { incarnation, partitions } = sight.topic else { return };
        if incarnation != Some(self.declared) || partitions != self.partitions {
            return;
        }
        let Some(process) = self.processes.find_mut(&who) else { return };
        let Some((_, _, sent)) = process.check.filter(|(asked, ..)| *asked == check) else { return };
        process.passed = sent;
        process.is_misled |= self.recreated.is_some_and(|at| at < sent);
        if let Some(bounds) = &sight.bounds {
            process.bounds = Some((sent, Arc::clone(bounds)));
        }
    }

    fn forget(&mut self, commits: u32) {
        self.failovers += 1;
        for _ in 0..commits {
            let Some(commit) = self.commits.pop() else { break };
            self.rows.insert(commit.partition, commit.before);
            self.forgotten.insert(commit.partition, self.step);
        }
    }
}
