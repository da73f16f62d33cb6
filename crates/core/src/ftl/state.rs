//! What the translation layer and GC keep.

use crate::device::Device;
use crate::ftl::Tables;
use crate::ftl::late_bound::LateBound;
use crate::gc::state::Gcs;
use crate::traits::Traits;

/// The translation layer: its tables, where pages go, and GC.
#[derive(Debug)]
pub struct Ftl {
    pub(crate) tables: Tables,
    pub(crate) gc: Gcs,
    /// Programs without a place, and GC as single operations, if the design's allocation is late-bound.
    pub(crate) late_bound: Option<Box<LateBound>>,
    /// Programs of the host bound for each plane that have not ended; none where the layout is static.
    pub(crate) bound: Vec<u32>,
    /// The same of GCs; none where they stay in their planes.
    pub(crate) gc_bound: Vec<u32>,
}

impl Ftl {
    /// That of a drive in which nothing is under way. `thresholds`: background and emergency threshold of a plane, if there are any.
    pub(crate) fn new(device: &Device, traits: &Traits, tables: Tables, gc: Gcs, thresholds: Option<(u32, u32)>) -> Self {
        let planes = device.geometry.planes() as usize;
        Self {
            late_bound: traits.late_bound.then(|| Box::new(LateBound::new(device, &tables, !traits.gc_across, thresholds))),
            bound: if traits.dynamic { vec![0; planes] } else { Vec::new() },
            gc_bound: if traits.gc_across || traits.late_bound { vec![0; planes] } else { Vec::new() },
            tables,
            gc,
        }
    }
}
