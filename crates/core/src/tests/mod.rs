//! Each mechanism of the engine, probed just before and at the instant at which it must act.

use crate::commands::{Command, CommandKind};
use crate::design::Design;
use crate::device::Device;
use crate::drive::Drive;
use crate::flash::op::{Class, Op, OpKind, Owner};
use crate::ids::{DieIx, Lpn, NONE, PlaneIx};
use crate::observe::{
    ARRAY, Attribution, CHANNEL, COMMAND, COMPUTE, Completion, DIE, LOCKED_GC_PROGRAM, Observer, PART_NAMES, SPACE, TRAFFIC_CLASSES,
    TRANSFER, TrafficClass,
};
use crate::oracle::Fault;
use crate::policy::view::View;
use crate::policy::{Gate, GcGate, Keep, Scope, Serve, Suspend, Suspension, Want};
use crate::recorder::{Recorder, TestDrive, untraced};
use crate::techniques::gc_gate::free::Free;
use crate::techniques::gc_lock::preemptible::{Preemptible, Until};
use crate::techniques::gc_trigger::never::Never as NoGc;
use crate::techniques::order::gc_first::GcFirst;
use crate::techniques::order::read_first::{Channel, ReadFirst};
use crate::techniques::pairing::same_offset::SameOffset;
use crate::techniques::{GcGatePolicy, GcLockPolicy, GcTriggerPolicy, OrderPolicy, PairingPolicy, PlacePolicy, SuspendPolicy};
use crate::testkit::{plain_design, table_1_plane, tiny_device};
use crate::units::Ns;
use proptest::prelude::*;

mod basics;
mod choice;
mod erase_suspension;
mod errors;
mod gc;
mod gc_cycles;
mod gc_par;
mod host;
mod late_bound;
mod levelling;
mod mix;
mod placement;
mod power;
mod rain;
mod registers;
mod superpage;
mod suspension;

fn drive(device: &Device, design: Design) -> TestDrive {
    Drive::new(device, design, true, Recorder::of(device)).unwrap()
}

fn read(lpn: Lpn) -> Command {
    Command { kind: CommandKind::Read, sector: u64::from(lpn) * 8, sectors: 8, critical: false }
}

fn write(lpn: Lpn) -> Command {
    Command { kind: CommandKind::Write, sector: u64::from(lpn) * 8, sectors: 8, critical: false }
}

impl TestDrive {
    fn at(&mut self, now: Ns, command: Command) -> u64 {
        self.advance(now);
        self.submit(now, command).unwrap()
    }

    fn run(&mut self) {
        while self.step() {}
    }

    fn finished_at(&self, id: u64) -> Option<Ns> {
        self.observer().completed.iter().find(|(completion, _)| completion.id == id).map(|(completion, _)| completion.completed)
    }

    fn attribution_of(&self, id: u64) -> &Attribution {
        &self.observer().completed.iter().find(|(completion, _)| completion.id == id).expect("it completed").1
    }

    fn completion_of(&self, id: u64) -> Completion {
        self.observer().completed.iter().find(|(completion, _)| completion.id == id).expect("it completed").0
    }

    /// Asserts that a request completes at `at`, and not a nanosecond earlier.
    #[track_caller]
    fn expect_completion(&mut self, id: u64, at: Ns) {
        if at > 0 && self.now() < at {
            self.advance(at - 1);
            assert_eq!(self.finished_at(id), None, "one nanosecond early");
        }
        self.advance(at);
        assert_eq!(self.finished_at(id), Some(at));
    }

    fn map_functionally(&mut self, lpns: impl IntoIterator<Item = Lpn>) {
        for lpn in lpns {
            self.write_for_test(lpn);
        }
    }
}

/// A device with several dies on one channel, and pages mapped in it.
fn one_channel(dies: u32, planes: u32) -> Device {
    let mut device = tiny_device();
    device.geometry.channels = 1;
    device.geometry.dies_per_chip = dies;
    device.geometry.planes_per_die = planes;
    device
}

fn no_gc() -> Design {
    let mut design = plain_design(Scope::Plane);
    design.gc_trigger = GcTriggerPolicy::Never(NoGc {});
    design
}

/// Answers what it is told.
struct Answers(Suspension);

impl Suspend for Answers {
    fn suspend(&mut self, _: View<'_>, _: DieIx) -> Suspension {
        self.0
    }
}

/// A one-plane drive at the brink: one more program starts a GC, whose victim has `valid` valid pages.
fn at_the_brink(device: &Device, design: Design, valid: u32) -> TestDrive {
    let mut drive = drive(device, design);
    let planes = device.geometry.planes();
    let pages = device.geometry.pages_per_block;
    // Plane 0 gets pages 0, planes, 2 x planes, ...: a first block, of which some pages die, and three more blocks.
    let lpn = |index: u32| index * planes;
    drive.map_functionally((0..pages).map(lpn));
    drive.map_functionally((valid..pages).map(lpn));
    let mut next = pages;
    while drive.up.ftl.tables.free_pages(0) > drive.flash.device.geometry.pages_per_plane() / 2 {
        drive.map_functionally([lpn(next)]);
        next += 1;
    }
    drive
}

/// What a read elsewhere waits for while a GC runs in plane 0.
fn read_during_gc(scope: Scope, device: &Device, lpn: Lpn) -> (TestDrive, u64, Ns) {
    let mut drive = at_the_brink(device, plain_design(scope), 2);
    drive.map_functionally([lpn]);
    drive.at(0, write(0));
    // At 1101 the GC starts; the read comes while it programs.
    let id = drive.at(1500, read(lpn));
    drive.run();
    let finished = drive.finished_at(id).unwrap();
    (drive, id, finished)
}

/// Brings another plane of the channel to the brink as well: its first block has one stale page of four.
fn second_plane_at_the_brink(drive: &mut TestDrive) {
    let planes = drive.flash.device.geometry.planes();
    let lpn = |index: u32| planes * index + 1;
    drive.map_functionally((0..4).map(lpn));
    drive.map_functionally([lpn(3)]);
    let mut next = 4;
    while drive.up.ftl.tables.free_pages(1) > drive.flash.device.geometry.pages_per_plane() / 2 {
        drive.map_functionally([lpn(next)]);
        next += 1;
    }
}
