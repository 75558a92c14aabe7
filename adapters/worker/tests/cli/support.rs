//! What the tests share: a place with a database, a topic and files that are gone afterwards, and the program in it.

use std::fs;
use std::future::Future;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use amends::kafka::Reader;
use amends_core::ids::{Offset, Partition};
use amends_core::source::manifest::Manifest;
use amends_core::source::record::Record;
use tokio::net::TcpStream;
use tokio_postgres::config::Host;
use tokio_postgres::{Client, Config, NoTls};

pub use crate::services::{
    LONG, brokers, create_topic, delete_topic, fresh_name, settings, try_delete_topic,
};

/// The longest that a verb of a test may run.
const PATIENCE: Duration = Duration::from_secs(120);

/// What a topic of a ledger must be.
pub const SAFE: [(&str, &str); 2] = [("retention.ms", "-1"), ("retention.bytes", "-1")];

pub fn database_url() -> String {
    let local = "postgres://amends:amends-local-only@127.0.0.1:15432/amends";
    std::env::var("AMENDS_TEST_DATABASE_URL").unwrap_or_else(|_| local.to_owned())
}

/// The same server and credentials, another database.
pub fn url_of(database: &str) -> String {
    let url = database_url();
    let (address, parameters) = url.split_once('?').unwrap_or((&url, ""));
    let (server, _) = address.rsplit_once('/').expect("a URL with a database");
    let parameters = if parameters.is_empty() { String::new() } else { format!("?{parameters}") };
    format!("{server}/{database}{parameters}")
}

pub fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(future)
}

/// Asks the database one thing.
pub fn sql<T>(url: &str, ask: impl AsyncFnOnce(&Client) -> T) -> T {
    block_on(async {
        let config: Config = url.parse().expect("a URL");
        let host = match &config.get_hosts()[0] {
            Host::Tcp(name) => name.clone(),
            Host::Unix(_) => panic!("the tests want a TCP host"),
        };
        let stream = TcpStream::connect((host, config.get_ports()[0])).await.expect("reached");
        let (client, connection) = config.connect_raw(stream, NoTls).await.expect("connected");
        let connection = tokio::spawn(connection);
        let answer = ask(&client).await;
        drop(client);
        connection.await.expect("not cancelled").expect("closed well");
        answer
    })
}

/// A folder, a topic's name and a database, each of this test alone.
pub struct Place {
    pub dir: PathBuf,
    pub topic: String,
    database: Option<String>,
}

/// What the program did.
pub struct Done {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Place {
    /// Without a database.
    pub fn bare() -> Self {
        let topic = fresh_name();
        let dir = std::env::temp_dir().join(&topic);
        fs::create_dir(&dir).expect("a folder");
        Self { dir, topic, database: None }
    }

    /// With an empty database.
    pub fn with_database() -> Self {
        let mut place = Self::bare();
        let name = place.topic.replace('-', "_");
        sql(&database_url(), async |client: &Client| {
            client.batch_execute(&format!("CREATE DATABASE {name}")).await.expect("created");
        });
        place.database = Some(name);
        place
    }

    /// With a topic of two partitions, its manifest `m.json` of namespace `test`, and a database.
    pub fn with_source() -> Self {
        let place = Self::with_database();
        place.done(&["source", "create", "--namespace", "test", "--topic", &place.topic, "--out", "m.json"]);
        place
    }

    /// That, and a migrated database.
    pub fn ready() -> Self {
        let place = Self::with_source();
        place.done(&["migrate"]);
        place
    }

