//! Random designs on random devices, with the oracle on: every mechanism against every other.

use super::*;
use crate::device::AgeingMethod;
use crate::ids::Pool;
use crate::policy::view::{BlockedRead, Candidate};
use crate::policy::{AskedAgain, GcLock, LockPlan, Order, PageChoice, Parking, Preference, ReadAnswer, ReadPlan, Writer};
use crate::techniques::pairing::superpage::GcPrograms;
use crate::techniques::{DestagePolicy, PageChoicePolicy, ReadPlanPolicy};
use crate::testkit::over_provisioning;
use rand_core::Rng;
use tinytail_config::Decimal;

mod cases;
mod late_bound;
mod power;

use late_bound::{LateBoundMix, late_bound};

/// Answers every question at random.
struct Wild(rand_pcg::Pcg64Mcg);

impl Wild {
    fn new(seed: u64, salt: u64) -> Self {
        Self(rand_pcg::Pcg64Mcg::new(u128::from(seed ^ salt << 60) << 1 | 1 << 90 | 1))
    }

    fn below(&mut self, bound: u32) -> u32 {
        self.0.next_u32() % bound
    }
}

impl Suspend for Wild {
    fn suspend(&mut self, view: View<'_>, _: DieIx) -> Suspension {
        let serve = if self.below(2) == 0 { Serve::Arrived } else { Serve::UntilNoneWaits };
        match self.below(8) {
            0 => Suspension::No,
            1 => Suspension::Now(Keep::Progress, serve),
            2 => Suspension::Now(Keep::Steps, serve),
            3 | 4 => Suspension::AtBoundary(serve),
            _ => Suspension::AskAt(view.now() + u64::from(self.below(3000))),
        }
    }
}

impl GcGate for Wild {
    fn may_start(&mut self, view: View<'_>, _: Pool, _: Want) -> Gate {
        match self.below(3) {
            0 => Gate::Open,
            1 => Gate::ClosedUntil(view.now() + u64::from(self.below(5000))),
            _ => Gate::ClosedUntil(view.now() + 1),
        }
    }

    fn strict(&mut self, _: View<'_>, _: Pool) -> bool {
        self.below(2) == 0
    }
}

impl ReadPlan for Wild {
    fn plan(&mut self, _: View<'_>, _: &BlockedRead<'_>) -> ReadAnswer {
        [ReadAnswer::Direct, ReadAnswer::Wait, ReadAnswer::Reconstruct, ReadAnswer::Reconstruct][self.below(4) as usize]
    }
}

impl GcLock for Wild {
    fn lock(&mut self, _: View<'_>, _: Pool, _: bool) -> LockPlan {
        let scope = [Scope::Plane, Scope::Die, Scope::Channel, Scope::Controller][self.below(4) as usize];
        LockPlan { scope, release_each_page: self.below(2) == 0 }
    }

    fn widest(&mut self) -> Scope {
        Scope::Controller
    }
}

impl Order for Wild {
    fn at_die(&mut self, _: View<'_>, candidates: &[Candidate]) -> usize {
        self.below(candidates.len() as u32) as usize
    }

    fn at_channel(&mut self, _: View<'_>, candidates: &[Candidate]) -> usize {
        self.below(candidates.len() as u32) as usize
    }

    fn may_hold_gc(&mut self) -> bool {
        true
    }

    fn holds_gc(&mut self, _: View<'_>) -> bool {
        self.below(2) == 0
    }

    fn host_in_order(&mut self) -> bool {
        self.below(2) == 0
    }
}

