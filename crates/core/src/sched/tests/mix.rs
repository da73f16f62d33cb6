//! Random designs on random devices, with the oracle on: every mechanism against every other.

use super::*;
use crate::policy::{GcHold, HoldPlan, Order};
use crate::view::Candidate;
use rand_core::Rng;

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
    fn may_start(&mut self, view: View<'_>, _: PlaneIx) -> Gate {
        match self.below(3) {
            0 => Gate::Open,
            1 => Gate::ShutUntil(view.now() + u64::from(self.below(5000))),
            _ => Gate::ShutUntil(view.now() + 1),
        }
    }

    fn strict(&mut self) -> bool {
        self.below(2) == 0
    }
}

impl GcHold for Wild {
    fn hold(&mut self, _: View<'_>, _: PlaneIx, _: bool) -> HoldPlan {
        let scope = [Scope::Plane, Scope::Die, Scope::Channel, Scope::Controller][self.below(4) as usize];
        HoldPlan { scope, release_each_page: self.below(2) == 0 }
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
    join: bool,
    quiet: bool,
    suspend: u8,
    buffer_pages: u32,
    write_points: u32,
    command_ns: Ns,
    ideal: bool,
    sequence: bool,
    /// Which seams answer at random: suspend, gate, hold, order.
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
    strict: bool,
    /// Fixed time of a command, and time of a page on the link, if there is one.
    overhead_ns: Ns,
    link_page_ns: Option<u32>,
    /// Weights of the device queues.
    queues: Vec<u32>,
    /// Trims in a hundred requests.
    trims: u32,
    seed: u64,
}

fn mix() -> impl Strategy<Value = Mix> {
    let shape = (1u32..3, 1u32..4, prop_oneof![Just(1u32), Just(2), Just(4)], 0u8..4, any::<bool>(), any::<bool>());
    let rest = (0u8..5, any::<bool>(), any::<bool>(), 0u8..5, prop_oneof![Just(0u32), Just(2), Just(16)], 1u32..3, 0u64..3);
    let host = (
        prop_oneof![3 => Just(0), 1 => Just(70)],
        prop::option::of(prop_oneof![Just(20u32), Just(400)]),
        prop::collection::vec(1u32..4, 1..4),
        prop_oneof![Just(0u32), Just(10), Just(30)],
    );
    (
        shape,
        rest,
        (prop::bool::weighted(0.1), any::<bool>()),
        (any::<bool>(), 0u8..16, prop_oneof![Just(0), Just(30)], 0u8..16, (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>())),
        host,
        any::<u64>(),
    )
        .prop_map(
            |(
                (channels, dies, planes, scope, preemptible, controller),
                (order, join, quiet, suspend, buffer_pages, write_points, command_ns),
                (ideal, by_wear),
                (sequence, wild, suspend_ns, flash, (blocks, dynamic, across, strict)),
                (overhead_ns, link_page_ns, queues, trims),
                seed,
            )| Mix {
                channels,
                dies,
                planes,
                scope,
                preemptible,
                controller,
                order,
                join,
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
                strict,
                overhead_ns,
                link_page_ns,
                queues,
                trims,
                seed,
            },
        )
}

impl Mix {
    fn device(&self) -> Device {
        let mut device = tiny_device();
        let g = &mut device.geometry;
        (g.channels, g.dies_per_chip, g.planes_per_die) = (self.channels, self.dies, self.planes);
        g.blocks_per_plane = 16;
        device.timing.command_ns = self.command_ns;
        device.timing.read_ns = vec![10, 25];
        device.timing.program_ns = vec![1000, 1700];
        device.timing.page_class_pattern = vec![0, 1];
        device.ram.buffer_kib = self.buffer_pages * 4;
        device.host.queue_depth = 8;
        device.host.overhead_ns = self.overhead_ns;
        device.host.link_bytes_per_us = self.link_page_ns.map(|ns| 4096 * 1000 / ns);
        device.host.queue_weights = self.queues.clone();
        device.timing.suspend_ns = self.suspend_ns;
        device.timing.resume_ns = self.suspend_ns;
        device.timing.verify_ns = self.suspend_ns / 2;
        device.flash.cache_register = self.flash & 1 != 0;
        // A design that joins needs one of the two.
        device.flash.multi_plane_read = self.flash & 2 != 0 || self.flash & 4 != 0;
        device.flash.multi_plane_program = self.flash & 2 != 0;
        if !device.flash.multi_plane_read {
            device.flash.multi_plane_program = true;
        }
        device.flash.bad_block_permyriad = if self.flash & 8 != 0 { 1300 } else { 0 };
        device
    }

