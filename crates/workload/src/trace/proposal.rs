//! Which `--columns` would read a text, from the names in its header line and from its first lines.
//!
//! What a proposal assumes, it says. Where two columns could have a role, nothing is proposed, and the user is asked.

use crate::error::Column;
use crate::text;
use crate::trace::columns::{self, Columns, Delimited, Delimiter, NLB, Role};
use crate::trace::fields;
use crate::trace::header::{self, Is, Name, Unit};
use crate::trace::units::{AddressUnit, OpCodes, TimeUnit};
use crate::trace::{Op, Parser, Settings};

/// Where nobody looks at it.
const NOWHERE: Column = Column { number: 1, name: "" };

/// The columns that each role has, or could have.
type Roles = Vec<(Role, Vec<usize>)>;

/// The first lines of a text: what its columns are called, if it has a header line, and the fields of the other lines.
struct Head<'a> {
    lines: &'a [String],
    titles: Option<Vec<String>>,
    names: Vec<Name>,
    rows: Vec<Vec<&'a str>>,
}

impl<'a> Head<'a> {
    fn of(lines: &'a [String]) -> Option<Self> {
        let first = lines.first()?;
        let titles = columns::looks_like_header(first).then(|| columns::header_names(first));
        let data = lines.iter().skip(usize::from(titles.is_some())).filter(|line| !line.starts_with('#'));
        let delimiter = Delimiter::of(data.clone().next()?, 3)?;
        let rows: Vec<Vec<&str>> = data.map(|line| delimiter.split(line).collect()).collect();
        let width = rows.iter().map(Vec::len).min().filter(|width| *width >= 3)?;
        let titles = titles.filter(|titles| titles.len() >= width);
        let name = |index: usize| header::read(titles.as_ref().map_or("", |titles: &Vec<String>| titles[index].as_str()));
        Some(Self { lines, names: (0..width).map(name).collect(), titles, rows })
    }

    fn column(&self, index: usize) -> impl Iterator<Item = &'a str> + Clone {
        self.rows.iter().map(move |row| row[index])
    }

    /// What a column is called in a message.
    fn said(&self, index: usize) -> String {
        self.titles.as_ref().map_or_else(|| format!("column {}", index + 1), |titles| text::quoted(&titles[index]))
    }

    fn has_nvme_names(&self) -> bool {
        self.names.iter().any(|name| name.nvme)
    }

    /// Whether what stands in a column could be what a role needs.
    fn could_be(&self, index: usize, role: Role) -> bool {
        let mut fields = self.column(index);
        match role {
            Role::Time => fields.all(|field| fields::time_ns(field, TimeUnit::Nanoseconds, NOWHERE).is_ok()),
            // A flush has neither.
            Role::Lba | Role::Len => fields.all(|field| field.is_empty() || number(field).is_some()),
            Role::Op => self.ops(index, None).is_some(),
            Role::Latency => fields.all(|field| field.is_empty() || fields::time_ns(field, TimeUnit::Nanoseconds, NOWHERE).is_ok()),
            Role::Device => true,
            Role::Flush => fields.all(|field| columns::flag(field, NOWHERE).is_ok()),
        }
    }

    /// What the words of a column of operations mean, if that can be told; `usual` is what the codes 0 and 1 mean.
    fn ops(&self, index: usize, usual: Option<&OpCodes>) -> Option<Ops> {
        const FALSE_TRUE: [(&str, &str); 10] = [
            ("0", "1"),
            ("false", "true"),
            ("False", "True"),
            ("FALSE", "TRUE"),
            ("no", "yes"),
            ("No", "Yes"),
            ("n", "y"),
            ("N", "Y"),
            ("f", "t"),
            ("F", "T"),
        ];
        let are = |known: &dyn Fn(&str) -> bool| self.column(index).all(known);
        let given = |codes: String| codes.parse().ok().map(Ops::Said);
        let pair = FALSE_TRUE.into_iter().find(|(no, yes)| are(&|field| field == *no || field == *yes));
        match (self.names[index].read_code, pair) {
            (Some("0"), Some((no, yes))) => return given(format!("write={yes},read={no}")),
            (Some(_), Some((no, yes))) => return given(format!("write={no},read={yes}")),
            _ => {}
        }
        if are(&|field| columns::op(field).is_some()) {
            Some(Ops::Words)
        } else if self.has_nvme_names() && are(&|field| NVME.iter().any(|(_, code)| number(field) == Some(*code))) {
            let like = self.column(index).next().unwrap_or_default();
            // A code is a word, so that the others are written as those that are there.
            let codes = NVME.map(|(op, code)| match like.strip_prefix("0x") {
                Some(digits) => format!("{op}=0x{code:0width$x}", width = digits.len()),
                None => format!("{op}={code}"),
            });
            given(codes.join(","))
        } else {
            are(&|field| matches!(field, "0" | "1")).then(|| Ops::Assumed(usual.cloned().unwrap_or_default()))
        }
    }
}