/// One random design on one random device, small enough to be at its limits all the time.
#[derive(Clone, Debug)]
struct Mix {
    channels: u32,
    dies: u32,
    planes: u32,
    scope: u8,
    preemptible: bool,
    controller: bool,
    order: u8,
    pairing: bool,
    quiet: bool,
    suspend: u8,
    buffer_pages: u32,
    write_points: u32,
    command_ns: Ns,
    ideal: bool,
    sequence: bool,
    /// Which interfaces answer at random: suspend, gate, lock, order.
    wild: u8,
    /// Suspend, resume and verify time.
    suspend_ns: Ns,
    /// What the flash has: cache registers, multi-plane reads, multi-plane programs, bad blocks.
    flash: u8,
    /// Thresholds in blocks instead of watermarks.
    blocks: bool,
    /// Least worn blocks first.
    by_wear: bool,
    /// Dynamic allocation, and GC that leaves its plane where nothing contradicts it.
    dynamic: bool,
    across: bool,
    superpage: bool,
    /// Fixed time of a command, and time of a page on the link, if there is one.
    overhead_ns: Ns,
    link_page_ns: Option<u32>,
    /// Weights of the device queues.
    queues: Vec<u32>,
    /// Trims in a hundred requests.
    trims: u32,
    /// Stripes with parity: their width, what the gate, reads and flushes do about GC.
    rain: Option<Stripes>,
    /// Bit errors: wrong bits of a page for each program, and from which percentage of 150 on a scrubbed page is written anew.
    errors: Option<(u64, u32)>,
    levels_wear: bool,
    /// Late-bound allocation and GC of single operations, where there are no stripes.
    late_bound: Option<LateBoundMix>,
    /// How the drive ages, and how much of it is live, if that is not half.
    ageing: AgeingMethod,
    live_percent: Option<u32>,
    /// What takes no time: one bit for each traffic class.
    free: u32,
    program_steps: u32,
    /// Erases take a step more after every two of their block.
    worn_steps: bool,
    /// What goes by dies: the layout and GC, one GC at a time, GC that yields to its end, watermarks.
    by_die: u8,
    /// Whether the host's operations are paired with those of GC; aligned blocks, pages skipped for them, victims that match
    /// the queue.
    gc_par: u8,
    /// Blocks by which a cycle of GC goes on.
    stop_above: u32,
    /// Erases that are joined, programs beside suspended ones, multi-plane programs that make way, pages in a row on a die, a
    /// depth for each queue, errors by suspensions, data before parity, merged reads.
    joined: u8,
    seed: u64,
}

/// What a design with stripes does about GC.
#[derive(Clone, Debug)]
struct Stripes {
    channels: u32,
    width: u32,
    gate: u8,
    reads: u8,
    tolerant_flush: bool,
}

fn stripes() -> impl Strategy<Value = Stripes> {
    let shape = prop_oneof![Just((2u32, 2u32)), Just((3, 3)), Just((4, 4)), Just((4, 2))];
    (shape, 0u8..6, 0u8..5, any::<bool>()).prop_map(|((channels, width), gate, reads, tolerant_flush)| Stripes {
        channels,
        width,
        gate,
        reads,
        tolerant_flush,
    })
}

fn mix() -> impl Strategy<Value = Mix> {
    let shape = (1u32..3, 1u32..4, prop_oneof![Just(1u32), Just(2), Just(4)], 0u8..4, any::<bool>(), any::<bool>());
    let rest = (0u8..7, any::<bool>(), any::<bool>(), 0u8..8, prop_oneof![Just(0u32), Just(2), Just(16)], 1u32..3, 0u64..3);
    let host = (
        prop_oneof![3 => Just(0), 1 => Just(70)],
        prop::option::of(prop_oneof![Just(20u32), Just(400)]),
        prop::collection::vec(1u32..4, 1..4),
        prop_oneof![Just(0u32), Just(10), Just(30)],
    );
    let ageing = prop_oneof![
        4 => Just(AgeingMethod::Overwrite),
        1 => Just(AgeingMethod::Steady),
        1 => Just(AgeingMethod::Statistical),
        2 => Just(AgeingMethod::Random),
    ];
    // Where few pages are live, a block of four pages often holds none.
    let state = (ageing, prop_oneof![2 => Just(None), 1 => (2u32..20).prop_map(Some)]);
    (
        shape,
        rest,
        (prop::bool::weighted(0.1), any::<bool>()),
        (any::<bool>(), 0u8..16, prop_oneof![Just(0), Just(30)], 0u8..16, (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>())),
        (
            host,
            prop::option::of(stripes()),
            prop::option::of((prop_oneof![Just(20u64), Just(100)], prop_oneof![Just(20u32), Just(80)])),
            prop_oneof![3 => Just(0), 1 => 0u32..1 << TRAFFIC_CLASSES],
            prop::option::weighted(0.3, late_bound()),
            state,
        ),
        any::<u64>(),
    )
        .prop_map(
            |(
                (channels, dies, planes, scope, preemptible, controller),
                (order, pairing, quiet, suspend, buffer_pages, write_points, command_ns),
                (ideal, by_wear),
                (sequence, wild, suspend_ns, flash, (blocks, dynamic, across, superpage)),
                ((overhead_ns, link_page_ns, queues, trims), rain, errors, free, late_bound, (ageing, live_percent)),
                seed,
            )| Mix {
                channels,
                dies,
                planes,
                scope,
                preemptible,
                controller,
                order,
                pairing,
                quiet,
                suspend,
                buffer_pages,
                write_points,
                command_ns,
                ideal,
                sequence,
                wild,
                suspend_ns,
                flash,
                blocks,
                by_wear,
                dynamic,
                across,
                superpage,
                overhead_ns,
                link_page_ns,
                queues,
                trims,
                rain,
                errors,
                levels_wear: seed % 2 == 0,
                late_bound,
                ageing,
                live_percent,
                free,
                program_steps: if seed / 256 % 2 == 0 { 1 } else { 3 },
                worn_steps: seed / 512 % 2 == 0,
                by_die: (seed / 1024 % 16) as u8,
                gc_par: (seed / 16_384 % 16) as u8,
                stop_above: (seed / 262_144 % 2) as u32,
                joined: (seed >> 41 & 255) as u8,
                seed,
            },
        )
}

