//! Any geometry: a design runs on it, or is refused before anything ages with values under which it runs.

use proptest::prelude::*;
use tinytail_core::drive::Drive;
use tinytail_core::units::MS;
use tinytail_simulator::catalog;
use tinytail_simulator::control::Control;
use tinytail_simulator::fitting::{Fit, FitSpec, Remedy, fits};
use tinytail_simulator::play::{Ending, play_streams};
use tinytail_simulator::settings::Settings;
use tinytail_workload::{SourceContext, TraceOptions, Workload};

use crate::drives::Log;

/// A drive of which it is not known whether anything runs on it.
#[derive(Debug, Clone)]
struct Shape {
    twin: String,
    channels: u32,
    chips: u32,
    planes: u32,
    blocks: u32,
    /// In dozens, so that any pattern of page classes divides them.
    pages: u32,
    spare_percent: u32,
    buffer_pages: u32,
    design: String,
    seed: u64,
}

fn shape() -> impl Strategy<Value = Shape> {
    let twins: Vec<String> = catalog::devices().into_iter().map(|device| device.name).filter(|name| name.ends_with("-small")).collect();
    let mut designs: Vec<String> =
        catalog::designs().into_iter().map(|listing| listing.name).filter(|name| catalog::design(name).is_ok()).collect();
    designs.extend(["base+idle-die", "base+background-emergency"].map(String::from));
    (
        (prop::sample::select(twins), 1u32..4, 1u32..3, prop::sample::select(vec![1u32, 2, 4, 8]), 4u32..80, 1u32..4),
        (2u32..30, prop::sample::select(vec![0u32, 8, 40, 500]), prop::sample::select(designs), any::<u64>()),
    )
        .prop_map(|((twin, channels, chips, planes, blocks, pages), (spare_percent, buffer_pages, design, seed))| Shape {
            twin,
            channels,
            chips,
            planes,
            blocks,
            pages: 12 * pages,
            spare_percent,
            buffer_pages,
            design,
            seed,
        })
}

impl Shape {
    fn words(&self) -> Vec<String> {
        let page_kib = catalog::device(&self.twin).unwrap().geometry.page_bytes / 1024;
        vec![
            format!("geometry.channels={}", self.channels),
            format!("geometry.chips_per_channel={}", self.chips),
            "geometry.dies_per_chip=1".into(),
            format!("geometry.planes_per_die={}", self.planes),
            format!("geometry.blocks_per_plane={}", self.blocks),
            format!("geometry.pages_per_block={}", self.pages),
            format!("host.over_provisioning_percent={}", self.spare_percent),
            format!("ram.buffer_kib={}", self.buffer_pages * page_kib),
            "state.ageing=overwrite".into(),
            "state.overwrite_percent=150".into(),
        ]
    }

    fn fit(&self, words: &[String]) -> Fit {
        let settings = Settings::try_from(words.to_vec()).unwrap();
        let designs = vec![self.design.clone()];
        fits(&FitSpec { device: self.twin.clone(), designs, state: toml::Table::new(), image: None, settings }).unwrap().remove(0)
    }

    /// Ages the drive and plays two loads on it, with every read checked.
    fn runs(&self, words: &[String]) -> Result<(), String> {
        let settings = Settings::try_from(words.to_vec()).unwrap();
        let mut device = catalog::device_with(&self.twin, &settings).unwrap();
        let (design, _) = catalog::fitted(&self.design, &mut device, &settings).unwrap();
        let mut drive = Drive::new(&device, design, true, Log::default()).map_err(|error| error.to_string())?;
        drive.age(self.seed, &[], |_, _| true);
        drive.wake();
        for load in ["randwrite-qd32", "randrw70-qd16"] {
            let mapped_sectors = u64::from(drive.mapped_pages()) * u64::from(device.geometry.sectors_per_page());
            let context = SourceContext { logical_sectors: device.logical_sectors(), mapped_sectors };
            let workload = Workload::resolve(load, &TraceOptions::default()).unwrap();
            let mut streams = workload.streams(self.seed, &context, Some(400)).unwrap();
            let start = drive.now() + MS;
            match play_streams(&mut drive, &mut streams, start, &Control::default(), |_| false) {
                Ending::Complete => {}
                Ending::Stuck(_) if drive.design().gc_trigger.name() == "never" => break,
                other => return Err(format!("{load}: {other:?} {}", drive.explain_standstill())),
            }
        }
        assert_eq!(drive.mismatch(), None);
        drive.audit()
    }
}