/// What the words for operations mean.
enum Ops {
    /// What they mean everywhere.
    Words,
    /// What the header line says of these codes.
    Said(OpCodes),
    /// What is custom.
    Assumed(OpCodes),
}

impl Ops {
    fn codes(&self) -> Option<&OpCodes> {
        match self {
            Self::Words => None,
            Self::Said(codes) | Self::Assumed(codes) => Some(codes),
        }
    }

    fn option(&self) -> String {
        self.codes().map_or_else(String::new, |codes| format!(" --ops {codes}"))
    }
}

/// NVMe's codes; dataset management trims.
const NVME: [(&str, u64); 4] = [("write", 1), ("read", 2), ("trim", 9), ("flush", 0)];

/// The units of a mapping.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Units {
    time: TimeUnit,
    lba: AddressUnit,
    len: AddressUnit,
    latency: Option<TimeUnit>,
    /// Whether sizes count from 0, as in NVMe.
    nlb: bool,
}

impl Units {
    /// The roles in the order of their columns.
    fn mapping(self, roles: &Roles) -> String {
        let last = roles.iter().map(|(_, at)| at[0]).max().unwrap_or(0);
        let part = |(role, _): &(Role, Vec<usize>)| match role {
            Role::Time => format!("time:{}", self.time),
            Role::Lba => format!("lba:{}", self.lba),
            Role::Len => format!("{}:{}", if self.nlb { NLB } else { "len" }, self.len),
            Role::Latency => self.latency.map_or("_".into(), |unit| format!("latency:{unit}")),
            Role::Op | Role::Device | Role::Flush => role.name().into(),
        };
        let at = |index: usize| roles.iter().find(|(_, at)| at[0] == index).map_or("_".into(), part);
        (0..=last).map(at).collect::<Vec<_>>().join(",")
    }
}

