//! What a request waits for that waits for a slot: in the host for one of the device, or in the device for a page of the write
//! buffer.
//!
//! A slot comes free when its holder completes: a request in the device, or the program of a page in the buffer. So a wait for one
//! is attributed as the holders that completed during it had spent their own time: in proportion to the sums of their parts. What
//! was their own work is a wait for others to the one that had no slot. A holder is explained when it completes and not before,
//! which is why those that still have theirs do not count; over a wait in which many complete, each cause counts for as long as it
//! kept slots taken.
//!
//! Requests that wait at about the same time share one mix of causes. Its completions begin up to a stated number of them before
//! the wait does, or by 1/256 of those in the longest wait that there is then, but never before the line formed; and the last
//! third of them may be missing. So a line of any length keeps a few hundred marks, and most waits take no sum of their own.
//! Nothing here costs anything while nobody waits.

use crate::attribution::parts::{
    ARRAY, Attribution, BUFFER, BUFFER_ASSEMBLY, BUFFER_FULL, BUFFER_PLACE, BUFFER_POLICY, BUFFER_SPACE, BUFFER_WAIT, CHANNEL,
    CHANNEL_IDLE, COMMAND, COMPUTE, DIE, FOR_BUFFER, LINK, LINK_WAIT, LOCKED_GC_PROGRAM, LOCKED_GC_READ, OVERHEAD, OVERHEAD_WAIT, PARTS,
    PLACE, SPACE, TRAFFIC_CLASSES, TRANSFER, TrafficClass, bits,
};
use crate::commands::CommandKind;
use crate::ids::NONE;
use crate::slab::Slab;
use crate::units::Ns;
use std::collections::VecDeque;
use std::ops::Range;

/// Marks are as far apart as the longest wait is long, divided by this; or farther.
const MARKS_OF_LINE: u64 = 256;

/// The shares of a mix are parts of so many bits.
const SHARE_BITS: u32 = 32;

/// For each part of a request in the device what it is to others that wait for its slot.
const fn seen_from_host(own_work: TrafficClass) -> [u8; PARTS] {
    let mut seen = [0; PARTS];
    let mut part = 0;
    while part < PARTS {
        seen[part] = match part {
            OVERHEAD => OVERHEAD_WAIT,
            BUFFER => BUFFER_WAIT,
            LINK => LINK_WAIT,
            COMMAND | ARRAY | TRANSFER => DIE + own_work as usize,
            COMPUTE => DIE + TrafficClass::Reconstruction as usize,
            wait => wait,
        } as u8;
        part += 1;
    }
    seen
}

/// For each part of the program of a page in the buffer, and of the read before it, what it is to writes that wait for its room. What
/// waited by choice waited for others to be programmed with, where programs are assembled.
const fn seen_from_buffer(by_choice: usize) -> [u8; PARTS] {
    let mut seen = [BUFFER_FULL as u8; PARTS];
    seen[COMMAND] = (FOR_BUFFER + TrafficClass::Flush as usize) as u8;
    (seen[ARRAY], seen[TRANSFER]) = (seen[COMMAND], seen[COMMAND]);
    seen[COMPUTE] = (FOR_BUFFER + TrafficClass::Parity as usize) as u8;
    (seen[SPACE], seen[PLACE]) = (BUFFER_SPACE as u8, BUFFER_PLACE as u8);
    let mut class = 0;
    while class < TRAFFIC_CLASSES {
        seen[DIE + class] = (FOR_BUFFER + class) as u8;
        class += 1;
    }
    let mut category = 0;
    while CHANNEL + category < FOR_BUFFER {
        let class = match category {
            LOCKED_GC_READ => TrafficClass::GcRead as usize,
            LOCKED_GC_PROGRAM => TrafficClass::GcProgram as usize,
            traffic if traffic < LOCKED_GC_READ => traffic,
            _ => TrafficClass::GcLock as usize,
        };
        seen[CHANNEL + category] = (FOR_BUFFER + class) as u8;
        category += 1;
    }
    seen[CHANNEL + CHANNEL_IDLE] = by_choice as u8;
    seen
}

