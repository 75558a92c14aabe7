//! Knows how the reducer's commands reach PostgreSQL and how each of its questions gets exactly one answer.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Weak};

use amends_core::ids::{Frontier, TenureId, Token};
use amends_core::lifecycle::command::{Command, Range};
use amends_core::lifecycle::event::{Event, Failure, ProcessFailure};
use amends_core::source::record::Record;

use crate::attempt::{Attempt, Cancel};
use crate::claim::{claim, observe};
use crate::env::Environment;
use crate::ledger::{Processed, Work, process};
use crate::pipeline::Pipeline;
use crate::pool::Store;
use crate::trouble::Trouble;

/// Where the answers go. It is called from the store's tasks and must not wait.
pub type Answer = Arc<dyn Fn(Event) + Send + Sync>;

/// The store's share of a world: it starts a command and returns at once.
pub struct StoreWorld<E: Environment> {
    doing: Arc<Doing<E>>,
    /// What may be cancelled. An operation that has ended is gone by itself.
    in_flight: BTreeMap<TenureId, Weak<Cancel>>,
}

/// What every operation needs.
struct Doing<E: Environment> {
    store: Store<E>,
    pipeline: Pipeline,
    answer: Answer,
}

impl<E: Environment> StoreWorld<E> {
    /// A world over one namespace.
    #[must_use]
    pub fn new(store: Store<E>, pipeline: Pipeline, answer: Answer) -> Self {
        Self { doing: Arc::new(Doing { store, pipeline, answer }), in_flight: BTreeMap::new() }
    }

    /// Starts `Claim`, `Observe` or `Process`, whose one answer comes within eight seconds (the attempt's six, and a
    /// cancel request), or carries out `Cancel`. `records` are those of the tenure's poll, of which `Process` names a
    /// range. Returns whether the command was one of these.
    pub fn perform(&mut self, command: &Command, records: Option<Arc<[Record]>>) -> bool {
        if let Command::Claim { tenure, within_ms } = *command {
            self.start(
                tenure,
                move |doing, cancel| async move { doing.claim(tenure, within_ms, cancel).await },
            );
        } else if let Command::Observe { tenure, fresh, within_ms } = *command {
            self.start(tenure, move |doing, cancel| async move {
                doing.observe(tenure, fresh, within_ms, cancel).await
            });
        } else if let Command::Process { tenure, token, expected, range, attempt, refused, within_ms } =
            *command
        {
            let batch = Batch { tenure, token, expected, range, attempt, refused, records };
            self.start(
                tenure,
                move |doing, cancel| async move { doing.process(batch, within_ms, cancel).await },
            );
        } else if let Command::Cancel { tenure } = command {
            if let Some(cancel) = self.in_flight.remove(tenure).and_then(|cancel| cancel.upgrade()) {
                cancel.ask();
            }
        } else {
            return false;
        }
        true
    }

    fn start<F: Future<Output = Event> + Send + 'static>(
        &mut self,
        tenure: TenureId,
        operation: impl FnOnce(Arc<Doing<E>>, Arc<Cancel>) -> F,
    ) {
        let cancel = Arc::new(Cancel::default());
        self.in_flight.retain(|_, cancel| cancel.strong_count() > 0);
        self.in_flight.insert(tenure, Arc::downgrade(&cancel));
        let doing = Arc::clone(&self.doing);
        let operation = operation(Arc::clone(&self.doing), cancel);
        self.doing.store.env().spawn(async move {
            let event = operation.await;
            (doing.answer)(event);
        });
    }
}

/// One `Process`, with its records.
struct Batch {
    tenure: TenureId,
    token: Token,
    expected: Frontier,
    range: Range,
    attempt: u32,
    refused: bool,
    records: Option<Arc<[Record]>>,
}

impl Batch {
    /// The records of the range, when they are the ones that it names.
    fn records(&self) -> Option<&[Record]> {
        let (from, to) = (usize::try_from(self.range.from).ok()?, usize::try_from(self.range.to).ok()?);
        let records = self.records.as_deref()?.get(from..to)?;
        let named = records.first()?.offset == self.range.first && records.last()?.offset == self.range.last;
        named.then_some(records)
    }
}

