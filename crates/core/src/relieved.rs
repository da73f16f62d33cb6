//! Which of many dies or planes can take more work than before.

use crate::units::bits;

/// Those of many dies or planes that can take more work than when they were last looked at. All of them at first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Relieved {
    words: Vec<u64>,
}

/// What has been looked at is no part of a drive's state: two drives are equal whatever it is.
impl PartialEq for Relieved {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Relieved {}

impl Relieved {
    /// All of `count`. Without this call none is ever noted.
    pub(crate) fn all(count: u32) -> Self {
        let mut all = Self { words: vec![0; count.div_ceil(64) as usize] };
        (0..count).for_each(|index| all.note(index));
        all
    }

    /// Return whether any is ever noted.
    #[inline]
    pub(crate) fn notes(&self) -> bool {
        !self.words.is_empty()
    }

    /// Note one.
    #[inline]
    pub(crate) fn note(&mut self, index: u32) {
        if let Some(word) = self.words.get_mut(index as usize / 64) {
            *word |= 1 << (index % 64);
        }
    }

    /// Return those that are noted.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> {
        self.words.iter().zip(0..).flat_map(|(&word, number)| bits(word).map(move |bit| 64 * number + bit))
    }

    /// Forget them, because they have been looked at.
    #[inline]
    pub(crate) fn forget(&mut self) {
        self.words.fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_noted_at_first_and_then_those_that_are_relieved() {
        let mut relieved = Relieved::all(70);
        assert!(relieved.iter().eq(0..70));
        relieved.forget();
        [69, 3, 64, 3].into_iter().for_each(|index| relieved.note(index));
        assert!(relieved.iter().eq([3, 64, 69]));
    }
}