/// What to say to somebody whose text has these first lines: the options that read it and what they assume, or what is not
/// clear, as a sentence; nothing if its columns can't be told. `format` has the columns that its lines seem to have, and `given`
/// is the unit of time that was given.
pub(super) fn proposal(lines: &[String], format: Option<&Columns>, given: Option<TimeUnit>) -> Option<String> {
    let head = Head::of(lines)?;
    let mut assumed = Vec::new();
    let roles = match head.titles {
        Some(_) => roles_by_name(&head, format, &mut assumed),
        None => roles_by_content(&head),
    }?;
    let of = |role: Role| roles.iter().find(|(known, _)| *known == role).map(|(_, at)| at[0]);
    let (time, op, lba, len) = (of(Role::Time)?, of(Role::Op)?, of(Role::Lba)?, of(Role::Len)?);
    for (role, index) in [(Role::Lba, lba), (Role::Len, len)] {
        if let Some(unit @ (Unit::Pages | Unit::Sized(_))) = head.names[index].unit {
            return Some(without_unit(role, &head.said(index), unit));
        }
    }
    let ops = head.ops(op, format.and_then(|columns| columns.codes.as_ref()))?;
    let space = |index: usize| match head.names[index].unit {
        Some(Unit::Space(unit)) => Some(unit),
        _ => None,
    };
    let said_unit = |index: usize| match head.names[index].unit {
        Some(Unit::Time(unit)) => Some(unit),
        _ => None,
    };
    let said_time = given.or(said_unit(time));
    let nlb = head.names[len].nvme && counts_from_0(&head, len, op, &ops);
    let time_unit = said_time.unwrap_or_else(|| plausible_time_unit(head.column(time)));
    let in_sectors = Units {
        time: time_unit,
        lba: space(lba).unwrap_or(AddressUnit::Sectors),
        len: space(len).unwrap_or(AddressUnit::Sectors),
        latency: of(Role::Latency).and_then(said_unit),
        nlb,
    };
    let counts_blocks = head.names[len].unit == Some(Unit::Blocks);
    let sizes_in = space(len).or(counts_blocks.then_some(AddressUnit::Sectors)).unwrap_or_else(|| plausible_address_unit(head.column(len)));
    // Sizes in sectors go with addresses in sectors.
    let plausible_lba = if sizes_in == AddressUnit::Sectors { sizes_in } else { plausible_address_unit(head.column(lba)) };
    let units = Units { lba: space(lba).unwrap_or(plausible_lba), len: sizes_in, ..in_sectors };
    if roles.iter().any(|(_, at)| at.len() > 1) {
        return Some(question(&head, &roles, &ops));
    }
    if !reads(&head, &units.mapping(&roles), &ops) {
        return None;
    }
    if said_time.is_none() {
        assumed.push(format!("its times are in {time_unit}"));
    }
    if let Ops::Assumed(codes) = &ops {
        let reads_1 = codes.op("1") == Some(Op::Read);
        assumed.push(if reads_1 { "0 writes and 1 reads" } else { "0 reads and 1 writes" }.into());
    }
    if head.names[len].nvme {
        assumed.push(format!("its {} counts from {}", head.said(len), if nlb { "0, as in NVMe" } else { "1" }));
    }
    let one = format!("--columns {}{}", units.mapping(&roles), ops.option());
    let ways = if units == in_sectors {
        if space(lba).is_none() || space(len).is_none() {
            assumed.push("its addresses and sizes are in sectors of 512 bytes".into());
        }
        one
    } else {
        let open = match (units.lba == in_sectors.lba, units.len == in_sectors.len) {
            (true, _) => "sizes",
            (_, true) => "addresses",
            _ => "addresses and sizes",
        };
        let all = if (in_sectors.lba, in_sectors.len) == (AddressUnit::Sectors, AddressUnit::Sectors) { "all" } else { "they" };
        let other = in_sectors.mapping(&roles);
        format!("{one} where {open} are in bytes, or --columns {other}{} where {all} are in sectors of 512 bytes", ops.option())
    };
    let assumed = if assumed.is_empty() { String::new() } else { format!(", if {}", text::listed(&assumed)) };
    Some(format!("it can be read with {ways}{assumed}"))
}

/// Says what could be done with a unit that no option has.
fn without_unit(role: Role, said: &str, unit: Unit) -> String {
    let factor = match unit {
        Unit::Sized(bytes) => format!("times {}", bytes / 512),
        _ => "times the sectors of each".into(),
    };
    let role = role.name();
    format!(
        "{said} is its {role} in {unit}, and the units of {role} in --columns are sectors, bytes and kib; write the column in sectors, \
         {factor}, and name it {role}_sectors"
    )
}

/// Asks which of several columns has a role. A unit that is not said is asked for when the mapping is given.
fn question(head: &Head<'_>, roles: &Roles, ops: &Ops) -> String {
    let capitals = |role: Role| role.name().to_uppercase();
    let unclear = roles.iter().filter(|(_, at)| at.len() > 1);
    let could = |(role, at): &(Role, Vec<usize>)| {
        let columns: Vec<String> = at.iter().map(|index| format!("{} (column {})", head.said(*index), index + 1)).collect();
        format!("{} could each be its {}", text::listed(&columns), role.name())
    };
    let part = |(role, at): &(Role, Vec<usize>)| {
        let number = if at.len() == 1 { (at[0] + 1).to_string() } else { capitals(*role) };
        let units: Vec<_> = at.iter().map(|index| head.names[*index].unit).collect();
        let unit = match units[0] {
            Some(unit @ (Unit::Time(_) | Unit::Space(_))) if units.iter().all(|other| *other == Some(unit)) => format!(":{unit}"),
            _ => String::new(),
        };
        format!("{}={number}{unit}", role.name())
    };
    format!(
        "{}; say which is by its number, in place of {} in --columns {}{}",
        unclear.clone().map(could).collect::<Vec<_>>().join(", and "),
        text::listed(&unclear.map(|(role, _)| capitals(*role)).collect::<Vec<_>>()),
        roles.iter().map(part).collect::<Vec<_>>().join(","),
        ops.option()
    )
}

