//! What of a design contradicts the device or itself: techniques that need each other, or can't go together.

use crate::design::{CycleLevels, Design, StartLevel};
use crate::device::Device;
use crate::policy::Scope;
use crate::policy::answers::{ModeSwitches, Reach};
use crate::policy::combination::{Against, Combination, contradiction};
use crate::stripes::Stripes;
use crate::techniques::{GcGatePolicy, PageChoicePolicy, Technique};
use tinytail_config::{Fault, Faults};

/// Standard deviations that a plane may be from the mean. Stock drives have room for 7.7 or more.
const DEVIATIONS: f64 = 6.0;

impl Reach {
    fn name(self) -> &'static str {
        match self {
            Self::Plane => "plane",
            Self::Die => "die",
            Self::Drive => "drive",
        }
    }

    /// Techniques of placement that have it.
    fn placed_by(self) -> &'static str {
        match self {
            Self::Plane => "any",
            Self::Die => "\"superpage\"",
            Self::Drive => "\"idle_die\", \"next_idle\"",
        }
    }

    fn among(self) -> &'static str {
        match self {
            Self::Plane => "always in the same plane",
            Self::Die => "in any plane of its die",
            Self::Drive => "in any plane of the drive",
        }
    }
}

impl Design {
    /// Refuses a GC that should leave its plane and can't.
    fn check_destination(&mut self, faults: &mut Faults) {
        if !self.gc.leaves_its_plane() {
            return;
        }
        let (destination, reach, copyback) = (self.gc.destination, self.place.reach(), !self.gc.copies_through_controller());
        let die = destination == Reach::Die;
        let binds = format!("which places a page {}", reach.among());
        let several = "which lets several planes of a die collect at a time";
        let planewise = "which counts the erased pages of each plane";
        let by_die = "\"watermark\" with `of` = \"die\"";
        let wider = "wider than a die, because two GCs could wait for each other's channels";
        let against = [
            Against::value(copyback, ["gc", "copy"], "= \"copyback\", which stays inside a plane", "\"controller\""),
            Against::value(self.gc.ideal, ["gc", "ideal"], "= true, whose GC stays inside its plane", "false"),
            // Overwritten pages return to their planes, which those of others might have filled for good.
            Against::policy(reach != destination, "place", self.place.name(), &binds, destination.placed_by()),
            // Each may need a block's worth of what the planes of the die keep for GC together.
            Against::policy(die && !self.gc_gate.alone_in_die(), "gc_gate", self.gc_gate.name(), several, "\"one_per_die\""),
            // A GC takes erased pages of all planes to free those of one.
            Against::policy(die && !self.gc_trigger.by_die(), "gc_trigger", self.gc_trigger.name(), planewise, by_die),
            // Two GCs, each with its channel, would wait for the other's.
            Against::value(self.gc_lock.widest() > Scope::Die, ["gc_lock", "scope"], wider, "\"plane\", \"die\""),
        ];
        let found = format!("= \"{}\"", destination.name());
        contradiction("gc", "destination", &found, against).into_iter().for_each(|fault| faults.push(fault));
    }

    /// Refuses planes that should begin level where the firmware chooses a page's plane, or brings those of a die to one offset.
    fn check_level_planes(&mut self, device: &Device, faults: &mut Faults) {
        if !device.state.level_planes {
            return;
        }
        let chosen = format!("which places a page {}", self.place.reach().among());
        let (fills, pairing) = (self.pairing.traits().assembly_ns.is_some(), self.pairing.name());
        let by_die = self.start_trigger().levels().is_some_and(CycleLevels::by_die);
        let against = [
            Against::policy(self.place.reach() != Reach::Plane, "place", self.place.name(), &chosen, "\"static\", \"rain\""),
            Against::policy(
                by_die,
                "gc_trigger",
                self.gc_trigger.name(),
                "which counts the erased pages of a die",
                "\"watermark\" with `of` = \"plane\"",
            ),
            Against::policy(fills, "pairing", pairing, "which fills all planes of a die together", "\"none\", \"same_offset\""),
        ];
        contradiction("state", "level_planes", "= true", against).into_iter().for_each(|fault| faults.push(fault));
    }

