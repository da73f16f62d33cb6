//! Reading the fields of a trace line, with faults that say what was expected.

use crate::error::Column;
use crate::text;
use crate::trace::iso8601;
use crate::trace::op::Op;
use crate::trace::units::{AddressUnit, TimeUnit};
use tinytail_core::units::{Ns, SECTOR_BYTES};

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

/// What is found in a column that is not there.
pub(crate) const END_OF_LINE: &str = "the end of the line";

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
        return Err(Fault { column, found: END_OF_LINE.into(), expected });
    }
    Ok(found)
}

/// The number that decimal digits write, if they are nothing else and the number is below 2^64.
#[inline]
fn decimal(digits: &[u8]) -> Option<u64> {
    // So many digits can't overflow.
    const SAFE: usize = 19;
    let digit = |byte: &u8| Some(u64::from(byte.wrapping_sub(b'0'))).filter(|digit| *digit < 10);
    let (safe, rest) = digits.split_at(digits.len().min(SAFE));
    let mut value = 0;
    for byte in safe {
        value = value * 10 + digit(byte)?;
    }
    for byte in rest {
        value = value.checked_mul(10)?.checked_add(digit(byte)?)?;
    }
    Some(value)
}

/// A whole number, 0 or more, in any form in which programs print one: `2048`, `2048.0`, `2.048e+03` or `2,048`.
#[inline]
pub(crate) fn unsigned(field: &str, column: Column) -> Result<u64, Fault> {
    match decimal(field.as_bytes()) {
        Some(value) if !field.is_empty() => Ok(value),
        _ => printed(field, column),
    }
}

/// A whole number that is more than digits.
#[cold]
fn printed(field: &str, column: Column) -> Result<u64, Fault> {
    if is_cut_off(field) {
        return Err(Fault::new(column, field, "a number with all its digits; a spreadsheet has rounded this one"));
    }
    let whole = |field: &str| u64::try_from(Decimal::of(field)?.whole()?).ok();
    if let Some(value) = whole(without_groups(field).as_deref().unwrap_or(field)) {
        return Ok(value);
    }
    let only_digits = !field.is_empty() && field.bytes().all(|byte| byte.is_ascii_digit());
    Err(Fault::new(column, field, if only_digits { "a whole number below 2^64" } else { "a whole number, 0 or more" }))
}

/// A number of thousands that are grouped by commas, as `1,048,576` or `1,024.5`, without the commas.
pub(crate) fn without_groups(field: &str) -> Option<String> {
    let (whole, fraction) = field.split_once('.').map_or((field, None), |(whole, fraction)| (whole, Some(fraction)));
    let (first, groups) = whole.split_once(',')?;
    let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_grouped = first.len() <= 3 && are_digits(first) && groups.split(',').all(|group| group.len() == 3 && are_digits(group));
    (is_grouped && fraction.is_none_or(are_digits)).then(|| field.replace(',', ""))
}

/// Whether a spreadsheet has rounded a number to the digits that it shows: `1.28166E+17` may have been any of 10^12 numbers.
fn is_cut_off(field: &str) -> bool {
    const SHOWN_DIGITS: usize = 6;
    const SHOWN_WHOLE_BELOW: u32 = 11;
    field.split_once("E+").is_some_and(|(number, exponent)| {
        let digits = number.bytes().filter(u8::is_ascii_digit).count();
        digits <= SHOWN_DIGITS && exponent.parse::<u32>().is_ok_and(|exponent| exponent >= SHOWN_WHOLE_BELOW)
    })
}

/// A decimal number, exactly: so many times a power of ten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Decimal {
    digits: u128,
    exponent: i32,
}

