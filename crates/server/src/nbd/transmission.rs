//! Requests and replies, once the client has taken the export.

use crate::limits::PIECE_BYTES;
use crate::nbd::{PAYLOAD_BYTES_MAX, Violation, u32_at, u64_at};
use tinytail_core::commands::{Command, CommandKind};
use tinytail_core::units::SECTOR_BYTES;

const REQUEST_MAGIC: u32 = 0x2560_9513;
const SIMPLE_REPLY_MAGIC: u32 = 0x6744_6698;
const STRUCTURED_REPLY_MAGIC: u32 = 0x668e_33ef;

/// Bytes of a request before its payload.
pub const REQUEST_BYTES: usize = 28;

const CMD_READ: u16 = 0;
const CMD_WRITE: u16 = 1;
const CMD_DISC: u16 = 2;
const CMD_FLUSH: u16 = 3;
const CMD_TRIM: u16 = 4;
const CMD_WRITE_ZEROES: u16 = 6;

const FLAG_FUA: u16 = 1;
const FLAG_NO_HOLE: u16 = 1 << 1;
const FLAG_DF: u16 = 1 << 2;

const CHUNK_DONE: u16 = 1;
const CHUNK_OFFSET_DATA: u16 = 1;
const CHUNK_ERROR: u16 = 1 << 15 | 1;

/// Why a request failed, by the numbers that the protocol has for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Errno {
    /// The data could not be read or written.
    Io = 5,
    /// The request makes no sense.
    Invalid = 22,
    /// No space is left for the data, or the write reaches beyond the export.
    NoSpace = 28,
}

/// What a request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Return data.
    Read,
    /// Replace data.
    Write,
    /// Give data up.
    Trim,
    /// Replace data with zeroes; `keep` says that their space is to be kept.
    Zero {
        /// The space is to stay allocated.
        keep: bool,
    },
    /// What has been acknowledged before is to be safe when this is acknowledged.
    Flush,
}

/// A request that makes sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// What it does.
    pub kind: Kind,
    /// What the reply repeats.
    pub cookie: u64,
    /// First byte.
    pub offset: u64,
    /// Number of bytes; 0 for a flush.
    pub bytes: u32,
    /// The data are to be safe when it is acknowledged.
    pub forced: bool,
}

impl Request {
    /// It is done in pieces.
    pub fn is_long(&self) -> bool {
        matches!(self.kind, Kind::Trim | Kind::Zero { .. }) && u64::from(self.bytes) > PIECE_BYTES
    }

    /// The piece that begins after `done_bytes` of it. Pieces end where sectors do, so that none is lost between two of them.
    pub fn piece(&self, done_bytes: u32) -> Self {
        let offset = self.offset + u64::from(done_bytes);
        let end = (offset / PIECE_BYTES + 1) * PIECE_BYTES;
        let bytes = u64::from(self.bytes - done_bytes).min(end - offset) as u32;
        Self { offset, bytes, ..*self }
    }

    /// Bytes that the drive may have to read or write for it at a time.
    pub fn busy_bytes(&self) -> u64 {
        match self.kind {
            Kind::Read | Kind::Write => self.bytes.into(),
            Kind::Zero { keep: true } => PIECE_BYTES.min(self.bytes.into()),
            Kind::Trim | Kind::Zero { keep: false } | Kind::Flush => 0,
        }
    }

    /// What the drive is given. Reads and writes are widened to whole sectors, trims narrowed to them; nothing for a flush, and
    /// for a trim of less than a sector.
    pub fn command(&self) -> Option<Command> {
        let (sector_bytes, end) = (u64::from(SECTOR_BYTES), self.offset + u64::from(self.bytes));
        let kind = match self.kind {
            Kind::Read => CommandKind::Read,
            Kind::Write | Kind::Zero { keep: true } => CommandKind::Write,
            Kind::Trim | Kind::Zero { keep: false } => CommandKind::Trim,
            Kind::Flush => return None,
        };
        let (first, end) = if kind == CommandKind::Trim {
            (self.offset.div_ceil(sector_bytes), end / sector_bytes)
        } else {
            (self.offset / sector_bytes, end.div_ceil(sector_bytes))
        };
        (first < end).then(|| Command { kind, sector: first, sectors: (end - first) as u32, critical: false })
    }
}

