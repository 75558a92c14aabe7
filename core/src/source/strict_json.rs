//! Knows JSON without any of the liberties that readers take with it: one value, no name twice, no lone surrogate,
//! bounded nesting, and numbers as they are written.
//!
//! `serde_json` checks the grammar, level by level over [`RawValue`]: reading into its own `Value` would keep the last
//! of two equal names and turn numbers into floats.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// How many levels of objects and arrays a document of ours may have, the outermost being level 1.
pub const LEVELS: usize = 16;

/// A JSON value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Json<'a> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number as it is written.
    Number(&'a str),
    /// A string, unescaped.
    String(String),
    /// An array.
    Array(Vec<Json<'a>>),
    /// An object, by unescaped name.
    Object(BTreeMap<String, Json<'a>>),
}

/// A number that is written without fraction and exponent, and is not `-0`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Whole {
    /// It has 64 bits.
    Fits(i64),
    /// It has more.
    Beyond,
}

/// Why a text is not strict JSON. Prints as `config.stock_keys[1].item occurs twice`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    path: String,
    why: String,
}

impl Fault {
    fn new(why: impl Into<String>) -> Self {
        Self { path: String::new(), why: why.into() }
    }

    /// A fault that is found behind the grammar; `why` follows the path in the sentence.
    #[must_use]
    pub fn at(path: &str, why: impl Into<String>) -> Self {
        Self { path: path.to_owned(), why: why.into() }
    }

    fn below(mut self, parent: &str) -> Self {
        self.path = join(parent, &self.path);
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.path.is_empty() { "it" } else { &self.path };
        write!(f, "{what} {}", self.why)
    }
}

impl std::error::Error for Fault {}

/// The path of `child` below `parent`: `config` and `stock_keys` give `config.stock_keys`; either may be empty.
#[must_use]
pub fn join(parent: &str, child: &str) -> String {
    let between = if parent.is_empty() || child.is_empty() || child.starts_with('[') { "" } else { "." };
    format!("{parent}{between}{child}")
}

/// A text in quotes, cut after 40 characters.
#[must_use]
pub fn quoted(text: &str) -> String {
    let cut = if text.chars().nth(40).is_some() { "…" } else { "" };
    format!("{:?}{cut}", text.chars().take(40).collect::<String>())
}

/// A member's name as part of a path: bare when it is a plain word.
fn segment(name: &str) -> String {
    let plain =
        (1..=40).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if plain { name.to_owned() } else { quoted(name) }
}

/// Reads one JSON value of at most `levels` levels.
///
/// # Errors
/// When the bytes are anything else.
pub fn read(bytes: &[u8], levels: usize) -> Result<Json<'_>, Fault> {
    let text = std::str::from_utf8(bytes).map_err(|_| Fault::new("is not UTF-8"))?;
    walk(parse(text)?, levels)
}

/// The members of an object as they are written, for a text that [`read`] accepts. Empty for any other value.
#[must_use]
pub fn raw_members(text: &str) -> BTreeMap<String, &str> {
    let members: Members<'_> = serde_json::from_str(text).unwrap_or_default();
    members.0.into_iter().map(|(name, raw)| (name, raw.get())).collect()
}

/// `left` counts the levels that may still open; the recursion is as deep as it is at first.
fn walk(raw: &RawValue, left: usize) -> Result<Json<'_>, Fault> {
    let text = raw.get();
    match text.as_bytes().first() {
        Some(b'n') => Ok(Json::Null),
        Some(b't') => Ok(Json::Bool(true)),
        Some(b'f') => Ok(Json::Bool(false)),
        Some(b'"') => parse_owned(text).map(Json::String),
        Some(b'[' | b'{') if left == 0 => Err(Fault::new("is nested too deeply")),
        Some(b'[') => {
            let items: Vec<&RawValue> = parse(text)?;
            let walked = items
                .into_iter()
                .enumerate()
                .map(|(i, item)| walk(item, left - 1).map_err(|f| f.below(&format!("[{i}]"))));
            walked.collect::<Result<_, _>>().map(Json::Array)
        }
        Some(b'{') => {
            let members: Members<'_> = parse(text)?;
            let mut object = BTreeMap::new();
            for (name, member) in members.0 {
                let value = walk(member, left - 1).map_err(|f| f.below(&segment(&name)))?;
                let path = segment(&name);
                if object.insert(name, value).is_some() {
                    return Err(Fault::new("occurs twice").below(&path));
                }
            }
            Ok(Json::Object(object))
        }
        _ => Ok(Json::Number(text)),
    }
}

fn not_json(error: &serde_json::Error) -> Fault {
    Fault::new(format!("is not JSON: {error}"))
}

fn parse<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, Fault> {
    serde_json::from_str(text).map_err(|error| not_json(&error))
}

/// A raw string may still hold a lone surrogate: only unescaping finds it.
fn parse_owned<T: DeserializeOwned>(text: &str) -> Result<T, Fault> {
    serde_json::from_str(text).map_err(|error| not_json(&error))
}

/// The members of an object that has exactly `names`, in their order.
///
/// # Errors
/// When `json` is anything else, naming the first member that is wrong by its path below `path`.
pub fn exactly<'a, const N: usize>(
    path: &str,
    json: Json<'a>,
    names: [&str; N],
) -> Result<[Json<'a>; N], Fault> {
    let Json::Object(mut members) = json else { return Err(json.is_not(path, "an object")) };
    if let Some(name) = members.keys().find(|name| !names.contains(&name.as_str())) {
        return Err(Fault::new("is unknown").below(&segment(name)).below(path));
    }
    let mut found = Vec::with_capacity(N);
    for name in names {
        match members.remove(name) {
            Some(member) => found.push(member),
            None => return Err(Fault::at(&join(path, name), "is missing")),
        }
    }
    found.try_into().map_err(|_| Fault::at(path, "is not what it was"))
}

/// The members of one object in their order, with the names that occur twice.
#[derive(Default)]
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

impl Json<'_> {
    /// The number, when this is one that is written as a whole number.
    #[must_use]
    pub fn whole(&self) -> Option<Whole> {
        let &Json::Number(text) = self else { return None };
        if text == "-0" || text.contains(['.', 'e', 'E']) {
            return None;
        }
        Some(text.parse().map_or(Whole::Beyond, Whole::Fits))
    }

    /// The fault that the value at `path` is of another kind than `wanted`.
    #[must_use]
    pub fn is_not(&self, path: &str, wanted: &str) -> Fault {
        Fault::at(path, format!("is {}, not {wanted}", self.kind()))
    }

    /// What this is, for an error text that shows no string of the document.
    #[must_use]
    pub fn kind(&self) -> String {
        match self {
            Json::Null => "null".to_owned(),
            Json::Bool(truth) => truth.to_string(),
            Json::Number(text) if text.len() <= 20 => (*text).to_owned(),
            Json::Number(_) => "a long number".to_owned(),
            Json::String(_) => "a string".to_owned(),
            Json::Array(_) => "an array".to_owned(),
            Json::Object(_) => "an object".to_owned(),
        }
    }
}
