//! Wall-clock time and the drive's time, and sleeping until a point of them.
//!
//! A thread that sleeps wakes up late, by some 50 µs on many machines. So it is woken earlier, by as much as it was late of
//! late, and looks at the clock for the rest: a short spin before a point in time that matters, and none anywhere else.

use rustix::event::epoll;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::time::{ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};
use rustix::time::{clock_gettime, timerfd_create, timerfd_settime};
use std::io;
use tinytail_core::units::{Ns, SECOND, US};

/// How early a thread is woken at first, at least and at most.
const EARLY_NS: u64 = 60 * US;
const EARLY_NS_MIN: u64 = 5 * US;
const EARLY_NS_MAX: u64 = 100 * US;
/// By how much that grows when the thread was later, and shrinks when it was not: one of twenty may be later.
const GROWTH_NS: u64 = 1900;
const SHRINKING_NS: u64 = 100;

/// Nanoseconds on the system's monotonic clock.
pub fn wall_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * SECOND + now.tv_nsec as u64
}

/// The drive's time as a function of the wall clock's. It begins with the first request.
#[derive(Debug, Clone, Copy)]
pub struct ModelTime {
    origin_wall: u64,
    origin_model: Ns,
    /// So many times slower than the wall clock it goes.
    dilation: f64,
}

impl ModelTime {
    /// The drive's time is `model` when the wall clock's is `wall`.
    pub fn new(wall: u64, model: Ns, dilation: f64) -> Self {
        Self { origin_wall: wall, origin_model: model, dilation }
    }

    /// The drive's time at a point of the wall clock's.
    pub fn at(&self, wall: u64) -> Ns {
        self.origin_model + self.shrink(wall.saturating_sub(self.origin_wall))
    }

    /// When the wall clock comes to a point of the drive's time.
    pub fn wall(&self, model: Ns) -> u64 {
        self.origin_wall + self.stretch(model.saturating_sub(self.origin_model))
    }

    /// A duration of the drive's time on the wall clock.
    pub fn stretch(&self, model: Ns) -> u64 {
        if self.dilation == 1.0 { model } else { (model as f64 * self.dilation).ceil() as u64 }
    }

    /// A duration of the wall clock in the drive's time.
    pub fn shrink(&self, wall: u64) -> Ns {
        if self.dilation == 1.0 { wall } else { (wall as f64 / self.dilation) as Ns }
    }
}

/// What a thread waits with: for sockets, or for a point in time.
#[derive(Debug)]
pub struct Waiting {
    epoll: OwnedFd,
    timer: OwnedFd,
    early_ns: u64,
}

/// The token of the timer among those of sockets.
pub const TIMER: u64 = u64::MAX;

impl Waiting {
    /// Waits for nothing yet.
    ///
    /// # Errors
    /// Where the system gives no descriptors.
    pub fn new() -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
        // Edge-triggered: nobody reads the timer, and it is set anew for each sleep.
        epoll::add(&epoll, &timer, epoll::EventData::new_u64(TIMER), epoll::EventFlags::IN | epoll::EventFlags::ET)?;
        Ok(Self { epoll, timer, early_ns: EARLY_NS })
    }

    /// The set of what is waited for.
    pub fn epoll(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }

    /// How long before a point in time that matters a thread must not go to sleep any more.
    pub fn early_ns(&self) -> u64 {
        self.early_ns
    }

    /// What has happened by now. Does not wait.
    ///
    /// # Errors
    /// Where the system can't tell.
    pub fn poll(&self, events: &mut [epoll::Event]) -> io::Result<usize> {
        self.wait(events, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))
    }

    /// Sleeps until something happens, or until the wall clock comes to `wall`.
    ///
    /// # Errors
    /// Where the system can't wait.
    pub fn sleep(&mut self, wall: u64, events: &mut [epoll::Event]) -> io::Result<usize> {
        let at = Timespec { tv_sec: (wall / SECOND) as i64, tv_nsec: (wall % SECOND) as _ };
        let never_again = Timespec { tv_sec: 0, tv_nsec: 0 };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &Itimerspec { it_interval: never_again, it_value: at })?;
        let count = self.wait(events, None)?;
        if events[..count].iter().any(|event| event.data.u64() == TIMER) {
            let late = wall_ns().saturating_sub(wall);
            self.early_ns = if late > self.early_ns { self.early_ns + GROWTH_NS } else { self.early_ns - SHRINKING_NS };
            self.early_ns = self.early_ns.clamp(EARLY_NS_MIN, EARLY_NS_MAX);
        }
        Ok(count)
    }

    fn wait(&self, events: &mut [epoll::Event], timeout: Option<&Timespec>) -> io::Result<usize> {
        match epoll::wait(&self.epoll, events, timeout) {
            Ok(count) => Ok(count),
            // A signal is the business of another thread.
            Err(Errno::INTR) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_sleep_ends_at_its_time_or_later() {
        let mut waiting = Waiting::new().unwrap();
        let mut events = [epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) }; 4];
        for _ in 0..3 {
            assert_eq!(waiting.poll(&mut events).unwrap(), 0);
            let at = wall_ns() + 200_000;
            assert_eq!(waiting.sleep(at, &mut events).unwrap(), 1);
            assert!(wall_ns() >= at);
        }
        // A time that has passed.
        assert_eq!(waiting.sleep(1, &mut events).unwrap(), 1);
    }

    proptest! {
        #[test]
        fn when_the_wall_clock_has_come_to_a_time_the_drive_has_too(
            wall in 0u64..1 << 50, model in 0u64..1 << 40, later in 0u64..1 << 48, dilation in prop_oneof![Just(1.0), 1.0..1000.0],
        ) {
            let time = ModelTime::new(wall, model, dilation);
            let due = time.wall(model + later);
            // Beyond 2^53 a nanosecond can't be told from the next by a floating-point number.
            prop_assert!(time.at(due) + 1 >= model + later);
            prop_assert!(time.at(wall) == model && time.at(wall.saturating_sub(5)) == model);
            if dilation == 1.0 {
                prop_assert_eq!(time.at(due), model + later);
            }
        }
    }
}
