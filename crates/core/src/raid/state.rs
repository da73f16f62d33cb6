//! What is kept between the host and the translation layer: the write buffer, stripes and their moves, bit errors, scrubbing.

use crate::buffer::counters::BufferCounters;
use crate::buffer::write_buffer::{WaitingWrite, WriteBuffer};
use crate::device::Device;
use crate::flash::op::Owner;
use crate::ftl::{FETCHED_AT_ONCE, Tables};
use crate::ids::{BlockIx, DieIx, Lpn, NONE, Ppn};
use crate::media::errors::{Found, PageErrors};
use crate::raid::active::{Rain, StripeWrite};
use crate::raid::counters::RaidCounters;
use crate::raid::job::Job;
use crate::raid::mover::Levelling;
use crate::raid::scrubber::Scrubbing;
use crate::raid::traits::RaidTraits;
use crate::slab::Slab;
use crate::stripes::Stripes;
use crate::units::Ns;

/// The write buffer, stripes with parity and their moves, bit errors, and scrubbing.
#[derive(Debug)]
pub struct Raid {
    /// What the design makes it do.
    pub(crate) traits: RaidTraits,
    pub(crate) counters: RaidCounters,
    pub(crate) buffer: WriteBuffer,
    /// Coming flushes whose map entries have been fetched.
    flushes_fetched: u32,
    /// The stripes that pages form with parity, if they do.
    pub(crate) rain: Option<Box<Rain>>,
    /// Bit errors, if the flash has any.
    pub(crate) errors: Option<Box<PageErrors>>,
    /// The moves of stripes for the sake of wear.
    pub(crate) levelling: Levelling,
    /// What reads suspect pages while dies are idle.
    pub(crate) scrubbing: Scrubbing,
    /// The fork-join jobs under way.
    pub(super) jobs: Slab<Job>,
}

impl Raid {
    /// Whether the host gave a page up that is still mapped for the sake of its stripe's parity.
    #[inline]
    pub(crate) fn is_trimmed(&self, lpn: Lpn) -> bool {
        self.rain.as_ref().is_some_and(|rain| rain.is_trimmed(lpn))
    }

    /// The entry of a page that reads find in RAM, and the sectors that it has.
    #[inline]
    pub(crate) fn find_in_ram(&self, lpn: Lpn) -> Option<(u32, u64)> {
        if self.buffer.exists() && !self.is_trimmed(lpn) { self.buffer.find(lpn) } else { None }
    }

    /// The write that waits longest for the buffer, if it might find room or might have to make some. Where stripes leave it, that is
    /// for their policy to say, by what the planes do; where programs wait for each other, as where the drive `assembles` them, it
    /// depends on what waits.
    #[inline(always)]
    pub(crate) fn lets_in(&self, assembles: bool) -> Option<WaitingWrite> {
        let first = self.buffer.waiting().front()?;
        (self.buffer.is_open() || self.rain.is_some() || assembles).then_some(*first)
    }

    /// The entry to flush next while the buffer holds more than its threshold. The map entries of those after it are brought near.
    #[inline]
    pub(super) fn next_flush(&mut self, tables: &Tables) -> Option<u32> {
        let entry = self.buffer.next_flush()?;
        self.flushes_fetched = match self.flushes_fetched.checked_sub(1) {
            Some(left) => left,
            None => {
                self.buffer.oldest_lpns(FETCHED_AT_ONCE).for_each(|lpn| tables.prefetch(lpn));
                FETCHED_AT_ONCE as u32 - 1
            }
        };
        Some(entry)
    }

    /// Limits what the host may have in the buffer to what parity leaves of it.
    pub(crate) fn settle_room(&mut self) {
        if let Some(rain) = &self.rain {
            let capacity = self.buffer.capacity();
            self.buffer.set_room(capacity - rain.parity_pages.max(Rain::reserve(&rain.stripes, capacity)));
        }
    }

