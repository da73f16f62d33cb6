//! Fused operations: the parts of one multi-plane command, each with its own owner, cause and page.
//!
//! One array time for all; commands and transfers are serial. A read's mates transfer before its lead and complete as they
//! do; a program's parts complete together.

use crate::drive::Drive;
use crate::event::EventQueue;
use crate::ids::{DieIx, NONE};
use crate::observe::Observer;
use crate::policy::{Join, Place};
use crate::sched::Times;
use crate::sched::ops::{CLASSES, Class, OpKind, Owner};
use crate::view::{View, Waiting};

/// The most waiting operations of one plane that `join` sees.
pub(crate) const JOIN_SCAN_MAX: usize = 16;

/// The operations that might join, kept so that nothing is allocated for each command.
#[derive(Debug, Default)]
pub(crate) struct Partners {
    waiting: Vec<Waiting>,
    ops: Vec<u32>,
    join: Vec<bool>,
}

impl<O: Observer, Q: EventQueue> Drive<O, Q> {
    /// Asks which waiting operations join `lead`, which has its page, and takes them out of their lines.
    pub(crate) fn join(&mut self, die: DieIx, lead: u32) {
        if self.policies.join.active() && self.state.dies[die as usize].ready != 0 {
            self.find_partners(die, lead);
        }
    }

    #[inline(never)]
    fn find_partners(&mut self, die: DieIx, lead: u32) {
        let lead_op = self.state.ops[lead as usize];
        let kind = lead_op.kind;
        let flash = &self.state.device.flash;
        let can = match kind {
            OpKind::Read => flash.multi_plane_read,
            OpKind::Program => flash.multi_plane_program,
            OpKind::Copyback | OpKind::Erase => false,
        };
        if !can {
            return;
        }
        let mut partners = std::mem::take(&mut self.partners);
        let Partners { waiting, ops, join } = &mut partners;
        waiting.clear();
        ops.clear();
        join.clear();
        let planes_per_die = self.state.device.geometry.planes_per_die;
        for plane in (die * planes_per_die..(die + 1) * planes_per_die).filter(|&plane| plane != lead_op.plane) {
            let bound = waiting.len() + JOIN_SCAN_MAX;
            for class in 0..CLASSES {
                let mut op = self.state.planes[plane as usize].head[class];
                // Only the first program of a line can have the write point's next page.
                let mut first = true;
                while op != NONE && waiting.len() < bound && (first || kind == OpKind::Read) {
                    let entry = self.state.ops[op as usize];
                    if kind == OpKind::Program && entry.class == Class::Background && entry.kind == kind && !self.is_still_wanted(op) {
                        self.remove_from_line(op);
                        self.give_program_up(op);
                        op = entry.next;
                        continue;
                    }
                    if entry.kind == kind
                        && let Some(offset) = self.join_offset(&entry)
                    {
                        waiting.push(Waiting { kind, class: entry.class, plane, offset });
                        ops.push(op);
                    }
                    first = false;
                    op = entry.next;
                }
            }
        }
        if !waiting.is_empty() {
            let pages = self.state.device.geometry.pages_per_block;
            let bound = if kind == OpKind::Read { lead_op.ppn } else { lead_op.target };
            let lead_view = Waiting { kind, class: lead_op.class, plane: lead_op.plane, offset: bound % pages };
            join.resize(waiting.len(), false);
            self.policies.join.partners(View(&self.state), &lead_view, waiting, join);
            let mut planes_taken = 1u64 << (lead_op.plane % planes_per_die);
            for index in (0..waiting.len()).filter(|&index| join[index]) {
                let plane = 1 << (waiting[index].plane % planes_per_die);
                assert!(
                    waiting[index].offset == lead_view.offset && planes_taken & plane == 0,
                    "a multi-plane command takes one page of each plane, at one offset"
                );
                planes_taken |= plane;
                self.fuse(lead, ops[index]);
            }
        }
        self.partners = partners;
    }

