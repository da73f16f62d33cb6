//! The memory of all clients together: what they may have beyond a small allowance of each.
//!
//! A large write needs room until its data have all come, replies until the client has taken them. Who finds no room waits in
//! order for it, with its bytes left in its socket or its replies not made yet; so the whole takes no more than the limit,
//! however many clients there are.

use std::collections::VecDeque;

/// What clients have of the limit, and who waits.
#[derive(Debug)]
pub struct Memory {
    limit_bytes: usize,
    used_bytes: usize,
    /// Clients that wait, by place and generation.
    queue: VecDeque<(u32, u32)>,
    /// Since when somebody has waited at each look.
    short_since: Option<u64>,
    /// The client that may have some although others wait.
    turn: Option<(u32, u32)>,
}

/// What a client has, and what it waits for.
#[derive(Debug, Default)]
pub struct Share {
    /// Room for data that come.
    pub input_bytes: usize,
    /// Room for replies.
    pub output_bytes: usize,
    input_since: u64,
    output_since: u64,
    /// What it waits for; 0: nothing.
    pub lacks_bytes: usize,
}

impl Share {
    /// It got room for data that come.
    pub fn add_input(&mut self, bytes: usize, now: u64) {
        if self.input_bytes == 0 {
            self.input_since = now;
        }
        self.input_bytes += bytes;
    }

    /// It got room for replies.
    pub fn add_output(&mut self, bytes: usize, now: u64) {
        if self.output_bytes == 0 {
            self.output_since = now;
        }
        self.output_bytes += bytes;
    }

    /// Since when it has had something of it, if it has.
    pub fn held_since(&self) -> Option<u64> {
        let input = (self.input_bytes > 0).then_some(self.input_since);
        let output = (self.output_bytes > 0).then_some(self.output_since);
        input.into_iter().chain(output).min()
    }
}

impl Memory {
    /// All of it free.
    pub fn new(limit_bytes: usize) -> Self {
        Self { limit_bytes, used_bytes: 0, queue: VecDeque::new(), short_since: None, turn: None }
    }

    /// Takes some for a client, or has it wait. What it gets is to be added to its share.
    pub fn claim(&mut self, client: (u32, u32), bytes: usize, lacks_bytes: &mut usize) -> bool {
        if bytes == 0 {
            return true;
        }
        let is_first = self.queue.is_empty() || self.turn == Some(client);
        if is_first && self.used_bytes + bytes <= self.limit_bytes {
            self.used_bytes += bytes;
            return true;
        }
        if *lacks_bytes == 0 {
            self.queue.push_back(client);
        }
        *lacks_bytes = bytes;
        false
    }

    /// Gives some back.
    pub fn release(&mut self, bytes: &mut usize) {
        self.used_bytes -= std::mem::take(bytes);
    }

    /// Somebody waits.
    pub fn is_short(&self) -> bool {
        !self.queue.is_empty()
    }

    /// A look at whether somebody waits. Returns since when that has been so, at each look.
    pub fn look(&mut self, now: u64) -> Option<u64> {
        self.short_since = if self.is_short() { self.short_since.or(Some(now)) } else { None };
        self.short_since
    }

    /// The client that waits longest, which leaves the queue, if `lacks` says that it still waits and for how much. From now on it
    /// may claim before others.
    pub fn next(&mut self, lacks: impl Fn((u32, u32)) -> Option<usize>) -> Option<(u32, u32)> {
        self.turn = None;
        while let Some(&client) = self.queue.front() {
            match lacks(client) {
                Some(bytes) if self.used_bytes + bytes > self.limit_bytes => return None,
                Some(_) => {
                    self.queue.pop_front();
                    self.turn = Some(client);
                    return self.turn;
                }
                None => {
                    self.queue.pop_front();
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_finds_no_room_waits_in_order_and_is_not_overtaken() {
        let mut memory = Memory::new(100);
        let mut lacks = [0; 4];
        let client = |number: u32| (number, 7);
        assert!(memory.claim(client(0), 90, &mut lacks[0]));
        assert!(!memory.claim(client(1), 50, &mut lacks[1]));
        assert!(!memory.claim(client(2), 5, &mut lacks[2]), "there is room, and somebody waits");
        assert!(!memory.claim(client(3), 5, &mut lacks[3]));
        let waiting = |lacks: [usize; 4]| move |(place, _): (u32, u32)| Some(lacks[place as usize]).filter(|bytes| *bytes > 0);
        assert_eq!(memory.next(waiting(lacks)), None);
        memory.release(&mut 90);
        // The one in front has gone meanwhile.
        lacks[1] = 0;
        assert_eq!(memory.next(waiting(lacks)), Some(client(2)));
        assert!(memory.claim(client(2), 99, &mut 0));
        assert_eq!(memory.next(waiting(lacks)), None);
        assert!(memory.is_short());
        memory.release(&mut 95);
        assert_eq!(memory.next(waiting(lacks)), Some(client(3)));
        assert!(!memory.is_short());
    }

    #[test]
    fn what_is_held_is_counted_from_the_first_of_it_on() {
        let mut share = Share::default();
        assert_eq!(share.held_since(), None);
        share.add_output(10, 5);
        share.add_input(1, 7);
        share.add_output(10, 9);
        assert_eq!(share.held_since(), Some(5));
        share.output_bytes = 0;
        assert_eq!(share.held_since(), Some(7));
        share.add_output(10, 11);
        share.input_bytes = 0;
        assert_eq!(share.held_since(), Some(11));
    }

    #[test]
    fn a_shortage_begins_anew_when_nobody_waited_at_a_look() {
        let mut memory = Memory::new(100);
        let mut lacks = 0;
        assert_eq!(memory.look(1), None);
        assert!(!memory.claim((0, 0), 101, &mut lacks));
        assert_eq!((memory.look(2), memory.look(3)), (Some(2), Some(2)));
        assert_eq!(memory.next(|_| None), None);
        assert_eq!(memory.look(4), None);
    }
}
