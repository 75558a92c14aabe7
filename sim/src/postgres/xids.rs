//! Knows the server's own numbers of transactions, and what became of each.

use super::refusal::Refusal;

/// The numbers that were given, from the first on: `None` while one is in progress, then whether it committed.
#[derive(Default)]
pub(super) struct Xids(Vec<Option<bool>>);

/// Lower ones are those of the server's own beginnings.
const FIRST: u64 = 750;

impl Xids {
    pub(super) fn assign(&mut self) -> u64 {
        self.0.push(None);
        FIRST + self.0.len() as u64 - 1
    }

    pub(super) fn end(&mut self, xid: Option<u64>, is_committed: bool) {
        let index = xid.and_then(|xid| usize::try_from(xid - FIRST).ok());
        if let Some(status) = index.and_then(|index| self.0.get_mut(index)) {
            *status = Some(is_committed);
        }
    }

    /// As `pg_xact_status` says it; of a number that was not given yet it says nothing.
    pub(super) fn status(&self, xid: u64) -> Result<&'static str, Refusal> {
        let Some(index) = xid.checked_sub(FIRST) else { return Ok("committed") };
        match usize::try_from(index).ok().and_then(|index| self.0.get(index)) {
            Some(None) => Ok("in progress"),
            Some(Some(true)) => Ok("committed"),
            Some(Some(false)) => Ok("aborted"),
            None => Err(Refusal::error("22023", "transaction ID is in the future")),
        }
    }
}
