//! What is kept between the host and the translation layer: the write buffer, stripes and their moves, bit errors, scrubbing.

use crate::buffer::write_buffer::WriteBuffer;
use crate::device::Device;
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
