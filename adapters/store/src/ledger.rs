//! Knows how one batch of the ledger becomes one transaction: lock, facts, effects, COMMIT, each one round trip.

use amends_core::ids::{Frontier, Partition, Token};
use amends_core::ledger::decision::{Batch, Decision, Effects, Head, Loaded, Plan};
use amends_core::ledger::envelope::Content;
use amends_core::ledger::positions::{Closing, PositionRow};
use amends_core::source::business_date::BusinessDate;
use amends_core::source::manifest::StockKey;
use amends_core::source::record::Record;
use futures_util::future::{join, join4};
use tokio_postgres::Row;
use tokio_postgres::types::Type;
use uuid::Uuid;

use crate::attempt::Attempt;
use crate::env::Environment;
use crate::pipeline::Pipeline;
use crate::session::Session;
use crate::transaction::{Param, commit, lock, number, roll_back};
use crate::trouble::{Trouble, first_failure};

pub(crate) const HEADS: &str = "\
SELECT transaction_id, revision, item, location, business_date, quantity
  FROM amends.head WHERE namespace = $1 AND partition = $2 AND transaction_id = ANY ($3)";

/// For each want: the row at its first day, the present rows behind it, and the last present row before it. The inner
/// LIMIT stops a batch that is too large early; which of its rows are cut changes only how many records are said to
/// fit.
pub(crate) const POSITIONS: &str = "\
SELECT * FROM (
    SELECT w.want, p.item, p.location, p.business_date, p.version, p.live, p.balance, p.state
      FROM unnest($2::text[], $3::text[], $4::date[], $5::date[])
           WITH ORDINALITY AS w(item, location, since, before, want)
     CROSS JOIN LATERAL (
        SELECT * FROM amends.position a
         WHERE a.namespace = $1 AND a.item = w.item AND a.location = w.location AND a.business_date = w.since
        UNION ALL
        SELECT * FROM amends.position b
         WHERE b.namespace = $1 AND b.item = w.item AND b.location = w.location AND b.live > 0
           AND b.business_date > w.since AND b.business_date < coalesce(w.before, 'infinity')
        UNION ALL
        (SELECT * FROM amends.position c
          WHERE c.namespace = $1 AND c.item = w.item AND c.location = w.location AND c.live > 0
            AND c.business_date < w.since
          ORDER BY c.business_date DESC LIMIT 1)
     ) p
     LIMIT $6
) loaded ORDER BY want";

pub(crate) const INSERT_EVIDENCE: &str = "\
INSERT INTO amends.evidence
       (namespace, partition, source_offset, code, transaction_id, revision, raw_key, raw_value, epoch)
SELECT $1, $2, e.source_offset, e.code, e.transaction_id, e.revision, e.raw_key, e.raw_value, $9
  FROM unnest($3::bigint[], $4::text[], $5::text[], $6::bigint[], $7::bytea[], $8::bytea[])
       AS e(source_offset, code, transaction_id, revision, raw_key, raw_value)";

pub(crate) const UPSERT_HEADS: &str = "\
INSERT INTO amends.head (namespace, partition, transaction_id, revision, item, location, business_date, quantity)
SELECT $1, $2, h.* FROM unnest($3::text[], $4::bigint[], $5::text[], $6::text[], $7::date[], $8::bigint[]) AS h
    ON CONFLICT (namespace, partition, transaction_id) DO UPDATE
   SET revision = excluded.revision, item = excluded.item, location = excluded.location,
       business_date = excluded.business_date, quantity = excluded.quantity";

pub(crate) const UPSERT_POSITIONS: &str = "\
INSERT INTO amends.position (namespace, item, location, business_date, version, live, balance, state)
SELECT $1, p.*
  FROM unnest($2::text[], $3::text[], $4::date[], $5::bigint[], $6::bigint[], $7::bigint[], $8::text[]) AS p
    ON CONFLICT (namespace, item, location, business_date) DO UPDATE
   SET version = excluded.version, live = excluded.live, balance = excluded.balance, state = excluded.state";

pub(crate) const INSERT_OUTBOX: &str = "\
INSERT INTO amends.outbox
       (namespace, partition, cause_offset, business_date, item, location, version, balance, state, transaction_id,
        revision, code)
SELECT $1, $2, o.*
  FROM unnest($3::bigint[], $4::date[], $5::text[], $6::text[], $7::bigint[], $8::bigint[], $9::text[], $10::text[],
              $11::bigint[], $12::text[]) AS o";

/// Token and frontier were compared under the lock already; here they keep this statement true by itself.
pub(crate) const ADVANCE: &str = "\
UPDATE amends.partition
   SET next_offset = $6, work_records = $7, work_bytes = $8,
       work_elapsed_us = (extract(epoch FROM clock_timestamp() - transaction_timestamp()) * 1000000)::bigint,
       committed_at = clock_timestamp()
 WHERE namespace = $1 AND partition = $2 AND epoch = $3 AND claim_id = $4 AND next_offset = $5";

