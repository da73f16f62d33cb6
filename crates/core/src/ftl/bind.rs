//! Late binding: the physical page of an operation is found when it starts, or joins another that does, not when its request
//! arrives. A read looks its page up then; a program takes the next page of a write point.

use crate::context::Context;
use crate::event::EventQueue;
use crate::flash::Engine;
use crate::flash::ask::Waiting;
use crate::flash::op::{Class, Op, OpKind, Owner};
use crate::flash::upper::{Background, Bind};
use crate::ftl::Claimant;
use crate::ftl::above::{Above, WithFtl};
use crate::ids::{DieIx, NONE};
use crate::policy::interface::Place;

impl<Q: EventQueue, U> Engine<Q, WithFtl<U>>
where
    Self: Above,
{
    /// Finds the page of an operation that is about to start at a die.
    #[inline(always)]
    pub(crate) fn bind_page(&mut self, die: DieIx, op: u32) -> Bind {
        let entry = &self.flash.ops[op as usize];
        let (kind, class, owner, home, lpn) = (entry.kind, entry.class, entry.owner, entry.plane, entry.lpn);
        match kind {
            OpKind::Read if owner != Owner::Gc(home) => {
                let ppn = self.up.ftl.books.lookup(lpn);
                if ppn == NONE {
                    self.bound_read(op, None);
                    return Bind::Void;
                }
                let plane = self.up.ftl.books.plane_of(ppn);
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
                if self.flash.traits.gathers {
                    // What the background programs goes to the host's write point.
                    self.pad_planes(die, home, class != Class::GcProgram);
                }
                if self.flash.traits.late {
                    self.take_place(die, op);
                } else {
                    let claimant = self.flash.ops[op as usize].claimant();
                    let write_point = self.write_point(home, op, class == Class::GcProgram);
                    let Some(target) = self.up.ftl.books.take(home, write_point, claimant) else {
                        match owner {
                            Owner::Gc(home) => self.send_home(op, home),
                            owner if owner.gives_up() => self.give_program_up(op),
                            _ => {
                                self.starve(op);
                                self.consider_gc(home);
                            }
                        }
                        return Bind::Gone;
                    };
                    self.flash.ops[op as usize].target = target;
                    if self.flash.traits.chooses {
                        let (entry, offset) = (self.flash.ops[op as usize], target % self.flash.device.geometry.pages_per_block);
                        self.note_choice(&entry, write_point, offset);
                    }
                }
                self.up.ftl.books.prefetch_copy(lpn);
            }
            OpKind::Read | OpKind::Copyback | OpKind::Erase => {}
        }
        Bind::Ready
    }

    /// The page offset that a waiting operation would have if it started now, unless it cannot.
    pub(crate) fn offset_beside(&mut self, entry: &Op, lead: &Waiting) -> Option<u32> {
        let pages = self.flash.device.geometry.pages_per_block;
        if entry.kind == OpKind::Program {
            if self.flash.traits.aligns {
                return self.aligned_offset(entry, lead);
            }
            if self.flash.traits.chooses {
                return self.point_at(entry, lead.offset).map(|_| lead.offset);
            }
            let write_point = self.ask(|policies, view| policies.place.write_point(view, entry.plane, entry.class == Class::GcProgram));
            let books = &self.up.ftl.books;
            return books.can_take(entry.plane, write_point, entry.claimant()).then(|| books.next_offset(entry.plane, write_point));
        }
        let ppn = if matches!(entry.owner, Owner::Gc(_)) { entry.ppn } else { self.up.ftl.books.lookup(entry.lpn) };
        if ppn == NONE || self.up.ftl.books.plane_of(ppn) != entry.plane {
            return None;
        }
        Some(ppn % pages)
    }

    /// An operation joins `lead`: it gets its page.
    pub(crate) fn bind_beside(&mut self, op: u32, lead: &Waiting) {
        let entry = self.flash.ops[op as usize];
        if entry.kind == OpKind::Program {
            let write_point = if self.flash.traits.aligns {
                self.bring_level(&entry, lead)
            } else if self.flash.traits.chooses {
                self.point_at(&entry, lead.offset).expect("the point that the offset was read from")
            } else {
                self.ask(|policies, view| policies.place.write_point(view, entry.plane, entry.class == Class::GcProgram))
            };
            let target =
                self.up.ftl.books.take(entry.plane, write_point, entry.claimant()).expect("the page that the offset was read from");
            self.flash.ops[op as usize].target = target;
            if self.flash.traits.chooses {
                self.note_choice(&entry, write_point, lead.offset);
            }
        } else if !matches!(entry.owner, Owner::Gc(_)) {
            let ppn = self.up.ftl.books.lookup(entry.lpn);
            self.flash.ops[op as usize].ppn = ppn;
            self.bound_read(op, Some(ppn));
        }
    }
}

impl Op {
    /// As whom it claims a page: GC may open the reserve of its own plane only.
    pub(crate) fn claimant(&self) -> Claimant {
        if self.owner == Owner::Gc(self.plane) { Claimant::Gc } else { Claimant::Host }
    }
}
