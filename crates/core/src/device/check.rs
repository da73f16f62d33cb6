//! Which devices are possible: every bound of a device file, each named with its key.

use crate::config::ConfigError;
use crate::device::{AgeingMethod, Device, PLANES_PER_DIE_MAX};
use crate::event::SLOTS_MAX;
use crate::flash::EXTRA_SLOTS;
use crate::units::{SECOND, SECTOR_BYTES};

/// The most page classes: more than any cell has bits.
const CLASSES_MAX: usize = 16;
/// The most device queues.
const QUEUES_MAX: usize = 256;
/// The largest weight of a queue: NVMe has eight bits for it, and 0 means 1.
const WEIGHT_MAX: u32 = 256;
/// The largest table of moved stripes: 32 GiB, at eight bytes for each of 2^32 stripes.
const STRIPE_TABLE_KIB_MAX: u32 = 32 << 20;
/// The fastest link, in bytes per microsecond: 1 TB/s.
const LINK_MAX: u32 = 1_000_000;

/// Places a message at a section and key.
type Place<'a> = &'a dyn Fn(&str, &str, String) -> ConfigError;

impl Device {
    /// Refuses what no drive can be.
    pub(super) fn check(&self, error: impl Fn(&str, &str, String) -> ConfigError) -> Result<(), ConfigError> {
        let error: Place<'_> = &error;
        self.check_geometry(error)?;
        self.check_page_classes(error)?;
        self.check_times(error)?;
        self.check_capacity(error)?;
        self.check_host(error)?;
        self.check_ram(error)?;
        self.check_errors(error)?;
        self.check_state(error)
    }

    fn check_geometry(&self, error: Place<'_>) -> Result<(), ConfigError> {
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
        // A die has an event of its own, and another one for its cache registers.
        let for_each_die = if self.flash.cache_register { 2 } else { 1 };
        let slots = u64::from(g.channels) * (u64::from(g.dies_per_channel()) * for_each_die + 1) + u64::from(EXTRA_SLOTS);
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
        Ok(())
    }

    fn check_page_classes(&self, error: Place<'_>) -> Result<(), ConfigError> {
        let (t, pages) = (&self.timing, self.geometry.pages_per_block);
        let classes = t.read_ns.len();
        if classes == 0 || classes != t.program_ns.len() {
            let program = t.program_ns.len();
            return Err(error(
                "timing",
                "read_ns",
                format!("has {classes} page classes and `program_ns` {program}; both need the same number, at least 1"),
            ));
        }
        if classes > CLASSES_MAX {
            return Err(error("timing", "read_ns", format!("has {classes} page classes; at most {CLASSES_MAX} are possible")));
        }
        if let Some(class) = t.page_class_pattern.iter().find(|&&class| usize::from(class) >= classes) {
            return Err(error("timing", "page_class_pattern", format!("names class {class}; there are {classes} classes, from 0")));
        }
        if t.page_class_pattern.is_empty() || !(pages as usize).is_multiple_of(t.page_class_pattern.len()) {
            let len = t.page_class_pattern.len();
            return Err(error("timing", "page_class_pattern", format!("has {len} entries; it must divide the {pages} pages of a block")));
        }
        if let Some(layout) = t.page_class_layout {
            let group = layout.group(classes as u32);
            if !pages.is_multiple_of(group) {
                return Err(error(
                    "timing",
                    "page_class_layout",
                    format!("is for blocks of a multiple of {group} pages with {classes} classes; a block has {pages}"),
                ));
            }
        }
        Ok(())
    }