impl Mix {
    fn device(&self) -> Device {
        let mut device = tiny_device();
        if self.stop_above > 0 {
            // What the random writes map is more; the check of the stop watermark looks at this alone.
            device.state.live_percent = 25;
        }
        let g = &mut device.geometry;
        (g.channels, g.dies_per_chip, g.planes_per_die) = (self.channels, self.dies, self.planes);
        g.blocks_per_plane = 16;
        // A program of all planes must be a small part of a block.
        g.pages_per_block = if self.in_die() { 16 } else { g.pages_per_block };
        if self.late_bound().is_some() {
            // Open blocks and those of the thresholds are spare blocks.
            g.blocks_per_plane = 24;
        }
        if let Some(stripes) = &self.rain {
            g.channels = stripes.channels;
            // Parity takes up to a half of the pages.
            (device.host.over_provisioning_percent, device.state.live_percent) = (over_provisioning(30, 100), 30);
        }
        device.state.ageing = self.ageing;
        if let Some(live_percent) = self.live_percent {
            device.state.live_percent = live_percent;
        }
        device.timing.command_ns = self.command_ns;
        device.timing.read_ns = vec![10, 25];
        device.timing.program_ns = vec![1000, 1700];
        device.timing.page_class_pattern = vec![0, 1];
        let least = self.rain.as_ref().map_or(0, |stripes| stripes.width);
        device.ram.buffer_kib = self.buffer_pages.max(least) * 4;
        (device.host.queue_depth, device.host.depth_per_queue) = (8, self.joined & 16 != 0);
        device.host.overhead_ns = self.overhead_ns;
        device.host.link_mb_per_s = self.link_page_ns.map(|ns| 4096 * 1000 / ns);
        device.host.queue_weights = self.queues.clone();
        if self.seed >> 56 & 7 == 7 {
            // What the RAM serves takes no time.
            device.timing.ram_ns = 0;
        }
        if self.seed >> 52 & 7 == 7 {
            // The whole drive has room in the buffer.
            device.ram.buffer_kib = device.logical_pages() as u32 * 4;
        }
        device.timing.suspend_ns = self.suspend_ns;
        device.timing.program_steps = self.program_steps;
        if self.worn_steps {
            (device.timing.erase_steps, device.timing.erases_per_extra_step) = (2, Some(2));
        }
        device.timing.resume_ns = self.suspend_ns;
        device.timing.verify_ns = self.suspend_ns / 2;
        device.flash.cache_register = self.flash & 1 != 0;
        // A design that joins needs one of the two.
        device.flash.multi_plane_read = self.flash & 2 != 0 || self.flash & 4 != 0;
        device.flash.multi_plane_program = self.flash & 2 != 0;
        if !device.flash.multi_plane_read {
            device.flash.multi_plane_program = true;
        }
        device.errors = self.errors.map(|(bits, _)| crate::device::Errors {
            fresh_rber: Decimal::of_units(bits * 1_000_000_000_000 / 32_768),
            rated_rber: Decimal::of_units(bits * 1_000_000_000_000 / 32_768),
            rated_erases: 1000,
            exponent: Decimal::of_units(100),
            erases_before: 0,
            codeword_bytes: 4096,
            correctable_bits: 150,
            percent_per_1000_suspensions: Decimal::of_units(if self.joined & 32 != 0 { 100_000 } else { 0 }),
        });
        device.flash.bad_block_percent = Decimal::of_units(if self.flash & 8 != 0 { 1300 } else { 0 });
        device
    }

    /// Makes it one with superpage programs whose GC reads ahead and spreads its pages over the die.
    fn fill_programs_of_die(&mut self) {
        (self.rain, self.late_bound, self.blocks, self.ideal, self.planes) = (None, None, false, false, self.planes.max(2));
        (self.superpage, self.pairing, self.dynamic, self.across, self.controller) = (true, true, true, true, true);
        (self.flash, self.wild, self.scope, self.by_die) = (self.flash | 2, self.wild & !6, self.scope % 2, self.by_die | 11);
        assert!(self.in_die());
    }

