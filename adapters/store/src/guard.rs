//! Knows the guard of a source: one advisory lock per incarnation, exclusive for a load, shared for a verification.
//!
//! It binds the programs that use this database, and nobody else.

use amends_core::ids::Incarnation;
use tokio_postgres::types::Type;

use crate::env::Environment;
use crate::pool::Store;
use crate::session::{Purpose, Session};
use crate::transaction::Param;
use crate::trouble::{StoreError, Trouble};
use crate::verb::{SHORT_MS, bounded};

pub(crate) const TRY_EXCLUSIVE: &str =
    "SELECT pg_try_advisory_lock(hashtextextended($1, 0)), pg_backend_pid()";

pub(crate) const TRY_SHARED: &str =
    "SELECT pg_try_advisory_lock_shared(hashtextextended($1, 0)), pg_backend_pid()";

/// PostgreSQL shows the two halves of the lock's number apart.
pub(crate) const HOLDER: &str = "\
SELECT a.application_name, l.pid
  FROM pg_catalog.pg_locks l LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid
 WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 AND l.pid <> pg_backend_pid()
   AND l.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())
   AND (l.classid::bigint << 32 | l.objid::bigint) = hashtextextended($1, 0)
 ORDER BY a.backend_start LIMIT 1";

pub(crate) const PROBE: &str = "\
SELECT pg_backend_pid(), current_setting('amends.session', true), EXISTS (
    SELECT FROM pg_catalog.pg_locks l
     WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 AND l.pid = pg_backend_pid()
       AND l.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())
       AND (l.classid::bigint << 32 | l.objid::bigint) = hashtextextended($1, 0))";

/// The guard, held until it is released or its session ends.
pub struct Guard<E: Environment> {
    env: E,
    session: Session,
    key: String,
    backend: i32,
}

impl<E: Environment> Guard<E> {
    /// For a load: nobody else holds the guard. `holder` is what others are told, such as `amends load T host:pid`.
    ///
    /// # Errors
    /// [`StoreError::Refused`] with code `guarded` and the holder's name when somebody holds it.
    pub async fn exclusive(store: &Store<E>, source: Incarnation, holder: &str) -> Result<Self, StoreError> {
        Self::acquire(store, source, holder, TRY_EXCLUSIVE).await
    }

    /// For a verification: no load holds the guard.
    ///
    /// # Errors
    /// [`StoreError::Refused`] with code `guarded` and the holder's name when a load holds it.
    pub async fn shared(store: &Store<E>, source: Incarnation, holder: &str) -> Result<Self, StoreError> {
        Self::acquire(store, source, holder, TRY_SHARED).await
    }

    async fn acquire(
        store: &Store<E>,
        source: Incarnation,
        holder: &str,
        statement: &'static str,
    ) -> Result<Self, StoreError> {
        let what = format!("could not guard {source}");
        let key = format!("amends guard {source}");
        let env = store.env().clone();
        let acquired = bounded(store.env(), &what, SHORT_MS, async {
            let session = store.open_as(holder, Purpose::Reader).await?;
            let params: [Param<'_>; 1] = [(&key, Type::TEXT)];
            let row = session.client.query_typed_one(statement, &params).await?;
            if row.try_get(0)? {
                let backend = row.try_get(1)?;
                return Ok(Ok((session, backend)));
            }
            let row = session.client.query_typed_opt(HOLDER, &params).await?;
            session.close();
            let Some(row) = row else { return Ok(Err("somebody who has just left".to_owned())) };
            let (name, pid): (Option<String>, i32) = (row.try_get(0)?, row.try_get(1)?);
            Ok(Err(format!("{} (backend {pid})", name.as_deref().unwrap_or("a session that has just ended"))))
        })
        .await?;
        match acquired {
            Ok((session, backend)) => Ok(Self { env, session, key, backend }),
            Err(holder) => Err(StoreError::Refused {
                code: "guarded",
                why: format!("{what}: held by {holder}; try again later"),
            }),
        }
    }

    /// The server process that holds the guard.
    #[must_use]
    pub fn backend(&self) -> i32 {
        self.backend
    }

    /// Asks whether the guard is still held, by the same server process.
    ///
    /// # Errors
    /// When it is lost, or nobody says.
    pub async fn probe(&self) -> Result<(), StoreError> {
        bounded(&self.env, "could not keep the guard", SHORT_MS, async {
            let params: [Param<'_>; 1] = [(&self.key, Type::TEXT)];
            let row = self.session.client.query_typed_one(PROBE, &params).await?;
            let (backend, nonce, held): (i32, Option<String>, bool) =
                (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
            if backend == self.backend && nonce.as_deref() == Some(&self.session.nonce) && held {
                Ok(())
            } else {
                Err(Trouble::Broken("another server process answers".to_owned()))
            }
        })
        .await
    }

    /// Lets go.
    pub fn release(self) {
        self.session.close();
    }
}
