//! Whether a run holds all of the recorded time, and what helps if it does not.

use tinytail_core::units::Ns;

use crate::error::WorkloadError;
use crate::source::Source;
use crate::text;

/// Requests that are taken from a source at a time.
const BATCH: usize = 256;

/// How much time a run holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// From the first request to the last.
    pub run_ns: Ns,
    /// The same without warming up, where that would be more.
    pub without_warm_up_ns: Option<Ns>,
}

/// What is known of requests whose times are too far apart.
struct TooLong {
    /// How many requests are within the room.
    within: u64,
    /// When the first comes that is not.
    first_beyond_ns: Ns,
    last_ns: Ns,
}

/// Runs through requests, the first of which is at 0.
fn measure(source: &mut dyn Source, room_ns: Ns) -> Result<Option<TooLong>, WorkloadError> {
    let mut batch = Vec::with_capacity(BATCH);
    let mut within = 0;
    let mut beyond = None;
    while source.fill(&mut batch, BATCH)? > 0 {
        for arrival in batch.drain(..) {
            if arrival.at <= room_ns && beyond.is_none() {
                within += 1;
                continue;
            }
            let first_beyond_ns = beyond.map_or(arrival.at, |found: TooLong| found.first_beyond_ns);
            beyond = Some(TooLong { within, first_beyond_ns, last_ns: arrival.at });
        }
    }
    Ok(beyond)
}

/// Checks that a run holds these requests, whose times have been multiplied by a factor.
///
/// # Errors
/// Says which request is the first that is too late, and what helps.
pub(crate) fn check(name: &str, source: &mut dyn Source, room: Room, scale_time: f64) -> Result<(), WorkloadError> {
    let Some(found) = measure(source, room.run_ns)? else { return Ok(()) };
    let without_warm_up = room.without_warm_up_ns.filter(|whole_ns| *whole_ns > room.run_ns);
    let mut remedies = Vec::new();
    if without_warm_up.is_some_and(|whole_ns| found.last_ns <= whole_ns) {
        remedies.push("`--no-warm-up` plays them once, and they fit".to_owned());
    }
    // Rounded down, so that the last one is within.
    let factor = two_digits(scale_time * room.run_ns as f64 / found.last_ns as f64);
    remedies.push(format!("`--scale-time {factor}` makes all of them come sooner"));
    remedies.push(format!("`--requests {}` plays those before", found.within));
    remedies.push(format!("`--window-s 0 {}` keeps a part of the recorded time", seconds(room.run_ns as f64 / scale_time)));
    remedies.push("`--queue-depth 1` plays them one after the other, whatever their times are".to_owned());
    let twice = without_warm_up.map_or("", |_| ", which plays them twice, the first time to warm up,");
    Err(WorkloadError::DoesNotFit {
        name: name.into(),
        message: format!(
            "request {} comes {} after the first, and a run{twice} holds {}. {}",
            text::grouped(found.within + 1),
            text::duration(u128::from(found.first_beyond_ns)),
            text::duration(u128::from(room.run_ns)),
            remedies.join("; ")
        ),
    })
}

/// The number with two digits that is not above this one.
fn two_digits(number: f64) -> f64 {
    let place = 10_f64.powi(1 - number.log10().floor() as i32);
    let rounded = (number * place).floor() / place;
    // As it is written.
    format!("{rounded:.1e}").parse().unwrap_or(rounded)
}

/// Whole seconds, if there is at least one.
fn seconds(ns: f64) -> f64 {
    let seconds = ns / 1e9;
    if seconds >= 1.0 { seconds.floor() } else { seconds }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_have_two_digits_and_are_not_above() {
        for (number, expected) in [(0.4057, 0.4), (0.0999, 0.099), (1.0, 1.0), (12.99, 12.0), (0.001_234, 0.0012), (987.0, 980.0)] {
            assert_eq!(two_digits(number), expected);
        }
    }
}
