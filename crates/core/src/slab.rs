//! Records whose places are used again, so that nothing is allocated per request, and such that are found by a number.

use crate::ids::NONE;
use crate::mem::prefetch;

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

    /// The indices of the items in use, in order. Slow.
    pub fn indices(&self) -> impl Iterator<Item = u32> + use<T> {
        self.is_used().into_iter().zip(0..).filter_map(|(is_used, index)| is_used.then_some(index))
    }

    /// The items in use. Slow.
    pub fn used(&self) -> impl Iterator<Item = &T> {
        self.indices().map(|index| &self.items[index as usize])
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

/// Neighbouring numbers whose buckets are neighbours, as a power of two.
const NEIGHBOURS_SHIFT: u32 = 4;

/// Items that are found by a number, and stand in orders. Own code and not a library's table, because the buckets of coming requests
/// can be fetched ahead, and neighbouring numbers share a cache line.
#[derive(Debug)]
pub(crate) struct Keyed<T> {
    nodes: Slab<Node<T>>,
    /// The first of each bucket; a power of two of them.
    buckets: Vec<u32>,
}

/// An item that is found by a number.
#[derive(Debug)]
pub(crate) struct Node<T> {
    pub key: u32,
    /// The next of the same bucket.
    next: u32,
    /// Its neighbours in an order. Whoever has taken it out of the order may keep other things here.
    pub newer: u32,
    pub older: u32,
    pub item: T,
}

/// The ends of an order of items.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Order {
    newest: u32,
    pub oldest: u32,
}

impl Order {
    pub const EMPTY: Self = Self { newest: NONE, oldest: NONE };
}

impl<T> Keyed<T> {
    pub fn new(capacity: usize, buckets: usize) -> Self {
        Self { nodes: Slab::with_capacity(capacity), buckets: vec![NONE; buckets.next_power_of_two().max(1 << NEIGHBOURS_SHIFT)] }
    }

    #[inline]
    fn bucket(&self, key: u32) -> usize {
        let neighbourhood = (key >> NEIGHBOURS_SHIFT).wrapping_mul(0x9e37_79b9);
        let within = key & ((1 << NEIGHBOURS_SHIFT) - 1);
        // The product's upper half is the well-mixed one.
        (neighbourhood.rotate_right(16) << NEIGHBOURS_SHIFT | within) as usize & (self.buckets.len() - 1)
    }

    /// Brings the bucket of a number near.
    #[inline]
    pub fn prefetch(&self, key: u32) {
        prefetch(&self.buckets, self.bucket(key));
    }

    /// The index of a number's item, if it has one.
    #[inline]
    pub fn find(&self, key: u32) -> Option<u32> {
        let mut index = self.buckets[self.bucket(key)];
        while index != NONE {
            let node = &self[index];
            if node.key == key {
                return Some(index);
            }
            index = node.next;
        }
        None
    }

    /// An item for a number that has none. It is in no order.
    #[inline]
    pub fn insert(&mut self, key: u32, item: T) -> u32 {
        let bucket = self.bucket(key);
        let index = self.nodes.insert(Node { key, next: self.buckets[bucket], newer: NONE, older: NONE, item });
        self.buckets[bucket] = index;
        index
    }

    /// Forgets an item that is in no order.
    pub fn remove(&mut self, index: u32) {
        let Node { key, next, .. } = self[index];
        let bucket = self.bucket(key);
        let mut at = self.buckets[bucket];
        if at == index {
            self.buckets[bucket] = next;
        } else {
            while self[at].next != index {
                at = self[at].next;
            }
            self[at].next = next;
        }
        self.nodes.remove(index);
    }

    /// Puts an item into an order as the newest.
    pub fn push_newest(&mut self, order: &mut Order, index: u32) {
        (self[index].newer, self[index].older) = (NONE, order.newest);
        match std::mem::replace(&mut order.newest, index) {
            NONE => order.oldest = index,
            older => self[older].newer = index,
        }
    }

    /// Puts an item into an order as the oldest.
    pub fn push_oldest(&mut self, order: &mut Order, index: u32) {
        (self[index].newer, self[index].older) = (order.oldest, NONE);
        match std::mem::replace(&mut order.oldest, index) {
            NONE => order.newest = index,
            newer => self[newer].older = index,
        }
    }

    /// Takes an item out of the order that it is in.
    pub fn unlink(&mut self, order: &mut Order, index: u32) {
        let Node { newer, older, .. } = self[index];
        match newer {
            NONE => order.newest = older,
            newer => self[newer].older = older,
        }
        match older {
            NONE => order.oldest = newer,
            older => self[older].newer = newer,
        }
    }

    /// The items of an order, from the oldest on.
    pub fn in_order(&self, order: Order) -> impl Iterator<Item = u32> + '_ {
        let some = |index: u32| (index != NONE).then_some(index);
        std::iter::successors(some(order.oldest), move |&index| some(self[index].newer))
    }

    /// All items, in the order of their indices. Slow.
    pub fn indices(&self) -> impl Iterator<Item = u32> + use<T> {
        self.nodes.indices()
    }

    /// The number of items.
    #[inline]
    pub fn len(&self) -> usize {
        self.nodes.in_use()
    }
}

impl<T> std::ops::Index<u32> for Keyed<T> {
    type Output = Node<T>;
    #[inline]
    fn index(&self, index: u32) -> &Node<T> {
        &self.nodes[index as usize]
    }
}

impl<T> std::ops::IndexMut<u32> for Keyed<T> {
    #[inline]
    fn index_mut(&mut self, index: u32) -> &mut Node<T> {
        &mut self.nodes[index as usize]
    }
}
