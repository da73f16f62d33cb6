//! Whether designs suit a device, found without ageing anything: what of each follows the drive, and what can't run on it at all,
//! with the nearest pair of design and device that can.

use crate::catalog;
use crate::image::Image;
use crate::settings::Settings;
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
    /// A composition near to it that runs on the device.
    pub design: Option<String>,
    /// A device that comes with the program on which the composition itself runs.
    pub device: Option<String>,
}

/// How each of some designs suits a device.
///
/// # Errors
/// A faulty device, state or image; a design that is not known, or an image that it can't start from.
pub fn fits(spec: &FitSpec) -> Result<Vec<Fit>, ConfigError> {
    let mut device = catalog::device_with(&spec.device, &spec.settings)?.with_state("the given state", spec.state.clone())?;
    let image = spec.image.as_deref().map(Image::open).transpose()?;
    if let Some(image) = &image {
        device.state = image.header.state.clone();
    }
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
            Err(error) => (device.clone(), Vec::new(), Some(refusal(composition, spec, &device, error.to_string()))),
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

fn refusal(composition: &str, spec: &FitSpec, device: &Device, message: String) -> Refusal {
    let runs = |composition: &String| fit(composition, device, &spec.settings).is_ok();
    let design = neighbours(composition).into_iter().find(runs);
    // A twin for tests stands in for a twin, a whole drive for a whole one.
    let is_twin = spec.device.ends_with("-small");
    let others = catalog::devices().into_iter().map(|listing| listing.name).filter(|other| other.ends_with("-small") == is_twin);
    let device = others
        .into_iter()
        .find(|other| catalog::device_with(other, &spec.settings).is_ok_and(|other| fit(composition, &other, &spec.settings).is_ok()));
    Refusal { message, of_drive: catalog::design(composition).is_ok(), design, device }
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
        assert_eq!(named, [("gc_thresholds", "soft_free_percent"), ("gc_thresholds", "hard_free_percent"), ("gc_gate", "start")]);
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
    fn parity_takes_its_share_where_it_leaves_too_little_and_says_how_much() {
        let found = fits_on("modern-tlc-2t", &["base", "ttflash"]);
        assert_eq!(found.iter().map(|fit| (fit.logical_bytes + 500_000_000) / 1_000_000_000).collect::<Vec<_>>(), [1920, 1680]);
        let note = &found[1].adjusted[0];
        assert_eq!((note.code.as_str(), note.used.as_f64()), ("parity_capacity", Some(1679.9940608)));
        assert_eq!(note.message, "one page in 8 is parity: the drive holds 1680 GB under ttflash, and 1920 GB without parity");
        assert_eq!(found[0].adjusted.iter().find(|item| item.code == "parity_capacity"), None);
    }

    #[test]
    fn what_is_impossible_is_refused_with_a_pair_that_runs() {
        let one_channel = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
        let text = include_str!("../../../devices/ttflash-small.toml").replace("channels = { value = 8", "channels = { value = 1");
        std::fs::write(one_channel.path(), text).unwrap();
        let one_channel = one_channel.path().to_str().unwrap();
        for (device, design, instead) in [
            (one_channel, "ttflash", "base"),
            ("ttflash-small", "base+gtr", "base+rain+gtr"),
            ("ttflash-small", "gtr", "base+rain+gtr"),
            ("ttflash-small", "harey-baseline+rain", "harey-baseline"),
        ] {
            let fit = &fits_on(device, &[design])[0];
            let refusal = fit.refusal.as_ref().unwrap_or_else(|| panic!("{design} on {device}"));
            assert_eq!(refusal.design.as_deref(), Some(instead), "{design}: {}", refusal.message);
        }
        for (design, of_drive) in [("t-es", true), ("no-gc", false)] {
            let fit = &fits_on("ttflash-small", &[design])[0];
            assert_eq!(fit.refusal.as_ref().map(|refusal| refusal.of_drive), Some(of_drive), "{design}");
        }
    }
}
