//! Where a server listens: `unix:PATH` or `tcp:HOST:PORT`.

use rustix::event::epoll;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, connect, socket_with};
use serde::Serialize;
use std::fmt;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// The protocol's port.
const PORT: u16 = 10_809;

/// An address as it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A socket in the file system.
    Unix(PathBuf),
    /// A TCP port, on the loopback unless a host is named.
    Tcp(SocketAddr),
}

impl Address {
    /// Reads `unix:PATH`, `tcp:HOST:PORT`, `tcp:HOST`, `tcp::PORT` or `tcp`.
    ///
    /// # Errors
    /// What was found and what is allowed.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        match kind {
            "unix" if rest.is_empty() => Err(format!("\"{text}\" names no socket; expected unix:PATH, such as unix:/tmp/drive.sock")),
            "unix" => Ok(Self::Unix(rest.into())),
            "tcp" => {
                tcp(rest).map(Self::Tcp).map_err(|what| format!("\"{text}\": {what}; expected tcp:HOST:PORT, such as tcp:127.0.0.1:{PORT}"))
            }
            _ => Err(format!("\"{text}\" is no address to listen on; expected unix:PATH or tcp:HOST:PORT")),
        }
    }

    /// Refuses an address that others than this machine may reach, unless they are to.
    ///
    /// # Errors
    /// What could happen, and what helps.
    pub fn check_reach(&self, insecure: bool) -> Result<(), String> {
        let Self::Tcp(address) = self else { return Ok(()) };
        if insecure || address.ip().to_canonical().is_loopback() {
            return Ok(());
        }
        let port = address.port();
        Err(format!(
            "{self} can be reached from other machines, and whoever reaches it can read and write the drive: there is no password and no \
             encryption. Listen on tcp:127.0.0.1:{port} or unix:PATH, and let others in through a tunnel such as \
             `ssh -L {port}:127.0.0.1:{port}`; or add --insecure"
        ))
    }

    /// Begins to listen.
    ///
    /// # Errors
    /// A sentence that names the address: it is in use, not there, or not allowed.
    pub fn listen(&self) -> Result<Listener, String> {
        let refuse = |error: io::Error| format!("{self} can't be listened on: {error}");
        match self {
            Self::Unix(path) => {
                remove_stale(path)?;
                let listener = UnixListener::bind(path).map_err(refuse)?;
                listener.set_nonblocking(true).map_err(refuse)?;
                Ok(Listener::Unix(listener, path.clone()))
            }
            Self::Tcp(address) => {
                let listener = TcpListener::bind(address).map_err(refuse)?;
                listener.set_nonblocking(true).map_err(refuse)?;
                let address = listener.local_addr().map_err(refuse)?;
                Ok(Listener::Tcp(listener, address))
            }
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Tcp(address) => write!(f, "tcp:{address}"),
        }
    }
}

fn tcp(rest: &str) -> Result<SocketAddr, String> {
    let bare_v6 = rest.parse::<std::net::Ipv6Addr>().is_ok();
    let (host, port) = match rest.rsplit_once(':') {
        Some((host, port)) if !bare_v6 && !port.ends_with(']') => {
            (host, port.parse().map_err(|_| format!("\"{port}\" is no port, which is a number up to 65535"))?)
        }
        _ => (rest, PORT),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    // The system would take a number for an address of 32 bits.
    if !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("\"{host}\" is no host; a port alone is written tcp::{host}"));
    }
    if host.is_empty() {
        return Ok(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    }
    let mut found = (host, port).to_socket_addrs().map_err(|error| format!("the host \"{host}\" is not known ({error})"))?;
    found.next().ok_or_else(|| format!("the host \"{host}\" has no address"))
}

/// Takes away the socket of a server that is gone, so that a new one can take its place.
fn remove_stale(path: &Path) -> Result<(), String> {
    let Ok(metadata) = path.symlink_metadata() else { return Ok(()) };
    if !metadata.file_type().is_socket() {
        return Err(format!("unix:{}: this file is no socket; expected a name for one to be made", path.display()));
    }
    match try_connect(path) {
        Err(Errno::CONNREFUSED) => {
            std::fs::remove_file(path).map_err(|error| format!("unix:{}: an old socket can't be removed: {error}", path.display()))
        }
        Ok(()) | Err(Errno::AGAIN) => {
            Err(format!("unix:{}: a server is listening there already; expected a name of its own", path.display()))
        }
        Err(error) => Err(format!("unix:{}: the socket that is there can't be looked at: {error}", path.display())),
    }
}

/// Connects and leaves. A server that has no place for one more client at the moment is not waited for.
fn try_connect(path: &Path) -> Result<(), Errno> {
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC, None)?;
    connect(&socket, &SocketAddrUnix::new(path)?)
}

/// A socket on which clients arrive. One in the file system is removed at the end.
#[derive(Debug)]
pub enum Listener {
    /// In the file system.
    Unix(UnixListener, PathBuf),
    /// TCP, with the address that the system gave.
    Tcp(TcpListener, SocketAddr),
}

/// Where clients find the server.
#[derive(Debug, Clone, Serialize)]
pub struct Place {
    /// As an NBD URI.
    pub uri: String,
    /// Others than this machine may reach it.
    pub open_to_others: bool,
}

