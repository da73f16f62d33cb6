//! Images: what is saved is what runs start from, and whatever else a file holds is refused.

use proptest::prelude::*;
use std::io::Cursor;
use std::path::PathBuf;
use std::sync::LazyLock;
use tinytail_core::design::Design;
use tinytail_core::device::Device;
use tinytail_core::drive::Drive;
use tinytail_core::image::Layout;
use tinytail_simulator::catalog;
use tinytail_simulator::control::Control;
use tinytail_simulator::image::{self, CreateSpec, Header, Image, VERSION};
use tinytail_simulator::outcome::Outcome;
use tinytail_simulator::run::run;
use tinytail_simulator::settings::Settings;
use tinytail_simulator::spec::Spec;
use tinytail_workload::TraceOptions;

use crate::drives::Log;

/// A folder of its own for each test.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn state(text: &str) -> toml::Table {
    text.parse().unwrap()
}

fn create(out: &std::path::Path, design: &str, given: &str) -> image::Info {
    let spec = CreateSpec {
        out: out.to_str().unwrap().into(),
        device: "ttflash-small".into(),
        design: design.into(),
        seed: 3,
        state: state(given),
        settings: Settings::default(),
        workload: None,
        spooled: None,
        trace: TraceOptions::default(),
    };
    image::create(&spec, &Control::default()).unwrap()
}

fn spec(design: &str, given: &str, image: Option<&std::path::Path>) -> Spec {
    Spec {
        requests: Some(20_000),
        seed: 3,
        verify: true,
        state: state(given),
        image: image.map(|path| path.to_str().unwrap().into()),
        windows: 200,
        ..Spec::new("ttflash-small", design, "randrw70-qd16")
    }
}

fn outcome(design: &str, given: &str, image: Option<&std::path::Path>) -> Outcome {
    run(&spec(design, given, image), &Control::default()).unwrap()
}

fn refusal(design: &str, given: &str, image: &std::path::Path) -> String {
    let error = run(&spec(design, given, Some(image)), &Control::default()).unwrap_err();
    assert!(matches!(error, tinytail_simulator::spec::RunError::Config(_)), "{error:?}");
    error.to_string()
}

/// An overlay that collects at random, so that a policy has something to remember.
fn two_choices(folder: &tempfile::TempDir) -> String {
    let path = folder.path().join("two-choices.toml");
    std::fs::write(
        &path,
        "name = \"two-choices\"\nkind = \"overlay\"\nsummary = \"s\"\n[victim]\nchain = [{ policy = \"d_choices\", d = 2 }]\n",
    )
    .unwrap();
    format!("base+{}", path.display())
}

#[test]
fn a_run_from_an_image_is_the_run_that_aged_by_itself() {
    let folder = folder();
    let chosen = two_choices(&folder);
    for (design, given) in [
        ("base", ""),
        (chosen.as_str(), "overwrite_percent = 100"),
        // Full, with fewer pages erased than the 6 % below which GC of `base` starts on a full drive, which has 18.1 % spare. With
        // more than that these few requests would not bring a plane to its first GC.
        ("base", "ageing = \"statistical\"\nlive_percent = 100\nfree_percent = 5"),
        ("base", "ageing = \"steady\"\nround_percent = 50"),
        ("base+idle-die", ""),
    ] {
        let path = folder.path().join("drive.image");
        let info = create(&path, design, given);
        let (here, there) = (outcome(design, given, None), outcome(design, "", Some(&path)));
        assert_eq!(here.event_hash, there.event_hash, "{design} {given}");
        assert_eq!((here.read, here.write, here.techniques), (there.read, there.write, there.techniques));
        assert!(here.gc_count > 0 && there.verified_page_reads.unwrap() > 10_000);
        assert_eq!(here.state.as_ref().unwrap().aged_pages, there.state.as_ref().unwrap().aged_pages);
        assert_eq!(
            (here.state.as_ref().unwrap().image.clone(), there.state.as_ref().unwrap().image.clone()),
            (None, Some(path.display().to_string()))
        );
        assert_eq!(
            (there.state.as_ref().unwrap().steady, &there.state.as_ref().unwrap().rounds),
            (info.header.aged.steady, &info.header.aged.rounds)
        );
    }
}

