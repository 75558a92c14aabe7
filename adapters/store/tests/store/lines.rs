//! The log line of each attempt at a decision.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Mutex;
use std::thread::{self, ThreadId};

use amends_core::ids::Frontier;
use amends_core::lifecycle::event::Event as Answer;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::desk::{Database, Desk, records, store};
use crate::proxy::{Proxy, Then};

type Line = BTreeMap<String, String>;

/// The lines of each test: one runs on one thread, its tasks too.
static LINES: Mutex<Vec<(ThreadId, Line)>> = Mutex::new(Vec::new());

/// Takes the lines of all tests. It must be everybody's: whether a line is wanted is asked once, by whichever test comes
/// to it first, and for good.
struct Lines;

struct Fields(Line);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }
}

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("amends_store")
    }

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields(Line::new());
        event.record(&mut fields);
        LINES.lock().unwrap().push((thread::current().id(), fields.0));
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[tokio::test]
async fn each_attempt_at_a_decision_writes_one_line() {
    tracing::subscriber::set_global_default(Lines).unwrap();
    // Another test may have asked while it was not set yet.
    tracing::callsite::rebuild_interest_cache();
    let database = Database::migrated().await;
    let proxy = Proxy::to(database.server()).await;
    let mut desk = Desk::at(&database.url_through(proxy.port)).await;
    let (old, _) = desk.claim().await;
    let (token, frontier) = desk.claim().await;
    let batch = records(&["T1 r1 assert 2026-01-05 -30", "T1 r2 cancel"]);

    desk.process(old, frontier, &batch).await;
    proxy.when("INSERT INTO amends.evidence", Then::CutBefore);
    desk.process(token, frontier, &batch).await;
    proxy.when("COMMIT", Then::CutBefore);
    desk.process(token, frontier, &batch).await;
    desk.process(token, frontier, &batch).await;
    desk.process(token, frontier, &batch).await;
    // No attempt, no line: nothing was sent.
    let nowhere = store(&database.url_through(1));
    let mut lost = Desk::over(nowhere, desk.namespace.clone(), crate::desk::manifest(), 100);
    let answer = lost.process(token, Frontier(2), &batch).await;
    assert!(matches!(answer, Answer::ProcessFailed { .. }));

    let lines = LINES.lock().unwrap();
    let mine = lines.iter().filter(|(thread, _)| *thread == thread::current().id()).map(|(_, line)| line);
    let lines: Vec<_> = mine.filter(|line| line["message"] == "processing attempt").collect();
    let outcomes: Vec<_> = lines.iter().map(|line| line["outcome"].trim_matches('"')).collect();
    assert_eq!(outcomes, ["fenced", "error", "unknown", "acknowledged", "fenced"]);
    let line = lines[3];
    for (field, value) in [
        ("namespace", "\"source-demo-1\""),
        ("partition", "0"),
        ("first_offset", "0"),
        ("last_offset", "1"),
        ("epoch", "2"),
        ("attempt", "1"),
    ] {
        assert_eq!(line[field], value, "{field}");
    }
    let elapsed: u64 = line["storage_call_elapsed_ns"].parse().unwrap();
    assert!((100_000..5_000_000_000).contains(&elapsed), "{elapsed}");
}
