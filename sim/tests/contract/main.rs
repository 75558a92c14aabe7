//! The contract cases against the model and against a real PostgreSQL: `make up` starts one;
//! `AMENDS_TEST_DATABASE_URL` names another. With `AMENDS_BLESS` what it answers becomes what is stored.

#![cfg(madsim)]

use std::collections::BTreeSet;

use amends_sim::contract::{Verdict, cases, run_live, run_simulated};
use amends_store::statements::OF_A_WORKER;

/// All cases by one of the two, none different.
fn as_stored(run: impl FnOnce(&mut dyn FnMut(&Verdict)) -> Result<(), String>) {
    let (mut count, mut different) = (0, Vec::new());
    run(&mut |verdict| {
        count += 1;
        different.extend(verdict.difference.as_ref().map(|_| verdict.to_string()));
    })
    .expect("played to their end");
    assert!(count >= 30, "{count} cases");
    assert!(different.is_empty(), "\n{}", different.join("\n"));
}

#[test]
fn a_real_server_answers_as_stored() {
    let server = std::env::var("AMENDS_TEST_DATABASE_URL")
        .unwrap_or_else(|_| "postgres://amends:amends-local-only@127.0.0.1:15432/amends".to_owned());
    let is_blessed = std::env::var_os("AMENDS_BLESS").is_some();
    as_stored(|said| run_live(&server, is_blessed, said));
}

#[test]
fn the_model_answers_as_stored() {
    as_stored(|said| run_simulated(said));
}

#[test]
fn every_statement_is_said_and_every_table_is_written() {
    let cases = cases().expect("cases that can be read");
    let said: BTreeSet<&str> = cases.iter().flat_map(|case| case.statements()).collect();
    let names = OF_A_WORKER.iter().map(|(name, _)| *name);
    let silent: Vec<&str> = names.filter(|name| !said.contains(name)).collect();
    assert!(silent.is_empty(), "no case says {silent:?}");
    let written: BTreeSet<&str> = cases.iter().flat_map(|case| case.tables()).collect();
    let tables = ["evidence", "head", "namespace", "outbox", "partition", "position"];
    assert_eq!(written.into_iter().collect::<Vec<_>>(), tables);
}