#[test]
fn padding_of_a_superpage_drive_is_part_of_its_image() {
    let folder = folder();
    let path = folder.path().join("drive.image");
    let (device, design) = ("lowlatency-240g-small", "erase-baseline");
    let spec = CreateSpec {
        out: path.to_str().unwrap().into(),
        device: device.into(),
        design: design.into(),
        seed: 3,
        state: state(""),
        settings: Settings::default(),
        workload: None,
        spooled: None,
        trace: TraceOptions::default(),
    };
    image::create(&spec, &Control::default()).unwrap();
    let of = |image| Spec { requests: Some(2000), seed: 3, image, ..Spec::new(device, design, "randrw70-qd16") };
    let [here, there] = [None, Some(spec.out.clone())].map(|image| run(&of(image), &Control::default()).unwrap());
    assert_eq!(here.event_hash, there.event_hash);
}

#[test]
fn one_image_serves_every_design_of_its_layout() {
    let folder = folder();
    let path = folder.path().join("drive.image");
    create(&path, "base", "");
    for design in ["base+no-gc", "base+plane-blocking", "base+ideal-gc"] {
        assert_eq!(outcome(design, "", Some(&path)).event_hash, outcome(design, "", None).event_hash, "{design}");
    }
}

#[test]
fn a_device_or_design_that_the_image_was_not_made_for_is_named_with_what_differs() {
    let folder = folder();
    let path = folder.path().join("drive.image");
    create(&path, "base", "");
    let overlay = folder.path().join("other.toml");
    std::fs::write(&overlay, "kind = \"overlay\"\nsummary = \"s\"\n[gc]\nwrite_points = 2\n[place]\norder = \"PDWC\"\n").unwrap();
    let message = refusal(&format!("base+{}", overlay.display()), "", &path);
    for part in ["`write_points` is 1 in the image and 2 here", "order = \"CWDP\"", "order = \"PDWC\"", "drive.image", "ttflash-small"] {
        assert!(message.contains(part), "{message}");
    }
    let mut other = spec("base", "", Some(&path));
    other.device = "ttflash-48g".into();
    let message = run(&other, &Control::default()).unwrap_err().to_string();
    assert!(message.contains("[geometry] `blocks_per_plane` is 64 in the image and 768 here"), "{message}");
    let message = refusal("base", "live_percent = 30", &path);
    assert!(message.contains("both given"), "{message}");
}

#[test]
fn faulty_files_are_refused_each_with_its_fault() {
    let folder = folder();
    let path = folder.path().join("drive.image");
    create(&path, "base", "overwrite_percent = 0");
    let whole = std::fs::read(&path).unwrap();
    let refused = |what: &str, bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        let message = refusal("base", "", &path);
        assert!(message.contains(what) && message.starts_with(path.to_str().unwrap()), "{what}: {message}");
        assert_eq!(image::info(path.to_str().unwrap()).unwrap_err().to_string(), message, "`image info` says the same");
    };
    refused("no tinytail image", b"");
    refused("no tinytail image", b"0 0 8 8 1\n");
    refused("cut off", &whole[..20]);
    refused("cut off", &whole[..60]);
    refused(&format!("cut off: it has {} bytes of {}", whole.len() - 1, whole.len()), &whole[..whole.len() - 1]);
    refused("1 bytes longer", &[&whole[..], b"\n"].concat());
    let changed = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        bytes
    };
    refused(&format!("version {}; this tinytail reads version {VERSION}", VERSION ^ 0x10), &changed(16));
    refused("checksum of its header", &changed(100));
    refused("checksum of its contents", &changed(whole.len() / 2));
    refused("checksum of its contents", &changed(whole.len() - 1));
    std::fs::write(&path, &whole).unwrap();
    assert_eq!(image::info(path.to_str().unwrap()).unwrap().bytes, whole.len() as u64);
    let message = refusal("base", "", &folder.path().join("nowhere.image"));
    assert!(message.contains("nowhere.image"), "{message}");
    assert!(refusal("base", "", folder.path()).contains("folder"));
}

#[test]
fn an_image_is_whole_or_not_there_at_all() {
    let folder = folder();
    let path = folder.path().join("drive.image");
    std::fs::write(&path, "what was there before").unwrap();
    let control = Control::default();
    control.cancel();
    let mut spec = CreateSpec {
        out: path.to_str().unwrap().into(),
        device: "ttflash-small".into(),
        design: "base".into(),
        seed: 1,
        state: toml::Table::new(),
        settings: Settings::default(),
        workload: None,
        spooled: None,
        trace: TraceOptions::default(),
    };
    assert!(image::create(&spec, &control).is_err());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "what was there before");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file is left");
    for (out, why) in
        [(folder.path().join("no/such.image"), "no/such.image"), (folder.path().to_path_buf(), "no file"), (PathBuf::new(), "empty")]
    {
        spec.out = out.to_str().unwrap().into();
        let message = image::create(&spec, &Control::default()).unwrap_err().to_string();
        assert!(message.contains("cannot write an image to") && message.contains(why), "{message}");
    }
    let link = folder.path().join("link.image");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    create(&link, "base", "overwrite_percent = 0");
    assert!(link.is_symlink() && image::info(path.to_str().unwrap()).is_ok(), "what a link points to is replaced");
}

