//! # Static allocation
//!
//! **What it does.** Consecutive logical pages go round the drive's channels (C), chips or ways (W), dies (D) and planes (P).
//! The order says which of them changes fastest: `CWDP` visits every channel before it visits the second chip of any.
//! A page that is overwritten stays in its plane.
//!
//! **Source.** Hu et al., ICS 2011, section 4 (the 24 orders); TTFLASH, section 4.2; I/O-parallelized GC, section 2 (CWDP).
//!
//! **Parameters.** `order`, one of the 24 orders of C, W, D and P; default `CWDP`.
//!
//! **Cost.** None in space. Load follows addresses: a stride that meets one plane only is served by that plane only.

use crate::config::ConfigError;
use crate::device::{Device, Geometry};
use crate::ids::{Lpn, PlaneIx};
use crate::policy::answers::{Opens, Reach};
use crate::policy::interface::Place;
use crate::raid::stripes::Stripes;
use crate::view::View;
use serde::Deserialize;

/// Static allocation in one of the 24 orders.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct StaticOrder {
    #[serde(default = "cwdp")]
    order: String,
    /// The plane of each logical page, modulo the number of planes.
    #[serde(skip)]
    planes: Vec<PlaneIx>,
}

fn cwdp() -> String {
    "CWDP".into()
}

impl Default for StaticOrder {
    fn default() -> Self {
        Self { order: cwdp(), planes: Vec::new() }
    }
}

impl StaticOrder {
    /// Static allocation in the given order.
    pub fn new(order: &str) -> Self {
        Self { order: order.into(), planes: Vec::new() }
    }

    /// The plane of each logical page, modulo their number.
    pub(crate) fn round(&self) -> &[PlaneIx] {
        &self.planes
    }
}

impl Place for StaticOrder {
    fn prepare(&mut self, device: &Device) -> Result<(), ConfigError> {
        self.planes = planes_in_order(&self.order, &device.geometry)?;
        Ok(())
    }

    #[inline]
    fn plane(&mut self, _: View<'_>, lpn: Lpn) -> PlaneIx {
        let count = self.planes.len() as u32;
        // Most drives have a power of two of planes, for which the remainder is a mask.
        let index = if count.is_power_of_two() { lpn & (count - 1) } else { lpn % count };
        self.planes[index as usize]
    }

    fn gc_plane(&mut self, _: View<'_>, from: PlaneIx) -> PlaneIx {
        from
    }

    fn reach(&mut self) -> Reach {
        Reach::Plane
    }

    fn stripes(&mut self) -> Option<Stripes> {
        None
    }

    #[inline]
    fn write_point(&mut self, view: View<'_>, plane: PlaneIx, for_gc: bool) -> usize {
        // GC takes the second write point where the design has one, so that moved pages and new ones do not mix.
        usize::from(for_gc && view.books().write_points(plane) > 1)
    }

    fn opens(&mut self) -> Opens {
        Opens::ErasedFirst
    }
}

/// The planes of a drive in one of the 24 orders.
pub(super) fn planes_in_order(order: &str, g: &Geometry) -> Result<Vec<PlaneIx>, ConfigError> {
    let mut letters: Vec<char> = order.chars().collect();
    letters.sort_unstable();
    if letters != ['C', 'D', 'P', 'W'] {
        return Err(ConfigError(format!(
            "[place] `order` is \"{order}\"; allowed: the letters C (channel), W (chip), D (die) and P (plane), each once, such as \"CWDP\""
        )));
    }
    let place = |index: u32| {
        let mut rest = index;
        let (mut channel, mut chip, mut die, mut plane) = (0, 0, 0, 0);
        for letter in order.chars() {
            let (digit, size) = match letter {
                'C' => (&mut channel, g.channels),
                'W' => (&mut chip, g.chips_per_channel),
                'D' => (&mut die, g.dies_per_chip),
                _ => (&mut plane, g.planes_per_die),
            };
            *digit = rest % size;
            rest /= size;
        }
        ((channel * g.chips_per_channel + chip) * g.dies_per_chip + die) * g.planes_per_die + plane
    };
    Ok((0..g.planes()).map(place).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::tiny_device;

    fn planes(order: &str) -> Vec<PlaneIx> {
        let mut device = tiny_device();
        let g = &mut device.geometry;
        (g.channels, g.chips_per_channel, g.dies_per_chip, g.planes_per_die) = (2, 2, 1, 2);
        let mut place = StaticOrder::new(order);
        place.prepare(&device).unwrap();
        let state = crate::testkit::tiny_state();
        (0..9).map(|lpn| place.plane(state.view(), lpn)).collect()
    }

    #[test]
    fn the_order_says_what_changes_fastest() {
        // Planes are numbered channel first: 0-3 on channel 0, two of them in each die.
        assert_eq!(planes("CWDP"), [0, 4, 2, 6, 1, 5, 3, 7, 0]);
        assert_eq!(planes("PWCD"), [0, 1, 2, 3, 4, 5, 6, 7, 0]);
    }

    #[test]
    fn each_of_the_24_orders_visits_every_plane_once() {
        let letters = ['C', 'W', 'D', 'P'];
        let mut orders = 0;
        for code in 0..256 {
            let order: String = (0..4).map(|place| letters[code >> (2 * place) & 3]).collect();
            if letters.iter().all(|&letter| order.contains(letter)) {
                orders += 1;
                let mut seen = planes(&order)[..8].to_vec();
                seen.sort_unstable();
                assert_eq!(seen, (0..8).collect::<Vec<_>>(), "{order}");
            }
        }
        assert_eq!(orders, 24);
    }

    #[test]
    fn an_order_that_is_none_is_refused() {
        let error = StaticOrder::new("CWDD").prepare(&tiny_device()).unwrap_err();
        assert!(error.0.contains("CWDD") && error.0.contains("each once"), "{error}");
    }
}