    fn check_times(&self, error: Place<'_>) -> Result<(), ConfigError> {
        let (t, h) = (&self.timing, &self.host);
        if !(1..=5).contains(&t.erase_steps) {
            return Err(error("timing", "erase_steps", format!("is {}; allowed: 1 to 5", t.erase_steps)));
        }
        if !(t.erase_steps..=5).contains(&t.erase_steps_max) {
            let allowed = format!("is {}; allowed: `erase_steps`, {}, to 5", t.erase_steps_max, t.erase_steps);
            return Err(error("timing", "erase_steps_max", allowed));
        }
        if let Some(0) = t.erases_per_extra_step {
            return Err(error("timing", "erases_per_extra_step", "is 0; allowed: 1 or more".into()));
        }
        if !(1..=100).contains(&t.program_steps) {
            return Err(error("timing", "program_steps", format!("is {}; allowed: 1 to 100", t.program_steps)));
        }
        let longest = SECOND;
        for (section, key, values, least) in [
            ("timing", "command_ns", std::slice::from_ref(&t.command_ns), 0),
            ("timing", "transfer_page_ns", std::slice::from_ref(&t.transfer_page_ns), 0),
            ("timing", "read_ns", &t.read_ns, 1),
            ("timing", "program_ns", &t.program_ns, 1),
            ("timing", "erase_step_ns", std::slice::from_ref(&t.erase_step_ns), 1),
            ("timing", "suspend_ns", std::slice::from_ref(&t.suspend_ns), 0),
            ("timing", "resume_ns", std::slice::from_ref(&t.resume_ns), 0),
            ("timing", "verify_ns", std::slice::from_ref(&t.verify_ns), 0),
            ("timing", "ram_ns", std::slice::from_ref(&t.ram_ns), 0),
            ("host", "overhead_ns", std::slice::from_ref(&h.overhead_ns), 0),
        ] {
            if let Some(value) = values.iter().find(|value| !(least..=longest).contains(*value)) {
                return Err(error(section, key, format!("is {value}; allowed: {least} to {longest} ns")));
            }
        }
        Ok(())
    }

    fn check_capacity(&self, error: Place<'_>) -> Result<(), ConfigError> {
        let (g, h, f) = (&self.geometry, &self.host, &self.flash);
        if f.bad_block_permyriad > 10_000 || g.blocks_per_plane - self.bad_blocks_per_plane() < 4 {
            return Err(error(
                "flash",
                "bad_block_permyriad",
                format!("is {}; at least 4 of the {} blocks of a plane must be good", f.bad_block_permyriad, g.blocks_per_plane),
            ));
        }
        // One block that only GC may open and one that is being written, in every plane.
        let spare_least = u64::from(g.planes()) * 2 * u64::from(g.pages_per_block);
        let logical_most = self.usable_pages().saturating_sub(spare_least);
        if h.logical_permyriad == 0 || h.logical_permyriad > 10_000 || self.logical_pages() > logical_most {
            let most = logical_most * 10_000 / g.physical_pages();
            return Err(error(
                "host",
                "logical_permyriad",
                format!(
                    "is {}; it leaves no over-provisioning. Two blocks of each plane must stay spare: at most {most}",
                    h.logical_permyriad
                ),
            ));
        }
        Ok(())
    }

    fn check_host(&self, error: Place<'_>) -> Result<(), ConfigError> {
        let h = &self.host;
        if !(1..=65_536).contains(&h.queue_depth) {
            return Err(error("host", "queue_depth", format!("is {}; allowed: 1 to 65536", h.queue_depth)));
        }
        if !(1..=QUEUES_MAX).contains(&h.queue_weights.len()) {
            let found = h.queue_weights.len();
            return Err(error("host", "queue_weights", format!("has {found} queues; allowed: 1 to {QUEUES_MAX}")));
        }
        if let Some(weight) = h.queue_weights.iter().find(|weight| !(1..=WEIGHT_MAX).contains(*weight)) {
            return Err(error("host", "queue_weights", format!("has the weight {weight}; allowed: 1 to {WEIGHT_MAX}")));
        }
        if let Some(rate) = h.link_bytes_per_us.filter(|rate| !(1..=LINK_MAX).contains(rate)) {
            return Err(error(
                "host",
                "link_bytes_per_us",
                format!("is {rate}; allowed: 1 to {LINK_MAX} bytes per microsecond, or no such key for a link without limit"),
            ));
        }
        Ok(())
    }

