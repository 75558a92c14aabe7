//! Everything that amends says to PostgreSQL, and the environment seam under which a simulator can stand.
//!
//! * [`world`] carries out the reducer's commands: Claim, Observe, Process, Cancel.
//! * [`namespace`], [`migrate`], [`guard`], [`inspect`] and [`export`] serve the verbs of the program.
//! * [`env`](crate::env) is what the world around has to give.
//!
//! What never happens here: a broker is asked, a decision is made, a timer, task or socket is taken from anywhere but
//! the seam, a record's bytes or a credential reach a log or an error.

mod attempt;
mod claim;
mod effects;
pub mod env;
pub mod export;
pub mod guard;
pub mod inspect;
mod ledger;
pub mod migrate;
pub mod namespace;
pub mod pipeline;
mod pool;
mod session;
pub mod statements;
mod target;
mod transaction;
mod trouble;
mod verb;
pub mod world;

pub use pool::{Settings, Store};
pub use target::{BadUrl, Target};
pub use trouble::StoreError;
