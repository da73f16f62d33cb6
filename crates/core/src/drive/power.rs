//! A loss of power at any event, and the recovery from it.
//!
//! What runs on the dies is cut off: a page that was being programmed can't be read and is not erased, a block that was being erased
//! holds nothing and is erased again. Requests that had not completed are lost, with everything that the controller knew, but for the
//! RAM that capacitors save: pages in the write buffer, stripes whose parity had been computed, the journal of trims, and what
//! techniques remember. The books are made anew from out-of-band data ([`crate::ftl::recovery`]); planes whose reserve was in use get
//! it back; then the drive goes on. TTFLASH, section 4.5 (capacitor-backed RAM); The Harey Tortoise, section 3.1.
//!
//! The time of a recovery is that of its work if it is spread as the flash allows: each die does one thing at a time, each channel
//! carries one thing at a time, and the busiest of them says how long it takes.
//!
//! - *Scan*: of every block the out-of-band data of each page up to the first erased one, and of that, are read. An array time for
//!   each; where the flash has multi-plane reads, one for the pages at one offset of a die's planes.
//! - *Clean-up*: erases that were cut off, and collections that give planes their reserve back, each page through the controller; on
//!   strict dies padding, so that the write points of all planes stand at one offset again.
//! - *Restore*: what capacitors have saved is read back from the fastest pages of all dies in equal shares.

use crate::design::Design;
use crate::drive::link::HostPath;
use crate::drive::{Drive, EXTRA_SLOTS, pages_of_books, state_at_rest};
use crate::event::EventQueue;
use crate::ftl::durable::Durable;
use crate::ftl::recovery::{Found, Frame};
use crate::ftl::{Books, Claimant};
use crate::ids::{BlockIx, DieIx, Lpn, NONE, PlaneIx, Ppn};
use crate::observe::{CHANNEL_IDLE, Observer};
use crate::oracle::{Fault, ReadBack};
use crate::policy::{Place, Reach};
use crate::rain::Batch;
use crate::sched::ops::OpKind;
use crate::state::{Phase, State};
use crate::story::NOBODY;
use crate::units::Ns;
use crate::view::View;
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
    /// Pages programmed with nothing so that the write points of a die stand at one offset; only where it programs strictly on all its
    /// planes.
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
    fn of(state: &State) -> Self {
        Self { dies: vec![0; state.dies.len()], channels: vec![0; state.channels.len()] }
    }

    /// A die works in its array, and with its channel.
    fn add(&mut self, state: &State, die: DieIx, array_ns: Ns, channel_ns: Ns) {
        self.dies[die as usize] += array_ns + channel_ns;
        self.channels[state.channel_of(die)] += channel_ns;
    }

    fn ns(&self) -> Ns {
        self.dies.iter().chain(&self.channels).copied().max().unwrap_or(0)
    }
}

impl<O: Observer, Q: EventQueue> Drive<O, Q> {
    /// From now on keeps what a loss of power leaves, for `cut_power`: 12 bytes for each physical page. To be called when the drive has
    /// aged and nothing has been asked of it; the out-of-band data of its starting state follow from the books.
    ///
    /// # Panics
    /// The drive has served requests.
    pub fn prepare_for_power_cuts(&mut self) {
        assert!(self.state.now == 0 && self.next_id == 0, "out-of-band data are kept from the first request on");
        self.state.books.keep_durable();
    }

