//! What all tests on a real broker share: where it is, names that nobody else uses, topics that are made and deleted.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant, SystemTime};

use amends::kafka::{Creation, NewTopic, Settings, create};
use rdkafka::admin::{AdminClient, AdminOptions};
use rdkafka::client::DefaultClientContext;
use rdkafka::config::ClientConfig;
use rdkafka::error::RDKafkaErrorCode;

/// Everything that waits here gives up after this long.
pub const LONG: Duration = Duration::from_secs(30);

pub fn brokers() -> String {
    std::env::var("AMENDS_TEST_BROKERS").unwrap_or_else(|_| "127.0.0.1:19092".to_owned())
}

pub fn settings() -> Settings {
    Settings::new(&brokers(), []).expect("settings")
}

/// A name that no other test and no other run uses.
pub fn fresh_name() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970");
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("amends-test-{:x}-{:x}-{count}", since.as_nanos(), std::process::id())
}

pub fn create_topic(name: &str, partitions: u32, config: &[(&str, &str)]) {
    let config = config.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let wanted = NewTopic { name: name.to_owned(), partitions, replication: 1, config };
    // A deletion of the same name may still be going on.
    let deadline = Instant::now() + LONG;
    loop {
        match create(&settings(), &wanted, Duration::from_secs(10)).expect("a client") {
            Creation::Created => return,
            Creation::Exists if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(100)),
            other @ (Creation::Exists | Creation::Refused(_) | Creation::Unknown(_)) => {
                panic!("could not create {name}: {other:?}")
            }
        }
    }
}

/// Deletes a topic; `false` when there was none of this name.
pub fn delete_topic(name: &str) -> bool {
    try_delete_topic(name).expect("an answer")
}

/// The same while a test is tidied up, which must not panic twice.
pub fn try_delete_topic(name: &str) -> Result<bool, String> {
    let admin: Result<AdminClient<DefaultClientContext>, _> =
        ClientConfig::new().set("bootstrap.servers", brokers()).create();
    let (admin, options) = (admin.map_err(|error| error.to_string())?, AdminOptions::new());
    let runtime = tokio::runtime::Builder::new_current_thread().build().map_err(|error| error.to_string())?;
    let answer =
        runtime.block_on(admin.delete_topics(&[name], &options)).map_err(|error| error.to_string())?;
    match answer.into_iter().next() {
        Some(Ok(_)) => Ok(true),
        Some(Err((_, RDKafkaErrorCode::UnknownTopicOrPartition))) => Ok(false),
        other => Err(format!("could not delete {name}: {other:?}")),
    }
}
