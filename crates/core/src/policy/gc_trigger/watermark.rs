//! # Watermark trigger
//!
//! **What it does.** A plane wants a GC when its erased pages fall below a share of its pages, and wants it urgently below
//! a smaller share.
//!
//! **Source.** TTFLASH, section 3: GC starts when used pages exceed "a certain threshold (e.g., 70%)". The hard share is the
//! one of the authors' released simulator.
//!
//! **Parameters.** `soft_free_percent` (default 30), `hard_free_percent` (default 10): shares of a plane's pages that are
//! erased. Soft must be above hard.
//!
//! **Cost.** A higher share means earlier GC of fuller blocks: more write amplification.

use crate::config::ConfigError;
use crate::device::Device;
use crate::ids::PlaneIx;
use crate::policy::{GcTrigger, Want};
use crate::view::View;
use schemars::JsonSchema;
use serde::Deserialize;

/// Soft and hard watermark of erased pages.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Watermark {
    #[serde(default = "soft")]
    soft_free_percent: f64,
    #[serde(default = "hard")]
    hard_free_percent: f64,
    #[serde(skip)]
    soft_pages: u32,
    #[serde(skip)]
    hard_pages: u32,
}

fn soft() -> f64 {
    30.0
}

fn hard() -> f64 {
    10.0
}

impl Watermark {
    /// Watermarks in percent of a plane's pages.
    pub fn new(soft_free_percent: f64, hard_free_percent: f64) -> Self {
        Self { soft_free_percent, hard_free_percent, soft_pages: 0, hard_pages: 0 }
    }
}

impl GcTrigger for Watermark {
    fn prepare(&mut self, device: &Device) -> Result<(), ConfigError> {
        let (soft, hard) = (self.soft_free_percent, self.hard_free_percent);
        if !(soft > hard && hard >= 0.0 && soft < 100.0) {
            return Err(ConfigError(format!(
                "[gc_trigger] `soft_free_percent` is {soft} and `hard_free_percent` {hard}; allowed: 0 <= hard < soft < 100"
            )));
        }
        let pages = f64::from(device.geometry.pages_per_plane());
        self.soft_pages = (pages * soft / 100.0).round() as u32;
        self.hard_pages = (pages * hard / 100.0).round() as u32;
        Ok(())
    }

    fn urgent_below(&mut self) -> Option<(&'static str, u32)> {
        Some(("hard_free_percent", self.hard_pages))
    }

    #[inline]
    fn want(&mut self, view: View<'_>, plane: PlaneIx) -> Want {
        let free = view.books().free_pages(plane);
        if free >= self.soft_pages {
            Want::No
        } else if free >= self.hard_pages {
            Want::Soft
        } else {
            Want::Hard
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ftl::Claimant;
    use crate::testkit::{tiny_device, tiny_state};

    #[test]
    fn a_plane_wants_gc_below_the_share_and_not_at_it() {
        let device = tiny_device();
        let pages = device.geometry.pages_per_plane();
        let mut state = tiny_state();
        let mut trigger = Watermark::new(75.0, 50.0);
        trigger.prepare(&device).unwrap();
        for taken in 0..=pages / 2 + 1 {
            let want = trigger.want(View(&state), 0);
            let free = pages - taken;
            let expected = if free >= pages * 3 / 4 {
                Want::No
            } else if free >= pages / 2 {
                Want::Soft
            } else {
                Want::Hard
            };
            assert_eq!(want, expected, "{free} of {pages} pages erased");
            state.books.take(0, 0, Claimant::Gc).unwrap();
        }
    }

    #[test]
    fn watermarks_out_of_order_are_refused() {
        let error = Watermark::new(10.0, 30.0).prepare(&tiny_device()).unwrap_err();
        assert!(error.0.contains("hard < soft"), "{error}");
    }
}
