//! Knows the broker, its group and each member's client, as one machine without I/O: commands and times go in, events
//! come out when they are due.

use amends_core::ids::{Incarnation, Partition};
use amends_core::lifecycle::command::Command;
use amends_core::lifecycle::event::Event;

use crate::faults::{Incident, Shape};
use crate::ground::Ground;
use crate::life::Life;

/// An event on its way to the reducer of a process.
pub type Told = (Life, Event);

/// The cluster.
pub struct Kafka {
    shape: Shape,
}

impl Kafka {
    /// A cluster with the topic as the shape has it. Tells the facts of the records that lie there.
    #[must_use]
    pub fn new(shape: &Shape, declared: Incarnation, ground: &mut Ground) -> Self {
        let _ = (declared, ground);
        Self { shape: shape.clone() }
    }

    /// A process begins: its client joins the group as member 1.
    pub fn join(&mut self, ground: &mut Ground, who: Life) {
        let _ = (ground, who, &self.shape);
    }

    /// Starts one of Kafka's commands: `Check`, `Assign`, `Unassign`, `Seek`, `Probe`, `Poll`, `Retire`, `Rejoin`,
    /// `Close`, `AllowRebalance`. Returns whether it was one of these.
    pub fn perform(&mut self, ground: &mut Ground, who: Life, command: &Command) -> bool {
        let _ = (ground, who, command);
        false
    }

    /// A process dies: its client says nothing more.
    pub fn crash(&mut self, ground: &mut Ground, who: Life) {
        let _ = (ground, who);
    }

    /// A process stands still; its client sends no heartbeat.
    pub fn freeze(&mut self, ground: &mut Ground, who: Life) {
        let _ = (ground, who);
    }

    /// It goes on.
    pub fn thaw(&mut self, ground: &mut Ground, who: Life) {
        let _ = (ground, who);
    }

    /// When something happens next by itself; `None` when nothing will.
    #[must_use]
    pub fn next_due(&self) -> Option<u64> {
        None
    }

    /// Lets everything happen that is due by the ground's time; what reducers are to be told is appended.
    pub fn advance(&mut self, ground: &mut Ground, told: &mut Vec<Told>) {
        let _ = (ground, told);
    }

    /// One of Kafka's incidents. Returns whether it was one of these.
    pub fn strike(&mut self, ground: &mut Ground, incident: &Incident) -> bool {
        let _ = (ground, incident);
        false
    }

    /// The group takes this process's partitions now.
    pub fn revoke(&mut self, ground: &mut Ground, who: Life) {
        let _ = (ground, who);
    }

    /// A visible record is published.
    pub fn publish(&mut self, ground: &mut Ground, partition: Partition) {
        let _ = (ground, partition);
    }

    /// The form in which a visible record cannot be read, where it cannot.
    #[must_use]
    pub fn poison(&self, partition: Partition, offset: amends_core::ids::Offset) -> Option<u32> {
        let _ = (partition, offset);
        None
    }

    /// The faults are over: every leader is there, transactions end, late callbacks arrive.
    pub fn heal(&mut self, ground: &mut Ground) {
        let _ = ground;
    }
}