proptest! {
    #[test]
    fn any_design_runs_on_any_geometry_or_is_refused_with_values_under_which_it_does(shape in shape()) {
        let words = shape.words();
        // A drive that is none is refused whatever the design is.
        prop_assume!(catalog::device_with(&shape.twin, &Settings::try_from(words.clone()).unwrap()).is_ok());
        let Some(refusal) = shape.fit(&words).refusal else {
            prop_assert_eq!(shape.runs(&words), Ok(()));
            return Ok(());
        };
        let Some(Remedy { design, settings }) = refusal.remedy else {
            return Err(TestCaseError::fail(format!("no remedy: {}", refusal.message)));
        };
        prop_assert_eq!(&design, &shape.design);
        prop_assert_eq!(shape.runs(&settings), Ok(()), "with {:?}", settings);
        // Where it is the blocks that are too few, one less than the number that is named is too few as well.
        let added: Vec<&String> = settings.iter().filter(|word| !words.contains(word)).collect();
        if let [only] = added.as_slice()
            && let Some(blocks) = only.strip_prefix("geometry.blocks_per_plane=")
        {
            let fewer = format!("geometry.blocks_per_plane={}", blocks.parse::<u32>().unwrap() - 1);
            let fewer: Vec<String> = settings.iter().map(|word| if word == *only { fewer.clone() } else { word.clone() }).collect();
            prop_assert!(shape.fit(&fewer).refusal.is_some(), "{:?} are enough", fewer);
        }
    }
}

/// Overwrites with a few blocks: `erase-baseline`, whose dies share their pages among planes by chance.
#[test]
fn too_few_blocks_are_refused_with_the_number_that_is_enough() {
    let on = |blocks: u32| Shape {
        twin: "lowlatency-240g-small".into(),
        channels: 4,
        chips: 4,
        planes: 8,
        blocks,
        pages: 24,
        spare_percent: 0,
        buffer_pages: 2048,
        design: "erase-baseline".into(),
        seed: 257,
    };
    let words = |blocks: u32| {
        let words = on(blocks).words();
        words.into_iter().filter(|word| !word.starts_with("host.")).collect::<Vec<String>>()
    };
    let enough = |blocks: u32| {
        let remedy = on(blocks).fit(&words(blocks)).refusal.unwrap().remedy.unwrap();
        let named: Vec<u32> =
            remedy.settings.iter().filter_map(|word| word.strip_prefix("geometry.blocks_per_plane=")?.parse().ok()).collect();
        let [named] = named[..] else { panic!("{remedy:?}") };
        named
    };
    let named = enough(96);
    assert_eq!([48, 47, named - 1].map(enough), [named; 3]);
    assert_eq!(on(named).fit(&words(named)).refusal, None);
    assert_eq!(on(named).runs(&words(named)), Ok(()));
    // 6.3 % of 24 pages a block are spare. 3 blocks are kept, and live pages deviate by 6 roots of 7/16 of their number.
    let room = |blocks: u32| 0.063 * 24.0 * f64::from(blocks) - 72.0 - 6.0 * (0.937 * 24.0 * f64::from(blocks) * 7.0 / 16.0).sqrt();
    assert!(room(named + 2) > 0.0 && room(named - 2) < 0.0, "{named}");
}
