//! Knows which incidents are Kafka's, and what each of them does.

use amends_core::ids::{Offset, Partition};

use super::client::ClientId;
use super::group::REBALANCE_TIMEOUT_MS;
use super::{Due, Kafka, Setting, Turn};
use crate::fact::Entry;
use crate::faults::{Fault, Incident, mix};
use crate::ground::Ground;

/// Form of F22, F23, F26 and F27 beside the first.
const UNCLEAN: u32 = 1;
const REGROWN: u32 = 1;
const BELOW: u32 = 0;
const AT: u32 = 1;
const HOLE: u32 = 0;

impl Kafka {
    /// One of Kafka's incidents. Returns whether it was one of these.
    pub fn strike(&mut self, ground: &mut Ground, incident: &Incident) -> bool {
        let (fault, severity, variant) = (incident.fault, incident.severity, incident.variant);
        let partition = Partition(incident.partition);
        match fault {
            Fault::ReassignedAtOnce => self.reassign(ground, severity),
            Fault::RebalanceStorm => self.storm(ground, severity),
            Fault::GuardLost => self.load_again(ground, partition, severity),
            Fault::SecondDatabase => self.seat_stranger(ground, severity),
            Fault::PollThreadStarved => self.starve(ground, incident.worker, severity),
            Fault::LeaderMoved => self.move_leader(ground, partition, severity, variant),
            Fault::TruncatedBelow => self.truncate_below(ground, partition, severity, variant),
            Fault::Recreated => {
                struck(ground, fault, format_args!("the topic is another one, with {severity} partitions"));
                self.recreate(ground, u32::try_from(severity).unwrap_or(1));
            }
            Fault::PartitionsAdded => {
                struck(ground, fault, format_args!("the topic has {severity} partitions more"));
                let more = u32::try_from(severity).unwrap_or(1);
                self.grow(ground, ground.chronicle.truth.current_partitions + more);
            }
            Fault::RetentionTruncated => self.truncate_start(ground, partition, severity, variant),
            Fault::Compacted => self.compact(ground, incident),
            Fault::ControlTail | Fault::TransactionHangs if self.log(ground, partition).is_none() => {}
            Fault::ControlTail => {
                struck(ground, fault, format_args!("{severity} markers end partition {partition}"));
                self.publish_control(ground, partition, u32::try_from(severity).unwrap_or(1));
            }
            Fault::TransactionHangs => {
                struck(ground, fault, format_args!("a transaction of partition {partition} hangs"));
                self.open_transaction(ground, partition, 1);
                let over = Turn::TransactionOver { partition, is_committed: severity % 2 == 1 };
                self.agenda.at(ground.now() + severity, Due::Broker(over));
            }
            Fault::TruncatedAndRegrown => {
                let Some(log) = self.log(ground, partition) else { return true };
                let to = Offset((log.end().0 - signed(severity)).max(log.start().0));
                let lost = log.end().0 - to.0;
                if lost > 0 {
                    struck(
                        ground,
                        fault,
                        format_args!("partition {partition} is cut to {to} and grows again"),
                    );
                    self.truncate(ground, partition, to);
                    self.regrow(ground, partition, lost + 1);
                }
            }
            _ => return false,
        }
        true
    }

    /// F16: everything is taken and, a while later, given to the same members.
    fn reassign(&mut self, ground: &mut Ground, between_ms: u64) {
        if self.rebalance(ground, Some(Fault::ReassignedAtOnce)) {
            let at = ground.now() + between_ms;
            self.group.delay_until(at);
            self.agenda.at(at, Due::Broker(Turn::Settle));
        }
    }

    /// F17: so many rebalances, 0.1 to 10 s apart.
    pub(super) fn storm(&mut self, ground: &mut Ground, left: u64) {
        if left == 0 || !ground.faults.is_wild() {
            return;
        }
        self.rebalance(ground, Some(Fault::RebalanceStorm));
        let now = ground.now();
        let period_ms = 100 + mix(now, left) % 9_900;
        self.agenda.at(now + period_ms, Due::Broker(Turn::Storm { left: left - 1 }));
    }

