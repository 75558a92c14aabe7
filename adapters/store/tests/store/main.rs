//! The store on a real PostgreSQL: `make up` starts one; `AMENDS_TEST_DATABASE_URL` names another.
//!
//! Each test makes a database of its own and drops only that. A server that cannot be reached is a failure.

#![allow(clippy::unwrap_used, reason = "tests may")]
#![allow(clippy::wildcard_enum_match_arm, reason = "a test wants one answer and panics at every other")]

mod desk;
#[path = "../../../worker/src/env.rs"]
#[allow(dead_code, reason = "the worker uses all of it")]
mod env;
mod proxy;

mod decisions;
mod lines;
mod outcomes;
mod ownership;
mod sessions;
mod verbs;
