//! Negotiation: options until the client takes the export or leaves.

use crate::nbd::{Export, PAYLOAD_BYTES_MAX, Violation, u32_at, u64_at};

const NBDMAGIC: u64 = 0x4e42_444d_4147_4943;
const IHAVEOPT: u64 = 0x4948_4156_454f_5054;
const OPTION_REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;

const FLAG_FIXED_NEWSTYLE: u16 = 1;
const FLAG_NO_ZEROES: u16 = 1 << 1;

const OPT_EXPORT_NAME: u32 = 1;
const OPT_ABORT: u32 = 2;
const OPT_LIST: u32 = 3;
const OPT_INFO: u32 = 6;
const OPT_GO: u32 = 7;
const OPT_STRUCTURED_REPLY: u32 = 8;

const REP_ACK: u32 = 1;
const REP_SERVER: u32 = 2;
const REP_INFO: u32 = 3;
const REP_ERR_UNSUP: u32 = 1 << 31 | 1;
const REP_ERR_POLICY: u32 = 1 << 31 | 2;
const REP_ERR_INVALID: u32 = 1 << 31 | 3;
const REP_ERR_UNKNOWN: u32 = 1 << 31 | 6;
const REP_ERR_TOO_BIG: u32 = 1 << 31 | 9;

const INFO_EXPORT: u16 = 0;
const INFO_BLOCK_SIZE: u16 = 3;

const TRANSMIT_HAS_FLAGS: u16 = 1;
const TRANSMIT_FLUSH: u16 = 1 << 2;
const TRANSMIT_FUA: u16 = 1 << 3;
const TRANSMIT_TRIM: u16 = 1 << 5;
const TRANSMIT_WRITE_ZEROES: u16 = 1 << 6;
const TRANSMIT_DF: u16 = 1 << 7;
const TRANSMIT_CAN_MULTI_CONN: u16 = 1 << 8;

/// Bytes of an option before its data.
const OPTION_HEADER_BYTES: usize = 16;
/// Data of an option beyond this are skipped, and the option is refused: a name has 4096 bytes at most.
const OPTION_BYTES_MAX: u32 = 16 << 10;
/// Zeroes after the answer to `NBD_OPT_EXPORT_NAME`, unless the client did without.
const ZEROES: usize = 124;

/// What became of the bytes that were fed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// More bytes are needed.
    Negotiating,
    /// The client has taken the export; what follows are requests.
    Transmitting {
        /// Reads are to be answered with structured replies.
        structured: bool,
    },
    /// The client has left in good order, or can't be told that there is no place for it; the connection is to be closed when the
    /// answer is sent.
    Left,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Flags,
    Options,
    /// Data of an option that was too long, still to be skipped.
    Skipping(u32),
    Ended(Progress),
}

/// One client's negotiation. Bytes go in, answers come out.
#[derive(Debug)]
pub struct Handshake {
    export: Export,
    state: State,
    structured: bool,
    no_zeroes: bool,
    /// So many clients have the export that no other may take it.
    full: Option<usize>,
    /// It was refused for that.
    pub was_refused: bool,
}

impl Handshake {
    /// A negotiation that begins. The server speaks first: its greeting is put into `out`.
    pub fn begin(export: Export, out: &mut Vec<u8>) -> Self {
        out.extend(NBDMAGIC.to_be_bytes());
        out.extend(IHAVEOPT.to_be_bytes());
        out.extend((FLAG_FIXED_NEWSTYLE | FLAG_NO_ZEROES).to_be_bytes());
        Self { export, state: State::Flags, structured: false, no_zeroes: false, full: None, was_refused: false }
    }

