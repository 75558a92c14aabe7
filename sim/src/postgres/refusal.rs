//! Knows how the server says no: severity, SQLSTATE, and which constraint or column it speaks of.

use super::locks::Key;

/// An ERROR or FATAL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Refusal {
    /// It ends the session.
    pub(super) is_fatal: bool,
    /// The SQLSTATE.
    pub(super) code: &'static str,
    pub(super) message: &'static str,
    pub(super) table: Option<&'static str>,
    pub(super) column: Option<&'static str>,
    pub(super) constraint: Option<&'static str>,
}

impl Refusal {
    pub(super) fn error(code: &'static str, message: &'static str) -> Self {
        Self { is_fatal: false, code, message, table: None, column: None, constraint: None }
    }

    pub(super) fn fatal(code: &'static str, message: &'static str) -> Self {
        Self { is_fatal: true, ..Self::error(code, message) }
    }

    /// A row that its table does not take.
    pub(super) fn row(code: &'static str, table: &'static str, constraint: &'static str) -> Self {
        let message = match code {
            "23503" => "a row violates a foreign key constraint",
            "23505" => "duplicate key value violates a unique constraint",
            _ => "a row violates a check constraint",
        };
        Self { table: Some(table), constraint: Some(constraint), ..Self::error(code, message) }
    }

    /// What a fault says by its code.
    pub(super) fn of(code: &'static str) -> Self {
        match code {
            "40001" => Self::error(code, "could not serialize access due to concurrent update"),
            "40P01" => Self::error(code, "deadlock detected"),
            "53100" => Self::error(code, "could not extend file: No space left on device"),
            "53300" => Self::fatal(code, "sorry, too many clients already"),
            "57P01" => Self::fatal(code, "terminating connection due to administrator command"),
            _ => Self::error(code, "a fault"),
        }
    }
}

/// Why a statement has no answer yet, or never will.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Halt {
    /// It failed.
    Refused(Refusal),
    /// Another transaction holds this row. The statement is carried out again when it has ended.
    Waits(Key),
    /// It is a COMMIT, and takes so many milliseconds until it is on the disk.
    Lands(u64),
}

impl From<Refusal> for Halt {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// A column that must have a value.
pub(super) fn required<T>(value: Option<T>, table: &'static str, column: &'static str) -> Result<T, Refusal> {
    value.ok_or(Refusal {
        table: Some(table),
        column: Some(column),
        ..Refusal::error("23502", "null value in a column violates not-null constraint")
    })
}
