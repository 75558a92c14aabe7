//! Knows what a namespace looks like from outside: how far it is, who works on it, what was decided last.

use std::collections::BTreeMap;

use amends_core::ledger::code::Code;
use serde::Serialize;
use tokio_postgres::types::Type;

use crate::env::Environment;
use crate::export::Snapshot;
use crate::transaction::Param;
use crate::trouble::{StoreError, Trouble};
use crate::verb::{LONG_MS, bounded};

pub(crate) const NAMESPACE: &str = "\
SELECT sink, source_topic, incarnation, to_char(created_at, 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')
  FROM amends.namespace WHERE name = $1";

pub(crate) const PARTITIONS: &str = "\
SELECT partition, next_offset, epoch, owner, to_char(claimed_at, 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"'),
       work_records, work_bytes, work_elapsed_us, to_char(committed_at, 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')
  FROM amends.partition WHERE namespace = $1 ORDER BY partition";

pub(crate) const COUNTS: &str = "\
SELECT code, count(*) FROM amends.evidence WHERE namespace = $1 GROUP BY code";

/// The last records of the partitions that committed last.
pub(crate) const RECENT: &str = "\
SELECT e.partition, e.source_offset, e.code
  FROM (SELECT partition, committed_at FROM amends.partition
         WHERE namespace = $1 AND committed_at IS NOT NULL ORDER BY committed_at DESC, partition LIMIT $2) p
 CROSS JOIN LATERAL (
    SELECT partition, source_offset, code FROM amends.evidence
     WHERE namespace = $1 AND partition = p.partition ORDER BY source_offset DESC LIMIT $2) e
 ORDER BY p.committed_at DESC, e.partition, e.source_offset DESC LIMIT $2";

/// How many of the last records are shown.
const RECENT_RECORDS: i64 = 20;

/// A namespace as `amends inspect` shows it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Inspection {
    /// Its name.
    pub namespace: String,
    /// What PostgreSQL drew for it.
    pub uuid: String,
    /// Its workers' consumer group.
    pub group_id: String,
    /// The sink's word.
    pub sink: String,
    /// The source's name on the broker.
    pub source_topic: String,
    /// The source itself.
    pub incarnation: String,
    /// When it was created, UTC.
    pub created_at: String,
    /// In order.
    pub partitions: Vec<PartitionInspection>,
    /// How many records have each code; codes without records are left out.
    pub counts: BTreeMap<String, i64>,
    /// The last records, newest first.
    pub recent: Vec<RecentRecord>,
}

/// One partition's row.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct PartitionInspection {
    /// Which.
    pub partition: i32,
    /// Everything below it is decided; `None` before the first claim.
    pub next_offset: Option<i64>,
    /// The last claim's; 0 before the first.
    pub epoch: i64,
    /// Who claimed it last; it need not live.
    pub owner: Option<String>,
    /// When, UTC.
    pub claimed_at: Option<String>,
    /// The last decision.
    pub last_work: Option<LastWork>,
}

/// One committed decision.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct LastWork {
    /// Records decided.
    pub records: i64,
    /// Bytes of their keys and values.
    pub bytes: i64,
    /// From the lock to the sending of COMMIT.
    pub elapsed_us: i64,
    /// When, UTC.
    pub committed_at: String,
}

/// One decided record.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct RecentRecord {
    /// Its partition.
    pub partition: i32,
    /// Its offset.
    pub offset: i64,
    /// What was decided.
    pub code: Code,
}

/// Looks at a namespace.
///
/// # Errors
/// When PostgreSQL does not answer.
pub async fn inspect<E: Environment>(snapshot: &Snapshot<E>) -> Result<Inspection, StoreError> {
    let namespace = snapshot.namespace();
    let what = format!("could not inspect {}", namespace.name);
    bounded(snapshot.env(), &what, LONG_MS, async {
        let client = &snapshot.session().client;
        let key: [Param<'_>; 1] = [(&namespace.name, Type::TEXT)];
        let row = client.query_typed_one(NAMESPACE, &key).await?;
        let mut inspection = Inspection {
            namespace: namespace.name.clone(),
            uuid: namespace.uuid.to_string(),
            group_id: namespace.group_id(),
            sink: row.try_get(0)?,
            source_topic: row.try_get(1)?,
            incarnation: row.try_get(2)?,
            created_at: row.try_get(3)?,
            partitions: Vec::new(),
            counts: BTreeMap::new(),
            recent: Vec::new(),
        };
        for row in client.query_typed(PARTITIONS, &key).await? {
            let work: (Option<i64>, Option<i64>, Option<i64>, Option<String>) =
                (row.try_get(5)?, row.try_get(6)?, row.try_get(7)?, row.try_get(8)?);
            let last_work = match work {
                (Some(records), Some(bytes), Some(elapsed_us), Some(committed_at)) => {
                    Some(LastWork { records, bytes, elapsed_us, committed_at })
                }
                _ => None,
            };
            inspection.partitions.push(PartitionInspection {
                partition: row.try_get(0)?,
                next_offset: row.try_get(1)?,
                epoch: row.try_get(2)?,
                owner: row.try_get(3)?,
                claimed_at: row.try_get(4)?,
                last_work,
            });
        }
        for row in client.query_typed(COUNTS, &key).await? {
            inspection.counts.insert(row.try_get(0)?, row.try_get(1)?);
        }
        let limited: [Param<'_>; 2] = [(&namespace.name, Type::TEXT), (&RECENT_RECORDS, Type::INT8)];
        for row in client.query_typed(RECENT, &limited).await? {
            let code: &str = row.try_get(2)?;
            let code =
                code.parse().map_err(|_| Trouble::Broken("a stored code has no known word".to_owned()))?;
            inspection.recent.push(RecentRecord {
                partition: row.try_get(0)?,
                offset: row.try_get(1)?,
                code,
            });
        }
        Ok(inspection)
    })
    .await
}
