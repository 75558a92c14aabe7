//! Knows how a case has the production store carry out the reducer's commands, and how its answers become text.

use std::sync::Arc;

use amends_core::ids::{Frontier, Incarnation, Offset, Partition, TenureId, Token};
use amends_core::lifecycle::command::{Command, Range};
use amends_core::lifecycle::event::{Event, Failure, ProcessFailure};
use amends_core::source::manifest::{Config, Ledger, Manifest};
use amends_core::source::record::Record;
use amends_store::env::Environment;
use amends_store::pipeline::{BATCH_EFFECTS, LEDGER, Pipeline};
use amends_store::world::StoreWorld;
use amends_store::{Settings, Store, Target, namespace};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use uuid::Uuid;

use super::case::{Line, Word};
use super::shown::Names;
use super::statement::bytes;

/// A store with its namespace open.
pub(crate) struct Desk<E: Environment> {
    world: StoreWorld<E>,
    answers: mpsc::UnboundedReceiver<Event>,
    /// What it claimed last.
    token: Option<Token>,
}

const BUDGET_MS: u64 = 20_000;

impl<E: Environment> Desk<E> {
    /// Opens the namespace, and tells what came of it. `changes` replace members of its declaration, of which
    /// `batch_effects` is the store's own.
    pub(crate) async fn open(
        env: E,
        url: &str,
        name: &str,
        changes: &Value,
        names: &mut Names,
    ) -> Result<(Option<Self>, String), String> {
        let (manifest, batch_effects) = manifest(changes)?;
        let target = Target::parse(url).map_err(|error| error.to_string())?;
        let store = Store::new(env, target, Settings { application_name: name.to_owned(), sessions: 2 });
        let opened = match namespace::open(&store, &manifest, LEDGER).await {
            Ok(opened) => opened,
            Err(error) => return Ok((None, format!("{}: {error}", error.code()))),
        };
        let said = format!("opened {}", names.uuid(opened.uuid));
        let pipeline = Pipeline::ledger(&opened, manifest, name.to_owned(), batch_effects);
        let (sender, answers) = mpsc::unbounded_channel();
        let answer = Arc::new(move |event| {
            // A case that ends early does not listen any more.
            let _ = sender.send(event);
        });
        let world = StoreWorld::new(store, pipeline, answer);
        Ok((Some(Self { world, answers, token: None }), said))
    }

    /// Starts a command.
    pub(crate) fn command(&mut self, line: &Line) -> Result<(), String> {
        let number = |value: &Value| value.as_i64().ok_or_else(|| format!("{value} is no number"));
        let [Word::Json(partition), options @ ..] = &*line.words else {
            return Err("it names no partition".into());
        };
        let tenure = tenure(u32::try_from(number(partition)?).map_err(|error| error.to_string())?);
        let (mut within_ms, mut expected, mut records) = (BUDGET_MS, 0, None);
        for option in options {
            match option {
                Word::Option(name, value) if name == "within" => {
                    within_ms = u64::try_from(number(value)?).map_err(|error| error.to_string())?;
                }
                Word::Option(name, value) if name == "expected" => expected = number(value)?,
                Word::Option(name, value) if name == "records" => records = Some(read(value)?),
                _ => return Err(format!("{} takes within=, expected= and records=", line.name)),
            }
        }
        let command = match (&*line.name, &records) {
            ("claim", None) => Command::Claim { tenure, within_ms },
            ("observe", None) => Command::Observe { tenure, fresh: true, within_ms },
            ("process", Some(records)) => Command::Process {
                tenure,
                token: self.token.ok_or("it has claimed nothing")?,
                expected: Frontier(expected),
                range: range(records).ok_or("there is no record")?,
                attempt: 1,
                refused: false,
                within_ms,
            },
            _ => return Err("a store has claim, observe and process with records=".into()),
        };
        self.world.perform(&command, records);
        Ok(())
    }

    /// Cancels what is in flight for a partition.
    pub(crate) fn cancel(&mut self) {
        self.world.perform(&Command::Cancel { tenure: tenure(0) }, None);
    }

    /// The answer, when it is there.
    pub(crate) fn answer(&mut self, names: &mut Names) -> Option<String> {
        let event = self.answers.try_recv().ok()?;
        if let Event::Claimed { token, .. } = event {
            self.token = Some(token);
        }
        Some(said(&event, names))
    }
}

fn tenure(partition: u32) -> TenureId {
    TenureId { partition: Partition(partition), number: 1 }
}