/// A batch of one tenure.
pub(crate) struct Work<'a> {
    pub(crate) partition: Partition,
    pub(crate) token: Token,
    pub(crate) expected: Frontier,
    /// At least one, in ascending order.
    pub(crate) records: &'a [Record],
    pub(crate) refused: bool,
}

/// What became of it, when nothing failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Processed {
    Committed,
    Fenced(Option<Token>),
    Moved(Option<Frontier>),
    TooLarge { fit: u32 },
}

/// Decides a batch in one transaction.
pub(crate) async fn process<E: Environment>(
    attempt: &Attempt<E>,
    pipeline: &Pipeline,
    work: &Work<'_>,
) -> Result<Processed, Trouble> {
    let config = pipeline.manifest.config();
    let next = work.records.last().ok_or_else(|| Trouble::Broken("the batch has no record".to_owned()))?;
    let next = next.offset.frontier_after();
    // Before the lock is asked for: reading JSON takes its time.
    let batch = Batch::read(config, work.partition, work.records, work.refused);
    let session = attempt.session(false).await?;
    let number = number(work.partition)?;
    let namespace = config.namespace();

    let (locked, heads) = {
        let ids = batch.transaction_ids();
        let params: [Param<'_>; 3] =
            [(&namespace, Type::TEXT), (&number, Type::INT4), (&ids, Type::TEXT_ARRAY)];
        let heads = session.client.query_typed(HEADS, &params);
        lock(attempt, &session, namespace, work.partition, heads).await?
    };
    let refusal = if locked.token != Some(work.token) {
        Some(Processed::Fenced(locked.token))
    } else if locked.frontier != Some(work.expected) {
        Some(Processed::Moved(locked.frontier))
    } else {
        None
    };
    if let Some(refusal) = refusal {
        roll_back(attempt, &session).await?;
        attempt.release(session, false);
        return Ok(refusal);
    }

    let heads = heads.iter().map(head_row).collect::<Result<Vec<_>, _>>()?;
    let plan = batch.plan(heads, pipeline.batch_effects);
    let rows = positions(attempt, &session, namespace, &plan).await?;
    let effects = match plan.decide(rows) {
        Decision::Effects(effects) => effects,
        Decision::TooLarge { fit } => {
            roll_back(attempt, &session).await?;
            attempt.release(session, false);
            return Ok(Processed::TooLarge { fit: u32::try_from(fit).unwrap_or(u32::MAX) });
        }
    };
    write(attempt, &session, namespace, number, work, next, &effects).await?;
    commit(attempt, &session, &locked.xid).await?;
    attempt.release(session, false);
    Ok(Processed::Committed)
}

async fn positions<E: Environment>(
    attempt: &Attempt<E>,
    session: &Session,
    namespace: &str,
    plan: &Plan<'_>,
) -> Result<Vec<Loaded>, Trouble> {
    let wants = plan.wants();
    if wants.is_empty() {
        return Ok(Vec::new());
    }
    attempt.go_on()?;
    let items: Vec<&str> = wants.iter().map(|want| want.stock_key.item.as_str()).collect();
    let locations: Vec<&str> = wants.iter().map(|want| want.stock_key.location.as_str()).collect();
    let since: Vec<time::Date> = wants.iter().map(|want| want.from.date()).collect();
    let before: Vec<Option<time::Date>> =
        wants.iter().map(|want| want.before.map(BusinessDate::date)).collect();
    let limit = plan.row_limit().map(|limit| i64::try_from(limit).unwrap_or(i64::MAX));
    let params: [Param<'_>; 6] = [
        (&namespace, Type::TEXT),
        (&items, Type::TEXT_ARRAY),
        (&locations, Type::TEXT_ARRAY),
        (&since, Type::DATE_ARRAY),
        (&before, Type::DATE_ARRAY),
        (&limit, Type::INT8),
    ];
    let rows =
        session.client.query_typed(POSITIONS, &params).await.map_err(|error| attempt.failed(Some(error)))?;
    rows.iter().map(loaded_row).collect()
}

/// Sends all effects in one trip. No COMMIT is behind them: their answers are read first.
async fn write<E: Environment>(
    attempt: &Attempt<E>,
    session: &Session,
    namespace: &str,
    number: i32,
    work: &Work<'_>,
    next: Frontier,
    effects: &Effects,
) -> Result<(), Trouble> {
    attempt.go_on()?;
    let key: [Param<'_>; 2] = [(&namespace, Type::TEXT), (&number, Type::INT4)];

    let offsets: Vec<i64> = effects.evidence.iter().map(|evidence| evidence.offset.0).collect();
    let codes: Vec<&str> = effects.evidence.iter().map(|evidence| evidence.code.as_str()).collect();
    let ids: Vec<Option<&str>> =
        effects.evidence.iter().map(|evidence| evidence.transaction_id.as_deref()).collect();
    let revisions: Vec<Option<i64>> = effects.evidence.iter().map(|evidence| evidence.revision).collect();
    let keys: Vec<Option<&[u8]>> = work.records.iter().map(|record| record.key.as_deref()).collect();
    let values: Vec<Option<&[u8]>> = work.records.iter().map(|record| record.value.as_deref()).collect();
    let evidence: [Param<'_>; 9] = [
        key[0].clone(),
        key[1].clone(),
        (&offsets, Type::INT8_ARRAY),
        (&codes, Type::TEXT_ARRAY),
        (&ids, Type::TEXT_ARRAY),
        (&revisions, Type::INT8_ARRAY),
        (&keys, Type::BYTEA_ARRAY),
        (&values, Type::BYTEA_ARRAY),
        (&work.token.epoch, Type::INT8),
    ];

    let heads = HeadColumns::from(effects.heads.as_slice());
    let heads: [Param<'_>; 8] = [
        key[0].clone(),
        key[1].clone(),
        (&heads.ids, Type::TEXT_ARRAY),
        (&heads.revisions, Type::INT8_ARRAY),
        (&heads.items, Type::TEXT_ARRAY),
        (&heads.locations, Type::TEXT_ARRAY),
        (&heads.dates, Type::DATE_ARRAY),
        (&heads.quantities, Type::INT8_ARRAY),
    ];

    let positions = PositionColumns::from(effects.positions.as_slice());
    let positions: [Param<'_>; 8] = [
        key[0].clone(),
        (&positions.items, Type::TEXT_ARRAY),
        (&positions.locations, Type::TEXT_ARRAY),
        (&positions.dates, Type::DATE_ARRAY),
        (&positions.versions, Type::INT8_ARRAY),
        (&positions.lives, Type::INT8_ARRAY),
        (&positions.balances, Type::INT8_ARRAY),
        (&positions.states, Type::TEXT_ARRAY),
    ];

    let out = &effects.outbox;
    let causes: Vec<i64> = out.iter().map(|envelope| envelope.cause.offset.0).collect();
    let dates: Vec<time::Date> = out.iter().map(|envelope| envelope.business_date.date()).collect();
    let items: Vec<&str> = out.iter().map(|envelope| envelope.stock_key.item.as_str()).collect();
    let locations: Vec<&str> = out.iter().map(|envelope| envelope.stock_key.location.as_str()).collect();
    let versions: Vec<i64> = out.iter().map(|envelope| envelope.version).collect();
    let balances: Vec<Option<i64>> = out.iter().map(|envelope| balance(envelope.closing)).collect();
    let states: Vec<Option<&str>> = out.iter().map(|envelope| state(envelope.closing)).collect();
    let cause_ids: Vec<&str> = out.iter().map(|envelope| envelope.cause.transaction_id.as_str()).collect();
    let cause_revisions: Vec<i64> = out.iter().map(|envelope| envelope.cause.revision).collect();
    let cause_codes: Vec<&str> = out.iter().map(|envelope| envelope.cause.code.as_str()).collect();
    let outbox: [Param<'_>; 12] = [
        key[0].clone(),
        key[1].clone(),
        (&causes, Type::INT8_ARRAY),
        (&dates, Type::DATE_ARRAY),
        (&items, Type::TEXT_ARRAY),
        (&locations, Type::TEXT_ARRAY),
        (&versions, Type::INT8_ARRAY),
        (&balances, Type::INT8_ARRAY),
        (&states, Type::TEXT_ARRAY),
        (&cause_ids, Type::TEXT_ARRAY),
        (&cause_revisions, Type::INT8_ARRAY),
        (&cause_codes, Type::TEXT_ARRAY),
    ];

    let claim_id = Uuid::from_u128(work.token.claim_id.0);
    let records = i64::try_from(work.records.len()).unwrap_or(i64::MAX);
    let bytes = work.records.iter().map(|record| part(&record.key) + part(&record.value)).sum::<i64>();
    let advance: [Param<'_>; 8] = [
        key[0].clone(),
        key[1].clone(),
        (&work.token.epoch, Type::INT8),
        (&claim_id, Type::UUID),
        (&work.expected.0, Type::INT8),
        (&next.0, Type::INT8),
        (&records, Type::INT8),
        (&bytes, Type::INT8),
    ];

    let client = &session.client;
    let (effects, advanced) = join(
        join4(
            client.execute_typed(INSERT_EVIDENCE, &evidence),
            client.execute_typed(UPSERT_HEADS, &heads),
            client.execute_typed(UPSERT_POSITIONS, &positions),
            client.execute_typed(INSERT_OUTBOX, &outbox),
        ),
        client.execute_typed(ADVANCE, &advance),
    )
    .await;
    match (effects, advanced) {
        ((Ok(_), Ok(_), Ok(_), Ok(_)), Ok(1)) => Ok(()),
        ((Ok(_), Ok(_), Ok(_), Ok(_)), Ok(rows)) => {
            Err(Trouble::Broken(format!("the locked row advanced {rows} times instead of once")))
        }
        ((evidence, heads, positions, outbox), advanced) => {
            let failures = [evidence.err(), heads.err(), positions.err(), outbox.err(), advanced.err()];
            Err(attempt.failed(first_failure(failures)))
        }
    }
}

fn part(bytes: &Option<Vec<u8>>) -> i64 {
    i64::try_from(bytes.as_ref().map_or(0, Vec::len)).unwrap_or(i64::MAX)
}

fn balance(closing: Option<Closing>) -> Option<i64> {
    closing.map(|closing| closing.balance)
}

fn state(closing: Option<Closing>) -> Option<&'static str> {
    closing.map(|closing| closing.state.as_str())
}

#[derive(Default)]
struct HeadColumns<'a> {
    ids: Vec<&'a str>,
    revisions: Vec<i64>,
    items: Vec<&'a str>,
    locations: Vec<&'a str>,
    dates: Vec<Option<time::Date>>,
    quantities: Vec<Option<i64>>,
}

