//! What changes about RAIN stripes: which of them have dirty pages in the buffer, which are on their way to the flash, and
//! which are being read to reconstruct a page.
//!
//! A stripe on its way is pending: some of its pages and its parity on the flash may be of before and some of after. So that
//! a reconstruction never mixes the two, every stripe has a generation, which grows when the new parity is computed. A
//! reconstruction of the old generation reads everything from the flash and keeps the new pages from being programmed until it
//! has done so; one that comes later takes the new pages and the new parity from RAM and only the rest from the flash.

use crate::ftl::Tables;
use crate::ids::{Lpn, NONE, PlaneIx};
use crate::oracle::{Content, Oracle};
use crate::slab::{Keyed, Node, Order, Slab};
use crate::stripes::Stripes;
use crate::units::Ns;

/// The most times of violations that are kept.
pub const VIOLATIONS_KEPT: usize = 10_000;

/// A GC that started while another of its group was under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Violation {
    /// When.
    pub at: Ns,
    /// In which plane.
    pub plane: PlaneIx,
}

/// A stripe that is in the buffer, on its way to the flash or being read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ActiveStripe {
    /// The list that it is in; `NONE` unless it can leave.
    list: u32,
    /// Host's pages with sectors that are not on their way, one bit for each member.
    pub dirty: u32,
    /// The stripe write that is on its way, or `NONE`.
    pub stripe_write: u32,
    /// Counts stripe writes whose parity has been computed.
    generation: u32,
    /// Reconstructions under way of an even and of an odd generation.
    readers: [u32; 2],
    /// The order of writing.
    pub written: u64,
}

/// The stripes that are in the buffer, on their way or being read, and the order in which they were written.
#[derive(Debug)]
pub(crate) struct ActiveStripes {
    items: Keyed<ActiveStripe>,
    /// For each group, the partial and the full stripes that can leave, in the order of writing.
    lists: Vec<Order>,
    writes: u64,
}

/// All bits of a number of members.
pub(crate) fn all(members: u32) -> u32 {
    u32::MAX >> (32 - members)
}

impl ActiveStripes {
    fn new(groups: u32, buffer_pages: u32) -> Self {
        let pages = buffer_pages as usize;
        Self { items: Keyed::new(pages, 2 * pages), lists: vec![Order::EMPTY; 2 * groups as usize], writes: 0 }
    }

    /// The place of a stripe, if it is active.
    #[inline]
    pub fn find(&self, stripe: u32) -> Option<u32> {
        self.items.find(stripe)
    }

    pub fn get(&self, index: u32) -> &ActiveStripe {
        &self.items[index].item
    }

    pub fn get_mut(&mut self, index: u32) -> &mut ActiveStripe {
        &mut self.items[index].item
    }

    /// The place of a stripe, which becomes active if it was not.
    pub fn activate(&mut self, stripe: u32) -> u32 {
        self.find(stripe).unwrap_or_else(|| {
            let item = ActiveStripe { list: NONE, dirty: 0, stripe_write: NONE, generation: 0, readers: [0, 0], written: 0 };
            self.items.insert(stripe, item)
        })
    }

    /// Forgets a stripe that nothing is known of any more.
    pub fn deactivate_if_idle(&mut self, index: u32) {
        let item = self.get(index);
        if item.dirty == 0 && item.stripe_write == NONE && item.readers == [0, 0] {
            self.items.remove(index);
        }
    }

    /// Notes that a page of a stripe was written, or, with `dirty` 0, only that it may leave again.
    pub fn written(&mut self, index: u32, dirty: u32, stripes: &Stripes) {
        self.unlist(index);
        self.writes += 1;
        let Node { key: stripe, item, .. } = &mut self.items[index];
        item.dirty |= dirty;
        item.written = self.writes;
        if item.stripe_write != NONE || item.dirty == 0 {
            return;
        }
        let (_, members) = stripes.members(*stripe);
        item.list = 2 * stripes.group_of(*stripe) + u32::from(item.dirty == all(members));
        let list = &mut self.lists[item.list as usize];
        self.items.push_newest(list, index);
    }

    /// Takes a stripe out of the order of writing.
    pub fn unlist(&mut self, index: u32) {
        let list = std::mem::replace(&mut self.get_mut(index).list, NONE);
        if let Some(list) = self.lists.get_mut(list as usize) {
            self.items.unlink(list, index);
        }
    }

