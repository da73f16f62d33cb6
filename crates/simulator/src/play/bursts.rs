//! Bursts of requests, each of which waits for the completion of the one before and for a time besides.

use super::{ARRIVAL_MAX, Ahead, BATCH, Ending, STANDSTILL, Watch, too_late, unread};
use crate::control::Control;
use tinytail_core::drive::Drive;
use tinytail_core::observe::{Completion, Observer};
use tinytail_core::units::Ns;
use tinytail_workload::{Arrival, Source, WorkloadError};

/// The burst at hand.
struct Burst {
    /// Its time in the stream.
    at: Ns,
    /// When it is issued.
    due: Ns,
}

/// A stream and what of it is outstanding.
struct Player<'a> {
    ahead: Ahead<'a>,
    next: Option<Arrival>,
    burst: Burst,
    in_flight: u32,
    last_completed: Ns,
    completions: Vec<Completion>,
}

impl Player<'_> {
    /// Issues what is due, or nothing before the drive has done what comes first.
    fn issue_due<O: Observer>(&mut self, drive: &mut Drive<O>, watch: &mut Watch<'_>) -> Result<(), Ending> {
        while let Some(arrival) = self.next {
            if arrival.at != self.burst.at {
                if self.in_flight > 0 {
                    break;
                }
                // The host computes from the last completion on.
                self.burst = Burst { at: arrival.at, due: self.last_completed + (arrival.at - self.burst.at) };
            }
            let due = self.burst.due;
            // An event at the same time comes first.
            if drive.next_event().is_some_and(|event| event <= due) {
                break;
            }
            if due > ARRIVAL_MAX {
                return Err(too_late(due));
            }
            if self.in_flight == 0 {
                watch.last_progress = due;
            }
            drive.submit_to(arrival.queue, due, arrival.command).map_err(|error| Ending::Faulty(error.to_string()))?;
            self.in_flight += 1;
            self.next = self.ahead.take(drive).map_err(unread)?;
            // A request may complete at once.
            self.collect(drive, watch);
        }
        Ok(())
    }

    /// Takes what has completed from the drive.
    fn collect<O: Observer>(&mut self, drive: &mut Drive<O>, watch: &mut Watch<'_>) {
        if !drive.has_completions() {
            return;
        }
        drive.take_completions(&mut self.completions);
        self.in_flight -= self.completions.len() as u32;
        watch.completed += self.completions.len() as u64;
        for completion in self.completions.drain(..) {
            self.last_completed = self.last_completed.max(completion.completed);
        }
    }
}

/// Plays bursts until the stream has ended or until `enough` says so, and waits for the last completion. The first burst is
/// issued at its own time and `offset_ns`.
pub(super) fn play_bursts<O: Observer>(
    drive: &mut Drive<O>,
    source: &mut dyn Source,
    offset_ns: Ns,
    control: &Control,
    enough: impl Fn(&Drive<O>) -> bool,
) -> Ending {
    let mut watch = Watch::new(drive, control);
    let mut player = match start(drive, source, offset_ns) {
        Ok(player) => player,
        Err(error) => return unread(error),
    };
    loop {
        if let Err(ending) = player.issue_due(drive, &mut watch) {
            return ending;
        }
        if player.next.is_none() && player.in_flight == 0 {
            return watch.end(drive);
        }
        if !drive.step() {
            return Ending::Stuck(STANDSTILL.into());
        }
        player.collect(drive, &mut watch);
        watch.until_look -= 1;
        if watch.until_look == 0 {
            if let Some(ending) = watch.look(drive, player.in_flight > 0) {
                return ending;
            }
            if enough(drive) {
                player.next = None;
                player.ahead.end();
            }
        }
    }
}

fn start<'a, O: Observer>(drive: &Drive<O>, source: &'a mut dyn Source, offset_ns: Ns) -> Result<Player<'a>, WorkloadError> {
    let mut ahead = Ahead::new(source);
    let next = ahead.take(drive)?;
    let at = next.map_or(0, |first| first.at);
    Ok(Player {
        ahead,
        next,
        burst: Burst { at, due: at + offset_ns },
        in_flight: 0,
        last_completed: offset_ns,
        completions: Vec::with_capacity(BATCH),
    })
}
