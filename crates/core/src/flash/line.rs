//! Operations that wait one behind the other: in the queue of a plane and class, for an erased page, in the registers of a die.

use crate::flash::op::Op;
use crate::ids::NONE;
use crate::slab::Slab;

/// A list through the `next` of its operations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    /// The first one, or `NONE`.
    pub head: u32,
    pub tail: u32,
}

impl Line {
    pub const EMPTY: Self = Self { head: NONE, tail: NONE };

    #[inline(always)]
    pub fn is_empty(self) -> bool {
        self.head == NONE
    }

    /// Appends an operation.
    #[inline(always)]
    pub fn push(&mut self, ops: &mut Slab<Op>, op: u32) {
        match self.tail {
            NONE => self.head = op,
            tail => ops[tail as usize].next = op,
        }
        self.tail = op;
    }

    /// Puts an operation before all others.
    pub fn push_first(&mut self, ops: &mut Slab<Op>, op: u32) {
        ops[op as usize].next = self.head;
        if self.is_empty() {
            self.tail = op;
        }
        self.head = op;
    }

    /// Takes the first operation out; there is one.
    #[inline(always)]
    pub fn pop(&mut self, ops: &mut Slab<Op>) -> u32 {
        let op = self.head;
        self.head = std::mem::replace(&mut ops[op as usize].next, NONE);
        if self.is_empty() {
            self.tail = NONE;
        }
        op
    }

    /// Takes an operation out, wherever it stands.
    pub fn remove(&mut self, ops: &mut Slab<Op>, op: u32) {
        let next = std::mem::replace(&mut ops[op as usize].next, NONE);
        let before = self.iter(ops).take_while(|&other| other != op).last().unwrap_or(NONE);
        match before {
            NONE => self.head = next,
            before => ops[before as usize].next = next,
        }
        if self.tail == op {
            self.tail = before;
        }
    }

    /// The operations, first one first.
    pub fn iter(self, ops: &Slab<Op>) -> impl Iterator<Item = u32> + '_ {
        linked(ops, self.head)
    }
}

/// An operation, or none, and those behind it in its list.
pub(crate) fn linked(ops: &Slab<Op>, first: u32) -> impl Iterator<Item = u32> + Clone + '_ {
    let some = |op: u32| (op != NONE).then_some(op);
    std::iter::successors(some(first), move |&op| some(ops[op as usize].next))
}