    /// What the design does whose allocation is late-bound, if it does.
    fn late_bound(&self) -> Option<&LateBoundMix> {
        self.late_bound.as_ref().filter(|_| self.rain.is_none())
    }

    /// Whether pages go to any plane of their dies.
    fn in_die(&self) -> bool {
        let superpage = self.superpage && self.pairing && self.flash & 2 != 0;
        self.dynamic
            && self.late_bound.is_none()
            && self.rain.is_none()
            && self.by_die & 11 == 11
            && !self.blocks
            && self.wild & 2 == 0
            && superpage
    }

    fn design(&self) -> Design {
        let scope = [Scope::Plane, Scope::Die, Scope::Channel, Scope::Controller][usize::from(self.scope)];
        let mut design = plain_design(scope);
        if self.preemptible {
            let until = match self.seed / 11 % 3 {
                0 if self.rain.is_some() => Until::FirstOfGroup,
                _ if self.by_die & 4 != 0 => Until::End,
                _ => Until::Urgent,
            };
            design.gc_lock = GcLockPolicy::Preemptible(Preemptible::new(scope, until));
        }
        use crate::techniques::gc_trigger::watermark::{Of, Watermark};
        let of = if self.by_die & 8 != 0 && self.rain.is_none() { Of::Die } else { Of::Plane };
        design.gc_trigger = GcTriggerPolicy::Watermark(
            Watermark::new(if self.stop_above == 0 { 40.0 } else { 30.0 }, 20.0).of(of).stop_above(self.stop_above),
        );
        if self.blocks {
            let planes = self.planes;
            let trigger = crate::techniques::gc_trigger::background_emergency::BackgroundEmergency::new(
                5 * planes * self.dies,
                3 * planes * self.dies,
            )
            .stop_above(self.stop_above);
            design.gc_trigger = GcTriggerPolicy::BackgroundEmergency(trigger);
        }
        let copy = if self.controller { "controller" } else { "copyback" };
        if self.by_wear {
            design.place = PlacePolicy::Static(crate::techniques::place::static_order::StaticOrder::new(
                "PDWC",
                crate::policy::answers::Opens::LeastWorn,
            ));
        }
        if self.dynamic {
            design.place = PlacePolicy::IdleDie(crate::techniques::place::idle_die::IdleDie::default());
        }
        let in_die = self.in_die();
        if in_die {
            use crate::techniques::place::superpage::{Chunk, Superpage};
            let chunk = if self.joined & 8 != 0 { Chunk::Superpage } else { Chunk::Page };
            design.place = PlacePolicy::Superpage(Superpage::new(chunk));
        }
        let narrow = self.scope < 2 && self.wild & 4 == 0;
        let across = self.across && self.dynamic && self.rain.is_none() && self.controller && !self.ideal && narrow;
        let destination = if !across {
            "plane"
        } else if in_die {
            "die"
        } else {
            "drive"
        };
        let text = format!("destination = \"{destination}\"\n")
            + &format!(
                "copy = \"{copy}\"\nwrite_points = {}\npage_sequence = {}\nideal = {}",
                self.write_points, self.sequence, self.ideal
            );
        design.gc = toml::from_str(&text).unwrap();
        design.order = match self.order {
            0 => design.order,
            1 => OrderPolicy::ReadFirst(ReadFirst::default()),
            5 => OrderPolicy::ReadFirst(ReadFirst::new(Channel::UserReads)),
            6 => OrderPolicy::DeadlineSlack(crate::techniques::order::deadline_slack::DeadlineSlack::new(3)),
            3 => OrderPolicy::ReadFirst(ReadFirst::new(Channel::Commands)),
            4 => OrderPolicy::EmergencyExternalBackground(
                crate::techniques::order::emergency_external_background::EmergencyExternalBackground::default(),
            ),
            _ => OrderPolicy::GcFirst(GcFirst {}),
        };
        if self.joined & 128 != 0 {
            design.pairing = PairingPolicy::Nothing(toml::from_str("merge_reads = true").unwrap());
        }
        if self.pairing {
            design.pairing = PairingPolicy::SameOffset(SameOffset::default());
        }
        if self.superpage && design.pairing.name() == "same_offset" && self.device().flash.multi_plane_program {
            let assembles = self.controller && if across { in_die } else { !self.blocks_assembly() };
            let gc_programs = if assembles { GcPrograms::AllPlanes } else { GcPrograms::Single };
            design.pairing = PairingPolicy::SuperpagePrograms(crate::techniques::pairing::superpage::SuperpagePrograms::new(
                self.wait_us(),
                gc_programs,
            ));
        }
        if self.quiet {
            design.gc_gate = GcGatePolicy::Free(Free::on_a_quiet_channel());
        }
        if self.by_die & 2 != 0 {
            design.gc_gate = GcGatePolicy::OnePerDie(crate::techniques::gc_gate::one_per_die::OnePerDie::new(self.joins_erases()));
        }
        if let Some(suspend) = self.suspension() {
            design.suspend = suspend;
        }
        // Scrubbing is for pages that are copied inside the flash.
        if let Some((_, percent)) = self.errors.filter(|_| !design.gc.copies_through_controller() && !design.gc.ideal) {
            use crate::techniques::scrub::idle::{First, Idle};
            design.scrub = crate::techniques::ScrubPolicy::Idle(Idle::new(1 + percent / 50, 1, percent, First::InTurn));
        }
        if let Some(stripes) = &self.rain {
            self.add_stripes(&mut design, stripes);
            if self.levels_wear {
                let patience_us = if self.seed & 4 == 0 { 1 } else { 1000 };
                let level = crate::techniques::wear_level::imbalance::Imbalance::new(!self.seed.is_multiple_of(3), true, 1, 1, patience_us);
                design.wear_level = crate::techniques::WearLevelPolicy::Imbalance(level);
            }
        }
        if let Some(late_bound) = self.late_bound() {
            late_bound.bind_late(&mut design, self);
        }
        self.parallelize_gc(&mut design);
        let wild = |salt| Box::new(Wild::new(self.seed, salt));
        if self.wild & 1 != 0 {
            design.suspend = SuspendPolicy::Custom(wild(1));
        }
        if self.wild & 2 != 0 && self.late_bound().is_none() {
            design.gc_gate = GcGatePolicy::Custom(wild(2));
        }
        if self.wild & 4 != 0 && self.late_bound().is_some() {
            design.page_choice = PageChoicePolicy::Custom(wild(6));
        } else if self.wild & 4 != 0 {
            design.gc_lock = GcLockPolicy::Custom(wild(3));
        }
        self.choose_pages(&mut design);
        if self.wild & 8 != 0 {
            design.order = OrderPolicy::Custom(wild(4));
        }
        design
    }

