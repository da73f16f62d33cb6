//! Pages on their way from the write buffer to the flash, one by one; those of stripes leave by `destage`.

use crate::attribution::parts::Attribution;
use crate::buffer::stage::Stage;
use crate::event::EventQueue;
use crate::flash::Engine;
use crate::flash::op::{ATTRIBUTED, Class, Op, OpKind, Owner};
use crate::ftl::above::WithFtl;
use crate::ids::{Lpn, NONE};
use crate::observe::TrafficClass;
use crate::raid::front::{Front, WithRaid};
use crate::units::sector_mask as mask;

impl<Q: EventQueue, U> Engine<Q, WithFtl<WithRaid<U>>>
where
    Self: Front,
{
    /// Flushes the pages written longest ago while the buffer holds more than its threshold.
    pub(crate) fn flush_above_threshold(&mut self) {
        while let Some(entry) = self.up.up.raid.next_flush(&self.up.ftl.tables) {
            self.flush(entry);
        }
    }

    pub(crate) fn flush(&mut self, entry: u32) {
        let flushed = *self.up.up.raid.buffer.entry(entry);
        let lpn = flushed.lpn;
        let plane = self.place(lpn);
        let content = self.up.oracle.as_mut().map(|oracle| oracle.flush(entry, flushed.flight));
        let mut program = self.flash.page_op(OpKind::Program, Class::Flush, TrafficClass::Flush, Owner::Entry(entry), lpn, plane);
        program.flags |= ATTRIBUTED * u8::from(self.asks_of_page());
        let program = self.flash.new_op(program);
        self.up.up.raid.buffer.set_program(entry, program);
        if let (Some(oracle), Some(content)) = (&mut self.up.oracle, content) {
            oracle.carry(program, content);
        }
        let partial = self.flash.counters.host_page(flushed.flight.count_ones(), self.flash.device.geometry.sectors_per_unit());
        if partial && self.up.ftl.tables.lookup(lpn) != NONE {
            self.read_then_program(Owner::Entry(entry), lpn, flushed.flight, program);
        } else {
            self.enqueue(program);
        }
    }

    /// A read-modify-write: reads the sectors of a page that `have` lacks, then programs the whole page.
    pub(crate) fn read_then_program(&mut self, owner: Owner, lpn: Lpn, have: u64, program: u32) {
        self.flash.counters.read_modify_writes += 1;
        let missing = mask(0, self.flash.device.geometry.sectors_per_unit() as u16) & !have;
        // What crosses the channel is one contiguous piece: from the first missing sector to the last.
        let first = missing.trailing_zeros() as u16;
        let count = 64 - missing.leading_zeros() as u16 - first;
        let plane = self.up.ftl.tables.plane_of(self.up.ftl.tables.lookup(lpn));
        let mut read = Op::new(OpKind::Read, Class::AuxiliaryRead, TrafficClass::ReadModifyWrite, owner, lpn, plane);
        read.first_sector = first as u8;
        read.sectors = count as u8;
        read.flags |= self.flash.ops[program as usize].flags & ATTRIBUTED;
        let read = self.flash.new_op(read);
        let stages = [Stage { first: read, compute_ns: 0 }, Stage { first: program, compute_ns: 0 }];
        self.begin_job(owner, &stages, Attribution::default(), false);
    }

    /// A page that left the buffer is on the flash.
    pub(crate) fn page_flushed(&mut self, entry: u32) {
        self.flash.counters.flushed += 1;
        self.up.up.raid.buffer.flushed(entry);
        self.flush_above_threshold();
    }
}
