//! A proxy between the store and PostgreSQL that reads the protocol: it counts questions and answers, and cuts, loses or
//! spoils what a test tells it to.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};

/// What happens when a statement that begins so is about to be forwarded, once.
#[derive(Clone, Copy)]
pub enum Then {
    /// Both sides are cut, and the server never sees it.
    CutBefore,
    /// The server answers, and both sides are cut instead of the answer's delivery.
    LoseAnswer,
    /// Nothing passes any more in either direction.
    Freeze,
    /// The server sees it half a second later.
    Delay,
    /// The server is given another statement first, whose answer nobody sees.
    SlipIn(&'static str),
}

/// One thing that passed, as the client's side of the proxy sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Passed {
    /// A statement with its Sync, or a simple query.
    Question(String),
    /// A ReadyForQuery.
    Answer,
}

#[derive(Default)]
struct Shared {
    rule: Mutex<Option<(&'static str, Then)>>,
    log: Mutex<Vec<Passed>>,
    latency: Mutex<Duration>,
    open: AtomicUsize,
}

pub struct Proxy {
    pub port: u16,
    shared: Arc<Shared>,
}

impl Proxy {
    pub async fn to(server: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared::default());
        let forward = Arc::clone(&shared);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (shared, server) = (Arc::clone(&forward), server.clone());
                tokio::spawn(async move {
                    let server = TcpStream::connect(server).await.unwrap();
                    client.set_nodelay(true).unwrap();
                    server.set_nodelay(true).unwrap();
                    let wire = Wire::default();
                    let (from_client, to_client) = client.into_split();
                    let (from_server, to_server) = server.into_split();
                    shared.open.fetch_add(1, Ordering::SeqCst);
                    tokio::select! {
                        () = up(&shared, &wire, from_client, to_server) => {}
                        () = down(&shared, &wire, from_server, to_client) => {}
                    }
                    shared.open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Self { port, shared }
    }

    pub fn when(&self, begins: &'static str, then: Then) {
        *self.shared.rule.lock().unwrap() = Some((begins, then));
    }

    /// Whether the rule was met.
    pub fn has_struck(&self) -> bool {
        self.shared.rule.lock().unwrap().is_none()
    }

    /// How many connections the client keeps.
    pub fn open(&self) -> usize {
        self.shared.open.load(Ordering::SeqCst)
    }

    /// Answers take so long, so that all of a pipeline has passed before its first answer does.
    pub fn slow(&self, latency: Duration) {
        *self.shared.latency.lock().unwrap() = latency;
    }

    /// What has passed since the last call.
    pub fn log(&self) -> Vec<Passed> {
        std::mem::take(&mut *self.shared.log.lock().unwrap())
    }
}

/// What the two directions of one connection tell each other.
#[derive(Default)]
struct Wire {
    losing: Mutex<bool>,
    frozen: Mutex<bool>,
    /// Answers that nobody must see.
    hidden: Mutex<u32>,
}

async fn up(shared: &Shared, wire: &Wire, mut from: OwnedReadHalf, mut to: OwnedWriteHalf) {
    // The first message has no type.
    let Ok(length) = from.read_u32().await else { return };
    let mut body = vec![0; length as usize - 4];
    if from.read_exact(&mut body).await.is_err() {
        return;
    }
    to.write_all(&[&length.to_be_bytes()[..], &body].concat()).await.unwrap();
    let mut parsed = String::new();
    while let Ok(kind) = from.read_u8().await {
        let length = from.read_u32().await.unwrap();
        let mut body = vec![0; length as usize - 4];
        if from.read_exact(&mut body).await.is_err() {
            return;
        }
        let text = match kind {
            b'Q' => body.split(|byte| *byte == 0).next(),
            b'P' => body.split(|byte| *byte == 0).nth(1),
            _ => None,
        };
        if let Some(text) = text {
            parsed = String::from_utf8(text.to_vec()).unwrap();
            match struck(shared, &parsed) {
                Some(Then::CutBefore) => return,
                Some(Then::LoseAnswer) => *wire.losing.lock().unwrap() = true,
                Some(Then::Freeze) => {
                    *wire.frozen.lock().unwrap() = true;
                    // Only the end of the connection is noticed.
                    let mut ignored = [0; 4096];
                    while from.read(&mut ignored).await.is_ok_and(|count| count > 0) {}
                    return;
                }
                Some(Then::Delay) => tokio::time::sleep(Duration::from_millis(500)).await,
                Some(Then::SlipIn(statement)) => {
                    *wire.hidden.lock().unwrap() += 1;
                    let length = u32::try_from(statement.len() + 5).unwrap().to_be_bytes();
                    to.write_all(&[&b"Q"[..], &length, statement.as_bytes(), b"\0"].concat()).await.unwrap();
                }
                None => {}
            }
        }
        if matches!(kind, b'Q' | b'S') {
            shared.log.lock().unwrap().push(Passed::Question(parsed.clone()));
        }
        if to.write_all(&[&[kind][..], &length.to_be_bytes(), &body].concat()).await.is_err() {
            return;
        }
    }
}

fn struck(shared: &Shared, statement: &str) -> Option<Then> {
    shared.rule.lock().unwrap().take_if(|(begins, _)| statement.starts_with(*begins)).map(|(_, then)| then)
}

async fn down(shared: &Shared, wire: &Wire, mut from: OwnedReadHalf, mut to: OwnedWriteHalf) {
    let mut buffer = Vec::new();
    loop {
        match from.read_buf(&mut buffer).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let latency = *shared.latency.lock().unwrap();
        if !latency.is_zero() {
            tokio::time::sleep(latency).await;
        }
        let mut passing = Vec::new();
        while let Some(message) = take_message(&mut buffer) {
            let is_ready = message[0] == b'Z';
            if *wire.losing.lock().unwrap() {
                if is_ready {
                    return;
                }
                continue;
            }
            let mut hidden = wire.hidden.lock().unwrap();
            if *hidden > 0 {
                *hidden -= u32::from(is_ready);
                continue;
            }
            if is_ready {
                shared.log.lock().unwrap().push(Passed::Answer);
            }
            passing.extend(message);
        }
        if *wire.frozen.lock().unwrap() {
            std::future::pending::<()>().await;
        }
        if to.write_all(&passing).await.is_err() {
            return;
        }
    }
}

fn take_message(buffer: &mut Vec<u8>) -> Option<Vec<u8>> {
    let length = u32::from_be_bytes(buffer.get(1..5)?.try_into().ok()?) as usize + 1;
    (buffer.len() >= length).then(|| buffer.drain(..length).collect())
}

/// How many times the client waited: a question that is asked when none is open begins a round trip.
pub fn trips(log: &[Passed]) -> usize {
    let (mut open, mut trips) = (0u32, 0);
    for passed in log {
        match passed {
            Passed::Question(_) => {
                trips += usize::from(open == 0);
                open += 1;
            }
            Passed::Answer => open = open.saturating_sub(1),
        }
    }
    trips
}
