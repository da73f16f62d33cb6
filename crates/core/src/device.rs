//! The drive as data: geometry, timing, capacity, RAM and starting state.

use crate::config::{ConfigError, Document, Row, decode_section};
use crate::event::SLOTS_MAX;
use crate::ids::{BlockIx, ChannelIx, DieIx, Lpn, PlaneIx, Ppn};
use crate::units::{Ns, SECTOR_BYTES};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most planes a die may have: a plane's classes of waiting work take eight bits of a 64-bit mask.
pub const PLANES_PER_DIE_MAX: u32 = 8;

/// Channel > chip > die > plane > block > page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    /// Pages in a plane.
    pub fn pages_per_plane(&self) -> u32 {
        self.blocks_per_plane * self.pages_per_block
    }
    /// Physical pages of the drive.
    pub fn physical_pages(&self) -> u64 {
        u64::from(self.planes()) * u64::from(self.blocks_per_plane) * u64::from(self.pages_per_block)
    }
    /// Raw bytes of the drive.
    pub fn raw_bytes(&self) -> u64 {
        self.physical_pages() * u64::from(self.page_bytes)
    }
    /// Sectors in a page.
    pub fn sectors_per_page(&self) -> u32 {
        self.page_bytes / SECTOR_BYTES
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
    /// The plane of a block.
    #[inline]
    pub fn plane_of(&self, block: BlockIx) -> PlaneIx {
        block / self.blocks_per_plane
    }
}

/// How long things take, in nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Timing {
    /// Channel time of one command.
    pub command_ns: Ns,
    /// Channel time of a whole page; part of a page takes its share, rounded up.
    pub transfer_page_ns: Ns,
    /// Array time of a read, for each page class.
    pub read_ns: Vec<Ns>,
    /// Array time of a program, for each page class.
    pub program_ns: Vec<Ns>,
    /// The page class of each page of a block, repeated over the block.
    #[serde(default = "one_class")]
    pub page_class_pattern: Vec<u8>,
    /// Array time of one erase step.
    pub erase_step_ns: Ns,
    /// Steps of an erase, one to five.
    #[serde(default = "one")]
    pub erase_steps: u32,
    /// Time from the decision to suspend until the die can serve others.
    #[serde(default)]
    pub suspend_ns: Ns,
    /// Time from the decision to resume until the work goes on.
    #[serde(default)]
    pub resume_ns: Ns,
    /// Time to read from or write to the buffer in RAM.
    pub ram_ns: Ns,
}

fn one_class() -> Vec<u8> {
    vec![0]
}

fn one() -> u32 {
    1
}

/// What the host sees of the drive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Logical size in ten-thousandths of the physical pages; the rest is over-provisioning.
    pub logical_permyriad: u32,
    /// Commands that the device takes at a time; more wait in the host.
    pub queue_depth: u32,
}

/// The capacitor-backed write buffer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ram {
    /// Size in KiB; 0 means that a write completes when it is programmed.
    pub buffer_kib: u32,
    /// Occupancy above which the background flush runs, in percent.
    #[serde(default = "eighty")]
    pub flush_above_percent: u32,
}

fn eighty() -> u32 {
    80
}

/// The state in which runs start, the same for every design.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StartingState {
    /// Share of the physical pages that hold live data, in percent; limited by the logical size.
    pub live_percent: u32,
    /// Erased share of each plane's pages at which ageing holds it, in percent.
    pub free_percent: u32,
    /// Random overwrites of the live data during ageing, in percent of the live pages.
    pub overwrite_percent: u32,
}

/// A drive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Device {
    /// Name.
    pub name: String,
    /// One line about it.
    pub summary: String,
    /// Geometry.
    pub geometry: Geometry,
    /// Timing.
    pub timing: Timing,
    /// What the host sees.
    pub host: Host,
    /// The write buffer.
    pub ram: Ram,
    /// The state in which runs start.
    pub state: StartingState,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Top {
    name: String,
    summary: String,
}

const SECTIONS: [&str; 5] = ["geometry", "timing", "host", "ram", "state"];