/// Whether a mapping reads the header line and most of the other lines.
fn reads(head: &Head<'_>, mapping: &str, ops: &Ops) -> bool {
    let Ok(mut columns) = mapping.parse::<Columns>() else { return false };
    columns.codes = ops.codes().cloned();
    let settings = Settings {
        time_unit: Some(TimeUnit::Nanoseconds),
        address_unit: AddressUnit::Sectors,
        ops: OpCodes::default(),
        event: None,
        columns: Some(Box::new(columns)),
    };
    let mut parser = Delimited::new(&settings);
    let mut lines = head.lines.iter().map(|line| parser.parse(line).is_ok());
    let header = head.titles.is_none() || lines.next() == Some(true);
    let (read, refused) = lines.partition::<Vec<bool>, _>(|read| *read);
    header && read.len() > refused.len()
}

fn number(field: &str) -> Option<u64> {
    match field.strip_prefix("0x").or_else(|| field.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => fields::unsigned(field, NOWHERE).ok(),
    }
}

/// Whether sizes are one less than what they stand for, as in NVMe: 7 for 8 blocks of 512 bytes, or even 0.
fn counts_from_0(head: &Head<'_>, len: usize, op: usize, ops: &Ops) -> bool {
    let flushes = |word: &str| ops.codes().map_or_else(|| columns::op(word), |codes| codes.op(word)) == Some(Op::Flush);
    let sizes = head.column(len).zip(head.column(op)).filter(|(_, op)| !flushes(op)).filter_map(|(len, _)| number(len));
    let pages = |less: u64| sizes.clone().filter(|size| (size + less).is_multiple_of(8)).count();
    sizes.clone().any(|size| size == 0) || pages(1) > pages(0)
}

fn roles_by_name(head: &Head<'_>, format: Option<&Columns>, assumed: &mut Vec<String>) -> Option<Roles> {
    let mut roles = Roles::new();
    for role in Role::ALL {
        let is = |index: &usize| head.names[*index].is == Is::Role(role) && head.could_be(*index, role);
        let mut at: Vec<usize> = (0..head.names.len()).filter(is).collect();
        // A number of a device goes before its name.
        if role == Role::Device && at.iter().any(|index| !head.names[*index].is_name) {
            at.retain(|index| !head.names[*index].is_name);
        }
        // A run needs no latencies: where it is not clear which they are or in which unit, they are left out.
        if role == Role::Latency && !matches!(at[..], [index] if head.names[index].unit.is_some()) {
            continue;
        }
        let unnamed = |index: &usize| head.names.get(*index).is_some_and(|name| name.is == Is::Unknown && name.unit.is_none());
        if at.is_empty()
            && let Some(index) = format.and_then(|columns| columns.place(role)).filter(unnamed)
        {
            assumed.push(format!("{} is its {}", head.said(index), role.name()));
            at.push(index);
        }
        if !at.is_empty() {
            roles.push((role, at));
        }
    }
    Some(roles)
}

/// The operation is what is nothing else; of the numbers, times never fall, and addresses are larger than sizes.
fn roles_by_content(head: &Head<'_>) -> Option<Roles> {
    let number = |field: &str| field.parse::<f64>().ok().filter(|value| *value >= 0.0);
    let numbers = |index: usize| head.column(index).map(number).collect::<Option<Vec<f64>>>();
    let mut places = 0..head.names.len();
    let op = places.clone().find(|index| head.column(*index).all(|field| columns::op(field).is_some()))?;
    let grows = |values: &[f64]| values.is_sorted() && values.first() < values.last();
    let time = places.find(|index| *index != op && numbers(*index).is_some_and(|values| grows(&values)))?;
    let rest: Vec<(usize, f64)> = (0..head.names.len())
        .filter(|index| ![op, time].contains(index))
        .filter_map(|index| Some((index, numbers(index)?.into_iter().fold(0.0, f64::max))))
        .collect();
    // With more numbers it could be any of them.
    let [(first, first_max), (second, second_max)] = rest[..] else { return None };
    let (lba, len) = if first_max >= second_max { (first, second) } else { (second, first) };
    Some(vec![(Role::Time, vec![time]), (Role::Op, vec![op]), (Role::Lba, vec![lba]), (Role::Len, vec![len])])
}

fn plausible_address_unit<'a>(mut amounts: impl Iterator<Item = &'a str>) -> AddressUnit {
    let whole_sectors = amounts.all(|amount| number(amount).is_none_or(|bytes| bytes.is_multiple_of(512)));
    if whole_sectors { AddressUnit::Bytes } else { AddressUnit::Sectors }
}

