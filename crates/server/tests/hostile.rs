//! What clients do that mean harm, and what others notice of it: nothing.

use crate::common::{Client, EINVAL, FUA, READ, Running, TRIM, WRITE, ZERO, drive, header, start, start_with};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::sleep;
use std::time::Duration;
use tinytail_server::data::{Data, MemoryData, Sync};
use tinytail_server::limits::{OUTSTANDING_MAX, PIECE_BYTES};
use tinytail_server::serve::EVERYTHING;

const MIB: u64 = 1 << 20;
const SIZE: u64 = 64 * MIB;

fn memory() -> MemoryData {
    MemoryData::new(SIZE).unwrap()
}

/// A server at the speed of the machine.
fn fast() -> Running {
    let mut drive = drive("base");
    drive.make_free(&EVERYTHING);
    start(drive, memory(), SIZE, None)
}

/// Requests without payload, sent as one: sockets hold few short messages.
fn send_all(client: &mut Client, count: u64, flags: u16, command: u16, bytes: u64) {
    let requests: Vec<u8> = (0..count).flat_map(|cookie| header(flags, command, cookie, 0, bytes as u32)).collect();
    client.stream.write_all(&requests).unwrap();
}

/// Sends the same bytes again and again, until the socket has taken none for a while. Returns how many it took.
fn flood(stream: &UnixStream, bytes: &[u8], most: usize) -> usize {
    stream.set_nonblocking(true).unwrap();
    let (mut sent, mut refused) = (0, 0);
    while refused < 50 && sent < most {
        match (&*stream).write(&bytes[sent % bytes.len()..]) {
            Ok(count) => (sent, refused) = (sent + count, 0),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                refused += 1;
                sleep(Duration::from_millis(2));
            }
            Err(error) => panic!("{error}"),
        }
    }
    stream.set_nonblocking(false).unwrap();
    sent
}

#[test]
fn who_takes_no_answers_is_heard_no_more_while_it_negotiates() {
    const LIST: &[u8] = b"IHAVEOPT\0\0\0\x03\0\0\0\0";
    let running = start(drive("base"), memory(), SIZE, None);
    let mut good = running.client();
    let greedy = UnixStream::connect(&running.socket).unwrap();
    (&greedy).write_all(b"\0\0\0\x03").unwrap();
    let most = 16 << 20;
    let sent = flood(&greedy, &LIST.repeat(4096), most);
    assert!(sent < most / 4, "{sent} bytes, which are more than sockets hold");
    assert_eq!(good.read(0, 4), [0; 4]);
    // What it asked for is there when it reads at last.
    greedy.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut answers = vec![0; 18 + sent / LIST.len() * 44];
    (&greedy).read_exact(&mut answers).unwrap();
    assert!(answers[18..].chunks(44).all(|answer| answer == &answers[18..62]));
    running.stop();
}

#[test]
fn refusals_that_nobody_reads_take_no_more_than_replies_do() {
    let running = start(drive("base"), memory(), SIZE, None);
    let mut good = running.client();
    let mut greedy = running.client();
    let most = 16 << 20;
    let sent = flood(&greedy.stream, &header(0, 900, 7, 0, 0).repeat(4096), most);
    assert!(sent < most / 4, "{sent} bytes, which are more than sockets hold");
    assert_eq!(good.read(0, 4), [0; 4]);
    (0..sent / 28).for_each(|_| assert_eq!(greedy.reply(|_| 0), (7, EINVAL, Vec::new())));
    assert_eq!(running.stop().failed, (sent / 28) as u64);
}