    fn design(&self) -> Design {
        let scope = [Scope::Plane, Scope::Die, Scope::Channel, Scope::Controller][usize::from(self.scope)];
        let mut design = plain_design(scope);
        if self.preemptible {
            design.gc_hold = GcHoldPolicy::Preemptible(Preemptible::new(scope));
        }
        design.gc_trigger = GcTriggerPolicy::Watermark(crate::policy::gc_trigger::watermark::Watermark::new(40.0, 20.0));
        if self.blocks {
            let planes = self.planes;
            let trigger =
                crate::policy::gc_trigger::background_emergency::BackgroundEmergency::new(5 * planes * self.dies, 3 * planes * self.dies);
            design.gc_trigger = GcTriggerPolicy::BackgroundEmergency(trigger);
        }
        let copy = if self.controller { "controller" } else { "copyback" };
        if self.by_wear {
            design.place = PlacePolicy::LeastWorn(crate::policy::place::least_worn::LeastWorn::new("PDWC"));
        }
        if self.dynamic {
            design.place = PlacePolicy::IdleDie(crate::policy::place::idle_die::IdleDie::default());
        }
        let narrow = self.scope < 2 && self.wild & 4 == 0;
        let across = self.across && self.dynamic && self.controller && !self.ideal && narrow;
        let destination = if across { "drive" } else { "plane" };
        let text = format!("destination = \"{destination}\"\n")
            + &format!(
                "copy = \"{copy}\"\nwrite_points = {}\npage_sequence = {}\nideal = {}",
                self.write_points, self.sequence, self.ideal
            );
        design.gc = toml::from_str(&text).unwrap();
        design.order = match self.order {
            0 => design.order,
            1 => OrderPolicy::ReadFirst(ReadFirst {}),
            3 => OrderPolicy::CommandsFirst(crate::policy::order::commands_first::CommandsFirst {}),
            4 => OrderPolicy::EmergencyExternalBackground(
                crate::policy::order::emergency_external_background::EmergencyExternalBackground {},
            ),
            _ => OrderPolicy::GcFirst(GcFirst {}),
        };
        if self.join {
            design.join = JoinPolicy::SameOffset(SameOffset {});
        }
        if self.strict && design.join.name() == "same_offset" && self.device().flash.multi_plane_program {
            design.join = JoinPolicy::StrictAllPlanes(crate::policy::join::strict_all_planes::StrictAllPlanes::new(3));
        }
        if self.quiet {
            design.gc_gate = GcGatePolicy::QuietChannel(QuietChannel {});
        }
        let answer = match self.suspend {
            0 => Suspension::No,
            1 => Suspension::Now(Keep::Progress, Serve::UntilNoneWaits),
            2 => Suspension::Now(Keep::Steps, Serve::Arrived),
            _ => Suspension::AtBoundary(Serve::Arrived),
        };
        if self.suspend > 0 {
            design.suspend = SuspendPolicy::Custom(Box::new(Answers(answer)));
        }
        let wild = |salt| Box::new(Wild::new(self.seed, salt));
        if self.wild & 1 != 0 {
            design.suspend = SuspendPolicy::Custom(wild(1));
        }
        if self.wild & 2 != 0 {
            design.gc_gate = GcGatePolicy::Custom(wild(2));
        }
        if self.wild & 4 != 0 {
            design.gc_hold = GcHoldPolicy::Custom(wild(3));
        }
        if self.wild & 8 != 0 {
            design.order = OrderPolicy::Custom(wild(4));
        }
        design
    }

    /// Runs a random open-loop mix to its end; returns the event hash and what completed.
    fn run<Q: EventQueue>(&self, requests: u32) -> (u64, usize, crate::state::Counters) {
        let device = self.device();
        let mut drive: TestDrive<Q> = Drive::with_queue(&device, self.design(), true, Recorder::default()).unwrap();
        let mut random = rand_pcg::Pcg64Mcg::new(u128::from(self.seed) | 1 << 80);
        drive.age(self.seed, &[], |_, _| true);
        drive.wake();
        let sectors = device.logical_sectors();
        let mut now = 0;
        for _ in 0..requests {
            // Bursts and pauses: half of the requests come together, the others after up to two programs' time.
            now += if random.next_u32().is_multiple_of(2) { 0 } else { u64::from(random.next_u32() % 2400) };
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
            drive.advance(now);
            drive.submit_to(random.next_u32() % 5, now, Command { kind, sector, sectors: length }).unwrap();
        }
        // An endless stream of events without completions would be a livelock.
        let mut idle = 0;
        let mut completed = 0;
        while drive.outstanding() > 0 && drive.step() {
            idle = if drive.observer().0.len() > completed { 0 } else { idle + 1 };
            completed = drive.observer().0.len();
            assert!(idle < 100_000, "requests stopped completing: {}", drive.explain_standstill());
        }
        assert_eq!(drive.outstanding(), 0, "{}", drive.explain_standstill());
        drive.run();
        assert_eq!(drive.mismatch(), None);
        drive.state.books.audit().unwrap();
        drive.audit().unwrap();
        (drive.event_hash(), drive.observer().0.len(), *drive.counters())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4 * ProptestConfig::default().cases))]
    #[test]
    fn any_mix_of_designs_completes_every_request_with_the_right_data_and_exact_blame(mix in mix()) {
        let (hash, completed, _) = mix.run::<Lanes>(300);
        prop_assert_eq!(completed, 300);
        let (again, ..) = mix.run::<PlainHeap>(300);
        prop_assert_eq!(hash, again, "the plain heap gives the same run");
    }
}

/// A die that was granted its channel began a read whose page had moved; the die that has it now took the channel, and the
/// first one, with another read waiting and an erase suspended, was not in line any more.
#[test]
fn a_die_that_loses_the_channel_it_was_granted_lines_up_again() {
    let mix = Mix {
        channels: 2,
        dies: 2,
        planes: 1,
        scope: 0,
        preemptible: false,
        controller: false,
        order: 0,
        join: false,
        quiet: true,
        suspend: 0,
        buffer_pages: 2,
        write_points: 1,
        command_ns: 1,
        ideal: false,
        sequence: false,
        wild: 13,
        suspend_ns: 30,
        flash: 2,
        blocks: true,
        dynamic: true,
        across: false,
        strict: false,
        by_wear: false,
        overhead_ns: 0,
        link_page_ns: Some(400),
        queues: vec![1],
        trims: 10,
        seed: 9721316110492350169,
    };
    let (_, completed, _) = mix.run::<Lanes>(300);
    assert_eq!(completed, 300);
}
