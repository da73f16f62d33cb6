//! The end of an operation: what it changes in the tables, who learns of it, and which GCs that may let begin.

use crate::flash::Engine;
use crate::flash::op::{Class, OpKind, Owner};
use crate::ftl::above::{Above, WithFtl};
use crate::ids::{NONE, Ppn};
use crate::observe::TrafficClass;

impl<U> Engine<WithFtl<U>>
where
    Self: Above,
{
    /// An operation is done.
    #[inline(always)]
    pub(super) fn operation_done(&mut self, op: u32) {
        if self.flash.traits.merges_reads {
            self.merged_done(op);
        }
        if self.is_read_again(op) {
            return;
        }
        let entry = &self.flash.ops[op as usize];
        let (owner, kind, plane, host) = (entry.owner, entry.kind, entry.plane, entry.is_host());
        if let Owner::Gc(plane) = owner {
            self.gc_op_done(plane, op);
            return self.flash.ops.remove(op);
        }
        let mut left = NONE;
        if host {
            if self.asks_for_attribution(op) && self.flash.ops[op as usize].is_attributed() {
                self.attribute_service(op);
            }
            if kind == OpKind::Program {
                left = self.programmed(op);
                if self.up.ftl.traits.gc_ideal {
                    // Before another program starts in the plane.
                    self.consider_gc(plane);
                }
            }
        }
        if !self.owner_learns(op) {
            self.flash.ops.remove(op);
        }
        if host {
            if kind == OpKind::Program {
                self.consider_gc(plane);
                if left != NONE {
                    // A page was invalidated there, which may be what its GC lacked.
                    self.consider_gc(self.up.ftl.tables.plane_of(left));
                }
            }
            self.host_operation_ended(self.flash.channel_of(self.flash.die_of(plane)));
            if self.up.ftl.traits.holds_gc {
                self.release_held();
            }
        }
    }

    /// Reads that an operation has served with its page are done.
    #[cold]
    fn merged_done(&mut self, lead: u32) {
        while let Some(op) = self.flash.take_merged(lead) {
            self.operation_done(op);
        }
    }

    /// Records a completed program of the host's or the buffer's. Returns the copy before, if it is in another plane.
    fn programmed(&mut self, op: u32) -> Ppn {
        let mut left = NONE;
        if self.up.ftl.traits.measures {
            self.note_work(op);
        }
        let entry = &self.flash.ops[op as usize];
        if let Some(bound) = self.up.ftl.bound.get_mut(entry.plane as usize) {
            *bound -= 1;
            self.flash.relieved.note(self.flash.die_of(entry.plane));
            let old = self.up.ftl.tables.lookup(entry.tag);
            if old != NONE && self.up.ftl.tables.plane_of(old) != entry.plane {
                left = old;
                self.up.ftl.counters.host_pages_cross_plane += 1;
            }
        }
        let entry = &self.flash.ops[op as usize];
        if entry.is_void() {
            self.programmed_in_vain(op);
            return NONE;
        }
        self.up.ftl.tables.commit_write(entry.tag, entry.target);
        if entry.traffic != TrafficClass::Parity {
            self.up.ftl.counters.host_pages += 1;
        }
        if let Some(oracle) = &mut self.up.oracle {
            oracle.program(op, entry.target);
            if entry.class == Class::HostProgram {
                oracle.fulfil(op, entry.tag);
            }
        }
        left
    }

    /// Records a completed program of a page that was given up on its way.
    #[cold]
    fn programmed_in_vain(&mut self, op: u32) {
        let entry = &self.flash.ops[op as usize];
        self.up.ftl.tables.commit_void(entry.tag, entry.target);
        self.up.ftl.counters.host_pages += 1;
        self.up.ftl.counters.void_programs += 1;
        if let Some(oracle) = &mut self.up.oracle {
            oracle.program(op, entry.target);
            oracle.forget_promise(op);
        }
    }
}
