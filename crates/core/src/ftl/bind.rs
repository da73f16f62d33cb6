//! Late binding: the physical page of an operation is found when it starts, or joins another that does, not when its request
//! arrives. A read looks its page up then; a program takes the next page of a write point.

use crate::context::Context;
use crate::flash::Engine;
use crate::flash::ask::Waiting;
use crate::flash::op::{Class, Op, OpKind, Owner};
use crate::flash::upper::{Background, Bind, Binds};
use crate::ftl::above::{Above, WithFtl};
use crate::ids::{BlockIx, DieIx, NONE};

impl<U> Binds for Engine<WithFtl<U>>
where
    Self: Above,
{
    #[inline(always)]
    fn accepts(&mut self, op: u32) -> bool {
        if !self.flash.traits.late_bound {
            return true;
        }
        match self.flash.ops[op as usize].kind {
            OpKind::Program => self.wait_for_place(op),
            OpKind::Read if self.up.ftl.traits.host_in_order && self.flash.ops[op as usize].is_host() => self.wait_in_order(op),
            _ => return true,
        }
        false
    }

    #[cold]
    fn start_late_bound(&mut self, die: DieIx) {
        loop {
            if self.up.ftl.traits.host_in_order {
                self.go_on_in_order();
            }
            let placed = self.offer(die);
            let ready = self.flash.die(die).ready;
            self.start_queued(die);
            if placed != NONE {
                self.note_wait(placed);
                self.go_on_after(placed);
            }
            // If a step of GC came to nothing, the die is offered the pages again.
            if self.flash.die(die).is_running() || self.flash.die(die).is_suspended() || self.flash.die(die).ready == ready {
                return;
            }
        }
    }

    #[inline(always)]
    fn bind(&mut self, die: DieIx, op: u32) -> Bind {
        let entry = &self.flash.ops[op as usize];
        let (kind, class, owner, home, lpn) = (entry.kind, entry.class, entry.owner, entry.plane, entry.tag);
        match kind {
            OpKind::Read if owner != Owner::Gc(home) => {
                let ppn = self.up.ftl.tables.lookup(lpn);
                if ppn == NONE {
                    self.bound_read(op, None);
                    return Bind::Void;
                }
                let plane = self.up.ftl.tables.plane_of(ppn);
                if plane != home {
                    crate::check!(class != Class::HostRead || self.seen().stripes().is_none(), "a read that did not follow its stripe");
                    return Bind::Moved(plane);
                }
                self.flash.ops[op as usize].ppn = ppn;
                self.bound_read(op, Some(ppn));
            }
            OpKind::Program => {
                if class == Class::Background && !self.is_still_wanted(op) {
                    self.give_program_up(op);
                    return Bind::Gone;
                }
                if self.flash.traits.assembles {
                    // What the background programs goes to the host's write point.
                    self.pad_planes(die, home, class != Class::GcProgram);
                }
                let Some(target) = self.take_page(die, op) else {
                    match owner {
                        Owner::Gc(home) => self.send_home(op, home),
                        // It gives the program up that finds no room, instead of waiting for it.
                        Owner::Scrub(_) => self.give_program_up(op),
                        _ => {
                            self.block_on_space(op);
                            self.consider_gc(home);
                        }
                    }
                    return Bind::Gone;
                };
                self.flash.ops[op as usize].target = target;
                self.up.ftl.tables.prefetch_copy(lpn);
            }
            OpKind::Read | OpKind::Copyback | OpKind::Erase => {}
        }
        Bind::Ready
    }

    fn pairing_offset(&mut self, entry: &Op, lead: &Waiting) -> Option<u32> {
        if entry.kind == OpKind::Program {
            return self.partner_offset(entry, lead);
        }
        let ppn = if matches!(entry.owner, Owner::Gc(_)) { entry.ppn } else { self.up.ftl.tables.lookup(entry.tag) };
        let is_there = ppn != NONE && self.up.ftl.tables.plane_of(ppn) == entry.plane;
        is_there.then(|| self.up.ftl.tables.offset_of(ppn))
    }

    fn bind_partner(&mut self, op: u32, lead: &Waiting) {
        let entry = self.flash.ops[op as usize];
        if entry.kind == OpKind::Program {
            let target = self.take_partner_page(op, lead);
            self.flash.ops[op as usize].target = target;
        } else if !matches!(entry.owner, Owner::Gc(_)) {
            let ppn = self.up.ftl.tables.lookup(entry.tag);
            self.flash.ops[op as usize].ppn = ppn;
            self.bound_read(op, Some(ppn));
        }
    }

    fn next_gc_offset(&mut self, read: u32) -> u32 {
        let plane = self.flash.ops[read as usize].plane;
        let point = self.write_point(plane, NONE, true);
        self.up.ftl.tables.next_offset(plane, point)
    }

    #[inline(always)]
    fn erase_count(&self, block: BlockIx) -> u32 {
        self.up.ftl.tables.erase_count(block)
    }
}
