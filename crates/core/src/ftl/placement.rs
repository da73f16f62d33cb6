//! Late placement: programs that have no place until a die could begin with them.
//!
//! They wait in three lines, in which the first goes first: pages of urgent GCs, pages of the host and the buffer, pages of other
//! GCs. A die that comes to rest is offered the first of each that it could begin with, beside the work of its own, and `order`
//! chooses; a page that finds nobody before it goes to an idle die at once. A die has one page at a time that has got its place and not begun.

use crate::context::Context;
use crate::event::EventQueue;
use crate::flash::Engine;
use crate::flash::op::{Class, Op, OpKind, Owner};
use crate::flash::upper::{Places, Upper};
use crate::ftl::Claimant;
use crate::ftl::above::{Above, WithFtl};
use crate::ftl::late::{BACKGROUND, EMERGENCY, EXTERNAL, Late};
use crate::ftl::write_points::WritePoints;
use crate::ids::{DieIx, NONE, PlaneIx, Ppn};
use crate::observe::PLACE;
use crate::policy::answers::{Rest, Wish, Writer};
use crate::policy::interface::{Order, PageChoice, Place};
use crate::story::Passing;
use crate::view::{Candidate, Spot, Unplaced, View};
use std::collections::VecDeque;

impl<Q: EventQueue, U> Engine<Q, WithFtl<U>>
where
    Self: Above,
{
    /// What late placement keeps; only for designs that place late.
    #[inline]
    pub(crate) fn late(&mut self) -> &mut Late {
        self.up.ftl.late.as_mut().expect("a design that places late")
    }

    /// The books have changed without time: the masks of the write points are found anew.
    pub(crate) fn find_write_points(&mut self) {
        let points = WritePoints::new(&self.flash.device, &self.up.ftl.books);
        self.late().points = points;
    }

    /// A program waits for its place, or gets it at once.
    #[inline(never)]
    fn wait_for_place(&mut self, op: u32) {
        let line = match self.flash.ops[op as usize].owner {
            Owner::Gc(plane) if self.flash.is_urgent(plane) => EMERGENCY,
            Owner::Gc(_) => BACKGROUND,
            _ => EXTERNAL,
        };
        if line != EXTERNAL {
            // A page of a GC stands at the front of the queue from which its read came.
            self.flash.ops[op as usize].arrival = 0;
        }
        // What the host's first page can't have, the next one can't have either; a GC's can, if its own plane has it.
        if line == EXTERNAL && !self.late().lines[line].is_empty() {
            return self.late().lines[line].push_back(op);
        }
        let Some(spot) = self.choose_place(op, NONE) else { return self.late().lines[line].push_back(op) };
        self.take_to(op, spot);
        self.try_start(self.flash.die_of(spot.plane));
        self.note_wait(op);
        self.go_on_after(op);
    }

    /// A program has got its place; if it is a GC's, its plane may read another page.
    fn go_on_after(&mut self, op: u32) {
        if let Owner::Gc(plane) = self.flash.ops[op as usize].owner {
            self.try_start(self.flash.die_of(plane));
        }
    }

    /// What a program without a place is to `place`. `asking`: the die that could begin with it, if it is known.
    fn unplaced(&mut self, op: u32, asking: DieIx) -> Unplaced {
        let entry = self.flash.ops[op as usize];
        let (from, writer, urgent) = match entry.owner {
            Owner::Gc(plane) => (plane, Writer::Gc, self.flash.is_urgent(plane)),
            _ => (NONE, Writer::Host, false),
        };
        let wish =
            if entry.is_critical() { Wish::Fast } else { self.ask(|policies, view| policies.page_choice.wish(view, writer, urgent)) };
        let confined = self.late().confined && from != NONE;
        Unplaced { from, wish, asking, confined }
    }

    fn choose_place(&mut self, op: u32, asking: DieIx) -> Option<Spot> {
        let page = self.unplaced(op, asking);
        let spot = self.ask(|policies, view| policies.place.choose(view, &page))?;
        // What it got of what it wished.
        let class =
            (0..self.late().points.classes()).find(|&class| self.late().points.of_class(spot.plane, class) >> spot.write_point & 1 == 1);
        let slowest = self.late().points.classes() - 1;
        let critical = self.flash.ops[op as usize].is_critical();
        let counters = &mut self.flash.counters;
        counters.critical_pages += u64::from(critical);
        counters.critical_pages_fast += u64::from(critical && class == Some(0));
        let met = match page.wish {
            Wish::Fast => class == Some(0),
            Wish::Slow => class == Some(slowest),
            Wish::Any | Wish::Restless(_) => return Some(spot),
        };
        if page.from == NONE && !critical {
            counters.host_wishes += 1;
            counters.host_wishes_met += u64::from(met);
        } else if page.from != NONE {
            counters.gc_wishes += 1;
            counters.gc_wishes_met += u64::from(met);
        }
        Some(spot)
    }

    /// A program gets its place and lines up there. Nothing starts.
    fn take_to(&mut self, op: u32, spot: Spot) {
        let Spot { plane, write_point } = spot;
        let die = self.flash.die_of(plane);
        let now = self.flash.now;
        let gc_ended = self.late().gc_ended[die as usize];
        crate::check!(self.late().bound[die as usize].is_none(), "two programs that have their place at one die");
        self.late().bound[die as usize] = Some(write_point as u8);
        let entry = &mut self.flash.ops[op as usize];
        let (class, host) = (entry.class, entry.is_host());
        let waited = now - entry.since;
        entry.plane = plane;
        entry.since = now;
        if waited > 0 && entry.is_billed() {
            self.flash.blame_mut(op).add(PLACE, waited);
            if Self::TOLD {
                self.flash.blame_mut(op).tell(now - waited, now, plane, Passing::Own(PLACE as u8));
            }
            if gc_ended > now - waited {
                self.block_by_gc(op);
            }
        }
        self.flash.counters.placed_after_wait += u64::from(waited > 0);
        let bound = if class == Class::GcProgram { &mut self.up.ftl.gc_bound } else { &mut self.up.ftl.bound };
        bound[plane as usize] += 1;
        self.flash.host_operation_comes(die, host);
        self.line_up_op(op, plane, class);
        if let Owner::Gc(of) = self.flash.ops[op as usize].owner {
            self.page_has_its_place(of);
        }
    }

    /// A program that has its place begins: the page that it takes.
    #[inline(never)]
    pub(super) fn take_place(&mut self, die: DieIx, op: u32) -> Ppn {
        let entry = &self.flash.ops[op as usize];
        let (plane, claimant, gc) = (entry.plane, entry.claimant(), matches!(entry.owner, Owner::Gc(_)));
        let late = self.up.ftl.late.as_mut().expect("a design that places late");
        let point = usize::from(late.bound[die as usize].take().expect("a program that has its place"));
        let fast = late.points.of_class(plane, 0) >> point & 1 == 1;
        let target = self.up.ftl.books.take(plane, point, claimant).expect("room was seen when it got its place");
        late.points.update(&self.up.ftl.books, plane, point);
        late.moving -= u32::from(gc);
        self.flash.counters.pages_spread += u64::from(point > 1);
        self.flash.counters.fast_pages_gc += u64::from(fast && gc);
        self.flash.counters.fast_pages_host += u64::from(fast && !gc);
        target
    }

    /// Offers a die that runs nothing the first pages of the lines, beside its own work. Returns the program that has got a place there;
    /// `NONE` if none has. Others may have got theirs elsewhere.
    fn offer(&mut self, die: DieIx) -> u32 {
        let late = self.up.ftl.late.as_ref().expect("a design that places late");
        if late.lines.iter().all(VecDeque::is_empty) || !self.seen().could_begin_beside(die) {
            return NONE;
        }
        let own = self.flash.open_work(die);
        let firsts = [EMERGENCY, EXTERNAL, BACKGROUND].map(|line| self.first_to_go(die, line));
        let ops = firsts.map(|first| first.map_or(NONE, |(_, op)| op));
        let Some((line, (index, op))) = self.preferred_line(die, own, ops).and_then(|line| Some((line, firsts[line]?))) else {
            return NONE;
        };
        let Some(spot) = self.choose_place(op, die) else { return NONE };
        self.late().lines[line].remove(index);
        self.take_to(op, spot);
        op
    }

    /// The first page of a line that a die could begin with, and its index. Of the host's pages the first stands for all.
    fn first_to_go(&mut self, die: DieIx, line: usize) -> Option<(usize, u32)> {
        let pages = self.late().lines[line].len();
        let mut elsewhere = None;
        (0..if line == EXTERNAL { pages.min(1) } else { pages }).find_map(|index| {
            let op = self.late().lines[line][index];
            let page = self.unplaced(op, die);
            let view = self.seen();
            let rank = view.planes_of(die).filter_map(|plane| view.wished_points(plane, &page)).map(|(rank, _)| rank).min()?;
            (rank == 0 || !view.waits_for_better_than(&page, &mut elsewhere)).then_some((index, op))
        })
    }

    /// The line whose first page `order` prefers to those of the other lines and to a die's own work.
    fn preferred_line(&mut self, die: DieIx, own: u64, firsts: [u32; 3]) -> Option<usize> {
        let mut candidates = std::mem::take(&mut self.late().candidates);
        candidates.clear();
        let mut lines = [0; 3];
        let mut count = 0;
        for (line, op) in firsts.into_iter().enumerate().filter(|&(_, op)| op != NONE) {
            let Op { class, arrival, owner, .. } = self.flash.ops[op as usize];
            let plane = self.flash.planes_of(die).start as PlaneIx;
            let urgent = matches!(owner, Owner::Gc(of) if self.flash.is_urgent(of));
            candidates.push(Candidate { class, plane, arrival, urgent, continues: false, data: true });
            lines[count] = line;
            count += 1;
        }
        let mut rest = own;
        while rest != 0 && count > 0 {
            candidates.push(self.candidate(die, rest.trailing_zeros()));
            rest &= rest - 1;
        }
        let chosen = match candidates.len() {
            0 => None,
            1 => Some(0),
            _ => Some(self.ask(|policies, view| policies.order.at_die(view, &candidates))),
        };
        self.late().candidates = candidates;
        chosen.filter(|&chosen| chosen < count).map(|chosen| lines[chosen])
    }

    /// Pages of a plane's GC that has become urgent wait before those of the host.
    pub(crate) fn hurry_pages(&mut self, plane: PlaneIx) {
        let late = self.up.ftl.late.as_mut().expect("a design that places late");
        let (ops, [emergency, _, background]) = (&self.flash.ops, &mut late.lines);
        let is_its = |op: u32| ops[op as usize].owner == Owner::Gc(plane);
        emergency.extend(background.iter().copied().filter(|&op| is_its(op)));
        background.retain(|&op| !is_its(op));
    }
}

