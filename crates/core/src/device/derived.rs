//! What follows from a device's data alone: capacity, uncontended latencies, peak bandwidths.

use crate::device::Device;
use crate::units::{Ns, SECTOR_BYTES};
use serde_json::{Value, json};
use tinytail_config::Row;

/// The smallest request that hosts commonly make, in bytes.
const SMALL_BYTES: u32 = 4096;
/// An entry of the table of moved stripes: four bytes of stripe, three of group, one of channel.
const STRIPE_TABLE_ENTRY_BYTES: u64 = 8;

/// Sustained bytes per second of a stream of whole pages over all planes in turn, as each part of the drive alone would allow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bandwidth {
    /// The channels, with a command for each page.
    pub channels: f64,
    /// The dies, one plane of each at a time.
    pub dies: f64,
    /// The dies, with all their planes in one multi-plane command where the flash can do that.
    pub planes: f64,
    /// The host's link; none if it has no limit.
    pub link: Option<f64>,
}

impl Bandwidth {
    /// What the drive reaches with multi-plane commands.
    pub fn peak(&self) -> f64 {
        self.least(self.planes)
    }

    /// What the drive reaches without them.
    pub fn peak_without_multi_plane(&self) -> f64 {
        self.least(self.dies)
    }

    fn least(&self, flash: f64) -> f64 {
        flash.min(self.channels).min(self.link.unwrap_or(f64::INFINITY))
    }
}

/// Quantities that follow from a device's data. Latencies are those of a drive that does nothing else; where they depend on
/// the page class, there is one for each.
#[derive(Debug, Clone, PartialEq)]
pub struct Derived {
    /// Bytes of all physical pages.
    pub raw_bytes: u64,
    /// Bytes that the host can address.
    pub logical_bytes: u64,
    /// Bytes of a plane.
    pub plane_bytes: u64,
    /// Physical pages.
    pub physical_pages: u64,
    /// Physical pages outside bad blocks.
    pub usable_pages: u64,
    /// Logical pages.
    pub logical_pages: u64,
    /// Usable pages beyond the logical ones, in percent of the logical ones: over-provisioning without bad blocks.
    pub effective_over_provisioning_percent: f64,
    /// A host read of a whole page from the flash.
    pub read_page_ns: Vec<Ns>,
    /// A host read of 4 KiB of a page from the flash; empty unless a page is larger.
    pub read_4kib_ns: Vec<Ns>,
    /// A host write of a whole page until it is acknowledged: one value where a buffer does so, else one for each class.
    pub write_page_ns: Vec<Ns>,
    /// A host write of 4 KiB into the buffer; none without buffer or unless a page is larger.
    pub write_4kib_ns: Option<Ns>,
    /// Command, transfer and array time of a program.
    pub program_page_ns: Vec<Ns>,
    /// A copy inside a plane.
    pub copyback_page_ns: Vec<Ns>,
    /// A copy by way of the controller.
    pub controller_copy_page_ns: Vec<Ns>,
    /// A whole erase.
    pub erase_ns: Ns,
    /// Reads.
    pub read: Bandwidth,
    /// Writes that wait for no collection.
    pub write: Bandwidth,
}

