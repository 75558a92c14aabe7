//! Knows a few things by their keys, in the order of the keys. A world has so few of each that a sorted list is faster
//! than a tree.

use std::cell::Cell;
use std::mem;

/// A map of few entries.
#[derive(Clone, Debug)]
pub struct Few<K, V> {
    entries: Vec<(K, V)>,
    /// Where a key was found last: mostly the same one is asked for again, by one check after the other.
    last: Cell<usize>,
}

impl<K, V> Default for Few<K, V> {
    fn default() -> Self {
        Self { entries: Vec::new(), last: Cell::new(0) }
    }
}

impl<K: PartialEq, V: PartialEq> PartialEq for Few<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.entries == other.entries
    }
}

impl<K: Ord, V> Few<K, V> {
    /// Where the key is. The newest, which are asked for most, are the last.
    fn position(&self, key: &K) -> Option<usize> {
        let last = self.last.get();
        if self.entries.get(last).is_some_and(|(other, _)| other == key) {
            return Some(last);
        }
        let found = self.entries.iter().rposition(|(other, _)| other == key)?;
        self.last.set(found);
        Some(found)
    }

    /// Where the key is, or would be.
    fn find(&self, key: &K) -> Result<usize, usize> {
        let behind = || self.entries.iter().rposition(|(other, _)| other < key).map_or(0, |index| index + 1);
        self.position(key).ok_or_else(behind)
    }

    /// What the key has.
    #[must_use]
    pub fn get(&self, key: &K) -> Option<&V> {
        self.position(key).map(|index| &self.entries[index].1)
    }

    /// The same, to be changed.
    pub fn find_mut(&mut self, key: &K) -> Option<&mut V> {
        self.position(key).map(|index| &mut self.entries[index].1)
    }

    /// What the key has; it is given this first when it has nothing.
    pub fn or_insert_with(&mut self, key: K, make: impl FnOnce() -> V) -> &mut V {
        let index = self.find(&key).unwrap_or_else(|index| {
            self.entries.insert(index, (key, make()));
            index
        });
        &mut self.entries[index].1
    }

    /// The same with the value that nothing was said of.
    pub fn or_default(&mut self, key: K) -> &mut V
    where
        V: Default,
    {
        self.or_insert_with(key, V::default)
    }

    /// Gives the key a value. Returns the one that it had.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.find(&key) {
            Ok(index) => Some(mem::replace(&mut self.entries[index].1, value)),
            Err(index) => {
                self.entries.insert(index, (key, value));
                None
            }
        }
    }

    /// Takes the key's value out.
    pub fn remove(&mut self, key: &K) -> Option<V> {
        self.find(key).ok().map(|index| self.entries.remove(index).1)
    }

    /// Keeps what is wanted.
    pub fn retain(&mut self, mut is_wanted: impl FnMut(&K, &mut V) -> bool) {
        self.entries.retain_mut(|(key, value)| is_wanted(key, value));
    }

    /// Whether there is nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// All, in the order of the keys.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&K, &V)> {
        self.entries.iter().map(|(key, value)| (key, value))
    }

    /// The same, to be changed.
    pub fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = (&K, &mut V)> {
        self.entries.iter_mut().map(|(key, value)| (&*key, value))
    }

    /// The keys, in their order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &K> {
        self.entries.iter().map(|(key, _)| key)
    }

    /// The values, in the order of their keys.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> {
        self.entries.iter().map(|(_, value)| value)
    }

    /// The same, to be changed.
    pub fn values_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut V> {
        self.entries.iter_mut().map(|(_, value)| value)
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for Few<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut few = Self::default();
        for (key, value) in entries {
            few.insert(key, value);
        }
        few
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_wherever_it_has_moved_to() {
        let mut few: Few<u8, char> = [(2, 'b'), (4, 'd')].into_iter().collect();
        assert_eq!(few.get(&4), Some(&'d'));
        few.insert(3, 'c');
        assert_eq!((few.get(&4), few.get(&3), few.get(&2)), (Some(&'d'), Some(&'c'), Some(&'b')));
        assert_eq!(few.remove(&2), Some('b'));
        assert_eq!((few.get(&2), few.get(&3)), (None, Some(&'c')));
        assert_eq!((few.remove(&3), few.insert(4, 'e'), few.get(&4)), (Some('c'), Some('d'), Some(&'e')));
    }
}
