//! What a request that waits in the host for a slot of the device waits for.
//!
//! A slot comes free when a request in the device completes. So a wait for one is attributed as the requests that completed
//! during it had spent their own time in the device: in proportion to the sums of their parts. What was their own work is a
//! wait for other requests to the one that had no slot. A request is explained when it completes and not before, which is why
//! those that are still in the device do not count; over a wait in which many complete, each cause counts for as long as it kept
//! slots taken.
//!
//! Requests that wait at about the same time share one mix of causes. Its completions begin up to a queue's depth of them before
//! the wait does, or by 1/256 of the longest wait that there is then, but never before the line formed; and the last quarter of
//! them may be missing. So a line of any length keeps a few hundred marks, and most waits take no sum of their own. Nothing here
//! costs anything while nobody waits.

use crate::host::CommandKind;
use crate::ids::NONE;
use crate::observe::{
    ARRAY, BUFFER, BUFFER_WAIT, Blame, COMMAND, COMPUTE, DIE, LINK, LINK_WAIT, OVERHEAD, OVERHEAD_WAIT, Occupant, PARTS, TRANSFER,
};
use crate::sched::ops::Pool;
use crate::units::Ns;
use std::collections::VecDeque;

/// Marks are as far apart as the longest wait is long, divided by this; or farther.
const MARKS_OF_LINE: u64 = 256;

/// The shares of a mix are parts of so many bits.
const SHARE_BITS: u32 = 32;

/// For each part of a request in the device what it is to others that wait for its slot.
const fn seen_from_host(own_work: Occupant) -> [u8; PARTS] {
    let mut seen = [0; PARTS];
    let mut part = 0;
    while part < PARTS {
        seen[part] = match part {
            OVERHEAD => OVERHEAD_WAIT,
            BUFFER => BUFFER_WAIT,
            LINK => LINK_WAIT,
            COMMAND | ARRAY | TRANSFER => DIE + own_work as usize,
            COMPUTE => DIE + Occupant::Reconstruction as usize,
            wait => wait,
        } as u8;
        part += 1;
    }
    seen
}

/// The same by kind of request.
const SEEN_FROM_HOST: [[u8; PARTS]; 3] =
    [seen_from_host(Occupant::HostRead), seen_from_host(Occupant::HostProgram), seen_from_host(Occupant::HostRead)];

/// The sums when a request began to wait.
#[derive(Clone, Debug)]
struct Mark {
    completed: u64,
    spent: [Ns; PARTS],
}

/// The causes of some waits: parts, with the share of each and of all before it.
#[derive(Clone, Debug)]
struct Mix {
    /// Requests that are in the device after such a wait, and one more while the mix may be given to others.
    users: u32,
    len: u8,
    parts: [u8; PARTS],
    shares: [u64; PARTS],
}

/// What kept the slots of a device taken while requests waited for one.
#[derive(Debug)]
pub(crate) struct SlotWaits {
    /// Completions from one mark to the next, at least.
    spacing: u64,
    /// Requests that completed while others waited.
    completed: u64,
    /// Their time in the device by cause.
    spent: [Ns; PARTS],
    marks: VecDeque<Mark>,
    mixes: Pool<Mix>,
    /// The mix that was made last; `NONE`: it is not for those who wait now.
    current: u32,
    /// Its completions, by their numbers, and those who may have it: they came before this many completions.
    from: u64,
    to: u64,
    before: u64,
}

impl SlotWaits {
    pub fn new(queue_depth: u32) -> Self {
        Self {
            spacing: queue_depth.into(),
            completed: 0,
            spent: [0; PARTS],
            marks: VecDeque::new(),
            mixes: Pool::with_capacity(4),
            current: NONE,
            from: 0,
            to: 0,
            before: 0,
        }
    }

    /// A request has completed while others wait; `blame` has its time in the device.
    #[inline]
    pub fn completed(&mut self, kind: CommandKind, blame: &Blame) {
        let seen = &SEEN_FROM_HOST[kind as usize];
        for (part, ns) in blame.parts() {
            let sum = &mut self.spent[usize::from(seen[part])];
            *sum = sum.wrapping_add(ns);
        }
        self.completed += 1;
    }

