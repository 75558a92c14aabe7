//! Every check, held against a sequence of facts that is good and against some that are not.
#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

mod budgets;
mod cells;
mod good;
mod liveness;
mod oracle;
mod ownership;
mod reading;
mod runs;
mod safety1;
mod safety2;
mod sometimes;
mod told;
mod values;