    /// The stripes of a group that can leave, full or partial, from the one written longest ago, each with its number.
    pub fn in_order(&self, group: u32, full: bool) -> impl Iterator<Item = (u32, &ActiveStripe)> {
        let list = self.lists[(2 * group + u32::from(full)) as usize];
        self.items.in_order(list).map(|index| (self.items[index].key, &self.items[index].item))
    }

    /// The number of active stripes.
    pub fn len(&self) -> usize {
        self.items.len()
    }
}

/// A stripe on its way to the flash.
#[derive(Clone, Debug)]
pub(crate) struct StripeWrite {
    pub stripe: u32,
    /// The place of the stripe among the active ones.
    pub active: u32,
    /// Members that are written, and their entries in the buffer.
    pub members: u32,
    pub entries: [u32; 32],
    /// The place of the page that is behind a GC and is regenerated from all the others; `NONE` if every page that is needed
    /// is read.
    pub regenerated: u32,
    /// Operations of the current stage that have not ended.
    pub pending: u32,
    /// Programs that wait in RAM for GCs to end.
    pub deferred: u32,
    /// Members whose program was begun before the parity was computed, and how many of these have not ended in that time.
    pub early: u32,
    pub early_pending: u32,
    /// The parity is computed and in RAM.
    pub ready: bool,
    /// With an oracle: what is programmed, by place in the stripe, parity last.
    pub contents: Vec<Option<Content>>,
    /// The old parity is among what is read, for its own sake.
    pub subtracts: bool,
    /// With an oracle: the sum of all old pages that were read, and of the members among them that do not change.
    pub read_sum: Content,
    pub clean_sum: Content,
}

impl StripeWrite {
    /// One that begins, of no members yet. That of a stripe that moves, which counts as on its way, never has any, since nothing of
    /// it is in RAM.
    pub fn new(stripe: u32, active: u32) -> Self {
        Self {
            stripe,
            active,
            members: 0,
            entries: [NONE; 32],
            regenerated: NONE,
            pending: 0,
            deferred: 0,
            early: 0,
            early_pending: 0,
            ready: false,
            contents: Vec::new(),
            subtracts: false,
            read_sum: Content::Uniform(0),
            clean_sum: Content::Uniform(0),
        }
    }

    /// With an oracle: an old page has been read, that of a member, or without one the parity.
    pub(super) fn add_old_page(&mut self, oracle: &Oracle, member: Option<u32>, old: &Content) {
        self.read_sum = self.read_sum.xor(old);
        let Some(member) = member else { return };
        match &mut self.contents[member as usize] {
            // What the host has not written of a page stays as it was.
            Some(new) => *new = oracle.fill(new, Some(old)),
            None => self.clean_sum = self.clean_sum.xor(old),
        }
    }

    /// With an oracle: the contents of the new pages and of the new parity, from what was really read. `members`: those of the
    /// stripe.
    pub(super) fn compute_contents(&mut self, oracle: &Oracle, members: u32) {
        if self.regenerated != NONE {
            let old = self.read_sum.clone();
            match &mut self.contents[self.regenerated as usize] {
                Some(new) => *new = oracle.fill(new, Some(&old)),
                // The old parity is of no use: everything else has been read.
                None if self.regenerated == members => {}
                None => self.clean_sum = self.clean_sum.xor(&old),
            }
        }
        for content in self.contents.iter_mut().flatten() {
            *content = oracle.fill(content, None);
        }
        // The old parity without the old copies of the pages that change is the sum of those that do not.
        let clean = if self.subtracts { &self.read_sum } else { &self.clean_sum };
        let parity = self.contents.iter().flatten().fold(clean.clone(), |sum, page| sum.xor(page));
        self.contents[members as usize] = Some(parity);
    }
}

