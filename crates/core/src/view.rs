//! The drive as policies see it: everything, read-only.

use crate::device::{Device, Geometry};
use crate::ftl::Books;
use crate::ftl::gc::GcState;
use crate::ftl::rain::{Place, Stripes};
use crate::ids::{DieIx, Lpn, NONE, PlaneIx};
use crate::policy::Wish;
use crate::sched::fused::GC_SCAN_MAX;
use crate::sched::ops::{Class, OpKind};
use crate::state::{Counters, State};
use crate::units::Ns;

/// A read-only view of the whole drive at one instant.
#[derive(Clone, Copy)]
pub struct View<'a>(pub(crate) &'a State);

/// An operation that could start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The class of its work.
    pub class: Class,
    /// The plane that it is for.
    pub plane: PlaneIx,
    /// Its rank by arrival: lower waited longer.
    pub arrival: u64,
    /// A GC that the plane needs urgently.
    pub urgent: bool,
    /// Its die has begun with it and needs the channel again; otherwise it would start.
    pub continues: bool,
    /// Data cross the channel now: those of a page that was read, or that of a program behind its command.
    pub data: bool,
}

/// A waiting operation that might join a multi-plane command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Read or program.
    pub kind: OpKind,
    /// The class of its work.
    pub class: Class,
    /// The plane that it is for.
    pub plane: PlaneIx,
    /// The page offset in its block: of the data for a read, of the page that it would get for a program.
    pub offset: u32,
}

/// A host read of a page that waits for what a GC holds, while the rest of its stripe can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockedRead<'a> {
    /// The page.
    pub lpn: Lpn,
    /// Its plane.
    pub plane: PlaneIx,
    /// For how long the GC will go on at least.
    pub gc_left_ns: Ns,
    /// The planes that must be read in addition to reconstruct it.
    pub extra: &'a [PlaneIx],
    /// The request reads every page of the stripe.
    pub full_stripe: bool,
}

/// A stripe that has just been written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenStripe {
    /// Its number.
    pub stripe: u32,
    /// The host's pages that were written, one bit for each from the first on.
    pub written: u32,
    /// Where it lies.
    pub place: Place,
}

impl WrittenStripe {
    /// The logical pages that were programmed: those of the host, and the parity.
    pub fn pages(self, stripes: &Stripes) -> impl Iterator<Item = Lpn> + use<> {
        let (first, members) = stripes.members(self.stripe);
        let parity = stripes.parity(self.stripe);
        (0..members).filter(move |member| self.written >> member & 1 == 1).map(move |member| first + member).chain([parity])
    }
}

/// A page that waits for the place where it is programmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unplaced {
    /// The plane of the GC that has read it; `NONE` for a page of the host or the buffer.
    pub from: PlaneIx,
    /// What it would like best.
    pub wish: Wish,
    /// The die that could begin with it, if nothing could elsewhere; otherwise `NONE`.
    pub asking: DieIx,
    /// It stays in the plane that it comes from.
    pub confined: bool,
}

/// The place of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    /// The plane.
    pub plane: PlaneIx,
    /// Its write point.
    pub write_point: usize,
}

/// What dies have done: numbers of operations, and the time that they take by themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Programs of the host and the buffer.
    pub host_programs: u64,
    /// Their time.
    pub host_ns: Ns,
    /// Pages that GC has moved.
    pub moves: u64,
    /// Those that ended while pages of the host waited for a die.
    pub moves_in_the_way: u64,
    /// The time of GC's reads and programs.
    pub move_ns: Ns,
    /// Erases.
    pub erases: u64,
    /// Pages that had been moved out of the blocks that were erased.
    pub moves_of_erased: u64,
    /// Their time.
    pub erase_ns: Ns,
    /// The time of all operations of GC that ended while pages of the host waited for a die.
    pub gc_in_the_way_ns: Ns,
    /// Of that, the time of reads and programs.
    pub moves_in_the_way_ns: Ns,
}

/// A stripe with dirty pages in the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirtyStripe {
    /// Its number.
    pub stripe: u32,
    /// Its dirty pages, one bit for each from the first on.
    pub dirty: u32,
    /// Its rank by the last write to it: lower is longer ago.
    pub written: u64,
}