/// Some have all memory: by parts of writes that go on byte by byte, or by replies that they read byte by byte. Another one has
/// its turn all the same.
#[test]
fn memory_is_taken_from_those_who_trickle() {
    for writes in [true, false] {
        let mut drive = drive("base");
        drive.make_free(&EVERYTHING);
        let running = start_with(drive, memory(), SIZE, |options| options.patience_ns = 50_000_000);
        let mut slow: Vec<Client> = (0..5).map(|_| running.client()).collect();
        for client in &mut slow {
            let (command, payload) = if writes { (WRITE, &[1; 100_000][..]) } else { (READ, &[][..]) };
            client.send(0, command, 1, 0, 32 << 20, payload);
            client.stream.set_nonblocking(true).unwrap();
        }
        let mut good = running.client();
        let done = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&done);
        let trickle = std::thread::spawn(move || {
            while !seen.load(Ordering::Relaxed) {
                // Those that were hung up on get nothing more.
                slow.iter_mut().for_each(|client| {
                    let _ = if writes { client.stream.write(&[1]) } else { client.stream.read(&mut [0]) };
                });
                sleep(Duration::from_millis(5));
            }
            slow
        });
        good.write(40 * MIB, &vec![9; MIB as usize]);
        assert_eq!(good.read(40 * MIB, MIB as u32), vec![9; MIB as usize]);
        done.store(true, Ordering::Relaxed);
        drop(trickle.join().unwrap());
        let (count, last) = running.stop().violations;
        assert!((1..=5).contains(&count), "{count}: {last:?}");
    }
}

/// Nobody waits: then who is slow may be so for ever.
#[test]
fn who_is_in_nobodys_way_may_take_its_time() {
    let running = start_with(drive("base"), memory(), SIZE, |options| options.patience_ns = 1);
    let mut slow = running.client();
    let payload = vec![5; 2 << 20];
    slow.send(0, WRITE, 1, 0, payload.len() as u32, &payload[..MIB as usize]);
    // Longer than it is from one look to the next.
    sleep(Duration::from_millis(150));
    slow.stream.write_all(&payload[MIB as usize..]).unwrap();
    assert_eq!(slow.reply(|_| 0).1, 0);
    assert_eq!(running.stop().violations.0, 0);
}

