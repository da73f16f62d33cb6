//! The drive: `submit` a command, ask for the `next_event`, `step` to it, take the completions.
//!
//! It owns no clock: the simulator drives it in virtual time, an emulator may drive the same type in wall-clock time.

use crate::commands::{Command, CommandKind};
use crate::context::Context;
pub use crate::context::Firmware;
use crate::crash::power::{PowerError, Recovery};
use crate::design::{Design, pages_of_tables};
use crate::device::Device;
use crate::drive::counters::{Counters, FtlCounters, HostCounters};
use crate::drive::traits::Traits;
use crate::event::Queue;
use crate::flash::Flash;
use crate::ftl::Tables;
use crate::ftl::above::WithFtl;
use crate::ftl::state::Ftl;
use crate::gc::state::Gcs;
use crate::host::state::Host;
pub use crate::host::tiers::Drive;
use crate::host::tiers::WithHost;
use crate::ids::Lpn;
use crate::observe::{Observer, TrafficClass};
use crate::oracle::{Fault, Oracle};
use crate::policy::answers::Reach;
use crate::policy::view::View;
use crate::raid::active::Violation;
use crate::raid::front::WithRaid;
use crate::raid::state::Raid;
use crate::timer::Timers;
use crate::units::Ns;
use thiserror::Error;
use tinytail_config::{ConfigError, counted};

pub mod counters;
mod traits;

/// Why a command was refused.
#[derive(Debug, Error, Clone, Copy, PartialEq, Eq)]
pub enum SubmitError {
    /// It reaches beyond the drive.
    #[error("sectors {first} to {last} reach beyond the drive, whose last sector is {drive_last}")]
    BeyondDrive {
        /// First sector asked for.
        first: u64,
        /// Last sector asked for.
        last: u64,
        /// Last sector of the drive.
        drive_last: u64,
    },
    /// It has no sectors.
    #[error("a command of no sectors")]
    Empty,
}

impl<O: Observer> Drive<O> {
    /// An erased drive.
    ///
    /// # Errors
    /// Parameters of the design that contradict each other or the device.
    pub fn new(device: &Device, mut design: Design, verify: bool, observer: O) -> Result<Self, ConfigError> {
        design.prepare(device)?;
        let stripes = design.place.stripes();
        let pages = pages_of_tables(device, &mut design, stripes.as_ref());
        let gc = &design.gc;
        check_memory(device, pages, gc.page_sequence, verify)?;
        let mut tables = Tables::new(&device.geometry, pages, gc.write_points, gc.reserve_blocks, gc.page_sequence);
        if design.place.reach() != Reach::Plane {
            tables.count_live();
        }
        if !design.policies.is_empty() {
            tables.track_changes();
        }
        let oracle = verify.then(|| Box::new(Oracle::new(device, stripes.as_ref())));
        let traits = Traits::of(&mut design, device);
        let flash = Flash::new(device, traits.flash);
        let gc = Gcs::new(&flash, &tables, 0);
        let ftl = Ftl::new(&flash, traits.ftl, tables, gc, design.gc_trigger.thresholds());
        let raid = Raid::new(device, traits.raid, stripes);
        let queue = Queue::with_slots(flash.slots());
        let top = Firmware { observer, policies: design };
        let up = WithRaid { raid, up: WithHost { host: Host::new(device, traits.deadline_ns), up: top } };
        let mut drive = Self { flash, queue, timers: Timers::new(), up: WithFtl { ftl, oracle, up } };
        if drive.flash.traits.assembles {
            (0..device.geometry.dies()).for_each(|die| drive.update_masked(die));
        }
        Ok(drive)
    }

    /// The drive's time: that of the last event or submission.
    pub fn now(&self) -> Ns {
        self.flash.now
    }

    /// The observer.
    pub fn observer(&self) -> &O {
        &self.up.up.up.up.observer
    }

    /// The observer, to be changed.
    #[inline]
    pub fn observer_mut(&mut self) -> &mut O {
        &mut self.up.up.up.up.observer
    }

