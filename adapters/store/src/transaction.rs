//! Knows the frame of every transaction that moves a partition: lock first, decide after the lock, and believe COMMIT
//! only with its transaction's status.

use std::future::Future;

use amends_core::ids::{ClaimId, Frontier, Partition, Token};
use futures_util::future::{join, join5};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Error, Row};
use uuid::Uuid;

use crate::attempt::Attempt;
use crate::env::Environment;
use crate::session::Session;
use crate::trouble::{Trouble, class, describe, first_failure};

pub(crate) const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";

/// The server's limits, for this transaction.
pub(crate) const LIMITS: &str = "\
SELECT set_config('idle_in_transaction_session_timeout', $1, true), set_config('lock_timeout', $2, true),
       set_config('statement_timeout', $3, true)";

/// Whatever may still commit for this partition holds this lock.
pub(crate) const LOCK: &str = "\
SELECT 1 FROM amends.partition WHERE namespace = $1 AND partition = $2 FOR UPDATE";

/// What decides, in a statement of its own: the lock's own snapshot is older than the lock.
pub(crate) const READ: &str = "\
SELECT pg_current_xact_id()::text, current_setting('amends.session', true),
       n.uuid, n.sink, n.source_topic, n.incarnation, n.digest, p.epoch, p.claim_id, p.next_offset
  FROM amends.partition p JOIN amends.namespace n ON n.name = p.namespace
 WHERE p.namespace = $1 AND p.partition = $2";

pub(crate) const COMMIT: &str = "COMMIT";

/// tokio-postgres hides COMMIT's tag, which reads ROLLBACK when the transaction had failed before.
pub(crate) const STATUS: &str = "SELECT pg_xact_status($1::xid8)";

pub(crate) const ROLLBACK: &str = "ROLLBACK";

/// The partition's row and its namespace's, under the row lock.
pub(crate) struct Locked {
    pub(crate) xid: String,
    pub(crate) namespace: Uuid,
    pub(crate) sink: String,
    pub(crate) source_topic: String,
    pub(crate) incarnation: String,
    pub(crate) digest: Vec<u8>,
    /// `None` before the first claim.
    pub(crate) token: Option<Token>,
    /// `None` before the first claim.
    pub(crate) frontier: Option<Frontier>,
}

/// A parameter with its type: nothing is prepared under a name.
pub(crate) type Param<'a> = (&'a (dyn ToSql + Sync), Type);

/// PostgreSQL's number of a partition.
pub(crate) fn number(partition: Partition) -> Result<i32, Trouble> {
    i32::try_from(partition.0)
        .map_err(|_| Trouble::Broken(format!("partition {partition} is above 2147483647")))
}

