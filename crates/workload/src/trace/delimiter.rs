//! The fields of a line of delimited text. Quotation marks are read by csv-core, as RFC 4180 has them.

use std::cmp::Reverse;
use std::fmt;

use csv_core::{ReadFieldResult, ReaderBuilder};

/// What separates fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delimiter {
    /// A character of ASCII.
    Letter(char),
    /// Any number of blanks and tabs.
    WhiteSpace,
}

impl Delimiter {
    const LETTERS: [char; 4] = [',', ';', '\t', '|'];

    /// Those that are tried.
    pub(super) const ALL: [Self; 5] = [Self::Letter(','), Self::Letter(';'), Self::Letter('\t'), Self::Letter('|'), Self::WhiteSpace];

    /// The letter that makes the most fields of a line, and at least so many, or white space if it makes so many. Numbers may
    /// have commas, and names may have any letter.
    pub(super) fn of(line: &str, fields: usize) -> Option<Self> {
        // What is between quotation marks separates nothing, if each is closed.
        let quotes = line.matches('"').count().is_multiple_of(2).then_some('"');
        let outside: String = line.split(|letter| Some(letter) == quotes).step_by(2).collect();
        let count = |delimiter: &Self| match delimiter {
            Self::Letter(letter) => outside.matches(*letter).count() + 1,
            Self::WhiteSpace => delimiter.fields(line).len(),
        };
        let letters = Self::LETTERS.map(Self::Letter).into_iter().filter(|letter| count(letter) >= fields);
        letters.min_by_key(|letter| Reverse(count(letter))).or(Some(Self::WhiteSpace).filter(|white| count(white) >= fields))
    }

    /// The fields of one line. A line with an open quotation mark has none.
    pub(super) fn fields(self, line: &str) -> Vec<String> {
        match Splitter::new(self).plain(line) {
            Ok((delimiter, line)) => delimiter.split(line).map(str::to_owned).collect(),
            Err(Unclosed) => Vec::new(),
        }
    }

    /// The fields of a line without quotation marks, without the white space around them.
    #[inline]
    pub(super) fn split(self, line: &str) -> impl Iterator<Item = &str> {
        let (letter, white) = match self {
            Self::Letter(letter) => (Some(line.split(letter)), None),
            Self::WhiteSpace => (None, Some(line.split_ascii_whitespace())),
        };
        letter.into_iter().flatten().chain(white.into_iter().flatten()).map(str::trim)
    }
}

/// A line with a quotation mark that is not closed on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unclosed;

/// What separates the fields of a line whose quotation marks have been read. Texts do not have it.
const SEPARATOR: char = '\u{1f}';

/// Takes lines apart that may have quotation marks.
#[derive(Debug)]
pub(super) struct Splitter {
    pub(super) delimiter: Delimiter,
    quotes: Option<Box<Quotes>>,
}

/// Reads fields with quotation marks, one line after another.
struct Quotes {
    reader: csv_core::Reader,
    line: Vec<u8>,
    /// The fields that were read last, with [`SEPARATOR`] between them.
    fields: Vec<u8>,
}

impl fmt::Debug for Quotes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Quotes")
    }
}

impl Splitter {
    pub(super) fn new(delimiter: Delimiter) -> Self {
        Self { delimiter, quotes: None }
    }

    /// A line with the same fields and without quotation marks, and what separates them there. Most lines are so already.
    #[inline]
    pub(super) fn plain<'a>(&'a mut self, line: &'a str) -> Result<(Delimiter, &'a str), Unclosed> {
        if !line.contains('"') {
            return Ok((self.delimiter, line));
        }
        let delimiter = self.delimiter;
        let quotes = self.quotes.get_or_insert_with(|| Box::new(Quotes::new(delimiter)));
        Ok((Delimiter::Letter(SEPARATOR), quotes.read(delimiter, line)?))
    }
}

impl Quotes {
    fn new(delimiter: Delimiter) -> Self {
        let letter = if let Delimiter::Letter(letter) = delimiter { u8::try_from(letter).unwrap_or(b',') } else { b' ' };
        let reader = ReaderBuilder::new().delimiter(letter).build();
        Self { reader, line: Vec::new(), fields: Vec::new() }
    }

