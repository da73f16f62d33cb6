//! Invariants of the whole drive, in one list.

use crate::drive::Drive;
use crate::event::EventQueue;
use crate::ftl::gc::GcState;
use crate::ftl::write_points::WritePoints;
use crate::ids::{DieIx, NONE, PlaneIx};
use crate::observe::Observer;
use crate::oracle::Content;
use crate::policy::{Scope, Wish};
use crate::sched::late::{EMERGENCY, EXTERNAL};
use crate::sched::ops::{OpKind, Owner};
use crate::view::{Unplaced, View};

impl<O: Observer, Q: EventQueue> Drive<O, Q> {
    /// Checks every invariant between two events. For tests and `--verify`; it walks the whole drive.
    ///
    /// # Errors
    /// The first invariant that does not hold, with what breaks it.
    pub fn audit(&self) -> Result<(), String> {
        let state = &self.state;
        // Valid means mapped; erased pages are counted right.
        state.books.audit()?;
        // One owner per channel, and it is a GC that holds the channel.
        for (index, channel) in state.channels.iter().enumerate() {
            if channel.held_by != NONE {
                let planes = state.device.geometry.planes_per_die;
                let held = (channel.held_by * planes..(channel.held_by + 1) * planes)
                    .any(|plane| state.gc[plane as usize].holds && state.gc[plane as usize].plan.scope >= Scope::Channel);
                if !held {
                    return Err(format!("channel {index} is held by die {}, none of whose GCs holds a channel", channel.held_by));
                }
            }
        }
        // A GC that is idle holds nothing.
        if let Some(plane) = state.gc.iter().position(|gc| gc.state == GcState::Idle && gc.holds) {
            return Err(format!("plane {plane} is held by a GC that has ended"));
        }
        // No wake-up is lost: an idle die with work that nothing shuts out stands in its channel's line.
        for (index, die) in state.dies.iter().enumerate() {
            let idle = die.running == NONE && die.parked == NONE;
            if idle && die.ready & !die.closed != 0 && !die.in_line {
                return Err(format!(
                    "die {index} is idle with work {:#x} that nothing shuts out, and waits for nothing",
                    die.ready & !die.closed
                ));
            }
        }
        // GC can always go on: what it may need is erased.
        for plane in 0..state.device.geometry.planes() {
            let erased = state.books.erased_blocks(plane);
            if erased < self.policies.gc.reserve_blocks && state.gc[plane as usize].state == GcState::Idle {
                return Err(format!("plane {plane} has {erased} erased blocks, fewer than its reserve, and no GC"));
            }
        }
        self.audit_stripes()?;
        self.audit_late()?;
        // No request is lost: when nothing is outstanding, nothing is busy or waiting.
        if state.outstanding() == 0 && state.buffer.in_flight() == 0 {
            for (index, plane) in state.planes.iter().enumerate() {
                let host = [0, 1, 2, 3].iter().any(|&class| plane.head[class] != NONE);
                if host || plane.starved_head != NONE {
                    return Err(format!("plane {index} has waiting host operations and no request waits for them"));
                }
            }
            if let Some(index) = state.channels.iter().position(|channel| channel.host_operations != 0) {
                return Err(format!("channel {index} counts host operations and no request is outstanding"));
            }
        }
        Ok(())
    }

