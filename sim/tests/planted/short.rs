//! Defects that show in a situation which a drawn world seldom comes to.

use super::*;

/// Small drawn worlds in which the log is cut below the frontier.
fn cut(seed: u64) -> Schedule {
    let mut schedule = Schedule::draw(seed);
    schedule.strikes.clear();
    schedule.shape.records = 4;
    let at_ms = schedule.shape.wild_ms;
    let cut = Incident {
        at_ms: at_ms / 2,
        fault: Fault::TruncatedBelow,
        severity: 1,
        variant: 0,
        worker: 0,
        partition: 0,
    };
    schedule.incidents = vec![cut];
    schedule
}

planted! {
    caught_where_the_log_is_cut:
    s16_a_frontier_above_the_end_is_not_seen: "S16" by
        &[Hears(hears::a_longer_log), Hears(hears::a_position_beyond_the_end_as_no_news)];
    s16_a_frontier_above_the_end_is_sought: "S16" by &[Hears(hears::a_longer_log)];
}

fn caught_where_the_log_is_cut(check: &'static str, defects: &'static [Defect]) {
    caught_in(cut, check, defects);
}
