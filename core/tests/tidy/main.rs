//! The rules of the repository, as tests whose message names the cure. What each keeps, and how to see it red, stands in
//! `docs/contributing.md`.
#![allow(
    clippy::disallowed_methods,
    reason = "these tests judge files and environment; core's own code does not"
)]

mod decisions;
mod docs;
mod lexer;
mod names;
mod outside;
mod packages;
mod places;
mod repository;
mod words;

/// Fails with everything that is wrong at once, and what to do about it.
#[track_caller]
fn none(wrong: &[String], cure: &str) {
    assert!(wrong.is_empty(), "{cure}:\n  {}\n", wrong.join("\n  "));
}
