//! Knows how a claim installs its token, and how a row is read under its lock.

use amends_core::ids::{ClaimId, Frontier, Partition, Token};
use futures_util::future::ready;
use tokio_postgres::types::Type;
use uuid::Uuid;

use crate::attempt::Attempt;
use crate::env::Environment;
use crate::pipeline::Pipeline;
use crate::transaction::{Locked, Param, commit, lock, number, roll_back};
use crate::trouble::Trouble;

/// The claim id is drawn for this claim, so that a failover which forgets it never gives the same token twice.
pub(crate) const CLAIM: &str = "\
UPDATE amends.partition
   SET epoch = epoch + 1, claim_id = gen_random_uuid(), next_offset = coalesce(next_offset, $3), owner = $4,
       claimed_at = clock_timestamp()
 WHERE namespace = $1 AND partition = $2
RETURNING epoch, claim_id, next_offset";

/// Installs a new token.
pub(crate) async fn claim<E: Environment>(
    attempt: &Attempt<E>,
    pipeline: &Pipeline,
    partition: Partition,
) -> Result<(Token, Frontier), Trouble> {
    let session = attempt.session(false).await?;
    let namespace = pipeline.manifest.config().namespace();
    let (locked, ()) = lock(attempt, &session, namespace, partition, ready(Ok(()))).await?;
    if let Some(difference) = difference(pipeline, &locked) {
        return Err(Trouble::Broken(difference));
    }
    attempt.go_on()?;
    let (number, start) = (number(partition)?, pipeline.start.0);
    let params: [Param<'_>; 4] = [
        (&namespace, Type::TEXT),
        (&number, Type::INT4),
        (&start, Type::INT8),
        (&pipeline.owner, Type::TEXT),
    ];
    let row = session.client.query_typed_one(CLAIM, &params).await?;
    let claim_id: Uuid = row.try_get(1)?;
    let token = Token { epoch: row.try_get(0)?, claim_id: ClaimId(claim_id.as_u128()) };
    let frontier = Frontier(row.try_get(2)?);
    commit(attempt, &session, &locked.xid).await?;
    attempt.release(session, false);
    Ok((token, frontier))
}

/// What makes the namespace another one than this worker was started for.
fn difference(pipeline: &Pipeline, locked: &Locked) -> Option<String> {
    let config = pipeline.manifest.config();
    let differs = |member: &str, expected: &str, seen: &str| {
        Some(format!("{member} of namespace {} is {seen}, this worker has {expected}", config.namespace()))
    };
    let incarnation = config.source_incarnation().to_string();
    if locked.namespace != pipeline.namespace {
        return differs("the UUID", &pipeline.namespace.to_string(), &locked.namespace.to_string());
    }
    if locked.sink != pipeline.sink {
        return differs("the sink", &pipeline.sink, &locked.sink);
    }
    if locked.source_topic != pipeline.manifest.source_topic() {
        return differs("source_topic", pipeline.manifest.source_topic(), &locked.source_topic);
    }
    if locked.incarnation != incarnation {
        return differs("config.source_incarnation", &incarnation, &locked.incarnation);
    }
    if locked.digest != pipeline.digest {
        return differs("the config's digest", &hex(&pipeline.digest), &hex(&locked.digest));
    }
    None
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads token and frontier under the lock: whatever could still commit has ended then.
pub(crate) async fn observe<E: Environment>(
    attempt: &Attempt<E>,
    pipeline: &Pipeline,
    partition: Partition,
    fresh: bool,
) -> Result<(Option<Token>, Option<Frontier>), Trouble> {
    let session = attempt.session(fresh).await?;
    let namespace = pipeline.manifest.config().namespace();
    let (locked, ()) = lock(attempt, &session, namespace, partition, ready(Ok(()))).await?;
    roll_back(attempt, &session).await?;
    attempt.release(session, fresh);
    Ok((locked.token, locked.frontier))
}