    /// A request begins to wait, as the first of those who wait now or not. `oldest` has what was returned for the one that waits
    /// longest. Returns the completions so far, by which it is known when it began.
    #[inline]
    pub fn begin(&mut self, is_first: bool, oldest: impl FnOnce() -> u64) -> u64 {
        if is_first {
            self.marks.clear();
            self.retire();
        }
        if self.marks.back().is_none_or(|mark| self.completed - mark.completed >= self.spacing) {
            self.mark(if is_first { self.completed } else { oldest() });
        }
        self.completed
    }

    #[inline(never)]
    fn mark(&mut self, oldest: u64) {
        while self.marks.get(1).is_some_and(|next| next.completed <= oldest) {
            self.marks.pop_front();
        }
        let distance = self.marks.back().map_or(u64::MAX, |mark| self.completed - mark.completed);
        if distance >= (self.completed - oldest) / MARKS_OF_LINE {
            self.marks.push_back(Mark { completed: self.completed, spent: self.spent });
        }
    }

    /// The mix of causes for a request whose wait ends now, and lasted. It counts as used until `end`.
    #[inline]
    pub fn mix(&mut self, since: u64) -> u32 {
        let fits = self.current != NONE && (self.from..self.before).contains(&since);
        if !fits || (self.completed - self.to) * 4 > self.to - self.from {
            self.make(since);
        }
        self.mixes[self.current as usize].users += 1;
        self.current
    }

    #[inline(never)]
    fn make(&mut self, since: u64) {
        self.retire();
        let index = self.marks.partition_point(|mark| mark.completed <= since) - 1;
        let mark = &self.marks[index];
        let mut mix = Mix { users: 1, len: 0, parts: [0; PARTS], shares: [0; PARTS] };
        let mut sum: Ns = 0;
        for part in 0..PARTS {
            let spent = self.spent[part].wrapping_sub(mark.spent[part]);
            if spent > 0 {
                sum = sum.saturating_add(spent);
                mix.parts[usize::from(mix.len)] = part as u8;
                mix.shares[usize::from(mix.len)] = sum;
                mix.len += 1;
            }
        }
        // All slots were taken all the time, so those who had the one that is free now took as long together.
        crate::check!(sum > 0, "a wait in which nobody spent any time in the device");
        let shift = (Ns::BITS - sum.leading_zeros()).saturating_sub(SHARE_BITS);
        let unit = (1 << (Ns::BITS - 1)) / (sum >> shift).max(1);
        let shares = &mut mix.shares[..usize::from(mix.len)];
        for share in shares.iter_mut() {
            *share = ((*share >> shift) * unit) >> (Ns::BITS - 1 - SHARE_BITS);
        }
        if let Some(last) = shares.last_mut() {
            *last = 1 << SHARE_BITS;
        }
        self.from = mark.completed;
        self.to = self.completed;
        self.before = self.marks.get(index + 1).map_or(self.completed, |next| next.completed);
        self.current = self.mixes.insert(mix);
    }

    /// The current mix is given to nobody any more.
    fn retire(&mut self) {
        if self.current != NONE {
            let current = std::mem::replace(&mut self.current, NONE);
            self.release(current);
        }
    }

    #[inline]
    fn release(&mut self, mix: u32) {
        let users = &mut self.mixes[mix as usize].users;
        *users -= 1;
        if *users == 0 {
            self.mixes.remove(mix);
        }
    }

