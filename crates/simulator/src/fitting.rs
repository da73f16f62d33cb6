//! Whether designs suit a device, found without ageing anything: what of each follows the drive, and what can't run on it at all,
//! with values of the device under which it can.

use crate::catalog;
use crate::image::Image;
use crate::settings::{Number, Settings};
use serde::{Deserialize, Serialize};
use tinytail_config::ConfigError;
use tinytail_core::design::{Adjustment, Design};
use tinytail_core::device::Device;

/// Designs that are to run on a device.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FitSpec {
    /// Name or path of the device.
    pub device: String,
    /// Compositions.
    pub designs: Vec<String>,
    /// Values of the starting state that replace the device's.
    #[serde(default)]
    pub state: toml::Table,
    /// Path of an image to start from, instead of ageing.
    #[serde(default)]
    pub image: Option<String>,
    /// Values that are given beside the files.
    #[serde(default)]
    pub settings: Settings,
}

/// How a design suits a device.
#[derive(Debug, Clone, Serialize)]
pub struct Fit {
    /// Its composition.
    pub design: String,
    /// What of it follows the drive.
    pub adjusted: Vec<Adjustment>,
    /// Bytes that a host can address under it.
    pub logical_bytes: u64,
    /// Why it can't run on the drive, if it can't.
    pub refusal: Option<Refusal>,
}

/// Why a design can't run on a device, and what can.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// What contradicts what, with the place.
    pub message: String,
    /// Whether it is for the drive; else it can run on none.
    pub of_drive: bool,
    /// What runs on the device instead, if anything is known.
    pub remedy: Option<Remedy>,
}

/// What runs in place of something that is refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Remedy {
    /// The composition: the same, unless no values let it run.
    pub design: String,
    /// All values that are to be given, as one would write them behind `--set`.
    pub settings: Vec<String>,
}

/// How each of some designs suits a device.
///
/// # Errors
/// A faulty device, state or image; a design that is not known, or an image that it can't start from.
pub fn fits(spec: &FitSpec) -> Result<Vec<Fit>, ConfigError> {
    let image = spec.image.as_deref().map(Image::open).transpose()?;
    let device = drive(spec, image.as_ref(), &spec.settings)?;
    let mut found = Vec::new();
    for composition in &spec.designs {
        catalog::check_names(composition)?;
        if let (Err(fault), Ok(_)) = (catalog::design_with(composition, &spec.settings, None), catalog::design(composition)) {
            // The given values are at fault, on whatever drive.
            return Err(fault);
        }
        let (fitted, adjusted, refusal) = match fit(composition, &device, &spec.settings) {
            Ok((fitted, design, adjusted)) => {
                if let Some(image) = &image {
                    image.check_fits(&fitted, &design)?;
                }
                (fitted, adjusted, None)
            }
            Err(error) => (device.clone(), Vec::new(), Some(refusal(composition, spec, image.as_ref(), error))),
        };
        let logical_bytes = fitted.logical_pages() * u64::from(fitted.geometry.page_bytes);
        found.push(Fit { design: composition.clone(), adjusted, logical_bytes, refusal });
    }
    Ok(found)
}

/// A device and a design as they run together, and what of them follows the drive.
fn fit(composition: &str, device: &Device, settings: &Settings) -> Result<(Device, Design, Vec<Adjustment>), ConfigError> {
    let mut device = device.clone();
    let (mut design, adjusted) = catalog::fitted(composition, &mut device, settings)?;
    design.prepare(&device)?;
    Ok((device, design, adjusted))
}

/// The device with values that are given, in the state in which runs on it start.
fn drive(spec: &FitSpec, image: Option<&Image>, settings: &Settings) -> Result<Device, ConfigError> {
    let mut device = catalog::device_with(&spec.device, settings)?.with_state("the given state", spec.state.clone())?;
    if let Some(image) = image {
        device.state = image.header.state.clone();
    }
    Ok(device)
}

fn refusal(composition: &str, spec: &FitSpec, image: Option<&Image>, error: ConfigError) -> Refusal {
    let of_drive = catalog::design(composition).is_ok();
    let message = error.to_string();
    // For what can run on no drive, the nearest that can.
    let itself = of_drive.then(|| composition.to_string());
    let remedy = itself.into_iter().chain(neighbours(composition)).find_map(|design| {
        let settings = Doctor { design: &design, spec, image }.cure()?;
        Some(Remedy { design, settings })
    });
    Refusal { message, of_drive, remedy }
}

/// A value that is given behind `--set`: its key with the section, and the value.
type Value = (String, String);

