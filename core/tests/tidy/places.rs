//! Knows what may be said where: which words a layer may not use, how long a file may be, what appears nowhere.

use std::collections::BTreeMap;

use crate::lexer::{code, line, without_tests, words};
use crate::none;
use crate::repository::{Text, is_production, production, read, rust, texts};

/// Core decides from what it is handed.
const NOT_IN_CORE: [&str; 11] = [
    "std::time",
    "std::fs",
    "std::net",
    "std::thread",
    "std::env",
    "std::process",
    "HashMap",
    "HashSet",
    "async",
    "await",
    "rand",
];

/// The store runs in a simulated world as well: clocks, tasks and sockets come through `Environment`.
const NOT_IN_STORE: [&str; 7] = [
    "tokio::time",
    "tokio::spawn",
    "tokio::task",
    "tokio::net",
    "spawn_blocking",
    "std::time",
    "std::thread",
];

/// Files over 400 lines, each with what keeps it together. Over 500 there is no reason.
const LONG: [(&str, &str); 2] = [
    ("adapters/worker/src/kafka/member.rs", "one thread and all that it owns"),
    ("core/src/lifecycle/tenure/mod.rs", "the states, and what every one of them shares"),
];

/// Files that may say `unsafe`, each with what was audited.
const UNSAFE: [(&str, &str); 2] = [
    ("adapters/worker/src/kafka/describe.rs", "the calls of librdkafka that rdkafka does not wrap"),
    ("core/tests/allocations.rs", "an allocator that counts, in a test"),
];

#[test]
fn core_has_no_clock_no_io_no_chance_and_no_hash_order() {
    let wrong = mentions("core/src/", &NOT_IN_CORE);
    none(&wrong, "core decides from what it is handed: make it an event, a command or an argument");
}

/// What each part of core knows nothing of.
const NOT_KNOWN: [(&str, &[&str]); 4] = [
    ("core/src/ids.rs", &["crate"]),
    ("core/src/source/", &["crate::driver", "crate::journal", "crate::ledger", "crate::lifecycle"]),
    ("core/src/ledger/", &["crate::driver", "crate::journal", "crate::lifecycle"]),
    ("core/src/lifecycle/", &["crate::driver", "crate::journal", "crate::ledger"]),
];

#[test]
fn arrows_within_core_run_one_way() {
    let wrong: Vec<String> = NOT_KNOWN.iter().flat_map(|(part, banned)| mentions(part, banned)).collect();
    none(
        &wrong,
        "facts and identifiers know nothing of the reducer, the reducer nothing of ledger, journal or driver",
    );
}

#[test]
fn the_store_takes_time_tasks_and_sockets_through_the_seam() {
    let wrong = mentions("adapters/store/src/", &NOT_IN_STORE);
    none(
        &wrong,
        "ask the Environment (adapters/store/src/env.rs) for it, so that the simulator can stand under it",
    );
}

/// Where production code below `folder` mentions one of the words or paths, also inside of a `use` with braces.
fn mentions(folder: &str, banned: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for file in production().iter().filter(|file| file.path.starts_with(folder)) {
        let code = without_tests(&file.text, &code(&file.text));
        for (at, path) in paths(&code) {
            let says = |banned: &&&str| format!("::{path}::").contains(&format!("::{banned}::"));
            found.extend(
                banned.iter().find(says).map(|word| format!("{}:{}: {word}", file.path, line(&code, at))),
            );
        }
    }
    found
}

/// Every path of the code, such as `std::time::Duration`, with the trees of `use` spelt out.
fn paths(code: &str) -> Vec<(usize, String)> {
    let mut paths = Vec::new();
    // What stands in front of each open brace of a `use`.
    let mut open: Vec<String> = Vec::new();
    let (mut before, mut end) = (String::new(), 0);
    for (at, word) in words(code) {
        for c in code[end..at].chars().filter(|c| !c.is_whitespace()) {
            match c {
                ':' => before.push(':'),
                '{' if before.ends_with("::") => open.push(std::mem::take(&mut before)),
                '}' => {
                    open.pop();
                    before.clear();
                }
                _ => before.clear(),
            }
        }
        end = at + word.len();
        if !before.ends_with("::") {
            before.clear();
        }
        before.push_str(word);
        paths.push((at, format!("{}{before}", open.concat())));
    }
    paths
}

#[test]
fn a_use_with_braces_is_spelt_out() {
    let code = "use std::{fmt, time::{Duration, Instant}}; use tokio::sync::{Notify}; fn a() { b::c(std::fs::read) }";
    let found: Vec<String> = paths(code).into_iter().map(|(_, path)| path).collect();
    for path in [
        "std::fmt",
        "std::time::Duration",
        "std::time::Instant",
        "tokio::sync::Notify",
        "b::c",
        "std::fs::read",
    ] {
        assert!(found.iter().any(|found| found == path), "{path} in {found:?}");
    }
    assert!(!found.iter().any(|found| found.contains("std::tokio") || found.contains("std::a")), "{found:?}");
}

