//! A client that does what it is told, right or wrong, and a server to be told it to.

#![allow(dead_code, reason = "each file of tests uses a part of it")]

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use tempfile::TempDir;
use tinytail_core::drive::Drive;
use tinytail_core::observe::{Completion, Observer, RequestAttribution};
use tinytail_core::policy::view::View;
use tinytail_metrics::log::Log;
use tinytail_metrics::{Measures, Metrics};
use tinytail_server::address::Address;
use tinytail_server::data::Data;
use tinytail_server::limits::{CLIENTS_MAX, PATIENCE_NS};
use tinytail_server::nbd::Export;
use tinytail_server::record::Recorder;
use tinytail_server::server::{Live, Options, Served, Server};
use tinytail_simulator::catalog;
use tinytail_simulator::control::Control;

pub const READ: u16 = 0;
pub const WRITE: u16 = 1;
pub const DISC: u16 = 2;
pub const FLUSH: u16 = 3;
pub const TRIM: u16 = 4;
pub const ZERO: u16 = 6;
pub const FUA: u16 = 1;

pub const EIO: u32 = 5;
pub const EINVAL: u32 = 22;
pub const ENOSPC: u32 = 28;

/// Enough for two of the largest requests and little more.
pub const MEMORY_BYTES: usize = 80 << 20;

/// Keeps what completes.
#[derive(Default)]
pub struct Watcher {
    pub metrics: Metrics,
    pub seen: Vec<Completion>,
}

impl Observer for Watcher {
    fn completed(&mut self, completion: &Completion, attribution: RequestAttribution<'_>) {
        self.seen.push(*completion);
        self.metrics.completed(completion, attribution);
    }

    fn wants_look(&self, now: u64) -> bool {
        self.metrics.wants_look(now)
    }

    fn look(&mut self, view: View<'_>) {
        self.metrics.look(view);
    }
}

impl Measures for Watcher {
    fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    fn metrics_mut(&mut self) -> &mut Metrics {
        &mut self.metrics
    }

    fn begin(&mut self, start_ns: u64, first_id: u64, windows: u32, log: Option<Log>) {
        self.metrics.begin(start_ns, first_id, windows, log);
    }
}

/// A drive in its starting state.
pub fn drive(design: &str) -> Drive<Watcher> {
    let device = catalog::device("ttflash-small").unwrap();
    let mut drive = Drive::new(&device, catalog::design(design).unwrap(), false, Watcher::default()).unwrap();
    drive.age(1, &[], |_, _| true);
    drive.wake();
    drive
}

/// A server in a thread.
pub struct Running {
    pub folder: TempDir,
    pub socket: PathBuf,
    pub control: Arc<Control>,
    thread: JoinHandle<Served<Watcher>>,
}

pub fn start(drive: Drive<Watcher>, data: impl Data + Send + 'static, bytes: u64, recorder: Option<Recorder>) -> Running {
    start_with(drive, data, bytes, |options| options.recorder = recorder)
}

/// A server with something set for it.
pub fn start_with(drive: Drive<Watcher>, data: impl Data + Send + 'static, bytes: u64, set: impl FnOnce(&mut Options)) -> Running {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("socket");
    let listener = Address::Unix(socket.clone()).listen().unwrap();
    let control = Arc::new(Control::default());
    let switch = Arc::clone(&control);
    let export = Export { bytes, preferred_bytes: 4096 };
    let mut options = Options {
        export,
        dilation: 1.0,
        memory_bytes: MEMORY_BYTES,
        patience_ns: PATIENCE_NS,
        clients_max: CLIENTS_MAX,
        recorder: None,
        log: None,
        notes: Vec::new(),
    };
    set(&mut options);
    let thread = std::thread::spawn(move || Server::new(drive, Box::new(data), listener, options).unwrap().run(&switch, &Live::default()));
    Running { folder, socket, control, thread }
}

impl Running {
    pub fn stop(self) -> Served<Watcher> {
        self.control.cancel();
        let served = self.thread.join().unwrap();
        assert!(served.error.is_none(), "{:?}", served.error);
        served
    }

    pub fn failure(self) -> String {
        self.thread.join().unwrap().error.expect("the server should have ended by itself").to_string()
    }

    pub fn client(&self) -> Client {
        Client::connect(&self.socket, false)
    }
}

