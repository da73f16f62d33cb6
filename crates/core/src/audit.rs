//! Invariants of the whole drive, in one list.

use crate::drive::Drive;
use crate::event::EventQueue;
use crate::ftl::gc::GcState;
use crate::ids::NONE;
use crate::observe::Observer;
use crate::policy::Scope;

impl<O: Observer, Q: EventQueue> Drive<O, Q> {
    /// Checks every invariant between two events. For tests and `--verify`; it walks the whole drive.
    ///
    /// # Errors
    /// The first invariant that does not hold, with what breaks it.
    pub fn audit(&self) -> Result<(), String> {
        let state = &self.state;
        // Valid means mapped; erased pages are counted right.
        state.books.audit()?;
        // One owner per channel, and it is a GC that holds the channel.
        for (index, channel) in state.channels.iter().enumerate() {
            if channel.held_by != NONE {
                let planes = state.device.geometry.planes_per_die;
                let held = (channel.held_by * planes..(channel.held_by + 1) * planes)
                    .any(|plane| state.gc[plane as usize].holds && state.gc[plane as usize].plan.scope >= Scope::Channel);
                if !held {
                    return Err(format!("channel {index} is held by die {}, none of whose GCs holds a channel", channel.held_by));
                }
            }
        }
        // A GC that is idle holds nothing.
        if let Some(plane) = state.gc.iter().position(|gc| gc.state == GcState::Idle && gc.holds) {
            return Err(format!("plane {plane} is held by a GC that has ended"));
        }
        // No wake-up is lost: an idle die with work that nothing shuts out stands in its channel's line.
        for (index, die) in state.dies.iter().enumerate() {
            let idle = die.running == NONE && die.parked == NONE;
            if idle && die.ready & !die.closed != 0 && !die.in_line {
                return Err(format!(
                    "die {index} is idle with work {:#x} that nothing shuts out, and waits for nothing",
                    die.ready & !die.closed
                ));
            }
        }
        // GC can always go on: what it may need is erased.
        for plane in 0..state.device.geometry.planes() {
            let erased = state.books.erased_blocks(plane);
            if erased < self.policies.gc.reserve_blocks && state.gc[plane as usize].state == GcState::Idle {
                return Err(format!("plane {plane} has {erased} erased blocks, fewer than its reserve, and no GC"));
            }
        }
        // No request is lost: when nothing is outstanding, nothing is busy or waiting.
        if state.outstanding() == 0 && state.buffer.in_flight() == 0 {
            for (index, plane) in state.planes.iter().enumerate() {
                let host = [0, 1, 2, 3].iter().any(|&class| plane.head[class] != NONE);
                if host || plane.starved_head != NONE {
                    return Err(format!("plane {index} has waiting host operations and no request waits for them"));
                }
            }
            if let Some(index) = state.channels.iter().position(|channel| channel.host_operations != 0) {
                return Err(format!("channel {index} counts host operations and no request is outstanding"));
            }
        }
        Ok(())
    }
}
