//! Reading the fields of a trace line, with faults that say what was expected.

use crate::error::Column;
use crate::text;
use crate::trace::units::{AddressUnit, TimeUnit};
use tinytail_core::units::SECTOR_BYTES;

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The column.
    pub column: Column,
    /// What is there, quoted.
    pub found: String,
    /// What may be there.
    pub expected: String,
}

impl Fault {
    /// A fault of a field that is there.
    #[must_use]
    pub fn new(column: Column, found: &str, expected: impl Into<String>) -> Self {
        Self { column, found: text::quoted(found), expected: expected.into() }
    }
}

/// Takes exactly the named columns from a line.
pub(crate) fn columns<'a, const N: usize>(fields: impl Iterator<Item = &'a str>, names: [&'static str; N]) -> Result<[&'a str; N], Fault> {
    let mut found = [""; N];
    let mut count = 0;
    for field in fields {
        let Some(slot) = found.get_mut(count) else {
            let column = Column { number: N + 1, name: "beyond the last" };
            return Err(Fault::new(column, field, format!("the end of the line after {N} columns: {}", names.join(" "))));
        };
        *slot = field;
        count += 1;
    }
    if count < N {
        let column = Column { number: count + 1, name: names[count] };
        let expected = format!("{N} columns: {}", names.join(" "));
        return Err(Fault { column, found: "the end of the line".into(), expected });
    }
    Ok(found)
}

/// A whole number, 0 or more.
pub(crate) fn unsigned(field: &str, column: Column) -> Result<u64, Fault> {
    if field.is_empty() || !field.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Fault::new(column, field, "a whole number, 0 or more"));
    }
    field.parse().map_err(|_| Fault::new(column, field, "a whole number below 2^64"))
}

/// A time, as a whole number or a decimal fraction of a unit, in nanoseconds. What is below a nanosecond is cut off.
pub(crate) fn time_ns(field: &str, unit: TimeUnit, column: Column) -> Result<u128, Fault> {
    let (whole, fraction) = field.split_once('.').unwrap_or((field, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) || (fraction.is_empty() && field.contains('.')) {
        return Err(Fault::new(column, field, format!("a time in {unit}, 0 or more, such as 12 or 12.5")));
    }
    let whole: u64 = whole.parse().map_err(|_| Fault::new(column, field, "a time below 2^64 units"))?;
    // The unit has nine decimal places at most, so further digits are below a nanosecond.
    let mut place_ns = unit.ns();
    let mut fraction_ns = 0;
    for digit in fraction.bytes().take(9) {
        if place_ns < 10 {
            break;
        }
        place_ns /= 10;
        fraction_ns += u64::from(digit - b'0') * place_ns;
    }
    Ok(u128::from(whole) * u128::from(unit.ns()) + u128::from(fraction_ns))
}

/// The sectors that an address and a size touch.
pub(crate) fn extent(
    (address, address_column): (&str, Column),
    (size, size_column): (&str, Column),
    unit: AddressUnit,
) -> Result<(u64, u32), Fault> {
    // Addresses in bytes must fit 63 bits, so that no later sum or product of them overflows.
    const END_SECTOR_MAX: u64 = (1 << 63) / SECTOR_BYTES as u64;
    let first = unsigned(address, address_column)?;
    let length = unsigned(size, size_column)?;
    if length == 0 {
        return Err(Fault::new(size_column, size, format!("a size of 1 or more {unit}")));
    }
    let beyond = || Fault::new(address_column, address, "an address below 2^63 bytes");
    let end = first.checked_add(length).ok_or_else(beyond)?;
    let sector_bytes = u64::from(SECTOR_BYTES);
    let (first, end) = match unit {
        AddressUnit::Sectors => (first, end),
        AddressUnit::Bytes => (first / sector_bytes, end.div_ceil(sector_bytes)),
    };
    if end > END_SECTOR_MAX {
        return Err(beyond());
    }
    let sectors =
        u32::try_from(end - first).map_err(|_| Fault::new(size_column, size, "a size below 2 TiB (2^32 sectors of 512 bytes)"))?;
    Ok((first, sectors))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: Column = Column { number: 1, name: "time" };
    const ADDRESS: Column = Column { number: 3, name: "sector" };
    const SIZE: Column = Column { number: 4, name: "size" };

    #[test]
    fn times_are_exact_decimals() {
        assert_eq!(time_ns("12", TimeUnit::Microseconds, TIME), Ok(12_000));
        assert_eq!(time_ns("5265.313", TimeUnit::Milliseconds, TIME), Ok(5_265_313_000));
        assert_eq!(time_ns("0.000000001", TimeUnit::Seconds, TIME), Ok(1));
        assert_eq!(time_ns("0.0000000019", TimeUnit::Seconds, TIME), Ok(1));
        assert_eq!(time_ns("1.999", TimeUnit::Nanoseconds, TIME), Ok(1));
        assert_eq!(time_ns("1.99", TimeUnit::HundredNanoseconds, TIME), Ok(199));
        assert_eq!(time_ns("18446744073709551615", TimeUnit::Seconds, TIME), Ok(18_446_744_073_709_551_615_000_000_000));
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for field in ["-1", "1e5", ".5", "5.", "nan", "", "1.2.3", "18446744073709551616", "+1"] {
            let fault = time_ns(field, TimeUnit::Microseconds, TIME).unwrap_err();
            assert_eq!(fault.column, TIME);
            assert!(fault.found.contains(field));
        }
    }

    #[test]
    fn bytes_are_widened_to_sectors() {
        let extent = |address, size, unit| extent((address, ADDRESS), (size, SIZE), unit);
        assert_eq!(extent("4096", "8192", AddressUnit::Bytes), Ok((8, 16)));
        assert_eq!(extent("511", "2", AddressUnit::Bytes), Ok((0, 2)));
        assert_eq!(extent("8", "16", AddressUnit::Sectors), Ok((8, 16)));
    }

    #[test]
    fn impossible_extents_are_refused() {
        let fault = |address, size, unit| extent((address, ADDRESS), (size, SIZE), unit).unwrap_err();
        assert_eq!(fault("8", "0", AddressUnit::Sectors).expected, "a size of 1 or more sectors");
        assert_eq!(fault("-8", "1", AddressUnit::Sectors).column, ADDRESS);
        assert_eq!(fault("8", "4294967296", AddressUnit::Sectors).column, SIZE);
        assert_eq!(fault("18014398509481983", "2", AddressUnit::Sectors).column, ADDRESS);
        assert_eq!(fault("18446744073709551615", "1", AddressUnit::Bytes).column, ADDRESS);
    }
}