impl Decimal {
    /// Reads a number with or without a point, or a comma, and an exponent, as in `5e-05`, `.5` or `1E+05`.
    fn of(field: &str) -> Option<Self> {
        const DIGITS_MAX: usize = 30;
        const EXPONENT_MAX: i32 = 40;
        let (number, exponent) = match field.split_once(['e', 'E']) {
            Some((number, exponent)) => (number, exponent.parse().ok()?),
            None => (field, 0),
        };
        let (whole, fraction) = number.split_once(['.', ',']).unwrap_or((number, ""));
        // Zeroes at the end are what a program prints that has no whole numbers.
        let fraction = fraction.trim_end_matches('0');
        let digits = format!("{whole}{fraction}");
        let has_digits = number.bytes().any(|byte| byte.is_ascii_digit());
        if !has_digits || digits.trim_start_matches('0').len() > DIGITS_MAX || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let exponent = i32::checked_sub(exponent, i32::try_from(fraction.len()).ok()?)?;
        let digits = if digits.is_empty() { 0 } else { digits.parse().ok()? };
        (exponent.abs() <= EXPONENT_MAX).then_some(Self { digits, exponent })
    }

    /// So many times as much, without what is below 1; nothing if the number itself is not below 2^64.
    fn times(self, factor: u64) -> Option<u128> {
        let power = 10_u128.checked_pow(self.exponent.unsigned_abs());
        if self.exponent >= 0 {
            let value = power.and_then(|power| self.digits.checked_mul(power)).filter(|value| u64::try_from(*value).is_ok());
            return if self.digits == 0 { Some(0) } else { value.map(|value| value * u128::from(factor)) };
        }
        // What is divided by more than it can be is nothing.
        let Some(power) = power else { return Some(0) };
        u64::try_from(self.digits / power).ok()?;
        self.digits.checked_mul(u128::from(factor)).map(|value| value / power)
    }

    /// The number, if it is whole.
    fn whole(self) -> Option<u128> {
        let power = 10_u128.checked_pow(self.exponent.unsigned_abs())?;
        if self.exponent >= 0 { self.digits.checked_mul(power) } else { self.digits.is_multiple_of(power).then_some(self.digits / power) }
    }
}

/// A number of bytes with its own unit, as in `4K`, `1.5 MiB` or `512B`, and whether the unit has a B. K is 1024.
#[cold]
pub(crate) fn own_bytes(field: &str) -> Option<(u64, bool)> {
    let number = field.trim_end_matches(char::is_alphabetic);
    let (letter, has_b) = match field[number.len()..].to_ascii_lowercase().as_str() {
        "b" | "byte" | "bytes" => ("", true),
        "k" => ("k", false),
        "kb" | "kib" => ("k", true),
        "m" => ("m", false),
        "mb" | "mib" => ("m", true),
        "g" => ("g", false),
        "gb" | "gib" => ("g", true),
        _ => return None,
    };
    let bits = ["", "k", "m", "g"].iter().position(|known| *known == letter)? * 10;
    let number = number.trim_end();
    let number = without_groups(number).unwrap_or_else(|| number.to_owned());
    let Decimal { digits, exponent } = Decimal::of(&number)?;
    let bytes = Decimal { digits: digits.checked_mul(1 << bits)?, exponent }.whole()?;
    Some((u64::try_from(bytes).ok()?, has_b))
}

/// A whole number in hexadecimal, with or without `0x`.
pub(crate) fn hexadecimal(field: &str, column: Column) -> Result<u64, Fault> {
    let digits = field.strip_prefix("0x").or_else(|| field.strip_prefix("0X")).unwrap_or(field);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(Fault::new(column, field, "a hexadecimal number such as 0x1000"));
    }
    u64::from_str_radix(digits, 16).map_err(|_| Fault::new(column, field, "a hexadecimal number below 2^64"))
}

/// The number of a device.
pub(crate) fn device(field: &str, column: Column) -> Result<u32, Fault> {
    u32::try_from(unsigned(field, column)?).map_err(|_| Fault::new(column, field, "a device number below 2^32"))
}

/// Operations as single letters.
pub(crate) fn letter_op(word: &str) -> Option<Op> {
    match word {
        "R" | "r" => Some(Op::Read),
        "W" | "w" => Some(Op::Write),
        _ => None,
    }
}

/// How many low bits of a device's number are its minor number, as in Linux.
const MINOR_BITS: u32 = 20;

