//! The devices that come with tinytail: their papers' numbers, and the drive against what follows from their data.

use tinytail_core::commands::{Command, CommandKind};
use tinytail_core::design::Design;
use tinytail_core::device::{AgeingMethod, Bandwidth, Derived, Device};
use tinytail_core::drive::Drive;
use tinytail_core::observe::Completion;
use tinytail_core::techniques::order::read_first::{Channel, ReadFirst};
use tinytail_core::techniques::pairing::same_offset::SameOffset;
use tinytail_core::techniques::{OrderPolicy, PairingPolicy};
use tinytail_core::units::{Ns, SECOND};
use tinytail_simulator::catalog;
use tinytail_simulator::control::Control;
use tinytail_simulator::run::run;
use tinytail_simulator::settings::Settings;
use tinytail_simulator::spec::Spec;

use crate::drives::Log;

fn device(name: &str) -> Device {
    catalog::device(name).unwrap()
}

fn derived(name: &str) -> Derived {
    device(name).derived()
}

fn all() -> Vec<Device> {
    catalog::devices().iter().map(|listing| device(&listing.name)).collect()
}

fn no_gc() -> Design {
    catalog::design("base+no-gc").unwrap()
}

fn mb_s(bytes_per_s: f64) -> f64 {
    bytes_per_s / 1e6
}

fn close(found: f64, expected: f64, tolerance: f64) {
    assert!((found / expected - 1.0).abs() <= tolerance, "{found}, expected {expected}");
}

/// A device of the name without `-small`; the TTFLASH twin leaves the size out.
fn full_size(twin: &Device) -> Device {
    let name = twin.name.strip_suffix("-small").expect("a twin");
    device(if name == "ttflash" { "ttflash-256g" } else { name })
}

#[test]
fn a_twin_differs_in_size_only() {
    let (twins, others): (Vec<Device>, Vec<Device>) = all().into_iter().partition(|device| device.name.ends_with("-small"));
    assert_eq!(twins.len(), others.len() - 1, "ttflash-48g shares the twin of ttflash-256g");
    for twin in twins {
        let full = full_size(&twin);
        let (g, f) = (&twin.geometry, &full.geometry);
        assert_eq!(
            (g.channels, g.chips_per_channel, g.dies_per_chip, g.planes_per_die, g.page_bytes),
            (f.channels, f.chips_per_channel, f.dies_per_chip, f.planes_per_die, f.page_bytes)
        );
        assert_eq!(twin.host, full.host, "{}", twin.name);
        assert_eq!(twin.derived().read_page_ns, full.derived().read_page_ns);
        assert_eq!(twin.derived().write_page_ns, full.derived().write_page_ns);
        assert_eq!(twin.derived().erase_ns, full.derived().erase_ns);
        assert_eq!(twin.derived().read, full.derived().read, "{}", twin.name);
        close(twin.derived().write.peak(), full.derived().write.peak(), 1e-9);
        assert!(g.physical_pages() <= 1 << 20, "{} is small", twin.name);
    }
}

#[test]
fn ttflash_is_table_1() {
    let drive = derived("ttflash-256g");
    assert_eq!((drive.raw_bytes, drive.plane_bytes, drive.physical_pages), (256 << 30, 4 << 30, 1 << 26));
    // 40 + 100, 800 + 100, 40 + 800 and 2000 us, and 0.2 us for each command.
    assert_eq!(drive.read_page_ns, [140_200]);
    assert_eq!(drive.program_page_ns, [900_200]);
    assert_eq!(drive.copyback_page_ns, [840_400]);
    assert_eq!(drive.erase_ns, 2_000_200);
    assert_eq!(drive.write_page_ns, [1_000], "the buffer acknowledges");
    close(mb_s(drive.read.channels), 8.0 * 4096.0 / 100.2, 1e-9);
    // The paper's analysis has a plane program 4.5 MB/s, in its units.
    close(mb_s(drive.write.dies) / 64.0, 4.55, 0.001);
}

