//! Knows one process of tier B: what `amends run` does, over simulated services.

use std::collections::BTreeMap;
use std::sync::Arc;

use amends_core::driver::{self, Driver};
use amends_core::ids::{Moment, TenureId};
use amends_core::journal::Step;
use amends_core::lifecycle::command::Command;
use amends_core::lifecycle::event::{Event, ProcessFailure};
use amends_core::source::record::Record;
use amends_store::env::Environment as _;
use amends_store::pipeline::{BATCH_EFFECTS, LEDGER, Pipeline};
use amends_store::world::StoreWorld;
use amends_store::{Settings, Store, StoreError, Target, migrate, namespace};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::carrier::{Fetcher, LogName};
use super::{CARRIED, Shared};
use crate::fact::Fact;
use crate::faults::{Fault, Place};
use crate::life::Life;
use crate::postgres::env::SimEnvironment;
use crate::world::TOPIC;

/// A database that does not answer yet is asked again after this.
const AGAIN_MS: u64 = 500;

/// An event on its way to a reducer and, beside a `Polled`, the log that its records lie in.
pub(super) type Told = (Event, Option<LogName>);

/// An event and, beside a `Polled`, its records.
type Delivery = (Event, Option<Arc<[Record]>>);

/// Lives one process until its stream ends.
pub(super) async fn run(shared: Shared, who: Life, told: UnboundedReceiver<Told>) {
    let env = SimEnvironment::new(shared.postgres.clone(), who);
    let target = Target::parse(SimEnvironment::URL).expect("the URL of a world is one");
    let sessions = usize::try_from(shared.manifest.config().partitions()).unwrap_or(1) + 1;
    let store = Store::new(env.clone(), target, Settings { application_name: who.to_string(), sessions });
    let namespace = loop {
        match open(&store, &shared).await {
            Ok(namespace) => break namespace,
            Err(_) => env.sleep(AGAIN_MS).await,
        }
    };
    let (sender, mut inbox) = unbounded_channel::<Delivery>();
    madsim::task::spawn(fetch(told, sender.clone()));
    let strike = shared.with(|_, ground| ground.faults.strike(Fault::DecisionTooLarge, Place::at(who)));
    let batch_effects =
        strike.and_then(|strike| usize::try_from(strike.severity).ok()).unwrap_or(BATCH_EFFECTS);
    let pipeline = Pipeline::ledger(&namespace, (*shared.manifest).clone(), who.to_string(), batch_effects);
    let told = shared.clone();
    let answer = Arc::new(move |event| {
        if let Event::ProcessFailed { tenure, failure: ProcessFailure::TooLarge { fit } } = &event {
            let what = format_args!("{who} {tenure}: {fit} fit");
            told.with(|_, ground| ground.chronicle.struck(Fault::DecisionTooLarge, Some(who), what));
        }
        drop(sender.send((event, None)));
    });
    let settings = shared.disturb(|world, ground| {
        let (group, uuid) = (namespace.group_id(), namespace.uuid.as_u128());
        ground.chronicle.tell(&Fact::Joined { who, group: &group, namespace: uuid });
        world.ready(ground, who);
        world.settings().clone()
    });
    let mut seat =
        Seat { who, shared, store: StoreWorld::new(store, pipeline, answer), records: BTreeMap::new() };
    let mut driver = Driver::new(settings);
    while let Some((event, records)) = inbox.recv().await {
        if let (Event::Polled { tenure, .. }, Some(records)) = (&event, records) {
            seat.records.insert(*tenure, records);
        }
        let found = driver.lifecycle().finds(&event);
        seat.shared.with(|_, ground| ground.chronicle.meet(found, &event));
        driver.deliver(env.now(), &event, &mut seat);
        seat.shared.disturb(|world, ground| world.tell_between(ground));
        if driver.stopped().is_some() {
            return;
        }
    }
}

async fn open(store: &Store<SimEnvironment>, shared: &Shared) -> Result<namespace::Namespace, StoreError> {
    migrate::check(store).await?;
    namespace::open(store, &shared.manifest, LEDGER).await
}

/// Puts the records beside the polls that name them, in the order in which the client gave them.
async fn fetch(mut told: UnboundedReceiver<Told>, inbox: UnboundedSender<Delivery>) {
    let fetcher = Fetcher::connect().await.expect(CARRIED);
    while let Some((event, log)) = told.recv().await {
        let records = match (&event, log) {
            (Event::Polled { offsets, .. }, Some(log)) => {
                Some(Arc::from(fetcher.fetch(log, offsets).await.expect(CARRIED)))
            }
            _ => None,
        };
        if inbox.send((event, records)).is_err() {
            return;
        }
    }
}

/// The process's place in the world.
struct Seat {
    who: Life,
    shared: Shared,
    store: StoreWorld<SimEnvironment>,
    /// The records of each ticket that is out.
    records: BTreeMap<TenureId, Arc<[Record]>>,
}

impl driver::World for Seat {
    fn perform(&mut self, _: Moment, command: &Command) {
        if let Command::AllowRebalance { tenure } = command {
            self.records.remove(tenure);
        }
        let who = self.who;
        if !self.shared.disturb(|world, ground| world.perform(ground, who, command)) {
            let records = command.tenure().and_then(|tenure| self.records.get(&tenure).cloned());
            self.store.perform(command, records);
        }
    }

    fn record(&mut self, step: &Step<'_>) {
        let who = self.who;
        self.shared.with(|_, ground| ground.chronicle.step(who, TOPIC, step));
    }
}
