//! Fused operations: the parts of one multi-plane command, each with its own owner, cause and page.
//!
//! One array time for all; commands and transfers are serial. A read's partners transfer before its lead and complete as they
//! do; a program's parts complete together.

use crate::flash::ask::Waiting;
use crate::flash::op::{CLASSES, Class, Op, OpKind, Owner, READ_BITS};
use crate::flash::upper::{Background, Binds, Upper};
use crate::flash::{Engine, Times};
use crate::ids::{DieIx, NONE};
use crate::units::Ns;

/// The most waiting operations of one plane that `pairing` sees.
const PAIRING_SCAN_MAX: usize = 16;
/// The same for one of GC, where operations of the host may join it.
pub(crate) const GC_SCAN_MAX: usize = 64;

/// The operations that might join, kept so that nothing is allocated for each command.
#[derive(Debug, Default)]
pub(crate) struct Partners {
    waiting: Vec<Waiting>,
    ops: Vec<u32>,
    paired: Vec<bool>,
}

impl Partners {
    /// The operations that join.
    fn joining(&self) -> impl Iterator<Item = u32> + '_ {
        self.ops.iter().zip(&self.paired).filter_map(|(&op, &joins)| joins.then_some(op))
    }
}

impl<U> Engine<U>
where
    Self: Upper,
{
    /// Asks which waiting operations join `lead`, which has its page, and takes them out of their queues.
    pub(crate) fn pair(&mut self, die: DieIx, lead: u32) {
        if self.flash.traits.joins_erases && self.flash.ops[lead as usize].kind == OpKind::Erase {
            self.join_erases(die, lead);
        }
        if self.flash.traits.merges_reads && self.flash.dies[die as usize].ready & READ_BITS != 0 {
            self.merge_reads(lead);
        }
        if self.flash.traits.pairs && self.flash.dies[die as usize].ready != 0 {
            self.find_partners(die, lead);
        }
    }

    #[cold]
    fn find_partners(&mut self, die: DieIx, lead: u32) {
        let lead_op = self.flash.ops[lead as usize];
        let page = if lead_op.kind == OpKind::Read { lead_op.ppn } else { lead_op.target };
        let offset = self.flash.device.geometry.offset_of(page);
        let lead_view = Waiting { kind: lead_op.kind, class: lead_op.class, plane: lead_op.plane, offset };
        let partners = self.ask_partners(die, &lead_view);
        partners.joining().for_each(|op| self.fuse(lead, op, &lead_view));
        self.flash.partners = partners;
    }

    /// The waiting operations that could join one that starts, and which of them `pairing` lets.
    fn ask_partners(&mut self, die: DieIx, lead: &Waiting) -> Partners {
        let kind = lead.kind;
        let mut partners = std::mem::take(&mut self.flash.partners);
        let Partners { waiting, ops, paired } = &mut partners;
        waiting.clear();
        ops.clear();
        paired.clear();
        let flash = &self.flash.device.flash;
        let can = match kind {
            OpKind::Read => flash.multi_plane_read,
            OpKind::Program => flash.multi_plane_program,
            OpKind::Copyback | OpKind::Erase => false,
        };
        if !can {
            return partners;
        }
        // What joins a read of GC needs the second register of its plane.
        let steps_aside = lead.class == Class::Gc && !flash.cache_register;
        let most = if lead.class == Class::Gc && self.flash.traits.pairs_with_gc { GC_SCAN_MAX } else { PAIRING_SCAN_MAX };
        let planes_per_die = self.flash.device.geometry.planes_per_die;
        for plane in (die * planes_per_die..(die + 1) * planes_per_die).filter(|&plane| plane != lead.plane) {
            if steps_aside && self.register_is_full(plane) {
                continue;
            }
            let bound = waiting.len() + most;
            for class in 0..CLASSES {
                let mut op = self.flash.planes[plane as usize].lines[class].head;
                // Only the first program of a line can have the write point's next page.
                let mut first = true;
                while op != NONE && waiting.len() < bound && (first || kind == OpKind::Read) {
                    let entry = self.flash.ops[op as usize];
                    if kind == OpKind::Program && entry.class == Class::Background && entry.kind == kind && !self.is_still_wanted(op) {
                        self.remove_from_queue(op);
                        self.give_program_up(op);
                        op = entry.next;
                        continue;
                    }
                    if entry.kind == kind
                        && let Some(offset) = self.pairing_offset(&entry, lead)
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
            paired.resize(waiting.len(), false);
            self.partners(lead, waiting, paired);
            let mut planes_taken = 1u64 << (lead.plane % planes_per_die);
            for index in (0..waiting.len()).filter(|&index| paired[index]) {
                let plane = 1 << (waiting[index].plane % planes_per_die);
                assert!(
                    waiting[index].offset == lead.offset && planes_taken & plane == 0,
                    "a multi-plane command takes one page of each plane, at one offset"
                );
                planes_taken |= plane;
            }
        }
        partners
    }

    /// A read of GC starts with what joins it. If it `loads`, the channel takes the data of those programs to the die that could join
    /// GC's next while the array reads, as many as fit: the registers of their planes are free, so that the GC need not wait for them.
    #[cold]
    pub(crate) fn begin_with_partners(&mut self, die: DieIx, op: u32, loads: bool) {
        self.count_waiting_reads(die);
        self.pair(die, op);
        self.begin_and(die, op, |engine, array| {
            let state = &engine.flash.dies[die as usize];
            let is_wanted = !engine.flash.channels[state.channel as usize].queue.is_empty();
            if loads && !is_wanted && state.ready != 0 { engine.load_programs(die, op, array) } else { 0 }
        });
    }

    /// An erase is about to start: those that wait in other planes of its die join it, whatever their blocks are.
    #[cold]
    fn join_erases(&mut self, die: DieIx, lead: u32) {
        for plane in self.planes_of(die) {
            let waiting = self.flash.first_waiting(plane, Class::Gc);
            if waiting == NONE || self.flash.ops[waiting as usize].kind != OpKind::Erase {
                continue;
            }
            self.remove_from_queue(waiting);
            self.attribute_wait(waiting);
            self.flash.ops[waiting as usize].partner = std::mem::replace(&mut self.flash.ops[lead as usize].partner, waiting);
            self.flash.counters.joined_erases += 1;
        }
    }

    /// A read is about to start: those that wait for its page, and want nothing of it that it does not carry, are served with it.
    #[cold]
    fn merge_reads(&mut self, lead: u32) {
        let of = self.flash.ops[lead as usize];
        let serves = [Class::HostRead, Class::AuxiliaryRead];
        if of.kind != OpKind::Read || !serves.contains(&of.class) {
            return;
        }
        let lead_view = Waiting { kind: of.kind, class: of.class, plane: of.plane, offset: self.flash.device.geometry.offset_of(of.ppn) };
        for class in serves {
            let mut waiting = self.flash.first_waiting(of.plane, class);
            while waiting != NONE {
                let entry = self.flash.ops[waiting as usize];
                let within = of.first_sector <= entry.first_sector && entry.first_sector + entry.sectors <= of.first_sector + of.sectors;
                if entry.tag == of.tag && within && self.is_free(entry.traffic) == self.is_free(of.traffic) {
                    self.remove_from_queue(waiting);
                    self.bind_partner(waiting, &lead_view);
                    self.attribute_wait(waiting);
                    // Its time is the lead's, of which the command, the array and its own sectors are its own.
                    self.flash.ops[waiting as usize].other_traffic = Some(of.traffic);
                    self.flash.merged.push((lead, waiting));
                    self.flash.counters.merged_reads += 1;
                }
                waiting = entry.next;
            }
        }
    }

    fn count_waiting_reads(&mut self, die: DieIx) {
        let most = 2 * self.flash.counters.reads_waiting.0.len() - 1;
        let queues = self.planes_of(die).flat_map(|plane| [(plane, Class::HostRead), (plane, Class::AuxiliaryRead)]);
        let waiting = queues.flat_map(|(plane, class)| self.flash.waiting(plane, class)).take(most).count();
        self.flash.counters.reads_waiting.0[waiting / 2] += 1;
    }

    /// An operation starts, and with it the registers of its planes are used anew: a program whose data were there, and that is not
    /// the one that starts, has to bring them again.
    #[cold]
    pub(super) fn use_registers(&mut self, lead: u32) {
        let mut part = lead;
        while part != NONE {
            let Op { kind, plane, partner, .. } = self.flash.ops[part as usize];
            if kind != OpKind::Erase {
                let loaded = std::mem::replace(&mut self.flash.loaded[plane as usize], NONE);
                if loaded != NONE && loaded != part {
                    self.flash.ops[loaded as usize].sectors = self.flash.device.geometry.sectors_per_page() as u8;
                }
            }
            part = partner;
        }
    }

    /// Takes the data of programs to the die that could join the next one of the GC that begins a read, for at most so long. Returns
    /// for how long. The registers of a plane have room for them unless a page is sensed there, or waits there for the channel.
    fn load_programs(&mut self, die: DieIx, read: u32, most: Ns) -> Ns {
        let (plane, offset) = (self.flash.ops[read as usize].plane, self.next_gc_offset(read));
        let lead = Waiting { kind: OpKind::Program, class: Class::GcProgram, plane, offset };
        let partners = self.ask_partners(die, &lead);
        let mut loading = 0;
        for op in partners.joining() {
            let entry = &self.flash.ops[op as usize];
            let (plane, transfer) = (entry.plane, self.times(entry).transfer);
            let is_sensed = self.parts(read).any(|part| self.flash.ops[part as usize].plane == plane);
            let has_room = !is_sensed && !self.register_is_full(plane) && self.flash.loaded[plane as usize] == NONE;
            if entry.is_host() && has_room && loading + transfer <= most {
                loading += transfer;
                self.flash.ops[op as usize].sectors = 0;
                self.flash.loaded[plane as usize] = op;
            }
        }
        self.flash.partners = partners;
        loading
    }

    fn fuse(&mut self, lead: u32, partner: u32, lead_view: &Waiting) {
        self.remove_from_queue(partner);
        self.bind_partner(partner, lead_view);
        self.attribute_wait(partner);
        self.flash.counters.paired += 1;
        let lead_op = &mut self.flash.ops[lead as usize];
        let (of_gc, traffic) = (matches!(lead_op.owner, Owner::Gc(_)), lead_op.traffic);
        lead_op.other_traffic = Some(traffic);
        let partner_op = &mut self.flash.ops[partner as usize];
        partner_op.other_traffic = Some(if of_gc { traffic } else { partner_op.traffic });
        if of_gc && self.flash.ops[partner as usize].is_host() {
            self.count_paired_gc(partner);
        }
        self.flash.ops[partner as usize].partner = self.flash.ops[lead as usize].partner;
        self.flash.ops[lead as usize].partner = partner;
    }

    /// Counts an operation of the host that has joined one of a GC, and for how long its plane works meanwhile.
    fn count_paired_gc(&mut self, partner: u32) {
        let entry = &self.flash.ops[partner as usize];
        let (kind, array) = (entry.kind, self.times(entry).array);
        let counters = &mut self.flash.counters;
        counters.paired_gc_ns += array;
        if kind == OpKind::Read {
            counters.paired_gc_reads += 1;
            counters.paired_gc_read_ns += array;
        } else {
            counters.paired_gc_programs += 1;
        }
    }

    pub(crate) fn remove_from_queue(&mut self, op: u32) {
        let Op { plane, class, .. } = self.flash.ops[op as usize];
        let line = &mut self.flash.planes[plane as usize].lines[class as usize];
        line.remove(&mut self.flash.ops, op);
        if line.is_empty() {
            self.clear_ready(plane, class);
        }
    }

    /// What a fused operation takes: the commands and transfers of all parts, and the array time of the slowest.
    #[cold]
    pub(super) fn fused_times(&self, lead: u32) -> Times {
        self.parts(lead).fold(Times { command: 0, array: 0, transfer: 0 }, |sum, part| {
            let own = self.times(&self.flash.ops[part as usize]);
            Times { command: sum.command + own.command, array: sum.array.max(own.array), transfer: sum.transfer + own.transfer }
        })
    }

    pub(super) fn parts(&self, lead: u32) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(Some(lead), |&part| Some(self.flash.ops[part as usize].partner).filter(|&partner| partner != NONE))
    }

    /// The part of a read that transfers first.
    pub(super) fn first_part(&self, lead: u32) -> u32 {
        match self.flash.ops[lead as usize].partner {
            NONE => lead,
            partner => partner,
        }
    }

    /// The part that transfers after `part`, which has just done so; `NONE` after the lead.
    pub(super) fn next_part(&mut self, lead: u32, part: u32) -> u32 {
        if part == lead {
            return NONE;
        }
        let next = std::mem::replace(&mut self.flash.ops[part as usize].partner, NONE);
        self.flash.ops[lead as usize].partner = next;
        if next == NONE { lead } else { next }
    }
}