#[test]
fn the_low_latency_drive_is_table_1_and_the_simulator_s_column_of_table_2() {
    let drive = derived("lowlatency-240g");
    // 4 channels of 4 chips of 8 planes of 683 blocks of 768 pages: 256.125 GiB, 240 of them logical.
    assert_eq!((drive.physical_pages, drive.raw_bytes), (67_141_632, 275_012_124_672));
    close(drive.logical_bytes as f64, 240.0 * f64::from(1 << 30), 1e-4);
    close(drive.effective_over_provisioning_percent, 6.7, 0.01);
    // At queue depth 1, reads of 4 KB take 15.3 us and writes 15.2.
    assert_eq!((drive.read_page_ns, drive.write_page_ns), (vec![15_300], vec![15_200]));
    assert_eq!(drive.erase_ns, 5_000_290);
    let mib_s = |bytes_per_s: f64| bytes_per_s / f64::from(1 << 20);
    // 3250 MiB/s of reads and 3100 of writes in the simulator, 3300 and 2700 in the real drive.
    close(mib_s(drive.read.peak()), 3250.0, 0.01);
    close(mib_s(drive.write.peak()), 3100.0, 0.06);
    // 16 dies of 8 planes program 5.0 GiB/s in 100 us, and less where transfers and commands come before.
    close(mib_s(drive.write.planes) / 1024.0, 5.0 * 100.0 / (100.0 + 8.0 * (3.413 + 0.29)), 0.03);
}

#[test]
fn the_drives_of_the_harey_tortoise_are_table_1() {
    let (small, large) = (derived("harey-8g"), derived("harey-128g"));
    assert_eq!((small.raw_bytes, large.raw_bytes), (8 << 30, 128 << 30));
    assert_eq!(small.logical_pages, small.physical_pages * 8 / 10);
    for drive in [&small, &large] {
        // 27 and 40 us, 253 and 1359 us, and 4096 bytes over 400 MB/s.
        assert_eq!(drive.read_page_ns, [37_240, 50_240]);
        assert_eq!(drive.write_page_ns, [263_240, 1_369_240], "no buffer");
        assert_eq!(drive.erase_ns, 2_871_000);
    }
    // Eight dies at the mean of 806 us and the bus: the paper's baseline peaks at 39.4.
    close(mb_s(small.write.peak()), 40.1, 0.002);
    close(mb_s(small.write.peak()), 39.4, 0.02);
    close(mb_s(large.write.peak()), 16.0 * 40.14, 0.001);
    // The all-fast twin has as many blocks, with half the pages in each: only the fast ones.
    for name in ["harey-8g", "harey-128g"] {
        let (all, fast) = (derived(name), derived(&format!("{name}-all-fast")));
        assert_eq!((fast.physical_pages, fast.raw_bytes), (all.physical_pages / 2, all.raw_bytes / 2), "{name}");
        assert_eq!((fast.read_page_ns, fast.write_page_ns), (vec![37_240], vec![263_240]), "{name}");
        assert_eq!(device(&format!("{name}-all-fast")).geometry.blocks_per_plane, device(name).geometry.blocks_per_plane);
    }
    close(mb_s(derived("harey-8g-all-fast").write.peak()), 124.5, 0.001);
    let pattern = device("harey-8g").timing.page_class_pattern;
    assert_eq!((pattern.len(), pattern.iter().filter(|&&class| class == 0).count()), (128, 64));
    assert_eq!((&pattern[..8], &pattern[122..]), ([0, 0, 0, 0, 1, 1, 0, 0].as_slice(), [0, 0, 1, 1, 1, 1].as_slice()));
}

