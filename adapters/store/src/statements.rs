//! Knows every text that a worker says to PostgreSQL, so that a simulator can recognise each one.

use crate::{claim, effects, ledger, migrate, namespace, session, transaction};

/// Name and text of each statement of the sessions that check the schema, open a namespace, claim, observe and process. A simulator
/// knows them by digest: a text that changes here has to be proved on a real server again.
pub const OF_A_WORKER: [(&str, &str); 21] = [
    ("set-up", session::SET_UP),
    ("create-namespace", namespace::CREATE),
    ("find-namespace", namespace::FIND),
    ("create-partitions", namespace::CREATE_PARTITIONS),
    ("begin", transaction::BEGIN),
    ("limits", transaction::LIMITS),
    ("lock", transaction::LOCK),
    ("read", transaction::READ),
    ("commit", transaction::COMMIT),
    ("status", transaction::STATUS),
    ("rollback", transaction::ROLLBACK),
    ("claim", claim::CLAIM),
    ("heads", ledger::HEADS),
    ("positions", ledger::POSITIONS),
    ("insert-evidence", effects::INSERT_EVIDENCE),
    ("upsert-heads", effects::UPSERT_HEADS),
    ("upsert-positions", effects::UPSERT_POSITIONS),
    ("insert-outbox", effects::INSERT_OUTBOX),
    ("advance", effects::ADVANCE),
    ("has-history", migrate::HAS_HISTORY),
    ("applied-migrations", migrate::APPLIED),
];
