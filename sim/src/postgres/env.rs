//! Knows the simulated world as the production store needs it: dial, sleep, spawn and clock of one process.

use std::time::Duration;

use amends_core::ids::Moment;
use amends_store::env::{DialError, Dialed, Endpoint, Environment};
use madsim::time::{TimeHandle, sleep};
use tokio_postgres::NoTls;

use super::{SimPostgres, Stream};
use crate::life::Life;

/// The environment of one process. Its tasks run on the node on which they are spawned, and end with it.
#[derive(Clone)]
pub struct SimEnvironment {
    postgres: SimPostgres,
    who: Life,
}

impl SimEnvironment {
    /// What the store names its server by; every URL without TLS leads to the one that there is.
    pub const URL: &'static str = "postgres://sim@sim:5432/amends?sslmode=disable";

    /// The environment of a process.
    #[must_use]
    pub fn new(postgres: SimPostgres, who: Life) -> Self {
        Self { postgres, who }
    }
}

impl Environment for SimEnvironment {
    type Stream = Stream;
    type Tls = NoTls;

    async fn dial(&self, endpoint: &Endpoint) -> Result<Dialed<Stream, NoTls>, DialError> {
        let stream = self.postgres.dial(self.who).await.map_err(|why| DialError(why.to_owned()))?;
        Ok(Dialed { stream, tls: NoTls, at: endpoint.clone() })
    }

    async fn sleep(&self, ms: u64) {
        sleep(Duration::from_millis(ms)).await;
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        madsim::task::spawn(task);
    }

    fn now(&self) -> Moment {
        Moment(self.postgres.now_ms())
    }

    fn now_ns(&self) -> u64 {
        u64::try_from(TimeHandle::current().elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}