#[test]
fn the_drive_of_io_parallelized_gc_is_table_1() {
    let drive = derived("hpdc-1t");
    // 128 planes of 1048 blocks of 512 pages of 16 KiB.
    assert_eq!((drive.raw_bytes, drive.plane_bytes), (1048 << 30, (1048 << 30) / 128));
    // 115 and 1600 us, and 16384 bytes at 166 MT/s; the link takes 1366 ns.
    assert_eq!(drive.read_page_ns, [213_699 + 1_366]);
    assert_eq!(drive.write_page_ns, [1_698_699 + 1_366]);
    assert_eq!(drive.copyback_page_ns, [1_715_000]);
    // A page that GC moves through the controller takes 1912 us.
    assert_eq!(drive.controller_copy_page_ns, [1_912_398]);
    assert_eq!(drive.erase_ns, 3_000_000);
    // Four channels of 166 MB/s.
    close(mb_s(drive.read.peak()), 664.0, 1e-4);
    close(mb_s(drive.write.peak()), 664.0, 1e-4);
}

#[test]
fn mqsim_s_drive_is_its_configuration() {
    let drive = derived("mqsim-default");
    assert_eq!((drive.physical_pages, drive.raw_bytes), (1 << 26, 512 << 30));
    assert_eq!(drive.logical_pages * 100, (drive.physical_pages * 93) / 100 * 100);
    // 75 and 750 us, 8 KB at 3 ns a byte, half of it for 4 KB.
    assert_eq!(drive.program_page_ns, [290 + 24_576 + 750_000]);
    assert_eq!((drive.read_page_ns, drive.read_4kib_ns), (vec![290 + 75_000 + 24_576 + 2_048], vec![290 + 75_000 + 12_288 + 1_024]));
    assert_eq!(drive.erase_ns, 3_800_290);
    close(mb_s(drive.read.channels), 8.0 * 8192.0 / 24.866, 1e-9);
}

#[test]
fn the_modern_drives_are_near_their_public_data() {
    let (tlc, qlc) = (derived("modern-tlc-2t"), derived("modern-qlc-4t"));
    close(tlc.logical_bytes as f64, 1.92e12, 1e-4);
    close(qlc.logical_bytes as f64, 3.84e12, 1e-4);
    assert_eq!((mb_s(tlc.read.peak()), mb_s(qlc.read.channels.min(qlc.read.planes)) < 7000.0), (6500.0, true));
    // 32 dies of 82 MB/s.
    close(mb_s(tlc.write.planes), 32.0 * 82.0, 0.07);
    close(tlc.read_page_ns.iter().map(|&ns| ns as f64).sum::<f64>() / 3.0, 15_000.0 + 300.0 + 45_000.0 + 13_653.0 + 2_521.0, 1e-5);
    for name in ["modern-tlc-2t", "modern-qlc-4t"] {
        for row in catalog::describe_device(name, &Settings::default()).unwrap().rows {
            assert!(!row.source.starts_with("estimate") || row.source.starts_with("estimate: "), "{name}: {}", row.key);
        }
    }
}

#[test]
fn every_twin_runs_base_however_it_was_aged() {
    for device in all().into_iter().filter(|device| device.name.ends_with("-small")) {
        for ageing in ["overwrite", "steady", "statistical"] {
            runs_to_its_end(&device.name, "base", ageing);
        }
    }
}

#[test]
fn the_twins_of_the_harey_tortoise_hold_its_thresholds_and_write_points() {
    for (twin, ageing) in [("harey-8g-small", "overwrite"), ("harey-8g-small", "steady"), ("harey-128g-small", "overwrite")] {
        for design in ["harey-baseline", "harey-baseline+rate-match-auto+write-points-32"] {
            assert!(runs_to_its_end(twin, design, ageing) > 0, "{twin} {design} {ageing}: it starts at its threshold");
        }
    }
}

