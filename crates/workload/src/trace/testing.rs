//! What the tests of all formats have in common, and those that every format must pass.

use proptest::prelude::*;

use crate::trace::columns::Delimited;
use crate::trace::header::Preamble;
use crate::trace::mapping::Columns;
use crate::trace::units::{AddressUnit, OpCodes, TimeUnit};
use crate::trace::{FORMATS, Fault, Format, Parsed, Parser, Reader, Record, Settings, Time};

/// Checks of each line that it is refused at this column, finding and expecting what is said.
pub(crate) fn assert_faults(mut parse: impl FnMut(&str) -> Result<Parsed, Fault>, cases: &[(&str, usize, &str, &str)]) {
    for (line, column, found, expected) in cases {
        let fault = parse(line).expect_err(line);
        assert_eq!(fault.column.number, *column, "{line}");
        assert!(fault.found.contains(found), "{line}: {}", fault.found);
        assert!(fault.expected.contains(expected), "{line}: {}", fault.expected);
    }
}

/// The lines of a small trace of each text format.
const EXAMPLES: &[(&str, &str)] = &[
    ("ascii", "979 0 287641400 128 1\n1000 0 287641528 8 0"),
    ("msr", "128166391024154329,prxy,0,Write,1105182720,1024,1514\n128166391024154339,prxy,0,Read,0,512,15"),
    (
        "etw",
        "BeginHeader\nDiskRead,  TimeStamp, Process Name ( PID), ThreadID, IrpPtr, ByteOffset, IOSize, ElapsedTime, DiskNum\n\
         DiskFlush, TimeStamp\nEndHeader\nDiskRead, 700, p0 (4), 9, 0xff, 0x1369000, 0x00002000, 37, 4, 0x000901\nDiskFlush, 701",
    ),
    ("spc", "0,303567,3584,w,0.000000\n1,55590,3072,R,0.026214"),
    (
        "blkparse",
        "8,16   3        5     0.000026421  3645  D   R 4938888 + 256 [java]\n8,16 3 6 0.1 3645 D FWFS 8 + 8 [x]\n\
         8,16 3 6 0.1 3645 D FN [x]\nCPU0 (8,16):\nReads Queued:           0,        0KiB",
    ),
    (
        "ftrace",
        "# tracer: nop\ndd-7 [001] d..1. 4455.092003: block_rq_issue: 259,0 WS 65536 () 64 + 128 none,0,0 |32768| [dd]\n\
         <idle>-0 [000] d.h1. 4455.474926: block_rq_complete: 259,0 WS () 64 + 128 none,0,0 [0]\n\
         dd 7 [001] 4456.5: block:block_rq_issue: 259,0 FF 0 () 0 + 0 [dd]\nCPU:3 [LOST 1234 EVENTS]",
    ),
    (
        "biosnoop",
        "TIME(s)     COMM           PID    DISK    T SECTOR     BYTES  LAT(ms)\n\
         0.000348    job 1          5689   sdb     W 9009528    4096      0.21\n0.004578    ?              0              R 0          0         4.00",
    ),
    (
        "lttng",
        "[11:02:33.100000100] (+?.?????????) h block_rq_issue: { cpu_id = 0 }, { dev = 8388608, sector = 64, nr_sector = 8, rwbs = 4, tid = 1 }\n\
         [11:02:33.100090100] (+0.000090000) h block_rq_complete: { cpu_id = 0 }, { dev = 8388608, sector = 64, nr_sector = 8, error = 0, rwbs = 4 }",
    ),
    (
        "nbdkit",
        "2024-03-05 10:00:00.001000 connection=1 Write id=1 offset=0x100000 count=0x200000 ...\n\
         2024-03-05 10:00:00.003500 connection=1 ...Write id=1 return=0 (Success)\n2024-03-05 10:00:00.005000 connection=1 Flush id=3 ...",
    ),
    ("fio2", "fio version 2 iolog\n/dev/sdb add\n/dev/sdb wait 100 0\n/dev/sdb read 0 4096\n/dev/sdb trim 0 4096"),
    ("fio3", "fio version 3 iolog\n1 /dev/sdb open\n3 /dev/sdb read 0 4096\n4 /dev/sdb datasync"),
    ("fio-lat", "0, 212273, 0, 4096, 4046848, 0\n7, 4279897, 1, 4096, 56582144, 0x2003, 9\n7, 97, 2, 4096, 0, 0"),
    ("alibaba", "419,W,12288,4096,1577808000000046\n725,R,110592,4096,1577808000000051"),
    ("tencent", "1538323200,4247200,128,1,1063\n1538323201,4247200,128,0,1063"),
    ("systor", "1456095145.133076000,0.000806000,R,0,899056122368,131072"),
    ("fiu", "89966527950584 4253 nfsd 508516672 8 W 6 0 88b93b628d84\n89966527950585 4253 a b 508516680 8 R 6 0 ff"),
    ("wiscsee", "39949 D read 299008 4096 0.000000000 0 False\n0 C read 299008 4096 0.000122793 0.000122793 False"),
    ("columns", "when\twhat\twhere\tsize\tdisk\n0.5\tread\t4096\t512\tsda\n# later\n0.75\tW\t0x1000\t512\tsdb"),
    ("flashnet", "0.000,134,1,4096,42242048,0.100,4096\n1000.000,134,0,4096,42242048,0.100,4096"),
];