/// The number of a device that has a major and a minor one.
pub(crate) fn linux_device((major, major_column): (&str, Column), (minor, minor_column): (&str, Column)) -> Result<u32, Fault> {
    let part = |field, column, bits: u32| {
        let number = unsigned(field, column)?;
        if number >> bits > 0 {
            return Err(Fault::new(column, field, format!("a number below {}", text::grouped(1_u64 << bits))));
        }
        Ok(number as u32)
    };
    Ok(part(major, major_column, u32::BITS - MINOR_BITS)? << MINOR_BITS | part(minor, minor_column, MINOR_BITS)?)
}

/// How a device with a major and a minor number is written.
pub(crate) fn linux_device_name(device: u32) -> String {
    format!("{},{}", device >> MINOR_BITS, device & ((1 << MINOR_BITS) - 1))
}

/// A time, as a whole number or a decimal fraction of a unit, behind a point or a comma, in nanoseconds. What is below a
/// nanosecond is cut off. A number that has its own unit behind it, such as `434us`, is of that.
pub(crate) fn time_ns(field: &str, unit: TimeUnit, column: Column) -> Result<i128, Fault> {
    match unit {
        TimeUnit::Iso8601 => return iso8601::read(field).ok_or_else(|| no_time(field, unit, column)),
        TimeUnit::Clock => return iso8601::clock(field).ok_or_else(|| no_time(field, unit, column)),
        TimeUnit::MonthFirst => return iso8601::month_first(field).ok_or_else(|| no_time(field, unit, column)),
        TimeUnit::DayFirst => return iso8601::day_first(field).ok_or_else(|| no_time(field, unit, column)),
        _ => {}
    }
    match number_ns(field, unit) {
        Some(time_ns) => Ok(time_ns),
        None => printed_ns(field, unit).ok_or_else(|| no_time(field, unit, column)),
    }
}

/// A time with an exponent or with its own unit.
#[cold]
fn printed_ns(field: &str, unit: TimeUnit) -> Option<i128> {
    let of = |number: &str, unit: TimeUnit| {
        let exact = || i128::try_from(Decimal::of(number)?.times(unit.ns())?).ok();
        number_ns(number, unit).or_else(exact)
    };
    if is_cut_off(field) {
        return None;
    }
    of(field, unit).or_else(|| own_unit(field).and_then(|(number, own)| of(number, own)))
}

/// The unit that stands behind a number, and the number.
#[cold]
pub(crate) fn own_unit(field: &str) -> Option<(&str, TimeUnit)> {
    let number = field.trim_end_matches(char::is_alphabetic);
    TimeUnit::of_word(&field[number.len()..].to_lowercase()).map(|unit| (number.trim_end(), unit))
}

#[inline]
fn number_ns(field: &str, unit: TimeUnit) -> Option<i128> {
    let bytes = field.as_bytes();
    let (whole, fraction) = match bytes.iter().position(|byte| matches!(byte, b'.' | b',')) {
        Some(point) => (&bytes[..point], &bytes[point + 1..]),
        None => (bytes, &[][..]),
    };
    let point_without_digits = fraction.is_empty() && whole.len() < bytes.len();
    let whole_units = decimal(whole).filter(|_| !whole.is_empty() && !point_without_digits)?;
    // A tenth of a unit is whole nanoseconds, until there is less than one.
    let mut place_ns = unit.ns();
    let mut fraction_ns = 0;
    for digit in fraction {
        if !digit.is_ascii_digit() {
            return None;
        }
        place_ns /= 10;
        fraction_ns += u64::from(digit - b'0') * place_ns;
    }
    Some(i128::from(whole_units) * i128::from(unit.ns()) + i128::from(fraction_ns))
}

/// How long something took.
pub(crate) fn latency_ns(field: &str, unit: TimeUnit, column: Column) -> Result<Ns, Fault> {
    Ns::try_from(time_ns(field, unit, column)?).map_err(|_| Fault::new(column, field, "a latency below 2^64 ns"))
}

