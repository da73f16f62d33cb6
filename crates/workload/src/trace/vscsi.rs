//! The binary records of VMware's vscsiStats, in which the CloudPhysics traces are; libCacheSim and others read the same.
//!
//! Records have one size and no header; all numbers are little-endian. The high byte of a record's version field is 1 or 2,
//! which is how such a file is recognised.
//!
//! | version | bytes | fields |
//! |---|---|---|
//! | 1 | 32 | serial number u32, length u32, segments u32, command u16, version u16, block u64, time u64 |
//! | 2 | 40 | command u16, version u16, serial number u32, length u32, segments u32, block u64, time u64, response time u64 |
//!
//! The length is in bytes, the block counts 512 bytes, times are microseconds, the command is the SCSI operation code. The
//! serial number, the segments and the response time are not used. A file is of one disk.

use crate::error::Column;
use crate::text;
use crate::trace::fields::{self, Fault, Wrong};
use crate::trace::units::{AddressUnit, TimeUnit};
use crate::trace::{Format, Op, Order, Parsed, Reader, Record, Time};

/// Where the fields that are used stand in a record.
struct Layout {
    version: u8,
    bytes: usize,
    length: (usize, Column),
    command: (usize, Column),
    version_at: (usize, Column),
    block: (usize, Column),
    time: (usize, Column),
}

const fn field(at: usize, number: usize, name: &'static str) -> (usize, Column) {
    (at, Column { number, name })
}

const LAYOUT_1: Layout = Layout {
    version: 1,
    bytes: 32,
    length: field(4, 2, "length"),
    command: field(12, 4, "command"),
    version_at: field(14, 5, "version"),
    block: field(16, 6, "block"),
    time: field(24, 7, "time"),
};

const LAYOUT_2: Layout = Layout {
    version: 2,
    bytes: 40,
    length: field(8, 4, "length"),
    command: field(0, 1, "command"),
    version_at: field(2, 2, "version"),
    block: field(16, 6, "block"),
    time: field(24, 7, "time"),
};

/// The row of version 1.
pub const VERSION_1: Format = Format {
    name: "vscsi1",
    summary: "VMware vscsiStats, binary records of version 1",
    time_column: LAYOUT_1.time.1,
    device_column: None,
    time: Time::Fixed(TimeUnit::Microseconds),
    address_unit: Some(AddressUnit::Sectors),
    op_codes: false,
    layout: None,
    events: &[],
    latency: |_| None,
    order: Order::RoughlyTime,
    reader: Reader::Records { bytes: LAYOUT_1.bytes, sniff: |head| sniff(&LAYOUT_1, head), parse: |record| parse(&LAYOUT_1, record) },
};

/// The row of version 2.
pub const VERSION_2: Format = Format {
    name: "vscsi2",
    summary: "VMware vscsiStats, binary records of version 2",
    reader: Reader::Records { bytes: LAYOUT_2.bytes, sniff: |head| sniff(&LAYOUT_2, head), parse: |record| parse(&LAYOUT_2, record) },
    ..VERSION_1
};

/// The number in the field, or 0 beyond the end of the record.
fn number<const BYTES: usize>(record: &[u8], (at, _): (usize, Column)) -> u64 {
    let mut bytes = [0; 8];
    if let Some(found) = record.get(at..at + BYTES) {
        bytes[..BYTES].copy_from_slice(found);
    }
    u64::from_le_bytes(bytes)
}

/// The first two records, or the only one, are of the version, and their commands are codes of one byte.
fn sniff(layout: &Layout, head: &[u8]) -> bool {
    let mut records = head.chunks_exact(layout.bytes).take(2).peekable();
    let fits = |record: &[u8]| {
        number::<2>(record, layout.version_at) >> 8 == u64::from(layout.version)
            && number::<2>(record, layout.command) <= 0xff
            && record.contains(&0)
    };
    records.peek().is_some() && records.all(fits)
}

/// This command has its blocks in its data, which is not recorded.
const UNMAP: u64 = 0x42;

/// What a SCSI operation code does; none if it neither reads nor writes.
fn op(command: u64) -> Option<Op> {
    match command {
        // READ (6), (10), (12), (16).
        0x08 | 0x28 | 0xa8 | 0x88 => Some(Op::Read),
        // WRITE (6), (10), (12), (16), and WRITE AND VERIFY (10), (12), (16).
        0x0a | 0x2a | 0xaa | 0x8a | 0x2e | 0xae | 0x8e => Some(Op::Write),
        // SYNCHRONIZE CACHE (10), (16).
        0x35 | 0x91 => Some(Op::Flush),
        _ => None,
    }
}

fn fault((_, column): (usize, Column), found: u64, expected: impl Into<String>) -> Fault {
    Fault::new(column, &found.to_string(), expected)
}

