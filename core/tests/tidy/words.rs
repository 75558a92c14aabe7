//! Knows every code word that a person may meet, and that `docs/operations.md` tells what it means.

use std::collections::{BTreeMap, BTreeSet};

use crate::docs::{headings, quoted};
use crate::lexer::{block, code, line, without_comments, without_tests, words};
use crate::none;
use crate::repository::{production, read};

const PAGE: &str = "docs/operations.md";

/// What stands in front of a code word in the sources, blanks aside.
const BEFORE: [&str; 4] = ["code:", "code=", "Failed::new(", "against("];

/// Each code word, with one place that says it.
fn code_words() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    // The simulator pretends to be services: what it says is theirs.
    for file in production().into_iter().filter(|file| !file.path.starts_with("sim/")) {
        let text = without_tests(&file.text, &without_comments(&file.text));
        let code = without_tests(&file.text, &code(&file.text));
        let mut note = |at: usize, word: &str| {
            found.entry(word.to_owned()).or_insert_with(|| format!("{}:{}", file.path, line(&text, at)));
        };
        // The verdicts of the ledger, and every function that tells a code.
        let of_ledger = file.path == "core/src/ledger/code.rs";
        let functions = ["fn code(&self)", "fn as_str(self)"].into_iter().take(if of_ledger { 2 } else { 1 });
        for at in functions.flat_map(|function| code.match_indices(function).map(|(at, _)| at)) {
            let from = at + code[at..].find('{').unwrap_or_default();
            let to = from + block(&code[from..]);
            strings(&text[from..to]).into_iter().for_each(|(at, word)| note(from + at, word));
        }
        for (at, word) in strings(&text) {
            let before: String =
                text[..at - 1].chars().rev().filter(|c| !c.is_whitespace()).take(16).collect();
            let before: String = before.chars().rev().collect();
            if BEFORE.iter().any(|mark| before.ends_with(mark)) {
                note(at, word);
            }
        }
    }
    found
}

/// Plain string literals on one line, with where their text begins.
fn strings(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let code = code(text);
    let mut at = 0;
    while let Some(quote) = text[at..].find('"').map(|next| at + next) {
        let end = text[quote + 1..].find('"').map_or(text.len(), |end| quote + 1 + end);
        let literal = &text[quote + 1..end];
        // A quote inside of another literal is blanked there as well, but only a word can be a code.
        let is_word = literal.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
        if is_word && !literal.is_empty() && code.as_bytes()[quote] == b' ' {
            found.push((quote + 1, literal));
        }
        at = if is_word { end + 1 } else { quote + 1 };
        if at >= text.len() {
            break;
        }
    }
    found
}

#[test]
fn every_code_word_has_a_heading() {
    let found = code_words();
    // One from each kind of place, so that a word which is no longer seen is noticed.
    for word in [
        "contended",
        "no-leader",
        "again",
        "guarded",
        "fsync-off",
        "journal",
        "load-file",
        "topic-exists",
        "ROUTING",
    ] {
        assert!(found.contains_key(word), "core/tests/tidy/words.rs no longer finds {word}");
    }
    let page = read(PAGE);
    let count = |word: &str| headings(&page).filter(|heading| *heading == word).count();
    let wrong = found.iter().filter(|(word, _)| count(word) != 1);
    let wrong: Vec<String> =
        wrong.map(|(word, place)| format!("{word}, said in {place}, has {}", count(word))).collect();
    none(
        &wrong,
        &format!("{PAGE} has one heading for each code word: what it means, what amends did, what to do now"),
    );

    let told = page.split_once("\n# Code words").map_or("", |(_, told)| told);
    let told = told.lines().filter_map(|line| line.strip_prefix("## "));
    let stale: Vec<String> = told.filter(|word| !found.contains_key(*word)).map(str::to_owned).collect();
    none(&stale, &format!("no source says this word (any more): take its heading out of {PAGE}"));
}

#[test]
fn every_variable_of_the_environment_is_told() {
    let page = read(PAGE);
    let told: BTreeSet<&str> = quoted(&page).into_iter().map(|(_, text)| text).collect();
    let mut wrong = Vec::new();
    for file in production() {
        let text = without_tests(&file.text, &without_comments(&file.text));
        let asked = strings(&text)
            .into_iter()
            .filter(|(_, word)| word.starts_with("AMENDS_") && !told.contains(word));
        wrong.extend(
            asked.map(|(at, word)| format!("{word}, asked for in {}:{}", file.path, line(&text, at))),
        );
    }
    none(&wrong, &format!("give it a row in the table Environment of {PAGE}"));
}

#[test]
fn time_outs_are_told_as_they_are() {
    let page = read(PAGE);
    let table = page
        .split_once("\n## Time-outs\n")
        .and_then(|(_, rest)| rest.split_once("\n## "))
        .map_or("", |(it, _)| it);
    let rows: Vec<(&str, &str)> = table
        .lines()
        .filter_map(|row| {
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            let name = cells.get(3)?.strip_prefix('`')?.strip_suffix('`')?;
            Some((name, *cells.get(2)?))
        })
        .collect();
    assert!(rows.len() > 20, "{PAGE} has lost its table of time-outs");
    let real = durations();
    let mut wrong = Vec::new();
    for (name, told) in &rows {
        let is_true =
            real.get(*name).is_some_and(|values| values.iter().all(|ms| Some(*ms) == milliseconds(told)));
        if !is_true {
            wrong.push(format!("{name} is told as {told}, and is {:?} ms", real.get(*name)));
        }
    }
    none(&wrong, &format!("the table Time-outs of {PAGE} says what the sources say"));
}

/// `20 s`, `500 ms`, `10 min`.
fn milliseconds(text: &str) -> Option<u64> {
    let (count, unit) = text.split_once(' ')?;
    let count: u64 = count.parse().ok()?;
    let unit = match unit {
        "ms" => 1,
        "s" => 1_000,
        "min" => 60_000,
        _ => return None,
    };
    Some(count * unit)
}

/// Every constant of the sources that is a time, in milliseconds.
fn durations() -> BTreeMap<String, Vec<u64>> {
    let mut found = BTreeMap::<String, Vec<u64>>::new();
    for file in production().into_iter().filter(|file| !file.path.starts_with("sim/")) {
        let code = code(&file.text);
        for statement in code.split("const ").skip(1).filter_map(|rest| rest.split(';').next()) {
            let Some((name, value)) = statement.split_once('=') else { continue };
            let name = name.split(':').next().unwrap_or_default().trim();
            let number =
                |text: &str| words(text).find_map(|(_, word)| word.replace('_', "").parse::<u64>().ok());
            let ms = match value.trim().split_once("::from_") {
                Some(("Duration", rest)) if rest.starts_with("secs") => {
                    number(rest).map(|seconds| seconds * 1_000)
                }
                Some(("Duration", rest)) if rest.starts_with("millis") => number(rest),
                _ if name.ends_with("_MS") => number(value),
                _ => None,
            };
            found.entry(name.to_owned()).or_default().extend(ms);
        }
    }
    found
}
