//! The requests of a trace in the order of their times: read one by one, checked against those before, and put in order
//! where the recorder wrote them slightly out of it.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use tinytail_core::commands::CommandKind;

use crate::error::{Column, Position, WorkloadError};
use crate::reading::TraceContent;
use crate::text;
use crate::trace::columns;
use crate::trace::completions::Completions;
use crate::trace::delimiter::Delimiter;
use crate::trace::faults::{Faults, Sort};
use crate::trace::fields::Fault;
use crate::trace::foreign;
use crate::trace::header::{self, Preamble};
use crate::trace::input::{Input, Line};
use crate::trace::units::{OpCodes, TimeUnit};
use crate::trace::{Format, Parsed, Parser, Reader, Record, Settings};

/// How many requests a late one may stand behind its place. So many are held at most, about 20 MB.
pub(super) const PLACES_MAX: u64 = 1 << 18;

/// What is allowed of the times.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimeLimits {
    /// Longest time from the first to the last.
    pub(super) span_ns_max: i128,
    /// How far a time may be behind the latest before it.
    pub(super) late_ns_max: i128,
}

/// What was found out of order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Disorder {
    /// Requests that stand after a later one.
    pub(super) late: u64,
    /// How far the latest of them is behind.
    pub(super) late_ns_max: i128,
    /// How many requests must be held to put them in order.
    pub(super) places: u64,
}

/// Lines that are no requests to be played, by what they are.
#[derive(Clone, Debug, Default)]
pub(super) struct Skipped {
    counts: Vec<(&'static str, u64)>,
    /// Of requests that are left out by their codes.
    codes: Vec<(String, u64)>,
}

impl Skipped {
    fn new(codes: &[String]) -> Self {
        Self { counts: Vec::new(), codes: codes.iter().map(|code| (code.clone(), 0)).collect() }
    }

    fn add_code(&mut self, place: usize) {
        if let Some((_, count)) = self.codes.get_mut(place) {
            *count += 1;
        }
    }

    fn add(&mut self, what: &'static str) {
        match self.counts.iter_mut().find(|(known, _)| *known == what) {
            Some((_, count)) => *count += 1,
            None => self.counts.push((what, 1)),
        }
    }

    /// How many there were of what is called so.
    pub(super) fn count(&self, what: &str) -> u64 {
        self.counts.iter().find(|(known, _)| *known == what).map_or(0, |(_, count)| *count)
    }

    /// `1,695 Q events and 1 flush`, or nothing.
    pub(super) fn said(&self) -> Option<String> {
        let one_or_more = |(what, count): &(&str, u64)| match count {
            1 => format!("1 {}", one(what)),
            _ => format!("{} {what}", text::grouped(*count)),
        };
        let of_code =
            |(code, count): &(String, u64)| format!("{} whose operation is {}", text::counted(*count, "request"), text::quoted(code));
        let codes = self.codes.iter().filter(|(_, count)| *count > 0).map(of_code);
        let parts: Vec<String> = self.counts.iter().map(one_or_more).chain(codes).collect();
        (!parts.is_empty()).then(|| text::listed(&parts))
    }
}

/// One of what is skipped. The first word in the plural is the one that counts, as in `lines of statistics`.
fn one(what: &str) -> String {
    let mut words: Vec<&str> = what.split(' ').collect();
    if let Some(counted) = words.iter_mut().find(|word| word.ends_with('s')) {
        let stem = counted.strip_suffix("es").filter(|stem| stem.ends_with("sh"));
        *counted = stem.unwrap_or(&counted[..counted.len() - 1]);
    }
    words.join(" ")
}

/// A request that is played.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) at: Position,
    pub(super) kind: CommandKind,
    pub(super) record: Record,
}

/// The requests of a trace as they stand in the file, each checked against those before.
pub(super) struct Records {
    pub(super) input: Input,
    reader: Units,
    format: &'static Format,
    limits: Option<TimeLimits>,
    clock: Option<Clock>,
    /// Where times are those of a day.
    days: Option<Days>,
    preamble: Preamble,
    /// Whether lines have the same columns.
    has_columns: bool,
    /// Whether a tab may stand for an empty field at the end of a line.
    keeps_tabs: bool,
    completions: Completions,
    read: u64,
    /// Lines, or records, that were looked at.
    pub(super) lines: u64,
    /// What is wrong with those that are faulty; none if the first of them ends it.
    pub(super) faults: Option<Faults>,
    /// The places at which the time was later than ever before, as far back as is held.
    peaks: VecDeque<(u64, i128)>,
    /// The latest time further back.
    latest_before_peaks_ns: Option<i128>,
    pub(super) disorder: Disorder,
    pub(super) skipped: Skipped,
}

