//! Knows how a namespace reads as JSON lines, all from one snapshot and one row at a time.

use std::fmt;
use std::pin::Pin;
use std::str::FromStr;

use amends_core::ids::{Offset, Partition};
use amends_core::ledger::code::Code;
use amends_core::ledger::export::{
    Cause, EvidenceLine, FrontierLine, OutboxEnvelope, PositionLine, QuarantineLine, line,
};
use amends_core::source::manifest::{Manifest, StockKey};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::TryStreamExt as _;
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio_postgres::types::Type;
use tokio_postgres::{Row, RowStream};

use crate::env::Environment;
use crate::ledger::{business_date, closing};
use crate::namespace::{Namespace, compare};
use crate::pipeline::LEDGER;
use crate::pool::Store;
use crate::session::{Purpose, Session};
use crate::transaction::Param;
use crate::trouble::{StoreError, Trouble};
use crate::verb::{LONG_MS, SHORT_MS, bounded};

pub(crate) const BEGIN_SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

pub(crate) const EVIDENCE: &str = "\
SELECT partition, source_offset, code, transaction_id, revision, raw_key, raw_value, epoch
  FROM amends.evidence WHERE namespace = $1 ORDER BY partition, source_offset";

pub(crate) const QUARANTINE: &str = "\
SELECT partition, source_offset, code, transaction_id, revision, raw_key, raw_value
  FROM amends.evidence WHERE namespace = $1 AND code = ANY ($2) ORDER BY partition, source_offset";

pub(crate) const POSITIONS: &str = "\
SELECT item, location, business_date, version, balance, state
  FROM amends.position WHERE namespace = $1 AND live > 0 ORDER BY item, location, business_date";

pub(crate) const OUTBOX: &str = "\
SELECT partition, cause_offset, business_date, item, location, version, balance, state, transaction_id, revision, code
  FROM amends.outbox WHERE namespace = $1 ORDER BY partition, cause_offset, business_date";

/// One line for each partition of the manifest, whether it has a row or not.
pub(crate) const FRONTIERS: &str = "\
SELECT number, coalesce(p.next_offset, 0), coalesce(p.epoch, 0)
  FROM generate_series(0, $2 - 1) AS number
  LEFT JOIN amends.partition p ON p.namespace = $1 AND p.partition = number ORDER BY number";

/// What can be exported.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// One line for each record.
    Evidence,
    /// One line for each present position.
    Positions,
    /// One line for each envelope.
    Outbox,
    /// One line for each quarantined record.
    Quarantine,
    /// One line for each partition.
    Frontiers,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 5] =
        [Self::Evidence, Self::Positions, Self::Outbox, Self::Quarantine, Self::Frontiers];

    /// The word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Evidence => "evidence",
            Self::Positions => "positions",
            Self::Outbox => "outbox",
            Self::Quarantine => "quarantine",
            Self::Frontiers => "frontiers",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let kinds = Self::ALL.map(Self::as_str).join(", ");
        Self::ALL
            .into_iter()
            .find(|kind| kind.as_str() == text)
            .ok_or_else(|| format!("{text:?} is none of {kinds}"))
    }
}

/// A namespace at one moment: whatever is read from it belongs together. It holds a session until it is closed.
pub struct Snapshot<E: Environment> {
    env: E,
    session: Session,
    namespace: Namespace,
    partitions: i32,
}

impl<E: Environment> Snapshot<E> {
    /// Takes the snapshot of a ledger's namespace.
    ///
    /// # Errors
    /// [`StoreError::Refused`] with code `manifest` when the namespace is not there or is not the manifest's.
    pub async fn open(store: &Store<E>, manifest: &Manifest) -> Result<Self, StoreError> {
        let what = format!("could not read namespace {}", manifest.config().namespace());
        let partitions = i32::try_from(manifest.config().partitions()).unwrap_or(i32::MAX);
        let opened = bounded(store.env(), &what, SHORT_MS, async {
            let session = store.open(Purpose::Reader).await?;
            session.client.batch_execute(BEGIN_SNAPSHOT).await?;
            // The first statement takes the snapshot.
            let namespace = compare(&session, manifest, LEDGER).await?;
            Ok(namespace.map(|namespace| (session, namespace)))
        })
        .await?;
        match opened {
            Ok((session, namespace)) => Ok(Self { env: store.env().clone(), session, namespace, partitions }),
            Err(difference) => {
                Err(StoreError::Refused { code: "manifest", why: format!("{what}: {difference}") })
            }
        }
    }

    /// The namespace that this is of.
    #[must_use]
    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    pub(crate) fn session(&self) -> &Session {
        &self.session
    }

    pub(crate) fn env(&self) -> &E {
        &self.env
    }

