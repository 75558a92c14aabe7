//! Decides, and never waits.

pub mod ids;
pub mod ledger;
pub mod lifecycle;
pub mod source;
