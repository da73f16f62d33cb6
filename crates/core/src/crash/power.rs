//! A loss of power at any event, and the recovery from it.
//!
//! What runs on the dies is cut off: a page that was being programmed can't be read and is not erased, a block that was being
//! erased holds nothing and is erased again. Requests that had not completed are lost, with everything that the controller
//! knew, but for the RAM that capacitors save: pages in the write buffer, stripes whose parity had been computed, the journal
//! of trims, and what techniques remember. The tables are rebuilt from out-of-band data (`ftl/recovery.rs`); planes whose
//! reserve was in use get it back; then the drive goes on. TTFLASH, section 4.5 (capacitor-backed RAM); The Harey Tortoise,
//! section 3.1.
//!
//! The time of a recovery is that of its work if it is spread as the flash allows: each die does one thing at a time, each channel
//! carries one thing at a time, and the busiest of them says how long it takes.
//!
//! - *Scan*: of every block the out-of-band data of each page up to the first erased one, and of that, are read. An array time for
//!   each; where the flash has multi-plane reads, one for the pages at one offset of a die's planes.
//! - *Clean-up*: erases that were cut off, and collections that give planes their reserve back, each page through the
//!   controller; on superpage dies padding, so that the write points of all planes stand at one offset again.
//! - *Restore*: what capacitors have saved is read back from the fastest pages of all dies in equal shares.

use crate::attribution::trail::NOBODY;
use crate::context::Context;
use crate::design::pages_of_tables;
use crate::event::Queue;
use crate::flash::Flash;
use crate::flash::op::OpKind;
use crate::flash::upper::Upper;
use crate::ftl::above::{Above, WithFtl};
use crate::ftl::durable::Durable;
use crate::ftl::recovery::Found;
use crate::ftl::state::Ftl;
use crate::ftl::{Claimant, Tables};
use crate::host::tiers::{Drive, WithHost};
use crate::ids::{BlockGroup, BlockIx, DieIx, Lpn, NONE, PlaneIx, Ppn};
use crate::observe::{CHANNEL_IDLE, Observer};
use crate::oracle::{Fault, ReadBack};
use crate::policy::answers::Reach;
use crate::raid::active::StripeWrite;
use crate::raid::front::{Front, WithRaid};
use crate::raid::state::Raid;
use crate::units::Ns;
use thiserror::Error;

/// Bytes of out-of-band data that a scan brings of each page: 4 of its logical page, 8 of its sequence number, and of its block 4 in
/// its turn: clock, erases, write point.
const OUT_OF_BAND_BYTES: u64 = 16;
/// Bytes of the journal of trims for each page in it.
const TRIM_BYTES: u64 = 4;

/// What a loss of power took, and what it took to recover.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// When the power failed, in nanoseconds of the drive's time. While it is off no time passes.
    pub at: Ns,
    /// Reading out-of-band data.
    pub scan_ns: Ns,
    /// Erasing and collecting before the drive can go on.
    pub cleanup_ns: Ns,
    /// Reading back what capacitors have saved.
    pub restore_ns: Ns,
    /// Reads of out-of-band data.
    pub pages_scanned: u64,
    /// Pages whose program was cut off.
    pub torn_pages: u64,
    /// Blocks whose erase was cut off.
    pub torn_blocks: u64,
    /// Blocks erased before the drive went on, the latter among them.
    pub erases: u64,
    /// Pages moved before the drive went on.
    pub moved_pages: u64,
    /// Pages programmed with nothing so that the write points of a die stand at one offset; only where it programs superpages.
    pub padded_pages: u64,
    /// Pages in the RAM that capacitors save: of the host, of parity, of the journal of trims.
    pub ram_pages: u64,
    /// Requests that had not completed. They never will.
    pub requests_lost: u64,
    /// Every logical page read back from flash and RAM; only with an oracle.
    pub read_back: Option<Comparison>,
}

impl Recovery {
    /// From the return of power until the drive takes commands.
    pub fn total_ns(&self) -> Ns {
        self.scan_ns + self.cleanup_ns + self.restore_ns
    }
}

/// Every logical page of the host against what was written last: what was acknowledged, and what had reached the RAM without that.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Pages read back.
    pub pages: u64,
    /// Pages that hold nothing, or what was never written to them.
    pub lost: u64,
    /// Pages that hold what was written before, or before they were given up.
    pub stale: u64,
}

