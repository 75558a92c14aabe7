//! Knows what a database URL says: which servers, which database, which credentials; it prints none of them.

use std::fmt;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use crate::env::Endpoint;

/// A parsed database URL.
#[derive(Clone)]
pub struct Target {
    config: Config,
    endpoints: Vec<Endpoint>,
}

/// Why a text is no usable database URL. It repeats nothing of the text, which may hold a password.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadUrl(&'static str);

impl fmt::Display for BadUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the database URL is refused: {}", self.0)
    }
}

impl std::error::Error for BadUrl {}

impl Target {
    /// Reads `postgres://user:password@host:port/database?sslmode=…`, or libpq's `key=value` form. Several hosts are
    /// tried in order until one is writable. `verify-ca` and `verify-full` are taken as `require`, which verifies here
    /// as they do.
    ///
    /// # Errors
    /// When it is not such a text, or names a Unix socket.
    pub fn parse(url: &str) -> Result<Self, BadUrl> {
        let url = url
            .replace("sslmode=verify-full", "sslmode=require")
            .replace("sslmode=verify-ca", "sslmode=require");
        let config: Config = url
            .parse()
            .map_err(|_| BadUrl("it is not of the form postgres://user:password@host:port/database"))?;
        if config.get_user().is_none() {
            return Err(BadUrl("it names no user"));
        }
        let endpoints = endpoints(&config)?;
        // An `options` parameter could undo what a session forces, and poolers choke on it.
        if config.get_options().is_some() {
            return Err(BadUrl("it has an `options` parameter, and the session's settings are forced"));
        }
        Ok(Self { config, endpoints })
    }

    /// The servers, in the order in which they are tried.
    #[must_use]
    pub fn endpoints(&self) -> &[Endpoint] {
        &self.endpoints
    }

    pub(crate) fn config(&self) -> &Config {
        &self.config
    }
}

/// Hosts only: a credential is never printed.
impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.endpoints.iter().map(ToString::to_string)).finish()
    }
}

fn endpoints(config: &Config) -> Result<Vec<Endpoint>, BadUrl> {
    let (hosts, addresses, ports) = (config.get_hosts(), config.get_hostaddrs(), config.get_ports());
    let count = hosts.len().max(addresses.len());
    if count == 0 {
        return Err(BadUrl("it names no host"));
    }
    if (!hosts.is_empty() && !addresses.is_empty() && hosts.len() != addresses.len())
        || (ports.len() > 1 && ports.len() != count)
    {
        return Err(BadUrl("its lists of hosts, addresses and ports differ in length"));
    }
    let ssl_mode: SslMode = config.get_ssl_mode();
    (0..count)
        .map(|index| {
            let address = addresses.get(index).copied();
            let host = match hosts.get(index) {
                Some(Host::Tcp(name)) => name.clone(),
                #[cfg(unix)]
                Some(Host::Unix(_)) => return Err(BadUrl("it names a Unix socket; name a TCP host")),
                None => address.map(|address| address.to_string()).unwrap_or_default(),
            };
            let port = ports.get(index).or_else(|| ports.first()).copied().unwrap_or(5432);
            Ok(Endpoint { host, address, port, ssl_mode })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_ports_and_addresses_are_paired() {
        let target = Target::parse("postgres://u:p@a:1,b:2/d?sslmode=verify-full").expect("parses");
        let shown: Vec<String> = target.endpoints().iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["a:1", "b:2"]);
        assert!(target.endpoints().iter().all(|endpoint| endpoint.ssl_mode == SslMode::Require));
        let target = Target::parse("postgres://u:p@a,b/d").expect("parses");
        assert_eq!(target.endpoints()[1].port, 5432);
    }

    #[test]
    fn a_refused_url_repeats_no_password() {
        for url in [
            "postgres://u:hunter2@a:x/d",
            "postgres://u:hunter2@%2Frun/d",
            "postgres://:hunter2@a/d",
            "hunter2",
        ] {
            let shown =
                Target::parse(url).map(|target| format!("{target:?}")).unwrap_or_else(|bad| bad.to_string());
            assert!(!shown.contains("hunter2"), "{shown}");
        }
        assert!(
            !format!("{:?}", Target::parse("postgres://u:hunter2@a/d").expect("parses")).contains("hunter2")
        );
    }
}