    /// Whether a stripe must leave and can: while the buffer holds more than its threshold or fewer than `pages` pages that no GC
    /// defers are in flight, and one more page of parity has room.
    pub(super) fn stripes_must_leave(&self, pages: u32) -> bool {
        let (buffer, rain) = (&self.buffer, self.rain.as_ref().expect("only drives with stripes get here"));
        let must = buffer.is_above_threshold() || buffer.in_flight() - rain.retained_pages < pages;
        must && buffer.occupied() + rain.parity_pages < buffer.capacity()
    }

    /// The host gives up a page of a stripe, which stays where it is if it is `mapped`, since the parity covers it, and reads as
    /// zeroes until it is written again. What is in the buffer and not on its way is dropped. Returns whether anything was, and
    /// whether the page itself was given up that had not been before.
    pub(crate) fn give_up_in_stripe(&mut self, lpn: Lpn, mapped: bool) -> (bool, bool) {
        let rain = self.rain.as_mut().expect("only drives with stripes get here");
        let on_its_way = self.buffer.find(lpn).is_some_and(|(entry, _)| self.buffer.entry(entry).flight != 0);
        let dropped = self.buffer.drop_dirty(lpn);
        if dropped {
            rain.note_dropped(lpn);
        }
        (dropped, (mapped || on_its_way) && !rain.set_trimmed(lpn, true))
    }

    /// Whether a stripe may begin to move now.
    pub(super) fn may_move(&self, stripe: u32, now: Ns) -> bool {
        self.levelling.may_begin(now) && self.rain.as_ref().is_some_and(|rain| rain.active.find(stripe).is_none())
    }

    /// The page whose copy a number behind all others stands for while its stripe moves.
    pub(super) fn page_on_the_move(&self, number: Lpn) -> Option<Lpn> {
        let stripes = &self.rain.as_ref()?.stripes;
        let place = u64::from(number).checked_sub(stripes.pages())?;
        self.levelling.moving_stripe().map(|stripe| stripes.page_in(stripe, place as u32))
    }

    /// What the ECC finds in a page that a read brings. A copy that a stripe's move has made has the luck of its page, whose
    /// number it does not bear yet.
    pub(crate) fn find_errors(&self, tables: &Tables, lpn: Lpn, ppn: Ppn) -> Found {
        let page = self.page_on_the_move(lpn).unwrap_or(lpn);
        let errors = self.errors.as_ref().expect("only devices with errors get here");
        errors.find(page, ppn, tables.erase_count(tables.block_of(ppn)))
    }

    /// The other mapped pages of a page's stripe; none while the stripe is on its way or the page on the move, of whose stripe there is
    /// another copy.
    pub(super) fn rest_of_stripe(&self, tables: &Tables, lpn: Lpn) -> Vec<Lpn> {
        let Some(rain) = self.rain.as_ref().filter(|rain| u64::from(lpn) < rain.stripes.pages()) else { return Vec::new() };
        let stripe = rain.stripes.of(lpn);
        if rain.is_on_its_way(stripe) {
            return Vec::new();
        }
        let (_, members) = rain.stripes.members(stripe);
        let pages = (0..=members).map(|place| rain.stripes.page_in(stripe, place));
        pages.filter(|&page| page != lpn && tables.lookup(page) != NONE).collect()
    }

    /// A die's scrubber begins to look through a block.
    pub(super) fn begin_look(&mut self, die: DieIx, block: BlockIx, tables: &Tables) {
        self.scrubbing.dies[die as usize].unseen = tables.pages_of(block);
        self.errors.as_mut().expect("scrubbers are for devices with errors").begin_look(block);
    }

    /// A page that a read brought for an owner could not be corrected. What becomes of it is only counted.
    pub(super) fn note_unreadable_source(&mut self, owner: Owner) {
        if let (Some(rebuild), Some(rain)) = (self.rebuild_of(owner), &mut self.rain) {
            rain.rebuilds[rebuild as usize].beyond_ecc = true;
        }
    }

