//! The latencies of traces that record the issue of a request and its completion in lines of their own.
//!
//! Requests are held in the order of the file until the completion of the first of them is known, so that no more are held
//! than are outstanding; one whose completion is missing holds up as many as may be out of order.
//!
//! A completion is of the sectors from its first one on: of one request, of a part of one, or of several that were merged.
//! Where several requests wait for the same sector, it is that of the latest: if the others' completions were lost, none of
//! them gets the time until a completion that is not its own. Recorders that merge streams may write a completion before its
//! request. A request whose completion is not found has no latency.
//!
//! A request that the driver has put back is issued once more. The issue before is taken back then, so that a request counts once,
//! from its last issue on.
//!
//! A zone append is issued to the start of its zone. Its completion names the sectors that were written, and these are its place. Of
//! the appends of that size that wait for zones which begin at or before the place, it is the first of the last such zone.

use std::collections::{BTreeMap, VecDeque};
use std::iter;

use rustc_hash::FxHashMap;
use tinytail_core::units::Ns;

use crate::trace::format::Record;
use crate::trace::op::Op;
use crate::trace::records::{PLACES_MAX, Request};

/// Where a completion begins: device, operation and first sector.
type Place = (u32, Op, u64);

/// Requests whose completions are looked for.
#[derive(Default)]
pub(super) struct Completions {
    held: VecDeque<Held>,
    /// The number of the first that is held, counted from the first of the trace.
    first: u64,
    /// The requests that wait for a completion of this place, the latest last. Some may have been let go.
    waiting: FxHashMap<Place, VecDeque<u64>>,
    /// The ends and times of completions that stand before their requests, or whose requests are not in the trace.
    early: FxHashMap<Place, (u64, i128)>,
    /// The zone appends that wait for their places: of each device and size by the start of the zone, the first first.
    appends: FxHashMap<(u32, u32), BTreeMap<u64, VecDeque<u64>>>,
    /// Completions of zone appends that stand before their requests, by device and size: places and times.
    early_appends: FxHashMap<(u32, u32), BTreeMap<u64, i128>>,
    /// How many zone appends were let go without a place.
    unplaced: u64,
    /// The requests that were put back and not issued again since, by their places, and of zone appends by zone and size.
    requeued: FxHashMap<Place, u64>,
    requeued_appends: FxHashMap<(u32, u32, u64), u64>,
    /// How many issues were taken back.
    taken_back: u64,
}

struct Held {
    request: Request,
    waits: Wait,
}

/// The completion that a request waits for.
#[derive(Clone, Copy)]
enum Wait {
    Nothing,
    /// One that begins at this place.
    At(Place),
    /// One of a zone append, somewhere in its zone.
    InZone,
    /// None, as it was issued again since.
    TakenBack,
}

fn end(record: &Record) -> u64 {
    record.sector + u64::from(record.sectors)
}

fn latency_ns(issued: &Record, completed_ns: i128) -> Option<Ns> {
    Ns::try_from(completed_ns - issued.time_ns).ok()
}

impl Completions {
    /// Holds a request until its completion is known.
    pub(super) fn issued(&mut self, mut request: Request) {
        let record = &mut request.record;
        let place = (record.device, record.op, record.sector);
        if let Some(number) = self.requeued.remove(&place) {
            self.take_back(place, number);
        }
        if let Some((early_end, completed_ns)) = self.early.get(&place).copied()
            && early_end == end(record)
            && let Some(latency_ns) = latency_ns(record, completed_ns)
        {
            self.early.remove(&place);
            record.latency_ns = Some(latency_ns);
            self.held.push_back(Held { request, waits: Wait::Nothing });
            return;
        }
        self.waiting.entry(place).or_default().push_back(self.first + self.held.len() as u64);
        self.held.push_back(Held { request, waits: Wait::At(place) });
    }

    /// Notes that the latest request of a place was put back: the next of this place is the same request.
    pub(super) fn requeued(&mut self, requeued: &Record, appends: bool) {
        if appends {
            let key = (requeued.device, requeued.sectors, requeued.sector);
            let zones = self.appends.get(&(requeued.device, requeued.sectors));
            if let Some(number) = zones.and_then(|zones| zones.get(&requeued.sector)?.back()) {
                self.requeued_appends.insert(key, *number);
            }
            return;
        }
        let place = (requeued.device, requeued.op, requeued.sector);
        if let Some(number) = self.waiting.get(&place).and_then(|waiting| waiting.back()) {
            self.requeued.insert(place, *number);
        }
    }