impl<E: Environment> Doing<E> {
    async fn claim(&self, tenure: TenureId, within_ms: u64, cancel: Arc<Cancel>) -> Event {
        let attempt = Attempt::new(&self.store, cancel, within_ms);
        match attempt.bound(claim(&attempt, &self.pipeline, tenure.partition)).await {
            Ok((token, frontier)) => Event::Claimed { tenure, token, frontier },
            Err(Trouble::Unknown(why)) => {
                Event::ClaimUnknown { tenure, why: format!("{}: {why}", self.could_not("claim", tenure)) }
            }
            Err(trouble) => {
                Event::ClaimFailed { tenure, failure: trouble.into_failure(&self.could_not("claim", tenure)) }
            }
        }
    }

    async fn observe(&self, tenure: TenureId, fresh: bool, within_ms: u64, cancel: Arc<Cancel>) -> Event {
        let attempt = Attempt::new(&self.store, cancel, within_ms);
        match attempt.bound(observe(&attempt, &self.pipeline, tenure.partition, fresh)).await {
            Ok((token, frontier)) => Event::Observed { tenure, token, frontier },
            Err(trouble) => Event::ObserveFailed {
                tenure,
                failure: trouble.into_failure(&self.could_not("observe", tenure)),
            },
        }
    }

    async fn process(&self, batch: Batch, within_ms: u64, cancel: Arc<Cancel>) -> Event {
        let tenure = batch.tenure;
        let Some(records) = batch.records() else {
            let why = format!("{}: its records are not at hand", self.could_not("process", tenure));
            return Event::ProcessFailed { tenure, failure: ProcessFailure::Attempt(Failure::Broken(why)) };
        };
        let work = Work {
            partition: tenure.partition,
            token: batch.token,
            expected: batch.expected,
            records,
            refused: batch.refused,
        };
        let began_ns = self.store.env().now_ns();
        let attempt = Attempt::new(&self.store, cancel, within_ms);
        let result = attempt.bound(process(&attempt, &self.pipeline, &work)).await;
        let elapsed_ns = self.store.env().now_ns().saturating_sub(began_ns);
        self.tell(&batch, &result, elapsed_ns);

        let Range { first, last, .. } = batch.range;
        let what = format!("{} from {first} to {last}", self.could_not("commit", tenure));
        match result {
            Ok(Processed::Committed) => Event::Committed { tenure },
            Ok(Processed::Fenced(by)) => Event::Fenced { tenure, by },
            Ok(Processed::Moved(frontier)) => Event::Moved { tenure, frontier },
            Ok(Processed::TooLarge { fit }) => {
                Event::ProcessFailed { tenure, failure: ProcessFailure::TooLarge { fit } }
            }
            Err(Trouble::Unknown(why)) => Event::CommitUnknown { tenure, why: format!("{what}: {why}") },
            Err(Trouble::Refused(why)) => {
                Event::ProcessFailed { tenure, failure: ProcessFailure::Refused(format!("{what}: {why}")) }
            }
            Err(trouble) => {
                Event::ProcessFailed { tenure, failure: ProcessFailure::Attempt(trouble.into_failure(&what)) }
            }
        }
    }

    /// One line for each attempt that was made; a connect that was refused is none.
    fn tell(&self, batch: &Batch, result: &Result<Processed, Trouble>, storage_call_elapsed_ns: u64) {
        let outcome = match result {
            Err(Trouble::Unreached(_)) => return,
            Ok(Processed::Committed) => "acknowledged",
            // Token and frontier are the two halves of the fence.
            Ok(Processed::Fenced(_) | Processed::Moved(_)) => "fenced",
            Err(Trouble::Unknown(_)) => "unknown",
            Ok(Processed::TooLarge { .. })
            | Err(Trouble::Again(_) | Trouble::Refused(_) | Trouble::Broken(_)) => "error",
        };
        tracing::info!(
            namespace = self.pipeline.manifest.config().namespace(),
            partition = batch.tenure.partition.0,
            first_offset = batch.range.first.0,
            last_offset = batch.range.last.0,
            epoch = batch.token.epoch,
            attempt = batch.attempt,
            storage_call_elapsed_ns,
            outcome,
            why = result.as_ref().err().map(Trouble::why),
            "processing attempt"
        );
    }

    fn could_not(&self, verb: &'static str, tenure: TenureId) -> String {
        format!("could not {verb} {}/{tenure}", self.pipeline.manifest.source_topic())
    }
}