#[cold]
fn no_time(field: &str, unit: TimeUnit, column: Column) -> Fault {
    let (whole, fraction) = field.split_once(['.', ',']).unwrap_or((field, "0"));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if TimeUnit::ALL.contains(&unit) && digits(whole) && digits(fraction) {
        return Fault::new(column, field, "a time below 2^64 units");
    }
    let expected = match unit {
        TimeUnit::Iso8601 => "a date with a time as in ISO 8601, such as 2024-05-31T23:59:59.25Z".into(),
        TimeUnit::Clock => "a time of day, such as 23:59:59.25".into(),
        TimeUnit::MonthFirst => "a date with a time, whose month is first, such as 05/31/2024 23:59:59.25".into(),
        TimeUnit::DayFirst => "a date with a time, whose day is first, such as 31.05.2024 23:59:59.25".into(),
        _ => format!("a time in {unit}, 0 or more, such as 12 or 12.5"),
    };
    let other = match () {
        () if is_cut_off(field) => "; a spreadsheet has rounded this one",
        () if iso8601::is_time(field) => "; this one is as in ISO 8601, whose unit is called iso8601 (--time-unit, or time:iso8601)",
        () if iso8601::clock(field).is_some() => "; this one is a time of day, whose unit is called clock (--time-unit, or time:clock)",
        () => "",
    };
    Fault::new(column, field, expected + other)
}

/// An address or a size as it stands in a line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Amount<'a> {
    pub(crate) value: u64,
    pub(crate) unit: AddressUnit,
    field: &'a str,
    column: Column,
}

impl<'a> Amount<'a> {
    /// A decimal number of units.
    pub(crate) fn new(field: &'a str, unit: AddressUnit, column: Column) -> Result<Self, Fault> {
        Ok(Self { value: unsigned(field, column)?, unit, field, column })
    }

    /// A hexadecimal number of units.
    pub(crate) fn hexadecimal(field: &'a str, unit: AddressUnit, column: Column) -> Result<Self, Fault> {
        Ok(Self { value: hexadecimal(field, column)?, unit, field, column })
    }

    /// A number with its own unit, where it has one that is clear. A K alone counts bytes only where others do.
    pub(crate) fn with_own_unit(field: &'a str, unit: AddressUnit, column: Column) -> Result<Self, Fault> {
        match own_bytes(field).filter(|(_, has_b)| *has_b || unit == AddressUnit::Bytes) {
            Some((value, _)) => Ok(Self { value, unit: AddressUnit::Bytes, field, column }),
            None => Self::new(field, unit, column),
        }
    }

    /// The same, with what stands in the line in place of the number that was made of it.
    pub(crate) fn written<'b>(self, field: &'b str) -> Amount<'b> {
        Amount { value: self.value, unit: self.unit, field, column: self.column }
    }

    /// The bytes from this address to another, which is that of the last unit, or of the first behind it.
    pub(crate) fn up_to(self, end: Self, is_last: bool) -> Result<Self, Fault> {
        let bytes = |units: u128, unit: AddressUnit| units * u128::from(unit.bytes());
        let end_byte = bytes(u128::from(end.value) + u128::from(is_last), end.unit);
        let value = end_byte.checked_sub(bytes(u128::from(self.value), self.unit)).filter(|bytes| *bytes > 0);
        match value.map(u64::try_from) {
            Some(Ok(value)) => Ok(Self { value, unit: AddressUnit::Bytes, ..end }),
            Some(Err(_)) => Err(end.fault("an address below 2^63 bytes")),
            None => Err(end.fault(if is_last { "an address not before that of lba" } else { "an address behind that of lba" })),
        }
    }

    fn fault(self, expected: impl Into<String>) -> Fault {
        Fault::new(self.column, self.field, expected)
    }
}

/// The sectors that an address and a size touch.
pub(crate) fn extent(address: Amount<'_>, size: Amount<'_>) -> Result<(u64, u32), Fault> {
    if size.value == 0 {
        return Err(size.fault(format!("a size of 1 or more {}", size.unit)));
    }
    sectors_of((address.value, address.unit), (size.value, size.unit)).map_err(|wrong| match wrong {
        Wrong::Address => address.fault("an address below 2^63 bytes"),
        Wrong::Size => size.fault("a size below 2 TiB (2^32 sectors of 512 bytes)"),
    })
}

/// Which of the two is too large.
pub(crate) enum Wrong {
    Address,
    Size,
}