enum Units {
    Lines(Box<dyn Parser>),
    Records { bytes: usize, parse: fn(&[u8]) -> Result<Parsed, Fault> },
}

/// What is wrong with a line that is no text.
fn no_text(found: String) -> Fault {
    Fault { column: Column { number: 0, name: "text" }, found, expected: "text".into() }
}

/// The command that sorts a text by the numbers in a column. Commas before fractions are no numbers to it, nor are those between quotation
/// marks.
fn sorting(path: &str, preamble: &Preamble, line: &str, column: usize) -> Option<String> {
    let delimiter = preamble.header.as_ref().and_then(|header| header.delimiter).or_else(|| Delimiter::of(line, 3))?;
    let field = delimiter.fields(line).into_iter().nth(column - 1)?;
    if line.contains('"') || field.contains([',', ':', '/']) {
        return None;
    }
    let between = match delimiter {
        Delimiter::WhiteSpace => String::new(),
        Delimiter::Letter('\t') => " -t \"$(printf '\\t')\"".into(),
        Delimiter::Letter(letter) => format!(" -t '{letter}'"),
    };
    let file = foreign::shell_name(std::path::Path::new(path));
    let (before, sort) = (preamble.lines, format!("LC_ALL=C sort -s{between} -k {column},{column}g"));
    Some(match before {
        0 => format!("{sort} {file} > {file}.sorted"),
        _ => format!("(head -n {before} {file}; tail -n +{} {file} | {sort}) > {file}.sorted", before + 1),
    })
}

#[derive(Clone, Copy)]
struct Clock {
    first_ns: i128,
    latest_ns: i128,
}

/// Which day times of day are of.
#[derive(Debug, Default)]
struct Days {
    latest_ns: Option<i128>,
}

impl Days {
    /// The time since the first midnight of a time of day: that of the latest day so far, of the next if it would be half a day
    /// before the latest, or of the one before if it would be half a day after it and a midnight has passed.
    fn since_first_midnight_ns(&mut self, of_day_ns: i128) -> i128 {
        const DAY_NS: i128 = 86_400_000_000_000;
        // With a date before it, it is of a day that is known.
        if of_day_ns >= DAY_NS {
            return of_day_ns;
        }
        let latest_ns = *self.latest_ns.get_or_insert(of_day_ns);
        let midnight_ns = latest_ns / DAY_NS * DAY_NS;
        let time_ns = match midnight_ns + of_day_ns {
            early_ns if early_ns < latest_ns - DAY_NS / 2 => early_ns + DAY_NS,
            far_ns if far_ns > latest_ns + DAY_NS / 2 && midnight_ns > 0 => far_ns - DAY_NS,
            near_ns => near_ns,
        };
        self.latest_ns = Some(latest_ns.max(time_ns));
        time_ns
    }
}

impl Records {
    /// Opens a trace; without limits its times are not looked at. Faulty lines are passed over if their `faults` are wanted.
    pub(super) fn open(
        content: &TraceContent,
        format: &'static Format,
        settings: &Settings,
        limits: Option<TimeLimits>,
        faults: Option<Faults>,
    ) -> Result<Self, WorkloadError> {
        let codes = settings.columns.as_ref().map_or(Some(&settings.ops), |columns| columns.codes.as_ref());
        Ok(Self {
            input: Input::open(content)?,
            reader: match format.reader {
                Reader::Lines { parser, .. } => Units::Lines(parser(settings)),
                Reader::Records { bytes, parse, .. } => Units::Records { bytes, parse },
            },
            format,
            limits,
            clock: None,
            days: (settings.time_unit == Some(TimeUnit::Clock)).then(Days::default),
            preamble: settings.preamble.clone(),
            has_columns: format.layout.is_some() || format.name == columns::NAME,
            keeps_tabs: format.name == columns::NAME,
            completions: Completions::default(),
            read: 0,
            lines: 0,
            faults,
            peaks: VecDeque::new(),
            latest_before_peaks_ns: None,
            disorder: Disorder::default(),
            skipped: Skipped::new(codes.map_or(&[], OpCodes::ignored)),
        })
    }

    /// The next request in the order of the file.
    #[inline]
    pub(super) fn next(&mut self) -> Result<Option<Request>, WorkloadError> {
        self.read_next().map_err(|error| self.input.unless_changed(error))
    }

