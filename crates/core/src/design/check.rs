//! What of a design contradicts the device or itself: techniques that need each other, or can't go together.

use crate::design::{Design, Destination};
use crate::device::Device;
use crate::ftl::ageing::check_theory;
use crate::ftl::write_points::WRITE_POINTS_MAX;
use crate::policy::{
    Destage, GcGate, GcGatePolicy, GcLock, GcTrigger, Order, PageChoice, Pairing, Place, Reach, ReadPlan, Scope, Scrub, Victim, WearLevel,
};
use crate::raid::stripes::Stripes;
use tinytail_config::{Fault, Faults};

/// What a choice contradicts: section and key, its value with a reason, and what is allowed in place of it.
struct Against<'a>(&'a str, &'a str, String, &'a str);

impl Against<'_> {
    fn fault(self, section: &str, key: &str, found: String) -> Fault {
        let Self(other, other_key, said, allowed) = self;
        Fault::new(section, key, format!("{found} contradicts [{other}] `{other_key}` {said}")).with(other, other_key).allowed(allowed)
    }
}

/// `= "name"`, with a reason.
fn named(name: &str, reason: &str) -> String {
    format!("= \"{name}\", {reason}")
}

impl Design {
    /// Refuses a GC that should leave its plane and can't.
    fn check_destination(&mut self, faults: &mut Faults) {
        if !self.gc.leaves_its_plane() {
            return;
        }
        let (die, destination) = (self.gc.destination == Destination::Die, self.gc.destination);
        let against = if !self.gc.copies_through_controller() {
            Against("gc", "copy", "= \"copyback\", which stays inside a plane".into(), "\"controller\"")
        } else if self.gc.ideal {
            Against("gc", "ideal", "= true, whose GC stays inside its plane".into(), "false")
        } else if self.place.reach() != destination.reach() {
            // Overwritten pages return to their planes, which those of others might have filled for good.
            let binds = format!("which places a page {}", self.place.reach().among());
            Against("place", "policy", named(self.place.name(), &binds), destination.placed_by())
        } else if die && !self.gc_gate.alone_in_die() {
            // Each may need a block's worth of what the planes of the die keep for GC together.
            let reason = "which lets several planes of a die collect at a time";
            Against("gc_gate", "policy", named(self.gc_gate.name(), reason), "\"one_per_die\"")
        } else if die && !self.gc_trigger.by_die() {
            // A GC takes erased pages of all planes to free those of one.
            let reason = "which counts the erased pages of each plane";
            Against("gc_trigger", "policy", named(self.gc_trigger.name(), reason), "\"watermark\" with `of` = \"die\"")
        } else if self.gc_lock.widest() > Scope::Die {
            // Two GCs, each with its channel, would wait for the other's.
            let reason = "wider than a die, because two GCs could wait for each other's channels";
            Against("gc_lock", "scope", reason.into(), "\"plane\", \"die\"")
        } else {
            return;
        };
        faults.push(against.fault("gc", "destination", format!("= \"{}\"", destination.name())));
    }

    /// Refuses to place pages on whichever plane of a die where the die's programs do not take all planes, for one of them might
    /// be filled with live pages for good; and where a block has room for a few such programs only, for GC would go on
    /// collecting its own padding.
    fn check_super_pages(&mut self, device: &Device, faults: &mut Faults) {
        if self.place.reach() != Reach::Die {
            return;
        }
        let (g, place) = (&device.geometry, self.place.name());
        if g.pages_per_block < 3 * g.planes_per_die {
            let (padding, pages) = (g.planes_per_die - 1, g.pages_per_block);
            let found = format!("= \"{place}\" pads up to {padding} pages for each GC on this device, whose blocks have {pages} pages");
            faults.push(Fault::new("place", "policy", found).allowed(format!("{} or more", 3 * g.planes_per_die)));
        }
        if self.pairing.assembly_ns().is_none() {
            let pairing = self.pairing.name();
            let found = format!("= \"{place}\" fills programs of all planes of a die; [pairing] `policy` is \"{pairing}\"");
            faults.push(Fault::new("place", "policy", found).with("pairing", "policy").allowed("\"superpage\""));
        }
    }