    /// Takes back a request that waits for a completion of this place.
    fn take_back(&mut self, place: Place, number: u64) {
        let held = number.checked_sub(self.first).and_then(|index| self.held.get_mut(index as usize));
        let Some(held) = held.filter(|held| matches!(held.waits, Wait::At(own) if own == place)) else { return };
        held.waits = Wait::TakenBack;
        self.taken_back += 1;
        if let Some(waiting) = self.waiting.get_mut(&place) {
            waiting.retain(|other| *other != number);
        }
    }

    /// How many requests were issued again after they had been put back.
    pub(super) fn taken_back(&self) -> u64 {
        self.taken_back
    }

    /// Takes a completion to the requests that it is of.
    pub(super) fn completed(&mut self, completion: &Record) {
        let (mut sector, completed_end) = (completion.sector, end(completion));
        while sector < completed_end {
            let place = (completion.device, completion.op, sector);
            let Some(number) = self.take_waiting(place) else { break };
            let Some(held) = self.held.get_mut((number - self.first) as usize) else { break };
            let record = &mut held.request.record;
            sector = end(record);
            if sector > completed_end {
                let rest = (completion.device, completion.op, completed_end);
                held.waits = Wait::At(rest);
                self.waiting.entry(rest).or_default().push_back(number);
                return;
            }
            record.latency_ns = latency_ns(record, completion.time_ns);
            held.waits = Wait::Nothing;
        }
        if sector == completion.sector {
            if self.early.len() as u64 == PLACES_MAX {
                self.early.clear();
            }
            self.early.insert((completion.device, completion.op, sector), (completed_end, completion.time_ns));
        }
    }

    /// Holds a zone append until its place is known.
    pub(super) fn appended(&mut self, mut request: Request) {
        let record = &mut request.record;
        let key = (record.device, record.sectors);
        if let Some(number) = self.requeued_appends.remove(&(record.device, record.sectors, record.sector))
            && let Some(waiting) = self.appends.get_mut(&key).and_then(|zones| zones.get_mut(&record.sector))
            && let Some(index) = waiting.iter().position(|other| *other == number)
            && let Some(held) = self.held.get_mut((number - self.first) as usize)
        {
            waiting.remove(index);
            held.waits = Wait::TakenBack;
            self.taken_back += 1;
            if waiting.is_empty()
                && let Some(zones) = self.appends.get_mut(&key)
            {
                zones.remove(&record.sector);
            }
        }
        if let Some(early) = self.early_appends.get_mut(&key) {
            // What completed before is of a request from before the trace.
            early.retain(|_, completed_ns| *completed_ns >= record.time_ns);
            if let Some((sector, completed_ns)) = early.range(record.sector..).next().map(|(sector, time_ns)| (*sector, *time_ns)) {
                early.remove(&sector);
                record.sector = sector;
                record.latency_ns = latency_ns(record, completed_ns);
                self.held.push_back(Held { request, waits: Wait::Nothing });
                return;
            }
        }
        let number = self.first + self.held.len() as u64;
        self.appends.entry(key).or_default().entry(record.sector).or_default().push_back(number);
        self.held.push_back(Held { request, waits: Wait::InZone });
    }

    /// Takes the place and the time of a zone append's completion to its request.
    pub(super) fn placed(&mut self, completion: &Record) {
        let key = (completion.device, completion.sectors);
        let zone = self.appends.get_mut(&key).and_then(|zones| zones.range_mut(..=completion.sector).next_back());
        let number = zone.and_then(|(start, waiting)| Some((*start, waiting.pop_front()?, waiting.is_empty())));
        let Some((start, number, was_last)) = number else {
            let early = self.early_appends.entry(key).or_default();
            if early.len() as u64 == PLACES_MAX {
                early.clear();
            }
            early.insert(completion.sector, completion.time_ns);
            return;
        };
        if was_last && let Some(zones) = self.appends.get_mut(&key) {
            zones.remove(&start);
        }
        if let Some(held) = self.held.get_mut((number - self.first) as usize) {
            let record = &mut held.request.record;
            record.sector = completion.sector;
            record.latency_ns = latency_ns(record, completion.time_ns);
            held.waits = Wait::Nothing;
        }
    }

    /// How many zone appends had no completion, so that their place is the start of their zone.
    pub(super) fn unplaced(&self) -> u64 {
        self.unplaced
    }

