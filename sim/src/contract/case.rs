//! Knows how a case is written: a comment that says what it shows, then steps, a line each.
//!
//! | line | does |
//! |---|---|
//! | `namespace` | opens session `setup` and makes namespace `stock` with two partitions |
//! | `open a b`, `close a`, `cut a` | opens sessions; takes leave of one; cuts its wire without a word |
//! | `store m {…}` | opens the namespace with the production store; the JSON changes its declaration |
//! | `a lock "stock" 0` | session a sends the statement `lock` with these parameters and waits for its reply |
//! | `a pipeline`, lines, `end` | the same with several statements in one trip |
//! | `m claim 0`, `m observe 0` | the store carries out a command |
//! | `m process 0 expected=0 records=[…]` | the same, with the token that m claimed last |
//! | … ` &` | goes on without the reply |
//! | `a waits`, `a answers` | the reply is not there yet; it is waited for now |
//! | `cancel a`, `terminate a` | cancels what is in flight; ends the session from another one |
//! | `wait 300ms` | lets time pass |
//!
//! A parameter is JSON (bytes as `"\\x00ff"`), or the name under which an earlier reply shows a value that no two servers
//! have equal: `uuid-2`, `xid-1`. The text `"noise-3000"` stands for so many characters that do not compress.

use serde_json::{Deserializer, Value};

use super::shown::noise;

/// One step.
pub(crate) struct Step {
    /// As it stands in the case.
    pub(crate) text: String,
    pub(crate) act: Act,
}

/// What one step does, and the client that does it.
pub(crate) enum Act {
    Open(Vec<String>),
    Close(String),
    Cut(String),
    Store(String, Value),
    /// In one trip.
    Say(String, Vec<Line>, Reply),
    Command(String, Line, Reply),
    Waits(String),
    Answers(String),
    Cancel(String),
    Terminate(String),
    Wait(u64),
}

/// Whether the case goes on without it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reply {
    Awaited,
    Left,
}

/// A statement or command with what stands behind it.
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) words: Vec<Word>,
}

/// A parameter.
#[derive(Clone)]
pub(crate) enum Word {
    Json(Value),
    /// `uuid-1`.
    Name(String),
    /// `expected=0`.
    Option(String, Value),
}

const NAMESPACE: &str = r#"open setup
setup create-namespace "stock" "ledger" "orders" "kafka:000102030405060708090a0b0c0d0e0f" "{}" "\\x0000000000000000000000000000000000000000000000000000000000000000"
setup create-partitions "stock" 2"#;

/// What a case does.
pub(crate) fn parse(text: &str) -> Result<Vec<Step>, String> {
    let mut steps = Vec::new();
    let mut stores = Vec::new();
    let text = text.lines().map(|line| if line.trim() == "namespace" { NAMESPACE } else { line });
    let text = text.collect::<Vec<_>>().join("\n");
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    while let Some(line) = lines.next() {
        let (mut text, mut whole) = (line.to_owned(), Vec::new());
        if line.ends_with(" pipeline") {
            for line in lines.by_ref() {
                text = format!("{text}\n| {line}");
                if line.split(' ').next() == Some("end") {
                    break;
                }
                whole.push(line);
            }
        }
        let act = act(&text, &whole, &mut stores).map_err(|why| format!("{line}: {why}"))?;
        steps.push(Step { text, act });
    }
    Ok(steps)
}

fn act(text: &str, pipeline: &[&str], stores: &mut Vec<String>) -> Result<Act, String> {
    let (text, reply) = match text.strip_suffix(" &") {
        Some(text) => (text, Reply::Left),
        None => (text, Reply::Awaited),
    };
    let (first, rest) = text.split_once(' ').ok_or("it says too little")?;
    let client = rest.to_owned();
    Ok(match (first, rest) {
        ("open", _) => Act::Open(rest.split(' ').map(str::to_owned).collect()),
        ("close", _) => Act::Close(client),
        ("cut", _) => Act::Cut(client),
        ("cancel", _) => Act::Cancel(client),
        ("terminate", _) => Act::Terminate(client),
        ("wait", _) => {
            let ms = rest.strip_suffix("ms").and_then(|ms| ms.parse().ok());
            Act::Wait(ms.ok_or("a wait is of the form 300ms")?)
        }
        ("store", _) => {
            let (name, changes) = rest.split_once(' ').unwrap_or((rest, "{}"));
            stores.push(name.to_owned());
            Act::Store(name.to_owned(), serde_json::from_str(changes).map_err(|error| error.to_string())?)
        }
        (client, "waits") => Act::Waits(client.to_owned()),
        (client, "answers") => Act::Answers(client.to_owned()),
        (client, _) if stores.iter().any(|store| store == client) => {
            Act::Command(client.to_owned(), line(rest)?, reply)
        }
        (client, _) if !pipeline.is_empty() => {
            let lines = pipeline.iter().map(|text| line(text)).collect::<Result<_, _>>()?;
            Act::Say(client.to_owned(), lines, reply)
        }
        (client, _) => Act::Say(client.to_owned(), vec![line(rest)?], reply),
    })
}

fn line(text: &str) -> Result<Line, String> {
    let (name, mut rest) = text.split_once(' ').unwrap_or((text, ""));
    let mut words = Vec::new();
    loop {
        rest = rest.trim_start();
        if rest.is_empty() {
            return Ok(Line { name: name.to_owned(), words });
        }
        let mut values = Deserializer::from_str(rest).into_iter::<Value>();
        if let Some(Ok(value)) = values.next() {
            words.push(Word::Json(loud(value)));
            rest = &rest[values.byte_offset()..];
        } else if let Some((name, value)) = option(rest) {
            let mut values = Deserializer::from_str(value).into_iter::<Value>();
            let Some(Ok(json)) = values.next() else { return Err(format!("{name}= has no value")) };
            words.push(Word::Option(name.to_owned(), json));
            rest = &value[values.byte_offset()..];
        } else {
            let (word, behind) = rest.split_once(' ').unwrap_or((rest, ""));
            words.push(Word::Name(word.to_owned()));
            rest = behind;
        }
    }
}

fn option(rest: &str) -> Option<(&str, &str)> {
    let (name, value) = rest.split_once('=')?;
    name.chars().all(|c| c.is_ascii_lowercase()).then_some((name, value))
}

/// With all noise written out.
fn loud(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(noise(&text).unwrap_or(text)),
        Value::Array(members) => members.into_iter().map(loud).collect(),
        other => other,
    }
}