    pub fn url(&self) -> String {
        url_of(self.database.as_deref().expect("a database"))
    }

    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.dir.join(name), content).expect("written");
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.dir.join(name)).expect("a file")
    }

    pub fn manifest(&self) -> Manifest {
        Manifest::parse(self.read("m.json").as_bytes()).expect("a manifest")
    }

    /// The program in this place; nothing of the caller's environment concerns it.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_amends"));
        command.args(args).current_dir(&self.dir).stdin(Stdio::null());
        command.env_remove("AMENDS_DATABASE_URL").env_remove("AMENDS_LOG").env("AMENDS_BROKERS", brokers());
        if self.database.is_some() {
            command.env("AMENDS_DATABASE_URL", self.url());
        }
        command
    }

    /// Runs what must end by itself; what goes on and on is killed, and its exit code says so.
    pub fn run(&self, args: &[&str]) -> Done {
        let child = self.start(args);
        let pid = child.id().to_string();
        let (ended, waiting) = channel::<()>();
        let watch = thread::spawn(move || {
            if waiting.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                Command::new("kill").args(["-KILL", &pid]).status().expect("kill runs");
            }
        });
        let done = Done::of(child.wait_with_output().expect("ended"));
        drop(ended);
        watch.join().expect("watched");
        done
    }

    /// Runs what must succeed; its stdout.
    pub fn done(&self, args: &[&str]) -> String {
        let done = self.run(args);
        assert_eq!(done.code, Some(0), "{args:?}: {}", done.stderr);
        done.stdout
    }

    /// Runs what must fail like this, and prints nothing on stdout.
    pub fn fails(&self, args: &[&str], code: i32, saying: &str) -> Done {
        let done = self.run(args);
        done.failed(code, saying);
        assert_eq!(done.stdout, "", "{args:?}");
        done
    }

    pub fn start(&self, args: &[&str]) -> Child {
        self.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started")
    }

    pub fn topic_exists(&self) -> bool {
        let source = amends::kafka::Source::new(&settings(), &self.topic).expect("a client");
        let sight = source.look(amends_core::lifecycle::command::CheckParts::Identity).expect("an answer");
        sight.topic != amends_core::source::boundary::TopicSight::Unknown
    }

    /// Every visible record of a partition.
    pub fn records(&self, partition: u32) -> Vec<Record> {
        let mut reader =
            Reader::open(&settings(), &self.topic, Partition(partition), Offset(0), LONG).expect("opened");
        std::iter::from_fn(|| reader.next(LONG).expect("an answer")).collect()
    }

    /// Runs a worker until the frontiers stand where they should.
    pub fn work(&self, frontiers: [i64; 2]) {
        let mut worker =
            self.command(&["run", "--manifest", "m.json"]).stderr(Stdio::null()).spawn().expect("started");
        let deadline = Instant::now() + LONG;
        // Before its claims a worker may not have begun to listen for signals.
        let wanted = |line: &str, next: i64| {
            line.contains(&format!("\"next_offset\":{next},")) && !line.contains("\"epoch\":0}")
        };
        loop {
            let done = self.run(&["export", "--manifest", "m.json", "frontiers"]);
            if done.stdout.lines().zip(frontiers).filter(|(line, next)| wanted(line, *next)).count() == 2 {
                break;
            }
            assert!(Instant::now() < deadline, "frontiers stay at {}", done.stdout);
            std::thread::sleep(Duration::from_millis(100));
        }
        interrupt(&worker);
        assert!(worker.wait().expect("ended").success());
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
        // A test that failed has more to say than what cannot be tidied up.
        let gone = try_delete_topic(&self.topic);
        if !std::thread::panicking() {
            gone.expect("an answer");
        }
        if let Some(name) = &self.database {
            sql(&database_url(), async |client: &Client| {
                let _ = client.batch_execute(&format!("DROP DATABASE {name} WITH (FORCE)")).await;
            });
        }
    }
}

impl Done {
    pub fn of(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("text");
        Self { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    pub fn failed(&self, code: i32, saying: &str) {
        assert_eq!(self.code, Some(code), "{}", self.stderr);
        assert!(self.stderr.contains(saying), "expected {saying:?} in {:?}", self.stderr);
    }
}

pub fn interrupt(child: &Child) {
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
    assert!(sent.success());
}
