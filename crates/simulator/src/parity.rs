//! How often a workload's writes take the parity of their stripe along.
//!
//! Pages that are written one by one take the parity each time, whole stripes once. Which of them leave the write buffer
//! together follows from the requests and from the size of the buffer. So the requests are put into a buffer without time, from which
//! the stripe written longest ago leaves while it holds more than the device's threshold.

use std::collections::{BTreeMap, HashMap};
use tinytail_core::commands::{Command, CommandKind};
use tinytail_core::design::Design;
use tinytail_core::device::Device;
use tinytail_core::stripes::Stripes;
use tinytail_workload::{Arrival, SourceContext, Workload, WorkloadError};

/// Requests that are looked at, at most.
const REQUESTS_MAX: u64 = 1 << 20;
/// So many buffers of pages are enough, and so many pages at least.
const BUFFERS: u64 = 8;
const PAGES_MIN: u64 = 1 << 12;
/// Requests of each stream in turn.
const IN_TURN: usize = 16;

/// The write buffer without time: stripes with dirty pages, in the order of writing.
struct Buffer<'a> {
    stripes: &'a Stripes,
    most: u64,
    /// The pages of each stripe, one bit each, and its place in the order.
    dirty: HashMap<u32, (u64, u64)>,
    order: BTreeMap<u64, u32>,
    held: u64,
    /// How many pages have come, which is a place in the order.
    came: u64,
    /// Pages of the host and of parity that have left.
    left: (u64, u64),
}

impl<'a> Buffer<'a> {
    fn new(stripes: &'a Stripes, device: &Device) -> Self {
        let pages = u64::from(device.ram.buffer_kib) * 1024 / u64::from(device.geometry.page_bytes);
        let most = pages * u64::from(device.ram.flush_above_percent) / 100;
        Self { stripes, most, dirty: HashMap::new(), order: BTreeMap::new(), held: 0, came: 0, left: (0, 0) }
    }

    fn write(&mut self, lpn: u32) {
        let stripe = self.stripes.of(lpn);
        let (members, place) = self.dirty.entry(stripe).or_default();
        let member = 1 << self.stripes.member_of(lpn);
        self.held += u64::from(*members & member == 0);
        *members |= member;
        self.order.remove(&std::mem::replace(place, self.came));
        self.order.insert(self.came, stripe);
        self.came += 1;
        while self.held > self.most {
            self.destage();
        }
    }

    /// The stripe written longest ago leaves.
    fn destage(&mut self) {
        let Some((_, stripe)) = self.order.pop_first() else { return };
        let (members, _) = self.dirty.remove(&stripe).unwrap_or_default();
        let pages = u64::from(members.count_ones());
        self.held -= pages;
        self.left = (self.left.0 + pages, self.left.1 + 1);
    }

    /// Parity pages for each hundred of the host's, in whole ones. What has left decides; if nothing has, what would leave in the end.
    fn percent(mut self) -> Option<u32> {
        while self.left.0 == 0 && !self.order.is_empty() {
            self.destage();
        }
        let (pages, parity) = self.left;
        (pages > 0).then(|| (parity * 100).div_ceil(pages).clamp(1, 100) as u32)
    }
}

/// How often the workload writes the parity of a page that it writes, in percent; nothing where pages form no stripes, or none is written.
pub(crate) fn parity_percent(
    device: &Device,
    design: &mut Design,
    workload: &Workload,
    seed: u64,
    requests: Option<u64>,
    context: &SourceContext,
) -> Result<Option<u32>, WorkloadError> {
    let Some(stripes) = design.place.stripes() else { return Ok(None) };
    let mut buffer = Buffer::new(&stripes, device);
    let per_page = u64::from(device.geometry.sectors_per_page());
    let enough = (BUFFERS * buffer.most).max(PAGES_MIN);
    let mut left = requests.map_or(REQUESTS_MAX, |requests| requests.min(REQUESTS_MAX));
    let mut streams = workload.streams(seed, context, Some(left))?.streams;
    let mut batch: Vec<Arrival> = Vec::new();
    while left > 0 && buffer.left.0 < enough && !streams.is_empty() {
        // A stream that can't be read ends here; the run says so where it gets there.
        streams.retain_mut(|stream| stream.source.fill(&mut batch, IN_TURN).is_ok_and(|given| given > 0));
        left = left.saturating_sub(batch.len() as u64);
        for Arrival { command: Command { kind, sector, sectors, .. }, .. } in batch.drain(..) {
            if kind == CommandKind::Write {
                (sector / per_page..=(sector + u64::from(sectors) - 1) / per_page).for_each(|lpn| buffer.write(lpn as u32));
            }
        }
    }
    Ok(buffer.percent())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog;
    use crate::settings::Settings;

    /// The share for writes of so many pages from pages of so many on, in a buffer of so many pages.
    fn percent(buffer_pages: u32, write: u32, starts: impl Iterator<Item = u32>) -> u32 {
        let mut device = catalog::device("ttflash-small").unwrap();
        device.ram.buffer_kib = 4 * buffer_pages;
        let (mut design, _) = catalog::fitted("ttflash", &mut device, &Settings::default()).unwrap();
        let stripes = design.place.stripes().unwrap();
        let mut buffer = Buffer::new(&stripes, &device);
        starts.for_each(|start| (start..start + write).for_each(|lpn| buffer.write(lpn)));
        buffer.percent().unwrap()
    }

    #[test]
    fn single_pages_take_their_parity_each_time_and_whole_stripes_of_eight_once() {
        // Pages far from each other.
        let apart = |count: u32| (0..count).map(|index| index * 1009 % 2000 * 49);
        assert_eq!(percent(100, 1, apart(1000)), 100);
        assert_eq!(percent(100, 7, apart(1000)), 15, "a seventh, rounded up");
        // Two of each stripe at a time; the second starts are a stripe's last page.
        assert_eq!(percent(100, 2, apart(1000)), 50);
        assert_eq!(percent(100, 2, apart(1000).map(|lpn| lpn + 6)), 100);
        // Page after page in order: the buffer gathers whole stripes.
        assert_eq!(percent(100, 1, 0..5000), 15);
        // Fewer than the buffer holds.
        assert_eq!(percent(100, 1, apart(20)), 100);
    }

    #[test]
    fn a_page_that_is_written_again_in_the_buffer_leaves_once() {
        let twice = (0..2000u32).flat_map(|index| [index * 14 % 100_000, index * 14 % 100_000 + 1]);
        assert_eq!(percent(100, 1, twice.clone().flat_map(|lpn| [lpn, lpn])), percent(100, 1, twice));
    }

    #[test]
    fn without_a_buffer_each_page_leaves_at_once() {
        assert_eq!(percent(1, 7, (0..100).map(|index| index * 7)), 100);
    }
}