    fn read_next(&mut self) -> Result<Option<Request>, WorkloadError> {
        loop {
            if let Some(request) = self.completions.next(false) {
                return Ok(Some(request));
            }
            let (at, parsed) = match &mut self.reader {
                Units::Lines(parser) => match self.input.next_line()? {
                    Some((at, Line::Text(line))) => {
                        let line = if self.keeps_tabs { line } else { line.trim() };
                        let place = self.lines as usize;
                        // What has columns needs nothing of what stands before them.
                        if place < self.preamble.lines && self.has_columns {
                            (at, Ok(Parsed::Other(self.preamble.kind(place, line))))
                        } else {
                            (at, parser.parse(line).or_else(|fault| self.preamble.or_fault(place, line, fault)))
                        }
                    }
                    Some((at, Line::Bytes(found))) => (at, Err(no_text(found))),
                    None => return Ok(self.completions.next(true)),
                },
                Units::Records { bytes, parse } => match self.input.next_record(*bytes)? {
                    Some((at, record)) => (at, parse(record)),
                    None => return Ok(self.completions.next(true)),
                },
            };
            self.lines += 1;
            let checked = match parsed {
                Ok(Parsed::Request(record)) => self.request(at, record),
                Ok(Parsed::Issued(record)) => self.request(at, record).map(|request| {
                    request.into_iter().for_each(|request| self.completions.issued(request));
                    None
                }),
                Ok(Parsed::Appended(record)) => self.request(at, record).map(|request| {
                    request.into_iter().for_each(|request| self.completions.appended(request));
                    None
                }),
                Ok(Parsed::Completed(record)) => {
                    self.skipped.add(match &self.reader {
                        Units::Lines(parser) => parser.completions(),
                        Units::Records { .. } => "completions",
                    });
                    self.completions.completed(&record);
                    Ok(None)
                }
                Ok(Parsed::Placed(record)) => {
                    self.skipped.add("C events");
                    self.completions.placed(&record);
                    Ok(None)
                }
                Ok(Parsed::Requeued(record, appends)) => {
                    self.skipped.add("R events");
                    self.completions.requeued(&record, appends);
                    Ok(None)
                }
                Ok(Parsed::Ignored(place)) => {
                    self.skipped.add_code(place);
                    Ok(None)
                }
                Ok(Parsed::Other(what)) => {
                    self.skipped.add(what);
                    Ok(None)
                }
                Err(fault) => Err((Sort::Text, fault)),
            };
            match checked {
                Ok(None) => {}
                Ok(request) => return Ok(request),
                Err((sort, fault)) => self.pass_over(at, sort, fault)?,
            }
        }
    }

    /// Passes over a faulty line, if that is wanted and others may be right.
    #[cold]
    fn pass_over(&mut self, at: Position, sort: Sort, fault: Fault) -> Result<(), WorkloadError> {
        let is_lost = matches!(&self.reader, Units::Lines(parser) if parser.is_lost());
        // What follows other names may mean something else.
        if self.has_columns && !is_lost && sort == Sort::Text && header::names_columns(self.input.last_line()) {
            let column = Column { number: 1, name: "header line" };
            let expected = "a request: this line names columns, those behind it may mean something else, and it is not left out; \
                            split the file before it, and read each part";
            return Err(self.fault(at, Fault::new(column, self.input.last_line(), expected)));
        }
        match &mut self.faults {
            Some(faults) if !is_lost => {
                let is_shown = matches!(self.reader, Units::Lines(_)) && !self.input.last_line().trim_matches('\0').is_empty();
                let line = is_shown.then(|| self.input.last_line());
                let found = match (&self.reader, line) {
                    (Units::Lines(parser), Some(line)) if sort == Sort::Text && fault.column.number > 0 => parser.faults(line, fault),
                    _ => vec![fault],
                };
                let column = found.first().map_or(1, |fault| fault.column.number);
                faults.add(at, line, sort, found);
                if let (Sort::Late(late_ns), Some(clock)) = (sort, self.clock) {
                    let time_ns = clock.latest_ns - late_ns;
                    faults.late_within(time_ns, clock.latest_ns - clock.first_ns.min(time_ns), || {
                        sorting(&self.input.path(), &self.preamble, line?, column).filter(|_| self.has_columns)
                    });
                }
                Ok(())
            }
            _ => Err(self.fault(at, fault)),
        }
    }

