//! What late-bound allocation keeps.

use crate::device::Device;
use crate::flash::ask::Candidate;
use crate::ftl::Tables;
use crate::ftl::write_points::WritePoints;
use crate::units::Ns;
use std::collections::VecDeque;

/// The lines of pages without a place, in the order of the queues that they belong to.
pub(crate) const EMERGENCY: usize = 0;
pub(crate) const EXTERNAL: usize = 1;
pub(crate) const BACKGROUND: usize = 2;

/// What late-bound allocation keeps.
#[derive(Debug)]
pub(crate) struct LateBound {
    /// Programs without a place, oldest first.
    pub queues: [VecDeque<u32>; 3],
    pub points: WritePoints,
    /// Of each die, the write point of the program that has its place and has not begun.
    pub bound: Vec<Option<u8>>,
    /// When each die last ended an operation of a GC.
    pub gc_ended: Vec<Ns>,
    /// Pages that GCs have read or are reading and that have taken no page yet.
    pub moving: u32,
    /// Scratch, kept so that nothing is allocated per request.
    pub(super) candidates: Vec<Candidate>,
    /// GC's pages stay in their planes.
    pub confined: bool,
    /// Background and emergency threshold of a plane, if there are any.
    pub thresholds: Option<(u32, u32)>,
}

impl LateBound {
    /// That of an erased drive.
    pub(crate) fn new(device: &Device, tables: &Tables, confined: bool, thresholds: Option<(u32, u32)>) -> Self {
        Self {
            queues: Default::default(),
            points: WritePoints::new(device, tables),
            bound: vec![None; device.geometry.dies() as usize],
            gc_ended: vec![0; device.geometry.dies() as usize],
            moving: 0,
            candidates: Vec::new(),
            confined,
            thresholds,
        }
    }
}
