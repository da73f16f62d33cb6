//! Whether the values of a trace look as those of its format do: a format is found from the form of its lines, which others have too.
//!
//! What looks otherwise is a doubt, and is said with the options that read it otherwise.

use crate::text;
use crate::trace::delimiter::Delimiter;
use crate::trace::fields;
use crate::trace::format::{Format, Order, Settings, Time};
use crate::trace::header::{self, Preamble};
use crate::trace::mapping::{Columns, Role};
use crate::trace::opening::FirstLines;
use crate::trace::proposal;
use crate::trace::units::{AddressUnit, TimeUnit};

/// How the times of a format are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// How many digits they have before the point, where they count from a fixed date.
    pub digits: Option<usize>,
    /// Whether they may have decimals.
    pub decimals: bool,
}

/// The columns of a delimited trace, with the units in which they are read.
#[derive(Clone, Debug)]
pub(super) struct Form {
    format: &'static Format,
    columns: Columns,
    ops: String,
}

/// So many requests whose addresses are whole units of 512 are none by chance.
const SURE_REQUESTS: u64 = 8;

/// So many addresses are whole units of 512 by no chance, even if sizes are not.
const SURE_ADDRESSES: u64 = 64;

/// Larger requests are trims: block layers split reads and writes into smaller ones.
const REQUEST_BYTES_MAX: u64 = 32 << 20;

/// With fewer lines, all requests may be large trims.
const LINES_MIN: usize = 4;

/// Times before this are those since the start of a machine, or of the recording.
const UPTIME_NS_MAX: i128 = 86_400_000_000_000;

impl Form {
    /// That of a trace of this format with these settings; none where lines have no columns.
    pub(super) fn of(format: &'static Format, settings: &Settings) -> Option<Self> {
        if let Some(columns) = &settings.columns {
            let ops = columns.codes.as_ref().map_or_else(String::new, |codes| format!(" --ops {codes}"));
            return Some(Self { format, columns: (**columns).clone(), ops });
        }
        let layout = format.layout?;
        let mut columns: Columns = layout.columns.parse().ok()?;
        columns.time_unit = settings.time_unit;
        columns.lba_unit = columns.lba_unit.or(Some(settings.address_unit));
        columns.len_unit = columns.len_unit.or(Some(settings.address_unit));
        Some(Self { format, columns, ops: layout.ops.map_or_else(String::new, |ops| format!(" --ops {ops}")) })
    }

    /// The options that read it by other columns.
    fn with(&self, change: impl FnOnce(&mut Columns)) -> String {
        let mut columns = self.columns.clone();
        change(&mut columns);
        let late = if self.format.order == Order::RoughlyTime { " --reorder-ms 60000" } else { "" };
        format!("--columns {}{}{late}", columns.with_units(None, None), self.ops)
    }

    /// The options that read its times in another unit, and its latencies where these have the same.
    fn timed(&self, unit: TimeUnit) -> String {
        if self.format.time == Time::Given && self.format.layout.is_some() {
            return format!("--time-unit {unit}");
        }
        self.with(|columns| {
            if columns.latency_unit == columns.time_unit {
                columns.latency_unit = columns.latency_unit.map(|_| unit);
            }
            columns.time_unit = Some(unit);
        })
    }