/// Runs a design on a device, until 2,000 requests are done. Returns how many GCs there were.
fn runs_to_its_end(device: &str, design: &str, ageing: &str) -> u64 {
    let spec = Spec {
        requests: Some(2_000),
        verify: true,
        state: toml::Table::from_iter([("ageing".to_string(), ageing.into())]),
        windows: 200,
        ..Spec::new(device, design, "randrw70-qd16")
    };
    let outcome = run(&spec, &Control::default()).unwrap();
    let ended = (outcome.stuck, outcome.partial, outcome.read.count + outcome.write.count);
    assert_eq!(ended, (None, false, 2_000), "{device} {design} {ageing}");
    outcome.gc_count
}

/// The device with few blocks, which take no time, and data in every plane.
fn with_few_blocks(mut device: Device) -> Device {
    device.geometry.blocks_per_plane = 8;
    device.set_logical_pages(device.geometry.physical_pages() / 2);
    device.state.ageing = AgeingMethod::Overwrite;
    (device.state.live_percent, device.state.free_percent, device.state.overwrite_percent) = (40, Some(10.0), 0);
    device
}

/// The latency of a command when the drive does nothing else.
fn alone(drive: &mut Drive<Log>, kind: CommandKind, page: u64, bytes: u32) -> Ns {
    let per_page = u64::from(drive.view().geometry().sectors_per_page());
    let mut done: Vec<Completion> = Vec::new();
    let id = drive.submit(drive.now() + SECOND, Command { kind, sector: page * per_page, sectors: bytes / 512, critical: false }).unwrap();
    while done.is_empty() {
        assert!(drive.has_completions() || drive.step());
        drive.take_completions(&mut done);
    }
    assert_eq!(done[0].id, id);
    done[0].completed - done[0].arrived
}

#[test]
fn uncontended_requests_take_exactly_what_follows_from_the_data() {
    for device in all().into_iter().map(with_few_blocks) {
        let (g, name) = (&device.geometry, &device.name);
        let expected = device.derived();
        let class = |offset: u32| {
            let pattern = &device.timing.page_class_pattern;
            usize::from(pattern[offset as usize % pattern.len()])
        };
        let mut drive = Drive::new(&device, no_gc(), true, Log::default()).unwrap();
        drive.age(1, &[], |_, _| true);
        let planes = u64::from(g.planes());
        // Ageing lays the pages of a plane in order, so each of these has another offset in plane 0.
        let offsets = g.pages_per_block.min(192);
        for offset in 0..offsets {
            let page = u64::from(offset) * planes;
            assert_eq!(alone(&mut drive, CommandKind::Read, page, g.page_bytes), expected.read_page_ns[class(offset)], "{name}");
            if let Some(&small) = expected.read_4kib_ns.get(class(offset)) {
                assert_eq!(alone(&mut drive, CommandKind::Read, page, 4096), small, "{name}");
            }
        }
        let buffered = device.ram.buffer_kib > 0;
        for write in 0..offsets {
            let page = if buffered { u64::from(write) % 16 } else { 0 };
            let expected = expected.write_page_ns[if buffered { 0 } else { class(drive.view().tables().next_offset(0, 0)) }];
            assert_eq!(alone(&mut drive, CommandKind::Write, page, g.page_bytes), expected, "{name}");
        }
        if let Some(small) = expected.write_4kib_ns {
            assert_eq!(alone(&mut drive, CommandKind::Write, 0, 4096), small, "{name}");
        }
        assert_eq!(drive.mismatch(), None);
    }
}

