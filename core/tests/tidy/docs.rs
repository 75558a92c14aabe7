//! Knows that pages name only what is there: files, headings, tests and functions.

use std::collections::BTreeSet;

use crate::lexer::{line, without_comments, words};
use crate::none;
use crate::repository::{Text, root, texts};

/// Every page for people, but the one that a test prints.
fn pages() -> Vec<Text> {
    texts(|path| path.ends_with(".md") && path != "docs/transitions.md")
}

#[test]
fn links_lead_somewhere() {
    let mut wrong = Vec::new();
    for page in pages() {
        let prose = prose(&page.text);
        for (at, _) in prose.match_indices("](") {
            let target = prose[at + 2..].split([')', ' ']).next().unwrap_or_default();
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let folder = page.path.rsplit_once('/').map_or("", |(folder, _)| folder);
            let path = if file.is_empty() { page.path.clone() } else { resolve(folder, file) };
            let is_there = root().join(&path).exists();
            let has_anchor = || {
                let text = std::fs::read_to_string(root().join(&path)).unwrap_or_default();
                headings(&text).any(|heading| slug(heading) == anchor)
            };
            if !is_there || !anchor.is_empty() && !has_anchor() {
                wrong.push(format!("{}:{}: {target}", page.path, line(&prose, at)));
            }
        }
    }
    none(&wrong, "the link leads to no file or no heading: mend it, or write the page");
}

#[test]
fn pages_name_tests_and_functions_that_exist() {
    let known = known();
    let mut wrong = Vec::new();
    for page in pages() {
        for (at, name) in quoted(&page.text) {
            let parts: Vec<&str> = name.split('_').collect();
            let is_snake =
                name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
            if parts.len() >= 3
                && is_snake
                && parts.iter().all(|part| !part.is_empty())
                && !known.contains(name)
            {
                wrong.push(format!("{}:{}: `{name}`", page.path, line(&page.text, at)));
            }
        }
    }
    none(
        &wrong,
        "no source has that name (any more): name the test or function that shows it now, or drop the claim",
    );
}

#[test]
fn pages_name_files_that_exist() {
    let places = ["adapters/", "core/", "docs/", "fixtures/", "migrations/", "scenarios/", "sim/"];
    let kinds = [".jsonl", ".md", ".rs", ".sh", ".sql", ".toml", ".xml"];
    let mut wrong = Vec::new();
    for page in pages() {
        for (at, name) in quoted(&page.text) {
            let is_path =
                places.iter().any(|place| name.starts_with(place)) && !name.contains(['*', ' ', '…']);
            // `VN__name.sql`, `NNNN-….md`, `NAME.scenario` stand for others.
            let stands_for_others = name.contains("VN__") || name.contains("NN-") || name.contains("NAME");
            let is_file =
                kinds.iter().any(|kind| name.ends_with(kind)) || name.ends_with('/') || !name.contains('.');
            if is_path && is_file && !stands_for_others && !root().join(name).exists() {
                wrong.push(format!("{}:{}: `{name}`", page.path, line(&page.text, at)));
            }
        }
    }
    none(&wrong, "there is no such file: mend the path");
}

/// Every word that sources say outside of comments.
fn known() -> BTreeSet<String> {
    let mut known = BTreeSet::new();
    for file in texts(|path| [".rs", ".sql", ".sh", ".toml"].iter().any(|kind| path.ends_with(kind))) {
        let is_tidy = file.path.starts_with("core/tests/tidy/");
        let text = if file.path.ends_with(".rs") { without_comments(&file.text) } else { file.text };
        if !is_tidy {
            known.extend(words(&text).map(|(_, word)| word.to_owned()));
        }
    }
    // Whose own tests pages may name as well.
    for file in texts(|path| path.starts_with("core/tests/tidy/")) {
        let text = without_comments(&file.text);
        let all: Vec<&str> = words(&text).map(|(_, word)| word).collect();
        known.extend(all.windows(2).filter(|pair| pair[0] == "fn").map(|pair| pair[1].to_owned()));
    }
    known
}

pub fn headings(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter_map(move |line| {
        is_code ^= line.starts_with("```");
        let (marks, heading) = line.split_once(' ').filter(|_| !is_code)?;
        (!marks.is_empty() && marks.bytes().all(|byte| byte == b'#')).then(|| heading.trim())
    })
}

/// A heading as the end of a link.
fn slug(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

fn resolve(folder: &str, file: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in file.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." | "" => {}
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

/// The page without its code, line for line.
fn prose(text: &str) -> String {
    let mut prose: Vec<u8> = text.bytes().map(|byte| if byte == b'\n' { byte } else { b' ' }).collect();
    for (at, part) in spans(text).0 {
        prose[at..at + part.len()].copy_from_slice(part.as_bytes());
    }
    String::from_utf8(prose).expect("whole parts are kept")
}

/// Each with where it begins.
type Parts<'a> = Vec<(usize, &'a str)>;

/// What stands in backticks.
pub fn quoted(text: &str) -> Parts<'_> {
    spans(text).1
}

/// Parts of a text with their offsets: those outside of backticks, those within. A pair of backticks may span lines of
/// one paragraph; code blocks are neither.
fn spans(text: &str) -> (Parts<'_>, Parts<'_>) {
    let (mut prose, mut quoted) = (Vec::new(), Vec::new());
    let (mut is_block, mut at) = (false, 0);
    // Where the open backtick's text begins.
    let mut open: Option<usize> = None;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim_start();
        let is_fence = trimmed.starts_with("```");
        is_block ^= is_fence;
        if trimmed.is_empty() || trimmed.starts_with(['|', '#', '*']) || is_fence {
            open = None;
        }
        let mut from = at;
        at += line.len();
        if is_block || is_fence || line.starts_with("    ") {
            continue;
        }
        for next in line.match_indices('`').map(|(next, _)| at - line.len() + next) {
            match open.take() {
                Some(begin) => quoted.push((begin, &text[begin..next])),
                None => {
                    prose.push((from, &text[from..next]));
                    open = Some(next + 1);
                }
            }
            from = next + 1;
        }
        if open.is_none() {
            prose.push((from, &text[from..at]));
        }
    }
    (prose, quoted)
}

#[test]
fn pages_are_read_as_a_browser_reads_them() {
    let page = "# A, *b*: c\n[`x`](#a-b-c) and `[y](z)`\n```\n# no\n[n](o)\n```\n\n`d\ne` f`\n\ng\n";
    assert_eq!(headings(page).map(slug).collect::<Vec<_>>(), ["a-b-c"]);
    let prose = prose(page);
    assert!(prose.contains("](#a-b-c)") && !prose.contains("z)") && !prose.contains("[n]"), "{prose}");
    assert_eq!(quoted(page).iter().map(|(_, text)| *text).collect::<Vec<_>>(), ["x", "[y](z)", "d\ne"]);
    assert_eq!(resolve("docs/decisions", "../evidence.md"), "docs/evidence.md");
}
