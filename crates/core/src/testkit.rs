//! Tiny drives for tests.

use crate::design::{Chain, Design, GcSection, Start};
use crate::device::{AgeingMethod, Device, Flash, Geometry, Host, Percent, Ram, StartingState, Timing};
use crate::flash::traits::FlashTraits;
use crate::ftl::state::Ftl;
use crate::ftl::traits::FtlTraits;
use crate::ftl::{Claimant, Tables};
use crate::gc::state::{GcState, Gcs};
use crate::ids::{BlockGroup, PlaneIx, Pool};
use crate::policy::view::View;
use crate::policy::{Scope, Victim};
use crate::raid::active::Rain;
use crate::raid::traits::RaidTraits;
use crate::stripes::Stripes;
use crate::techniques::destage::lru::Lru;
use crate::techniques::gc_gate::free::Free;
use crate::techniques::gc_lock::blocking::Blocking;
use crate::techniques::gc_trigger::watermark::Watermark;
use crate::techniques::order::fifo::Fifo;
use crate::techniques::page_choice::any::Any;
use crate::techniques::pairing::none::Nothing;
use crate::techniques::place::static_order::StaticOrder;
use crate::techniques::read_plan::direct::Direct;
use crate::techniques::scrub::never::Never as NoScrub;
use crate::techniques::suspend::never::Never;
use crate::techniques::victim::greedy::Greedy;
use crate::techniques::wear_level::never::Never as NoLevelling;
use crate::techniques::{
    DestagePolicy, GcGatePolicy, GcLockPolicy, GcTriggerPolicy, OrderPolicy, PageChoicePolicy, PairingPolicy, PlacePolicy, ReadPlanPolicy,
    ScrubPolicy, SuspendPolicy, VictimPolicy, WearLevelPolicy,
};
use tinytail_config::{Document, Faults, Place, decode};

/// The over-provisioning of a drive that shows its host `logical` of `physical` pages.
pub fn over_provisioning(logical: u32, physical: u32) -> Option<Percent> {
    Some(Percent::of_units(u64::from(physical - logical) * 100 * Percent::ONE / u64::from(logical)))
}

/// One die of one plane on each of two channels; times that are easy to add: command 1, array read 10, transfer 100,
/// program 1000, erase 5 steps of 2000, suspend 30, resume 40, RAM 3. No buffer.
pub fn tiny_device() -> Device {
    Device {
        name: "tiny".into(),
        summary: "a drive for tests".into(),
        geometry: Geometry {
            channels: 2,
            chips_per_channel: 1,
            dies_per_chip: 1,
            planes_per_die: 1,
            blocks_per_plane: 8,
            pages_per_block: 4,
            page_bytes: 4096,
        },
        timing: Timing {
            command_ns: 1,
            transfer_page_ns: 100,
            channel_mb_per_s: None,
            read_ns: vec![10],
            program_ns: vec![1000],
            page_class_layout: None,
            page_class_pattern: vec![0],
            erase_step_ns: 2000,
            erase_steps: 5,
            erases_per_extra_step: None,
            erase_steps_max: 5,
            program_steps: 1,
            suspend_ns: 30,
            resume_ns: 40,
            verify_ns: 0,
            ram_ns: 3,
        },
        flash: Flash::default(),
        host: Host {
            capacity_gb: None,
            over_provisioning_percent: over_provisioning(50, 100),
            queue_depth: 32,
            depth_per_queue: false,
            queue_weights: vec![1],
            link_mb_per_s: None,
            overhead_ns: 0,
        },
        ram: Ram { buffer_kib: 0, flush_above_percent: 80, stripe_table_kib: None },
        state: StartingState {
            live_percent: 50,
            free_percent: Some(30.0),
            overwrite_percent: 0,
            ageing: AgeingMethod::Overwrite,
            round_percent: None,
            parity_percent: None,
            level_planes: false,
        },
        errors: None,
        defaults: crate::device::Defaults::default(),
    }
}

