//! The drive as policies see it: everything, read-only.

use crate::attribution::parts::TrafficClass;
use crate::device::{Device, Geometry};
use crate::flash::Flash;
pub use crate::flash::ask::{Candidate, Waiting};
use crate::flash::die::Die;
use crate::flash::multi_plane::GC_SCAN_MAX;
use crate::flash::op::{Class, OpKind};
use crate::ftl::Tables;
use crate::ftl::counters::FtlCounters;
use crate::ftl::state::Ftl;
use crate::gc::counters::GcCounters;
use crate::gc::state::GcState;
pub use crate::gc::state::Work;
use crate::ids::{DieIx, Lpn, NONE, PlaneIx, Pool};
use crate::policy::answers::Preference;
use crate::raid::counters::RaidCounters;
use crate::raid::state::Raid;
use crate::stripes::{Place, Stripes};
use crate::units::Ns;

/// A read-only view of the whole drive at one instant.
#[derive(Clone, Copy)]
pub struct View<'a> {
    pub(crate) flash: &'a Flash,
    pub(crate) ftl: &'a Ftl,
    pub(crate) raid: &'a Raid,
}

/// A host read of a page that waits for what a GC locks, while the rest of its stripe can be read.
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
        stripes.programmed(self.stripe, self.written)
    }
}

/// A page that waits for the place where it is programmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unplaced {
    /// The plane of the GC that has read it; `NONE` for a page of the host or the buffer.
    pub from: PlaneIx,
    /// What it would like best.
    pub preference: Preference,
    /// The die that could begin with it, if nothing could elsewhere; otherwise `NONE`.
    pub asking: DieIx,
    /// It stays in the plane that it comes from.
    pub confined: bool,
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

/// Return the pages that were programmed, for whatever purpose.
pub(crate) fn programmed_pages(ftl: &FtlCounters, gc: &GcCounters, raid: &RaidCounters) -> u64 {
    ftl.host_pages + gc.pages + ftl.padded_pages + raid.parity_pages + raid.scrub_rewrites + raid.levelled_pages
}

