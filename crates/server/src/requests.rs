//! Requests under way, found by their place and by the number that the drive gave them.

use crate::lateness::Io;
use crate::nbd::transmission::{Errno, Kind, Request};
use std::collections::VecDeque;
use tinytail_core::units::Ns;

/// The model has not completed it.
pub const MODEL: u8 = 1;
/// Its data, or those of before, are not safe yet.
pub const SYNC: u8 = 2;
/// Pieces of it are left to be done.
pub const PIECES: u8 = 4;

/// A request under way.
#[derive(Debug, Clone, Copy)]
pub struct Pending {
    /// What was asked.
    pub request: Request,
    /// Whose it is: the place of the client among the others, and which of those who had it.
    pub client: (u32, u32),
    /// What it waits for.
    pub waits: u8,
    /// Bytes of it that were done in pieces.
    pub done_bytes: u32,
    /// Why it failed, if it did.
    pub errno: Option<Errno>,
    /// When its reply is to leave, on the wall clock.
    pub due: u64,
    /// What it took by the model; of one in pieces, the sum of what they took.
    pub latency_ns: Ns,
}

impl Pending {
    /// As what its lateness counts.
    pub fn io(&self) -> Io {
        match self.request.kind {
            Kind::Read => Io::Read,
            Kind::Write | Kind::Zero { keep: true } => Io::Write,
            Kind::Trim | Kind::Zero { keep: false } => Io::Trim,
            Kind::Flush => Io::Flush,
        }
    }
}

/// The place of a request that the drive does not have any more.
const GONE: u32 = u32::MAX;

/// All requests under way.
#[derive(Debug, Default)]
pub struct Requests {
    places: Vec<Pending>,
    unused: Vec<u32>,
    /// Places of what the drive was given, from its number `first` on.
    given: VecDeque<u32>,
    first: u64,
}

impl Requests {
    /// Puts a request into a place, and returns that.
    pub fn insert(&mut self, pending: Pending) -> u32 {
        if let Some(place) = self.unused.pop() {
            self.places[place as usize] = pending;
            return place;
        }
        self.places.push(pending);
        (self.places.len() - 1) as u32
    }

    /// The request in a place.
    pub fn get(&mut self, place: u32) -> &mut Pending {
        &mut self.places[place as usize]
    }

    /// Frees a place.
    pub fn remove(&mut self, place: u32) {
        self.unused.push(place);
    }

    /// The drive was given the request in a place, and numbered it. Numbers follow each other.
    pub fn given(&mut self, id: u64, place: u32) {
        if self.given.is_empty() {
            self.first = id;
        }
        debug_assert_eq!(id, self.first + self.given.len() as u64);
        self.given.push_back(place);
    }

    /// The place of what the drive has completed.
    pub fn completed(&mut self, id: u64) -> u32 {
        let place = std::mem::replace(&mut self.given[(id - self.first) as usize], GONE);
        while self.given.front() == Some(&GONE) {
            self.given.pop_front();
            self.first += 1;
        }
        place
    }

    /// Whether the drive has any.
    pub fn in_drive(&self) -> bool {
        !self.given.is_empty()
    }

    /// Places of what the drive has; it is taken to be done with them.
    pub fn give_up(&mut self) -> Vec<u32> {
        self.given.drain(..).filter(|&place| place != GONE).collect()
    }

    /// Requests under way.
    pub fn under_way(&self) -> usize {
        self.places.len() - self.unused.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_drive_completes_in_any_order_is_found_by_its_number() {
        let request = Request { kind: Kind::Read, cookie: 0, offset: 0, bytes: 1, forced: false };
        let pending = Pending { request, client: (0, 0), waits: MODEL, done_bytes: 0, errno: None, due: 0, latency_ns: 0 };
        let mut requests = Requests::default();
        let places: Vec<u32> = (0..4).map(|_| requests.insert(pending)).collect();
        (0..4).for_each(|n| requests.given(100 + n, places[n as usize]));
        for n in [2usize, 0, 1] {
            assert_eq!(requests.completed(100 + n as u64), places[n]);
            requests.remove(places[n]);
        }
        assert!(requests.in_drive() && requests.under_way() == 1);
        let again = requests.insert(pending);
        requests.given(104, again);
        assert_eq!(requests.completed(103), places[3]);
        assert_eq!(requests.give_up(), [again]);
        assert!(!requests.in_drive());
    }
}
