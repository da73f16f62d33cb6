//! The drive as data: geometry, timing, what the flash can do, capacity, RAM and starting state.

use crate::ids::{BlockIx, ChannelIx, DieIx, Lpn, PlaneIx, Ppn};
use crate::units::{Ns, SECTOR_BYTES};
use serde::{Deserialize, Serialize};
use tinytail_config::{ConfigError, Decimal, Document, Faults, OneOf, Place, Table, decode, decode_file};

mod check;
mod derived;
mod errors;
mod page_class;
mod plausible;

pub use derived::{Bandwidth, Derived};
pub use errors::{Errors, Rate};
pub use page_class::PageClassLayout;

/// The most planes a die may have: a plane's classes of waiting work take eight bits of a 64-bit mask.
pub const PLANES_PER_DIE_MAX: u32 = 8;

/// Channel > chip > die > plane > block > page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Geometry {
    /// Channels of the drive.
    pub channels: u32,
    /// Chips on each channel.
    pub chips_per_channel: u32,
    /// Dies in each chip.
    pub dies_per_chip: u32,
    /// Planes in each die, at most eight.
    pub planes_per_die: u32,
    /// Blocks in each plane.
    pub blocks_per_plane: u32,
    /// Pages in each block.
    pub pages_per_block: u32,
    /// Bytes of a page, a power of two of at least one sector.
    pub page_bytes: u32,
}

impl Geometry {
    /// Dies of the drive.
    pub fn dies(&self) -> u32 {
        self.channels * self.dies_per_channel()
    }
    /// Dies on one channel.
    pub fn dies_per_channel(&self) -> u32 {
        self.chips_per_channel * self.dies_per_chip
    }
    /// Planes of the drive.
    pub fn planes(&self) -> u32 {
        self.dies() * self.planes_per_die
    }
    /// Pages of so many blocks of a plane.
    pub fn pages_in(&self, blocks: u32) -> u32 {
        blocks.saturating_mul(self.pages_per_block)
    }
    /// Pages in a plane.
    pub fn pages_per_plane(&self) -> u32 {
        self.blocks_per_plane * self.pages_in(1)
    }
    /// Physical pages of the drive.
    pub fn physical_pages(&self) -> u64 {
        u64::from(self.planes()) * u64::from(self.pages_per_plane())
    }
    /// Raw bytes of the drive.
    pub fn raw_bytes(&self) -> u64 {
        self.physical_pages() * u64::from(self.unit_bytes())
    }
    /// Sectors in a page.
    pub fn sectors_per_page(&self) -> u32 {
        self.page_bytes / SECTOR_BYTES
    }
    /// Bytes of a mapping unit, which has an entry in the map and a place in the buffer. It is a page.
    pub fn unit_bytes(&self) -> u32 {
        self.page_bytes
    }
    /// Sectors in a mapping unit.
    pub fn sectors_per_unit(&self) -> u32 {
        self.unit_bytes() / SECTOR_BYTES
    }
    /// The offset of a physical page in its block.
    #[inline]
    pub fn offset_of(&self, ppn: Ppn) -> u32 {
        ppn % self.pages_per_block
    }
    /// The channel of a die.
    #[inline]
    pub fn channel_of(&self, die: DieIx) -> ChannelIx {
        die / self.dies_per_channel()
    }
    /// The die of a plane.
    #[inline]
    pub fn die_of(&self, plane: PlaneIx) -> DieIx {
        plane / self.planes_per_die
    }
    /// The block of a physical page.
    #[inline]
    pub fn block_of(&self, ppn: Ppn) -> BlockIx {
        ppn / self.pages_per_block
    }
    /// The blocks of a plane.
    pub fn blocks_of(&self, plane: PlaneIx) -> std::ops::Range<BlockIx> {
        plane * self.blocks_per_plane..(plane + 1) * self.blocks_per_plane
    }
    /// The plane of a block.
    #[inline]
    pub fn plane_of(&self, block: BlockIx) -> PlaneIx {
        block / self.blocks_per_plane
    }
}

