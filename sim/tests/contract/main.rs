//! The contract cases against a real PostgreSQL: `make up` starts one; `AMENDS_TEST_DATABASE_URL` names another.
//!
//! `AMENDS_BLESS=1` makes what it answers the stored answers.

#![cfg(madsim)]

use std::collections::BTreeSet;

use amends_sim::contract::{Verdict, cases, run_live, run_simulated};
use amends_store::statements::OF_A_WORKER;

#[test]
fn a_real_server_answers_as_stored() {
    let is_blessed = std::env::var_os("AMENDS_BLESS").is_some();
    let mut different = Vec::new();
    let cases = cases().expect("cases that can be read");
    assert!(cases.len() >= 30, "{} cases", cases.len());
    let mut hear = |verdict: &Verdict| {
        println!("{verdict}");
        different.extend(verdict.difference.as_ref().map(|_| verdict.to_string()));
    };
    run_live(cases, is_blessed, &mut hear).expect("a server");
    assert!(different.is_empty(), "{}", different.join("\n"));
}

#[test]
fn every_statement_is_said_and_every_table_is_written() {
    let cases = cases().expect("cases that can be read");
    let said: BTreeSet<&str> = cases.iter().flat_map(|case| case.statements()).collect();
    let silent: Vec<&str> = OF_A_WORKER.iter().map(|(name, _)| *name).filter(|name| !said.contains(name)).collect();
    assert!(silent.is_empty(), "no case says {silent:?}");
    let written: BTreeSet<&str> = cases.iter().flat_map(|case| case.tables()).collect();
    let tables = ["evidence", "head", "namespace", "outbox", "partition", "position"];
    assert_eq!(written.into_iter().collect::<Vec<_>>(), tables);
}

#[test]
fn the_model_answers_as_stored() {
    let mut different = Vec::new();
    let mut hear = |verdict: &Verdict| {
        println!("{verdict}");
        different.extend(verdict.difference.as_ref().map(|_| verdict.to_string()));
    };
    run_simulated(&cases().expect("cases that can be read"), &mut hear).expect("played to their end");
    assert!(different.is_empty(), "{}", different.join("\n"));
}