impl Device {
    /// Quantities that follow from the data.
    pub fn derived(&self) -> Derived {
        let (g, t, h) = (&self.geometry, &self.timing, &self.host);
        let (page, unit) = (u64::from(g.page_bytes), u64::from(g.unit_bytes()));
        let per_class = |ns: &dyn Fn(usize) -> Ns| (0..t.read_ns.len()).map(ns).collect::<Vec<Ns>>();
        let flash_read =
            |class: usize, bytes: u64| t.command_ns + t.read_ns[class] + self.transfer_ns((bytes / u64::from(SECTOR_BYTES)) as u32);
        let host_read = |bytes: u64| per_class(&|class| h.overhead_ns + flash_read(class, bytes) + h.link_ns(bytes));
        let program_page_ns = per_class(&|class| t.command_ns + t.transfer_page_ns + t.program_ns[class]);
        let buffered = |bytes: u64| h.overhead_ns + h.link_ns(bytes) + t.ram_ns;
        let larger = g.page_bytes > SMALL_BYTES;
        let has_buffer = self.ram.buffer_kib > 0;
        let (usable_pages, logical_pages) = (self.usable_pages(), self.logical_pages());
        Derived {
            raw_bytes: g.raw_bytes(),
            logical_bytes: logical_pages * unit,
            plane_bytes: u64::from(g.pages_per_plane()) * unit,
            physical_pages: g.physical_pages(),
            usable_pages,
            logical_pages,
            effective_over_provisioning_percent: (usable_pages - logical_pages) as f64 * 100.0 / logical_pages as f64,
            read_page_ns: host_read(page),
            read_4kib_ns: if larger { host_read(SMALL_BYTES.into()) } else { Vec::new() },
            write_page_ns: if has_buffer {
                vec![buffered(page)]
            } else {
                program_page_ns.iter().map(|program| h.overhead_ns + h.link_ns(page) + program).collect()
            },
            write_4kib_ns: (larger && has_buffer).then(|| buffered(SMALL_BYTES.into())),
            copyback_page_ns: per_class(&|class| 2 * t.command_ns + t.read_ns[class] + t.program_ns[class]),
            controller_copy_page_ns: per_class(&|class| flash_read(class, page) + program_page_ns[class]),
            erase_ns: t.command_ns + t.erase_step_ns * u64::from(t.erase_steps),
            program_page_ns,
            read: self.read_bandwidth(),
            write: self.write_bandwidth(),
        }
    }

    /// Stripes whose places fit into the table of moved stripes. Left to itself, the table takes a sixteenth of the map's four
    /// bytes for each logical page: TTFLASH, section 7, has it for rare cases in rare workloads.
    pub fn stripe_table_entries(&self) -> u32 {
        let kib = self.ram.stripe_table_kib.map_or_else(|| (self.logical_pages() * 4 / 16).div_ceil(1024), u64::from);
        u32::try_from(kib * 1024 / STRIPE_TABLE_ENTRY_BYTES).unwrap_or(u32::MAX)
    }

    /// Channel time of sectors of a page: their share of a page's, rounded up.
    #[inline]
    pub fn transfer_ns(&self, sectors: u32) -> Ns {
        let per_page = self.geometry.sectors_per_page();
        let whole = self.timing.transfer_page_ns;
        if sectors == per_page { whole } else { (whole * u64::from(sectors)).div_ceil(u64::from(per_page)) }
    }

    fn read_bandwidth(&self) -> Bandwidth {
        let t = &self.timing;
        // The command of the next read goes before the data of the last, so only array and transfer overlap.
        self.bandwidth(&t.read_ns, self.flash.multi_plane_read, |array, planes| {
            let transfer = planes * t.transfer_page_ns;
            planes * t.command_ns + if self.flash.cache_register { array.max(transfer) } else { array + transfer }
        })
    }

    fn write_bandwidth(&self) -> Bandwidth {
        let t = &self.timing;
        self.bandwidth(&t.program_ns, self.flash.multi_plane_program, |array, planes| planes * (t.command_ns + t.transfer_page_ns) + array)
    }

    /// `busy_ns` says for how long a command of so many planes, with such an array time, keeps its die.
    fn bandwidth(&self, array_ns: &[Ns], multi_plane: bool, busy_ns: impl Fn(Ns, u64) -> Ns) -> Bandwidth {
        let (g, t) = (&self.geometry, &self.timing);
        let page = f64::from(g.page_bytes);
        // A stream takes the pages of a block in order, so each class counts as often as it occurs.
        let classes = &t.page_class_pattern;
        let of_dies = |planes: u64| {
            let busy: Ns = classes.iter().map(|&class| busy_ns(array_ns[usize::from(class)], planes)).sum();
            f64::from(g.dies()) * planes as f64 * classes.len() as f64 * page * 1e9 / busy as f64
        };
        Bandwidth {
            channels: f64::from(g.channels) * page * 1e9 / (t.command_ns + t.transfer_page_ns) as f64,
            dies: of_dies(1),
            planes: of_dies(if multi_plane { g.planes_per_die.into() } else { 1 }),
            link: self.host.link_mb_per_s.map(|rate| f64::from(rate) * 1e6),
        }
    }
}