    /// Divides a wait by a mix, which is used no more: adds parts that add up to the wait exactly.
    #[inline]
    pub fn end(&mut self, mix: u32, wait: Ns, mut add: impl FnMut(usize, Ns)) {
        let Mix { len, parts, shares, .. } = &self.mixes[mix as usize];
        let mut divided = 0;
        for (&part, &share) in parts.iter().zip(shares).take(usize::from(*len)) {
            let up_to = ((u128::from(wait) * u128::from(share) + (1 << (SHARE_BITS - 1))) >> SHARE_BITS) as Ns;
            add(usize::from(part), up_to - divided);
            divided = up_to;
        }
        self.release(mix);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::{BUFFER_FULL, SPACE};
    use proptest::prelude::*;

    const READ_AT_DIE: usize = DIE + Occupant::HostRead as usize;
    const ERASE: usize = DIE + Occupant::Erase as usize;

    fn blame(parts: &[(usize, Ns)]) -> Blame {
        let mut blame = Blame::default();
        parts.iter().for_each(|&(part, ns)| blame.add(part, ns));
        blame
    }

    fn divided(waits: &mut SlotWaits, since: u64, wait: Ns) -> Blame {
        let mix = waits.mix(since);
        let mut parts = Blame::default();
        waits.end(mix, wait, |part, ns| parts.add(part, ns));
        assert_eq!(parts.total(), wait);
        parts
    }

    #[test]
    fn a_wait_is_divided_like_the_time_of_those_that_completed_in_it() {
        let mut waits = SlotWaits::new(1);
        let first = waits.begin(true, || unreachable!());
        waits.completed(CommandKind::Read, &blame(&[(ARRAY, 10), (ERASE, 190)]));
        let second = waits.begin(false, || first);
        waits.completed(CommandKind::Write, &blame(&[(BUFFER, 20), (BUFFER_FULL, 70), (LINK, 10)]));
        let found = divided(&mut waits, first, 600);
        let parts: Vec<_> = found.parts().collect();
        assert_eq!(parts, [(BUFFER_WAIT, 40), (BUFFER_FULL, 140), (LINK_WAIT, 20), (READ_AT_DIE, 20), (ERASE, 380)]);
        let found = divided(&mut waits, second, 10);
        assert_eq!(found.parts().collect::<Vec<_>>(), [(BUFFER_WAIT, 2), (BUFFER_FULL, 7), (LINK_WAIT, 1)], "not what was before it");
    }

    #[test]
    fn a_new_line_knows_nothing_of_the_one_before() {
        let mut waits = SlotWaits::new(64);
        let old = waits.begin(true, || unreachable!());
        waits.completed(CommandKind::Read, &blame(&[(ERASE, 1000)]));
        assert_eq!(divided(&mut waits, old, 5).get(ERASE), 5);
        let new = waits.begin(true, || unreachable!());
        waits.completed(CommandKind::Read, &blame(&[(SPACE, 1)]));
        assert_eq!(divided(&mut waits, new, 5).get(SPACE), 5);
    }

    #[test]
    fn a_line_of_thousands_keeps_few_marks_and_old_ones_in_proportion() {
        let mut waits = SlotWaits::new(1);
        let mut since = vec![waits.begin(true, || unreachable!())];
        for number in 0..100_000 {
            let part = if number < 50_000 { ERASE } else { SPACE };
            waits.completed(CommandKind::Read, &blame(&[(part, 100)]));
            since.push(waits.begin(false, || 0));
        }
        assert!(waits.marks.len() < 2000, "{}", waits.marks.len());
        // The last quarter of the completions, of which all waited for space; and from a quarter on, of which two thirds did.
        assert_eq!(divided(&mut waits, since[75_000], 900).get(SPACE), 900);
        let most = divided(&mut waits, since[25_000], 9000).get(SPACE);
        assert!(most.abs_diff(6000) < 100, "{most}");
        assert!(waits.mixes.in_use() <= 1, "mixes are given back");
        // As the line gets shorter, what nobody needs any more is forgotten.
        for _ in 0..1000 {
            waits.completed(CommandKind::Read, &blame(&[(SPACE, 100)]));
            waits.begin(false, || 100_000);
        }
        assert!(waits.marks.len() < 1000, "{}", waits.marks.len());
    }

    proptest! {
        #[test]
        fn whatever_completes_the_parts_add_up(
            depth in 1u32..100,
            steps in prop::collection::vec((0usize..PARTS, 1u64..1 << 51, 0u64..1 << 51, any::<bool>()), 1..200),
        ) {
            let mut waits = SlotWaits::new(depth);
            let mut line = VecDeque::new();
            for (part, ns, wait, goes) in steps {
                line.push_back(waits.begin(line.is_empty(), || line[0]));
                waits.completed(CommandKind::Read, &blame(&[(part, ns), (ARRAY, 1)]));
                if goes && let Some(since) = line.pop_front() {
                    divided(&mut waits, since, wait);
                }
            }
        }
    }
}