    /// Refuses choices among the write points of a plane where there are none, or where something else has made them.
    fn check_choice_in_planes(&mut self, faults: &mut Faults) {
        if self.place.late_bound() || !self.page_choice.active() {
            return;
        }
        let (points, choice) = (self.gc.write_points, self.page_choice.name());
        let fault = |found: String| Fault::new("page_choice", "policy", format!("= \"{choice}\" {found}"));
        if points < 2 {
            let found = format!("chooses among the write points of a page's plane, and [gc] `write_points` is {points}");
            let fault = fault(found).with("gc", "write_points").with("geometry", "blocks_per_plane");
            faults.push(fault.allowed("2 or more, or [place] `policy` = \"next_idle\""));
        } else if self.pairing.traits().assembly_ns.is_some() {
            let pairing = self.pairing.name();
            let found =
                format!("contradicts [pairing] `policy` = \"{pairing}\", whose programs take all planes of a die at one page offset");
            faults.push(fault(found).with("pairing", "policy").allowed("\"none\", \"same_offset\", \"gc_par\""));
        } else if self.page_choice.parking().is_some() && self.gc.leaves_its_plane() {
            let destination = self.gc.destination.name();
            let found = format!(
                "returns write points to fast pages by pages that stay in their planes, and [gc] `destination` is \"{destination}\""
            );
            faults.push(fault(found).with("gc", "destination").allowed("\"plane\", or [place] `policy` = \"next_idle\""));
        }
    }

    /// Refuses a reserve, open blocks and thresholds for which the drive has no room.
    fn check_space(&mut self, device: &Device, faults: &mut Faults) {
        let (g, reserve, points) = (&device.geometry, self.gc.reserve_blocks, self.gc.write_points);
        // The host may open no block of the reserve, and every write point but the one that is asked may be open: a plane
        // that stalls a write has at most this much erased, and must be urgent, or nothing would ever free it.
        let blocks_kept = reserve + points;
        let room = self.room(device);
        if let Some((key, pages)) = self.gc_trigger.urgent_below()
            && pages < room.least
        {
            let (least, percent) = (room.least, room.percent(room.least));
            let found = format!(
                "makes a plane urgent below {pages} erased pages; with [gc] `reserve_blocks` {reserve} and `write_points` {points} it must be \
                 {least} on this device: at least {percent:.3} percent"
            );
            let fault = Fault::new("gc_trigger", key, found).with("gc", "reserve_blocks").with("gc", "write_points");
            faults.push(fault.with("geometry", "blocks_per_plane"));
        }
        self.check_trigger_holds(device, faults);
        let spare = (g.blocks_per_plane - device.bad_blocks_per_plane()).saturating_sub(device.logical_blocks_per_plane());
        if let Some(stripes) = self.place.stripes() {
            self.check_stripes_fit(device, &stripes, blocks_kept, faults);
        } else if blocks_kept >= spare {
            let found = format!(
                "{reserve} and `write_points` {points} keep {blocks_kept} blocks of each plane; the device's over-provisioning is {spare} of \
                 {}, and one more must be left",
                g.blocks_per_plane
            );
            faults.push(Fault::new("gc", "reserve_blocks", found).with("gc", "write_points").with("geometry", "blocks_per_plane"));
        }
        self.check_chance(device, faults);
    }

    /// Refuses a die whose planes share its pages by chance and have no room for more than their share: overwritten pages leave any
    /// plane, new ones go to all in turns, and ageing has no place for one in a plane that is full of live pages. It is cautious: a
    /// timed run may go on where this refuses.
    fn check_chance(&mut self, device: &Device, faults: &mut Faults) {
        let planes = device.geometry.planes_per_die;
        if self.place.reach() != Reach::Die || planes == 1 {
            return;
        }
        let (live, room) = (self.live_pages_of_plane(device), self.room(device));
        // Births in turns and deaths at random: half the variance of pages that are dealt at random.
        let deviation = (f64::from(live) / 2.0 * (1.0 - 1.0 / f64::from(planes))).sqrt();
        let beyond = (DEVIATIONS * deviation).ceil() as u32;
        if room.spare < beyond {
            let found = format!(
                "= \"{}\" leaves to chance how many live pages of a die each plane holds: up to {beyond} more than the mean of {live}; beside \
                 [gc] `reserve_blocks` and `write_points` a plane of this device has {} to spare",
                self.place.name(),
                room.spare
            );
            faults.push(Fault::new("place", "policy", found).with("geometry", "blocks_per_plane"));
        }
    }

    /// Refuses thresholds of the user's that the drive can't stay at. Those of the designs that come along follow the drive.
    fn check_trigger_holds(&mut self, device: &Device, faults: &mut Faults) {
        let Some(levels) = self.start_trigger().levels() else { return };
        let (room, wanted) = (self.room(device), levels.start.pages(&device.geometry));
        // Erased pages of the reserve and of open blocks count as well, and a block must have a stale page to free.
        let kept = (self.gc.reserve_blocks + self.gc.write_points) * room.block;
        let most = (room.spare + kept).saturating_sub(1);
        check_cycle_ends(device, levels, most, faults);
        let Some(key) = self.users_threshold().filter(|_| wanted > most) else { return };
        let bound = match levels.start {
            StartLevel::PlaneBlocks(_) => format!("{} blocks of each plane", most / room.block),
            _ if key.ends_with("blocks") => format!("{} blocks", most / room.block),
            _ => format!("{} percent", (room.percent(most) * 100.0).floor() / 100.0),
        };
        let found = format!(
            "starts GC below {wanted} erased pages of each plane, and beside live data and parity the drive has {}: at most {bound}, so that a \
             block has stale pages to free",
            most + 1
        );
        faults.push(Fault::new("gc_trigger", key, found).with("state", "live_percent").with("geometry", "blocks_per_plane"));
    }

