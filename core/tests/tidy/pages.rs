//! Rules about docs and migrations: nothing is skipped, every code word can be looked up.

use std::collections::{BTreeMap, BTreeSet};

use amends_core::ledger::code::Code;

use crate::repository::{files, read, refuse, rust};

const OPERATIONS: &str = "docs/operations.md";

/// The words between quotation marks that follow `mark` in a text.
fn quoted_after<'a>(text: &'a str, mark: &str) -> Vec<&'a str> {
    let rest = text.split(mark).skip(1);
    let quoted = rest.filter_map(|rest| rest.trim_start().strip_prefix('"')?.split_once('"'));
    quoted.map(|(word, _)| word).collect()
}

/// The body of the first function of this signature, up to its closing brace.
fn body<'a>(text: &'a str, signature: &str) -> &'a str {
    let (_, rest) = text.split_once(signature).unwrap_or_else(|| panic!("there is no {signature:?}"));
    rest.split_once("\n    }\n").map_or(rest, |(body, _)| body)
}

/// Every code word that the sources print, with one place that prints it.
fn words() -> BTreeMap<String, String> {
    let mut words: BTreeMap<String, String> =
        Code::ALL.into_iter().map(|code| (code.to_string(), "core/src/ledger/code.rs".to_owned())).collect();
    for path in ["core/src/lifecycle/stop.rs", "core/src/source/boundary.rs", "adapters/store/src/trouble.rs"] {
        for word in quoted_after(body(&read(path), "pub fn code(&self) -> &'static str {"), "=>") {
            words.insert(word.to_owned(), path.to_owned());
        }
    }
    let sources = ["core/src", "adapters/store/src", "adapters/worker/src", "sim/src"];
    for path in sources.iter().flat_map(|folder| rust(folder)) {
        let text = read(&path);
        for mark in ["code = ", "code: ", "Failed::new("] {
            for word in quoted_after(&text, mark) {
                words.insert(word.to_owned(), path.clone());
            }
        }
    }
    words
}

/// The headings of the page's parts about words.
fn headings(page: &str) -> BTreeSet<&str> {
    let mut headings = BTreeSet::new();
    let mut is_of_words = false;
    for line in page.lines() {
        if let Some(part) = line.strip_prefix("# ") {
            is_of_words = part.starts_with("Code words") || part.starts_with("Verdicts");
        } else if let Some(heading) = line.strip_prefix("## ").filter(|_| is_of_words) {
            headings.insert(heading);
        }
    }
    headings
}

#[test]
fn every_code_word_can_be_looked_up() {
    let (words, page) = (words(), read(OPERATIONS));
    assert!(words.len() > 40, "only {} words were found: does this test still see the sources?", words.len());
    let headings = headings(&page);
    let missing = words.iter().filter(|(word, _)| !headings.contains(word.as_str()));
    let missing: Vec<String> = missing.map(|(word, path)| format!("{word}, which {path} prints")).collect();
    refuse(
        &missing,
        "write `## WORD` into docs/operations.md: what it means, what amends did, what the operator does now",
    );
    let gone = headings.iter().filter(|heading| !words.contains_key(**heading));
    let gone: Vec<String> = gone.map(|heading| format!("## {heading}, which nobody prints")).collect();
    refuse(&gone, "take the heading out of docs/operations.md, or move it above the parts about words");
}

/// The numbers in front of the names, in order.
fn numbers(folder: &str, number: impl Fn(&str) -> Option<&str>) -> Vec<(u32, String)> {
    let names = files(folder).into_iter().filter_map(|path| path.rsplit('/').next().map(str::to_owned));
    let mut numbers: Vec<(u32, String)> = names
        .map(|name| {
            let parsed = number(&name).and_then(|number| number.parse().ok());
            (parsed.unwrap_or_else(|| panic!("{folder}/{name} has no number")), name)
        })
        .collect();
    numbers.sort();
    numbers
}

fn refuse_gaps(numbers: &[(u32, String)], cure: &str) {
    let gaps = numbers.iter().zip(1..).filter(|((number, _), expected)| number != expected);
    let gaps: Vec<String> =
        gaps.map(|((_, name), expected)| format!("{name} stands where {expected} belongs")).collect();
    refuse(&gaps, cure);
}

#[test]
fn decisions_are_numbered_densely() {
    let numbers = numbers("docs/decisions", |name| {
        name.split_once('-').map(|(number, _)| number).filter(|number| number.len() == 4)
    });
    refuse_gaps(&numbers, "name the page docs/decisions/NNNN-the-sentence.md with the next free number");
}

#[test]
fn migrations_are_numbered_densely() {
    let numbers = numbers("migrations", |name| {
        name.strip_prefix('V')
            .and_then(|name| name.strip_suffix(".sql")?.split_once("__"))
            .map(|(number, _)| number)
    });
    refuse_gaps(
        &numbers,
        "name the migration migrations/VN__name.sql with the next free number; never edit a merged one",
    );
}

#[test]
fn links_between_pages_lead_somewhere() {
    let pages = files("").into_iter().filter(|path| path.ends_with(".md"));
    let mut violations = Vec::new();
    for page in pages {
        let folder = page.rsplit_once('/').map_or("", |(folder, _)| folder);
        let text = read(&page);
        let links = text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link);
        for link in links.filter(|link| !link.contains("://")) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { page.clone() } else { join(folder, file) };
            let path = crate::repository::root().join(&target);
            let is_there =
                path.exists() && (anchor.is_empty() || path.is_dir() || has_anchor(&read(&target), anchor));
            if !is_there {
                violations.push(format!("{page} links to {link}"));
            }
        }
    }
    refuse(&violations, "mend the link, or write what it promises");
}

/// A path relative to a folder, from the root.
fn join(folder: &str, file: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in file.split('/') {
        if part == ".." {
            parts.pop().map_or((), |_| ())
        } else if part != "." {
            parts.push(part)
        }
    }
    parts.join("/")
}

/// As the forges make anchors of headings: lower case, hyphens for blanks, no other signs.
fn has_anchor(page: &str, anchor: &str) -> bool {
    let slug = |heading: &str| {
        let heading = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect::<String>()
    };
    page.lines().filter(|line| line.starts_with('#')).any(|heading| slug(heading) == anchor)
}
