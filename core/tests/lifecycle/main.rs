//! The rules of the lifecycle, each as a story whose trace is reviewed like code.
#![allow(clippy::wildcard_enum_match_arm, reason = "a test looks for one variant among all")]

mod boundary;
mod budgets;
mod endings;
mod gate;
mod reading;
mod rules;
mod story;
