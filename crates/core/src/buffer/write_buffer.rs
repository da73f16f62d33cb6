//! The capacitor-backed write buffer: page-granular, least recently written first out.
//!
//! A page stays in it, and serves reads, until it is programmed. Sectors written while a page is in flight wait in the same
//! entry for the next flush. TTFLASH, section 4.5; systems with a buffer of 0 pages write through.

use crate::attribution::parts::Attribution;
use crate::attribution::slot_waits::{Holder, SlotWaits};
use crate::buffer::counters::BufferCounters;
use crate::device::Device;
use crate::ids::{Lpn, NONE};
use crate::slab::{Keyed, Node, Order};
use crate::units::Ns;
use std::collections::VecDeque;

/// The sectors of a page in the buffer. While a program of the page is under way, of the sectors in flight or of some that were given
/// up meanwhile, the entry is not in the order of writing: then `older` is `IN_FLIGHT`, and `newer` the program.
#[derive(Debug)]
struct Sectors {
    dirty: u64,
    flight: u64,
}

/// One page in the buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub lpn: Lpn,
    /// Sectors written and not in flight.
    pub dirty: u64,
    /// Sectors in flight to the flash.
    pub flight: u64,
}

/// In place of the next older entry: a program of the page is under way.
const IN_FLIGHT: u32 = NONE - 1;

/// A host write that waits for space, with the first page that is not in the buffer yet and its last one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitingWrite {
    pub request: u32,
    pub next_lpn: Lpn,
    pub last_lpn: Lpn,
    /// Since when it waits.
    pub since: Ns,
}

impl WaitingWrite {
    pub fn pages(&self) -> u32 {
        self.last_lpn - self.next_lpn + 1
    }
}

/// What became of a page in the buffer that the host gives up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dropped {
    /// It was not there.
    Absent,
    /// Its entry is free.
    Freed,
    /// This program of it is under way, and holds its entry until it ends.
    InFlight(u32),
}

/// Of so many pages that leave the buffer while writes wait it is asked what for, then of one in some.
const ASKED_OF_ALL: u64 = 64;
const ASKED_OF_ONE_IN: u32 = 8;

/// Buckets for each page of capacity: most reads ask for a page that is not in the buffer, and find an empty bucket.
const BUCKETS_PER_PAGE: usize = 4;

/// The write buffer.
#[derive(Debug)]
pub(crate) struct WriteBuffer {
    pub counters: BufferCounters,
    capacity: u32,
    flush_above: u32,
    entries: Keyed<Sectors>,
    /// Those that are not in flight, in the order of writing.
    written: Order,
    in_flight: u32,
    /// The most pages that the host may have in it now: the capacity, less what parity has or may need.
    room: u32,
    /// Those that found no room, in order of arrival.
    waiting: VecDeque<WaitingWrite>,
    /// The pages that they still have to put in.
    pages_waiting: u32,
    /// What those are waiting for.
    pub waits: SlotWaits,
    /// It is asked what pages that leave wait for.
    asking: bool,
    /// Pages that have left it while not all were asked.
    left: u32,
    /// A page found no room, and nothing has changed since that could let it in.
    closed: bool,
}

impl WriteBuffer {
    pub fn new(device: &Device) -> Self {
        let capacity = (u64::from(device.ram.buffer_kib) * 1024 / u64::from(device.geometry.unit_bytes())) as u32;
        Self {
            counters: BufferCounters::default(),
            capacity,
            flush_above: (u64::from(capacity) * u64::from(device.ram.flush_above_percent) / 100) as u32,
            entries: Keyed::new(capacity as usize, capacity as usize * BUCKETS_PER_PAGE),
            written: Order::EMPTY,
            in_flight: 0,
            room: capacity,
            waiting: VecDeque::new(),
            pages_waiting: 0,
            // As many pages as can be programmed at a time.
            waits: SlotWaits::new(device.geometry.planes()),
            asking: false,
            left: 0,
            closed: false,
        }
    }

    /// The writes that wait for space, in order of arrival.
    pub fn waiting(&self) -> &VecDeque<WaitingWrite> {
        &self.waiting
    }