    /// A request that is to be played, checked against those before.
    #[inline]
    fn request(&mut self, at: Position, mut record: Record) -> Result<Option<Request>, (Sort, Fault)> {
        let Some(kind) = record.op.command() else {
            self.skipped.add("flushes");
            return Ok(None);
        };
        if let Some(days) = &mut self.days {
            record.time_ns = days.since_first_midnight_ns(record.time_ns);
        }
        self.check(&record)?;
        Ok(Some(Request { at, kind, record }))
    }

    /// A fault of what was read last.
    pub(super) fn fault(&self, at: Position, fault: Fault) -> WorkloadError {
        let (path, found) = (self.input.path(), fault.found);
        match at {
            Position::Line(line) if fault.column.number == 0 => WorkloadError::Binary { path, line, found },
            _ => WorkloadError::Line { path, at, place: fault.column, found, expected: fault.expected },
        }
    }

    /// What the trace calls a device.
    pub(super) fn device_name(&self, device: u32) -> String {
        match &self.reader {
            Units::Lines(parser) => parser.device_name(device),
            Units::Records { .. } => device.to_string(),
        }
    }

    /// What is doubtful about what was read.
    pub(super) fn doubts(&self) -> Vec<String> {
        match &self.reader {
            Units::Lines(parser) => parser.doubts(),
            Units::Records { .. } => Vec::new(),
        }
    }

    /// That a device of the trace is on another.
    pub(super) fn stacked(&self) -> Option<String> {
        if let Units::Lines(parser) = &self.reader { parser.stacked() } else { None }
    }

    /// What makes the latencies that were read mean less.
    pub(super) fn caveat(&self) -> Option<String> {
        match &self.reader {
            Units::Lines(parser) => parser.caveat(),
            Units::Records { .. } => None,
        }
    }

    fn check(&mut self, record: &Record) -> Result<(), (Sort, Fault)> {
        self.read += 1;
        let Some(limits) = self.limits else { return Ok(()) };
        let time_ns = record.time_ns;
        let Some(clock) = self.clock else {
            self.clock = Some(Clock { first_ns: time_ns, latest_ns: time_ns });
            self.peaks.push_back((self.read, time_ns));
            return Ok(());
        };
        if time_ns >= clock.latest_ns {
            if time_ns - clock.first_ns > limits.span_ns_max {
                let first = text::time(clock.first_ns);
                let most = text::duration(limits.span_ns_max.unsigned_abs());
                let expected = format!("at most {most} after the first request ({first}); is the time unit right?");
                return Err((Sort::Span, self.time_fault(time_ns, expected)));
            }
            if limits.late_ns_max > 0 && time_ns > clock.latest_ns {
                self.peaks.push_back((self.read, time_ns));
                while let Some((place, peak_ns)) = self.peaks.front()
                    && place + PLACES_MAX < self.read
                {
                    self.latest_before_peaks_ns = Some(*peak_ns);
                    self.peaks.pop_front();
                }
            }
            self.clock = Some(Clock { latest_ns: time_ns, ..clock });
            return Ok(());
        }
        self.check_late(time_ns, clock.latest_ns, limits.late_ns_max)?;
        self.clock = Some(Clock { first_ns: clock.first_ns.min(time_ns), ..clock });
        Ok(())
    }

    #[cold]
    fn check_late(&mut self, time_ns: i128, latest_ns: i128, late_ns_max: i128) -> Result<(), (Sort, Fault)> {
        let late_ns = latest_ns - time_ns;
        if late_ns_max == 0 {
            let expected = format!(
                "no time before that of the request before, {}, which is {} later: time must not go backwards; \
                 `--reorder-ms` allows lines that are slightly late",
                text::time(latest_ns),
                text::duration(late_ns.unsigned_abs())
            );
            return Err((Sort::Late(late_ns), self.time_fault(time_ns, expected)));
        }
        if late_ns > late_ns_max {
            let expected = format!(
                "at most {} before the latest time so far, {}, and it is {} before; `--reorder-ms` says how late lines may be",
                text::duration(late_ns_max.unsigned_abs()),
                text::time(latest_ns),
                text::duration(late_ns.unsigned_abs())
            );
            return Err((Sort::Late(late_ns), self.time_fault(time_ns, expected)));
        }
        let first_later = self.peaks.partition_point(|(_, peak_ns)| *peak_ns <= time_ns);
        let too_far = self.latest_before_peaks_ns.is_some_and(|latest_ns| latest_ns > time_ns);
        let places = self.peaks.get(first_later).map_or(u64::MAX, |(place, _)| self.read - place);
        if too_far || places > PLACES_MAX {
            let expected = format!("a time that belongs at most {} requests before this line", text::grouped(PLACES_MAX));
            return Err((Sort::Place, self.time_fault(time_ns, expected)));
        }
        self.disorder.late += 1;
        self.disorder.late_ns_max = self.disorder.late_ns_max.max(late_ns);
        self.disorder.places = self.disorder.places.max(places);
        Ok(())
    }

