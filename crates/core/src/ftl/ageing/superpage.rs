//! The starting state of drives that program all planes of a die at once.
//!
//! Ageing fills each plane for itself, and the write points of a die come to stand at different offsets, where they never do on
//! such a drive. Those that lag behind are padded up to the others, at no time, or every first program would do it. What that
//! takes of the erased pages is collected again where GC spreads its pages over the die, as the drive itself would do next.

use crate::context::Context;
use crate::event::EventQueue;
use crate::flash::Engine;
use crate::ftl::Claimant;
use crate::ftl::above::WithFtl;
use crate::ftl::ageing::common::{Aged, free_target};
use crate::policy::interface::Place;
use crate::raid::front::{Front, WithRaid};

impl<Q: EventQueue, U> Engine<Q, WithFtl<WithRaid<U>>>
where
    Self: Front,
{
    /// Brings the write points of each die to one offset, and the die's erased pages back to what the starting state says.
    pub(super) fn fill_superpages(&mut self, aged: &mut Aged) {
        self.align_write_points();
        if !self.flash.traits.gc_across {
            return;
        }
        let target = free_target(&self.flash.device, self.policies());
        for die in 0..self.flash.device.geometry.dies() {
            let has_room = |drive: &mut Self, plane| {
                let write_point = drive.up.ftl.tables.usual_point(plane, true);
                drive.up.ftl.tables.room_for_gc(plane, write_point) >= drive.flash.device.geometry.pages_per_block
            };
            let erased_pages = |drive: &Self| drive.planes_of(die).map(|plane| drive.up.ftl.tables.free_pages(plane)).sum::<u32>();
            while erased_pages(self) < target * self.flash.device.geometry.planes_per_die {
                let plane = self.planes_of(die).min_by_key(|&plane| self.up.ftl.tables.free_pages(plane)).expect("a die has planes");
                let Some(victim) = self.victim_for_ageing(plane) else { break };
                if !self.planes_of(die).all(|plane| has_room(self, plane)) {
                    break;
                }
                aged.moved_pages += u64::from(self.collect_into_die(victim));
                aged.erases += 1;
            }
        }
        self.align_write_points();
    }

    /// Moves the valid pages of a block to the planes of its die in turn, and erases it, in the tables alone. Returns the pages
    /// moved.
    fn collect_into_die(&mut self, victim: u32) -> u32 {
        let g = self.flash.device.geometry.clone();
        let plane = g.plane_of(victim);
        self.up.ftl.tables.begin_collect(victim);
        let mut moved = 0;
        while let Some(offset) = self.up.ftl.tables.next_valid(victim, 0) {
            let from = victim * g.pages_per_block + offset;
            let destination = self.ask(|policies, view| policies.place.gc_plane(view, plane));
            let write_point = self.up.ftl.tables.usual_point(destination, true);
            let to = self.up.ftl.tables.take(destination, write_point, Claimant::Gc).expect("ageing leaves every plane its reserve");
            self.up.ftl.tables.commit_move(self.up.ftl.tables.owner(from), from, to);
            moved += 1;
        }
        self.up.ftl.tables.erased(victim);
        moved
    }

    /// Pads write points that lag behind the others of their die.
    pub(crate) fn align_write_points(&mut self) {
        for die in 0..self.flash.device.geometry.dies() {
            for point in 0..self.up.ftl.tables.write_points(self.planes_of(die).start) {
                let offset = |drive: &Self, plane| drive.up.ftl.tables.next_offset(plane, point);
                let most = self.planes_of(die).map(|plane| offset(self, plane)).max().unwrap_or(0);
                for plane in self.planes_of(die) {
                    while offset(self, plane) < most && self.up.ftl.tables.pad(plane, point, Claimant::Host) {}
                }
            }
        }
    }
}