    /// What is doubtful about the first lines of a trace.
    pub(super) fn doubts(&self, head: &FirstLines, preamble: &Preamble) -> Vec<String> {
        let titles = preamble.header.as_ref().map_or(&[][..], |header| &header.titles);
        let is_row = |line: &&String| !line.starts_with('#') && preamble.header.as_ref().is_none_or(|header| header.line != line.trim());
        let rows = || head.lines.iter().skip(preamble.lines).filter(is_row);
        let own = || rows().next().and_then(|line| Delimiter::of(line, 2));
        let Some(delimiter) = preamble.header.as_ref().and_then(|header| header.delimiter).or_else(own) else { return Vec::new() };
        let rows: Vec<Vec<String>> = rows().map(|line| delimiter.fields(line)).collect();
        // Words with blanks make more fields of a line.
        let width = self.format.layout.map(|layout| layout.names.len());
        let fits = |row: &&Vec<String>| width.is_none_or(|width| row.len() == width || delimiter != Delimiter::WhiteSpace);
        let column = |role: Role| {
            let place = self.columns.place_under(role, titles)?;
            Some(rows.iter().filter(fits).filter_map(|row| row.get(place).map(String::as_str)).collect::<Vec<&str>>())
        };
        let is_said = |role: Role| {
            let title = self.columns.place_under(role, titles).and_then(|place| titles.get(place));
            title.is_some_and(|title| header::read_among(title, titles).unit.is_some())
        };
        // A time of thousands of years has another unit than the header line states.
        let is_endless = |role: Role| column(role).is_some_and(|times| times.first().is_some_and(|time| self.is_beyond_clocks(time)));
        let when = self.columns.when().filter(|role| *role != Role::Delta && (!is_said(*role) || is_endless(*role)));
        let time = when.and_then(column).and_then(|times| self.time_doubt(times.first()?));
        let space = |role: Role, unit: Option<AddressUnit>| {
            (unit == Some(AddressUnit::Bytes) && !is_said(role))
                .then(|| column(role))
                .flatten()
                .filter(|amounts| are_within_sectors(amounts))
        };
        let sizes = space(Role::Len, self.columns.len_unit);
        // Requests of --columns are held against whole sectors one by one.
        let places = space(Role::Lba, self.columns.lba_unit).filter(|_| self.format.layout.is_some());
        let space = match (places.is_some(), sizes.is_some()) {
            (false, false) => None,
            (has_places, has_sizes) => {
                let what = match (has_places, has_sizes) {
                    (true, true) => "addresses and sizes",
                    (true, false) => "addresses",
                    _ => "sizes",
                };
                let options = self.with(|columns| {
                    columns.lba_unit = if has_places { Some(AddressUnit::Sectors) } else { columns.lba_unit };
                    columns.len_unit = if has_sizes { Some(AddressUnit::Sectors) } else { columns.len_unit };
                });
                Some(format!(
                    "none of the {what} in its first {} is a multiple of 512, as if they were sectors, and they are read in bytes; {options} \
                     reads them in sectors",
                    text::counted(rows.len() as u64, "line")
                ))
            }
        };
        let devices = self.device_of_each_line(&column(Role::Device).unwrap_or_default());
        let exchanged = self.exchanged(&column(Role::Lba).unwrap_or_default(), &column(Role::Len).unwrap_or_default());
        time.into_iter().chain(space).chain(exchanged).chain(devices).collect()
    }

    /// Return a doubt if each line has a device of its own, as if the column had something else.
    fn device_of_each_line(&self, devices: &[&str]) -> Option<String> {
        let numbers: Option<Vec<f64>> = devices.iter().map(|device| device.parse().ok()).collect();
        let grows = numbers.is_some_and(|numbers| numbers.windows(2).all(|pair| pair[0] < pair[1]));
        if (devices.len() as u64) < SURE_REQUESTS || !grows || self.format.layout.is_none() {
            return None;
        }
        let without = self.with(|columns| *columns = columns.without(Role::Device));
        Some(format!(
            "each of its first {} has a device of its own, as if that column counted lines or had times; {without} ignores it",
            text::counted(devices.len() as u64, "line")
        ))
    }

    /// Return a doubt if the size column looks like addresses and the address column like sizes.
    fn exchanged(&self, places: &[&str], sizes: &[&str]) -> Option<String> {
        let large = |amounts: &[&str], unit: Option<AddressUnit>| {
            let bytes = u64::from(unit.map_or(1, AddressUnit::bytes));
            amounts.iter().filter(|amount| proposal::number(amount).unwrap_or(0).saturating_mul(bytes) > REQUEST_BYTES_MAX).count()
        };
        let large_sizes = large(sizes, self.columns.len_unit);
        if sizes.len() < LINES_MIN || large_sizes * 2 <= sizes.len() || large(places, self.columns.lba_unit) > 0 {
            return None;
        }
        let options = self.with(|columns| *columns = columns.exchanged());
        Some(format!(
            "{large_sizes} sizes in its first {} are above 32 MiB and no address is, as if the two columns were exchanged; {options} reads \
             them so",
            text::counted(sizes.len() as u64, "line")
        ))
    }

    /// True if a time is thousands of years.
    fn is_beyond_clocks(&self, time: &str) -> bool {
        const BEYOND_NS: i128 = 100_000_000_000_000_000_000;
        let whole = time.split(['.', ',']).next().and_then(|whole| whole.parse::<i128>().ok());
        whole.zip(self.columns.time_unit).is_some_and(|(whole, unit)| whole.saturating_mul(i128::from(unit.ns())) >= BEYOND_NS)
    }

