//! Dates with times as ISO 8601 has them: `2024-05-31T23:59:59.25Z`, also with a space in place of the T, with an offset such as
//! `+02:00`, and without `-` and `:`. A time without an offset is taken for UTC. A time of day stands alone: `23:59:59.25`.
//! Dates whose month or day is first, as `05/31/2024 11:59:59 PM` and `31.05.2024 23:59:59`, are read where it is said which.

/// Whether it is a date with a time.
pub(super) fn is_time(field: &str) -> bool {
    read(field).is_some()
}

/// A date with a time, in nanoseconds since 1970, of which the month is first.
pub(super) fn month_first(field: &str) -> Option<i128> {
    of_parts(field, true)
}

/// A date with a time, in nanoseconds since 1970, of which the day is first.
pub(super) fn day_first(field: &str) -> Option<i128> {
    of_parts(field, false)
}

fn of_parts(field: &str, is_month_first: bool) -> Option<i128> {
    let one_or_two = |text| digits(text, 2).or_else(|| digits(text, 1));
    let (first, rest) = one_or_two(field.as_bytes())?;
    let separator = *rest.first().filter(|byte| matches!(byte, b'/' | b'.' | b'-'))?;
    let (second, rest) = one_or_two(&rest[1..])?;
    let (year, rest) = digits(after(rest, separator, true)?, 4)?;
    let (month, day) = if is_month_first { (first, second) } else { (second, first) };
    let days = days(year, month, day)?;
    let clock = field[field.len() - rest.len()..].strip_prefix([' ', ',', 'T'])?.trim_start();
    Some(i128::from(days) * 86_400_000_000_000 + of_day(clock)?)
}

/// Whether it is a date without a time.
pub(super) fn is_date(field: &str) -> bool {
    date(field.as_bytes()).is_some_and(|(_, rest)| rest.is_empty())
}

/// A date with a time, in nanoseconds since 1970. What is below a nanosecond is cut off.
pub(super) fn read(field: &str) -> Option<i128> {
    let (days, rest) = date(field.as_bytes())?;
    let (b'T' | b't' | b' ', rest) = rest.split_first()? else { return None };
    let rest = rest.trim_ascii_start();
    let (hour, rest) = digits(rest, 2)?;
    let colon = rest.first() == Some(&b':');
    let (minute, rest) = digits(after(rest, b':', colon)?, 2)?;
    // Seconds may be missing.
    let (second, rest) = match after(rest, b':', colon).and_then(|rest| digits(rest, 2)) {
        Some(found) => found,
        None => (0, rest),
    };
    let (fraction_ns, rest) = fraction(rest)?;
    // The last minute of a year may have 61 seconds.
    if hour > 24 || minute > 59 || second > 60 {
        return None;
    }
    let offset_s = offset(rest.trim_ascii_start())?;
    let seconds = i128::from(days) * 86_400 + i128::from(hour * 3600 + minute * 60 + second) - i128::from(offset_s);
    Some(seconds * 1_000_000_000 + i128::from(fraction_ns))
}

/// Return a time of day or, where there are more hours than a day has, the time since something began, in nanoseconds.
pub(super) fn clock(field: &str) -> Option<i128> {
    of_day(field).or_else(|| {
        let (hours, rest) = field.split_once(':')?;
        let is_long = (2..=4).contains(&hours.len()) && hours.bytes().all(|byte| byte.is_ascii_digit());
        let hours: i128 = hours.parse().ok().filter(|hours| is_long && *hours >= 24)?;
        of_day(&format!("0:{rest}")).map(|rest_ns| hours * 3_600_000_000_000 + rest_ns)
    })
}

