//! A database of its own, a manifest, and a world whose answers are read one by one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use amends_core::ids::{Frontier, Offset, Partition, TenureId, Token};
use amends_core::lifecycle::command::{Command, Range};
use amends_core::lifecycle::event::Event;
use amends_core::source::manifest::{Config, Ledger, Manifest};
use amends_core::source::record::Record;
use amends_store::namespace::{self, Namespace};
use amends_store::pipeline::{BATCH_EFFECTS, LEDGER, Pipeline};
use amends_store::world::StoreWorld;
use amends_store::{Settings, Store, Target, migrate};
use tokio::sync::mpsc;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

use crate::env::TokioEnvironment;

pub const TENURE: TenureId = TenureId { partition: Partition(0), number: 1 };
pub const BUDGET_MS: u64 = 20_000;

fn base() -> String {
    std::env::var("AMENDS_TEST_DATABASE_URL")
        .unwrap_or_else(|_| "postgres://amends:amends-local-only@127.0.0.1:15432/amends".to_owned())
}

/// The URL with another database, without TLS, and through another port when one is given.
fn url(database: &str, port: Option<u16>) -> String {
    let base = base();
    let rest = base.split('?').next().unwrap();
    let (server, _) = rest.rsplit_once('/').unwrap();
    let server = match port {
        Some(port) => format!("{}@127.0.0.1:{port}", server.rsplit_once('@').unwrap().0),
        None => server.to_owned(),
    };
    format!("{server}/{database}?sslmode=disable")
}

async fn connect(url: &str) -> Client {
    let (client, connection) =
        tokio_postgres::connect(url, NoTls).await.expect("PostgreSQL answers; try make up");
    tokio::spawn(connection);
    client
}

/// A database of one test, migrated.
pub struct Database {
    name: String,
}

impl Database {
    pub async fn empty() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::SeqCst);
        let name = format!("amends_test_{}_{number}", std::process::id());
        let admin = connect(&base()).await;
        admin.batch_execute(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await.unwrap();
        admin.batch_execute(&format!("CREATE DATABASE {name}")).await.unwrap();
        Self { name }
    }

    pub async fn migrated() -> Self {
        let database = Self::empty().await;
        migrate::apply(&database.store()).await.unwrap();
        database
    }

    pub fn url(&self) -> String {
        url(&self.name, None)
    }

    /// Where the server itself listens.
    pub fn server(&self) -> String {
        Target::parse(&self.url()).unwrap().endpoints()[0].to_string()
    }

    pub fn url_through(&self, port: u16) -> String {
        url(&self.name, Some(port))
    }

    pub fn store(&self) -> Store<TokioEnvironment> {
        store(&self.url())
    }

    pub async fn client(&self) -> Client {
        connect(&self.url()).await
    }

    pub async fn sql(&self, text: &str) {
        self.client().await.batch_execute(text).await.unwrap();
    }

    /// Each row as text, its columns joined by a space.
    pub async fn rows(&self, text: &str) -> Vec<String> {
        let messages = self.client().await.simple_query(text).await.unwrap();
        messages
            .into_iter()
            .filter_map(|message| match message {
                SimpleQueryMessage::Row(row) => {
                    let columns: Vec<_> = (0..row.len()).map(|index| row.get(index).unwrap_or("-")).collect();
                    Some(columns.join(" "))
                }
                _ => None,
            })
            .collect()
    }

    /// Waits until a query has a row.
    pub async fn until(&self, text: &str) {
        for _ in 0..1_000 {
            if !self.rows(text).await.is_empty() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("never: {text}");
    }
}

/// Also when the test fails. A runtime of its own, because a drop cannot wait.
impl Drop for Database {
    fn drop(&mut self) {
        let name = self.name.clone();
        let dropping = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let admin = connect(&base()).await;
                let _ = admin.batch_execute(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await;
            });
        });
        let _ = dropping.join();
    }
}

pub fn store(url: &str) -> Store<TokioEnvironment> {
    let settings = Settings { application_name: "amends test".to_owned(), sessions: 3 };
    Store::new(TokioEnvironment::new(), Target::parse(url).unwrap(), settings)
}

const DECLARATION: &str = r#"{"ledger_origin":"2026-01-01","stock_keys":[
    {"item":"widget","location":"berlin","opening_balance":100,"low_threshold":20,"partition":0},
    {"item":"gasket","location":"berlin","opening_balance":0,"low_threshold":5,"partition":1}]}"#;

