//! The Kafka side on a real broker (`AMENDS_TEST_BROKERS`, by default what `make up` starts). A broker that cannot be
//! reached is a failure, never a skip.

#![allow(
    clippy::wildcard_enum_match_arm,
    reason = "a test waits for its own event and passes over the others"
)]

mod admin;
mod cases;
mod close;
mod member;
#[path = "../../../../fixtures/kafka/play.rs"]
mod play;
mod probe;
mod publish;
mod rebalance;
#[path = "../services/mod.rs"]
mod services;
mod source;
mod support;