    /// What is doubtful about a time.
    fn time_doubt(&self, time: &str) -> Option<String> {
        let unit = self.columns.time_unit.filter(|unit| TimeUnit::ALL.contains(unit))?;
        let (whole, decimals) = time.split_once(['.', ',']).map_or((time, false), |(whole, _)| (whole, true));
        if whole.is_empty() || !whole.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let expected = self.format.layout.and_then(|layout| layout.times);
        let dated = proposal::plausible_time_unit(std::iter::once(time));
        let value: i128 = whole.parse().ok()?;
        let is_dated = is_recent(value, dated);
        let said = match expected {
            _ if is_recent(value, unit) => String::new(),
            _ if is_dated && dated != unit && value.saturating_mul(i128::from(unit.ns())) >= UPTIME_NS_MAX => {
                let year = if dated == TimeUnit::HundredNanoseconds { 1601 } else { 1970 };
                format!("has {} digits, as {dated} since {year} have, and is read in {unit}", whole.len())
            }
            Some(Times { digits: Some(digits), .. }) if digits != whole.len() => {
                let (has, name) = (text::counted(whole.len() as u64, "digit"), self.format.name);
                format!("has {has}, and times of {name}, in {unit} since a fixed date, have {digits}")
            }
            _ => String::new(),
        };
        let broken = if decimals && expected.is_some_and(|times| !times.decimals) {
            format!("has decimals, and times of {} are whole {unit}", self.format.name)
        } else {
            String::new()
        };
        let what: Vec<String> = [said, broken].into_iter().filter(|what| !what.is_empty()).collect();
        let other = match dated {
            _ if what.is_empty() => return None,
            _ if is_dated && dated != unit => dated,
            _ if decimals && unit != TimeUnit::Seconds => TimeUnit::Seconds,
            _ if unit == TimeUnit::Microseconds => TimeUnit::Nanoseconds,
            _ => TimeUnit::Microseconds,
        };
        Some(format!("its first time, {}, {}; {} reads its times in {other}", text::quoted(time), what.join("; it "), self.timed(other)))
    }

    /// That addresses and sizes, which are read in sectors, are all whole units of 512, as those in bytes are. `places` and `sizes` have
    /// the bits of all of them.
    pub(super) fn like_bytes(&self, requests: u64, places: u64, sizes: u64) -> Option<String> {
        let are_sectors = |unit: Option<AddressUnit>| unit == Some(AddressUnit::Sectors);
        let is_whole = |bits: u64| bits.is_multiple_of(512);
        let (lba, len) = (are_sectors(self.columns.lba_unit), are_sectors(self.columns.len_unit));
        let what = match (lba, len) {
            (true, true) if is_whole(places | sizes) => "address and size",
            (true, true) if is_whole(places) && places > 0 && requests >= SURE_ADDRESSES => "address",
            // One of two is more often so by chance.
            (true, false) if is_whole(places) && places > 0 && requests >= SURE_REQUESTS => "address",
            (false, true) if is_whole(sizes) && requests >= SURE_REQUESTS => "size",
            _ => return None,
        };
        let options = if self.format.layout.is_some() && self.format.address_unit.is_none() {
            "--unit bytes".into()
        } else {
            self.with(|columns| {
                columns.lba_unit = if lba { Some(AddressUnit::Bytes) } else { columns.lba_unit };
                columns.len_unit = if len { Some(AddressUnit::Bytes) } else { columns.len_unit };
            })
        };
        Some(format!("every {what} is a multiple of 512, as if they were bytes, and is read in sectors; `{options}` would say so"))
    }
}

/// Whether these amounts are there, and none of them is a whole number of sectors if they are bytes.
fn are_within_sectors(amounts: &[&str]) -> bool {
    let amount = |field: &&str| proposal::number(field).filter(|amount| *amount > 0 && fields::own_bytes(field).is_none());
    let mut amounts = amounts.iter().filter_map(amount).peekable();
    amounts.peek().is_some() && amounts.all(|amount| !amount.is_multiple_of(512))
}

