//! Knows the sessions that are idle, and hands them out.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use crate::env::Environment;
use crate::session::{Purpose, Session};
use crate::target::Target;
use crate::trouble::Trouble;

/// How a process shows itself to PostgreSQL.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `application_name` of its sessions, such as `amends run source-demo-1`.
    pub application_name: String,
    /// How many idle sessions are kept: lanes and one more. It bounds nothing else: whoever needs a session gets one.
    pub sessions: usize,
}

/// PostgreSQL, as one process uses it. Clones share their idle sessions.
pub struct Store<E: Environment> {
    inner: Arc<Inner<E>>,
}

struct Inner<E> {
    env: E,
    target: Target,
    settings: Settings,
    idle: Mutex<Vec<Session>>,
    warn_of_fsync: AtomicBool,
}

impl<E: Environment> Clone for Store<E> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

impl<E: Environment> Store<E> {
    /// Connects nowhere yet.
    #[must_use]
    pub fn new(env: E, target: Target, settings: Settings) -> Self {
        let idle = Mutex::new(Vec::new());
        Self { inner: Arc::new(Inner { env, target, settings, idle, warn_of_fsync: AtomicBool::new(true) }) }
    }

    /// The world around.
    #[must_use]
    pub fn env(&self) -> &E {
        &self.inner.env
    }

    /// Opens a session of its own.
    pub(crate) async fn open(&self, purpose: Purpose) -> Result<Session, Trouble> {
        self.open_as(&self.inner.settings.application_name, purpose).await
    }

    /// Opens a session of its own under another name.
    pub(crate) async fn open_as(&self, name: &str, purpose: Purpose) -> Result<Session, Trouble> {
        let Inner { env, target, warn_of_fsync, .. } = &*self.inner;
        Session::open(env, target, name, purpose, warn_of_fsync).await
    }

    /// An idle worker session, or a new one.
    pub(crate) async fn take(&self) -> Result<Session, Trouble> {
        // In a statement of its own: the guard must be gone before the wait.
        let idle = self.take_idle();
        match idle {
            Some(session) => Ok(session),
            None => self.open(Purpose::Worker).await,
        }
    }

    fn take_idle(&self) -> Option<Session> {
        let mut idle = self.inner.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|session| !session.client.is_closed());
        idle.pop()
    }

    /// Gives back a worker session on which no transaction is open.
    pub(crate) fn give_back(&self, session: Session) {
        let mut idle = self.inner.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < self.inner.settings.sessions {
            idle.push(session);
        } else {
            session.close();
        }
    }

    /// Cuts every idle session: one of them has just turned out to be dead, and its neighbours lead to the same server.
    pub(crate) fn forget_idle(&self) {
        self.inner.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Takes leave of every idle session.
    pub fn close(&self) {
        let idle = std::mem::take(&mut *self.inner.idle.lock().unwrap_or_else(PoisonError::into_inner));
        idle.into_iter().for_each(Session::close);
    }
}
