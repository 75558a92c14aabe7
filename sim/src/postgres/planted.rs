//! Knows what a statement with a planted defect leaves behind, where the right one wrote something else.

use super::statement::Statement;
use super::tables::Tables;
use super::value::Text;
use crate::plant::Sql;

impl Sql {
    /// Turns what a transaction wrote by a statement into what it would have written by the broken one.
    pub(super) fn spoil(self, statement: Statement, own: &mut Tables, committed: &Tables) {
        match (self, statement) {
            (Self::UpdatesNoPosition, Statement::UpsertPositions) => {
                own.positions.retain(|key, _| !committed.positions.contains_key(key));
            }
            (Self::RaisesTheVersionAgain, Statement::UpsertPositions) => {
                own.positions.values_mut().for_each(|row| row.version += 1);
            }
            (Self::WritesOneCode, Statement::InsertEvidence) => {
                own.evidence.values_mut().for_each(|row| row.code = Text::from("APPLIED"));
            }
            (Self::LeavesOutAnEnvelope, Statement::InsertOutbox) => drop(own.outbox.pop_last()),
            (Self::KeepsTheFrontier, Statement::Advance) => {
                for (key, row) in &mut own.partitions {
                    row.next_offset = committed.partitions.get(key).and_then(|row| row.next_offset);
                }
            }
            (Self::DecidesNothing, Statement::InsertEvidence) => own.evidence.clear(),
            _ => {}
        }
    }
}
