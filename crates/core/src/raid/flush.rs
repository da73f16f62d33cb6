//! Pages on their way from the write buffer to the flash, one by one; those of stripes leave by `destage`.

use crate::buffer::write_buffer::Entry;
use crate::flash::Engine;
use crate::flash::op::{ATTRIBUTED, Class, Op, OpKind, Owner};
use crate::ftl::above::WithFtl;
use crate::ids::NONE;
use crate::observe::TrafficClass;
use crate::raid::front::{Front, WithRaid};
use crate::raid::job::Job;
use crate::units::sector_mask as mask;

impl<U> Engine<WithFtl<WithRaid<U>>>
where
    Self: Front,
{
    /// Sends pages to the flash until as many are on their way as wait for room: the foreground flush. Those that wait for
    /// partners are not on their way; where no other is, one die need not wait.
    pub(crate) fn make_room(&mut self) {
        let mut held_up = self.pages_without_partners();
        let raid = &self.up.up.raid;
        if raid.rain.is_some() {
            self.flush_stripes(raid.buffer.waiting()[0].pages() + held_up);
            held_up = self.pages_without_partners();
        } else {
            while let Some(entry) = self.up.up.raid.buffer.next_foreground_flush(held_up) {
                self.flush(entry);
                held_up = self.pages_without_partners();
            }
        }
        if held_up > 0 && held_up >= self.up.up.raid.steps_under_way() {
            self.pad_fullest_die();
        }
    }

    /// Flushes the pages written longest ago while the buffer holds more than its threshold.
    pub(crate) fn flush_above_threshold(&mut self) {
        while let WithFtl { ftl, up: WithRaid { raid, .. }, .. } = &mut self.up
            && let Some(entry) = raid.next_flush(&ftl.tables)
        {
            self.flush(entry);
        }
    }

    fn flush(&mut self, entry: u32) {
        let Entry { lpn, flight, .. } = self.up.up.raid.buffer.entry(entry);
        let plane = self.place(lpn);
        let mut program = self.flash.page_op(OpKind::Program, Class::Flush, TrafficClass::Flush, Owner::Entry(entry), lpn, plane);
        program.flags |= ATTRIBUTED * u8::from(self.asks_of_page());
        let program = self.flash.new_op(program);
        let WithFtl { oracle, up: WithRaid { raid, .. }, .. } = &mut self.up;
        raid.buffer.set_program(entry, program);
        if let Some(oracle) = oracle {
            let content = oracle.flush(entry, flight);
            oracle.carry(program, content);
        }
        self.program_page(program, flight);
    }

    /// Programs a page of which the host has written some sectors. If others are on the flash, it is a read-modify-write, which reads
    /// the sectors of the page that are missing before.
    pub(crate) fn program_page(&mut self, program: u32, have: u64) {
        let Op { owner, tag: lpn, flags, .. } = self.flash.ops[program as usize];
        let sectors = self.flash.device.geometry.sectors_per_unit();
        let WithFtl { ftl, up: WithRaid { raid, .. }, .. } = &mut self.up;
        let is_partial = raid.counters.host_page(have.count_ones(), sectors);
        let former = if is_partial { ftl.tables.lookup(lpn) } else { NONE };
        if former == NONE {
            return self.enqueue(program);
        }
        raid.counters.read_modify_writes += 1;
        let missing = mask(0, sectors as u16) & !have;
        // What crosses the channel is one contiguous piece: from the first missing sector to the last.
        let first = missing.trailing_zeros() as u16;
        let count = 64 - missing.leading_zeros() as u16 - first;
        let plane = self.up.ftl.tables.plane_of(former);
        let mut read = Op::new(OpKind::Read, Class::AuxiliaryRead, TrafficClass::ReadModifyWrite, owner, lpn, plane);
        read.first_sector = first as u8;
        read.sectors = count as u8;
        read.flags |= flags & ATTRIBUTED;
        let read = self.flash.new_op(read);
        self.start_job(Job { then: program, ..Job::of(owner) }, read);
    }
}
