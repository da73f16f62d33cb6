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
/// The most steps of Newton's method. With a very large power the first ones only get away from 1.
const STEPS_MAX: u32 = 200;

/// What the rounding of a sum over the levels may come to, as a share of it.
const ROUNDING: f64 = 16.0 * f64::EPSILON;

#[cfg(test)]
thread_local! {
    /// Steps towards the share of one level, of all solutions of this thread.
    static STEPS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

fn count_step() {
    #[cfg(test)]
    STEPS.with(|steps| steps.set(steps.get() + 1));
}

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

/// The shares of blocks that have at least so many valid pages, under the fewest of `d` blocks and `writes` new pages in a cycle.
struct AtLeast {
    shares: Vec<f64>,
    /// The valid pages of a block, and how they change with the new pages in a cycle.
    sum: f64,
    slope: f64,
}

impl AtLeast {
    fn new(pages_per_block: u32, rho: f64, d: u32, writes: f64) -> Self {
        let mut shares = vec![0.0; pages_per_block as usize + 2];
        let (mut sum, mut slope) = (0.0, 0.0);
        let (mut above, mut above_slope) = (0.0, 0.0);
        for level in (1..=pages_per_block as usize).rev() {
            let c = f64::from(pages_per_block) * rho / (writes * level as f64);
            // The root of m + c m^d - (above + c), which rises and is convex: Newton's steps from above never pass it.
            let mut share = 1.0;
            for _ in 0..STEPS_MAX {
                count_step();
                let power = power(share, d - 1);
                let rise = 1.0 + c * f64::from(d) * power;
                let next = share - (share + c * power * share - (above + c)) / rise;
                if next >= share {
                    break;
                }
                share = next.max(above);
            }
            let beaten = power(share, d - 1);
            above_slope = (above_slope - c / writes * (1.0 - beaten * share)) / (1.0 + c * f64::from(d) * beaten);
            above = share;
            shares[level] = share;
            sum += share;
            slope += above_slope;
        }
        shares[0] = 1.0;
        Self { shares, sum, slope }
    }
}

/// `base` to the power of a whole number, by products alone.
fn power(mut base: f64, mut exponent: u32) -> f64 {
    let mut found = 1.0;
    while exponent > 0 {
        if exponent & 1 == 1 {
            found *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    found
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
        // The more is written in a cycle, the fewer pages are valid. With more than one choice more is written than with one.
        let (mut low, mut high) = (0.0, b);
        let mut writes = Self::greedy(pages_per_block, rho).writes.max(b * f64::EPSILON);
        let mut at_least = AtLeast::new(pages_per_block, rho, d, writes);
        for _ in 0..BISECTIONS {
            let excess = at_least.sum - b * rho;
            if excess > 0.0 {
                low = writes;
            } else {
                high = writes;
            }
            let newton = writes - excess / at_least.slope;
            let next = if newton > low && newton < high { newton } else { (low + high) / 2.0 };
            // What is left is the rounding of the sum.
            if excess.abs() <= ROUNDING * b * rho || (next - writes).abs() <= ROUNDING * writes {
                break;
            }
            writes = next;
            at_least = AtLeast::new(pages_per_block, rho, d, writes);
        }
        let at_least = at_least.shares;
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

    /// The shares by bisection, which takes no derivative: a reference that is slow.
    fn bisected(pages_per_block: u32, rho: f64, d: u32) -> (Vec<f64>, f64) {
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
        let writes = bisect(0.0, b, |writes| at_least(writes)[1..].iter().sum::<f64>() < b * rho);
        (at_least(writes).windows(2).map(|pair| pair[0] - pair[1]).collect(), writes)
    }

    #[test]
    fn d_choices_are_solved_in_few_steps_to_the_precision_of_the_numbers() {
        for pages in [4, 64, 256] {
            for rho in [0.02, 0.3, 0.7, 0.93, 0.999, 1.0] {
                for d in [1, 2, 10, 1000] {
                    STEPS.with(|steps| steps.set(0));
                    let levels = Levels::d_choices(pages, rho, d);
                    // A bisection in a bisection takes 3,600 steps for each level.
                    let steps = STEPS.with(std::cell::Cell::get) / u64::from(pages);
                    assert!(steps <= 100, "{pages} {rho} {d}: {steps} steps for each level");
                    // With all pages valid nothing is written, and ratios of that say nothing.
                    if pages <= 64 && rho < 1.0 {
                        let (share, writes) = bisected(pages, rho, d);
                        assert!((levels.writes / writes - 1.0).abs() < 1e-12, "{pages} {rho} {d}: {} {writes}", levels.writes);
                        assert!(levels.share.iter().zip(&share).all(|(one, other)| (one - other).abs() < 1e-12), "{pages} {rho} {d}");
                    }
                }
            }
        }
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