    /// Refuses late-bound allocation without GC of single operations and the other way round, what neither could heed, and more
    /// write points than GC's thresholds have blocks between them.
    fn check_late_bound(&mut self, device: &Device, faults: &mut Faults) {
        let (late_bound, nothing) = (self.place.late_bound(), self.gc_lock.nothing());
        let (place, gc_lock, points) = (self.place.name(), self.gc_lock.name(), self.gc.write_points);
        if !late_bound {
            if nothing {
                let found = format!(
                    "= \"{gc_lock}\" moves pages that have no place until they are programmed, and [place] `policy` = \"{place}\" places them \
                     before"
                );
                return faults.push(Fault::new("gc_lock", "policy", found).with("place", "policy").allowed("\"next_idle\""));
            }
            return self.check_choice_in_planes(faults);
        }
        let against = if !nothing {
            Against("gc_lock", "policy", named(gc_lock, "which locks dies that look idle"), "\"nothing\"")
        } else if !self.gc.copies_through_controller() {
            Against("gc", "copy", "= \"copyback\", whose pages stay where they are".into(), "\"controller\"")
        } else if self.gc.ideal {
            Against("gc", "ideal", "= true, whose GC is no operation".into(), "false")
        } else if !matches!(&self.gc_gate, GcGatePolicy::Free(free) if free.is_always_open()) {
            let reason = "since GC of single operations has no start";
            Against("gc_gate", "policy", named(self.gc_gate.name(), reason), "\"free\", without `start`")
        } else if self.pairing.assembly_ns().is_some() {
            let reason = "which assembles superpages of pages that have their planes";
            Against("pairing", "policy", named(self.pairing.name(), reason), "\"none\", \"same_offset\"")
        } else {
            return self.check_late_bound_space(device, points, faults);
        };
        faults.push(against.fault("place", "policy", format!("= \"{place}\"")));
    }

    fn check_late_bound_space(&mut self, device: &Device, points: u32, faults: &mut Faults) {
        if points > WRITE_POINTS_MAX {
            let allowed = format!("1 to {WRITE_POINTS_MAX} with [place] `policy` = \"{}\"", self.place.name());
            return faults.push(Fault::new("gc", "write_points", format!("is {points}")).with("place", "policy").allowed(allowed));
        }
        let Some((background, emergency)) = self.gc_trigger.thresholds() else { return };
        if points > background - emergency {
            let found = format!(
                "is {points}, and each has an open block of the pool between [gc_trigger] `background_blocks` and `emergency_blocks`, \
                 {background} and {emergency} erased blocks of each plane on this device"
            );
            let fault =
                Fault::new("gc", "write_points", found).with("gc_trigger", "background_blocks").with("gc_trigger", "emergency_blocks");
            return faults.push(fault.allowed(format!("1 to {}, their difference", background - emergency)));
        }
        let g = &device.geometry;
        let spare = (g.blocks_per_plane - device.bad_blocks_per_plane()).saturating_sub(device.logical_blocks_per_plane());
        if background + points >= spare {
            let found = format!("keeps {background} erased blocks of each plane and [gc] `write_points` {points} open ones");
            let fault = Fault::new("gc_trigger", "background_blocks", found).with("gc", "write_points");
            faults.push(fault.allowed(format!("less than {spare} in all, the spare blocks of a plane")));
        }
    }

    /// Refuses choices among the write points of a plane where there are none, or where something else has made them; and more write
    /// points than anybody uses.
    fn check_choice_in_planes(&mut self, faults: &mut Faults) {
        let (place, points, assembles) = (self.place.name(), self.gc.write_points, self.pairing.assembly_ns().is_some());
        let looks = [
            ("order", self.order.looks_at_pool(), self.order.name()),
            ("page_choice", self.page_choice.looks_at_pool(), self.page_choice.name()),
        ];
        for (section, _, policy) in looks.into_iter().filter(|(_, looks, _)| *looks) {
            let found = format!(
                "= \"{policy}\" goes by how many erased blocks the drive has left, and [place] `policy` = \"{place}\" leaves each plane its own"
            );
            faults.push(Fault::new(section, "policy", found).with("place", "policy").allowed("\"next_idle\""));
        }
        let pairing = self.pairing.name();
        if assembles && points > 2 {
            let found = format!(
                "is {points}; [pairing] `policy` = \"{pairing}\" has one for the host and one for GC, so that the planes of a die stay at one offset"
            );
            faults.push(Fault::new("gc", "write_points", found).with("pairing", "policy").allowed("1 or 2"));
        }
        if !self.page_choice.active() {
            return;
        }
        let fault = |found: &str| Fault::new("page_choice", "policy", format!("= \"{}\" {found}", self.page_choice.name()));
        if points < 2 {
            let found = format!("chooses among the write points of a page's plane, and [gc] `write_points` is {points}");
            let allowed = "2 or more, or [place] `policy` = \"next_idle\"";
            return faults.push(fault(&found).with("gc", "write_points").allowed(allowed));
        }
        if assembles {
            let found =
                format!("contradicts [pairing] `policy` = \"{pairing}\", whose programs take all planes of a die at one page offset");
            let allowed = "\"none\", \"same_offset\", \"gc_par\"";
            return faults.push(fault(&found).with("pairing", "policy").allowed(allowed));
        }
        if self.page_choice.parking().is_some() && self.gc.leaves_its_plane() {
            let destination = self.gc.destination.name();
            let found = format!(
                "= \"{}\" returns write points to fast pages by pages that stay in their planes, and [gc] `destination` is \"{destination}\"",
                self.page_choice.name()
            );
            let fault = Fault::new("page_choice", "policy", found).with("gc", "destination");
            faults.push(fault.allowed("\"plane\", or [place] `policy` = \"next_idle\""));
        }
    }