impl<'a> From<&'a [Head]> for HeadColumns<'a> {
    fn from(heads: &'a [Head]) -> Self {
        let mut columns = Self::default();
        for head in heads {
            let (date, quantity) = match head.content {
                Content::Assert { business_date, quantity } => (Some(business_date.date()), Some(quantity)),
                Content::Cancel => (None, None),
            };
            columns.ids.push(&head.transaction_id);
            columns.revisions.push(head.revision);
            columns.items.push(&head.stock_key.item);
            columns.locations.push(&head.stock_key.location);
            columns.dates.push(date);
            columns.quantities.push(quantity);
        }
        columns
    }
}

#[derive(Default)]
struct PositionColumns<'a> {
    items: Vec<&'a str>,
    locations: Vec<&'a str>,
    dates: Vec<time::Date>,
    versions: Vec<i64>,
    lives: Vec<i64>,
    balances: Vec<Option<i64>>,
    states: Vec<Option<&'static str>>,
}

impl<'a> From<&'a [PositionRow]> for PositionColumns<'a> {
    fn from(rows: &'a [PositionRow]) -> Self {
        let mut columns = Self::default();
        for row in rows {
            columns.items.push(&row.stock_key.item);
            columns.locations.push(&row.stock_key.location);
            columns.dates.push(row.business_date.date());
            columns.versions.push(row.version);
            columns.lives.push(row.live);
            columns.balances.push(balance(row.closing));
            columns.states.push(state(row.closing));
        }
        columns
    }
}