    fn check_ram(&self, error: Place<'_>) -> Result<(), ConfigError> {
        let (r, page_bytes) = (&self.ram, self.geometry.page_bytes);
        if r.buffer_kib > 0 && u64::from(r.buffer_kib) * 1024 < u64::from(page_bytes) {
            let found = r.buffer_kib;
            return Err(error("ram", "buffer_kib", format!("is {found}; it must hold a page of {page_bytes} bytes, or be 0")));
        }
        if r.buffer_kib > 64 << 20 {
            return Err(error("ram", "buffer_kib", format!("is {}; at most 64 GiB", r.buffer_kib)));
        }
        if !(1..=100).contains(&r.flush_above_percent) {
            return Err(error("ram", "flush_above_percent", format!("is {}; allowed: 1 to 100", r.flush_above_percent)));
        }
        if let Some(kib) = r.stripe_table_kib.filter(|kib| !(1..=STRIPE_TABLE_KIB_MAX).contains(kib)) {
            return Err(error("ram", "stripe_table_kib", format!("is {kib}; allowed: 1 to {STRIPE_TABLE_KIB_MAX}")));
        }
        Ok(())
    }

    fn check_state(&self, error: Place<'_>) -> Result<(), ConfigError> {
        let s = &self.state;
        for (key, percent) in [("live_percent", f64::from(s.live_percent)), ("free_percent", s.free_percent)] {
            if !(0.0..=100.0).contains(&percent) {
                return Err(error("state", key, format!("is {percent}; allowed: 0 to 100")));
            }
        }
        let usable_percent = (self.usable_pages() * 100 / self.geometry.physical_pages()) as u32;
        if s.free_percent + f64::from(s.live_percent.min(self.host.logical_permyriad / 100)) >= f64::from(usable_percent) {
            let (live, free) = (s.live_percent, s.free_percent);
            return Err(error(
                "state",
                "live_percent",
                format!("({live}) and `free_percent` ({free}) leave no room for stale pages; together below {usable_percent}"),
            ));
        }
        if s.overwrite_percent > 10_000 {
            return Err(error("state", "overwrite_percent", format!("is {}; at most 10000", s.overwrite_percent)));
        }
        if s.round_percent.is_some() && s.ageing != AgeingMethod::Steady {
            return Err(error("state", "round_percent", "is given, but `ageing` is not \"steady\": only that goes in rounds".into()));
        }
        if !(1..=1000).contains(&s.round_percent()) {
            return Err(error("state", "round_percent", format!("is {}; allowed: 1 to 1000", s.round_percent())));
        }
        if s.live_percent == 0 && s.ageing != AgeingMethod::Overwrite {
            return Err(error("state", "live_percent", "is 0; a drive without live pages has no steady state".into()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::config::Document;
    use crate::device::Device;

    const TTFLASH: &str = include_str!("../../../../devices/ttflash-small.toml");

    fn read(from: &str, to: &str) -> Result<Device, String> {
        assert!(TTFLASH.contains(from), "{from}");
        let document = Document::parse("d.toml", &TTFLASH.replacen(from, to, 1)).unwrap();
        Device::from_document(&document).map_err(|error| error.0)
    }

    fn error(from: &str, to: &str) -> String {
        read(from, to).expect_err(to)
    }

    #[test]
    fn a_misspelt_section_is_named_with_its_line_and_the_nearest() {
        let message = error("[host]", "[hosts]");
        assert!(message.starts_with("d.toml:") && message.contains("unknown section [hosts] (did you mean `host`?)"), "{message}");
        assert!(error("[host]\n", "").contains("the section [host] is missing"));
        assert!(error("[host]", "[flesh]\n[host]").contains("unknown section [flesh] (did you mean `flash`?)"));
    }

    #[test]
    fn impossible_drives_are_refused_with_key_and_bound() {
        let host = |line: &str| format!("[host]\n{line}");
        let flash = |line: &str| format!("[flash]\n{line}\n[host]");
        let timing = |lines: &str| format!("[timing]\n{lines}");
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
            ("[timing]", &timing("erase_steps_max = 6"), "`erase_steps_max` is 6", "`erase_steps`, 1, to 5"),
            ("[timing]", &timing("erase_steps_max = 0"), "`erase_steps_max` is 0", "`erase_steps`, 1, to 5"),
            ("[timing]", &timing("erases_per_extra_step = 0"), "`erases_per_extra_step` is 0", "1 or more"),
            ("[timing]", &timing("program_steps = 0"), "`program_steps` is 0", "1 to 100"),
            ("[timing]", &timing("program_steps = 101"), "`program_steps` is 101", "1 to 100"),
            ("program_ns = { value = [800000]", "program_ns = { value = [0]", "`program_ns`", "1 to"),
            ("queue_depth = { value = 32", "queue_depth = { value = 0", "`queue_depth`", "1 to 65536"),
            ("buffer_kib = { value = 512", "buffer_kib = { value = 3", "`buffer_kib`", "4096"),
            ("[ram]", "[ram]\nstripe_table_kib = 0", "[ram] `stripe_table_kib` is 0", "1 to 33554432"),
            ("[ram]", "[ram]\nstripe_table_kib = 33554433", "`stripe_table_kib`", "1 to 33554432"),
            ("[ram]", "[ram]\nstripe_tables_kib = 1", "`stripe_tables_kib`", "did you mean `stripe_table_kib`?"),
            ("[host]", &host("queue_weights = []"), "`queue_weights`", "1 to 256"),
            ("[host]", &host("queue_weights = [4, 0]"), "`queue_weights` has the weight 0", "1 to 256"),
            ("[host]", &host("queue_weights = [257]"), "`queue_weights` has the weight 257", "1 to 256"),
            ("[host]", &host("link_bytes_per_us = 0"), "`link_bytes_per_us`", "1 to 1000000"),
            ("[host]", &host("overhead_ns = 1000000001"), "[host] `overhead_ns`", "0 to 1000000000 ns"),
            ("[host]", &flash("bad_block_permyriad = 10001"), "[flash] `bad_block_permyriad`", "4 of the 64 blocks"),
            // 61 of 64 blocks are 9531 ten-thousandths; the next block is bad from 9532 on.
            ("[host]", &flash("bad_block_permyriad = 9532"), "`bad_block_permyriad`", "4 of the 64 blocks"),
            ("[host]", &flash("bad_block_permyriad = 2000"), "`logical_permyriad`", "at most 7812"),
            ("[host]", &flash("cache_register = 1"), "[flash] `cache_register` is 1", "true or false"),
            ("[timing]", &timing("verify_ns = 1000000001"), "`verify_ns`", "0 to"),
            ("[timing]", &timing("page_class_layout = \"single\"\npage_class_pattern = [0]"), "`page_class_layout`", "only one"),
            ("[timing]", &timing("page_class_layout = \"pears\""), "`page_class_layout` is \"pears\" (did you mean `pairs`?)", "single"),
        ] {
            let message = error(from, to);
            assert!(message.starts_with("d.toml:") && message.contains(key) && message.contains(bound), "{to}: {message}");
        }
    }

    #[test]
    fn a_layout_needs_whole_word_lines() {
        let two = TTFLASH.replace("[40000]", "[1, 2]").replace("[800000]", "[3, 4]");
        let with = |pages: u32, layout: &str| {
            let text = two
                .replace("pages_per_block = { value = 64", &format!("pages_per_block = {{ value = {pages}"))
                .replace("[timing]", &format!("[timing]\npage_class_layout = \"{layout}\""));
            Device::from_document(&Document::parse("d.toml", &text).unwrap())
        };
        assert_eq!(with(6, "single").unwrap().timing.page_class_pattern, [0, 0, 1, 0, 1, 1]);
        assert!(with(7, "single").unwrap_err().0.contains("multiple of 2 pages with 2 classes; a block has 7"));
        assert!(with(6, "pairs").unwrap_err().0.contains("multiple of 4 pages with 2 classes; a block has 6"));
    }

    #[test]
    fn bad_blocks_leave_the_last_size_that_fits() {
        // 62 good blocks of 64, two of them spare.
        let with = |logical: u32| {
            let text = TTFLASH
                .replace("logical_permyriad = { value = 7875", &format!("logical_permyriad = {{ value = {logical}"))
                .replace("[host]", "[flash]\nbad_block_permyriad = 313\n[host]");
            Device::from_document(&Document::parse("d.toml", &text).unwrap())
        };
        assert_eq!(with(9375).unwrap().usable_pages(), 64 * 62 * 64);
        assert!(with(9376).unwrap_err().0.contains("at most 9375"));
    }

    #[test]
    fn what_is_not_said_has_its_default() {
        let device = read("[host]", "[host]").unwrap();
        assert_eq!(device.flash, crate::device::Flash::default());
        assert_eq!(
            (device.host.queue_weights.as_slice(), device.host.link_bytes_per_us, device.host.overhead_ns),
            ([1].as_slice(), None, 0)
        );
        assert_eq!(device.timing.verify_ns, 0);
    }
}