    /// The page offset that a waiting operation would have if it started now, unless it cannot.
    fn join_offset(&mut self, entry: &crate::sched::ops::Op) -> Option<u32> {
        let pages = self.state.device.geometry.pages_per_block;
        if entry.kind == OpKind::Program {
            let write_point = self.policies.place.write_point(View(&self.state), entry.plane, entry.class == Class::GcProgram);
            let books = &self.state.books;
            return books.can_take(entry.plane, write_point, entry.claimant()).then(|| books.next_offset(entry.plane, write_point));
        }
        let ppn = if matches!(entry.owner, Owner::Gc(_)) { entry.ppn } else { self.state.books.lookup(entry.lpn) };
        if ppn == NONE || self.state.books.plane_of(ppn) != entry.plane {
            return None;
        }
        Some(ppn % pages)
    }

    fn fuse(&mut self, lead: u32, mate: u32) {
        self.remove_from_line(mate);
        let entry = self.state.ops[mate as usize];
        if entry.kind == OpKind::Program {
            let write_point = self.policies.place.write_point(View(&self.state), entry.plane, entry.class == Class::GcProgram);
            let target = self.state.books.take(entry.plane, write_point, entry.claimant()).expect("the page that the offset was read from");
            self.state.ops[mate as usize].target = target;
        } else if !matches!(entry.owner, Owner::Gc(_)) {
            let ppn = self.state.books.lookup(entry.lpn);
            self.state.ops[mate as usize].ppn = ppn;
            self.check_read(mate, Some(ppn));
        }
        self.bill_wait(mate);
        self.state.counters.joined += 1;
        for part in [lead, mate] {
            let part = &mut self.state.ops[part as usize];
            part.rest = Some(part.occupant);
        }
        self.state.ops[mate as usize].mate = self.state.ops[lead as usize].mate;
        self.state.ops[lead as usize].mate = mate;
    }

    pub(crate) fn remove_from_line(&mut self, op: u32) {
        let entry = self.state.ops[op as usize];
        let (plane, class) = (entry.plane, entry.class as usize);
        let mut before = NONE;
        let mut at = self.state.planes[plane as usize].head[class];
        while at != op {
            before = at;
            at = self.state.ops[at as usize].next;
        }
        let lines = &mut self.state.planes[plane as usize];
        match before {
            NONE => lines.head[class] = entry.next,
            before => self.state.ops[before as usize].next = entry.next,
        }
        if lines.tail[class] == op {
            lines.tail[class] = before;
        }
        let empty = lines.head[class] == NONE;
        self.state.ops[op as usize].next = NONE;
        if empty {
            self.clear_ready(plane, entry.class);
        }
    }

    /// What a fused operation takes: the commands and transfers of all parts, and the array time of the slowest.
    #[inline(never)]
    pub(super) fn fused_times(&self, lead: u32) -> Times {
        self.parts(lead).fold(Times { command: 0, array: 0, transfer: 0 }, |sum, part| {
            let own = self.times(&self.state.ops[part as usize]);
            Times { command: sum.command + own.command, array: sum.array.max(own.array), transfer: sum.transfer + own.transfer }
        })
    }

    fn parts(&self, lead: u32) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(Some(lead), |&part| Some(self.state.ops[part as usize].mate).filter(|&mate| mate != NONE))
    }

    /// The part of a read that transfers first.
    pub(crate) fn first_part(&self, lead: u32) -> u32 {
        match self.state.ops[lead as usize].mate {
            NONE => lead,
            mate => mate,
        }
    }

    /// The part that transfers after `part`, which has just done so; `NONE` after the lead.
    pub(crate) fn next_part(&mut self, lead: u32, part: u32) -> u32 {
        if part == lead {
            return NONE;
        }
        let next = std::mem::replace(&mut self.state.ops[part as usize].mate, NONE);
        self.state.ops[lead as usize].mate = next;
        if next == NONE { lead } else { next }
    }
}
