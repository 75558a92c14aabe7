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
    use std::collections::BTreeMap;

    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::Few;

    #[test]
    fn it_holds_what_a_tree_holds() {
        for seed in 0..200 {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let (mut few, mut tree) = (Few::default(), BTreeMap::new());
            for value in 0..200_u32 {
                let key = rng.random_range(0..12_u8);
                match rng.random_range(0..14) {
                    0..4 => assert_eq!(few.insert(key, value), tree.insert(key, value)),
                    4..7 => assert_eq!(few.remove(&key), tree.remove(&key)),
                    7..9 => {
                        let is_new = !tree.contains_key(&key);
                        let make = || {
                            assert!(is_new, "a value is made where there is one");
                            value
                        };
                        assert_eq!(few.or_insert_with(key, make), tree.entry(key).or_insert(value));
                    }
                    9 => assert_eq!(few.or_default(key), tree.entry(key).or_default()),
                    10 => {
                        let (mine, theirs) = (few.find_mut(&key), tree.get_mut(&key));
                        assert_eq!(mine, theirs);
                        mine.into_iter().chain(theirs).for_each(|found| *found = value);
                    }
                    11 => {
                        few.iter_mut().for_each(|(key, held)| *held += u32::from(*key));
                        tree.iter_mut().for_each(|(key, held)| *held += u32::from(*key));
                    }
                    12 => few.values_mut().chain(tree.values_mut()).for_each(|held| *held += 1),
                    _ => {
                        few.retain(|other, held| *other < key || *held % 2 == 0);
                        tree.retain(|other, held| *other < key || *held % 2 == 0);
                    }
                }
                assert_eq!((few.get(&key), few.is_empty()), (tree.get(&key), tree.is_empty()));
                assert!(few.iter().eq(&tree) && few.iter().rev().eq(tree.iter().rev()), "seed {seed}");
                assert!(few.keys().eq(tree.keys()) && few.values().eq(tree.values()), "seed {seed}");
            }
            let backwards: Few<u8, u32> = tree.iter().rev().map(|(key, value)| (*key, *value)).collect();
            assert_eq!(backwards, few);
        }
    }
}
