//! Every check, held against a sequence of facts that is good and against some that are not.
#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

mod liveness;
mod oracle;
mod runs;
mod safety2;
mod sometimes;
mod told;
mod values;
