//! What the translation layer and GC keep.

use crate::device::Device;
use crate::ftl::Books;
use crate::ftl::late::Late;
use crate::gc::state::Gcs;
use crate::traits::Traits;

/// The translation layer: its tables, where pages go, and GC.
#[derive(Debug)]
pub struct Ftl {
    pub(crate) books: Books,
    pub(crate) gc: Gcs,
    /// Programs without a place, and GC as single operations, if the design places late.
    pub(crate) late: Option<Box<Late>>,
    /// Programs of the host bound for each plane that have not ended; none where the layout is static.
    pub(crate) bound: Vec<u32>,
    /// The same of GCs; none where they stay in their planes.
    pub(crate) gc_bound: Vec<u32>,
}

impl Ftl {
    /// That of a drive in which nothing is under way. `thresholds`: background and emergency threshold of a plane, if there are any.
    pub(crate) fn new(device: &Device, traits: &Traits, books: Books, gc: Gcs, thresholds: Option<(u32, u32)>) -> Self {
        let planes = device.geometry.planes() as usize;
        Self {
            late: traits.late.then(|| Box::new(Late::new(device, &books, !traits.gc_across, thresholds))),
            bound: if traits.dynamic { vec![0; planes] } else { Vec::new() },
            gc_bound: if traits.gc_across || traits.late { vec![0; planes] } else { Vec::new() },
            books,
            gc,
        }
    }
}