    /// How long programs wait for those of other planes: longer than anything else may take, where a buffer lets them. GCs of one
    /// die that lock now their channel, now all, may have to wait for that; gates that open at random and scrubbers act all the time.
    fn wait_us(&self) -> u64 {
        let long = self.device().ram.buffer_kib > 0 && self.wild & 6 == 0 && self.errors.is_none();
        if long && self.seed >> 40 & 1 == 1 { 1_000_000 } else { 3 }
    }

    /// Whether the erases of a die wait for each other.
    fn joins_erases(&self) -> bool {
        let possible = self.device().flash.multi_plane_program && self.planes > 1 && !self.ideal;
        possible && self.late_bound.is_none() && self.rain.is_none() && self.joined & 1 != 0
    }

    /// Whether and how erases and programs make way for reads.
    fn suspension(&self) -> Option<SuspendPolicy> {
        use crate::techniques::suspend::erase_suspension::{Beside, Clock, EraseSuspension, Mode, Programs};
        let programs = match self.seed / 8 % 3 {
            0 => Programs::Never,
            1 if self.program_steps > 1 => Programs::InterPhase,
            _ => Programs::IntraPhase,
        };
        let possible = self.late_bound().is_none() && self.rain.is_none() && self.scope < 2 && self.wild & 4 == 0;
        let beside = if possible && self.joined & 2 != 0 { Beside::Programs } else { Beside::Reads };
        let multi_plane = self.joined & 4 != 0 && programs != Programs::Never;
        let with = |technique: EraseSuspension| SuspendPolicy::EraseSuspension(technique.with(beside, multi_plane));
        let of = |mode| with(EraseSuspension::new(mode, programs));
        Some(match self.suspend {
            0 => return None,
            1 => of(Mode::Es),
            2 => SuspendPolicy::Custom(Box::new(Answers(Suspension::Now(Keep::Steps, Serve::Arrived)))),
            3 => of(Mode::IEs),
            4 => of(Mode::DEs),
            5 => of(Mode::IdealEs),
            _ => {
                let clock = if self.seed & 2 == 0 { Clock::Die } else { Clock::Erase };
                let timeout_ms = [0.0, 0.003, 0.02, f64::INFINITY][self.seed as usize / 32 % 4];
                with(EraseSuspension::timed(timeout_ms, clock, programs))
            }
        })
    }

    /// Whether the gate lets one plane of a die collect at a time.
    fn blocks_assembly(&self) -> bool {
        (self.rain.as_ref().is_some_and(|stripes| stripes.gate < 4) || self.by_die & 2 != 0) && self.wild & 2 == 0
    }

