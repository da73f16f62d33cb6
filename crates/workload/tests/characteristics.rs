//! The characteristics of recorded traces, against what has been published with them.

use std::fs::File;
use std::path::{Path, PathBuf};

use tinytail_workload::{Trace, TraceOptions};

/// What the README of the recorded traces says of one: requests, duration in s, writes in %, mean read and write in KiB, span in
/// GiB, MiB of different pages written and read, overwrites in %, sequential in %.
struct Published {
    name: &'static str,
    time_unit: &'static str,
    unit: &'static str,
    figures: [f64; 10],
}

const FIGURES: [&str; 10] = [
    "requests",
    "duration_s",
    "write_percent",
    "read.mean_kib",
    "write.mean_kib",
    "span_gib",
    "write.footprint_mib",
    "read.footprint_mib",
    "overwrite_percent",
    "sequential_percent",
];

/// Not published.
const NONE: f64 = f64::NAN;

/// Their figures were published with all devices laid over each other, where they are laid side by side here.
const OVER_EACH_OTHER: [&str; 2] = ["wsrch-small.trace", "tpcc-small.trace"];

/// A trace with every request on device 0, in a temporary file.
struct OneDevice(PathBuf);

impl OneDevice {
    fn of(trace: &Path) -> Self {
        let text = String::from_utf8(zstd::stream::decode_all(File::open(trace).unwrap()).unwrap()).unwrap();
        let line = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            format!("{} 0 {}\n", words[0], words[2..].join(" "))
        };
        let path = std::env::temp_dir().join(format!("tinytail-{}-{}", std::process::id(), trace.file_name().unwrap().display()));
        std::fs::write(&path, text.lines().map(line).collect::<String>()).unwrap();
        Self(path)
    }
}

impl Drop for OneDevice {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[rustfmt::skip]
const PUBLISHED: [Published; 15] = [
    Published { name: "DTRS1K.trace", time_unit: "us", unit: "sectors", figures: [127_043.0, 300.0, 11.0, 55.6, 53.4, 153.2, 719.0, 4316.0, 0.9, 84.7] },
    Published { name: "prxy_sample.csv", time_unit: "100ns", unit: "bytes", figures: [20_000.0, 938.8, 98.3, 17.7, 2.3, 20.4, 6.3, 5.4, 93.4, 79.9] },
    Published { name: "hm_0.csv", time_unit: "100ns", unit: "bytes", figures: [7_016.0, 148.4, 17.0, 13.0, 5.8, 13.9, 4.6, 48.6, 42.2, 25.5] },
    Published { name: "msr-cambridge1-sample.csv", time_unit: "100ns", unit: "bytes", figures: [1_000.0, 127.2, 49.2, 11.7, 7.1, 12.6, 1.9, 5.7, 49.3, 24.4] },
    Published { name: "rsrch_1.csv", time_unit: "100ns", unit: "bytes", figures: [13_780.0, 576_558.0, 99.7, 13.2, 12.2, 178.4, 112.0, 0.6, 31.9, 24.2] },
    Published { name: "wdev_1.csv", time_unit: "100ns", unit: "bytes", figures: [1_055.0, 595_003.0, 100.0, NONE, 5.1, 48.4, 1.4, 0.0, 72.7, 56.9] },
    Published { name: "wdev_3.csv", time_unit: "100ns", unit: "bytes", figures: [682.0, 596_962.0, 98.4, 63.3, 4.4, 33.9, 0.5, 0.7, 90.5, 58.7] },
    Published { name: "msr.cut.per_10k.rw_20_80.105.trace", time_unit: "ms", unit: "bytes", figures: [10_000.0, 242.9, 79.8, 1.8, 6.2, 13.9, 22.7, 6.5, 59.2, 22.8] },
    Published { name: "msr.cut.per_10k.most_thpt_rand_iops.1006.trace", time_unit: "ms", unit: "bytes", figures: [10_000.0, 1.0, 16.8, 4.2, 54.9, 11.8, 90.2, 23.2, 0.0, 33.2] },
    Published { name: "wsrch-small.trace", time_unit: "ns", unit: "sectors", figures: [24_783.0, 60.1, 0.0, 15.1, 8.0, 16.7, NONE, 360.0, NONE, 29.0] },
    Published { name: "tpcc-small.trace", time_unit: "ns", unit: "sectors", figures: [6_999.0, 0.136, 37.4, 8.1, 8.7, 216.0, 30.7, 49.4, 1.7, 0.8] },
    Published { name: "ssd-iozone-aligned2-100K.trace", time_unit: "ms", unit: "sectors", figures: [100_000.0, 936.0, 100.0, NONE, 360.0, 16.0, 1060.0, 0.0, 97.0, 56.1] },
    Published { name: "ssd-postmark-aligned2.trace", time_unit: "ms", unit: "sectors", figures: [62_257.0, 490.0, 16.8, 98.8, 833.0, 21.3, 5986.0, 3762.0, 29.8, 79.9] },
    Published { name: "pcmark", time_unit: "ms", unit: "sectors", figures: [56_088.0, 1466.0, 25.4, 76.9, 212.0, 105.0, 514.0, 2014.0, 82.6, 51.6] },
    Published { name: "trace_opt_7b_mqsim_512tok_cache_drop.txt", time_unit: "ns", unit: "sectors", figures: [36_873.0, 34.3, 13.6, 96.6, 474.0, 953.0, 2314.0, 3006.0, 0.0, 80.6] },
];

/// The published figures are rounded to one decimal, or to a whole number.
fn agrees(found: f64, published: f64) -> bool {
    let place = if published.fract() == 0.0 && published >= 100.0 { 1.0 } else { 0.1 };
    (found - published).abs() <= 0.6 * place
}

#[test]
fn recorded_traces_have_the_published_characteristics() {
    let Some(folder) = std::env::var_os("TINYTAIL_TRACES").map(PathBuf::from) else {
        eprintln!("SKIPPED: set TINYTAIL_TRACES to the folder with the recorded traces to test them");
        return;
    };
    let mut faults = Vec::new();
    for published in PUBLISHED {
        let name = published.name;
        let path = folder.join(format!("{name}.zst"));
        if !path.is_file() {
            eprintln!("SKIPPED: {} is not there", path.display());
            continue;
        }
        let options = TraceOptions {
            time_unit: Some(published.time_unit.parse().unwrap()),
            unit: Some(published.unit.parse().unwrap()),
            ..TraceOptions::default()
        };
        let one_device = OVER_EACH_OTHER.contains(&name).then(|| OneDevice::of(&path));
        let path = one_device.as_ref().map_or(&path, |one_device| &one_device.0);
        let info = Trace::open(path, &options).unwrap().info().unwrap().characteristics;
        let document = serde_json::to_value(&info).unwrap();
        for (figure, said) in FIGURES.into_iter().zip(published.figures) {
            let found = document.pointer(&format!("/{}", figure.replace('.', "/"))).and_then(serde_json::Value::as_f64).unwrap();
            if !said.is_nan() && !agrees(found, said) {
                faults.push(format!("{name}, {figure}: {found}, published {said}"));
            }
        }
        let sizes: u64 = info.read.sizes.iter().chain(&info.write.sizes).map(|class| class.requests).sum();
        assert_eq!(sizes, info.requests, "{name}");
        let parts = info.read.footprint_mib + info.write.footprint_mib;
        assert!(info.footprint_mib <= parts && info.footprint_mib >= parts / 2.0, "{name}");
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