fn settings(format: &Format) -> Settings {
    Settings {
        time_unit: Some(TimeUnit::Microseconds),
        address_unit: AddressUnit::Sectors,
        ops: OpCodes::default(),
        event: format.events.first().copied(),
        columns: (format.name == "columns").then(|| Box::new("time,op,lba:bytes,len:bytes,device".parse().unwrap())),
        preamble: Preamble::default(),
    }
}

/// Parses lines up to the first fault.
fn parse(format: &Format, text: &str) -> Result<Vec<Parsed>, Fault> {
    let Reader::Lines { parser, .. } = format.reader else { panic!("{} is binary", format.name) };
    let lines: Vec<String> = text.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect();
    // What stands before the columns is not for the parser of them.
    let preamble = if format.name == "columns" { Preamble::of(&lines, &[]) } else { Preamble::default() };
    let mut parser = parser(&Settings { preamble: preamble.clone(), ..settings(format) });
    lines.iter().skip(preamble.lines).map(|line| parser.parse(line)).collect()
}

fn format(name: &str) -> &'static Format {
    FORMATS.iter().find(|format| format.name == name).unwrap()
}

#[test]
fn every_format_has_an_example_that_it_reads_and_no_other_claims_first() {
    let text_formats = FORMATS.iter().filter(|format| matches!(format.reader, Reader::Lines { .. }));
    assert_eq!(text_formats.clone().count(), EXAMPLES.len());
    for &(name, text) in EXAMPLES {
        let parsed = parse(format(name), text).unwrap_or_else(|fault| panic!("{name}: {fault:?}"));
        assert!(parsed.iter().any(|line| matches!(line, Parsed::Request(_) | Parsed::Issued(_))), "{name}");
        let claims = |format: &&Format| match format.reader {
            Reader::Lines { sniff, .. } => text.lines().any(|line| sniff(line.trim())),
            Reader::Records { sniff, .. } => sniff(text.as_bytes()),
        };
        let claimed: Vec<&str> = FORMATS.iter().filter(claims).map(|format| format.name).collect();
        // Columns are read by what is said of them alone.
        let expected = [name].into_iter().filter(|name| *name != "columns").collect::<Vec<_>>();
        assert_eq!(claimed, expected);
    }
}

#[test]
fn layouts_read_what_the_formats_read() {
    for format in FORMATS {
        let Some(layout) = format.layout else { continue };
        let mut columns: Columns = layout.columns.parse().unwrap();
        assert_eq!(columns.time_unit.is_none(), format.time == Time::Given, "{}", format.name);
        if format.address_unit.is_none() {
            (columns.lba_unit, columns.len_unit) = (Some(AddressUnit::Sectors), Some(AddressUnit::Sectors));
        }
        columns.codes = layout.ops.map(|ops| ops.parse().unwrap()).or(format.op_codes.then(OpCodes::default));
        let time_unit = columns.time_unit.or(settings(format).time_unit);
        let mut by_layout = Delimited::new(&Settings { time_unit, columns: Some(Box::new(columns)), ..settings(format) });
        let Reader::Lines { parser, .. } = format.reader else { panic!("{} is binary", format.name) };
        let mut by_format = parser(&settings(format));
        let (_, text) = EXAMPLES.iter().find(|(name, _)| *name == format.name).unwrap();
        let mut compared = 0;
        for line in text.lines() {
            let (Parsed::Request(mut expected) | Parsed::Issued(mut expected)) = by_format.parse(line).unwrap() else { continue };
            if format.name == "fio-lat" {
                // Its times are those of completion, and a time of issue goes before.
                if line.split(',').count() > layout.names.len() {
                    continue;
                }
                expected.time_ns += i128::from(expected.latency_ns.unwrap());
            }
            // A process of two words is one column of FIU's.
            let line = if format.name == "fiu" { line.replace("a b", "a") } else { line.to_owned() };
            let Parsed::Request(found) = by_layout.parse(&line).unwrap() else { panic!("{line}") };
            let device = if format.name == "fiu" { "6".into() } else { by_format.device_name(expected.device) };
            if format.device_column.is_some() {
                assert_eq!(by_layout.device_name(found.device), device, "{line}");
            }
            assert_eq!(Record { device: 0, ..found }, Record { device: 0, ..expected }, "{line}");
            compared += 1;
        }
        assert!(compared > 0 && layout.names.len() > 4, "{}", format.name);
    }
}

