//! Records whose places are used again, so that nothing is allocated per request.

/// A slab: items that are addressed by index, and whose places are used again.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    items: Vec<T>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    pub fn with_capacity(capacity: usize) -> Self {
        Self { items: Vec::with_capacity(capacity), free: Vec::with_capacity(capacity) }
    }

    /// The number of items in use.
    pub fn in_use(&self) -> usize {
        self.items.len() - self.free.len()
    }

    /// Of each item whether it is in use. Slow.
    fn is_used(&self) -> Vec<bool> {
        let mut is_used = vec![true; self.items.len()];
        self.free.iter().for_each(|&free| is_used[free as usize] = false);
        is_used
    }

    /// The items in use. Slow.
    pub fn used(&self) -> impl Iterator<Item = &T> {
        self.items.iter().zip(self.is_used()).filter_map(|(item, is_used)| is_used.then_some(item))
    }

    /// Takes all items in use out, in the order of their indices.
    pub fn drain(&mut self) -> impl Iterator<Item = T> + use<T> {
        let is_used = self.is_used();
        self.free.clear();
        std::mem::take(&mut self.items).into_iter().zip(is_used).filter_map(|(item, is_used)| is_used.then_some(item))
    }

    /// The number of items ever made.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    #[inline]
    pub fn insert(&mut self, item: T) -> u32 {
        match self.free.pop() {
            Some(index) => {
                self.items[index as usize] = item;
                index
            }
            None => {
                self.items.push(item);
                (self.items.len() - 1) as u32
            }
        }
    }

    /// Takes an item for use as it was left, or a new one.
    pub fn reuse(&mut self, new: impl FnOnce() -> T) -> u32 {
        match self.free.pop() {
            Some(index) => index,
            None => self.insert(new()),
        }
    }

    #[inline]
    pub fn remove(&mut self, index: u32) {
        self.free.push(index);
    }
}

impl<T> std::ops::Index<usize> for Slab<T> {
    type Output = T;
    #[inline]
    fn index(&self, index: usize) -> &T {
        &self.items[index]
    }
}

impl<T> std::ops::IndexMut<usize> for Slab<T> {
    #[inline]
    fn index_mut(&mut self, index: usize) -> &mut T {
        &mut self.items[index]
    }
}
