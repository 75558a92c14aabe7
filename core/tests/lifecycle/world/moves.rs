//! What happens by itself: answers, timers, the group, strangers.

use amends_core::ids::Partition;
use amends_core::lifecycle::command::{CheckId, CheckParts};
use amends_core::lifecycle::event::{Event, Failure, ProcessFailure};
use amends_core::source::boundary::{Sight, TopicSight};

use super::{Happening, Verdict, World};

impl World {
    pub(super) fn happen(&mut self, happening: Happening) -> Verdict {
        match happening {
            Happening::Timer(timer) => self.deliver(Event::Expired { timer }),
            Happening::Answer(event) => self.deliver(event),
            Happening::Poll(tenure, deadline) => {
                if !self.kafka.has_records(tenure) && self.now < deadline {
                    let nap = (deadline - self.now).min(100);
                    self.plan(nap, Happening::Poll(tenure, deadline));
                    return Ok(());
                }
                let event = self.kafka.poll(tenure, &mut self.dice);
                self.deliver(event)
            }
            Happening::Check(check, parts, sight) => self.answer_check(check, parts, sight),
            Happening::Store(id) => self.step_store(id),
            Happening::Group => self.move_group(),
            Happening::Log => {
                let partition = self.dice.index(self.kafka.logs.len());
                // Under load, one partition stays as it is: its neighbours must not starve it.
                if self.is_growing && (self.dice.is_wild || partition > 0) {
                    self.kafka.logs[partition].grow(&mut self.dice);
                }
                if self.dice.fault(3) && self.dice.chance(100) {
                    self.kafka.is_recreated = true;
                    self.strike("recreated");
                }
                let next = 1 + self.dice.below(self.grows_every_ms);
                self.plan(next, Happening::Log);
                Ok(())
            }
            Happening::Stranger => {
                self.be_strange();
                self.plan(2_000, Happening::Stranger);
                Ok(())
            }
            Happening::Shutdown => {
                self.strike("asked");
                let event = match self.dice.below(3) {
                    0 => Event::ShutdownRequested,
                    1 => Event::PauseRequested,
                    _ => Event::StopRequested,
                };
                self.deliver(event)
            }
        }
    }

    fn answer_check(&mut self, check: CheckId, parts: CheckParts, sight: Option<Sight>) -> Verdict {
        if self.dice.fault(self.dice.rates.check) {
            let why = "no broker answered".to_owned();
            let is_sent = self.dice.chance(500);
            let failure = if is_sent { Failure::Again(why) } else { Failure::Unreached(why) };
            return self.deliver(Event::CheckFailed { check, failure });
        }
        let sight = sight.unwrap_or_else(|| self.kafka.sight(parts == CheckParts::Bounds, &mut self.dice));
        if sight.topic == TopicSight::Unknown || sight.bounds.is_some() {
            self.strike("suspect");
        }
        self.deliver(Event::Checked { check, sight })
    }

    /// Another member claims a row, or a failover forgets its last commits.
    fn be_strange(&mut self) {
        let partition = self.dice.index(self.kafka.logs.len());
        if self.dice.fault(self.dice.rates.strange) {
            let frontier = self.postgres.rows[partition].left().frontier.unwrap_or(0);
            let next = self.kafka.logs[partition].from(frontier).first().copied();
            let next = next.filter(|_| self.dice.chance(500));
            self.postgres.claim_by_another(partition, next);
            self.strike("foreign");
        } else if self.dice.fault(self.dice.rates.strange / 4) {
            let lost = 1 + self.dice.index(3);
            self.postgres.fail_over(partition, lost);
            self.strike("foreign");
        }
    }

    /// One step of an operation; its reply is heard at once.
    fn step_store(&mut self, id: u64) -> Verdict {
        let stepped = self.postgres.step(id, self.now, &mut self.dice);
        if let Some(again_in) = stepped.again_in {
            self.plan(again_in, Happening::Store(id));
        }
        let Some((event, lock)) = stepped.reply else { return Ok(()) };
        let tenure = event.tenure().expect("an answer to a tenure");
        match &event {
            Event::Claimed { .. } | Event::Observed { .. } => {
                self.judge.locked(tenure, lock.expect("it held the lock"));
            }
            Event::CommitUnknown { .. } | Event::ClaimUnknown { .. } => {
                self.strike("unknown");
                self.judge.left_open(tenure, lock.expect("it held the lock"));
            }
            Event::ClaimFailed { failure: Failure::Broken(_), .. }
            | Event::ObserveFailed { failure: Failure::Broken(_), .. }
            | Event::ProcessFailed { failure: ProcessFailure::Attempt(Failure::Broken(_)), .. } => {
                self.strike("broken");
            }
            _ => {}
        }
        self.deliver(event)
    }

    /// The group's next callback.
    fn move_group(&mut self) -> Verdict {
        let next = if self.dice.is_wild { 1 + self.dice.below(self.dice.rates.calls_ms) } else { 1_000 };
        self.plan(next, Happening::Group);
        if self.stopped.is_some() || self.kafka.group.is_closing {
            return Ok(());
        }
        let is_assigned = self.kafka.group.assigned.is_some();
        let waits = self.kafka.group.pending.is_some();
        if !self.dice.is_wild {
            let has_all =
                self.kafka.group.assigned.as_ref().is_some_and(|of| of.len() == self.kafka.logs.len());
            return match (waits, is_assigned, has_all) {
                (true, ..) | (_, _, true) => Ok(()),
                (false, false, _) => self.assign(1_000),
                (false, true, false) => self.take(false),
            };
        }
        self.strike("chaos");
        match self.dice.below(20) {
            0 | 1 => {
                if let Some(event) = self.kafka.group.stale(&mut self.dice) {
                    self.deliver(event)?;
                    if let Some(command) = self.commands.first() {
                        return Err(format!("{command} after a stale callback"));
                    }
                }
                Ok(())
            }
            // It comes when the member has stopped answering, whatever waits.
            2 | 3 if is_assigned || waits => self.take(true),
            4 if is_assigned => self.assign(700),
            5 if self.dice.chance(100) => {
                self.strike("broken");
                let member = self.kafka.group.member;
                self.deliver(Event::ClientFailed { member, why: "fenced by a broker".to_owned() })
            }
            5 => self.deliver(Event::ClientFailed { member: 0, why: "an older client".to_owned() }),
            _ if waits => Ok(()),
            _ if is_assigned => self.take(false),
            _ => self.assign(700),
        }
    }

    fn assign(&mut self, in_1000: u32) -> Verdict {
        let all = 0..u32::try_from(self.kafka.logs.len()).expect("small");
        let partitions: Vec<Partition> = all.filter(|_| self.dice.chance(in_1000)).map(Partition).collect();
        self.judge.assigned(self.step + 1, &partitions);
        self.kafka.forget_lanes();
        let event = self.kafka.group.assign(self.now, partitions);
        self.deliver(event)
    }

    fn take(&mut self, is_lost: bool) -> Verdict {
        self.judge.taken();
        self.kafka.forget_lanes();
        let group = &mut self.kafka.group;
        let event = if is_lost { group.lose(self.now) } else { group.revoke(self.now) };
        self.deliver(event)
    }
}
