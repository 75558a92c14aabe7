//! Knows what a client last complained about, and sorts librdkafka's errors by what happens next.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use amends_core::lifecycle::event::Failure;
use rdkafka::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::ConsumerContext;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};

/// Listens to one client: its logs go to `tracing`, its last complaint is kept for the next message.
#[derive(Default)]
pub(super) struct Watch {
    complaint: Mutex<Option<String>>,
    down: AtomicBool,
    refused: AtomicBool,
    stirred: AtomicBool,
}

impl Watch {
    /// The client said that no broker can be reached, and nothing was heard of one since.
    pub(super) fn is_down(&self) -> bool {
        self.down.load(Ordering::Relaxed)
    }

    /// A broker refused this client (credentials, permissions), and none answered since.
    pub(super) fn is_refused(&self) -> bool {
        self.refused.load(Ordering::Relaxed)
    }

    /// A broker answered.
    pub(super) fn heard(&self) {
        self.refused.store(false, Ordering::Relaxed);
        self.down.store(false, Ordering::Relaxed);
        self.keep(None);
    }

    /// A callback ran since the last call: rdkafka's `poll` then returns nothing, with more behind it perhaps.
    pub(super) fn was_stirred(&self) -> bool {
        self.stirred.swap(false, Ordering::Relaxed)
    }

    /// The last complaint, in librdkafka's words.
    pub(super) fn complaint(&self) -> Option<String> {
        self.complaint.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    fn keep(&self, complaint: Option<String>) {
        *self.complaint.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = complaint;
    }

    /// Takes note of an error event; its text is also the last complaint.
    pub(super) fn note(&self, error: &KafkaError, reason: &str) {
        self.stirred.store(true, Ordering::Relaxed);
        let code = error.rdkafka_error_code();
        if code == Some(RDKafkaErrorCode::PartitionEOF) {
            return;
        }
        if code.is_some_and(is_final) {
            self.refused.store(true, Ordering::Relaxed);
        }
        if code == Some(RDKafkaErrorCode::AllBrokersDown) {
            // Its text ("1/1 brokers are down") says less than the complaint before it.
            self.down.store(true, Ordering::Relaxed);
        } else {
            self.keep(Some(reason.to_owned()));
        }
        tracing::debug!(target: "librdkafka", "{error}: {reason}");
    }
}

impl ClientContext for Watch {
    /// One line of librdkafka's own log. What matters of it comes back as an answer: few are worth a warning.
    fn log(&self, level: RDKafkaLogLevel, facility: &str, text: &str) {
        self.stirred.store(true, Ordering::Relaxed);
        match level {
            RDKafkaLogLevel::Emerg | RDKafkaLogLevel::Alert | RDKafkaLogLevel::Critical => {
                tracing::warn!(target: "librdkafka", "{facility}: {text}");
            }
            RDKafkaLogLevel::Error
            | RDKafkaLogLevel::Warning
            | RDKafkaLogLevel::Notice
            | RDKafkaLogLevel::Info
            | RDKafkaLogLevel::Debug => tracing::debug!(target: "librdkafka", "{facility}: {text}"),
        }
    }

    fn error(&self, error: KafkaError, reason: &str) {
        self.note(&error, reason);
    }
}

impl ConsumerContext for Watch {}

/// Sorts a failed request by what happens next.
pub(super) fn sort(code: Option<RDKafkaErrorCode>, why: String) -> Failure {
    match code {
        Some(code) if is_unreached(code) => Failure::Unreached(why),
        Some(code) if is_final(code) => Failure::Broken(why),
        Some(_) | None => Failure::Again(why),
    }
}

/// No connection: nothing was sent.
fn is_unreached(code: RDKafkaErrorCode) -> bool {
    use RDKafkaErrorCode as Code;
    matches!(code, Code::BrokerTransportFailure | Code::Resolve | Code::AllBrokersDown)
}

/// What no repetition mends: permissions, credentials, and what the broker or this client cannot do.
pub(super) fn is_final(code: RDKafkaErrorCode) -> bool {
    use RDKafkaErrorCode as Code;
    matches!(
        code,
        Code::Authentication
            | Code::SaslAuthenticationFailed
            | Code::UnsupportedSASLMechanism
            | Code::IllegalSASLState
            | Code::TopicAuthorizationFailed
            | Code::GroupAuthorizationFailed
            | Code::ClusterAuthorizationFailed
            | Code::InvalidTopic
            | Code::InvalidGroupId
            | Code::InconsistentGroupProtocol
            | Code::UnsupportedVersion
            | Code::UnsupportedFeature
            | Code::Fatal
            | Code::Fenced
            | Code::FencedInstanceId
    )
}
