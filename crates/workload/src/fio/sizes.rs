//! How large the requests of a job are, and where skewed ones go.

use super::job::{Pattern, SECTOR};
use super::{Job, values};
use crate::synthetic::passes::Sizes;
use crate::synthetic::skew::{Skew, Zone, ZoneSize};
use tinytail_config::ConfigError;

/// fio's exponent of Zipf's law and its `h` of Pareto's, where none is given.
const ZIPF_THETA: f64 = 1.1;
const PARETO_H: f64 = 0.2;

/// What a size may be.
const A_SIZE: &str = "sizes like 4k, each a multiple of 512 bytes above 0 and below 2 TiB";

impl Job<'_> {
    /// Sizes of reads, writes and trims.
    pub(super) fn sizes(&self) -> Result<[Sizes; 3], ConfigError> {
        let unrounded = self.switch("blocksize_unaligned")?;
        let (split, range) = (self.given("bssplit"), self.given("blocksize_range"));
        if split.is_some() && range.is_some() {
            return Err(self.bound("bssplit", "and `bsrange` are both given", "one of them"));
        }
        if unrounded && split.is_none() {
            self.check_not_idle(&["blocksize_unaligned"], "without `bssplit`, since all sizes are multiples of 512 here")?;
        }
        for (name, given) in [("`bssplit`", split), ("`bsrange`", range)] {
            if given.is_some_and(|given| !given.split(',').any(|part| part.trim().is_empty())) {
                self.check_not_idle(&["blocksize"], &format!("beside {name}"))?;
            }
        }
        let unlike = |name| self.unlike(name, format_args!("one value, or up to three, as READ,WRITE,TRIM: {A_SIZE}"));
        let by_kind = |name| match self.given(name) {
            None => Ok([None; 3]),
            Some("") => Err(unlike(name)),
            Some(given) => values::by_kind(given).ok_or_else(|| unlike(name)),
        };
        let (ones, splits, ranges) = (by_kind("blocksize")?, by_kind("bssplit")?, by_kind("blocksize_range")?);
        let of = |kind: usize| -> Result<Sizes, ConfigError> {
            if let Some(split) = splits[kind] {
                return self.split(split, unrounded);
            }
            if let Some(range) = ranges[kind] {
                let (one, other) = range.split_once(['-', ':']).ok_or_else(|| self.unlike("blocksize_range", "as SIZE-SIZE"))?;
                let (one, other) = (self.size("blocksize_range", one)?, self.size("blocksize_range", other)?);
                return Ok(if one == other { Sizes::One(one) } else { Sizes::Between(one.min(other), one.max(other)) });
            }
            ones[kind].map_or(Ok(Sizes::One(4096)), |size| self.size("blocksize", size).map(Sizes::One))
        };
        Ok([of(0)?, of(1)?, of(2)?])
    }

    fn size(&self, name: &str, size: &str) -> Result<u64, ConfigError> {
        values::number(size.trim(), self.kilo_base()?)
            .filter(|bytes| *bytes > 0 && bytes % SECTOR == 0 && *bytes < 1 << 41)
            .ok_or_else(|| self.unlike(name, A_SIZE))
    }

    /// Sizes with their shares.
    fn split(&self, split: &str, unrounded: bool) -> Result<Sizes, ConfigError> {
        let expected = "sizes and their shares, as SIZE/PERCENT:SIZE/PERCENT, of one or of each direction with commas between";
        let mut parts: Vec<(u64, Option<u64>)> = Vec::new();
        for part in split.split(':') {
            let (size, share) = part.split_once('/').unwrap_or((part, ""));
            let share = match share.trim() {
                "" => None,
                share => Some(share.parse::<u64>().map_err(|_| self.unlike("bssplit", expected))?).filter(|share| *share > 0),
            };
            parts.push((self.size("bssplit", size)?, share));
        }
        let stated = parts.iter().fold(0, |sum: u64, (_, share)| sum.saturating_add(share.unwrap_or(0)));
        let open = parts.iter().filter(|(_, share)| share.is_none()).count() as u64;
        if stated > 100 || (open == 0 && stated != 100) {
            return Err(self.unlike("bssplit", format_args!("shares that add up to 100, and these are {stated}")));
        }
        // What is left is shared evenly by the sizes without a share, in whole percent.
        let rest = if parts.len() == 1 { 100 } else { (100 - stated).checked_div(open).unwrap_or(0) };
        let mut sizes: Vec<(u64, u64)> = parts.into_iter().map(|(size, share)| (size, share.unwrap_or(rest))).collect();
        let least = sizes.iter().map(|(size, _)| *size).min().unwrap_or(SECTOR);
        if !sizes.iter().any(|(size, share)| *size == least && *share > 0) {
            return Err(self.unlike("bssplit", "a share for the smallest size, to which the others are rounded"));
        }
        sizes.sort_by_key(|(_, share)| *share);
        if sizes.iter().all(|(size, _)| *size == least) {
            return Ok(Sizes::One(least));
        }
        Ok(Sizes::Split { sizes, rounded: !unrounded })
    }

    /// How random requests are spread.
    pub(super) fn skew(&self, pattern: Pattern) -> Result<Skew, ConfigError> {
        const NAME: &str = "random_distribution";
        if !pattern.random {
            self.check_not_idle(&[NAME], "in a sequential job")?;
            return Ok(Skew::None);
        }
        let given = self.given(NAME).unwrap_or("random");
        let (law, values) = given.split_once(':').map_or((given, None), |(law, values)| (law, Some(values)));
        let number = |text: &str, expected: &str| {
            text.parse::<f64>().ok().filter(|value| value.is_finite()).ok_or_else(|| self.unlike(NAME, expected))
        };
        // A value, and a centre behind another colon.
        let value_and_centre = |default: f64, expected: &str| -> Result<(f64, Option<f64>), ConfigError> {
            let Some(values) = values else { return Ok((default, None)) };
            let (value, centre) = values.split_once(':').map_or((values, None), |(value, centre)| (value, Some(centre)));
            let centre = centre.map(|centre| number(centre, expected)).transpose()?.filter(|centre| *centre != -1.0);
            if centre.is_some_and(|centre| !(0.0..=1.0).contains(&centre)) {
                return Err(self.unlike(NAME, expected));
            }
            Ok((number(value, expected)?, centre))
        };
        let check = |is: bool, expected: &str| if is { Ok(()) } else { Err(self.unlike(NAME, expected)) };
        match law {
            "random" => Ok(Skew::None),
            "zipf" => {
                let expected = "zipf:THETA with an exponent above 0 and at most 4, but not 1, and without a centre";
                let (theta, centre) = value_and_centre(ZIPF_THETA, expected)?;
                check(theta > 0.0 && theta <= 4.0 && theta != 1.0 && centre.is_none(), expected)?;
                Ok(Skew::Zipf { theta })
            }
            "pareto" => {
                let expected = "pareto:H or pareto:H:CENTRE, with H above 0 and below 1 and a centre from 0 to 1";
                let (h, centre) = value_and_centre(PARETO_H, expected)?;
                check(h > 0.0 && h < 1.0, expected)?;
                Ok(Skew::Pareto { h, centre })
            }
            "normal" => {
                let expected =
                    "normal:DEVIATION or normal:DEVIATION:CENTRE, with a deviation in percent below 100 and a centre from 0 to 1";
                let (deviation, centre) = value_and_centre(0.0, expected)?;
                check((0.0..100.0).contains(&deviation), expected)?;
                Ok(Skew::Normal { deviation, centre })
            }
            "zoned" | "zoned_abs" => {
                let expected = "shares of requests that add up to 100 and sizes, as zoned:PERCENT/PERCENT:... or zoned_abs:PERCENT/BYTES:..., of one or of each direction with commas between";
                let unlike = || self.unlike(NAME, expected);
                let by_kind = values::by_kind(values.unwrap_or_default()).ok_or_else(unlike)?;
                check(by_kind.iter().any(Option::is_some), expected)?;
                let mut zones = [Vec::new(), Vec::new(), Vec::new()];
                for (zones, given) in zones.iter_mut().zip(by_kind) {
                    *zones = given.map_or(Some(Vec::new()), |given| self.zones(given, law == "zoned_abs")).ok_or_else(unlike)?;
                }
                Ok(Skew::Zones(zones))
            }
            _ => Err(self.unlike(NAME, "random, zipf, pareto, normal, zoned or zoned_abs, each with its values behind a colon")),
        }
    }

    /// Zones of one direction, if they are right.
    fn zones(&self, given: &str, absolute: bool) -> Option<Vec<Zone>> {
        let base = self.kilo_base().ok()?;
        let mut parts: Vec<(u64, Option<u64>)> = Vec::new();
        for part in given.split(':') {
            let (requests, size) = part.split_once('/').unwrap_or((part, ""));
            let size = match size.trim() {
                "" if absolute => return None,
                "" => None,
                size if absolute => Some(values::number(size, base)?),
                size => Some(size.parse().ok()?).filter(|percent| *percent > 0),
            };
            parts.push((values::number(requests.trim(), base)?, size));
        }
        let requests = parts.iter().fold(0, |sum: u64, (requests, _)| sum.saturating_add(*requests));
        let stated = parts.iter().fold(0, |sum: u64, (_, size)| sum.saturating_add(size.unwrap_or(0)));
        let open = parts.iter().filter(|(_, size)| size.is_none()).count() as u64;
        // A zone alone has a size, and what zones without one share is more than nothing.
        if requests != 100 || (!absolute && (stated > 100 || (open > 0 && 100 - stated < open) || (open > 0 && parts.len() == 1))) {
            return None;
        }
        if stated >= 1 << 63 {
            return None;
        }
        let rest = if absolute { 0 } else { (100 - stated).checked_div(open).unwrap_or(0) };
        let size = |size: Option<u64>| match size {
            Some(bytes) if absolute => ZoneSize::Bytes(bytes),
            size => ZoneSize::Percent(size.unwrap_or(rest)),
        };
        Some(parts.into_iter().map(|(requests, given)| Zone { requests, size: size(given) }).collect())
    }
}