/// Who has a slot that others wait for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Holder {
    /// Requests have those of the device.
    Request(CommandKind),
    /// Pages on their way to the flash have those of the buffer.
    Page,
    /// The same where programs wait for others to be programmed with.
    AssembledPage,
}

/// Number of holders.
const HOLDERS: usize = 5;

/// What parts of theirs are to those who wait, by holder.
const SEEN: [[u8; PARTS]; HOLDERS] = [
    seen_from_host(TrafficClass::HostRead),
    seen_from_host(TrafficClass::HostProgram),
    seen_from_host(TrafficClass::HostRead),
    seen_from_buffer(BUFFER_POLICY),
    seen_from_buffer(BUFFER_ASSEMBLY),
];

impl Holder {
    #[inline]
    fn index(self) -> usize {
        match self {
            Self::Request(kind) => kind as usize,
            Self::Page => HOLDERS - 2,
            Self::AssembledPage => HOLDERS - 1,
        }
    }
}

/// The causes, in order, that holders with these parts keep others waiting for; bits by holder.
fn causes(parts: [u64; HOLDERS]) -> impl Iterator<Item = usize> {
    let mut seen = 0u64;
    for (parts, holder) in parts.into_iter().zip(&SEEN) {
        bits(parts).for_each(|part| seen |= 1 << holder[part]);
    }
    bits(seen)
}

/// The sums when a request began to wait.
#[derive(Clone, Debug)]
struct Mark {
    at: Ns,
    completed: u64,
    spent: [Ns; PARTS],
}

/// The causes of some waits: parts, with the share of each and of all before it.
#[derive(Clone, Debug)]
pub(crate) struct Mix {
    /// Requests that are in the device after such a wait, and one more while the mix may be given to others.
    users: u32,
    len: u8,
    parts: [u8; PARTS],
    shares: [u64; PARTS],
}

/// What kept slots taken while requests waited for one.
#[derive(Debug)]
pub(crate) struct SlotWaits {
    /// Completions from one mark to the next, at least.
    spacing: u64,
    /// Holders that completed while others waited.
    completed: u64,
    /// Their time by cause.
    spent: [Ns; PARTS],
    /// For each holder one bit for each part that one ever had.
    parts: [u64; HOLDERS],
    marks: VecDeque<Mark>,
    /// Completions when the line formed.
    formed: u64,
    /// Completions before which there is no other mark.
    next_mark: u64,
    mixes: Slab<Mix>,
    /// The mix that was made last; `NONE`: it is not for those who wait now.
    current: u32,
    /// Its completions, by their numbers.
    from: u64,
    to: u64,
    /// Those who may have it: they came at these times.
    comers: Range<Ns>,
}

impl SlotWaits {
    /// `spacing`: how many completions lie at least between the beginnings of mixes.
    pub fn new(spacing: u32) -> Self {
        Self {
            spacing: spacing.into(),
            completed: 0,
            spent: [0; PARTS],
            parts: [0; HOLDERS],
            marks: VecDeque::new(),
            formed: 0,
            next_mark: 0,
            mixes: Slab::with_capacity(4),
            current: NONE,
            from: 0,
            to: 0,
            comers: 0..0,
        }
    }

    /// A holder has completed while others wait; `attribution` has its time.
    #[inline]
    pub fn completed(&mut self, holder: Holder, attribution: &Attribution) {
        let seen = &SEEN[holder.index()];
        for (part, ns) in attribution.parts() {
            let cause = usize::from(seen[part]);
            self.spent[cause] = self.spent[cause].wrapping_add(ns);
        }
        self.parts[holder.index()] |= attribution.mask();
        self.completed += 1;
    }

    /// A request begins to wait at `now`, as the first of those who wait now or not. `oldest` says since when the one waits that
    /// waits longest.
    #[inline]
    pub fn begin(&mut self, now: Ns, is_first: bool, oldest: impl FnOnce() -> Ns) {
        if is_first {
            self.marks.clear();
            (self.formed, self.next_mark) = (self.completed, self.completed);
            self.retire();
        }
        if self.completed >= self.next_mark {
            self.mark(now, if is_first { now } else { oldest() });
        }
    }

