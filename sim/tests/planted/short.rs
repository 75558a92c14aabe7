//! Defects that show in a situation which a drawn world seldom comes to.

use super::*;

/// Drawn worlds in which nothing goes wrong but this, in their midst.
fn with(seed: u64, fault: Fault) -> Schedule {
    let mut schedule = Schedule::draw(seed);
    schedule.strikes.clear();
    schedule.shape.records = 4;
    let at_ms = schedule.shape.wild_ms / 2;
    schedule.incidents = vec![Incident { at_ms, fault, severity: 1, variant: 0, worker: 0, partition: 0 }];
    schedule
}

/// A log is cut below its frontier.
fn caught_at_a_cut(check: &'static str, defects: &'static [Defect]) {
    caught_in(|seed| with(seed, Fault::TruncatedBelow), check, defects);
}

/// A failover forgets the last commit: a claim, where nothing was decided.
fn caught_at_a_failover(check: &'static str, defects: &'static [Defect]) {
    let without_records = |seed| {
        let mut schedule = with(seed, Fault::CommitsForgotten);
        (schedule.shape.records, schedule.shape.grows_every_ms) = (0, 0);
        schedule
    };
    caught_in(without_records, check, defects);
}

/// Where a log is cut.
pub mod cut {
    use super::*;

    planted! {
        caught_at_a_cut:
        s16_a_frontier_above_the_end_is_not_seen: "S16" by
            &[Hears(hears::a_longer_log), Hears(hears::a_position_beyond_the_end_as_no_news)];
        s16_a_frontier_above_the_end_is_sought: "S16" by &[Hears(hears::a_longer_log)];
    }
}

/// Where commits are forgotten.
pub mod failover {
    use super::*;

    planted! {
        caught_at_a_failover:
        s04_a_claim_keeps_the_claim_id: "S4" by &[Says(Sql::DrawsNoClaimId)];
    }
}
