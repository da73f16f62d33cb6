//! In which state a design's drive starts: where its own GC leaves a drive that was written for long.

use crate::design::fit::pages_held;
use crate::design::{CycleLevels, Design, StartLevel};
use crate::device::Device;
use crate::ids::Lpn;
use crate::techniques::{GcTriggerPolicy, PlacePolicy, VictimPolicy};

impl Design {
    /// Whether GC never starts, and no design is known of which this one is the twin.
    pub fn lacks_trigger(&self) -> bool {
        matches!(self.gc_trigger, GcTriggerPolicy::Never(_)) && self.start.twin.is_none()
    }

    /// Makes the design start where the drive of another starts.
    pub fn start_as(&mut self, other: Self) {
        self.start.twin = other.start.twin.or(Some(other.gc_trigger));
    }

    /// Whether ageing collects the blocks with the fewest valid pages. The head of the chain decides; the others choose among blocks
    /// that are equal to it.
    pub(crate) fn collects_greedily(&self) -> bool {
        matches!(self.victim.as_slice(), [VictimPolicy::Greedy(_) | VictimPolicy::QueueMatch(_), ..])
    }

    /// What of the design has no theory of its steady state, as a section, if anything has: then a drive is aged by writing.
    pub(crate) fn without_theory(&self) -> Option<&'static str> {
        let known = match self.victim.as_slice() {
            [VictimPolicy::DChoices(_) | VictimPolicy::Fifo(_), ..] | [VictimPolicy::LeastWorn(_)] => true,
            _ => self.collects_greedily(),
        };
        // The pages of stripes are of two kinds: parity is written more often than data, unless whole stripes are.
        if self.can_be_laid_out() && !matches!(self.place, PlacePolicy::Rain(_)) { (!known).then_some("victim") } else { Some("place") }
    }

    /// Whether it is known where pages may lie, without asking its policy for each.
    pub(crate) fn can_be_laid_out(&self) -> bool {
        !matches!(self.place, PlacePolicy::Custom(_))
    }

    /// The trigger at which ageing holds a drive.
    pub(super) fn start_trigger(&mut self) -> &mut GcTriggerPolicy {
        self.start.twin.as_mut().unwrap_or(&mut self.gc_trigger)
    }

    /// Erased pages of a plane below which the design wants a GC, in the mean of a die where that is what it watches; open blocks are
    /// taken to be half full where it counts erased blocks. Nothing if it has no trigger. Known once it is prepared.
    pub fn trigger_pages(&self, device: &Device) -> Option<u32> {
        Some(self.start.trigger?.start.pages(&device.geometry) + self.erased_in_open_blocks(device))
    }

    /// The same of pages below which GC is urgent, so that writes wait for it.
    pub fn urgent_pages(&self, device: &Device) -> u32 {
        self.start.urgent_pages + self.erased_in_open_blocks(device)
    }

    /// Erased pages of a plane that its trigger does not count.
    fn erased_in_open_blocks(&self, device: &Device) -> u32 {
        let counts_blocks = matches!(self.start.trigger, Some(CycleLevels { start: StartLevel::PlaneBlocks(_), .. }));
        if counts_blocks { device.geometry.pages_in(self.gc.write_points) / 2 } else { 0 }
    }

    /// Whether the planes of a die want a GC together, so that one GC brings back what all of them lack.
    pub fn triggers_by_die(&self) -> bool {
        self.start.trigger.is_some_and(CycleLevels::by_die)
    }

    /// Finds out where runs start.
    pub(super) fn find_start(&mut self, device: &Device) {
        self.start.trigger = self.start_trigger().levels();
        self.start.urgent_pages = self.gc_trigger.urgent_below().map_or(0, |(_, pages)| pages);
        self.start.ageing = Some(self.levels_at_start(device));
    }

    /// Where ageing collects: as the design's own GC does, or below what the starting state says, one block at a time.
    fn levels_at_start(&mut self, device: &Device) -> CycleLevels {
        let start = self.level_at_start(device);
        let own = self.start.trigger.filter(|_| device.state.free_percent.is_none());
        own.unwrap_or(CycleLevels { start, stop: start })
    }

    /// The pages of each plane, in the mean, that a cycle of its GC goes on for beyond where it starts.
    pub fn cycle_pages(&self, device: &Device) -> u32 {
        let pages = |level: StartLevel| level.pages(&device.geometry);
        self.start.trigger.map_or(0, |levels| pages(levels.stop) - pages(levels.start))
    }

    /// The erased space below which ageing collects: what the starting state says, or where the design's own GC begins.
    pub(crate) fn level_at_start(&mut self, device: &Device) -> StartLevel {
        let g = &device.geometry;
        let kept = g.pages_in(self.gc.reserve_blocks + self.gc.write_points + 1);
        let Some(percent) = device.state.free_percent else {
            return self.start_trigger().levels().map_or(StartLevel::PlanePages(kept), |levels| levels.start);
        };
        let stated = ((f64::from(g.pages_per_plane()) * percent / 100.0).ceil() as u32).max(kept);
        if self.place.late_bound() {
            // Erased pages in open blocks, half of each, are none of a pool that counts erased blocks.
            return StartLevel::PlanePages(stated + g.pages_in(self.gc.write_points) / 2);
        }
        if self.gc_trigger.by_die() && self.gc.leaves_its_plane() { StartLevel::DiePages(stated) } else { StartLevel::PlanePages(stated) }
    }

    /// Pages from logical page 0 on that the starting state maps, without regard to a workload. Of a design that `fit` has seen.
    pub fn mapped_pages(&mut self, device: &Device) -> Lpn {
        self.place.stripes().map_or(device.mapped_pages(), |stripes| device.mapped_pages_beside_parity(stripes.width(), 1))
    }

    /// Live pages of each plane when a run starts, parity among them.
    pub(super) fn live_pages_of_plane(&mut self, device: &Device) -> u32 {
        let live = self.start.live_pages.max(self.mapped_pages(device).into());
        let held = u64::from(pages_held(self, device));
        (u128::from(held) * u128::from(live)).div_ceil(u128::from(device.logical_pages().max(1))) as u32
    }
}
