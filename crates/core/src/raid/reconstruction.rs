//! Reads around GCs: a page behind a GC is regenerated from the rest of its stripe. TTFLASH, section 4.3.
//!
//! What is read for it is read as often as it is needed and no more: the pages that the request reads anyway are used, and
//! those of a stripe on its way are taken from RAM (see [`crate::raid::active`]). A dirty page that is not on its way does not help,
//! because the parity on the flash is that of its old copy.

use crate::context::Context;
use crate::flash::Engine;
use crate::flash::die::Phase;
use crate::flash::op::{Class, Op, OpKind, Owner};
use crate::ftl::above::WithFtl;
use crate::gc::state::GcState;
use crate::ids::{Lpn, NONE, PlaneIx};
use crate::observe::{Attribution, TrafficClass};
use crate::oracle::Content;
use crate::policy::answers::{ReadAnswer, Scope};
use crate::policy::view::BlockedRead;
use crate::raid::XOR_NS;
use crate::raid::active::Rebuild;
use crate::raid::front::{Front, WithRaid};
use crate::raid::job::Job;
use crate::raid::state::Raid;
use crate::units::{Ns, bits};
use std::ops::Range;

/// The other pages of a stripe, and how a reconstruction gets at each: masks of places.
struct Sources {
    /// Places that the request reads anyway, that are in RAM, and that must be read in addition.
    own: u32,
    in_ram: u32,
    extra: u32,
    /// The planes of the latter.
    planes: [PlaneIx; 32],
    planes_count: usize,
    /// Of them those that are behind a GC as well.
    behind: u32,
}

impl Sources {
    fn planes(&self) -> &[PlaneIx] {
        &self.planes[..self.planes_count]
    }
}

