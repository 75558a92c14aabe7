//! Knows how long one attempt at an operation may take, how it is cancelled, and what may be said when it is given up.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use amends_core::ids::Moment;
use futures_util::future::{Either, select};
use tokio::sync::Notify;
use tokio_postgres::error::Severity;
use tokio_postgres::{CancelToken, Error};

use crate::env::{Dialed, Endpoint, Environment};
use crate::pool::Store;
use crate::session::{ATTEMPT_MS, IDLE_IN_TRANSACTION_MS, LOCK_MS, Purpose, STATEMENT_MS, Session};
use crate::trouble::Trouble;

/// How long a cancel request may take, and how long its effect is then waited for.
const CANCEL_MS: u64 = 1_000;
const CANCEL_GRACE_MS: u64 = 500;

/// The waits of one attempt: each the smaller of its own and the rest of the budget. A zero would mean none to
/// PostgreSQL, so that no rest is below a millisecond.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Limits {
    pub(crate) idle_in_transaction_ms: u64,
    pub(crate) lock_ms: u64,
    pub(crate) statement_ms: u64,
    pub(crate) attempt_ms: u64,
}

impl Limits {
    pub(crate) fn within(rest_ms: u64) -> Self {
        let bounded = |own: u64| own.min(rest_ms).max(1);
        Self {
            idle_in_transaction_ms: bounded(IDLE_IN_TRANSACTION_MS),
            lock_ms: bounded(LOCK_MS),
            statement_ms: bounded(STATEMENT_MS),
            attempt_ms: bounded(ATTEMPT_MS),
        }
    }
}

/// How an operation learns that its tenure is over.
#[derive(Default)]
pub(crate) struct Cancel {
    asked: AtomicBool,
    wake: Notify,
}

impl Cancel {
    pub(crate) fn ask(&self) {
        self.asked.store(true, Ordering::SeqCst);
        // Kept for the one waiter when it does not wait yet.
        self.wake.notify_one();
    }

    fn is_asked(&self) -> bool {
        self.asked.load(Ordering::SeqCst)
    }

    async fn asked(&self) {
        while !self.is_asked() {
            self.wake.notified().await;
        }
    }
}

/// How far an attempt has come, which is what decides when it is given up.
const REACHING: u8 = 0;
const WORKING: u8 = 1;
const COMMITTING: u8 = 2;

/// One attempt at an operation.
pub(crate) struct Attempt<E: Environment> {
    store: Store<E>,
    pub(crate) limits: Limits,
    cancel: Arc<Cancel>,
    began: Moment,
    came: AtomicU8,
    /// Where a cancel request goes while a session works for this attempt.
    at_work: Mutex<Option<(CancelToken, Endpoint)>>,
}

impl<E: Environment> Attempt<E> {
    pub(crate) fn new(store: &Store<E>, cancel: Arc<Cancel>, within_ms: u64) -> Self {
        Self {
            store: store.clone(),
            limits: Limits::within(within_ms),
            cancel,
            began: store.env().now(),
            came: AtomicU8::new(REACHING),
            at_work: Mutex::new(None),
        }
    }

    /// Runs the operation of this attempt, gives it up at the deadline and cancels it when asked to.
    pub(crate) async fn bound<T>(
        &self,
        operation: impl Future<Output = Result<T, Trouble>>,
    ) -> Result<T, Trouble> {
        let env = self.store.env();
        let mut operation = pin!(operation);
        let ended = {
            let deadline = pin!(env.sleep(self.limits.attempt_ms));
            let cancelled = pin!(self.cancel.asked());
            match select(operation.as_mut(), select(deadline, cancelled)).await {
                Either::Left((result, _)) => return result,
                Either::Right((Either::Left(_), _)) => self.silence(),
                Either::Right((Either::Right(_), _)) => "its tenure ended".to_owned(),
            }
        };
        if self.cancel.is_asked() && self.came.load(Ordering::SeqCst) != REACHING {
            let cancelling = pin!(self.send_cancel());
            if let Either::Left((result, _)) = select(operation.as_mut(), cancelling).await {
                return result;
            }
            let grace = pin!(env.sleep(CANCEL_GRACE_MS));
            if let Either::Left((result, _)) = select(operation.as_mut(), grace).await {
                return result;
            }
        }
        // The operation, and with it its session, is dropped on return: nothing more is sent.
        Err(self.given_up(ended))
    }

    fn silence(&self) -> String {
        self.store.forget_idle();
        let waited = self.store.env().now().ms_since(self.began);
        format!("postgres did not answer in {}", seconds(waited))
    }

    fn given_up(&self, why: String) -> Trouble {
        match self.came.load(Ordering::SeqCst) {
            REACHING => Trouble::Unreached(why),
            WORKING => Trouble::Again(why),
            _ => Trouble::Unknown(why),
        }
    }

    /// The session to work on: an idle one, or with `fresh` one of its own.
    pub(crate) async fn session(&self, fresh: bool) -> Result<Session, Trouble> {
        let session = if fresh { self.store.open(Purpose::Worker).await? } else { self.store.take().await? };
        self.came.store(WORKING, Ordering::SeqCst);
        *self.at_work() = Some((session.client.cancel_token(), session.at.clone()));
        Ok(session)
    }

    /// Before each trip: a tenure that is over sends nothing more.
    pub(crate) fn go_on(&self) -> Result<(), Trouble> {
        if self.cancel.is_asked() { Err(Trouble::Again("its tenure ended".to_owned())) } else { Ok(()) }
    }

    /// What a failed pipeline means. A session that died says that its idle neighbours lead to the same dead server.
    pub(crate) fn failed(&self, failure: Option<Error>) -> Trouble {
        let Some(error) = failure else { return Trouble::Again("an answer got lost".to_owned()) };
        if error.as_db_error().is_none_or(|db| db.parsed_severity() != Some(Severity::Error)) {
            self.store.forget_idle();
        }
        Trouble::from(error)
    }

    /// COMMIT is handed over now.
    pub(crate) fn commits(&self) {
        self.came.store(COMMITTING, Ordering::SeqCst);
    }

    /// The session did its work and no transaction is open on it.
    pub(crate) fn release(&self, session: Session, fresh: bool) {
        let mut at_work = self.at_work();
        *at_work = None;
        // A cancel request that is under way may hit whatever the session does next.
        if self.cancel.is_asked() {
            drop(session);
        } else if fresh {
            session.close();
        } else {
            self.store.give_back(session);
        }
    }

    fn at_work(&self) -> std::sync::MutexGuard<'_, Option<(CancelToken, Endpoint)>> {
        self.at_work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the server to end the statement. What comes of it is seen on the session itself.
    async fn send_cancel(&self) {
        let at_work = self.at_work().clone();
        let Some((token, endpoint)) = at_work else { return };
        let env = self.store.env();
        let request = pin!(async {
            if let Ok(Dialed { stream, tls, .. }) = env.dial(&endpoint).await {
                let _ = token.cancel_query_raw(stream, tls).await;
            }
        });
        let deadline = pin!(env.sleep(CANCEL_MS));
        select(request, deadline).await;
    }
}

/// `5s`, `1.5s`, `200ms`.
pub(crate) fn seconds(ms: u64) -> String {
    if ms < 1_000 {
        return format!("{ms}ms");
    }
    let tenths = ms / 100;
    if tenths.is_multiple_of(10) {
        format!("{}s", tenths / 10)
    } else {
        format!("{}.{}s", tenths / 10, tenths % 10)
    }
}