    /// The next request that waits for nothing any more; the first of all at the end, or where too many are held.
    pub(super) fn next(&mut self, at_end: bool) -> Option<Request> {
        while self.held.front().is_some_and(|first| matches!(first.waits, Wait::TakenBack)) {
            self.held.pop_front();
            self.first += 1;
        }
        let first = self.held.front()?;
        if !matches!(first.waits, Wait::Nothing) && !at_end && self.held.len() as u64 <= PLACES_MAX {
            return None;
        }
        match first.waits {
            Wait::Nothing | Wait::TakenBack => {}
            Wait::At(place) => self.forget(place, self.first),
            Wait::InZone => {
                let record = first.request.record;
                self.unplaced += 1;
                self.forget_append(&record);
            }
        }
        self.first += 1;
        self.held.pop_front().map(|held| held.request)
    }

    /// Forgets those at the front of a place, up to this number. One that is not at the front is forgotten when it comes there, or
    /// passed over: a search for it would be as long as many wait there.
    fn forget(&mut self, place: Place, number: u64) {
        if let Some(waiting) = self.waiting.get_mut(&place) {
            while waiting.front().is_some_and(|first| *first <= number) {
                waiting.pop_front();
            }
            if waiting.is_empty() {
                self.waiting.remove(&place);
            }
        }
    }

    /// Forgets the zone append at the front of all that are held, which is the first of its zone.
    fn forget_append(&mut self, record: &Record) {
        if let Some(zones) = self.appends.get_mut(&(record.device, record.sectors))
            && let Some(waiting) = zones.get_mut(&record.sector)
        {
            waiting.pop_front();
            if waiting.is_empty() {
                zones.remove(&record.sector);
            }
        }
    }

