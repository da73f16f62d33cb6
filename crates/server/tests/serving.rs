//! What clients see, whatever they do.

use crate::common::{Client, DISC, EINVAL, EIO, ENOSPC, FLUSH, FUA, READ, TRIM, WRITE, ZERO, drive, header, start};
use proptest::prelude::*;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tinytail_core::observe::TrafficClass;
use tinytail_server::data::{Data, FileData, MemoryData, Sync};
use tinytail_server::serve::EVERYTHING;

const MIB: u64 = 1 << 20;
const SIZE: u64 = 64 * MIB;

fn memory() -> MemoryData {
    MemoryData::new(SIZE).unwrap()
}

#[test]
fn what_is_written_is_read_on_every_connection() {
    let running = start(drive("base"), memory(), SIZE, None);
    let mut one = running.client();
    let mut other = Client::connect(&running.socket, true);
    assert_eq!((one.bytes, other.bytes), (SIZE, SIZE));
    assert_eq!(one.read(SIZE - 4096, 4096), vec![0; 4096]);
    one.write(1000, b"some bytes across sectors");
    assert_eq!(other.read(999, 27), b"\0some bytes across sectors\0");
    let long: Vec<u8> = (0..32 * MIB).map(|at| (at * 7 + at / 4096) as u8).collect();
    other.write(3 * MIB + 5, &long);
    assert!(one.read(3 * MIB + 5, 32 << 20) == long, "as long as a request may be");
    for (flags, command) in [(FUA, TRIM), (0, ZERO), (2, ZERO)] {
        assert_eq!(one.ask(flags, command, 4 * MIB, 65_536, &[]), (0, Vec::new()));
        assert_eq!(other.read(4 * MIB, 65_536), vec![0; 65_536]);
        one.write(4 * MIB, &long[..65_536]);
    }
    assert_eq!(one.ask(FUA, WRITE, 0, 4, b"safe").0, 0);
    assert_eq!(other.ask(0, FLUSH, 0, 0, &[]).0, 0);
    assert_eq!(one.ask(0, TRIM, 0, SIZE as u32, &[]).0, 0);
    assert!(other.read(0, 32 << 20).iter().all(|&byte| byte == 0));
    let served = running.stop();
    assert_eq!((served.clients, served.failed, served.violations.0), (2, 0, 0));
    assert!(served.lateness.summary().all.count > 10);
}

#[test]
fn faulty_requests_are_refused_and_the_next_one_is_served() {
    let running = start(drive("base"), memory(), SIZE, None);
    for structured in [false, true] {
        let mut client = Client::connect(&running.socket, structured);
        for (flags, command, offset, bytes, error) in [
            (0, READ, SIZE, 1, EINVAL),
            (0, READ, SIZE - 511, 512, EINVAL),
            (0, READ, 0, (32 << 20) + 1, EINVAL),
            (0, READ, 0, 0, EINVAL),
            (0, TRIM, u64::MAX - 5, 512, EINVAL),
            (0, ZERO, SIZE, 512, ENOSPC),
            (1 << 9, READ, 0, 512, EINVAL),
            (0, 5, 0, 512, EINVAL),
            (0, 900, 0, 512, EINVAL),
        ] {
            assert_eq!(client.ask(flags, command, offset, bytes, &[]).0, error, "{command} {offset} {bytes}");
        }
        assert_eq!(client.ask(0, WRITE, SIZE - 4, 5, b"12345").0, ENOSPC);
        let too_long = vec![9; (32 << 20) + 1];
        assert_eq!(client.ask(0, WRITE, 0, too_long.len() as u32, &too_long).0, EINVAL);
        assert_eq!(client.read(0, 4), [0; 4]);
        assert_eq!(client.read(SIZE - 4, 4), [0; 4]);
    }
    assert_eq!(running.stop().failed, 22);
}

#[test]
fn clients_that_vanish_or_babble_harm_nobody() {
    let running = start(drive("base"), memory(), SIZE, None);
    let mut good = running.client();
    good.write(0, &[5; 8192]);
    // In the middle of a payload.
    let mut bad = running.client();
    bad.send(0, WRITE, 1, 0, 8192, &[6; 5000]);
    drop(bad);
    // In the middle of a header, with reads under way that nobody will take.
    let mut bad = running.client();
    (0..50).for_each(|cookie| bad.send(0, READ, cookie, 0, 1 << 20, &[]));
    bad.stream.write_all(&header(0, WRITE, 2, 0, 8192)[..20]).unwrap();
    drop(bad);
    // In the middle of the negotiation.
    drop(std::os::unix::net::UnixStream::connect(&running.socket).unwrap());
    // Bytes that are no request: what came before is answered.
    let mut bad = running.client();
    bad.send(0, READ, 3, 4096, 512, &[]);
    bad.stream.write_all(&[0xab; 100]).unwrap();
    assert_eq!(bad.reply(|_| 512), (3, 0, vec![5; 512]));
    assert!(bad.is_closed());
    assert_eq!(good.read(0, 8192), [5; 8192]);
    // One that leaves in good order gets its answers first.
    let mut leaving = running.client();
    leaving.send(0, READ, 4, 0, 512, &[]);
    leaving.send(0, DISC, 0, 0, 0, &[]);
    assert_eq!(leaving.reply(|_| 512).0, 4);
    assert!(leaving.is_closed());
    let served = running.stop();
    assert_eq!((served.clients, served.violations.0), (6, 1));
}

