//! The trail of a request outside the flash, for a tracing observer. Nothing here is compiled for others.

use crate::attribution::trail::Passing;
use crate::commands::CommandKind;
use crate::ids::NONE;
use crate::observe::{Attribution, DIE, LINK, LINK_WAIT, OVERHEAD, TrafficClass};
use crate::units::Ns;
use std::cmp::Reverse;

/// The trail of a wait for a slot: its parts, the largest first.
#[inline(never)]
pub(super) fn trace_slot_wait(attribution: &mut Attribution, arrived: Ns, parts: impl Iterator<Item = (usize, Ns)>) {
    let mut parts: Vec<_> = parts.map(|(part, ns)| (ns, part)).collect();
    parts.sort_unstable_by_key(|&(ns, part)| (Reverse(ns), part));
    let mut traced = arrived;
    for (ns, part) in parts {
        attribution.trace(traced, traced + ns, NONE, Passing::Own(part as u8));
        traced += ns;
    }
}

/// The trail of a request outside the flash, from its acceptance on: when it arrived, was accepted and completed; the fixed time, and the times of
/// waiting for the link and of using it.
#[inline(never)]
pub(super) fn trace_ends(attribution: &mut Attribution, at: (Ns, Ns, Ns), path: (Ns, Ns, Ns), kind: CommandKind) {
    let (arrived, accepted, completed) = at;
    let (overhead, link_wait, link) = path;
    let begun = accepted + overhead;
    attribution.trace(accepted, begun, NONE, Passing::Own(OVERHEAD as u8));
    // Writes cross the link first, reads last.
    let crossing = if kind == CommandKind::Read { completed - link - link_wait } else { begun };
    attribution.trace(crossing, crossing + link_wait, NONE, Passing::Own(LINK_WAIT as u8));
    attribution.trace(crossing + link_wait, crossing + link_wait + link, NONE, Passing::Own(LINK as u8));
    if kind == CommandKind::Write {
        // A write without buffer also waits for an earlier one of the same page.
        attribution.trace(arrived, completed, NONE, Passing::Remainder((DIE + TrafficClass::HostProgram as usize) as u8));
    }
}
