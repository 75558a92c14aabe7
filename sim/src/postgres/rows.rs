//! Knows the columns of each table beside its primary key, the constraints that PostgreSQL checks, and the rows as text.

use amends_core::ids::{ClaimId, Frontier, Token};
use bytes::Bytes;
use uuid::Uuid;

use super::refusal::Refusal;
use super::value::{Day, Instant, Shown, Text, shown, shown_bytes};
use crate::fact;

#[derive(Clone)]
pub(super) struct Namespace {
    pub(super) uuid: Uuid,
    pub(super) sink: Text,
    pub(super) source_topic: Text,
    pub(super) incarnation: Text,
    pub(super) config: Text,
    pub(super) digest: Bytes,
    pub(super) created_at: Instant,
}

#[derive(Clone, Default)]
pub(super) struct Partition {
    pub(super) epoch: i64,
    pub(super) claim_id: Option<Uuid>,
    pub(super) next_offset: Option<i64>,
    pub(super) owner: Option<Text>,
    pub(super) claimed_at: Option<Instant>,
    pub(super) work_records: Option<i64>,
    pub(super) work_bytes: Option<i64>,
    pub(super) work_elapsed_us: Option<i64>,
    pub(super) committed_at: Option<Instant>,
}

#[derive(Clone)]
pub(super) struct Evidence {
    pub(super) code: Text,
    pub(super) transaction_id: Option<Text>,
    pub(super) revision: Option<i64>,
    pub(super) raw_key: Option<Bytes>,
    pub(super) raw_value: Option<Bytes>,
    pub(super) epoch: i64,
}

#[derive(Clone)]
pub(super) struct Head {
    pub(super) revision: i64,
    pub(super) item: Text,
    pub(super) location: Text,
    pub(super) business_date: Option<Day>,
    pub(super) quantity: Option<i64>,
}

#[derive(Clone)]
pub(super) struct Position {
    pub(super) version: i64,
    pub(super) live: i64,
    pub(super) balance: Option<i64>,
    pub(super) state: Option<Text>,
}

#[derive(Clone)]
pub(super) struct Outbox {
    pub(super) item: Text,
    pub(super) location: Text,
    pub(super) version: i64,
    pub(super) balance: Option<i64>,
    pub(super) state: Option<Text>,
    pub(super) transaction_id: Text,
    pub(super) revision: i64,
    pub(super) code: Text,
}

/// The first check that does not hold, in the order in which the server tries them: by name.
fn check(table: &'static str, checks: &[(&'static str, bool)]) -> Result<(), Refusal> {
    let broken = checks.iter().find(|(_, holds)| !holds);
    broken.map_or(Ok(()), |(name, _)| Err(Refusal::row("23514", table, name)))
}

impl Namespace {
    pub(super) fn check(&self, name: &str) -> Result<(), Refusal> {
        let digest = self.digest.len() == 32;
        check("namespace", &[("namespace_digest_check", digest), ("namespace_name_check", is_name(name))])
    }

    pub(super) fn text(&self, name: &Text) -> Vec<Shown> {
        vec![
            shown(name),
            shown(self.uuid),
            shown(&self.sink),
            shown(&self.source_topic),
            shown(&self.incarnation),
            shown(&self.config),
            Some(shown_bytes(&self.digest)),
            shown(self.created_at),
        ]
    }
}

/// `^[a-z0-9][a-z0-9-]{0,62}$`
fn is_name(name: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    (1..=63).contains(&name.len())
        && !name.starts_with('-')
        && name.bytes().all(|byte| is_word(byte) || byte == b'-')
}

impl Partition {
    pub(super) fn check(&self, partition: i32) -> Result<(), Refusal> {
        let is_unclaimed = self.epoch == 0;
        check(
            "partition",
            &[
                ("partition_check", is_unclaimed == self.claim_id.is_none()),
                ("partition_check1", is_unclaimed == self.next_offset.is_none()),
                ("partition_epoch_check", self.epoch >= 0),
                ("partition_next_offset_check", self.next_offset.is_none_or(|next| next >= 0)),
                ("partition_partition_check", partition >= 0),
            ],
        )
    }

    /// What of it the checks of a world know.
    pub(super) fn fact(&self) -> fact::Row {
        let token = |id: Uuid| Token { epoch: self.epoch, claim_id: ClaimId(id.as_u128()) };
        fact::Row { token: self.claim_id.map(token), frontier: self.next_offset.map(Frontier) }
    }

    pub(super) fn text(&self, partition: i32) -> Vec<Shown> {
        vec![
            shown(partition),
            shown(self.epoch),
            self.claim_id.and_then(shown),
            self.next_offset.and_then(shown),
            self.owner.as_ref().and_then(shown),
            self.claimed_at.and_then(shown),
            self.work_records.and_then(shown),
            self.work_bytes.and_then(shown),
            self.work_elapsed_us.and_then(shown),
            self.committed_at.and_then(shown),
        ]
    }
}

impl Evidence {
    pub(super) fn text(&self, partition: i32, source_offset: i64) -> Vec<Shown> {
        vec![
            shown(partition),
            shown(source_offset),
            shown(&self.code),
            self.transaction_id.as_ref().and_then(shown),
            self.revision.and_then(shown),
            self.raw_key.as_deref().map(shown_bytes),
            self.raw_value.as_deref().map(shown_bytes),
            shown(self.epoch),
        ]
    }
}

impl Head {
    pub(super) fn check(&self) -> Result<(), Refusal> {
        check("head", &[("head_check", self.business_date.is_none() == self.quantity.is_none())])
    }

    pub(super) fn text(&self, partition: i32, transaction_id: &Text) -> Vec<Shown> {
        vec![
            shown(partition),
            shown(transaction_id),
            shown(self.revision),
            shown(&self.item),
            shown(&self.location),
            self.business_date.and_then(shown),
            self.quantity.and_then(shown),
        ]
    }
}

impl Position {
    pub(super) fn check(&self) -> Result<(), Refusal> {
        let state = self.state.as_deref();
        check(
            "position",
            &[
                ("position_check", (self.live == 0) == self.balance.is_none()),
                ("position_check1", self.balance.is_none() == state.is_none()),
                ("position_live_check", self.live >= 0),
                ("position_state_check", matches!(state, None | Some("negative" | "low" | "ok"))),
                ("position_version_check", self.version > 0),
            ],
        )
    }

    pub(super) fn text(&self, item: &Text, location: &Text, business_date: Day) -> Vec<Shown> {
        vec![
            shown(item),
            shown(location),
            shown(business_date),
            shown(self.version),
            shown(self.live),
            self.balance.and_then(shown),
            self.state.as_ref().and_then(shown),
        ]
    }
}

impl Outbox {
    pub(super) fn check(&self) -> Result<(), Refusal> {
        check("outbox", &[("outbox_check", self.balance.is_none() == self.state.is_none())])
    }

    pub(super) fn text(&self, partition: i32, cause_offset: i64, business_date: Day) -> Vec<Shown> {
        vec![
            shown(partition),
            shown(cause_offset),
            shown(business_date),
            shown(&self.item),
            shown(&self.location),
            shown(self.version),
            self.balance.and_then(shown),
            self.state.as_ref().and_then(shown),
            shown(&self.transaction_id),
            shown(self.revision),
            shown(&self.code),
        ]
    }
}