impl Derived {
    /// The quantities as rows to be shown, each with how it follows.
    pub fn rows(&self) -> Vec<Row> {
        let row = |key: &str, value: Value, source: &str| Row { section: "derived".into(), key: key.into(), value, source: source.into() };
        let gib = |bytes: u64| rounded(bytes as f64 / f64::from(1 << 30));
        let mut rows = vec![
            row("raw_gib", gib(self.raw_bytes), "product of the geometry"),
            row("logical_gib", gib(self.logical_bytes), "logical pages"),
            row("plane_gib", gib(self.plane_bytes), "product of the geometry"),
            row("physical_pages", self.physical_pages.into(), "product of the geometry"),
        ];
        if self.usable_pages < self.physical_pages {
            rows.push(row("usable_pages", self.usable_pages.into(), "physical pages outside bad blocks"));
        }
        rows.extend([
            row("logical_pages", self.logical_pages.into(), "capacity_gb, or physical pages / (1 + over_provisioning_percent / 100)"),
            row(
                "effective_over_provisioning_percent",
                rounded(self.effective_over_provisioning_percent),
                "usable pages / logical pages - 1",
            ),
            row("read_page_ns", times(&self.read_page_ns), "overhead + command + array + transfer + link"),
        ]);
        if !self.read_4kib_ns.is_empty() {
            rows.push(row("read_4kib_ns", times(&self.read_4kib_ns), "the same with a share of the transfer"));
        }
        rows.push(row("write_page_ns", times(&self.write_page_ns), "overhead + link + RAM with a buffer, else + program"));
        if let Some(ns) = self.write_4kib_ns {
            rows.push(row("write_4kib_ns", ns.into(), "overhead + link + RAM"));
        }
        rows.extend([
            row("program_page_ns", times(&self.program_page_ns), "command + transfer + array"),
            row("copyback_page_ns", times(&self.copyback_page_ns), "command + array read + command + array program"),
            row("controller_copy_page_ns", times(&self.controller_copy_page_ns), "flash read + program"),
            row("erase_ns", self.erase_ns.into(), "command + steps x step time"),
        ]);
        for (kind, bandwidth) in [("read", &self.read), ("write", &self.write)] {
            let mb_s = |part: &str, bytes_per_s: f64, source: &str| row(&format!("{kind}_{part}_mb_s"), rounded(bytes_per_s / 1e6), source);
            rows.extend([
                mb_s("channels", bandwidth.channels, "pages / (command + transfer), over all channels"),
                mb_s("dies", bandwidth.dies, "one plane at a time, over all dies"),
                mb_s("planes", bandwidth.planes, "multi-plane commands where the flash has them, over all dies"),
            ]);
            rows.extend(bandwidth.link.map(|link| mb_s("link", link, "the host's link")));
            rows.push(mb_s("peak", bandwidth.peak(), "the least of channels, planes and link"));
        }
        rows
    }
}

/// One time, or those of all classes.
fn times(times: &[Ns]) -> Value {
    if let [time] = times { json!(time) } else { json!(times) }
}

/// Three digits behind the point.
fn rounded(value: f64) -> Value {
    json!((value * 1000.0).round() / 1000.0)
}

#[cfg(test)]
mod tests {
    use crate::testkit::tiny_device;
    use serde_json::json;
    use tinytail_config::Decimal;

    #[test]
    fn latencies_are_the_sums_of_their_parts() {
        let mut device = tiny_device();
        device.geometry.page_bytes = 8192;
        device.host.overhead_ns = 7;
        device.host.link_mb_per_s = Some(3000);
        device.timing.read_ns = vec![10, 20];
        device.timing.program_ns = vec![1000, 3000];
        device.timing.page_class_pattern = vec![0, 1];
        // 8192 bytes at 3 bytes each ns are 2730.7 ns on the link; 4096 are 1365.3.
        let direct = device.derived();
        assert_eq!(direct.read_page_ns, [7 + 1 + 10 + 100 + 2731, 7 + 1 + 20 + 100 + 2731]);
        assert_eq!(direct.read_4kib_ns, [7 + 1 + 10 + 50 + 1366, 7 + 1 + 20 + 50 + 1366]);
        assert_eq!(direct.write_page_ns, [7 + 2731 + 1 + 100 + 1000, 7 + 2731 + 1 + 100 + 3000]);
        assert_eq!(direct.write_4kib_ns, None);
        assert_eq!(direct.program_page_ns, [1101, 3101]);
        assert_eq!(direct.copyback_page_ns, [1 + 10 + 1 + 1000, 1 + 20 + 1 + 3000]);
        assert_eq!(direct.controller_copy_page_ns, [1 + 10 + 100 + 1 + 100 + 1000, 1 + 20 + 100 + 1 + 100 + 3000]);
        assert_eq!(direct.erase_ns, 10_001);
        device.ram.buffer_kib = 64;
        let buffered = device.derived();
        assert_eq!((buffered.write_page_ns, buffered.write_4kib_ns), (vec![7 + 2731 + 3], Some(7 + 1366 + 3)));
        device.geometry.page_bytes = 4096;
        let small = device.derived();
        assert_eq!((small.read_4kib_ns, small.write_4kib_ns), (vec![], None));
    }

