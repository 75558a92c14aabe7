//! Knows the real world of one worker: an inbox for what happens, real services for what is asked.

use std::collections::BTreeMap;
use std::sync::Arc;

use amends_core::driver::{Driver, World};
use amends_core::ids::{Moment, TenureId};
use amends_core::journal::Step;
use amends_core::lifecycle::Settings;
use amends_core::lifecycle::command::{Command, Timer};
use amends_core::lifecycle::event::{Event, Failure};
use amends_core::lifecycle::stop::StopReason;
use amends_core::source::record::Record;
use amends_store::Store;
use amends_store::env::Environment;
use amends_store::pipeline::Pipeline;
use amends_store::world::StoreWorld;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tracing::{debug, info, warn};

use crate::env::TokioEnvironment;
use crate::journal::Journal;
use crate::kafka::{self, Delivery, KafkaWorld};

/// A file reached its limit: the write is to fail, not the process to die.
const SIGXFSZ: i32 = 25;

/// What the process exits with when a second signal ends it at once.
const SIGINT_EXIT: u8 = 130;
const SIGTERM_EXIT: u8 = 143;

/// One worker: the driver over real services.
pub struct Worker {
    driver: Driver,
    world: Services,
    inbox: UnboundedReceiver<Delivery>,
    interrupt: Signal,
    terminate: Signal,
    /// Held, so that the signal does nothing.
    _file_limit: Signal,
}

/// The services, and what lies between them: the records of answered polls, timers, the journal.
struct Services {
    topic: String,
    env: TokioEnvironment,
    kafka: KafkaWorld,
    store: StoreWorld<TokioEnvironment>,
    /// The records of each ticket that is out; the reducer names ranges of them.
    records: BTreeMap<TenureId, Arc<[Record]>>,
    journal: Option<Journal>,
    /// The last check showed what a broker that is behind shows too.
    is_suspect: bool,
    /// Every question is answered once, so what lies here is bounded by what was asked.
    inbox: UnboundedSender<Delivery>,
}

impl Worker {
    /// Joins the group and listens for signals. Must be called inside the runtime that runs it.
    ///
    /// # Errors
    /// When the client cannot be made, or signals cannot be heard.
    pub fn start(
        settings: Settings,
        source: kafka::Pipeline,
        store: Store<TokioEnvironment>,
        into: Pipeline,
        journal: Option<Journal>,
    ) -> Result<Self, Failure> {
        let unheard =
            |error: std::io::Error| Failure::Broken(format!("could not listen for signals: {error}"));
        let interrupt = signal(SignalKind::interrupt()).map_err(unheard)?;
        let terminate = signal(SignalKind::terminate()).map_err(unheard)?;
        let file_limit = signal(SignalKind::from_raw(SIGXFSZ)).map_err(unheard)?;
        let (sender, inbox) = unbounded_channel();
        // A receiver that is gone belongs to a worker that has stopped: nobody waits for the answer.
        let deliver = sender.clone();
        let kafka = KafkaWorld::start(source, Arc::new(move |delivery| drop(deliver.send(delivery))))?;
        let env = store.env().clone();
        let answer = sender.clone();
        let answer = Arc::new(move |event| drop(answer.send(Delivery { event, records: None })));
        let world = Services {
            topic: settings.topic.clone(),
            env,
            kafka,
            store: StoreWorld::new(store, into, answer),
            records: BTreeMap::new(),
            journal,
            is_suspect: false,
            inbox: sender,
        };
        Ok(Self {
            driver: Driver::new(settings),
            world,
            inbox,
            interrupt,
            terminate,
            _file_limit: file_limit,
        })
    }

    /// Runs until the stream ends: why it did.
    pub async fn run(mut self) -> Ended {
        let mut is_asked = false;
        loop {
            let event = tokio::select! {
                biased;
                Some(()) = self.interrupt.recv() => {
                    if is_asked { return at_once(SIGINT_EXIT) }
                    is_asked = true;
                    Event::ShutdownRequested
                }
                Some(()) = self.terminate.recv() => {
                    if is_asked { return at_once(SIGTERM_EXIT) }
                    is_asked = true;
                    Event::ShutdownRequested
                }
                Some(delivery) = self.inbox.recv() => self.world.take(delivery),
            };
            self.driver.deliver(self.world.env.now(), &event, &mut self.world);
            if let Some(reason) = self.driver.stopped() {
                self.world.finish(&self.driver);
                return Ended::Stopped(reason.clone());
            }
            if self.inbox.is_empty() {
                self.world.flush();
            }
        }
    }
}

/// How a run ended.
pub enum Ended {
    /// The reducer stopped the stream.
    Stopped(StopReason),
    /// A second signal ended the process, which exits with this.
    AtOnce(u8),
}