/// Whether a time in this unit is of the years from 2001 to 2036, counted from 1970, or as Windows does.
fn is_recent(value: i128, unit: TimeUnit) -> bool {
    const YEARS_S: std::ops::Range<i128> = 978_000_000..2_083_000_000;
    // From 1601 to 1970.
    const WINDOWS_S: i128 = 11_644_473_600;
    let per_s = 1_000_000_000 / i128::from(unit.ns().min(1_000_000_000));
    let seconds = value / per_s - if unit == TimeUnit::HundredNanoseconds { WINDOWS_S } else { 0 };
    unit.ns() <= 1_000_000_000 && YEARS_S.contains(&seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::units::OpCodes;
    use crate::trace::{FORMATS, columns};

    fn doubts(name: &str, columns: Option<&str>, lines: &[&str]) -> Vec<String> {
        let format = FORMATS.iter().find(|format| format.name == name).unwrap();
        let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        let columns: Option<Box<Columns>> = columns.map(|columns| Box::new(columns.parse().unwrap()));
        let settings = Settings {
            time_unit: match (&columns, format.time) {
                (Some(columns), _) => columns.time_unit,
                (None, Time::Fixed(unit)) => Some(unit),
                _ => None,
            },
            address_unit: AddressUnit::Sectors,
            ops: OpCodes::default(),
            event: None,
            columns,
            preamble: Preamble::of(&lines, &[]),
        };
        let head = FirstLines { lines, ..FirstLines::default() };
        Form::of(format, &settings).unwrap().doubts(&head, &settings.preamble)
    }

    #[test]
    fn values_that_look_as_those_of_the_format_do_are_no_doubt() {
        for (name, columns, lines) in [
            ("msr", None, &["128166372003061629,hm,0,Read,383496192,32768,413", "128166372016382155,hm,1,Write,2822144,4096,511"][..]),
            // Too few lines to tell large trims from exchanged columns.
            ("msr", None, &["128166372003061629,hm,0,Trim,4096,383496192,413"; LINES_MIN - 1]),
            ("alibaba", None, &["419,W,1056768,4096,1577808000000046"]),
            ("tencent", None, &["1538323200,12910952,128,0,1063", "1538323200,6,8,1,1371"]),
            ("systor", None, &["Timestamp,Response,IOType,LUN,Offset,Size", "1455592201.100000000,0.0001,R,3,4096,512"]),
            ("spc", None, &["0,20941264,8192,W,0.551706", "0,20939840,8192,W,0.554041"]),
            ("fiu", None, &["329131208190249 4892 syslogd 904265560 8 W 6 0 531e779c48f5a9ef", "1 2 a b 8 8 W 6 0 531e779c48f5a9ef"]),
            ("flashnet", None, &["1.5,100,1,4096,8192,1.6,4096"]),
            (
                columns::NAME,
                Some("time:us,op,lba:sectors,len:bytes"),
                &["time,op,lba,size", "1709632800001480,R,7,512", "1709632800001490,R,7,0"],
            ),
            // Times since the machine started, and a column whose title states the unit.
            (columns::NAME, Some("time:ns,op,lba:sectors,len:sectors"), &["1709632800,R,7,512", "1709632801,R,7,8"]),
            (columns::NAME, Some("time:us,op,lba:bytes,len:bytes"), &["time_us,op,lba,size_bytes", "1709632800001480,R,512,100"]),
            (columns::NAME, Some("time:us,op,lba:bytes,len:bytes"), &["time_us,op,lba,size_bytes", "1709632800,R,512,100"]),
        ] {
            assert_eq!(doubts(name, columns, lines), [""; 0], "{name} {lines:?}");
        }
    }

    #[test]
    fn values_that_look_otherwise_are_a_doubt_with_the_options_for_them() {
        for (name, columns, lines, expected) in [
            (
                "msr",
                None,
                &["1709632800002500,usr,0,Read,5300224,4096,900"][..],
                "its first time, `1709632800002500`, has 16 digits, as us since 1970 have, and is read in 100ns; --columns \
                 time:us,_,device,op,lba:bytes,len:bytes,latency:us reads its times in us",
            ),
            (
                "alibaba",
                None,
                &["3,R,5300224,4096,0.0025"],
                "its first time, `0.0025`, has 1 digit, and times of alibaba, in us since a fixed date, have 16; it has decimals, and times of \
                 alibaba are whole us; --columns device,op,lba:bytes,len:bytes,time:s --reorder-ms 60000 reads its times in s",
            ),
            (
                "alibaba",
                None,
                &["3,R,5300224,4096,2500000"],
                "its first time, `2500000`, has 7 digits, and times of alibaba, in us since a fixed date, have 16; --columns \
                 device,op,lba:bytes,len:bytes,time:ns --reorder-ms 60000 reads its times in ns",
            ),
            (
                "spc",
                None,
                &["0,10352,8,r,0.002500", "0,14416,128,w,0.002980"],
                "none of the sizes in its first 2 lines is a multiple of 512, as if they were sectors, and they are read in bytes; --columns \
                 device,lba:sectors,len:sectors,op,time:s reads them in sectors",
            ),
            (
                "msr",
                None,
                &["128166372003061629,hm,0,Read,383497,8,413", "128166372016382155,hm,1,Write,28221,16,511"],
                "none of the addresses and sizes in its first 2 lines is a multiple of 512, as if they were sectors, and they are read in bytes; \
                 --columns time:100ns,_,device,op,lba:sectors,len:sectors,latency:100ns reads them in sectors",
            ),
            (
                columns::NAME,
                Some("time=TIME:us,op=op,lba=lba:sectors,len=size:bytes"),
                &["time,op,lba,size", "1709632800001480123,R,7,512"],
                "its first time, `1709632800001480123`, has 19 digits, as ns since 1970 have, and is read in us; --columns \
                 time=TIME:ns,op=op,lba=lba:sectors,len=size:bytes reads its times in ns",
            ),
            (
                columns::NAME,
                Some("time:s,op,lba:sectors,len:sectors"),
                &["timestamp_s,op,lba,sectors", "1717200000127,R,8,8"],
                "its first time, `1717200000127`, has 13 digits, as ms since 1970 have, and is read in s; --columns \
                 time:ms,op,lba:sectors,len:sectors reads its times in ms",
            ),
            (
                "msr",
                None,
                &["128166372003061629,hm,0,Read,4096,383496192,413"; LINES_MIN],
                "4 sizes in its first 4 lines are above 32 MiB and no address is, as if the two columns were exchanged; --columns \
                 time:100ns,_,device,op,len:bytes,lba:bytes,latency:100ns reads them so",
            ),
            (
                columns::NAME,
                Some("time:us,op,lba:sectors,len:bytes"),
                &["1,R,7,8"],
                "none of the sizes in its first 1 line is a multiple of 512, as if they were sectors, and they are read in bytes; --columns \
                 time:us,op,lba:sectors,len:sectors reads them in sectors",
            ),
        ] {
            assert_eq!(doubts(name, columns, lines), [expected], "{name}");
        }
    }

    #[test]
    fn a_device_of_its_own_for_each_line_is_a_doubt() {
        let lines = |device: &dyn Fn(u64) -> u64| -> Vec<String> {
            (0..20).map(|line| format!("{},R,{},4096,{}", device(line), 4096 * line, 1_577_808_000_000_046 + line)).collect()
        };
        let said = |lines: &[String]| doubts("alibaba", None, &lines.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(
            said(&lines(&|line| line)),
            ["each of its first 20 lines has a device of its own, as if that column counted lines or had times; --columns \
                 _,op,lba:bytes,len:bytes,time:us --reorder-ms 60000 ignores it"]
        );
        assert_eq!(said(&lines(&|line| line / 2)), [""; 0]);
        assert_eq!(said(&lines(&|line| 100 - line)), [""; 0]);
    }

    #[test]
    fn addresses_and_sizes_in_sectors_that_are_all_like_bytes_are_a_doubt() {
        let form = |name: &str| {
            let format = FORMATS.iter().find(|format| format.name == name).unwrap();
            let settings = Settings {
                time_unit: Some(TimeUnit::Seconds),
                address_unit: AddressUnit::Sectors,
                ops: OpCodes::default(),
                event: None,
                columns: None,
                preamble: Preamble::default(),
            };
            Form::of(format, &settings).unwrap()
        };
        let said = form("tencent").like_bytes(1, 4096, 512).unwrap();
        assert!(
            said.contains("every address and size is a multiple of 512") && said.contains("lba:bytes,len:bytes,op,device --ops"),
            "{said}"
        );
        assert!(form("ascii").like_bytes(1, 4096, 512).unwrap().contains("`--unit bytes` would say so"));
        // Sizes of this format are bytes.
        assert!(form("spc").like_bytes(SURE_REQUESTS, 4096, 8).unwrap().contains("every address is"));
        assert_eq!(form("spc").like_bytes(SURE_REQUESTS - 1, 4096, 8), None);
        assert_eq!(form("tencent").like_bytes(9, 4096, 8), None);
        assert_eq!(form("msr").like_bytes(9, 4096, 512), None);
    }
}