/// What bytes of a client begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parsed<'a> {
    /// Not enough to tell: so many bytes are needed in all.
    Incomplete(usize),
    /// A request, its payload, and how many bytes it had in all.
    Request(Request, &'a [u8], usize),
    /// A request that is refused. `skip` bytes of payload follow its header and are not looked at.
    Refused {
        /// What the reply repeats.
        cookie: u64,
        /// Why.
        errno: Errno,
        /// The request is a read, whose reply is structured where that was agreed.
        read: bool,
        /// Bytes of payload.
        skip: u64,
    },
    /// The client is leaving.
    Disconnect,
}

/// Reads the request that `bytes` begin with, for an export of `export_bytes`.
///
/// # Errors
/// Bytes that no request begins with.
pub fn parse(bytes: &[u8], export_bytes: u64) -> Result<Parsed<'_>, Violation> {
    if bytes.len() < REQUEST_BYTES {
        return Ok(Parsed::Incomplete(REQUEST_BYTES));
    }
    let magic = u32_at(bytes, 0);
    if magic != REQUEST_MAGIC {
        return Err(Violation::RequestMagic(magic));
    }
    let (flags, command) = ((u32_at(bytes, 4) >> 16) as u16, u32_at(bytes, 4) as u16);
    let (cookie, offset, length) = (u64_at(bytes, 8), u64_at(bytes, 16), u32_at(bytes, 24));
    let payload = if command == CMD_WRITE { length } else { 0 };
    let refuse = |errno| Ok(Parsed::Refused { cookie, errno, read: command == CMD_READ, skip: payload.into() });
    let (kind, allowed) = match command {
        CMD_READ => (Kind::Read, FLAG_DF | FLAG_FUA),
        CMD_WRITE => (Kind::Write, FLAG_FUA),
        CMD_DISC => return Ok(Parsed::Disconnect),
        CMD_FLUSH => (Kind::Flush, FLAG_FUA),
        CMD_TRIM => (Kind::Trim, FLAG_FUA),
        CMD_WRITE_ZEROES => (Kind::Zero { keep: flags & FLAG_NO_HOLE != 0 }, FLAG_FUA | FLAG_NO_HOLE),
        _ => return refuse(Errno::Invalid),
    };
    if flags & !allowed != 0 {
        return refuse(Errno::Invalid);
    }
    let forced = flags & FLAG_FUA != 0 && kind != Kind::Read;
    if kind == Kind::Flush {
        // Both fields are reserved: what they hold means nothing.
        return Ok(Parsed::Request(Request { kind, cookie, offset: 0, bytes: 0, forced }, &[], REQUEST_BYTES));
    }
    if length == 0 || matches!(kind, Kind::Read | Kind::Write) && length > PAYLOAD_BYTES_MAX {
        return refuse(Errno::Invalid);
    }
    if offset.checked_add(length.into()).is_none_or(|end| end > export_bytes) {
        return refuse(if matches!(kind, Kind::Write | Kind::Zero { .. }) { Errno::NoSpace } else { Errno::Invalid });
    }
    let end = REQUEST_BYTES + payload as usize;
    if bytes.len() < end {
        return Ok(Parsed::Incomplete(end));
    }
    Ok(Parsed::Request(Request { kind, cookie, offset, bytes: length, forced }, &bytes[REQUEST_BYTES..end], end))
}

/// Appends the reply to a request that was done and returns no data.
pub fn put_done(out: &mut Vec<u8>, cookie: u64) {
    put_simple(out, cookie, 0);
}

/// Appends what stands before the data of a read that was done; so many bytes of data must follow.
pub fn put_data_header(out: &mut Vec<u8>, structured: bool, cookie: u64, offset: u64, bytes: u32) {
    if structured {
        put_chunk(out, CHUNK_OFFSET_DATA, cookie, 8 + bytes);
        out.extend_from_slice(&offset.to_be_bytes());
    } else {
        put_done(out, cookie);
    }
}

