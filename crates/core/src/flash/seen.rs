//! What the firmware may look at in the flash, and set.

use crate::attribution::parts::{Blame, CHANNEL_IDLE, Occupant};
use crate::counters::Counters;
use crate::flash::die::{Phase, PulseState};
use crate::flash::op::Class;
use crate::flash::{EXTRA_SLOTS, Flash};
use crate::ids::{DieIx, NONE, PlaneIx};
use crate::units::Ns;

impl Flash {
    /// Number of event slots: of dies, channels, the firmware and registers.
    pub(crate) fn slots(&self) -> usize {
        self.extra_slot(EXTRA_SLOTS as usize) + self.registers.len()
    }

    /// An event slot that belongs to no die and no channel.
    #[inline]
    pub(crate) fn extra_slot(&self, which: usize) -> usize {
        self.dies.len() + self.channels.len() + which
    }

    /// Time in which dies ran something since counting began, over all of them.
    pub(crate) fn die_busy_counted_ns(&self) -> Ns {
        self.die_busy_ns() - self.die_busy_then
    }

    /// Time in which a die has run something of an occupant, up to now.
    pub(crate) fn die_time_ns(&self, die: DieIx, occupant: Occupant) -> Ns {
        let die = &self.dies[die as usize];
        die.busy_ns[occupant as usize] + if die.occupant == occupant { die.unsettled(self.now) } else { 0 }
    }

    /// Starts counting anew.
    pub(crate) fn reset_counters(&mut self) {
        self.counters = Counters::default();
        self.die_busy_then = self.die_busy_ns();
    }

    /// What dies and channels do for this takes no time from now on.
    pub(crate) fn make_free(&mut self, occupant: Occupant) {
        self.free |= 1 << occupant as u32;
    }

    /// What an operation's latency is attributed to so far.
    #[inline(always)]
    pub(crate) fn blame(&self, op: u32) -> &Blame {
        self.latencies.blame(op)
    }

    /// The same, to add to.
    #[inline(always)]
    pub(crate) fn blame_mut(&mut self, op: u32) -> &mut Blame {
        self.latencies.blame_mut(op)
    }

    /// The bit of a plane and a class in the masks of its die.
    #[inline]
    pub(crate) fn bit(&self, plane: PlaneIx, class: Class) -> u64 {
        1 << (self.planes[plane as usize].shift + class as u32)
    }

    /// The waiting work of a die.
    #[inline]
    pub(crate) fn ready(&self, die: DieIx) -> u64 {
        self.dies[die as usize].ready
    }

    /// The waiting work of a die that nothing shuts out.
    #[inline]
    pub(crate) fn open_work(&self, die: DieIx) -> u64 {
        self.dies[die as usize].ready & !self.dies[die as usize].closed
    }

    /// Whether work of a class waits in a plane.
    #[inline]
    pub(crate) fn is_ready(&self, plane: PlaneIx, class: Class) -> bool {
        self.ready(self.die_of(plane)) & self.bit(plane, class) != 0
    }

