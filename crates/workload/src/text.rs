//! How numbers, quotations and near misses are written in messages.

pub(crate) use tinytail_config::{counted, grouped};

/// Quotes what a file holds: shortened, with unprintable characters escaped.
pub(crate) fn quoted(text: &str) -> String {
    const CHARACTERS_MAX: usize = 60;
    let shown: String = text.chars().take(CHARACTERS_MAX).flat_map(char::escape_debug).collect();
    let more = if text.chars().nth(CHARACTERS_MAX).is_some() { "..." } else { "" };
    format!("`{shown}{more}`")
}

/// A name as a shell takes it.
pub(crate) fn shell_word(name: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "/._-+:@%,=".contains(letter);
    if !name.is_empty() && name.chars().all(is_plain) { name.to_owned() } else { format!("'{}'", name.replace('\'', "'\\''")) }
}

/// A time that may be negative: exactly, where it has no more digits than can be read.
pub(crate) fn time(ns: i128) -> String {
    const EXACT_MAX_NS: u128 = 10_000_000_000_000;
    let size = ns.unsigned_abs();
    let said = if size < EXACT_MAX_NS { format!("{} ns", grouped(size)) } else { duration(size) };
    format!("{}{said}", if ns < 0 { "-" } else { "" })
}

/// A duration in the unit in which a person would say it.
pub(crate) fn duration(ns: u128) -> String {
    const UNITS: [(u128, &str); 5] = [
        (365 * 86_400_000_000_000, "years"),
        (86_400_000_000_000, "days"),
        (3_600_000_000_000, "hours"),
        (1_000_000_000, "s"),
        (1_000_000, "ms"),
    ];
    // Up to two days in hours, up to two hours in seconds, and so on.
    for (unit_ns, name) in UNITS {
        let least = if name == "s" { unit_ns / 10 } else { 2 * unit_ns };
        if ns >= least {
            let value = ns as f64 / unit_ns as f64;
            return if value < 10.0 { format!("{value:.2} {name}") } else { format!("{value:.1} {name}") };
        }
    }
    format!("{:.3} us", ns as f64 / 1e3)
}

/// A number of bytes in the unit in which a person would say it.
pub(crate) fn binary_size(bytes: u64) -> String {
    const UNITS: [(u32, &str); 4] = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
    match UNITS.into_iter().find(|(bits, _)| bytes >> bits > 0) {
        Some((bits, name)) => format!("{:.1} {name}", bytes as f64 / (1_u64 << bits) as f64),
        None => format!("{bytes} bytes"),
    }
}

/// Phrases one after another: `a, b and c`.
pub(crate) fn listed(parts: &[String]) -> String {
    match parts.split_last() {
        None => String::new(),
        Some((last, [])) => last.clone(),
        Some((last, before)) => format!("{} and {last}", before.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact_where_they_can_be_read() {
        assert_eq!((time(-1_234), time(9_999_999_999_999)), ("-1,234 ns".into(), "9,999,999,999,999 ns".into()));
        assert_eq!(time(12_816_638_826_768_508_400), "406.4 years");
    }

    #[test]
    fn durations_are_said_in_a_fitting_unit() {
        assert_eq!(duration(299_999_516), "0.30 s");
        assert_eq!(duration(300_000_000_000), "300.0 s");
        assert_eq!(duration(86_400_000_000_000 * 3), "3.00 days");
        assert_eq!(duration(1_500), "1.500 us");
    }

    #[test]
    fn sizes_are_said_in_a_fitting_unit() {
        assert_eq!(binary_size(1023), "1023 bytes");
        assert_eq!(binary_size(1024), "1.0 KiB");
        assert_eq!(binary_size(3 << 39), "1.5 TiB");
        assert_eq!(binary_size(164_500_000_000), "153.2 GiB");
    }
}
