//! Knows the one loop that every world runs: an event in, commands out, the step on record.

use crate::ids::Moment;
use crate::journal::Step;
use crate::lifecycle::command::Command;
use crate::lifecycle::event::Event;
use crate::lifecycle::stop::StopReason;
use crate::lifecycle::{Lifecycle, Settings};

/// Whoever carries out commands: real services, or a simulated world.
pub trait World {
    /// Starts a command and returns at once. It cannot wait and cannot fail: a failure is an answer, which arrives as
    /// an event like any other.
    fn perform(&mut self, now: Moment, command: &Command);

    /// Sees every step, before its commands are performed: logs, journal and traces are made from here.
    fn record(&mut self, step: &Step<'_>);
}

/// Feeds the reducer and hands on its commands. It has no clock: each world's main is `inbox → deliver`.
#[derive(Clone, Debug)]
pub struct Driver {
    lifecycle: Lifecycle,
    /// Kept between events, so that a steady state allocates nothing.
    commands: Vec<Command>,
    stopped: Option<StopReason>,
}

impl Driver {
    /// A driver of a worker that has not been given anything yet.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self { lifecycle: Lifecycle::new(settings), commands: Vec::new(), stopped: None }
    }

    /// One step: decides, records, performs.
    pub fn deliver(&mut self, now: Moment, event: &Event, world: &mut impl World) {
        if self.stopped.is_some() {
            return;
        }
        self.commands.clear();
        self.lifecycle.handle(now, event, &mut self.commands);
        world.record(&Step { at: now, event, after: self.lifecycle.after(), commands: &self.commands });
        for command in &self.commands {
            world.perform(now, command);
            if let Command::Stop { reason } = command {
                self.stopped = Some(reason.clone());
            }
        }
    }

    /// Why the stream ended, once it has.
    #[must_use]
    pub fn stopped(&self) -> Option<&StopReason> {
        self.stopped.as_ref()
    }

    /// The reducer, for what it counted.
    #[must_use]
    pub fn lifecycle(&self) -> &Lifecycle {
        &self.lifecycle
    }
}
