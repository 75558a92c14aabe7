//! Knows a real PostgreSQL: a database of its own for each case, and what is asked beside the case's own sessions.

use std::future::Future;
use std::time::{Duration, Instant};

use amends_core::ids::Moment;
use amends_store::env::{DialError, Dialed, Endpoint, Environment};
use amends_store::{Settings, Store, Target, migrate};
use tokio::net::TcpStream;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

use super::play::Server;
use super::shown::{Cell, Table};

/// Sessions that wait for another one.
const WAITING: &str = "\
SELECT FROM pg_stat_activity WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0";

/// tokio's clock and tasks, and TCP without TLS.
#[derive(Clone)]
pub(crate) struct Outside {
    began: Instant,
}

impl Environment for Outside {
    type Stream = TcpStream;
    type Tls = NoTls;

    async fn dial(&self, endpoint: &Endpoint) -> Result<Dialed<TcpStream, NoTls>, DialError> {
        let stream = TcpStream::connect((endpoint.host.as_str(), endpoint.port)).await;
        let stream = stream.map_err(|error| DialError(error.to_string()))?;
        Ok(Dialed { stream, tls: NoTls, at: endpoint.clone() })
    }

    async fn sleep(&self, ms: u64) {
        tokio::time::sleep(Duration::from_millis(ms)).await;
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        tokio::spawn(task);
    }

    fn now(&self) -> Moment {
        Moment(u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX))
    }
}

/// One database of a real server.
pub(crate) struct Live {
    outside: Outside,
    base: String,
    name: String,
    url: String,
    desk: Client,
}

impl Live {
    /// Makes a database that nobody else uses on the server of a URL, and migrates it.
    pub(crate) async fn make(base: &str, number: usize) -> Result<Self, String> {
        let name = format!("amends_contract_{}_{number}", std::process::id());
        let server = base.split('?').next().and_then(|url| url.rsplit_once('/'));
        let (server, _) = server.ok_or("the URL names no database")?;
        let url = format!("{server}/{name}?sslmode=disable");
        let admin = connect(base).await?;
        rows(&admin, &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await?;
        rows(&admin, &format!("CREATE DATABASE {name}")).await?;

        let outside = Outside { began: Instant::now() };
        let target = Target::parse(&url).map_err(|error| error.to_string())?;
        let settings = Settings { application_name: "amends contract".to_owned(), sessions: 1 };
        let store = Store::new(outside.clone(), target, settings);
        migrate::apply(&store).await.map_err(|error| error.to_string())?;
        Ok(Self { outside, base: base.to_owned(), desk: connect(&url).await?, name, url })
    }

    /// Which PostgreSQL it is.
    pub(crate) async fn version(&self) -> Result<String, String> {
        let rows = rows(&self.desk, "SHOW server_version").await?;
        let version = rows.first().and_then(|row| row.first()?.1.clone());
        Ok(version.unwrap_or_default().split(' ').take(1).collect())
    }

    pub(crate) async fn drop(self) -> Result<(), String> {
        let admin = connect(&self.base).await?;
        rows(&admin, &format!("DROP DATABASE {} WITH (FORCE)", self.name)).await.map(drop)
    }
}

impl Server for Live {
    type Env = Outside;

    fn env(&self, _: &str) -> Outside {
        self.outside.clone()
    }

    fn url(&self) -> &str {
        &self.url
    }

    async fn settle(&self, waiting: usize) -> Result<(), String> {
        for _ in 0..200 {
            if rows(&self.desk, WAITING).await?.len() >= waiting {
                break;
            }
            self.outside.sleep(5).await;
        }
        Ok(())
    }

    async fn terminate(&self, client: &str) -> Result<(), String> {
        let text = format!(
            "SELECT pg_terminate_backend(pid, 2000) FROM pg_stat_activity
              WHERE datname = current_database() AND application_name = '{client}'"
        );
        rows(&self.desk, &text).await.map(drop)
    }

    async fn rows(&self, table: &Table) -> Result<Vec<Vec<Cell>>, String> {
        let key = (1..=table.key).map(|column| column.to_string()).collect::<Vec<_>>().join(", ");
        let rows = rows(&self.desk, &format!("SELECT * FROM amends.{} ORDER BY {key}", table.name)).await?;
        let columns = rows.first().map(|row| row.iter().map(|(column, _)| column.as_str()));
        if columns.is_some_and(|columns| !columns.eq(table.columns.iter().copied())) {
            return Err(format!("table {} has other columns than the contract knows", table.name));
        }
        Ok(rows.into_iter().map(|row| row.into_iter().map(|(_, cell)| cell).collect()).collect())
    }
}

async fn connect(url: &str) -> Result<Client, String> {
    let connected = tokio_postgres::connect(url, NoTls).await;
    let (client, connection) =
        connected.map_err(|error| format!("PostgreSQL does not answer, {error}; make up"))?;
    tokio::spawn(connection);
    Ok(client)
}

/// Rows as text, each value with its column.
async fn rows(client: &Client, text: &str) -> Result<Vec<Vec<(String, Cell)>>, String> {
    let messages = client.simple_query(text).await.map_err(|error| format!("{text}: {error}"))?;
    let row = |message| match message {
        SimpleQueryMessage::Row(row) => {
            let names = row.columns().iter().map(|column| column.name().to_owned());
            Some(names.enumerate().map(|(at, name)| (name, row.get(at).map(str::to_owned))).collect())
        }
        _ => None,
    };
    Ok(messages.into_iter().filter_map(row).collect())
}