    /// Whether a line that was read is a request without a fault.
    pub(super) fn has_requests(&self) -> bool {
        self.read > 0
    }

    /// How many zone appends had no completion that says where they went.
    pub(super) fn unplaced(&self) -> u64 {
        self.completions.unplaced()
    }

    /// How many requests were issued again after they had been put back.
    pub(super) fn taken_back(&self) -> u64 {
        self.completions.taken_back()
    }

    /// Where the times stand.
    pub(super) fn time_column(&self) -> Column {
        let of_parser = if let Units::Lines(parser) = &self.reader { parser.time_column() } else { None };
        of_parser.unwrap_or(self.format.time_column)
    }

    fn time_fault(&self, time_ns: i128, expected: String) -> Fault {
        Fault { column: self.time_column(), found: format!("a time of {}", text::time(time_ns)), expected }
    }
}

/// The requests of a trace in the order of their times. Those of equal times stay in the order of the file.
pub(super) struct Ordered {
    pub(super) records: Records,
    /// How many requests are held back, as many as the first pass found necessary; with none, the file is in order.
    places: usize,
    held: BinaryHeap<Reverse<Held>>,
    ended: bool,
}

/// Ordered by time and, at equal times, by the place in the file.
struct Held(Request);

impl Held {
    fn key(&self) -> (i128, Position) {
        (self.0.record.time_ns, self.0.at)
    }
}

impl PartialEq for Held {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Held {}

impl PartialOrd for Held {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Held {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

impl Ordered {
    /// Holds back as many requests as `places` says; see [`Disorder::places`].
    pub(super) fn new(records: Records, places: u64) -> Self {
        Self { records, places: places.min(PLACES_MAX) as usize, held: BinaryHeap::new(), ended: false }
    }

    /// The next request in the order of times.
    #[inline]
    pub(super) fn next(&mut self) -> Result<Option<Request>, WorkloadError> {
        if self.places == 0 {
            return self.records.next();
        }
        while !self.ended && self.held.len() <= self.places {
            match self.records.next()? {
                Some(request) => self.held.push(Reverse(Held(request))),
                None => self.ended = true,
            }
        }
        Ok(self.held.pop().map(|Reverse(Held(request))| request))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_day_go_on_behind_midnight() {
        const HOUR: i128 = 3_600_000_000_000;
        let mut days = Days::default();
        let mut passes = |times: &[i128]| times.iter().map(|time| days.since_first_midnight_ns(*time)).collect::<Vec<_>>();
        // Half a day back is a step back, and a ns more the next day.
        assert_eq!(passes(&[23 * HOUR, 11 * HOUR, 11 * HOUR - 1]), [23 * HOUR, 11 * HOUR, 35 * HOUR - 1]);
        // Behind midnight, a late line may be of the day before.
        assert_eq!(passes(&[11 * HOUR, 23 * HOUR + 1, 23 * HOUR, HOUR]), [35 * HOUR, 23 * HOUR + 1, 47 * HOUR, 49 * HOUR]);
        // On the first day nothing is of the day before.
        assert_eq!(Days::default().since_first_midnight_ns(1000 * HOUR), 1000 * HOUR);
        assert_eq!([HOUR, 14 * HOUR].map(|time| Days { latest_ns: Some(HOUR) }.since_first_midnight_ns(time)), [HOUR, 14 * HOUR]);
    }

    #[test]
    fn what_was_skipped_is_said_in_one_phrase() {
        let mut skipped = Skipped::default();
        assert_eq!(skipped.said(), None);
        skipped.add("C events");
        assert_eq!(skipped.said().unwrap(), "1 C event");
        skipped.add("flushes");
        skipped.add("C events");
        skipped.add("header lines");
        assert_eq!(skipped.said().unwrap(), "2 C events, 1 flush and 1 header line");
        for (what, of_one) in [
            ("lines of statistics", "line of statistics"),
            ("wait lines", "wait line"),
            ("requests other than reads and writes", "request other than reads and writes"),
            ("messages", "message"),
        ] {
            assert_eq!(one(what), of_one);
        }
    }
}
