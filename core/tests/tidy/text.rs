//! Rules about what files say and how long they are.

use crate::repository::{files, read, refuse, root, rust};

const LONG: usize = 400;
const TOO_LONG: usize = 500;

/// Files over 400 lines, each with what keeps it together.
const JUSTIFIED: [(&str, &str); 3] = [
    (
        "adapters/worker/src/kafka/member.rs",
        "one thread owns one client: its orders and callbacks are one invariant",
    ),
    ("core/tests/lifecycle/rules.rs", "one story per rule, in the order of the rules"),
    ("core/src/lifecycle/tenure/mod.rs", "the states and inputs of one tenure are one table"),
];

/// Words that a folder or a module has when nobody asked whose line it is.
const HOMELESS: [&str; 5] = ["utils", "util", "common", "helpers", "types"];

#[test]
fn no_file_grows_for_ever() {
    let mut violations = Vec::new();
    for path in rust("") {
        let lines = read(&path).lines().count();
        let justified = JUSTIFIED.iter().any(|(listed, _)| *listed == path);
        if lines > TOO_LONG || (lines > LONG && !justified) {
            violations.push(format!("{path} has {lines} lines"));
        } else if lines <= LONG && justified {
            violations.push(format!("{path} has {lines} lines, and is listed as longer than {LONG}"));
        }
    }
    refuse(
        &violations,
        "split the file along what it knows; between 400 and 500 lines JUSTIFIED in core/tests/tidy/text.rs may say \
         what keeps it together",
    );
}

#[test]
fn nothing_is_left_for_later_and_nothing_names_a_machine() {
    let banned = [
        (concat!("FIX", "ME"), "an issue or a fix"),
        (concat!("todo", "!("), "write it, or leave the function out until its issue"),
        (concat!("TO", "DO"), "an issue or a fix"),
        (concat!("/wo", "rk/"), "name no path of one machine: take it from the environment or the checkout"),
        (concat!("/ro", "ot/"), "name no path of one machine: take it from the environment or the checkout"),
        (concat!("/ho", "me/"), "name no path of one machine: take it from the environment or the checkout"),
        (concat!("index.crates", ".io"), "registries are cargo's matter: only Cargo.lock names one"),
        (concat!("static.crates", ".io"), "registries are cargo's matter: only Cargo.lock names one"),
    ];
    let mut violations = Vec::new();
    for path in files("") {
        // What is no text holds no such word.
        let Ok(text) = String::from_utf8(std::fs::read(root().join(&path)).expect("readable")) else {
            continue;
        };
        // A page may say in quotation marks what is banned.
        let is_said = |line: &str, word: &str| line.contains(word) && !line.contains(&format!("`{word}"));
        for (number, line) in (1..).zip(text.lines()) {
            violations.extend(
                (banned.iter().filter(|(word, _)| is_said(line, word)))
                    .map(|(word, cure)| format!("{path}:{number} says {word}: {cure}")),
            );
        }
    }
    refuse(&violations, "each line says its own");
}

#[test]
fn every_line_has_a_home() {
    let is_homeless = |part: &str| HOMELESS.contains(&part.trim_end_matches(".rs"));
    let violations: Vec<String> =
        rust("").into_iter().filter(|path| path.split('/').any(is_homeless)).collect();
    refuse(
        &violations,
        "name the module after what it knows; a line without a home is a question not asked yet",
    );
}

#[test]
fn every_module_says_what_it_knows() {
    let mut violations = Vec::new();
    for path in rust("") {
        if !read(&path).starts_with("//! ") {
            violations.push(path);
        }
    }
    refuse(&violations, "open the module with one sentence: `//! Knows …`");
}

#[test]
fn no_trace_waits_for_its_review() {
    let is_pending = |path: &String| path.ends_with(".snap.new") || path.ends_with(".pending-snap");
    let violations: Vec<String> = files("").into_iter().filter(is_pending).collect();
    refuse(&violations, "review the trace, then `make bless`; or delete it");
}
