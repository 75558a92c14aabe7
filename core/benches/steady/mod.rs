//! The steady state of one partition, for what measures it: owned, polling, every answer as from a healthy world.

use std::hint::black_box;
use std::sync::Arc;

use amends_core::ids::{
    ClaimId, Frontier, Incarnation, Moment, Offset, Partition, RebalanceId, TenureId, Token,
};
use amends_core::lifecycle::command::{CheckId, Command};
use amends_core::lifecycle::event::{Event, Offsets};
use amends_core::lifecycle::{Lifecycle, Settings};
use amends_core::source::boundary::{Bounds, Declared, LogSpan, Sight, Sink, TopicSight};

/// A worker that owns one partition, with the answers that the broker and PostgreSQL would give.
pub struct Steady {
    lifecycle: Lifecycle,
    commands: Vec<Command>,
    now: u64,
    frontier: Frontier,
    sight: Sight,
}

pub const TENURE: TenureId = TenureId { partition: Partition(0), number: 1 };
const TOKEN: Token = Token { epoch: 1, claim_id: ClaimId(1) };

impl Steady {
    pub fn new() -> Self {
        let incarnation = Incarnation::from_bytes([7; 16]).expect("not zero");
        let bounds = Bounds {
            cleanup_policy: "delete".to_owned(),
            retention_ms: -1,
            retention_bytes: -1,
            unclean_leader_election: false,
            logs: vec![Some(LogSpan { start: Offset(0), end: Offset(i64::MAX) })],
        };
        let settings = Settings {
            topic: "orders".to_owned(),
            source: Declared { sink: Sink::Ledger, incarnation, partitions: 1 },
            lanes: 1,
            batch_records: 500,
            batch_bytes: 4 << 20,
        };
        let mut steady = Self {
            lifecycle: Lifecycle::new(settings),
            commands: Vec::new(),
            now: 0,
            frontier: Frontier(0),
            sight: Sight {
                topic: TopicSight::Known { incarnation: Some(incarnation), partitions: 1 },
                bounds: Some(Arc::new(bounds)),
            },
        };
        let rebalance = RebalanceId { member: 1, number: 1 };
        steady.step(&Event::Assigned { rebalance, partitions: vec![TENURE.partition] });
        steady.answer_check();
        steady.step(&Event::Claimed { tenure: TENURE, token: TOKEN, frontier: Frontier(0) });
        steady.step(&Event::Observed { tenure: TENURE, token: Some(TOKEN), frontier: Some(Frontier(0)) });
        steady.answer_check();
        steady.step(&Event::Sought { tenure: TENURE });
        steady
    }

    pub fn step(&mut self, event: &Event) {
        self.commands.clear();
        self.lifecycle.handle(Moment(self.now), event, &mut self.commands);
        black_box(&self.commands);
    }

    /// Time passes.
    #[allow(dead_code, reason = "each that includes this module uses a part of it")]
    pub fn after(&mut self, ms: u64) {
        self.now += ms;
    }

    /// Answers what the last step asked, polls apart.
    #[allow(dead_code, reason = "each that includes this module uses a part of it")]
    pub fn answer(&mut self) {
        self.answer_check();
        let is_observed = self.commands.iter().any(|command| matches!(command, Command::Observe { .. }));
        if is_observed {
            let (token, frontier) = (Some(TOKEN), Some(self.frontier));
            self.step(&Event::Observed { tenure: TENURE, token, frontier });
        }
    }

    /// Answers the check of the last step, if there is one.
    fn answer_check(&mut self) {
        let asked = self
            .commands
            .iter()
            .find_map(|command| if let Command::Check { check, .. } = command { Some(*check) } else { None });
        if let Some(check) = asked {
            self.checked(check);
        }
    }

    fn checked(&mut self, check: CheckId) {
        self.step(&Event::Checked { check, sight: self.sight.clone() });
    }

    /// One batch: polled, checked, committed.
    pub fn decide(&mut self, offsets: &Offsets) {
        self.step(&Event::Polled { tenure: TENURE, offsets: offsets.clone() });
        self.answer_check();
        self.step(&Event::Committed { tenure: TENURE });
        self.frontier = offsets.last().expect("a batch").frontier_after();
    }
}

/// Batches of so many records that follow each other from offset 0.
pub fn batches(cycles: i64, records: i64) -> Vec<Offsets> {
    let batch = |first: i64| Offsets::new((first..first + records).map(Offset).collect());
    (0..cycles).map(|cycle| batch(cycle * records)).collect()
}