    #[test]
    fn bandwidths_are_those_of_each_part_alone() {
        let mut device = tiny_device();
        device.geometry.planes_per_die = 4;
        device.timing.command_ns = 5;
        device.timing.read_ns = vec![300, 500];
        device.timing.program_ns = vec![1000, 3000];
        device.timing.page_class_pattern = vec![0, 0, 0, 1];
        let pages = |pages: f64, ns: f64| pages * 4096.0 * 1e9 / ns;
        let close = |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 1e-12, "{found} {expected}");
        let plain = device.derived();
        // Two channels, one die on each. Mean array times: 350 and 1500.
        close(plain.read.channels, pages(2.0, 105.0));
        close(plain.read.dies, pages(2.0, 5.0 + 350.0 + 100.0));
        close(plain.read.planes, pages(8.0, 20.0 + 350.0 + 400.0));
        close(plain.write.dies, pages(2.0, 105.0 + 1500.0));
        close(plain.write.planes, pages(8.0, 420.0 + 1500.0));
        assert_eq!((plain.read.link, plain.read.peak()), (None, plain.read.planes));
        assert_eq!(plain.read.peak_without_multi_plane(), plain.read.dies);
        // With a cache register array and transfer overlap: of four planes 400 and 300, three times, then 400 and 500.
        device.flash.cache_register = true;
        let cached = device.derived();
        close(cached.read.dies, pages(2.0, 5.0 + 350.0));
        close(cached.read.planes, pages(8.0, 20.0 + (3.0 * 400.0 + 500.0) / 4.0));
        assert_eq!(cached.write, plain.write);
        device.flash.multi_plane_read = false;
        let single = device.derived();
        assert_eq!((single.read.planes, single.write.planes), (single.read.dies, plain.write.planes));
        device.host.link_mb_per_s = Some(40);
        let linked = device.derived();
        assert_eq!((linked.read.peak(), linked.write.peak_without_multi_plane()), (40e6, 40e6));
    }

    #[test]
    fn rows_show_gib_and_mb_a_second_with_three_digits() {
        let mut device = tiny_device();
        (device.geometry.pages_per_block, device.geometry.blocks_per_plane) = (4096, 1000);
        (device.geometry.planes_per_die, device.host.link_mb_per_s) = (1, Some(40));
        let derived = device.derived();
        let shown = |key: &str| derived.rows().iter().find(|row| row.key == key).unwrap().value.clone();
        // 1000 blocks of 16 MiB, in two planes, half of them logical.
        assert_eq!((shown("plane_gib"), shown("raw_gib"), shown("logical_gib")), (json!(15.625), json!(31.25), json!(15.625)));
        assert_eq!((shown("read_link_mb_s"), shown("write_peak_mb_s")), (json!(40.0), json!(40.0)));
    }

    #[test]
    fn bad_blocks_are_no_over_provisioning() {
        let mut device = tiny_device();
        // Eight blocks of four pages in each of two planes, half of them logical.
        assert_eq!(device.derived().effective_over_provisioning_percent, 100.0);
        device.flash.bad_block_percent = Decimal::of_units(2500);
        let derived = device.derived();
        assert_eq!((derived.physical_pages, derived.usable_pages, derived.logical_pages), (64, 48, 32));
        assert_eq!(derived.effective_over_provisioning_percent, 50.0);
        assert!(derived.rows().iter().any(|row| row.key == "usable_pages"));
    }
}
