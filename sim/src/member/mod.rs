//! Knows tier B: the production driver, store and client, unmodified, in a madsim world.
//!
//! Each process is a node, so that it can be killed and can stand still with all its tasks; the server and the broker
//! are nodes of their own. One task moves the world on.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use amends_core::lifecycle::event::Event;
use amends_core::source::manifest::Manifest;
use amends_core::source::record::Record;
use madsim::runtime::{Handle, NodeHandle, Runtime};
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::fact::{Entry, Fact};
use crate::ground::Ground;
use crate::life::Life;
use crate::plant::Sql;
use crate::postgres::SimPostgres;
use crate::records::{manifest, record};
use crate::world::{Happening, World};
use carrier::{LogName, Publisher};

mod carrier;
mod process;

/// What every task of a world shares.
#[derive(Clone)]
struct Shared {
    world: Arc<Mutex<World>>,
    ground: Arc<Mutex<Ground>>,
    postgres: SimPostgres,
    manifest: Arc<Manifest>,
    /// A process did something: what is due next may be another thing.
    stir: Arc<Notify>,
    /// A log grew.
    grown: Arc<Notify>,
}

impl Shared {
    /// Looks at the world at its time.
    fn with<T>(&self, act: impl FnOnce(&mut World, &mut Ground) -> T) -> T {
        let mut world = self.world.lock().unwrap_or_else(PoisonError::into_inner);
        let mut ground = self.ground.lock().unwrap_or_else(PoisonError::into_inner);
        ground.advance_to(now_ms());
        act(&mut world, &mut ground)
    }

    /// Does something to the world at its time, and wakes whoever moves it on.
    fn disturb<T>(&self, act: impl FnOnce(&mut World, &mut Ground) -> T) -> T {
        let done = self.with(act);
        self.stir.notify_one();
        done
    }
}

/// The broker that carries the bytes of records never fails: what goes wrong in a world is the cluster's business.
const CARRIED: &str = "nothing is lost between a world and the broker that carries its records";

