//! What a design makes a drive do. Asked of its techniques once, so that the drive looks here and not at them.

use crate::design::Design;
use crate::device::Device;
use crate::policy::{Align, Join, Order, PageChoice, Place, Reach, Suspend, WearLevel};
use crate::units::Ns;

/// What a design makes a drive do, for as long as the drive is there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Traits {
    /// The plane of a page that is written is chosen among several.
    pub dynamic: bool,
    /// Programs have no place until they are issued, and GC is single operations.
    pub late: bool,
    /// Operations of the host may join those of GCs.
    pub gc_joins: bool,
    /// Programs of a die wait for those of its other planes.
    pub gathers: bool,
    /// So do those of GCs.
    pub gathers_gc: bool,
    /// `align` chooses write points instead of `place`.
    pub aligns: bool,
    /// `page_choice` does, or the write points take turns.
    pub chooses: bool,
    /// Idle time brings write points to rest, by GC that ends when they are.
    pub rests: bool,
    /// The work of the dies is measured.
    pub measures: bool,
    /// GC may move pages to other planes.
    pub gc_across: bool,
    /// The pages that a GC may have read and not yet programmed.
    pub gc_reads_ahead: u32,
    /// GC data cross the channel instead of staying in the plane.
    pub gc_through_controller: bool,
    /// GC takes no time.
    pub gc_ideal: bool,
    /// From a request's arrival to its deadline; `Ns::MAX` if it has none.
    pub deadline_ns: Ns,
    /// Stripes may move for the sake of wear.
    pub levels_wear: bool,
    /// `suspend` may answer that something makes way.
    pub suspends: bool,
}

#[cfg(test)]
impl Traits {
    /// Those of the plainest design.
    pub const PLAIN: Self = Self {
        dynamic: false,
        late: false,
        gc_joins: false,
        gathers: false,
        gathers_gc: false,
        aligns: false,
        chooses: false,
        rests: false,
        measures: false,
        gc_across: false,
        gc_reads_ahead: 1,
        gc_through_controller: false,
        gc_ideal: false,
        deadline_ns: Ns::MAX,
        levels_wear: false,
        suspends: false,
    };
}

impl Design {
    /// What it makes a drive do. The design is prepared for the device.
    pub(crate) fn traits(&mut self, device: &Device) -> Traits {
        let planes = device.geometry.planes_per_die;
        let (late, aligns, gc_across) = (self.place.late(), self.align.active(), self.gc.leaves_its_plane());
        let many = self.gc.write_points > 2 && !aligns;
        let chooses = !late && (many || self.page_choice.active());
        let gathers = self.join.gather_ns().is_some();
        let gathers_gc = gathers && self.join.gathers_gc() && planes > 1 && !self.gc.ideal;
        Traits {
            dynamic: self.place.reach() != Reach::Plane,
            late,
            gc_joins: self.join.joins_gc(),
            gathers,
            gathers_gc,
            aligns,
            chooses,
            rests: chooses && self.page_choice.rest().is_some() && !self.gc.ideal && !gc_across,
            measures: late || self.order.measures() || self.page_choice.measures(),
            gc_across,
            // The pages of one GC fill a program of the whole die, if they may leave their plane.
            gc_reads_ahead: if gathers_gc && gc_across { planes } else { 1 },
            gc_through_controller: self.gc.copies_through_controller(),
            gc_ideal: self.gc.ideal,
            deadline_ns: self.order.deadline_ns().unwrap_or(Ns::MAX),
            levels_wear: self.place.stripes().is_some() && self.wear_level.active(),
            suspends: self.suspend.active(),
        }
    }
}
