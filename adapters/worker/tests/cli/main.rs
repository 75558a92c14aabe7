//! The program as a person meets it: the built binary on a real broker and a real PostgreSQL (`AMENDS_TEST_BROKERS`,
//! `AMENDS_TEST_DATABASE_URL`, by default what `make up` starts). A service that cannot be reached is a failure, never a
//! skip.

mod create;
mod load;
mod load_stops;
mod read;
mod run;
#[path = "../services/mod.rs"]
mod services;
mod spine;
mod support;
mod usage;