/// A page that is regenerated from the rest of its stripe.
#[derive(Debug)]
pub(crate) struct Rebuild {
    pub request: u32,
    /// The place of the stripe among the active ones, and its generation when this began.
    pub active: u32,
    pub generation: u32,
    /// The page that is not read.
    pub missing: Lpn,
    /// Pages of the request that it stands for, one bit for each place in the stripe.
    pub wanted: u32,
    /// The sectors that are read of every page.
    pub first_sector: u8,
    pub sectors: u8,
    /// Sectors that cross the link.
    pub link_sectors: u32,
    /// The missing page was read and could not be corrected.
    pub unreadable: bool,
    /// Another page could not be corrected, so there is nothing to regenerate it from.
    pub beyond_ecc: bool,
    /// With an oracle: the XOR of what was read so far; what was expected of the missing page when its read arrived, and its
    /// sectors that were in RAM.
    pub sum: Content,
    pub then: Option<Content>,
    pub in_ram: u64,
}

/// Everything about stripes that changes.
#[derive(Debug)]
pub(crate) struct Rain {
    pub(super) stripes: Stripes,
    pub(super) active: ActiveStripes,
    pub(super) stripe_writes: Slab<StripeWrite>,
    pub(super) rebuilds: Slab<Rebuild>,
    /// Parity pages in RAM.
    pub(super) parity_pages: u32,
    /// Operations of stripe writes that have not ended; one for each that is between two stages.
    pub(super) steps_under_way: u32,
    /// Programs that wait in RAM for the GC of their plane, by plane, each behind its stripe write.
    pub(super) deferred_at: Vec<Vec<(u32, u32)>>,
    /// All of them.
    pub(super) deferred: u32,
    /// Pages of stripe writes that wait for GCs.
    pub(super) retained_pages: u32,
    /// Planes of each group whose GC is under way.
    pub(super) gcs: Vec<u32>,
    /// Pages that the host gave up and that parity still covers, one bit each; empty before the first trim.
    pub(super) trimmed: Vec<u64>,
    /// The first violations of rotation since the counters were reset.
    pub(super) violations: Vec<Violation>,
}

impl Rain {
    pub fn new(stripes: Stripes, planes: u32, buffer_pages: u32) -> Self {
        Self {
            active: ActiveStripes::new(stripes.groups(), buffer_pages),
            stripe_writes: Slab::with_capacity(64),
            rebuilds: Slab::with_capacity(64),
            parity_pages: 0,
            steps_under_way: 0,
            deferred_at: vec![Vec::new(); planes as usize],
            deferred: 0,
            retained_pages: 0,
            gcs: vec![0; stripes.groups() as usize],
            trimmed: Vec::new(),
            violations: Vec::new(),
            stripes,
        }
    }

    /// Which pages form a stripe, and where they lie.
    #[inline]
    pub fn stripes(&self) -> &Stripes {
        &self.stripes
    }

    /// The stripes in the buffer, on their way and being read.
    pub fn active(&self) -> &ActiveStripes {
        &self.active
    }

    /// Planes of a group whose GC is under way.
    pub fn gcs_in(&self, group: u32) -> u32 {
        self.gcs[group as usize]
    }

    /// Stripes that are on their way.
    pub fn on_their_way(&self) -> usize {
        self.stripe_writes.in_use()
    }

    /// What stripe writes have under way, and that number counted anew.
    pub fn steps_under_way(&self) -> (u32, u32) {
        let own = self.stripe_writes.used().filter(|stripe_write| stripe_write.members != 0);
        (self.steps_under_way, own.map(|stripe_write| stripe_write.pending.max(1) + stripe_write.early_pending).sum())
    }

    /// Pages in RAM that wait for the GC of their plane.
    pub fn deferred(&self) -> u32 {
        self.deferred
    }

    /// The same of one plane.
    pub fn deferred_at(&self, plane: PlaneIx) -> usize {
        self.deferred_at[plane as usize].len()
    }

    /// Pages of parity in RAM, and pages that stripe writes keep there for GCs.
    pub fn kept_pages(&self) -> (u32, u32) {
        (self.parity_pages, self.retained_pages)
    }

