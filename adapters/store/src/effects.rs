//! Knows how the effects of a decision become rows: one statement for each table, all in one round trip.

use amends_core::ids::Frontier;
use amends_core::ledger::decision::{Effects, Head};
use amends_core::ledger::envelope::Content;
use amends_core::ledger::positions::{Closing, PositionRow};
use futures_util::future::{join, join4};
use tokio_postgres::types::Type;
use uuid::Uuid;

use crate::attempt::Attempt;
use crate::env::Environment;
use crate::ledger::Work;
use crate::session::Session;
use crate::transaction::Param;
use crate::trouble::{Trouble, first_failure};

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

/// Sends all effects in one trip. No COMMIT is behind them: their answers are read first.
pub(crate) async fn write<E: Environment>(
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
