//! RAIN stripes: which pages belong together, and where each of them lies. TTFLASH, section 4.2.
//!
//! A stripe is N - 1 consecutive logical pages and their parity. Parity pages are logical pages beyond the host's, so map,
//! reverse map, valid counts and GC treat them like any other. A stripe lies in one plane group, one page on each of N
//! channels; which of them has the parity rotates from stripe to stripe.

use crate::device::Device;
use crate::ids::{Lpn, PlaneIx};
use std::collections::HashMap;

/// The widest stripe: data pages are noted in 32 bits.
pub const WIDTH_MAX: u32 = 32;

/// The stripes of a drive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stripes {
    /// Pages of a stripe, its parity included.
    width: u32,
    /// Plane groups at one vertical position: channels over width.
    slices: u32,
    groups: u32,
    planes_per_channel: u32,
    planes_per_die: u32,
    /// Pages that the host can address; parity pages follow.
    logical_pages: Lpn,
    count: u32,
    /// Stripes that are not where the static layout has them, if there have been any.
    table: Option<Box<StripeTable>>,
    table_capacity: u32,
}

/// Where a stripe lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Its plane group.
    pub group: u32,
    /// The channel of its parity, counted inside the group.
    pub parity_channel: u32,
}

/// The stripe table of TTFLASH, section 7: a mapping-modified bit, here for each stripe and not for each page, and the places of those that have it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct StripeTable {
    modified: Vec<u64>,
    places: HashMap<u32, Place>,
    /// Stripes of each group.
    stripes_in: Vec<u32>,
}

impl StripeTable {
    fn place(&self, stripe: u32) -> Option<Place> {
        let modified = self.modified[(stripe / 64) as usize] >> (stripe % 64) & 1 == 1;
        modified.then(|| self.places[&stripe])
    }
}

impl Stripes {
    /// Stripes of `width` pages on a device whose channels are a multiple of it.
    pub fn new(device: &Device, width: u32) -> Self {
        let g = &device.geometry;
        let planes_per_channel = g.planes() / g.channels;
        let slices = g.channels / width;
        let logical_pages = device.logical_pages() as Lpn;
        Self {
            width,
            slices,
            groups: slices * planes_per_channel,
            planes_per_channel,
            planes_per_die: g.planes_per_die,
            logical_pages,
            count: logical_pages.div_ceil(width - 1),
            table: None,
            table_capacity: device.stripe_table_entries(),
        }
    }

    /// Pages of a stripe, its parity included.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// The number of stripes, and so of parity pages.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The number of plane groups.
    pub fn groups(&self) -> u32 {
        self.groups
    }

    /// Pages that the host can address.
    pub fn logical_pages(&self) -> Lpn {
        self.logical_pages
    }

    /// Logical pages of host and parity.
    pub fn pages(&self) -> u64 {
        u64::from(self.logical_pages) + u64::from(self.count)
    }

    /// The logical page that the page at a place in a stripe is programmed as while its stripe moves: there is one number behind
    /// all others for each place.
    #[inline]
    pub fn page_on_the_move(&self, place: u32) -> Lpn {
        self.logical_pages + self.count + place
    }

    /// The most pages that any plane holds.
    pub fn rows(&self) -> u32 {
        self.count.div_ceil(self.groups)
    }

    /// The stripe of a logical page, be it the host's or parity.
    #[inline]
    pub fn of(&self, lpn: Lpn) -> u32 {
        if lpn < self.logical_pages { lpn / (self.width - 1) } else { lpn - self.logical_pages }
    }

    /// The place of a host's page in its stripe, from 0.
    #[inline]
    pub fn member_of(&self, lpn: Lpn) -> u32 {
        lpn % (self.width - 1)
    }

    /// The place of a logical page in its stripe; parity is behind the last member.
    #[inline]
    pub fn place_of(&self, lpn: Lpn) -> u32 {
        if self.is_parity(lpn) { self.members(self.of(lpn)).1 } else { self.member_of(lpn) }
    }

    /// The logical page at a place in a stripe.
    #[inline]
    pub fn page_in(&self, stripe: u32, place: u32) -> Lpn {
        let (first, members) = self.members(stripe);
        if place == members { self.parity(stripe) } else { first + place }
    }

    /// The first host's page of a stripe, and how many it has; only the last stripe can have fewer than the width less one.
    #[inline]
    pub fn members(&self, stripe: u32) -> (Lpn, u32) {
        let first = stripe * (self.width - 1);
        (first, (self.width - 1).min(self.logical_pages - first))
    }