    /// The power fails now, between two events, and comes back. Requests under way are lost: they complete never. When this returns, the
    /// drive's time is that at which it takes commands again.
    ///
    /// # Errors
    /// A drive that was not prepared, and one without room to recover; the latter is of no use any more.
    pub fn cut_power(&mut self) -> Result<Recovery, PowerError> {
        if !self.state.books.is_durable() {
            return Err(PowerError::NotPrepared);
        }
        let fault = self.oracle.as_mut().and_then(|oracle| oracle.armed.take());
        let mut recovery = Recovery { at: self.state.now, requests_lost: self.outstanding() as u64, ..Recovery::default() };
        recovery.torn_pages = self.tear();
        if O::TOLD {
            self.tell_power_cut();
        }
        let batches = self.save_ram(fault == Some(Fault::Ram));
        let found = self.restart(&batches, fault);
        recovery.torn_blocks = found.torn_blocks.len() as u64;
        recovery.pages_scanned = found.reads.iter().map(|&reads| u64::from(reads)).sum();
        recovery.scan_ns = self.scan_ns(&found);
        let mut load = Load::of(&self.state);
        for block in found.torn_blocks {
            self.collect_after_cut(block, &mut load, &mut recovery)?;
        }
        self.regain_reserves(&mut load, &mut recovery)?;
        if self.state.traits.gathers {
            recovery.padded_pages = self.align_after_cut(&mut load);
        }
        recovery.cleanup_ns = load.ns();
        recovery.ram_pages = self.pages_in_ram();
        recovery.restore_ns = self.restore_ns(recovery.ram_pages);
        recovery.read_back = self.read_everything_back();
        self.state.now += recovery.total_ns();
        self.hash = (self.hash ^ self.state.now).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        self.go_on(batches.len() as u32);
        Ok(recovery)
    }

    /// Marks on the flash what was cut off. Before the array works, there is nothing to cut. Returns the pages that were being
    /// programmed.
    fn tear(&mut self) -> u64 {
        let mut torn_pages = 0;
        let now = self.state.now;
        let pages = self.state.device.geometry.pages_per_block;
        for die in &self.state.dies {
            let works = matches!(die.phase, Phase::ArrayProgram | Phase::Erase | Phase::Suspending) && now > die.pulse.first_started;
            for lead in [if works { die.running } else { NONE }, die.parked] {
                let mut part = lead;
                while part != NONE {
                    let op = &self.state.ops[part as usize];
                    let (block, page) = (op.ppn, op.target);
                    let durable = self.state.books.durable_mut().expect("a prepared drive");
                    let torn = if op.kind == OpKind::Erase {
                        durable.tear_block(block, pages);
                        block * pages..(block + 1) * pages
                    } else {
                        durable.tear_page(page);
                        torn_pages += 1;
                        page..page + 1
                    };
                    if let Some(oracle) = &mut self.oracle {
                        torn.for_each(|ppn| oracle.tear(ppn));
                    }
                    part = op.mate;
                }
            }
        }
        torn_pages
    }

    /// Tells the observer that nobody holds anything any more.
    fn tell_power_cut(&mut self) {
        let now = self.state.now;
        for (channel, _) in (0..).zip(&self.state.channels).filter(|(_, channel)| channel.held_by != NONE) {
            self.observer.channel_rests(channel, now, CHANNEL_IDLE, NOBODY);
        }
        for (plane, _) in (0..).zip(&self.state.planes).filter(|(_, plane)| plane.held) {
            self.observer.plane_held(plane, now, NOBODY);
        }
    }

    /// What capacitors save of the write buffer: its pages, and the stripes whose parity had been computed, all of whose new pages are
    /// there as well. Other pages that were on their way are as if they had not left.
    fn save_ram(&mut self, is_lost: bool) -> Vec<Batch> {
        self.state.buffer.waiting.clear();
        let mut batches: Vec<Batch> = Vec::new();
        if let Some(rain) = &mut self.state.rain {
            batches.extend(rain.batches.drain().filter(|batch| batch.ready && !is_lost));
        }
        let mut stays = vec![false; self.state.buffer.capacity() as usize];
        for batch in &batches {
            batch.entries.iter().filter(|&&entry| entry != NONE).for_each(|&entry| stays[entry as usize] = true);
        }
        let mut pages = self.state.buffer.taken();
        // The first that comes back is the last to be flushed of those that do.
        pages.reverse();
        for entry in pages {
            let lpn = self.state.buffer.entry(entry).lpn;
            if is_lost {
                self.state.buffer.forget_all_of(entry);
                continue;
            }
            if stays[entry as usize] || !self.state.buffer.is_in_flight(entry) {
                continue;
            }
            let given_up = self.state.rain.as_ref().is_some_and(|rain| rain.is_trimmed(lpn));
            let flight = self.state.buffer.return_flight(entry, given_up);
            if let (Some(oracle), Some(flight)) = (&mut self.oracle, flight) {
                oracle.return_flight(entry, flight);
            }
        }
        batches
    }

