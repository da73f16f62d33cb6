//! Which devices are possible: every bound of a device file, each named with its key.

use crate::device::{AgeingMethod, Device, PLANES_PER_DIE_MAX, Percent};
use crate::event::{EXTRA_SLOTS, SLOTS_MAX};
use crate::units::{SECOND, SECTOR_BYTES};
use tinytail_config::{ConfigError, Decimal, Fault, Faults};

/// The most page classes: more than any cell has bits.
const CLASSES_MAX: usize = 16;
/// The most device queues.
const QUEUES_MAX: usize = 256;
/// The largest weight of a queue: NVMe has eight bits for it, and 0 means 1.
const WEIGHT_MAX: u32 = 256;
/// The largest table of moved stripes: 32 GiB, at eight bytes for each of 2^32 stripes.
const STRIPE_TABLE_KIB_MAX: u32 = 32 << 20;
/// The largest write buffer: 64 GiB.
const BUFFER_KIB_MAX: u32 = 64 << 20;
/// The fastest channel or link: 1 TB/s.
const MB_PER_S_MAX: u32 = 1_000_000;
/// The most over-provisioning: the host sees one page in 101.
const OVER_PROVISIONING_MAX: Percent = Percent::of_units(10_000 * Percent::ONE);

impl Device {
    /// A device whose values are allowed, unless there are faults already.
    pub(super) fn checked(device: Option<Self>, mut faults: Faults) -> Result<Self, ConfigError> {
        if let Some(device) = &device {
            device.check_each(&mut faults);
            // Values that are wrong alone may contradict any other.
            if faults.is_empty() {
                device.check_geometry(&mut faults);
                device.check_page_classes(&mut faults);
            }
            if faults.is_empty() {
                device.check_capacity(&mut faults);
                device.check_state(&mut faults);
            }
        }
        faults.result()?;
        Ok(device.expect("what has no fault was decoded"))
    }

