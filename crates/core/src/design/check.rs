//! What of a design contradicts the device or itself: techniques that need each other, or can't go together.

use crate::config::ConfigError;
use crate::design::{Design, Destination};
use crate::device::Device;
use crate::ftl::ageing::check_theory;
use crate::ftl::write_points::WRITE_POINTS_MAX;
use crate::policy::{
    Align, FlushPlan, GcGate, GcGatePolicy, GcHold, GcTrigger, Join, Order, PageChoice, Place, Reach, ReadPlan, Scope, Scrub, Suspend,
    Victim, WearLevel,
};
use crate::raid::stripes::Stripes;

impl Design {
    /// Refuses a GC that should leave its plane and can't.
    fn check_destination(&mut self) -> Result<(), ConfigError> {
        if !self.gc.leaves_its_plane() {
            return Ok(());
        }
        let reason = if !self.gc.copies_through_controller() {
            "[gc] `copy` = \"copyback\", which stays inside a plane; allowed: \"controller\"".to_string()
        } else if self.gc.ideal {
            "[gc] `ideal` = true, whose GC stays inside its plane".to_string()
        } else if self.place.reach() != self.gc.destination.reach() {
            // Overwritten pages return to their planes, which those of others might have filled for good.
            let (binds, allowed) = (self.place.reach().among(), self.gc.destination.placed_by());
            format!("[place] `policy` = \"{}\", which places a page {binds}; allowed: {allowed}", self.place.name())
        } else if self.gc.destination == Destination::Die && !self.gc_gate.alone_in_die() {
            // Each may need a block's worth of what the planes of the die keep for GC together.
            format!(
                "[gc_gate] `policy` = \"{}\", which lets several planes of a die collect at a time; allowed: \"one_per_die\"",
                self.gc_gate.name()
            )
        } else if self.gc.destination == Destination::Die && !self.gc_trigger.by_die() {
            // A GC takes erased pages of all planes to free those of one.
            format!(
                "[gc_trigger] `policy` = \"{}\", which counts the erased pages of each plane; allowed: \"watermark\" with `of` = \"die\"",
                self.gc_trigger.name()
            )
        } else if self.gc_hold.widest() > Scope::Die {
            // Two GCs, each with its channel, would wait for the other's.
            "a [gc_hold] `scope` wider than a die, because two GCs could wait for each other's channels; allowed: \"plane\", \"die\""
                .to_string()
        } else {
            return Ok(());
        };
        Err(ConfigError(format!("{}: [gc] `destination` = \"{}\" contradicts {reason}", self.name, self.gc.destination.name())))
    }

    /// Refuses to place pages on whichever plane of a die where the die's programs do not take all planes, for one of them might
    /// be filled with live pages for good; and where a block has room for a few such programs only, for GC would go on
    /// collecting its own padding.
    fn check_super_pages(&mut self, device: &Device) -> Result<(), ConfigError> {
        if self.place.reach() != Reach::Die {
            return Ok(());
        }
        let g = &device.geometry;
        if g.pages_per_block < 3 * g.planes_per_die {
            return Err(ConfigError(format!(
                "{}: [place] `policy` = \"{}\" pads up to {} pages for each GC on this device, whose blocks have {} pages; allowed: {} or more",
                self.name,
                self.place.name(),
                g.planes_per_die - 1,
                g.pages_per_block,
                3 * g.planes_per_die
            )));
        }
        if self.join.gather_ns().is_some() {
            return Ok(());
        }
        Err(ConfigError(format!(
            "{}: [place] `policy` = \"{}\" fills programs of all planes of a die; [join] `policy` is \"{}\", allowed: \"strict_all_planes\"",
            self.name,
            self.place.name(),
            self.join.name()
        )))
    }

