//! The waist between the flash and the firmware above it: what the flash asks, and what it tells.

use crate::attribution::trail::Use;
use crate::flash::ask::{Candidate, Suspension, Waiting};
use crate::flash::op::{Class, Op};
use crate::ids::{BlockIx, DieIx, PlaneIx};
use crate::units::Ns;

/// What becomes of an operation that is about to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bind {
    /// It has its page.
    Ready,
    /// Its page has moved to another plane.
    Moved(PlaneIx),
    /// It has no page any more, and is done.
    Void,
    /// It does not start: the firmware has taken it back, or it waits for space.
    Gone,
}

/// The requests that operations serve. Every tier may tell of them.
pub trait Served {
    /// A GC has made an operation wait.
    fn delayed_by_gc(&mut self, op: u32);
    /// The number of a request.
    fn request_number(&self, request: u32) -> u64;
}

/// Work in the background.
pub trait Background {
    /// Whether work that can be overdue is.
    fn background_is_overdue(&self) -> bool;
    /// Whether a program is still of use.
    fn is_still_wanted(&self, op: u32) -> bool;
    /// A program is given up.
    fn give_program_up(&mut self, op: u32);
}

/// Where pages are, once operations start; and, where programs have no place when they are enqueued, the places that they get.
pub trait Binds {
    /// Whether an operation may be enqueued. If not, the firmware keeps it until it has a place for it.
    fn accepts(&mut self, op: u32) -> bool;
    /// A die that runs nothing may start something. Asked instead of starting what is queued, where programs have no place before.
    fn start_late_bound(&mut self, die: DieIx);
    /// An operation is about to start at a die.
    fn bind(&mut self, die: DieIx, op: u32) -> Bind;
    /// The page offset that a waiting operation would have if it joined `lead` now, unless it can't.
    fn pairing_offset(&mut self, op: &Op, lead: &Waiting) -> Option<u32>;
    /// An operation joins `lead`: it gets its page.
    fn bind_partner(&mut self, op: u32, lead: &Waiting);
    /// The page offset that the next program of the GC will have which a read is of.
    fn next_gc_offset(&mut self, read: u32) -> u32;
    /// How often a block has been erased.
    fn erase_count(&self, block: BlockIx) -> u32;
}

/// Locks on planes, dies and channels.
pub trait Locks {
    /// The work of a die that is masked by what locks its planes and by what its programs wait for.
    fn masked_work(&mut self, die: DieIx) -> u64;
    /// A channel is free for a plane that waits in its queue to lock it.
    fn grant_channel(&mut self, channel: usize, plane: PlaneIx);
    /// What a die runs has changed, and it has locked channels: what these count as.
    fn recategorize(&mut self, die: DieIx);
}

/// The steps of GCs, and the programs that these and others may fill together.
pub trait Steps {
    /// Work without an operation was picked: a step that is chosen now, or a lock request. Returns whether the die is now busy.
    fn take_step(&mut self, plane: PlaneIx, class: Class) -> bool;
    /// The programs that wait at a die have changed. Called only where programs wait for each other.
    fn programs_changed(&mut self, die: DieIx);
    /// All parts of what a die ran are done. Called only where programs wait for each other.
    fn programs_ended(&mut self, die: DieIx);
    /// A page that a plane's GC reads has left the array for its register. Whether the GC reads the next before that is programmed.
    fn read_left_array(&mut self, plane: PlaneIx) -> bool;
    /// The die is free for the next read of a plane's GC.
    fn reads_on(&mut self, plane: PlaneIx);
}

/// What is traced. Called only if the observer traces.
pub trait Traces {
    /// What a die has run since `from`, and runs or has run up to now.
    fn trace_run(&mut self, die: DieIx, from: Ns);
    /// A channel carries something from now on.
    fn trace_use(&mut self, used: &Use);
}

/// The firmware, as the flash knows it.
pub trait Upper: Served + Background + Binds + Locks + Steps + Traces {
    /// Whether the observer traces what goes on.
    const TRACED: bool;
    /// An operation is done: its effects are recorded, and its owner learns of it.
    fn done(&mut self, op: u32);
    /// Which of the candidates at an idle die starts.
    fn prefer_at_die(&mut self, candidates: &[Candidate]) -> usize;
    /// Which of the candidates at a free channel is served.
    fn prefer_at_channel(&mut self, candidates: &[Candidate]) -> usize;
    /// Which of the waiting operations join one that starts, as flags.
    fn partners(&mut self, lead: &Waiting, waiting: &[Waiting], paired: &mut [bool]);
    /// Whether what a die runs makes way for the read that waits.
    fn suspend(&mut self, die: DieIx) -> Suspension;
}
