//! Knows how one direct session to PostgreSQL comes to be, what it forces, and how it ends.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Poll, ready};

use tokio::sync::oneshot;
use tokio_postgres::error::Severity;
use tokio_postgres::tls::TlsConnect;
use tokio_postgres::types::Type;
use tokio_postgres::{AsyncMessage, Client, Connection, Row};

use crate::env::{Dialed, Endpoint, Environment};
use crate::target::Target;
use crate::trouble::{Trouble, class, describe};

/// Everything that a session forces, and what has to be known of the server, in one statement.
///
/// The nonce is drawn by PostgreSQL; every locked read shows it again, and another one means that a pooler changed the
/// server behind the session. Warnings must arrive, because one before COMMIT's answer makes its outcome unknown.
/// `transaction_timeout` exists since PostgreSQL 17 only.
///
/// The kernel counts a full window as silence, so that `tcp_user_timeout` would cut a reader off which pauses.
pub(crate) const SET_UP: &str = "\
SELECT set_config('amends.session', gen_random_uuid()::text, false),
       current_setting('transaction_read_only'), current_setting('fsync'),
       set_config('synchronous_commit', 'on', false),
       set_config('application_name', $1, false),
       set_config('statement_timeout', $2, false), set_config('lock_timeout', $3, false),
       set_config('idle_in_transaction_session_timeout', $4, false), set_config('idle_session_timeout', '0', false),
       (SELECT set_config(name, '0', false) FROM pg_catalog.pg_settings WHERE name = 'transaction_timeout'),
       set_config('client_min_messages', 'warning', false), set_config('client_encoding', 'UTF8', false),
       set_config('client_connection_check_interval', '1000', false),
       set_config('tcp_keepalives_idle', '3', false), set_config('tcp_keepalives_interval', '1', false),
       set_config('tcp_keepalives_count', '3', false), set_config('tcp_user_timeout', $5, false),
       set_config('search_path', 'pg_catalog', false), set_config('TimeZone', 'UTC', false),
       set_config('DateStyle', 'ISO, YMD', false), set_config('jit', 'off', false)";

/// What a session is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Decides: needs a writable server, and no statement of it may last.
    Worker,
    /// Reads, migrates or holds a lock for long: sets its own limits.
    Reader,
}

/// The longest waits of a worker's statement on the server, in the order in which they must run out.
pub(crate) const IDLE_IN_TRANSACTION_MS: u64 = 2_000;
pub(crate) const LOCK_MS: u64 = 4_000;
pub(crate) const STATEMENT_MS: u64 = 5_000;
/// How long the server's kernel waits for an acknowledgement.
const UNACKNOWLEDGED_MS: u64 = 3_000;
/// The client's deadline of one attempt, when the server is silent about all of these.
pub(crate) const ATTEMPT_MS: u64 = 6_000;

/// A direct session. Dropping it cuts the connection at once, whatever is in flight: nothing more is sent.
pub(crate) struct Session {
    pub(crate) client: Client,
    /// What PostgreSQL drew for this session.
    pub(crate) nonce: String,
    /// The server that it leads to.
    pub(crate) at: Endpoint,
    warned: Arc<AtomicBool>,
    hang_up: oneshot::Sender<()>,
}

impl Session {
    /// Forgets the warnings so far.
    pub(crate) fn forget_warnings(&self) {
        self.warned.store(false, Ordering::SeqCst);
    }

    /// Whether a WARNING came since. Notices are read in their order, so one that stood before an answer is seen here
    /// when the answer is.
    pub(crate) fn was_warned(&self) -> bool {
        self.warned.load(Ordering::SeqCst)
    }

    /// Takes leave: what was sent is answered, then the server is told.
    pub(crate) fn close(self) {
        // The task drives the connection until the client, dropped here, has said goodbye.
        let _ = self.hang_up.send(());
    }

    /// Opens a session at the first endpoint that will do; several in the order of the URL, so that a standby listed
    /// before its primary costs a round trip and no attempt.
    pub(crate) async fn open<E: Environment>(
        env: &E,
        target: &Target,
        application_name: &str,
        purpose: Purpose,
        warn_of_fsync: &AtomicBool,
    ) -> Result<Self, Trouble> {
        let mut worst = None;
        for endpoint in target.endpoints() {
            match open_at(env, target, endpoint, application_name, purpose, warn_of_fsync).await {
                Ok(session) => return Ok(session),
                Err(trouble) => worst = worse(worst, trouble),
            }
        }
        Err(worst.unwrap_or_else(|| Trouble::Broken("the database URL names no server".to_owned())))
    }
}

