//! Knows the verdicts of the ledger: one word each, which evidence keeps and every reader sees.

use std::fmt;
use std::str::FromStr;

/// What was decided about one record. Prints as its word, such as `MALFORMED_JSON`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Code {
    /// Rule 1: not UTF-8, not one JSON object, a duplicate name, nested over 16 levels, over 1 MiB, or no value.
    MalformedJson,
    /// Rule 2: `schema_version` is an integer other than 1.
    UnsupportedSchema,
    /// Rule 3: a member missing, unknown, null or of the wrong type.
    MalformedEnvelope,
    /// Rule 4: a member outside of its bounds.
    InvalidField,
    /// Rule 5: the manifest does not declare the stock.
    UnknownStockKey,
    /// Rule 6: the record key does not name the value's stock.
    KeyMismatch,
    /// Rule 7: the record lies on another partition than its stock.
    Routing,
    /// Rule 8: the business date lies before the ledger's origin.
    BeforeOrigin,
    /// Rule 9: the transaction exists under another stock.
    KeyChange,
    /// Rule 10: the revision is below the transaction's head.
    Stale,
    /// Rule 11: the head again.
    Duplicate,
    /// Rule 12: the head's revision with another content.
    Conflict,
    /// Rule 13: a resulting position would leave ±(2^53-1).
    BalanceOverflow,
    /// Rule 14: the first assert of a transaction.
    Applied,
    /// Rule 14: a higher assert over a live head.
    Corrected,
    /// Rule 14: a higher assert over a cancelled head.
    Reinstated,
    /// Rule 14: a cancel.
    Cancelled,
    /// PostgreSQL refused the record's data, which should not happen.
    RefusedByStore,
}

impl Code {
    /// Every code, in the order of the rules.
    pub const ALL: [Self; 18] = [
        Self::MalformedJson,
        Self::UnsupportedSchema,
        Self::MalformedEnvelope,
        Self::InvalidField,
        Self::UnknownStockKey,
        Self::KeyMismatch,
        Self::Routing,
        Self::BeforeOrigin,
        Self::KeyChange,
        Self::Stale,
        Self::Duplicate,
        Self::Conflict,
        Self::BalanceOverflow,
        Self::Applied,
        Self::Corrected,
        Self::Reinstated,
        Self::Cancelled,
        Self::RefusedByStore,
    ];

    /// The word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MalformedJson => "MALFORMED_JSON",
            Self::UnsupportedSchema => "UNSUPPORTED_SCHEMA",
            Self::MalformedEnvelope => "MALFORMED_ENVELOPE",
            Self::InvalidField => "INVALID_FIELD",
            Self::UnknownStockKey => "UNKNOWN_STOCK_KEY",
            Self::KeyMismatch => "KEY_MISMATCH",
            Self::Routing => "ROUTING",
            Self::BeforeOrigin => "BEFORE_ORIGIN",
            Self::KeyChange => "KEY_CHANGE",
            Self::Stale => "STALE",
            Self::Duplicate => "DUPLICATE",
            Self::Conflict => "CONFLICT",
            Self::BalanceOverflow => "BALANCE_OVERFLOW",
            Self::Applied => "APPLIED",
            Self::Corrected => "CORRECTED",
            Self::Reinstated => "REINSTATED",
            Self::Cancelled => "CANCELLED",
            Self::RefusedByStore => "REFUSED_BY_STORE",
        }
    }

    /// Why a record of this code lies in quarantine, in one sentence that shows nothing of the record; `None` for the
    /// codes that do not quarantine.
    #[must_use]
    pub fn reason(self) -> Option<&'static str> {
        match self {
            Self::MalformedJson => Some(
                "the value is absent, over 1 MiB, not UTF-8, or not one strict JSON object nested at most 16 levels deep",
            ),
            Self::UnsupportedSchema => Some("schema_version is an integer other than 1"),
            Self::MalformedEnvelope => {
                Some("a member is missing, unknown, null, of the wrong type, or not allowed with this action")
            }
            Self::InvalidField => {
                Some("transaction_id, revision, business_date or quantity is outside of its bounds")
            }
            Self::UnknownStockKey => Some("the manifest does not declare this item and location"),
            Self::KeyMismatch => {
                Some("the record key is absent, invalid or names another stock key than the value")
            }
            Self::Routing => {
                Some("the record lies on another partition than the manifest maps its stock key to")
            }
            Self::BeforeOrigin => Some("business_date lies before the ledger's origin"),
            Self::KeyChange => Some("the transaction already exists under another stock key"),
            Self::Conflict => Some("the transaction already has this revision with another content"),
            Self::BalanceOverflow => Some("a resulting balance would lie outside of ±(2^53-1)"),
            Self::RefusedByStore => Some("PostgreSQL refused to keep what this record decides"),
            Self::Stale
            | Self::Duplicate
            | Self::Applied
            | Self::Corrected
            | Self::Reinstated
            | Self::Cancelled => None,
        }
    }

    /// Whether a person should look at the record: it changed nothing although it was not seen before.
    #[must_use]
    pub fn is_quarantined(self) -> bool {
        self.reason().is_some()
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The text is no code of the ledger.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NoSuchCode(pub String);

impl fmt::Display for NoSuchCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is not a code of the ledger", self.0)
    }
}

impl std::error::Error for NoSuchCode {}

impl FromStr for Code {
    type Err = NoSuchCode;

    fn from_str(text: &str) -> Result<Self, NoSuchCode> {
        Self::ALL.into_iter().find(|code| code.as_str() == text).ok_or_else(|| NoSuchCode(text.to_owned()))
    }
}

impl serde::Serialize for Code {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