#[test]
fn pages_that_the_image_lacks_are_told() {
    let folder = folder();
    let path = folder.path().join("drive.image");
    create(&path, "base", "");
    let workload = folder.path().join("wide.toml");
    let wide = "summary = \"s\"\n[synthetic]\nqueue_depth = 4\nblock_bytes = 4096\nread_share = 1.0\naddresses = \"uniform\"\nrange_bytes = 800000000\nrequests = 5000\n";
    std::fs::write(&workload, wide).unwrap();
    let mut spec = spec("base", "", Some(&path));
    (spec.workload, spec.requests) = (workload.to_str().unwrap().into(), None);
    let outcome = run(&spec, &Control::default()).unwrap();
    assert!(outcome.unmapped_read_pages > 0 && outcome.notes.iter().any(|note| note.contains("--workload")), "{:?}", outcome.notes);
    let create = CreateSpec {
        out: spec.image.clone().unwrap(),
        device: spec.device.clone(),
        design: "base".into(),
        seed: spec.seed,
        state: toml::Table::new(),
        settings: Settings::default(),
        workload: Some(spec.workload.clone()),
        spooled: None,
        trace: TraceOptions::default(),
    };
    image::create(&create, &Control::default()).unwrap();
    let outcome = run(&spec, &Control::default()).unwrap();
    assert_eq!((outcome.unmapped_read_pages, outcome.notes.len()), (0, 0), "{:?}", outcome.notes);
}

fn tiny() -> (Device, Design) {
    let mut device = catalog::device("ttflash-small").unwrap();
    (device.geometry.channels, device.geometry.chips_per_channel, device.geometry.pages_per_block) = (1, 2, 8);
    (device, catalog::design("base").unwrap())
}

/// A whole image of a tiny drive.
static IMAGE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let (device, design) = tiny();
    let layout = Layout::of(&device, &design);
    let mut drive = Drive::new(&device, design, false, Log::default()).unwrap();
    let aged = drive.age(1, &[], |_, _| true);
    let header = Header {
        tinytail: "test".into(),
        device: device.name.clone(),
        design: "base".into(),
        workload: None,
        seed: 1,
        state: device.state,
        aged,
        layout,
    };
    let mut bytes = Cursor::new(Vec::new());
    image::write(&drive, &header, &mut bytes).unwrap();
    bytes.into_inner()
});

fn load(bytes: &[u8]) -> Result<(), String> {
    let (device, design) = tiny();
    let image = Image::read("fuzzed", Cursor::new(bytes), bytes.len() as u64).map_err(|error| error.to_string())?;
    image.check_fits(&device, &design).map_err(|error| error.to_string())?;
    let mut drive = Drive::new(&device, design, true, Log::default()).unwrap();
    image.load(&mut drive, 1).map_err(|error| error.to_string())?;
    drive.audit()
}

#[test]
fn the_whole_image_is_loaded() {
    assert_eq!(load(&IMAGE), Ok(()));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2 * ProptestConfig::default().cases) })]

    #[test]
    fn no_changed_image_is_loaded(
        changes in prop::collection::vec((any::<prop::sample::Index>(), 1u8..), 1..4),
        cut in prop::option::weighted(0.2, any::<prop::sample::Index>()),
        tail in prop::collection::vec(any::<u8>(), 0..3),
    ) {
        let mut bytes = IMAGE.clone();
        for (index, change) in changes {
            *index.get_mut(&mut bytes) ^= change;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        bytes.extend(tail);
        prop_assume!(bytes != *IMAGE);
        let message = load(&bytes).unwrap_err();
        prop_assert!(message.starts_with("fuzzed: ") && message.len() > 20, "{message}");
    }

    #[test]
    fn no_bytes_at_all_are_loaded(start in 0usize..60, bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let start = start.min(IMAGE.len());
        prop_assert!(load(&[&IMAGE[..start], &bytes].concat()).is_err());
    }
}
