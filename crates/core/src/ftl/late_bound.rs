//! What late-bound allocation keeps.

use crate::device::Device;
use crate::flash::ask::Candidate;
use crate::ftl::Tables;
use crate::ftl::write_points::WritePoints;
use crate::ids::Pool;
use crate::units::Ns;
use rand_core::Rng;
use rand_pcg::Pcg64Mcg;
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
    /// Pools whose GC `order` holds back, those first that have waited longest.
    pub held: VecDeque<Pool>,
    /// Reads of the host that wait for earlier operations, or for their dies, oldest first. Only where these begin in order.
    pub reads: VecDeque<u32>,
    /// Scratch, kept so that nothing is allocated per request.
    pub(super) candidates: Vec<Candidate>,
    /// Of each plane, the write point whose turn is next.
    pub(super) turns: Vec<u32>,
    /// Which write points ageing fills, so that they begin anywhere in their blocks.
    random: Option<Pcg64Mcg>,
    /// Background and emergency threshold of a plane, if there are any.
    pub thresholds: Option<(u32, u32)>,
}

impl LateBound {
    /// That of an erased drive.
    pub(crate) fn new(device: &Device, tables: &Tables, thresholds: Option<(u32, u32)>) -> Self {
        Self {
            queues: Default::default(),
            points: WritePoints::new(device, tables),
            bound: vec![None; device.geometry.dies() as usize],
            gc_ended: vec![0; device.geometry.dies() as usize],
            moving: 0,
            held: VecDeque::new(),
            reads: VecDeque::new(),
            candidates: Vec::new(),
            turns: vec![0; device.geometry.planes() as usize],
            random: None,
            thresholds,
        }
    }

    /// Takes the run's seed, before ageing.
    pub(crate) fn seed(&mut self, seed: u64) {
        self.random = Some(Pcg64Mcg::new(u128::from(seed) << 1 | 1 << 103 | 1));
    }

    /// Any number below a bound, for a page that ageing writes: write points and planes in turns would all be at the same point of their
    /// cycles.
    pub(crate) fn any_below(&mut self, bound: u32) -> u32 {
        self.random.as_mut().map_or(0, |random| (random.next_u64() % u64::from(bound)) as u32)
    }

    /// One of some write points of a plane, in turns: `next` is the plane's.
    pub(super) fn in_turn(next: &mut u32, among: u64) -> usize {
        let point = (among.rotate_right(*next).trailing_zeros() + *next) % u64::BITS;
        *next = (point + 1) % u64::BITS;
        point as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn write_points_of_a_plane_take_turns_whichever_are_offered() {
        let mut next = 0;
        assert_eq!([0b111, 0b101, 0b101, 0b111].map(|among| LateBound::in_turn(&mut next, among)), [0, 2, 0, 1]);
    }
}