#[test]
fn files_justify_themselves_at_400_lines_and_end_at_500() {
    let lengths: BTreeMap<String, usize> =
        rust().into_iter().map(|file| (file.path, file.text.lines().count())).collect();
    let is_justified = |path: &str| LONG.iter().any(|(long, why)| *long == path && !why.is_empty());
    let long = lengths.iter().filter(|(path, lines)| **lines > 500 || **lines > 400 && !is_justified(path));
    let long: Vec<String> = long.map(|(path, lines)| format!("{path} has {lines} lines")).collect();
    none(
        &long,
        "split it along what its parts know; up to 500 lines it may stand in LONG of core/tests/tidy/places.rs, with its reason",
    );
    let is_long = |path: &str| lengths.get(path).is_some_and(|lines| *lines > 400);
    let stale: Vec<String> =
        LONG.iter().filter(|(path, _)| !is_long(path)).map(|(path, _)| (*path).to_owned()).collect();
    none(&stale, "it is not that long (any more): take it out of LONG in core/tests/tidy/places.rs");
}

#[test]
fn a_module_says_what_it_knows() {
    let silent = rust().into_iter().filter(|file| !file.text.starts_with("//! "));
    let silent: Vec<String> = silent.map(|file| file.path).collect();
    none(&silent, "open it with `//! Knows …`, one sentence");
}

#[test]
fn no_trace_waits_for_its_review() {
    let pending = texts(|path| path.ends_with(".snap.new") || path.ends_with(".pending-snap"));
    let pending: Vec<String> = pending.into_iter().map(|file| file.path).collect();
    none(&pending, "read it, then `make bless`; or delete it");
}

#[test]
fn unsafe_stands_in_audited_files_only() {
    let mut wrong = Vec::new();
    for file in
        rust().iter().filter(|file| !UNSAFE.iter().any(|(path, why)| *path == file.path && !why.is_empty()))
    {
        let code = code(&file.text);
        let found = words(&code).find(|(_, word)| *word == "unsafe");
        wrong.extend(found.map(|(at, _)| format!("{}:{}", file.path, line(&code, at))));
    }
    none(
        &wrong,
        "do without it; if that cannot be, it belongs into an audited file (UNSAFE in core/tests/tidy/places.rs)",
    );
}

#[test]
fn nothing_is_left_to_be_done() {
    let later = ["todo", "unimplemented", "dbg"];
    let mut wrong = Vec::new();
    for file in rust() {
        let code = code(&file.text);
        let found = words(&code)
            .filter(|(at, word)| later.contains(word) && code[at + word.len()..].starts_with('!'));
        wrong.extend(found.map(|(at, word)| format!("{}:{}: {word}!", file.path, line(&code, at))));
    }
    let marks = [["FIX", "ME"].concat(), ["TO", "DO"].concat()];
    for file in texts(|path| !path.ends_with(".md") && path != "Cargo.lock") {
        let found = words(&file.text).filter(|(_, word)| marks.iter().any(|mark| mark == word));
        wrong.extend(found.map(|(at, word)| format!("{}:{}: {word}", file.path, line(&file.text, at))));
    }
    none(&wrong, "fix it, or write an issue and take it out");
}

#[test]
fn no_path_of_a_machine_and_no_registry() {
    let folders = ["work", "root", "home", "tmp"].map(|folder| format!("/{folder}/"));
    let mut wrong = Vec::new();
    for file in texts(|path| path != "Cargo.lock") {
        // A test may name a place that does not matter.
        let banned = if file.path.contains("/tests/") { &folders[..2] } else { &folders[..] };
        wrong.extend(says(&file, banned));
    }
    none(&wrong, "take a path from an argument, the environment or the system's folder for temporary files");

    let hosts = [
        ["crates", "io"],
        ["pypi", "org"],
        ["pythonhosted", "org"],
        ["npmjs", "org"],
        ["npmjs", "com"],
        ["yarnpkg", "com"],
        ["rubygems", "org"],
        ["repo.maven.apache", "org"],
        ["repo1.maven", "org"],
        ["proxy.golang", "org"],
    ]
    .map(|host| host.join("."));
    let mut wrong = Vec::new();
    for file in texts(|path| path != "Cargo.lock") {
        wrong.extend(says(&file, &hosts));
    }
    none(
        &wrong,
        "a registry is the business of the tool that asks it: name the package and leave the host to its settings",
    );
}

fn says(file: &Text, banned: &[String]) -> Vec<String> {
    let found = banned.iter().flat_map(|banned| file.text.match_indices(banned.as_str()));
    found.map(|(at, text)| format!("{}:{}: {text}", file.path, line(&file.text, at))).collect()
}

#[test]
fn ci_runs_make_check_and_nothing_else() {
    let run = read(".ci/run");
    let commands: Vec<&str> = run.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect();
    assert_eq!(
        commands,
        ["exec make check"],
        "whatever CI does must be what `make check` does at every desk"
    );
}

#[test]
fn production_is_where_it_is_looked_for() {
    let paths: Vec<String> = production().into_iter().map(|file| file.path).collect();
    for path in
        ["core/src/lib.rs", "adapters/store/src/world.rs", "adapters/worker/src/main.rs", "sim/src/main.rs"]
    {
        assert!(paths.iter().any(|found| found == path), "{path} was not found");
    }
    assert!(
        !paths.iter().any(|path| path == "core/src/lifecycle/table.rs"),
        "the table is printed by a test"
    );
    assert!(!is_production("core/tests/tidy/main.rs") && !is_production("adapters/worker/tests/cli/main.rs"));
}