    /// Refuses late placement without GC of single operations and the other way round, what neither could heed, and more write
    /// points than GC's thresholds have blocks between them.
    fn check_late(&mut self, device: &Device) -> Result<(), ConfigError> {
        let (late, nothing) = (self.place.late(), self.gc_hold.nothing());
        let (place, gc_hold) = (self.place.name(), self.gc_hold.name());
        let fault = |what: String| Err(ConfigError(format!("{}: {what}", self.name)));
        if !late {
            return if nothing {
                fault(format!(
                    "[gc_hold] `policy` = \"{gc_hold}\" moves pages that have no place until they are programmed, and [place] `policy` = \
                     \"{place}\" places them before; allowed: \"next_idle\""
                ))
            } else {
                self.check_choice_in_planes()
            };
        }
        let contradiction = if !nothing {
            Some(format!("[gc_hold] `policy` = \"{gc_hold}\", which holds dies that look idle; allowed: \"nothing\""))
        } else if !self.gc.copies_through_controller() {
            Some("[gc] `copy` = \"copyback\", whose pages stay where they are; allowed: \"controller\"".into())
        } else if self.gc.ideal {
            Some("[gc] `ideal` = true, whose GC is no operation; allowed: false".into())
        } else if !matches!(&self.gc_gate, GcGatePolicy::Free(free) if free.is_always_open()) {
            let gate = self.gc_gate.name();
            Some(format!("[gc_gate] `policy` = \"{gate}\", since GC of single operations has no start; allowed: \"free\", without `start`"))
        } else if self.join.gather_ns().is_some() {
            let join = self.join.name();
            Some(format!("[join] `policy` = \"{join}\", which gathers pages that have their planes; allowed: \"none\", \"same_offset\""))
        } else {
            None
        };
        if let Some(contradiction) = contradiction {
            return fault(format!("[place] `policy` = \"{place}\" contradicts {contradiction}"));
        }
        let points = self.gc.write_points;
        if points > WRITE_POINTS_MAX {
            return fault(format!("[gc] `write_points` is {points}; allowed with [place] `policy` = \"{place}\": 1 to {WRITE_POINTS_MAX}"));
        }
        let Some((background, emergency)) = self.gc_trigger.thresholds() else { return Ok(()) };
        if points > background - emergency {
            return fault(format!(
                "[gc] `write_points` is {points}, and each has an open block of the pool between [gc_trigger] `background_blocks` and \
                 `emergency_blocks`, {background} and {emergency} erased blocks of each plane on this device; allowed: 1 to {}, their \
                 difference",
                background - emergency
            ));
        }
        let g = &device.geometry;
        let live = (u64::from(g.blocks_per_plane) * u64::from(device.host.logical_permyriad)).div_ceil(10_000) as u32;
        let spare = (g.blocks_per_plane - device.bad_blocks_per_plane()).saturating_sub(live);
        if background + points >= spare {
            return fault(format!(
                "[gc_trigger] `background_blocks` keeps {background} erased blocks of each plane and [gc] `write_points` {points} open ones; \
                 allowed: less than {spare} in all, the spare blocks of a plane"
            ));
        }
        Ok(())
    }

    /// Refuses choices among the write points of a plane where there are none, or where something else has made them; and more write
    /// points than anybody uses.
    fn check_choice_in_planes(&mut self) -> Result<(), ConfigError> {
        let fault = |what: String| Err(ConfigError(format!("{}: {what}", self.name)));
        let (place, points, gathers) = (self.place.name(), self.gc.write_points, self.join.gather_ns().is_some());
        let looks = [
            ("order", self.order.looks_at_pool().then(|| self.order.name())),
            ("page_choice", self.page_choice.looks_at_pool().then(|| self.page_choice.name())),
        ];
        if let Some((section, policy)) = looks.into_iter().find_map(|(section, policy)| Some((section, policy?))) {
            return fault(format!(
                "[{section}] `policy` = \"{policy}\" goes by how many erased blocks the drive has left, and [place] `policy` = \"{place}\" \
                 leaves each plane its own; allowed: \"next_idle\""
            ));
        }
        if gathers && points > 2 {
            return fault(format!(
                "[gc] `write_points` is {points}; [join] `policy` = \"{}\" has one for the host and one for GC, so that the planes of a die stay at \
                 one offset; allowed: 1 or 2",
                self.join.name()
            ));
        }
        if !self.page_choice.active() {
            return Ok(());
        }
        let choice = self.page_choice.name();
        if points < 2 {
            return fault(format!(
                "[page_choice] `policy` = \"{choice}\" chooses among the write points of a page's plane, and [gc] `write_points` is {points}; \
                 allowed: 2 or more, or [place] `policy` = \"next_idle\""
            ));
        }
        if gathers {
            return fault(format!(
                "[page_choice] `policy` = \"{choice}\" contradicts [join] `policy` = \"{}\", whose programs take all planes of a die at one page \
                 offset; allowed: \"none\", \"same_offset\", \"gc_par\"",
                self.join.name()
            ));
        }
        if self.page_choice.rest().is_some() && self.gc.leaves_its_plane() {
            return fault(format!(
                "[page_choice] `policy` = \"{choice}\" brings write points to rest by pages that stay in their planes, and [gc] `destination` is \
                 \"{}\"; allowed: \"plane\", or [place] `policy` = \"next_idle\"",
                self.gc.destination.name()
            ));
        }
        Ok(())
    }

