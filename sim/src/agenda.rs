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

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::{Agenda, Appointment, earlier};

    #[test]
    fn it_gives_what_a_sorted_list_gives() {
        for seed in 0..200 {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let mut agenda = Agenda::default();
            let (mut list, mut made): (Vec<(Appointment, u32)>, Vec<Appointment>) = Default::default();
            for what in 0..200_u32 {
                let at_ms = rng.random_range(0..20);
                match rng.random_range(0..10) {
                    0..5 => {
                        let appointment = agenda.at(at_ms, what);
                        assert_eq!(appointment, (at_ms, made.len() as u64 + 1));
                        made.push(appointment);
                        list.push((appointment, what));
                        list.sort_unstable();
                    }
                    5..8 => {
                        let is_due = list.first().is_some_and(|((due, _), _)| *due <= at_ms);
                        let first = is_due.then(|| list.remove(0).1);
                        assert_eq!(agenda.take(at_ms), first, "seed {seed}");
                    }
                    // What was taken before is forgotten without effect.
                    8 if !made.is_empty() => {
                        let appointment = made[rng.random_range(0..made.len())];
                        agenda.forget(appointment);
                        list.retain(|(other, _)| *other != appointment);
                    }
                    _ => {
                        agenda.retain(|held| held % 7 != what % 7);
                        list.retain(|(_, held)| held % 7 != what % 7);
                    }
                }
                assert_eq!(agenda.next_due(), list.first().map(|((due, _), _)| *due), "seed {seed}");
            }
            let rest: Vec<u32> = std::iter::from_fn(|| agenda.take(u64::MAX)).collect();
            assert_eq!(rest, list.iter().map(|(_, what)| *what).collect::<Vec<_>>(), "seed {seed}");
        }
    }

    #[test]
    fn the_earlier_of_two_is_the_one_that_is_there() {
        assert_eq!(earlier(Some(2), Some(1)), Some(1));
        assert_eq!((earlier(None, Some(1)), earlier(Some(1), None)), (Some(1), Some(1)));
        assert_eq!(earlier(None, None), None);
    }
}
