//! S18: budgets, attempts, and who stops over them.

use amends_core::lifecycle::command::{Command, Timer};
use amends_core::lifecycle::event::{Event, PollFailure};
use amends_core::lifecycle::stop::StopReason;
use amends_sim::checks::s18;
use amends_sim::fact::{Fact, Row};

use super::told::{A, Told, t};

#[test]
fn s18_budgets() {
    let working = || {
        let mut told = Told::<s18::Budgets>::new();
        told.working().polled(A, t(), &[0, 1]);
        told
    };
    let retry = Timer::Retry { tenure: t(), wait: 1 };
    let mut good = working();
    for now in [100, 300] {
        good.process(A, t(), (0, 2)).process_failed(A, t()).wait(A, retry, 101).at(now);
    }
    good.process(A, t(), (0, 2)).hears(A, Event::Committed { tenure: t() }).allow(A, t()).poll(A, t());
    good.at(90_000).settled(A).holds("S18");

    let mut bad = working();
    for now in [100, 300, 600] {
        bad.process(A, t(), (0, 2)).process_failed(A, t()).wait(A, retry, 100).at(now);
    }
    bad.process(A, t(), (0, 2)).breaks("S18", "a 0#1 tries Process again after 3 failures");
    let mut bad = working();
    bad.process(A, t(), (0, 2)).process_failed(A, t()).process(A, t(), (0, 2));
    bad.breaks("S18", "again 0ms after a failure");
    working()
        .process(A, t(), (0, 2))
        .process_failed(A, t())
        .wait(A, retry, 5_000)
        .breaks("S18", "waits 5000ms");
    working().at(19_500).process(A, t(), (0, 2)).breaks("S18", "gives Process 1000ms, its budget has 500ms");
    working()
        .at(20_600)
        .settled(A)
        .breaks("S18", "a still works at partition 0 under the budget that began at 0ms");
    // A re-claim does not begin the budget again.
    let mut bad = Told::<s18::Budgets>::new();
    bad.started(A).assigned(A, 1, &[0]).claim(A, t());
    bad.at(10_000).hears(A, Event::ClaimUnknown { tenure: t(), why: String::new() });
    bad.observe(A, t()).observed(A, t(), Row::default()).claim(A, t()).at(20_600).settled(A);
    bad.breaks("S18", "budget that began at 0ms");
    // A poll that fails and fails draws on one budget.
    let mut bad = Told::<s18::Budgets>::new();
    bad.working();
    for now in [0, 5_000, 10_000, 15_000, 20_000, 21_000] {
        let failure = PollFailure::Again("no broker".to_owned());
        bad.at(now).hears(A, Event::PollFailed { tenure: t(), failure }).allow(A, t()).poll(A, t());
    }
    bad.breaks("S18", "still works");
    // Who stops over a budget or its attempts has used them up.
    let spent = |why: &str| (t(), "deciding".to_owned(), why.to_owned());
    let budget = || {
        let (tenure, doing, why) = spent("");
        Command::Stop { reason: StopReason::BudgetSpent { tenure, doing, why } }
    };
    let attempts = || {
        let (tenure, doing, why) = spent("40001");
        Command::Stop { reason: StopReason::AttemptsSpent { tenure, doing, why } }
    };
    working().at(20_000).retire(A, t()).drain(A).asks(A, budget()).holds("S18");
    working()
        .at(19_999)
        .retire(A, t())
        .drain(A)
        .at(25_000)
        .asks(A, budget())
        .breaks("S18", "stops over the budget");
    let mut good = working();
    for now in [100, 300, 600] {
        good.process(A, t(), (0, 2)).process_failed(A, t()).at(now);
    }
    good.retire(A, t()).drain(A).asks(A, attempts()).holds("S18");
    working()
        .at(20_000)
        .retire(A, t())
        .drain(A)
        .asks(A, attempts())
        .breaks("S18", "nothing failed three times");
    // Whoever stands still spends nothing; whoever stops is judged elsewhere.
    let mut good = working();
    good.tell(&Fact::Froze { who: A })
        .at(50_000)
        .tell(&Fact::Ended)
        .at(51_000)
        .tell(&Fact::Thawed { who: A });
    good.drain(A).at(90_000).settled(A).holds("S18");
}