/// Looks for values under which a design runs on a device that refuses it.
struct Doctor<'a> {
    design: &'a str,
    spec: &'a FitSpec,
    image: Option<&'a Image>,
}

/// The key of what a drive has most of its space from.
const BLOCKS: (&str, &str) = ("geometry", "blocks_per_plane");

/// What is at fault.
enum Unfit {
    /// The device, whatever runs on it.
    Device,
    /// The design on this device.
    Design(ConfigError),
}

/// Faults that are done away with, one after the other.
const CURES_MAX: usize = 6;

impl Doctor<'_> {
    /// Values to be given for the design to run, those that are given among them; nothing if there are none.
    fn cure(&self) -> Option<Vec<String>> {
        let mut given: Vec<Value> = Vec::new();
        for _ in 0..CURES_MAX {
            match self.fits_with(&given) {
                Ok(()) => return self.spec.settings.replaced(given.iter().map(word)).ok().map(|settings| settings.words()),
                Err(Unfit::Device) => return None,
                Err(Unfit::Design(error)) => given = self.without_one_fault(&given, &error)?,
            }
        }
        None
    }

    fn fits_with(&self, given: &[Value]) -> Result<(), Unfit> {
        let settings = self.spec.settings.replaced(given.iter().map(word)).map_err(|_| Unfit::Device)?;
        let device = drive(self.spec, self.image, &settings).map_err(|_| Unfit::Device)?;
        fit(self.design, &device, &settings).map(drop).map_err(Unfit::Design)
    }

    /// The values with others, which do away with one of the faults.
    fn without_one_fault(&self, given: &[Value], error: &ConfigError) -> Option<Vec<Value>> {
        error.0.iter().find_map(|fault| {
            let own = (fault.section.as_str(), fault.key.as_str());
            let mut keys: Vec<(&str, &str)> = fault.others.iter().map(|(section, key)| (section.as_str(), key.as_str())).collect();
            // What lacks space is given space rather than made to need less.
            keys.insert(usize::from(keys.contains(&BLOCKS)) * keys.len(), own);
            let cures = |values: &Vec<Value>| match self.fits_with(values) {
                Ok(()) => true,
                Err(Unfit::Device) => false,
                Err(Unfit::Design(error)) => {
                    !error.0.iter().any(|other| (&other.section, &other.key, &other.others) == (&fault.section, &fault.key, &fault.others))
                }
            };
            let with = |values: Vec<Value>| {
                let kept = given.iter().filter(|(key, _)| values.iter().all(|(other, _)| other != key));
                kept.cloned().chain(values.iter().cloned()).collect::<Vec<Value>>()
            };
            let settings = self.spec.settings.replaced(given.iter().map(word)).ok()?;
            let device = drive(self.spec, self.image, &settings).ok()?;
            // A number of the user's that is out of bounds is moved to them, rather than the drive around it.
            let moved = [own].into_iter().chain(keys.iter().copied()).find_map(|(section, own_key)| {
                let key = format!("{section}.{own_key}");
                let number = self.spec.settings.number(&key).filter(|_| given.iter().all(|(moved, _)| *moved != key))?;
                // What has usual values, or gives space, keeps to them.
                if (section, own_key) == BLOCKS || !values_of(section, own_key, &device).is_empty() {
                    return None;
                }
                let to = |value| with(vec![(key.clone(), value)]);
                nearest(number, |value| cures(&to(value))).map(to)
            });
            if moved.is_some() {
                return moved;
            }
            keys.into_iter().find_map(|(section, key)| {
                if (section, key) == BLOCKS {
                    let blocks = |blocks: u32| with(vec![("geometry.blocks_per_plane".into(), blocks.to_string())]);
                    return least_above(device.geometry.blocks_per_plane, |count| cures(&blocks(count))).map(blocks);
                }
                values_of(section, key, &device).into_iter().map(with).find(cures)
            })
        })
    }
}

/// As it stands behind `--set`.
fn word((key, value): &Value) -> String {
    format!("{key}={value}")
}

