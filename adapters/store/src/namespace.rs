//! Knows how a namespace comes to be in PostgreSQL, and that it never changes afterwards.

use amends_core::source::manifest::{Config, Manifest};
use tokio_postgres::types::Type;
use uuid::Uuid;

use crate::env::Environment;
use crate::pool::Store;
use crate::session::{Purpose, Session};
use crate::transaction::Param;
use crate::trouble::{StoreError, Trouble};
use crate::verb::{SHORT_MS, bounded};

/// The first wins.
pub(crate) const CREATE: &str = "\
INSERT INTO amends.namespace (name, sink, source_topic, incarnation, config, digest)
VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (name) DO NOTHING";

pub(crate) const FIND: &str = "\
SELECT uuid, sink, source_topic, config, digest FROM amends.namespace WHERE name = $1";

/// In front of every first claim: a lock must find its row.
pub(crate) const CREATE_PARTITIONS: &str = "\
INSERT INTO amends.partition (namespace, partition)
SELECT $1, generate_series(0, $2 - 1) ON CONFLICT (namespace, partition) DO NOTHING";

/// A namespace that exists in PostgreSQL and is what the manifest says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Namespace {
    /// Its name.
    pub name: String,
    /// What PostgreSQL drew for it.
    pub uuid: Uuid,
}

impl Namespace {
    /// The consumer group of its workers: two databases never share one.
    #[must_use]
    pub fn group_id(&self) -> String {
        let uuid = self.uuid.simple().to_string();
        format!("amends-{}-{}", self.name, uuid.get(..12).unwrap_or(&uuid))
    }
}

/// Creates the namespace, or compares it with the one that is there; then sees to the rows of its partitions.
///
/// # Errors
/// [`StoreError::Refused`] with code `manifest` when it was created with another manifest, naming the member.
pub async fn open<E: Environment>(
    store: &Store<E>,
    manifest: &Manifest,
    sink: &str,
) -> Result<Namespace, StoreError> {
    let what = format!("could not open namespace {}", manifest.config().namespace());
    bounded(store.env(), &what, SHORT_MS, async {
        let session = store.open(Purpose::Worker).await?;
        let result = create(&session, manifest, sink).await;
        session.close();
        result
    })
    .await?
    .map_err(|difference| refused(&what, &difference))
}

/// Finds the namespace of a manifest, for verbs that only read.
///
/// # Errors
/// [`StoreError::Refused`] with code `manifest` when it is not there, or was created with another manifest.
pub async fn find<E: Environment>(
    store: &Store<E>,
    manifest: &Manifest,
    sink: &str,
) -> Result<Namespace, StoreError> {
    let what = format!("could not read namespace {}", manifest.config().namespace());
    bounded(store.env(), &what, SHORT_MS, async {
        let session = store.open(Purpose::Reader).await?;
        let result = compare(&session, manifest, sink).await;
        session.close();
        result
    })
    .await?
    .map_err(|difference| refused(&what, &difference))
}

fn refused(what: &str, difference: &str) -> StoreError {
    StoreError::Refused { code: "manifest", why: format!("{what}: {difference}") }
}

async fn create(
    session: &Session,
    manifest: &Manifest,
    sink: &str,
) -> Result<Result<Namespace, String>, Trouble> {
    let config = manifest.config();
    let (name, incarnation) = (config.namespace(), config.source_incarnation().to_string());
    let (canonical, digest) = (config.canonical(), config.digest());
    let partitions =
        i32::try_from(config.partitions()).map_err(|_| Trouble::Broken("too many partitions".to_owned()))?;
    session.forget_warnings();
    let params: [Param<'_>; 6] = [
        (&name, Type::TEXT),
        (&sink, Type::TEXT),
        (&manifest.source_topic(), Type::TEXT),
        (&incarnation, Type::TEXT),
        (&canonical, Type::TEXT),
        (&digest.as_slice(), Type::BYTEA),
    ];
    session.client.execute_typed(CREATE, &params).await?;
    let namespace = match compare(session, manifest, sink).await? {
        Ok(namespace) => namespace,
        Err(difference) => return Ok(Err(difference)),
    };
    let params: [Param<'_>; 2] = [(&name, Type::TEXT), (&partitions, Type::INT4)];
    session.client.execute_typed(CREATE_PARTITIONS, &params).await?;
    if session.was_warned() {
        return Err(Trouble::Again("a warning came before the answer: a standby may not have it".to_owned()));
    }
    Ok(Ok(namespace))
}

/// The namespace, or what makes it another one than the manifest's.
pub(crate) async fn compare(
    session: &Session,
    manifest: &Manifest,
    sink: &str,
) -> Result<Result<Namespace, String>, Trouble> {
    let config = manifest.config();
    let name = config.namespace();
    let Some(row) = session.client.query_typed_opt(FIND, &[(&name, Type::TEXT)]).await? else {
        return Ok(Err("it does not exist in this database yet; amends run creates it".to_owned()));
    };
    let (stored_sink, topic): (String, String) = (row.try_get(1)?, row.try_get(2)?);
    let (stored, digest): (String, Vec<u8>) = (row.try_get(3)?, row.try_get(4)?);
    if digest != config.digest() {
        let difference = Config::parse(stored.as_bytes()).ok().and_then(|stored| config.difference(&stored));
        return Ok(Err(difference.unwrap_or_else(|| "it was created with another config".to_owned())));
    }
    if stored_sink != sink {
        return Ok(Err(format!("the sink is {sink}, the namespace was created with {stored_sink}")));
    }
    if topic != manifest.source_topic() {
        let mine = manifest.source_topic();
        return Ok(Err(format!("source_topic is {mine}, the namespace was created with {topic}")));
    }
    Ok(Ok(Namespace { name: name.to_owned(), uuid: row.try_get(0)? }))
}
