//! Knows a world's own log: every fact is shown to the checks, written into the trace, and taken into the truth.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use amends_core::ids::Moment;
use amends_core::journal::Step;
use amends_core::lifecycle::command::Command;
use amends_core::lifecycle::event::Event;

use crate::cells::Cells;
use crate::checks::{Checks, Judges, Violation};
use crate::fact::Fact;
use crate::faults::Fault;
use crate::life::Life;
use crate::scenario::outcome::Outcome;
use crate::sometimes::Goals;
use crate::truth::Truth;

/// One step: when, what came, what was asked for.
pub type Kept = (Moment, Event, Vec<Command>);

/// The log of one world.
pub struct Chronicle {
    /// What is so.
    pub truth: Truth,
    checks: Checks,
    goals: Goals,
    cells: Cells,
    /// The steps of every process, where they are kept to be decided again.
    steps: Option<BTreeMap<Life, Vec<Kept>>>,
    /// The lines so far, where somebody wants to read them.
    trace: Option<String>,
    /// What a scenario is judged by, where one is told.
    outcome: Option<Outcome>,
    /// The first property that was broken. Nothing is taken in afterwards.
    broken: Option<Box<Violation>>,
}

impl Chronicle {
    /// An empty log.
    #[must_use]
    pub fn new(truth: Truth, is_traced: bool) -> Self {
        Self {
            truth,
            checks: Checks::default(),
            goals: Goals::default(),
            cells: Cells::default(),
            steps: None,
            trace: is_traced.then(String::new),
            outcome: None,
            broken: None,
        }
    }

    /// From now on only these checks judge: to see that one, and not another, catches a defect.
    pub fn let_judge(&mut self, judges: Judges) {
        self.checks.let_judge(judges);
    }

    /// Takes in what happened.
    pub fn tell(&mut self, fact: &Fact<'_>) {
        if self.broken.is_some() {
            return;
        }
        if let Err(violation) = self.checks.see(fact, &self.truth) {
            self.line(format_args!("! {violation}"));
            self.broken = Some(violation);
            return;
        }
        self.goals.see(fact, &self.truth);
        self.truth.take(fact);
        if let Some(outcome) = &mut self.outcome {
            outcome.see(fact, &self.truth);
        }
    }

    /// From now on keeps the steps of every process.
    pub fn keep_steps(&mut self) {
        self.steps = Some(BTreeMap::new());
    }

    /// The steps of every process, where they were kept.
    pub fn steps(&self) -> impl Iterator<Item = (Life, &[Kept])> + '_ {
        self.steps.iter().flatten().map(|(who, steps)| (*who, steps.as_slice()))
    }

    /// What a campaign must have seen, as far as this world showed it.
    #[must_use]
    pub fn goals(&self) -> &Goals {
        &self.goals
    }

    /// A reducer is about to be given an event, which finds its tenure or its process so.
    pub fn meet(&mut self, found: &str, event: &Event) {
        self.cells.meet(found, event);
    }

    /// The cells of the reducer's table that were met.
    #[must_use]
    pub fn cells(&self) -> Cells {
        self.cells
    }

    /// From now on keeps what a scenario is judged by.
    pub fn watch(&mut self) {
        self.outcome = Some(Outcome::default());
    }

    /// From now on no scenario is told.
    pub fn stop_watching(&mut self) {
        self.outcome = None;
    }

    /// What a scenario is judged by: nothing unless it was kept.
    #[must_use]
    pub fn outcome(&self) -> &Outcome {
        static NOTHING: Outcome = Outcome::new();
        self.outcome.as_ref().unwrap_or(&NOTHING)
    }

    /// Takes in one step of a reducer: what it was given, and what it asks for.
    pub fn step(&mut self, who: Life, topic: &str, step: &Step<'_>) {
        if let Some(trace) = &mut self.trace {
            // Nothing is lost by a trace that cannot be written: writing to a String does not fail.
            let _ = writeln!(trace, "{who:<3} {}", step.line(topic));
        }
        if let Some(steps) = &mut self.steps {
            steps.entry(who).or_default().push((step.at, step.event.clone(), step.commands.to_vec()));
        }
        self.tell(&Fact::Delivered { who, event: step.event });
        for command in step.commands {
            self.tell(&Fact::Commanded { who, command });
        }
        self.tell(&Fact::Settled { who });
    }

    /// A fault made a difference: to whom, and what, for the trace.
    pub fn struck(&mut self, fault: Fault, who: Option<Life>, what: std::fmt::Arguments<'_>) {
        self.line(format_args!("{}: {what}", fault.entry().name));
        self.tell(&Fact::Struck { fault, who });
    }

    /// Writes what the services did into the trace.
    pub fn line(&mut self, what: std::fmt::Arguments<'_>) {
        let now = self.truth.now;
        if let Some(trace) = &mut self.trace {
            // As above.
            let _ = writeln!(trace, "*   {:>4}.{:03}  {what}", now / 1_000, now % 1_000);
        }
    }

    /// The property that was broken.
    #[must_use]
    pub fn broken(&self) -> Option<&Violation> {
        self.broken.as_deref()
    }

    /// The trace so far; empty where nobody wanted one.
    #[must_use]
    pub fn trace(&self) -> &str {
        self.trace.as_deref().unwrap_or_default()
    }
}
