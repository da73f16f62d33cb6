//! What a design makes a drive do, asked of its techniques once.

use crate::design::Design;
use crate::device::Device;
use crate::policy::answers::Reach;
use crate::stripes::Stripes;
use crate::traits::Traits;
use crate::units::Ns;

impl Design {
    /// What it makes a drive do. The design is prepared for the device.
    pub(crate) fn traits(&mut self, device: &Device) -> Traits {
        let planes = device.geometry.planes_per_die;
        let in_cycles = self.gc_trigger.levels().is_some_and(|levels| !levels.is_one_block());
        let (late_bound, pairing, gc_across) = (self.place.late_bound(), self.pairing.traits(), self.gc.leaves_its_plane());
        let many = self.gc.write_points > 2 && !pairing.aligns;
        let chooses = !late_bound && (many || self.page_choice.active());
        let assembles = pairing.assembly_ns.is_some();
        let assembles_gc = assembles && pairing.gc_assembly_ns.is_some() && planes > 1 && !self.gc.ideal;
        Traits {
            dynamic: self.place.reach() != Reach::Plane,
            late_bound,
            pairing,
            assembles,
            assembles_gc,
            chooses,
            returns_to_fast: chooses && self.page_choice.parking().is_some() && !self.gc.ideal && !gc_across,
            measures: late_bound || self.order.measures() || self.page_choice.measures(),
            gc_across,
            // The pages of one GC fill a program of the whole die, if they may leave their plane.
            gc_reads_ahead: if assembles_gc && gc_across { planes } else { 1 },
            gc_through_controller: self.gc.copies_through_controller(),
            gc_ideal: self.gc.ideal,
            gc_in_cycles: in_cycles,
            gc_by_die: self.gc_trigger.by_die(),
            deadline_ns: self.order.deadline_ns().unwrap_or(Ns::MAX),
            levels_wear: self.place.stripes().is_some() && self.wear_level.active(),
            suspends: self.suspend.active(),
            plans_reads: self.place.stripes().is_some() && self.read_plan.active(),
            scrubs: self.scrub.pause_ns().is_some(),
        }
    }
}

/// The logical pages of a drive's tables: the host's, those of parity, and one for each place of a stripe that may move.
pub(crate) fn pages_of_tables(device: &Device, design: &mut Design, stripes: Option<&Stripes>) -> u64 {
    stripes
        .map_or(device.logical_pages(), |stripes| stripes.pages() + if design.wear_level.active() { u64::from(stripes.width()) } else { 0 })
}