fn parse(layout: &Layout, record: &[u8]) -> Result<Parsed, Fault> {
    let version = number::<2>(record, layout.version_at);
    if version >> 8 != u64::from(layout.version) {
        return Err(Fault::new(layout.version_at.1, &format!("0x{version:04x}"), format!("0x{:02x}.., version {0}", layout.version)));
    }
    let command = number::<2>(record, layout.command);
    if command > 0xff {
        return Err(Fault::new(layout.command.1, &format!("0x{command:04x}"), "a SCSI operation code, below 0x100"));
    }
    if command == UNMAP {
        return Ok(Parsed::Other("UNMAP commands (whose blocks are not recorded)"));
    }
    let Some(op) = op(command) else { return Ok(Parsed::Other("SCSI commands other than reads and writes")) };
    let time_ns = i128::from(number::<8>(record, layout.time)) * i128::from(TimeUnit::Microseconds.ns());
    if op == Op::Flush {
        return Ok(Parsed::Request(Record { time_ns, device: 0, op, sector: 0, sectors: 0, latency_ns: None }));
    }
    let (block, length) = (number::<8>(record, layout.block), number::<4>(record, layout.length));
    if length == 0 {
        return Err(fault(layout.length, length, "a length of 1 or more bytes"));
    }
    let (sector, sectors) =
        fields::sectors_of((block, AddressUnit::Sectors), (length, AddressUnit::Bytes)).map_err(|wrong| match wrong {
            Wrong::Address => fault(layout.block, block, format!("a block below {}", text::grouped(1_u64 << 54))),
            Wrong::Size => fault(layout.length, length, "a length below 2 TiB"),
        })?;
    Ok(Parsed::Request(Record { time_ns, device: 0, op, sector, sectors, latency_ns: None }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version_1(command: u16, length: u32, block: u64, time_us: u64) -> Vec<u8> {
        let mut record = Vec::new();
        for number in [7, length, 1] {
            record.extend(number.to_le_bytes());
        }
        for number in [command, 0x0100] {
            record.extend(number.to_le_bytes());
        }
        for number in [block, time_us] {
            record.extend(number.to_le_bytes());
        }
        record
    }

    fn version_2(command: u16, length: u32, block: u64, time_us: u64) -> Vec<u8> {
        let mut record = Vec::new();
        for number in [command, 0x0203] {
            record.extend(number.to_le_bytes());
        }
        for number in [7, length, 1] {
            record.extend(number.to_le_bytes());
        }
        for number in [block, time_us, 55] {
            record.extend(number.to_le_bytes());
        }
        record
    }

    #[test]
    fn both_versions_are_read() {
        let read = Record { time_ns: 9_000, device: 0, op: Op::Read, sector: 100, sectors: 8, latency_ns: None };
        for (layout, record) in [(LAYOUT_1, version_1(0x28, 4096, 100, 9)), (LAYOUT_2, version_2(0x28, 4096, 100, 9))] {
            assert_eq!(record.len(), layout.bytes);
            assert_eq!(parse(&layout, &record), Ok(Parsed::Request(read)));
            assert!(sniff(&layout, &record));
            assert!(sniff(&layout, &[record.clone(), record].concat()));
        }
    }

    #[test]
    fn operation_codes_are_those_of_scsi() {
        let kind = |command| match parse(&LAYOUT_2, &version_2(command, 512, 0, 0)).unwrap() {
            Parsed::Request(record) => Some(record.op),
            _ => None,
        };
        for command in [0x08, 0x28, 0xa8, 0x88] {
            assert_eq!(kind(command), Some(Op::Read), "{command:x}");
        }
        for command in [0x0a, 0x2a, 0xaa, 0x8a, 0x2e, 0xae, 0x8e] {
            assert_eq!(kind(command), Some(Op::Write), "{command:x}");
        }
        assert_eq!((kind(0x35), kind(0x91)), (Some(Op::Flush), Some(Op::Flush)));
        assert_eq!((kind(0x00), kind(0x12), kind(0x42), kind(0xff)), (None, None, None, None));
    }

    #[test]
    fn faults_name_the_field_and_what_was_expected() {
        for (layout, record, number, found) in [
            (&LAYOUT_1, version_1(0x128, 512, 0, 0), 4, "`0x0128`"),
            (&LAYOUT_1, version_1(0x28, 0, 0, 0), 2, "`0`"),
            (&LAYOUT_1, version_1(0x28, 512, u64::MAX, 0), 6, "`18446744073709551615`"),
            (&LAYOUT_2, version_2(0x128, 512, 0, 0), 1, "`0x0128`"),
            (&LAYOUT_2, version_2(0x28, 0, 0, 0), 4, "`0`"),
            (&LAYOUT_2, version_2(0x28, 512, 1 << 54, 0), 6, "`18014398509481984`"),
            (&LAYOUT_2, version_1(0x28, 512, 0, 0).repeat(2), 2, "`0x0000`"),
        ] {
            let fault = parse(layout, &record).unwrap_err();
            assert_eq!((fault.column.number, fault.found.as_str()), (number, found));
        }
    }

    #[test]
    fn other_files_are_not_claimed() {
        for layout in [&LAYOUT_1, &LAYOUT_2] {
            assert!(!sniff(layout, b""));
            assert!(!sniff(layout, &[0; 80]));
            assert!(!sniff(layout, &[b'1'; 80]));
            assert!(!sniff(layout, &[2; 80]));
        }
        let mixed = [version_2(0x28, 512, 0, 0), version_1(0x28, 512, 0, 0)].concat();
        assert!(!sniff(&LAYOUT_2, &[mixed, vec![0; 8]].concat()));
        assert!(!sniff(&LAYOUT_1, &version_2(0x28, 512, 0, 0)));
    }
}