/// Why a drive can't recover.
#[derive(Debug, Error, Clone, Copy, PartialEq, Eq)]
pub enum PowerError {
    /// Nobody asked it to keep out-of-band data.
    #[error("the drive keeps no out-of-band data: `prepare_for_power_cuts` comes before the first request")]
    NotPrepared,
    /// There is no erased page to move pages to.
    #[error("plane {plane} has no erased block left and no room to make one")]
    NoRoom {
        /// The plane.
        plane: PlaneIx,
    },
}

/// Work of dies and channels.
struct Load {
    dies: Vec<Ns>,
    channels: Vec<Ns>,
}

impl Load {
    fn of(flash: &Flash) -> Self {
        Self { dies: vec![0; flash.device.geometry.dies() as usize], channels: vec![0; flash.device.geometry.channels as usize] }
    }

    /// A die works in its array, and with its channel.
    fn add(&mut self, flash: &Flash, die: DieIx, array_ns: Ns, channel_ns: Ns) {
        self.dies[die as usize] += array_ns + channel_ns;
        self.channels[flash.channel_of(die)] += channel_ns;
    }

    fn ns(&self) -> Ns {
        self.dies.iter().chain(&self.channels).copied().max().unwrap_or(0)
    }
}

impl<O: Observer> Drive<O> {
    /// From now on keeps what a loss of power leaves, for `cut_power`: 12 bytes for each physical page. To be called when the
    /// drive has aged and nothing has been asked of it; the out-of-band data of its starting state follow from the tables.
    ///
    /// # Panics
    /// The drive has served requests.
    pub fn prepare_for_power_cuts(&mut self) {
        assert!(self.flash.now == 0 && self.submitted_so_far() == 0, "out-of-band data are kept from the first request on");
        self.up.ftl.tables.keep_durable();
    }

    /// A loss of power and the recovery from it, but for the hash of events, which `Drive::cut_power` has.
    ///
    /// # Errors
    /// As for `Drive::cut_power`.
    pub(crate) fn lose_power(&mut self) -> Result<Recovery, PowerError> {
        if !self.up.ftl.tables.is_durable() {
            return Err(PowerError::NotPrepared);
        }
        let fault = self.up.oracle.as_mut().and_then(|oracle| oracle.armed.take());
        let mut recovery = Recovery { at: self.flash.now, requests_lost: self.outstanding() as u64, ..Recovery::default() };
        recovery.torn_pages = self.tear();
        if Self::TRACED {
            self.trace_power_cut();
        }
        let stripe_writes = self.save_ram(fault == Some(Fault::Ram));
        let found = self.restart(&stripe_writes, fault);
        recovery.torn_blocks = found.torn_blocks.len() as u64;
        recovery.pages_scanned = found.reads.iter().map(|&reads| u64::from(reads)).sum();
        recovery.scan_ns = self.scan_ns(&found);
        let mut load = Load::of(&self.flash);
        for block in found.torn_blocks {
            self.collect_after_cut(self.up.ftl.tables.group_of(block), &mut load, &mut recovery)?;
        }
        self.regain_reserves(&mut load, &mut recovery)?;
        if self.flash.traits.assembles {
            recovery.padded_pages = self.align_after_cut(&mut load);
        }
        recovery.cleanup_ns = load.ns();
        recovery.ram_pages = self.pages_in_ram();
        recovery.restore_ns = self.restore_ns(recovery.ram_pages);
        recovery.read_back = self.read_everything_back();
        self.flash.now += recovery.total_ns();
        self.go_on(stripe_writes.len() as u32);
        Ok(recovery)
    }

    /// Marks on the flash what was cut off. Before the array works, there is nothing to cut. Returns the pages that were being
    /// programmed.
    fn tear(&mut self) -> u64 {
        let mut torn_pages = 0;
        for op in self.flash.cut_off() {
            let (block, page) = (op.ppn, op.target);
            let torn = if op.kind == OpKind::Erase { self.up.ftl.tables.range_of(block) } else { page..page + 1 };
            let durable = self.up.ftl.tables.durable_mut().expect("a prepared drive");
            if op.kind == OpKind::Erase {
                durable.tear_block(block, torn.clone());
            } else {
                durable.tear_page(page);
                torn_pages += 1;
            }
            if let Some(oracle) = &mut self.up.oracle {
                torn.for_each(|ppn| oracle.tear(ppn));
            }
        }
        torn_pages
    }

