//! Values that are possible, and that no known drive has: most often another unit was meant. They are told, and refuse nothing.

use crate::device::Device;
use crate::units::{MS, US};
use std::ops::RangeInclusive;
use tinytail_config::Fault;

/// What a value of a device is in the drives that there are.
struct Rule {
    section: &'static str,
    /// The keys that it follows from; the first is named, unless there is a subject.
    keys: &'static [&'static str],
    subject: Option<&'static str>,
    unit: &'static str,
    /// The least and the most that the device has of it; nothing if it has none.
    found: fn(&Device) -> Option<RangeInclusive<u64>>,
    /// What it lies between. This may depend on other values.
    usual: fn(&Device) -> RangeInclusive<u64>,
    sentence: &'static str,
}

/// At most one is told of each value: the first.
const RULES: [Rule; 10] = [
    Rule {
        section: "timing",
        keys: &["read_ns"],
        subject: None,
        unit: "ns",
        found: |device| of_all(&device.timing.read_ns),
        usual: |_| US..=2 * MS,
        sentence: "flash reads a page in 1 us to 2 ms",
    },
    Rule {
        section: "timing",
        keys: &["program_ns"],
        subject: None,
        unit: "ns",
        found: |device| of_all(&device.timing.program_ns),
        usual: |_| 10 * US..=20 * MS,
        sentence: "flash programs a page in 10 us to 20 ms",
    },
    Rule {
        section: "timing",
        keys: &["program_ns", "read_ns"],
        subject: None,
        unit: "ns",
        found: |device| of_all(&device.timing.program_ns),
        usual: |device| most(&device.timing.read_ns) + 1..=u64::MAX,
        sentence: "flash takes longer to program a page than to read one, `read_ns`",
    },
    Rule {
        section: "timing",
        keys: &["erase_step_ns", "erase_steps"],
        subject: Some("the erase of a block, `erase_steps` times `erase_step_ns`,"),
        unit: "ns",
        found: |device| one(erase_ns(device)),
        usual: |_| 200 * US..=100 * MS,
        sentence: "flash erases a block in 200 us to 100 ms",
    },
    Rule {
        section: "timing",
        keys: &["erase_step_ns", "erase_steps", "program_ns"],
        subject: Some("the erase of a block, `erase_steps` times `erase_step_ns`,"),
        unit: "ns",
        found: |device| one(erase_ns(device)),
        usual: |device| most(&device.timing.program_ns) + 1..=u64::MAX,
        sentence: "flash takes longer to erase a block than to program a page, `program_ns`",
    },
    Rule {
        section: "timing",
        keys: &["transfer_page_ns", "channel_mb_per_s"],
        subject: Some("the rate of a channel"),
        unit: "MB/s",
        found: |device| (u64::from(device.geometry.page_bytes) * 1000).checked_div(device.timing.transfer_page_ns).and_then(one),
        usual: |_| 10..=20_000,
        sentence: "a channel carries 10 to 20,000 MB/s",
    },
    Rule {
        section: "timing",
        keys: &["command_ns"],
        subject: None,
        unit: "ns",
        found: |device| one(device.timing.command_ns),
        usual: |_| 0..=100 * US,
        sentence: "a command takes a channel for less than 100 us",
    },
    Rule {
        section: "timing",
        keys: &["suspend_ns", "erase_step_ns"],
        subject: None,
        unit: "ns",
        found: |device| one(device.timing.suspend_ns),
        usual: |device| 0..=erase_ns(device),
        sentence: "flash suspends an erase in less time than the erase takes",
    },
    Rule {
        section: "host",
        keys: &["link_mb_per_s"],
        subject: None,
        unit: "MB/s",
        found: |device| device.host.link_mb_per_s.map(u64::from).and_then(one),
        usual: |_| 20..=64_000,
        sentence: "links of drives carry 20 to 64,000 MB/s",
    },
    Rule {
        section: "host",
        keys: &["over_provisioning_percent", "capacity_gb"],
        subject: Some("the flash beyond the capacity"),
        unit: "% of it",
        found: |device| one((device.geometry.physical_pages() - device.logical_pages()) * 100 / device.logical_pages()),
        usual: |_| 0..=150,
        sentence: "drives have at most 150 % over-provisioning",
    },
];

