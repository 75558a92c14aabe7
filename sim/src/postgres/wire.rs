//! Knows the wire of one session: the client's end of it as a stream, what is on its way, and how it is lost.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::due::Due;
use super::frontend::Decoder;
use super::lies::Loss;
use super::server::Server;
use super::session::SessionId;
use super::shared::Shared;
use super::talk::Talk;
use crate::fact::{Fact, TxId};
use crate::ground::Ground;
use crate::life::Life;
use crate::pace::{Actor, Wait};

/// Answers that travel together.
pub(super) struct Delivery {
    bytes: Bytes,
    /// Which of them tell a lock: so many bytes from the end are left when they are read.
    lock_answers: Vec<(usize, TxId)>,
}

impl Delivery {
    /// `lock_answers` say behind which byte each stands.
    pub(super) fn new(bytes: Bytes, mut lock_answers: Vec<(usize, TxId)>) -> Self {
        for (behind, _) in &mut lock_answers {
            *behind = bytes.len() - *behind;
        }
        Self { bytes, lock_answers }
    }
}

/// One wire, until its client drops it.
pub(super) struct Wire {
    pub(super) who: Life,
    decoder: Decoder,
    talk: Talk,
    /// Nothing overtakes on a wire.
    last_up_ms: u64,
    last_down_ms: u64,
    /// What the client writes is lost.
    is_deaf: bool,
    /// What the server writes is lost.
    pub(super) is_mute: bool,
    /// The client reads the end, and cannot write.
    is_cut: bool,
    readable: VecDeque<Delivery>,
    reader: Option<Waker>,
}

impl Wire {
    pub(super) fn new(who: Life) -> Self {
        Self {
            who,
            decoder: Decoder::default(),
            talk: Talk::default(),
            last_up_ms: 0,
            last_down_ms: 0,
            is_deaf: false,
            is_mute: false,
            is_cut: false,
            readable: VecDeque::new(),
            reader: None,
        }
    }

    fn arrives_up(&mut self, ground: &mut Ground) -> u64 {
        let wait = ground.pace.wait(Wait::Wire, Actor::Worker(self.who.worker));
        self.last_up_ms = self.last_up_ms.max(ground.now() + wait);
        self.last_up_ms
    }

    pub(super) fn arrives_down(&mut self, ground: &mut Ground) -> u64 {
        let wait = ground.pace.wait(Wait::Wire, Actor::Postgres);
        self.last_down_ms = self.last_down_ms.max(ground.now() + wait);
        self.last_down_ms
    }

    fn wake(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
    }
}

impl Server {
    fn written(&mut self, ground: &mut Ground, id: SessionId, bytes: &[u8]) -> io::Result<()> {
        let Some(wire) = self.wires.get_mut(&id).filter(|wire| !wire.is_cut) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        wire.decoder.take(bytes);
        let mut chunk = Vec::new();
        while let Some(message) = wire.decoder.next() {
            chunk.push(wire.talk.hear(ground, wire.who, message, || self.txs.next()));
        }
        if wire.is_deaf || chunk.is_empty() {
            return Ok(());
        }
        let passage = self.lies.passage(ground, wire.who, &mut wire.talk, &mut chunk);
        chunk.truncate(passage.arriving);
        let at_ms = wire.arrives_up(ground) + passage.delay_ms;
        wire.last_up_ms = at_ms;
        self.agenda.at(at_ms, Due::Arrive(id, chunk));
        if let Some(loss) = passage.loss {
            self.lose(ground, id, loss);
        }
        Ok(())
    }

    /// The client closes its end, or is gone.
    fn hung_up(&mut self, ground: &mut Ground, id: SessionId) {
        let Some(wire) = self.wires.get_mut(&id).filter(|wire| !wire.is_deaf) else { return };
        wire.is_deaf = true;
        let at_ms = wire.arrives_up(ground);
        self.agenda.at(at_ms, Due::HangUp(id));
    }

    /// A wire is lost behind what is on its way up; nothing that is on its way down comes any more.
    pub(super) fn lose(&mut self, ground: &mut Ground, id: SessionId, loss: Loss) {
        let Some(wire) = self.wires.get_mut(&id) else { return };
        wire.is_mute = true;
        match loss {
            Loss::Cut(after_ms) => {
                self.agenda.at(ground.now() + after_ms, Due::Cut(id));
                self.hung_up(ground, id);
            }
            Loss::Silence => {}
            Loss::Dead => wire.is_deaf = true,
        }
    }

    pub(super) fn deliver(&mut self, id: SessionId, delivery: Delivery) {
        if let Some(wire) = self.wires.get_mut(&id).filter(|wire| !wire.is_mute) {
            wire.readable.push_back(delivery);
            wire.wake();
        }
    }

    pub(super) fn cut(&mut self, id: SessionId) {
        if let Some(wire) = self.wires.get_mut(&id) {
            wire.is_cut = true;
            wire.wake();
        }
    }

    fn read(
        &mut self,
        ground: &mut Ground,
        id: SessionId,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<()> {
        let Some(wire) = self.wires.get_mut(&id) else { return Poll::Ready(()) };
        let Some(delivery) = wire.readable.front_mut() else {
            if wire.is_cut {
                return Poll::Ready(());
            }
            wire.reader = Some(context.waker().clone());
            return Poll::Pending;
        };
        let length = delivery.bytes.len().min(into.remaining());
        into.put_slice(&delivery.bytes[..length]);
        delivery.bytes.advance(length);
        for (behind, tx) in &delivery.lock_answers {
            let left = delivery.bytes.len();
            if left <= *behind && *behind < left + length {
                ground.chronicle.tell(&Fact::LockAnswered { tx: *tx });
                let who = wire.who;
                ground.chronicle.line(format_args!("transaction {}: {who} reads that it has the lock", tx.0));
            }
        }
        if delivery.bytes.is_empty() {
            wire.readable.pop_front();
        }
        Poll::Ready(())
    }

    fn dropped(&mut self, ground: &mut Ground, id: SessionId) {
        self.hung_up(ground, id);
        self.wires.remove(&id);
    }
}

/// The client's end of a wire to the simulated server.
pub struct Stream {
    shared: Arc<Shared>,
    id: SessionId,
}

impl Stream {
    pub(super) fn new(shared: Arc<Shared>, id: SessionId) -> Self {
        Self { shared, id }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.shared.enter(|server, ground| server.read(ground, self.id, context, into)).map(Ok)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = self.shared.enter(|server, ground| server.written(ground, self.id, bytes));
        Poll::Ready(written.map(|()| bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.shared.enter(|server, ground| server.hung_up(ground, self.id));
        Poll::Ready(Ok(()))
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.shared.enter(|server, ground| server.dropped(ground, self.id));
    }
}