    /// Read-only access to everything, as policies have it.
    pub fn view(&self) -> View<'_> {
        let WithFtl { ftl, up: WithRaid { raid, .. }, .. } = &self.up;
        View::new(&self.flash, ftl, raid)
    }

    /// Which locks are taken, for a run in which requests stop completing.
    pub fn explain_standstill(&self) -> String {
        let WithFtl { ftl, up: WithRaid { raid, up: WithHost { host, .. } }, .. } = &self.up;
        let mut lines = vec![format!("{} outstanding at {} ns.", counted(self.outstanding() as u64, "request"), self.flash.now)];
        let [reads, writes] = [CommandKind::Read, CommandKind::Write].map(|kind| host.in_device(kind) as u64);
        lines.push(format!("In the device: {} and {}.", counted(reads, "read"), counted(writes, "write")));
        if raid.buffer.is_full() {
            lines.push(format!(
                "The write buffer is full: {}, {} of them in flight.",
                counted(raid.buffer.occupied(), "page"),
                raid.buffer.in_flight()
            ));
        }
        if let Some(rain) = &raid.rain {
            lines.push(format!(
                "On their way: {}; waiting in RAM for GCs: {}.",
                counted(rain.on_their_way() as u64, "stripe"),
                counted(rain.deferred() as u64, "page")
            ));
        }
        if let Some(late_bound) = &ftl.late_bound {
            let [emergency, external, background] = [0, 1, 2].map(|line: usize| late_bound.queues[line].len());
            lines.push(format!(
                "Waiting for a die that could take them: {} of the host, {emergency} of urgent GCs and {background} of others.",
                counted(external as u64, "page")
            ));
        }
        self.flash.explain(&mut lines, |plane| {
            let (erased, gc) = (ftl.tables.free_pages(plane), ftl.gc.of(plane).state);
            format!("{} erased, its GC is {gc:?}", counted(erased, "page"))
        });
        lines.join(" ")
    }

    /// What is done for these takes no time of dies and channels from now on, and for parity no computing either. Policies
    /// decide as on a drive where it does.
    pub fn make_free(&mut self, traffic_classes: &[TrafficClass]) {
        traffic_classes.iter().for_each(|&traffic| self.flash.make_free(traffic));
    }

    /// The power fails now, between two events, and comes back. Requests under way are lost and never complete. When this returns, the
    /// drive's time is that at which it takes commands again.
    ///
    /// # Errors
    /// A drive that was not prepared, and one without room to recover; the latter is of no use any more.
    pub fn cut_power(&mut self) -> Result<Recovery, PowerError> {
        let recovery = self.lose_power()?;
        self.flash.hash.mix(recovery.at + recovery.total_ns());
        Ok(recovery)
    }

    /// How often things happened.
    #[inline]
    pub fn counters(&self) -> Counters {
        let Self { flash, up: WithFtl { ftl, up: WithRaid { raid, up: WithHost { host, .. } }, .. }, .. } = self;
        let (host, buffer, raid) = (host.counters, raid.buffer.counters, raid.counters);
        Counters { host, buffer, raid, gc: ftl.gc.counters, ftl: ftl.counters, flash: flash.counters }
    }

    /// Starts counting anew, as after warming up.
    pub fn reset_counters(&mut self) {
        self.flash.reset_counters();
        let WithFtl { ftl, up: WithRaid { raid, up: WithHost { host, .. } }, .. } = &mut self.up;
        (ftl.counters, host.counters) = (FtlCounters::default(), HostCounters::default());
        ftl.gc.count_from(self.flash.now);
        raid.reset_counters();
    }

    /// The first GCs that started while another of their group was under way, at most `VIOLATIONS_KEPT`, since counting began.
    pub fn violations(&self) -> &[Violation] {
        self.view().raid.rain.as_ref().map_or(&[], |rain| rain.violations())
    }

    /// Pages from logical page 0 on that the starting state maps, without regard to a workload: as many as the stated share of
    /// the physical pages has room for, with the parity that belongs to them.
    pub fn mapped_pages(&self) -> Lpn {
        self.view().mapped_pages()
    }

    /// A hash of every event handled, and of GC that takes no time: equal hashes mean equal runs.
    pub fn event_hash(&self) -> u64 {
        self.flash.hash.value()
    }

    /// The design that drives it.
    #[inline]
    pub fn design(&self) -> &Design {
        &self.up.up.up.up.policies
    }

    /// Reads and page reads that the oracle has checked; `None` without oracle.
    pub fn verified(&self) -> Option<u64> {
        self.up.oracle.as_ref().map(|oracle| oracle.checked)
    }

    /// The first read that returned the wrong data, if any did.
    pub fn mismatch(&self) -> Option<&str> {
        self.up.oracle.as_ref().and_then(|oracle| oracle.mismatch.as_deref())
    }

    /// Breaks something on purpose, for tests of the oracle.
    ///
    /// # Panics
    /// Without oracle.
    pub fn inject(&mut self, fault: Fault) {
        let oracle = self.up.oracle.as_mut().expect("faults are for drives with an oracle");
        match fault {
            Fault::Map { lpn, other } => self.up.ftl.tables.break_map(lpn, other),
            Fault::GcCopy | Fault::Buffer | Fault::FirstCopy | Fault::Ram | Fault::Trims => oracle.armed = Some(fault),
        }
    }

    /// Brings near what a command will need first. A hint, to be given some requests ahead.
    #[inline]
    pub fn prefetch(&self, command: &Command) {
        let WithFtl { ftl, up: WithRaid { raid, up: WithHost { host, .. } }, .. } = &self.up;
        let lpn = host.page_of(command.sector);
        ftl.tables.prefetch(lpn);
        raid.buffer.prefetch(lpn);
    }

    /// Completed flash operations that the host waited for, and completed requests: a number that grows while a run gets on.
    pub fn progress(&self) -> u64 {
        let WithFtl { ftl, up: WithRaid { up: WithHost { host, .. }, .. }, .. } = &self.up;
        ftl.counters.host_operations + host.counters.completed
    }

    /// Gives the drive a command at time `now`. Events up to then are handled first; a time in the drive's past is clamped to
    /// its own, and the completion carries both. Returns the number that the completion will carry. The command goes to the
    /// first device queue.
    ///
    /// # Errors
    /// A command of no sectors or beyond the drive.
    #[inline]
    pub fn submit(&mut self, now: Ns, command: Command) -> Result<u64, SubmitError> {
        self.submit_to(0, now, command)
    }

    /// `submit` to a device queue, whose number is taken modulo the number of queues.
    ///
    /// # Errors
    /// As for `submit`.
    pub fn submit_to(&mut self, queue: u32, now: Ns, command: Command) -> Result<u64, SubmitError> {
        if command.sectors == 0 {
            return Err(SubmitError::Empty);
        }
        let drive = self.up.up.up.host.sectors;
        let last = command.sector.saturating_add(u64::from(command.sectors) - 1);
        if last >= drive {
            return Err(SubmitError::BeyondDrive { first: command.sector, last, drive_last: drive - 1 });
        }
        self.advance(now);
        let id = self.take_in(queue, now, command);
        self.pump();
        Ok(id)
    }

    /// When something happens next by itself.
    pub fn next_event(&mut self) -> Option<Ns> {
        self.queue.next_time()
    }

    /// Handles the next event. Returns whether there was one.
    pub fn step(&mut self) -> bool {
        let Some((at, slot)) = self.queue.pop() else { return false };
        crate::check!(at >= self.flash.now, "time goes forward");
        self.flash.now = at;
        let mattered = match self.flash_event(slot) {
            Ok(mattered) => mattered,
            Err(which) => {
                self.path_event(which);
                true
            }
        };
        if mattered {
            self.flash.counters.events += 1;
            self.flash.hash.event(at, slot);
        }
        self.pump();
        true
    }

    /// Handles every event up to and including `now`.
    pub fn advance(&mut self, now: Ns) {
        while self.queue.next_time().is_some_and(|next| next <= now) {
            self.step();
        }
        self.flash.now = self.flash.now.max(now);
    }
}

