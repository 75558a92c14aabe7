//! Knows how a case says a production statement: its text by its name, the types that the store declares for its
//! parameters, and how JSON becomes one of them.

use amends_core::source::business_date::BusinessDate;
use amends_store::statements::OF_A_WORKER;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio_postgres::types::{ToSql, Type};
use uuid::Uuid;

/// Names and parameter types of the statements, as the store sends them.
const PARAMETERS: [(&str, &[&str]); 21] = [
    ("set-up", &["text", "text", "text", "text", "text"]),
    ("create-namespace", &["text", "text", "text", "text", "text", "bytea"]),
    ("find-namespace", &["text"]),
    ("create-partitions", &["text", "int4"]),
    ("begin", &[]),
    ("limits", &["text", "text", "text"]),
    ("lock", &["text", "int4"]),
    ("read", &["text", "int4"]),
    ("commit", &[]),
    ("status", &["text"]),
    ("rollback", &[]),
    ("claim", &["text", "int4", "int8", "text"]),
    ("heads", &["text", "int4", "text[]"]),
    ("positions", &["text", "text[]", "text[]", "date[]", "date[]", "int8"]),
    (
        "insert-evidence",
        &["text", "int4", "int8[]", "text[]", "text[]", "int8[]", "bytea[]", "bytea[]", "int8"],
    ),
    ("upsert-heads", &["text", "int4", "text[]", "int8[]", "text[]", "text[]", "date[]", "int8[]"]),
    ("upsert-positions", &["text", "text[]", "text[]", "date[]", "int8[]", "int8[]", "int8[]", "text[]"]),
    (
        "insert-outbox",
        &[
            "text", "int4", "int8[]", "date[]", "text[]", "text[]", "int8[]", "int8[]", "text[]", "text[]",
            "int8[]", "text[]",
        ],
    ),
    ("advance", &["text", "int4", "int8", "uuid", "int8", "int8", "int8", "int8"]),
    ("has-history", &["text"]),
    ("applied-migrations", &[]),
];

/// What the store sends by the simple protocol.
const SIMPLE: [&str; 3] = ["begin", "commit", "rollback"];

/// A parameter and the type that is declared for it.
pub(crate) type Bound = (Box<dyn ToSql + Sync + Send>, Type);

/// A statement with its parameters.
pub(crate) struct Said {
    pub(crate) name: &'static str,
    pub(crate) text: &'static str,
    pub(crate) parameters: Vec<Bound>,
}

impl Said {
    /// Binds values to the statement of this name.
    pub(crate) fn new(name: &str, values: &[Value]) -> Result<Self, String> {
        let (name, text) = named(name).ok_or_else(|| format!("{name} is no statement of a worker"))?;
        let types = PARAMETERS.iter().find(|(known, _)| *known == name).map_or(&[][..], |(_, types)| types);
        if types.len() != values.len() {
            return Err(format!("{name} takes {} parameters, not {}", types.len(), values.len()));
        }
        let parameters = values.iter().zip(types).map(|(value, ty)| bound(value.clone(), ty)).collect();
        let parameters: Result<Vec<Bound>, _> = parameters;
        Ok(Self { name, text, parameters: parameters.map_err(|why| format!("{name}: {why}"))? })
    }

    /// Whether the store sends it by the simple protocol.
    pub(crate) fn is_simple(&self) -> bool {
        SIMPLE.contains(&self.name)
    }
}

fn named(name: &str) -> Option<(&'static str, &'static str)> {
    OF_A_WORKER.into_iter().find(|(known, _)| *known == name)
}

/// `NAME SHA256`, of the production text of today.
pub(crate) fn digest(name: &str) -> Option<String> {
    let (_, text) = named(name)?;
    let hex = Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    Some(format!("{name} {hex}"))
}

fn bound(value: Value, ty: &str) -> Result<Bound, String> {
    Ok(match ty {
        "text" => (Box::new(read::<Option<String>>(value)?), Type::TEXT),
        "int4" => (Box::new(read::<Option<i32>>(value)?), Type::INT4),
        "int8" => (Box::new(read::<Option<i64>>(value)?), Type::INT8),
        "bytea" => (Box::new(read_as(value, bytes)?), Type::BYTEA),
        "uuid" => (Box::new(read_as(value, |text| text.parse::<Uuid>().ok())?), Type::UUID),
        "text[]" => (Box::new(read::<Option<Vec<Option<String>>>>(value)?), Type::TEXT_ARRAY),
        "int8[]" => (Box::new(read::<Option<Vec<Option<i64>>>>(value)?), Type::INT8_ARRAY),
        "bytea[]" => (Box::new(read_all(value, bytes)?), Type::BYTEA_ARRAY),
        "date[]" => (
            Box::new(read_all(value, |text| Some(text.parse::<BusinessDate>().ok()?.date()))?),
            Type::DATE_ARRAY,
        ),
        other => return Err(format!("{other} is no type of a parameter")),
    })
}

fn read<T: DeserializeOwned>(value: Value) -> Result<T, String> {
    serde_json::from_value(value).map_err(|error| error.to_string())
}

fn read_as<T>(value: Value, of: impl Fn(&str) -> Option<T>) -> Result<Option<T>, String> {
    let text: Option<String> = read(value)?;
    text.map(|text| of(&text).ok_or_else(|| format!("{text} is not of its type"))).transpose()
}

fn read_all<T>(value: Value, of: impl Fn(&str) -> Option<T>) -> Result<Vec<Option<T>>, String> {
    let values: Vec<Value> = read(value)?;
    values.into_iter().map(|value| read_as(value, &of)).collect()
}

/// The bytes of `\x00ff`.
pub(crate) fn bytes(text: &str) -> Option<Vec<u8>> {
    let hex = text.strip_prefix("\\x")?.as_bytes();
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    hex.chunks(2).map(|pair| Some(digit(*pair.first()?)? << 4 | digit(*pair.get(1)?)?)).collect()
}