impl<U> Engine<WithFtl<WithRaid<U>>>
where
    Self: Front,
{
    /// For how long the GC that a plane is behind goes on at least. Under load its commands wait, and it takes longer.
    fn gc_left_ns(&self, plane: PlaneIx) -> Ns {
        let g = &self.flash.device.geometry;
        let die = self.flash.die_of(plane);
        let locked = self.flash.queues(plane).locked;
        let holder = if locked { die } else { self.flash.channel(self.flash.channel_of(die)).locked_by };
        let mut planes = holder * g.planes_per_die..(holder + 1) * g.planes_per_die;
        let gc = |plane: PlaneIx| self.up.ftl.gc.of(plane);
        let by = if locked && gc(plane).locks {
            Some(plane)
        } else {
            planes.find(|&other| self.up.ftl.gc.locks(other, if locked { Scope::Die } else { Scope::Channel }))
        };
        let Some(by) = by else { return 0 };
        let timing = &self.flash.device.timing;
        let mean = |times: &[Ns]| times.iter().sum::<Ns>() / times.len() as Ns;
        let transfers = if self.up.ftl.traits.gc_through_controller { 2 * timing.transfer_page_ns } else { 0 };
        let copy = 2 * timing.command_ns + mean(&timing.read_ns) + mean(&timing.program_ns) + transfers;
        let tables = &self.up.ftl.tables;
        let victim = self.up.ftl.gc.of_pool(tables.pool_of(by)).current.map(|current| current.group);
        let steps = victim.map_or(timing.erase_steps, |victim| self.flash.device.erase_steps_after(tables.wear_of(victim)));
        let erase = timing.command_ns + timing.erase_step_ns * u64::from(steps);
        let holder = self.flash.die(holder);
        let running = Some(holder.running).filter(|&op| op != NONE && self.flash.ops[op as usize].owner == Owner::Gc(by));
        let operation_left = || holder.progress.end() - self.flash.now;
        if gc(by).state == GcState::Erasing {
            return if running.is_some() && holder.phase == Phase::Erase { operation_left() } else { erase };
        }
        let current = running.map_or(0, |op| {
            if holder.phase == Phase::ArrayProgram {
                return operation_left();
            }
            let elapsed = self.flash.now - self.flash.ops[op as usize].since;
            copy - elapsed.min(timing.command_ns + mean(&timing.read_ns))
        });
        if gc(by).plan.release_each_page {
            return if running.is_some() { current } else { copy };
        }
        // One that has no victim still claims channels.
        let Some(victim) = victim else { return copy };
        let valid = u64::from(tables.valid_pages(victim)).saturating_sub(u64::from(running.is_some()));
        // A locked channel is given up before the erase.
        current + valid * copy + if locked { erase } else { 0 }
    }

    /// Asks how the pages of a read that are behind GCs are served, and enqueues all of them.
    #[cold]
    pub(crate) fn plan_reads(&mut self, request: u32, mut first: u32) {
        while first != NONE {
            let stripe = self.stripe_of(first);
            let last = self.flash.linked(first).take_while(|&op| self.stripe_of(op) == stripe).last().unwrap_or(first);
            let rest = std::mem::replace(&mut self.flash.ops[last as usize].next, NONE);
            if !self.plan_stripe(request, first) {
                self.enqueue_all(first);
            }
            first = rest;
        }
    }

    /// The stripe of an operation's page.
    fn stripe_of(&self, op: u32) -> u32 {
        let stripes = self.seen().stripes().expect("only drives with stripes get here");
        stripes.of(self.flash.ops[op as usize].tag)
    }

    /// Asks about the pages of one stripe. Returns whether they are enqueued.
    fn plan_stripe(&mut self, request: u32, first: u32) -> bool {
        let behind = self.flash.linked(first).filter(|&op| self.flash.is_locked_from(self.flash.ops[op as usize].plane));
        let (pages, target) = (behind.clone().count() as u32, behind.last());
        let Some(target) = target else { return false };
        let sources = self.ask_about(request, first, target, pages);
        if let Some(sources) = &sources {
            self.rebuild(request, first, target, sources, false);
        }
        sources.is_some()
    }

    /// Where the rest of a page's stripe would come from.
    fn sources(&self, first: u32, target: u32) -> Sources {
        let WithFtl { ftl, up: WithRaid { raid, .. }, .. } = &self.up;
        let rain = raid.rain.as_ref().expect("only drives with stripes get here");
        let target = self.flash.ops[target as usize].tag;
        let stripe = rain.stripes.of(target);
        let (_, members) = rain.stripes.members(stripe);
        let mut sources = Sources { own: 0, in_ram: 0, extra: 0, planes: [0; 32], planes_count: 0, behind: 0 };
        let own = self.flash.linked(first).map(|op| self.flash.ops[op as usize].tag).filter(|&lpn| lpn != target);
        own.for_each(|lpn| sources.own |= 1 << rain.stripes.place_of(lpn));
        let stripe_write = rain.stripe_write_of(stripe).map(|stripe_write| &rain.stripe_writes[stripe_write as usize]);
        if let Some(stripe_write) = stripe_write.filter(|stripe_write| stripe_write.ready) {
            sources.in_ram = (stripe_write.members | 1 << members) & !sources.own;
        }
        for place in 0..=members {
            let lpn = rain.stripes.page_in(stripe, place);
            let ppn = ftl.tables.lookup(lpn);
            if lpn == target || ppn == NONE || (sources.own | sources.in_ram) >> place & 1 == 1 {
                continue;
            }
            let plane = ftl.tables.plane_of(ppn);
            sources.extra |= 1 << place;
            sources.planes[sources.planes_count] = plane;
            sources.planes_count += 1;
            sources.behind += u32::from(self.flash.is_locked_from(plane));
        }
        sources
    }

    /// Asks whether a read is reconstructed that is behind a GC, as so many `pages` of its request and stripe are. Returns what from;
    /// otherwise it waits.
    fn ask_about(&mut self, request: u32, first: u32, target: u32, pages: u32) -> Option<Sources> {
        let sources = self.sources(first, target);
        let stripe = self.stripe_of(target);
        if pages > 1 || sources.behind > 0 || self.rain().lacks_parity(stripe) {
            self.note_forced_wait(request, pages, false);
            return None;
        }
        let (_, members) = self.seen().stripes()?.members(stripe);
        let full_stripe = sources.own.count_ones() + 1 == members;
        self.is_reconstructed(request, target, sources.planes(), full_stripe).then_some(sources)
    }

    /// Whether the policy has a blocked read reconstructed, with reads of `extra` planes; it notes that it waits otherwise.
    fn is_reconstructed(&mut self, request: u32, op: u32, extra: &[PlaneIx], full_stripe: bool) -> bool {
        let Op { tag: lpn, plane, .. } = self.flash.ops[op as usize];
        let blocked = BlockedRead { lpn, plane, gc_left_ns: self.gc_left_ns(plane), extra, full_stripe };
        let answer = self.ask(|policies, view| policies.read_plan.plan(view, &blocked));
        if answer == ReadAnswer::Wait {
            let WithFtl { up: WithRaid { raid, .. }, .. } = &mut self.up;
            raid.counters.read_waits += 1;
            let now = self.flash.now;
            self.request(request).decide_gc_wait(now);
        }
        answer == ReadAnswer::Reconstruct
    }

    /// Pages of a read wait for GCs, since parity is no way around them. `unreadable`: they regenerate one beyond the ECC, for GCs
    /// that are there when they are asked for or come while they wait.
    fn note_forced_wait(&mut self, request: u32, pages: u32, unreadable: bool) {
        let now = self.flash.now;
        let WithFtl { up: WithRaid { raid: Raid { counters, .. }, .. }, .. } = &mut self.up;
        *if unreadable { &mut counters.regeneration_waits } else { &mut counters.reads_beyond_parity } += u64::from(pages);
        self.request(request).force_gc_wait(now, pages);
    }

    /// A page that was read and could not be corrected is regenerated, whatever GCs do. Nobody has decided that, so it counts
    /// apart from reconstructions.
    pub(crate) fn regenerate_unreadable(&mut self, request: u32, op: u32) {
        let sources = self.sources(NONE, op);
        let WithFtl { up: WithRaid { raid, .. }, .. } = &self.up;
        if sources.behind > 0 && raid.traits.plans_reads {
            self.note_forced_wait(request, sources.behind, true);
        }
        self.rebuild(request, op, op, &sources, true);
    }

    /// Reads the rest of a stripe in the place of one page, behind what that has waited. `first`: the pages that the request reads of
    /// it, in no queue, `target` among them. `unreadable`: that was read and could not be corrected.
    fn rebuild(&mut self, request: u32, first: u32, target: u32, sources: &Sources, unreadable: bool) {
        let stripe = self.stripe_of(target);
        let Op { tag: missing, gc_blocked, .. } = self.flash.ops[target as usize];
        let WithFtl { ftl, oracle, up: WithRaid { raid: Raid { buffer, rain, counters, .. }, .. } } = &mut self.up;
        let rain = rain.as_mut().expect("only drives with stripes get here");
        counters.reconstructed_pages += u64::from(!unreadable);
        *if unreadable { &mut counters.regeneration_reads } else { &mut counters.reconstruction_reads } +=
            u64::from(sources.extra.count_ones());
        let (mut from, mut to) = (u8::MAX, 0);
        let (mut link_sectors, mut wanted, mut pages) = (0, 0, 0);
        for op in self.flash.linked(first) {
            let entry = &self.flash.ops[op as usize];
            from = from.min(entry.first_sector);
            to = to.max(entry.first_sector + entry.sectors);
            link_sectors += u32::from(entry.sectors);
            pages += 1;
            wanted |= 1 << rain.stripes.place_of(entry.tag);
        }
        let sectors = to - from;
        let in_ram = buffer.find(missing).map_or(0, |(_, present)| present);
        let then = oracle.as_ref().map(|oracle| oracle.carried(target));
        let mut sum = Content::Uniform(0);
        if oracle.is_some()
            && sources.in_ram != 0
            && let Some(stripe_write) = rain.stripe_write_of(stripe)
        {
            let stripe_write = &rain.stripe_writes[stripe_write as usize];
            let pages = bits(sources.in_ram.into()).filter_map(|place| stripe_write.contents[place as usize].as_ref());
            sum = pages.fold(sum, |sum, page| sum.xor(page));
        }
        let (active, generation) = rain.begin_reading(stripe);
        let rebuild = Rebuild {
            request,
            active,
            generation,
            missing,
            wanted,
            first_sector: from,
            sectors,
            link_sectors,
            unreadable,
            beyond_ecc: false,
            sum,
            then,
            in_ram,
        };
        let owner = Owner::Rebuild(rain.rebuilds.insert(rebuild));
        // The request's own pages but the target, then the others.
        let (mut chain, mut op) = (NONE, first);
        while op != NONE {
            let entry = &mut self.flash.ops[op as usize];
            let next = entry.next;
            if op != target {
                (entry.first_sector, entry.sectors) = (from, sectors);
                entry.next = std::mem::replace(&mut chain, op);
            }
            op = next;
        }
        let attribution = std::mem::take(self.flash.attribution_mut(target));
        self.flash.ops.remove(target);
        for place in bits(sources.extra.into()) {
            let lpn = rain.stripes.page_in(stripe, place);
            let plane = ftl.tables.plane_of(ftl.tables.lookup(lpn));
            let read = Op::new(OpKind::Read, Class::HostRead, TrafficClass::Reconstruction, owner, lpn, plane);
            let read = self.flash.new_op(Op { first_sector: from, sectors, ..read });
            self.flash.ops[read as usize].next = std::mem::replace(&mut chain, read);
        }
        let state = self.request(request);
        state.reconstructed = state.reconstructed.saturating_add(1);
        // The job is one part of the request, in the place of all of these pages.
        state.pending -= pages - 1;
        self.start_job(Job { compute_ns: XOR_NS, attribution, gc_blocked, ..Job::of(owner) }, chain);
    }

    /// Everything that a reconstruction needs has been read, and the missing page computed.
    #[cold]
    pub(crate) fn rebuild_done(&mut self, rebuild: u32, gc_blocked: bool, attribution: &mut Attribution) {
        let WithFtl { oracle, up: WithRaid { raid, .. }, .. } = &mut self.up;
        let rain = raid.rain.as_mut().expect("only drives with stripes get here");
        let done = &rain.rebuilds[rebuild as usize];
        let (request, active, generation, link_sectors) = (done.request, done.active, done.generation, done.link_sectors);
        if let (Some(oracle), Some(then)) = (oracle, &done.then)
            && !rain.is_trimmed(done.missing)
        {
            oracle.check_rebuilt(done.missing, &done.sum, then, done.first_sector.into(), done.sectors.into(), done.in_ram);
        }
        let counters = &mut raid.counters;
        match (done.unreadable, done.beyond_ecc) {
            (true, lost) => *if lost { &mut counters.uncorrectable_lost } else { &mut counters.uncorrectable_regenerated } += 1,
            (false, true) => counters.reconstructions_beyond_ecc += 1,
            (false, false) => {}
        }
        rain.rebuilds.remove(rebuild);
        let waiting = rain.end_reading(active, generation);
        self.part_is_served(request, gc_blocked, attribution, link_sectors);
        if let Some(stripe_write) = waiting {
            self.program_stripe_write(stripe_write);
        }
    }

    /// A GC has locked all that it must: reads that wait for that are asked about again.
    #[cold]
    pub(super) fn replan_reads(&mut self, plane: PlaneIx) {
        for plane in self.planes_locked_by(plane) {
            let waiting: Vec<u32> = self.flash.waiting(plane, Class::HostRead).collect();
            for op in waiting {
                self.replan_waiting(op);
            }
        }
    }

    /// A GC has ended: reads that wait for others are asked about again if it had locked a page of their stripe.
    #[cold]
    pub(super) fn replan_stripes(&mut self, plane: PlaneIx) {
        let (freed, planes) = (self.planes_locked_by(plane), 0..self.flash.device.geometry.planes());
        for plane in planes.filter(|plane| !freed.contains(plane)) {
            if !self.flash.is_locked_from(plane) {
                continue;
            }
            let waiting: Vec<u32> = self.flash.waiting(plane, Class::HostRead).collect();
            for op in waiting {
                if self.sources(NONE, op).planes().iter().any(|source| freed.contains(source)) {
                    self.replan_waiting(op);
                }
            }
        }
    }

    /// The planes that the GC of one locks, or locked while it was under way.
    fn planes_locked_by(&self, plane: PlaneIx) -> Range<PlaneIx> {
        let g = &self.flash.device.geometry;
        let die = g.die_of(plane);
        let per_channel = g.planes() / g.channels;
        let channel = g.channel_of(die);
        match self.up.ftl.gc.of(plane).plan.scope {
            Scope::Plane => plane..plane + 1,
            Scope::Die => die * g.planes_per_die..(die + 1) * g.planes_per_die,
            Scope::Channel => channel * per_channel..(channel + 1) * per_channel,
            Scope::Controller => 0..g.planes(),
        }
    }

    /// A read that waits is behind a GC.
    fn replan_waiting(&mut self, op: u32) {
        let owner = self.flash.ops[op as usize].owner;
        if let Owner::Request(request) = owner {
            self.replan_read(request, op);
        } else if let Some(rebuild) = self.up.up.raid.rebuild_of(owner) {
            self.turn_rebuild(rebuild, op);
        }
    }

    /// Pages have gone to other planes with their stripe, each from the one beside it: reads of them that wait are enqueued
    /// there, and are asked about again if that is behind a GC. None starts before all are in their queues: one that is picked
    /// where its page no longer is would go after it unasked.
    pub(super) fn follow_pages(&mut self, moved: &[(Lpn, PlaneIx)]) {
        let mut waiting = Vec::new();
        for &(lpn, from) in moved {
            let to = self.up.ftl.tables.plane_of(self.up.ftl.tables.lookup(lpn));
            let reads = self.flash.waiting(from, Class::HostRead).filter(|&op| from != to && self.flash.ops[op as usize].tag == lpn);
            waiting.extend(reads.map(|op| (op, self.flash.ops[op as usize].arrival, to)));
        }
        for &(op, _, to) in &waiting {
            self.remove_from_queue(op);
            self.requeue_at(op, to);
            self.note_wait(op);
        }
        let WithFtl { up: WithRaid { raid, .. }, .. } = &self.up;
        if raid.traits.plans_reads {
            for &(op, arrival, _) in &waiting {
                // What is read in the place of one may let a GC lock its plane, which asks about others of them.
                let Op { arrival: now, plane, .. } = self.flash.ops[op as usize];
                if now == arrival && self.flash.is_locked_from(plane) && self.flash.waiting(plane, Class::HostRead).any(|waits| waits == op)
                {
                    self.replan_waiting(op);
                }
            }
        }
        for (.., to) in waiting {
            self.try_start(self.flash.die_of(to));
        }
    }

    /// Asks again about a read of a request.
    fn replan_read(&mut self, request: u32, op: u32) {
        let Some(sources) = self.ask_about(request, NONE, op, 1) else { return };
        // It leaves its queue, with its wait attributed.
        self.remove_from_queue(op);
        self.attribute_wait(op);
        self.flash.host_operation_leaves(self.flash.channel_of(self.flash.die_of(self.flash.ops[op as usize].plane)));
        let WithFtl { up: WithRaid { raid, .. }, .. } = &mut self.up;
        raid.counters.reconstructed_after_wait += 1;
        self.rebuild(request, op, op, &sources, false);
    }

    /// A read of a reconstruction is behind a GC now: the page that was behind one when it began is read instead, if it is not
    /// any more.
    fn turn_rebuild(&mut self, rebuild: u32, op: u32) {
        let entry = self.flash.ops[op as usize];
        let rain = self.rain();
        let &Rebuild { request, missing, wanted, unreadable, .. } = &rain.rebuilds[rebuild as usize];
        let plane = rain.stripes.plane_of(missing);
        if unreadable || self.flash.is_locked_from(plane) {
            return self.note_forced_wait(request, 1, unreadable);
        }
        if !self.is_reconstructed(request, op, &[plane], false) {
            return;
        }
        self.remove_from_queue(op);
        let WithFtl { oracle, up: WithRaid { raid: Raid { buffer, rain, counters, .. }, .. }, .. } = &mut self.up;
        counters.reconstructions_redirected += 1;
        let rain = rain.as_mut().expect("only drives with stripes get here");
        let is_wanted = |lpn: Lpn| wanted >> rain.stripes.place_of(lpn) & 1 == 1;
        let (read_now, not_read) = (is_wanted(missing), is_wanted(entry.tag));
        let state = &mut rain.rebuilds[rebuild as usize];
        state.missing = entry.tag;
        let then = state.then.take();
        if let Some(oracle) = oracle {
            state.then = not_read.then(|| oracle.carried(op));
            if let Some(then) = then.filter(|_| read_now) {
                oracle.carry(op, then);
            }
        }
        state.in_ram = buffer.find(entry.tag).filter(|_| not_read).map_or(0, |(_, present)| present);
        let redirected = &mut self.flash.ops[op as usize];
        redirected.tag = missing;
        redirected.traffic = if read_now { TrafficClass::HostRead } else { TrafficClass::Reconstruction };
        self.reroute(op, plane);
    }
}