/// A time of day, in nanoseconds since midnight, of 24 hours or of twelve with AM or PM behind them. Days may stand before it, as pandas
/// writes times since a beginning: `1 days 23:59:59.25`.
pub(super) fn of_day(field: &str) -> Option<i128> {
    if let Some((days, rest)) = field.split_once(" days ") {
        let days: u32 = days.parse().ok()?;
        return of_day(rest).map(|of_day_ns| i128::from(days) * 86_400_000_000_000 + of_day_ns);
    }
    let text = field.as_bytes();
    let (hour, rest) = digits(text, 2).or_else(|| digits(text, 1))?;
    let (minute, rest) = digits(after(rest, b':', true)?, 2)?;
    let (second, rest) = digits(after(rest, b':', true)?, 2)?;
    let (fraction_ns, rest) = fraction(rest)?;
    let half = rest.trim_ascii_start();
    let hour = match half {
        [] => hour,
        _ if !(1..=12).contains(&hour) => return None,
        _ if half.eq_ignore_ascii_case(b"AM") => hour % 12,
        _ if half.eq_ignore_ascii_case(b"PM") => hour % 12 + 12,
        _ => return None,
    };
    let is_one = hour < 24 && minute < 60 && second <= 60;
    is_one.then(|| i128::from(hour * 3600 + minute * 60 + second) * 1_000_000_000 + i128::from(fraction_ns))
}

/// Digits of a date and a time without separators: with two digits of the year, with four, and with milliseconds too.
const PACKED_SHORT: usize = 12;
const PACKED: usize = 14;
const PACKED_MS: usize = 17;

/// True for a date and a time without separators, such as `20240531235959.25`.
pub(super) fn is_packed(field: &str) -> bool {
    let (whole, has_fraction) = field.split_once('.').map_or((field, false), |(whole, _)| (whole, true));
    if !whole.bytes().all(|byte| byte.is_ascii_digit()) {
        return false;
    }
    let (year, rest) = match whole.len() {
        PACKED => whole.split_at(4),
        PACKED_MS if !has_fraction => whole[..PACKED].split_at(4),
        PACKED_SHORT => whole.split_at(2),
        _ => return false,
    };
    let within = |part: &str, range: std::ops::RangeInclusive<u32>| part.parse().is_ok_and(|part| range.contains(&part));
    (year.len() == 2 || within(year, 1970..=2100))
        && within(&rest[..2], 1..=12)
        && within(&rest[2..4], 1..=31)
        && is_packed_clock(&rest[4..])
}

/// True if a packed date has a year of two digits only.
pub(super) fn is_short_packed(field: &str) -> bool {
    field.split('.').next().is_some_and(|whole| whole.len() == PACKED_SHORT)
}

/// True for hours, minutes and seconds of two digits each without separators, perhaps with a fraction.
pub(super) fn is_packed_clock(field: &str) -> bool {
    let whole = field.split_once('.').map_or(field, |(whole, _)| whole);
    let part = |from: usize, most: u32| whole[from..from + 2].parse().is_ok_and(|part: u32| part <= most);
    whole.len() == 6 && whole.bytes().all(|byte| byte.is_ascii_digit()) && part(0, 23) && part(2, 59) && part(4, 59)
}

/// Return the expression of awk that writes a packed date such as `like`, in a column counted from 1, as ISO 8601.
pub(super) fn unpacked_by_awk(column: usize, like: &str) -> String {
    let is_short = is_short_packed(like);
    let mut value = if is_short { "\"20\" ".to_owned() } else { String::new() };
    let mut from = 1;
    for (digits, mark) in [(if is_short { 2 } else { 4 }, "-"), (2, "-"), (2, "T"), (2, ":"), (2, ":")] {
        value += &format!("substr(${column}, {from}, {digits}) \"{mark}\" ");
        from += digits;
    }
    match like.len() {
        PACKED_MS if !like.contains('.') => value + &format!("substr(${column}, {from}, 2) \".\" substr(${column}, {})", from + 2),
        _ => value + &format!("substr(${column}, {from})"),
    }
}