/// Appends the reply to a request that failed.
pub fn put_error(out: &mut Vec<u8>, structured: bool, cookie: u64, errno: Errno) {
    if structured {
        // The number alone; the message has no bytes.
        put_chunk(out, CHUNK_ERROR, cookie, 6);
        out.extend_from_slice(&(errno as u32).to_be_bytes());
        out.extend_from_slice(&0u16.to_be_bytes());
    } else {
        put_simple(out, cookie, errno as u32);
    }
}

fn put_simple(out: &mut Vec<u8>, cookie: u64, error: u32) {
    let mut reply = [0; 16];
    reply[..4].copy_from_slice(&SIMPLE_REPLY_MAGIC.to_be_bytes());
    reply[4..8].copy_from_slice(&error.to_be_bytes());
    reply[8..].copy_from_slice(&cookie.to_be_bytes());
    out.extend_from_slice(&reply);
}

fn put_chunk(out: &mut Vec<u8>, kind: u16, cookie: u64, length: u32) {
    let mut chunk = [0; 20];
    chunk[..4].copy_from_slice(&STRUCTURED_REPLY_MAGIC.to_be_bytes());
    chunk[4..6].copy_from_slice(&CHUNK_DONE.to_be_bytes());
    chunk[6..8].copy_from_slice(&kind.to_be_bytes());
    chunk[8..16].copy_from_slice(&cookie.to_be_bytes());
    chunk[16..].copy_from_slice(&length.to_be_bytes());
    out.extend_from_slice(&chunk);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const EXPORT_BYTES: u64 = 1 << 30;

    fn header(flags: u16, command: u16, offset: u64, length: u32) -> Vec<u8> {
        let mut bytes = REQUEST_MAGIC.to_be_bytes().to_vec();
        bytes.extend(flags.to_be_bytes());
        bytes.extend(command.to_be_bytes());
        bytes.extend(0x1122_3344_5566_7788u64.to_be_bytes());
        bytes.extend(offset.to_be_bytes());
        bytes.extend(length.to_be_bytes());
        bytes
    }

    fn request(bytes: &[u8]) -> Request {
        match parse(bytes, EXPORT_BYTES) {
            Ok(Parsed::Request(request, _, used)) if used == bytes.len() => request,
            other => panic!("{other:?}"),
        }
    }

    fn refused(bytes: &[u8]) -> (Errno, u64) {
        match parse(bytes, EXPORT_BYTES) {
            Ok(Parsed::Refused { cookie: 0x1122_3344_5566_7788, errno, skip, .. }) => (errno, skip),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn requests_are_read_with_their_flags() {
        let cookie = 0x1122_3344_5566_7788;
        let read = Request { kind: Kind::Read, cookie, offset: 4096, bytes: 8192, forced: false };
        assert_eq!(request(&header(0, CMD_READ, 4096, 8192)), read);
        assert_eq!(request(&header(FLAG_DF | FLAG_FUA, CMD_READ, 4096, 8192)), read);
        assert_eq!(request(&header(FLAG_FUA, CMD_TRIM, 0, 1 << 30)).kind, Kind::Trim);
        let zero = request(&header(FLAG_NO_HOLE | FLAG_FUA, CMD_WRITE_ZEROES, 0, 4096));
        assert_eq!((zero.kind, zero.forced), (Kind::Zero { keep: true }, true));
        assert_eq!(request(&header(0, CMD_WRITE_ZEROES, 0, 4096)).kind, Kind::Zero { keep: false });
        assert_eq!(request(&header(0, CMD_FLUSH, 7, 9)).kind, Kind::Flush, "reserved fields mean nothing");
        assert_eq!(parse(&header(0, CMD_DISC, 0, 0), EXPORT_BYTES), Ok(Parsed::Disconnect));
    }

    #[test]
    fn a_write_waits_for_the_last_byte_of_its_payload() {
        let mut bytes = header(FLAG_FUA, CMD_WRITE, 512, 4);
        assert_eq!(parse(&bytes[..27], EXPORT_BYTES), Ok(Parsed::Incomplete(28)));
        bytes.extend(b"dat");
        assert_eq!(parse(&bytes, EXPORT_BYTES), Ok(Parsed::Incomplete(32)));
        bytes.extend(b"a and the next request");
        let Ok(Parsed::Request(request, payload, 32)) = parse(&bytes, EXPORT_BYTES) else { panic!() };
        assert_eq!((request.forced, payload), (true, &b"data"[..]));
    }

    #[test]
    fn the_last_byte_of_the_export_is_the_last_that_can_be_asked_for() {
        assert_eq!(request(&header(0, CMD_READ, EXPORT_BYTES - 1, 1)).bytes, 1);
        assert_eq!(refused(&header(0, CMD_READ, EXPORT_BYTES, 1)), (Errno::Invalid, 0));
        assert_eq!(refused(&header(0, CMD_READ, EXPORT_BYTES - 1, 2)), (Errno::Invalid, 0));
        assert_eq!(refused(&header(0, CMD_TRIM, u64::MAX, 2)), (Errno::Invalid, 0));
        assert_eq!(refused(&header(0, CMD_WRITE, EXPORT_BYTES - 1, 2)), (Errno::NoSpace, 2));
        assert_eq!(refused(&header(0, CMD_WRITE_ZEROES, EXPORT_BYTES, 2)), (Errno::NoSpace, 0));
    }

    #[test]
    fn what_makes_no_sense_is_refused_and_its_payload_skipped() {
        assert_eq!(request(&header(0, CMD_READ, 0, PAYLOAD_BYTES_MAX)).bytes, PAYLOAD_BYTES_MAX);
        for (bytes, skip) in [
            (header(0, CMD_READ, 0, PAYLOAD_BYTES_MAX + 1), 0),
            (header(0, CMD_WRITE, 0, PAYLOAD_BYTES_MAX + 1), PAYLOAD_BYTES_MAX as u64 + 1),
            (header(0, CMD_WRITE, 0, u32::MAX), u64::from(u32::MAX)),
            (header(0, CMD_WRITE, 0, 0), 0),
            (header(0, CMD_READ, 0, 0), 0),
            (header(FLAG_NO_HOLE, CMD_WRITE, 0, 8), 8),
            (header(1 << 4, CMD_WRITE_ZEROES, 0, 8), 0),
            (header(0, 5, 0, 8), 0),
            (header(0, 0xffff, 0, 8), 0),
        ] {
            assert_eq!(refused(&bytes), (Errno::Invalid, skip), "{bytes:?}");
        }
        assert_eq!(parse(&[0xee; 28], EXPORT_BYTES), Err(Violation::RequestMagic(0xeeee_eeee)));
    }

    #[test]
    fn the_drive_is_given_whole_sectors() {
        let command = |kind, offset, bytes| Request { kind, cookie: 0, offset, bytes, forced: false }.command();
        let sectors = |kind, sector, sectors| Some(Command { kind, sector, sectors, critical: false });
        assert_eq!(command(Kind::Read, 511, 2), sectors(CommandKind::Read, 0, 2));
        assert_eq!(command(Kind::Write, 512, 512), sectors(CommandKind::Write, 1, 1));
        assert_eq!(command(Kind::Zero { keep: true }, 512, 513), sectors(CommandKind::Write, 1, 2));
        assert_eq!(command(Kind::Trim, 1, 1535), sectors(CommandKind::Trim, 1, 2));
        assert_eq!(command(Kind::Zero { keep: false }, 0, 512), sectors(CommandKind::Trim, 0, 1));
        assert_eq!(command(Kind::Trim, 1, 1022), None);
        assert_eq!(command(Kind::Flush, 0, 0), None);
    }

    #[test]
    fn replies_have_the_forms_of_the_protocol() {
        let (mut out, cookie) = (Vec::new(), 0x0102_0304_0506_0708u64);
        put_done(&mut out, cookie);
        assert_eq!(out, b"\x67\x44\x66\x98\0\0\0\0\x01\x02\x03\x04\x05\x06\x07\x08");
        out.clear();
        put_error(&mut out, false, cookie, Errno::NoSpace);
        assert_eq!(out, b"\x67\x44\x66\x98\0\0\0\x1c\x01\x02\x03\x04\x05\x06\x07\x08");
        out.clear();
        put_error(&mut out, true, cookie, Errno::Invalid);
        assert_eq!(out, b"\x66\x8e\x33\xef\0\x01\x80\x01\x01\x02\x03\x04\x05\x06\x07\x08\0\0\0\x06\0\0\0\x16\0\0");
        out.clear();
        put_data_header(&mut out, true, cookie, 4096, 512);
        assert_eq!(out, b"\x66\x8e\x33\xef\0\x01\0\x01\x01\x02\x03\x04\x05\x06\x07\x08\0\0\x02\x08\0\0\0\0\0\0\x10\0");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_refused_or_too_few(bytes in prop::collection::vec(any::<u8>(), 0..80), export_bytes in any::<u64>()) {
            let _ = parse(&bytes, export_bytes);
        }

        #[test]
        fn pieces_cover_what_the_whole_covers(offset in 0u64..3 * PIECE_BYTES, bytes in 1u32..5 * PIECE_BYTES as u32, kept in 0usize..3) {
            let kind = [Kind::Trim, Kind::Zero { keep: false }, Kind::Zero { keep: true }][kept];
            let whole = Request { kind, cookie: 7, offset, bytes, forced: false };
            let (mut done, mut sectors) = (0, Vec::new());
            while done < bytes {
                let piece = whole.piece(done);
                prop_assert!(piece.bytes > 0 && u64::from(piece.bytes) <= PIECE_BYTES && piece.offset == offset + u64::from(done));
                done += piece.bytes;
                sectors.extend(piece.command().map(|command| (command.sector, command.sector + u64::from(command.sectors))));
            }
            prop_assert_eq!(done, bytes);
            prop_assert!(sectors.windows(2).all(|pair| pair[0].1 == pair[1].0), "none is left out or given twice");
            let ends = sectors.first().zip(sectors.last()).map(|(first, last)| (first.0, last.1));
            prop_assert_eq!(ends, whole.command().map(|command| (command.sector, command.sector + u64::from(command.sectors))));
        }

        #[test]
        fn what_is_accepted_lies_within_the_export(
            flags in prop_oneof![Just(0u16), 0u16..8, any::<u16>()], command in prop_oneof![0u16..8, any::<u16>()],
            offset in prop_oneof![0..EXPORT_BYTES + 10, any::<u64>()], length in prop_oneof![0u32..2000, any::<u32>()],
            payload in prop::collection::vec(any::<u8>(), 0..2000),
        ) {
            let bytes = [header(flags, command, offset, length), payload.clone()].concat();
            match parse(&bytes, EXPORT_BYTES) {
                Ok(Parsed::Request(request, found, used)) => {
                    prop_assert!(request.offset + u64::from(request.bytes) <= EXPORT_BYTES);
                    prop_assert!(used <= bytes.len());
                    prop_assert_eq!(found.len(), if command == CMD_WRITE { length as usize } else { 0 });
                    prop_assert_eq!(found, &payload[..found.len()]);
                    if let Some(command) = request.command() {
                        prop_assert!(command.sectors > 0);
                        prop_assert!(command.sector + u64::from(command.sectors) <= EXPORT_BYTES / 512);
                    }
                }
                Ok(Parsed::Incomplete(wanted)) => prop_assert!(wanted > bytes.len() && wanted <= REQUEST_BYTES + PAYLOAD_BYTES_MAX as usize),
                Ok(Parsed::Refused { skip, .. }) => prop_assert!(skip == 0 || command == CMD_WRITE && skip == u64::from(length)),
                Ok(Parsed::Disconnect) => prop_assert_eq!(command, CMD_DISC),
                Err(violation) => prop_assert!(false, "{violation}"),
            }
        }
    }
}