/// Of several servers' failures the one that a person has to know: a refusal before an outage before silence.
fn worse(one: Option<Trouble>, other: Trouble) -> Option<Trouble> {
    let rank = |trouble: &Trouble| match trouble {
        Trouble::Unreached(_) => 0,
        Trouble::Again(_) | Trouble::Unknown(_) => 1,
        Trouble::Refused(_) | Trouble::Broken(_) => 2,
    };
    match one {
        Some(one) if rank(&one) >= rank(&other) => Some(one),
        _ => Some(other),
    }
}

async fn open_at<E: Environment>(
    env: &E,
    target: &Target,
    endpoint: &Endpoint,
    application_name: &str,
    purpose: Purpose,
    warn_of_fsync: &AtomicBool,
) -> Result<Session, Trouble> {
    let unreached =
        |why: String| Trouble::Unreached(format!("could not reach postgres at {endpoint}, {why}"));
    let Dialed { stream, tls, at } = env.dial(endpoint).await.map_err(|error| unreached(error.0))?;
    let connected = target.config().connect_raw(stream, tls).await;
    let (client, connection) = connected.map_err(|error| refused_connect(&error, unreached))?;
    let warned = Arc::new(AtomicBool::new(false));
    let (hang_up, hung_up) = oneshot::channel();
    env.spawn(carry::<E>(connection, Arc::clone(&warned), hung_up));

    let zero_or = |ms: u64| if purpose == Purpose::Worker { ms.to_string() } else { "0".to_owned() };
    let (statement, lock, idle) = (zero_or(STATEMENT_MS), zero_or(LOCK_MS), zero_or(IDLE_IN_TRANSACTION_MS));
    let unacknowledged = zero_or(UNACKNOWLEDGED_MS);
    let row = client
        .query_typed_one(
            SET_UP,
            &[
                (&application_name, Type::TEXT),
                (&statement, Type::TEXT),
                (&lock, Type::TEXT),
                (&idle, Type::TEXT),
                (&unacknowledged, Type::TEXT),
            ],
        )
        .await?;
    let session = Session { client, nonce: text(&row, 0)?, at, warned, hang_up };
    if purpose == Purpose::Worker && text(&row, 1)? != "off" {
        // Nothing of an operation was sent: a failover passes through this, and is waited for like a refused connect.
        return Err(unreached("the server is read-only".to_owned()));
    }
    if text(&row, 3)? != "on" {
        return Err(Trouble::Broken("synchronous_commit could not be switched on".to_owned()));
    }
    if text(&row, 2)? != "on" && warn_of_fsync.swap(false, Ordering::SeqCst) {
        tracing::warn!(
            code = "fsync-off",
            "postgres at {endpoint} runs with fsync=off: a crash of its machine loses commits"
        );
    }
    Ok(session)
}

fn text(row: &Row, index: usize) -> Result<String, Trouble> {
    Ok(row.try_get(index)?)
}

/// A session that never stood: nothing of any operation was sent. Only what a person must mend is more than that.
fn refused_connect(error: &tokio_postgres::Error, unreached: impl Fn(String) -> Trouble) -> Trouble {
    match error.code().map(|code| class(code.code())) {
        Some("28" | "3D" | "42" | "0A") => Trouble::Broken(describe(error)),
        _ => unreached(describe(error)),
    }
}

type Secured<E> = <<E as Environment>::Tls as TlsConnect<<E as Environment>::Stream>>::Stream;

/// Drives a connection. Without a word the end of its session is a cut: tokio-postgres itself would wait for the
/// answers to everything that was sent, for ever on a dead wire.
async fn carry<E: Environment>(
    mut connection: Connection<E::Stream, Secured<E>>,
    warned: Arc<AtomicBool>,
    mut hung_up: oneshot::Receiver<()>,
) {
    let mut leaving = false;
    poll_fn(|context| {
        if !leaving {
            match Pin::new(&mut hung_up).poll(context) {
                Poll::Ready(Ok(())) => leaving = true,
                Poll::Ready(Err(_)) => return Poll::Ready(()),
                Poll::Pending => {}
            }
        }
        loop {
            match ready!(connection.poll_message(context)) {
                Some(Ok(AsyncMessage::Notice(notice))) => {
                    if notice.parsed_severity() == Some(Severity::Warning) {
                        warned.store(true, Ordering::SeqCst);
                    }
                }
                Some(Ok(_)) => {}
                // The pending question, when there is one, gets the error.
                Some(Err(_)) | None => return Poll::Ready(()),
            }
        }
    })
    .await;
}