    /// Refuses stripes that leave no over-provisioning once parity has its pages.
    fn check_stripes_fit(&self, device: &Device, stripes: &Stripes, blocks_kept: u32, faults: &mut Faults) {
        let pages = u64::from(device.geometry.pages_in(1));
        let usable = u64::from(device.geometry.blocks_per_plane - device.bad_blocks_per_plane());
        let spare = usable.saturating_sub(u64::from(stripes.rows()).div_ceil(pages));
        if u64::from(blocks_kept) < spare {
            return;
        }
        let rows_most = usable.saturating_sub(u64::from(blocks_kept) + 1) * pages;
        let most = device.gigabytes(rows_most * u64::from(stripes.groups()) * u64::from(stripes.width() - 1));
        let found = format!(
            "{} adds a parity page to each {} pages, and with a capacity of {} GB that leaves {spare} blocks of each plane; [gc] \
             `reserve_blocks` {} and `write_points` {} keep {blocks_kept}, and one more must be left: [host] `capacity_gb` may be {most} at most",
            stripes.width(),
            stripes.width() - 1,
            device.gigabytes(device.logical_pages()),
            self.gc.reserve_blocks,
            self.gc.write_points
        );
        let fault = Fault::new("place", "stripe_width", found).with("place", "policy");
        faults.push(fault.with("gc", "reserve_blocks").with("gc", "write_points").with("geometry", "blocks_per_plane"));
    }

    fn combination<'a>(&mut self, device: &'a Device) -> Combination<'a> {
        Combination {
            device,
            late_bound: self.place.late_bound(),
            place: self.place.name(),
            stripes: self.place.stripes().is_some(),
            gc_gate: self.gc_gate.name(),
            gate_always_open: matches!(&self.gc_gate, GcGatePolicy::Free(free) if free.is_always_open()),
            gate_alone_in_die: self.gc_gate.alone_in_die(),
            gc_lock: self.gc_lock.name(),
            gc_locks_nothing: self.gc_lock.nothing(),
            gc_locks_channels: self.gc_lock.widest() > Scope::Die,
            thresholds: self.gc_trigger.thresholds(),
            order: self.order.name(),
            mode_switches: match &self.page_choice {
                PageChoicePolicy::ByWorkloadMode(choice) => choice.switches().clone(),
                _ => ModeSwitches::default(),
            },
            pairing: self.pairing.name(),
            pairing_traits: self.pairing.traits(),
            gc_through_controller: self.gc.copies_through_controller(),
            gc_ideal: self.gc.ideal,
            gc_destination: self.gc.destination,
            write_points: self.gc.write_points,
        }
    }

    pub(super) fn check(&mut self, device: &Device, faults: &mut Faults) {
        let most = device.geometry.blocks_per_plane / 2;
        for (key, value) in [("write_points", self.gc.write_points), ("reserve_blocks", self.gc.reserve_blocks)] {
            if value == 0 || value > most {
                let fault = Fault::new("gc", key, format!("is {value}")).with("geometry", "blocks_per_plane");
                faults.push(fault.allowed(format!("1 to {most} on this device")));
            }
        }
        self.techniques_mut().for_each(|(_, technique)| _ = faults.take(technique.prepare(device)));
        if let Some(twin) = &mut self.start.twin {
            faults.take(twin.prepare(device));
        }
        // What is wrong alone may contradict anything.
        if !faults.is_empty() {
            return;
        }
        self.check_space(device, faults);
        self.check_destination(faults);
        self.check_choice_in_planes(faults);
        self.check_level_planes(device, faults);
        let with = self.combination(device);
        self.techniques_mut().for_each(|(_, technique)| technique.check(&with, faults));
    }
}

/// Refuses a cycle that stops above the most erased pages of a plane that the drive can come to.
fn check_cycle_ends(device: &Device, levels: CycleLevels, most: u32, faults: &mut Faults) {
    let (g, start, stop) = (&device.geometry, levels.start.pages(&device.geometry), levels.stop.pages(&device.geometry));
    if levels.is_one_block() || stop <= most {
        return;
    }
    let planes = if matches!(levels.start, StartLevel::DiePages(_)) { g.planes_per_die } else { 1 };
    let blocks = most.saturating_sub(start) * planes / g.pages_in(1);
    let found = format!(
        "lets GC go on until {stop} of each plane's pages are erased, and beside live data and parity the drive has {}, of which one must be \
         stale",
        most + 1
    );
    let fault = Fault::new("gc_trigger", "stop_above_blocks", found).with("state", "live_percent").with("geometry", "blocks_per_plane");
    faults.push(fault.allowed(format!("0 to {blocks}")));
}
