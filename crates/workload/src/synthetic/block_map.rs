//! Which blocks of a range have been drawn, and which is free next, for ranges of any size.

/// Blocks in a word.
const WORD: u64 = 64;

/// A bit for each block that has been drawn. A level above another has a bit for each of its words that is full.
pub(super) struct BlockMap {
    levels: Vec<Vec<u64>>,
    blocks: u64,
}

impl BlockMap {
    /// Of so many blocks, above 0, none of which has been drawn.
    pub(super) fn new(blocks: u64) -> Self {
        let mut levels = Vec::new();
        let mut bits = blocks;
        loop {
            let words = bits.div_ceil(WORD);
            levels.push(vec![0; words as usize]);
            if words == 1 {
                break;
            }
            bits = words;
        }
        let mut map = Self { levels, blocks };
        map.clear();
        map
    }

    /// Frees all blocks.
    pub(super) fn clear(&mut self) {
        let mut bits = self.blocks;
        for level in &mut self.levels {
            level.fill(0);
            // What lies beyond the end is never free.
            if !bits.is_multiple_of(WORD)
                && let Some(last) = level.last_mut()
            {
                *last = u64::MAX << (bits % WORD);
            }
            bits = bits.div_ceil(WORD);
        }
    }

    pub(super) fn is_drawn(&self, block: u64) -> bool {
        block < self.blocks && self.levels[0][(block / WORD) as usize] >> (block % WORD) & 1 == 1
    }

    /// The first free block from `block` on, or else the first of all; none if all have been drawn.
    pub(super) fn next_free(&self, block: u64) -> Option<u64> {
        self.free_from(block).or_else(|| self.free_from(0))
    }

    fn free_from(&self, block: u64) -> Option<u64> {
        let free = |level: usize, bit: u64| -> Option<u64> {
            let word = self.levels[level].get((bit / WORD) as usize)?;
            let free = !word & (u64::MAX << (bit % WORD));
            (free != 0).then(|| bit / WORD * WORD + u64::from(free.trailing_zeros()))
        };
        let mut bit = block;
        for level in 0..self.levels.len() {
            if let Some(mut found) = free(level, bit) {
                for below in (0..level).rev() {
                    found = free(below, found * WORD)?;
                }
                return Some(found);
            }
            bit = bit / WORD + 1;
        }
        None
    }

    /// Marks up to `count` blocks from `block` on as drawn, as many as are free. Returns how many.
    pub(super) fn draw(&mut self, block: u64, count: u64) -> u64 {
        let taken = (block..block.saturating_add(count)).take_while(|block| *block < self.blocks && !self.is_drawn(*block)).count() as u64;
        for block in block..block + taken {
            self.mark(block);
        }
        taken
    }

    fn mark(&mut self, block: u64) {
        let mut bit = block;
        for level in &mut self.levels {
            let word = &mut level[(bit / WORD) as usize];
            *word |= 1 << (bit % WORD);
            if *word != u64::MAX {
                break;
            }
            bit /= WORD;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_finds_what_a_search_of_all_blocks_finds(
            blocks in 1_u64..9000,
            draws in proptest::collection::vec((0_u64..9000, 1_u64..90), 1..400),
        ) {
            let mut map = BlockMap::new(blocks);
            let mut drawn = vec![false; blocks as usize];
            for (block, count) in draws {
                let block = block % blocks;
                prop_assert_eq!(map.is_drawn(block), drawn[block as usize]);
                let free = (block..blocks).chain(0..block).find(|block| !drawn[*block as usize]);
                prop_assert_eq!(map.next_free(block), free);
                let Some(free) = free else { break };
                let run = drawn[free as usize..].iter().take(count as usize).take_while(|drawn| !**drawn).count();
                prop_assert_eq!(map.draw(free, count), run as u64);
                drawn[free as usize..free as usize + run].fill(true);
            }
            map.clear();
            prop_assert_eq!(map.next_free(blocks - 1), Some(blocks - 1));
        }
    }

    #[test]
    fn a_full_map_has_no_free_block() {
        for blocks in [1, 63, 64, 65, 4096, 4097, 262_145] {
            let mut map = BlockMap::new(blocks);
            assert_eq!(map.draw(0, blocks + 5), blocks);
            assert_eq!(map.next_free(blocks / 2), None, "{blocks}");
        }
    }
}