/// The days since 1970 of a date, and what stands behind it.
fn date(text: &[u8]) -> Option<(i64, &[u8])> {
    let (year, rest) = digits(text, 4)?;
    let dashes = rest.first() == Some(&b'-');
    let (month, rest) = digits(after(rest, b'-', dashes)?, 2)?;
    let (day, rest) = digits(after(rest, b'-', dashes)?, 2)?;
    Some((days(year, month, day)?, rest))
}

/// The days since 1970 of a date.
fn days(year: u32, month: u32, day: u32) -> Option<i64> {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let of_month = match month {
        2 => 28 + u32::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=of_month).contains(&day) {
        return None;
    }
    // In years that begin in March, the day of the leap year is the last.
    let year = i64::from(year) - i64::from(month < 3);
    let of_year = i64::from((153 * ((month + 9) % 12) + 2) / 5 + day - 1);
    Some(year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + of_year - 719_468)
}

/// What stands behind a separator, where there are separators.
fn after(text: &[u8], separator: u8, is_there: bool) -> Option<&[u8]> {
    if is_there { text.strip_prefix(&[separator]) } else { Some(text) }
}

/// Parse a number of `count` digits. Return it and the rest of the text.
fn digits(text: &[u8], count: usize) -> Option<(u32, &[u8])> {
    let (number, rest) = text.split_at_checked(count)?;
    let value = number.iter().try_fold(0, |value, digit| digit.is_ascii_digit().then(|| value * 10 + u32::from(digit - b'0')))?;
    Some((value, rest))
}

/// The nanoseconds behind a point or a comma.
fn fraction(text: &[u8]) -> Option<(u32, &[u8])> {
    let Some((b'.' | b',', rest)) = text.split_first() else { return Some((0, text)) };
    let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, rest) = rest.split_at(count);
    let mut place_ns = 1_000_000_000;
    let mut ns = 0;
    for digit in number {
        place_ns /= 10;
        ns += u32::from(digit - b'0') * place_ns;
    }
    (count > 0).then_some((ns, rest))
}

