//! The device queues: bounded inside, unbounded in the host.

use crate::attribution::slot_waits::SlotWaits;
use crate::commands::{Command, CommandKind};
use crate::units::Ns;
use std::collections::VecDeque;

/// A command that waits in the host because the device has no room.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queued {
    pub id: u64,
    pub asked: Ns,
    pub arrived: Ns,
    pub command: Command,
}

/// The device takes `depth` commands at a time, from all queues together. In each queue others wait in order of arrival; the
/// device goes round the queues and takes from each as many as its weight says, or as many as wait there. A command that
/// finds room at once takes no turn.
#[derive(Debug)]
pub(crate) struct HostQueue {
    depth: u32,
    in_device: [u32; 3],
    waiting: usize,
    queues: Vec<VecDeque<Queued>>,
    weights: Vec<u32>,
    /// The queue whose turn it is, and how many commands it may still give.
    turn: usize,
    left: u32,
    /// What those who wait are waiting for.
    pub waits: SlotWaits,
}

impl HostQueue {
    pub fn new(depth: u32, weights: &[u32]) -> Self {
        Self {
            depth,
            in_device: [0; 3],
            waiting: 0,
            queues: vec![VecDeque::new(); weights.len()],
            weights: weights.to_vec(),
            turn: 0,
            left: weights[0],
            waits: SlotWaits::new(depth),
        }
    }

    #[inline]
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    pub fn in_device(&self, kind: CommandKind) -> usize {
        self.in_device[kind as usize] as usize
    }

    /// A command is enqueued in a queue, whose number is taken modulo the number of queues.
    pub fn push(&mut self, queue: u32, queued: Queued) {
        self.waits.begin(queued.arrived, self.waiting == 0, || {
            let fronts = self.queues.iter().filter_map(VecDeque::front);
            fronts.map(|front| front.arrived).min().unwrap_or(queued.arrived)
        });
        let queue = queue as usize % self.queues.len();
        self.queues[queue].push_back(queued);
        self.waiting += 1;
    }

    #[inline]
    fn has_room(&self) -> bool {
        self.in_device[0] + self.in_device[1] + self.in_device[2] < self.depth
    }

    /// Takes a command at once if nothing waits and the device has room.
    #[inline]
    pub fn take_directly(&mut self, kind: CommandKind) -> bool {
        let room = self.waiting == 0 && self.has_room();
        self.in_device[kind as usize] += u32::from(room);
        room
    }

    /// Whether a command waits that the device has room for.
    #[inline]
    pub fn lets_in(&self) -> bool {
        self.waiting > 0 && self.has_room()
    }

    /// The next command that the device takes, if it has room.
    #[inline]
    pub fn take(&mut self) -> Option<Queued> {
        if !self.lets_in() {
            return None;
        }
        while self.left == 0 || self.queues[self.turn].is_empty() {
            self.turn = if self.turn + 1 < self.queues.len() { self.turn + 1 } else { 0 };
            self.left = self.weights[self.turn];
        }
        let queued = self.queues[self.turn].pop_front()?;
        self.left -= 1;
        self.waiting -= 1;
        self.in_device[queued.command.kind as usize] += 1;
        Some(queued)
    }

    pub fn completed(&mut self, kind: CommandKind) {
        self.in_device[kind as usize] -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queued(id: u64) -> Queued {
        Queued { id, asked: 0, arrived: 0, command: Command { kind: CommandKind::Read, sector: 0, sectors: 1, critical: false } }
    }

    #[test]
    fn the_device_takes_from_each_queue_what_its_weight_says_or_what_waits_there() {
        let mut host = HostQueue::new(1, &[2, 1, 3]);
        assert!(host.take_directly(CommandKind::Read));
        assert!(!host.take_directly(CommandKind::Read), "the depth counts all queues");
        // Queue 0 has ten commands from 0 on, queue 1 two from 100 on, queue 2 four from 200 on; queue 5 is queue 2.
        (0..10).for_each(|id| host.push(0, queued(id)));
        (100..102).for_each(|id| host.push(1, queued(id)));
        (200..204).for_each(|id| host.push(5, queued(id)));
        assert!(host.take().is_none(), "no room");
        let mut taken = Vec::new();
        host.completed(CommandKind::Read);
        while let Some(queued) = host.take() {
            taken.push(queued.id);
            host.completed(CommandKind::Read);
        }
        assert_eq!(taken, [0, 1, 100, 200, 201, 202, 2, 3, 101, 203, 4, 5, 6, 7, 8, 9]);
        assert_eq!(host.waiting(), 0);
    }
}