impl Device {
    /// Reads a device from its document and checks it.
    ///
    /// # Errors
    /// Unknown keys or sections, impossible geometry, no over-provisioning: with file, line and what is allowed.
    pub fn from_document(document: &Document) -> Result<Self, ConfigError> {
        let mut top = document.table.clone();
        // A misspelt section is named before the one that is missing because of it.
        if let Some((key, _)) = top.iter().find(|(key, value)| value.is_table() && !SECTIONS.contains(&key.as_str())) {
            let hint = crate::config::nearest_hint(key, &SECTIONS);
            return Err(ConfigError(format!(
                "{}: unknown section [{key}]{hint}; a device has {}",
                document.place(key, ""),
                SECTIONS.join(", ")
            )));
        }
        let mut section = |name: &str| match top.remove(name) {
            Some(toml::Value::Table(table)) => Ok(table),
            Some(other) => Err(ConfigError(format!("{}: `{name}` is {other}; it must be a section, [{name}]", document.place("", name)))),
            None => Err(ConfigError(format!("{}: the section [{name}] is missing; a device has {}", document.name, SECTIONS.join(", ")))),
        };
        let [geometry, timing, host, ram, state] = SECTIONS.map(&mut section);
        let (geometry, timing, host, ram, state) = (geometry?, timing?, host?, ram?, state?);
        let documents = [document];
        let top: Top = decode_section(&documents, "", top)?;
        let device = Self {
            name: top.name,
            summary: top.summary,
            geometry: decode_section(&documents, "geometry", geometry)?,
            timing: decode_section(&documents, "timing", timing)?,
            host: decode_section(&documents, "host", host)?,
            ram: decode_section(&documents, "ram", ram)?,
            state: decode_section(&documents, "state", state)?,
        };
        device.check(|section, key, message| ConfigError(format!("{}: [{section}] `{key}` {message}", document.place(section, key))))?;
        Ok(device)
    }