    /// The logical pages of a stripe that are programmed where `written` are, one bit for each host's page from the first on: those
    /// and the parity.
    pub fn programmed(&self, stripe: u32, written: u32) -> impl Iterator<Item = Lpn> + use<> {
        let (first, members) = self.members(stripe);
        let pages = (0..members).filter(move |member| written >> member & 1 == 1).map(move |member| first + member);
        pages.chain([self.parity(stripe)])
    }

    /// The parity page of a stripe.
    #[inline]
    pub fn parity(&self, stripe: u32) -> Lpn {
        self.logical_pages + stripe
    }

    /// Whether a logical page is parity.
    #[inline]
    pub fn is_parity(&self, lpn: Lpn) -> bool {
        lpn >= self.logical_pages
    }

    /// The plane group of a stripe.
    #[inline]
    pub fn group_of(&self, stripe: u32) -> u32 {
        self.moved_to(stripe).map_or(stripe % self.groups, |place| place.group)
    }

    #[inline]
    fn moved_to(&self, stripe: u32) -> Option<Place> {
        self.table.as_ref().and_then(|table| table.place(stripe))
    }

    /// Where the static layout has a stripe.
    pub(crate) fn static_place(&self, stripe: u32) -> Place {
        Place { group: stripe % self.groups, parity_channel: self.parity_channel(stripe) }
    }

    /// The place of a stripe whose parity lies in a plane.
    pub(crate) fn place_of_parity_in(&self, plane: PlaneIx) -> Place {
        let (group, parity_channel) = self.group_and_channel(plane);
        Place { group, parity_channel }
    }

    /// Where a stripe lies.
    pub fn place_of_stripe(&self, stripe: u32) -> Place {
        self.moved_to(stripe).unwrap_or_else(|| self.static_place(stripe))
    }

    /// Stripes that the table has.
    pub fn table_entries(&self) -> u32 {
        self.table.as_ref().map_or(0, |table| table.places.len() as u32)
    }

    /// Stripes that a plane group has, each with a page in every plane of it.
    pub fn stripes_in(&self, group: u32) -> u32 {
        let at_home = (self.count - group.min(self.count)).div_ceil(self.groups);
        self.table.as_ref().map_or(at_home, |table| table.stripes_in[group as usize])
    }

    /// Whether the table has room for the place of a stripe, or need not hold it.
    pub fn has_room_for(&self, stripe: u32, place: Place) -> bool {
        self.table_entries() < self.table_capacity || self.moved_to(stripe).is_some() || place == self.static_place(stripe)
    }

    /// Puts a stripe elsewhere. One that comes home leaves the table.
    ///
    /// # Panics
    /// If the table has no room for it.
    pub fn set_place(&mut self, stripe: u32, place: Place) {
        assert!(self.has_room_for(stripe, place), "the stripe table is full");
        let (is_home, group) = (place == self.static_place(stripe), self.group_of(stripe));
        let words = (self.count as usize).div_ceil(64);
        let table = self.table.take().unwrap_or_else(|| {
            let stripes_in = (0..self.groups).map(|group| self.stripes_in(group)).collect();
            Box::new(StripeTable { modified: vec![0; words], places: HashMap::new(), stripes_in })
        });
        let table = self.table.insert(table);
        table.stripes_in[group as usize] -= 1;
        table.stripes_in[place.group as usize] += 1;
        let (word, bit) = (&mut table.modified[(stripe / 64) as usize], 1 << (stripe % 64));
        if is_home {
            *word &= !bit;
            table.places.remove(&stripe);
        } else {
            *word |= bit;
            table.places.insert(stripe, place);
        }
    }

    /// The plane of a logical page if its stripe had a place. At home it lies as in the paper's figure 4; elsewhere its pages
    /// follow the parity round the channels, as in the example of section 7.
    pub fn plane_if(&self, lpn: Lpn, place: Place) -> PlaneIx {
        if place == self.static_place(self.of(lpn)) {
            return self.static_plane(lpn);
        }
        let behind = if self.is_parity(lpn) { 0 } else { 1 + self.member_of(lpn) };
        self.plane_at(place.group, (place.parity_channel + behind) % self.width)
    }

    /// The channel, counted inside its group, that has the parity of a stripe.
    #[inline]
    fn parity_channel(&self, stripe: u32) -> u32 {
        let (group, row) = (stripe % self.groups, stripe / self.groups);
        self.width - 1 - (group + row) % self.width
    }

    /// The plane of a group on one of its channels.
    #[inline]
    pub fn plane_at(&self, group: u32, channel: u32) -> PlaneIx {
        let (position, slice) = (group / self.slices, group % self.slices);
        (slice * self.width + channel) * self.planes_per_channel + position
    }