    fn take_waiting(&mut self, place: Place) -> Option<u64> {
        let waiting = self.waiting.get_mut(&place)?;
        let latest = iter::from_fn(|| waiting.pop_back()).find(|number| *number >= self.first);
        if waiting.is_empty() {
            self.waiting.remove(&place);
        }
        latest
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tinytail_core::commands::CommandKind;

    use super::*;
    use crate::error::Position;

    fn record(time_ns: i128, sector: u64, sectors: u32) -> Record {
        Record { time_ns, device: 0, op: Op::Read, sector, sectors, latency_ns: None }
    }

    fn issue(completions: &mut Completions, record: Record) {
        completions.issued(Request { at: Position::Line(1), kind: CommandKind::Read, record });
    }

    /// The times of issue of what is let go, with the latencies.
    fn released(completions: &mut Completions, at_end: bool) -> Vec<(i128, Option<Ns>)> {
        iter::from_fn(|| completions.next(at_end)).map(|request| (request.record.time_ns, request.record.latency_ns)).collect()
    }

    #[test]
    fn requests_are_let_go_in_their_order_when_the_first_has_completed() {
        let mut completions = Completions::default();
        issue(&mut completions, record(10, 0, 8));
        issue(&mut completions, record(20, 100, 8));
        assert_eq!(released(&mut completions, false), []);
        completions.completed(&record(50, 100, 8));
        assert_eq!(released(&mut completions, false), []);
        completions.completed(&record(70, 0, 8));
        assert_eq!(released(&mut completions, false), [(10, Some(60)), (20, Some(30))]);
    }

    #[test]
    fn a_completion_may_be_of_a_part_or_of_several() {
        let mut completions = Completions::default();
        issue(&mut completions, record(0, 0, 8));
        issue(&mut completions, record(1, 8, 8));
        issue(&mut completions, record(2, 100, 16));
        completions.completed(&record(30, 0, 16));
        completions.completed(&record(40, 100, 4));
        assert_eq!(released(&mut completions, false), [(0, Some(30)), (1, Some(29))]);
        completions.completed(&record(50, 104, 12));
        assert_eq!(released(&mut completions, false), [(2, Some(48))]);
    }

    #[test]
    fn other_devices_and_operations_complete_nothing() {
        let mut completions = Completions::default();
        issue(&mut completions, record(0, 0, 8));
        completions.completed(&Record { op: Op::Write, ..record(10, 0, 8) });
        completions.completed(&Record { device: 1, ..record(10, 0, 8) });
        completions.completed(&record(10, 4, 4));
        assert_eq!(released(&mut completions, false), []);
        assert_eq!(released(&mut completions, true), [(0, None)]);
    }

    #[test]
    fn a_completion_may_stand_before_its_request_but_is_never_earlier() {
        let mut completions = Completions::default();
        completions.completed(&record(30, 0, 8));
        issue(&mut completions, record(20, 0, 8));
        // That of a request from before the trace.
        completions.completed(&record(5, 100, 8));
        issue(&mut completions, record(25, 100, 8));
        assert_eq!(released(&mut completions, true), [(20, Some(10)), (25, None)]);
    }

    #[test]
    fn a_lost_completion_spoils_no_later_latency_of_its_sector() {
        let mut completions = Completions::default();
        for time_ns in [0, 1_000, 2_000] {
            issue(&mut completions, record(time_ns, 0, 8));
            if time_ns > 0 {
                completions.completed(&record(time_ns + 7, 0, 8));
            }
        }
        assert_eq!(released(&mut completions, true), [(0, None), (1_000, Some(7)), (2_000, Some(7))]);
        assert!(completions.waiting.is_empty());
    }

    #[test]
    fn a_request_that_is_put_back_and_issued_again_counts_once_from_its_last_issue() {
        let mut completions = Completions::default();
        issue(&mut completions, record(0, 0, 8));
        issue(&mut completions, record(1, 100, 8));
        completions.requeued(&record(2, 0, 8), false);
        issue(&mut completions, record(3, 0, 8));
        // Twice, and larger then.
        completions.requeued(&record(4, 0, 8), false);
        issue(&mut completions, record(5, 0, 16));
        // Nothing waits there.
        completions.requeued(&record(6, 200, 8), false);
        issue(&mut completions, record(7, 200, 8));
        // Another to the same place, which was not put back.
        issue(&mut completions, record(8, 100, 8));
        completions.completed(&record(10, 0, 16));
        assert_eq!(released(&mut completions, true), [(1, None), (5, Some(5)), (7, None), (8, None)]);
        assert_eq!(completions.taken_back(), 2);
        // One that is put back and not issued again is a request, as is the next of its place once it has completed.
        issue(&mut completions, record(20, 0, 8));
        completions.requeued(&record(21, 0, 8), false);
        completions.completed(&record(22, 0, 8));
        issue(&mut completions, record(23, 0, 8));
        assert_eq!(released(&mut completions, true), [(20, Some(2)), (23, None)]);
        assert_eq!(completions.taken_back(), 2);
    }

    #[test]
    fn a_zone_append_that_is_put_back_counts_once() {
        let mut completions = Completions::default();
        append(&mut completions, record(0, 1000, 8));
        append(&mut completions, record(1, 1000, 8));
        completions.requeued(&Record { op: Op::Write, ..record(2, 1000, 8) }, true);
        append(&mut completions, record(3, 1000, 8));
        completions.placed(&record(50, 1000, 8));
        completions.placed(&record(60, 1008, 8));
        assert_eq!(places(&mut completions), [(1000, Some(50)), (1008, Some(57))]);
        assert_eq!((completions.taken_back(), completions.unplaced()), (1, 0));
    }

    fn append(completions: &mut Completions, record: Record) {
        let record = Record { op: Op::Write, ..record };
        completions.appended(Request { at: Position::Line(1), kind: CommandKind::Write, record });
    }

    fn places(completions: &mut Completions) -> Vec<(u64, Option<Ns>)> {
        iter::from_fn(|| completions.next(true)).map(|request| (request.record.sector, request.record.latency_ns)).collect()
    }

    #[test]
    fn a_zone_append_goes_where_its_completion_says() {
        let mut completions = Completions::default();
        // Two of one zone, one of another, one of another size, and one whose completion is lost.
        for (time_ns, zone, sectors) in [(0, 1000, 8), (1, 1000, 8), (2, 2000, 8), (3, 1000, 16), (4, 3000, 8)] {
            append(&mut completions, record(time_ns, zone, sectors));
        }
        for (time_ns, sector, sectors) in [(50, 1016, 16), (60, 1032, 8), (70, 2040, 8), (80, 1040, 8)] {
            completions.placed(&record(time_ns, sector, sectors));
        }
        let expected = [(1032, Some(60)), (1040, Some(79)), (2040, Some(68)), (1016, Some(47)), (3000, None)];
        assert_eq!((places(&mut completions), completions.unplaced()), (expected.to_vec(), 1));
        assert!(completions.appends.values().all(BTreeMap::is_empty));
    }

    #[test]
    fn the_completion_of_a_zone_append_may_stand_before_it() {
        let mut completions = Completions::default();
        // The first is of a request from before the trace.
        completions.placed(&record(5, 1008, 8));
        completions.placed(&record(30, 1016, 8));
        append(&mut completions, record(20, 1000, 8));
        append(&mut completions, record(21, 1000, 8));
        completions.placed(&record(40, 1024, 8));
        assert_eq!(places(&mut completions), [(1016, Some(10)), (1024, Some(19))]);
    }

    #[test]
    fn many_that_wait_at_one_place_are_let_go_as_fast_as_others() {
        let mut completions = Completions::default();
        for time_ns in 0..4 * PLACES_MAX {
            issue(&mut completions, record(time_ns.into(), 0, 8));
            completions.next(false);
        }
        completions.completed(&record(2_000_000, 0, 8));
        let left = released(&mut completions, true);
        assert_eq!((left.len() as u64, left.last()), (PLACES_MAX, Some(&(1_048_575, Some(951_425)))));
        assert!(completions.waiting.is_empty());
    }

    #[test]
    fn one_that_was_let_go_gets_no_completion_whatever_it_waited_behind() {
        let mut completions = Completions::default();
        // The first waits at sector 4 behind the second, once a part of it has completed.
        issue(&mut completions, record(0, 0, 8));
        issue(&mut completions, record(1, 4, 4));
        completions.completed(&record(10, 0, 4));
        for time_ns in 2..=PLACES_MAX {
            issue(&mut completions, record(time_ns.into(), time_ns * 8, 8));
        }
        assert_eq!(released(&mut completions, false), [(0, None)]);
        completions.completed(&record(20, 4, 4));
        assert_eq!(released(&mut completions, false), [(1, Some(19))]);
    }

    #[test]
    fn no_more_are_held_than_may_be_out_of_order() {
        let mut completions = Completions::default();
        for time_ns in 0..=PLACES_MAX {
            issue(&mut completions, record(time_ns.into(), time_ns * 8, 8));
        }
        assert_eq!(released(&mut completions, false), [(0, None)]);
        completions.completed(&record(1_000_000, 8, 8));
        assert_eq!(released(&mut completions, false), [(1, Some(999_999))]);
    }

    proptest! {
        /// Of requests to different sectors, each has the latency of its own completion, whatever the order of the lines.
        #[test]
        fn every_request_has_its_own_latency(
            requests in proptest::collection::vec((0_i128..1_000, proptest::option::of(0_u64..500), any::<u16>()), 0..40),
        ) {
            let mut completions = Completions::default();
            let mut lines: Vec<(u16, usize, Option<i128>)> = Vec::new();
            for (index, (time_ns, latency_ns, place)) in requests.iter().enumerate() {
                lines.push((index as u16 * 100, index, None));
                lines.extend(latency_ns.map(|latency_ns| (place % 4_000, index, Some(time_ns + i128::from(latency_ns)))));
            }
            lines.sort_by_key(|line| line.0);
            let mut found = Vec::new();
            for (_, index, completed_ns) in lines {
                let sector = index as u64 * 8;
                match completed_ns {
                    None => issue(&mut completions, record(requests[index].0, sector, 8)),
                    Some(completed_ns) => completions.completed(&record(completed_ns, sector, 8)),
                }
                found.extend(released(&mut completions, false));
            }
            found.extend(released(&mut completions, true));
            let expected: Vec<_> = requests.iter().map(|(time_ns, latency_ns, _)| (*time_ns, *latency_ns)).collect();
            prop_assert_eq!(found, expected);
        }

        /// Of a zone, the places of appends of one size are those of the completions, each once, and an append that has one has a latency.
        #[test]
        fn appends_have_the_places_of_their_completions(
            zones in proptest::collection::vec((0_u64..4, proptest::option::of(1_u16..500), 0_u32..2), 0..40),
        ) {
            let mut completions = Completions::default();
            let mut lines: Vec<(i128, usize, Option<u64>)> = Vec::new();
            let (mut written, mut expected) = ([0_u64; 4], Vec::new());
            for (index, (zone, latency_ns, kind)) in zones.iter().enumerate() {
                let time_ns = index as i128 * 100;
                lines.push((time_ns, index, None));
                if let Some(latency_ns) = latency_ns {
                    let sector = zone * 10_000 + written[*zone as usize];
                    written[*zone as usize] += u64::from(8 + kind * 8);
                    expected.push(sector);
                    lines.push((time_ns + i128::from(*latency_ns), index, Some(sector)));
                } else {
                    expected.push(zone * 10_000);
                }
            }
            lines.sort_by_key(|line| line.0);
            for (time_ns, index, sector) in lines {
                let (zone, _, kind) = zones[index];
                let sectors = 8 + kind * 8;
                match sector {
                    None => append(&mut completions, record(time_ns, zone * 10_000, sectors)),
                    Some(sector) => completions.placed(&record(time_ns, sector, sectors)),
                }
            }
            let mut found: Vec<u64> = places(&mut completions).into_iter().map(|(sector, _)| sector).collect();
            found.sort_unstable();
            expected.sort_unstable();
            let lost = zones.iter().filter(|(_, latency_ns, _)| latency_ns.is_none()).count() as u64;
            prop_assert_eq!((found, completions.unplaced()), (expected, lost));
        }
    }
}
