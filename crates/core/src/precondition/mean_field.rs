//! The steady state of a plane under uniform random writes, as a mean field.
//!
//! A plane of many closed blocks of `b` pages, of which a share `rho` is valid, is in a cycle: a victim with `j` valid pages
//! is collected, its pages and `b - j` new ones fill a block, and each new page makes a random valid one stale. With the
//! share of blocks that have `i` valid pages as `m(i)`, the number of new pages in a cycle as `w` and the chance of a victim
//! with `i` valid pages as `p(i)`, the steady state is
//!
//! ```text
//! w / (b rho) * ((i + 1) m(i + 1) - i m(i)) - p(i) + [i = b] = 0,    w = b - sum of i p(i),    sum of i m(i) = b rho
//! ```
//!
//! Van Houdt, "A mean field model for a class of garbage collection algorithms in flash-based solid state drives",
//! SIGMETRICS 2013. Write amplification is `b / w`. Exponentials and powers are of software, so that every machine lays out
//! the same drive.

/// Steps of a bisection: enough for the precision of the numbers.
const BISECTIONS: u32 = 60;

/// The steady state under victims that are chosen by their valid pages alone.
#[derive(Clone, Debug)]
pub(super) struct Levels {
    /// Share of blocks by their valid pages, 0 to `b`.
    pub share: Vec<f64>,
    /// Mean time that a block stays at each number of valid pages, in units of the time that one passes through the plane.
    pub stay: Vec<f64>,
    /// New pages in a cycle.
    pub writes: f64,
}