    /// Pairs the host's operations with those of GC, with and without aligned blocks and victims that match the queue.
    fn parallelize_gc(&self, design: &mut Design) {
        use crate::techniques::VictimPolicy;
        let can = self.planes > 1 && self.controller && !self.ideal && self.late_bound().is_none();
        if !can || self.gc_par & 1 == 0 || design.pairing.name() != "same_offset" {
            return;
        }
        let skips = if self.gc_par & 4 != 0 { 3 } else { 0 };
        let aligned = (self.gc_par & 2 != 0 && self.write_points > 1).then_some(skips);
        design.pairing = PairingPolicy::GcPar(crate::techniques::pairing::gc_par::GcPar::new(aligned));
        if self.gc_par & 8 != 0 {
            design.victim.push(VictimPolicy::QueueMatch(crate::techniques::victim::queue_match::QueueMatch::new(2)));
        }
    }

    /// Lets the write points of each plane be chosen, and GC have its share of time, where pages have their planes early.
    fn choose_pages(&self, design: &mut Design) {
        use crate::techniques::page_choice::return_to_fast::{ReturnToFast, Strength};
        use crate::techniques::page_choice::{by_locality::ByLocality, by_writer::ByWriter, by_writer::Mode};
        if self.late_bound().is_some() {
            return;
        }
        if (self.seed / 262_144).is_multiple_of(4) {
            design.order = OrderPolicy::RateMatch(crate::techniques::order::rate_match::RateMatch::new(1 + self.seed % 2 * 499, false));
        }
        if design.pairing.traits().assembly_ns.is_some() || self.write_points < 2 {
            return;
        }
        design.page_choice = match self.seed / 1_048_576 % 12 {
            0 => PageChoicePolicy::ByWriter(ByWriter::new(Mode::FastGc)),
            1 => PageChoicePolicy::ByWriter(ByWriter::new(Mode::SlowGc)),
            2 if !design.gc.leaves_its_plane() => PageChoicePolicy::ReturnToFast(ReturnToFast::new(Strength::Weak)),
            3 if !design.gc.leaves_its_plane() => PageChoicePolicy::ReturnToFast(ReturnToFast::new(Strength::Strong)),
            4 => PageChoicePolicy::ByLocality(ByLocality::new(4, 1, 20, 2)),
            5 if !design.gc.leaves_its_plane() => PageChoicePolicy::Custom(Box::new(Wild::new(self.seed, 6))),
            _ => return,
        };
    }

    fn add_stripes(&self, design: &mut Design, stripes: &Stripes) {
        use crate::techniques::gc_gate::free::Start;
        use crate::techniques::gc_gate::rotating::{Rotating, Turn};
        use crate::techniques::read_plan::gc_tolerant::{GcTolerant, Rule};
        design.place = PlacePolicy::Rain(crate::techniques::place::rain::Rain::new(stripes.width));
        let turn = if stripes.gate.is_multiple_of(2) { Turn::FewestFree } else { Turn::RoundRobin };
        let start = if self.quiet { Start::QuietChannel } else { Start::Immediate };
        match stripes.gate {
            0..2 => {
                let both = "quiet_group = true\none_per_channel = true";
                let rules = ["", "violating_gcs_max = 2", "quiet_group = true", "one_per_channel = true", "groups_in_gc_max = 1", both];
                let mut gate: Rotating = toml::from_str(rules[(self.seed / 7 % 6) as usize]).unwrap();
                (gate.turn, gate.start) = (turn, start);
                design.gc_gate = GcGatePolicy::Rotating(gate);
            }
            2..4 => design.gc_gate = GcGatePolicy::Rotating(Rotating::new(true, turn, start)),
            _ => {}
        }
        match stripes.reads {
            0 => {}
            reads @ 1..=3 => {
                let rule = [Rule::Paper, Rule::Release, Rule::Greedy][reads as usize - 1];
                // A rotation that always holds keeps reads from waiting only if GCs that start ask about those that wait already.
                let choices = if (2..4).contains(&stripes.gate) { 2 } else { 3 };
                let asked_again = [AskedAgain::Starts, AskedAgain::StartsAndEnds, AskedAgain::Never][(self.seed % choices) as usize];
                design.read_plan = ReadPlanPolicy::GcTolerant(GcTolerant::new(rule).asking_again(asked_again));
            }
            _ => design.read_plan = ReadPlanPolicy::Custom(Box::new(Wild::new(self.seed, 5))),
        }
        if stripes.tolerant_flush {
            let spares = self.seed.is_multiple_of(3);
            let joins = (self.seed / 3).is_multiple_of(3);
            // Reads wait for parity then, and a rotation that always holds is asserted to keep them from waiting.
            let early = self.joined & 64 != 0 && self.errors.is_none() && !(2..4).contains(&stripes.gate);
            let text = format!("spare_groups = {spares}\ndeferred_join_stripes = {joins}\ndata_before_parity = {early}");
            design.destage = DestagePolicy::GcTolerant(toml::from_str(&text).unwrap());
        }
    }