/// The nearest number that suits to one that does not. That one is doubled, and halved, until one suits; then the bound lies between.
fn nearest(number: Number, suits: impl Fn(String) -> bool) -> Option<String> {
    let Number { steps, per_unit } = number;
    let word = |steps: u64| if per_unit == 1 { steps.to_string() } else { format!("{}", steps as f64 / per_unit as f64) };
    let fits = |steps: &u64| suits(word(*steps));
    let above = (0..DOUBLINGS_MAX).map(|by| steps.max(1) << by).find(fits);
    let below = (1..DOUBLINGS_MAX).map(|by| steps >> by).find(fits);
    let found = above.into_iter().chain(below).min_by_key(|found| found.abs_diff(steps))?;
    let (mut good, mut bad) = (found, steps);
    while good.abs_diff(bad) > 1 {
        let middle = good.midpoint(bad);
        if fits(&middle) { good = middle } else { bad = middle }
    }
    Some(word(good))
}

/// So often a number is doubled or halved at most.
const DOUBLINGS_MAX: u32 = 20;

/// The least number above one that is not enough of which all are that are larger.
fn least_above(too_few: u32, is_enough: impl Fn(u32) -> bool) -> Option<u32> {
    let (mut least, mut most) = (too_few, too_few.checked_mul(2)?);
    while !is_enough(most) {
        (least, most) = (most, most.checked_mul(2).filter(|&most| most <= BLOCKS_MAX)?);
    }
    while most - least > 1 {
        let middle = least + (most - least) / 2;
        if is_enough(middle) { most = middle } else { least = middle }
    }
    Some(most)
}

/// The most blocks of a plane that are tried.
const BLOCKS_MAX: u32 = 1 << 18;

/// Values that may do away with a fault that names a key, in the order in which they are tried. The first leave capacity and the time
/// of an erase as they are.
fn values_of(section: &str, key: &str, device: &Device) -> Vec<Vec<Value>> {
    let (g, t) = (&device.geometry, &device.timing);
    let of = |key: &str, value: u32| (key.to_string(), value.to_string());
    // More of something, with so many times fewer blocks of each plane; with as many, or twice as many, where those are too few.
    let with_fewer_blocks = |value: Value, by: u32| {
        let blocks = [g.blocks_per_plane.div_ceil(by), g.blocks_per_plane, g.blocks_per_plane.saturating_mul(2)];
        blocks.map(|blocks| vec![value.clone(), of("geometry.blocks_per_plane", blocks)])
    };
    match (section, key) {
        ("ram", "buffer_kib") => {
            let capacity_kib = device.logical_pages() * u64::from(g.page_bytes) / 1024;
            let usual = (capacity_kib / 4096).next_power_of_two().clamp(64, 65_536) as u32;
            std::iter::successors(Some(usual), |kib| Some(kib * 2)).take(8).map(|kib| vec![of("ram.buffer_kib", kib)]).collect()
        }
        ("gc", "write_points") => vec![vec![of("gc.write_points", 2)]],
        ("flash", "multi_plane_read") => vec![vec![("flash.multi_plane_read".into(), "true".into())]],
        ("flash", "multi_plane_program") => vec![vec![("flash.multi_plane_program".into(), "true".into())]],
        ("timing", "erase_steps") => {
            let step_ns = t.erase_step_ns * u64::from(t.erase_steps) / 2;
            vec![vec![of("timing.erase_steps", 2), ("timing.erase_step_ns".into(), step_ns.to_string())]]
        }
        ("timing", "program_steps") => vec![vec![of("timing.program_steps", 2)]],
        ("place", "stripe_width") => {
            let widths = (2..=g.channels).rev().filter(|width| g.channels.is_multiple_of(*width));
            let mut found: Vec<Vec<Value>> = widths.map(|width| vec![of("place.stripe_width", width)]).collect();
            if g.chips_per_channel.is_multiple_of(2) {
                found.push(vec![of("geometry.channels", 2 * g.channels), of("geometry.chips_per_channel", g.chips_per_channel / 2)]);
            }
            found.extend(with_fewer_blocks(of("geometry.channels", 2 * g.channels), 2));
            found
        }
        ("geometry", "planes_per_die") => with_fewer_blocks(of("geometry.planes_per_die", 2), 2).into(),
        ("geometry", "pages_per_block") => [2, 4, 8, 16, 32]
            .into_iter()
            .flat_map(|by| with_fewer_blocks(of("geometry.pages_per_block", g.pages_per_block * by), by))
            .collect(),
        _ => Vec::new(),
    }
}