impl<'a> View<'a> {
    /// The time.
    pub fn now(self) -> Ns {
        self.0.now
    }
    /// The device's data.
    pub fn device(self) -> &'a Device {
        &self.0.device
    }
    /// The geometry.
    pub fn geometry(self) -> &'a Geometry {
        &self.0.device.geometry
    }
    /// How often things happened.
    pub fn counters(self) -> &'a Counters {
        &self.0.counters
    }
    /// Maps, blocks and write points.
    pub fn books(self) -> &'a Books {
        &self.0.books
    }
    /// Host operations that wait for or use the channel of a plane.
    pub fn host_operations_on_channel_of(self, plane: PlaneIx) -> u32 {
        let die = self.geometry().die_of(plane);
        self.0.channels[self.geometry().channel_of(die) as usize].host_operations
    }
    /// GCs under way in planes of the channel of a plane.
    pub fn gcs_on_channel_of(self, plane: PlaneIx) -> u32 {
        let die = self.geometry().die_of(plane);
        self.0.channels[self.geometry().channel_of(die) as usize].gcs
    }
    /// Whether a write waits for room in the buffer.
    pub fn writes_wait_for_room(self) -> bool {
        !self.0.buffer.waiting.is_empty()
    }
    /// Whether a plane's GC has started and not ended.
    pub fn in_gc(self, plane: PlaneIx) -> bool {
        self.0.gc[plane as usize].state != GcState::Idle
    }
    /// Programs of the host that are bound for a plane and have not ended. Counted only in designs whose layout is not static.
    pub fn host_programs_for(self, plane: PlaneIx) -> u32 {
        self.0.bound.get(plane as usize).copied().unwrap_or(0)
    }
    /// The same of GCs, counted only where they may leave their planes.
    pub fn gc_programs_for(self, plane: PlaneIx) -> u32 {
        self.0.gc_bound.get(plane as usize).copied().unwrap_or(0)
    }
    /// The programs of both.
    pub fn programs_for(self, plane: PlaneIx) -> u32 {
        self.host_programs_for(plane) + self.gc_programs_for(plane)
    }
    /// The same for all planes of a die.
    pub fn programs_for_die(self, die: DieIx) -> u32 {
        self.planes_of(die).map(|plane| self.programs_for(plane)).sum()
    }
    /// Whether a die runs nothing and nothing waits for it.
    pub fn die_is_idle(self, die: DieIx) -> bool {
        let state = &self.0.dies[die as usize];
        state.running == NONE && state.parked == NONE && state.ready == 0
    }
    /// Whether a GC is under way in any plane of a die.
    pub fn die_in_gc(self, die: DieIx) -> bool {
        self.planes_of(die).any(|plane| self.in_gc(plane))
    }
    /// Whether a plane could take one more page than it is bound to take, without what GC keeps for itself.
    pub fn has_room(self, plane: PlaneIx) -> bool {
        self.books().free_pages(plane) > self.books().pages_kept() + self.programs_for(plane)
    }
    /// Time in which dies ran something since counting began, over all of them.
    pub fn die_busy_ns(self) -> Ns {
        self.0.die_busy_ns() - self.0.die_busy_then
    }
    /// Erases of a plane since the drive began to run; those of its ageing do not count.
    pub fn erases_of(self, plane: PlaneIx) -> u64 {
        self.0.plane_erases[plane as usize]
    }
    /// Erases of all planes, counted likewise.
    pub fn erases_of_all(self) -> u64 {
        self.0.plane_erases.iter().sum()
    }
    /// Erases of each plane since counting began.
    pub fn erases_counted(self) -> impl Iterator<Item = u64> + 'a {
        self.0.plane_erases.iter().zip(&self.0.plane_erases_then).map(|(now, then)| now - then)
    }
    /// The stripes that pages form, if they do.
    pub fn stripes(self) -> Option<&'a Stripes> {
        self.0.rain.as_ref().map(|rain| &rain.stripes)
    }
    /// The page offsets of the reads that wait for a plane, for the host or on the way to something else, those of the host
    /// first; of each kind the ones that have waited longest. At most as many as `join` sees.
    pub fn waiting_reads(self, plane: PlaneIx) -> impl Iterator<Item = u32> + 'a {
        let (state, pages) = (self.0, self.geometry().pages_per_block);
        let next = move |op: u32| Some(op).filter(|&op| op != NONE);
        let line = move |class: Class| {
            let head = state.planes[plane as usize].head[class as usize];
            std::iter::successors(next(head), move |&op| next(state.ops[op as usize].next))
        };
        let reads = line(Class::HostRead).chain(line(Class::AuxiliaryRead)).take(GC_SCAN_MAX);
        let ppns = reads.map(move |op| state.books.lookup(state.ops[op as usize].lpn));
        ppns.filter(move |&ppn| ppn != NONE && state.books.plane_of(ppn) == plane).map(move |ppn| ppn % pages)
    }
    /// Whether a plane's GC waits at the gate.
    pub fn waits_at_gate(self, plane: PlaneIx) -> bool {
        self.0.gated[(plane / 64) as usize] >> (plane % 64) & 1 == 1
    }
    /// GCs under way in the planes of a plane group.
    pub fn gcs_in_group(self, group: u32) -> usize {
        self.0.rain.as_ref().map_or(0, |rain| rain.gcs[group as usize] as usize)
    }
    /// Stripes of a plane group with dirty pages, full or partial ones, from the one written longest ago; not those on their
    /// way.
    pub fn dirty_stripes(self, group: u32, full: bool) -> impl Iterator<Item = DirtyStripe> + 'a {
        let items = self.0.rain.as_ref().map(|rain| rain.active.in_order(group, full));
        items.into_iter().flatten().map(|item| DirtyStripe { stripe: item.stripe, dirty: item.dirty, written: item.written })
    }
    /// The planes that a stripe's dirty pages and its parity go to.
    pub fn targets(self, dirty: &DirtyStripe) -> impl Iterator<Item = PlaneIx> + use<'a> {
        let (stripe, bits) = (dirty.stripe, dirty.dirty);
        self.stripes().into_iter().flat_map(move |stripes| {
            let (first, members) = stripes.members(stripe);
            let data = (0..members).filter(move |member| bits >> member & 1 == 1).map(move |member| first + member);
            data.chain([stripes.parity(stripe)]).map(|lpn| stripes.plane_of(lpn))
        })
    }
    /// Pages that wait in RAM for the GC of their plane to end.
    pub fn pinned_pages(self) -> u32 {
        self.0.rain.as_ref().map_or(0, |rain| rain.pinned)
    }
    /// The pages of the RAM that wait for GCs at most, if at most one plane of each group is in GC: one in N.
    pub fn pinned_pages_usual(self) -> u32 {
        self.stripes().map_or(0, |stripes| (self.0.buffer.capacity() / stripes.width()).max(1))
    }
    /// Array time and transfer of a whole page, by the mean of the page classes.
    pub fn page_read_ns(self) -> Ns {
        let timing = &self.device().timing;
        timing.read_ns.iter().sum::<Ns>() / timing.read_ns.len() as Ns + timing.transfer_page_ns
    }
    /// Whether a read of a plane would wait now: its channel carries something or is awaited, or its die runs something.
    pub fn read_would_wait(self, plane: PlaneIx) -> bool {
        let die = self.geometry().die_of(plane);
        let channel = &self.0.channels[self.geometry().channel_of(die) as usize];
        channel.busy_until > self.now() || !channel.line.is_empty() || self.0.dies[die as usize].running != NONE
    }
    /// Whether a plane's GC has moved its pages and erases.
    pub fn gc_erases(self, plane: PlaneIx) -> bool {
        self.0.gc[plane as usize].state == GcState::Erasing
    }
    /// Whether a plane's GC has moved all pages of its victim and has nothing but the erase left.
    pub fn gc_only_erases(self, plane: PlaneIx) -> bool {
        let gc = &self.0.gc[plane as usize];
        gc.victim != NONE && gc.in_ram == 0 && self.books().next_valid(gc.victim, gc.cursor).is_none()
    }
    /// Of each plane and class of work at a die that requests wait for, since when the first has waited.
    pub fn waiting_since(self, die: DieIx) -> impl Iterator<Item = (Class, Ns)> + 'a {
        let state = self.0;
        let lines = self.planes_of(die).flat_map(|plane| {
            [Class::HostRead, Class::AuxiliaryRead, Class::HostProgram]
                .map(|class| (class, state.planes[plane as usize].head[class as usize]))
        });
        lines.filter(|&(_, head)| head != NONE).map(|(class, head)| (class, state.ops[head as usize].born))
    }
    /// Whether a plane's GC has read all pages of its victim, and waits until the last of them are programmed.
    pub fn gc_drains(self, plane: PlaneIx) -> bool {
        let gc = &self.0.gc[plane as usize];
        let all_read = || !gc.reads && gc.in_registers == 0 && self.books().next_valid(gc.victim, gc.cursor).is_none();
        gc.state == GcState::Moving && gc.in_ram > 0 && all_read()
    }
    /// The planes of a die.
    pub fn planes_of(self, die: DieIx) -> std::ops::Range<PlaneIx> {
        let planes = self.geometry().planes_per_die;
        die * planes..(die + 1) * planes
    }
    /// When the suspendable work of a die first started to run, and how much of it is done, of how much.
    pub fn pulse(self, die: DieIx) -> Option<Pulse> {
        let die = &self.0.dies[die as usize];
        (die.running != NONE && die.pulse.is_running()).then(|| Pulse {
            kind: self.0.ops[die.running as usize].kind,
            first_started: die.pulse.first_started,
            done: die.pulse.done_at(self.0.now),
            total: die.pulse.total,
            pending_since: die.pulse.pending_since,
        })
    }
}

/// The progress of an erase or a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pulse {
    /// Erase or program.
    pub kind: OpKind,
    /// When it first started.
    pub first_started: Ns,
    /// Array time done.
    pub done: Ns,
    /// Array time in all.
    pub total: Ns,
    /// Of an erase, when the die's first erase began since it last had none to run.
    pub pending_since: Ns,
}