/// A plain design: FIFO, greedy, no pairing, no suspension; GC locks `scope` below half of the pages erased.
pub fn plain_design(scope: Scope) -> Design {
    Design {
        name: "plain".into(),
        summary: "a design for tests".into(),
        gc: GcSection::default(),
        place: PlacePolicy::Static(StaticOrder::default()),
        gc_trigger: GcTriggerPolicy::Watermark(Watermark::new(50.0, 25.0)),
        gc_gate: GcGatePolicy::Free(Free::default()),
        gc_lock: GcLockPolicy::Blocking(Blocking::new(scope)),
        victim: vec![VictimPolicy::Greedy(Greedy {})],
        order: OrderPolicy::Fifo(Fifo {}),
        page_choice: PageChoicePolicy::Any(Any {}),
        pairing: PairingPolicy::Nothing(Nothing::default()),
        suspend: SuspendPolicy::Never(Never {}),
        read_plan: ReadPlanPolicy::Direct(Direct {}),
        destage: DestagePolicy::Lru(Lru {}),
        scrub: ScrubPolicy::Never(NoScrub {}),
        wear_level: WearLevelPolicy::Never(NoLevelling {}),
        start: Start::default(),
        rows: Vec::new(),
        files: Vec::new(),
        policies: Vec::new(),
    }
}

/// Puts a policy, written as in a design file, in the place of a design's victims.
pub fn with_victims(mut design: Design, chain: &str) -> Design {
    let document = Document::parse("chain", &format!("chain = [{chain}]")).expect("a chain");
    let mut faults = Faults::default();
    let chain: Option<Chain> = decode(&document.root, &Place::default(), "victim", &mut faults);
    assert_eq!(faults.result(), Ok(()));
    design.victim = chain.expect("a chain without a fault").chain;
    design
}

/// Flash and firmware's state of a drive that runs nothing, for the questions that policies are asked.
pub struct Parts {
    pub flash: crate::flash::Flash,
    pub ftl: Ftl,
    pub raid: crate::raid::state::Raid,
}

impl Parts {
    pub fn new(device: &Device, tables: Tables) -> Self {
        Self::of(device, tables, FlashTraits::default(), FtlTraits::default())
    }

    fn of(device: &Device, tables: Tables, flash: FlashTraits, ftl: FtlTraits) -> Self {
        let flash = crate::flash::Flash::new(device, flash);
        let gc = Gcs::new(&flash, &tables, 0);
        let ftl = Ftl::new(&flash, ftl, tables, gc, Some((10, 2)));
        Self { flash, ftl, raid: crate::raid::state::Raid::new(device, RaidTraits::default(), None) }
    }

    pub fn view(&self) -> View<'_> {
        View::new(&self.flash, &self.ftl, &self.raid)
    }
}

/// The state of an erased tiny drive.
pub fn tiny_state() -> Parts {
    let device = tiny_device();
    let tables = Tables::new(&device.geometry, device.logical_pages(), 1, 1, false);
    Parts::new(&device, tables)
}

/// The state of an erased tiny drive with late-bound allocation, with fast and slow pages in turns and so many write points.
pub fn late_bound_state(write_points: u32) -> Parts {
    let mut device = tiny_device();
    device.geometry.blocks_per_plane = 24;
    (device.timing.read_ns, device.timing.program_ns) = (vec![10, 20], vec![1000, 3000]);
    device.timing.page_class_pattern = vec![0, 1];
    let mut tables = Tables::new(&device.geometry, device.logical_pages(), write_points, 1, false);
    tables.count_live();
    let flash = FlashTraits { late_bound: true, ..FlashTraits::default() };
    Parts::of(&device, tables, flash, FtlTraits { dynamic: true, ..FtlTraits::default() })
}

