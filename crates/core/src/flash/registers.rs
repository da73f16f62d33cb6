//! Cache registers: a page that was read leaves its plane's array for a second register, and the die may read the next page
//! while this one waits for the channel or crosses it.
//!
//! The pages of a die cross its channel one at a time, in the order in which they were read. While a page is in a register
//! the die starts nothing but reads: everything else of it is masked, as if it were locked. Where the flash is not said to have
//! them, only pages that joined a read of GC use a second register, and mask nothing.

use crate::event::EXTRA_SLOTS;
use crate::flash::Engine;
use crate::flash::bus::Wants;
use crate::flash::die::Phase;
use crate::flash::line::Line;
use crate::flash::op::{Class, Owner};
use crate::flash::upper::{Steps, Upper};
use crate::ids::{DieIx, NONE, PlaneIx};

/// The cache registers of a die's planes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Registers {
    /// One bit for each plane whose register holds a page.
    pub full: u64,
    /// Pages that wait for the channel.
    pub waiting: Line,
    /// The page that crosses the channel.
    crossing: u32,
    /// The die waits in its channel's queue for the first of them.
    queued: bool,
}

impl Registers {
    pub const EMPTY: Self = Self { full: 0, waiting: Line::EMPTY, crossing: NONE, queued: false };
}

impl<U> Engine<U>
where
    Self: Upper,
{
    fn register_slot(&self, die: DieIx) -> usize {
        self.flash.extra_slot(EXTRA_SLOTS as usize + die as usize)
    }

    /// The bit of an operation's plane among those of its die.
    fn register_bit(&self, op: u32) -> u64 {
        1 << (self.flash.ops[op as usize].plane % self.flash.device.geometry.planes_per_die)
    }

    /// The array of a die has read: its pages wait for the channel from now on, in their registers as soon as these are
    /// empty.
    #[cold]
    pub(super) fn array_read_with_registers(&mut self, die: DieIx) {
        if !self.flash.device.flash.cache_register {
            return self.partners_step_aside(die);
        }
        let channel = self.flash.channel_of(die);
        let mut part = self.flash.dies[die as usize].running;
        // What takes no time needs no register.
        if self.parts(part).all(|part| self.is_free(self.flash.ops[part as usize].traffic)) {
            return self.transfer_out(die, part);
        }
        while part != NONE {
            self.open_channel_wait(part, channel);
            part = self.flash.ops[part as usize].partner;
        }
        self.flash.dies[die as usize].phase = Phase::RegisterFull;
        self.fill_registers(die);
    }

    /// Moves what the array has read to its registers, if they are empty, and starts what waits: the command of the next
    /// read goes before the data.
    fn fill_registers(&mut self, die: DieIx) {
        let state = &self.flash.dies[die as usize];
        if state.phase != Phase::RegisterFull {
            return;
        }
        let lead = state.running;
        let needed = self.parts(lead).fold(0, |needed, part| needed | self.register_bit(part));
        if self.flash.registers[die as usize].full & needed != 0 {
            return;
        }
        self.settle_die(die);
        let state = &mut self.flash.dies[die as usize];
        state.running = NONE;
        state.phase = Phase::Idle;
        self.flash.note_if_idle(die);
        let registers = &mut self.flash.registers[die as usize];
        registers.full |= needed;
        let owner = self.flash.ops[lead as usize].owner;
        let reads_on = match owner {
            Owner::Gc(plane) if self.read_left_array(plane) => Some(plane),
            _ => None,
        };
        let mut part = self.first_part(lead);
        while part != NONE {
            let next = self.next_part(lead, part);
            self.flash.registers[die as usize].waiting.push(&mut self.flash.ops, part);
            part = next;
        }
        self.update_locked_category(die);
        self.update_masked(die);
        if let Some(plane) = reads_on {
            self.reads_on(plane);
        }
        self.try_start(die);
        self.claim_for_register(die);
    }

    /// The array of a die without cache registers has read. What has joined a read of GC steps aside: it stays in the second
    /// registers of its planes until the channel has time for it, and the GC goes on.
    fn partners_step_aside(&mut self, die: DieIx) {
        let lead = self.flash.dies[die as usize].running;
        if self.flash.ops[lead as usize].class != Class::Gc {
            return self.transfer_out(die, lead);
        }
        let channel = self.flash.channel_of(die);
        let mut part = std::mem::replace(&mut self.flash.ops[lead as usize].partner, NONE);
        while part != NONE {
            self.open_channel_wait(part, channel);
            let bit = self.register_bit(part);
            let registers = &mut self.flash.registers[die as usize];
            registers.full |= bit;
            registers.waiting.push(&mut self.flash.ops, part);
            part = std::mem::replace(&mut self.flash.ops[part as usize].partner, NONE);
        }
        self.transfer_out(die, lead);
        self.claim_for_register(die);
    }

    /// Whether the second register of a plane holds a page that joined a read of GC.
    pub(super) fn register_is_full(&self, plane: PlaneIx) -> bool {
        let bit = plane % self.flash.device.geometry.planes_per_die;
        let registers = self.flash.registers.get(self.flash.die_of(plane) as usize);
        registers.is_some_and(|registers| registers.full >> bit & 1 == 1)
    }

    /// The next page of a die goes over its channel, or waits in its queue.
    fn claim_for_register(&mut self, die: DieIx) {
        let registers = &self.flash.registers[die as usize];
        if registers.waiting.is_empty() || registers.crossing != NONE || registers.queued {
            return;
        }
        let channel = self.flash.channel_of(die);
        if self.channel_free(channel, die) {
            return self.empty_register(die);
        }
        self.flash.registers[die as usize].queued = true;
        self.enqueue_for_channel(channel, die, Wants::Empty);
    }

    /// The channel, which is free, takes the next page of a die.
    #[cold]
    pub(super) fn empty_register(&mut self, die: DieIx) {
        let channel = self.flash.channel_of(die);
        let registers = &mut self.flash.registers[die as usize];
        registers.queued = false;
        let op = registers.waiting.pop(&mut self.flash.ops);
        registers.crossing = op;
        self.end_channel_wait(op, die, channel);
        let slot = self.register_slot(die);
        self.transfer_by(slot, channel, op);
    }

    /// A page of a die has crossed the channel.
    #[cold]
    pub(super) fn register_emptied(&mut self, die: DieIx) {
        let op = std::mem::replace(&mut self.flash.registers[die as usize].crossing, NONE);
        self.flash.registers[die as usize].full &= !self.register_bit(op);
        self.settle_die(die);
        self.update_masked(die);
        self.fill_registers(die);
        self.done(op);
        self.try_start(die);
        self.claim_for_register(die);
        self.serve_channel(self.flash.channel_of(die));
    }
}