impl Listener {
    /// The next client, if one waits.
    ///
    /// # Errors
    /// What keeps it from being taken; others may be taken later.
    pub fn accept(&self) -> io::Result<Option<Stream>> {
        let socket = match accept_with(self, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
            Ok(socket) => socket,
            Err(Errno::AGAIN) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        Ok(Some(match self {
            Self::Unix(..) => Stream::Unix(socket.into()),
            Self::Tcp(..) => {
                let stream = TcpStream::from(socket);
                stream.set_nodelay(true)?;
                Stream::Tcp(stream)
            }
        }))
    }

    /// Where clients find it.
    pub fn place(&self) -> Place {
        match self {
            Self::Unix(_, path) => {
                let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
                Place { uri: format!("nbd+unix:///?socket={}", path.display()), open_to_others: false }
            }
            Self::Tcp(_, address) => Place { uri: format!("nbd://{address}"), open_to_others: !address.ip().to_canonical().is_loopback() },
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix(listener, _) => listener.as_fd(),
            Self::Tcp(listener, _) => listener.as_fd(),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Self::Unix(_, path) = self {
            // If it is gone already, so much the better.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// A client's socket, which never blocks.
#[derive(Debug)]
pub enum Stream {
    /// In the file system.
    Unix(UnixStream),
    /// TCP.
    Tcp(TcpStream),
}

impl Stream {
    /// Reads what is there.
    ///
    /// # Errors
    /// As for any socket.
    pub fn read(&self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => (&*stream).read(into),
            Self::Tcp(stream) => (&*stream).read(into),
        }
    }

    /// Writes what there is room for.
    ///
    /// # Errors
    /// As for any socket.
    pub fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => (&*stream).write(bytes),
            Self::Tcp(stream) => (&*stream).write(bytes),
        }
    }

    /// Has `epoll` watch it.
    ///
    /// # Errors
    /// Where the system can't.
    pub fn watch(&self, epoll: BorrowedFd<'_>, token: u64, interest: epoll::EventFlags, first: bool) -> io::Result<()> {
        let data = epoll::EventData::new_u64(token);
        let done = if first { epoll::add(epoll, self, data, interest) } else { epoll::modify(epoll, self, data, interest) };
        done.map_err(Into::into)
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix(stream) => stream.as_fd(),
            Self::Tcp(stream) => stream.as_fd(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp_address(text: &str) -> String {
        Address::parse(text).unwrap().to_string()
    }

    #[test]
    fn addresses_are_on_the_loopback_unless_a_host_is_named() {
        assert_eq!(Address::parse("unix:/a b/c:d"), Ok(Address::Unix("/a b/c:d".into())));
        assert_eq!(tcp_address("tcp"), "tcp:127.0.0.1:10809");
        assert_eq!(tcp_address("tcp::4000"), "tcp:127.0.0.1:4000");
        assert_eq!(tcp_address("tcp:0.0.0.0:0"), "tcp:0.0.0.0:0");
        assert_eq!(tcp_address("tcp:127.0.0.2"), "tcp:127.0.0.2:10809");
        assert_eq!(tcp_address("tcp:[::1]:7"), "tcp:[::1]:7");
        assert_eq!(tcp_address("tcp:[::1]"), "tcp:[::1]:10809");
        assert_eq!(tcp_address("tcp:::1"), "tcp:[::1]:10809");
    }

    #[test]
    fn faulty_addresses_say_what_is_allowed() {
        for (text, part) in [
            ("unix:", "names no socket"),
            ("/tmp/socket", "expected unix:PATH or tcp:HOST:PORT"),
            ("udp:127.0.0.1:1", "no address to listen on"),
            ("tcp:127.0.0.1:port", "\"port\" is no port"),
            ("tcp:127.0.0.1:65536", "\"65536\" is no port"),
            ("tcp:no host:1", "not known"),
            ("tcp:10899", "a port alone is written tcp::10899"),
        ] {
            let error = Address::parse(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn a_socket_is_taken_over_from_a_server_that_is_gone_and_from_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let address = Address::Unix(path.clone());
        let listener = address.listen().unwrap();
        assert!(address.listen().unwrap_err().contains("a server is listening"));
        // Also where so many wait to be taken that no more can.
        let waiting: Vec<_> = std::iter::repeat_with(|| try_connect(&path)).take(5000).take_while(Result::is_ok).collect();
        assert!(waiting.len() < 5000);
        assert!(address.listen().unwrap_err().contains("a server is listening"));
        drop(listener);
        assert!(!path.exists(), "removed at the end");
        drop(UnixListener::bind(&path).unwrap());
        assert!(path.exists(), "left behind");
        drop(address.listen().unwrap());
        std::fs::write(&path, "text").unwrap();
        assert!(address.listen().unwrap_err().contains("no socket"));
        assert!(path.exists());
        let long = Address::Unix(folder.path().join("x".repeat(120)));
        assert!(long.listen().unwrap_err().contains("can't be listened on"));
    }

    #[test]
    fn an_address_that_others_can_reach_is_refused_unless_it_is_asked_for() {
        for (text, open) in [
            ("unix:/s", false),
            ("tcp", false),
            ("tcp:127.9.9.9:1", false),
            ("tcp:[::1]:1", false),
            ("tcp:[::ffff:127.0.0.1]:1", false),
            ("tcp:0.0.0.0:1", true),
            ("tcp:[::]:1", true),
            ("tcp:192.0.2.1:4711", true),
        ] {
            let address = Address::parse(text).unwrap();
            assert_eq!(address.check_reach(false).is_err(), open, "{text}");
            assert_eq!(address.check_reach(true), Ok(()));
        }
        let refusal = Address::parse("tcp:192.0.2.1:4711").unwrap().check_reach(false).unwrap_err();
        assert!(refusal.contains("tcp:127.0.0.1:4711") && refusal.contains("--insecure"), "{refusal}");
    }

    #[test]
    fn it_says_when_others_can_reach_it() {
        let listener = Address::parse("tcp::0").unwrap().listen().unwrap();
        let place = listener.place();
        assert!(place.uri.starts_with("nbd://127.0.0.1:") && !place.open_to_others);
        assert!(Address::parse("tcp:0.0.0.0:0").unwrap().listen().unwrap().place().open_to_others);
    }
}