/// Takes pages of a write point of a drive with late-bound allocation, in the tables alone.
pub fn take_pages(state: &mut Parts, plane: PlaneIx, write_point: usize, pages: u32) {
    for _ in 0..pages {
        state.ftl.tables.take(plane, write_point, Claimant::Gc).expect("room for a test page");
    }
    let late_bound = state.ftl.late_bound.as_mut().expect("a drive with late-bound allocation");
    late_bound.points.update(&state.ftl.tables, plane, write_point);
}

/// The state of an erased tiny drive of these channels and dies on each, whose pages form stripes, with a buffer of 16 pages.
pub fn state_with_stripes(channels: u32, dies: u32, width: u32) -> Parts {
    let mut device = tiny_device();
    (device.geometry.channels, device.geometry.dies_per_chip) = (channels, dies);
    device.ram.buffer_kib = 64;
    let stripes = Stripes::new(&device, width);
    let tables = Tables::new(&device.geometry, stripes.pages(), 1, 1, false);
    let mut state = Parts::new(&device, tables);
    state.raid.rain = Some(Box::new(Rain::new(stripes, device.geometry.planes(), 16)));
    state
}

/// Writes logical pages into the buffer.
pub fn dirty(state: &mut Parts, lpns: &[u32]) {
    for &lpn in lpns {
        state.raid.buffer.insert(lpn, 0xff);
        state.raid.rain.as_mut().expect("a drive with stripes").note_dirty(lpn);
    }
}

/// A GC is under way in a plane from now on.
pub fn begin_gc(state: &mut Parts, plane: PlaneIx) {
    state.ftl.gc.planes_for_test()[plane as usize].state = GcState::Moving;
    let rain = state.raid.rain.as_mut().expect("a drive with stripes");
    rain.gc_begins_for_test(plane);
}

impl Parts {
    /// Drops the dirty pages of a stripe.
    pub fn forget_dirty_for_test(&mut self, stripe: u32) {
        let rain = self.raid.rain.as_mut().expect("a drive with stripes");
        let (first, members) = rain.stripes().members(stripe);
        (first..first + members).for_each(|lpn| rain.note_dropped(lpn));
    }
}

/// Writes logical pages to plane 0 of a drive in the tables alone, reserve and all.
pub fn write(state: &mut Parts, lpns: &[u32]) {
    for &lpn in lpns {
        let ppn = state.ftl.tables.take(0, 0, Claimant::Gc).expect("room for a test page");
        state.ftl.tables.commit_write(lpn, ppn);
    }
}

/// A tiny drive, whose plane 0 has 8 blocks of 4 pages, with logical pages written to it.
pub fn state_with_writes(lpns: &[u32]) -> Parts {
    let mut state = tiny_state();
    write(&mut state, lpns);
    state
}

/// The victims that a policy finds in pool 0, by their numbers.
pub fn victims(policy: &mut impl Victim, state: &Parts) -> Vec<u32> {
    let mut found = Vec::new();
    policy.search(state.view(), Pool(0), false, &mut found);
    found.into_iter().map(|group| group.0).collect()
}

/// Those that a policy keeps of some candidates of pool 0.
pub fn kept(policy: &mut impl Victim, state: &Parts, candidates: &[u32]) -> Vec<u32> {
    let mut candidates = candidates.iter().copied().map(BlockGroup).collect();
    policy.narrow(state.view(), Pool(0), &mut candidates);
    candidates.into_iter().map(|group| group.0).collect()
}

/// The built-in 256 GiB drive, cut down to one channel of one plane, without buffer.
pub fn table_1_plane() -> Device {
    let text = include_str!("../../../devices/ttflash-256g.toml");
    let document = Document::parse("ttflash-256g", text).expect("a built-in device");
    let mut device = Device::from_document(&document).expect("a built-in device");
    device.geometry.channels = 1;
    device.geometry.chips_per_channel = 1;
    device.geometry.blocks_per_plane = 16;
    device.ram.buffer_kib = 0;
    device.host.queue_depth = 65_536;
    device
}
