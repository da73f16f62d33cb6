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
    /// What it waits for; 0: nothing.
    pub lacks_bytes: usize,
}

impl Memory {
    /// All of it free.
    pub fn new(limit_bytes: usize) -> Self {
        Self { limit_bytes, used_bytes: 0, queue: VecDeque::new(), turn: None }
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
}
