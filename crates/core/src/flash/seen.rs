//! What the firmware may look at in the flash, and set.

use crate::attribution::parts::{Attribution, TrafficClass};
use crate::event::EXTRA_SLOTS;
use crate::flash::Flash;
use crate::flash::bus::Channel;
use crate::flash::counters::FlashCounters;
use crate::flash::die::{Die, PlaneQueues};
use crate::flash::line::linked;
use crate::flash::op::{CLASSES, Class, OpKind};
use crate::ids::{DieIx, NONE, PlaneIx};
use crate::units::Ns;

impl Flash {
    /// A die.
    #[inline]
    pub(crate) fn die(&self, die: DieIx) -> &Die {
        &self.dies[die as usize]
    }

    /// What waits for a plane.
    #[inline]
    pub(crate) fn queues(&self, plane: PlaneIx) -> &PlaneQueues {
        &self.planes[plane as usize]
    }

    /// A channel.
    #[inline]
    pub(crate) fn channel(&self, channel: usize) -> &Channel {
        &self.channels[channel]
    }

    /// Number of event slots: of dies, channels, the firmware and registers.
    pub(crate) fn slots(&self) -> usize {
        self.extra_slot(EXTRA_SLOTS as usize) + self.registers.len()
    }

    /// An event slot that belongs to no die and no channel.
    #[inline]
    pub(crate) fn extra_slot(&self, which: usize) -> usize {
        self.dies.len() + self.channels.len() + which
    }

    /// The time since counting began; before it did, since the drive began to run.
    pub(crate) fn counted_ns(&self) -> Ns {
        self.now - self.counted_from
    }

    /// Time in which dies ran something since counting began, over all of them.
    pub(crate) fn die_busy_counted_ns(&self) -> Ns {
        self.die_busy_ns() - self.die_busy_then
    }

    /// Time in which a die has run something of a traffic class, up to now.
    pub(crate) fn die_time_ns(&self, die: DieIx, traffic: TrafficClass) -> Ns {
        let die = &self.dies[die as usize];
        die.busy_ns[traffic as usize] + if die.traffic == traffic { die.unsettled(self.now) } else { 0 }
    }

    /// Starts counting anew.
    pub(crate) fn reset_counters(&mut self) {
        (self.counters, self.counted_from) = (FlashCounters::default(), self.now);
        self.die_busy_then = self.die_busy_ns();
    }

    /// What dies and channels do for this takes no time from now on.
    pub(crate) fn make_free(&mut self, traffic: TrafficClass) {
        self.free |= 1 << traffic as u32;
    }

    /// What an operation's latency is attributed to so far.
    #[inline(always)]
    pub(crate) fn attribution(&self, op: u32) -> &Attribution {
        &self.latencies.attributions[op as usize]
    }

    /// The same, to add to.
    #[inline(always)]
    pub(crate) fn attribution_mut(&mut self, op: u32) -> &mut Attribution {
        &mut self.latencies.attributions[op as usize]
    }

    /// The bit of a plane and a class in the masks of its die.
    #[inline]
    pub(crate) fn bit(&self, plane: PlaneIx, class: Class) -> u64 {
        let within = plane - self.die_of(plane) * self.device.geometry.planes_per_die;
        1 << (within * CLASSES as u32 + class as u32)
    }

    /// Whether work of a class waits in a plane.
    #[inline]
    pub(crate) fn is_ready(&self, plane: PlaneIx, class: Class) -> bool {
        self.die(self.die_of(plane)).ready & self.bit(plane, class) != 0
    }

    /// The next read that another of its page has served, which is done.
    pub(crate) fn take_merged(&mut self, lead: u32) -> Option<u32> {
        let next = self.merged.iter().position(|&(of, _)| of == lead)?;
        Some(self.merged.remove(next).1)
    }