fn head_row(row: &Row) -> Result<Head, Trouble> {
    let date: Option<time::Date> = row.try_get(4)?;
    let quantity: Option<i64> = row.try_get(5)?;
    let content = match (date, quantity) {
        (Some(date), Some(quantity)) => Content::Assert { business_date: business_date(date)?, quantity },
        _ => Content::Cancel,
    };
    Ok(Head {
        transaction_id: row.try_get(0)?,
        revision: row.try_get(1)?,
        stock_key: StockKey { item: row.try_get(2)?, location: row.try_get(3)? },
        content,
    })
}

fn loaded_row(row: &Row) -> Result<Loaded, Trouble> {
    let ordinal: i64 = row.try_get(0)?;
    let want =
        usize::try_from(ordinal - 1).map_err(|_| Trouble::Broken("a want has no number".to_owned()))?;
    Ok(Loaded {
        want,
        row: PositionRow {
            stock_key: StockKey { item: row.try_get(1)?, location: row.try_get(2)? },
            business_date: business_date(row.try_get(3)?)?,
            version: row.try_get(4)?,
            live: row.try_get(5)?,
            closing: closing(row.try_get(6)?, row.try_get(7)?)?,
        },
    })
}

pub(crate) fn business_date(date: time::Date) -> Result<BusinessDate, Trouble> {
    BusinessDate::from_date(date)
        .ok_or_else(|| Trouble::Broken("a stored date is outside of the calendar".to_owned()))
}

pub(crate) fn closing(balance: Option<i64>, state: Option<&str>) -> Result<Option<Closing>, Trouble> {
    let (Some(balance), Some(state)) = (balance, state) else { return Ok(None) };
    let state = state.parse().map_err(|_| Trouble::Broken("a stored state has no known word".to_owned()))?;
    Ok(Some(Closing { balance, state }))
}