    fn check(&self, error: impl Fn(&str, &str, String) -> ConfigError) -> Result<(), ConfigError> {
        let g = &self.geometry;
        for (key, value, most) in [
            ("channels", g.channels, 256),
            ("chips_per_channel", g.chips_per_channel, 256),
            ("dies_per_chip", g.dies_per_chip, 64),
            ("planes_per_die", g.planes_per_die, PLANES_PER_DIE_MAX),
            ("blocks_per_plane", g.blocks_per_plane, 1 << 20),
            ("pages_per_block", g.pages_per_block, 16_383),
        ] {
            if value == 0 || value > most {
                return Err(error("geometry", key, format!("is {value}; allowed: 1 to {most}")));
            }
        }
        if g.blocks_per_plane < 4 {
            let found = g.blocks_per_plane;
            return Err(error(
                "geometry",
                "blocks_per_plane",
                format!("is {found}; a plane needs at least 4: written, open, reserve, spare"),
            ));
        }
        if !g.page_bytes.is_power_of_two() || g.page_bytes < SECTOR_BYTES || g.sectors_per_page() > 64 {
            return Err(error("geometry", "page_bytes", format!("is {}; allowed: a power of two from 512 to 32768", g.page_bytes)));
        }
        let slots = u64::from(g.channels) * u64::from(g.dies_per_channel() + 1) + 2;
        if slots > SLOTS_MAX as u64 {
            return Err(error("geometry", "channels", format!("times dies make {slots} resources; at most {SLOTS_MAX} are possible")));
        }
        if g.physical_pages() >= u64::from(u32::MAX) {
            return Err(error(
                "geometry",
                "blocks_per_plane",
                format!("makes {} physical pages; page numbers have 32 bits", g.physical_pages()),
            ));
        }
        let t = &self.timing;
        if t.read_ns.is_empty() || t.read_ns.len() != t.program_ns.len() {
            let (read, program) = (t.read_ns.len(), t.program_ns.len());
            return Err(error(
                "timing",
                "read_ns",
                format!("has {read} page classes and `program_ns` {program}; both need the same number, at least 1"),
            ));
        }
        if let Some(class) = t.page_class_pattern.iter().find(|&&class| usize::from(class) >= t.read_ns.len()) {
            return Err(error(
                "timing",
                "page_class_pattern",
                format!("names class {class}; there are {} classes, from 0", t.read_ns.len()),
            ));
        }
        if t.page_class_pattern.is_empty() || !(g.pages_per_block as usize).is_multiple_of(t.page_class_pattern.len()) {
            let (len, pages) = (t.page_class_pattern.len(), g.pages_per_block);
            return Err(error("timing", "page_class_pattern", format!("has {len} entries; it must divide the {pages} pages of a block")));
        }
        if !(1..=5).contains(&t.erase_steps) {
            return Err(error("timing", "erase_steps", format!("is {}; allowed: 1 to 5", t.erase_steps)));
        }
        let longest = crate::units::SECOND;
        for (key, values, least) in [
            ("command_ns", std::slice::from_ref(&t.command_ns), 0),
            ("transfer_page_ns", std::slice::from_ref(&t.transfer_page_ns), 0),
            ("read_ns", &t.read_ns, 1),
            ("program_ns", &t.program_ns, 1),
            ("erase_step_ns", std::slice::from_ref(&t.erase_step_ns), 1),
            ("suspend_ns", std::slice::from_ref(&t.suspend_ns), 0),
            ("resume_ns", std::slice::from_ref(&t.resume_ns), 0),
            ("ram_ns", std::slice::from_ref(&t.ram_ns), 0),
        ] {
            if let Some(value) = values.iter().find(|value| !(least..=longest).contains(*value)) {
                return Err(error("timing", key, format!("is {value}; allowed: {least} to {longest} ns")));
            }
        }
        let h = &self.host;
        let spare = g.physical_pages() - self.logical_pages();
        // One block that only GC may open and one that is being written, in every plane.
        let least = u64::from(g.planes()) * 2 * u64::from(g.pages_per_block);
        if h.logical_permyriad == 0 || h.logical_permyriad > 10_000 || spare < least {
            let most = (g.physical_pages().saturating_sub(least)) * 10_000 / g.physical_pages();
            return Err(error(
                "host",
                "logical_permyriad",
                format!(
                    "is {}; it leaves no over-provisioning. Two blocks of each plane must stay spare: at most {most}",
                    h.logical_permyriad
                ),
            ));
        }
        if !(1..=65_536).contains(&h.queue_depth) {
            return Err(error("host", "queue_depth", format!("is {}; allowed: 1 to 65536", h.queue_depth)));
        }
        if self.ram.buffer_kib > 0 && u64::from(self.ram.buffer_kib) * 1024 < u64::from(g.page_bytes) {
            return Err(error(
                "ram",
                "buffer_kib",
                format!("is {}; it must hold a page of {} bytes, or be 0", self.ram.buffer_kib, g.page_bytes),
            ));
        }
        if self.ram.buffer_kib > 64 << 20 {
            return Err(error("ram", "buffer_kib", format!("is {}; at most 64 GiB", self.ram.buffer_kib)));
        }
        if !(1..=100).contains(&self.ram.flush_above_percent) {
            return Err(error("ram", "flush_above_percent", format!("is {}; allowed: 1 to 100", self.ram.flush_above_percent)));
        }
        let s = &self.state;
        for (key, percent) in [("live_percent", s.live_percent), ("free_percent", s.free_percent)] {
            if percent > 100 {
                return Err(error("state", key, format!("is {percent}; allowed: 0 to 100")));
            }
        }
        if s.free_percent + s.live_percent.min(h.logical_permyriad / 100) >= 100 {
            let (live, free) = (s.live_percent, s.free_percent);
            return Err(error(
                "state",
                "live_percent",
                format!("({live}) and `free_percent` ({free}) leave no room for stale pages; together below 100"),
            ));
        }
        if s.overwrite_percent > 10_000 {
            return Err(error("state", "overwrite_percent", format!("is {}; at most 10000", s.overwrite_percent)));
        }
        Ok(())
    }

    /// The JSON Schema of a device file.
    pub fn schema() -> serde_json::Value {
        crate::config::file_schema(
            &["name", "summary"],
            &[
                ("geometry", schemars::schema_for!(Geometry)),
                ("timing", schemars::schema_for!(Timing)),
                ("host", schemars::schema_for!(Host)),
                ("ram", schemars::schema_for!(Ram)),
                ("state", schemars::schema_for!(StartingState)),
            ],
        )
    }

