//! What GC keeps: of each pool, of each plane, of each channel, of each die that programs on all its planes at once, and of the
//! whole drive.

use crate::attribution::trail::NOBODY;
use crate::flash::Flash;
use crate::ftl::Tables;
use crate::ftl::walk::Unseen;
use crate::gc::counters::GcCounters;
use crate::ids::{BlockGroup, PlaneIx, Pool};
use crate::policy::answers::{LockPlan, Scope};
use crate::units::Ns;

/// Where GC stands in a plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GcState {
    /// No GC.
    Idle,
    /// Waiting for what it must lock.
    Claiming,
    /// Moving pages.
    Moving,
    /// Erasing.
    Erasing,
}

/// The GCs of a channel's planes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ChannelGcs {
    /// Those that wait at the gate.
    pub gated: u32,
    /// Those that are under way.
    pub under_way: u32,
}

/// Why a GC started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// The trigger wanted it.
    Wanted,
    /// It returns write points to fast pages, and ends when they are there.
    ReturnToFast,
    /// A GC of its die began to move pages, and both fill the same programs.
    Sibling,
}

/// The collection of a block group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Collection {
    pub group: BlockGroup,
    /// What of it has not been looked at.
    pub unseen: Unseen,
    /// Pages of it that are being read, wait for their place or for other pages, or are being programmed.
    pub in_flight: u32,
    /// Pages of it that have been moved.
    pub moved: u32,
    /// When its GC started; where that locks nothing, when the group was chosen.
    pub started: Ns,
    /// When the group was chosen: as soon as all was locked for the first time.
    pub chosen: Ns,
    /// When its last page had been moved.
    pub moved_at: Ns,
}

/// The GC of a pool.
#[derive(Clone, Debug)]
pub(crate) struct PoolGc {
    /// The block group that it collects; where it locks nothing, the one that it erases.
    pub current: Option<Collection>,
    /// Where it locks nothing, those that it has begun to move.
    pub(super) opened: Vec<Collection>,
    pub(super) reason: Reason,
    pub(super) started: Ns,
    /// Its number, in the order in which GCs started.
    pub number: u64,
    /// When the gate wants to be asked again.
    pub(super) retry_at: Ns,
    /// Since when it waits at the gate, if it does.
    pub(super) gated_since: Ns,
    /// It is in a cycle of several block groups.
    pub(super) in_cycle: bool,
    /// Where it locks nothing: a page that it has read has no place yet.
    pub(super) page_waits: bool,
    /// Where it locks nothing: it found nothing to do since anything changed in the pool.
    pub(super) stuck: bool,
}

impl PoolGc {
    const IDLE: Self = Self {
        current: None,
        opened: Vec::new(),
        reason: Reason::Wanted,
        started: 0,
        number: NOBODY,
        retry_at: Ns::MAX,
        gated_since: 0,
        in_cycle: false,
        page_waits: false,
        stuck: false,
    };

    pub fn is_return_to_fast(&self) -> bool {
        self.reason == Reason::ReturnToFast
    }
}

/// What a pool's GC does in a plane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gc {
    pub state: GcState,
    pub plan: LockPlan,
    /// It has locked its plane or die.
    pub locks: bool,
    /// Since when.
    pub(super) locks_since: Ns,
    /// The write point that takes its pages, if `pairing` has chosen it.
    pub write_point: Option<u8>,
    /// The next channel to claim; those before it are locked.
    pub(super) claim: u32,
    /// A page is being read, or, with cache registers, leaves the array.
    pub reads: bool,
    /// Pages that it has read into cache registers and that have not crossed the channel yet.
    pub in_registers: u32,
}

impl Gc {
    pub fn idle() -> Self {
        Self {
            state: GcState::Idle,
            plan: LockPlan { scope: Scope::Plane, release_each_page: false },
            locks: false,
            locks_since: 0,
            write_point: None,
            claim: 0,
            reads: false,
            in_registers: 0,
        }
    }
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
    /// The time of all operations of GC that ended while pages of the host waited for a die or were programmed.
    pub gc_under_load_ns: Ns,
    /// The valid share of the victims that ageing had, in thousandths: what to expect before any block is erased.
    pub victim_valid_permille: u32,
}

/// What GC keeps of the whole drive.
#[derive(Debug)]
pub(crate) struct Gcs {
    pub(crate) counters: GcCounters,
    pub(super) pools: Vec<PoolGc>,
    pub(super) planes: Vec<Gc>,
    /// GCs that have started.
    started: u64,
    /// Pools whose GC waits at the gate, one bit each.
    pub(super) gated: Vec<u64>,
    pub(super) channels: Vec<ChannelGcs>,
    /// What the dies did, if that is measured.
    pub(super) work: Work,
    /// Erases of each plane since the drive began to run, and those before counting began.
    plane_erases: Vec<u64>,
    plane_erases_then: Vec<u64>,
    /// A scratch list, kept so that nothing is allocated per request.
    pub(super) candidates: Vec<BlockGroup>,
}

impl Gcs {
    /// A GC begins whose pages go to this write point, if it is known.
    pub(crate) fn keep_write_point(&mut self, plane: PlaneIx, point: Option<u8>) {
        self.planes[plane as usize].write_point = point;
    }