/// How long things take, in nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Timing {
    /// Channel time of one command.
    pub command_ns: Ns,
    /// Channel time of a whole page; part of a page takes its share, rounded up. A file gives this or `channel_mb_per_s`.
    #[serde(default)]
    pub transfer_page_ns: Ns,
    /// Rate of a channel in 10^6 bytes per second, instead of `transfer_page_ns`, which follows from it, rounded to a nanosecond.
    /// A device that has been read has only that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel_mb_per_s: Option<u32>,
    /// Array time of a read, for each page class.
    pub read_ns: Vec<Ns>,
    /// Array time of a program, for each page class.
    pub program_ns: Vec<Ns>,
    /// Where the page classes lie in a block, by rule. A device that has been read has it in its pattern as well.
    #[serde(default)]
    pub page_class_layout: Option<PageClassLayout>,
    /// The page class of each page of a block, repeated over the block.
    #[serde(default = "one_class")]
    pub page_class_pattern: Vec<u8>,
    /// Array time of one erase step.
    pub erase_step_ns: Ns,
    /// Steps of an erase, one to five.
    #[serde(default = "one")]
    pub erase_steps: u32,
    /// After every so many erases of a block its erase takes one step more, up to `erase_steps_max`; none: it never does. Those
    /// before the run, `erases_before` of [`Errors`], count where they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub erases_per_extra_step: Option<u32>,
    /// The most steps of the erase of a worn block.
    #[serde(default = "five")]
    pub erase_steps_max: u32,
    /// Steps of a program, of equal length: pulses with their verification.
    #[serde(default = "one")]
    pub program_steps: u32,
    /// Time from the decision to suspend until the die can serve others; 0 means that the die cannot suspend.
    #[serde(default)]
    pub suspend_ns: Ns,
    /// Time from the decision to resume until the work goes on.
    #[serde(default)]
    pub resume_ns: Ns,
    /// Time of the verify pulse that precedes a step of an erase that is repeated because it was cut and its progress discarded.
    #[serde(default)]
    pub verify_ns: Ns,
    /// Time to read from or write to the buffer in RAM.
    pub ram_ns: Ns,
}

impl Timing {
    /// Array time of one step of a program of so much array time.
    #[inline]
    pub fn program_step_ns(&self, array_ns: Ns) -> Ns {
        // What is made free has one step of no time.
        if self.program_steps == 1 { array_ns.max(1) } else { array_ns.div_ceil(u64::from(self.program_steps)).max(1) }
    }
}

fn five() -> u32 {
    5
}

fn one_class() -> Vec<u8> {
    vec![0]
}

fn one() -> u32 {
    1
}

/// What the flash can do besides reading, programming and erasing, and what it lacks from the factory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Flash {
    /// Reads of several planes of a die may share one command and one array time.
    #[serde(default = "yes")]
    pub multi_plane_read: bool,
    /// Programs of several planes of a die may share one array time.
    #[serde(default = "yes")]
    pub multi_plane_program: bool,
    /// A page that was read moves to a second register, so that its die may read the next one while it waits for the channel or
    /// crosses it.
    #[serde(default)]
    pub cache_register: bool,
    /// Blocks of each plane that are bad from the factory, in percent with at most two decimals; rounded down to blocks.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "f64"))]
    pub bad_block_percent: Decimal<2>,
}

fn yes() -> bool {
    true
}

impl Default for Flash {
    fn default() -> Self {
        Self { multi_plane_read: true, multi_plane_program: true, cache_register: false, bad_block_percent: Decimal::default() }
    }
}

/// A capacity in 10^9 bytes, exact to the byte.
pub type Gigabytes = Decimal<9>;

/// A share that tells single pages of the largest drives apart.
pub type Percent = Decimal<7>;

/// What the host sees of the drive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Capacity that the host sees, in 10^9 bytes, rounded down to pages. A file gives this or `over_provisioning_percent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<f64>"))]
    pub capacity_gb: Option<Gigabytes>,
    /// Physical pages, bad ones among them, that the host does not see, in percent of those that it sees: (physical - logical) /
    /// logical. At most seven decimals. The capacity is rounded down to pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<f64>"))]
    pub over_provisioning_percent: Option<Percent>,
    /// Commands that the device takes at a time, over all its queues; more wait in the host.
    pub queue_depth: u32,
    /// The depth is that of each queue, instead of all together.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub depth_per_queue: bool,
    /// Weight of each device queue in the weighted round robin by which the device takes commands.
    #[serde(default = "one_queue")]
    pub queue_weights: Vec<u32>,
    /// Rate of the link in 10^6 bytes per second, each way; none: data cross in no time.
    #[serde(default)]
    pub link_mb_per_s: Option<u32>,
    /// Fixed time of every command, in which it holds its place in the device queue and nothing else.
    #[serde(default)]
    pub overhead_ns: Ns,
}