    /// Traces that nobody locks anything any more.
    fn trace_power_cut(&mut self) {
        let Self { flash, up: WithFtl { up: WithRaid { up: WithHost { up: top, .. }, .. }, .. }, .. } = self;
        let g = &flash.device.geometry;
        for channel in (0..g.channels).filter(|&channel| flash.channel(channel as usize).locked_by != NONE) {
            top.observer.channel_idles(channel, flash.now, CHANNEL_IDLE, NOBODY);
        }
        for plane in (0..g.planes()).filter(|&plane| flash.queues(plane).locked) {
            top.observer.plane_locked(plane, flash.now, NOBODY);
        }
    }

    /// What capacitors save of the write buffer: its pages, and the stripes whose parity had been computed, all of whose new pages are
    /// there as well. Other pages that were on their way are as if they had not left.
    fn save_ram(&mut self, is_lost: bool) -> Vec<StripeWrite> {
        let WithFtl { oracle, up: WithRaid { raid, .. }, .. } = &mut self.up;
        let computed = raid.rain.as_mut().map_or(Vec::new(), |rain| rain.computed());
        let stripe_writes = if is_lost { Vec::new() } else { computed };
        let buffer = &mut raid.buffer;
        buffer.forget_waiting(&self.flash.device);
        let mut stays = vec![false; buffer.capacity() as usize];
        for stripe_write in &stripe_writes {
            stripe_write.entries.iter().filter(|&&entry| entry != NONE).for_each(|&entry| stays[entry as usize] = true);
        }
        let mut pages = buffer.taken();
        // The first that comes back is the last to be flushed of those that do.
        pages.reverse();
        for entry in pages {
            if is_lost {
                buffer.forget_all_of(entry);
                continue;
            }
            if stays[entry as usize] || !buffer.is_in_flight(entry) {
                continue;
            }
            let lpn = buffer.entry(entry).lpn;
            let given_up = raid.rain.as_ref().is_some_and(|rain| rain.is_trimmed(lpn));
            let flight = buffer.return_flight(entry, given_up);
            if let (Some(oracle), Some(flight)) = (oracle.as_mut(), flight) {
                oracle.return_flight(entry, flight);
            }
        }
        stripe_writes
    }

    /// Throws away all that the controller knew, and makes it anew from the flash and the saved RAM.
    fn restart(&mut self, stripe_writes: &[StripeWrite], fault: Option<Fault>) -> Found {
        let device = self.flash.device.clone();
        let mut durable = self.up.ftl.tables.take_durable().expect("a prepared drive");
        if fault == Some(Fault::Trims) {
            durable.forget_trims();
        }
        let mut stripes = self.ask(|policies, _| policies.place.stripes());
        let mut tables = self.ask(|design, _| {
            let pages = pages_of_tables(&device, design, stripes.as_ref());
            Tables::new(&device.geometry, pages, design.gc.write_points, design.gc.reserve_blocks, false)
        });
        if self.up.ftl.traits.dynamic {
            tables.count_live();
        }
        let thresholds = self.ask(|policies, _| policies.gc_trigger.thresholds());
        tables.follow(&self.up.ftl.tables);
        let found = tables.recover(durable, fault == Some(Fault::FirstCopy), stripes.as_mut());
        self.flash = self.flash.after_power_loss();
        let gc = self.up.ftl.gc.after_power_loss(&self.flash, &tables);
        let Ftl { traits, counters, .. } = self.up.ftl;
        self.up.ftl = Ftl { counters, ..Ftl::new(&self.flash, traits, tables, gc, thresholds) };
        self.queue = Queue::with_slots(self.flash.slots());
        self.timers.clear();
        let WithFtl { ftl, oracle, up: WithRaid { raid, up: WithHost { host, .. } } } = &mut self.up;
        let fresh = Raid::new(&device, raid.traits, stripes);
        let old = std::mem::replace(raid, fresh);
        raid.take_over(old, stripe_writes, &ftl.tables, fault == Some(Fault::Trims));
        host.lose_power(&device);
        if let Some(oracle) = oracle {
            oracle.forget_operations();
        }
        found
    }