impl<O: Observer> Context for Drive<O> {
    type Observer = O;

    #[inline(always)]
    fn ask<R>(&mut self, question: impl FnOnce(&mut Design, View<'_>) -> R) -> R {
        let WithFtl { ftl, up: WithRaid { raid, up: WithHost { up: top, .. } }, .. } = &mut self.up;
        question(&mut top.policies, View::new(&self.flash, ftl, raid))
    }

    #[inline(always)]
    fn policies(&self) -> &Design {
        self.design()
    }

    #[inline(always)]
    fn seen(&self) -> View<'_> {
        self.view()
    }

    #[inline(always)]
    fn observer(&mut self) -> &mut O {
        self.observer_mut()
    }
}

/// Refuses a drive whose tables the process can't allocate, with a sentence instead of an abort.
fn check_memory(device: &Device, logical: u64, page_sequence: bool, verify: bool) -> Result<(), ConfigError> {
    let physical = device.geometry.physical_pages();
    let bytes = table_bytes(device, logical, page_sequence, verify);
    let mut probe: Vec<u8> = Vec::new();
    let fits = usize::try_from(bytes).is_ok_and(|bytes| probe.try_reserve_exact(bytes).is_ok());
    if !fits {
        return Err(ConfigError::new(format!(
            "{}: its {physical} pages need {} MiB of memory for map and validity, more than the system gives",
            device.name,
            bytes >> 20
        )));
    }
    Ok(())
}

