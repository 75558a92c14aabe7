//! Knows what a client says at the moment when it says it: which transaction, for whom, and what kind of one.

use amends_core::ids::Partition;

use super::frontend::Message;
use super::statement::Statement;
use super::value::Params;
use crate::fact::{Fact, Ghost, Op, TxId};
use crate::faults::Place;
use crate::ground::Ground;
use crate::life::Life;

use super::lies::Lie;

/// A message on its way, with what is known of it where it was written.
#[derive(Debug)]
pub(super) struct Sent {
    pub(super) message: Message,
    /// The statement that is carried out by it.
    pub(super) runs: Option<Statement>,
    /// The transaction in which its client takes itself to be.
    pub(super) tx: Option<TxId>,
    /// For whom a lock is.
    pub(super) ghost: Option<Ghost>,
    /// What the server answers instead of the truth.
    pub(super) lie: Option<Lie>,
}

/// What the statements of one client said so far of the transaction in hand.
#[derive(Default)]
pub(super) struct Talk {
    pub(super) tx: Option<TxId>,
    pub(super) kind: Option<Op>,
    partition: Option<Partition>,
    parsed: Option<Statement>,
    ghost: Option<Ghost>,
    /// Where in this transaction its connection will drop, as the catalogue counts the forms.
    pub(super) drop: Option<u32>,
    /// COMMIT will find no room on the disk.
    pub(super) is_disk_full: bool,
}

impl Talk {
    /// Hears one message. `next_tx` numbers the transaction that it begins.
    pub(super) fn hear(
        &mut self,
        ground: &mut Ground,
        who: Life,
        message: Message,
        next_tx: impl FnOnce() -> TxId,
    ) -> Sent {
        let mut runs = None;
        match &message {
            Message::Query(statement) => runs = Some(*statement),
            Message::Execute => runs = self.parsed,
            Message::Parse { statement, .. } => self.parsed = Some(*statement),
            Message::Bind(parameters) if self.parsed == Some(Statement::Lock) => {
                let number = Params(parameters).int4(2).and_then(|number| u32::try_from(number).ok());
                self.partition = number.map(Partition);
                self.ghost = self.partition.and_then(|partition| ghost(ground, who, partition));
            }
            Message::Startup
            | Message::Cancel { .. }
            | Message::Bind(_)
            | Message::Describe
            | Message::Sync
            | Message::Terminate => {}
        }
        match runs {
            Some(Statement::Begin) => *self = Self { tx: Some(next_tx()), ..Self::default() },
            Some(Statement::Lock) => self.kind = self.kind.or(Some(Op::Observe)),
            Some(Statement::Claim) => self.kind = Some(Op::Claim),
            Some(Statement::Heads | Statement::InsertEvidence) => self.kind = Some(Op::Process),
            Some(Statement::Commit) => {
                if let Some(tx) = self.tx {
                    ground.chronicle.tell(&Fact::CommitSent { tx });
                    ground.chronicle.line(format_args!("transaction {}: {who} sends COMMIT", tx.0));
                }
            }
            _ => {}
        }
        Sent { message, runs, tx: self.tx, ghost: self.ghost, lie: None }
    }

    /// Where the opportunities of this transaction lie.
    pub(super) fn place(&self, who: Life) -> Place {
        self.partition.map_or_else(|| Place::at(who), |partition| Place::of(who, partition.0))
    }
}

/// The newest operation that a process has in flight at a partition.
fn ghost(ground: &Ground, who: Life, partition: Partition) -> Option<Ghost> {
    let tenancies = &ground.chronicle.truth.processes.get(&who)?.tenancies;
    let at_work = tenancies.iter().filter(|(tenure, _)| tenure.partition == partition);
    let at_work = at_work.filter_map(|(tenure, tenancy)| Some((tenancy.in_flight?, tenure, tenancy)));
    let (in_flight, tenure, tenancy) = at_work.max_by_key(|(in_flight, ..)| in_flight.step)?;
    Some(Ghost { who, tenure: *tenure, generation: tenancy.generation, op: in_flight.op })
}
