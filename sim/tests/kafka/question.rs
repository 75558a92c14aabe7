//! What belongs together: a question and its answer, by what both name.

use amends_core::ids::TenureId;
use amends_core::lifecycle::command::{CheckId, Command};
use amends_core::lifecycle::event::Event;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Question {
    Check(CheckId),
    Seek(TenureId),
    Probe(TenureId),
    Poll(TenureId),
    Close,
}

pub fn asked(command: &Command) -> Option<Question> {
    Some(match command {
        Command::Check { check, .. } => Question::Check(*check),
        Command::Seek { tenure, .. } => Question::Seek(*tenure),
        Command::Probe { tenure, .. } => Question::Probe(*tenure),
        Command::Poll { tenure, .. } => Question::Poll(*tenure),
        Command::Close => Question::Close,
        // Its positions are asked for one by one.
        Command::Assign { positions, .. } => Question::Seek(positions.first()?.0),
        _ => return None,
    })
}

pub fn answered(event: &Event) -> Option<Question> {
    Some(match event {
        Event::Checked { check, .. } | Event::CheckFailed { check, .. } => Question::Check(*check),
        Event::Sought { tenure } | Event::SeekFailed { tenure, .. } => Question::Seek(*tenure),
        Event::Probed { tenure, .. } | Event::ProbeFailed { tenure, .. } => Question::Probe(*tenure),
        Event::Polled { tenure, .. } | Event::PollEmpty { tenure } | Event::PollFailed { tenure, .. } => {
            Question::Poll(*tenure)
        }
        Event::Closed => Question::Close,
        _ => return None,
    })
}