/// Begins, locks the partition's row and reads what decides, in one round trip whose answer is read before anything
/// else is sent. `beside` is one more read in the same trip: a read cannot commit.
pub(crate) async fn lock<E: Environment, T>(
    attempt: &Attempt<E>,
    session: &Session,
    namespace: &str,
    partition: Partition,
    beside: impl Future<Output = Result<T, Error>>,
) -> Result<(Locked, T), Trouble> {
    attempt.go_on()?;
    let number = number(partition)?;
    let limits = [attempt.limits.idle_in_transaction_ms, attempt.limits.lock_ms, attempt.limits.statement_ms]
        .map(|ms| ms.to_string());
    let [idle_in_transaction, lock, statement] = &limits;
    let limits: [Param<'_>; 3] =
        [(idle_in_transaction, Type::TEXT), (lock, Type::TEXT), (statement, Type::TEXT)];
    let key: [Param<'_>; 2] = [(&namespace, Type::TEXT), (&number, Type::INT4)];
    let client = &session.client;
    // Joined futures are first polled in this order, and each hands its message over when it is.
    let (begun, limited, locked, read, beside) = join5(
        client.batch_execute(BEGIN),
        client.query_typed(LIMITS, &limits),
        client.query_typed(LOCK, &key),
        client.query_typed(READ, &key),
        beside,
    )
    .await;
    match (begun, limited, locked, read, beside) {
        (Ok(()), Ok(_), Ok(locked), Ok(read), Ok(beside)) => {
            // A lock that finds no row waits for nothing and proves nothing.
            let row = read.first().filter(|_| locked.len() == 1).ok_or_else(|| {
                Trouble::Broken(format!("namespace {namespace} has no row for partition {partition}"))
            })?;
            let (nonce, locked) = locked_row(row)?;
            if nonce.as_deref() != Some(session.nonce.as_str()) {
                return Err(Trouble::Broken(
                    "another server session answers than was opened: a pooler stands in between, connect directly"
                        .to_owned(),
                ));
            }
            Ok((locked, beside))
        }
        (begun, limited, locked, read, beside) => {
            let failures = [begun.err(), limited.err(), locked.err(), read.err(), beside.err()];
            Err(attempt.failed(first_failure(failures)))
        }
    }
}

fn locked_row(row: &Row) -> Result<(Option<String>, Locked), Trouble> {
    let claim_id: Option<Uuid> = row.try_get(8)?;
    let epoch: i64 = row.try_get(7)?;
    let frontier: Option<i64> = row.try_get(9)?;
    let locked = Locked {
        xid: row.try_get(0)?,
        namespace: row.try_get(2)?,
        sink: row.try_get(3)?,
        source_topic: row.try_get(4)?,
        incarnation: row.try_get(5)?,
        digest: row.try_get(6)?,
        token: claim_id.map(|id| Token { epoch, claim_id: ClaimId(id.as_u128()) }),
        frontier: frontier.map(Frontier),
    };
    Ok((row.try_get(1)?, locked))
}

/// Ends a transaction that wrote nothing.
pub(crate) async fn roll_back<E: Environment>(
    attempt: &Attempt<E>,
    session: &Session,
) -> Result<(), Trouble> {
    attempt.go_on()?;
    Ok(session.client.batch_execute(ROLLBACK).await?)
}

/// Commits, and tells what came of it. COMMIT and the question for the transaction's status are one round trip.
pub(crate) async fn commit<E: Environment>(
    attempt: &Attempt<E>,
    session: &Session,
    xid: &str,
) -> Result<(), Trouble> {
    attempt.go_on()?;
    let client = &session.client;
    if client.is_closed() {
        return Err(Trouble::Again("the connection was closed before COMMIT was sent".to_owned()));
    }
    session.forget_warnings();
    attempt.commits();
    let xid: [Param<'_>; 1] = [(&xid, Type::TEXT)];
    let (committed, status) = join(client.batch_execute(COMMIT), client.query_typed_one(STATUS, &xid)).await;
    let status = status.and_then(|row| row.try_get::<_, Option<String>>(0));
    judge(committed, status, session.was_warned())
}

/// A reply is not an outcome.
fn judge(
    committed: Result<(), Error>,
    status: Result<Option<String>, Error>,
    warned: bool,
) -> Result<(), Trouble> {
    let aborted = matches!(&status, Ok(Some(status)) if status == "aborted");
    match (committed, status) {
        (Err(error), _) if aborted || is_no(&error) => Err(Trouble::Again(describe(&error))),
        (Err(error), _) => Err(Trouble::Unknown(describe(&error))),
        (Ok(()), _) if aborted => {
            Err(Trouble::Again("COMMIT was answered, but the transaction is aborted".to_owned()))
        }
        (Ok(()), Ok(Some(status))) if status == "committed" => {
            if warned {
                return Err(Trouble::Unknown("a warning came before COMMIT's answer".to_owned()));
            }
            Ok(())
        }
        (Ok(()), Ok(_)) => Err(Trouble::Unknown(
            "COMMIT was answered, but the transaction's status is not committed".to_owned(),
        )),
        (Ok(()), Err(error)) => Err(Trouble::Unknown(describe(&error))),
    }
}

/// Whether this answer to COMMIT says that it did not commit: an ERROR that neither ends the session nor speaks of an
/// outcome that the server does not know itself.
fn is_no(error: &Error) -> bool {
    error.as_db_error().is_some_and(|db| {
        let code = db.code().code();
        db.parsed_severity() == Some(tokio_postgres::error::Severity::Error)
            && class(code) != "08"
            && !code.starts_with("57P")
            && code != "40003"
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Neither can be had from a server that behaves; a status that was forgotten is null.
    #[test]
    fn a_status_that_says_neither_leaves_commit_unknown() {
        for status in [None, Some("in progress".to_owned())] {
            assert!(matches!(judge(Ok(()), Ok(status), false), Err(Trouble::Unknown(_))));
        }
        assert_eq!(judge(Ok(()), Ok(Some("committed".to_owned())), false), Ok(()));
    }
}
