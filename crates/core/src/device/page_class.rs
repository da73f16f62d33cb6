//! Where fast and slow pages lie in a block.
//!
//! A word line of cells of k bits holds k pages, one of each class. A word line's next page is programmed only after the one
//! before it of the next word line, which keeps the neighbours of a finished cell from disturbing it. The Harey Tortoise,
//! section 2.2 and figure 3.

use serde::{Deserialize, Serialize};

/// The order in which the pages of a block's word lines follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum PageClassLayout {
    /// Word lines one by one: figure 2B, of one manufacturer.
    Single,
    /// Word lines in pairs of an even and an odd chain: figure 2A, of all others.
    Pairs,
}

impl PageClassLayout {
    /// A block's pages must be a multiple of this.
    pub fn group(self, classes: u32) -> u32 {
        match self {
            Self::Single => classes,
            Self::Pairs => 2 * classes,
        }
    }

    /// The class of each of the `pages` pages of a block, which are a multiple of the group.
    pub fn classes(self, classes: u32, pages: u32) -> Vec<u8> {
        if self == Self::Pairs {
            return Self::Single.classes(classes, pages / 2).into_iter().flat_map(|class| [class, class]).collect();
        }
        let word_lines = pages / classes;
        // In step t word line t gets its first page, word line t - 1 its second, and so on.
        (0..word_lines + classes - 1)
            .flat_map(|step| (0..classes).filter(move |&class| class <= step && step - class < word_lines))
            .map(|class| class as u8)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::PageClassLayout::{Pairs, Single};
    use super::*;

    fn letters(layout: PageClassLayout, classes: u32, pages: u32) -> String {
        let names = if classes == 3 { ['F', 'M', 'S'] } else { ['F', 'S', '?'] };
        layout.classes(classes, pages).into_iter().map(|class| names[usize::from(class)]).collect()
    }

    #[test]
    fn the_layouts_are_those_of_figure_2() {
        assert_eq!(letters(Single, 1, 4), "FFFF", "SLC");
        assert_eq!(letters(Pairs, 1, 4), "FFFF", "SLC");
        assert_eq!(letters(Single, 2, 8), "FFSFSFSS", "MLC B");
        assert_eq!(letters(Pairs, 2, 16), "FFFFSSFFSSFFSSSS", "MLC A: four fast, pairs in turn, four slow");
        assert_eq!(letters(Single, 3, 12), "FFMFMSFMSMSS", "TLC B");
        assert_eq!(letters(Pairs, 3, 24), "FFFFMMFFMMSSFFMMSSMMSSSS", "TLC A");
        assert_eq!(letters(Single, 2, 2), "FS");
        assert_eq!(letters(Pairs, 3, 6), "FFMMSS");
    }

    #[test]
    fn mlc_follows_the_index_rule_whatever_the_block() {
        // B: a page is fast if it is the first, or odd and not the last. A: B over pairs.
        let fast_b = |page: u32, pages: u32| page == 0 || (page % 2 == 1 && page != pages - 1);
        for pages in (4..=256).step_by(4) {
            let single: Vec<bool> = (0..pages).map(|page| fast_b(page, pages)).collect();
            let pairs: Vec<bool> = (0..pages).map(|page| fast_b(page / 2, pages / 2)).collect();
            let fast = |layout: PageClassLayout| layout.classes(2, pages).into_iter().map(|class| class == 0).collect::<Vec<_>>();
            assert_eq!(fast(Single), single, "{pages}");
            assert_eq!(fast(Pairs), pairs, "{pages}");
        }
    }

    #[test]
    fn tlc_follows_the_index_rule_whatever_the_block() {
        // B: two fast pages and a medium one, then fast, medium and slow in turn, then a medium page and two slow ones.
        let class_b = |page: u32, pages: u32| match page {
            0 | 1 => 0,
            2 => 1,
            _ if page == pages - 3 => 1,
            _ if page > pages - 3 => 2,
            _ => (page % 3) as u8,
        };
        for word_lines in 2..=128 {
            let pages = 3 * word_lines;
            let single: Vec<u8> = (0..pages).map(|page| class_b(page, pages)).collect();
            let pairs: Vec<u8> = (0..2 * pages).map(|page| class_b(page / 2, pages)).collect();
            assert_eq!(Single.classes(3, pages), single, "{pages}");
            assert_eq!(Pairs.classes(3, 2 * pages), pairs, "{pages}");
        }
    }

    #[test]
    fn blocks_of_the_papers_sizes_read_as_it_says() {
        let mlc = letters(Pairs, 2, 128);
        assert_eq!(mlc, format!("FFFF{}SSSS", "SSFF".repeat(30)));
        for layout in [Pairs, Single] {
            assert_eq!(letters(layout, 2, 128).matches('F').count(), 64, "half of MLC is fast");
            for class in ['F', 'M', 'S'] {
                assert_eq!(letters(layout, 3, 384).matches(class).count(), 128, "a third of TLC is of each class");
            }
        }
    }

    #[test]
    fn a_block_has_as_many_pages_of_each_class_and_none_before_its_predecessor() {
        for (layout, classes, pages) in [(Single, 4, 64), (Pairs, 4, 64), (Pairs, 3, 384), (Single, 3, 3), (Pairs, 2, 128)] {
            let order = layout.classes(classes, pages);
            assert_eq!(order.len() as u32, pages);
            let mut seen = vec![0; classes as usize];
            for class in order {
                seen[usize::from(class)] += 1;
                assert!(seen.is_sorted_by(|fast, slow| fast >= slow), "a word line's pages come in the order of their classes");
            }
            assert!(seen.iter().all(|&count| count == pages / classes));
        }
    }
}