    /// The operations that wait in a plane's line of a class, first one first.
    pub(crate) fn line(&self, plane: PlaneIx, class: Class) -> impl Iterator<Item = u32> + '_ {
        let some = |op: u32| (op != NONE).then_some(op);
        std::iter::successors(some(self.first_waiting(plane, class)), move |&op| some(self.ops[op as usize].next))
    }

    /// The first of them, or `NONE`.
    #[inline]
    pub(crate) fn first_waiting(&self, plane: PlaneIx, class: Class) -> u32 {
        self.planes[plane as usize].head[class as usize]
    }

    /// Whether programs of a plane wait for an erased page.
    pub(crate) fn has_starved(&self, plane: PlaneIx) -> bool {
        self.planes[plane as usize].starved_head != NONE
    }

    /// Whether a die runs something.
    #[inline]
    pub(crate) fn is_running(&self, die: DieIx) -> bool {
        self.dies[die as usize].running != NONE
    }

    /// The operation that a die runs.
    #[inline]
    pub(crate) fn running(&self, die: DieIx) -> Option<u32> {
        Some(self.dies[die as usize].running).filter(|&op| op != NONE)
    }

    /// What it counts as.
    #[inline]
    pub(crate) fn occupant(&self, die: DieIx) -> Option<Occupant> {
        self.is_running(die).then(|| self.dies[die as usize].occupant)
    }

    /// Which phase a die is in.
    #[inline]
    pub(crate) fn phase(&self, die: DieIx) -> Phase {
        self.dies[die as usize].phase
    }

    /// Whether a die has a suspended operation.
    #[inline]
    pub(crate) fn is_parked(&self, die: DieIx) -> bool {
        self.dies[die as usize].parked != NONE
    }

    /// The progress of the erase or program of a die.
    pub(crate) fn pulse(&self, die: DieIx) -> &PulseState {
        &self.dies[die as usize].pulse
    }

    /// Array time that it still takes, if nothing cuts it.
    pub(crate) fn pulse_left_ns(&self, die: DieIx) -> Ns {
        let pulse = self.pulse(die);
        (pulse.total - pulse.done_at(self.now)) + pulse.started.saturating_sub(self.now)
    }

    /// A die has no erase to run any more.
    pub(crate) fn no_erase_pends(&mut self, die: DieIx) {
        self.dies[die as usize].pulse.pending_since = Ns::MAX;
    }

    /// Whether cache registers of a die hold pages, which its other work waits for.
    #[inline]
    pub(crate) fn registers_are_full(&self, die: DieIx) -> bool {
        self.device.flash.cache_register && self.registers[die as usize].full != 0
    }

    /// Whether the work of a plane without operations is urgent.
    #[inline]
    pub(crate) fn is_urgent(&self, plane: PlaneIx) -> bool {
        self.planes[plane as usize].urgent
    }

    #[inline]
    pub(crate) fn set_urgent(&mut self, plane: PlaneIx, urgent: bool) {
        self.planes[plane as usize].urgent = urgent;
    }

    /// Work of a plane without an operation waits from now on: it gets its rank by arrival.
    #[inline]
    pub(crate) fn step_arrives(&mut self, plane: PlaneIx) {
        self.planes[plane as usize].step_arrival = self.next_arrival();
    }

    /// Whether a plane is held.
    #[inline]
    pub(crate) fn is_held(&self, plane: PlaneIx) -> bool {
        self.planes[plane as usize].held
    }

    /// Whether a plane, or from another die its channel, is held.
    #[inline]
    pub(crate) fn is_held_from(&self, plane: PlaneIx) -> bool {
        let lines = &self.planes[plane as usize];
        let held_by = self.channels[self.channel_of(lines.die)].held_by;
        lines.held || held_by != NONE && held_by != lines.die
    }

    /// The die that holds a channel, or `NONE`.
    #[inline]
    pub(crate) fn held_by(&self, channel: usize) -> u32 {
        self.channels[channel].held_by
    }

    /// A die holds a channel from now on, alone or beside itself.
    pub(crate) fn hold_channel(&mut self, channel: usize, die: DieIx) {
        let now = self.now;
        let claimed = &mut self.channels[channel];
        claimed.settle(now);
        self.channels_held += u32::from(claimed.held_by == NONE);
        claimed.set_held_by(die, now);
    }

    /// Nobody holds a channel any more.
    pub(crate) fn release_channel(&mut self, channel: usize) {
        let now = self.now;
        let released = &mut self.channels[channel];
        released.settle(now);
        released.set_held_by(NONE, now);
        self.channels_held -= 1;
        released.rest_category = CHANNEL_IDLE;
    }

    /// What a channel counts as from now on while it carries nothing.
    pub(crate) fn count_rest_as(&mut self, channel: usize, category: usize) {
        let now = self.now;
        let held = &mut self.channels[channel];
        held.settle(now);
        held.rest_category = category;
    }

    /// Whether a channel carries something, or somebody stands in line for it.
    pub(crate) fn channel_is_wanted(&self, channel: usize) -> bool {
        self.channels[channel].busy_until > self.now || !self.channels[channel].line.is_empty()
    }

    /// Operations of the host that wait for a channel's dies or run on them.
    #[inline]
    pub(crate) fn host_operations(&self, channel: usize) -> u32 {
        self.channels[channel].host_operations
    }

    /// An operation, `host` or not, comes to a die.
    #[inline]
    pub(crate) fn host_operation_comes(&mut self, die: DieIx, host: bool) {
        let channel = self.channel_of(die);
        self.channels[channel].host_operations += u32::from(host);
    }

    /// An operation of the host leaves a plane. Returns its channel, and how many are left there.
    #[inline(always)]
    pub(crate) fn host_operation_leaves(&mut self, plane: PlaneIx) -> (usize, u32) {
        let channel = self.channel_of(self.die_of(plane));
        let left = &mut self.channels[channel].host_operations;
        *left -= 1;
        (channel, *left)
    }

    /// What holds what, for a run in which requests stop completing: of planes, with what `of_plane` adds, of dies and channels.
    pub(crate) fn explain(&self, lines: &mut Vec<String>, of_plane: impl Fn(PlaneIx) -> String) {
        let starved = (0..self.planes.len() as PlaneIx).filter(|&plane| self.has_starved(plane)).take(4);
        lines.extend(starved.map(|plane| {
            format!("Plane {plane} has programs that wait for an erased page; {}, held: {}.", of_plane(plane), self.is_held(plane))
        }));
        for (index, die) in self.dies.iter().enumerate().filter(|(_, die)| die.ready != 0).take(4) {
            lines.push(format!(
                "Die {index} has waiting work (mask {:#x}, shut out {:#x}), runs {:?}, {}, {}; its channel {}.",
                die.ready,
                die.closed,
                die.phase,
                if die.parked == NONE { "has nothing suspended" } else { "has something suspended" },
                if die.in_line { "stands in line" } else { "does not stand in line" },
                die.channel
            ));
        }
        for (index, channel) in self.channels.iter().enumerate().filter(|(_, channel)| channel.held_by != NONE) {
            lines.push(format!("Channel {index} is held by a GC of die {}; {} wait for it.", channel.held_by, channel.line.len()));
        }
    }

    /// Invariants of the flash. No wake-up is lost: an idle die with work that nothing shuts out stands in its channel's line.
    ///
    /// # Errors
    /// The first one that does not hold.
    pub(crate) fn audit(&self) -> Result<(), String> {
        for (index, die) in self.dies.iter().enumerate() {
            let idle = die.running == NONE && die.parked == NONE;
            if idle && die.ready & !die.closed != 0 && !die.in_line {
                return Err(format!(
                    "die {index} is idle with work {:#x} that nothing shuts out, and waits for nothing",
                    die.ready & !die.closed
                ));
            }
        }
        Ok(())
    }

    /// The same where no request is outstanding: nothing of the host waits or is counted.
    ///
    /// # Errors
    /// The first invariant that does not hold.
    pub(crate) fn audit_at_rest(&self) -> Result<(), String> {
        for (index, plane) in self.planes.iter().enumerate() {
            let host = [0, 1, 2, 3].iter().any(|&class| plane.head[class] != NONE);
            if host || plane.starved_head != NONE {
                return Err(format!("plane {index} has waiting host operations and no request waits for them"));
            }
        }
        if let Some(index) = self.channels.iter().position(|channel| channel.host_operations != 0) {
            return Err(format!("channel {index} counts host operations and no request is outstanding"));
        }
        Ok(())
    }
}

#[cfg(test)]
impl Flash {
    pub(crate) fn dies_for_test(&mut self) -> &mut [crate::flash::die::Die] {
        &mut self.dies
    }

    pub(crate) fn planes_for_test(&mut self) -> &mut [crate::flash::die::PlaneLines] {
        &mut self.planes
    }

    /// One bit for each occupant that takes no time.
    pub(crate) fn free_for_test(&mut self, occupants: u32) {
        self.free = occupants;
    }

    pub(crate) fn channels_for_test(&mut self) -> &mut [crate::flash::bus::Channel] {
        &mut self.channels
    }
}