    /// Throws away all that the controller knew, and makes it anew from the flash and the saved RAM.
    fn restart(&mut self, batches: &[Batch], fault: Option<Fault>) -> Found {
        let device = self.state.device.clone();
        let mut durable = self.state.books.take_durable().expect("a prepared drive");
        if fault == Some(Fault::Trims) {
            durable.forget_trims();
        }
        let mut stripes = self.policies.place.stripes();
        let design: &mut Design = &mut self.policies;
        let frame = Frame {
            geometry: &device.geometry,
            logical_pages: pages_of_books(&device, design, stripes.as_ref()),
            write_points: design.gc.write_points,
            reserve_blocks: design.gc.reserve_blocks,
            counts_live: design.place.reach() != Reach::Plane,
            first_found: fault == Some(Fault::FirstCopy),
        };
        let (books, found) = Books::recover(durable, &frame, stripes.as_mut());
        let fresh = state_at_rest(&device, design, books, stripes, self.state.gcs_started);
        let mut old = std::mem::replace(&mut self.state, fresh);
        let state = &mut self.state;
        // The clock of the simulation, and what is counted for it.
        (state.now, state.arrivals, state.counters) = (old.now, old.arrivals, old.counters);
        (state.plane_erases, state.plane_erases_then) = (old.plane_erases, old.plane_erases_then);
        state.levelling = old.levelling.after_power_loss();
        state.die_busy_then = old.die_busy_then;
        for (die, old) in state.dies.iter_mut().zip(&old.dies) {
            die.busy_ns = old.busy_ns;
            die.busy_ns[old.occupant as usize] += old.unsettled(state.now);
        }
        let room = state.buffer.room();
        state.buffer = old.buffer;
        state.buffer.set_room(room);
        // What techniques have measured goes with what they remember.
        state.work = old.work;
        state.errors = old.errors.take();
        if let Some(errors) = &mut state.errors {
            // How often a page has been copied shows in its bit errors; which have been looked at is forgotten.
            errors.forget_looks();
        }
        if let (Some(rain), Some(old)) = (&mut state.rain, &mut old.rain) {
            rain.violations = std::mem::take(&mut old.violations);
            if fault != Some(Fault::Trims) {
                rain.trimmed = std::mem::take(&mut old.trimmed);
            }
            for batch in batches {
                rain.take_back(batch.clone());
            }
            for entry in state.buffer.taken() {
                let entry = state.buffer.entry(entry);
                if entry.dirty != 0 {
                    rain.note_dirty(entry.lpn);
                }
            }
        }
        let slots = self.state.dies.len() + self.state.channels.len() + EXTRA_SLOTS as usize + self.state.registers.len();
        self.queue = Q::with_slots(slots);
        self.path = HostPath::new(&device);
        self.timers.clear();
        self.ram_line.clear();
        self.writing.clear();
        self.void_pages.clear();
        self.path_blame.clear();
        (self.flushes_fetched, self.programmed_last) = (0, NONE);
        if let Some(oracle) = &mut self.oracle {
            oracle.forget_operations();
        }
        found
    }