    /// The plane of a logical page.
    #[inline]
    pub fn plane_of(&self, lpn: Lpn) -> PlaneIx {
        match self.moved_to(self.of(lpn)) {
            Some(place) => self.plane_if(lpn, place),
            None => self.static_plane(lpn),
        }
    }

    /// The plane of a logical page in the static layout, where no stripe has moved.
    #[inline]
    pub fn static_plane(&self, lpn: Lpn) -> PlaneIx {
        let stripe = self.of(lpn);
        let parity = self.parity_channel(stripe);
        let channel = if self.is_parity(lpn) {
            parity
        } else {
            let member = self.member_of(lpn);
            member + u32::from(member >= parity)
        };
        self.plane_at(stripe % self.groups, channel)
    }

    /// The plane group of a plane, and its channel inside it.
    #[inline]
    fn group_and_channel(&self, plane: PlaneIx) -> (u32, u32) {
        let (channel, position) = (plane / self.planes_per_channel, plane % self.planes_per_channel);
        (position * self.slices + channel / self.width, channel % self.width)
    }

    /// The plane group of a plane.
    pub fn group_of_plane(&self, plane: PlaneIx) -> u32 {
        self.group_and_channel(plane).0
    }

    /// The row of a logical page: its number inside its plane.
    #[inline]
    pub fn row_of(&self, lpn: Lpn) -> u32 {
        self.of(lpn) / self.groups
    }

    /// The logical page of a plane's row in the static layout; nothing where the last stripe is short, or has ended.
    #[inline]
    pub fn page_at(&self, plane: PlaneIx, row: u32) -> Option<Lpn> {
        let (group, channel) = self.group_and_channel(plane);
        let stripe = row.checked_mul(self.groups)?.checked_add(group).filter(|&stripe| stripe < self.count)?;
        let parity = self.parity_channel(stripe);
        if channel == parity {
            return Some(self.parity(stripe));
        }
        let (first, members) = self.members(stripe);
        let member = channel - u32::from(channel > parity);
        (member < members).then_some(first + member)
    }

    /// The planes among which at most one GC leaves every stripe readable: those of the plane group and, where dies have
    /// several planes, of the same dies.
    pub fn rotation_group(&self, plane: PlaneIx) -> impl Iterator<Item = PlaneIx> + use<> {
        let (channel, position) = (plane / self.planes_per_channel, plane % self.planes_per_channel);
        let (first_channel, die) = (channel / self.width * self.width, position / self.planes_per_die);
        let (per_channel, per_die) = (self.planes_per_channel, self.planes_per_die);
        (first_channel..first_channel + self.width)
            .flat_map(move |channel| (0..per_die).map(move |plane| channel * per_channel + die * per_die + plane))
    }

