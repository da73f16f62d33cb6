//! # Super-pages: static dies, dynamic planes
//!
//! **What it does.** A logical page always goes to the same die: consecutive pages go round the dies in a given order. Of the
//! die's planes it goes to the one with the fewest programs of the host and the buffer, in turns among equals, so that any
//! pages of a die fill a program of all its planes. Where the design lets GC leave its plane (`[gc] destination = "die"`), its
//! pages are spread over the planes in the same way.
//!
//! **Source.** Practical Erase Suspension, section 3.1: strict 8-plane programs, which a plane that is bound to addresses could
//! rarely fill. The paper does not say how pages are chosen for them.
//!
//! **Parameters.** `order`, one of the 24 orders of C, W, D and P in which consecutive pages go round the dies; default `CWDP`.
//! Where P stands in it makes no difference. `chunk`, what goes to a die before the next one's turn: `page` (default), or
//! `superpage`, a page for each of its planes, so that large reads touch fewer dies.
//!
//! **Cost.** What was written together lies on different planes of its die only if it was programmed together; pages with one
//! plane in common are read one after the other. Overwritten pages leave any plane, so that planes of a die come to hold unequal
//! shares of its live pages, and ageing can't write to a full one: a drive without room for six standard deviations is refused.

use crate::policy::prelude::*;
use crate::techniques::place::static_order::PlaneOrder;

/// The die by address, the plane by what waits there.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Superpage {
    #[serde(default)]
    order: PlaneOrder,
    #[serde(default)]
    chunk: Chunk,
    /// So many consecutive pages go to a die before the next one's turn.
    #[serde(skip)]
    pages_in_a_row: u32,
    /// The dies in turn.
    #[serde(skip)]
    dies: Vec<DieIx>,
    /// Of each die, the plane after the one that was chosen last, counted within the die; for the host, and for GC.
    #[serde(skip)]
    turns: [Vec<PlaneIx>; 2],
}

/// What goes to a die before the next one's turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Chunk {
    /// A page.
    #[default]
    Page,
    /// A page for each plane of the die.
    Superpage,
}

impl Superpage {
    /// Chunks of a kind go round the dies.
    pub fn new(chunk: Chunk) -> Self {
        Self { chunk, ..Self::default() }
    }

    /// The dies in turn, and how many consecutive pages each gets.
    pub(crate) fn dies(&self) -> (&[DieIx], u32) {
        (&self.dies, self.pages_in_a_row)
    }

    /// The plane of a die with the fewest programs, from the next turn on.
    fn choose(&mut self, view: View<'_>, die: DieIx, for_gc: bool) -> PlaneIx {
        let planes = view.geometry().planes_per_die;
        let turn = &mut self.turns[usize::from(for_gc)][die as usize];
        let waiting = |plane: PlaneIx| if for_gc { view.gc_programs_for(plane) } else { view.host_programs_for(plane) };
        let in_turn = |step: u32| die * planes + (*turn + step) % planes;
        let chosen = (0..planes).map(in_turn).min_by_key(|&plane| waiting(plane)).expect("a die has planes");
        *turn = (chosen + 1) % planes;
        chosen
    }
}

impl Place for Superpage {
    fn prepare(&mut self, device: &Device) -> Result<(), ConfigError> {
        self.pages_in_a_row = if self.chunk == Chunk::Superpage { device.geometry.planes_per_die } else { 1 };
        let planes = self.order.planes(&device.geometry)?;
        let mut known = vec![false; device.geometry.dies() as usize];
        let dies = planes.into_iter().map(|plane| device.geometry.die_of(plane));
        self.dies = dies.filter(|&die| !std::mem::replace(&mut known[die as usize], true)).collect();
        self.turns = [vec![0; known.len()], vec![0; known.len()]];
        Ok(())
    }