impl<'a> View<'a> {
    pub(crate) fn new(flash: &'a Flash, ftl: &'a Ftl, raid: &'a Raid) -> Self {
        Self { flash, ftl, raid }
    }
    /// The time.
    pub fn now(self) -> Ns {
        self.flash.now
    }
    /// The time since counting began; before it did, since the drive began to run.
    pub fn counted_ns(self) -> Ns {
        self.flash.counted_ns()
    }
    /// The device's data.
    pub fn device(self) -> &'a Device {
        &self.flash.device
    }
    /// The geometry.
    pub fn geometry(self) -> &'a Geometry {
        &self.flash.device.geometry
    }
    /// Pages programmed for the host since counting began.
    pub fn host_pages(self) -> u64 {
        self.ftl.counters.host_pages
    }
    /// Pages programmed by GC since counting began.
    pub fn gc_pages(self) -> u64 {
        self.ftl.gc.counters.pages
    }
    /// Pages programmed since counting began, for whatever purpose.
    pub fn programmed_pages(self) -> u64 {
        programmed_pages(&self.ftl.counters, &self.ftl.gc.counters, &self.raid.counters)
    }
    /// GCs completed since counting began.
    pub fn gcs(self) -> u64 {
        self.ftl.gc.counters.gcs
    }
    /// Maps, blocks and write points.
    pub fn tables(self) -> &'a Tables {
        &self.ftl.tables
    }
    fn channel_of(self, plane: PlaneIx) -> usize {
        self.geometry().channel_of(self.geometry().die_of(plane)) as usize
    }
    /// Host operations that wait for or use the channel of a plane.
    pub fn host_operations_on_channel_of(self, plane: PlaneIx) -> u32 {
        self.flash.channel(self.channel_of(plane)).host_operations
    }
    /// GCs under way in planes of the channel of a plane.
    pub fn gcs_on_channel_of(self, plane: PlaneIx) -> u32 {
        self.ftl.gc.under_way_on(self.channel_of(plane))
    }
    /// Whether a write waits for room in the buffer.
    pub fn writes_wait_for_room(self) -> bool {
        !self.raid.buffer.waiting().is_empty()
    }
    /// Whether a plane's GC has started and not ended.
    pub fn in_gc(self, plane: PlaneIx) -> bool {
        self.ftl.gc.is_under_way(plane)
    }
    /// Whether a GC that started before that of a pool is under way in its plane group.
    pub fn comes_behind_in_group(self, pool: Pool) -> bool {
        let own = self.ftl.gc.of_pool(pool).number;
        let Some(stripes) = self.stripes() else { return false };
        let others = stripes.rotation_group(self.tables().first_plane(pool)).filter(|&plane| self.in_gc(plane));
        others.map(|plane| self.tables().pool_of(plane)).any(|other| other != pool && self.ftl.gc.of_pool(other).number < own)
    }
    /// Whether a program of the buffer runs in a plane, or waits there.
    pub fn has_flush(self, plane: PlaneIx) -> bool {
        let running = self.flash.die(self.geometry().die_of(plane)).running;
        let runs = running != NONE && {
            let op = &self.flash.ops[running as usize];
            op.plane == plane && op.class == Class::Flush
        };
        runs || self.flash.is_ready(plane, Class::Flush)
    }
    /// Whether a pool's GC has begun a cycle that has not come to its end, be it between two blocks.
    #[inline]
    pub fn in_gc_cycle(self, pool: Pool) -> bool {
        self.ftl.gc.in_cycle(pool)
    }
    /// Programs of the host that are bound for a plane and have not ended. Counted only in designs whose layout is not static.
    pub fn host_programs_for(self, plane: PlaneIx) -> u32 {
        self.ftl.bound.get(plane as usize).copied().unwrap_or(0)
    }
    /// The same of GCs, counted only where they may leave their planes.
    pub fn gc_programs_for(self, plane: PlaneIx) -> u32 {
        self.ftl.gc_bound.get(plane as usize).copied().unwrap_or(0)
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
        self.flash.die(die).is_idle()
    }
    /// Planes that may take a page more readily than when a page last got its place: their die has become idle or has a GC or a
    /// program for it less, they hold fewer live pages, or they have more erased ones. All planes at first. Noted only where a page may
    /// go to any plane of the drive and has its place before it is programmed.
    pub fn relieved_planes(self) -> impl Iterator<Item = PlaneIx> + 'a {
        self.flash.relieved.iter().flat_map(move |die| self.planes_of(die)).chain(self.tables().relieved_planes())
    }
    /// Whether a GC is under way in any plane of a die.
    pub fn die_in_gc(self, die: DieIx) -> bool {
        self.planes_of(die).any(|plane| self.in_gc(plane))
    }
    /// Whether a plane could take one more page than it is bound to take, without what GC keeps for itself.
    pub fn has_room(self, plane: PlaneIx) -> bool {
        self.tables().free_pages(plane) > self.tables().pages_kept() + self.programs_for(plane)
    }
    /// Time in which dies ran something since counting began, over all of them.
    pub fn die_busy_ns(self) -> Ns {
        self.flash.die_busy_counted_ns()
    }
    /// Time in which a die has run something of a traffic class since the drive began to run.
    pub fn die_time_ns(self, die: DieIx, traffic: TrafficClass) -> Ns {
        self.flash.die_time_ns(die, traffic)
    }
    /// Erases of a plane since the drive began to run; those of its ageing do not count.
    pub fn erases_of(self, plane: PlaneIx) -> u64 {
        self.ftl.gc.plane_erases()[plane as usize]
    }
    /// Erases of all planes, counted likewise.
    pub fn erases_of_all(self) -> u64 {
        self.ftl.gc.plane_erases().iter().sum()
    }
    /// Erases of each plane since counting began.
    pub fn erases_counted(self) -> impl Iterator<Item = u64> + 'a {
        self.ftl.gc.erases_counted()
    }
    /// The stripes that pages form, if they do.
    pub fn stripes(self) -> Option<&'a Stripes> {
        self.raid.rain.as_ref().map(|rain| rain.stripes())
    }
    /// The page offsets of the reads that wait for a plane, for the host or on the way to something else, those of the host
    /// first; of each kind the ones that have waited longest. At most as many as `pairing` sees.
    pub fn waiting_reads(self, plane: PlaneIx) -> impl Iterator<Item = u32> + 'a {
        let (flash, ftl) = (self.flash, self.ftl);
        let reads = flash.waiting(plane, Class::HostRead).chain(flash.waiting(plane, Class::AuxiliaryRead)).take(GC_SCAN_MAX);
        let ppns = reads.map(move |op| ftl.tables.lookup(flash.ops[op as usize].tag));
        ppns.filter(move |&ppn| ppn != NONE && ftl.tables.plane_of(ppn) == plane).map(move |ppn| ftl.tables.offset_of(ppn))
    }
    /// Whether a plane's GC waits at the gate.
    pub fn waits_at_gate(self, plane: PlaneIx) -> bool {
        self.ftl.gc.is_gated(self.tables().pool_of(plane))
    }
    /// GCs under way in the planes of a plane group.
    pub fn gcs_in_group(self, group: u32) -> usize {
        self.raid.rain.as_ref().map_or(0, |rain| rain.gcs_in(group) as usize)
    }
    /// Stripes of a plane group with dirty pages, full or partial ones, from the one written longest ago; not those on their
    /// way.
    pub fn dirty_stripes(self, group: u32, full: bool) -> impl Iterator<Item = DirtyStripe> + 'a {
        let mut items = self.raid.rain.as_ref().map(|rain| rain.active().in_order(group, full));
        let next = move || items.as_mut()?.next();
        std::iter::from_fn(next).map(|(stripe, item)| DirtyStripe { stripe, dirty: item.dirty, written: item.written })
    }
    /// The planes that a stripe's dirty pages and its parity go to.
    pub fn targets(self, dirty: &DirtyStripe) -> impl Iterator<Item = PlaneIx> + use<'a> {
        let (stripe, bits) = (dirty.stripe, dirty.dirty);
        self.stripes().into_iter().flat_map(move |stripes| stripes.programmed(stripe, bits).map(|lpn| stripes.plane_of(lpn)))
    }
    /// Pages that wait in RAM for the GC of their plane to end.
    pub fn deferred_pages(self) -> u32 {
        self.raid.rain.as_ref().map_or(0, |rain| rain.deferred())
    }
    /// The pages of the RAM that wait for GCs at most, if at most one plane of each group is in GC: one in N.
    pub fn deferred_pages_usual(self) -> u32 {
        self.stripes().map_or(0, |stripes| (self.raid.buffer.capacity() / stripes.width()).max(1))
    }
    /// Array time and transfer of a whole page, by the mean of the page classes.
    pub fn page_read_ns(self) -> Ns {
        let timing = &self.device().timing;
        timing.read_ns.iter().sum::<Ns>() / timing.read_ns.len() as Ns + timing.transfer_page_ns
    }
    /// Whether a read of a plane would wait now: its channel carries something or is awaited, or its die runs something.
    pub fn read_would_wait(self, plane: PlaneIx) -> bool {
        let die = self.flash.die(self.geometry().die_of(plane));
        let channel = self.flash.channel(die.channel as usize);
        channel.busy_until > self.flash.now || !channel.queue.is_empty() || die.is_running()
    }
    /// Whether a plane's GC has moved its pages and erases.
    pub fn gc_erases(self, plane: PlaneIx) -> bool {
        self.ftl.gc.of(plane).state == GcState::Erasing
    }
    /// Whether a plane's GC has moved all pages of its victim and has nothing but the erase left.
    pub fn gc_only_erases(self, plane: PlaneIx) -> bool {
        let current = self.ftl.gc.of_pool(self.tables().pool_of(plane)).current;
        current.is_some_and(|current| current.in_flight == 0 && !self.tables().has_valid(current.unseen))
    }
    /// Of each plane and class of work at a die that requests wait for, since when the first has waited.
    pub fn waiting_since(self, die: DieIx) -> impl Iterator<Item = (Class, Ns)> + 'a {
        let flash = self.flash;
        let lines = self.planes_of(die).flat_map(move |plane| {
            [Class::HostRead, Class::AuxiliaryRead, Class::HostProgram].map(|class| (class, flash.first_waiting(plane, class)))
        });
        lines.filter(|&(_, head)| head != NONE).map(|(class, head)| (class, flash.ops[head as usize].born))
    }
    /// Whether a plane's GC has read all pages of its victim, and waits until the last of them are programmed.
    pub fn gc_drains(self, plane: PlaneIx) -> bool {
        let (gc, current) = (self.ftl.gc.of(plane), self.ftl.gc.of_pool(self.tables().pool_of(plane)).current);
        let reads_nothing = gc.state == GcState::Moving && !gc.reads && gc.in_registers == 0;
        reads_nothing && current.is_some_and(|current| current.in_flight > 0 && !self.tables().has_valid(current.unseen))
    }
    /// The planes of a die.
    pub fn planes_of(self, die: DieIx) -> std::ops::Range<PlaneIx> {
        let planes = self.geometry().planes_per_die;
        die * planes..(die + 1) * planes
    }
    /// When the suspendable work of a die first started to run, and how much of it is done, of how much.
    pub fn progress(self, die: DieIx) -> Option<Progress> {
        let Die { running, suspended, progress, .. } = self.flash.die(die);
        (*running != NONE && *suspended == NONE && progress.is_running()).then(|| Progress {
            kind: self.flash.ops[*running as usize].kind,
            first_started: progress.first_started,
            done: progress.done_at(self.flash.now),
            total: progress.total,
            pending_since: progress.pending_since,
        })
    }

    /// Pages from logical page 0 on that the starting state maps. Of whole stripes where there are any, parity included in the
    /// share of live pages.
    pub(crate) fn mapped_pages(self) -> Lpn {
        let rain = self.raid.rain.as_ref();
        rain.map_or(self.device().mapped_pages(), |rain| self.device().mapped_pages_beside_parity(rain.stripes().width(), 1))
    }
}

/// The progress of an erase or a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
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