    fn read(&mut self, delimiter: Delimiter, line: &str) -> Result<&str, Unclosed> {
        let is_white = delimiter == Delimiter::WhiteSpace;
        self.reader.reset();
        self.line.clear();
        self.line.extend_from_slice(line.as_bytes());
        if is_white {
            self.line.iter_mut().filter(|byte| **byte == b'\t').for_each(|byte| *byte = b' ');
        }
        // An open quotation mark takes the end of the line into its field.
        self.line.push(b'\n');
        // A field is never longer than what it is written as, and a separator replaces a delimiter.
        self.fields.resize(self.line.len() + 1, 0);
        let (mut left, mut end) = (&self.line[..], 0);
        loop {
            // Many put a blank before a quotation mark.
            while let [blank @ (b' ' | b'\t'), rest @ ..] = left
                && (is_white || delimiter != Delimiter::Letter(char::from(*blank)))
            {
                left = rest;
            }
            if is_white && left == b"\n" && end > 0 {
                end -= 1;
                break;
            }
            let (result, read, written) = self.reader.read_field(left, &mut self.fields[end..]);
            (left, end) = (&left[read..], end + written);
            let ReadFieldResult::Field { record_end: false } = result else { break };
            self.fields[end] = SEPARATOR as u8;
            end += 1;
        }
        let fields = &self.fields[..end];
        // Fields are cut at ASCII alone.
        if fields.contains(&b'\n') { Err(Unclosed) } else { std::str::from_utf8(fields).map_err(|_| Unclosed) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;

    /// A field as a program that writes CSV quotes it.
    fn written(field: &str, delimiter: char, all: bool) -> String {
        let must = field.contains(['"', delimiter, '\r']);
        if all || must { format!("\"{}\"", field.replace('"', "\"\"")) } else { field.to_owned() }
    }

    proptest! {
        #[test]
        fn quoted_fields_are_read_as_they_were(
            fields in proptest::collection::vec("[a-z0-9,;|\t \"'µ.]{0,6}", 2..7),
            delimiter in select(&Delimiter::LETTERS[..]),
            all in any::<bool>(),
            blank in any::<bool>(),
        ) {
            // Blanks around a field are no part of it, and a line has no tabs at its ends.
            let fields: Vec<String> = fields.iter().map(|field| field.trim().to_owned()).collect();
            let between = if blank && all { format!("{delimiter} ") } else { delimiter.to_string() };
            let line = fields.iter().map(|field| written(field, delimiter, all)).collect::<Vec<_>>().join(&between);
            prop_assert_eq!(Delimiter::Letter(delimiter).fields(&line), fields);
        }

        #[test]
        fn white_space_separates_quoted_fields_too(fields in proptest::collection::vec("[a-z0-9,;\" ]{1,6}", 2..7), tabs in any::<bool>()) {
            let fields: Vec<String> = fields.iter().map(|field| field.trim().to_owned()).collect();
            let line = fields.iter().map(|field| written(field, ' ', field.is_empty())).collect::<Vec<_>>();
            prop_assert_eq!(Delimiter::WhiteSpace.fields(&line.join(if tabs { " \t" } else { "   " })), fields);
        }

        #[test]
        fn any_line_is_taken_apart(line in any::<String>()) {
            for delimiter in Delimiter::LETTERS.map(Delimiter::Letter).into_iter().chain([Delimiter::WhiteSpace]) {
                delimiter.fields(&line);
            }
        }
    }

    #[test]
    fn marks_within_fields_are_letters() {
        let comma = Delimiter::Letter(',');
        assert_eq!(comma.fields(r#"5" disk,a "b" c,"x""y",D:\a\,"#), [r#"5" disk"#, r#"a "b" c"#, r#"x"y"#, r"D:\a\", ""]);
        assert_eq!(comma.fields(r#" "5" , "a, b","","#), ["5", "a, b", "", ""]);
        assert_eq!(comma.fields(r#"1,"open"#), [""; 0]);
        assert_eq!(Delimiter::of("a; b;\"1,2,3,4\"", 2), Some(Delimiter::Letter(';')));
    }
}
