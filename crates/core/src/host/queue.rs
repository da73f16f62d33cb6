//! The device queues: bounded inside, unbounded in the host.

use crate::attribution::slot_waits::SlotWaits;
use crate::commands::{Command, CommandKind};
use crate::units::Ns;
use std::collections::VecDeque;

/// A command that waits in the host because the device has no room.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queued {
    pub id: u64,
    /// Its queue among those of the device.
    pub queue: u32,
    pub asked: Ns,
    pub arrived: Ns,
    pub command: Command,
}

/// The device takes `depth` commands at a time, of all queues together or of each. In each queue others wait in order of arrival;
/// the device goes round the queues and takes from each as many as its weight says, or as many as wait there. A command that
/// finds room at once takes no turn.
#[derive(Debug)]
pub(crate) struct HostQueue {
    depth: u32,
    /// The commands of each queue in the device, if the depth is that of each.
    of_queues: Option<Vec<u32>>,
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
    /// `each`: the depth is that of each queue.
    pub fn new(depth: u32, each: bool, weights: &[u32]) -> Self {
        Self {
            depth,
            of_queues: each.then(|| vec![0; weights.len()]),
            in_device: [0; 3],
            waiting: 0,
            queues: vec![VecDeque::new(); weights.len()],
            weights: weights.to_vec(),
            turn: 0,
            left: weights[0],
            waits: SlotWaits::new(if each { depth * weights.len() as u32 } else { depth }),
        }
    }

    #[inline]
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    pub fn in_device(&self, kind: CommandKind) -> usize {
        self.in_device[kind as usize] as usize
    }

    /// The queue of a number, which is taken modulo the number of queues.
    #[inline]
    pub fn number(&self, queue: u32) -> u32 {
        if self.queues.len() == 1 { 0 } else { queue % self.queues.len() as u32 }
    }

    /// A command is enqueued in its queue.
    pub fn push(&mut self, queued: Queued) {
        self.waits.begin(queued.arrived, self.waiting == 0, || {
            let fronts = self.queues.iter().filter_map(VecDeque::front);
            fronts.map(|front| front.arrived).min().unwrap_or(queued.arrived)
        });
        self.queues[queued.queue as usize].push_back(queued);
        self.waiting += 1;
    }

    #[inline]
    fn has_room(&self, queue: usize) -> bool {
        match &self.of_queues {
            None => self.in_device[0] + self.in_device[1] + self.in_device[2] < self.depth,
            Some(in_device) => in_device[queue] < self.depth,
        }
    }

    /// Whether a command of a queue waits that the device has room for.
    fn can_give(&self, queue: usize) -> bool {
        !self.queues[queue].is_empty() && self.has_room(queue)
    }

    /// Takes a command of a queue at once if nothing waits that goes before it and the device has room.
    #[inline]
    pub fn take_directly(&mut self, queue: u32, kind: CommandKind) -> bool {
        let queue = queue as usize;
        let first = self.waiting == 0 || self.of_queues.is_some() && self.queues[queue].is_empty();
        let room = first && self.has_room(queue);
        if room {
            self.enters(queue, kind);
        }
        room
    }

    #[inline]
    fn enters(&mut self, queue: usize, kind: CommandKind) {
        self.in_device[kind as usize] += 1;
        if let Some(in_device) = &mut self.of_queues {
            in_device[queue] += 1;
        }
    }

    /// Whether a command waits that the device has room for.
    #[inline]
    pub fn lets_in(&self) -> bool {
        self.waiting > 0 && (0..self.queues.len()).any(|queue| self.can_give(queue))
    }

    /// The next command that the device takes, if it has room.
    #[inline]
    pub fn take(&mut self) -> Option<Queued> {
        if !self.lets_in() {
            return None;
        }
        while self.left == 0 || !self.can_give(self.turn) {
            self.turn = if self.turn + 1 < self.queues.len() { self.turn + 1 } else { 0 };
            self.left = self.weights[self.turn];
        }
        let queued = self.queues[self.turn].pop_front()?;
        self.left -= 1;
        self.waiting -= 1;
        self.enters(self.turn, queued.command.kind);
        Some(queued)
    }

    pub fn completed(&mut self, queue: u32, kind: CommandKind) {
        self.in_device[kind as usize] -= 1;
        if let Some(in_device) = &mut self.of_queues {
            in_device[queue as usize] -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queued(queue: u32, id: u64) -> Queued {
        Queued { id, queue, asked: 0, arrived: 0, command: Command { kind: CommandKind::Read, sector: 0, sectors: 1, critical: false } }
    }

    #[test]
    fn the_device_takes_from_each_queue_what_its_weight_says_or_what_waits_there() {
        let mut host = HostQueue::new(1, false, &[2, 1, 3]);
        assert!(host.take_directly(0, CommandKind::Read));
        assert!(!host.take_directly(1, CommandKind::Read), "the depth counts all queues");
        // Queue 0 has ten commands from 0 on, queue 1 two from 100 on, queue 2 four from 200 on; queue 5 is queue 2.
        assert_eq!(host.number(5), 2);
        (0..10).for_each(|id| host.push(queued(0, id)));
        (100..102).for_each(|id| host.push(queued(1, id)));
        (200..204).for_each(|id| host.push(queued(2, id)));
        assert!(host.take().is_none(), "no room");
        let mut taken = Vec::new();
        host.completed(0, CommandKind::Read);
        while let Some(queued) = host.take() {
            taken.push(queued.id);
            host.completed(queued.queue, CommandKind::Read);
        }
        assert_eq!(taken, [0, 1, 100, 200, 201, 202, 2, 3, 101, 203, 4, 5, 6, 7, 8, 9]);
        assert_eq!(host.waiting(), 0);
    }

    #[test]
    fn a_full_queue_stops_no_other_where_each_has_its_depth() {
        let mut host = HostQueue::new(2, true, &[1, 1]);
        assert!(host.take_directly(0, CommandKind::Read) && host.take_directly(0, CommandKind::Read));
        assert!(!host.take_directly(0, CommandKind::Read));
        host.push(queued(0, 1));
        assert!(!host.lets_in() && host.take().is_none(), "its own two are in the device");
        assert!(host.take_directly(1, CommandKind::Write) && host.take_directly(1, CommandKind::Write));
        host.push(queued(1, 2));
        host.push(queued(0, 3));
        host.completed(1, CommandKind::Write);
        assert_eq!(host.take().map(|queued| queued.id), Some(2));
        assert!(host.take().is_none());
        host.completed(0, CommandKind::Read);
        assert_eq!(host.take().map(|queued| queued.id), Some(1), "in order of arrival");
        assert_eq!(host.waiting(), 1);
    }
}
