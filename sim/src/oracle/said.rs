//! Knows what one record says, by the rules that need no history: what it is refused for, or what it wants.

use amends_core::ids::Partition;
use amends_core::source::business_date::BusinessDate;
use amends_core::source::manifest::{Config, StockKey};

use super::json::{Json, read};

const VALUE_BYTES: usize = 1 << 20;
const ID_BYTES: usize = 128;
const DAYS: i32 = 36_524;
/// 2^53-1: how high a revision may be, and how far from zero a balance.
pub(super) const EXACT: i64 = 9_007_199_254_740_991;
const QUANTITY: i64 = 1_000_000_000_000;

/// What a record says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Said {
    /// The first of the rules 1 to 8 that refuses it.
    pub(super) refused: Option<&'static str>,
    /// Transaction and revision; from rule 5 on.
    pub(super) names: Option<(String, i64)>,
    /// What it wants; meaningless when it is refused.
    pub(super) wish: Option<Wish>,
}

/// What a record wants its transaction to be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Wish {
    pub(super) stock: StockKey,
    /// Day and quantity; `None` is a cancel.
    pub(super) live: Option<(BusinessDate, i64)>,
}

impl Said {
    fn refused(code: &'static str) -> Self {
        Self { refused: Some(code), names: None, wish: None }
    }

    /// Rules 1 to 8.
    pub(super) fn read(
        config: &Config,
        partition: Partition,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
    ) -> Self {
        let members = match value.filter(|bytes| bytes.len() <= VALUE_BYTES).and_then(read) {
            Some(Json::Object(members)) => members,
            _ => return Self::refused("MALFORMED_JSON"),
        };
        let version = members.iter().find(|(name, _)| name == "schema_version").map(|(_, value)| value);
        match version {
            Some(Json::Whole(Some(1))) => {}
            Some(Json::Whole(_)) => return Self::refused("UNSUPPORTED_SCHEMA"),
            _ => return Self::refused("MALFORMED_ENVELOPE"),
        }
        let Some(shape) = Shape::of(&members) else { return Self::refused("MALFORMED_ENVELOPE") };
        let origin = config.ledger().origin();
        let Some((names, wish)) = shape.within(origin) else { return Self::refused("INVALID_FIELD") };
        let refused = match config.ledger().stock(&wish.stock) {
            None => Some("UNKNOWN_STOCK_KEY"),
            Some(_) if key.and_then(stock_of_key).as_ref() != Some(&wish.stock) => Some("KEY_MISMATCH"),
            Some(stock) if stock.partition != partition => Some("ROUTING"),
            Some(_) if wish.live.is_some_and(|(day, _)| day < origin) => Some("BEFORE_ORIGIN"),
            Some(_) => None,
        };
        Self { refused, names: Some(names), wish: Some(wish) }
    }
}

fn stock_of_key(key: &[u8]) -> Option<StockKey> {
    let Some(Json::Object(members)) = read(key) else { return None };
    let text = |wanted: &str| match members.iter().find(|(name, _)| name == wanted) {
        Some((_, Json::Text(text))) => Some(text.clone()),
        _ => None,
    };
    let stock = StockKey { item: text("item")?, location: text("location")? };
    (members.len() == 2).then_some(stock)
}

/// A value of the right members and types, of any size.
struct Shape<'a> {
    id: &'a str,
    revision: Option<i64>,
    stock: StockKey,
    live: Option<(&'a str, Option<i64>)>,
}

impl<'a> Shape<'a> {
    fn of(members: &'a [(String, Json)]) -> Option<Self> {
        let find = |wanted: &str| members.iter().find(|(name, _)| name == wanted).map(|(_, value)| value);
        let text = |wanted: &str| match find(wanted) {
            Some(Json::Text(text)) => Some(text.as_str()),
            _ => None,
        };
        let whole = |wanted: &str| match find(wanted) {
            Some(Json::Whole(number)) => Some(*number),
            _ => None,
        };
        let (count, live) = match text("action")? {
            "assert" => (8, Some((text("business_date")?, whole("quantity")?))),
            "cancel" => (6, None),
            _ => return None,
        };
        let stock = StockKey { item: text("item")?.to_owned(), location: text("location")?.to_owned() };
        let shape = Self { id: text("transaction_id")?, revision: whole("revision")?, stock, live };
        (members.len() == count).then_some(shape)
    }

    /// Rule 4.
    fn within(self, origin: BusinessDate) -> Option<((String, i64), Wish)> {
        let is_id = (1..=ID_BYTES).contains(&self.id.len()) && !self.id.contains('\0');
        let revision = self.revision.filter(|revision| (1..=EXACT).contains(revision))?;
        let live = match self.live {
            None => None,
            Some((day, quantity)) => {
                let day: BusinessDate = day.parse().ok()?;
                let quantity = quantity.filter(|quantity| quantity.abs() <= QUANTITY)?;
                if day.days_since(origin) > DAYS {
                    return None;
                }
                Some((day, quantity))
            }
        };
        is_id.then(|| ((self.id.to_owned(), revision), Wish { stock: self.stock, live }))
    }
}
