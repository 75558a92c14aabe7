//! Knows how long a verb outside of the reducer waits for PostgreSQL.

use std::future::Future;
use std::pin::pin;

use futures_util::future::{Either, select};

use crate::attempt::seconds;
use crate::env::Environment;
use crate::trouble::{StoreError, Trouble};

/// A question that is answered at once or not at all.
pub(crate) const SHORT_MS: u64 = 10_000;
/// The longest silence of a server that sorts, scans or migrates.
pub(crate) const LONG_MS: u64 = 600_000;

/// Runs a step of a verb, and gives it up after a while: `what` says what could not be done then.
pub(crate) async fn bounded<E: Environment, T>(
    env: &E,
    what: &str,
    ms: u64,
    step: impl Future<Output = Result<T, Trouble>>,
) -> Result<T, StoreError> {
    let (step, silence) = (pin!(step), pin!(env.sleep(ms)));
    let result = match select(step, silence).await {
        Either::Left((result, _)) => result,
        Either::Right(_) => Err(Trouble::Again(format!("postgres did not answer in {}", seconds(ms)))),
    };
    result.map_err(|trouble| StoreError::new(what, trouble))
}