/// Compositions near to one, the nearest first: with stripes, behind a design, without one of its parts, its design alone.
fn neighbours(composition: &str) -> Vec<String> {
    let parts: Vec<&str> = composition.split('+').collect();
    let (root, overlays) = parts.split_first().expect("a text has a first part");
    let with = |root: &str, overlays: &[&str]| [&[root], overlays].concat().join("+");
    let mut found =
        vec![with(root, &[&["rain"], overlays].concat()), with("base", &parts), with("base", &[&["rain"], &parts[..]].concat())];
    for left_out in (0..overlays.len()).rev() {
        let mut rest = overlays.to_vec();
        rest.remove(left_out);
        found.push(with(root, &rest));
    }
    found.push((*root).to_string());
    found.extend(catalog::root(composition));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits_on(device: &str, designs: &[&str]) -> Vec<Fit> {
        let designs = designs.iter().map(ToString::to_string).collect();
        fits(&FitSpec { device: device.into(), designs, state: toml::Table::new(), image: None, settings: Settings::default() }).unwrap()
    }

    #[test]
    fn papers_designs_keep_their_numbers_on_the_drives_of_their_papers() {
        for (devices, designs) in [
            (
                &["ttflash-256g", "ttflash-48g", "ttflash-small"][..],
                &["base", "base+no-gc", "base+rain", "pb", "pb-gtr", "ttflash", "pb+gtr+f-rgc"][..],
            ),
            (
                &["hpdc-1t", "hpdc-1t-4planes", "hpdc-1t-small", "hpdc-1t-4planes-small"],
                &["hpdc-baseline", "gc-par-basic", "gc-par", "gc-vic+skip-pages", "gc-slack", "die-preemptible"],
            ),
            (&["hpdc-1t-rain", "hpdc-1t-rain-small"], &["hpdc-baseline", "hpdc-ttflash"]),
            (&["lowlatency-240g", "lowlatency-240g-small"], &["erase-baseline", "es", "i-es", "d-es", "t-es", "ideal-es"]),
            (
                &["harey-8g", "harey-128g", "harey-8g-all-fast", "harey-128g-all-fast", "harey-8g-small", "harey-128g-small"],
                &[
                    "harey-baseline",
                    "write-points-8",
                    "write-points-32",
                    "rtf-weak+write-points-32",
                    "fgc",
                    "sgc",
                    "rate-match",
                    "dynamic-ftl+write-points-32",
                ],
            ),
        ] {
            for device in devices {
                for fit in fits_on(device, designs) {
                    assert_eq!((fit.adjusted, fit.refusal), (vec![], None), "{} on {device}", fit.design);
                }
            }
        }
    }

    #[test]
    fn what_follows_the_drive_is_named_with_what_was_wanted() {
        let fit = &fits_on("modern-tlc-2t", &["base"])[0];
        let named: Vec<(&str, &str)> = fit.adjusted.iter().map(|item| (item.code.as_str(), item.key.as_str())).collect();
        let thresholds = [("gc_thresholds", "soft_free_percent"), ("gc_thresholds", "hard_free_percent")];
        assert_eq!(named[..2], thresholds);
        assert_eq!(named[2..], [("gc_gate", "start"), ("gc_gate", "one_per_channel")]);
        // A plane has 1,366 blocks of 1,536 pages. 0.5 % of the blocks are bad, GC keeps one, and one is open. What a full drive
        // holds, 87.27 % of all pages, is not spare either. GC starts below a third of what is left and is urgent below a sixth.
        let pages = 1366.0 * 1536.0;
        let held = (0.8727_f64 * pages).ceil();
        let spare = (1366.0 - (0.005_f64 * 1366.0).floor() - 1.0 - 1.0) * 1536.0 - held;
        // In percent of all pages, with two decimals, upwards.
        let percent = |pages_erased: f64| (pages_erased / pages * 10_000.0).ceil() / 100.0;
        let [soft, hard] = [&fit.adjusted[0], &fit.adjusted[1]];
        assert_eq!((soft.wanted.as_f64(), hard.wanted.as_f64()), (Some(30.0), Some(10.0)));
        assert_eq!(soft.used.as_f64(), Some(percent((spare / 3.0).floor())), "{}", soft.message);
        assert_eq!(hard.used.as_f64(), Some(percent((spare / 6.0).floor())), "{}", hard.message);
        let said = format!("this drive has {:.1} % spare", spare / pages * 100.0);
        assert!(soft.message.ends_with(&said) && soft.message == hard.message, "{}", soft.message);
    }

    #[test]
    fn thresholds_that_the_user_gives_stay() {
        let given = ["gc_trigger.soft_free_percent=8.0", "gc_trigger.hard_free_percent=2.5"];
        let spec = FitSpec {
            device: "modern-tlc-2t".into(),
            designs: vec!["base".into()],
            state: toml::Table::new(),
            image: None,
            settings: Settings::try_from(given.map(String::from).to_vec()).unwrap(),
        };
        let fit = fits(&spec).unwrap().remove(0);
        assert_eq!((fit.adjusted, fit.refusal), (vec![], None));
    }

    #[test]
    fn a_number_of_the_users_is_moved_to_its_bound() {
        let remedy = |given: &[&str]| {
            let spec = FitSpec {
                device: "ttflash-small".into(),
                designs: vec!["base".into()],
                state: toml::Table::new(),
                image: None,
                settings: Settings::try_from(given.iter().map(ToString::to_string).collect::<Vec<_>>()).unwrap(),
            };
            let refusal = fits(&spec).unwrap().remove(0).refusal?;
            let remedy = refusal.remedy.unwrap_or_else(|| panic!("{}", refusal.message));
            let settings = Settings::try_from(remedy.settings.clone()).unwrap();
            assert_eq!(fits(&FitSpec { settings, ..spec }).unwrap().remove(0).refusal, None, "{remedy:?}");
            Some(remedy.settings)
        };
        let soft = |percent: &str| format!("gc_trigger.soft_free_percent={percent}");
        let most = remedy(&[&soft("95")]).unwrap();
        let most: f64 = most[0].split_once('=').unwrap().1.parse().unwrap();
        assert_eq!(remedy(&[&soft(&most.to_string())]), None);
        assert!(remedy(&[&soft(&(most + 0.03).to_string())]).is_some(), "a page of 4,096 is 0.024 %, and {most} % is the most");
        let hard = |percent: &str| format!("gc_trigger.hard_free_percent={percent}");
        // 128 of 4,096 pages, those of the reserve and of a write point; percents are rounded up to pages.
        assert_eq!(remedy(&[&hard("0.001")]), Some(vec![hard("3.113")]));
        assert_eq!(remedy(&[&soft("8"), &hard("12")]), Some(vec![hard("12"), soft("12")]));
    }

    #[test]
    fn parity_leaves_a_tenth_of_the_pages_spare_and_the_drive_says_how_much_it_holds() {
        let found = fits_on("modern-tlc-2t", &["base", "ttflash"]);
        assert_eq!(found.iter().map(|fit| (fit.logical_bytes + 500_000_000) / 1_000_000_000).collect::<Vec<_>>(), [1920, 1724]);
        let note = &found[1].adjusted[0];
        assert_eq!((note.code.as_str(), note.used.as_f64()), ("parity_capacity", Some(1724.216000512)));
        assert_eq!(note.message, "one page in 8 is parity: the drive holds 1724 GB under ttflash, and 1920 GB without parity");
        assert_eq!(found[0].adjusted.iter().find(|item| item.code == "parity_capacity"), None);
    }

    #[test]
    fn what_is_impossible_is_refused_with_a_pair_that_runs() {
        let one_channel = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
        let text = include_str!("../../../devices/ttflash-small.toml").replace("channels = { value = 8", "channels = { value = 1");
        std::fs::write(one_channel.path(), text).unwrap();
        let one_channel = one_channel.path().to_str().unwrap();
        for (device, design, instead, settings) in [
            (one_channel, "ttflash", "ttflash", &["geometry.channels=2", "geometry.chips_per_channel=4"][..]),
            ("ttflash-small", "base+gtr", "base+rain+gtr", &[]),
            ("ttflash-small", "gtr", "base+rain+gtr", &[]),
            ("hpdc-1t-small", "base+gtr", "base+rain+gtr", &["ram.buffer_kib=2048"]),
            ("hpdc-1t", "ttflash", "ttflash", &["ram.buffer_kib=65536"]),
            ("ttflash-small", "t-es", "t-es", &["timing.erase_steps=2", "timing.erase_step_ns=1000000"]),
            ("ttflash-small", "harey-baseline+rain", "harey-baseline", &[]),
        ] {
            let fit = &fits_on(device, &[design])[0];
            let refusal = fit.refusal.as_ref().unwrap_or_else(|| panic!("{design} on {device}"));
            let remedy = refusal.remedy.as_ref().map(|remedy| (remedy.design.as_str(), remedy.settings.clone()));
            let settings = settings.iter().map(ToString::to_string).collect();
            assert_eq!(remedy, Some((instead, settings)), "{design}: {}", refusal.message);
        }
        for (design, of_drive) in [("t-es", true), ("no-gc", false)] {
            let fit = &fits_on("ttflash-small", &[design])[0];
            assert_eq!(fit.refusal.as_ref().map(|refusal| refusal.of_drive), Some(of_drive), "{design}");
        }
    }
}
