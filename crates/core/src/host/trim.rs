//! Trims: whole pages are taken out of the tables and the buffer at once, without flash time.
//!
//! A trim takes effect when the device begins with it. What has reached the device by then is given up, wherever it is: a page
//! in the buffer is dropped, a program under way is recorded as stale when it ends, and a page that GC copies is found to be
//! stale. Data of a write that are still crossing the link come later and stay.

use crate::buffer::write_buffer::Dropped;
use crate::commands::Command;
use crate::context::{Context, Watched};
use crate::event::EventQueue;
use crate::flash::Engine;
use crate::flash::op::Class;
use crate::host::path::VoidPages;
use crate::host::tiers::Tiers;
use crate::ids::{Lpn, NONE};

impl<Q: EventQueue, U: Watched> Engine<Q, Tiers<U>>
where
    Self: Context,
{
    #[cold]
    pub(super) fn accept_trim(&mut self, request: u32, command: &Command) {
        let shift = self.up.up.up.host.sector_shift;
        let (from, to) = (command.sector, command.sector + u64::from(command.sectors));
        let (first, end) = (from.div_ceil(1 << shift), to >> shift);
        let touched = to.div_ceil(1 << shift) - (from >> shift);
        self.flash.counters.trims += 1;
        self.flash.counters.trimmed_partly += touched - end.saturating_sub(first);
        if first < end {
            self.give_up(first as Lpn, end as Lpn);
        }
        self.serve_from_ram(request);
    }

    fn give_up(&mut self, first: Lpn, end: Lpn) {
        let mut void = std::mem::take(&mut self.up.up.up.host.void_pages);
        for write in self.up.up.raid.buffer.waiting() {
            let state = &self.up.up.up.host.requests[write.request as usize];
            let last = (state.command.sector + u64::from(state.command.sectors) - 1) >> self.up.up.up.host.sector_shift;
            let (first, end) = (first.max(write.next_lpn), end.min(state.crossed).min(last as Lpn + 1));
            if first < end {
                void.push(VoidPages { request: write.request, first, end });
            }
        }
        self.up.up.up.host.void_pages = void;
        self.up.up.raid.buffer.reopen();
        for lpn in first..end {
            self.give_up_page(lpn);
        }
    }

    fn give_up_page(&mut self, lpn: Lpn) {
        if self.up.up.raid.rain.is_some() {
            return self.give_up_in_stripe(lpn);
        }
        if self.up.up.raid.buffer.exists() {
            match self.up.up.raid.buffer.drop_page(lpn) {
                Dropped::Absent => {}
                Dropped::Freed => self.flash.counters.trimmed_buffered += 1,
                Dropped::InFlight(program) => self.flash.ops[program as usize].give_up(),
            }
        } else if let Some(queue) = self.up.up.up.host.writing.get_mut(&lpn) {
            queue.iter_mut().for_each(|write| write.void = true);
            // Operations that have ended may match as well; they are written anew when they are used again.
            for op in 0..self.flash.ops.len() {
                let op = &mut self.flash.ops[op];
                if op.class == Class::HostProgram && op.tag == lpn {
                    op.give_up();
                }
            }
        }
        if let Some(oracle) = &mut self.up.oracle {
            oracle.trim(lpn);
        }
        self.up.ftl.tables.note_trim(lpn);
        let ppn = self.up.ftl.tables.unmap(lpn);
        if ppn != NONE {
            self.flash.counters.trimmed_pages += 1;
            let plane = self.up.ftl.tables.plane_of(ppn);
            let elsewhere = self.flash.traits.dynamic || self.flash.traits.assembles;
            if elsewhere || self.flash.has_space_blocked(plane) {
                // There may be a victim now where there was none, and programs that wait for its erased pages in no queue of
                // this plane.
                self.consider_gc(plane);
            }
        }
    }

    /// A page whose stripe has parity stays where it is, since the parity covers it, and reads as zeroes until it is written
    /// again. What is in the buffer and not on its way is dropped.
    fn give_up_in_stripe(&mut self, lpn: Lpn) {
        let on_its_way = self.up.up.raid.buffer.find(lpn).is_some_and(|(entry, _)| self.up.up.raid.buffer.entry(entry).flight != 0);
        let mapped = self.up.ftl.tables.lookup(lpn) != NONE;
        let rain = self.up.up.raid.rain.as_mut().expect("only drives with stripes get here");
        if self.up.up.raid.buffer.drop_dirty(lpn) {
            rain.note_dropped(lpn);
            self.flash.counters.trimmed_buffered += 1;
        }
        if (mapped || on_its_way) && !rain.set_trimmed(lpn, true) {
            self.flash.counters.trimmed_pages += u64::from(mapped);
        }
        if let Some(oracle) = &mut self.up.oracle {
            oracle.trim(lpn);
        }
    }

    /// The sectors of a page that a write brings into the buffer: all of them if the host had given the page up, because the
    /// others are zeroes and not what its old copy holds.
    #[cold]
    pub(super) fn sectors_written(&mut self, lpn: Lpn, sectors: u64) -> u64 {
        let rain = self.up.up.raid.rain.as_mut().expect("only drives with stripes get here");
        if !rain.is_trimmed(lpn) {
            return sectors;
        }
        crate::units::sector_mask(0, self.flash.device.geometry.sectors_per_unit() as u16)
    }

    /// Whether a page of a write that waited for space was given up meanwhile.
    #[cold]
    pub(crate) fn is_void(&mut self, request: u32, lpn: Lpn) -> bool {
        let void = self.up.up.up.host.void_pages.iter().any(|void| void.request == request && (void.first..void.end).contains(&lpn));
        self.flash.counters.trimmed_buffered += u64::from(void);
        void
    }

    /// A write has all its pages in the buffer.
    #[cold]
    pub(super) fn forget_void_pages(&mut self, request: u32) {
        self.up.up.up.host.void_pages.retain(|void| void.request != request);
    }
}
