//! # Static allocation
//!
//! **What it does.** Consecutive logical pages go round the drive's channels (C), chips or ways (W), dies (D) and planes (P).
//! The order says which of them changes fastest: `CWDP` visits every channel before it visits the second chip of any.
//! A page that is overwritten stays in its plane.
//!
//! **Source.** Hu et al., ICS 2011, section 4 (the 24 orders); TTFLASH, section 4.2; I/O-parallelized GC, section 2 (CWDP).
//!
//! **Parameters.** `order`, one of the 24 orders of C, W, D and P; default `CWDP`. `opens`: which of a plane's erased blocks is
//! opened first, for host and GC alike: the one that was erased first (`erased_first`, default), or the one that was erased least
//! often, and among equals the one that was erased first (`least_worn`: MQSim's dynamic wear levelling).
//!
//! **Cost.** None in space. Load follows addresses: a stride that meets one plane only is served by that plane only. `least_worn`
//! searches the erased blocks of a plane at each erase. It levels the wear of blocks that are erased now and then, and does nothing
//! for one that holds data which never change: that takes victims by wear. Wear counts from the drive's starting state on, which is
//! the same for both.

use crate::policy::prelude::*;
use serde::Serialize;

/// Static allocation in one of the 24 orders.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StaticOrder {
    #[serde(default)]
    order: PlaneOrder,
    #[serde(default)]
    opens: Opens,
    /// The plane of each logical page, modulo the number of planes.
    #[serde(skip)]
    planes: Vec<PlaneIx>,
}

impl StaticOrder {
    /// Static allocation in the given order.
    pub fn new(order: &str, opens: Opens) -> Self {
        Self { order: PlaneOrder(order.into()), opens, planes: Vec::new() }
    }

    /// The plane of each logical page, modulo their number.
    pub(crate) fn round(&self) -> &[PlaneIx] {
        &self.planes
    }
}

impl Place for StaticOrder {
    fn prepare(&mut self, device: &Device) -> Result<(), ConfigError> {
        self.planes = self.order.planes(&device.geometry)?;
        Ok(())
    }

    #[inline]
    fn plane(&mut self, _: View<'_>, lpn: Lpn) -> PlaneIx {
        let count = self.planes.len() as u32;
        // Most drives have a power of two of planes, for which the remainder is a mask.
        let index = if count.is_power_of_two() { lpn & (count - 1) } else { lpn % count };
        self.planes[index as usize]
    }

    fn opens(&mut self) -> Opens {
        self.opens
    }
}

/// One of the 24 orders of channels (C), chips (W), dies (D) and planes (P), of which the first changes fastest.
#[derive(Debug, Clone, Deserialize, JsonSchema, Serialize)]
#[schemars(inline)]
#[serde(transparent)]
pub struct PlaneOrder(String);

impl Default for PlaneOrder {
    fn default() -> Self {
        Self("CWDP".into())
    }
}

