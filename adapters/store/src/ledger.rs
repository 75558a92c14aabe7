//! Knows how one batch of the ledger becomes one transaction: lock, facts, effects, COMMIT, each one round trip.

use amends_core::ids::{Frontier, Partition, Token};
use amends_core::ledger::decision::{Batch, Decision, Head, Loaded, Plan};
use amends_core::ledger::envelope::Content;
use amends_core::ledger::positions::{Closing, PositionRow};
use amends_core::source::business_date::BusinessDate;
use amends_core::source::manifest::StockKey;
use amends_core::source::record::Record;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::attempt::Attempt;
use crate::effects::write;
use crate::env::Environment;
use crate::pipeline::Pipeline;
use crate::session::Session;
use crate::transaction::{Param, commit, lock, number, roll_back};
use crate::trouble::Trouble;

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
