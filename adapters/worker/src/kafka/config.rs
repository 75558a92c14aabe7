//! Knows which librdkafka properties amends forces, which it merely prefers, and which a user may set.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use amends_core::lifecycle::event::Failure;
use rdkafka::config::{ClientConfig, RDKafkaLogLevel};
use rdkafka::error::KafkaError;
use rdkafka_sys::RDKafkaConfRes;

/// What every consumer gets, whatever a user says: correctness rests on each of them.
const FORCED: [(&str, &str); 9] = [
    ("allow.auto.create.topics", "false"),
    ("auto.offset.reset", "error"),
    ("check.crcs", "true"),
    ("enable.auto.commit", "false"),
    ("enable.auto.offset.store", "false"),
    ("group.protocol", "classic"),
    ("isolation.level", "read_committed"),
    // Also the rebalance timeout: how long a group waits for a member that holds its callback.
    ("max.poll.interval.ms", "60000"),
    ("partition.assignment.strategy", "range"),
];

/// Set by amends itself, or other spellings of what it forces.
const OWN: [(&str, &str); 14] = [
    ("acks", "amends publishes with acks=all"),
    ("auto.commit.enable", "amends forces enable.auto.commit=false"),
    ("bootstrap.servers", "name the brokers with --brokers"),
    ("delivery.timeout.ms", "the delivery deadline is amends' own"),
    ("enable.idempotence", "amends publishes with an idempotent producer"),
    ("enable.partition.eof", "amends sets it for each of its clients"),
    ("group.id", "amends derives the group from the namespace"),
    ("group.instance.id", "a static member would not leave its group"),
    ("message.timeout.ms", "the delivery deadline is amends' own"),
    ("metadata.broker.list", "name the brokers with --brokers"),
    ("queue.buffering.max.ms", "say linger.ms"),
    ("request.required.acks", "amends publishes with acks=all"),
    ("statistics.interval.ms", "amends measures for itself"),
    ("transactional.id", "amends derives it where it is needed"),
];

/// How to reach the brokers: their addresses and a user's own librdkafka properties. Its `Debug` shows no value.
#[derive(Clone)]
pub struct Settings {
    brokers: String,
    overrides: BTreeMap<String, String>,
}

/// Why settings are refused: for people, without any value of a property.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SettingsError(String);

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SettingsError {}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "brokers {}, overrides of {:?}", self.brokers, self.overrides.keys())
    }
}

impl Settings {
    /// Settings for these brokers (`host:port`, comma-separated) with librdkafka properties of the user.
    ///
    /// # Errors
    /// A property that amends forces, that librdkafka does not know, or whose value it refuses; no broker.
    pub fn new<I>(brokers: &str, overrides: I) -> Result<Self, SettingsError>
    where
        I: IntoIterator<Item = (String, String)>,
    {
        let overrides: BTreeMap<String, String> = overrides.into_iter().collect();
        if brokers.trim().is_empty() {
            return Err(SettingsError("no broker is named".to_owned()));
        }
        for name in overrides.keys() {
            if let Some((_, value)) = FORCED.iter().find(|(forced, _)| forced == name) {
                return Err(SettingsError(format!("-X {name} is refused: amends forces {name}={value}")));
            }
            if let Some((_, why)) = OWN.iter().find(|(own, _)| own == name) {
                return Err(SettingsError(format!("-X {name} is refused: {why}")));
            }
        }
        let settings = Self { brokers: brokers.trim().to_owned(), overrides };
        settings.base().create_native_config().map_err(|error| SettingsError(explain(&error)))?;
        Ok(settings)
    }

    /// Splits the `NAME=VALUE` of a `-X`.
    ///
    /// # Errors
    /// No `=`, or no name in front of it.
    pub fn parse_override(text: &str) -> Result<(String, String), SettingsError> {
        match text.split_once('=') {
            Some((name, value)) if !name.trim().is_empty() => Ok((name.trim().to_owned(), value.to_owned())),
            // The text may be a value typed in the wrong place: it is not repeated.
            Some(_) | None => Err(SettingsError("-X wants NAME=VALUE".to_owned())),
        }
    }

    /// The addresses, for messages.
    #[must_use]
    pub fn brokers(&self) -> &str {
        &self.brokers
    }

    /// What all clients share.
    fn base(&self) -> ClientConfig {
        let mut config = ClientConfig::new();
        config
            .set("client.id", "amends")
            // The default of 10 s would be half a budget of a tenure.
            .set("reconnect.backoff.max.ms", "1000")
            .set("socket.keepalive.enable", "true");
        config.extend(self.overrides.clone());
        let is_debugged = self.overrides.contains_key("debug");
        config.set_log_level(if is_debugged { RDKafkaLogLevel::Debug } else { RDKafkaLogLevel::Notice });
        config.set("bootstrap.servers", &self.brokers);
        config
    }

    fn consumer(&self, preferred: &[(&str, String)]) -> ClientConfig {
        let mut config = self.base();
        for (name, value) in preferred {
            if !self.overrides.contains_key(*name) {
                config.set(*name, value);
            }
        }
        for (name, value) in FORCED {
            config.set(name, value);
        }
        config.set("enable.partition.eof", "false");
        config
    }