#[test]
fn a_client_that_does_not_read_its_replies_waits_for_itself_alone() {
    const READS: u64 = 3000;
    // Reads complete when they are asked for, also those that waited in the socket, which are read after a reply was sent.
    let mut drive = drive("base");
    drive.make_free(&EVERYTHING);
    let running = start(drive, memory(), SIZE, None);
    let mut good = running.client();
    let pattern: Vec<u8> = (0..MIB).map(|at| (at / 512) as u8).collect();
    good.write(0, &pattern);
    let mut slow = running.client();
    let stream = slow.stream.try_clone().unwrap();
    let writer = std::thread::spawn(move || {
        (0..READS).for_each(|cookie| (&stream).write_all(&header(0, READ, cookie, cookie % 16 * 65_536, 65_536)).unwrap());
    });
    for _ in 0..100 {
        assert_eq!(good.read(512, 2), [1, 1]);
    }
    let mut seen = vec![false; READS as usize];
    for _ in 0..READS {
        let (cookie, error, data) = slow.reply(|_| 65_536);
        assert_eq!(error, 0);
        assert!(data == pattern[(cookie % 16 * 65_536) as usize..][..65_536]);
        assert!(!std::mem::replace(&mut seen[cookie as usize], true), "each request has one reply");
    }
    writer.join().unwrap();
    running.stop();
}

/// Asks for the export so that a refusal can be told. Returns the answer's kind and text.
fn go(stream: &mut UnixStream) -> (u32, String) {
    stream.set_read_timeout(Some(std::time::Duration::from_secs(20))).unwrap();
    stream.read_exact(&mut [0; 18]).unwrap();
    stream.write_all(b"\0\0\0\x03IHAVEOPT\0\0\0\x07\0\0\0\x06\0\0\0\0\0\0").unwrap();
    let mut head = [0; 20];
    stream.read_exact(&mut head).unwrap();
    let at = |at: usize| u32::from_be_bytes(head[at..at + 4].try_into().unwrap());
    let mut text = vec![0; at(16) as usize];
    stream.read_exact(&mut text).unwrap();
    (at(12), String::from_utf8_lossy(&text).into_owned())
}

#[test]
fn one_client_too_many_is_told_so() {
    let running = start(drive("base"), memory(), SIZE, None);
    let mut clients: Vec<Client> = (0..256).map(|_| running.client()).collect();
    let mut refused = UnixStream::connect(&running.socket).unwrap();
    let (kind, text) = go(&mut refused);
    assert_eq!(kind, 1 << 31 | 2, "by policy");
    assert!(text.contains("256 clients use this drive"), "{text}");
    // The older way to ask for the export has no words for it.
    let mut ignored = UnixStream::connect(&running.socket).unwrap();
    ignored.read_exact(&mut [0; 18]).unwrap();
    ignored.write_all(b"\0\0\0\x03IHAVEOPT\0\0\0\x01\0\0\0\0").unwrap();
    assert_eq!(ignored.read(&mut [0]).unwrap(), 0);
    assert_eq!(clients[0].read(0, 4), [0; 4]);
    let served = running.stop();
    assert_eq!((served.refused, served.clients, served.violations.0), (2, 256 + 2, 0));
}

#[test]
fn clients_that_say_nothing_shut_nobody_out() {
    let running = start(drive("base"), memory(), SIZE, None);
    let mut early = running.client();
    let silent: Vec<_> = (0..300).map(|_| UnixStream::connect(&running.socket).unwrap()).collect();
    let mut late = running.client();
    assert_eq!((early.read(0, 4), late.read(0, 4)), (vec![0; 4], vec![0; 4]));
    // The first of them made way.
    let mut first = &silent[0];
    first.set_read_timeout(Some(std::time::Duration::from_secs(20))).unwrap();
    first.read_to_end(&mut Vec::new()).expect("hung up on");
    let served = running.stop();
    assert!(served.violations.0 >= 45, "{:?}", served.violations);
    assert_eq!((served.refused, served.clients), (0, 302));
}