/// Bytes per second, in the second half of it, of a sequential stream in closed loop that leaves no plane without work. Its
/// requests come in at the rate `expected` until enough of them are outstanding.
fn saturated(device: &Device, kind: CommandKind, multi_plane: bool, expected: f64) -> f64 {
    let mut device = device.clone();
    (device.state.live_percent, device.state.free_percent, device.state.overwrite_percent) = (100, Some(1.0), 0);
    device.host.queue_depth = 65_536;
    if device.ram.buffer_kib > 0 {
        // Enough to keep all planes at work, and little beside the drive.
        device.ram.buffer_kib = 32 << 10;
    }
    let mut design = no_gc();
    if multi_plane {
        design.pairing = PairingPolicy::SameOffset(SameOffset::default());
    }
    // With any other order the dies of a channel fall into step.
    design.order = OrderPolicy::ReadFirst(ReadFirst::new(Channel::Commands));
    let mut drive = Drive::new(&device, design, false, Log::default()).unwrap();
    if kind == CommandKind::Read {
        drive.age(1, &[], |_, _| true);
    }
    let g = &device.geometry;
    let page_bytes = u64::from(g.page_bytes);
    // The buffer flushes as much as the write that waits for it needs.
    let pages = if kind == CommandKind::Read { 1 } else { (2 * device.ram.buffer_kib * 1024 / g.page_bytes).max(1) };
    let depth = u64::from(8 * g.planes()).div_ceil(pages.into()).max(2);
    let requests_max = if std::env::var_os("TINYTAIL_SOAK").is_some() { 40_000 } else { 20_000 };
    let requests = (device.logical_pages() / 2 / u64::from(pages)).min(requests_max);
    let sectors = pages * g.sectors_per_page();
    let gap = (u64::from(pages) * page_bytes) as f64 * 1e9 / expected;
    let (mut done, mut outstanding, mut ramp, mut half) = (Vec::new(), 0, true, (0, 0));
    for request in 0..requests {
        if ramp {
            drive.advance((gap * request as f64) as Ns);
        }
        while outstanding >= depth {
            ramp = false;
            assert!(drive.step());
            drive.take_completions(&mut done);
            outstanding -= done.drain(..).len() as u64;
        }
        if request == requests / 2 {
            half = (drive.counters().ftl.host_operations, drive.now());
        }
        drive.submit(drive.now(), Command { kind, sector: request * u64::from(sectors), sectors, critical: false }).unwrap();
        outstanding += 1;
    }
    ((drive.counters().ftl.host_operations - half.0) * page_bytes) as f64 * 1e9 / (drive.now() - half.1) as f64
}

/// What is left of a sequential stream of reads with cache registers if all dies read pages of one class at the same time: the
/// pages of fast classes then wait for the channel, and the channel for those of slow ones.
fn in_step(device: &Device, multi_plane: bool) -> f64 {
    let (g, t) = (&device.geometry, &device.timing);
    let planes = if multi_plane && device.flash.multi_plane_read { u64::from(g.planes_per_die) } else { 1 };
    let of_class = |&class: &u8| {
        let die = planes * t.command_ns + t.read_ns[usize::from(class)].max(planes * t.transfer_page_ns);
        die.max(u64::from(g.dies_per_channel()) * planes * (t.command_ns + t.transfer_page_ns))
    };
    let round: Ns = t.page_class_pattern.iter().map(of_class).sum();
    (u64::from(g.dies()) * planes * u64::from(g.page_bytes) * t.page_class_pattern.len() as u64) as f64 * 1e9 / round as f64
}

#[test]
fn a_saturating_stream_reaches_the_peak() {
    for device in all().into_iter().filter(|device| device.name.ends_with("-small")) {
        let expected = device.derived();
        for multi_plane in [false, true] {
            let of = |bandwidth: Bandwidth| if multi_plane { bandwidth.peak() } else { bandwidth.peak_without_multi_plane() };
            for (kind, expected) in [(CommandKind::Read, of(expected.read)), (CommandKind::Write, of(expected.write))] {
                let ratio = saturated(&device, kind, multi_plane, expected) / expected;
                let what = format!("{} {kind:?}, multi-plane commands {multi_plane}: {ratio} of {} MB/s", device.name, mb_s(expected));
                let registers = kind == CommandKind::Read && device.flash.cache_register;
                let least = if registers { expected.min(in_step(&device, multi_plane)) / expected } else { 1.0 };
                assert!(ratio > 0.98 * least && ratio < 1.02, "{what}, least {least}");
            }
        }
    }
}