fn one_queue() -> Vec<u32> {
    vec![1]
}

impl Host {
    /// Time of a piece of data on the link.
    pub fn link_ns(&self, bytes: u64) -> Ns {
        self.link_mb_per_s.map_or(0, |rate| (bytes * 1000).div_ceil(u64::from(rate)))
    }
}

/// The capacitor-backed write buffer, and what else has its place in RAM.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Ram {
    /// Size in KiB; 0 means that a write completes when it is programmed.
    pub buffer_kib: u32,
    /// Occupancy above which the background flush runs, in percent.
    #[serde(default = "eighty")]
    pub flush_above_percent: u32,
    /// Size of the table of moved stripes in KiB; none: a sixteenth of the map.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stripe_table_kib: Option<u32>,
}

fn eighty() -> u32 {
    80
}

/// The state in which runs start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct StartingState {
    /// Share of the physical pages that hold live data, in percent; limited by the logical size. With 0 the drive starts empty, and
    /// writes map pages as they arrive.
    pub live_percent: u32,
    /// Erased share of each plane's pages at which ageing holds it, in percent; if not given, where the design's own GC begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free_percent: Option<f64>,
    /// Random overwrites of the live data during ageing, in percent of the live pages.
    pub overwrite_percent: u32,
    /// How the state is reached.
    #[serde(default)]
    pub ageing: AgeingMethod,
    /// Length of a round of ageing to the steady state, in percent of the live pages; 100 if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_percent: Option<u32>,
    /// How often ageing writes the parity of the page that it overwrites, in percent, where pages form stripes. If not given, as often
    /// as the run's workload does; without a workload always, as writes of single pages do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parity_percent: Option<u32>,
    /// All planes begin with as many erased pages as the one that has the fewest, instead of each at a moment of its own between two
    /// collections.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub level_planes: bool,
}

impl StartingState {
    /// Length of a round of ageing to the steady state, in percent of the live pages.
    pub fn round_percent(&self) -> u32 {
        self.round_percent.unwrap_or(100)
    }

    /// How often ageing writes the parity of the page that it overwrites, in percent, where pages form stripes.
    pub fn parity_percent(&self) -> u32 {
        self.parity_percent.unwrap_or(100)
    }
}

/// How ageing reaches the starting state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum AgeingMethod {
    /// The live pages are written, then overwritten to the stated amount.
    #[default]
    Overwrite,
    /// Then rounds of overwrites follow until write amplification is steady.
    Steady,
    /// The steady state is drawn from its theory, without writing.
    Statistical,
    /// The live pages lie at random among the programmed ones.
    Random,
}

/// A drive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Device {
    /// Name.
    pub name: String,
    /// One line about it.
    pub summary: String,
    /// Geometry.
    pub geometry: Geometry,
    /// Timing.
    pub timing: Timing,
    /// What the flash can do.
    #[serde(default)]
    pub flash: Flash,
    /// What the host sees.
    pub host: Host,
    /// The write buffer.
    pub ram: Ram,
    /// The state in which runs start.
    pub state: StartingState,
    /// Bit errors of the flash; none: it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errors: Option<Errors>,
    /// What holds for runs on it if nobody says otherwise.
    #[serde(default)]
    pub defaults: Defaults,
}

/// What holds for runs on a drive if nobody says otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Defaults {
    /// Composition of the design that is the drive's own.
    #[serde(default = "firmware")]
    pub design: String,
    /// A sentence that stands beside every answer: how far the drive is held against a real one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

/// The design of drives of which nobody says otherwise.
fn firmware() -> String {
    "firmware".into()
}

impl Default for Defaults {
    fn default() -> Self {
        Self { design: firmware(), note: String::new() }
    }
}

/// The sections of a device file.
pub const SECTIONS: [&str; 8] = ["geometry", "timing", "flash", "host", "ram", "state", "errors", "defaults"];