    /// F19: the client is not served; after the poll interval it is out.
    fn starve(&mut self, ground: &mut Ground, worker: u8, ms: u64) {
        let served = |client: &super::Client| client.is_member() && !client.is_starved;
        let found = self.clients.iter().rposition(|client| client.who.worker == worker && served(client));
        let Some(client) = found else { return };
        self.clients[client].is_starved = true;
        let who = self.clients[client].who;
        let what = format_args!("the client of {who} is not served for {ms} ms");
        ground.chronicle.struck(Fault::PollThreadStarved, Some(who), what);
        let now = ground.now();
        self.agenda.at(now + REBALANCE_TIMEOUT_MS, Due::Broker(Turn::PollIntervalOver { client }));
        self.agenda.at(now + ms, Due::Broker(Turn::Served { client }));
    }

    pub(super) fn poll_interval_over(&mut self, ground: &mut Ground, id: ClientId) {
        let client = &self.clients[id];
        if client.is_starved && client.is_member() {
            let who = client.who;
            ground.chronicle.line(format_args!("the client of {who} was not served for its poll interval"));
            self.leave(ground, id);
        }
    }

    pub(super) fn served(&mut self, ground: &mut Ground, id: ClientId) {
        if std::mem::take(&mut self.clients[id].is_starved) {
            let client = &self.clients[id];
            if client.has_left && !client.is_gone {
                // Its thread comes to the close at last.
                self.leave(ground, id);
            }
            self.resume(ground, id);
        }
    }

    /// F22: nobody leads the partition for a while. An unclean election can only be where it is allowed.
    fn move_leader(&mut self, ground: &mut Ground, partition: Partition, ms: u64, form: u32) {
        if self.log(ground, partition).is_none() {
            return;
        }
        struck(ground, Fault::LeaderMoved, format_args!("partition {partition} has no leader for {ms} ms"));
        self.lose_leader(ground, partition, ms);
        if form == UNCLEAN {
            self.reconfigure(ground, Setting::UncleanElection);
        }
    }

    /// F23. Without decided records there is nothing below the frontier to lose.
    fn truncate_below(&mut self, ground: &mut Ground, partition: Partition, offsets: u64, form: u32) {
        let Some(log) = self.log(ground, partition) else { return };
        let frontier = ground.chronicle.truth.row(partition).frontier.map_or(0, |frontier| frontier.0);
        let to = Offset((frontier - signed(offsets)).max(log.start().0));
        let lost = log.end().0 - to.0;
        if to.0 >= frontier || lost <= 0 {
            return;
        }
        struck(ground, Fault::TruncatedBelow, format_args!("partition {partition} is cut to {to}"));
        self.truncate(ground, partition, to);
        if form == REGROWN {
            self.regrow(ground, partition, lost + 1);
        }
    }

    fn regrow(&mut self, ground: &mut Ground, partition: Partition, records: i64) {
        let records = usize::try_from(records).unwrap_or(0);
        self.append(ground, partition, &vec![Entry::Visible; records]);
    }

    /// F26, by where the log begins then: below, at or above the frontier.
    fn truncate_start(&mut self, ground: &mut Ground, partition: Partition, offsets: u64, form: u32) {
        let Some(log) = self.log(ground, partition) else { return };
        let frontier = ground.chronicle.truth.row(partition).frontier.map_or(0, |frontier| frontier.0);
        let start = match form {
            BELOW => frontier - signed(offsets),
            AT => frontier,
            _ => frontier + signed(offsets),
        };
        if start.min(log.end().0) > log.start().0 {
            struck(
                ground,
                Fault::RetentionTruncated,
                format_args!("partition {partition} begins at {start}"),
            );
            self.delete_records(ground, partition, Offset(start));
        }
    }

    /// F27: visible records vanish somewhere, or the policy says that they may.
    fn compact(&mut self, ground: &mut Ground, incident: &Incident) {
        if incident.variant != HOLE {
            struck(ground, incident.fault, format_args!("the topic is compacted from now on"));
            return self.reconfigure(ground, Setting::Compaction);
        }
        let partition = Partition(incident.partition);
        for nth in 0..incident.severity {
            let Some(log) = self.log(ground, partition) else { return };
            let end = u64::try_from(log.end().0).unwrap_or(0).max(1);
            let from = Offset(signed(mix(incident.at_ms, nth) % end));
            let Some(offset) = log.next_visible(from) else { continue };
            struck(ground, incident.fault, format_args!("partition {partition} has a hole at {offset}"));
            self.compact_away(ground, partition, offset);
        }
    }
}

/// Something happened to the topic itself.
fn struck(ground: &mut Ground, fault: Fault, what: std::fmt::Arguments<'_>) {
    ground.chronicle.struck(fault, None, what);
}

fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