/// Memory for what a drive knows of each page, and its oracle, if it verifies.
fn table_bytes(device: &Device, logical: u64, page_sequence: bool, verify: bool) -> u64 {
    let per_physical = 5 + 8 * u64::from(page_sequence) + 4 * u64::from(verify) + u64::from(device.errors.is_some());
    let per_logical = 4 + 4 * u64::from(verify);
    device.geometry.physical_pages() * per_physical + logical * per_logical
}

#[cfg(test)]
impl<O: Observer> Drive<O> {
    /// Writes a page in the tables and the oracle, without time.
    pub(crate) fn write_for_test(&mut self, lpn: Lpn) {
        let plane = self.ask(|policies, view| policies.place.plane(view, lpn));
        let ppn = self.up.ftl.tables.take(plane, 0, crate::ftl::Claimant::Gc).expect("room for a test page");
        self.up.ftl.tables.commit_write(lpn, ppn);
        if let Some(oracle) = &mut self.up.oracle {
            oracle.aged(lpn, ppn);
        }
    }

    /// Writes whole stripes with their parity in the tables and the oracle, without time.
    pub(crate) fn write_stripes_for_test(&mut self, stripes: impl IntoIterator<Item = u32>) {
        for stripe in stripes {
            let layout = self.view().stripes().expect("a drive with stripes").clone();
            let (first, members) = layout.members(stripe);
            for lpn in (first..first + members).chain([layout.parity(stripe)]) {
                let ppn = self.up.ftl.tables.take(layout.plane_of(lpn), 0, crate::ftl::Claimant::Gc).expect("room for a test page");
                self.up.ftl.tables.commit_write(lpn, ppn);
            }
            self.inform_oracle((first..first + members).chain([layout.parity(stripe)]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::tiny_device;

    #[test]
    fn the_memory_of_a_drive_is_that_of_its_tables_and_its_oracle() {
        // 64 pages, of which the host sees 40.
        let device = tiny_device();
        assert_eq!(device.geometry.physical_pages(), 64);
        let bytes = |page_sequence, verify| table_bytes(&device, 40, page_sequence, verify);
        assert_eq!(bytes(false, false), 64 * 5 + 40 * 4);
        assert_eq!(bytes(true, false), 64 * 13 + 40 * 4);
        assert_eq!(bytes(false, true), 64 * 9 + 40 * 8);
        assert_eq!(bytes(true, true), 64 * 17 + 40 * 8);
    }
}