    /// Begins to read lines. Read them to their end before the next kind: a session answers one question at a time.
    ///
    /// # Errors
    /// When PostgreSQL does not answer.
    pub async fn lines(&self, kind: Kind) -> Result<Lines<'_, E>, StoreError> {
        let quarantined: Vec<&str> =
            Code::ALL.into_iter().filter(|code| code.is_quarantined()).map(Code::as_str).collect();
        let namespace: Param<'_> = (&self.namespace.name, Type::TEXT);
        let what = format!("could not export {kind} of {}", self.namespace.name);
        let (statement, params) = match kind {
            Kind::Evidence => (EVIDENCE, vec![namespace]),
            Kind::Positions => (POSITIONS, vec![namespace]),
            Kind::Outbox => (OUTBOX, vec![namespace]),
            Kind::Quarantine => (QUARANTINE, vec![namespace, (&quarantined, Type::TEXT_ARRAY)]),
            Kind::Frontiers => (FRONTIERS, vec![namespace, (&self.partitions, Type::INT4)]),
        };
        let rows = bounded(&self.env, &what, LONG_MS, async {
            Ok(self.session.client.query_typed_raw(statement, params).await?)
        })
        .await?;
        Ok(Lines { snapshot: self, kind, what, rows: Box::pin(rows) })
    }

    /// Writes all lines of a kind, each with its line feed, and tells how many.
    ///
    /// # Errors
    /// When PostgreSQL does not answer, or `out` takes no more.
    pub async fn export(&self, kind: Kind, out: &mut (impl AsyncWrite + Unpin)) -> Result<u64, StoreError> {
        let mut lines = self.lines(kind).await?;
        let mut count = 0;
        while let Some(mut text) = lines.next().await? {
            text.push('\n');
            out.write_all(text.as_bytes()).await.map_err(|error| unwritten(&lines.what, &error))?;
            count += 1;
        }
        out.flush().await.map_err(|error| unwritten(&lines.what, &error))?;
        Ok(count)
    }

    /// Ends the snapshot.
    pub fn close(self) {
        self.session.close();
    }
}

fn unwritten(what: &str, error: &std::io::Error) -> StoreError {
    StoreError::Broken(format!("{what}: the output takes no more, {error}"))
}

/// Lines that are being read. As much of them is in memory as the wire brings at once.
pub struct Lines<'a, E: Environment> {
    snapshot: &'a Snapshot<E>,
    kind: Kind,
    what: String,
    rows: Pin<Box<RowStream>>,
}

impl<E: Environment> Lines<'_, E> {
    /// The next line, without a line feed; `None` behind the last.
    ///
    /// # Errors
    /// When PostgreSQL does not answer.
    pub async fn next(&mut self) -> Result<Option<String>, StoreError> {
        let rows = &mut self.rows;
        let row =
            bounded(&self.snapshot.env, &self.what, LONG_MS, async { Ok(rows.try_next().await?) }).await?;
        let Some(row) = row else { return Ok(None) };
        self.text(&row).map(Some).map_err(|trouble| StoreError::new(&self.what, trouble))
    }

    fn text(&self, row: &Row) -> Result<String, Trouble> {
        match self.kind {
            Kind::Evidence => evidence(row),
            Kind::Positions => position(row),
            Kind::Outbox => envelope(row, &self.snapshot.namespace.name),
            Kind::Quarantine => quarantine(row),
            Kind::Frontiers => Ok(line(&FrontierLine {
                partition: partition(row)?.0,
                next_offset: row.try_get(1)?,
                epoch: row.try_get(2)?,
            })),
        }
    }
}

fn partition(row: &Row) -> Result<Partition, Trouble> {
    let number: i32 = row.try_get(0)?;
    u32::try_from(number)
        .map(Partition)
        .map_err(|_| Trouble::Broken("a stored partition is negative".to_owned()))
}

fn code(word: &str) -> Result<Code, Trouble> {
    word.parse().map_err(|_| Trouble::Broken("a stored code has no known word".to_owned()))
}

fn base64(bytes: Option<&[u8]>) -> Option<String> {
    bytes.map(|bytes| STANDARD.encode(bytes))
}

fn evidence(row: &Row) -> Result<String, Trouble> {
    Ok(line(&EvidenceLine {
        partition: partition(row)?.0,
        offset: row.try_get(1)?,
        code: code(row.try_get(2)?)?,
        transaction_id: row.try_get(3)?,
        revision: row.try_get(4)?,
        raw_key: base64(row.try_get(5)?).as_deref(),
        raw_value: base64(row.try_get(6)?).as_deref(),
        epoch: row.try_get(7)?,
    }))
}

fn quarantine(row: &Row) -> Result<String, Trouble> {
    let code = code(row.try_get(2)?)?;
    Ok(line(&QuarantineLine {
        partition: partition(row)?.0,
        offset: row.try_get(1)?,
        code,
        transaction_id: row.try_get(3)?,
        revision: row.try_get(4)?,
        raw_key: base64(row.try_get(5)?).as_deref(),
        raw_value: base64(row.try_get(6)?).as_deref(),
        reason: code.reason(),
    }))
}

fn position(row: &Row) -> Result<String, Trouble> {
    let closing = closing(row.try_get(4)?, row.try_get(5)?)?;
    let closing = closing.ok_or_else(|| Trouble::Broken("a present position has no balance".to_owned()))?;
    Ok(line(&PositionLine {
        item: row.try_get(0)?,
        location: row.try_get(1)?,
        business_date: business_date(row.try_get(2)?)?,
        version: row.try_get(3)?,
        balance: closing.balance,
        state: closing.state,
    }))
}

fn envelope(row: &Row, namespace: &str) -> Result<String, Trouble> {
    let envelope = OutboxEnvelope {
        stock_key: StockKey { item: row.try_get(3)?, location: row.try_get(4)? },
        business_date: business_date(row.try_get(2)?)?,
        version: row.try_get(5)?,
        closing: closing(row.try_get(6)?, row.try_get(7)?)?,
        cause: Cause {
            offset: Offset(row.try_get(1)?),
            transaction_id: row.try_get(8)?,
            revision: row.try_get(9)?,
            code: code(row.try_get(10)?)?,
        },
    };
    Ok(envelope.json(namespace, partition(row)?))
}