    /// Refuses scrubbing where no copy skips the ECC.
    fn check_scrubbed_copies(&mut self) -> Result<(), ConfigError> {
        let reason = if self.scrub.pause_ns().is_none() {
            return Ok(());
        } else if self.gc.copies_through_controller() {
            "[gc] `copy` = \"controller\", with which every copied page passes the ECC; allowed: \"copyback\""
        } else if self.gc.ideal {
            "[gc] `ideal` = true, which copies nothing on the flash; allowed: false"
        } else {
            return Ok(());
        };
        Err(ConfigError(format!("{}: [scrub] `policy` = \"{}\" contradicts {reason}", self.name, self.scrub.name())))
    }

    /// Refuses GCs that should program on all planes of a die and can't.
    fn check_gathered_gc(&mut self, device: &Device) -> Result<(), ConfigError> {
        let planes = device.geometry.planes_per_die;
        if planes == 1 || !self.join.gathers_gc() {
            return Ok(());
        }
        let reason = if !self.gc.copies_through_controller() {
            "[gc] `copy` = \"copyback\", whose pages never reach the controller; allowed: \"controller\"".to_string()
        } else if self.gc.destination == Destination::Drive {
            "[gc] `destination` = \"drive\", whose pages leave the die that would program them; allowed: \"plane\", \"die\"".to_string()
        } else if self.gc_gate.alone_in_die() && !self.gc.leaves_its_plane() {
            format!(
                "[gc_gate] `policy` = \"{}\", which lets one plane of a die collect at a time, and all others would be padded",
                self.gc_gate.name()
            )
        } else {
            return Ok(());
        };
        Err(ConfigError(format!(
            "{}: [join] `gc_programs` = \"all_planes\", on {planes} planes of a die, contradicts {reason}; or \
             `gc_programs` = \"single\"",
            self.name
        )))
    }

    /// Refuses operations of the host that should join those of GCs where GC has none that they could, and what only serves that
    /// purpose without it.
    fn check_gc_partners(&mut self) -> Result<(), ConfigError> {
        let fault = |what: String| Err(ConfigError(format!("{}: {what}", self.name)));
        let join = self.join.name();
        if !self.join.joins_gc() {
            let needs = [
                ("align", self.align.active().then(|| self.align.name())),
                ("victim", self.victim.iter_mut().find_map(|policy| policy.needs_partners().then(|| policy.name()))),
            ];
            let Some((section, name)) = needs.into_iter().find_map(|(section, name)| Some((section, name?))) else { return Ok(()) };
            let key = if section == "victim" { "chain" } else { "policy" };
            return fault(format!(
                "[{section}] `{key}` \"{name}\" finds partners for operations of GCs, and [join] `policy` = \"{join}\" makes none of them; \
                 allowed: \"gc_par\""
            ));
        }
        let contradiction = if !self.gc.copies_through_controller() {
            "[gc] `copy` = \"copyback\", whose two pages would both have to be at the offsets of the host's; allowed: \"controller\""
                .to_string()
        } else if self.gc.ideal {
            "[gc] `ideal` = true, whose GC has no operations; allowed: false".to_string()
        } else if self.place.late() {
            format!("[place] `policy` = \"{}\", whose programs have no plane while they wait", self.place.name())
        } else if self.align.active() && self.gc.write_points < 2 {
            return fault(format!(
                "[align] `policy` = \"{}\" needs a second open block of each plane, and [gc] `write_points` is {}; allowed: 2 or more",
                self.align.name(),
                self.gc.write_points
            ));
        } else {
            return Ok(());
        };
        fault(format!("[join] `policy` = \"{join}\" contradicts {contradiction}"))
    }

    /// Refuses stripes that leave no over-provisioning once parity has its pages.
    fn check_stripes_fit(&self, device: &Device, stripes: &Stripes, blocks_kept: u32) -> Result<(), ConfigError> {
        let pages = u64::from(device.geometry.pages_per_block);
        let usable = u64::from(device.geometry.blocks_per_plane - device.bad_blocks_per_plane());
        let spare = usable.saturating_sub(u64::from(stripes.rows()).div_ceil(pages));
        if u64::from(blocks_kept) < spare {
            return Ok(());
        }
        let rows_most = (usable.saturating_sub(u64::from(blocks_kept) + 1) * pages).max(1) - 1;
        let most = rows_most * u64::from(stripes.groups()) * u64::from(stripes.width() - 1) * 10_000 / device.geometry.physical_pages();
        Err(ConfigError(format!(
            "{}: [place] `stripe_width` {} adds a parity page to each {} pages, and with [host] `logical_permyriad` {} that leaves {spare} blocks \
             of each plane; [gc] `reserve_blocks` {} and `write_points` {} keep {blocks_kept}, and one more must be left: `logical_permyriad` may \
             be {most} at most",
            self.name,
            stripes.width(),
            stripes.width() - 1,
            device.host.logical_permyriad,
            self.gc.reserve_blocks,
            self.gc.write_points
        )))
    }

