//! What another thread may see of a run, and its switch.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use tinytail_core::units::{Ns, SECOND};
use tinytail_workload::Watch;

/// What a run is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Phase {
    /// Reading the workload to learn which pages it touches.
    Reading,
    /// Bringing the drive into its starting state.
    Ageing,
    /// Waiting for another run to bring its drive into the starting state.
    Waiting,
    /// Loading the starting state from an image or from a state that was kept.
    Loading,
    /// Writing an image.
    Writing,
    /// Playing the workload for the first time, unmeasured.
    WarmingUp,
    /// Measuring.
    Running,
    /// Serving clients.
    Serving,
}

const PHASES: [Phase; 8] =
    [Phase::Reading, Phase::Ageing, Phase::Waiting, Phase::Loading, Phase::Writing, Phase::WarmingUp, Phase::Running, Phase::Serving];

/// Simulated seconds that a write may spend in the device, if nothing else is said.
pub const WRITE_STALL_S: u64 = 10;
/// The most that may be said: some eleven days.
pub const WRITE_STALL_S_MAX: u64 = 1_000_000;

/// Progress of a run and the switch that ends it early. Shared between threads.
#[derive(Debug)]
pub struct Control {
    done: AtomicU64,
    total: AtomicU64,
    phase: AtomicU8,
    watch: Arc<Watch>,
    write_stall_s: AtomicU64,
}

impl Default for Control {
    fn default() -> Self {
        Self {
            done: AtomicU64::default(),
            total: AtomicU64::default(),
            phase: AtomicU8::default(),
            watch: Arc::default(),
            write_stall_s: AtomicU64::new(WRITE_STALL_S),
        }
    }
}

impl Control {
    /// Simulated time that a write may spend in the device; beyond it the run is stuck, although other requests complete.
    pub fn write_stall(&self) -> Ns {
        self.write_stall_s.load(Ordering::Relaxed) * SECOND
    }

    /// A write may spend so many simulated seconds in the device.
    pub fn set_write_stall_s(&self, seconds: u64) {
        self.write_stall_s.store(seconds, Ordering::Relaxed);
    }

    /// Pages, requests, or bytes of a file that is read, done in the current phase.
    pub fn done(&self) -> u64 {
        if self.reads_file() { self.watch.read_bytes() } else { self.done.load(Ordering::Relaxed) }
    }

    /// Pages, requests or bytes in all of the current phase; 0 if unknown.
    pub fn total(&self) -> u64 {
        if self.reads_file() { self.watch.file_bytes() } else { self.total.load(Ordering::Relaxed) }
    }

    fn reads_file(&self) -> bool {
        self.phase() == Phase::Reading && self.watch.file_bytes() > 0
    }

    /// What watches the reading of files, and ends it when the run is asked to end.
    pub fn watch(&self) -> &Arc<Watch> {
        &self.watch
    }

    /// The current phase.
    pub fn phase(&self) -> Phase {
        PHASES[usize::from(self.phase.load(Ordering::Relaxed))]
    }

    /// Asks the run to end soon, with what it has.
    pub fn cancel(&self) {
        self.watch.cancel();
    }

    /// Whether the run was asked to end.
    pub fn is_cancelled(&self) -> bool {
        self.watch.is_cancelled()
    }

    /// A phase begins, with so much to be done in it; 0 if that is not known.
    pub fn enter(&self, phase: Phase, total: u64) {
        self.watch.clear();
        self.done.store(0, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
        self.phase.store(phase as u8, Ordering::Relaxed);
    }

    /// So much of the phase is done.
    pub fn advance(&self, done: u64) {
        self.done.store(done, Ordering::Relaxed);
    }

    /// So much is to be done in the phase, as it turns out.
    pub fn set_total(&self, total: u64) {
        self.total.store(total, Ordering::Relaxed);
    }
}
