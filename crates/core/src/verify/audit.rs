//! Invariants of the whole drive. Those of flash and tables alone are in `Flash::audit` and `Tables::audit`.

use crate::context::Context;
use crate::flash::op::{CLASS_BY_NUMBER, OpKind, Owner};
use crate::ftl::above::WithFtl;
use crate::ftl::late_bound::{BACKGROUND, EMERGENCY, EXTERNAL};
use crate::ftl::write_points::WritePoints;
use crate::host::tiers::Drive;
use crate::ids::{DieIx, NONE, Ppn};
use crate::observe::Observer;
use crate::oracle::Content;
use crate::policy::answers::{Preference, Scope};
use crate::policy::view::Unplaced;
use crate::raid::front::WithRaid;

impl<O: Observer> Drive<O> {
    /// Checks every invariant between two events. For tests and `--verify`; it walks the whole drive.
    ///
    /// # Errors
    /// The first invariant that does not hold, with what breaks it.
    pub fn audit(&self) -> Result<(), String> {
        let flash = &self.flash;
        let WithFtl { ftl, up: WithRaid { raid, .. }, .. } = &self.up;
        // Valid means mapped; erased pages are counted right.
        ftl.tables.audit()?;
        // One owner per channel, and it is a GC that locks the channel.
        for index in 0..flash.device.geometry.channels as usize {
            let locked_by = flash.channel(index).locked_by;
            if locked_by != NONE {
                let locked = self.planes_of(locked_by).any(|plane| ftl.gc.locks(plane, Scope::Channel));
                if !locked {
                    return Err(format!("channel {index} is locked by die {locked_by}, none of whose GCs locks a channel"));
                }
            }
        }
        // A GC that is idle locks nothing.
        if let Some(plane) = (0..flash.device.geometry.planes()).find(|&plane| !ftl.gc.is_under_way(plane) && ftl.gc.of(plane).locks) {
            return Err(format!("plane {plane} is locked by a GC that has ended"));
        }
        flash.audit()?;
        // GC can always go on: what it may need is erased.
        for pool in ftl.tables.pools() {
            let (erased, plane) = (ftl.tables.erased_groups(pool), ftl.tables.first_plane(pool));
            if erased < self.policies().gc.reserve_blocks && !ftl.gc.is_under_way(plane) {
                return Err(format!("plane {plane} has {erased} erased blocks, fewer than its reserve, and no GC"));
            }
        }
        // An erase leaves nothing of what its pages had been through.
        if let Some(errors) = &raid.errors {
            let mut erased = (0..flash.device.geometry.physical_pages() as Ppn).filter(|&ppn| ftl.tables.owner(ppn) == NONE);
            if let Some(ppn) = erased.find(|&ppn| errors.copies(ppn) > 0) {
                return Err(format!("page {ppn} is erased, and counts as copied {} times", errors.copies(ppn)));
            }
        }
        self.audit_stripes()?;
        self.audit_late_bound()?;
        // No request is lost: when nothing is outstanding, nothing is busy or waiting.
        if self.outstanding() == 0 && raid.buffer.in_flight() == 0 {
            flash.audit_idle()?;
            if let Some(plane) = ftl.bound.iter().position(|&programs| programs != 0) {
                return Err(format!("{} programs of the host are bound for plane {plane}, and nothing is outstanding", ftl.bound[plane]));
            }
        }
        Ok(())
    }