/// First sector and number of sectors of an address and a size above 0.
pub(crate) fn sectors_of((first, address_unit): (u64, AddressUnit), (length, size_unit): (u64, AddressUnit)) -> Result<(u64, u32), Wrong> {
    // Addresses in bytes must fit 63 bits, so that no later sum or product of them overflows.
    const END_SECTOR_MAX: u128 = (1 << 63) / SECTOR_BYTES as u128;
    let bytes = |units: u64, unit: AddressUnit| u128::from(units) * u128::from(unit.bytes());
    let first_byte = bytes(first, address_unit);
    let first = first_byte / u128::from(SECTOR_BYTES);
    let end = (first_byte + bytes(length, size_unit)).div_ceil(u128::from(SECTOR_BYTES));
    let sectors = u32::try_from(end - first).map_err(|_| Wrong::Size)?;
    if end > END_SECTOR_MAX { Err(Wrong::Address) } else { Ok((first as u64, sectors)) }
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
        assert_eq!(time_ns("24,1277", TimeUnit::Milliseconds, TIME), Ok(24_127_700));
        // A number with its own unit is of that, whatever the others are of.
        for (field, time) in
            [("434us", 434_000), ("434 µs", 434_000), ("1.5ms", 1_500_000), ("1,5ms", 1_500_000), ("7ns", 7), ("2s", 2_000_000_000)]
        {
            assert_eq!(time_ns(field, TimeUnit::Microseconds, TIME), Ok(time), "{field}");
        }
        assert_eq!(time_ns("18446744073709551615", TimeUnit::Seconds, TIME), Ok(18_446_744_073_709_551_615_000_000_000));
    }

    #[test]
    fn whole_numbers_end_at_64_bits() {
        assert_eq!(unsigned("18446744073709551615", ADDRESS), Ok(u64::MAX));
        assert_eq!(unsigned("0000000000000000000000000007", ADDRESS), Ok(7));
        for (field, expected) in
            [("18446744073709551616", "below 2^64"), ("99999999999999999999999", "below 2^64"), ("", "0 or more"), ("-1", "0 or more")]
        {
            assert!(unsigned(field, ADDRESS).unwrap_err().expected.contains(expected), "{field}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for field in [
            "-1",
            "1e",
            "e5",
            "1e5.5",
            ".",
            "-1e5",
            "1e99",
            "1e20",
            "1.28166E+17",
            "nan",
            "",
            "1.2.3",
            "1,234.5",
            "1.234,5",
            "1,234,567",
            "5x",
            "us",
            "-1us",
            "5 us us",
            "5kb",
            "18446744073709551616",
            "+1",
        ] {
            let fault = time_ns(field, TimeUnit::Microseconds, TIME).unwrap_err();
            assert_eq!(fault.column, TIME);
            assert!(fault.found.contains(field));
        }
    }

    #[test]
    fn numbers_are_read_as_programs_print_them() {
        for (field, ns) in [
            ("5e-05", 50_000),
            ("1.44e-07", 144),
            ("9.9e-10", 0),
            ("1e-40", 0),
            ("1E+05", 100_000_000_000_000),
            ("1.2816639102415433e+17", 128_166_391_024_154_330_000_000_000),
            (".5", 500_000_000),
            ("5.", 5_000_000_000),
            ("0e0", 0),
            ("1e3us", 1_000_000),
        ] {
            assert_eq!(time_ns(field, TimeUnit::Seconds, TIME), Ok(ns), "{field}");
        }
        for (field, value) in [
            ("2048.0", 2048),
            ("2048.", 2048),
            ("1E+05", 100_000),
            ("2.048e3", 2048),
            ("1.8446744073709551615e19", u64::MAX),
            ("1,048,576", 1 << 20),
            ("4,096.0", 4096),
            ("8,0", 8),
            ("0.0", 0),
        ] {
            assert_eq!(unsigned(field, SIZE), Ok(value), "{field}");
        }
        for field in ["2048.5", "1e-1", "1.8446744073709551616e19", "1,04", "1,0485", "1.024.576", "5e-05", "1.28166E+17", "1e", "+1", "e"]
        {
            assert!(unsigned(field, SIZE).is_err(), "{field}");
        }
        let bytes = |field| Amount::with_own_unit(field, AddressUnit::Bytes, SIZE).map(|amount| amount.value);
        assert_eq!(
            [bytes("4K"), bytes("1.5 MiB"), bytes("512B"), bytes("512"), bytes("1,024 KB")].map(Result::unwrap),
            [4096, 3 << 19, 512, 512, 1 << 20]
        );
        assert!(bytes("1.5B").is_err() && bytes("4T").is_err() && bytes("K").is_err());
        let sectors = Amount::with_own_unit("4KiB", AddressUnit::Sectors, SIZE).unwrap();
        assert_eq!((sectors.value, sectors.unit), (4096, AddressUnit::Bytes));
        assert!(Amount::with_own_unit("4K", AddressUnit::Sectors, SIZE).is_err());
    }

    proptest::proptest! {
        #[test]
        fn any_number_is_the_same_in_all_its_forms(value in proptest::prelude::any::<u64>(), shift in 0_u32..64, places in 0_usize..20) {
            let value = value >> shift;
            let digits = value.to_string();
            // With the point before any of its digits, and an exponent that says so.
            let place = places.min(digits.len());
            let exponent = digits.len() - place;
            let written = format!("{}.{}e+{exponent:02}", &digits[..place], &digits[place..]);
            proptest::prop_assert_eq!(unsigned(&written, SIZE), Ok(value), "{}", written);
            proptest::prop_assert_eq!(unsigned(&format!("{value}.0"), SIZE), Ok(value));
            proptest::prop_assert_eq!(time_ns(&written, TimeUnit::Microseconds, TIME), Ok(i128::from(value) * 1_000), "{}", written);
            proptest::prop_assert_eq!(unsigned(&crate::text::grouped(value), SIZE), Ok(value));
        }
    }

    fn extent_of((address, address_unit): (&str, AddressUnit), (size, size_unit): (&str, AddressUnit)) -> Result<(u64, u32), Fault> {
        extent(Amount::new(address, address_unit, ADDRESS)?, Amount::new(size, size_unit, SIZE)?)
    }

    #[test]
    fn bytes_are_widened_to_sectors() {
        use AddressUnit::{Bytes, Kib, Sectors};
        assert_eq!(extent_of(("4096", Bytes), ("8192", Bytes)), Ok((8, 16)));
        assert_eq!(extent_of(("511", Bytes), ("2", Bytes)), Ok((0, 2)));
        assert_eq!(extent_of(("8", Sectors), ("16", Sectors)), Ok((8, 16)));
        assert_eq!(extent_of(("8", Sectors), ("513", Bytes)), Ok((8, 2)));
        assert_eq!(extent_of(("511", Bytes), ("1", Sectors)), Ok((0, 2)));
        assert_eq!(extent_of(("3", Kib), ("4", Kib)), Ok((6, 8)));
        assert_eq!(extent_of(("1025", Bytes), ("1", Kib)), Ok((2, 3)));
    }

    #[test]
    fn impossible_extents_are_refused() {
        let fault = |address, size, unit| extent_of((address, unit), (size, unit)).unwrap_err();
        assert_eq!(fault("8", "0", AddressUnit::Sectors).expected, "a size of 1 or more sectors");
        assert_eq!(fault("-8", "1", AddressUnit::Sectors).column, ADDRESS);
        assert_eq!(fault("8", "4294967296", AddressUnit::Sectors).column, SIZE);
        assert_eq!(fault("18014398509481983", "2", AddressUnit::Sectors).column, ADDRESS);
        assert_eq!(fault("18446744073709551615", "1", AddressUnit::Bytes).column, ADDRESS);
        let mixed = extent_of(("18014398509481983", AddressUnit::Sectors), ("513", AddressUnit::Bytes)).unwrap_err();
        assert_eq!(mixed.column, ADDRESS);
    }

    #[test]
    fn hexadecimal_numbers_may_have_their_mark() {
        assert_eq!(hexadecimal("0x13690de000", ADDRESS), Ok(0x13_690d_e000));
        assert_eq!(hexadecimal("ff", ADDRESS), Ok(255));
        for field in ["", "0x", "0xg", "-0x1", "+1", "0x10000000000000000"] {
            assert_eq!(hexadecimal(field, ADDRESS).unwrap_err().column, ADDRESS, "{field}");
        }
    }
}
