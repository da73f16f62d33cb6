//! Late-bound allocation: programs that have no place until a die could begin with them.
//!
//! They wait in three queues, in which the first goes first: pages of urgent GCs, pages of the host and the buffer, pages of
//! other GCs. A die that becomes idle is offered the first of each that it could begin with, beside the work of its own, and
//! `order` chooses; a page that finds nobody before it goes to an idle die at once. A die has one page at a time that has got
//! its place and not begun.

use crate::attribution::trail::Passing;
use crate::context::Context;
use crate::flash::Engine;
use crate::flash::op::{Class, Op, Owner};
use crate::flash::upper::Upper;
use crate::ftl::Claimant;
use crate::ftl::above::{Above, WithFtl};
use crate::ftl::late_bound::{BACKGROUND, EMERGENCY, EXTERNAL, LateBound};
use crate::ftl::write_points::WritePoints;
use crate::ids::{DieIx, NONE, PlaneIx};
use crate::observe::PLACE;
use crate::policy::answers::{Parking, Preference, Writer};
use crate::policy::view::{Candidate, Unplaced, View};
use std::collections::VecDeque;

impl<U> Engine<WithFtl<U>>
where
    Self: Above,
{
    /// What late-bound allocation keeps; only for designs with late-bound allocation.
    #[inline]
    pub(crate) fn late_bound(&mut self) -> &mut LateBound {
        self.up.ftl.late_bound.as_mut().expect("a design with late-bound allocation")
    }

    /// The tables have changed without time: the masks of the write points are found anew.
    pub(crate) fn find_write_points(&mut self) {
        let points = WritePoints::new(&self.flash.device, &self.up.ftl.tables);
        self.late_bound().points = points;
    }

    /// A program waits for its place, or gets it at once.
    #[cold]
    pub(super) fn wait_for_place(&mut self, op: u32) {
        let queue = match self.flash.ops[op as usize].owner {
            Owner::Gc(plane) if self.flash.queues(plane).urgent => EMERGENCY,
            Owner::Gc(_) => BACKGROUND,
            _ => EXTERNAL,
        };
        if queue != EXTERNAL {
            // A page of a GC stands at the front of the queue from which its read came.
            self.flash.ops[op as usize].arrival = 0;
        }
        // What the host's first page can't have, the next one can't have either; a GC's can, if its own plane has it.
        let waits = queue == EXTERNAL && !(self.late_bound().queues[queue].is_empty() && self.late_bound().reads.is_empty());
        if waits || !self.goes_to_idle_die(op) {
            self.late_bound().queues[queue].push_back(op);
        }
    }

    /// A program goes to an idle die, if there is one that it could have its place at.
    fn goes_to_idle_die(&mut self, op: u32) -> bool {
        let page = self.unplaced(op, NONE);
        let Some(spot) = self.choose_place(op, &page) else { return false };
        self.take_to(op, spot);
        self.try_start(self.flash.die_of(spot.0));
        self.note_wait(op);
        self.go_on_after(op);
        true
    }

    /// A read of the host waits until those before it have begun and its die could begin with it.
    #[cold]
    pub(super) fn wait_in_order(&mut self, op: u32) {
        self.late_bound().reads.push_back(op);
        self.go_on_in_order();
    }

    /// Operations of the host begin as far as the first of them can.
    #[cold]
    pub(super) fn go_on_in_order(&mut self) {
        loop {
            let late_bound = self.late_bound();
            let (read, page) = (late_bound.reads.front().copied(), late_bound.queues[EXTERNAL].front().copied());
            let begins = match (read, page) {
                (Some(read), page) if page.is_none_or(|page| self.comes_before(read, page)) => self.begins(read),
                (_, Some(page)) => {
                    // A read may have kept idle dies from it.
                    self.late_bound().queues[EXTERNAL].pop_front();
                    let begins = self.goes_to_idle_die(page);
                    if !begins {
                        self.late_bound().queues[EXTERNAL].push_front(page);
                    }
                    begins
                }
                _ => false,
            };
            if !begins {
                return;
            }
        }
    }

    fn comes_before(&self, op: u32, other: u32) -> bool {
        self.flash.ops[op as usize].arrival < self.flash.ops[other as usize].arrival
    }

    /// Whether the first page of the host's waits for a read that came before it.
    fn is_behind_read(&self) -> bool {
        let late_bound = self.up.ftl.late_bound.as_ref().expect("a design with late-bound allocation");
        let (read, page) = (late_bound.reads.front(), late_bound.queues[EXTERNAL].front());
        matches!((read, page), (Some(&read), Some(&page)) if self.comes_before(read, page))
    }

    /// The first read begins, if its die could begin with it.
    fn begins(&mut self, read: u32) -> bool {
        let Op { tag, plane, class, .. } = self.flash.ops[read as usize];
        let ppn = self.up.ftl.tables.lookup(tag);
        let plane = if ppn == NONE { plane } else { self.up.ftl.tables.plane_of(ppn) };
        let die = self.flash.die_of(plane);
        if !self.seen().could_also_begin(die) {
            return false;
        }
        self.late_bound().reads.pop_front();
        self.reaches(read, plane);
        self.queue_op(read, plane, class);
        self.try_start(die);
        self.note_wait(read);
        true
    }

    /// A program has got its place; if it is a GC's, its plane may read another page.
    pub(super) fn go_on_after(&mut self, op: u32) {
        if let Owner::Gc(plane) = self.flash.ops[op as usize].owner {
            self.try_start(self.flash.die_of(plane));
        }
    }

    /// What a program without a place is to `place`. `asking`: the die that could begin with it, if it is known.
    #[inline(always)]
    fn unplaced(&mut self, op: u32, asking: DieIx) -> Unplaced {
        let entry = self.flash.ops[op as usize];
        let (from, writer, urgent) = match entry.owner {
            Owner::Gc(plane) => (plane, Writer::Gc, self.flash.queues(plane).urgent),
            _ => (NONE, Writer::Host, false),
        };
        let preference = if entry.is_critical() {
            Preference::Fast
        } else {
            self.ask(|policies, view| policies.page_choice.preference(view, writer, urgent))
        };
        let confined = !self.up.ftl.traits.gc_across && from != NONE;
        Unplaced { from, preference, asking, confined }
    }

    fn choose_place(&mut self, op: u32, page: &Unplaced) -> Option<(PlaneIx, usize)> {
        let plane = self.ask(|policies, view| policies.place.choose(view, page))?;
        let (_, points) = self.seen().preferred_points(plane, page)?;
        let write_point = LateBound::in_turn(&mut self.late_bound().turns[plane as usize], points);
        let offset = self.up.ftl.tables.next_offset(plane, write_point);
        self.note_preference(op, Some(page.preference), offset);
        Some((plane, write_point))
    }

    /// A program gets its place and is enqueued there. Nothing starts.
    fn take_to(&mut self, op: u32, (plane, write_point): (PlaneIx, usize)) {
        let die = self.flash.die_of(plane);
        crate::check!(self.late_bound().bound[die as usize].is_none(), "two programs that have their place at one die");
        self.late_bound().bound[die as usize] = Some(write_point as u8);
        let entry = &self.flash.ops[op as usize];
        let (class, has_waited) = (entry.class, self.flash.now > entry.born);
        self.reaches(op, plane);
        self.up.ftl.counters.placed_after_wait += u64::from(has_waited);
        let bound = if class == Class::GcProgram { &mut self.up.ftl.gc_bound } else { &mut self.up.ftl.bound };
        bound[plane as usize] += 1;
        self.queue_op(op, plane, class);
        if let Owner::Gc(of) = self.flash.ops[op as usize].owner {
            self.page_has_its_place(self.up.ftl.tables.pool_of(of));
        }
    }

    /// An operation is about to be enqueued at a plane, and has waited for that since it came.
    fn reaches(&mut self, op: u32, plane: PlaneIx) {
        let (die, now) = (self.flash.die_of(plane), self.flash.now);
        let gc_ended = self.late_bound().gc_ended[die as usize];
        let entry = &mut self.flash.ops[op as usize];
        let (waited, host) = (now - entry.since, entry.is_host());
        (entry.plane, entry.since) = (plane, now);
        if waited > 0 && entry.is_attributed() {
            self.flash.attribution_mut(op).add(PLACE, waited);
            if Self::TRACED {
                self.flash.attribution_mut(op).trace(now - waited, now, plane, Passing::Own(PLACE as u8));
            }
            if gc_ended > now - waited {
                self.note_gc_blocked(op);
            }
        }
        self.flash.host_operation_comes(die, host);
    }

    /// Offers a die that runs nothing the first pages of the queues, and its own work. Returns the program that has got a place
    /// there; `NONE` if none has. Others may have got theirs elsewhere.
    pub(super) fn offer(&mut self, die: DieIx) -> u32 {
        let late_bound = self.up.ftl.late_bound.as_ref().expect("a design with late-bound allocation");
        if late_bound.queues.iter().all(VecDeque::is_empty) || !self.seen().could_also_begin(die) {
            return NONE;
        }
        let own = self.flash.die(die).open_work();
        let mut firsts = [EMERGENCY, EXTERNAL, BACKGROUND].map(|queue| self.first_to_go(die, queue));
        if self.up.ftl.traits.host_in_order && self.is_behind_read() {
            firsts[EXTERNAL] = None;
        }
        loop {
            let ops = firsts.map(|first| first.map_or(NONE, |(_, op, _)| op));
            let Some(queue) = self.preferred_queue(die, own, ops) else { return NONE };
            let (index, op, page) = firsts[queue].take().expect("a page that is offered");
            if let Some(spot) = self.choose_place(op, &page) {
                self.late_bound().queues[queue].remove(index);
                self.take_to(op, spot);
                return op;
            }
            // It rather waits on; the first pages of the other lines may not.
        }
    }

    /// The first page of a line that a die could begin with, after its index and its number. Of the host's pages the first stands
    /// for all.
    fn first_to_go(&mut self, die: DieIx, queue: usize) -> Option<(usize, u32, Unplaced)> {
        let pages = self.late_bound().queues[queue].len();
        let mut elsewhere = None;
        (0..if queue == EXTERNAL { pages.min(1) } else { pages }).find_map(|index| {
            let op = self.late_bound().queues[queue][index];
            let page = self.unplaced(op, die);
            let view = self.seen();
            let rank = view.planes_of(die).filter_map(|plane| view.preferred_points(plane, &page)).map(|(rank, _)| rank).min()?;
            (rank == 0 || !view.waits_for_better_than(&page, &mut elsewhere)).then_some((index, op, page))
        })
    }

    /// The line whose first page `order` prefers to those of the other lines and to a die's own work.
    fn preferred_queue(&mut self, die: DieIx, own: u64, firsts: [u32; 3]) -> Option<usize> {
        let mut candidates = std::mem::take(&mut self.late_bound().candidates);
        candidates.clear();
        let mut queues = [0; 3];
        let mut count = 0;
        for (queue, op) in firsts.into_iter().enumerate().filter(|&(_, op)| op != NONE) {
            let Op { class, arrival, owner, .. } = self.flash.ops[op as usize];
            let plane = self.planes_of(die).start;
            let urgent = matches!(owner, Owner::Gc(of) if self.flash.queues(of).urgent);
            candidates.push(Candidate { class, plane, arrival, urgent, continues: false, data: true });
            queues[count] = queue;
            count += 1;
        }
        let mut rest = own;
        while rest != 0 && count > 0 {
            candidates.push(self.candidate(die, rest.trailing_zeros() as usize));
            rest &= rest - 1;
        }
        let chosen = match candidates.len() {
            0 => None,
            1 => Some(0),
            _ => Some(self.ask(|policies, view| policies.order.at_die(view, &candidates))),
        };
        self.late_bound().candidates = candidates;
        chosen.filter(|&chosen| chosen < count).map(|chosen| queues[chosen])
    }

    /// Pages of a plane's GC that has become urgent wait before those of the host.
    pub(crate) fn hurry_pages(&mut self, plane: PlaneIx) {
        let late_bound = self.up.ftl.late_bound.as_mut().expect("a design with late-bound allocation");
        let (ops, [emergency, _, background]) = (&self.flash.ops, &mut late_bound.queues);
        let is_its = |op: u32| ops[op as usize].owner == Owner::Gc(plane);
        emergency.extend(background.iter().copied().filter(|&op| is_its(op)));
        background.retain(|&op| !is_its(op));
    }
}

