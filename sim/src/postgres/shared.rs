//! Knows how client tasks and the server's own task reach the server: one at a time, at the time of the world.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use madsim::time::{TimeHandle, timeout};
use tokio::sync::Notify;

use super::server::Server;
use crate::ground::Ground;

/// The server, the ground that it stands on, and the bell that its task sleeps by.
pub(super) struct Shared {
    server: Mutex<Server>,
    ground: Arc<Mutex<Ground>>,
    bell: Notify,
}

impl Shared {
    pub(super) fn new(server: Server, ground: Arc<Mutex<Ground>>) -> Self {
        Self { server: Mutex::new(server), ground, bell: Notify::new() }
    }

    /// Does something with the server now. Nothing in it waits.
    pub(super) fn enter<T>(&self, with: impl FnOnce(&mut Server, &mut Ground) -> T) -> T {
        let mut server = self.server.lock().unwrap_or_else(PoisonError::into_inner);
        let mut ground = self.ground.lock().unwrap_or_else(PoisonError::into_inner);
        // A world that ends drops its streams when there is no time any more.
        if let Some(time) = TimeHandle::try_current() {
            ground.advance_to(elapsed_ms(&time));
        }
        let before = server.agenda.next_due();
        let result = with(&mut server, &mut ground);
        if server.agenda.next_due().is_some_and(|next| before.is_none_or(|before| next < before)) {
            self.bell.notify_one();
        }
        result
    }

    /// Lets everything happen when it is due, for ever.
    pub(super) async fn serve(&self) {
        loop {
            let next = self.enter(|server, ground| {
                server.advance(ground);
                server.agenda.next_due()
            });
            let rung = self.bell.notified();
            match next {
                Some(next) => {
                    let now = TimeHandle::current().elapsed();
                    let _ = timeout(Duration::from_millis(next).saturating_sub(now), rung).await;
                }
                None => rung.await,
            }
        }
    }
}

pub(super) fn elapsed_ms(time: &TimeHandle) -> u64 {
    u64::try_from(time.elapsed().as_millis()).unwrap_or(u64::MAX)
}
