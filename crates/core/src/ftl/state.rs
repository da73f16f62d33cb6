//! What the translation layer and GC keep.

use crate::flash::Flash;
use crate::ftl::Tables;
use crate::ftl::counters::FtlCounters;
use crate::ftl::late_bound::LateBound;
use crate::ftl::traits::FtlTraits;
use crate::gc::state::Gcs;
use crate::units::Ns;

/// The translation layer: its tables, where pages go, and GC.
#[derive(Debug)]
pub struct Ftl {
    /// What the design makes it do.
    pub(crate) traits: FtlTraits,
    pub(crate) counters: FtlCounters,
    pub(crate) tables: Tables,
    pub(crate) gc: Gcs,
    /// Programs that wait for those of the other planes of their die.
    pub(crate) assembly: Assembly,
    /// Programs without a place, and GC as single operations, if the design's allocation is late-bound.
    pub(crate) late_bound: Option<Box<LateBound>>,
    /// Programs of the host bound for each plane that have not ended; none where the layout is static.
    pub(crate) bound: Vec<u32>,
    /// The same of GCs; none where they stay in their planes.
    pub(crate) gc_bound: Vec<u32>,
}

impl Ftl {
    /// That of a drive in which nothing is under way. `thresholds`: background and emergency threshold of a plane, if there are any.
    pub(crate) fn new(flash: &Flash, traits: FtlTraits, tables: Tables, gc: Gcs, thresholds: Option<(u32, u32)>) -> Self {
        let (device, late_bound) = (&flash.device, flash.traits.late_bound);
        let planes = device.geometry.planes() as usize;
        Self {
            traits,
            counters: FtlCounters::default(),
            late_bound: late_bound.then(|| Box::new(LateBound::new(device, &tables, thresholds))),
            bound: if traits.dynamic { vec![0; planes] } else { Vec::new() },
            gc_bound: if traits.gc_across || late_bound { vec![0; planes] } else { Vec::new() },
            assembly: Assembly::new(flash),
            tables,
            gc,
        }
    }
}

/// Programs that wait until every plane of their die has one; nothing where none do.
#[derive(Debug)]
pub(crate) struct Assembly {
    /// Until when the programs of each die wait for those of its other planes: the host's, and those of GCs if they wait too.
    pub until: [Vec<Ns>; 2],
    /// The pages of the host that wait for partners at each die; `NONE` where its programs have changed since they were counted.
    pub without_partners: Vec<u32>,
    /// The erased pages of each die when a plane of it last wanted a GC and got it; 0 once the host has programmed since. None where
    /// the programs of GCs do not wait.
    pub erased_then: Vec<u32>,
}

impl Assembly {
    fn new(flash: &Flash) -> Self {
        let dies = flash.device.geometry.dies() as usize;
        let [host, gc] = [flash.traits.assembles, flash.traits.assembles_gc].map(|assembles| if assembles { dies } else { 0 });
        Self { until: [vec![Ns::MAX; host], vec![Ns::MAX; gc]], without_partners: vec![0; host], erased_then: vec![0; gc] }
    }
}
