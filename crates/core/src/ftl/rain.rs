//! RAIN stripes: which pages belong together, and where each of them lies. TTFLASH, section 4.2.
//!
//! A stripe is N - 1 consecutive logical pages and their parity. Parity pages are logical pages beyond the host's, so map,
//! reverse map, valid counts and GC treat them like any other. A stripe lies in one plane group, one page on each of N
//! channels; which of them has the parity rotates from stripe to stripe.

use crate::device::Device;
use crate::ids::{Lpn, PlaneIx};

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
        stripe % self.groups
    }

    /// The channel, counted inside its group, that has the parity of a stripe.
    #[inline]
    fn parity_channel(&self, stripe: u32) -> u32 {
        let (group, row) = (stripe % self.groups, stripe / self.groups);
        self.width - 1 - (group + row) % self.width
    }

    #[inline]
    fn plane_at(&self, group: u32, channel: u32) -> PlaneIx {
        let (position, slice) = (group / self.slices, group % self.slices);
        (slice * self.width + channel) * self.planes_per_channel + position
    }

    /// The plane of a logical page.
    #[inline]
    pub fn plane_of(&self, lpn: Lpn) -> PlaneIx {
        let stripe = self.of(lpn);
        let parity = self.parity_channel(stripe);
        let channel = if self.is_parity(lpn) {
            parity
        } else {
            let member = self.member_of(lpn);
            member + u32::from(member >= parity)
        };
        self.plane_at(self.group_of(stripe), channel)
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

    /// The logical page of a plane's row; nothing where the last stripe is short, or has ended.
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
}