#[test]
fn names_differ_and_times_have_a_column() {
    for (index, format) in FORMATS.iter().enumerate() {
        assert!(FORMATS[..index].iter().all(|before| before.name != format.name), "{}", format.name);
        assert!(format.time_column.number > 0 && !format.summary.is_empty());
    }
}

/// A valid text with a few places overwritten by what other texts have, or by what no text should have.
fn mutated() -> impl Strategy<Value = (usize, String)> {
    let piece = prop_oneof![
        Just(String::new()),
        "[0-9]{1,25}",
        "[-+.,:;()\\[\\] \t]{1,3}",
        "[A-Za-z]{1,6}",
        "0x[0-9a-fA-F]{0,20}",
        any::<String>(),
        Just("18446744073709551615".to_owned()),
        Just("-1".to_owned()),
        Just("1e9".to_owned()),
        Just("NaN".to_owned()),
    ];
    let edits = proptest::collection::vec((any::<prop::sample::Index>(), 0_usize..8, piece), 0..4);
    (0..EXAMPLES.len(), edits).prop_map(|(example, edits)| {
        let mut text: Vec<char> = EXAMPLES[example].1.chars().collect();
        for (at, length, piece) in edits {
            let at = at.index(text.len() + 1);
            let end = (at + length).min(text.len());
            text.splice(at..end, piece.chars());
        }
        (example, text.into_iter().collect())
    })
}

/// Whatever is read must be such that the rest can rely on it.
fn assert_sound(parsed: &[Parsed]) {
    for line in parsed {
        if let Parsed::Request(record) | Parsed::Issued(record) | Parsed::Completed(record) = line {
            if record.op.command().is_some() {
                assert!(record.sectors > 0);
            }
            assert!(record.sector + u64::from(record.sectors) <= 1 << 54);
            assert!(record.time_ns.unsigned_abs() < 1 << 96);
        }
    }
}

proptest! {
    #[test]
    fn mutated_examples_are_parsed_or_refused((example, text) in mutated()) {
        if let Ok(parsed) = parse(format(EXAMPLES[example].0), &text) {
            assert_sound(&parsed);
        }
    }

    #[test]
    fn any_text_is_parsed_or_refused_by_every_format(text in any::<String>()) {
        for &(name, _) in EXAMPLES {
            if let Ok(parsed) = parse(format(name), &text) {
                assert_sound(&parsed);
            }
        }
    }

    #[test]
    fn nearly_right_lines_are_parsed_or_refused(example in 0..EXAMPLES.len(), line in "[-+.,0-9xeRWDrw \\[\\]]{0,60}") {
        let (name, text) = EXAMPLES[example];
        for text in [line.clone(), format!("{text}\n{line}")] {
            if let Ok(parsed) = parse(format(name), &text) {
                assert_sound(&parsed);
            }
        }
    }

    #[test]
    fn any_record_is_parsed_or_refused(bytes in proptest::collection::vec(any::<u8>(), 40), small in any::<bool>()) {
        for format in FORMATS {
            if let Reader::Records { bytes: size, sniff, parse } = format.reader {
                let mut record = bytes.clone();
                if small {
                    // Random bytes hardly ever are a version and a command.
                    record[2..4].copy_from_slice(&[0, 2]);
                    record[14..16].copy_from_slice(&[0, 1]);
                    record[1] = 0;
                    record[13] = 0;
                }
                sniff(&record);
                if let Ok(parsed) = parse(&record[..size]) {
                    assert_sound(&[parsed]);
                }
            }
        }
    }
}
