//! What holds for every story: the same as a plain recomputation, batches never show, orders do not matter.

use amends_core::ids::Partition;
use amends_core::ledger::envelope::Content;
use amends_core::source::manifest::Config;
use amends_core::source::record::Record;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::model::{Model, WITHOUT_LIMIT, config, record};
use super::naive::{Naive, Said, declaration};

const BIG: i64 = 1_000_000_000_000;

fn said(item: &'static str, ids: u8, quantities: &'static [i64]) -> impl Strategy<Value = Said> {
    let assert =
        (1..=9u8, select(quantities)).prop_map(|(day, quantity)| (format!("2026-01-0{day}"), quantity));
    let letter = item.chars().next().unwrap();
    (0..ids, 1..=5i64, prop::option::weighted(0.75, assert)).prop_map(move |(id, revision, assert)| Said {
        id: format!("{letter}{id}"),
        revision,
        item,
        assert,
    })
}

/// Mostly one busy stock; some records take another's transaction, lie before the origin or are very large.
fn story() -> impl Strategy<Value = Vec<Said>> {
    let busy = said("widget", 5, &[-90, -30, -5, 0, 0, 7, 7, 50]);
    let other = said("gasket", 3, &[-1, 0, 1]);
    let thief = said("widget", 5, &[1]).prop_map(|s| Said { item: "gasket", ..s });
    let early =
        said("widget", 5, &[1]).prop_map(|s| Said { assert: Some(("2025-12-31".to_owned(), 1)), ..s });
    let full = said("full", 14, &[BIG, BIG, BIG, BIG, BIG, -BIG, 0]);
    let some = prop_oneof![8 => busy, 3 => other, 1 => thief, 1 => early, 9 => full];
    prop::collection::vec(some, 1..90)
}

fn records(story: &[Said]) -> (Config, Vec<Record>) {
    let records = (0..).zip(story).map(|(offset, said)| record(offset, &said.key(), &said.value()));
    (config(1, &declaration()), records.collect())
}

fn whole(story: &[Said]) -> Model {
    let (config, records) = records(story);
    let mut model = Model::default();
    model.process(&config, Partition(0), &records, WITHOUT_LIMIT);
    model
}

/// Transaction, revision, and date and quantity while it is live.
type PlainHead = (String, i64, Option<(String, i64)>);

fn heads(model: &Model) -> Vec<PlainHead> {
    let content = |content: &Content| match content {
        Content::Assert { business_date, quantity } => Some((business_date.to_string(), *quantity)),
        Content::Cancel => None,
    };
    model.heads.values().map(|h| (h.transaction_id.clone(), h.revision, content(&h.content))).collect()
}

/// Positions with the version taken out.
fn without_versions(model: &Model) -> Vec<String> {
    let cut =
        |line: String| line.split(' ').filter(|word| !word.starts_with('v')).collect::<Vec<_>>().join(" ");
    model.shown().into_iter().map(cut).collect()
}

#[test]
fn the_stories_reach_every_verdict() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..200 {
        let story = story().new_tree(&mut runner).unwrap().current();
        seen.extend(whole(&story).codes().into_iter().map(str::to_owned));
    }
    let all = [
        "APPLIED",
        "BALANCE_OVERFLOW",
        "BEFORE_ORIGIN",
        "CANCELLED",
        "CONFLICT",
        "CORRECTED",
        "DUPLICATE",
        "KEY_CHANGE",
        "REINSTATED",
        "STALE",
    ];
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), all);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn the_decision_equals_a_plain_recomputation(story in story()) {
        let model = whole(&story);
        let mut naive = Naive::default();
        for (offset, said) in story.iter().enumerate() {
            naive.tell(offset, said);
        }
        prop_assert_eq!(&model.evidence, &naive.evidence);
        prop_assert_eq!(&model.outbox, &naive.outbox);
        prop_assert_eq!(model.shown(), naive.shown());
        let plain: Vec<_> =
            naive.heads.into_values().map(|said| (said.id, said.revision, said.assert)).collect();
        prop_assert_eq!(heads(&model), plain);
    }

    #[test]
    fn batch_boundaries_never_show(
        story in story(),
        sizes in prop::collection::vec(1..30usize, 1..20),
        batch_effects in 1..120usize,
    ) {
        let (config, records) = records(&story);
        let mut split = Model::default();
        let (mut rest, mut sizes) = (&records[..], sizes.into_iter().cycle());
        while !rest.is_empty() {
            let (batch, behind) = rest.split_at(sizes.next().unwrap_or(1).min(rest.len()));
            split.process(&config, Partition(0), batch, batch_effects);
            rest = behind;
        }
        prop_assert_eq!(split, whole(&story));
    }

    /// One content for each revision, one stock for each transaction, small quantities; each at least once.
    #[test]
    fn the_order_of_revisions_does_not_matter(
        (once, shuffled) in prop::collection::vec(said("widget", 6, &[-90, -5, 0, 7, 50]), 1..40)
            .prop_map(|mut story| {
                let mut known = std::collections::BTreeSet::new();
                story.retain(|said| known.insert((said.id.clone(), said.revision)));
                story
            })
            .prop_flat_map(|story| {
                let again = subsequence(story.clone(), 0..=story.len());
                let twice = again.prop_map({ let story = story.clone(); move |again| [&story[..], &again].concat() });
                (Just(story), twice.prop_shuffle())
            })
    ) {
        let (one, other) = (whole(&once), whole(&shuffled));
        prop_assert!(!one.codes().iter().chain(&other.codes()).any(|code| *code == "CONFLICT"));
        prop_assert_eq!(heads(&one), heads(&other));
        prop_assert_eq!(without_versions(&one), without_versions(&other));
    }
}