    /// The first violations of rotation since the counters were reset.
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }

    /// Forgets them.
    pub fn forget_violations(&mut self) {
        self.violations.clear();
    }

    /// Checks that a stripe that is not on its way has parity if it has pages, so that any of them can be regenerated, and that all
    /// of it lies where its layout says.
    ///
    /// # Errors
    /// What does not hold.
    pub fn check_stripe(&self, tables: &Tables, stripe: u32) -> Result<(), String> {
        let (first, members) = self.stripes.members(stripe);
        let parity = self.stripes.parity(stripe);
        let is_mapped = |lpn: &Lpn| tables.lookup(*lpn) != NONE;
        let mut mapped = (first..first + members).filter(is_mapped);
        if mapped.clone().next().is_some() != is_mapped(&parity) {
            return Err(format!("stripe {stripe} has pages without parity, or parity without pages"));
        }
        let strays = |lpn: &Lpn| is_mapped(lpn) && tables.plane_of(tables.lookup(*lpn)) != self.stripes.plane_of(*lpn);
        match mapped.find(strays).or(Some(parity).filter(strays)) {
            Some(lpn) => {
                let plane = tables.plane_of(tables.lookup(lpn));
                Err(format!("logical page {lpn} lies in plane {plane}, not in that of its stripe"))
            }
            None => Ok(()),
        }
    }

    /// Pages that the host gave up and that parity still covers.
    pub fn pages_given_up(&self) -> u64 {
        self.trimmed.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// The stripes on their way whose parity had been computed, as a loss of power finds them. The others are forgotten.
    pub fn computed(&mut self) -> Vec<StripeWrite> {
        self.stripe_writes.drain().filter(|stripe_write| stripe_write.ready).collect()
    }

    /// Takes over what a loss of power leaves: violations, and pages given up unless these are lost.
    pub fn take_over(&mut self, old: &mut Self, loses_trims: bool) {
        self.violations = std::mem::take(&mut old.violations);
        if !loses_trims {
            self.trimmed = std::mem::take(&mut old.trimmed);
        }
    }

    /// Whether the host gave a page up that is still mapped for the sake of its stripe's parity.
    #[inline]
    pub fn is_trimmed(&self, lpn: Lpn) -> bool {
        self.trimmed.get((lpn / 64) as usize).is_some_and(|word| word >> (lpn % 64) & 1 == 1)
    }

    /// Notes whether the host gave a page up. Returns whether it had before.
    pub fn set_trimmed(&mut self, lpn: Lpn, trimmed: bool) -> bool {
        if self.trimmed.is_empty() {
            if !trimmed {
                return false;
            }
            self.trimmed = vec![0; (self.stripes.logical_pages() as usize).div_ceil(64)];
        }
        let word = &mut self.trimmed[(lpn / 64) as usize];
        let before = *word >> (lpn % 64) & 1 == 1;
        *word = *word & !(1 << (lpn % 64)) | u64::from(trimmed) << (lpn % 64);
        before
    }

    /// A stripe whose parity had been computed is still in RAM after a loss of power, and on its way again.
    pub fn take_back(&mut self, stripe_write: StripeWrite) {
        let stripe = stripe_write.stripe;
        let active = self.active.activate(stripe);
        let stripe_write =
            self.stripe_writes.insert(StripeWrite { active, pending: 0, deferred: 0, early: 0, early_pending: 0, ..stripe_write });
        let item = self.active.get_mut(active);
        (item.stripe_write, item.generation) = (stripe_write, 1);
        self.parity_pages += 1;
        self.steps_under_way += 1;
    }

    /// A stripe sets out for the flash. Returns its stripe write.
    pub(super) fn begin_stripe_write(&mut self, stripe_write: StripeWrite) -> u32 {
        let active = stripe_write.active;
        let stripe_write = self.stripe_writes.insert(stripe_write);
        self.active.get_mut(active).stripe_write = stripe_write;
        stripe_write
    }

    /// A stripe has arrived on the flash: it may leave again.
    pub(super) fn end_stripe_write(&mut self, stripe_write: u32) {
        let StripeWrite { active, .. } = self.stripe_writes[stripe_write as usize];
        self.stripe_writes.remove(stripe_write);
        self.active.get_mut(active).stripe_write = NONE;
        self.active.written(active, 0, &self.stripes);
        self.active.deactivate_if_idle(active);
    }

    /// The stripe write of a stripe that is on its way.
    pub(super) fn stripe_write_of(&self, stripe: u32) -> Option<u32> {
        let index = self.active.find(stripe)?;
        Some(self.active.get(index).stripe_write).filter(|&stripe_write| stripe_write != NONE)
    }

    /// Whether a stripe is on its way, or moves.
    pub fn is_on_its_way(&self, stripe: u32) -> bool {
        self.stripe_write_of(stripe).is_some()
    }

    /// A program of a stripe write waits for the GC of its plane.
    pub(super) fn defer(&mut self, stripe_write: u32, program: u32, plane: PlaneIx) {
        self.deferred_at[plane as usize].push((stripe_write, program));
        self.deferred += 1;
        let destaged = &mut self.stripe_writes[stripe_write as usize];
        destaged.deferred += 1;
        if destaged.deferred == 1 {
            self.retained_pages += destaged.members.count_ones();
        }
    }

    /// Programs of stripe writes no longer wait for the GC of a plane, so many at most. Returns them, each behind its stripe write.
    pub(super) fn undefer(&mut self, plane: PlaneIx, most: usize) -> Vec<(u32, u32)> {
        let waiting = &mut self.deferred_at[plane as usize];
        let programs: Vec<_> = waiting.drain(..most.min(waiting.len())).collect();
        self.deferred -= programs.len() as u32;
        for &(stripe_write, _) in &programs {
            let destaged = &mut self.stripe_writes[stripe_write as usize];
            destaged.deferred -= 1;
            if destaged.deferred == 0 {
                self.retained_pages -= destaged.members.count_ones();
            }
        }
        programs
    }

    /// The members of a stripe write whose programs begin now, before its parity is computed, of those that could: none while somebody
    /// reads the stripe as it was.
    pub(super) fn begin_early(&mut self, stripe_write: u32, members: u32) -> u32 {
        let destaged = &mut self.stripe_writes[stripe_write as usize];
        let item = self.active.get(destaged.active);
        if item.readers[(item.generation & 1) as usize] > 0 {
            return 0;
        }
        let begin = members & destaged.members & !destaged.early;
        destaged.early |= begin;
        destaged.early_pending += begin.count_ones();
        self.steps_under_way += begin.count_ones();
        begin
    }

    /// Whether pages of a stripe are programmed whose parity is not computed yet: nothing can be reconstructed from it.
    pub(super) fn lacks_parity(&self, stripe: u32) -> bool {
        self.stripe_write_of(stripe).is_some_and(|stripe_write| {
            let destaged = &self.stripe_writes[stripe_write as usize];
            destaged.early != 0 && !destaged.ready
        })
    }

    /// The new parity of a stripe write is in RAM: the next generation of its stripe begins. Returns whether its programs may start;
    /// otherwise they wait until nobody reads the former one.
    pub(super) fn begin_generation(&mut self, stripe_write: u32) -> bool {
        let item = self.active.get_mut(self.stripe_writes[stripe_write as usize].active);
        let readers = item.readers[(item.generation & 1) as usize];
        item.generation += 1;
        readers == 0
    }

    /// Somebody begins to read a stripe to reconstruct a page. Returns its place among the active ones and its generation.
    pub(super) fn begin_reading(&mut self, stripe: u32) -> (u32, u32) {
        let active = self.active.activate(stripe);
        let item = self.active.get_mut(active);
        item.readers[(item.generation & 1) as usize] += 1;
        (active, item.generation)
    }

    /// Somebody has read an active stripe of a generation. Returns the stripe write that waited for this, if one did.
    pub(super) fn end_reading(&mut self, active: u32, generation: u32) -> Option<u32> {
        let item = self.active.get_mut(active);
        let readers = &mut item.readers[(generation & 1) as usize];
        *readers -= 1;
        let free = *readers == 0 && item.generation == generation.wrapping_add(1);
        let stripe_write = item.stripe_write;
        self.active.deactivate_if_idle(active);
        if !free || stripe_write == NONE {
            return None;
        }
        // A generation begins with a stripe write whose parity is in RAM, and whose programs wait for readers of the one before.
        let StripeWrite { ready, pending, .. } = self.stripe_writes[stripe_write as usize];
        crate::check!(ready && pending == 0, "a stripe write that waits for its readers, and is not ready or has begun");
        Some(stripe_write)
    }

    /// The GC of a plane begins. Returns whether another of its group is under way, by what is said of its planes.
    #[cold]
    pub(super) fn gc_begins(&mut self, now: Ns, plane: PlaneIx, is_under_way: impl Fn(PlaneIx) -> bool) -> bool {
        let overlaps = self.stripes.rotation_group(plane).any(|other| other != plane && is_under_way(other));
        self.gcs[self.stripes.group_of_plane(plane) as usize] += 1;
        if overlaps && self.violations.len() < VIOLATIONS_KEPT {
            self.violations.push(Violation { at: now, plane });
        }
        overlaps
    }

    /// The GC of a plane has ended.
    pub(super) fn gc_ends(&mut self, plane: PlaneIx) {
        self.gcs[self.stripes.group_of_plane(plane) as usize] -= 1;
    }

    /// Notes that a page was written into the buffer.
    pub fn note_dirty(&mut self, lpn: Lpn) {
        let index = self.active.activate(self.stripes.of(lpn));
        self.active.written(index, 1 << self.stripes.member_of(lpn), &self.stripes);
    }

    /// Notes that a dirty page was dropped from the buffer.
    pub fn note_dropped(&mut self, lpn: Lpn) {
        let Some(index) = self.active.find(self.stripes.of(lpn)) else { return };
        self.active.get_mut(index).dirty &= !(1 << self.stripes.member_of(lpn));
        self.active.written(index, 0, &self.stripes);
        self.active.deactivate_if_idle(index);
    }

    /// Buffer pages that only parity may take, so that a stripe can always leave.
    pub fn reserve(stripes: &Stripes, buffer_pages: u32) -> u32 {
        stripes.groups().min(buffer_pages / stripes.width()).max(1)
    }
}