    /// Refuses scrubbing where no copy skips the ECC.
    fn check_scrubbed_copies(&mut self, faults: &mut Faults) {
        let against = if self.scrub.pause_ns().is_none() {
            return;
        } else if self.gc.copies_through_controller() {
            Against("gc", "copy", "= \"controller\", with which every copied page passes the ECC".into(), "\"copyback\"")
        } else if self.gc.ideal {
            Against("gc", "ideal", "= true, which copies nothing on the flash".into(), "false")
        } else {
            return;
        };
        faults.push(against.fault("scrub", "policy", format!("= \"{}\"", self.scrub.name())));
    }

    /// Refuses GCs that should program on all planes of a die and can't.
    fn check_assembled_gc(&mut self, device: &Device, faults: &mut Faults) {
        let planes = device.geometry.planes_per_die;
        if planes == 1 || !self.pairing.assembles_gc() {
            return;
        }
        let against = if !self.gc.copies_through_controller() {
            Against("gc", "copy", "= \"copyback\", whose pages never reach the controller".into(), "\"controller\"")
        } else if self.gc.destination == Destination::Drive {
            let reason = "= \"drive\", whose pages leave the die that would program them";
            Against("gc", "destination", reason.into(), "\"plane\", \"die\"")
        } else if self.gc_gate.alone_in_die() && !self.gc.leaves_its_plane() {
            let reason = "which lets one plane of a die collect at a time, and all others would be padded";
            Against("gc_gate", "policy", named(self.gc_gate.name(), reason), "")
        } else {
            return;
        };
        let fault = against.fault("pairing", "gc_programs", format!("= \"all_planes\", on {planes} planes of a die,"));
        faults.push(fault.remedy("or `gc_programs` = \"single\""));
    }

    /// Refuses operations of the host that should be paired with those of GC where GC has none that they could, and what only
    /// serves that purpose without it.
    fn check_gc_partners(&mut self, faults: &mut Faults) {
        let pairing = self.pairing.name();
        if !self.pairing.pairs_with_gc() {
            let victim = self.victim.iter_mut().find_map(|policy| policy.needs_partners().then(|| policy.name()));
            let Some(name) = victim else { return };
            let found =
                format!("\"{name}\" finds partners for operations of GCs, and [pairing] `policy` = \"{pairing}\" makes none of them");
            return faults.push(Fault::new("victim", "chain", found).with("pairing", "policy").allowed("\"gc_par\""));
        }
        let against = if !self.gc.copies_through_controller() {
            let reason = "= \"copyback\", whose two pages would both have to be at the offsets of the host's";
            Against("gc", "copy", reason.into(), "\"controller\"")
        } else if self.gc.ideal {
            Against("gc", "ideal", "= true, whose GC has no operations".into(), "false")
        } else if self.place.late_bound() {
            Against("place", "policy", named(self.place.name(), "whose programs have no plane while they wait"), "")
        } else if self.pairing.aligns() && self.gc.write_points < 2 {
            let points = self.gc.write_points;
            let found = format!("= true needs a second open block of each plane, and [gc] `write_points` is {points}");
            return faults.push(Fault::new("pairing", "aligned_blocks", found).with("gc", "write_points").allowed("2 or more"));
        } else {
            return;
        };
        faults.push(against.fault("pairing", "policy", format!("= \"{pairing}\"")));
    }