impl View<'_> {
    /// How much of the pool of erased blocks is left, in thousandths: 0 at the sustainable level, so many percent of the way
    /// from the emergency to the background threshold, or below it; 1000 at the background threshold. The mean of all pools; 0
    /// where the trigger has no such thresholds or allocation is not late-bound.
    pub fn pool_permille(self, sustainable_percent: u32) -> u32 {
        let Some((background, emergency)) = self.ftl.late_bound.as_ref().and_then(|late_bound| late_bound.thresholds) else { return 0 };
        let pools = self.tables().pools().count() as u64;
        let erased: u64 = self.tables().pools().map(|pool| u64::from(self.tables().erased_groups(pool))).sum();
        // In hundredths of a block group of each pool, so that nothing is rounded away.
        let whole = u64::from(background - emergency) * u64::from(100 - sustainable_percent) * pools;
        let level = (u64::from(emergency) * 100 + u64::from(background - emergency) * u64::from(sustainable_percent)) * pools;
        ((erased * 100).saturating_sub(level) * 1000 / whole).min(1000) as u32
    }

    /// Whether a die could begin with a program beside what waits for it: it runs nothing, and no other program has its place there.
    fn could_also_begin(self, die: DieIx) -> bool {
        let bound = self.ftl.late_bound.as_ref().is_some_and(|late_bound| late_bound.bound[die as usize].is_some());
        let die = self.flash.die(die);
        !die.is_running() && !die.is_suspended() && !bound
    }

    /// The write points of a plane that could take a page. One whose GC is urgent, and has something to do, takes none of others.
    fn takers(self, plane: PlaneIx, page: &Unplaced) -> u64 {
        let own = page.from == plane;
        let is_offered = own || !page.confined && !self.flash.queues(plane).urgent;
        let Some(late_bound) = self.ftl.late_bound.as_ref().filter(|_| is_offered) else { return 0 };
        let claimant = if own { Claimant::Gc } else { Claimant::Host };
        if self.tables().can_open(plane, claimant) {
            late_bound.points.all()
        } else if self.tables().can_go_on(plane, claimant) {
            late_bound.points.open(plane)
        } else {
            0
        }
    }

    /// The write points of a plane that could take a page, those of the best kind that it has; and how far that is from what was
    /// preferred, 0 for exactly that. Nothing if none could.
    pub fn preferred_points(self, plane: PlaneIx, page: &Unplaced) -> Option<(u32, u64)> {
        let takers = self.takers(plane, page);
        if takers == 0 {
            return None;
        }
        let points = &self.ftl.late_bound.as_ref()?.points;
        let ranks = points.ranks();
        let of_rank = |rank: usize| Some(takers & points.of_rank(plane, rank)).filter(|&points| points != 0);
        match page.preference {
            Preference::Any => Some((0, takers)),
            Preference::Fast => (0..ranks).find_map(|rank| Some((rank as u32, of_rank(rank)?))),
            Preference::Slow => (0..ranks).find_map(|other| Some((other as u32, of_rank(ranks - 1 - other)?))),
            Preference::Unparked(parking) => match takers & points.unparked(plane, parking) {
                0 => Some((1, takers)),
                unparked => Some((0, unparked)),
            },
        }
    }

    /// Whether a page rather waits than to take what is not exactly the preferred page: there is such a page elsewhere.
    pub fn waits_for_better(self, page: &Unplaced) -> bool {
        self.waits_for_better_than(page, &mut None)
    }

    /// The same for one of several pages at one time. Whether there is such a thing for a page of the host is the same for all
    /// pages that have the same preference, and remembered `elsewhere`; a page of GC has its own plane beside, which takes from
    /// it whatever it takes from the host.
    fn waits_for_better_than(self, page: &Unplaced, elsewhere: &mut Option<(Parking, bool)>) -> bool {
        let Preference::Unparked(parking) = page.preference else { return false };
        let has = |plane: PlaneIx, page: &Unplaced| self.preferred_points(plane, page).is_some_and(|(rank, _)| rank == 0);
        if page.from != NONE && has(page.from, page) {
            return true;
        }
        if page.confined {
            return false;
        }
        let known = elsewhere.filter(|&(known, _)| known == parking).map(|(_, has)| has);
        let found = known.unwrap_or_else(|| {
            let page = Unplaced { from: NONE, ..*page };
            (0..self.geometry().planes()).any(|plane| has(plane, &page))
        });
        *elsewhere = Some((parking, found));
        found
    }
}