#[cfg(test)]
impl Rain {
    pub(crate) fn stripes_for_test(&mut self) -> &mut Stripes {
        &mut self.stripes
    }

    pub(crate) fn miscount_steps_for_test(&mut self) {
        self.steps_under_way += 1;
    }

    pub(crate) fn deferred_for_test(&mut self, pages: u32) {
        self.deferred = pages;
    }

    pub(crate) fn any_computed_for_test(&self) -> bool {
        self.stripe_writes.used().any(|stripe_write| stripe_write.ready)
    }

    pub(crate) fn gc_begins_for_test(&mut self, plane: PlaneIx) {
        self.gcs[self.stripes.group_of_plane(plane) as usize] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::tiny_device;

    fn rain() -> Rain {
        let mut device = tiny_device();
        (device.geometry.channels, device.geometry.dies_per_chip) = (4, 2);
        Rain::new(Stripes::new(&device, 4), 8, 16)
    }

    fn order(rain: &Rain, group: u32, full: bool) -> Vec<u32> {
        rain.active.in_order(group, full).map(|(stripe, _)| stripe).collect()
    }

    #[test]
    fn stripes_are_kept_in_the_order_of_writing_full_ones_apart() {
        let mut rain = rain();
        [0, 6, 12, 1, 3].into_iter().for_each(|lpn| rain.note_dirty(lpn));
        assert_eq!(order(&rain, 0, false), [2, 4, 0], "stripe 0 was written again; stripe 1 is in the other group");
        rain.note_dirty(2);
        assert_eq!((order(&rain, 0, false), order(&rain, 0, true)), (vec![2, 4], vec![0]));
        rain.note_dropped(2);
        assert_eq!((order(&rain, 0, false), order(&rain, 0, true)), (vec![2, 4, 0], vec![]));
        rain.note_dropped(6);
        assert_eq!((order(&rain, 0, false), rain.active.len()), (vec![4, 0], 3));
    }

    #[test]
    fn a_stripe_on_its_way_is_in_no_list_until_it_has_arrived() {
        let mut rain = rain();
        rain.note_dirty(0);
        let index = rain.active.find(0).unwrap();
        rain.active.unlist(index);
        (rain.active.get_mut(index).stripe_write, rain.active.get_mut(index).dirty) = (7, 0);
        rain.note_dirty(1);
        assert_eq!(order(&rain, 0, false), Vec::<u32>::new());
        rain.active.get_mut(index).stripe_write = NONE;
        rain.active.written(index, 0, &rain.stripes);
        assert_eq!(order(&rain, 0, false), [0]);
    }

    #[test]
    fn trimmed_pages_are_remembered_and_forgotten() {
        let mut rain = rain();
        assert!(!rain.set_trimmed(9, false) && rain.trimmed.is_empty());
        assert!(!rain.set_trimmed(9, true) && rain.is_trimmed(9) && !rain.is_trimmed(8));
        assert!(rain.set_trimmed(9, false) && !rain.is_trimmed(9));
    }
}