    /// Array and channel time of the scan.
    fn scan_ns(&self, found: &Found) -> Ns {
        let device = &self.state.device;
        let g = &device.geometry;
        // Array times of the first pages of a block.
        let mut array_ns = vec![0; g.pages_per_block as usize + 1];
        for page in 0..g.pages_per_block {
            array_ns[page as usize + 1] = array_ns[page as usize] + self.read_ns(page);
        }
        let page_ns = device.timing.command_ns + (device.timing.transfer_page_ns * OUT_OF_BAND_BYTES).div_ceil(g.page_bytes.into());
        let mut load = Load::of(&self.state);
        for die in 0..g.dies() {
            for block in 0..g.blocks_per_plane {
                let reads = self.planes_of(die).map(|plane| found.reads[(plane * g.blocks_per_plane + block) as usize]);
                let array: Ns = if device.flash.multi_plane_read {
                    array_ns[reads.clone().max().unwrap_or(0) as usize]
                } else {
                    reads.clone().map(|reads| array_ns[reads as usize]).sum()
                };
                load.add(&self.state, die, array, page_ns * u64::from(reads.sum::<u32>()));
            }
        }
        load.ns()
    }

    /// Planes in which a collection was cut off may have opened their reserve: blocks are collected until they have it back.
    fn regain_reserves(&mut self, load: &mut Load, recovery: &mut Recovery) -> Result<(), PowerError> {
        let g = &self.state.device.geometry;
        let (planes, reserve) = (g.planes(), self.policies.gc.reserve_blocks);
        let mut left = planes * g.blocks_per_plane;
        while let Some(plane) = (0..planes).find(|&plane| self.state.books.erased_blocks(plane) < reserve) {
            let mut fewest = std::mem::take(&mut self.candidates);
            self.state.books.fewest_valid(plane, true, &mut fewest);
            let victim = fewest.first().copied();
            self.candidates = fewest;
            left = left.checked_sub(1).ok_or(PowerError::NoRoom { plane })?;
            self.collect_after_cut(victim.ok_or(PowerError::NoRoom { plane })?, load, recovery)?;
        }
        Ok(())
    }

    /// Moves what is valid of a block and erases it.
    fn collect_after_cut(&mut self, victim: BlockIx, load: &mut Load, recovery: &mut Recovery) -> Result<(), PowerError> {
        let device = &self.state.device;
        let pages = device.geometry.pages_per_block;
        let (plane, channel_ns) = (device.geometry.plane_of(victim), device.timing.command_ns + device.timing.transfer_page_ns);
        let command_ns = device.timing.command_ns;
        self.state.books.begin_collect(victim);
        while let Some(offset) = self.state.books.next_valid(victim, 0) {
            let from = victim * pages + offset;
            let to = self.take_after_cut(plane).ok_or(PowerError::NoRoom { plane })?;
            let lpn = self.state.books.owner(from);
            self.state.books.commit_move(lpn, from, to);
            if let Some(oracle) = &mut self.oracle {
                oracle.move_page(from, to);
            }
            recovery.moved_pages += 1;
            load.add(&self.state, self.state.die_of(plane), self.read_ns(from), channel_ns);
            load.add(&self.state, self.state.die_of(self.state.books.plane_of(to)), self.program_ns(to), channel_ns);
        }
        load.add(&self.state, self.state.die_of(plane), self.erase_ns(victim), command_ns);
        self.state.books.erased(victim);
        self.state.note_erase(plane, victim);
        recovery.erases += 1;
        Ok(())
    }

    /// A page for what a recovery moves: of an open block if there is one, in the plane itself if it can be.
    fn take_after_cut(&mut self, home: PlaneIx) -> Option<Ppn> {
        let for_gc = if self.state.traits.late { 0 } else { self.policies.place.write_point(View(&self.state), home, true) };
        let points = self.state.books.write_points(home);
        let point_of = |books: &Books, plane: PlaneIx| {
            let open = [for_gc].into_iter().chain(0..points).find(|&point| books.has_open_block(plane, point));
            open.unwrap_or(for_gc)
        };
        let point = point_of(&self.state.books, home);
        if let Some(page) = self.state.books.take(home, point, Claimant::Gc) {
            return Some(page);
        }
        let others = match self.policies.place.reach() {
            Reach::Plane => 0..0,
            Reach::Die => self.planes_of(self.state.die_of(home)),
            Reach::Drive => 0..self.state.device.geometry.planes(),
        };
        // Planes of a die that fill programs together share what they keep for GC.
        let claimant = if self.state.traits.gc_reads_ahead > 1 { Claimant::Gc } else { Claimant::Host };
        let takes = |&plane: &PlaneIx| self.state.books.can_take(plane, point_of(&self.state.books, plane), claimant);
        let plane = others.filter(takes).max_by_key(|&plane| self.state.books.free_pages(plane))?;
        let point = point_of(&self.state.books, plane);
        self.state.books.take(plane, point, claimant)
    }