    /// Those of a drive in which none is under way. `started`: GCs so far, for the numbers of those to come.
    pub fn new(flash: &Flash, tables: &Tables, started: u64) -> Self {
        let g = &flash.device.geometry;
        let pools = tables.pools().count();
        let planes = g.planes() as usize;
        let mut gcs = Self {
            counters: GcCounters::default(),
            pools: vec![PoolGc::IDLE; pools],
            planes: vec![Gc::idle(); planes],
            started,
            gated: vec![0; pools.div_ceil(64)],
            channels: vec![ChannelGcs::default(); g.channels as usize],
            work: Work::default(),
            plane_erases: vec![0; planes],
            plane_erases_then: vec![0; planes],
            candidates: Vec::new(),
        };
        if flash.traits.late_bound {
            // Each pool's GC has a number, as block groups are collected without beginning or end.
            for pool in tables.pools() {
                let number = gcs.next_number();
                gcs.of_pool_mut(pool).number = number;
            }
        }
        gcs
    }

    /// The number of a GC that starts.
    pub(super) fn next_number(&mut self) -> u64 {
        self.started += 1;
        self.started - 1
    }

    /// Those after a loss of power: none is under way, and what has been measured stays.
    pub fn after_power_loss(&self, flash: &Flash, tables: &Tables) -> Self {
        Self {
            counters: self.counters,
            work: self.work,
            plane_erases: self.plane_erases.clone(),
            plane_erases_then: self.plane_erases_then.clone(),
            ..Self::new(flash, tables, self.started)
        }
    }

    /// What ageing's victims held is what the next ones are expected to hold.
    pub(crate) fn expect_victims(&mut self, valid_permille: u32) {
        self.work.victim_valid_permille = valid_permille;
    }

    /// What GC does in a plane.
    #[inline]
    pub fn of(&self, plane: PlaneIx) -> &Gc {
        &self.planes[plane as usize]
    }

    /// The GC of a pool.
    #[inline]
    pub fn of_pool(&self, pool: Pool) -> &PoolGc {
        &self.pools[pool.index()]
    }

    #[inline]
    pub(super) fn of_pool_mut(&mut self, pool: Pool) -> &mut PoolGc {
        &mut self.pools[pool.index()]
    }

    /// The collection of a block group of a pool.
    #[inline]
    pub(super) fn collection_mut(&mut self, pool: Pool, group: BlockGroup) -> &mut Collection {
        let gc = &mut self.pools[pool.index()];
        let mut collections = gc.current.iter_mut().chain(&mut gc.opened);
        collections.find(|collection| collection.group == group).expect("a block group that is being collected")
    }

    /// Whether the GC of a plane has locked it, and as much beside it as a scope says.
    #[inline]
    pub fn locks(&self, plane: PlaneIx, scope: Scope) -> bool {
        self.of(plane).locks && self.of(plane).plan.scope >= scope
    }

    /// Whether a plane has one under way.
    #[inline]
    pub fn is_under_way(&self, plane: PlaneIx) -> bool {
        self.of(plane).state != GcState::Idle
    }

    /// Whether a pool's GC is in a cycle of several blocks.
    #[inline]
    pub fn in_cycle(&self, pool: Pool) -> bool {
        self.of_pool(pool).in_cycle
    }

    /// GCs under way in planes of a channel.
    pub fn under_way_on(&self, channel: usize) -> u32 {
        self.channels[channel].under_way
    }

    /// Whether GCs of planes of a channel wait at the gate.
    #[inline]
    pub fn any_gated_on(&self, channel: usize) -> bool {
        self.channels[channel].gated > 0
    }

    /// Whether a pool's GC waits at the gate.
    #[inline]
    pub fn is_gated(&self, pool: Pool) -> bool {
        self.gated[pool.index() / 64] >> (pool.index() % 64) & 1 == 1
    }

    /// A block of a plane has been erased.
    pub fn note_erase(&mut self, plane: PlaneIx) {
        self.plane_erases[plane as usize] += 1;
    }

    /// Erases of each plane since the drive began to run; those of its ageing do not count.
    pub fn plane_erases(&self) -> &[u64] {
        &self.plane_erases
    }

    /// Erases of each plane since counting began.
    pub fn erases_counted(&self) -> impl Iterator<Item = u64> {
        self.plane_erases.iter().zip(&self.plane_erases_then).map(|(now, then)| now - then)
    }

    /// Counts anew: of locks under way only what comes from now on.
    pub fn count_from(&mut self, now: Ns) {
        self.counters = GcCounters::default();
        self.planes.iter_mut().for_each(|gc| gc.locks_since = now);
        self.plane_erases_then.clone_from(&self.plane_erases);
    }
}

#[cfg(test)]
mod testkit {
    use super::*;

    impl Gcs {
        pub(crate) fn planes_for_test(&mut self) -> &mut [Gc] {
            &mut self.planes
        }

        pub(crate) fn number_for_test(&mut self, pool: Pool, number: u64) {
            self.of_pool_mut(pool).number = number;
        }

        /// A GC of a plane has read the last page of its block group.
        pub(crate) fn drain_for_test(&mut self, plane: PlaneIx, pool: Pool) {
            self.planes[plane as usize].state = GcState::Moving;
            let (group, unseen) = (BlockGroup(0), Unseen::NOTHING);
            let current = Collection { group, unseen, in_flight: 1, moved: 0, started: 0, chosen: 0, moved_at: 0 };
            self.pools[pool.index()].current = Some(current);
        }

        pub(crate) fn gated_for_test(&mut self) -> &mut [u64] {
            &mut self.gated
        }

        pub(crate) fn work_for_test(&mut self) -> &mut Work {
            &mut self.work
        }

        pub(crate) fn plane_erases_for_test(&mut self) -> &mut [u64] {
            &mut self.plane_erases
        }

        pub(crate) fn channels_for_test(&mut self) -> &mut [ChannelGcs] {
            &mut self.channels
        }
    }
}
