//! # Least worn blocks first
//!
//! **What it does.** Places pages as `static` does; but of a plane's erased blocks the one that was erased least often is
//! opened first, and among equals the one that was erased first, where other techniques always open the one that was erased first. Host
//! and GC take the same blocks.
//!
//! **Source.** MQSim's dynamic wear levelling: its free blocks stand in the order of their erases.
//!
//! **Parameters.** `order`, as of `static`; default `CWDP`.
//!
//! **Cost.** A search of the erased blocks of a plane at each erase. It levels the wear of blocks that are erased now and then,
//! and does nothing for one that holds data which never change: that takes victims by wear. Wear counts from the drive's starting
//! state on, which is as without this technique.

use crate::config::ConfigError;
use crate::device::Device;
use crate::ids::{Lpn, PlaneIx};
use crate::policy::answers::{Opens, Reach};
use crate::policy::interface::Place;
use crate::policy::place::static_order::StaticOrder;
use crate::raid::stripes::Stripes;
use crate::view::View;
use serde::Deserialize;

/// Static allocation into the least worn blocks.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LeastWorn {
    #[serde(default = "cwdp")]
    order: String,
    #[serde(skip)]
    planes: StaticOrder,
}

fn cwdp() -> String {
    "CWDP".into()
}

impl LeastWorn {
    /// Static allocation in the given order.
    pub fn new(order: &str) -> Self {
        Self { order: order.into(), planes: StaticOrder::default() }
    }

    /// The plane of each logical page, modulo their number.
    pub(crate) fn round(&self) -> &[PlaneIx] {
        self.planes.round()
    }
}

impl Place for LeastWorn {
    fn prepare(&mut self, device: &Device) -> Result<(), ConfigError> {
        self.planes = StaticOrder::new(&self.order);
        self.planes.prepare(device)
    }

    #[inline]
    fn plane(&mut self, view: View<'_>, lpn: Lpn) -> PlaneIx {
        self.planes.plane(view, lpn)
    }

    fn gc_plane(&mut self, _: View<'_>, from: PlaneIx) -> PlaneIx {
        from
    }

    fn reach(&mut self) -> Reach {
        Reach::Plane
    }

    #[inline]
    fn write_point(&mut self, view: View<'_>, plane: PlaneIx, for_gc: bool) -> usize {
        self.planes.write_point(view, plane, for_gc)
    }

    fn stripes(&mut self) -> Option<Stripes> {
        None
    }

    fn opens(&mut self) -> Opens {
        Opens::LeastWorn
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::Design;
    use crate::drive::Drive;
    use crate::host::{Command, CommandKind};
    use crate::ids::BlockIx;
    use crate::observe::Blind;
    use crate::policy::PlacePolicy;
    use crate::policy::answers::Scope;
    use crate::testkit::{plain_design, state_with_writes, tiny_device, write};

    /// Empties blocks of plane 0 and erases them, one after another.
    fn erase(state: &mut crate::testkit::Parts, blocks: &[BlockIx]) {
        for &block in blocks {
            state.ftl.books.begin_collect(block);
            state.ftl.books.erased(block);
        }
    }

    /// The block that the next page goes to.
    fn opened(state: &mut crate::testkit::Parts) -> BlockIx {
        let ppn = state.ftl.books.take(0, 0, crate::ftl::Claimant::Gc).unwrap();
        state.ftl.books.block_of(ppn)
    }

    /// Blocks of which block 0 was erased twice and is the second in the order of erasure.
    fn worn(least_worn: bool) -> crate::testkit::Parts {
        let four = [0, 1, 2, 3];
        let mut state = state_with_writes(&four.repeat(7));
        if least_worn {
            state.ftl.books.open_least_worn_first();
        }
        erase(&mut state, &[0]);
        // Block 7 and block 0 again.
        write(&mut state, &four.repeat(2));
        erase(&mut state, &[7, 6]);
        write(&mut state, &four);
        erase(&mut state, &[0, 1, 2]);
        state
    }

    #[test]
    fn a_block_that_was_erased_less_often_is_opened_before_one_that_was_erased_earlier() {
        let mut plain = worn(false);
        let order: Vec<BlockIx> = (0..3).map(|_| (0..4).map(|_| opened(&mut plain)).last().unwrap()).collect();
        assert_eq!(order, [6, 0, 1], "in the order of their erasure");
        let mut levelled = worn(true);
        let order: Vec<BlockIx> = (0..4).map(|_| (0..4).map(|_| opened(&mut levelled)).last().unwrap()).collect();
        assert_eq!(order, [6, 1, 2, 0], "block 0 was erased twice");
        assert_eq!(levelled.ftl.books.erase_count(0), 2);
    }

    /// The event hash, the erases and the blocks opened out of turn of a run of 400 writes.
    fn run(place: PlacePolicy, page: impl Fn(u32) -> u32) -> (u64, u64, u64) {
        let mut device = tiny_device();
        device.state.overwrite_percent = 0;
        let design = Design { place, ..plain_design(Scope::Plane) };
        let mut drive = Drive::<Blind>::new(&device, design, true, Blind).unwrap();
        drive.age(1, &[], |_, _| true);
        drive.wake();
        for index in 0..400 {
            let lpn = u64::from(page(index) % device.mapped_pages());
            drive
                .submit(u64::from(index) * 30_000, Command { kind: CommandKind::Write, sector: lpn * 8, sectors: 8, critical: false })
                .unwrap();
        }
        while drive.step() {}
        assert_eq!(drive.mismatch(), None);
        drive.audit().unwrap();
        (drive.event_hash(), drive.counters().erases, drive.counters().blocks_out_of_turn)
    }

    fn levelled() -> PlacePolicy {
        PlacePolicy::LeastWorn(LeastWorn::new("CWDP"))
    }

    fn plain() -> PlacePolicy {
        PlacePolicy::Static(StaticOrder::default())
    }

    #[test]
    fn a_run_tells_how_often_it_acted() {
        let mixed = |index| index * index / 3;
        let (_, erases, acted) = run(levelled(), mixed);
        assert!(erases > 20 && acted > 0, "{erases} {acted}");
        assert_eq!(run(plain(), mixed).2, 0);
    }

    #[test]
    fn equally_worn_blocks_are_opened_in_the_order_in_which_they_were_erased() {
        for least_worn in [false, true] {
            let mut state = state_with_writes(&[0, 1, 2, 3].repeat(7));
            if least_worn {
                state.ftl.books.open_least_worn_first();
            }
            write(&mut state, &[0, 1, 2, 3]);
            erase(&mut state, &[3, 1, 2]);
            let order: Vec<BlockIx> = (0..3).map(|_| (0..4).map(|_| opened(&mut state)).last().unwrap()).collect();
            assert_eq!(order, [3, 1, 2]);
        }
    }

    #[test]
    fn planes_are_those_of_the_static_order() {
        let device = tiny_device();
        let (mut here, mut there) = (LeastWorn::new("PWCD"), StaticOrder::new("PWCD"));
        here.prepare(&device).unwrap();
        there.prepare(&device).unwrap();
        assert_eq!(here.round(), there.round());
        assert!(LeastWorn::new("CWDX").prepare(&device).unwrap_err().0.contains("CWDX"));
    }
}