/// The reply's class, with epoch and frontier.
fn said(event: &Event, names: &mut Names) -> String {
    let mut token = |token: &Option<Token>| match token {
        Some(token) => {
            format!("epoch={} claim={}", token.epoch, names.uuid(Uuid::from_u128(token.claim_id.0)))
        }
        None => "unclaimed".to_owned(),
    };
    let at = |frontier: &Option<Frontier>| {
        frontier.map_or_else(String::new, |frontier| format!(" frontier={}", frontier.0))
    };
    match event {
        Event::Claimed { token: mine, frontier, .. } => {
            format!("claimed {}{}", token(&Some(*mine)), at(&Some(*frontier)))
        }
        Event::Observed { token: seen, frontier, .. } => format!("observed {}{}", token(seen), at(frontier)),
        Event::Committed { .. } => "committed".to_owned(),
        Event::Fenced { by, .. } => format!("fenced by {}", token(by)),
        Event::Moved { frontier, .. } => format!("moved{}", at(frontier)),
        Event::ClaimUnknown { .. } | Event::CommitUnknown { .. } => "unknown".to_owned(),
        Event::ProcessFailed { failure: ProcessFailure::TooLarge { fit }, .. } => {
            format!("too-large fit={fit}")
        }
        Event::ProcessFailed { failure: ProcessFailure::Refused(_), .. } => "refused".to_owned(),
        Event::ProcessFailed { failure: ProcessFailure::Attempt(failure), .. }
        | Event::ClaimFailed { failure, .. }
        | Event::ObserveFailed { failure, .. } => match failure {
            Failure::Unreached(_) => "unreached".to_owned(),
            Failure::Again(_) => "again".to_owned(),
            Failure::Broken(_) => "broken".to_owned(),
        },
        _ => "no answer of a store".to_owned(),
    }
}

/// What every namespace of a case reads.
pub(crate) fn incarnation() -> Result<Incarnation, String> {
    "kafka:000102030405060708090a0b0c0d0e0f".parse().map_err(|_| "it is no incarnation".to_owned())
}

fn manifest(changes: &Value) -> Result<(Manifest, usize), String> {
    let mut declaration = json!({
        "ledger_origin": "2026-01-01",
        "stock_keys": [{
            "item": "widget", "location": "berlin", "opening_balance": 100, "low_threshold": 20, "partition": 0
        }],
    });
    let mut batch_effects = BATCH_EFFECTS;
    for (name, value) in changes.as_object().into_iter().flatten() {
        match value.as_u64() {
            Some(most) if name == "batch_effects" => {
                batch_effects = usize::try_from(most).unwrap_or(usize::MAX)
            }
            _ => declaration[name] = value.clone(),
        }
    }
    let ledger = Ledger::parse(declaration.to_string().as_bytes(), 2).map_err(|error| error.to_string())?;
    let config = Config::new("stock", incarnation()?, 2, ledger).map_err(|error| error.to_string())?;
    Ok((Manifest::new("orders", config).map_err(|error| error.to_string())?, batch_effects))
}

/// Records as `"0 T1 r1 assert 2026-01-05 -3"` or `"0 T1 r2 cancel"`, of the widget in berlin; or raw as
/// `[0, "\\x00", null]`.
fn read(value: &Value) -> Result<Arc<[Record]>, String> {
    let records = value.as_array().ok_or("records= is a list")?;
    records.iter().map(|one| record(one).ok_or_else(|| format!("{one} is no record"))).collect()
}

fn record(value: &Value) -> Option<Record> {
    if let Some([offset, key, value]) = value.as_array().map(Vec::as_slice) {
        let part = |part: &Value| part.as_str().map_or(Some(None), |text| bytes(text).map(Some));
        return Some(Record { offset: Offset(offset.as_i64()?), key: part(key)?, value: part(value)? });
    }
    let words: Vec<&str> = value.as_str()?.split(' ').collect();
    let [offset, id, revision, action, rest @ ..] = &*words else { return None };
    let key = json!({ "item": "widget", "location": "berlin" });
    let mut content = json!({
        "schema_version": 1, "transaction_id": id, "revision": revision.strip_prefix('r')?.parse::<i64>().ok()?,
        "action": action, "item": "widget", "location": "berlin",
    });
    if let [date, quantity] = rest {
        content["business_date"] = json!(date);
        content["quantity"] = json!(quantity.parse::<i64>().ok()?);
    }
    let bytes = |json: Value| Some(json.to_string().into_bytes());
    Some(Record { offset: Offset(offset.parse().ok()?), key: bytes(key), value: bytes(content) })
}

fn range(records: &[Record]) -> Option<Range> {
    let (first, last) = (records.first()?.offset, records.last()?.offset);
    Some(Range { from: 0, to: u32::try_from(records.len()).ok()?, first, last })
}