    /// A member of `group` that queues about twice a batch of each partition.
    pub(super) fn member(&self, group: &str, batch_records: u32, batch_bytes: u64) -> ClientConfig {
        let mut config = self.consumer(&[
            ("session.timeout.ms", "15000".to_owned()),
            ("heartbeat.interval.ms", "3000".to_owned()),
            ("queued.min.messages", batch_records.saturating_mul(2).clamp(1, 1_000_000).to_string()),
            ("queued.max.messages.kbytes", (batch_bytes / 512).clamp(64, 1_048_576).to_string()),
            // A full queue is looked at again after this; the default of 1 s would starve a fast lane.
            ("fetch.queue.backoff.ms", "5".to_owned()),
            // A seek waits for the fetch in flight, which the broker holds for so long when nothing comes.
            ("fetch.wait.max.ms", "100".to_owned()),
        ]);
        config.set("group.id", group);
        config
    }

    /// A client that joins no group and is given its positions, for a probe or a plain reader.
    pub(super) fn stranger(&self) -> ClientConfig {
        let mut config = self.consumer(&[
            ("queued.max.messages.kbytes", "8192".to_owned()),
            ("fetch.queue.backoff.ms", "5".to_owned()),
            ("fetch.wait.max.ms", "100".to_owned()),
        ]);
        // `assign` demands a group; this one has no members and no offsets.
        config.set("group.id", throw_away_group()).set("enable.partition.eof", "true");
        config
    }

    /// A client that reads nothing and asks about topics only.
    pub(super) fn asker(&self) -> ClientConfig {
        let mut config = self.consumer(&[]);
        // With sparse connections an admin request that waits for a broker reconnects in a hot loop, without backoff.
        config.set("enable.sparse.connections", "false");
        config
    }

    /// A client that creates topics.
    pub(super) fn admin(&self) -> ClientConfig {
        // Nobody reads an admin client's log queue: nothing may gather there.
        let mut config = self.base();
        config.set("allow.auto.create.topics", "false").set_log_level(RDKafkaLogLevel::Emerg);
        config
    }

    /// A producer that is idempotent and reports each record within `deadline`.
    pub(super) fn producer(&self, deadline: Duration) -> ClientConfig {
        let mut config = self.base();
        for (name, value) in [("compression.type", "zstd"), ("linger.ms", "5")] {
            if !self.overrides.contains_key(name) {
                config.set(name, value);
            }
        }
        config
            .set("enable.idempotence", "true")
            .set("acks", "all")
            .set("allow.auto.create.topics", "false")
            .set("delivery.timeout.ms", deadline.as_millis().to_string());
        config
    }
}

/// The name of a group that nobody else uses and nobody joins.
fn throw_away_group() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let nanos = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("amends-stranger-{nanos:x}-{:x}-{count:x}", std::process::id())
}

/// A client that could not be made: it will not get better by itself.
pub(super) fn unmade(error: &KafkaError) -> Failure {
    Failure::Broken(format!("could not make a kafka client: {}", explain(error)))
}

/// Names the property, never its value: rdkafka's own text would show it.
fn explain(error: &KafkaError) -> String {
    if let KafkaError::ClientConfig(kind, _, name, _) = error {
        return match kind {
            RDKafkaConfRes::RD_KAFKA_CONF_UNKNOWN => format!("{name} is no property of librdkafka"),
            RDKafkaConfRes::RD_KAFKA_CONF_INVALID | RDKafkaConfRes::RD_KAFKA_CONF_OK => {
                format!("librdkafka refuses the value of {name}")
            }
        };
    }
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(name: &str, value: &str) -> String {
        match Settings::new("localhost:9092", [(name.to_owned(), value.to_owned())]) {
            Ok(_) => panic!("{name} was accepted"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn forced_properties_are_refused_by_name() {
        for (name, value) in FORCED {
            assert_eq!(refusal(name, value), format!("-X {name} is refused: amends forces {name}={value}"));
        }
        for (name, why) in OWN {
            assert_eq!(refusal(name, "1"), format!("-X {name} is refused: {why}"));
        }
    }

    #[test]
    fn an_error_never_shows_a_value() {
        assert_eq!(refusal("sasl.pasword", "hunter2"), "sasl.pasword is no property of librdkafka");
        assert_eq!(
            refusal("security.protocol", "hunter2"),
            "librdkafka refuses the value of security.protocol"
        );
        let settings = Settings::new("localhost:9092", [("sasl.password".to_owned(), "hunter2".to_owned())]);
        assert!(!format!("{settings:?}").contains("hunter2"));
        assert_eq!(
            Settings::parse_override("hunter2").map_err(|e| e.to_string()).err().as_deref(),
            Some("-X wants NAME=VALUE")
        );
    }

    #[test]
    fn preferred_properties_give_way_and_forced_ones_do_not() {
        let settings =
            Settings::new("localhost:9092", [("session.timeout.ms".to_owned(), "9000".to_owned())])
                .expect("accepted");
        let member = settings.member("g", 500, 4 << 20);
        assert_eq!(member.get("session.timeout.ms"), Some("9000"));
        assert_eq!(member.get("heartbeat.interval.ms"), Some("3000"));
        assert_eq!(member.get("queued.max.messages.kbytes"), Some("8192"));
        assert_eq!(settings.asker().get("enable.sparse.connections"), Some("false"));
        for config in [member, settings.stranger(), settings.asker()] {
            for (name, value) in FORCED {
                assert_eq!(config.get(name), Some(value));
            }
        }
    }

    #[test]
    fn throw_away_groups_differ() {
        assert_ne!(throw_away_group(), throw_away_group());
    }
}
