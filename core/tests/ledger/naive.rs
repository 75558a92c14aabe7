//! The ledger once more, as plain as can be: after each record all positions are computed again from all heads.

use std::collections::BTreeMap;

/// One record under test; everything lies on partition 0.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Said {
    pub id: String,
    pub revision: i64,
    pub item: &'static str,
    /// Date and quantity; `None` is a cancel.
    pub assert: Option<(String, i64)>,
}

pub const LOCATION: &str = "berlin";
pub const LOW: i64 = 20;
const ORIGIN: &str = "2026-01-01";

/// The stocks of these tests: item and opening balance.
pub const STOCKS: [(&str, i64); 3] = [("widget", 100), ("gasket", 0), ("full", 9_000_000_000_000_000)];

pub fn declaration() -> String {
    let stocks = STOCKS.map(|(item, opening)| {
        format!(
            r#"{{"item":"{item}","location":"{LOCATION}","opening_balance":{opening},"low_threshold":{LOW},"partition":0}}"#
        )
    });
    format!(r#"{{"ledger_origin":"{ORIGIN}","stock_keys":[{}]}}"#, stocks.join(","))
}

impl Said {
    pub fn key(&self) -> String {
        format!(r#"{{"item":"{}","location":"{LOCATION}"}}"#, self.item)
    }

    pub fn value(&self) -> String {
        let Self { id, revision, item, assert } = self;
        let (action, rest) = match assert {
            Some((date, quantity)) => {
                ("assert", format!(r#","business_date":"{date}","quantity":{quantity}"#))
            }
            None => ("cancel", String::new()),
        };
        format!(
            r#"{{"schema_version":1,"transaction_id":"{id}","revision":{revision},"action":"{action}","item":"{item}","location":"{LOCATION}"{rest}}}"#
        )
    }
}

type Positions = BTreeMap<(&'static str, String), i64>;

#[derive(Default)]
pub struct Naive {
    pub heads: BTreeMap<String, Said>,
    pub evidence: Vec<String>,
    pub outbox: Vec<String>,
    versions: BTreeMap<(&'static str, String), u64>,
}

fn positions(heads: &BTreeMap<String, Said>) -> Positions {
    let live: Vec<_> =
        heads.values().filter_map(|s| s.assert.as_ref().map(|a| (s.item, &a.0, a.1))).collect();
    let mut found = Positions::new();
    for &(item, date, _) in &live {
        let opening = STOCKS.iter().find(|stock| stock.0 == item).unwrap().1;
        let up_to: i64 = live.iter().filter(|l| l.0 == item && l.1 <= date).map(|l| l.2).sum();
        found.insert((item, date.clone()), opening + up_to);
    }
    found
}

fn state(balance: i64) -> &'static str {
    if balance < 0 {
        "negative"
    } else if balance < LOW {
        "low"
    } else {
        "ok"
    }
}

impl Naive {
    pub fn tell(&mut self, offset: usize, said: &Said) {
        let code = self.judge(offset, said);
        self.evidence.push(format!("{offset} {code} {} {}", said.id, said.revision));
    }

    fn judge(&mut self, offset: usize, said: &Said) -> &'static str {
        if said.assert.as_ref().is_some_and(|(date, _)| date.as_str() < ORIGIN) {
            return "BEFORE_ORIGIN";
        }
        let old = self.heads.get(&said.id);
        if let Some(old) = old {
            if old.item != said.item {
                return "KEY_CHANGE";
            }
            if old.revision > said.revision {
                return "STALE";
            }
            if old.revision == said.revision {
                return if old == said { "DUPLICATE" } else { "CONFLICT" };
            }
        }
        let code = match (&said.assert, old) {
            (None, _) => "CANCELLED",
            (Some(_), None) => "APPLIED",
            (Some(_), Some(old)) if old.assert.is_some() => "CORRECTED",
            (Some(_), Some(_)) => "REINSTATED",
        };
        let mut heads = self.heads.clone();
        heads.insert(said.id.clone(), said.clone());
        let (before, after) = (positions(&self.heads), positions(&heads));
        if after.values().any(|balance| balance.abs() > 9_007_199_254_740_991) {
            return "BALANCE_OVERFLOW";
        }
        let mut places: Vec<_> = before.keys().chain(after.keys()).collect();
        places.sort();
        places.dedup();
        for place in places {
            if before.get(place) == after.get(place) {
                continue;
            }
            let version = self.versions.entry(place.clone()).or_default();
            *version += 1;
            let (item, date) = place;
            let what = match after.get(place) {
                Some(b) => format!(r#""kind":"upsert","balance":{b},"state":"{}""#, state(*b)),
                None => r#""kind":"retract""#.to_owned(),
            };
            let (id, revision) = (&said.id, said.revision);
            self.outbox.push(format!(
                r#"{{"namespace":"source-demo-1","item":"{item}","location":"{LOCATION}","business_date":"{date}","version":{version},{what},"cause":{{"partition":0,"offset":{offset},"transaction_id":"{id}","revision":{revision},"code":"{code}"}}}}"#
            ));
        }
        self.heads = heads;
        code
    }

    /// As [`super::model::Model::shown`].
    pub fn shown(&self) -> Vec<String> {
        let line = |((item, date), balance): ((&str, String), i64)| {
            let version = self.versions[&(item, date.clone())];
            format!("{item}/{LOCATION} {date} v{version} {balance} {}", state(balance))
        };
        let found = positions(&self.heads);
        found.into_iter().map(|((item, date), balance)| line(((item, date), balance))).collect()
    }
}