    /// A random command: half of a page to five pages, or one whole page.
    fn command(&self, device: &Device, random: &mut rand_pcg::Pcg64Mcg) -> Command {
        let sectors = device.logical_sectors();
        let length = if random.next_u32().is_multiple_of(3) { 1 + random.next_u32() % 40 } else { 8 };
        let mut sector = u64::from(random.next_u32()) % (sectors - u64::from(length));
        if length == 8 {
            sector -= sector % 8;
        }
        let kind = match random.next_u32() % 100 {
            draw if draw < self.trims => CommandKind::Trim,
            draw if draw < self.trims + (100 - self.trims) * 2 / 5 => CommandKind::Write,
            _ => CommandKind::Read,
        };
        let critical = self.late_bound().is_some_and(|late_bound| random.next_u32() % 100 < late_bound.critical);
        Command { kind, sector, sectors: length, critical }
    }

    /// Runs a random open-loop mix to its end; returns the event hash and what completed.
    fn run(&self, requests: u32) -> (u64, usize, crate::drive::counters::Counters) {
        let device = self.device();
        let mut drive: TestDrive = Drive::new(&device, self.design(), true, Recorder::of(&device)).unwrap();
        let mut random = rand_pcg::Pcg64Mcg::new(u128::from(self.seed) | 1 << 80);
        drive.flash.free_for_test(self.free);
        drive.age(self.seed, &[], |_, _| true);
        // A GC that takes no time may erase as soon as the drive wakes.
        let erases_of_ageing = erases_by_plane(&drive);
        drive.wake();
        let mut now = 0;
        for _ in 0..requests {
            // Bursts and pauses: half of the requests come together, the others after up to two programs' time.
            now += if random.next_u32().is_multiple_of(2) { 0 } else { u64::from(random.next_u32() % 2400) };
            let command = self.command(&device, &mut random);
            drive.advance(now);
            drive.submit_to(random.next_u32() % 5, now, command).unwrap();
            // The walk over the whole drive costs more than the request.
            if random.next_u32().is_multiple_of(16) && (self.rain.is_some() || self.late_bound().is_some()) {
                drive.audit().unwrap();
            }
        }
        // An endless stream of events without completions would be a livelock.
        let mut idle = 0;
        let mut completed = 0;
        while drive.outstanding() > 0 && drive.step() {
            idle = if drive.observer().completed.len() > completed { 0 } else { idle + 1 };
            completed = drive.observer().completed.len();
            assert!(idle < 100_000, "requests stopped completing: {}", drive.explain_standstill());
        }
        assert_eq!(drive.outstanding(), 0, "{}", drive.explain_standstill());
        let longest = drive.observer().completed.iter().map(|(completion, _)| completion.completed - completion.arrived).max();
        assert!(longest < Some(500 * crate::units::MS), "a request waited for programs that waited for each other: {longest:?}");
        let mut left = 300_000;
        while drive.step() {
            left -= 1;
            assert!(left > 0, "a drive without requests becomes idle: {:?}", drive.counters());
        }
        if let Some(late_bound) = &drive.up.ftl.late_bound {
            let lines = late_bound.queues.iter().chain([&late_bound.reads]);
            assert!(lines.into_iter().all(|line| line.is_empty()), "pages or reads wait and nothing comes: {late_bound:?}");
            assert_eq!(late_bound.moving, 0, "pages of GC are on their way and nothing comes");
        }
        assert_eq!(drive.mismatch(), None);
        drive.up.ftl.tables.audit().unwrap();
        drive.audit().unwrap();
        self.check_rotation(&drive);
        let counters = drive.counters();
        check_erases(&mut drive, &erases_of_ageing);
        (drive.event_hash(), drive.observer().completed.len(), counters)
    }