pub fn manifest_of(declaration: &str) -> Manifest {
    let source = "kafka:000102030405060708090a0b0c0d0e0f".parse().unwrap();
    let ledger = Ledger::parse(declaration.as_bytes(), 2).unwrap();
    Manifest::new("orders", Config::new("source-demo-1", source, 2, ledger).unwrap()).unwrap()
}

pub fn manifest() -> Manifest {
    manifest_of(DECLARATION)
}

/// `T1 r2 assert 2026-01-05 -3` or `T1 r2 cancel`, of the widget in berlin.
pub fn record(offset: i64, text: &str) -> Record {
    let words: Vec<_> = text.split(' ').collect();
    let rest = match words[3..] {
        [date, quantity] => format!(r#","business_date":"{date}","quantity":{quantity}"#),
        _ => String::new(),
    };
    let (id, revision, action) = (words[0], &words[1][1..], words[2]);
    let value = format!(
        r#"{{"schema_version":1,"transaction_id":"{id}","revision":{revision},"action":"{action}","item":"widget","location":"berlin"{rest}}}"#
    );
    let key = r#"{"item":"widget","location":"berlin"}"#;
    Record { offset: Offset(offset), key: Some(key.into()), value: Some(value.into_bytes()) }
}

pub fn records(lines: &[&str]) -> Arc<[Record]> {
    (0..).zip(lines).map(|(offset, line)| record(offset, line)).collect()
}

/// A world over the namespace of a database, as a worker has it.
pub struct Desk {
    pub store: Store<TokioEnvironment>,
    pub namespace: Namespace,
    world: StoreWorld<TokioEnvironment>,
    answers: mpsc::UnboundedReceiver<Event>,
}

impl Desk {
    pub async fn at(url: &str) -> Self {
        Self::with(url, BATCH_EFFECTS).await
    }

    pub async fn with(url: &str, batch_effects: usize) -> Self {
        let store = store(url);
        let namespace = namespace::open(&store, &manifest(), LEDGER).await.unwrap();
        Self::over(store, namespace, manifest(), batch_effects)
    }

    pub fn over(
        store: Store<TokioEnvironment>,
        namespace: Namespace,
        manifest: Manifest,
        batch_effects: usize,
    ) -> Self {
        let pipeline = Pipeline::ledger(&namespace, manifest, "tester:1".to_owned(), batch_effects);
        let (sender, answers) = mpsc::unbounded_channel();
        let answer = Arc::new(move |event| sender.send(event).unwrap());
        let world = StoreWorld::new(store.clone(), pipeline, answer);
        Self { store, namespace, world, answers }
    }

    pub fn tell(&mut self, command: &Command, records: Option<Arc<[Record]>>) {
        assert!(self.world.perform(command, records), "{command:?} is not for the store");
    }

    pub async fn answer(&mut self) -> Event {
        let answer = tokio::time::timeout(Duration::from_secs(12), self.answers.recv()).await;
        let event = answer.expect("every question is answered in bounded time").unwrap();
        assert!(self.answers.try_recv().is_err(), "a question was answered twice");
        event
    }

    pub async fn ask(&mut self, command: &Command, records: Option<Arc<[Record]>>) -> Event {
        self.tell(command, records);
        self.answer().await
    }

    pub async fn claim(&mut self) -> (Token, Frontier) {
        match self.ask(&Command::Claim { tenure: TENURE, within_ms: BUDGET_MS }, None).await {
            Event::Claimed { tenure: TENURE, token, frontier } => (token, frontier),
            other => panic!("not claimed: {other:?}"),
        }
    }

    pub async fn observe(&mut self) -> (Option<Token>, Option<Frontier>) {
        match self.ask(&Command::Observe { tenure: TENURE, fresh: true, within_ms: BUDGET_MS }, None).await {
            Event::Observed { tenure: TENURE, token, frontier } => (token, frontier),
            other => panic!("not observed: {other:?}"),
        }
    }

    pub async fn process(&mut self, token: Token, expected: Frontier, records: &Arc<[Record]>) -> Event {
        self.ask(&process(token, expected, records), Some(Arc::clone(records))).await
    }
}

/// All of the records.
pub fn process(token: Token, expected: Frontier, records: &[Record]) -> Command {
    Command::Process {
        tenure: TENURE,
        token,
        expected,
        range: Range {
            from: 0,
            to: u32::try_from(records.len()).unwrap(),
            first: records.first().unwrap().offset,
            last: records.last().unwrap().offset,
        },
        attempt: 1,
        refused: false,
        within_ms: BUDGET_MS,
    }
}
