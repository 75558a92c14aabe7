//! Knows what the simulator cannot run, and that it decides nothing.

use std::collections::BTreeSet;

use crate::lexer::{code, without_tests};
use crate::none;
use crate::repository::{production, read, root};

const PAGE: &str = "docs/outside-of-the-world.md";

/// Of the store, what no worker runs.
const VERBS_OF_THE_STORE: [&str; 3] =
    ["adapters/store/src/export.rs", "adapters/store/src/guard.rs", "adapters/store/src/inspect.rs"];

/// The words for what only core may compare.
const DECIDING: [&str; 6] = ["offset", "frontier", "epoch", "token", "incarnation", "uuid"];

/// A reader ends at the end that it asked itself: that is no decision about ownership.
const ALLOWED: [(&str, &str); 1] = [("adapters/worker/src/kafka/reader.rs", "record.offset < self.end")];

/// First cell and last cell of every row.
fn rows() -> Vec<(String, String)> {
    let text = read(PAGE);
    let cells = |row: &str| -> Vec<String> {
        row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let rows = text.lines().filter(|line| line.starts_with("| `")).map(cells);
    rows.filter_map(|cells| Some((cells.first()?.trim_matches('`').to_owned(), cells.last()?.clone())))
        .collect()
}

#[test]
fn everything_outside_of_the_world_is_listed() {
    let listed: BTreeSet<String> = rows().into_iter().map(|(file, _)| file).collect();
    let is_outside = |path: &str| {
        path.starts_with("adapters/worker/src/") && !path.ends_with("/lib.rs")
            || VERBS_OF_THE_STORE.contains(&path)
    };
    let there: BTreeSet<String> =
        production().into_iter().map(|file| file.path).filter(|path| is_outside(path)).collect();
    let wrong: Vec<String> = there.symmetric_difference(&listed).cloned().collect();
    none(
        &wrong,
        &format!("say in {PAGE} what it does and which test on a real service covers it, or take it out"),
    );
}

#[test]
fn what_is_outside_is_covered_by_a_test_on_a_real_service() {
    let mut wrong = Vec::new();
    for (file, covered) in rows() {
        let tests: Vec<&str> = covered.split('`').filter(|part| part.contains("/tests/")).collect();
        let are_there = tests.iter().all(|test| root().join(test).exists());
        if tests.is_empty() || !are_there {
            wrong.push(format!("{file}: {covered}"));
        }
    }
    none(&wrong, &format!("name in {PAGE} a test file that exists"));
}

#[test]
fn what_is_outside_compares_nothing_that_core_decides_by() {
    let mut wrong = Vec::new();
    let files = production();
    let is_adapter = |path: &str| {
        path.starts_with("adapters/worker/src/kafka/") || path == "adapters/worker/src/worker.rs"
    };
    for file in files.iter().filter(|file| is_adapter(&file.path)) {
        let code = without_tests(&file.text, &code(&file.text));
        for (number, line) in code.lines().enumerate() {
            let is_allowed = ALLOWED.iter().any(|(path, text)| *path == file.path && line.contains(text));
            if compares(line) && !is_allowed {
                wrong.push(format!("{}:{}: {}", file.path, number + 1, line.trim()));
            }
        }
    }
    none(&wrong, "an adapter waits and never decides: hand it to core as an event, and compare it there");
}

/// Whether a line compares one of the deciding words with something.
fn compares(line: &str) -> bool {
    let operators = [" == ", " != ", " <= ", " >= ", " < ", " > "];
    operators.iter().any(|operator| {
        line.match_indices(operator).any(|(at, _)| {
            let (left, right) = (&line[..at], &line[at + operator.len()..]);
            let left = left.rsplit([' ', '(', '!', '&']).next().unwrap_or_default();
            let right = right.split([' ', ')', ';', ',']).next().unwrap_or_default();
            is_deciding(left) || is_deciding(right)
        })
    })
}

/// `record.offset`, `offset.0`, `self.incarnation`, `seen_uuid`.
fn is_deciding(operand: &str) -> bool {
    let parts = operand.split(['.', '_', ':', '?']);
    parts.filter(|part| !part.is_empty()).any(|part| DECIDING.contains(&part))
}

#[test]
fn a_comparison_is_recognised() {
    for line in [
        "if record.offset < end {",
        "a && seen.incarnation == expected",
        "(1 != token.epoch)",
        "next_offset.0 >= 3",
    ] {
        assert!(compares(line), "{line}");
    }
    for line in ["member.number == rebalance.member", "offset(1)", "let offset = 1;", "fn a() -> Offset {"] {
        assert!(!compares(line), "{line}");
    }
}