    /// A write waits for space, behind the others, or has put in some pages and waits on as the first. Returns whether it is the
    /// first.
    pub fn wait(&mut self, write: WaitingWrite) -> bool {
        if let Some(first) = self.waiting.front_mut()
            && first.request == write.request
        {
            self.pages_waiting -= write.next_lpn - first.next_lpn;
            first.next_lpn = write.next_lpn;
            return true;
        }
        self.waits.begin(write.since, self.waiting.is_empty(), || self.waiting[0].since);
        self.pages_waiting += write.pages();
        self.waiting.push_back(write);
        self.waiting.len() == 1
    }

    /// A write has put in all its pages that are in the device. If it waits, it is the first.
    pub fn stop_waiting(&mut self, request: u32) {
        if let Some(first) = self.waiting.front()
            && first.request == request
        {
            self.pages_waiting -= first.pages();
            self.waiting.pop_front();
        }
    }

    /// The pages that wait for space.
    #[cfg(test)]
    pub fn pages_waiting(&self) -> u32 {
        self.pages_waiting
    }

    /// The most pages that it holds.
    pub fn capacity(&self) -> u32 {
        self.capacity
    }

    /// Limits the pages that the host may have in it from now on.
    pub fn set_room(&mut self, room: u32) {
        self.room = room;
        self.reopen();
    }

    /// Finds out whether it is asked what pages that leave wait for: once pages on their way take half of the room that is kept for
    /// them, and until they take less than a quarter. Returns whether that begins now.
    #[inline]
    pub fn begins_to_ask(&mut self) -> bool {
        let kept = self.room.saturating_sub(self.flush_above);
        let asked = self.asking;
        self.asking = self.in_flight * if asked { 4 } else { 2 } >= kept;
        self.asking && !asked
    }

    /// Whether it is asked what the operations of the page wait for that leaves now: of some pages alone where writes have waited
    /// for room for long.
    #[inline]
    pub fn asks(&mut self) -> bool {
        if !self.asking || self.waiting.is_empty() || self.waits.completed_in_line() < ASKED_OF_ALL {
            return self.asking;
        }
        self.left += 1;
        self.left.is_multiple_of(ASKED_OF_ONE_IN)
    }

    /// Whether it is asked of pages at all.
    #[inline]
    pub fn is_asking(&self) -> bool {
        self.asking
    }

    /// The last operation of a page ends, of which was asked what it spent its time on. `assembled`: programs wait for others.
    #[inline]
    pub fn explain(&mut self, assembled: bool, attribution: &Attribution) {
        if !self.waiting.is_empty() {
            self.waits.completed(if assembled { Holder::AssembledPage } else { Holder::Page }, attribution);
        }
    }

    /// Those that wait for room are gone.
    pub fn forget_waiting(&mut self, device: &Device) {
        self.waiting.clear();
        self.pages_waiting = 0;
        self.waits = SlotWaits::new(device.geometry.planes());
    }

    /// Something has changed for the page that found no room last.
    pub fn reopen(&mut self) {
        self.closed = false;
    }

    /// Whether the first of those that wait may find room where it found none.
    #[inline]
    pub fn is_open(&self) -> bool {
        !self.closed
    }

    /// Whether the device has a buffer at all.
    pub fn exists(&self) -> bool {
        self.capacity > 0
    }

    pub fn occupied(&self) -> u32 {
        self.entries.len() as u32
    }

    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    pub fn is_full(&self) -> bool {
        self.exists() && self.occupied() >= self.room
    }

    pub fn entry(&self, index: u32) -> Entry {
        let Node { key: lpn, item: Sectors { dirty, flight }, .. } = self.entries[index];
        Entry { lpn, dirty, flight }
    }

