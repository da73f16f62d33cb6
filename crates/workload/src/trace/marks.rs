//! What the commas and the points in the numbers of a text are: one of them is before fractions, and the other between thousands. A text has
//! one answer for all of its columns.

use std::borrow::Cow;

/// What a mark in numbers is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// It is before a fraction.
    Fraction,
    /// It is between groups of thousands.
    Groups,
}

/// What tells of one mark what it is.
#[derive(Clone, Copy, Debug, Default)]
struct Told {
    /// Numbers in which it can only be before a fraction, and in which it can only be between thousands.
    fractions: usize,
    groups: usize,
    /// Whole numbers that would be fractions if it were not between thousands.
    whole: usize,
    /// Numbers in which it can be either.
    either: usize,
}

/// What the numbers of a text tell of its marks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Evidence {
    comma: Told,
    point: Told,
}

/// The marks of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Marks {
    pub(super) comma: Mark,
    pub(super) point: Mark,
    /// Whether no number tells which the comma, or the point, is.
    pub(super) is_comma_open: bool,
    pub(super) is_point_open: bool,
    /// Whether no number that was looked at has a comma.
    is_comma_new: bool,
}

impl Default for Marks {
    fn default() -> Self {
        Evidence::default().marks(Mark::Fraction)
    }
}

/// The digits and marks that a field begins with, and what stands behind them.
fn number(field: &str) -> (&str, &str) {
    field.split_at(field.len() - field.trim_start_matches(|letter: char| letter.is_ascii_digit() || matches!(letter, ',' | '.')).len())
}

/// Whether digits are grouped by a mark, three by three.
fn are_grouped(digits: &str, mark: char) -> bool {
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let mut groups = digits.split(mark);
    groups.next().is_some_and(|first| (1..=3).contains(&first.len()) && are_digits(first))
        && groups.all(|group| group.len() == 3 && are_digits(group))
}

impl Evidence {
    /// Adds a field of a column of numbers; `is_whole` says that they have no fractions.
    pub(super) fn add(&mut self, field: &str, is_whole: bool) {
        let (number, rest) = number(field.trim_start_matches('-'));
        let Some(last) = number.rfind([',', '.']).filter(|_| rest.is_empty() || !rest.contains([',', '.', ':', '/', '-'])) else { return };
        let (before, mark, behind) = (&number[..last], &number[last..=last], &number[last + 1..]);
        let (told, other) = if mark == "," { (&mut self.comma, &mut self.point) } else { (&mut self.point, &mut self.comma) };
        let other_mark = if mark == "," { '.' } else { ',' };
        let letter = if mark == "," { ',' } else { '.' };
        match (before.contains(letter), before.contains(other_mark)) {
            (false, true) if are_grouped(before, other_mark) => {
                told.fractions += 1;
                other.groups += 1;
            }
            (true, false) if are_grouped(number, letter) => told.groups += 1,
            (false, false) if behind.is_empty() => {}
            (false, false) if behind.len() != 3 || !(1..=3).contains(&before.len()) || before.starts_with('0') => told.fractions += 1,
            (false, false) => {
                told.either += 1;
                told.whole += usize::from(is_whole && behind != "000");
            }
            _ => {}
        }
    }

    /// What the marks are; `usual` is what a comma is of which nothing tells it.
    pub(super) fn marks(&self, usual: Mark) -> Marks {
        let sure = |told: &Told| match (told.fractions, told.groups) {
            (0, 0) => None,
            (fractions, groups) => Some(if groups >= fractions { Mark::Groups } else { Mark::Fraction }),
        };
        let (comma, point) = (sure(&self.comma), sure(&self.point));
        // Only one of them is before fractions.
        let unlike = |other: Option<Mark>| (other == Some(Mark::Fraction)).then_some(Mark::Groups);
        let whole = (self.comma.whole > 0).then_some(Mark::Groups);
        let known = (comma.or(unlike(point)).or(whole), point.or(unlike(comma)));
        Marks {
            comma: known.0.unwrap_or(usual),
            point: known.1.unwrap_or(Mark::Fraction),
            is_comma_open: known.0.is_none(),
            is_point_open: known.1.is_none(),
            is_comma_new: self.comma.either == 0,
        }
    }
}