    /// The reconstruction that an operation of an owner is for.
    pub(super) fn rebuild_of(&self, owner: Owner) -> Option<u32> {
        let Owner::Job(job) = owner else { return None };
        let Owner::Rebuild(rebuild) = self.jobs[job as usize].owner else { return None };
        Some(rebuild)
    }

    /// A die's scrubber leaves the page under way as it is. One that needs to be written anew and can't be now is put off: it is looked
    /// at again in a later round.
    pub(super) fn leave_page(&mut self, die: DieIx, tables: &Tables, put_off: bool) {
        let ppn = self.scrubbing.dies[die as usize].end_page();
        if put_off {
            let errors = self.errors.as_mut().expect("scrubbers are for devices with errors");
            errors.put_off(ppn, tables.block_of(ppn));
        }
    }

    /// After a loss of power the next request wakes the scrubbers of dies with suspect blocks.
    pub(crate) fn scrub_after_cut(&mut self, blocks_per_die: u32) {
        let Some(errors) = &self.errors else { return };
        for die in 0..self.scrubbing.dies.len() as DieIx {
            if errors.suspects(die * blocks_per_die..(die + 1) * blocks_per_die).next().is_some() {
                self.scrubbing.owe_a_round(die);
            }
        }
    }

    /// Takes over what a loss of power leaves of the former state: the saved pages of the buffer, the stripes on their way whose parity
    /// had been computed, errors, violations, and pages given up unless these are lost.
    pub(crate) fn take_over(&mut self, old: Self, stripe_writes: &[StripeWrite], tables: &Tables, loses_trims: bool) {
        self.counters = old.counters;
        self.levelling = old.levelling.after_power_loss();
        self.buffer = old.buffer;
        self.errors = old.errors;
        if let Some(errors) = &mut self.errors {
            // How often a page has been copied shows in its bit errors; which have been looked at is forgotten.
            errors.forget_looks(tables);
        }
        if let (Some(rain), Some(mut old)) = (&mut self.rain, old.rain) {
            rain.take_over(&mut old, loses_trims);
            stripe_writes.iter().for_each(|stripe_write| rain.take_back(stripe_write.clone()));
            let entries = self.buffer.taken().into_iter().map(|entry| self.buffer.entry(entry));
            entries.filter(|entry| entry.dirty != 0).for_each(|entry| rain.note_dirty(entry.lpn));
        }
        self.settle_room();
    }

    /// Counts anew.
    pub(crate) fn reset_counters(&mut self) {
        (self.counters, self.buffer.counters) = (RaidCounters::default(), BufferCounters::default());
        if let Some(rain) = &mut self.rain {
            rain.forget_violations();
            self.counters.moved_stripes_max = rain.stripes.table_entries().into();
        }
    }

    /// The steps that pages on their way from the buffer to the flash have under way.
    pub(crate) fn steps_under_way(&self) -> u32 {
        self.rain.as_ref().map_or(self.buffer.in_flight(), |rain| rain.steps_under_way)
    }

    /// That of a drive in which nothing is under way.
    pub(crate) fn new(device: &Device, traits: RaidTraits, stripes: Option<Stripes>) -> Self {
        let mut buffer = WriteBuffer::new(device);
        let rain = stripes.map(|stripes| {
            let pages = buffer.capacity();
            buffer.set_room(pages - Rain::reserve(&stripes, pages));
            Box::new(Rain::new(stripes, device.geometry.planes(), pages))
        });
        Self {
            traits,
            counters: RaidCounters::default(),
            buffer,
            flushes_fetched: 0,
            rain,
            errors: PageErrors::new(device).map(Box::new),
            levelling: Levelling::default(),
            scrubbing: Scrubbing::asleep(if traits.scrubs { device.geometry.dies() } else { 0 }),
            jobs: Slab::with_capacity(64),
        }
    }
}