    /// The first pages of those that would be flushed next.
    pub fn oldest_lpns(&self, count: usize) -> impl Iterator<Item = Lpn> + '_ {
        self.entries.in_order(self.written).map(|index| self.entries[index].key).take(count)
    }

    /// The entry of a page and the sectors that it has.
    #[inline]
    pub fn find(&self, lpn: Lpn) -> Option<(u32, u64)> {
        let index = self.entries.find(lpn)?;
        let Sectors { dirty, flight } = self.entries[index].item;
        Some((index, dirty | flight))
    }

    /// Brings the bucket of a page near.
    #[inline]
    pub fn prefetch(&self, lpn: Lpn) {
        self.entries.prefetch(lpn);
    }

    /// Writes sectors of a page, to the entry that it has already or to a free one; nothing if there is none. Returns the entry.
    pub fn insert(&mut self, lpn: Lpn, sectors: u64) -> Option<u32> {
        if let Some(index) = self.entries.find(lpn) {
            self.entries[index].item.dirty |= sectors;
            if !self.is_in_flight(index) {
                self.entries.unlink(&mut self.written, index);
                self.link_newest(index);
            }
            self.counters.merged += 1;
            return Some(index);
        }
        if self.occupied() >= self.room {
            self.closed = true;
            return None;
        }
        let index = self.entries.insert(lpn, Sectors { dirty: sectors, flight: 0 });
        self.link_newest(index);
        Some(index)
    }

    /// The entry to flush next, marked as in flight, while occupancy beyond what is in flight exceeds the threshold.
    pub fn next_flush(&mut self) -> Option<u32> {
        if self.is_above_threshold() { self.flush_oldest() } else { None }
    }

    /// The entry to flush next, marked as in flight, while fewer are on their way than wait for space: the foreground flush.
    /// `held_up` of those in flight get nowhere before others join them.
    pub fn next_foreground_flush(&mut self, held_up: u32) -> Option<u32> {
        if self.in_flight >= self.pages_waiting + held_up { None } else { self.flush_oldest() }
    }

    fn flush_oldest(&mut self) -> Option<u32> {
        let oldest = Some(self.written.oldest).filter(|&oldest| oldest != NONE)?;
        self.destage(oldest);
        Some(oldest)
    }

    /// Whether pages must leave: occupancy beyond what is in flight exceeds the threshold.
    pub fn is_above_threshold(&self) -> bool {
        self.occupied() - self.in_flight > self.flush_above
    }

    /// Marks the dirty sectors of an entry as in flight.
    pub fn destage(&mut self, index: u32) {
        self.entries.unlink(&mut self.written, index);
        let entry = &mut self.entries[index];
        entry.item.flight = std::mem::take(&mut entry.item.dirty);
        entry.older = IN_FLIGHT;
        self.in_flight += 1;
    }

    /// Sectors of a page in flight that were read from its old copy are in RAM now too.
    pub fn complete_flight(&mut self, index: u32, sectors: u64) {
        self.entries[index].item.flight = sectors;
    }

    /// Replaces the pages above which it flushes.
    #[cfg(test)]
    pub fn set_flush_above_for_test(&mut self, pages: u32) {
        self.flush_above = pages;
    }

    /// Forgets the dirty sectors of a page; those in flight stay. Returns whether there were any.
    pub fn drop_dirty(&mut self, lpn: Lpn) -> bool {
        let Some(index) = self.entries.find(lpn) else { return false };
        let dropped = std::mem::take(&mut self.entries[index].item.dirty) != 0;
        if !self.is_in_flight(index) {
            self.free_written(index);
        }
        dropped
    }

    /// The last operation of a flush has ended, with what it took if that was asked; see `explain`. Returns whether the entry became
    /// free.
    pub fn flushed(&mut self, index: u32, assembled: bool, attribution: Option<&Attribution>) -> bool {
        if let Some(attribution) = attribution {
            self.explain(assembled, attribution);
        }
        self.counters.flushed += 1;
        self.in_flight -= 1;
        let entry = &mut self.entries[index].item;
        entry.flight = 0;
        if entry.dirty != 0 {
            self.link_newest(index);
            return false;
        }
        self.free(index);
        true
    }

    /// The entries that are taken, those that are on their way first and then those written longest ago.
    pub fn taken(&self) -> Vec<u32> {
        let on_their_way = self.entries.indices().filter(|&index| self.is_in_flight(index));
        on_their_way.chain(self.entries.in_order(self.written)).collect()
    }

    /// The program of an entry will not end: its sectors in flight wait for the next flush, before all others, unless they are
    /// `given_up`. Returns those that came back, or nothing if the entry is free now.
    pub fn return_flight(&mut self, index: u32, given_up: bool) -> Option<u64> {
        crate::check!(self.is_in_flight(index), "an entry that is on its way");
        self.in_flight -= 1;
        self.reopen();
        let entry = &mut self.entries[index].item;
        let flight = if given_up { 0 } else { entry.flight & !entry.dirty };
        entry.dirty |= flight;
        entry.flight = 0;
        if entry.dirty == 0 {
            self.free(index);
            return None;
        }
        self.entries.push_oldest(&mut self.written, index);
        Some(flight)
    }

    /// Forgets an entry and what it holds.
    pub fn forget_all_of(&mut self, index: u32) {
        if self.is_in_flight(index) {
            self.in_flight -= 1;
            self.free(index);
        } else {
            self.free_written(index);
        }
    }

    /// Whether an entry is on its way to the flash.
    pub fn is_in_flight(&self, index: u32) -> bool {
        self.entries[index].older == IN_FLIGHT
    }

    /// Notes which program carries an entry to the flash.
    #[inline]
    pub fn set_program(&mut self, index: u32, program: u32) {
        self.entries[index].newer = program;
    }

    /// Forgets what the buffer has of a page.
    pub fn drop_page(&mut self, lpn: Lpn) -> Dropped {
        let Some(index) = self.entries.find(lpn) else { return Dropped::Absent };
        let entry = &mut self.entries[index];
        entry.item = Sectors { dirty: 0, flight: 0 };
        if entry.older == IN_FLIGHT {
            return Dropped::InFlight(entry.newer);
        }
        self.free_written(index);
        Dropped::Freed
    }

    /// Frees an entry that is in the order of writing.
    fn free_written(&mut self, index: u32) {
        self.entries.unlink(&mut self.written, index);
        self.free(index);
    }

    fn free(&mut self, index: u32) {
        self.entries.remove(index);
        self.reopen();
    }

    fn link_newest(&mut self, index: u32) {
        self.reopen();
        self.entries.push_newest(&mut self.written, index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::tiny_device;
    use proptest::prelude::*;

    fn buffer(pages: u32, percent: u32) -> WriteBuffer {
        let mut device = tiny_device();
        device.ram.buffer_kib = pages * device.geometry.page_bytes / 1024;
        device.ram.flush_above_percent = percent;
        WriteBuffer::new(&device)
    }

    #[test]
    fn the_flush_begins_above_the_threshold_with_the_page_written_longest_ago() {
        let mut buffer = buffer(5, 80);
        for lpn in [3, 4, 5, 6] {
            assert!(buffer.insert(lpn, 0xff).is_some());
        }
        assert_eq!((buffer.insert(3, 0xff), buffer.counters.merged), (buffer.find(3).map(|(index, _)| index), 1));
        assert_eq!(buffer.next_flush(), None, "four of five pages are 80 %, not above");
        buffer.insert(7, 0xff);
        let index = buffer.next_flush().unwrap();
        assert_eq!(buffer.entry(index).lpn, 4, "page 3 was written again");
        assert_eq!(buffer.next_flush(), None, "what is in flight counts as gone");
        assert!(buffer.is_full());
        assert_eq!(buffer.insert(8, 0xff), None);
        assert!(buffer.flushed(index, false, None));
        assert!(!buffer.is_full());
        assert!(buffer.insert(8, 0xff).is_some());
    }

    #[test]
    fn as_many_pages_leave_as_wait_for_room() {
        let mut buffer = buffer(4, 100);
        for lpn in 0..4 {
            buffer.insert(lpn, 1);
        }
        buffer.wait(WaitingWrite { request: 0, next_lpn: 10, last_lpn: 10, since: 0 });
        let first = buffer.next_foreground_flush(0).unwrap();
        assert_eq!(buffer.next_foreground_flush(0), None);
        buffer.wait(WaitingWrite { request: 1, next_lpn: 20, last_lpn: 21, since: 0 });
        assert_eq!([(); 2].map(|()| buffer.next_foreground_flush(0).is_some()), [true; 2]);
        assert_eq!(buffer.next_foreground_flush(0), None, "three are on their way for three");
        buffer.flushed(first, false, None);
        buffer.stop_waiting(0);
        assert_eq!((buffer.pages_waiting(), buffer.next_foreground_flush(0)), (2, None));
        buffer.wait(WaitingWrite { request: 1, next_lpn: 21, last_lpn: 21, since: 0 });
        assert_eq!((buffer.pages_waiting(), buffer.next_foreground_flush(1)), (1, None));
        assert!(buffer.next_foreground_flush(2).is_some(), "two of two on their way get nowhere");
    }

    #[test]
    fn sectors_written_in_flight_wait_for_the_next_flush_and_serve_reads() {
        let mut buffer = buffer(1, 0);
        buffer.insert(9, 0b0011);
        let index = buffer.next_flush().unwrap();
        assert_eq!(buffer.insert(9, 0b0100), Some(index));
        assert_eq!(buffer.find(9), Some((index, 0b0111)));
        assert!(!buffer.flushed(index, false, None));
        assert_eq!(buffer.find(9), Some((index, 0b0100)));
        assert_eq!(buffer.next_flush(), Some(index));
        assert!(buffer.flushed(index, false, None));
        assert_eq!(buffer.find(9), None);
    }

    #[test]
    fn a_page_that_is_given_up_leaves_at_once_or_when_its_program_ends() {
        let mut buffer = buffer(2, 50);
        assert_eq!(buffer.drop_page(9), Dropped::Absent);
        buffer.insert(9, 0b0011);
        assert_eq!(buffer.drop_page(9), Dropped::Freed);
        assert_eq!((buffer.occupied(), buffer.find(9)), (0, None));
        buffer.insert(9, 0b0011);
        buffer.insert(8, 0b0001);
        let index = buffer.next_flush().unwrap();
        buffer.set_program(index, 17);
        buffer.insert(9, 0b0100);
        assert_eq!(buffer.drop_page(9), Dropped::InFlight(17));
        assert_eq!(buffer.find(9), Some((index, 0)), "the entry is taken, and has nothing");
        // What is written now waits for that program like any sector written in flight.
        assert_eq!(buffer.insert(9, 0b1000), Some(index));
        assert!(!buffer.flushed(index, false, None));
        assert_eq!(buffer.find(9), Some((index, 0b1000)));
        assert_eq!(buffer.drop_page(8), Dropped::Freed);
        assert_eq!(buffer.drop_page(9), Dropped::Freed);
        assert_eq!(buffer.occupied(), 0);
    }

    proptest! {
        #[test]
        fn while_it_is_closed_the_page_that_found_no_room_finds_none(
            steps in prop::collection::vec((0u8..7, 0u32..6, any::<bool>()), 1..80),
        ) {
            let mut buffer = buffer(4, 50);
            let mut asked = None;
            for (what, lpn, given_up) in steps {
                let flights: Vec<u32> = buffer.taken().into_iter().filter(|&index| buffer.is_in_flight(index)).collect();
                match what {
                    0 | 1 if asked.is_none() => {
                        if buffer.insert(lpn, 1).is_none() {
                            buffer.wait(WaitingWrite { request: 0, next_lpn: lpn, last_lpn: lpn + 1, since: 0 });
                            while buffer.next_foreground_flush(0).is_some() {}
                            asked = Some(lpn);
                        }
                        buffer.next_flush();
                    }
                    2 => drop(buffer.drop_page(lpn)),
                    3 => drop(buffer.drop_dirty(lpn)),
                    4 => buffer.set_room(2 + lpn % 3),
                    5 => drop(flights.first().map(|&index| buffer.flushed(index, false, None))),
                    6 => drop(flights.first().map(|&index| buffer.return_flight(index, given_up))),
                    _ => {}
                }
                if let Some(lpn) = asked {
                    if buffer.is_open() {
                        buffer.stop_waiting(0);
                        asked = None;
                    } else {
                        prop_assert_eq!(buffer.insert(lpn, 1), None);
                        prop_assert_eq!(buffer.next_foreground_flush(0), None);
                    }
                }
            }
        }
    }
}
