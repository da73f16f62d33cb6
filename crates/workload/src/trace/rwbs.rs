//! The letters by which Linux says what a request does, `rwbs`: perhaps an F for a flush before it, then the operation, then
//! marks in any number: F for data that are to be safe (FUA), A read ahead, S synchronous, M metadata, U untorn.
//!
//! The operation is R read, W write, D discard, DE secure erase, F flush, WZ write zeroes, Z and a letter one on zones, of which ZA
//! writes (a zone append), or N none of these. blkparse and older kernels write the same, with B for a barrier.

use crate::trace::op::Op;

/// What the letters say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rwbs {
    /// What it does to data; none if nothing that a drive of this kind has a command for.
    pub(super) op: Option<Op>,
    /// Whether a flush goes before it, and is all of it where it has no data.
    pub(super) flushes_before: bool,
}

/// Reads the letters, if they are such.
pub(super) fn read(word: &str) -> Option<Rwbs> {
    let letters = word.as_bytes();
    // An F alone, or before marks, is the flush itself.
    let first = operation(letters);
    let (flushes_before, (op, marks)) = match letters {
        [b'F', rest @ ..] => match operation(rest) {
            Some(found) => (true, found),
            None => (false, first?),
        },
        _ => (false, first?),
    };
    if !marks.iter().all(|mark| matches!(mark, b'F' | b'A' | b'S' | b'M' | b'U' | b'B')) {
        return None;
    }
    // A flush before nothing is a flush.
    let op = if flushes_before && op.is_none() && letters.contains(&b'N') { Some(Op::Flush) } else { op };
    Some(Rwbs { op, flushes_before })
}

/// Whether the letters are those of a zone append, of which the drive picks the place.
pub(super) fn appends(word: &str) -> bool {
    word.strip_prefix('F').unwrap_or(word).starts_with("ZA")
}

/// The operation at the beginning, and the letters after it.
fn operation(letters: &[u8]) -> Option<(Option<Op>, &[u8])> {
    match letters {
        [b'R', rest @ ..] => Some((Some(Op::Read), rest)),
        [b'W', b'Z', rest @ ..] => Some((None, rest)),
        [b'W', rest @ ..] => Some((Some(Op::Write), rest)),
        [b'D', b'E', rest @ ..] | [b'D', rest @ ..] => Some((Some(Op::Trim), rest)),
        [b'F', rest @ ..] => Some((Some(Op::Flush), rest)),
        [b'N', rest @ ..] => Some((None, rest)),
        [b'Z', b'A', rest @ ..] => Some((Some(Op::Write), rest)),
        [b'Z', b'R', b'A', rest @ ..] | [b'Z', b'R' | b'O' | b'C' | b'F', rest @ ..] => Some((None, rest)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The letters as the kernel writes them.
    fn written(flushes_before: bool, operation: &str, marks: [bool; 5]) -> String {
        let marks = marks.into_iter().zip("FASMU".chars()).filter_map(|(is, mark)| is.then_some(mark));
        ["F"].into_iter().filter(|_| flushes_before).map(str::to_owned).chain([operation.to_owned()]).collect::<String>()
            + &marks.collect::<String>()
    }

    proptest! {
        #[test]
        fn what_the_kernel_writes_is_read(flushes_before in any::<bool>(), operation in 0_usize..9, marks in any::<[bool; 5]>()) {
            let (operation, op) = [
                ("R", Some(Op::Read)), ("W", Some(Op::Write)), ("D", Some(Op::Trim)), ("DE", Some(Op::Trim)), ("F", Some(Op::Flush)),
                ("N", None), ("ZA", Some(Op::Write)), ("ZRA", None), ("WZ", None),
            ][operation];
            let found = read(&written(flushes_before, operation, marks)).unwrap();
            // A flush before none of the others is one.
            let op = if flushes_before && operation == "N" { Some(Op::Flush) } else { op };
            prop_assert_eq!(found.op, op);
            // Of two flushes, one is enough.
            prop_assert!(found.flushes_before == flushes_before || operation == "F");
        }

        #[test]
        fn any_word_is_read_or_not(word in any::<String>()) {
            read(&word);
        }
    }

    #[test]
    fn zone_appends_are_told_from_other_writes() {
        let words = ["ZA", "ZAS", "FZA", "W", "FW", "ZRA", "F", ""];
        assert_eq!(words.map(appends), [true, true, true, false, false, false, false, false]);
    }

    #[test]
    fn other_words_are_no_letters() {
        for word in ["", "Read", "r", "S", "WQ", "RW", "Q", "1", "FX", "discard"] {
            assert_eq!(read(word), None, "{word}");
        }
    }
}