impl<Q: EventQueue, U> Places for Engine<Q, WithFtl<U>>
where
    Self: Above,
{
    #[inline(never)]
    fn start_waiting_late(&mut self, die: DieIx) {
        loop {
            let placed = self.offer(die);
            let ready = self.flash.ready(die);
            self.start_lined_up(die);
            if placed != NONE {
                self.note_wait(placed);
                self.go_on_after(placed);
            }
            // If a step of GC came to nothing, the die is offered the pages again.
            if self.flash.is_running(die) || self.flash.is_parked(die) || self.flash.ready(die) == ready {
                return;
            }
        }
    }

    #[inline(always)]
    fn accepts(&mut self, op: u32) -> bool {
        let late = self.flash.traits.late && self.flash.ops[op as usize].kind == OpKind::Program;
        if late {
            self.wait_for_place(op);
        }
        !late
    }
}

impl View<'_> {
    /// Whether writes of the host wait for a die. Only where pages are placed late.
    pub fn host_waits(self) -> bool {
        self.ftl.late.as_ref().is_some_and(|late| !late.lines[EXTERNAL].is_empty())
    }

    /// How much of the pool of erased blocks is left, in thousandths: 0 at the sustainable level, so many percent of the way from
    /// the emergency to the background threshold, or below it; 1000 at the background threshold. The mean of all planes; 0 where the
    /// trigger has no such thresholds or pages are not placed late.
    pub fn pool_permille(self, sustainable_percent: u32) -> u32 {
        let Some((background, emergency)) = self.ftl.late.as_ref().and_then(|late| late.thresholds) else { return 0 };
        let planes = self.geometry().planes();
        let erased: u64 = (0..planes).map(|plane| u64::from(self.books().erased_blocks(plane))).sum();
        // In hundredths of a block of each plane, so that nothing is rounded away.
        let whole = u64::from(background - emergency) * u64::from(100 - sustainable_percent) * u64::from(planes);
        let level = (u64::from(emergency) * 100 + u64::from(background - emergency) * u64::from(sustainable_percent)) * u64::from(planes);
        ((erased * 100).saturating_sub(level) * 1000 / whole).min(1000) as u32
    }

    /// Whether a die could begin with a program beside what waits for it: it runs nothing, and no other program has its place there.
    fn could_begin_beside(self, die: DieIx) -> bool {
        let bound = self.ftl.late.as_ref().is_some_and(|late| late.bound[die as usize].is_some());
        !self.flash.is_running(die) && !self.flash.is_parked(die) && !bound
    }

    /// Whether a plane leaves writes to others, because its GC is urgent and has something to do.
    fn is_diverted(self, plane: PlaneIx) -> bool {
        self.flash.is_urgent(plane)
    }

    /// The write points of a plane that could take a page.
    fn takers(self, plane: PlaneIx, page: &Unplaced) -> u64 {
        let own = page.from == plane;
        let Some(late) = self.ftl.late.as_ref().filter(|_| own || !page.confined && !self.is_diverted(plane)) else { return 0 };
        let (erased, reserve) = (self.books().erased_blocks(plane), self.books().reserve_blocks());
        let claimant = if own { Claimant::Gc } else { Claimant::Host };
        let (opens, goes_on) = match claimant {
            Claimant::Gc => (erased > 0, true),
            Claimant::Host => (erased > reserve, erased >= reserve),
        };
        if opens {
            late.points.all()
        } else if goes_on {
            late.points.open(plane)
        } else {
            0
        }
    }

    /// The write points of a plane that could take a page, those of the best kind that it has; and how far that is from what was
    /// wished, 0 for the very thing. Nothing if none could.
    pub fn wished_points(self, plane: PlaneIx, page: &Unplaced) -> Option<(u32, u64)> {
        let takers = self.takers(plane, page);
        if takers == 0 {
            return None;
        }
        let points = &self.ftl.late.as_ref()?.points;
        let classes = points.classes();
        let of_class = |class: usize| Some(takers & points.of_class(plane, class)).filter(|&points| points != 0);
        match page.wish {
            Wish::Any => Some((0, takers)),
            Wish::Fast => (0..classes).find_map(|class| Some((class as u32, of_class(class)?))),
            Wish::Slow => (0..classes).find_map(|rank| Some((rank as u32, of_class(classes - 1 - rank)?))),
            Wish::Restless(rest) => match takers & points.restless(plane, rest) {
                0 => Some((1, takers)),
                restless => Some((0, restless)),
            },
        }
    }

    /// Whether a page rather waits than to take what is not the very thing that was wished: there is such a thing elsewhere.
    pub fn waits_for_better(self, page: &Unplaced) -> bool {
        self.waits_for_better_than(page, &mut None)
    }

    /// The same for one of several pages at one time. Whether there is such a thing for a page of the host is the same for all pages that
    /// wish alike, and remembered `elsewhere`; a page of GC has its own plane beside, which takes from it whatever it takes from the host.
    fn waits_for_better_than(self, page: &Unplaced, elsewhere: &mut Option<(Rest, bool)>) -> bool {
        let Wish::Restless(rest) = page.wish else { return false };
        let has = |plane: PlaneIx, page: &Unplaced| self.wished_points(plane, page).is_some_and(|(rank, _)| rank == 0);
        if page.from != NONE && has(page.from, page) {
            return true;
        }
        if page.confined {
            return false;
        }
        let known = elsewhere.filter(|&(known, _)| known == rest).map(|(_, has)| has);
        let found = known.unwrap_or_else(|| {
            let page = Unplaced { from: NONE, ..*page };
            (0..self.geometry().planes()).any(|plane| has(plane, &page))
        });
        *elsewhere = Some((rest, found));
        found
    }
}