/// A client that has taken the export.
pub struct Client {
    pub stream: UnixStream,
    structured: bool,
    pub bytes: u64,
}

impl Client {
    pub fn connect(socket: &Path, structured: bool) -> Self {
        let mut stream = UnixStream::connect(socket).unwrap();
        stream.set_read_timeout(Some(std::time::Duration::from_secs(20))).unwrap();
        let mut greeting = [0; 18];
        stream.read_exact(&mut greeting).unwrap();
        assert_eq!(&greeting, b"NBDMAGICIHAVEOPT\0\x03");
        let mut bytes = 3u32.to_be_bytes().to_vec();
        if structured {
            bytes.extend(b"IHAVEOPT\0\0\0\x08\0\0\0\0");
        }
        bytes.extend(b"IHAVEOPT\0\0\0\x01\0\0\0\0");
        stream.write_all(&bytes).unwrap();
        if structured {
            stream.read_exact(&mut [0; 20]).unwrap();
        }
        let mut export = [0; 10];
        stream.read_exact(&mut export).unwrap();
        Self { stream, structured, bytes: u64::from_be_bytes(export[..8].try_into().unwrap()) }
    }

    pub fn send(&mut self, flags: u16, command: u16, cookie: u64, offset: u64, bytes: u32, payload: &[u8]) {
        let request = header(flags, command, cookie, offset, bytes);
        self.stream.write_all(&[&request[..], payload].concat()).unwrap();
    }

    /// The next reply: its cookie, its error, and as many bytes of data as a read that succeeded returns.
    pub fn reply(&mut self, expects: impl Fn(u64) -> usize) -> (u64, u32, Vec<u8>) {
        let mut head = [0; 16];
        self.stream.read_exact(&mut head).unwrap();
        if head[..4] == 0x6744_6698u32.to_be_bytes() {
            let (error, cookie) = (u32_at(&head, 4), u64::from_be_bytes(head[8..].try_into().unwrap()));
            let mut data = vec![0; if error == 0 { expects(cookie) } else { 0 }];
            assert!(!self.structured || data.is_empty(), "a read has a structured reply");
            self.stream.read_exact(&mut data).unwrap();
            return (cookie, error, data);
        }
        assert_eq!((u32_at(&head, 0), &head[4..6]), (0x668e_33ef, &[0, 1][..]));
        let cookie = u64::from_be_bytes(head[8..].try_into().unwrap());
        let mut length = [0; 4];
        self.stream.read_exact(&mut length).unwrap();
        let mut content = vec![0; u32::from_be_bytes(length) as usize];
        self.stream.read_exact(&mut content).unwrap();
        match head[6..8] {
            [0, 1] => (cookie, 0, content.split_off(8)),
            [0x80, 1] => (cookie, u32_at(&content, 0), Vec::new()),
            _ => panic!("{head:?}"),
        }
    }

    /// One request from begin to end: its error and its data.
    pub fn ask(&mut self, flags: u16, command: u16, offset: u64, bytes: u32, payload: &[u8]) -> (u32, Vec<u8>) {
        self.send(flags, command, 77, offset, bytes, payload);
        let (cookie, error, data) = self.reply(|_| if command == READ { bytes as usize } else { 0 });
        assert_eq!(cookie, 77);
        (error, data)
    }

    pub fn read(&mut self, offset: u64, bytes: u32) -> Vec<u8> {
        let (error, data) = self.ask(0, READ, offset, bytes, &[]);
        assert_eq!(error, 0);
        data
    }

    pub fn write(&mut self, offset: u64, data: &[u8]) {
        assert_eq!(self.ask(0, WRITE, offset, data.len() as u32, data).0, 0);
    }

    /// Whether the server has closed the connection, once all replies are read.
    pub fn is_closed(&mut self) -> bool {
        matches!(self.stream.read(&mut [0]), Ok(0) | Err(_))
    }
}

pub fn header(flags: u16, command: u16, cookie: u64, offset: u64, bytes: u32) -> Vec<u8> {
    let mut request = 0x2560_9513u32.to_be_bytes().to_vec();
    request.extend(flags.to_be_bytes());
    request.extend(command.to_be_bytes());
    request.extend(cookie.to_be_bytes());
    request.extend(offset.to_be_bytes());
    request.extend(bytes.to_be_bytes());
    request
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())
}
