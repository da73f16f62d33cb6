//! The device queue: bounded inside, unbounded in the host.

use crate::host::{Command, CommandKind};
use crate::units::Ns;
use std::collections::VecDeque;

/// A command that waits in the host because the device queue is full.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queued {
    pub id: u64,
    pub asked: Ns,
    pub arrived: Ns,
    pub command: Command,
}

/// The device takes `depth` commands at a time; others wait in order of arrival.
#[derive(Debug)]
pub(crate) struct HostQueue {
    depth: u32,
    in_device: [u32; 2],
    line: VecDeque<Queued>,
}

impl HostQueue {
    pub fn new(depth: u32) -> Self {
        Self { depth, in_device: [0; 2], line: VecDeque::with_capacity(depth as usize) }
    }

    #[inline]
    pub fn waiting(&self) -> usize {
        self.line.len()
    }

    pub fn in_device(&self, kind: CommandKind) -> usize {
        self.in_device[kind as usize] as usize
    }

    pub fn push(&mut self, queued: Queued) {
        self.line.push_back(queued);
    }

    /// Takes a command at once if nothing waits and the device has room.
    #[inline]
    pub fn take_directly(&mut self, kind: CommandKind) -> bool {
        let room = self.line.is_empty() && self.in_device[0] + self.in_device[1] < self.depth;
        self.in_device[kind as usize] += u32::from(room);
        room
    }

    /// The next command that the device takes, if it has room.
    pub fn take(&mut self) -> Option<Queued> {
        if self.in_device.iter().sum::<u32>() >= self.depth {
            return None;
        }
        let queued = self.line.pop_front()?;
        self.in_device[queued.command.kind as usize] += 1;
        Some(queued)
    }

    pub fn completed(&mut self, kind: CommandKind) {
        self.in_device[kind as usize] -= 1;
    }
}