/// Keys of which a device file gives one.
pub const ONE_OF: [OneOf; 3] = [
    OneOf { section: "timing", keys: ["transfer_page_ns", "channel_mb_per_s"], needed: true },
    OneOf { section: "timing", keys: ["page_class_layout", "page_class_pattern"], needed: false },
    OneOf { section: "host", keys: ["capacity_gb", "over_provisioning_percent"], needed: true },
];

impl Device {
    /// Steps of the erase of a block that has been erased so many times in the run.
    pub fn erase_steps_after(&self, erases: u32) -> u32 {
        let timing = &self.timing;
        let Some(each) = timing.erases_per_extra_step else { return timing.erase_steps };
        let before = self.errors.as_ref().map_or(0, |errors| errors.erases_before);
        timing.erase_steps.saturating_add(before.saturating_add(erases) / each).min(timing.erase_steps_max)
    }

    /// How many page classes are programmed faster than the page at an offset of a block: 0 for the fast pages. Where all take
    /// equally long, all are fast.
    pub fn program_rank(&self, offset: u32) -> u32 {
        let Timing { program_ns, page_class_pattern: pattern, .. } = &self.timing;
        let own = program_ns[usize::from(pattern[offset as usize % pattern.len()])];
        program_ns.iter().filter(|&&ns| ns < own).count() as u32
    }

    /// The rank of the slowest pages.
    pub fn program_rank_max(&self) -> u32 {
        let slowest = self.timing.program_ns.iter().max();
        self.timing.program_ns.iter().filter(|&ns| Some(ns) < slowest).count() as u32
    }

    /// Whether the page at an offset of a block is fast and the next one is, too; where no two of a block are, whether it is fast.
    pub fn begins_fast_pair(&self, offset: u32) -> bool {
        let is_fast = |offset: u32| self.program_rank(offset) == 0;
        let is_pair = |offset: u32| offset + 1 < self.geometry.pages_per_block && is_fast(offset) && is_fast(offset + 1);
        is_pair(offset) || is_fast(offset) && !(0..self.geometry.pages_per_block).any(is_pair)
    }

    /// Reads a device from its document and checks it.
    ///
    /// # Errors
    /// Unknown keys or sections, impossible geometry, no over-provisioning: with file, line and what is allowed.
    pub fn from_document(document: &Document) -> Result<Self, ConfigError> {
        Self::from_documents(&[document])
    }

    /// As `from_document`, of a device whose values later documents replace.
    ///
    /// # Errors
    /// As for `from_document`.
    pub fn from_documents(documents: &[&Document]) -> Result<Self, ConfigError> {
        let (mut faults, mut of_groups) = (Faults::default(), Faults::default());
        let root = Document::merged(documents, &ONE_OF, &mut of_groups);
        let device: Option<Self> = decode_file(&root, &Place::new(&documents[0].name, 0), &SECTIONS, &mut faults);
        if let Err(error) = of_groups.result() {
            faults.add(error);
        }
        let placed = |error: ConfigError| error.placed(documents.iter().copied());
        let mut device = Self::checked(device, faults).map_err(placed)?;
        if let Some(rate) = device.timing.channel_mb_per_s.take() {
            let (thousandths, rate) = (u64::from(device.geometry.page_bytes) * 1000, u64::from(rate));
            device.timing.transfer_page_ns = (thousandths + rate / 2) / rate;
        }
        if let Some(layout) = device.timing.page_class_layout {
            device.timing.page_class_pattern = layout.classes(device.timing.read_ns.len() as u32, device.geometry.pages_per_block);
        }
        Ok(device)
    }

    /// The device with some values of its starting state replaced; `source` is what messages call the place they come from.
    ///
    /// # Errors
    /// Unknown keys and values that are not allowed, as in a device's file.
    pub fn with_state(mut self, source: &str, values: toml::Table) -> Result<Self, ConfigError> {
        let place = Place::new(source, 0);
        let mut table = toml::Table::try_from(&self.state).map_err(|error| ConfigError::new(format!("{source}: {error}")))?;
        if values.contains_key("ageing") {
            // A round belongs to the way of ageing that is replaced.
            table.remove("round_percent");
        }
        table.extend(values);
        let mut faults = Faults::default();
        let state = decode(&Table::new(&place, table), &place, "state", &mut faults);
        let device = state.map(|state| {
            self.state = state;
            self
        });
        Self::checked(device, faults).map_err(|error| error.at(&place))
    }