    #[inline(never)]
    fn mark(&mut self, now: Ns, oldest: Ns) {
        while self.marks.get(1).is_some_and(|next| next.at <= oldest) {
            self.marks.pop_front();
        }
        let completed_since = self.completed - self.marks.front().map_or(self.completed, |mark| mark.completed);
        self.marks.push_back(Mark { at: now, completed: self.completed, spent: self.spent });
        self.next_mark = self.completed + self.spacing.max(completed_since / MARKS_OF_LINE);
    }

    /// Holders that have completed since the line formed.
    #[inline]
    pub fn completed_in_line(&self) -> u64 {
        self.completed - self.formed
    }

    /// The mix of causes for a request that has waited from `since` to `now`. It counts as used until `release`.
    #[inline]
    pub fn mix(&mut self, since: Ns, now: Ns) -> u32 {
        let fits = self.current != NONE && self.comers.contains(&since);
        if !fits || (self.completed - self.to) * 2 > self.to - self.from {
            self.make(since, now);
        }
        self.mixes[self.current as usize].users += 1;
        self.current
    }

    #[inline(never)]
    fn make(&mut self, since: Ns, now: Ns) {
        self.retire();
        let index = self.marks.partition_point(|mark| mark.at <= since) - 1;
        let mark = &self.marks[index];
        self.current = self.mixes.reuse(|| Mix { users: 0, len: 0, parts: [0; PARTS], shares: [0; PARTS] });
        let mix = &mut self.mixes[self.current as usize];
        (mix.users, mix.len) = (1, 0);
        let mut sum: Ns = 0;
        for part in causes(self.parts) {
            let spent = self.spent[part].wrapping_sub(mark.spent[part]);
            if spent > 0 {
                sum = sum.saturating_add(spent);
                mix.parts[usize::from(mix.len)] = part as u8;
                mix.shares[usize::from(mix.len)] = sum;
                mix.len += 1;
            }
        }
        if sum == 0 {
            // All slots of the device were taken all the time, so those who had the one that is free now took as long together. A
            // page of the buffer may have been given up, or have been on its way before anybody asked what it waited for.
            mix.parts[0] = BUFFER_FULL as u8;
            (sum, mix.shares[0], mix.len) = (1, 1, 1);
        }
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
        self.comers = mark.at..self.marks.get(index + 1).map_or(now, |next| next.at);
    }

    /// The current mix is given to nobody any more.
    fn retire(&mut self) {
        if self.current != NONE {
            let current = std::mem::replace(&mut self.current, NONE);
            self.release(current);
        }
    }

    /// What `mix` returned a number of.
    #[inline]
    pub fn get(&self, mix: u32) -> &Mix {
        &self.mixes[mix as usize]
    }

    /// A mix is used once less.
    #[inline]
    pub fn release(&mut self, mix: u32) {
        let users = &mut self.mixes[mix as usize].users;
        *users -= 1;
        if *users == 0 {
            self.mixes.remove(mix);
        }
    }
}

