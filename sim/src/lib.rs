//! A world that lies on purpose, around the production code; and the checks that know the truth.
//!
//! Reading order: [`fact`] is what can be seen, [`truth`] is what is so, [`checks`] is what must hold, [`chronicle`] is
//! the log that ties them. [`faults`] says what goes wrong and when, [`pace`] how long things take; both and the log are
//! the [`ground`] of a world. [`kafka`] is the model of the broker and its group, `postgres` the server at the far end of
//! each wire. `world` holds all of them together; `walk` runs core alone in it (tier A), `member` the production
//! driver, store and client (tier B). [`scenario`] reads the stories that reviewers write and tells them to a world.
//! `contract` holds `postgres` against a real server.
//!
//! What never happens here: a reducer is asked what it believes; a check repairs; a world asks a clock, a hash map's
//! order or any chance but its seed.

#![allow(
    clippy::wildcard_enum_match_arm,
    reason = "a world, its truth and its checks each listen to a few events and commands; only the reducer owes every one a decision"
)]

mod agenda;
pub mod campaign;
pub mod cells;
pub mod checks;
pub mod chronicle;
#[cfg(madsim)]
pub mod contract;
pub mod fact;
pub mod faults;
pub mod few;
pub mod ground;
pub mod kafka;
pub mod life;
#[cfg(madsim)]
pub mod member;
pub mod oracle;
pub mod pace;
pub mod plant;
#[cfg(madsim)]
pub mod postgres;
pub mod records;
pub mod run;
pub mod scenario;
pub mod sometimes;
pub mod truth;
pub mod walk;
pub mod world;
