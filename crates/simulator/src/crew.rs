//! Threads for work that can be shared, as many as there are processors that no run keeps busy.

use nix::sys::resource::{UsageWho, getrusage};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use tinytail_core::precondition::Workers;

/// Threads of this process that are at work.
static AT_WORK: AtomicUsize = AtomicUsize::new(0);

/// A thread that is at work until this is dropped.
#[derive(Debug)]
pub struct AtWork(());

impl AtWork {
    /// The caller begins to work.
    #[expect(clippy::new_without_default, reason = "it counts")]
    pub fn new() -> Self {
        AT_WORK.fetch_add(1, Ordering::Relaxed);
        Self(())
    }

    /// Begins to work if a processor is idle.
    fn if_idle(processors: usize) -> Option<Self> {
        let joins = |at_work| (at_work < processors).then_some(at_work + 1);
        AT_WORK.fetch_update(Ordering::Relaxed, Ordering::Relaxed, joins).ok().map(|_| Self(()))
    }
}

/// The caller, who is at work, waits until this is dropped.
#[derive(Debug)]
pub struct Waiting(());

impl Waiting {
    /// The caller begins to wait.
    #[expect(clippy::new_without_default, reason = "it counts")]
    pub fn new() -> Self {
        AT_WORK.fetch_sub(1, Ordering::Relaxed);
        Self(())
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        AT_WORK.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        AT_WORK.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The calling thread, which is at work, and others beside it.
#[derive(Debug, Default)]
pub struct Crew {
    /// User CPU time of the others, in microseconds.
    others_us: AtomicUsize,
}

impl Crew {
    /// User CPU time of the others, in seconds.
    pub fn others_cpu_seconds(&self) -> f64 {
        self.others_us.load(Ordering::Relaxed) as f64 / 1e6
    }
}

impl Workers for Crew {
    fn each<T: Send, S>(&self, items: &mut [T], scratch: impl Fn() -> S + Sync, work: impl Fn(&mut S, &mut T) -> bool + Sync) -> bool {
        let processors = thread::available_parallelism().map_or(1, usize::from).min(items.len());
        let items = Mutex::new(items.iter_mut());
        let goes_on = AtomicBool::new(true);
        let next = || items.lock().unwrap_or_else(PoisonError::into_inner).next();
        let some = || {
            let mut scratch = scratch();
            while goes_on.load(Ordering::Relaxed) {
                let Some(item) = next() else { break };
                if !work(&mut scratch, item) {
                    goes_on.store(false, Ordering::Relaxed);
                }
            }
        };
        thread::scope(|scope| {
            while let Some(at_work) = AtWork::if_idle(processors) {
                scope.spawn(|| {
                    let _at_work = at_work;
                    some();
                    self.others_us.fetch_add((thread_cpu_seconds() * 1e6) as usize, Ordering::Relaxed);
                });
            }
            some();
        });
        goes_on.into_inner()
    }
}

/// User CPU time of this thread, in seconds.
pub(crate) fn thread_cpu_seconds() -> f64 {
    let usage = getrusage(UsageWho::RUSAGE_THREAD).expect("the kernel knows its threads");
    let time = usage.user_time();
    time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_worked_on_once_and_a_refusal_ends_it() {
        let mut items: Vec<u32> = (0..1000).collect();
        assert!(Crew::default().each(
            &mut items,
            || 1,
            |one, item| {
                *item += *one;
                true
            }
        ));
        assert!(items.iter().zip(1..).all(|(&item, expected)| item == expected));
        let done = AtomicUsize::new(0);
        assert!(!Crew::default().each(&mut items, || (), |(), _| done.fetch_add(1, Ordering::Relaxed) < 10));
        assert!(done.into_inner() < 1000);
        let none: &mut [u32] = &mut [];
        assert!(Crew::default().each(none, || (), |(), _| false));
    }
}
