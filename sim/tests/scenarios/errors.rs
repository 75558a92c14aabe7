//! Each kind of mistake, as it is shown.

use amends_sim::scenario::Scenario;
use insta::assert_snapshot;

const WORLD: &str = "# A claim.\ntopic    orders partitions=2 records=3\nmembers  a b\nseeds    5\n";

fn shown(text: &str) -> String {
    let mistakes = Scenario::read(text).expect_err("there is a mistake in it");
    mistakes.iter().map(|mistake| format!("{}\n", mistake.show("some.scenario", text))).collect()
}

/// A sound scenario but for one line of its story.
fn story(line: &str) -> String {
    shown(&format!("{WORLD}\n0s       start a\n{line}\n\nexpect   drained\n"))
}

/// A sound scenario but for one expectation.
fn outcome(line: &str) -> String {
    shown(&format!("{WORLD}\n0s       start a\n\n{line}\n"))
}

/// A sound scenario but for one more line of its world.
fn world(line: &str) -> String {
    shown(&format!("{WORLD}{line}\n\n0s       start a\n\nexpect   drained\n"))
}

/// One test a mistake, each with its snapshot.
macro_rules! mistakes {
    ($($name:ident: $of:ident($line:expr);)*) => {$(
        #[test]
        fn $name() {
            assert_snapshot!($of($line));
        }
    )*};
}

mistakes! {
    a_verb_that_is_none: story("1s       strat a");
    a_verb_like_no_other: story("1s       detonate a");
    a_member_that_is_missing: story("1s       pause");
    a_member_that_does_not_play: story("1s       pause c for 3s");
    a_partition_that_is_not_there: story("1s       publish orders/2 1");
    a_partition_of_another_topic: story("1s       publish payments/0");
    a_time_without_a_unit: story("1s       pause a for 60");
    a_number_that_is_none: story("1s       publish orders/0 three");
    a_word_too_many: story("1s       crash a now");
    a_pause_without_for: story("1s       pause a 60s");
    a_request_that_is_none: story("1s       ask a stopp");
    a_configuration_that_is_none: story("1s       configure retention");
    an_offset_without_its_key: story("1s       truncate orders/0 3");
    a_server_that_is_up: story("1s       postgres up for 3s");
    a_fault_that_is_none: story("1s       strike commit-reply-lots a");
    a_form_that_the_fault_has_not: story("1s       strike commit-reply-lost a loudly");
    a_severity_without_its_unit: story("1s       strike commit-reply-lost a 500");
    an_incident_that_is_repeated: story("1s       strike paused a 3s times=2");
    a_line_without_a_time: story("start    b");
    a_margin_that_is_nearly_until: story("untill   quiet");
    a_time_before_the_line_above: story("5s       start b\n3s       crash a");
    a_time_after_an_until: story("until    quiet\n10s      crash a");
    a_condition_that_is_none: story("until    quit");
    a_limit_that_is_no_time: story("until    quiet within 5");
    a_setting_in_the_story: story("lanes    2");
    a_mark_without_a_name: story("mark");

    a_setting_that_is_none: world("lane     2");
    a_setting_that_was_said_before: world("seeds    6");
    a_topic_of_another_name: shown("# A claim.\ntopic    payments\nmembers  a\nseeds    1\n\n0s       start a\n\nexpect   drained\n");
    an_option_that_a_topic_has_not: shown("# A claim.\ntopic    orders partition=2\nmembers  a\nseeds    1\n\n0s       start a\n\nexpect   drained\n");
    members_out_of_order: shown("# A claim.\ntopic    orders\nmembers  a c\nseeds    1\n\n0s       start a\n\nexpect   drained\n");
    a_pace_that_is_none: world("pace     mixd");

    an_outcome_that_is_no_expectation: outcome("expect   drained\nexpct    quiet");
    an_act_behind_the_outcome: outcome("expect   drained\n5s       crash a");
    an_opposite_that_is_none: outcome("expect   not quiet");
    a_word_that_is_nearly_active: outcome("expect   a activ orders/0");
    a_word_that_no_trace_has: outcome("expect   a order claim proces");
    a_word_that_is_about_no_partition: outcome("expect   a check=2 orders/0");
    a_count_that_is_none: outcome("expect   a process>2");
    a_reason_that_is_none: outcome("expect   a stopped reason=unresolvd");
    a_measure_that_is_none: outcome("expect   orders/0 fronteer=3");
    a_measure_that_all_partitions_have_not: outcome("expect   epoch=2");
    an_order_of_one: outcome("expect   a order claim");
    a_never_without_after: outcome("expect   a never process before fenced");
    a_process_that_is_no_number: outcome("expect   a.x claim=1");
    a_blank_before_a_number: outcome("expect   orders/0 epoch= 2");

    a_scenario_without_a_claim: shown("topic    orders\nmembers  a\nseeds    1\n\n0s       start a\n\nexpect   drained\n");
    a_scenario_without_settings: shown("# A claim.\n\n0s       start a\n\nexpect   drained\n");
    a_scenario_without_a_story: shown("# A claim.\ntopic    orders\nmembers  a\nseeds    1\n\nexpect   drained\n");
    a_scenario_without_an_outcome: shown("# A claim.\ntopic    orders\nmembers  a\nseeds    1\n\n0s       start a\n");
    a_file_of_nothing: shown("");
    mistakes_on_several_lines: shown("# A claim.\ntopic    orders\nmembers  a\nseed     1\n\n0s       begin a\nuntil    a activ orders/0\n+1s      crash b\n\nexpect   orders/0 epoch=x frontier=y\n");
    a_word_behind_letters_of_two_bytes_and_a_tab: shown("# Ein Anspruch.\ntopic    orders\nmembers  a\nseeds    1\n\n0s\tstart ä\n\nexpect   drained\n");
}
