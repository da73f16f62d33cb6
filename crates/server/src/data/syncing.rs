//! Makes data safe in a thread of its own, because the system may take milliseconds for it, and other requests are due meanwhile.

use crate::data::Sync;
use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// Orders that were carried out, and whether they succeeded; and once, why the first failed.
type Done = Arc<Mutex<(Vec<(u64, bool)>, Option<String>)>>;

/// The thread, its orders, and what it has done.
#[derive(Debug)]
pub struct Syncing {
    orders: Option<Sender<u64>>,
    done: Done,
    wake: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Syncing {
    /// Starts the thread.
    ///
    /// # Errors
    /// Where the system gives no thread or no descriptor.
    pub fn start(sync: Sync) -> io::Result<Self> {
        let (orders, received) = channel();
        let done = Done::default();
        let wake = Arc::new(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?);
        let (their_done, their_wake) = (Arc::clone(&done), Arc::clone(&wake));
        let work = move || work(&received, &sync, &their_done, &their_wake);
        let thread = std::thread::Builder::new().name("tinytail-sync".into()).spawn(work)?;
        Ok(Self { orders: Some(orders), done, wake, thread: Some(thread) })
    }

    /// Orders that what has been written by now be made safe. The token comes back when it is.
    pub fn order(&self, token: u64) {
        if let Some(orders) = &self.orders {
            // The thread ends only after this sender is gone.
            let _ = orders.send(token);
        }
    }

    /// Takes the tokens of the orders that are done, and whether each succeeded. Returns why one failed, the first time.
    pub fn take_done(&self, into: &mut Vec<(u64, bool)>) -> Option<String> {
        let mut counter = [0; 8];
        // Nothing to read means that nobody has woken it.
        let _ = rustix::io::read(&self.wake, &mut counter);
        let mut done = self.done.lock().expect("a thread that does not panic");
        into.append(&mut done.0);
        done.1.take()
    }

    /// What becomes readable when orders are done.
    pub fn wakes(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}

impl Drop for Syncing {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn work(orders: &Receiver<u64>, sync: &Sync, done: &Done, wake: &OwnedFd) {
    // The system tells of data that it has lost only once. What was to be safe can't be any more, whatever it says later.
    let mut failed = false;
    while let Ok(first) = orders.recv() {
        // All that have come by now are served at once.
        let tokens: Vec<u64> = std::iter::once(first).chain(orders.try_iter()).collect();
        let why = sync().err().filter(|_| !failed).map(|error| error.to_string());
        failed |= why.is_some();
        let mut done = done.lock().expect("a thread that does not panic");
        done.0.extend(tokens.into_iter().map(|token| (token, !failed)));
        if why.is_some() {
            done.1 = why;
        }
        drop(done);
        let _ = rustix::io::write(wake, &1u64.to_ne_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    fn wait(syncing: &Syncing, count: usize, whys: &mut Vec<String>) -> Vec<(u64, bool)> {
        let mut done = Vec::new();
        while done.len() < count {
            whys.extend(syncing.take_done(&mut done));
            std::thread::yield_now();
        }
        done
    }

    #[test]
    fn every_order_is_done_and_after_a_failure_none_succeeds() {
        let calls = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&calls);
        let sync: Sync = Arc::new(move || match counted.fetch_add(1, Ordering::Relaxed) {
            1 => Err(io::Error::other("lost")),
            _ => Ok(()),
        });
        let syncing = Syncing::start(sync).unwrap();
        let mut whys = Vec::new();
        for token in 0..4 {
            syncing.order(token);
            assert_eq!(wait(&syncing, 1, &mut whys), [(token, token == 0)]);
        }
        (10..20).for_each(|token| syncing.order(token));
        assert_eq!(wait(&syncing, 10, &mut whys).iter().map(|&(token, _)| token).collect::<Vec<_>>(), (10..20).collect::<Vec<_>>());
        assert_eq!(whys, ["lost"], "said once");
        assert!(calls.load(Ordering::Relaxed) <= 14);
    }
}