    /// The operations that wait in a plane's queue of a class, first one first.
    pub(crate) fn waiting(&self, plane: PlaneIx, class: Class) -> impl Iterator<Item = u32> + '_ {
        self.planes[plane as usize].lines[class as usize].iter(&self.ops)
    }

    /// An operation, or none, and those behind it in its queue or list.
    pub(crate) fn linked(&self, first: u32) -> impl Iterator<Item = u32> + Clone + '_ {
        linked(&self.ops, first)
    }

    /// The first of them, or `NONE`.
    #[inline]
    pub(crate) fn first_waiting(&self, plane: PlaneIx, class: Class) -> u32 {
        self.planes[plane as usize].lines[class as usize].head
    }

    /// A die has no erase to run any more.
    pub(crate) fn no_erase_pends(&mut self, die: DieIx) {
        self.dies[die as usize].progress.pending_since = Ns::MAX;
    }

    /// Whether programs and GCs go on at a die beside the erase that is suspended there.
    #[inline]
    pub(crate) fn serves_programs(&self, die: DieIx) -> bool {
        let suspended = self.dies[die as usize].suspended;
        self.traits.serves_programs && suspended != NONE && self.ops[suspended as usize].kind == OpKind::Erase
    }

    /// Whether cache registers of a die hold pages, which its other work waits for.
    #[inline]
    pub(crate) fn registers_are_full(&self, die: DieIx) -> bool {
        self.device.flash.cache_register && self.registers[die as usize].full != 0
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

    /// Whether a plane, or from another die its channel, is locked.
    #[inline]
    pub(crate) fn is_locked_from(&self, plane: PlaneIx) -> bool {
        let die = self.die_of(plane);
        self.queues(plane).locked || self.channels[self.channel_of(die)].is_closed_to(die)
    }

    /// A die locks a channel from now on, alone or beside itself; or, with `NONE`, no die does any more.
    pub(crate) fn lock_channel(&mut self, channel: usize, die: u32) {
        let now = self.now;
        let locked = &mut self.channels[channel];
        locked.settle(now);
        self.channels_locked -= u32::from(locked.locked_by != NONE);
        self.channels_locked += u32::from(die != NONE);
        locked.set_locked_by(die, now);
    }

    /// What a channel counts as from now on while it carries nothing.
    pub(crate) fn count_idle_as(&mut self, channel: usize, category: usize) {
        let now = self.now;
        let locked = &mut self.channels[channel];
        locked.settle(now);
        locked.idle_category = category as u8;
        self.used.channels |= 1 << category;
    }

    /// An operation, `host` or not, comes to a die.
    #[inline]
    pub(crate) fn host_operation_comes(&mut self, die: DieIx, host: bool) {
        let channel = self.channel_of(die);
        self.channels[channel].host_operations += u32::from(host);
    }

    /// An operation of the host leaves a channel. Returns how many are left there.
    #[inline(always)]
    pub(crate) fn host_operation_leaves(&mut self, channel: usize) -> u32 {
        let left = &mut self.channels[channel].host_operations;
        *left -= 1;
        *left
    }

    /// Which locks are taken, for a run in which requests stop completing: of planes, with what `of_plane` adds, of dies and
    /// channels.
    pub(crate) fn explain(&self, lines: &mut Vec<String>, of_plane: impl Fn(PlaneIx) -> String) {
        let space_blocked = (0..self.planes.len() as PlaneIx).filter(|&plane| !self.queues(plane).space_blocked.is_empty()).take(4);
        lines.extend(space_blocked.map(|plane| {
            format!("Plane {plane} has programs that wait for an erased page; {}, locked: {}.", of_plane(plane), self.queues(plane).locked)
        }));
        for (index, die) in self.dies.iter().enumerate().filter(|(_, die)| die.ready != 0).take(4) {
            lines.push(format!(
                "Die {index} has waiting work (mask {:#x}, masked {:#x}), runs {:?}, {}, {}; its channel {}.",
                die.ready,
                die.masked,
                die.phase,
                if die.suspended == NONE { "has nothing suspended" } else { "has something suspended" },
                if die.queued { "is queued" } else { "is not queued" },
                die.channel
            ));
        }
        for (index, channel) in self.channels.iter().enumerate().filter(|(_, channel)| channel.locked_by != NONE) {
            lines.push(format!("Channel {index} is locked by a GC of die {}; {} wait for it.", channel.locked_by, channel.queue.len()));
        }
    }

    /// Invariants of the flash. No wake-up is lost: an idle die with unmasked work waits in its channel's queue.
    ///
    /// # Errors
    /// The first one that does not hold.
    pub(crate) fn audit(&self) -> Result<(), String> {
        for (index, die) in self.dies.iter().enumerate() {
            if !die.is_running() && !die.is_suspended() && die.open_work() != 0 && !die.queued {
                return Err(format!("die {index} is idle with work {:#x} that nothing masks, and waits for nothing", die.open_work()));
            }
        }
        Ok(())
    }

    /// The same where no request is outstanding: nothing of the host waits or is counted.
    ///
    /// # Errors
    /// The first invariant that does not hold.
    pub(crate) fn audit_idle(&self) -> Result<(), String> {
        for (index, plane) in self.planes.iter().enumerate() {
            if plane.lines[..4].iter().chain([&plane.space_blocked]).any(|line| !line.is_empty()) {
                return Err(format!("plane {index} has waiting host operations and no request waits for them"));
            }
        }
        if let Some(index) = self.channels.iter().position(|channel| channel.host_operations != 0) {
            return Err(format!("channel {index} counts host operations and no request is outstanding"));
        }
        if !self.merged.is_empty() {
            return Err(format!("{} reads are merged with others and no request is outstanding", self.merged.len()));
        }
        Ok(())
    }
}

#[cfg(test)]
impl Flash {
    pub(crate) fn dies_for_test(&mut self) -> &mut [Die] {
        &mut self.dies
    }

    pub(crate) fn planes_for_test(&mut self) -> &mut [PlaneQueues] {
        &mut self.planes
    }

    /// One bit for each traffic class that takes no time.
    pub(crate) fn free_for_test(&mut self, traffic_classes: u32) {
        self.free = traffic_classes;
    }

    pub(crate) fn channels_for_test(&mut self) -> &mut [Channel] {
        &mut self.channels
    }
}
