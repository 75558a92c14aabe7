//! Knows the real world that the store runs in: tokio's clock and tasks, TCP, and TLS that always verifies.

use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use amends_core::ids::Moment;
use amends_store::env::{DialError, Dialed, Endpoint, Environment};
use rustls::{ClientConfig, RootCertStore};
use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use tokio_postgres::config::SslMode;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres_rustls::MakeRustlsConnect;

/// For each address of a host, and for the resolver.
const CONNECT: Duration = Duration::from_secs(2);
/// After so long without a word the peer is asked whether it lives.
const SILENCE: Duration = Duration::from_secs(3);
/// A peer that takes nothing for so long is gone. Above the five seconds of a statement, because a server that is busy
/// with one does not read the next, and to the kernel a full window is silence too.
#[cfg(target_os = "linux")]
const UNTAKEN: Duration = Duration::from_secs(6);

/// The environment of a real process. Clones share its beginning and its trusted certificates.
#[derive(Clone)]
pub struct TokioEnvironment {
    shared: Arc<Shared>,
}

struct Shared {
    began: Instant,
    /// Read when a server first wants them.
    trusted: OnceLock<MakeRustlsConnect>,
}

impl TokioEnvironment {
    /// Time begins now. Its tasks run on the tokio runtime from which they are spawned.
    #[must_use]
    pub fn new() -> Self {
        Self { shared: Arc::new(Shared { began: Instant::now(), trusted: OnceLock::new() }) }
    }

    fn connector(&self, endpoint: &Endpoint) -> Result<Connector, DialError> {
        let unusable =
            |why: &dyn std::fmt::Display| DialError(format!("{} has no use for TLS, {why}", endpoint.host));
        // Whoever switched TLS off needs no trusted certificates, not even readable ones.
        let mut make = if endpoint.ssl_mode == SslMode::Disable {
            trusting(RootCertStore::empty())
        } else {
            self.shared.trusted.get_or_init(|| trusting(native_roots())).clone()
        };
        MakeTlsConnect::<TcpStream>::make_tls_connect(&mut make, &endpoint.host)
            .map_err(|error| unusable(&error))
    }
}

impl Default for TokioEnvironment {
    fn default() -> Self {
        Self::new()
    }
}

type Connector = <MakeRustlsConnect as MakeTlsConnect<TcpStream>>::TlsConnect;

impl Environment for TokioEnvironment {
    type Stream = TcpStream;
    type Tls = Connector;

    async fn dial(&self, endpoint: &Endpoint) -> Result<Dialed<TcpStream, Connector>, DialError> {
        let tls = self.connector(endpoint)?;
        let addresses = match endpoint.address {
            Some(address) => vec![SocketAddr::new(address, endpoint.port)],
            None => resolve(&endpoint.host, endpoint.port).await?,
        };
        let mut last = DialError("its name has no address".to_owned());
        for address in addresses {
            match connect(address).await {
                Ok(stream) => {
                    let at = Endpoint { address: Some(address.ip()), ..endpoint.clone() };
                    return Ok(Dialed { stream, tls, at });
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    async fn sleep(&self, ms: u64) {
        tokio::time::sleep(Duration::from_millis(ms)).await;
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        tokio::spawn(task);
    }

    fn now(&self) -> Moment {
        Moment(u64::try_from(self.shared.began.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    fn now_ns(&self) -> u64 {
        u64::try_from(self.shared.began.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

async fn resolve(host: &str, port: u16) -> Result<Vec<SocketAddr>, DialError> {
    if let Ok(address) = host.trim_matches(['[', ']']).parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    match timeout(CONNECT, lookup_host((host, port))).await {
        Ok(Ok(addresses)) => Ok(addresses.collect()),
        Ok(Err(error)) => Err(DialError(format!("its name cannot be resolved: {error}"))),
        Err(_) => Err(DialError("its name was not resolved in 2s".to_owned())),
    }
}

async fn connect(address: SocketAddr) -> Result<TcpStream, DialError> {
    let stream = match timeout(CONNECT, TcpStream::connect(address)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => return Err(DialError(error.to_string())),
        Err(_) => return Err(DialError("it took no connection in 2s".to_owned())),
    };
    watch(&stream).map_err(|error| DialError(format!("the socket's options could not be set: {error}")))?;
    Ok(stream)
}

/// The kernel finds out by itself when the other end is gone.
fn watch(stream: &TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let socket = SockRef::from(stream);
    let keepalive =
        TcpKeepalive::new().with_time(SILENCE).with_interval(Duration::from_secs(1)).with_retries(3);
    socket.set_tcp_keepalive(&keepalive)?;
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(Some(UNTAKEN))?;
    Ok(())
}

fn trusting(roots: RootCertStore) -> MakeRustlsConnect {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring speaks the default versions of TLS")
        .with_root_certificates(roots)
        .with_no_client_auth();
    MakeRustlsConnect::new(config)
}

/// What the machine trusts; `SSL_CERT_FILE` and `SSL_CERT_DIR` say otherwise.
fn native_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        tracing::warn!(code = "no-roots", "no trusted certificate was found: no server can be verified");
    }
    roots
}