    /// The number of the rotation group of a plane, and how many there are.
    pub fn rotation_index(&self, plane: PlaneIx) -> (u32, u32) {
        let (channel, position) = (plane / self.planes_per_channel, plane % self.planes_per_channel);
        let dies = self.planes_per_channel / self.planes_per_die;
        (position / self.planes_per_die * self.slices + channel / self.width, dies * self.slices)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::tiny_device;

    fn stripes(channels: u32, dies: u32, planes: u32, width: u32) -> (Stripes, u32) {
        let mut device = tiny_device();
        let g = &mut device.geometry;
        (g.channels, g.dies_per_chip, g.planes_per_die) = (channels, dies, planes);
        (Stripes::new(&device, width), device.geometry.planes())
    }

    #[test]
    fn pages_lie_as_in_figure_4() {
        // Four channels of two planes; plane = channel x 2 + position.
        let (stripes, _) = stripes(4, 2, 1, 4);
        let at = |lpn: Lpn| (stripes.plane_of(lpn) / 2, stripes.plane_of(lpn) % 2);
        assert_eq!([0, 1, 2].map(at), [(0, 0), (1, 0), (2, 0)]);
        assert_eq!(at(stripes.parity(0)), (3, 0), "P012 is on channel 3 of group 0");
        assert_eq!([3, 4, 5].map(at), [(0, 1), (1, 1), (3, 1)], "pages 0 and 3 share channel 0");
        assert_eq!(at(stripes.parity(1)), (2, 1), "parity runs along a diagonal");
    }

    #[test]
    fn every_stripe_has_one_page_on_each_channel_of_its_group_and_every_plane_one_page_of_each_row() {
        for (channels, dies, planes, width) in [(2, 1, 1, 2), (4, 3, 1, 4), (8, 2, 2, 4), (6, 1, 2, 3), (32, 1, 1, 32)] {
            let (stripes, planes) = stripes(channels, dies, planes, width);
            let mut pages = 0;
            for plane in 0..planes {
                for row in 0..stripes.rows() + 1 {
                    if let Some(lpn) = stripes.page_at(plane, row) {
                        assert_eq!((stripes.plane_of(lpn), stripes.row_of(lpn)), (plane, row));
                        pages += 1;
                    }
                }
                let group: Vec<_> = stripes.rotation_group(plane).collect();
                assert!(group.contains(&plane));
                assert!(group.iter().all(|&other| stripes.rotation_index(other) == stripes.rotation_index(plane)));
                let like_it = |&other: &PlaneIx| stripes.rotation_index(other) == stripes.rotation_index(plane);
                assert_eq!((0..planes).filter(like_it).count(), group.len(), "no other group has its number");
                let (index, count) = stripes.rotation_index(plane);
                assert_eq!((index < count, count), (true, planes / group.len() as u32));
            }
            assert_eq!(pages, stripes.pages(), "every page lies somewhere, once");
            for stripe in 0..stripes.count() {
                let (first, members) = stripes.members(stripe);
                let mut lie: Vec<_> = (first..first + members).chain([stripes.parity(stripe)]).map(|lpn| stripes.plane_of(lpn)).collect();
                assert!(lie.iter().all(|&plane| stripes.rotation_index(plane) == stripes.rotation_index(lie[0])));
                lie.sort_unstable();
                lie.dedup();
                assert_eq!(lie.len() as u32, members + 1);
            }
        }
    }

    #[test]
    fn a_moved_stripe_follows_its_parity_round_the_channels_until_it_comes_home() {
        let (mut stripes, _) = stripes(4, 2, 1, 4);
        let at = |stripes: &Stripes| [0, 1, 2, stripes.parity(0)].map(|lpn| (stripes.plane_of(lpn) / 2, stripes.plane_of(lpn) % 2));
        let home = stripes.place_of_stripe(0);
        assert_eq!(home, Place { group: 0, parity_channel: 3 });
        // The paper's example: the order 0, 1, 2, P becomes 1, 2, P, 0.
        stripes.set_place(0, Place { group: 0, parity_channel: 2 });
        assert_eq!(at(&stripes), [(3, 0), (0, 0), (1, 0), (2, 0)]);
        stripes.set_place(0, Place { group: 1, parity_channel: 2 });
        assert_eq!((at(&stripes), stripes.table_entries()), ([(3, 1), (0, 1), (1, 1), (2, 1)], 1));
        let (of_0, of_1) = (stripes.count().div_ceil(2), stripes.count() / 2);
        assert_eq!((stripes.stripes_in(0), stripes.stripes_in(1)), (of_0 - 1, of_1 + 1));
        stripes.set_place(0, home);
        assert_eq!((stripes.stripes_in(0), stripes.stripes_in(1)), (of_0, of_1));
        assert_eq!((at(&stripes), stripes.table_entries()), ([(0, 0), (1, 0), (2, 0), (3, 0)], 0));
        // At home a stripe lies as it always did, wherever its parity is.
        let (home, lay) = (stripes.place_of_stripe(1), stripes.plane_of(3));
        assert_eq!(stripes.plane_if(3, home), lay);
    }

    #[test]
    fn the_table_takes_as_many_stripes_as_it_has_room_for() {
        let mut device = tiny_device();
        (device.geometry.channels, device.geometry.dies_per_chip, device.geometry.blocks_per_plane) = (4, 2, 64);
        device.ram.stripe_table_kib = Some(1);
        let mut stripes = Stripes::new(&device, 4);
        let away = |stripe: u32| Place { group: 1 - stripe % 2, parity_channel: 0 };
        for stripe in 0..128 {
            assert!(stripes.has_room_for(stripe, away(stripe)), "{stripe}");
            stripes.set_place(stripe, away(stripe));
        }
        let elsewhere = Place { parity_channel: 1, ..away(5) };
        assert!(!stripes.has_room_for(128, away(128)) && stripes.has_room_for(5, elsewhere), "what is in the table may move on");
        let home = Place { group: 1, parity_channel: stripes.parity_channel(5) };
        stripes.set_place(5, home);
        assert!(stripes.has_room_for(128, away(128)), "what has come home is not in the table any more");
    }

    #[test]
    fn the_table_takes_a_sixteenth_of_the_map_if_nothing_is_said() {
        let mut device = tiny_device();
        device.geometry.blocks_per_plane = 4096;
        // 16,384 logical pages of four bytes.
        assert_eq!((device.logical_pages(), device.stripe_table_entries()), (16_384, 512));
        device.ram.stripe_table_kib = Some(3);
        assert_eq!(device.stripe_table_entries(), 384);
    }
}
