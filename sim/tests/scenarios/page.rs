//! The author's guide prints the tables of the language, and every word of them is read and known.

use std::fmt::Write as _;

use amends_core::lifecycle::command::Command;
use amends_core::lifecycle::event::Event;
use amends_core::lifecycle::stop::StopReason;
use amends_core::source::boundary::Refusal;
use amends_sim::faults::CATALOGUE;
use amends_sim::scenario::Scenario;
use amends_sim::scenario::expect::{CONDITIONS, REASONS};
use amends_sim::scenario::outcome::WORDS;
use amends_sim::scenario::scene::SETTINGS;
use amends_sim::scenario::verbs::VERBS;

/// A table of three columns between its marks.
fn table<'a>(
    name: &str,
    head: &str,
    rows: impl Iterator<Item = (String, &'a str, String)>,
) -> (String, String) {
    let mut table = format!("{head}\n|---|---|---|\n");
    for (one, two, three) in rows {
        let row = format!("| {} | {} | {} |", one.replace('|', "\\|"), two.replace('|', "\\|"), three);
        writeln!(table, "{row}").unwrap();
    }
    (format!("<!-- {name}: printed by a test -->"), table)
}

fn line(word: &str, shape: &str) -> String {
    format!("`{}`", format!("{word} {shape}").trim())
}

fn tables() -> [(String, String); 3] {
    let settings =
        SETTINGS.iter().map(|row| (line(row.word, row.shape), row.what, format!("`{}`", row.example)));
    let verbs = VERBS.iter().map(|row| (line(row.word, row.shape), row.what, format!("`{}`", row.example)));
    let conditions =
        CONDITIONS.iter().map(|(shape, what, example)| (line(shape, ""), *what, format!("`{example}`")));
    [
        table(
            "settings",
            "| setting | what it sets, and what it is when nothing is said | such as |",
            settings,
        ),
        table("verbs", "| verb | what it does | such as |", verbs),
        table("conditions", "| condition | it is so when | such as |", conditions),
    ]
}

#[test]
fn the_authors_guide_is_what_the_parser_reads() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/scenarios.md");
    let mut page = std::fs::read_to_string(path).unwrap();
    for (mark, table) in tables() {
        let from =
            page.find(&mark).unwrap_or_else(|| panic!("{mark} is not in docs/scenarios.md")) + mark.len();
        let to = from + page[from..].find("<!-- end -->").expect("a table ends with <!-- end -->");
        page.replace_range(from..to, &format!("\n\n{table}\n"));
    }
    if std::env::var_os("AMENDS_BLESS").is_some_and(|bless| bless == "1") {
        std::fs::write(path, &page).unwrap();
    }
    let stored = std::fs::read_to_string(path).unwrap();
    let differs = page.lines().zip(stored.lines()).find(|(now, then)| now != then);
    assert!(
        page == stored,
        "docs/scenarios.md is stale: run `make bless`, then review its diff: {differs:?}"
    );
}

/// A sound scenario with these lines in its three paragraphs.
fn read(setting: &str, act: &str, condition: &str) -> Result<Scenario, String> {
    let needed = ["topic    orders partitions=4", "members  a b", "seeds    1"];
    let untold = |line: &&&str| line.split(' ').next() != setting.split(' ').next();
    let world: Vec<&str> = needed.iter().filter(untold).copied().collect();
    let text = format!("# A claim.\n{}\n{setting}\n\n{act}\n\nexpect {condition}\n", world.join("\n"));
    Scenario::read(&text).map_err(|mistakes| {
        mistakes.iter().map(|mistake| mistake.show("example", &text).to_string()).collect()
    })
}

#[test]
fn every_example_of_the_tables_is_read() {
    for row in SETTINGS {
        read(row.example, "0s start a", "drained").unwrap_or_else(|shown| panic!("{shown}"));
        assert!(row.example.starts_with(row.word), "{} is no example of {}", row.example, row.word);
    }
    for row in VERBS {
        read("lanes 1", &format!("0s {}", row.example), "drained").unwrap_or_else(|shown| panic!("{shown}"));
        assert!(row.example.starts_with(row.word), "{} is no example of {}", row.example, row.word);
    }
    for (_, _, example) in CONDITIONS {
        read("lanes 1", "0s start a", example).unwrap_or_else(|shown| panic!("{shown}"));
        let act = format!("until {example} within 5s");
        read("lanes 1", &act, "drained").unwrap_or_else(|shown| panic!("{shown}"));
    }
}

#[test]
fn every_fault_is_struck_by_its_name_in_each_of_its_forms() {
    for entry in CATALOGUE {
        for form in entry.variants.iter().copied().chain([""]) {
            let act = format!("0s strike {} {form}", entry.name);
            read("lanes 1", &act, &format!("struck {}", entry.name))
                .unwrap_or_else(|shown| panic!("{shown}"));
        }
    }
}

/// The words that serde knows, from what it says to one that it does not.
fn known<T: serde::de::DeserializeOwned>(tag: &str) -> Vec<String> {
    let error = serde_json::from_str::<T>(&format!("{{\"{tag}\":\"-\"}}")).err().unwrap().to_string();
    let known: Vec<String> = error.split('`').skip(3).step_by(2).map(str::to_owned).collect();
    assert!(known.len() > 5, "{error}");
    known
}

#[test]
fn the_words_of_the_language_are_those_of_core() {
    let words = [known::<Event>("event"), known::<Command>("command")].concat();
    assert_eq!(WORDS.iter().map(|(word, _)| *word).collect::<Vec<_>>(), words);
    // A refusal is called by its own word.
    let stops = known::<StopReason>("reason").into_iter().filter(|reason| reason != "refused");
    let reasons: Vec<String> = stops.chain(known::<Refusal>("refusal")).collect();
    assert_eq!(REASONS, reasons);
}