/// Times since 1970, or since the first second of 1601 where Windows counts, have so many digits; others are most often in us.
fn plausible_time_unit<'a>(mut times: impl Iterator<Item = &'a str>) -> TimeUnit {
    let first = times.next().unwrap_or_default();
    match (first.contains('.'), first.split('.').next().map_or(0, str::len)) {
        (_, 19) => TimeUnit::Nanoseconds,
        (_, 18) => TimeUnit::HundredNanoseconds,
        (_, 16) => TimeUnit::Microseconds,
        (_, 13) => TimeUnit::Milliseconds,
        (true, _) | (_, 10) => TimeUnit::Seconds,
        _ => TimeUnit::Microseconds,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proposal_says_what_it_assumes() {
        let proposal = |lines: &[&str]| proposal(&lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>(), None, None);
        for (lines, expected) in [
            (
                &["timestamp,op,lba,len", "10,R,4096,4096", "20,W,8192,512"][..],
                "it can be read with --columns time:us,op,lba:bytes,len:bytes where addresses and sizes are in bytes, or --columns \
                 time:us,op,lba:sectors,len:sectors where all are in sectors of 512 bytes, if its times are in us",
            ),
            (
                &["timestamp,op,lba,len", "10,R,4097,4096", "20,W,8192,512"],
                "it can be read with --columns time:us,op,lba:sectors,len:bytes where sizes are in bytes, or --columns \
                 time:us,op,lba:sectors,len:sectors where all are in sectors of 512 bytes, if its times are in us",
            ),
            (&["time_ms;offset_bytes;size_bytes;rw", "1;0;512;W"], "it can be read with --columns time:ms,lba:bytes,len:bytes,op"),
            (
                &["a b 1690000000.5 R 1000 8", "a c 1690000001.5 W 900 16"],
                "it can be read with --columns _,_,time:s,op,lba:sectors,len:sectors, if its times are in s and its addresses and sizes are \
                 in sectors of 512 bytes",
            ),
            (
                &["id,op,ts,disk,lbn,blocks", "1,0,5,sda,8,3", "2,1,6,sda,8,3"],
                "it can be read with --columns _,op,time:us,device,lba:sectors,len:sectors --ops write=0,read=1, if its times are in us, \
                 0 writes and 1 reads and its addresses and sizes are in sectors of 512 bytes",
            ),
            (
                &["Time(us);is_write;offset_kb;size_kb", "1;False;0;4", "2;True;4;4"],
                "it can be read with --columns time:us,op,lba:kib,len:kib --ops write=True,read=False",
            ),
            (
                &[
                    "header.sid,header.timestamp,header.size,io.lba,io.len,io.ioClass,io.operation,io.flush,io.fua",
                    "1,5,64,8,8,0,Read,false,false",
                    "2,5,64,0,0,0,Write,true,false",
                ],
                "it can be read with --columns _,time:ns,_,lba:sectors,len:sectors,_,op,flush",
            ),
            (
                &["ts_ns,opcode,nsid,slba,nlb", "1,0x02,1,2048,7", "2,0x01,1,8,15", "3,0x00,1,0,0"],
                "it can be read with --columns time:ns,op,device,lba:sectors,nlb:sectors --ops write=0x01,read=0x02,trim=0x09,flush=0x00, \
                 if its `nlb` counts from 0, as in NVMe and its addresses and sizes are in sectors of 512 bytes",
            ),
            // Where two columns could be it, or where no option has the unit, there is none.
            (
                &["time_us,rw,offset,io_size,block_size", "1,R,0,4096,512"],
                "`io_size` (column 4) and `block_size` (column 5) could each be its len; say which is by its number, in place of LEN in \
                 --columns time=1:us,op=2,lba=3,len=LEN",
            ),
            (
                &["time_us,rw,lba_4k,len_4k", "1,R,0,1"],
                "`lba_4k` is its lba in units of 4096 bytes, and the units of lba in --columns are sectors, bytes and kib; write the column \
                 in sectors, times 8, and name it lba_sectors",
            ),
        ] {
            assert_eq!(proposal(lines).as_deref(), Some(expected));
        }
        for lines in [&["hello"][..], &["a,b,c", "1,2,3"], &["1 2 3 4 5 6 R", "1 2 3 4 5 6 R"], &[]] {
            assert_eq!(proposal(lines), None, "{lines:?}");
        }
    }
}
