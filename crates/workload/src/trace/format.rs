//! What a format says of itself, and what its lines say.

use tinytail_core::units::Ns;

use crate::error::Column;
use crate::trace::fields::Fault;
use crate::trace::forms::Times;
use crate::trace::header::Preamble;
use crate::trace::mapping::Columns;
use crate::trace::op::Op;
use crate::trace::units::{AddressUnit, Event, OpCodes, TimeUnit};

/// A trace format.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// The name by which it can be chosen.
    pub name: &'static str,
    /// What it is, in one line.
    pub summary: &'static str,
    /// Where times stand.
    pub time_column: Column,
    /// What a device is called and where it stands, where there are several.
    pub device_column: Option<Column>,
    /// What is known of its times.
    pub time: Time,
    /// The unit of addresses and sizes, where the format fixes one.
    pub address_unit: Option<AddressUnit>,
    /// Whether operations are codes that differ by source.
    pub op_codes: bool,
    /// Its columns, against which a header line is held; none where lines say themselves what they are.
    pub layout: Option<Layout>,
    /// The events of which one can be chosen, the usual one first; none where each line is a request.
    pub events: &'static [Event],
    /// What the latencies are that its lines hold, from where to where; none if they hold none.
    pub latency: fn(&Settings) -> Option<&'static str>,
    /// The order of its lines.
    pub order: Order,
    /// How it is recognised and read.
    pub reader: Reader,
}

/// The columns of a delimited format.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// What they are called.
    pub names: &'static [&'static str],
    /// What they are, as a mapping has it, with the units that the format fixes.
    pub columns: &'static str,
    /// The codes for operations, where the format fixes codes that are numbers.
    pub ops: Option<&'static str>,
    /// Whether a line may have more columns.
    pub open_ended: bool,
    /// How its times are written, where that tells them from others.
    pub times: Option<Times>,
}

/// What a format says of its times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// They are in this unit.
    Fixed(TimeUnit),
    /// They are in a unit that differs by source.
    Given,
    /// There are none.
    None,
}

/// The order of a format's lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// That of the times, exactly.
    Time,
    /// Roughly that of the times: that of completion, say, or of several recorders merged.
    RoughlyTime,
}

/// How a format is recognised and read.
#[derive(Clone, Copy, Debug)]
pub enum Reader {
    /// As text, line by line.
    Lines {
        /// Whether a line looks like one of this format's.
        sniff: fn(&str) -> bool,
        /// Makes a parser of lines.
        parser: fn(&Settings) -> Box<dyn Parser>,
    },
    /// As binary records of one size.
    Records {
        /// Size of a record.
        bytes: usize,
        /// Whether a file that begins like this is one of this format.
        sniff: fn(&[u8]) -> bool,
        /// Reads one record, which has the right size.
        parse: fn(&[u8]) -> Result<Parsed, Fault>,
    },
}

/// Reads the lines of one trace, from the first to the last.
pub trait Parser: Send {
    /// Reads one line that is not blank.
    ///
    /// # Errors
    /// Names the column that is not what the format says.
    fn parse(&mut self, line: &str) -> Result<Parsed, Fault>;

    /// All that is wrong with a line that was refused; `first` is what [`Parser::parse`] said.
    fn faults(&self, _line: &str, first: Fault) -> Vec<Fault> {
        vec![first]
    }

    /// Whether the fault that was found last keeps every other line from being read.
    fn is_lost(&self) -> bool {
        false
    }

    /// Where times stand in this trace, if that is not the same in all of the format.
    fn time_column(&self) -> Option<Column> {
        None
    }

    /// What the trace calls a device that was read: its number, unless the format has names.
    fn device_name(&self, device: u32) -> String {
        device.to_string()
    }

    /// What lines are called that say that a request has completed.
    fn completions(&self) -> &'static str {
        "C events"
    }

    /// What makes the latencies that were read mean less beside others.
    fn caveat(&self) -> Option<String> {
        None
    }

    /// That a device of the trace is on another, so that requests come twice.
    fn stacked(&self) -> Option<String> {
        None
    }

    /// What is doubtful about the lines that were read.
    fn doubts(&self) -> Vec<String> {
        Vec::new()
    }
}

/// What a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// A request.
    Request(Record),
    /// A request whose latency follows from a later line. A format has these or [`Parsed::Request`], not both.
    Issued(Record),
    /// As [`Parsed::Issued`], but a later line also says where the request goes, as with a zone append. Until then its place is the
    /// start of its zone.
    Appended(Record),
    /// That a request has completed, or a part of it, or several that were merged; with the time of that.
    Completed(Record),
    /// That a request of [`Parsed::Appended`] has completed, with the place at which it was written.
    Placed(Record),
    /// That a request of [`Parsed::Issued`], or of [`Parsed::Appended`] if that is said, was put back and is to be issued again.
    Requeued(Record, bool),
    /// A request that is left out by its operation code, as was said; with the number of the code among those that are.
    Ignored(usize),
    /// Something else that belongs there, by what it is called in the plural.
    Other(&'static str),
}

/// A request as a trace has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Time as recorded, in nanoseconds. Some recorders count from a moment after the first request.
    pub time_ns: i128,
    /// Device number.
    pub device: u32,
    /// What is to be done.
    pub op: Op,
    /// First sector on its device.
    pub sector: u64,
    /// Number of sectors.
    pub sectors: u32,
    /// How long the request took when it was recorded, if the trace says that.
    pub latency_ns: Option<Ns>,
}

/// The units and codes with which a trace is read.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Unit of time, or none if times are not looked at.
    pub time_unit: Option<TimeUnit>,
    /// Unit of addresses and sizes.
    pub address_unit: AddressUnit,
    /// Operation codes.
    pub ops: OpCodes,
    /// The event that counts as a request's arrival, where a format has several.
    pub event: Option<Event>,
    /// What the columns mean, in the format that needs to be told.
    pub columns: Option<Box<Columns>>,
    /// What stands before the requests.
    pub preamble: Preamble,
}