    /// The sections of a device file, with their JSON Schemas.
    #[cfg(test)]
    pub(crate) fn schema_sections() -> Vec<(&'static str, schemars::Schema)> {
        vec![
            ("geometry", schemars::schema_for!(Geometry)),
            ("timing", schemars::schema_for!(Timing)),
            ("flash", schemars::schema_for!(Flash)),
            ("host", schemars::schema_for!(Host)),
            ("ram", schemars::schema_for!(Ram)),
            ("state", schemars::schema_for!(StartingState)),
            ("errors", schemars::schema_for!(Errors)),
            ("defaults", schemars::schema_for!(Defaults)),
        ]
    }

    /// Logical pages: what the host can address.
    pub fn logical_pages(&self) -> u64 {
        let (logical, physical) = self.logical_share();
        (u128::from(self.geometry.physical_pages()) * u128::from(logical) / u128::from(physical)) as u64
    }

    /// The share of the physical pages that is logical, as the file states it: a fraction, not rounded to pages.
    fn logical_share(&self) -> (u64, u64) {
        /// A hundred percent.
        const ALL: u64 = 100 * Percent::ONE;
        match (self.host.capacity_gb, self.host.over_provisioning_percent) {
            (Some(capacity), _) => (capacity.units(), self.geometry.raw_bytes()),
            (None, Some(percent)) => (ALL, ALL + percent.units()),
            (None, None) => (1, 1),
        }
    }

    /// The capacity of so many logical pages.
    pub fn gigabytes(&self, logical_pages: u64) -> Gigabytes {
        Gigabytes::of_units(logical_pages * u64::from(self.geometry.unit_bytes()))
    }

    /// Makes the drive one of so many logical pages.
    pub fn set_logical_pages(&mut self, pages: u64) {
        (self.host.capacity_gb, self.host.over_provisioning_percent) = (Some(self.gigabytes(pages)), None);
    }

    /// Blocks that the logical pages of each plane fill, where all planes have as many.
    pub fn logical_blocks_per_plane(&self) -> u32 {
        let g = &self.geometry;
        self.logical_pages().div_ceil(u64::from(g.planes()) * u64::from(g.pages_in(1))) as u32
    }

    /// Blocks that the live pages of each plane fill when a run starts.
    pub(crate) fn live_blocks_per_plane(&self) -> u32 {
        let g = &self.geometry;
        self.mapped_pages().div_ceil(g.planes() * g.pages_in(1))
    }

    /// Sectors that the host can address.
    pub fn logical_sectors(&self) -> u64 {
        self.logical_pages() * u64::from(self.geometry.sectors_per_unit())
    }

    /// Pages that are mapped when a run starts, from logical page 0, where pages stand alone.
    pub fn mapped_pages(&self) -> Lpn {
        self.mapped_pages_beside_parity(1, 0)
    }

    /// The same where of so many pages some are parity: whole stripes, parity included in the share of live pages.
    pub(crate) fn mapped_pages_beside_parity(&self, width: u32, parity: u32) -> Lpn {
        (self.live_pages() / u64::from(width) * u64::from(width - parity)).min(self.logical_pages()) as Lpn
    }

    /// Pages that the starting state has room for, parity among them.
    pub(crate) fn live_pages(&self) -> u64 {
        self.geometry.physical_pages() * u64::from(self.state.live_percent) / 100
    }

    /// Whether runs start with an empty drive, on which writes map pages as they arrive.
    pub fn starts_empty(&self) -> bool {
        self.state.live_percent == 0
    }

    /// Blocks of each plane that are bad from the factory.
    pub fn bad_blocks_per_plane(&self) -> u32 {
        (u64::from(self.geometry.blocks_per_plane) * self.flash.bad_block_percent.units() / (100 * Decimal::<2>::ONE)) as u32
    }

    /// Physical pages outside bad blocks.
    pub fn usable_pages(&self) -> u64 {
        let g = &self.geometry;
        g.physical_pages() - u64::from(g.planes()) * u64::from(self.bad_blocks_per_plane()) * u64::from(g.pages_in(1))
    }
}
