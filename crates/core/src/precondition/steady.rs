//! Whether a drive is steady, by SNIA's Solid State Storage Performance Test Specification (PTS, version 2.0.2, "steady
//! state"): over a window of five rounds the tracked value ranges over less than 20 % of its mean, and the straight line
//! fitted to it rises or falls by less than 10 % of the mean. Tracked here is write amplification: a drive in the tables alone
//! has no times, and those that PTS tracks follow from it.

/// Rounds in the window.
pub(super) const WINDOW: usize = 5;
/// Rounds after which a drive that is not steady is given up, as in PTS.
pub(super) const ROUNDS_MAX: usize = 25;
/// What the values of the window may range over, as a share of their mean.
const RANGE_MAX: f64 = 0.20;
/// What the line through them may rise or fall by over the window, as a share of their mean.
const SLOPE_MAX: f64 = 0.10;

/// Whether the last rounds are steady.
pub(super) fn is_steady(values: &[f64]) -> bool {
    let Some(window) = values.last_chunk::<WINDOW>() else { return false };
    let mean = window.iter().sum::<f64>() / WINDOW as f64;
    let (least, most) = window.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), &value| (least.min(value), most.max(value)));
    // Least squares over the rounds -2 to 2, whose squares add up to 10.
    let middle = (WINDOW / 2) as f64;
    let slope = window.iter().enumerate().map(|(round, value)| (round as f64 - middle) * value).sum::<f64>() / 10.0;
    let excursion = slope.abs() * (WINDOW - 1) as f64;
    most - least < RANGE_MAX * mean && excursion < SLOPE_MAX * mean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_rounds_are_too_few_and_older_ones_do_not_count() {
        assert!(!is_steady(&[2.0; 4]));
        assert!(is_steady(&[2.0; 5]));
        assert!(is_steady(&[9.0, 2.0, 2.0, 2.0, 2.0, 2.0]));
    }

    #[test]
    fn the_range_must_stay_below_a_fifth_of_the_mean() {
        // A peak in the middle leaves the line level; the mean is 100.
        let peak = |range: f64| [0.0, 0.0, range, 0.0, 0.0].map(|above| 100.0 - range / 5.0 + above);
        assert!(is_steady(&peak(19.9)));
        assert!(!is_steady(&peak(20.1)));
    }

    #[test]
    fn the_line_must_rise_or_fall_by_less_than_a_tenth_of_the_mean() {
        let line = |rise: f64| [0.0, 0.25, 0.5, 0.75, 1.0].map(|at| 100.0 + rise * (at - 0.5));
        for sign in [1.0, -1.0] {
            assert!(is_steady(&line(sign * 9.9)));
            assert!(!is_steady(&line(sign * 10.1)));
        }
    }
}
