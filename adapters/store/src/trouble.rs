//! Knows what a failure of PostgreSQL means, by SQLSTATE and severity, never by message text; and how to say it without
//! showing anybody's data.

use std::error::Error as _;
use std::fmt;

use amends_core::lifecycle::event::Failure;
use tokio_postgres::Error;
use tokio_postgres::error::Severity;

/// What went wrong inside an operation, sorted by what happens next. The text is the reason only.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Trouble {
    /// Nothing was sent.
    Unreached(String),
    /// It had no effect and may be made again.
    Again(String),
    /// It had no effect: PostgreSQL refuses some record's data.
    Refused(String),
    /// It had no effect and never will.
    Broken(String),
    /// COMMIT was handed over and its outcome is not known.
    Unknown(String),
}

impl Trouble {
    /// Puts what could not be done in front of the reason.
    pub(crate) fn into_failure(self, what: &str) -> Failure {
        match self {
            Self::Unreached(why) => Failure::Unreached(format!("{what}: {why}")),
            Self::Again(why) | Self::Unknown(why) => Failure::Again(format!("{what}: {why}")),
            Self::Refused(why) | Self::Broken(why) => Failure::Broken(format!("{what}: {why}")),
        }
    }

    pub(crate) fn why(&self) -> &str {
        match self {
            Self::Unreached(why)
            | Self::Again(why)
            | Self::Refused(why)
            | Self::Broken(why)
            | Self::Unknown(why) => why,
        }
    }
}

/// A statement's failure before COMMIT was handed over: it had no effect.
impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        let why = describe(&error);
        let Some(db) = error.as_db_error() else {
            // Sockets and torn messages are outages; a row that does not read as expected is a mistake.
            let is_wire = error.is_closed()
                || error.source().is_some_and(<dyn std::error::Error>::is::<std::io::Error>);
            return if is_wire { Self::Again(why) } else { Self::Broken(why) };
        };
        // FATAL and PANIC end the session, whatever their class: an outage.
        if db.parsed_severity() != Some(Severity::Error) {
            return Self::Again(why);
        }
        match class(db.code().code()) {
            "22" | "23" | "54" => Self::Refused(why),
            // A feature, statement, right, database or table that is not there: a mistake of the program or its set-up.
            "0A" | "26" | "28" | "3D" | "3F" | "42" => Self::Broken(why),
            _ => Self::Again(why),
        }
    }
}

/// The first two characters of a SQLSTATE.
pub(crate) fn class(code: &str) -> &str {
    code.get(..2).unwrap_or(code)
}

/// In an aborted transaction every statement but the first failure answers this; it says nothing.
const ABORTED_BEFORE: &str = "25P02";

/// The first failure of a pipeline that says something.
pub(crate) fn first_failure(results: impl IntoIterator<Item = Option<Error>>) -> Option<Error> {
    let mut echo = None;
    for error in results.into_iter().flatten() {
        if error.code().is_none_or(|code| code.code() != ABORTED_BEFORE) {
            return Some(error);
        }
        echo.get_or_insert(error);
    }
    echo
}

/// Says a failure without its message, detail or hint: these may quote a record.
pub(crate) fn describe(error: &Error) -> String {
    let Some(db) = error.as_db_error() else {
        if error.is_closed() {
            return "the connection was closed".to_owned();
        }
        // The client's own errors speak of sockets, certificates and types, never of values.
        return error.source().map_or_else(|| error.to_string(), |source| format!("{error}: {source}"));
    };
    let code = db.code().code();
    let mut text = match meaning(code) {
        Some(meaning) => format!("{meaning} (SQLSTATE {code}"),
        None => format!("postgres answered with an error (SQLSTATE {code}"),
    };
    if let Some(constraint) = db.constraint() {
        text.push_str(", constraint ");
        text.push_str(constraint);
    }
    text.push(')');
    text
}

fn meaning(code: &str) -> Option<&'static str> {
    Some(match code {
        "25006" => "the server is read-only",
        "25P03" | "25P04" => "the transaction was idle or open for too long",
        "28000" | "28P01" => "postgres refused the user or the password",
        "3D000" => "there is no such database",
        "40001" | "40P01" => "postgres chose this transaction to give way",
        "42501" => "the user lacks a privilege",
        "3F000" | "42P01" | "42703" => "the schema is not as it should be; run amends migrate",
        "53100" => "the server's disk is full",
        "53300" => "the server has no connection left",
        "55P03" => "another session held the row's lock for too long",
        "57014" => "the statement was cancelled or took too long",
        "57P01" | "57P02" => "the server ended the session",
        "57P03" => "the server is starting up or shutting down",
        _ => return None,
    })
}

/// A failure of a verb, sorted by what happens next. Prints as what could not be done, to what, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StoreError {
    /// No server could be reached; nothing was sent.
    Unreached(String),
    /// An outage: trying again may help.
    Again(String),
    /// Something that was asked for is not so, and asking again will not help.
    Refused {
        /// The word for it in logs and docs/operations.md.
        code: &'static str,
        /// What, and why.
        why: String,
    },
    /// It will not get better by itself.
    Broken(String),
}

impl StoreError {
    /// The word for it in logs and docs/operations.md.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unreached(_) | Self::Again(_) => "again",
            Self::Refused { code, .. } => code,
            Self::Broken(_) => "broken",
        }
    }

    pub(crate) fn new(what: &str, trouble: Trouble) -> Self {
        match trouble {
            Trouble::Unreached(why) => Self::Unreached(format!("{what}: {why}")),
            Trouble::Again(why) | Trouble::Unknown(why) => Self::Again(format!("{what}: {why}")),
            Trouble::Refused(why) | Trouble::Broken(why) => Self::Broken(format!("{what}: {why}")),
        }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreached(text)
            | Self::Again(text)
            | Self::Broken(text)
            | Self::Refused { why: text, .. } => f.write_str(text),
        }
    }
}

impl std::error::Error for StoreError {}