    /// Array and channel time of the scan.
    fn scan_ns(&self, found: &Found) -> Ns {
        let device = &self.flash.device;
        let g = &device.geometry;
        // Array times of the first pages of a block.
        let most = found.reads.iter().copied().max().unwrap_or(0);
        let array_ns: Vec<Ns> = std::iter::once(0)
            .chain((0..most).scan(0, |sum, page| {
                *sum += self.read_ns(page);
                Some(*sum)
            }))
            .collect();
        let page_ns = device.timing.command_ns + (device.timing.transfer_page_ns * OUT_OF_BAND_BYTES).div_ceil(g.page_bytes.into());
        let mut load = Load::of(&self.flash);
        for die in 0..g.dies() {
            for block in 0..g.blocks_per_plane {
                let reads = self.planes_of(die).map(|plane| found.reads[(plane * g.blocks_per_plane + block) as usize]);
                let array: Ns = if device.flash.multi_plane_read {
                    array_ns[reads.clone().max().unwrap_or(0) as usize]
                } else {
                    reads.clone().map(|reads| array_ns[reads as usize]).sum()
                };
                load.add(&self.flash, die, array, page_ns * u64::from(reads.sum::<u32>()));
            }
        }
        load.ns()
    }

    /// Planes in which a collection was cut off may have opened their reserve: blocks are collected until they have it back.
    fn regain_reserves(&mut self, load: &mut Load, recovery: &mut Recovery) -> Result<(), PowerError> {
        let g = &self.flash.device.geometry;
        let reserve = self.policies().gc.reserve_blocks;
        let mut left = g.planes() * g.blocks_per_plane;
        let is_short = |tables: &Tables| tables.pools().find(|&pool| tables.erased_groups(pool) < reserve);
        while let Some(pool) = is_short(&self.up.ftl.tables) {
            let plane = self.up.ftl.tables.first_plane(pool);
            let victim = self.up.ftl.tables.first_with_fewest(pool);
            left = left.checked_sub(1).ok_or(PowerError::NoRoom { plane })?;
            self.collect_after_cut(victim.ok_or(PowerError::NoRoom { plane })?, load, recovery)?;
        }
        Ok(())
    }

    /// Moves what is valid of a block and erases it.
    fn collect_after_cut(&mut self, victim: BlockGroup, load: &mut Load, recovery: &mut Recovery) -> Result<(), PowerError> {
        let device = &self.flash.device;
        let (command_ns, channel_ns) = (device.timing.command_ns, device.timing.command_ns + device.timing.transfer_page_ns);
        let erases: Vec<(BlockIx, Ns)> = self.up.ftl.tables.blocks_of(victim).map(|block| (block, self.erase_ns(block))).collect();
        let moved = self.collect(victim, |drive, from| {
            let plane = drive.up.ftl.tables.plane_of(from);
            let to = drive.take_after_cut(plane).ok_or(PowerError::NoRoom { plane })?;
            load.add(&drive.flash, drive.flash.die_of(plane), drive.read_ns(from), channel_ns);
            load.add(&drive.flash, drive.flash.die_of(drive.up.ftl.tables.plane_of(to)), drive.program_ns(to), channel_ns);
            Ok(to)
        })?;
        recovery.moved_pages += u64::from(moved);
        for (block, erase_ns) in erases {
            let plane = self.flash.device.geometry.plane_of(block);
            load.add(&self.flash, self.flash.die_of(plane), erase_ns, command_ns);
            self.up.ftl.gc.note_erase(plane);
            self.erased(block);
            recovery.erases += 1;
        }
        Ok(())
    }

    /// A page for what a recovery moves: of an open block if there is one, in the plane itself if it can be.
    fn take_after_cut(&mut self, home: PlaneIx) -> Option<Ppn> {
        let for_gc = if self.flash.traits.late_bound { 0 } else { self.up.ftl.tables.usual_point(home, true) };
        let points = self.up.ftl.tables.write_points(home);
        let point_of = |tables: &Tables, plane: PlaneIx| {
            let open = [for_gc].into_iter().chain(0..points).find(|&point| tables.has_open_block(plane, point));
            open.unwrap_or(for_gc)
        };
        let point = point_of(&self.up.ftl.tables, home);
        if let Some(page) = self.up.ftl.tables.take(home, point, Claimant::Gc) {
            return Some(page);
        }
        let others = match self.ask(|policies, _| policies.place.reach()) {
            Reach::Plane => 0..0,
            Reach::Die => self.planes_of(self.flash.die_of(home)),
            Reach::Drive => 0..self.flash.device.geometry.planes(),
        };
        // Planes of a die that fill programs together share what they keep for GC.
        let claimant = if self.up.ftl.traits.gc_reads_ahead > 1 { Claimant::Gc } else { Claimant::Host };
        let takes = |&plane: &PlaneIx| self.up.ftl.tables.can_take(plane, point_of(&self.up.ftl.tables, plane), claimant);
        let plane = others.filter(takes).max_by_key(|&plane| self.up.ftl.tables.free_pages(plane))?;
        let point = point_of(&self.up.ftl.tables, plane);
        self.up.ftl.tables.take(plane, point, claimant)
    }

