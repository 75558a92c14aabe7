//! A world with a simulated server in it, and workers whose answers are read one by one.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use amends_core::ids::{Frontier, Offset, Partition, TenureId, Token};
use amends_core::lifecycle::command::{Command, Range};
use amends_core::lifecycle::event::Event;
use amends_core::source::manifest::{Config, Ledger, Manifest};
use amends_core::source::record::Record;
use amends_sim::checks::Judges;
use amends_sim::chronicle::Chronicle;
use amends_sim::faults::{Fault, Faults, Incident, Order, Schedule, Scheduler, Strike};
use amends_sim::ground::Ground;
use amends_sim::life::Life;
use amends_sim::pace::Pace;
use amends_sim::postgres::SimPostgres;
use amends_sim::postgres::env::SimEnvironment;
use amends_sim::truth::Truth;
use amends_store::namespace::{self, Namespace};
use amends_store::pipeline::{BATCH_EFFECTS, LEDGER, Pipeline};
use amends_store::world::StoreWorld;
use amends_store::{Settings, Store, Target};
use madsim::runtime::{Handle, Runtime};
use madsim::time::{sleep, timeout};
use tokio::sync::mpsc;

pub const TENURE: TenureId = TenureId { partition: Partition(0), number: 1 };
pub const BUDGET_MS: u64 = 20_000;
pub const CLAIM: Command = Command::Claim { tenure: TENURE, within_ms: BUDGET_MS };
pub const OBSERVE: Command = Command::Observe { tenure: TENURE, fresh: true, within_ms: BUDGET_MS };

/// A world in which nothing goes wrong that a test does not order.
#[derive(Clone)]
pub struct World {
    pub seed: u64,
    pub postgres: SimPostgres,
    pub ground: Arc<Mutex<Ground>>,
}

/// Runs a world of its own on a thread of its own; hands back its trace beside the result.
pub fn world<T: Send + 'static, F: Future<Output = T>>(
    seed: u64,
    is_traced: bool,
    story: impl FnOnce(World) -> F + Send + 'static,
) -> (T, String) {
    let run = move || {
        Runtime::with_seed_and_config(seed, madsim::Config::default()).block_on(async move {
            let mut schedule = Schedule::draw(seed);
            schedule.strikes.clear();
            let truth = Truth::new(manifest().config().source_incarnation(), 2, 2);
            let mut chronicle = Chronicle::new(truth, is_traced);
            // Nothing is published here, and no reducer asks: only what the server tells is looked at.
            chronicle.let_judge(Judges::Nobody);
            let ground = Arc::new(Mutex::new(Ground {
                chronicle,
                faults: Faults::new(Arc::new(schedule)),
                pace: Pace::new(seed, Scheduler::Uniform),
            }));
            let postgres = SimPostgres::start(Arc::clone(&ground), seed);
            let result = story(World { seed, postgres, ground: Arc::clone(&ground) }).await;
            Handle::current().kill("postgres");
            sleep(Duration::from_millis(1)).await;
            let ground = ground.lock().unwrap();
            assert_eq!(ground.chronicle.broken(), None);
            (result, ground.chronicle.trace().to_owned())
        })
    };
    thread::spawn(run).join().unwrap()
}

impl World {
    pub fn order(&self, fault: Fault, severity: u64, variant: u32) {
        let strike = Strike { severity, variant };
        let order = Order { fault, worker: None, partition: None, strike, times: 1 };
        self.ground.lock().unwrap().faults.order(order);
    }

    pub fn has_struck(&self, fault: Fault) -> bool {
        self.ground.lock().unwrap().chronicle.truth.struck.contains_key(&fault)
    }

    pub fn befall(&self, fault: Fault, severity: u64, variant: u32) {
        let incident = Incident { at_ms: 0, fault, severity, variant, worker: 0, partition: 0 };
        assert!(self.postgres.strike(&incident));
    }

    /// Each row of a table, its columns joined by a space.
    pub fn rows(&self, table: &str) -> Vec<String> {
        let rows = self.postgres.rows(table).into_iter();
        let text = |row: Vec<Option<String>>| {
            row.into_iter().map(|column| column.unwrap_or("-".to_owned())).collect::<Vec<_>>().join(" ")
        };
        rows.map(text).collect()
    }
}

const DECLARATION: &str = r#"{"ledger_origin":"2026-01-01","stock_keys":[
    {"item":"widget","location":"berlin","opening_balance":100,"low_threshold":20,"partition":0},
    {"item":"gasket","location":"berlin","opening_balance":0,"low_threshold":5,"partition":1}]}"#;