impl Marks {
    /// A number with a point before its fraction and nothing between its thousands, or nothing if its marks are not those of the text.
    /// `is_whole` says that it has no fraction.
    #[inline]
    pub(super) fn plain<'a>(&self, field: &'a str, is_whole: bool) -> Option<Cow<'a, str>> {
        let is_plain = |byte: u8| byte != b',' && (byte != b'.' || self.point == Mark::Fraction);
        if field.bytes().all(is_plain) { Some(field.into()) } else { self.without_marks(field, is_whole) }
    }

    #[cold]
    fn without_marks<'a>(&self, field: &'a str, is_whole: bool) -> Option<Cow<'a, str>> {
        let unsigned = field.trim_start_matches('-');
        let (number, rest) = number(unsigned);
        if !number.contains([',', '.']) {
            return Some(field.into());
        }
        // Where nothing tells, a comma of whole numbers groups them.
        let is_new = self.is_comma_open && self.is_comma_new && is_whole && are_grouped(number, ',');
        let comma = if is_new { Mark::Groups } else { self.comma };
        let fraction = |letter: char| letter == ',' && comma == Mark::Fraction || letter == '.' && self.point == Mark::Fraction;
        let (whole, behind) = number.split_once(fraction).map_or((number, None), |(whole, behind)| (whole, Some(behind)));
        let group = whole.chars().find(|letter| !letter.is_ascii_digit());
        let is_right = group.is_none_or(|group| are_grouped(whole, group)) && behind.is_none_or(|behind| !behind.contains([',', '.']));
        let sign = &field[..field.len() - unsigned.len()];
        let digits = whole.replace([',', '.'], "");
        let behind = behind.map_or(String::new(), |behind| format!(".{behind}"));
        is_right.then(|| format!("{sign}{digits}{behind}{rest}").into())
    }

    /// What a number must be like, as the end of a sentence.
    pub(super) fn expected(&self) -> &'static str {
        match (self.comma, self.point) {
            (Mark::Groups, Mark::Groups) => {
                "a number without a fraction, whose commas and points are between thousands as in the rest of the text"
            }
            (Mark::Groups, Mark::Fraction) => "a number whose commas are between thousands as in the rest of the text",
            (Mark::Fraction, Mark::Groups) => {
                "a number with a decimal comma, whose points are between thousands as in the rest of the text"
            }
            (Mark::Fraction, Mark::Fraction) => "a number with one decimal comma or point, as in the rest of the text",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_one_thing_in_a_text() {
        use Mark::{Fraction, Groups};
        for (times, sizes, comma, point, open) in [
            // A comma with four digits behind it, or behind more than three digits, is before a fraction everywhere.
            (&["2,5000", "9,1250"][..], &["8,000", "128,000"][..], Fraction, Groups, (false, false)),
            (&["2,500", "2,980"], &["6076,000", "8,000"], Fraction, Groups, (false, false)),
            (&["0,157"], &["8,000"], Fraction, Groups, (false, false)),
            // Two points are between thousands, and so is one.
            (&["2.500"], &["6.221.824", "8.192"], Fraction, Groups, (true, false)),
            (&["1.234,5"], &["8"], Fraction, Groups, (false, false)),
            (&["1,234.5"], &["8"], Groups, Fraction, (false, false)),
            (&["0.5"], &["1,024"], Groups, Fraction, (false, false)),
            // Sizes have no fractions.
            (&["1"], &["1,024"], Groups, Fraction, (false, true)),
            (&["2,500"], &["4,096"], Groups, Fraction, (false, true)),
            // Nothing tells.
            (&["2,500"], &["8,000"], Fraction, Fraction, (true, true)),
            (&["2.500"], &["8"], Fraction, Fraction, (true, true)),
            (&["0.5", "0,5"], &["8"], Fraction, Fraction, (false, false)),
        ] {
            let mut evidence = Evidence::default();
            times.iter().for_each(|time| evidence.add(time, false));
            sizes.iter().for_each(|size| evidence.add(size, true));
            let marks = evidence.marks(Fraction);
            assert_eq!((marks.comma, marks.point), (comma, point), "{times:?} {sizes:?}");
            assert_eq!((marks.is_comma_open, marks.is_point_open), open, "{times:?} {sizes:?}");
        }
    }

    #[test]
    fn numbers_are_read_by_the_marks_of_their_text() {
        let marks = |fields: &[&str]| {
            let mut evidence = Evidence::default();
            fields.iter().for_each(|field| evidence.add(field, false));
            evidence.marks(Mark::Fraction)
        };
        let (german, english) = (marks(&["1.234,5"]), marks(&["1,234.5"]));
        for (marks, field, expected) in [
            (german, "8,000", Some("8.000")),
            (german, "6.221.824", Some("6221824")),
            (german, "-1.234,25ms", Some("-1234.25ms")),
            (german, "12.34", None),
            (german, "1,2,3", None),
            (english, "8,000", Some("8000")),
            (english, "1,048,576.5", Some("1048576.5")),
            (english, "0,5", None),
            (english, "12345", Some("12345")),
            (english, "1.5e3", Some("1.5e3")),
        ] {
            assert_eq!(marks.plain(field, false).as_deref(), expected, "{field}");
        }
    }
}