fn one(value: u64) -> Option<RangeInclusive<u64>> {
    Some(value..=value)
}

fn of_all(values: &[u64]) -> Option<RangeInclusive<u64>> {
    Some(*values.iter().min()?..=*values.iter().max()?)
}

fn most(values: &[u64]) -> u64 {
    values.iter().max().copied().unwrap_or(0)
}

fn erase_ns(device: &Device) -> u64 {
    device.timing.erase_step_ns * u64::from(device.timing.erase_steps)
}

impl Device {
    /// What of it no known drive has, without places.
    pub fn implausible(&self) -> Vec<Fault> {
        let mut told: Vec<Fault> = Vec::new();
        for rule in RULES {
            let (Some(found), usual) = ((rule.found)(self), (rule.usual)(self)) else { continue };
            let Some(odd) = [*found.start(), *found.end()].into_iter().find(|value| !usual.contains(value)) else { continue };
            let mut fault = Fault::new(rule.section, rule.keys[0], format!("is {odd} {}", rule.unit)).remedy(rule.sentence);
            fault.subject = rule.subject.map(Into::into);
            fault.others = rule.keys[1..].iter().map(|key| (rule.section.into(), (*key).into())).collect();
            if told.iter().all(|other| (&other.section, &other.key) != (&fault.section, &fault.key)) {
                told.push(fault);
            }
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use crate::device::Device;
    use tinytail_config::{ConfigError, Document};

    const TTFLASH: &str = include_str!("../../../../devices/ttflash-small.toml");

    /// What is told of a drive with other values, each key once.
    fn told(changes: &[(&str, &str)]) -> String {
        let text = changes.iter().fold(TTFLASH.to_string(), |text, (from, to)| {
            assert!(text.contains(from), "{from}");
            text.replacen(from, to, 1)
        });
        let document = Document::parse("d.toml", &text).unwrap();
        ConfigError(Device::from_document(&document).unwrap().implausible()).placed([&document].into_iter()).to_string()
    }

    #[test]
    fn values_of_no_known_drive_are_told_each_by_one_rule() {
        for (changes, sentence) in [
            (&[("[800000]", "[600]")][..], "d.toml:17: [timing] `program_ns` is 600 ns; flash programs a page in 10 us to 20 ms"),
            (&[("[800000]", "[40000]")], "`program_ns` is 40000 ns; flash takes longer to program a page than to read one, `read_ns`"),
            (&[("[800000]", "[40001]")], ""),
            (&[("[40000]", "[999]")], "`read_ns` is 999 ns; flash reads a page in 1 us to 2 ms"),
            (&[("[40000]", "[1000]")], ""),
            (
                &[("= 2000000", "= 800000")],
                "the erase of a block, `erase_steps` times `erase_step_ns`, is 800000 ns; flash takes longer to erase",
            ),
            (&[("= 2000000", "= 400001"), ("erase_steps = { value = 1", "erase_steps = { value = 2")], ""),
            (&[("transfer_page_ns = { value = 100000", "channel_mb_per_s = { value = 9")], "the rate of a channel is 9 MB/s"),
            (&[("[host]", "[host]\nlink_mb_per_s = 3")], "[host] `link_mb_per_s` is 3 MB/s; links of drives carry 20 to 64,000 MB/s"),
            (
                &[("over_provisioning_percent = { value = 26.984127", "capacity_gb = { value = 0.4")],
                "the flash beyond the capacity is 168 %",
            ),
        ] {
            let found = told(changes);
            assert!(
                found.contains(sentence) && found.is_empty() == sentence.is_empty() && found.lines().count() < 2,
                "{changes:?}: {found}"
            );
        }
    }
}
