//! What is kept between the host and the translation layer: the write buffer, stripes and their moves, bit errors, scrubbing.

use crate::buffer::write_buffer::{WaitingWrite, WriteBuffer};
use crate::device::Device;
use crate::ids::Lpn;
use crate::media::errors::PageErrors;
use crate::raid::active::Rain;
use crate::raid::mover::Levelling;
use crate::raid::scrubber::Scrubbing;
use crate::stripes::Stripes;

/// The write buffer, stripes with parity and their moves, bit errors, and scrubbing.
#[derive(Debug)]
pub struct Raid {
    pub(crate) buffer: WriteBuffer,
    /// Coming flushes whose map entries have been fetched.
    pub(super) flushes_fetched: u32,
    /// The stripes that pages form with parity, if they do.
    pub(crate) rain: Option<Box<Rain>>,
    /// Bit errors, if the flash has any.
    pub(crate) errors: Option<Box<PageErrors>>,
    /// The moves of stripes for the sake of wear.
    pub(crate) levelling: Levelling,
    /// What reads suspect pages while dies are idle.
    pub(crate) scrubbing: Scrubbing,
}

impl Raid {
    /// Whether the host gave a page up that is still mapped for the sake of its stripe's parity.
    #[inline]
    pub(crate) fn is_trimmed(&self, lpn: Lpn) -> bool {
        self.rain.as_ref().is_some_and(|rain| rain.is_trimmed(lpn))
    }

    /// Whether reads behind GCs are asked about.
    #[inline]
    pub(crate) fn plans_reads(&self) -> bool {
        self.rain.as_ref().is_some_and(|rain| rain.plans_reads())
    }

    /// The write that waits longest for the buffer, if it might find room or might have to make some. Where stripes leave it, that is
    /// for their policy to say, by what the planes do; where programs wait for each other, as where the drive `assembles` them, it
    /// depends on what waits.
    #[inline(always)]
    pub(crate) fn lets_in(&self, assembles: bool) -> Option<WaitingWrite> {
        let first = self.buffer.waiting().front()?;
        (self.buffer.is_open() || self.rain.is_some() || assembles).then_some(*first)
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

    /// The steps that pages on their way from the buffer to the flash have under way.
    pub(crate) fn steps_under_way(&self) -> u32 {
        self.rain.as_ref().map_or(self.buffer.in_flight(), |rain| rain.steps_under_way)
    }

    /// That of a drive in which nothing is under way. `plans_reads`: reads behind GCs are asked about.
    pub(crate) fn new(device: &Device, stripes: Option<Stripes>, plans_reads: bool) -> Self {
        let mut buffer = WriteBuffer::new(device);
        let rain = stripes.map(|stripes| {
            let pages = buffer.capacity();
            buffer.set_room(pages - Rain::reserve(&stripes, pages));
            Box::new(Rain::new(stripes, device.geometry.planes(), pages, plans_reads))
        });
        Self {
            buffer,
            flushes_fetched: 0,
            rain,
            errors: PageErrors::new(device).map(Box::new),
            levelling: Levelling::default(),
            scrubbing: Scrubbing::default(),
        }
    }
}
