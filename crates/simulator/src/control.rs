//! What another thread may see of a run, and its switch.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

/// What a run is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Phase {
    /// Reading the workload to learn which pages it touches.
    Reading,
    /// Bringing the drive into its starting state.
    Ageing,
    /// Loading the starting state from an image.
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

const PHASES: [Phase; 7] =
    [Phase::Reading, Phase::Ageing, Phase::Loading, Phase::Writing, Phase::WarmingUp, Phase::Running, Phase::Serving];

/// Progress of a run and the switch that ends it early. Shared between threads.
#[derive(Debug, Default)]
pub struct Control {
    done: AtomicU64,
    total: AtomicU64,
    phase: AtomicU8,
    cancelled: AtomicBool,
}

impl Control {
    /// Pages or requests done in the current phase.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// Pages or requests in all of the current phase; 0 if unknown.
    pub fn total(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }

    /// The current phase.
    pub fn phase(&self) -> Phase {
        PHASES[usize::from(self.phase.load(Ordering::Relaxed))]
    }

    /// Asks the run to end soon, with what it has.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether the run was asked to end.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// A phase begins, with so much to be done in it; 0 if that is not known.
    pub fn enter(&self, phase: Phase, total: u64) {
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