    /// Brings the write points of strict dies to one offset, as `wake` would at no time. Returns the pages padded.
    fn align_after_cut(&mut self, load: &mut Load) -> u64 {
        let channel_ns = self.state.device.timing.command_ns + self.state.device.timing.transfer_page_ns;
        let planes = 0..self.state.device.geometry.planes();
        let points = self.state.books.write_points(0);
        let offsets = |drive: &Self| -> Vec<(PlaneIx, u32)> {
            planes.clone().flat_map(|plane| (0..points).map(move |point| (plane, drive.state.books.next_offset(plane, point)))).collect()
        };
        let before = offsets(self);
        self.align_write_points();
        let mut padded = 0;
        for ((plane, from), (_, to)) in before.into_iter().zip(offsets(self)) {
            for offset in from..to {
                load.add(&self.state, self.state.die_of(plane), self.program_ns(offset), channel_ns);
                padded += 1;
            }
        }
        padded
    }

    fn pages_in_ram(&self) -> u64 {
        let parity = self.state.rain.as_ref().map_or(0, |rain| rain.parity_pages);
        let given_up = self.state.rain.as_ref().map_or(0, |rain| rain.trimmed.iter().map(|word| u64::from(word.count_ones())).sum());
        let trims = self.state.books.durable().map_or(0, Durable::trims) + given_up;
        let journal = (trims * TRIM_BYTES).div_ceil(self.state.device.geometry.page_bytes.into());
        u64::from(self.state.buffer.occupied() + parity) + journal
    }

    /// Time to read back pages that capacitors have saved.
    fn restore_ns(&self, pages: u64) -> Ns {
        let (device, mut load) = (&self.state.device, Load::of(&self.state));
        let timing = &device.timing;
        let dies = u64::from(device.geometry.dies());
        for die in 0..dies {
            let share = pages / dies + u64::from(die < pages % dies);
            // Neighbours in this order are on different channels.
            let (channels, per_channel) = (u64::from(device.geometry.channels), u64::from(device.geometry.dies_per_channel()));
            let die = (die % channels * per_channel + die / channels) as DieIx;
            load.add(&self.state, die, share * timing.read_ns[0], share * (timing.command_ns + timing.transfer_page_ns));
        }
        load.ns()
    }

    /// Reads every page of the host back from flash and RAM, as a read would find it.
    fn read_everything_back(&mut self) -> Option<Comparison> {
        let oracle = self.oracle.as_mut()?;
        let (books, buffer) = (&self.state.books, &self.state.buffer);
        let mut comparison = Comparison::default();
        for lpn in 0..self.state.device.logical_pages() as Lpn {
            let trimmed = self.state.rain.as_ref().is_some_and(|rain| rain.is_trimmed(lpn));
            let ppn = Some(books.lookup(lpn)).filter(|&ppn| ppn != NONE && !trimmed);
            let buffered = if buffer.exists() && !trimmed { buffer.find(lpn) } else { None };
            let entry = buffered.map(|(entry, present)| (entry, buffer.entry(entry).dirty, present));
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
    fn go_on(&mut self, batches: u32) {
        self.prepare_scrubbers();
        if self.state.errors.is_some() {
            self.scrub_after_cut();
        }
        if self.state.traits.gathers {
            (0..self.state.dies.len() as DieIx).for_each(|die| self.update_closed(die));
        }
        self.wake();
        if self.state.rain.is_some() {
            self.settle_room();
            (0..batches).for_each(|batch| self.program_batch(batch));
            self.flush_stripes(0);
        } else if self.state.buffer.exists() {
            self.flush_above_threshold();
        }
    }
}