#[test]
fn large_requests_of_many_clients_take_turns_in_little_memory() {
    const BYTES: usize = 32 << 20;
    let mut drive = drive("base");
    drive.make_free(&EVERYTHING);
    let running = start(drive, memory(), SIZE, None);
    // Each of them has sent the beginning of a write: two have room, and the others wait for it.
    let mut writers: Vec<Client> = (0..6).map(|_| running.client()).collect();
    let data: Vec<Vec<u8>> = (1..=6).map(|number| vec![number; BYTES]).collect();
    for (writer, data) in writers.iter_mut().zip(&data) {
        writer.send(0, WRITE, 1, 0, BYTES as u32, &data[..100_000]);
    }
    // Small requests need none.
    let mut small = running.client();
    for _ in 0..50 {
        small.write(MIB * 40, b"small");
        assert_eq!(small.read(MIB * 40, 5), b"small");
    }
    let threads: Vec<_> = writers
        .into_iter()
        .zip(data)
        .map(|(mut writer, data)| {
            std::thread::spawn(move || {
                writer.stream.write_all(&data[100_000..]).unwrap();
                assert_eq!(writer.reply(|_| 0), (1, 0, Vec::new()));
                // Several replies at once are more than there is room for.
                (0..4).for_each(|cookie| writer.send(0, READ, cookie, 0, BYTES as u32, &[]));
                for _ in 0..4 {
                    let (_, error, found) = writer.reply(|_| BYTES);
                    assert!(error == 0 && found.iter().all(|&byte| byte == found[0]), "one whole write");
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let served = running.stop();
    assert_eq!((served.failed, served.violations.0), (0, 0));
}

/// Data that run out of space, or can't be made safe, when told to.
struct Faulty {
    inner: MemoryData,
    full: Arc<AtomicBool>,
    broken: Arc<AtomicBool>,
}

impl Data for Faulty {
    fn read(&mut self, offset: u64, bytes: usize, out: &mut Vec<u8>) -> io::Result<()> {
        if self.broken.load(Ordering::Relaxed) {
            return Err(io::Error::other("broken"));
        }
        self.inner.read(offset, bytes, out)
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if self.full.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.inner.write(offset, bytes)
    }

    fn zero(&mut self, offset: u64, bytes: u64, keep: bool) -> io::Result<()> {
        self.inner.zero(offset, bytes, keep)
    }

    fn sync(&self) -> Option<Sync> {
        let broken = Arc::clone(&self.broken);
        Some(Arc::new(move || if broken.load(Ordering::Relaxed) { Err(io::Error::other("broken")) } else { Ok(()) }))
    }
}

#[test]
fn a_full_disk_is_told_to_the_client_and_nothing_else_is_lost() {
    let (full, broken) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let data = Faulty { inner: memory(), full: Arc::clone(&full), broken: Arc::clone(&broken) };
    let running = start(drive("base"), data, SIZE, None);
    let mut client = Client::connect(&running.socket, true);
    client.write(0, b"kept");
    full.store(true, Ordering::Relaxed);
    assert_eq!(client.ask(0, WRITE, 0, 4, b"lost").0, ENOSPC);
    assert_eq!(client.ask(FUA, WRITE, 0, 4, b"lost").0, ENOSPC);
    assert_eq!(client.read(0, 4), b"kept");
    assert_eq!(client.ask(0, FLUSH, 0, 0, &[]).0, 0);
    full.store(false, Ordering::Relaxed);
    assert_eq!(client.ask(FUA, WRITE, 4, 5, b" too\n").0, 0);
    assert_eq!(client.read(0, 9), b"kept too\n");
    broken.store(true, Ordering::Relaxed);
    assert_eq!(client.ask(0, READ, 0, 4, &[]).0, EIO);
    assert_eq!(client.ask(0, FLUSH, 0, 0, &[]).0, EIO);
    broken.store(false, Ordering::Relaxed);
    assert_eq!(client.ask(FUA, WRITE, 0, 4, b"gone").0, EIO, "what was lost once can't be made safe any more");
    assert_eq!(client.ask(0, WRITE, 0, 4, b"goes").0, 0);
    assert_eq!(running.stop().failed, 5);
}

#[test]
fn the_socket_is_gone_after_a_clean_stop_and_what_was_asked_is_answered() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    let running = start(drive("base"), FileData::open(&path, SIZE).unwrap(), SIZE, None);
    let mut client = running.client();
    (0..64).for_each(|cookie| client.send(0, WRITE, cookie, cookie * 4096, 512, &[cookie as u8; 512]));
    // All of them are less than is read at a time, and have arrived when some are answered.
    let mut replies: Vec<u64> = vec![client.reply(|_| 0).0];
    while replies.len() < 64 {
        let (cookie, error, _) = client.reply(|_| 0);
        assert_eq!(error, 0);
        replies.push(cookie);
        if replies.len() == 40 {
            running.control.cancel();
        }
    }
    assert!(client.is_closed());
    let socket = running.socket.clone();
    running.stop();
    assert!(!socket.exists());
    let data = std::fs::read(&path).unwrap();
    assert!((0..64).all(|at| data[at * 4096..][..512].iter().all(|&byte| byte == at as u8)));
}

#[test]
fn a_drive_that_cannot_go_on_says_so_and_answers_with_an_error() {
    let mut drive = drive("base+no-gc");
    drive.make_free(&[TrafficClass::HostProgram, TrafficClass::Flush]);
    let running = start(drive, memory(), SIZE, None);
    let mut client = running.client();
    let payload = vec![1; 16 << 20];
    let errors = (0..100).map(|_| client.ask(0, WRITE, 0, payload.len() as u32, &payload).0);
    assert_eq!(errors.into_iter().find(|&error| error != 0), Some(EIO));
    assert!(running.failure().contains("Requests stopped completing"));
}

#[derive(Debug, Clone)]
struct Step {
    command: u16,
    flags: u16,
    offset: u64,
    bytes: u32,
    fill: u8,
    client: usize,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let commands = prop_oneof![4 => Just((WRITE, 0)), 3 => Just((READ, 0)), 1 => Just((WRITE, FUA)), 1 => Just((TRIM, 0)), 1 => Just((ZERO, 0)), 1 => Just((ZERO, 2))];
    let step = (commands, 0..100_000u64, 1..40_000u32, any::<u8>(), 0..2usize)
        .prop_map(|((command, flags), offset, bytes, fill, client)| Step { command, flags, offset, bytes, fill, client });
    prop::collection::vec(step, 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// Requests one after the other behave like an array, whatever they overlap.
    #[test]
    fn one_after_the_other_requests_see_each_other(steps in steps()) {
        let mut drive = drive("base");
        drive.make_free(&[TrafficClass::HostRead, TrafficClass::HostProgram, TrafficClass::Flush]);
        let running = start(drive, memory(), SIZE, None);
        let mut clients = [running.client(), Client::connect(&running.socket, true)];
        let mut array = vec![0u8; 200_000];
        for step in steps {
            let range = step.offset as usize..step.offset as usize + step.bytes as usize;
            let payload = vec![step.fill; if step.command == WRITE { range.len() } else { 0 }];
            let (error, data) = clients[step.client].ask(step.flags, step.command, step.offset, step.bytes, &payload);
            prop_assert_eq!(error, 0);
            match step.command {
                READ => prop_assert!(data == array[range]),
                WRITE => array[range].fill(step.fill),
                _ => array[range].fill(0),
            }
        }
        running.stop();
    }

    /// Many at once: each read sees, of each sector, a write that had not been overwritten when the read was asked for, or one
    /// that was under way meanwhile.
    #[test]
    fn at_once_reads_see_nothing_that_was_overwritten_before(order in prop::collection::vec((any::<bool>(), 0..4u64), 40..200)) {
        let running = start(drive("base"), memory(), SIZE, None);
        let mut client = running.client();
        // Of each of four places: the number of the last write sent, and of the last one acknowledged.
        let (mut sent, mut acknowledged) = ([0u32; 4], [0u32; 4]);
        // Of each request: whether it writes, where, and the write number or the last one acknowledged before.
        let mut asked: Vec<(bool, usize, u32)> = Vec::new();
        let mut open = 0;
        let mut order = order.into_iter();
        loop {
            let next = if open < 12 { order.next() } else { None };
            if let Some((writes, at)) = next {
                let place = at as usize;
                if writes {
                    sent[place] += 1;
                    let payload = sent[place].to_be_bytes().repeat(1024);
                    client.send(0, WRITE, asked.len() as u64, at * 4096, 4096, &payload);
                    asked.push((true, place, sent[place]));
                } else {
                    client.send(0, READ, asked.len() as u64, at * 4096, 4096, &[]);
                    asked.push((false, place, acknowledged[place]));
                }
                open += 1;
            } else if open > 0 {
                let (cookie, error, data) = client.reply(|cookie| if asked[cookie as usize].0 { 0 } else { 4096 });
                prop_assert_eq!(error, 0);
                open -= 1;
                let (writes, place, number) = asked[cookie as usize];
                if writes {
                    acknowledged[place] = acknowledged[place].max(number);
                } else {
                    let found = u32::from_be_bytes(data[..4].try_into().unwrap());
                    prop_assert!(data.chunks(4).all(|word| word == &data[..4]), "a write is seen whole or not at all");
                    prop_assert!((number..=sent[place]).contains(&found), "{found} is not from {number} to {}", sent[place]);
                }
            } else {
                break;
            }
        }
        running.stop();
    }
}