/// Milliseconds since the world began.
fn now_ms() -> u64 {
    u64::try_from(madsim::time::TimeHandle::current().elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// A world that was lived to its end.
pub struct Member {
    world: Arc<Mutex<World>>,
    ground: Arc<Mutex<Ground>>,
}

impl Member {
    /// Lives a world to its end. Must be the first thing that its thread does.
    #[must_use]
    pub fn live(world: World, ground: Ground) -> Self {
        Self::live_planted(world, ground, &[])
    }

    /// The same with a store in it that says something wrong.
    #[must_use]
    pub fn live_planted(world: World, ground: Ground, defects: &'static [Sql]) -> Self {
        let seed = world.schedule().seed;
        let runtime = Runtime::with_seed_and_config(seed, madsim::Config::default());
        runtime.block_on(conduct(world, ground, defects))
    }

    /// Looks at what is left of it.
    pub fn with<T>(&self, look: impl FnOnce(&World, &Ground) -> T) -> T {
        let world = self.world.lock().unwrap_or_else(PoisonError::into_inner);
        let ground = self.ground.lock().unwrap_or_else(PoisonError::into_inner);
        look(&world, &ground)
    }
}

async fn conduct(world: World, mut ground: Ground, defects: &'static [Sql]) -> Member {
    let handle = Handle::current();
    let seed = world.schedule().seed;
    let manifest =
        manifest(world.schedule().shape.partitions).expect("the config of a world keeps every rule");
    ground.chronicle.tell(&Fact::Declared(manifest.config()));
    let ground = Arc::new(Mutex::new(ground));
    let shared = Shared {
        world: Arc::new(Mutex::new(world)),
        postgres: SimPostgres::planted(Arc::clone(&ground), seed, defects),
        ground,
        manifest: Arc::new(manifest),
        stir: Arc::new(Notify::new()),
        grown: Arc::new(Notify::new()),
    };
    carrier::serve(&handle);
    // The broker has to listen before anybody calls.
    madsim::time::sleep(Duration::from_millis(1)).await;
    let publisher = handle.create_node().name("publisher").ip(IpAddr::from([10, 0, 0, 2])).build();
    publisher.spawn(publish(shared.clone(), seed));
    let mut conductor = Conductor { shared, handle, nodes: BTreeMap::new() };
    conductor.run().await;
    conductor.end().await;
    Member { world: conductor.shared.world, ground: conductor.shared.ground }
}

/// Moves the world on, and carries out what it asks.
struct Conductor {
    shared: Shared,
    handle: Handle,
    nodes: BTreeMap<Life, Node>,
}

struct Node {
    node: NodeHandle,
    told: UnboundedSender<process::Told>,
}

impl Conductor {
    async fn run(&mut self) {
        let (mut happenings, mut grown) = (Vec::new(), 0);
        loop {
            let (is_over, due) = self.shared.with(|world, ground| (world.is_over(ground), world.next_due()));
            if is_over {
                return;
            }
            let wait =
                due.map_or(Duration::from_secs(1), |due| Duration::from_millis(due.saturating_sub(now_ms())));
            if !wait.is_zero() {
                let stirred = std::pin::pin!(self.shared.stir.notified());
                let slept = std::pin::pin!(madsim::time::sleep(wait));
                futures_util::future::select(slept, stirred).await;
            }
            let length = self.shared.with(|world, ground| {
                world.advance(ground, &mut happenings);
                let logs = ground.chronicle.truth.logs.values();
                logs.map(|log| log.end().0 + i64::from(log.cuts())).sum::<i64>()
            });
            if std::mem::replace(&mut grown, length) != length {
                self.shared.grown.notify_one();
            }
            for happening in happenings.drain(..) {
                self.carry_out(happening);
            }
        }
    }

    fn carry_out(&mut self, happening: Happening) {
        match happening {
            Happening::Start(who) => {
                let [high, low] = who.number.to_be_bytes();
                let ip = IpAddr::from([10, 1 + who.worker, high, low]);
                let node = self.handle.create_node().name(who.to_string()).ip(ip).build();
                let (told, inbox) = unbounded_channel();
                node.spawn(process::run(self.shared.clone(), who, inbox));
                self.nodes.insert(who, Node { node, told });
            }
            Happening::Deliver(who, event) => {
                if let Some(node) = self.nodes.get(&who) {
                    let log = self.log_of(who, &event);
                    // A process that is over hears nothing.
                    let _ = node.told.send((event, log));
                }
            }
            Happening::Kill(who) => {
                if let Some(node) = self.nodes.remove(&who) {
                    self.handle.kill(node.node.id());
                }
            }
            Happening::Freeze(who) => self.each(who, |handle, node| handle.pause(node.node.id())),
            Happening::Thaw(who) => self.each(who, |handle, node| handle.resume(node.node.id())),
            Happening::Store(incident) => {
                self.shared.postgres.strike(&incident);
            }
            Happening::Heal => self.shared.postgres.heal(),
        }
    }

    fn each(&self, who: Life, act: impl FnOnce(&Handle, &Node)) {
        if let Some(node) = self.nodes.get(&who) {
            act(&self.handle, node);
        }
    }

    /// The log that a poll read; nothing beside any other event.
    fn log_of(&self, who: Life, event: &Event) -> Option<LogName> {
        let Event::Polled { tenure, .. } = event else { return None };
        let (incarnation, cuts) = self.shared.with(|world, _| world.kafka().read_from(who, *tenure))?;
        Some(LogName { incarnation, partition: tenure.partition, cuts })
    }

    /// Ends every node, so that no task outlives its world.
    async fn end(&mut self) {
        for node in self.nodes.values() {
            self.handle.kill(node.node.id());
        }
        for name in ["publisher", "kafka", "postgres"] {
            self.handle.kill(name);
        }
        madsim::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Publishes whatever the logs hold and the broker does not.
async fn publish(shared: Shared, seed: u64) {
    let mut publisher = Publisher::connect().await.expect(CARRIED);
    loop {
        let missing = shared.with(|world, ground| {
            let truth = &ground.chronicle.truth;
            let (mut missing, mut told) = (Vec::new(), Vec::new());
            for ((incarnation, partition), log) in truth.logs.iter() {
                let name = LogName { incarnation: *incarnation, partition: *partition, cuts: log.cuts() };
                let from = publisher.published(name);
                let offsets = (from.0..log.end().0).map(amends_core::ids::Offset);
                let records: Vec<_> = offsets
                    .map(|offset| {
                        let is_seen = matches!(log.entry(offset), Some(Entry::Visible | Entry::Open));
                        let first = world.kafka().loaded_first(*partition, offset);
                        let poison = world.kafka().poison(*partition, first);
                        let of_it = || record(name.seed(seed), *partition, first, poison);
                        is_seen.then(|| Record { offset, ..of_it() })
                    })
                    .collect();
                if *incarnation == truth.declared {
                    told.extend(records.iter().flatten().map(|record| (*partition, record.clone())));
                }
                if !records.is_empty() {
                    missing.push((name, records));
                }
            }
            for (partition, record) in &told {
                ground.chronicle.tell(&Fact::Published { partition: *partition, record });
            }
            missing
        });
        for (name, records) in missing {
            publisher.publish(name, &records).await.expect(CARRIED);
        }
        shared.grown.notified().await;
    }
}