    /// Brings the write points of superpage dies to one offset, as `wake` would at no time. Returns the pages padded.
    fn align_after_cut(&mut self, load: &mut Load) -> u64 {
        let channel_ns = self.flash.device.timing.command_ns + self.flash.device.timing.transfer_page_ns;
        let planes = 0..self.flash.device.geometry.planes();
        let points = self.up.ftl.tables.write_points(0);
        let offsets = |drive: &Self| -> Vec<(PlaneIx, u32)> {
            planes.clone().flat_map(|plane| (0..points).map(move |point| (plane, drive.up.ftl.tables.next_offset(plane, point)))).collect()
        };
        let before = offsets(self);
        self.align_write_points();
        let mut padded = 0;
        for ((plane, from), (_, to)) in before.into_iter().zip(offsets(self)) {
            for offset in from..to {
                load.add(&self.flash, self.flash.die_of(plane), self.program_ns(offset), channel_ns);
                padded += 1;
            }
        }
        padded
    }

    fn pages_in_ram(&self) -> u64 {
        let WithFtl { ftl, up: WithRaid { raid, .. }, .. } = &self.up;
        let (parity, given_up) = raid.rain.as_ref().map_or((0, 0), |rain| (rain.kept_pages().0, rain.pages_given_up()));
        let trims = ftl.tables.durable().map_or(0, Durable::trims) + given_up;
        let journal = (trims * TRIM_BYTES).div_ceil(self.flash.device.geometry.page_bytes.into());
        u64::from(raid.buffer.occupied() + parity) + journal
    }

    /// Time to read back pages that capacitors have saved.
    fn restore_ns(&self, pages: u64) -> Ns {
        let (device, mut load) = (&self.flash.device, Load::of(&self.flash));
        let timing = &device.timing;
        let dies = u64::from(device.geometry.dies());
        for die in 0..dies {
            let share = pages / dies + u64::from(die < pages % dies);
            // Neighbours in this order are on different channels.
            let (channels, per_channel) = (u64::from(device.geometry.channels), u64::from(device.geometry.dies_per_channel()));
            let die = (die % channels * per_channel + die / channels) as DieIx;
            load.add(&self.flash, die, share * timing.read_ns[0], share * (timing.command_ns + timing.transfer_page_ns));
        }
        load.ns()
    }

    /// Reads every page of the host back from flash and RAM, as a read would find it.
    fn read_everything_back(&mut self) -> Option<Comparison> {
        let WithFtl { ftl, oracle: Some(oracle), up: WithRaid { raid, .. } } = &mut self.up else { return None };
        let mut comparison = Comparison::default();
        for lpn in 0..self.flash.device.logical_pages() as Lpn {
            let ppn = Some(ftl.tables.lookup(lpn)).filter(|&ppn| ppn != NONE && !raid.is_trimmed(lpn));
            let entry = raid.find_in_ram(lpn).map(|(entry, present)| (entry, raid.buffer.entry(entry).dirty, present));
            comparison.pages += 1;
            match oracle.read_back(lpn, ppn, entry) {
                ReadBack::Right => {}
                ReadBack::Lost => comparison.lost += 1,
                ReadBack::Stale => comparison.stale += 1,
            }
        }
        Some(comparison)
    }

    /// The drive takes commands again: stripes that were on their way are programmed, and all else begins as after ageing.
    fn go_on(&mut self, stripe_writes: u32) {
        let g = &self.flash.device.geometry;
        let raid = &mut self.up.up.raid;
        raid.scrub_after_cut(g.planes_per_die * g.blocks_per_plane);
        let (has_buffer, has_stripes) = (raid.buffer.exists(), raid.rain.is_some());
        if self.flash.traits.assembles {
            (0..g.dies()).for_each(|die| self.update_masked(die));
        }
        self.wake();
        if has_stripes {
            (0..stripe_writes).for_each(|stripe_write| self.program_stripe_write(stripe_write));
            self.flush_stripes(0);
        } else if has_buffer {
            self.flush_above_threshold();
        }
    }
}
