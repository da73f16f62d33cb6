//! What dies do for the host and for GC, measured where the design asks for it.

use crate::context::Context;
use crate::flash::Engine;
use crate::flash::op::{Class, OpKind, Owner, class_bits};
use crate::ftl::above::{Above, WithFtl};
use crate::ftl::late_bound::EXTERNAL;
use crate::ids::DieIx;
use crate::policy::view::{View, Work};

/// Bits of the programs that a host may wait for.
const PROGRAM_BITS: u64 = class_bits(Class::HostProgram) | class_bits(Class::Flush);

impl<U> Engine<WithFtl<U>>
where
    Self: Above,
{
    /// Records what an operation took of its die's time, apart from waits for the channel.
    #[cold]
    pub(crate) fn note_work(&mut self, op: u32) {
        let entry = self.flash.ops[op as usize];
        let times = self.times(&entry);
        let ns = times.command + times.array + times.transfer;
        let (now, die) = (self.flash.now, self.flash.die_of(entry.plane));
        let in_the_way = self.seen().writes_wait_for(die);
        let is_gc = matches!(entry.owner, Owner::Gc(_));
        let under_load = is_gc && (in_the_way || self.seen().host_programs_under_way() > 0);
        let gc = &mut self.up.ftl.gc;
        let (work, counters) = (&mut gc.work, &mut gc.counters);
        if !is_gc {
            work.host_programs += 1;
            work.host_ns += ns;
            return;
        }
        match entry.kind {
            OpKind::Erase => {
                work.erases += 1;
                work.erase_ns += ns;
            }
            OpKind::Program | OpKind::Copyback => {
                work.moves += 1;
                work.move_ns += ns;
                work.moves_in_the_way += u64::from(in_the_way);
                counters.moved_under_load += u64::from(under_load);
            }
            OpKind::Read => work.move_ns += ns,
        }
        if in_the_way {
            work.gc_in_the_way_ns += ns;
            work.moves_in_the_way_ns += if entry.kind == OpKind::Erase { 0 } else { ns };
        }
        if under_load {
            work.gc_under_load_ns += ns;
        }
        if let Some(late_bound) = &mut self.up.ftl.late_bound {
            late_bound.gc_ended[die as usize] = now;
        }
    }
}

impl View<'_> {
    /// What was done since the drive began to run. Counted only where allocation is late-bound, or the design asks for it.
    pub fn work(self) -> Work {
        self.ftl.gc.work
    }

    /// Whether writes of the host wait for a die. Only where allocation is late-bound.
    pub fn host_waits(self) -> bool {
        self.ftl.late_bound.as_ref().is_some_and(|late_bound| !late_bound.queues[EXTERNAL].is_empty())
    }

    /// Whether operations of the host wait at a die or a channel, or run.
    pub fn host_runs(self) -> bool {
        (0..self.geometry().channels).any(|channel| self.flash.channel(channel as usize).host_operations > 0)
    }

    /// Programs of the host that have their places and have not ended. Counted only in designs whose layout is not static.
    pub fn host_programs_under_way(self) -> u32 {
        self.ftl.bound.iter().sum()
    }

    /// Pages that GC is reading, holds or programs. Only where allocation is late-bound.
    pub fn moves_under_way(self) -> u32 {
        self.ftl.late_bound.as_ref().map_or(0, |late_bound| late_bound.moving + self.ftl.gc_bound.iter().sum::<u32>())
    }

    /// Whether programs of the host or the buffer wait at a die.
    pub fn host_waits_at(self, die: DieIx) -> bool {
        self.flash.die(die).ready & PROGRAM_BITS != 0
    }

    /// Whether they wait for a die: where they have no place yet, for any.
    pub(crate) fn writes_wait_for(self, die: DieIx) -> bool {
        if self.ftl.late_bound.is_some() { self.host_waits() } else { self.host_waits_at(die) }
    }
}
