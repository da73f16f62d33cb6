//! # RAIN stripes
//!
//! **What it does.** Each N - 1 consecutive logical pages and a parity page form a stripe, which lies in one plane group:
//! planes at the same position of N channels. Consecutive stripes go round the plane groups, and the parity rotates over the
//! channels. Inside its plane a page may be anywhere, and an overwritten page stays in its plane.
//!
//! **Source.** TTFLASH, section 4.2 and figure 4; more channels than N are several groups at each position (section 4.4).
//!
//! **Parameters.** `stripe_width`, N, from 2 to 32 and a divisor of the channels; default 8, or the number of channels where
//! 8 does not divide it.
//!
//! **Cost.** One page in N holds parity: space, programs, GC. A small write reads before it writes. Each N pages in a row
//! meet a channel twice.

use crate::policy::prelude::*;
use crate::stripes::{Stripes, WIDTH_MAX};

/// Pages in stripes with parity.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rain {
    #[serde(default)]
    stripe_width: Option<u32>,
    #[serde(skip)]
    stripes: Option<Stripes>,
}

/// The usual stripe width. TTFLASH, section 4.4.
const WIDTH: u32 = 8;

impl Rain {
    /// Stripes of a given width.
    pub fn new(stripe_width: u32) -> Self {
        Self { stripe_width: Some(stripe_width), stripes: None }
    }

    /// The stripes of the device that it was prepared for.
    pub(crate) fn layout(&self) -> Option<&Stripes> {
        self.stripes.as_ref()
    }
}

impl Place for Rain {
    fn prepare(&mut self, device: &Device) -> Result<(), ConfigError> {
        let channels = device.geometry.channels;
        let width = self.stripe_width.unwrap_or(if channels.is_multiple_of(WIDTH) { WIDTH } else { channels });
        if !(2..=WIDTH_MAX).contains(&width) || !channels.is_multiple_of(width) {
            let divisors: Vec<String> = (2..=WIDTH_MAX).filter(|&width| channels.is_multiple_of(width)).map(|n| n.to_string()).collect();
            let allowed = match divisors.as_slice() {
                [] => "none: RAIN needs at least 2 channels".into(),
                divisors => format!("{}, the divisors of the channels up to {WIDTH_MAX}", divisors.join(", ")),
            };
            let found = format!("is {width} with policy \"rain\", and [geometry] `channels` of this device is {channels}");
            return Err(Fault::new("place", "stripe_width", found).with("geometry", "channels").allowed(allowed).into());
        }
        self.stripes = Some(Stripes::new(device, width));
        Ok(())
    }

    fn check(&mut self, with: &Combination<'_>, faults: &mut Faults) {
        let (kib, unit_bytes) = (with.device.ram.buffer_kib, u64::from(with.device.geometry.unit_bytes()));
        let width = self.stripes.as_ref().expect("a prepared policy").width();
        if u64::from(kib) * 1024 / unit_bytes < u64::from(width) {
            let least = u64::from(width) * unit_bytes / 1024;
            let found = format!("= \"rain\" writes whole stripes of {width} pages from the buffer, and [ram] `buffer_kib` is {kib}");
            faults.push(Fault::new("place", "policy", found).with("ram", "buffer_kib").allowed(format!("at least {least} on this device")));
        }
    }

    #[inline]
    fn plane(&mut self, _: View<'_>, lpn: Lpn) -> PlaneIx {
        self.stripes.as_ref().expect("a prepared policy").plane_of(lpn)
    }

    fn stripes(&mut self) -> Option<Stripes> {
        self.stripes.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::tiny_device;

    #[test]
    fn a_width_that_does_not_divide_the_channels_is_refused_and_names_those_that_do() {
        let mut device = tiny_device();
        device.geometry.channels = 6;
        let error = Rain::new(4).prepare(&device).unwrap_err();
        assert!(error.to_string().contains("`stripe_width` is 4") && error.to_string().contains("2, 3, 6"), "{error}");
        let error = Rain::new(1).prepare(&device).unwrap_err();
        assert!(error.to_string().contains("`stripe_width` is 1"), "{error}");
        let mut rain = Rain::default();
        rain.prepare(&device).unwrap();
        assert_eq!(rain.layout().unwrap().width(), 6, "8 does not divide 6 channels");
        device.geometry.channels = 16;
        rain.prepare(&device).unwrap();
        assert_eq!(rain.layout().unwrap().width(), 8);
    }

    #[test]
    fn pages_beside_each_other_lie_on_channels_of_one_group() {
        let mut device = tiny_device();
        (device.geometry.channels, device.geometry.dies_per_chip) = (4, 2);
        let mut rain = Rain::new(4);
        rain.prepare(&device).unwrap();
        let state = crate::testkit::tiny_state();
        let planes: Vec<_> = (0..6).map(|lpn| rain.plane(state.view(), lpn)).collect();
        assert_eq!(planes, [0, 2, 4, 1, 3, 7]);
    }
}
