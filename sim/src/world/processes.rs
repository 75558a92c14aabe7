//! Knows which process of each worker lives, and what waits for one that stands still.

use amends_core::lifecycle::event::Event;

use super::Happening;
use crate::few::Few;
use crate::life::Life;

/// The newest process of each worker.
#[derive(Clone, Debug, Default)]
pub struct Processes {
    newest: Few<u8, Process>,
}

#[derive(Clone, Debug)]
struct Process {
    who: Life,
    is_living: bool,
    is_frozen: bool,
    /// What came while it stood still.
    held: Vec<Event>,
}

impl Processes {
    /// The worker's process, while it lives.
    #[must_use]
    pub fn living(&self, worker: u8) -> Option<Life> {
        self.newest.get(&worker).filter(|process| process.is_living).map(|process| process.who)
    }

    /// The worker's newest process, if it ever had one.
    #[must_use]
    pub fn newest(&self, worker: u8) -> Option<Life> {
        self.newest.get(&worker).map(|process| process.who)
    }

    /// Every worker's newest process, with whether it lives.
    pub fn all(&self) -> impl Iterator<Item = (Life, bool)> + '_ {
        self.newest.values().map(|process| (process.who, process.is_living))
    }

    /// Whether it stands still.
    #[must_use]
    pub fn is_frozen(&self, who: Life) -> bool {
        self.find(who).is_some_and(|process| process.is_frozen)
    }

    fn find(&self, who: Life) -> Option<&Process> {
        self.newest.get(&who.worker).filter(|process| process.who == who && process.is_living)
    }

    fn find_mut(&mut self, who: Life) -> Option<&mut Process> {
        self.newest.find_mut(&who.worker).filter(|process| process.who == who && process.is_living)
    }

    /// A process begins; false when the worker has one, or had this one.
    pub(super) fn start(&mut self, who: Life) -> bool {
        let is_new = self
            .newest
            .get(&who.worker)
            .is_none_or(|process| !process.is_living && process.who.number < who.number);
        if is_new {
            let process = Process { who, is_living: true, is_frozen: false, held: Vec::new() };
            self.newest.insert(who.worker, process);
        }
        is_new
    }

    /// A process is over; false when it already was.
    pub(super) fn end(&mut self, who: Life) -> bool {
        self.find_mut(who).map(|process| process.is_living = false).is_some()
    }

    /// A process dies; false when it already was over.
    pub(super) fn kill(&mut self, who: Life, out: &mut Vec<Happening>) -> bool {
        withdrawn(who, out).for_each(drop);
        self.end(who)
    }

    pub(super) fn freeze(&mut self, who: Life, out: &mut Vec<Happening>) -> bool {
        let Some(process) = self.find_mut(who).filter(|process| !process.is_frozen) else { return false };
        process.is_frozen = true;
        process.held.extend(withdrawn(who, out));
        true
    }

    pub(super) fn thaw(&mut self, who: Life, out: &mut Vec<Happening>) {
        if let Some(process) = self.find_mut(who) {
            process.is_frozen = false;
            out.extend(process.held.drain(..).map(|event| Happening::Deliver(who, event)));
        }
    }

    /// An event for a process: at once, later, or never.
    pub(super) fn deliver(&mut self, who: Life, event: Event, out: &mut Vec<Happening>) {
        match self.find_mut(who) {
            Some(process) if process.is_frozen => process.held.push(event),
            Some(_) => out.push(Happening::Deliver(who, event)),
            None => {}
        }
    }
}

/// What a process was to be told in this very moment, and is not told any more.
fn withdrawn(who: Life, out: &mut Vec<Happening>) -> impl Iterator<Item = Event> + '_ {
    let is_for =
        move |happening: &mut Happening| matches!(happening, Happening::Deliver(to, _) if *to == who);
    out.extract_if(.., is_for).filter_map(|happening| match happening {
        Happening::Deliver(_, event) => Some(event),
        _ => None,
    })
}