    /// Refuses techniques that need stripes in a design that has none, and stripes without a buffer that holds one.
    fn check_stripes(&mut self, device: &Device) -> Result<(), ConfigError> {
        let Some(stripes) = self.place.stripes() else {
            let needs = [
                ("gc_gate", self.gc_gate.name(), self.gc_gate.needs_stripes()),
                ("read_plan", self.read_plan.name(), self.read_plan.active()),
                ("flush_plan", self.flush_plan.name(), self.flush_plan.needs_stripes()),
                ("wear_level", self.wear_level.name(), self.wear_level.active()),
            ];
            let Some((section, name, _)) = needs.into_iter().find(|(.., needs)| *needs) else { return Ok(()) };
            return Err(ConfigError(format!(
                "{}: [{section}] `policy` = \"{name}\" needs stripes with parity, and [place] `policy` = \"{}\" has none; allowed: \"rain\"",
                self.name,
                self.place.name()
            )));
        };
        let pages = u64::from(device.ram.buffer_kib) * 1024 / u64::from(device.geometry.page_bytes);
        if pages < u64::from(stripes.width()) {
            let least = u64::from(stripes.width()) * u64::from(device.geometry.page_bytes) / 1024;
            return Err(ConfigError(format!(
                "{}: [place] `policy` = \"rain\" writes whole stripes of {} pages from the buffer, and [ram] `buffer_kib` is {}; allowed: at least \
                 {least} on this device",
                self.name,
                stripes.width(),
                device.ram.buffer_kib
            )));
        }
        Ok(())
    }

    pub(super) fn check(&mut self, device: &Device) -> Result<(), ConfigError> {
        let blocks = device.geometry.blocks_per_plane;
        for (key, value) in [("write_points", self.gc.write_points), ("reserve_blocks", self.gc.reserve_blocks)] {
            if value == 0 || value > blocks / 2 {
                return Err(ConfigError(format!("{}: [gc] `{key}` is {value}; allowed: 1 to {} on this device", self.name, blocks / 2)));
            }
        }
        self.place.prepare(device)?;
        // Whether it suits the device at all, before any number of it.
        self.join.prepare(device)?;
        self.gc_trigger.prepare(device)?;
        // The host may open no block of the reserve, and every write point but the one that is asked may be open: a plane
        // that stalls a write has at most this much erased, and must be urgent, or nothing would ever free it.
        let blocks_kept = self.gc.reserve_blocks + self.gc.write_points;
        // A page that is placed late goes to whichever write point has room.
        let least = if self.place.late() { self.gc.reserve_blocks + 1 } else { blocks_kept } * device.geometry.pages_per_block;
        if let Some((key, pages)) = self.gc_trigger.urgent_below()
            && pages < least
        {
            let percent = f64::from(least) * 100.0 / f64::from(device.geometry.pages_per_plane());
            return Err(ConfigError(format!(
                "{}: [gc_trigger] `{key}` makes a plane urgent below {pages} erased pages; with [gc] `reserve_blocks` {} and `write_points` {} it \
                 must be {least} on this device: at least {percent:.3} percent",
                self.name, self.gc.reserve_blocks, self.gc.write_points
            )));
        }
        let spare = (u64::from(blocks) * (10_000 - u64::from(device.host.logical_permyriad)) / 10_000)
            .saturating_sub(device.bad_blocks_per_plane().into());
        if let Some(stripes) = self.place.stripes() {
            self.check_stripes_fit(device, &stripes, blocks_kept)?;
        } else if u64::from(blocks_kept) >= spare {
            return Err(ConfigError(format!(
                "{}: [gc] `reserve_blocks` {} and `write_points` {} keep {blocks_kept} blocks of each plane; the device's over-provisioning \
                 is {spare} of {blocks}, and one more must be left",
                self.name, self.gc.reserve_blocks, self.gc.write_points
            )));
        }
        self.gc_gate.prepare(device)?;
        self.gc_hold.prepare(device)?;
        self.check_super_pages(device)?;
        self.check_destination()?;
        for policy in &mut self.victim {
            policy.prepare(device)?;
        }
        self.order.prepare(device)?;
        self.page_choice.prepare(device)?;
        self.check_late(device)?;
        self.align.prepare(device)?;
        self.check_gathered_gc(device)?;
        self.check_gc_partners()?;
        self.check_scrubbed_copies()?;
        self.suspend.prepare(device)?;
        self.read_plan.prepare(device)?;
        self.flush_plan.prepare(device)?;
        self.scrub.prepare(device)?;
        self.wear_level.prepare(device)?;
        self.check_stripes(device)?;
        check_theory(self, device)
    }
}
