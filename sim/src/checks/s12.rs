//! S12, the incarnation: nothing is claimed, sought or decided but after a check, sent late enough, that showed the
//! declared topic. A broker that is behind may show it when it is gone: what is decided then is undetectable, and the
//! first check that shows another topic ends the stream.

use amends_core::lifecycle::command::Command;
use amends_core::lifecycle::event::Event;
use amends_core::source::boundary::TopicSight;

use super::begins::each_begun;
use super::{Check, Verdict};
use crate::fact::Fact;
use crate::truth::{Process, Tenancy, Truth};

/// The step in hand showed another topic to a stream that works.
#[derive(Default)]
pub struct RightTopic {
    must_stop: bool,
}

impl Check for RightTopic {
    const NAME: &'static str = "S12";
    const CLAIM: &'static str = "claims, seeks and decisions follow a check that was sent after what they rest on and showed the \
         declared topic, and another topic ends the stream";

    #[inline(always)]
    fn see(&mut self, fact: &Fact<'_>, truth: &Truth) -> Verdict {
        match fact {
            Fact::Delivered { who, event } => {
                self.must_stop = matches!(
                    event,
                    Event::Checked { sight, .. } if matches!(
                        sight.topic,
                        TopicSight::Known { incarnation: Some(seen), .. } if seen != truth.declared
                    )
                ) && truth.processes.get(who).is_some_and(Process::is_working);
                Ok(())
            }
            Fact::Commanded { who, command } => {
                let Some(process) = truth.processes.get(who) else { return Ok(()) };
                each_begun(command, |tenure| {
                    if tenure.partition.0 >= truth.partitions {
                        return Err(format!(
                            "{who} {tenure}: {command}, and {} partitions were declared",
                            truth.partitions
                        ));
                    }
                    let Some(tenancy) = process.tenancies.get(&tenure) else { return Ok(()) };
                    let since = since(command, tenancy);
                    if process.passed > since {
                        return Ok(());
                    }
                    Err(format!(
                        "{who} {tenure}: {command}, and no check that was sent after step {since} showed {}",
                        truth.declared
                    ))
                })
            }
            Fact::Settled { who } if std::mem::take(&mut self.must_stop) => {
                if truth.processes.get(who).is_some_and(Process::is_working) {
                    return Err(format!(
                        "{who} was shown another topic than {}, and goes on",
                        truth.declared
                    ));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// The step after which the check must have been sent.
fn since(command: &Command, tenancy: &Tenancy) -> u64 {
    match command {
        Command::Claim { .. } => tenancy.began,
        Command::Process { .. } => tenancy.batch.as_ref().map_or(tenancy.began, |batch| batch.step),
        _ => tenancy.unchecked,
    }
}