    /// Where rotation holds all the time and reads always go around a GC, none waits for one. Only a page beyond the ECC may: the
    /// parity that would go around the GC is used up for it.
    fn check_rotation(&self, drive: &TestDrive) {
        let Some(stripes) = &self.rain else { return };
        let strict = (2..4).contains(&stripes.gate) && self.wild & 2 == 0;
        if !strict {
            return;
        }
        let counters = drive.counters();
        assert_eq!(counters.raid.gcs_overlapping, 0, "forced rotation");
        if stripes.gate == 3 && !self.quiet {
            // A GC that finds nothing to free has had its turn, which lasts longest where the work of GCs takes no time.
            let others = u64::from(stripes.width * self.planes - 1);
            assert!(counters.gc.gate_wait_ns_max <= others * counters.gc.turn_ns_max, "a plane's turn comes after those of the others");
        }
        let plane_alone = self.planes == 1 && self.scope < 2 && self.wild & 4 == 0;
        if plane_alone && stripes.reads == 3 {
            let unreadable = drive.counters().raid.uncorrectable_reads;
            assert!(drive.counters().raid.reads_beyond_parity == 0, "two pages of a stripe behind GCs");
            let reads = drive.observer().completed.iter().filter(|(completion, _)| completion.kind == CommandKind::Read);
            let blocked = reads.filter(|(completion, _)| completion.gc_blocked).count() as u64;
            // Such a read may suspend an erase, and another that comes meanwhile find the erase going on again.
            let suspends = self.suspend > 0 || self.wild & 1 != 0;
            if unreadable == 0 || !suspends {
                assert!(blocked <= unreadable, "{blocked} reads waited for a GC, and {unreadable} pages were beyond the ECC");
            }
        }
    }
}

/// Erases of each plane, by those of its blocks.
fn erases_by_plane(drive: &TestDrive) -> Vec<u64> {
    let blocks = drive.up.ftl.tables.erase_counts().chunks(drive.flash.device.geometry.blocks_per_plane as usize);
    blocks.map(|of_plane| of_plane.iter().map(|&erases| u64::from(erases)).sum()).collect()
}

/// Every erase of a block since ageing is counted once, for the drive and for its plane; counting anew begins with none.
fn check_erases(drive: &mut TestDrive, of_ageing: &[u64]) {
    let erases: Vec<u64> = erases_by_plane(drive).iter().zip(of_ageing).map(|(now, then)| now - then).collect();
    assert_eq!(drive.counters().gc.erases, erases.iter().sum::<u64>());
    assert_eq!(drive.view().erases_counted().collect::<Vec<_>>(), erases);
    drive.reset_counters();
    assert!(drive.view().erases_counted().all(|erases| erases == 0), "{:?}", drive.view().erases_counted().collect::<Vec<_>>());
    let planes = 0..drive.flash.device.geometry.planes();
    assert_eq!(planes.map(|plane| drive.view().erases_of(plane)).collect::<Vec<_>>(), erases, "what the drive has run stays");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4 * ProptestConfig::default().cases))]
    #[test]
    fn any_mix_of_designs_completes_every_request_with_the_right_data_and_exact_attribution(mix in mix()) {
        let (hash, completed, _) = mix.run(300);
        prop_assert_eq!(completed, 300);
        let (again, ..) = mix.run(300);
        prop_assert_eq!(hash, again, "a seed repeats a run");
    }

    /// The parity of every stripe that is not on its way is the sum of its pages, all the time.
    #[test]
    fn any_mix_with_stripes_returns_the_last_data_directly_or_from_parity(mut mix in mix(), stripes in stripes()) {
        mix.rain = Some(stripes);
        let (_, completed, _) = mix.run(300);
        prop_assert_eq!(completed, 300);
    }

    /// Superpage programs whose GC reads ahead and spreads its pages over the die, with and without cache registers.
    #[test]
    fn any_mix_whose_gc_fills_programs_of_its_die_returns_the_last_data(mut mix in mix()) {
        mix.fill_programs_of_die();
        let (_, completed, _) = mix.run(300);
        prop_assert_eq!(completed, 300);
    }

    /// Operations of the host that are paired with those of GC, with every lock, order and layout.
    #[test]
    fn any_mix_whose_host_pairs_with_its_gc_returns_the_last_data(mut mix in mix()) {
        (mix.late_bound, mix.ideal, mix.planes, mix.controller) = (None, false, mix.planes.max(2), true);
        (mix.pairing, mix.superpage, mix.gc_par) = (true, false, mix.gc_par | 1);
        let (_, completed, _) = mix.run(300);
        prop_assert_eq!(completed, 300);
    }

    /// Forced rotation with the greedy rule: no read ever waits for a GC, whatever the order and the traffic.
    #[test]
    fn no_read_waits_for_a_gc_where_rotation_always_holds(mut mix in mix(), mut stripes in stripes()) {
        (stripes.gate, stripes.reads) = (2 + stripes.gate % 2, 3);
        (mix.planes, mix.scope, mix.wild, mix.rain) = (1, mix.scope % 2, mix.wild & !6, Some(stripes));
        let (_, completed, _) = mix.run(300);
        prop_assert_eq!(completed, 300);
    }
}
