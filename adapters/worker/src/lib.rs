//! Kafka topics into PostgreSQL exactly once in effect: what waits for services, and the command line.
//!
//! Nothing here decides: [`worker`] hands events to the reducer of amends-core and carries out its commands.

#[cfg(feature = "kafka")]
pub mod cli;
pub mod env;
#[cfg(feature = "kafka")]
pub mod journal;
#[cfg(feature = "kafka")]
pub mod kafka;
#[cfg(feature = "kafka")]
pub mod worker;
