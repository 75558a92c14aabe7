//! What the three paragraphs become: a claim, the schedule of each seed, and the actions of a story.

use amends_sim::fact::Entry;
use amends_sim::faults::{Fault, Incident, Order, Schedule, Scheduler, Strike};
use amends_sim::scenario::action::{Action, Request, Setting};
use amends_sim::scenario::{Deed, Scenario, When};

fn scenario(world: &str, story: &str) -> Scenario {
    let text = format!(
        "# A claim\n# of two lines.\n#\n{world}\nmembers a b\nseeds 7\n\n{story}\n\nexpect drained # and nothing else\n"
    );
    Scenario::read(&text).unwrap()
}

#[test]
fn a_world_is_what_its_lines_say_and_no_fault_strikes_by_itself() {
    let world = "topic orders partitions=3 records=4 grows-every=2s\nlanes 1\nbatch 2\nsession-timeout 6s";
    let scenario = scenario(world, "0s start a");
    assert_eq!(scenario.claim, "A claim of two lines.");
    assert_eq!(scenario.seeds(), 0..7);
    let Schedule { seed, shape, scheduler, begins_at, strikes, incidents } = scenario.schedule(5);
    assert_eq!((seed, scheduler, begins_at), (5, Scheduler::Uniform, None));
    assert_eq!((shape.partitions, shape.records, shape.grows_every_ms), (3, 4, 2_000));
    assert_eq!((shape.workers, shape.lanes, shape.batch_records, shape.session_timeout_ms), (2, 1, 2, 6_000));
    assert!(strikes.is_empty() && incidents.is_empty());
}

#[test]
fn random_faults_and_a_mixed_pace_are_those_of_a_campaign() {
    let scenario = scenario("topic orders\nfaults random\npace mixed", "0s start a");
    let seeds = 0..200;
    assert!(seeds.clone().any(|seed| scenario.schedule(seed).scheduler != Scheduler::Uniform));
    for seed in seeds {
        let (ours, drawn) = (scenario.schedule(seed), Schedule::draw(seed));
        assert_eq!((&ours.strikes, &ours.scheduler), (&drawn.strikes, &drawn.scheduler));
        assert_eq!(ours.incidents.len(), drawn.incidents.len());
        assert!(ours.incidents.iter().all(|incident| incident.worker < 2 && incident.partition == 0));
    }
}

fn action(line: &str) -> Action {
    let scenario = scenario("topic orders partitions=2", &format!("0s {line}"));
    let Deed::Perform { when: When::At(0), action } = scenario.story.into_iter().next().unwrap().deed else {
        panic!("{line} is an act at 0s")
    };
    action
}

fn incident(fault: Fault, severity: u64, variant: u32, worker: u8, partition: u32) -> Action {
    Action::Incident(Incident { at_ms: 0, fault, severity, variant, worker, partition })
}

#[test]
fn verbs_become_actions() {
    for (line, becomes) in [
        ("pause b", Action::Pause { worker: 1, for_ms: None }),
        ("ask b stop", Action::Ask { worker: 1, request: Request::Stop }),
        ("open orders/1 2", Action::Append { partition: 1, entry: Entry::Open, times: 2 }),
        ("abort orders/1", Action::Close { partition: 1, is_committed: false }),
        ("commit orders/1", Action::Close { partition: 1, is_committed: true }),
        ("publish orders/1", Action::Append { partition: 1, entry: Entry::Visible, times: 1 }),
        ("control orders/0 2", Action::Append { partition: 0, entry: Entry::Control, times: 2 }),
        ("aborted orders/0 2", Action::Append { partition: 0, entry: Entry::Aborted, times: 2 }),
        ("delete-records orders/1 below=3", Action::DeleteBelow { partition: 1, offset: 3 }),
        ("truncate orders/1 to=3", Action::TruncateTo { partition: 1, offset: 3 }),
        ("compact orders/1 at=3", Action::Compact { partition: 1, offset: 3 }),
        ("recreate", Action::Recreate { partitions: None }),
        ("configure unclean-election", Action::Configure(Setting::UncleanElection)),
        ("starve b for 70s", incident(Fault::PollThreadStarved, 70_000, 0, 1, 0)),
        ("leader-lost orders/1 for 3s", incident(Fault::LeaderMoved, 3_000, 0, 0, 1)),
        ("hold orders/1 for 500ms", incident(Fault::RowHeld, 500, 0, 0, 1)),
        ("failover", incident(Fault::FailedOver, 0, 0, 0, 0)),
        ("failover forgetting 2", incident(Fault::CommitsForgotten, 2, 0, 0, 0)),
        ("postgres down for 5s", incident(Fault::FailedOver, 5_000, 0, 0, 0)),
        ("foreign-claim orders/1", incident(Fault::SecondDeployment, 0, 0, 0, 1)),
        ("strike crashed b in-a-transaction 2s", incident(Fault::Crashed, 2_000, 1, 1, 0)),
    ] {
        assert_eq!(action(line), becomes, "{line}");
    }
}

#[test]
fn a_strike_is_ordered_at_its_place_in_its_form() {
    let order = |fault, worker, partition, severity, variant, times| {
        Action::Order(Order { fault, worker, partition, strike: Strike { severity, variant }, times })
    };
    for (line, becomes) in [
        ("commit-reply-lost", order(Fault::CommitReplyLost, None, None, 0, 0, 1)),
        (
            "commit-reply-lost b orders/1 silent 2s times=3",
            order(Fault::CommitReplyLost, Some(1), Some(1), 2_000, 1, 3),
        ),
        ("observe-fails times=always", order(Fault::ObserveFails, None, None, 1, 0, u32::MAX)),
        ("transaction-aborted 2 40P01", order(Fault::TransactionAborted, None, None, 2, 1, 1)),
    ] {
        assert_eq!(action(&format!("strike {line}")), becomes, "{line}");
    }
}

#[test]
fn a_partition_that_the_story_adds_may_be_named() {
    let scenario = scenario("topic orders", "0s partitions 3\n0s publish orders/2 1");
    assert_eq!(scenario.story.len(), 2);
}
