//! Defects that show in whole runs, or between them, and not in any fact.

use std::sync::Arc;

use amends_sim::checks::l08::ended_well;
use amends_sim::checks::s24::isolated;
use amends_sim::checks::s25::purity;
use amends_sim::scenario::Scenario;

use super::*;

/// A world of tier A at its end, with its steps.
fn lived(world: World, mut ground: Ground, defects: &'static [Defect]) -> Walk {
    // The world is lived to its end whatever happens in it.
    ground.chronicle.let_judge(Judges::Nobody);
    ground.chronicle.keep_steps();
    let mut walk = Walk::planted(world, ground, defects);
    walk.live();
    walk
}

/// What a judge says of a run without the defects, and with them.
fn judged(check: &str, defects: &'static [Defect], judge: impl Fn(&'static [Defect]) -> Result<(), String>) {
    assert!(ALL.iter().any(|(name, _)| *name == check), "there is no check {check}");
    assert_eq!(judge(&[]), Ok(()), "it fires without the defect");
    let why = judge(defects).expect_err("it did not see the defect");
    println!("{check}: {why}");
}

fn caught(check: &'static str, defects: &'static [Defect]) {
    judged(check, defects, |defects| match check {
        "S24" => is_isolated(defects),
        "S25" => is_pure(defects),
        _ => ends_well(defects),
    });
}

/// One worker owns two partitions, and the second has records or none.
const STORY: &str = "\
# What another partition holds changes nothing of what is asked for this one.
topic    orders partitions=2
members  a
seeds    1
lanes    2

0s       start a
until    a active orders/0
until    a active orders/1
+0s      publish orders/1 3
+2s      publish orders/0 3
until    quiet

expect   orders/0 frontier=3
";

fn is_isolated(defects: &'static [Defect]) -> Result<(), String> {
    let steps = |story: &str| {
        let scenario = Scenario::read(story).expect("the story is one");
        let (world, ground) = World::staged(Arc::new(scenario), 0, false);
        let walk = lived(world, ground, defects);
        walk.ground().chronicle.steps().next().expect("a worker took steps").1.to_vec()
    };
    let alone = STORY.replace("+0s      publish orders/1 3\n", "");
    isolated(&steps(STORY), &steps(&alone), Partition(0))
}

fn is_pure(defects: &'static [Defect]) -> Result<(), String> {
    let (world, ground) = World::new(Schedule::draw(0), false);
    let walk = lived(world, ground, defects);
    let settings = walk.world().settings();
    walk.ground().chronicle.steps().try_for_each(|(_, steps)| purity(settings, steps))
}

fn ends_well(defects: &'static [Defect]) -> Result<(), String> {
    let mut schedule = Schedule::draw(0);
    // Something is left to be decided, and nothing else goes wrong.
    schedule.shape.records = 3;
    schedule.strikes.clear();
    schedule.incidents.clear();
    let (world, ground) = World::new(schedule, false);
    ended_well(&lived(world, ground, defects).ground().chronicle.truth)
}

planted! {
    caught:
    s24_attempts_are_counted_for_all: "S24" by &[Asks(asks::counts_attempts_for_all)];
    s24_partitions_share_a_batch: "S24" by &[Asks(asks::shares_a_batch)];
    s25_commands_come_in_a_hash_maps_order: "S25" by &[Asks(asks::hands_over_in_any_order)];
    s25_a_wait_is_drawn_by_chance: "S25" by &[Asks(asks::waits_by_chance)];
    l08_nobody_polls: "L8" by &[Asks(asks::never_polls)];
    l08_an_assignment_is_not_heard: "L8" by &[Hears(hears::no_assignment)];
}

/// Groups that are called by another rule than the store's.
pub mod groups {
    use amends_sim::chronicle::Chronicle;
    use amends_sim::fact::Fact;
    use amends_sim::world::declared;
    use amends_store::namespace::Namespace;
    use uuid::Uuid;

    use super::*;

    /// What a process calls its group.
    type Call = fn(Life, &Namespace) -> String;

    /// Two workers of one database, and one of another that has a namespace of the same name.
    fn joined(call: Call) -> Chronicle {
        let mut chronicle = Chronicle::new(Truth::new(declared(), 1, 1), true);
        chronicle.let_judge(Judges::Only("S29"));
        for (worker, database) in [(0, 1), (1, 1), (2, 2)] {
            let uuid = Uuid::from_u128(database << 96 | database);
            let (who, namespace) = (Life::first(worker), Namespace { name: "n".to_owned(), uuid });
            let group = call(who, &namespace);
            chronicle.tell(&Fact::Joined { who, group: &group, namespace: uuid.as_u128() });
        }
        chronicle
    }

    fn caught(check: &'static str, defect: Call) {
        assert_eq!(joined(|_, namespace| namespace.group_id()).broken(), None);
        let chronicle = joined(defect);
        let broken = chronicle.broken().expect("it did not see the defect");
        assert_eq!(broken.name, check);
    }

    planted! {
        caught:
        s29_a_group_is_called_by_the_name_alone: "S29" by |_, namespace| format!("amends-{}", namespace.name);
        s29_each_process_has_a_group_of_its_own: "S29" by |who, namespace| format!("{}-{who}", namespace.group_id());
    }
}