/// A write that has got its room comes to its end, although replies of its client wait for room.
#[test]
fn clients_that_read_and_write_the_most_at_once_do_not_wait_for_each_other() {
    let running = fast();
    let payload = vec![3; 32 << 20];
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let (mut client, payload) = (running.client(), payload.clone());
            std::thread::spawn(move || {
                let mut stream = client.stream.try_clone().unwrap();
                let writer = std::thread::spawn(move || {
                    for cookie in 0..2 {
                        stream.write_all(&header(0, READ, cookie, 0, 32 << 20)).unwrap();
                        stream.write_all(&[&header(0, WRITE, 10 + cookie, 0, 32 << 20), &payload[..]].concat()).unwrap();
                    }
                });
                (0..4).for_each(|_| assert_eq!(client.reply(|cookie| if cookie < 10 { 32 << 20 } else { 0 }).1, 0));
                writer.join().unwrap();
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(running.stop().violations.0, 0);
}

/// Data that tell how much was zeroed, the most of it at a time, and how much before the last read. They begin when the gate opens.
struct Counting {
    inner: MemoryData,
    gate: Receiver<()>,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    zeroed: AtomicU64,
    most: AtomicU64,
    before_read: AtomicU64,
}

impl Data for Counting {
    fn read(&mut self, offset: u64, bytes: usize, out: &mut Vec<u8>) -> io::Result<()> {
        self.counts.before_read.store(self.counts.zeroed.load(Ordering::SeqCst), Ordering::SeqCst);
        self.inner.read(offset, bytes, out)
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.inner.write(offset, bytes)
    }

    fn zero(&mut self, offset: u64, bytes: u64, keep: bool) -> io::Result<()> {
        // Nobody is there to open it any more: it is open.
        let _ = self.gate.recv();
        self.counts.zeroed.fetch_add(bytes, Ordering::SeqCst);
        self.counts.most.fetch_max(bytes, Ordering::SeqCst);
        self.inner.zero(offset, bytes, keep)
    }

    fn sync(&self) -> Option<Sync> {
        None
    }
}

fn counting() -> (Counting, Sender<()>, Arc<Counts>) {
    let ((open, gate), counts) = (channel(), Arc::<Counts>::default());
    (Counting { inner: memory(), gate, counts: Arc::clone(&counts) }, open, counts)
}

#[test]
fn long_requests_take_turns_with_others_and_end() {
    const REQUESTS: u64 = 80;
    let (data, gate, counts) = counting();
    let mut drive = drive("base");
    drive.make_free(&EVERYTHING);
    let running = start(drive, data, SIZE, None);
    let (mut good, mut greedy) = (running.client(), running.client());
    let kinds = [(0, TRIM), (0, ZERO), (2, ZERO), (FUA, TRIM)];
    let requests: Vec<u8> = (0..REQUESTS)
        .zip(kinds.iter().cycle())
        .flat_map(|(cookie, &(flags, command))| header(flags, command, cookie, 0, SIZE as u32))
        .collect();
    greedy.stream.write_all(&requests).unwrap();
    good.send(0, READ, 77, 0, 4, &[]);
    drop(gate);
    assert_eq!(good.reply(|_| 4), (77, 0, vec![0; 4]));
    assert!(counts.before_read.load(Ordering::SeqCst) <= 8 * PIECE_BYTES);
    let mut cookies: Vec<u64> = Vec::new();
    while cookies.len() < REQUESTS as usize {
        let (cookie, error, _) = greedy.reply(|_| 0);
        assert_eq!(error, 0);
        cookies.push(cookie);
    }
    cookies.sort_unstable();
    assert_eq!(cookies, (0..REQUESTS).collect::<Vec<_>>());
    assert_eq!(counts.zeroed.load(Ordering::SeqCst), REQUESTS * SIZE);
    assert_eq!(counts.most.load(Ordering::SeqCst), PIECE_BYTES);
    // What lies around an end that is no end of a piece is left.
    good.write(SIZE - 4096, &[7; 4096]);
    assert_eq!(greedy.ask(0, TRIM, 5, (SIZE - 4096 - 5) as u32, &[]).0, 0);
    assert_eq!(good.read(SIZE - 4096, 4096), [7; 4096]);
    running.stop();
}

#[test]
fn long_requests_keep_the_server_from_nothing() {
    let (data, gate, counts) = counting();
    drop(gate);
    let running = start(drive("base"), data, SIZE, None);
    // One leaves, and what it has asked for is left undone.
    let mut gone = running.client();
    send_all(&mut gone, 1000, 2, ZERO, SIZE);
    drop(gone);
    let mut good = running.client();
    assert_eq!(good.ask(0, TRIM, 0, SIZE as u32, &[]).0, 0);
    assert!(counts.zeroed.load(Ordering::SeqCst) < 100 * SIZE);
    // One stays, and the server is stopped.
    send_all(&mut good, 500, 0, TRIM, SIZE);
    running.stop();
}

#[test]
fn long_reads_take_turns_with_others_and_few_are_in_the_drive() {
    let running = fast();
    let mut good = running.client();
    let mut greedy = running.client();
    send_all(&mut greedy, OUTSTANDING_MAX.into(), 0, READ, 32 << 20);
    for _ in 0..20 {
        assert_eq!(good.read(0, 4), [0; 4]);
    }
    drop(greedy);
    let served = running.stop();
    // Three replies are all that there is memory for.
    assert!(served.drive.submitted() < 100, "{}", served.drive.submitted());
}

#[test]
fn a_few_requests_of_each_client_are_taken_at_a_time() {
    let running = fast();
    let mut clients: Vec<Client> = (0..3).map(|_| running.client()).collect();
    clients.iter_mut().for_each(|client| send_all(client, 2000, 0, READ, 64));
    for client in &mut clients {
        for expected in 0..2000 {
            let (cookie, error, data) = client.reply(|_| 64);
            assert_eq!((cookie, error, data.len()), (expected, 0, 64));
        }
    }
    running.stop();
}

#[test]
fn clients_that_come_and_go_keep_nobody_out() {
    let running = start_with(drive("base"), memory(), SIZE, |options| options.clients_max = 32);
    let mut good = running.client();
    let done = Arc::new(AtomicBool::new(false));
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let (done, socket) = (Arc::clone(&done), running.socket.clone());
            std::thread::spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    drop(UnixStream::connect(&socket).unwrap());
                }
            })
        })
        .collect();
    for _ in 0..10 {
        assert_eq!(running.client().read(0, 4), [0; 4]);
        assert_eq!(good.read(0, 4), [0; 4]);
    }
    done.store(true, Ordering::Relaxed);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    running.stop();
}