pub fn manifest() -> Manifest {
    let source = "kafka:000102030405060708090a0b0c0d0e0f".parse().unwrap();
    let ledger = Ledger::parse(DECLARATION.as_bytes(), 2).unwrap();
    Manifest::new("orders", Config::new("source-demo-1", source, 2, ledger).unwrap()).unwrap()
}

/// `T1 r2 assert 2026-01-05 -3` or `T1 r2 cancel`, of the widget in berlin.
pub fn record(offset: i64, text: &str) -> Record {
    let words: Vec<_> = text.split(' ').collect();
    let rest = match words[3..] {
        [date, quantity] => format!(r#","business_date":"{date}","quantity":{quantity}"#),
        _ => String::new(),
    };
    let (id, revision, action) = (words[0], &words[1][1..], words[2]);
    let value = format!(
        r#"{{"schema_version":1,"transaction_id":"{id}","revision":{revision},"action":"{action}","item":"widget","location":"berlin"{rest}}}"#
    );
    let key = r#"{"item":"widget","location":"berlin"}"#;
    Record { offset: Offset(offset), key: Some(key.into()), value: Some(value.into_bytes()) }
}

pub fn records(lines: &[&str]) -> Arc<[Record]> {
    (0..).zip(lines).map(|(offset, line)| record(offset, line)).collect()
}

/// A process's share of the store, as a worker has it.
pub struct Desk {
    pub namespace: Namespace,
    store: Store<SimEnvironment>,
    world: StoreWorld<SimEnvironment>,
    answers: mpsc::UnboundedReceiver<Event>,
}

pub fn store(world: &World, worker: u8) -> Store<SimEnvironment> {
    let env = SimEnvironment::new(world.postgres.clone(), Life::first(worker));
    let settings = Settings { application_name: "amends sim".to_owned(), sessions: 3 };
    Store::new(env, Target::parse(SimEnvironment::URL).unwrap(), settings)
}

impl Desk {
    pub async fn of(world: &World, worker: u8) -> Self {
        let store = store(world, worker);
        let namespace = namespace::open(&store, &manifest(), LEDGER).await.unwrap();
        let pipeline = Pipeline::ledger(&namespace, manifest(), "tester:1".to_owned(), BATCH_EFFECTS);
        let (sender, answers) = mpsc::unbounded_channel();
        let answer = Arc::new(move |event| sender.send(event).unwrap());
        let world = StoreWorld::new(store.clone(), pipeline, answer);
        Self { namespace, store, world, answers }
    }

    pub fn tell(&mut self, command: &Command, records: Option<Arc<[Record]>>) {
        assert!(self.world.perform(command, records), "{command:?} is not for the store");
    }

    pub async fn answer(&mut self) -> Event {
        let answer = timeout(Duration::from_secs(12), self.answers.recv()).await;
        let event = answer.expect("every question is answered in bounded time").unwrap();
        assert!(self.answers.try_recv().is_err(), "a question was answered twice");
        event
    }

    pub async fn ask(&mut self, command: &Command) -> Event {
        self.tell(command, None);
        self.answer().await
    }

    pub async fn claim(&mut self) -> (Token, Frontier) {
        match self.ask(&CLAIM).await {
            Event::Claimed { tenure: TENURE, token, frontier } => (token, frontier),
            other => panic!("not claimed: {other:?}"),
        }
    }

    pub async fn observe(&mut self) -> (Option<Token>, Option<Frontier>) {
        match self.ask(&OBSERVE).await {
            Event::Observed { tenure: TENURE, token, frontier } => (token, frontier),
            other => panic!("not observed: {other:?}"),
        }
    }

    pub async fn process(&mut self, token: Token, expected: Frontier, records: &Arc<[Record]>) -> Event {
        self.tell(&process(token, expected, records), Some(Arc::clone(records)));
        self.answer().await
    }

    pub fn close(&self) {
        self.store.close();
    }
}

/// All of the records.
pub fn process(token: Token, expected: Frontier, records: &[Record]) -> Command {
    Command::Process {
        tenure: TENURE,
        token,
        expected,
        range: Range {
            from: 0,
            to: u32::try_from(records.len()).unwrap(),
            first: records.first().unwrap().offset,
            last: records.last().unwrap().offset,
        },
        attempt: 1,
        refused: false,
        within_ms: BUDGET_MS,
    }
}