/// The point between `low` and `high` at which `is_above` becomes true.
fn bisect(mut low: f64, mut high: f64, is_above: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..BISECTIONS {
        let middle = (low + high) / 2.0;
        if is_above(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    (low + high) / 2.0
}

impl Levels {
    /// Victims with the fewest valid pages. Every block falls to a level `k`; there some are collected, and the others a page
    /// later, so that the inflow of every level from `b` to `k` is one block for each cycle.
    pub fn greedy(pages_per_block: u32, rho: f64) -> Self {
        let b = f64::from(pages_per_block);
        // The sum of 1 / i over the levels above k.
        let mut above = 0.0;
        let mut k = pages_per_block;
        let mut later = 0.0;
        while k > 0 {
            let level = f64::from(k);
            // If a share `later` of the blocks at k falls to k - 1, w = b - k + later and rho = w / (b (above + later / k)).
            if rho * b * (above + 1.0 / level) <= b - level + 1.0 {
                above += 1.0 / level;
                k -= 1;
                continue;
            }
            later = (b - level - rho * b * above) / (rho * b / level - 1.0);
            break;
        }
        let writes = b - f64::from(k) + later;
        let mut share = vec![0.0; pages_per_block as usize + 1];
        for level in k + 1..=pages_per_block {
            share[level as usize] = b * rho / (writes * f64::from(level));
        }
        share[k as usize] = if k > 0 { b * rho * later / (writes * f64::from(k)) } else { 1.0 - share.iter().sum::<f64>() };
        Self { stay: share.clone(), share, writes }
    }

    /// The fewest valid pages among `d` blocks drawn at random. With `M(j)` as the share of blocks that have at least `j` valid
    /// pages, a victim has at least `j` with a chance of `M(j)^d`, and the balance of the levels from `j` on is
    /// `w j (M(j) - M(j + 1)) / (b rho) = 1 - M(j)^d`.
    pub fn d_choices(pages_per_block: u32, rho: f64, d: u32) -> Self {
        let b = f64::from(pages_per_block);
        let at_least = |writes: f64| {
            let mut at_least = vec![0.0; pages_per_block as usize + 2];
            for level in (1..=pages_per_block as usize).rev() {
                let c = b * rho / (writes * level as f64);
                let above = at_least[level + 1];
                at_least[level] = bisect(above, 1.0, |m| m + c * libm::pow(m, f64::from(d)) > above + c);
            }
            at_least[0] = 1.0;
            at_least
        };
        // The more is written in a cycle, the fewer pages are valid.
        let writes = bisect(0.0, b, |writes| at_least(writes)[1..].iter().sum::<f64>() < b * rho);
        let at_least = at_least(writes);
        let share: Vec<f64> = at_least.windows(2).map(|pair| pair[0] - pair[1]).collect();
        let inflow = |level: usize| 1.0 - libm::pow(at_least[level + 1], f64::from(d));
        let stay = share.iter().enumerate().map(|(level, share)| share / inflow(level)).collect();
        Self { share, stay, writes }
    }

    /// The age of a block by its valid pages: mean and variance, in units of the time that one passes through the plane.
    /// Stays are exponential, the present one looked at in its middle, which is as long as a whole one.
    pub fn ages(&self) -> Vec<(f64, f64)> {
        let mut ages = vec![(0.0, 0.0); self.stay.len()];
        let (mut mean, mut variance) = (0.0, 0.0);
        for (age, stay) in ages.iter_mut().zip(&self.stay).rev() {
            mean += stay;
            variance += stay * stay;
            *age = (mean, variance);
        }
        ages
    }
}

/// Victims in the order in which they closed: the chance of a page to survive while one block is filled. Page by page, what
/// is written `n` blocks after a page leaves it valid with a chance of `q^n`; over `blocks` closed blocks, which the page has
/// seen from their middles on, these chances add up to the valid pages of the plane. In the limit of many blocks this is
/// `u = exp(-(1 - u) / rho)` with `u = q^blocks`, the valid share of victims (Desnoyers, SYSTOR 2012; Xiang and Kurkoski, arXiv:1110.4245).
pub(super) fn fifo_survival(blocks: u32, valid_blocks: f64) -> f64 {
    let sum = |q: f64| {
        let (mut sum, mut survives) = (0.0, libm::sqrt(q));
        for _ in 0..blocks {
            sum += survives;
            survives *= q;
        }
        sum
    };
    bisect(0.0, 1.0, |q| sum(q) > valid_blocks)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The greatest imbalance of any level, by the equation at the top of the file.
    fn imbalance(levels: &Levels, rho: f64, chances: &[f64]) -> f64 {
        let b = levels.share.len() - 1;
        let flow = levels.writes / (b as f64 * rho);
        let m = |level: usize| levels.share.get(level).copied().unwrap_or(0.0);
        let balance = |i: usize| flow * ((i + 1) as f64 * m(i + 1) - i as f64 * m(i)) - chances[i] + f64::from(u8::from(i == b));
        (0..=b).map(|level| balance(level).abs()).fold(0.0, f64::max)
    }

    fn check(levels: &Levels, rho: f64, chances: &[f64]) {
        let b = (levels.share.len() - 1) as f64;
        let mean = |of: &[f64]| of.iter().enumerate().map(|(level, share)| level as f64 * share).sum::<f64>();
        assert!((levels.share.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{:?}", levels.share);
        assert!((mean(&levels.share) - b * rho).abs() < 1e-6, "{} of {}", mean(&levels.share), b * rho);
        assert!((levels.writes - (b - mean(chances))).abs() < 1e-6);
        assert!(imbalance(levels, rho, chances) < 1e-9);
    }

    #[test]
    fn the_levels_balance_under_greedy_victims() {
        for rho in [0.1, 0.5, 0.7, 0.9, 0.99] {
            let levels = Levels::greedy(128, rho);
            let victims = 128.0 - levels.writes;
            let mut chances = vec![0.0; 129];
            chances[victims.ceil() as usize] = 1.0 - (victims.ceil() - victims);
            if victims > 0.0 {
                chances[victims.ceil() as usize - 1] += victims.ceil() - victims;
            }
            check(&levels, rho, &chances);
        }
    }

    #[test]
    fn the_levels_balance_under_d_choices_and_tend_to_greedy() {
        for (rho, d) in [(0.3, 1), (0.7, 2), (0.9, 10), (0.97, 3)] {
            let levels = Levels::d_choices(64, rho, d);
            let mut at_least: Vec<f64> = levels
                .share
                .iter()
                .rev()
                .scan(0.0, |sum, share| {
                    *sum += share;
                    Some(*sum)
                })
                .collect();
            at_least.reverse();
            at_least.push(0.0);
            let chances: Vec<f64> = at_least.windows(2).map(|pair| pair[0].powi(d as i32) - pair[1].powi(d as i32)).collect();
            check(&levels, rho, &chances);
        }
        let (many, greedy) = (Levels::d_choices(64, 0.85, 5000), Levels::greedy(64, 0.85));
        assert!((many.writes / greedy.writes - 1.0).abs() < 1e-3, "{} {}", many.writes, greedy.writes);
    }

    #[test]
    fn fifo_tends_to_its_fixed_point() {
        for rho in [0.5, 0.8, 0.93] {
            let u = libm::pow(fifo_survival(20_000, rho * 20_000.0), 20_000.0);
            assert!((u - libm::exp(-(1.0 - u) / rho)).abs() < 1e-3, "{rho}: {u}");
        }
    }

    #[test]
    fn a_block_with_fewer_valid_pages_is_older_on_average() {
        let ages = Levels::greedy(128, 0.8).ages();
        assert!(ages.windows(2).all(|pair| pair[0].0 >= pair[1].0));
        assert!(ages[128].0 > 0.0 && ages[110].0 > ages[120].0);
    }
}
