//! Values of job files, as fio reads them.

use tinytail_core::units::{MS, Ns, SECOND, US};

/// What `k` and `kib` mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KiloBase {
    /// fio's default: `k` is 1024 and `kib` is 1000.
    Traditional,
    /// `k` is 1000 and `kib` is 1024.
    Standard,
}

/// A whole number: decimal, with a suffix of `k`, `m`, `g`, `t` or `p` where wanted, in either case; or hexadecimal, without one.
pub(super) fn number(text: &str, base: KiloBase) -> Option<u64> {
    let text = text.to_ascii_lowercase();
    if let Some(digits) = text.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok();
    }
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (digits, suffix) = text.split_at(end);
    // The opposite unit is the one whose suffix has all three letters.
    let opposite = suffix.len() == 3 && suffix.ends_with("ib");
    let prefix = suffix.strip_suffix("ib").or_else(|| suffix.strip_suffix(['i', 'b'])).unwrap_or(suffix);
    let power = match prefix {
        "" if suffix.is_empty() || suffix == "b" => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        "p" => 5,
        _ => return None,
    };
    let unit: u64 = if opposite == (base == KiloBase::Standard) { 1024 } else { 1000 };
    digits.parse::<u64>().ok()?.checked_mul(unit.pow(power))
}

/// A share in percent, from `0%` to `100%`.
pub(super) fn percent(text: &str) -> Option<u64> {
    text.strip_suffix('%')?.parse().ok().filter(|percent| *percent <= 100)
}

/// A time with or without its unit.
pub(super) fn time(text: &str, unit_ns: Ns) -> Option<Ns> {
    let text = text.to_ascii_lowercase();
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (digits, suffix) = text.split_at(end);
    let unit_ns = match suffix {
        "" => unit_ns,
        "d" => 24 * 3600 * SECOND,
        "h" => 3600 * SECOND,
        "m" => 60 * SECOND,
        "s" => SECOND,
        "ms" | "msec" => MS,
        "us" | "usec" => US,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit_ns)
}

/// A switch, which is on if it stands alone.
pub(super) fn switch(value: Option<&str>) -> Option<bool> {
    match value {
        None | Some("1") => Some(true),
        Some("0") => Some(false),
        Some(_) => None,
    }
}

/// What `4k,128k` says of reads, writes and trims: a value that no comma follows stands for the rest, one that is left out is
/// the default.
pub(super) fn by_kind(text: &str) -> Option<[Option<&str>; 3]> {
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    if parts.len() > 3 {
        return None;
    }
    let given = |index: usize| parts.get(index).or(parts.last()).copied().filter(|part| !part.is_empty());
    Some([given(0), given(1), given(2)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_mean_what_they_mean_to_fio() {
        let number_of = |text| number(text, KiloBase::Traditional);
        for (text, expected) in [
            ("4096", 4096),
            ("4096B", 4096),
            ("4k", 4096),
            ("4KB", 4096),
            ("4Ki", 4096),
            ("4KiB", 4000),
            ("1m", 1 << 20),
            ("2MiB", 2_000_000),
            ("1g", 1 << 30),
            ("1t", 1 << 40),
            ("1p", 1 << 50),
            ("0x10", 16),
        ] {
            assert_eq!(number_of(text), Some(expected), "{text}");
        }
        assert_eq!(number("4k", KiloBase::Standard), Some(4000));
        assert_eq!(number("4KiB", KiloBase::Standard), Some(4096));
        assert_eq!(number("4ki", KiloBase::Standard), Some(4000));
        for text in ["", "k", "4x", "-4k", "4.5k", "4 k", "4kk", "i", "4i", "4ib", "4kbi", "(4*1k)", "0x", "0x1k", "20%", "99999999999t"] {
            assert_eq!(number_of(text), None, "{text}");
        }
    }

    #[test]
    fn times_have_units() {
        for (text, expected) in
            [("10", 10 * SECOND), ("2m", 120 * SECOND), ("1H", 3600 * SECOND), ("1d", 86_400 * SECOND), ("5ms", 5 * MS), ("7usec", 7 * US)]
        {
            assert_eq!(time(text, SECOND), Some(expected), "{text}");
        }
        assert_eq!(time("10", US), Some(10 * US));
        for text in ["", "s", "1.5s", "-1", "1-5", "1ns", "1sec", "99999999999999d"] {
            assert_eq!(time(text, SECOND), None, "{text}");
        }
    }

    #[test]
    fn values_by_kind_fill_up_as_in_fio() {
        assert_eq!(by_kind("8k"), Some([Some("8k"); 3]));
        assert_eq!(by_kind("8k,32k"), Some([Some("8k"), Some("32k"), Some("32k")]));
        assert_eq!(by_kind("8k,32k,"), Some([Some("8k"), Some("32k"), None]));
        assert_eq!(by_kind(",8k"), Some([None, Some("8k"), Some("8k")]));
        assert_eq!(by_kind("1,2,3,4"), None);
    }

    #[test]
    fn shares_and_switches() {
        assert_eq!(
            (percent("1%"), percent("100%"), percent("0%"), percent("101%"), percent("5")),
            (Some(1), Some(100), Some(0), None, None)
        );
        assert_eq!((switch(None), switch(Some("1")), switch(Some("0")), switch(Some("yes"))), (Some(true), Some(true), Some(false), None));
    }
}
