//! Knows the statements about namespaces and partitions: who may move a partition, and how far it is.

use amends_core::ids::{ClaimId, Frontier, Token};

use super::locks::Key;
use super::refusal::{Halt, Refusal, required};
use super::rows::{Namespace, Partition};
use super::tables::PartitionKey;
use super::value::{Params, Text, Value};
use super::work::{Outcome, Work, seen};

impl Work<'_> {
    pub(super) fn create_namespace(&mut self, p: &Params<'_>) -> Result<Outcome, Halt> {
        const TABLE: &str = "namespace";
        let name = required(p.text(1), TABLE, "name")?;
        let row = Namespace {
            uuid: self.draws.uuid(),
            sink: required(p.text(2), TABLE, "sink")?,
            source_topic: required(p.text(3), TABLE, "source_topic")?,
            incarnation: required(p.text(4), TABLE, "incarnation")?,
            config: required(p.text(5), TABLE, "config")?,
            digest: required(p.bytes(6), TABLE, "digest")?,
            created_at: self.tx.began,
        };
        row.check(&name)?;
        if self.namespace(&name).is_none() {
            self.lock(Key::Namespace(name.clone()))?;
        }
        if self.namespace(&name).is_some() {
            return Ok(Outcome::inserted(0));
        }
        self.tx.own.namespaces.insert(name, row);
        Ok(Outcome::inserted(1))
    }

    pub(super) fn find_namespace(&self, p: &Params<'_>) -> Outcome {
        let name = p.text(1);
        let found = name.as_ref().and_then(|name| self.namespace(name)).map(|row| {
            let Namespace { uuid, sink, source_topic, config, digest, .. } = row;
            vec![
                (*uuid).into(),
                sink.into(),
                source_topic.into(),
                config.into(),
                Value::Bytes(digest.clone()),
            ]
        });
        Outcome::selected(found.into_iter().collect())
    }

    pub(super) fn create_partitions(&mut self, p: &Params<'_>) -> Result<Outcome, Halt> {
        const TABLE: &str = "partition";
        let (namespace, count) = (p.text(1), p.int4(2));
        let last =
            count.map(|count| count.checked_sub(1).ok_or(Refusal::error("22003", "integer out of range")));
        let Some(last) = last.transpose()?.filter(|last| *last >= 0) else { return Ok(Outcome::inserted(0)) };
        let namespace = required(namespace, TABLE, "namespace")?;
        let mut created = Vec::new();
        for partition in 0..=last {
            let key = (namespace.clone(), partition);
            if self.partition(&key).is_none() {
                self.lock(Key::Partition(namespace.clone(), partition))?;
                created.extend(Some(key).filter(|key| self.partition(key).is_none()));
            }
        }
        if !created.is_empty() && self.namespace(&namespace).is_none() {
            return Err(Refusal::row("23503", TABLE, "partition_namespace_fkey").into());
        }
        let count = created.len();
        self.tx.own.partitions.extend(created.into_iter().map(|key| (key, Partition::default())));
        Ok(Outcome::inserted(count))
    }

    pub(super) fn lock_partition(&mut self, p: &Params<'_>) -> Result<Outcome, Halt> {
        let Some(key) = key(p).filter(|key| self.partition(key).is_some()) else {
            return Ok(Outcome::selected(Vec::new()));
        };
        self.lock_row(&key)?;
        Ok(Outcome::selected(vec![vec![Value::Int4(1)]]))
    }

    pub(super) fn read(&mut self, p: &Params<'_>) -> Outcome {
        let xid = self.xid().to_string();
        let nonce = Value::from(self.settings.nonce.as_ref());
        let found = key(p).and_then(|key| {
            let partition = self.partition(&key)?;
            let Namespace { uuid, sink, source_topic, incarnation, digest, .. } = self.namespace(&key.0)?;
            Some(vec![
                xid.into(),
                nonce,
                (*uuid).into(),
                sink.into(),
                source_topic.into(),
                incarnation.into(),
                Value::Bytes(digest.clone()),
                partition.epoch.into(),
                partition.claim_id.into(),
                partition.next_offset.into(),
            ])
        });
        Outcome::selected(found.into_iter().collect())
    }

    pub(super) fn claim(&mut self, p: &Params<'_>) -> Result<Outcome, Halt> {
        let Some((key, row)) = self.partition_for_update(p)? else { return Ok(Outcome::updated(0)) };
        let epoch = row.epoch.checked_add(1).ok_or(Refusal::error("22003", "bigint out of range"))?;
        let claim_id = self.draws.uuid();
        let row = Partition {
            epoch,
            claim_id: Some(claim_id),
            next_offset: row.next_offset.or(p.int8(3)),
            owner: p.text(4),
            claimed_at: Some(self.now),
            ..row
        };
        row.check(key.1)?;
        let answer = vec![epoch.into(), claim_id.into(), row.next_offset.into()];
        self.tx.own.partitions.insert(key, row);
        Ok(Outcome { rows: vec![answer], ..Outcome::updated(1) })
    }

    pub(super) fn advance(&mut self, p: &Params<'_>) -> Result<Outcome, Halt> {
        let token = p.int8(3).zip(p.uuid(4));
        let expected = p.int8(5);
        self.tx.carried = token.map(|(epoch, id)| Token { epoch, claim_id: ClaimId(id.as_u128()) });
        self.tx.expected = expected.map(Frontier);
        let Some((key, row)) = self.partition_for_update(p)? else { return Ok(Outcome::updated(0)) };
        let is_its_own = token.is_some_and(|(epoch, id)| row.epoch == epoch && row.claim_id == Some(id));
        if !is_its_own || expected.is_none() || row.next_offset != expected {
            return Ok(Outcome::updated(0));
        }
        let row = Partition {
            next_offset: p.int8(6),
            work_records: p.int8(7),
            work_bytes: p.int8(8),
            work_elapsed_us: Some(self.now.0 - self.tx.began.0),
            committed_at: Some(self.now),
            ..row
        };
        row.check(key.1)?;
        self.tx.own.partitions.insert(key, row);
        Ok(Outcome::updated(1))
    }

    /// The row of the first two parameters, locked.
    fn partition_for_update(&mut self, p: &Params<'_>) -> Result<Option<(PartitionKey, Partition)>, Halt> {
        let Some(key) = key(p).filter(|key| self.partition(key).is_some()) else { return Ok(None) };
        self.lock_row(&key)?;
        Ok(self.partition(&key).cloned().map(|row| (key, row)))
    }

    /// Takes the lock of a partition that is there.
    fn lock_row(&mut self, key: &PartitionKey) -> Result<(), Halt> {
        self.lock(Key::Partition(key.0.clone(), key.1))?;
        self.tx.partition.get_or_insert_with(|| key.clone());
        Ok(())
    }

    fn namespace(&self, name: &Text) -> Option<&Namespace> {
        seen(&self.tx.own.namespaces, &self.committed.namespaces, name)
    }
}

fn key(p: &Params<'_>) -> Option<PartitionKey> {
    p.text(1).zip(p.int4(2))
}
