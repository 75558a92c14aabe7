//! SimKafka, driven by hand: what the group, the clients and the topic do, with and without faults.

#![allow(clippy::wildcard_enum_match_arm, reason = "a test looks for one variant among all")]

mod cases;
mod desk;
mod faults;
mod group;
mod incidents;
#[path = "../../../fixtures/kafka/play.rs"]
mod play;
mod question;
mod random;
mod reading;
mod source;