    fn check(&mut self, with: &Combination<'_>, faults: &mut Faults) {
        // One plane of a die might be filled with live pages for good where programs do not take all of them. Where a block has room
        // for a few such programs only, GC would go on collecting its own padding.
        let g = &with.device.geometry;
        if g.pages_per_block < 3 * g.planes_per_die {
            let (padding, pages) = (g.planes_per_die - 1, g.pages_per_block);
            let found = format!("= \"superpage\" pads up to {padding} pages for each GC on this device, whose blocks have {pages} pages");
            let fault = Fault::new("place", "policy", found).with("geometry", "pages_per_block");
            faults.push(fault.allowed(format!("{} or more", 3 * g.planes_per_die)));
        }
        if with.pairing_traits.assembly_ns.is_none() {
            let found = format!("= \"superpage\" fills programs of all planes of a die; [pairing] `policy` is \"{}\"", with.pairing);
            faults.push(Fault::new("place", "policy", found).with("pairing", "policy").allowed("\"superpage\""));
        }
    }

    /// The turns, a byte each, since a die has at most 8 planes: of all dies for the host, then for GC.
    fn save(&self) -> Vec<u8> {
        self.turns.iter().flatten().map(|&turn| turn as u8).collect()
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), String> {
        let turns = self.turns.iter_mut().flatten();
        if state.len() != 2 * self.dies.len() {
            return Err(format!("superpage keeps {} bytes, not {}", 2 * self.dies.len(), state.len()));
        }
        turns.zip(state).for_each(|(turn, &saved)| *turn = saved.into());
        Ok(())
    }

    #[inline]
    fn plane(&mut self, view: View<'_>, lpn: Lpn) -> PlaneIx {
        let die = self.dies[(lpn / self.pages_in_a_row) as usize % self.dies.len()];
        self.choose(view, die, false)
    }

    fn gc_plane(&mut self, view: View<'_>, from: PlaneIx) -> PlaneIx {
        self.choose(view, view.geometry().die_of(from), true)
    }

    fn reach(&mut self) -> Reach {
        Reach::Die
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ftl::Tables;
    use crate::testkit::Parts;
    use crate::testkit::tiny_device;

    /// Two channels of one die of four planes.
    fn device() -> Device {
        let mut device = tiny_device();
        device.geometry.planes_per_die = 4;
        device
    }

    fn state() -> Parts {
        let device = device();
        let tables = Tables::new(&device.geometry, device.logical_pages(), 1, 1, false);
        let mut state = Parts::new(&device, tables);
        (state.ftl.bound, state.ftl.gc_bound) = (vec![0; 8], vec![0; 8]);
        state
    }

    fn superpage() -> Superpage {
        let mut place = Superpage::default();
        place.prepare(&device()).unwrap();
        place
    }

    #[test]
    fn pages_go_round_the_dies_and_each_die_fills_its_planes_in_turn() {
        let (state, mut place) = (state(), superpage());
        assert_eq!([0, 1, 2, 3, 4, 0, 0].map(|lpn| place.plane(state.view(), lpn)), [0, 4, 1, 5, 2, 3, 0]);
    }

    #[test]
    fn a_superpage_goes_to_a_die_before_the_next_ones_turn() {
        let (state, mut place) = (state(), Superpage::new(Chunk::Superpage));
        place.prepare(&device()).unwrap();
        let dies = [0, 1, 3, 4, 7, 8].map(|lpn| place.plane(state.view(), lpn) / 4);
        assert_eq!(dies, [0, 0, 0, 1, 1, 0]);
    }

    #[test]
    fn the_plane_with_the_fewest_programs_takes_the_page_and_gc_counts_apart() {
        let (mut state, mut place) = (state(), superpage());
        state.ftl.bound[..4].copy_from_slice(&[1, 1, 0, 1]);
        state.ftl.gc_bound[..4].copy_from_slice(&[0, 1, 2, 0]);
        assert_eq!(place.plane(state.view(), 0), 2);
        assert_eq!(place.gc_plane(state.view(), 1), 0);
        assert_eq!(place.gc_plane(state.view(), 1), 3, "the first plane has had its turn");
    }
}