/// How many seconds the clock is ahead of UTC, by what stands at the end.
fn offset(text: &[u8]) -> Option<i64> {
    let (sign, rest) = match text {
        [] | [b'Z' | b'z'] => return Some(0),
        [b'+', rest @ ..] => (1, rest),
        [b'-', rest @ ..] => (-1, rest),
        _ => return None,
    };
    let (hours, rest) = digits(rest, 2)?;
    let (minutes, rest) = match rest {
        [] => (0, rest),
        [b':', rest @ ..] => digits(rest, 2)?,
        _ => digits(rest, 2)?,
    };
    (rest.is_empty() && hours < 24 && minutes < 60).then(|| sign * i64::from(hours * 3600 + minutes * 60))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: i128 = 1_000_000_000;

    #[test]
    fn a_moment_may_be_written_in_several_ways() {
        let moment = 1_717_199_999 * SECOND + 250_000_000;
        for written in [
            "2024-05-31T23:59:59.25Z",
            "2024-05-31 23:59:59.25",
            "2024-05-31t23:59:59,250z",
            "20240531T235959.25Z",
            "2024-06-01T01:59:59.250000000+02:00",
            "2024-05-31T18:29:59.25 -0530",
            "2024-06-01T00:59:59.2500000009+01",
        ] {
            assert_eq!(read(written), Some(moment), "{written}");
        }
        assert_eq!(read("1970-01-01T00:00Z"), Some(0));
        assert_eq!(read("1969-12-31T23:59:59.999999999Z"), Some(-1));
        assert_eq!(read("2000-02-29T00:00:00Z"), Some(951_782_400 * SECOND));
        assert_eq!(read("2016-12-31T23:59:60Z"), read("2017-01-01T00:00:00Z"));
        assert!(is_date("2024-05-31") && !is_date("2024-05-31T00:00") && !is_date("2024"));
    }

    #[test]
    fn a_clock_may_count_more_hours_than_a_day_has() {
        assert_eq!(clock("23:59:59"), of_day("23:59:59"));
        assert_eq!((clock("24:00:00.25"), clock("100:00:01")), (Some(86_400 * SECOND + SECOND / 4), Some(360_001 * SECOND)));
        for field in ["24:60:00", "24:00:00 AM", "12345:00:00", "024", "-24:00:00", "+24:00:00"] {
            assert_eq!(clock(field), None, "{field}");
        }
    }

    #[test]
    fn a_time_of_day_has_hours_minutes_and_seconds() {
        assert_eq!(of_day("08:30:00.000157"), Some(30_600 * SECOND + 157_000));
        assert_eq!((of_day("8:30:00,5"), of_day("23:59:60")), (Some(30_600 * SECOND + SECOND / 2), Some(86_400 * SECOND)));
        for field in
            ["", "08:30", "24:00:00", "08:60:00", "08:30:61", "08:30:00Z", "08:30:00.", "008:30:00", "083000", "2024-05-31T08:30:00"]
        {
            assert_eq!(of_day(field), None, "{field}");
        }
    }

    #[test]
    fn dates_may_have_their_month_or_their_day_first() {
        let moment = read("2024-05-03T22:00:00.0001Z");
        for written in ["05/03/2024 10:00:00.000100 PM", "5/3/2024 22:00:00.0001", "05-03-2024, 10:00:00,0001pm"] {
            assert_eq!(month_first(written), moment, "{written}");
        }
        assert_eq!((day_first("03.05.2024 22:00:00,0001"), day_first("3/5/2024T22:00:00.0001")), (moment, moment));
        assert_eq!((month_first("31/05/2024 10:00:00"), day_first("05/31/2024 10:00:00")), (None, None));
        for written in
            ["05/03/24 10:00:00", "05/03.2024 10:00:00", "05/03/2024", "05/03/2024 22:00:00 PM", "05/03/2024 10:00", "2024/05/03 10:00:00"]
        {
            assert_eq!((month_first(written), day_first(written)), (None, None), "{written}");
        }
        assert_eq!(
            (of_day("12:00:00 AM"), of_day("12:00:01 pm"), of_day("1:00:00PM")),
            (Some(0), Some(43_201 * SECOND), Some(46_800 * SECOND))
        );
        assert_eq!((of_day("13:00:00 PM"), of_day("0:00:00 AM"), of_day("01:00:00 XM")), (None, None, None));
    }

    #[test]
    fn what_is_no_date_with_a_time_is_refused() {
        for field in [
            "",
            "2024",
            "2024-05-31",
            "2024-13-01T00:00:00",
            "2023-02-29T00:00:00",
            "1900-02-29T00:00:00",
            "2024-05-31T25:00:00",
            "2024-05-31T00:60:00",
            "2024-05-31T00:00:00.",
            "2024-05-31T00:00:00+2",
            "2024-05-31T00:00:00X",
            "24-05-31T00:00:00",
            "2024-0531T00:00:00",
            "1717199999",
            "12:00:00",
        ] {
            assert_eq!(read(field), None, "{field}");
        }
    }

    proptest! {
        #[test]
        fn days_follow_each_other(day in 0_i64..3_000_000) {
            let (mut year, mut month, mut left) = (0_i64, 1_u32, day);
            let leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            while left >= 365 + i64::from(leap(year)) {
                left -= 365 + i64::from(leap(year));
                year += 1;
            }
            let length = |year, month| [31, 28 + i64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month as usize - 1];
            while left >= length(year, month) {
                left -= length(year, month);
                month += 1;
            }
            let written = format!("{year:04}-{month:02}-{:02}", left + 1);
            prop_assert_eq!(date(written.as_bytes()), Some((day - 719_528, &[][..])));
        }

        #[test]
        fn any_text_is_read_or_refused(text in any::<String>(), near in "[0-9]{0,5}[-T: .+Z0-9]{0,24}") {
            read(&text);
            read(&near);
            of_day(&text);
            of_day(&near);
            month_first(&text);
            day_first(&near);
        }
    }
}