    /// Takes what it can of `bytes`, appends its answers to `out`, and returns how many bytes it has used, and where the
    /// negotiation stands. Bytes that are left are to be given again, with more behind them.
    ///
    /// `full`: so many clients have the export that no other may take it.
    ///
    /// # Errors
    /// What a client did that no answer can set right.
    pub fn feed(&mut self, bytes: &[u8], full: Option<usize>, out: &mut Vec<u8>) -> Result<(usize, Progress), Violation> {
        self.full = full;
        let mut used = 0;
        loop {
            let rest = &bytes[used..];
            match self.state {
                State::Ended(progress) => return Ok((used, progress)),
                State::Flags if rest.len() < 4 => return Ok((used, Progress::Negotiating)),
                State::Flags => {
                    let flags = u32_at(rest, 0);
                    if flags & !u32::from(FLAG_FIXED_NEWSTYLE | FLAG_NO_ZEROES) != 0 {
                        return Err(Violation::ClientFlags(flags));
                    }
                    self.no_zeroes = flags & u32::from(FLAG_NO_ZEROES) != 0;
                    self.state = State::Options;
                    used += 4;
                }
                State::Skipping(left) => {
                    let skipped = rest.len().min(left as usize);
                    used += skipped;
                    let left = left - skipped as u32;
                    if left > 0 {
                        self.state = State::Skipping(left);
                        return Ok((used, Progress::Negotiating));
                    }
                    self.state = State::Options;
                }
                State::Options => {
                    if rest.len() < OPTION_HEADER_BYTES {
                        return Ok((used, Progress::Negotiating));
                    }
                    let magic = u64_at(rest, 0);
                    if magic != IHAVEOPT {
                        return Err(Violation::OptionMagic(magic));
                    }
                    let (option, length) = (u32_at(rest, 8), u32_at(rest, 12));
                    if length > OPTION_BYTES_MAX {
                        if option == OPT_EXPORT_NAME {
                            return Err(Violation::UnknownExport);
                        }
                        reply(out, option, REP_ERR_TOO_BIG, b"the option's data are longer than any that are known");
                        self.state = State::Skipping(length);
                        used += OPTION_HEADER_BYTES;
                        continue;
                    }
                    let end = OPTION_HEADER_BYTES + length as usize;
                    if rest.len() < end {
                        return Ok((used, Progress::Negotiating));
                    }
                    used += end;
                    self.option(option, &rest[OPTION_HEADER_BYTES..end], out)?;
                }
            }
        }
    }

    fn option(&mut self, option: u32, data: &[u8], out: &mut Vec<u8>) -> Result<(), Violation> {
        match option {
            // This option is answered with the export alone.
            OPT_EXPORT_NAME if data.is_empty() && self.full.is_some() => {
                self.was_refused = true;
                self.state = State::Ended(Progress::Left);
            }
            OPT_EXPORT_NAME if data.is_empty() => {
                out.extend(self.export.bytes.to_be_bytes());
                out.extend(self.transmission_flags().to_be_bytes());
                if !self.no_zeroes {
                    out.extend([0; ZEROES]);
                }
                self.state = State::Ended(Progress::Transmitting { structured: self.structured });
            }
            OPT_EXPORT_NAME => return Err(Violation::UnknownExport),
            OPT_ABORT => {
                reply(out, option, REP_ACK, &[]);
                self.state = State::Ended(Progress::Left);
            }
            OPT_LIST if data.is_empty() => {
                // One export, whose name has no bytes.
                reply(out, option, REP_SERVER, &0u32.to_be_bytes());
                reply(out, option, REP_ACK, &[]);
            }
            OPT_STRUCTURED_REPLY if data.is_empty() => {
                self.structured = true;
                reply(out, option, REP_ACK, &[]);
            }
            OPT_LIST | OPT_STRUCTURED_REPLY => reply(out, option, REP_ERR_INVALID, b"this option has no data"),
            OPT_INFO | OPT_GO => self.info_or_go(option, data, out),
            _ => reply(out, option, REP_ERR_UNSUP, b"this server does not know the option"),
        }
        Ok(())
    }

    fn info_or_go(&mut self, option: u32, data: &[u8], out: &mut Vec<u8>) {
        let Some((name, wanted)) = export_and_requests(data) else {
            return reply(out, option, REP_ERR_INVALID, b"lengths in the option's data contradict each other");
        };
        if !name.is_empty() {
            return reply(out, option, REP_ERR_UNKNOWN, b"there is one export here, and its name is empty");
        }
        if let (OPT_GO, Some(clients)) = (option, self.full) {
            self.was_refused = true;
            let why = format!("{clients} clients use this drive, and it takes no more at a time; try again when one has left");
            return reply(out, option, REP_ERR_POLICY, why.as_bytes());
        }
        let mut info = INFO_EXPORT.to_be_bytes().to_vec();
        info.extend(self.export.bytes.to_be_bytes());
        info.extend(self.transmission_flags().to_be_bytes());
        reply(out, option, REP_INFO, &info);
        if wanted.chunks_exact(2).any(|kind| kind == INFO_BLOCK_SIZE.to_be_bytes()) {
            let mut info = INFO_BLOCK_SIZE.to_be_bytes().to_vec();
            for bytes in [1, self.export.preferred_bytes, PAYLOAD_BYTES_MAX] {
                info.extend(bytes.to_be_bytes());
            }
            reply(out, option, REP_INFO, &info);
        }
        reply(out, option, REP_ACK, &[]);
        if option == OPT_GO {
            self.state = State::Ended(Progress::Transmitting { structured: self.structured });
        }
    }

    /// What the export can do. Several connections see the same data, so a flush on one is a flush for all.
    fn transmission_flags(&self) -> u16 {
        let flags = TRANSMIT_HAS_FLAGS | TRANSMIT_FLUSH | TRANSMIT_FUA | TRANSMIT_TRIM | TRANSMIT_WRITE_ZEROES | TRANSMIT_CAN_MULTI_CONN;
        if self.structured { flags | TRANSMIT_DF } else { flags }
    }
}

