//! Knows how to create a topic, and how sure one can be that it was.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use amends_core::lifecycle::event::Failure;
use rdkafka::admin::{AdminClient, AdminOptions, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::error::RDKafkaErrorCode;

use super::config::{Settings, unmade};
use super::watch::is_final;

/// A topic to be created.
#[derive(Clone, Debug)]
pub struct NewTopic {
    /// Its name.
    pub name: String,
    /// How many partitions.
    pub partitions: u32,
    /// Copies of each partition.
    pub replication: u32,
    /// Topic settings, such as `retention.ms`.
    pub config: Vec<(String, String)>,
}

/// What is known of a creation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Creation {
    /// The broker created it.
    Created,
    /// A topic of this name was there before; it was left alone.
    Exists,
    /// The broker refused; there is no new topic.
    Refused(String),
    /// It may have been created, or may yet be.
    Unknown(String),
}

/// Creates the topic. Blocks for about `within` at most.
///
/// # Errors
/// `Broken` when no client can be made; then nothing was asked of the broker.
pub fn create(settings: &Settings, topic: &NewTopic, within: Duration) -> Result<Creation, Failure> {
    let client: AdminClient<DefaultClientContext> =
        settings.admin().create().map_err(|error| unmade(&error))?;
    let number = |count: u32, what: &str| {
        i32::try_from(count).map_err(|_| Failure::Broken(format!("{count} {what} are too many")))
    };
    let replication = TopicReplication::Fixed(number(topic.replication, "replicas")?);
    let partitions = number(topic.partitions, "partitions")?;
    let mut wanted = rdkafka::admin::NewTopic::new(&topic.name, partitions, replication);
    for (name, value) in &topic.config {
        wanted = wanted.set(name, value);
    }
    let options = AdminOptions::new().request_timeout(Some(within)).operation_timeout(Some(within));
    let answer = block_on(client.create_topics([&wanted], &options));
    let explain =
        |why: String| format!("could not create topic {} at {}: {why}", topic.name, settings.brokers());
    Ok(match answer {
        Ok(results) => match results.into_iter().next() {
            Some(Ok(_)) => Creation::Created,
            Some(Err((_, RDKafkaErrorCode::TopicAlreadyExists))) => Creation::Exists,
            Some(Err((_, code))) if is_refused(code) => Creation::Refused(explain(code.to_string())),
            Some(Err((_, code))) => Creation::Unknown(explain(code.to_string())),
            None => Creation::Unknown(explain("the broker answered without a result".to_owned())),
        },
        Err(error) => Creation::Unknown(explain(error.to_string())),
    })
}

/// The broker read the request and will not do it.
fn is_refused(code: RDKafkaErrorCode) -> bool {
    use RDKafkaErrorCode as Code;
    is_final(code)
        || matches!(
            code,
            Code::InvalidPartitions
                | Code::InvalidReplicationFactor
                | Code::InvalidReplicaAssignment
                | Code::InvalidConfig
                | Code::InvalidRequest
                | Code::PolicyViolation
        )
}

/// Waits for a future that librdkafka's own thread completes; no runtime is needed.
fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);

    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        thread::park();
    }
}