fn at_once(code: u8) -> Ended {
    warn!(
        code = "shutdown",
        "a second signal: ended at once; what was in flight is fenced, a restart reads again"
    );
    Ended::AtOnce(code)
}

impl Services {
    /// Keeps the records beside the event that names them.
    fn take(&mut self, delivery: Delivery) -> Event {
        if let (Event::Polled { tenure, .. }, Some(records)) = (&delivery.event, delivery.records) {
            self.records.insert(*tenure, records);
        }
        delivery.event
    }

    fn flush(&mut self) {
        if let Some(journal) = &mut self.journal
            && let Err(error) = journal.flush()
        {
            self.drop_journal(&error);
        }
    }

    /// A journal with a hole replays to nonsense, so a failed one ends; the work goes on.
    fn drop_journal(&mut self, why: &dyn std::fmt::Display) {
        if let Some(journal) = self.journal.take() {
            warn!(
                code = "journal",
                "could not write {}: {why}; the journal ends here, the work goes on",
                journal.path().display()
            );
        }
    }

    /// A source that looks wrong is asked again for a while before it is refused: said once.
    fn log_suspicion(&mut self, step: &Step<'_>) {
        if !matches!(step.event, Event::Checked { .. }) {
            return;
        }
        let asks_again =
            |command: &Command| matches!(command, Command::Wait { timer: Timer::CheckAgain { .. }, .. });
        let is_suspect = step.commands.iter().any(asks_again);
        if is_suspect && !self.is_suspect {
            warn!(
                "the source is not as it was declared, asking again: {}",
                step.line(&self.topic).trim_start()
            );
        }
        self.is_suspect = is_suspect;
    }

    fn finish(&mut self, driver: &Driver) {
        self.flush();
        let counters = driver.lifecycle().counters();
        debug!(late_answers = counters.late_answers, late_rebalances = counters.late_rebalances, "counted");
    }
}

impl World for Services {
    fn perform(&mut self, _: Moment, command: &Command) {
        match command {
            Command::Wait { timer, after_ms } => {
                let (env, inbox, timer, after_ms) = (self.env.clone(), self.inbox.clone(), *timer, *after_ms);
                self.env.spawn(async move {
                    env.sleep(after_ms).await;
                    drop(inbox.send(Delivery { event: Event::Expired { timer }, records: None }));
                });
            }
            Command::AllowRebalance { tenure } => {
                self.records.remove(tenure);
            }
            Command::Claim { tenure, .. }
            | Command::Observe { tenure, .. }
            | Command::Process { tenure, .. }
            | Command::Cancel { tenure } => {
                self.store.perform(command, self.records.get(tenure).cloned());
            }
            Command::Check { .. }
            | Command::Assign { .. }
            | Command::Unassign { .. }
            | Command::Seek { .. }
            | Command::Probe { .. }
            | Command::Poll { .. }
            | Command::Retire { .. }
            | Command::Rejoin { .. }
            | Command::Close => {
                self.kafka.perform(command);
            }
            Command::Stop { .. } => {}
        }
    }

    fn record(&mut self, step: &Step<'_>) {
        self.log_suspicion(step);
        log(&self.topic, step);
        if let Some(journal) = &mut self.journal
            && let Err(error) = journal.write(step)
        {
            self.drop_journal(&error);
        }
    }
}

/// One line a step: what failed is a warning, what changed ownership is for everybody, the rest for who asks.
fn log(topic: &str, step: &Step<'_>) {
    match step.event {
        Event::Polled { .. }
        | Event::PollEmpty { .. }
        | Event::Committed { .. }
        | Event::Checked { .. }
        | Event::Expired { .. }
        | Event::Sought { .. } => debug!("{}", step.line(topic).trim_start()),
        // An owner that reads its row while nothing comes, and goes on as before.
        Event::Observed { .. } if matches!(step.commands, [Command::Poll { .. }]) => {
            debug!("{}", step.line(topic).trim_start());
        }
        Event::Assigned { .. }
        | Event::Revoked { .. }
        | Event::Claimed { .. }
        | Event::Observed { .. }
        | Event::Probed { .. }
        | Event::ShutdownRequested
        | Event::PauseRequested
        | Event::StopRequested
        | Event::Closed => info!("{}", step.line(topic).trim_start()),
        Event::Lost { .. }
        | Event::CheckFailed { .. }
        | Event::ClaimUnknown { .. }
        | Event::ClaimFailed { .. }
        | Event::ObserveFailed { .. }
        | Event::SeekFailed { .. }
        | Event::ProbeFailed { .. }
        | Event::PollFailed { .. }
        | Event::CommitUnknown { .. }
        | Event::Fenced { .. }
        | Event::Moved { .. }
        | Event::ProcessFailed { .. }
        | Event::ClientFailed { .. } => warn!("{}", step.line(topic).trim_start()),
    }
}
