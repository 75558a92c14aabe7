//! Decides, and never waits.

pub mod driver;
pub mod ids;
pub mod journal;
pub mod ledger;
pub mod lifecycle;
pub mod source;
