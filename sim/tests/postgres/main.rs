//! The production store, its client and its SQL, end to end against the simulated server.

#![cfg(madsim)]
#![allow(clippy::unwrap_used, reason = "tests may")]
#![allow(clippy::wildcard_enum_match_arm, reason = "a test wants one answer and panics at every other")]

mod desk;

mod decisions;
mod facts;
mod incidents;
mod outcomes;
mod pace;
mod waits;
mod wild;