    /// Refuses values that are wrong whatever the others are.
    fn check_each(&self, faults: &mut Faults) {
        let (g, t, f, h, r, s) = (&self.geometry, &self.timing, &self.flash, &self.host, &self.ram, &self.state);
        for (section, key, value, least, most) in [
            ("geometry", "channels", g.channels, 1, 256),
            ("geometry", "chips_per_channel", g.chips_per_channel, 1, 256),
            ("geometry", "dies_per_chip", g.dies_per_chip, 1, 64),
            ("geometry", "planes_per_die", g.planes_per_die, 1, PLANES_PER_DIE_MAX),
            // Written, open, reserve, spare.
            ("geometry", "blocks_per_plane", g.blocks_per_plane, 4, 1 << 20),
            ("geometry", "pages_per_block", g.pages_per_block, 1, 16_383),
            ("timing", "erase_steps", t.erase_steps, 1, 5),
            ("timing", "erases_per_extra_step", t.erases_per_extra_step.unwrap_or(1), 1, u32::MAX),
            ("timing", "program_steps", t.program_steps, 1, 100),
            ("timing", "channel_mb_per_s", t.channel_mb_per_s.unwrap_or(1), 1, MB_PER_S_MAX),
            ("host", "queue_depth", h.queue_depth, 1, 65_536),
            ("ram", "buffer_kib", r.buffer_kib, 0, BUFFER_KIB_MAX),
            ("ram", "flush_above_percent", r.flush_above_percent, 1, 100),
            ("ram", "stripe_table_kib", r.stripe_table_kib.unwrap_or(1), 1, STRIPE_TABLE_KIB_MAX),
            ("state", "live_percent", s.live_percent, 0, 100),
            ("state", "overwrite_percent", s.overwrite_percent, 0, 10_000),
            ("state", "round_percent", s.round_percent(), 1, 1000),
            ("state", "parity_percent", s.parity_percent(), 1, 100),
        ] {
            faults.range(section, key, value, least, most);
        }
        faults.range("state", "free_percent", s.free_percent.unwrap_or(0.0), 0.0, 100.0);
        faults.range("flash", "bad_block_percent", f.bad_block_percent, Decimal::default(), Decimal::of_units(100 * Decimal::<2>::ONE));
        if let Some(percent) = h.over_provisioning_percent {
            faults.range("host", "over_provisioning_percent", percent, Percent::default(), OVER_PROVISIONING_MAX);
        }
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
            if let Some(value) = values.iter().find(|value| !(least..=SECOND).contains(*value)) {
                faults.push(Fault::new(section, key, format!("is {value}")).allowed(format!("{least} to {SECOND} ns")));
            }
        }
        if !g.page_bytes.is_power_of_two() || g.page_bytes < SECTOR_BYTES || g.sectors_per_page() > 64 {
            let found = format!("is {}", g.page_bytes);
            faults.push(Fault::new("geometry", "page_bytes", found).allowed("a power of two from 512 to 32768"));
        }
        if !(1..=QUEUES_MAX).contains(&h.queue_weights.len()) {
            let found = format!("has {} queues", h.queue_weights.len());
            faults.push(Fault::new("host", "queue_weights", found).allowed(format!("1 to {QUEUES_MAX}")));
        }
        if let Some(weight) = h.queue_weights.iter().find(|weight| !(1..=WEIGHT_MAX).contains(*weight)) {
            faults.push(Fault::new("host", "queue_weights", format!("has the weight {weight}")).allowed(format!("1 to {WEIGHT_MAX}")));
        }
        if let Some(rate) = h.link_mb_per_s.filter(|rate| !(1..=MB_PER_S_MAX).contains(rate)) {
            let allowed = format!("1 to {MB_PER_S_MAX}, or no such key for a link without limit");
            faults.push(Fault::new("host", "link_mb_per_s", format!("is {rate}")).allowed(allowed));
        }
        if let Some(errors) = &self.errors {
            errors.check(faults);
        }
    }

    fn check_geometry(&self, faults: &mut Faults) {
        let (g, r, t) = (&self.geometry, &self.ram, &self.timing);
        // A die has an event of its own, and another one for its cache registers.
        let for_each_die = if self.flash.cache_register { 2 } else { 1 };
        let slots = u64::from(g.channels) * (u64::from(g.dies_per_channel()) * for_each_die + 1) + u64::from(EXTRA_SLOTS);
        if slots > SLOTS_MAX as u64 {
            let dies = g.dies_per_channel();
            let found = format!("is {}; with {dies} dies on each, {slots} events may be pending, and at most {SLOTS_MAX} can", g.channels);
            faults.push(Fault::new("geometry", "channels", found).with("geometry", "chips_per_channel").with("geometry", "dies_per_chip"));
        }
        if g.physical_pages() >= u64::from(u32::MAX) {
            let found = format!("make {} physical pages; at most {} are possible", g.physical_pages(), u32::MAX - 1);
            let subject = Some("channels, chips, dies, planes, blocks and pages".into());
            let others = ["chips_per_channel", "dies_per_chip", "planes_per_die", "blocks_per_plane", "pages_per_block"];
            let fault = others.into_iter().fold(Fault::new("geometry", "channels", found), |fault, key| fault.with("geometry", key));
            faults.push(Fault { subject, ..fault });
        }
        if r.buffer_kib > 0 && u64::from(r.buffer_kib) * 1024 < u64::from(g.page_bytes) {
            let found = format!("is {}; it must hold a page of {} bytes, or be 0", r.buffer_kib, g.page_bytes);
            faults.push(Fault::new("ram", "buffer_kib", found).with("geometry", "page_bytes"));
        }
        if !(t.erase_steps..=5).contains(&t.erase_steps_max) {
            let allowed = format!("`erase_steps`, {}, to 5", t.erase_steps);
            faults.push(
                Fault::new("timing", "erase_steps_max", format!("is {}", t.erase_steps_max)).allowed(allowed).with("timing", "erase_steps"),
            );
        }
        if let Some(errors) = &self.errors {
            errors.check_codeword(g.page_bytes, faults);
        }
    }

    fn check_page_classes(&self, faults: &mut Faults) {
        let (t, pages) = (&self.timing, self.geometry.pages_per_block);
        let (classes, pattern) = (t.read_ns.len(), &t.page_class_pattern);
        if classes == 0 || classes != t.program_ns.len() {
            let program = t.program_ns.len();
            let found = format!("has {classes} page classes and `program_ns` {program}; both need the same number, at least 1");
            return faults.push(Fault::new("timing", "read_ns", found).with("timing", "program_ns"));
        }
        if classes > CLASSES_MAX {
            let found = format!("has {classes} page classes; at most {CLASSES_MAX} are possible");
            return faults.push(Fault::new("timing", "read_ns", found));
        }
        if let Some(class) = pattern.iter().find(|&&class| usize::from(class) >= classes) {
            let found = format!("names class {class}; there are {classes} classes, from 0");
            faults.push(Fault::new("timing", "page_class_pattern", found).with("timing", "read_ns"));
        }
        if pattern.is_empty() || !(pages as usize).is_multiple_of(pattern.len()) {
            let found = format!("has {} entries; it must divide the {pages} pages of a block", pattern.len());
            faults.push(Fault::new("timing", "page_class_pattern", found).with("geometry", "pages_per_block"));
        }
        let group = t.page_class_layout.map_or(1, |layout| layout.group(classes as u32));
        if !pages.is_multiple_of(group) {
            let found = format!("is for blocks of a multiple of {group} pages with {classes} classes; a block has {pages}");
            faults.push(Fault::new("timing", "page_class_layout", found).with("geometry", "pages_per_block"));
        }
    }

    fn check_capacity(&self, faults: &mut Faults) {
        let (g, h, f) = (&self.geometry, &self.host, &self.flash);
        if g.blocks_per_plane - self.bad_blocks_per_plane() < 4 {
            let found = format!("is {}; at least 4 of the {} blocks of a plane must be good", f.bad_block_percent, g.blocks_per_plane);
            return faults.push(Fault::new("flash", "bad_block_percent", found).with("geometry", "blocks_per_plane"));
        }
        // One block that only GC may open and one that is being written, in every plane.
        let spare_least = u64::from(g.planes()) * 2 * u64::from(g.pages_in(1));
        let logical_most = self.usable_pages() - spare_least;
        let (key, value, bound) = match (h.capacity_gb, h.over_provisioning_percent) {
            (Some(capacity), _) => ("capacity_gb", capacity.to_string(), format!("at most {}", self.gigabytes(logical_most))),
            (None, percent) => {
                let spare = (g.physical_pages() - logical_most) * 100 * Percent::ONE;
                let least = Percent::of_units(spare.div_ceil(logical_most)).rounded_up(2);
                ("over_provisioning_percent", percent.unwrap_or_default().to_string(), format!("at least {least}"))
            }
        };
        if self.logical_pages() > logical_most {
            let found = format!("is {value}; two good blocks of each plane must stay spare: {bound} on this device");
            faults.push(Fault::new("host", key, found).with("geometry", "blocks_per_plane").with("flash", "bad_block_percent"));
        }
        if self.logical_pages() == 0 {
            faults.push(Fault::new("host", key, format!("is {value}; it leaves no page of {} bytes to the host", g.page_bytes)));
        }
    }

    fn check_state(&self, faults: &mut Faults) {
        let s = &self.state;
        let percent = |pages: u64| pages as f64 * 100.0 / self.geometry.physical_pages() as f64;
        let usable_percent = percent(self.usable_pages()).floor();
        let live_percent = f64::from(s.live_percent).min(percent(self.logical_pages()));
        // A page at least, since both shares are rounded down to pages.
        if let Some(free) = s.free_percent.filter(|free| free + live_percent + percent(1) > usable_percent) {
            let live = s.live_percent;
            let found = format!("({live}) and `free_percent` ({free}) leave no room for stale pages; together below {usable_percent}");
            faults.push(Fault::new("state", "live_percent", found).with("state", "free_percent"));
        }
        if s.round_percent.is_some() && s.ageing != AgeingMethod::Steady {
            let found = "is given, but `ageing` is not \"steady\": only that goes in rounds";
            faults.push(Fault::new("state", "round_percent", found).with("state", "ageing"));
        }
        if s.live_percent == 0 && s.ageing != AgeingMethod::Overwrite {
            faults.push(
                Fault::new("state", "live_percent", "is 0; an empty drive has no steady state, and starts with ageing = \"overwrite\"")
                    .with("state", "ageing"),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::device::Device;
    use tinytail_config::Document;

    const TTFLASH: &str = include_str!("../../../../devices/ttflash-small.toml");
    const OVER_PROVISIONING: &str = "over_provisioning_percent = { value = 26.984127";

    fn read(from: &str, to: &str) -> Result<Device, String> {
        assert!(TTFLASH.contains(from), "{from}");
        let document = Document::parse("d.toml", &TTFLASH.replacen(from, to, 1)).unwrap();
        Device::from_document(&document).map_err(|error| error.to_string())
    }

    fn error(from: &str, to: &str) -> String {
        read(from, to).expect_err(to)
    }

    #[test]
    fn a_misspelt_section_is_named_with_its_line_and_the_nearest() {
        let message = error("[host]", "[hosts]");
        assert!(message.starts_with("d.toml:") && message.contains("[hosts] is unknown (did you mean `host`?)"), "{message}");
        assert!(error("[host]\n", "").contains("d.toml: [host] is missing"));
        assert!(error("[host]", "[flesh]\n[host]").contains("[flesh] is unknown (did you mean `flash`?)"));
    }

    #[test]
    fn all_faults_of_a_file_are_told_with_their_lines() {
        let changes = [
            ("channels = { value = 8", "chanels = { value = 8"),
            ("erase_steps = { value = 1", "erase_steps = { value = 6"),
            ("queue_depth = { value = 32", "queue_depth = { value = \"32\""),
            ("[ram]", "[rams]\nx = 1\n[ram]"),
            ("live_percent = { value = 40", "live_percent = { value = 101"),
        ];
        let text = changes.iter().fold(TTFLASH.to_string(), |text, (from, to)| text.replacen(from, to, 1));
        let line = |start: &str| text.lines().position(|line| line.starts_with(start)).unwrap() + 1;
        let error = Device::from_document(&Document::parse("d.toml", &text).unwrap()).unwrap_err().to_string();
        let expected = [
            (line("[geometry]"), "[geometry] `channels` is missing"),
            (line("chanels"), "[geometry] `chanels` is unknown (did you mean `channels`?); allowed: channels, chips_per_channel, "),
            (line("erase_steps"), "[timing] `erase_steps` is 6; allowed: 1 to 5"),
            (line("queue_depth"), "[host] `queue_depth` is \"32\"; allowed: a whole number"),
            (line("[rams]"), "[rams] is unknown (did you mean `ram`?); allowed: geometry, timing, "),
            (line("live_percent"), "[state] `live_percent` is 101; allowed: 0 to 100"),
        ];
        assert_eq!(error.lines().count(), expected.len(), "{error}");
        for (found, (line, message)) in error.lines().zip(expected) {
            assert!(found.starts_with(&format!("d.toml:{line}: {message}")), "{found}");
        }
    }

    #[test]
    fn as_many_events_may_be_pending_as_there_are_slots() {
        // One for each channel of eight and each of its dies, and five.
        let dies = |chips: u32, dies: u32| {
            let text = TTFLASH.replacen("chips_per_channel = { value = 8", &format!("chips_per_channel = {{ value = {chips}"), 1);
            let text = text.replacen("dies_per_chip = { value = 1", &format!("dies_per_chip = {{ value = {dies}"), 1);
            Device::from_document(&Document::parse("d.toml", &text).unwrap()).map_err(|error| error.to_string())
        };
        assert_eq!(dies(146, 7).err(), None);
        assert!(dies(93, 11).unwrap_err().contains("8197 events may be pending, and at most 8192 can"));
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
            (
                "blocks_per_plane = { value = 64",
                "blocks_per_plane = { value = 1048576",
                "[geometry] channels, chips, dies",
                "at most 4294967294",
            ),
            ("page_bytes = { value = 4096", "page_bytes = { value = 5000", "`page_bytes`", "power of two"),
            (OVER_PROVISIONING, "over_provisioning_percent = { value = 3.22", "`over_provisioning_percent`", "at least 3.23"),
            (OVER_PROVISIONING, "over_provisioning_percent = { value = 10000.01", "`over_provisioning_percent`", "0 to 10000"),
            (OVER_PROVISIONING, "over_provisioning_percent = { value = 0.00000001", "`over_provisioning_percent`", "at most 7 decimals"),
            (OVER_PROVISIONING, "capacity_gb = { value = 1.041", "`capacity_gb` is 1.041", "at most 1.040187392 on"),
            (OVER_PROVISIONING, "capacity_gb = { value = 0.000004", "`capacity_gb` is 0.000004", "no page of 4096 bytes"),
            (OVER_PROVISIONING, "capacity_gb = { value = -1", "`capacity_gb` is -1", "not negative, with at most 9 decimals"),
            (OVER_PROVISIONING, "x = { value = 1", "[host] gives neither `capacity_gb` nor `over_provisioning_percent`", "give one"),
            ("[host]", &host("capacity_gb = 1"), "`over_provisioning_percent` stands beside `capacity_gb` (d.toml:23)", "give one"),
            ("transfer_page_ns = { value = 100000", "x = { value = 1", "[timing] gives neither `transfer_page_ns` nor", "give one"),
            ("[timing]", &timing("channel_mb_per_s = 400"), "`transfer_page_ns` stands beside `channel_mb_per_s` (d.toml:14)", "give one"),
            ("transfer_page_ns = { value = 100000", "channel_mb_per_s = { value = 0", "`channel_mb_per_s` is 0", "1 to 1000000"),
            ("live_percent = { value = 40", "live_percent = { value = 4294967295", "`live_percent`", "0 to 100"),
            ("[state]", "[state]\nfree_percent = 60", "`live_percent`", "below 100"),
            ("erase_steps = { value = 1", "erase_steps = { value = 6", "`erase_steps`", "1 to 5"),
            ("[timing]", &timing("erase_steps_max = 6"), "`erase_steps_max` is 6", "`erase_steps`, 1, to 5"),
            ("[timing]", &timing("erase_steps_max = 0"), "`erase_steps_max` is 0", "`erase_steps`, 1, to 5"),
            ("[timing]", &timing("erases_per_extra_step = 0"), "`erases_per_extra_step` is 0", "1 to"),
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
            ("[host]", &host("link_mb_per_s = 0"), "`link_mb_per_s`", "1 to 1000000"),
            ("[host]", &host("overhead_ns = 1000000001"), "[host] `overhead_ns`", "0 to 1000000000 ns"),
            ("[host]", &flash("bad_block_percent = 100.01"), "[flash] `bad_block_percent` is 100.01", "0 to 100"),
            ("[host]", &flash("bad_block_percent = 0.005"), "[flash] `bad_block_percent` is 0.005", "at most 2 decimals"),
            // 61 of 64 blocks are 95.31 percent; the next block is bad from 95.32 on.
            ("[host]", &flash("bad_block_percent = 95.32"), "`bad_block_percent`", "4 of the 64 blocks"),
            ("[host]", &flash("bad_block_percent = 20"), "`over_provisioning_percent`", "at least 28"),
            ("[host]", &flash("cache_register = 1"), "[flash] `cache_register` is 1", "true or false"),
            ("[timing]", &timing("verify_ns = 1000000001"), "`verify_ns`", "0 to"),
            (
                "[timing]",
                &timing("page_class_layout = \"single\"\npage_class_pattern = [0]"),
                "`page_class_pattern` stands beside",
                "give one",
            ),
            ("[timing]", &timing("page_class_layout = \"pears\""), "`page_class_layout` is \"pears\" (did you mean `pairs`?)", "single"),
        ] {
            let message = error(from, to);
            assert!(message.starts_with("d.toml:") && message.contains(key) && message.contains(bound), "{to}: {message}");
        }
    }

    #[test]
    fn a_channel_has_a_rate_or_a_time_and_a_drive_a_size_or_a_share() {
        let transfer = |rate: u32| {
            let device = read("transfer_page_ns = { value = 100000", &format!("channel_mb_per_s = {{ value = {rate}")).unwrap();
            (device.timing.transfer_page_ns, device.timing.channel_mb_per_s)
        };
        // 4096 bytes at 1200 MB/s take 3413.3 ns, at 166 MB/s 24674.7.
        assert_eq!([400, 1200, 166].map(transfer), [10_240, 3413, 24_675].map(|ns| (ns, None)));
        let pages = |size: &str| read(OVER_PROVISIONING, &size.replace("= ", "= { value = ")).unwrap().logical_pages();
        assert_eq!((pages("over_provisioning_percent = 25"), 64 * 64 * 64 * 8 / 10), (209_715, 209_715));
        assert_eq!((pages("over_provisioning_percent = 26.984127"), 64 * 64 * 64 * 7875 / 10_000), (206_438, 206_438));
        assert_eq!([pages("capacity_gb = 0.5"), pages("capacity_gb = 0.499998719")], [122_070, 122_069]);
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
        assert!(with(7, "single").unwrap_err().to_string().contains("multiple of 2 pages with 2 classes; a block has 7"));
        assert!(with(6, "pairs").unwrap_err().to_string().contains("multiple of 4 pages with 2 classes; a block has 6"));
    }

    #[test]
    fn bad_blocks_leave_the_last_size_that_fits() {
        // 62 good blocks of 64, two of them spare.
        let with = |size: &str| {
            let text = TTFLASH
                .replace(OVER_PROVISIONING, &size.replace("= ", "= { value = "))
                .replace("[host]", "[flash]\nbad_block_percent = 3.13\n[host]");
            Device::from_document(&Document::parse("d.toml", &text).unwrap())
        };
        let least = with("over_provisioning_percent = 6.67").unwrap();
        assert_eq!(least.usable_pages(), 64 * 62 * 64);
        assert!(with("over_provisioning_percent = 6.66").unwrap_err().to_string().contains("at least 6.67"));
        let most = with("capacity_gb = 1.00663296").unwrap();
        assert_eq!((most.logical_pages(), most.logical_blocks_per_plane()), (64 * 60 * 64, 60));
        assert!(with("capacity_gb = 1.007").unwrap_err().to_string().contains("at most 1.00663296 on"));
    }

    #[test]
    fn what_is_not_said_has_its_default() {
        let device = read("[host]", "[host]").unwrap();
        assert_eq!(device.flash, crate::device::Flash::default());
        assert_eq!((device.host.queue_weights.as_slice(), device.host.link_mb_per_s, device.host.overhead_ns), ([1].as_slice(), None, 0));
        assert_eq!(device.timing.verify_ns, 0);
    }
}
