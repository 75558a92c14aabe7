//! Knows what is still to happen and when; what is due at the same time happens in the order in which it was planned.

/// What is still to happen. There is little of it at a time, so that a sorted list is faster than a heap.
#[derive(Clone, Debug)]
pub(crate) struct Agenda<T> {
    /// The next thing is the last one.
    entries: Vec<(Appointment, T)>,
    planned: u64,
}

/// Names an entry, so that it can be taken off: when it is due, and the how manyth plan it is.
pub(crate) type Appointment = (u64, u64);

/// The earlier of two times at which something is due.
pub(crate) fn earlier(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

impl<T> Default for Agenda<T> {
    fn default() -> Self {
        Self { entries: Vec::new(), planned: 0 }
    }
}

impl<T> Agenda<T> {
    /// Plans something.
    pub(crate) fn at(&mut self, at_ms: u64, what: T) -> Appointment {
        self.planned += 1;
        let appointment = (at_ms, self.planned);
        let index = self.entries.partition_point(|((other_ms, _), _)| *other_ms > at_ms);
        self.entries.insert(index, (appointment, what));
        appointment
    }

    /// Takes an entry off, when it is still there.
    pub(crate) fn forget(&mut self, appointment: Appointment) {
        if let Ok(index) = self.entries.binary_search_by(|(other, _)| appointment.cmp(other)) {
            self.entries.remove(index);
        }
    }

    /// Takes off whatever is not wanted any more.
    pub(crate) fn retain(&mut self, is_wanted: impl Fn(&T) -> bool) {
        self.entries.retain(|(_, what)| is_wanted(what));
    }

    /// When the next thing is due.
    pub(crate) fn next_due(&self) -> Option<u64> {
        self.entries.last().map(|((at_ms, _), _)| *at_ms)
    }

    /// Takes the next thing that is due by now.
    pub(crate) fn take(&mut self, now_ms: u64) -> Option<T> {
        self.next_due().filter(|at_ms| *at_ms <= now_ms)?;
        self.entries.pop().map(|(_, what)| what)
    }
}