    /// Checks the invariants of pages without a place.
    fn audit_late_bound(&self) -> Result<(), String> {
        let Some(late_bound) = &self.up.ftl.late_bound else { return Ok(()) };
        if late_bound.points != WritePoints::new(&self.flash.device, &self.up.ftl.tables) {
            return Err("the masks of the write points are not those of the tables".into());
        }
        for (index, bound) in late_bound.bound.iter().enumerate() {
            let lines =
                self.planes_of(index as DieIx).flat_map(|plane| CLASS_BY_NUMBER.map(|class| self.flash.first_waiting(plane, class)));
            let programs = lines.filter(|&op| op != NONE && self.flash.ops[op as usize].kind == OpKind::Program).count();
            if programs != usize::from(bound.is_some()) {
                return Err(format!("die {index} has {programs} programs that wait there, and {} has its place", bound.is_some()));
            }
        }
        let of = |op: u32| if let Owner::Gc(plane) = self.flash.ops[op as usize].owner { plane } else { NONE };
        if let Some(&op) = late_bound.queues[BACKGROUND].iter().find(|&&op| self.flash.queues(of(op)).urgent) {
            return Err(format!("operation {op} waits in the background, and the GC of plane {} is urgent", of(op)));
        }
        if let Some(pool) = late_bound.held.iter().find(|&&pool| self.flash.queues(self.up.ftl.tables.first_plane(pool)).urgent) {
            return Err(format!("the GC of pool {} is urgent and held back", pool.index()));
        }
        // No wake-up is lost: no idle die could begin with a page that waits, unless its technique would rather wait.
        if self.policies().page_choice.name() == "custom" {
            return Ok(());
        }
        let came = |op: u32| self.flash.ops[op as usize].arrival;
        let (read, page) = (late_bound.reads.front(), late_bound.queues[EXTERNAL].front());
        let page = page.filter(|&&page| read.is_none_or(|&read| came(page) < came(read)));
        if let Some(&read) = read.filter(|_| page.is_none()) {
            let ppn = self.up.ftl.tables.lookup(self.flash.ops[read as usize].tag);
            if ppn != NONE && self.seen().die_is_idle(self.flash.die_of(self.up.ftl.tables.plane_of(ppn))) {
                return Err(format!("operation {read} is the first of the host's that has not begun, and its die is idle"));
            }
        }
        for &op in late_bound.queues[EMERGENCY].iter().chain(page) {
            let from = of(op);
            let page =
                Unplaced { from, preference: Preference::Any, asking: NONE, confined: !self.up.ftl.traits.gc_across && from != NONE };
            let view = self.seen();
            let mut idle = (0..self.flash.device.geometry.planes()).filter(|&plane| view.die_is_idle(self.flash.die_of(plane)));
            if let Some(plane) = idle.find(|&plane| view.preferred_points(plane, &page).is_some()) {
                return Err(format!("plane {plane} could take the page of operation {op}, which waits for a place"));
            }
        }
        Ok(())
    }

    /// Checks the invariants of stripes.
    fn audit_stripes(&self) -> Result<(), String> {
        let flash = &self.flash;
        let WithFtl { ftl, up: WithRaid { raid, .. }, .. } = &self.up;
        let Some(rain) = &raid.rain else { return Ok(()) };
        let tables = &ftl.tables;
        for stripe in (0..rain.stripes().count()).filter(|&stripe| !rain.is_on_its_way(stripe)) {
            rain.check_stripe(tables, stripe)?;
            // Its parity is the sum of its pages.
            let (first, members) = rain.stripes().members(stripe);
            let parity = tables.lookup(rain.stripes().parity(stripe));
            if let Some(oracle) = self.up.oracle.as_ref().filter(|_| parity != NONE) {
                let mapped = (first..first + members).map(|lpn| tables.lookup(lpn)).filter(|&ppn| ppn != NONE);
                let sum = mapped.fold(Content::Uniform(0), |sum, ppn| sum.xor(&oracle.on_flash(ppn)));
                if sum != oracle.on_flash(parity) {
                    return Err(format!("the parity of stripe {stripe} is {:?}, its pages add up to {sum:?}", oracle.on_flash(parity)));
                }
            }
        }
        for group in 0..rain.stripes().groups() {
            let planes = (0..flash.device.geometry.planes()).filter(|&plane| rain.stripes().group_of_plane(plane) == group);
            let under_way = planes.filter(|&plane| ftl.gc.is_under_way(plane)).count();
            if under_way != rain.gcs_in(group) as usize {
                return Err(format!("{} GCs are counted in plane group {group}, and {under_way} are under way", rain.gcs_in(group)));
            }
        }
        for plane in 0..flash.device.geometry.planes() {
            // A page waits in RAM only for a GC that is under way.
            if !raid.traits.deferred_join_stripes && !ftl.gc.is_under_way(plane) && rain.deferred_at(plane) > 0 {
                return Err(format!("pages wait in RAM for a GC of plane {plane}, and it has none"));
            }
        }
        let deferred: usize = (0..flash.device.geometry.planes()).map(|plane| rain.deferred_at(plane)).sum();
        if deferred != rain.deferred() as usize {
            return Err(format!("{} pages are counted as waiting for GCs, and {deferred} do", rain.deferred()));
        }
        let (steps, counted) = rain.steps_under_way();
        if steps != counted {
            return Err(format!("{steps} steps of stripe writes are counted as under way, and {counted} are"));
        }
        if self.outstanding() == 0 && raid.buffer.in_flight() == 0 && rain.kept_pages() != (0, 0) {
            return Err(format!("{} parity pages are in RAM and no stripe is on its way", rain.kept_pages().0));
        }
        // What is active is in the buffer or being read.
        if self.outstanding() == 0 && rain.active().len() > raid.buffer.occupied() as usize + usize::from(raid.levelling.is_moving()) {
            return Err(format!("{} stripes are active, and the buffer has {} pages", rain.active().len(), raid.buffer.occupied()));
        }
        Ok(())
    }
}