impl Mix {
    /// Divides a wait into parts that add up to it exactly.
    #[inline]
    pub fn divide(&self, wait: Ns) -> impl Iterator<Item = (usize, Ns)> + '_ {
        let mut divided = 0;
        self.parts.iter().zip(&self.shares).take(usize::from(self.len)).map(move |(&part, &share)| {
            let up_to = ((u128::from(wait) * u128::from(share) + (1 << (SHARE_BITS - 1))) >> SHARE_BITS) as Ns;
            (usize::from(part), up_to - std::mem::replace(&mut divided, up_to))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const READ_AT_DIE: usize = DIE + TrafficClass::HostRead as usize;
    const ERASE: usize = DIE + TrafficClass::Erase as usize;

    fn attribution(parts: &[(usize, Ns)]) -> Attribution {
        let mut attribution = Attribution::default();
        parts.iter().for_each(|&(part, ns)| attribution.add(part, ns));
        attribution
    }

    /// Divides a wait of a length of its own, whenever it began and ended.
    fn divided(waits: &mut SlotWaits, (since, now): (Ns, Ns), wait: Ns) -> Attribution {
        let mix = waits.mix(since, now);
        let mut parts = Attribution::default();
        waits.get(mix).divide(wait).for_each(|(part, ns)| parts.add(part, ns));
        waits.release(mix);
        assert_eq!(parts.total(), wait);
        parts
    }

    #[test]
    fn a_wait_is_divided_like_the_time_of_those_that_completed_in_it() {
        let mut waits = SlotWaits::new(1);
        waits.begin(100, true, || unreachable!());
        waits.completed(Holder::Request(CommandKind::Read), &attribution(&[(ARRAY, 10), (ERASE, 190)]));
        waits.begin(300, false, || 100);
        waits.completed(Holder::Request(CommandKind::Write), &attribution(&[(BUFFER, 20), (BUFFER_FULL, 70), (LINK, 10)]));
        let found = divided(&mut waits, (100, 700), 600);
        let parts: Vec<_> = found.parts().collect();
        assert_eq!(parts, [(BUFFER_WAIT, 40), (BUFFER_FULL, 140), (LINK_WAIT, 20), (READ_AT_DIE, 20), (ERASE, 380)]);
        let found = divided(&mut waits, (300, 700), 10);
        assert_eq!(found.parts().collect::<Vec<_>>(), [(BUFFER_WAIT, 2), (BUFFER_FULL, 7), (LINK_WAIT, 1)], "not what was before it");
    }

    #[test]
    fn a_new_line_knows_nothing_of_the_one_before() {
        let mut waits = SlotWaits::new(64);
        waits.begin(1, true, || unreachable!());
        waits.completed(Holder::Request(CommandKind::Read), &attribution(&[(ERASE, 1000)]));
        assert_eq!(divided(&mut waits, (1, 6), 5).get(ERASE), 5);
        waits.begin(7, true, || unreachable!());
        waits.completed(Holder::Request(CommandKind::Read), &attribution(&[(SPACE, 1)]));
        assert_eq!(divided(&mut waits, (7, 12), 5).get(SPACE), 5);
    }

    #[test]
    fn a_line_of_thousands_keeps_few_marks_and_old_ones_in_proportion() {
        let mut waits = SlotWaits::new(1);
        waits.begin(0, true, || unreachable!());
        for number in 0..100_000 {
            let part = if number < 50_000 { ERASE } else { SPACE };
            waits.completed(Holder::Request(CommandKind::Read), &attribution(&[(part, 100)]));
            waits.begin(number + 1, false, || 0);
        }
        assert!(waits.marks.len() < 2000, "{}", waits.marks.len());
        // The last quarter of the completions, of which all waited for space; and from a quarter on, of which two thirds did.
        assert_eq!(divided(&mut waits, (75_000, 100_001), 900).get(SPACE), 900);
        let most = divided(&mut waits, (25_000, 100_001), 9000).get(SPACE);
        assert!(most.abs_diff(6000) < 100, "{most}");
        assert!(waits.mixes.in_use() <= 1, "mixes are given back");
        // As the line gets shorter, what nobody needs any more is forgotten.
        for number in 0..1000 {
            waits.completed(Holder::Request(CommandKind::Read), &attribution(&[(SPACE, 100)]));
            waits.begin(100_001 + number, false, || 100_000);
        }
        assert!(waits.marks.len() < 1000, "{}", waits.marks.len());
    }

    proptest! {
        #[test]
        fn whatever_completes_the_parts_add_up(
            depth in 1u32..100,
            steps in prop::collection::vec((0usize..PARTS, 1u64..1 << 51, 0u64..3, 0u64..1 << 51, any::<bool>()), 1..200),
            holder in prop::sample::select(vec![Holder::Request(CommandKind::Read), Holder::Page, Holder::AssembledPage]),
            explained in any::<bool>(),
        ) {
            let mut waits = SlotWaits::new(depth);
            let mut line = VecDeque::new();
            let mut now = 0;
            for (part, ns, gap, wait, goes) in steps {
                now += gap;
                waits.begin(now, line.is_empty(), || line[0]);
                line.push_back(now);
                now += 1;
                if explained {
                    waits.completed(holder, &attribution(&[(part, ns), (ARRAY, 1)]));
                }
                if goes && let Some(since) = line.pop_front() {
                    divided(&mut waits, (since, now), wait);
                }
            }
        }
    }
}
