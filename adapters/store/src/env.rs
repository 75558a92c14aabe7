//! Knows what the store needs from the world around it: a way to a server, sleep, tasks and a monotonic clock.
//!
//! Everything else in this package is the same code in production and inside the simulator, so nothing here or beside
//! it asks tokio for a timer, a task or a socket.

use std::fmt;
use std::future::Future;
use std::net::IpAddr;

use amends_core::ids::Moment;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_postgres::config::SslMode;
use tokio_postgres::tls::TlsConnect;

/// The world around the store.
pub trait Environment: Clone + Send + Sync + 'static {
    /// A byte stream to a server.
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;
    /// What turns such a stream into an encrypted one; it always verifies the server's certificate and name.
    type Tls: TlsConnect<Self::Stream, Stream: Send + 'static, Future: Send> + Send + 'static;

    /// Connects to one server. Bounded in time by itself: two seconds for each address that the host has.
    ///
    /// # Errors
    /// When no address of the host took the connection; nothing was sent then.
    fn dial(
        &self,
        endpoint: &Endpoint,
    ) -> impl Future<Output = Result<Dialed<Self::Stream, Self::Tls>, DialError>> + Send;

    /// Returns after so many milliseconds.
    fn sleep(&self, ms: u64) -> impl Future<Output = ()> + Send;

    /// Runs a task beside the others; nobody waits for it.
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static);

    /// Milliseconds since the process, or the simulated world, began.
    fn now(&self) -> Moment;

    /// Nanoseconds since the same beginning, for durations in logs.
    fn now_ns(&self) -> u64 {
        self.now().0.saturating_mul(1_000_000)
    }
}

/// One server of the URL.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Endpoint {
    /// Its name, which its certificate must carry.
    pub host: String,
    /// The one address to use; `None` asks the resolver.
    pub address: Option<IpAddr>,
    /// Its port.
    pub port: u16,
    /// Whether the URL wants TLS.
    pub ssl_mode: SslMode,
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// A way to a server that stands.
pub struct Dialed<S, T> {
    /// The stream.
    pub stream: S,
    /// Its TLS connector.
    pub tls: T,
    /// The endpoint with the address that answered, so that a cancel request goes to the same server.
    pub at: Endpoint,
}

/// Why no stream stands, for people: the cause only, without the endpoint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DialError(pub String);

impl fmt::Display for DialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for DialError {}