    /// Refuses a reserve, open blocks and thresholds for which the drive has no room.
    fn check_space(&mut self, device: &Device, faults: &mut Faults) {
        let (g, reserve, points) = (&device.geometry, self.gc.reserve_blocks, self.gc.write_points);
        // The host may open no block of the reserve, and every write point but the one that is asked may be open: a plane
        // that stalls a write has at most this much erased, and must be urgent, or nothing would ever free it.
        let blocks_kept = reserve + points;
        // A page whose allocation is late-bound goes to whichever write point has room.
        let least = if self.place.late_bound() { reserve + 1 } else { blocks_kept } * g.pages_per_block;
        if let Some((key, pages)) = self.gc_trigger.urgent_below()
            && pages < least
        {
            let percent = f64::from(least) * 100.0 / f64::from(g.pages_per_plane());
            let found = format!(
                "makes a plane urgent below {pages} erased pages; with [gc] `reserve_blocks` {reserve} and `write_points` {points} it must be \
                 {least} on this device: at least {percent:.3} percent"
            );
            faults.push(Fault::new("gc_trigger", key, found).with("gc", "reserve_blocks").with("gc", "write_points"));
        }
        let spare = (g.blocks_per_plane - device.bad_blocks_per_plane()).saturating_sub(device.logical_blocks_per_plane());
        if let Some(stripes) = self.place.stripes() {
            self.check_stripes_fit(device, &stripes, blocks_kept, faults);
        } else if blocks_kept >= spare {
            let found = format!(
                "{reserve} and `write_points` {points} keep {blocks_kept} blocks of each plane; the device's over-provisioning is {spare} of \
                 {}, and one more must be left",
                g.blocks_per_plane
            );
            faults.push(Fault::new("gc", "reserve_blocks", found).with("gc", "write_points"));
        }
    }

    /// Refuses stripes that leave no over-provisioning once parity has its pages.
    fn check_stripes_fit(&self, device: &Device, stripes: &Stripes, blocks_kept: u32, faults: &mut Faults) {
        let pages = u64::from(device.geometry.pages_per_block);
        let usable = u64::from(device.geometry.blocks_per_plane - device.bad_blocks_per_plane());
        let spare = usable.saturating_sub(u64::from(stripes.rows()).div_ceil(pages));
        if u64::from(blocks_kept) < spare {
            return;
        }
        let rows_most = (usable.saturating_sub(u64::from(blocks_kept) + 1) * pages).max(1) - 1;
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
        faults.push(fault.with("gc", "reserve_blocks").with("gc", "write_points"));
    }

    /// Refuses techniques that need stripes in a design that has none, and stripes without a buffer that holds one.
    fn check_stripes(&mut self, device: &Device, faults: &mut Faults) {
        let place = self.place.name();
        let Some(stripes) = self.place.stripes() else {
            let needs = [
                ("gc_gate", self.gc_gate.name(), self.gc_gate.needs_stripes()),
                ("read_plan", self.read_plan.name(), self.read_plan.active()),
                ("destage", self.destage.name(), self.destage.needs_stripes()),
                ("wear_level", self.wear_level.name(), self.wear_level.active()),
            ];
            for (section, name, _) in needs.into_iter().filter(|(.., needs)| *needs) {
                let found = format!("= \"{name}\" needs stripes with parity, and [place] `policy` = \"{place}\" has none");
                faults.push(Fault::new(section, "policy", found).with("place", "policy").allowed("\"rain\""));
            }
            return;
        };
        let (kib, page_bytes) = (device.ram.buffer_kib, u64::from(device.geometry.page_bytes));
        if u64::from(kib) * 1024 / page_bytes < u64::from(stripes.width()) {
            let least = u64::from(stripes.width()) * page_bytes / 1024;
            let width = stripes.width();
            let found = format!("= \"rain\" writes whole stripes of {width} pages from the buffer, and [ram] `buffer_kib` is {kib}");
            faults.push(Fault::new("place", "policy", found).allowed(format!("at least {least} on this device")));
        }
    }

    pub(super) fn check(&mut self, device: &Device, faults: &mut Faults) {
        let most = device.geometry.blocks_per_plane / 2;
        for (key, value) in [("write_points", self.gc.write_points), ("reserve_blocks", self.gc.reserve_blocks)] {
            if value == 0 || value > most {
                faults.push(Fault::new("gc", key, format!("is {value}")).allowed(format!("1 to {most} on this device")));
            }
        }
        self.techniques_mut().for_each(|(_, technique)| _ = faults.take(technique.prepare(device)));
        // What is wrong alone may contradict anything.
        if !faults.is_empty() {
            return;
        }
        self.check_space(device, faults);
        self.check_super_pages(device, faults);
        self.check_destination(faults);
        self.check_late_bound(device, faults);
        self.check_assembled_gc(device, faults);
        self.check_gc_partners(faults);
        self.check_scrubbed_copies(faults);
        self.check_stripes(device, faults);
        faults.take(check_theory(self, device));
    }
}