/// The export's name and the kinds of information wanted, of `NBD_OPT_INFO` and `NBD_OPT_GO`; `None` if lengths do not fit.
fn export_and_requests(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = data.split_first_chunk::<4>()?;
    let (name, rest) = rest.split_at_checked(u32::from_be_bytes(*length) as usize)?;
    let (count, wanted) = rest.split_first_chunk::<2>()?;
    (wanted.len() == 2 * usize::from(u16::from_be_bytes(*count))).then_some((name, wanted))
}

fn reply(out: &mut Vec<u8>, option: u32, kind: u32, data: &[u8]) {
    out.extend(OPTION_REPLY_MAGIC.to_be_bytes());
    out.extend(option.to_be_bytes());
    out.extend(kind.to_be_bytes());
    out.extend((data.len() as u32).to_be_bytes());
    out.extend(data);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const EXPORT: Export = Export { bytes: 1 << 30, preferred_bytes: 4096 };

    fn option(option: u32, data: &[u8]) -> Vec<u8> {
        let mut bytes = IHAVEOPT.to_be_bytes().to_vec();
        bytes.extend(option.to_be_bytes());
        bytes.extend((data.len() as u32).to_be_bytes());
        bytes.extend(data);
        bytes
    }

    /// The data of `NBD_OPT_GO` for a name, with one information request.
    fn go_data(name: &[u8], info_request: u16) -> Vec<u8> {
        [&(name.len() as u32).to_be_bytes(), name, &1u16.to_be_bytes(), &info_request.to_be_bytes()].concat()
    }

    /// A negotiation after the client's flags, and what it answered to what followed.
    fn after_flags(flags: u32, bytes: &[u8]) -> (Result<(usize, Progress), Violation>, Vec<u8>) {
        let mut greeting = Vec::new();
        let mut handshake = Handshake::begin(EXPORT, &mut greeting);
        assert_eq!(greeting, b"NBDMAGICIHAVEOPT\x00\x03");
        let mut out = Vec::new();
        assert_eq!(handshake.feed(&flags.to_be_bytes(), None, &mut out), Ok((4, Progress::Negotiating)));
        let result = handshake.feed(bytes, None, &mut out);
        (result, out)
    }

    fn answer(option: u32, kind: u32, data: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        reply(&mut bytes, option, kind, data);
        bytes
    }

    fn info(flags: u16) -> Vec<u8> {
        [&[0, 0][..], &EXPORT.bytes.to_be_bytes(), &flags.to_be_bytes()].concat()
    }

    #[test]
    fn go_gives_size_and_flags_and_block_sizes_where_asked() {
        let bytes = option(OPT_GO, &go_data(b"", INFO_BLOCK_SIZE));
        let (result, out) = after_flags(3, &bytes);
        assert_eq!(result, Ok((bytes.len(), Progress::Transmitting { structured: false })));
        let sizes = [&[0, 3][..], &1u32.to_be_bytes(), &4096u32.to_be_bytes(), &(32u32 << 20).to_be_bytes()].concat();
        let expected = [answer(OPT_GO, REP_INFO, &info(0x16d)), answer(OPT_GO, REP_INFO, &sizes), answer(OPT_GO, REP_ACK, &[])].concat();
        assert_eq!(out, expected);
    }

    #[test]
    fn info_answers_alike_and_goes_on() {
        let bytes = [option(OPT_STRUCTURED_REPLY, &[]), option(OPT_INFO, &go_data(b"", 1)), option(OPT_ABORT, &[])].concat();
        let (result, out) = after_flags(3, &bytes);
        assert_eq!(result, Ok((bytes.len(), Progress::Left)));
        let expected = [
            answer(OPT_STRUCTURED_REPLY, REP_ACK, &[]),
            answer(OPT_INFO, REP_INFO, &info(0x1ed)),
            answer(OPT_INFO, REP_ACK, &[]),
            answer(OPT_ABORT, REP_ACK, &[]),
        ];
        assert_eq!(out, expected.concat());
    }

    #[test]
    fn export_name_is_answered_with_zeroes_unless_the_client_does_without() {
        for (flags, zeroes) in [(1, ZEROES), (3, 0)] {
            let bytes = option(OPT_EXPORT_NAME, b"");
            let (result, out) = after_flags(flags, &bytes);
            assert_eq!(result, Ok((bytes.len(), Progress::Transmitting { structured: false })));
            let expected = [&EXPORT.bytes.to_be_bytes()[..], &0x16du16.to_be_bytes(), &vec![0; zeroes]].concat();
            assert_eq!(out, expected);
        }
    }

    #[test]
    fn the_one_export_is_listed_and_no_other_is_there() {
        let (_, out) = after_flags(3, &option(OPT_LIST, &[]));
        assert_eq!(out, [answer(OPT_LIST, REP_SERVER, &[0; 4]), answer(OPT_LIST, REP_ACK, &[])].concat());
        let (result, out) = after_flags(3, &option(OPT_GO, &go_data(b"disk", 0)));
        assert_eq!(result.unwrap().1, Progress::Negotiating);
        assert_eq!(out[8..16], [OPT_GO.to_be_bytes(), REP_ERR_UNKNOWN.to_be_bytes()].concat());
        let (result, _) = after_flags(3, &option(OPT_EXPORT_NAME, b"disk"));
        assert_eq!(result, Err(Violation::UnknownExport));
    }

    #[test]
    fn faulty_options_are_refused_and_the_next_one_is_heard() {
        let long = [&IHAVEOPT.to_be_bytes()[..], &OPT_GO.to_be_bytes(), &20_000u32.to_be_bytes(), &[7; 20_000]].concat();
        for (faulty, kind) in [
            (option(OPT_LIST, b"x"), REP_ERR_INVALID),
            (option(OPT_STRUCTURED_REPLY, b"x"), REP_ERR_INVALID),
            (option(OPT_GO, b"\x00\x00"), REP_ERR_INVALID),
            (option(OPT_GO, b"\x00\x00\x00\x09ab\x00\x00"), REP_ERR_INVALID),
            (option(OPT_GO, b"\xff\xff\xff\xff\x00\x00"), REP_ERR_INVALID),
            (option(OPT_INFO, b"\x00\x00\x00\x00\x00\x02\x00\x03"), REP_ERR_INVALID),
            (option(5, &[]), REP_ERR_UNSUP),
            (option(0xdead_beef, b"some data"), REP_ERR_UNSUP),
            (long, REP_ERR_TOO_BIG),
        ] {
            let bytes = [faulty, option(OPT_ABORT, &[])].concat();
            let (result, out) = after_flags(3, &bytes);
            assert_eq!(result, Ok((bytes.len(), Progress::Left)));
            assert_eq!(out[12..16], kind.to_be_bytes(), "{bytes:?}");
            assert!(out.ends_with(&answer(OPT_ABORT, REP_ACK, &[])));
        }
    }

    #[test]
    fn what_cannot_be_understood_ends_the_connection() {
        let mut out = Vec::new();
        let mut handshake = Handshake::begin(EXPORT, &mut out);
        assert_eq!(handshake.feed(&8u32.to_be_bytes(), None, &mut out), Err(Violation::ClientFlags(8)));
        let (result, _) = after_flags(3, &[1; 16]);
        assert_eq!(result, Err(Violation::OptionMagic(0x0101_0101_0101_0101)));
        let (result, _) = after_flags(3, &[&IHAVEOPT.to_be_bytes()[..], &[0, 0, 0, 1, 0xff, 0, 0, 0]].concat());
        assert_eq!(result, Err(Violation::UnknownExport), "a name of 4 GB");
    }

    fn some_options() -> impl Strategy<Value = Vec<u8>> {
        let one = prop_oneof![
            (0u32..12, prop::collection::vec(any::<u8>(), 0..40)).prop_map(|(kind, data)| option(kind, &data)),
            (6u32..8, prop::collection::vec(any::<u8>(), 0..8), 0u16..5)
                .prop_map(|(kind, name, info_request)| option(kind, &go_data(&name, info_request))),
            Just(option(OPT_STRUCTURED_REPLY, &[])),
            prop::collection::vec(any::<u8>(), 0..20),
        ];
        prop::collection::vec(one, 0..6).prop_map(|options| [3u32.to_be_bytes().to_vec(), options.concat()].concat())
    }

    proptest! {
        #[test]
        fn how_bytes_are_cut_changes_nothing(bytes in some_options(), cuts in prop::collection::vec(1usize..30, 1..20)) {
            let mut whole = Vec::new();
            let result = Handshake::begin(EXPORT, &mut whole).feed(&bytes, None, &mut whole);
            let mut pieces = Vec::new();
            let mut handshake = Handshake::begin(EXPORT, &mut pieces);
            let (mut from, mut upto) = (0, 0);
            let mut last = Ok((0, Progress::Negotiating));
            for cut in cuts.iter().cycle() {
                upto = (upto + cut).min(bytes.len());
                last = handshake.feed(&bytes[from..upto], None, &mut pieces);
                let Ok((used, progress)) = last else { break };
                from += used;
                if upto == bytes.len() || progress != Progress::Negotiating {
                    break;
                }
            }
            prop_assert_eq!(whole, pieces);
            prop_assert_eq!(result, last.map(|(_, progress)| (from, progress)));
        }
    }
}
