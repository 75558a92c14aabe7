//! Knows the server at the far end of every simulated wire: PostgreSQL as far as the store's own statements go.
//!
//! Reading order: `value` and `rows` are what is kept, in `tables`; `statement` is what is understood, `work` how one
//! statement is carried out, over the rows and their `locks`, by `settings`, `ownership` and `ledger`. `session` is what
//! one session remembers, `conversation` how it works through what `frontend` reads and `answer` writes, `transaction`
//! how its work ends. `wire` is how bytes come and go, `talk` what they are about, `lies` what becomes of them, and
//! `incidents` what befalls the server as a whole, `planted` how a broken statement is carried out. `server` ties them by one `agenda`; [`env`] is how the production
//! store reaches it.
//!
//! The whole server is one state without tasks of its own: one task sleeps until the next entry of the agenda. Every
//! statement is carried out over the tables; a text that is not known is a panic. Not modelled: deadlocks (a cycle ends
//! by its lock time-outs), the order in which a real server reads rows that no ORDER BY sorts, compressed index keys.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use madsim::runtime::Handle;
use madsim::time::{TimeHandle, sleep};

use self::server::Server;
use self::shared::{Shared, elapsed_ms};
use self::value::Shown;
pub use self::wire::Stream;
use crate::faults::Incident;
use crate::ground::Ground;
use crate::life::Life;
use crate::pace::{Actor, Wait};
use crate::plant::Sql;

mod answer;
mod conversation;
mod due;
mod dump;
pub mod env;
mod frontend;
mod incidents;
mod ledger;
mod lies;
mod locks;
mod ownership;
mod planted;
mod refusal;
mod rows;
mod server;
mod session;
mod settings;
mod shared;
mod statement;
mod tables;
mod talk;
mod transaction;
mod value;
mod wire;
mod work;
mod xids;

/// The server of one world. Clones are the same server.
///
/// Whoever calls it must not hold the lock of the world's ground.
#[derive(Clone)]
pub struct SimPostgres {
    shared: Arc<Shared>,
}

impl SimPostgres {
    /// Starts a migrated server without namespaces, on a node of its own, so that no client's end is its end. What it
    /// draws by chance follows from `seed`.
    #[must_use]
    pub fn start(ground: Arc<Mutex<Ground>>, seed: u64) -> Self {
        Self::planted(ground, seed, &[])
    }

    /// The same, and what is said to it is wrong in these ways.
    #[must_use]
    pub fn planted(ground: Arc<Mutex<Ground>>, seed: u64, defects: &'static [Sql]) -> Self {
        let server = Server::new(seed, defects);
        let shared = Arc::new(Shared::new(server, ground));
        let serving = Arc::clone(&shared);
        let node = Handle::current().create_node().name("postgres").build();
        node.spawn(async move { serving.serve().await });
        Self { shared }
    }

    /// Connects a process.
    ///
    /// # Errors
    /// When no connection comes to be, with the reason for people.
    pub async fn dial(&self, who: Life) -> Result<Stream, &'static str> {
        let wait = self.shared.enter(|_, ground| ground.pace.wait(Wait::Wire, Actor::Worker(who.worker)));
        sleep(Duration::from_millis(wait)).await;
        let id = self.shared.enter(|server, ground| server.dialed(ground, who))?;
        Ok(Stream::new(Arc::clone(&self.shared), id))
    }

    /// Lets one of the server's incidents happen: F06, F10, F11, F40. Returns whether it was one of these.
    pub fn strike(&self, incident: &Incident) -> bool {
        self.shared.enter(|server, ground| server.befall(ground, incident))
    }

    /// The faults are over: whatever is held or refused ends, and every late COMMIT lands.
    pub fn heal(&self) {
        self.shared.enter(Server::heal);
    }

    /// Ends every session of a process, as `pg_terminate_backend` does.
    pub fn terminate(&self, who: Life) {
        self.shared.enter(|server, ground| server.terminate(ground, who));
    }

    /// The committed rows of a table of the schema `amends`, in the order of its primary key: all columns as text, in
    /// their order.
    ///
    /// # Panics
    /// When there is no such table.
    #[must_use]
    pub fn rows(&self, table: &str) -> Vec<Vec<Shown>> {
        self.shared.enter(|server, _| server.tables.dump(table))
    }

    /// Milliseconds since the world began.
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        elapsed_ms(&TimeHandle::current())
    }
}
