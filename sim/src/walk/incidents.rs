//! Knows what goes wrong with the store at its time: a row is held, a server fails over, another deployment claims.

use amends_core::ids::Partition;

use super::operation::{Client, Server, Work};
use super::store::{Next, Store};
use crate::fact::Fact;
use crate::faults::{Fault, Incident};
use crate::ground::Ground;
use crate::pace::{Actor, Wait};

impl Store {
    /// One of the store's incidents.
    pub(super) fn strike(&mut self, ground: &mut Ground, incident: &Incident) {
        let (partition, severity) = (Partition(incident.partition), incident.severity);
        match incident.fault {
            Fault::RowHeld => {
                ground.chronicle.struck(incident.fault, None, format_args!("{partition} for {severity}ms"));
                self.hold(ground, partition, severity);
            }
            Fault::FailedOver => {
                ground.chronicle.struck(incident.fault, None, format_args!("down for {severity}ms"));
                self.cut(ground);
                self.refuses_until = ground.now() + severity;
            }
            Fault::CommitsForgotten => {
                ground.chronicle.struck(incident.fault, None, format_args!("{severity} commits"));
                self.cut(ground);
                let commits = u32::try_from(severity).unwrap_or(u32::MAX);
                ground.chronicle.tell(&Fact::Forgot { commits });
            }
            Fault::SecondDeployment => {
                ground.chronicle.struck(incident.fault, None, format_args!("claims {partition}"));
                self.claim_by_another(ground, partition);
            }
            _ => {}
        }
    }

    /// A foreign session takes the row for a while.
    fn hold(&mut self, ground: &mut Ground, partition: Partition, ms: u64) {
        let id = self.begin(None, partition, Work::Hold, u64::MAX);
        if let Some(mut operation) = self.operations.remove(&id) {
            operation.server = Server::Waiting;
            if self.locks.ask(partition, id) {
                self.lock(ground, id, &mut operation);
            }
            self.operations.insert(id, operation);
        }
        self.agenda.at(ground.now() + ms, (id, Next::LetGo));
    }

    /// Another deployment claims the row, when it is free.
    fn claim_by_another(&mut self, ground: &mut Ground, partition: Partition) {
        let id = self.begin(None, partition, Work::Claim, u64::MAX);
        let Some(operation) = self.operations.remove(&id) else { return };
        if self.locks.ask(partition, id) {
            ground.chronicle.tell(&Fact::Locked { tx: operation.tx, ghost: None, partition });
            self.apply(ground, &operation);
        }
        self.locks.give_back(partition, id);
    }

    /// Every session ends: what was not committed never will be.
    fn cut(&mut self, ground: &mut Ground) {
        let ids: Vec<u64> = self.operations.keys().copied().collect();
        for id in ids {
            let Some(mut operation) = self.operations.remove(&id) else { continue };
            if operation.is_open() {
                if let Some(tenure) = operation.tenure().filter(|_| operation.client != Client::Answered) {
                    let event = operation.given_up(tenure, "57P01");
                    let wait = ground.pace.wait(Wait::Wire, Actor::Postgres);
                    self.agenda.at(ground.now() + wait, (id, Next::Reply(event)));
                }
                self.end(ground, id, &mut operation, None);
            }
            self.operations.insert(id, operation);
        }
    }

    /// The faults are over.
    pub(super) fn heal(&mut self, ground: &mut Ground) {
        self.refuses_until = 0;
        for (id, _) in self.operations.iter().filter(|(_, operation)| matches!(operation.work, Work::Hold)) {
            self.agenda.at(ground.now(), (*id, Next::LetGo));
        }
    }
}
