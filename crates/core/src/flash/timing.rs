//! How long operations take.

use crate::attribution::parts::TrafficClass;
use crate::flash::op::{Op, OpKind};
use crate::flash::upper::{Binds, Upper};
use crate::flash::{Engine, Times};
use crate::ids::{BlockIx, Ppn};
use crate::units::Ns;

impl<U> Engine<U>
where
    Self: Upper,
{
    #[inline(always)]
    fn page_class(&self, ppn: Ppn) -> usize {
        let pattern = &self.flash.device.timing.page_class_pattern;
        if pattern.len() == 1 { usize::from(pattern[0]) } else { self.class_in_pattern(ppn) }
    }

    #[inline(never)]
    fn class_in_pattern(&self, ppn: Ppn) -> usize {
        let pattern = &self.flash.device.timing.page_class_pattern;
        let offset = self.flash.device.geometry.offset_of(ppn);
        usize::from(pattern[offset as usize % pattern.len()])
    }

    /// Array time of a read of a page.
    #[inline]
    pub(crate) fn read_ns(&self, ppn: Ppn) -> Ns {
        self.flash.device.timing.read_ns[self.page_class(ppn)]
    }

    /// Array time of the erase of a block.
    pub(crate) fn erase_ns(&self, block: BlockIx) -> Ns {
        let device = &self.flash.device;
        device.timing.erase_step_ns * u64::from(device.erase_steps_after(self.erase_count(block)))
    }

    /// Array time of a program of a page.
    pub(crate) fn program_ns(&self, ppn: Ppn) -> Ns {
        self.flash.device.timing.program_ns[self.page_class(ppn)]
    }

    /// Channel and array time of an operation; of a copyback only those of its read. Zero for traffic that is made free.
    #[inline(always)]
    pub(crate) fn times(&self, op: &Op) -> Times {
        if self.is_free(op.traffic) {
            return Times { command: 0, array: 0, transfer: 0 };
        }
        let timing = &self.flash.device.timing;
        let (ns, page) = if op.kind == OpKind::Program { (&timing.program_ns, op.target) } else { (&timing.read_ns, op.ppn) };
        let array = if op.kind == OpKind::Erase { self.erase_ns(op.ppn) } else { ns[self.page_class(page)] };
        let moves_data = matches!(op.kind, OpKind::Read | OpKind::Program);
        let transfer = if moves_data { self.flash.device.transfer_ns(op.sectors.into()) } else { 0 };
        Times { command: timing.command_ns, array, transfer }
    }

    /// Whether what a die or channel does for somebody takes no time.
    #[inline(always)]
    pub(crate) fn is_free(&self, traffic: TrafficClass) -> bool {
        self.flash.free >> traffic as u32 & 1 == 1
    }
}