    /// Checks the invariants of pages without a place.
    fn audit_late(&self) -> Result<(), String> {
        let Some(late) = &self.state.late else { return Ok(()) };
        if late.points != WritePoints::new(&self.state.device, &self.state.books) {
            return Err("the masks of the write points are not those of the books".into());
        }
        for (index, bound) in late.bound.iter().enumerate() {
            let planes = self.state.planes_of(index as DieIx);
            let waits = planes.flat_map(|plane| &self.state.planes[plane].head).filter(|&&op| op != NONE);
            let programs = waits.filter(|&&op| self.state.ops[op as usize].kind == OpKind::Program).count();
            if programs != usize::from(bound.is_some()) {
                return Err(format!("die {index} has {programs} programs that wait there, and {} has its place", bound.is_some()));
            }
        }
        // No wake-up is lost: no idle die could begin with a page that waits, unless its technique would rather wait.
        if self.policies.page_choice.name() == "custom" {
            return Ok(());
        }
        for &op in late.lines[EMERGENCY].iter().chain(late.lines[EXTERNAL].front()) {
            let from = if let Owner::Gc(plane) = self.state.ops[op as usize].owner { plane } else { NONE };
            let page = Unplaced { from, wish: Wish::Any, asking: NONE, confined: late.confined && from != NONE };
            let view = View(&self.state);
            let takes = |&plane: &PlaneIx| view.die_is_idle(self.state.die_of(plane)) && view.wished_points(plane, &page).is_some();
            if let Some(plane) = (0..self.state.device.geometry.planes()).find(takes) {
                return Err(format!("plane {plane} could take the page of operation {op}, which waits for a place"));
            }
        }
        Ok(())
    }

    /// Checks the invariants of stripes.
    fn audit_stripes(&self) -> Result<(), String> {
        let state = &self.state;
        let Some(rain) = &state.rain else { return Ok(()) };
        let books = &state.books;
        for stripe in 0..rain.stripes.count() {
            let (first, members) = rain.stripes.members(stripe);
            let parity = books.lookup(rain.stripes.parity(stripe));
            let mapped = || (first..first + members).map(|lpn| books.lookup(lpn)).filter(|&ppn| ppn != NONE);
            // A page that can be read can be regenerated.
            let batch = rain.active.find(stripe).map_or(NONE, |index| rain.active.get(index).batch);
            if batch != NONE {
                continue;
            }
            if (parity == NONE) != (mapped().count() == 0) {
                return Err(format!("stripe {stripe} has mapped pages or mapped parity, and not both"));
            }
            // The parity of a stripe that is not on its way is the sum of its pages.
            if let Some(oracle) = self.oracle.as_ref().filter(|_| parity != NONE) {
                let sum = mapped().fold(Content::Uniform(0), |sum, ppn| sum.xor(&oracle.on_flash(ppn)));
                if sum != oracle.on_flash(parity) {
                    return Err(format!("the parity of stripe {stripe} is {:?}, its pages add up to {sum:?}", oracle.on_flash(parity)));
                }
            }
            // All of it lies where its layout says.
            for lpn in (first..first + members).chain([rain.stripes.parity(stripe)]) {
                let ppn = books.lookup(lpn);
                if ppn != NONE && books.plane_of(ppn) != rain.stripes.plane_of(lpn) {
                    return Err(format!("page {lpn} of stripe {stripe} lies in plane {}", books.plane_of(ppn)));
                }
            }
        }
        for plane in 0..state.device.geometry.planes() {
            // A page waits in RAM only for a GC that is under way.
            if state.gc[plane as usize].state == GcState::Idle && !rain.pinned_at[plane as usize].is_empty() {
                return Err(format!("pages wait in RAM for a GC of plane {plane}, and it has none"));
            }
        }
        let pinned: usize = rain.pinned_at.iter().map(Vec::len).sum();
        if pinned != rain.pinned as usize {
            return Err(format!("{} pages are counted as waiting for GCs, and {pinned} do", rain.pinned));
        }
        if state.outstanding() == 0 && state.buffer.in_flight() == 0 && rain.parity_pages + rain.held_pages > 0 {
            return Err(format!("{} parity pages are in RAM and no stripe is on its way", rain.parity_pages));
        }
        // What is active is in the buffer or being read.
        if state.outstanding() == 0 && rain.active.len() > state.buffer.occupied() as usize + usize::from(state.levelling.is_moving()) {
            return Err(format!("{} stripes are active, and the buffer has {} pages", rain.active.len(), state.buffer.occupied()));
        }
        Ok(())
    }
}