impl PlaneOrder {
    /// The planes of a drive in this order.
    pub(super) fn planes(&self, g: &Geometry) -> Result<Vec<PlaneIx>, ConfigError> {
        let order = &self.0;
        let mut letters: Vec<char> = order.chars().collect();
        letters.sort_unstable();
        if letters != ['C', 'D', 'P', 'W'] {
            let allowed = "the letters C (channel), W (chip), D (die) and P (plane), each once, such as \"CWDP\"";
            return Err(Fault::new("place", "order", format!("is \"{order}\"")).allowed(allowed).into());
        }
        let place = |index: u32| {
            let mut rest = index;
            let (mut channel, mut chip, mut die, mut plane) = (0, 0, 0, 0);
            for letter in order.chars() {
                let (digit, size) = match letter {
                    'C' => (&mut channel, g.channels),
                    'W' => (&mut chip, g.chips_per_channel),
                    'D' => (&mut die, g.dies_per_chip),
                    _ => (&mut plane, g.planes_per_die),
                };
                *digit = rest % size;
                rest /= size;
            }
            ((channel * g.chips_per_channel + chip) * g.dies_per_chip + die) * g.planes_per_die + plane
        };
        Ok((0..g.planes()).map(place).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::{Command, CommandKind};
    use crate::design::Design;
    use crate::ids::BlockGroup;
    use crate::ids::BlockIx;
    use crate::policy::answers::Scope;
    use crate::recorder::untraced;
    use crate::techniques::PlacePolicy;
    use crate::testkit::{Parts, plain_design, state_with_writes, tiny_device, write};

    fn planes(order: &str) -> Vec<PlaneIx> {
        let mut device = tiny_device();
        let g = &mut device.geometry;
        (g.channels, g.chips_per_channel, g.dies_per_chip, g.planes_per_die) = (2, 2, 1, 2);
        let mut place = StaticOrder::new(order, Opens::ErasedFirst);
        place.prepare(&device).unwrap();
        let state = crate::testkit::tiny_state();
        (0..9).map(|lpn| place.plane(state.view(), lpn)).collect()
    }

    #[test]
    fn the_order_says_what_changes_fastest() {
        // Planes are numbered channel first: 0-3 on channel 0, two of them in each die.
        assert_eq!(planes("CWDP"), [0, 4, 2, 6, 1, 5, 3, 7, 0]);
        assert_eq!(planes("PWCD"), [0, 1, 2, 3, 4, 5, 6, 7, 0]);
    }

    #[test]
    fn each_of_the_24_orders_visits_every_plane_once() {
        let letters = ['C', 'W', 'D', 'P'];
        let mut orders = 0;
        for code in 0..256 {
            let order: String = (0..4).map(|place| letters[code >> (2 * place) & 3]).collect();
            if letters.iter().all(|&letter| order.contains(letter)) {
                orders += 1;
                let mut seen = planes(&order)[..8].to_vec();
                seen.sort_unstable();
                assert_eq!(seen, (0..8).collect::<Vec<_>>(), "{order}");
            }
        }
        assert_eq!(orders, 24);
    }

    #[test]
    fn an_order_that_is_none_is_refused() {
        let error = StaticOrder::new("CWDD", Opens::LeastWorn).prepare(&tiny_device()).unwrap_err();
        assert!(error.to_string().contains("CWDD") && error.to_string().contains("each once"), "{error}");
    }

    /// Empties blocks of plane 0 and erases them, one after another.
    fn erase(state: &mut Parts, blocks: &[BlockIx]) {
        for &block in blocks {
            state.ftl.tables.begin_collect(BlockGroup(block));
            state.ftl.tables.erased(BlockGroup(block));
        }
    }

    /// The block that the next page goes to.
    fn opened(state: &mut Parts) -> BlockIx {
        let ppn = state.ftl.tables.take(0, 0, crate::ftl::Claimant::Gc).unwrap();
        state.ftl.tables.block_of(ppn)
    }

    /// Blocks of which block 0 was erased twice and is the second in the order of erasure.
    fn worn(least_worn: bool) -> Parts {
        let four = [0, 1, 2, 3];
        let mut state = state_with_writes(&four.repeat(7));
        if least_worn {
            state.ftl.tables.open_least_worn_first();
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
        assert_eq!(levelled.ftl.tables.erase_count(0), 2);
    }

    /// The event hash, the erases and the blocks opened out of turn of a run of 400 writes.
    fn run(opens: Opens, page: impl Fn(u32) -> u32) -> (u64, u64, u64) {
        let mut device = tiny_device();
        device.state.overwrite_percent = 0;
        let place = PlacePolicy::Static(StaticOrder::new("CWDP", opens));
        let design = Design { place, ..plain_design(Scope::Plane) };
        let mut drive = untraced(&device, design, true);
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
        (drive.event_hash(), drive.counters().gc.erases, drive.counters().gc.blocks_out_of_turn)
    }

    #[test]
    fn a_run_tells_how_often_it_acted() {
        let mixed = |index| index * index / 3;
        let (_, erases, acted) = run(Opens::LeastWorn, mixed);
        assert!(erases > 20 && acted > 0, "{erases} {acted}");
        assert_eq!(run(Opens::ErasedFirst, mixed).2, 0);
    }

    #[test]
    fn equally_worn_blocks_are_opened_in_the_order_in_which_they_were_erased() {
        for least_worn in [false, true] {
            let mut state = state_with_writes(&[0, 1, 2, 3].repeat(7));
            if least_worn {
                state.ftl.tables.open_least_worn_first();
            }
            write(&mut state, &[0, 1, 2, 3]);
            erase(&mut state, &[3, 1, 2]);
            let order: Vec<BlockIx> = (0..3).map(|_| (0..4).map(|_| opened(&mut state)).last().unwrap()).collect();
            assert_eq!(order, [3, 1, 2]);
        }
    }
}