    /// Logical pages: what the host can address.
    pub fn logical_pages(&self) -> u64 {
        self.geometry.physical_pages() * u64::from(self.host.logical_permyriad) / 10_000
    }

    /// Sectors that the host can address.
    pub fn logical_sectors(&self) -> u64 {
        self.logical_pages() * u64::from(self.geometry.sectors_per_page())
    }

    /// Pages that are mapped when a run starts, from logical page 0.
    pub fn mapped_pages(&self) -> Lpn {
        let live = self.geometry.physical_pages() * u64::from(self.state.live_percent) / 100;
        live.min(self.logical_pages()) as Lpn
    }

    /// Quantities that follow from the data.
    pub fn derived(&self) -> Vec<Row> {
        let g = &self.geometry;
        let t = &self.timing;
        let gib = |bytes: u64| serde_json::json!(bytes as f64 / f64::from(1 << 30));
        let row = |key: &str, value, source: &str| Row { section: "derived".into(), key: key.into(), value, source: source.into() };
        vec![
            row("raw_gib", gib(g.raw_bytes()), "product of the geometry"),
            row("logical_gib", gib(self.logical_pages() * u64::from(g.page_bytes)), "physical pages x logical_permyriad / 10000"),
            row("plane_gib", gib(u64::from(g.pages_per_plane()) * u64::from(g.page_bytes)), "product of the geometry"),
            row("read_page_ns", (t.command_ns + t.read_ns[0] + t.transfer_page_ns).into(), "command + array + transfer"),
            row("program_page_ns", (t.command_ns + t.transfer_page_ns + t.program_ns[0]).into(), "command + transfer + array"),
            row("copyback_page_ns", (t.read_ns[0] + t.program_ns[0]).into(), "array read + array program, without commands"),
            row("erase_ns", (t.erase_step_ns * u64::from(t.erase_steps)).into(), "steps x step time"),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TTFLASH: &str = include_str!("../../../devices/ttflash-small.toml");

    fn error(from: &str, to: &str) -> String {
        assert!(TTFLASH.contains(from), "{from}");
        let document = Document::parse("d.toml", &TTFLASH.replacen(from, to, 1)).unwrap();
        Device::from_document(&document).unwrap_err().0
    }

    #[test]
    fn a_misspelt_section_is_named_with_its_line_and_the_nearest() {
        let message = error("[host]", "[hosts]");
        assert!(message.starts_with("d.toml:") && message.contains("unknown section [hosts] (did you mean `host`?)"), "{message}");
        assert!(error("[host]\n", "").contains("the section [host] is missing"));
    }

    #[test]
    fn impossible_drives_are_refused_with_key_and_bound() {
        for (from, to, key, bound) in [
            ("channels = { value = 8", "channels = { value = 0", "`channels`", "1 to 256"),
            ("planes_per_die = { value = 1", "planes_per_die = { value = 9", "`planes_per_die`", "1 to 8"),
            ("pages_per_block = { value = 64", "pages_per_block = { value = 16384", "`pages_per_block`", "16383"),
            ("blocks_per_plane = { value = 64", "blocks_per_plane = { value = 1048576", "`blocks_per_plane`", "32 bits"),
            ("page_bytes = { value = 4096", "page_bytes = { value = 5000", "`page_bytes`", "power of two"),
            ("logical_permyriad = { value = 7875", "logical_permyriad = { value = 10000", "`logical_permyriad`", "at most 96"),
            ("live_percent = { value = 40", "live_percent = { value = 4294967295", "`live_percent`", "0 to 100"),
            ("free_percent = { value = 30", "free_percent = { value = 60", "`live_percent`", "below 100"),
            ("erase_steps = { value = 1", "erase_steps = { value = 6", "`erase_steps`", "1 to 5"),
            ("program_ns = { value = [800000]", "program_ns = { value = [0]", "`program_ns`", "1 to"),
            ("queue_depth = { value = 32", "queue_depth = { value = 0", "`queue_depth`", "1 to 65536"),
            ("buffer_kib = { value = 512", "buffer_kib = { value = 3", "`buffer_kib`", "4096"),
        ] {
            let message = error(from, to);
            assert!(message.starts_with("d.toml:") && message.contains(key) && message.contains(bound), "{to}: {message}");
        }
    }
}
