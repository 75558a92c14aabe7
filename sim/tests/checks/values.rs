//! S20, S26 and S32 where a world keeps rows.

use amends_core::ids::Offset;
use amends_sim::checks::{Check, s20, s26, s32};
use amends_sim::fact::{Fact, Written};
use amends_sim::oracle::Oracle;

use super::oracle::{config, said};
use super::told::{A, P, Told, row, t};

const STORY: [&str; 4] = ["T1 1 01-05 -30", "T2 1 01-07 -60", "T1 2 01-06 -20", "T2 2"];

/// What the commits of one record each must leave.
fn written() -> Vec<Written> {
    let mut oracle = Oracle::new(config());
    let mut all = Vec::new();
    for (offset, line) in (0..).zip(STORY) {
        let record = said(offset, line);
        oracle.record(P, record.offset, record.key.as_deref(), record.value.as_deref());
        all.push(oracle.decide(P, &[Offset(offset)], 1).unwrap());
    }
    all
}

/// An owner of a ledger whose records are told.
fn owner<C: Check>() -> Told<C> {
    let mut told = Told::new();
    told.working().tell(&Fact::Declared(&config()));
    for (offset, line) in (0..).zip(STORY) {
        told.tell(&Fact::Published { partition: P, record: &said(offset, line) });
    }
    told
}

/// Decides the story, the last of its commits changed.
fn lived<C: Check>(change: impl FnOnce(&mut Written)) -> Told<C> {
    let mut told = owner();
    let mut all = written();
    change(all.last_mut().unwrap());
    for (offset, rows) in (0..).zip(all) {
        told.commits_rows(row(1, offset + 1), &[offset], rows);
    }
    told
}

fn put(row: &mut [Option<String>], column: usize, text: &str) {
    row[column] = Some(text.to_owned());
}

#[test]
fn s20_rows_of_one_decision() {
    lived::<s20::Atomicity>(|_| ()).holds("S20");
    lived::<s20::Atomicity>(|rows| rows.evidence.clear())
        .breaks("S20", "1 records are decided, 0 have evidence");
    lived::<s20::Atomicity>(|rows| put(&mut rows.evidence[0], 1, "2"))
        .breaks("S20", "evidence of Some(Offset(2))");
    lived::<s20::Atomicity>(|rows| put(&mut rows.outbox[0], 1, "2"))
        .breaks("S20", "an envelope caused by Some(Offset(2))");
    lived::<s20::Atomicity>(|rows| rows.positions.clear()).breaks("S20", "without its position");
    let mut bad = owner::<s20::Atomicity>();
    bad.commits_rows(row(1, 0), &[], written().remove(0)).breaks("S20", "writes rows and decides nothing");
}

#[test]
fn s26_versions() {
    lived::<s26::Versions>(|_| ()).holds("S26");
    lived::<s26::Versions>(|rows| put(&mut rows.outbox[0], 5, "4")).breaks("S26", "has version 4 after 2");
    lived::<s26::Versions>(|rows| put(&mut rows.outbox[0], 5, "2")).breaks("S26", "has version 2 after 2");
    lived::<s26::Versions>(|rows| rows.outbox.clear())
        .breaks("S26", "stands at version 3, its envelopes at 2");
    // What a failover forgot is decided again under the same versions.
    let mut good = lived::<s26::Versions>(|_| ());
    good.tell(&Fact::Forgot { commits: 2 });
    let mut again = written();
    let last = again.pop().unwrap();
    let third = again.pop().unwrap();
    good.commits_rows(row(1, 3), &[2], third).holds("S26");
    good.commits_rows(row(1, 4), &[3], last.clone()).holds("S26");
    good.commits_rows(row(1, 5), &[4], last).breaks("S26", "has version 3 after 3");
}

#[test]
fn s32_values() {
    lived::<s32::Values>(|_| ()).holds("S32");
    lived::<s32::Values>(|rows| put(&mut rows.evidence[0], 2, "STALE"))
        .breaks("S32", "partition 0: evidence has 0 3 STALE");
    lived::<s32::Values>(|rows| put(&mut rows.evidence[0], 7, "2")).breaks("S32", "evidence has");
    lived::<s32::Values>(|rows| rows.outbox.clear()).breaks("S32", "outbox lacks 0 3 2026-01-07");
    lived::<s32::Values>(|rows| put(&mut rows.positions[0], 4, "1"))
        .breaks("S32", "position has widget berlin");
    lived::<s32::Values>(|rows| rows.positions.clear())
        .breaks("S32", "position lacks widget berlin 2026-01-07 3 0 null null");
    // Decided again after a failover; the surviving commits count.
    let mut good = lived::<s32::Values>(|_| ());
    good.tell(&Fact::Forgot { commits: 1 }).commits_rows(row(1, 4), &[3], written().remove(3)).holds("S32");
    // Quarantined because PostgreSQL refused it.
    let mut refused = owner::<s32::Values>();
    refused.polled(A, t(), &[0]).process_as(A, t(), (0, 1), true);
    let mut rows = Written { evidence: written().remove(0).evidence, ..Written::default() };
    let row = &mut rows.evidence[0];
    put(row, 2, "REFUSED_BY_STORE");
    (row[3], row[4]) = (None, None);
    refused.commits_rows(super::told::row(1, 1), &[0], rows.clone()).holds("S32");
    let mut bad = owner::<s32::Values>();
    bad.commits_rows(super::told::row(1, 1), &[0], rows).breaks("S32", "REFUSED_BY_STORE");
}
