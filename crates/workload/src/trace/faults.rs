//! What is wrong with the lines of a trace: every kind of fault once, with its first line and how many lines have it.

use crate::error::{Position, WorkloadError};
use crate::text;
use crate::trace::fields::Fault;
use crate::trace::units::SkipFaulty;

/// Kinds that are told. More than these are counted together.
const KINDS_MAX: usize = 12;

/// A message about so few lines does not state the share that is left out.
const FEW_LINES: u64 = 20;

/// If no more things were found in place of one, all of them are told.
const FOUND_MAX: usize = 8;

/// Where a fault was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    /// In a line by itself.
    Text,
    /// In its time, which is so many ns before one that was read before.
    Late(i128),
    /// In its time, which is too far from that of the first request.
    Span,
    /// In its time, which belongs too many requests before.
    Place,
}

impl Sort {
    fn is_as(self, other: Self) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }
}

/// Faults of one kind.
#[derive(Clone, Debug)]
struct Kind {
    sort: Sort,
    first_at: Position,
    first_line: Option<String>,
    /// The first of them.
    fault: Fault,
    /// What was found, the first first, up to [`FOUND_MAX`] and one more.
    found: Vec<String>,
    lines: u64,
}

/// The faulty lines of a trace.
#[derive(Clone, Debug, Default)]
pub(super) struct Faults {
    kinds: Vec<Kind>,
    lines: u64,
    /// Faulty lines of kinds beyond `KINDS_MAX`.
    others: u64,
    /// How late the latest of them is, and how far it is then from the first time to the last.
    late_ns_max: i128,
    span_ns: i128,
    /// How often a late time is before the late one before it, from the first on, and that one.
    falls: u64,
    last_late_ns: i128,
    /// The command that sorts the file by its times, if there is one.
    sort: Option<String>,
}

impl Faults {
    /// A faulty line, or record, and all that is wrong with it. `line` is what stands there.
    pub(super) fn add(&mut self, at: Position, line: Option<&str>, sort: Sort, found: Vec<Fault>) {
        self.lines += 1;
        if let Sort::Late(late_ns) = sort {
            self.late_ns_max = self.late_ns_max.max(late_ns);
        }
        for fault in found {
            self.add_fault(at, line, sort, fault);
        }
    }

    fn add_fault(&mut self, at: Position, line: Option<&str>, sort: Sort, fault: Fault) {
        // What is expected of a time names another time.
        let is_as = |kind: &Kind| {
            kind.sort.is_as(sort)
                && kind.fault.column.number == fault.column.number
                && (sort != Sort::Text || kind.fault.expected == fault.expected)
        };
        if let Some(kind) = self.kinds.iter_mut().find(|kind| is_as(kind)) {
            kind.lines += 1;
            if kind.found.len() <= FOUND_MAX && !kind.found.contains(&fault.found) {
                kind.found.push(fault.found);
            }
        } else if self.kinds.len() == KINDS_MAX {
            self.others += 1;
        } else {
            let found = vec![fault.found.clone()];
            let first_line = line.map(text::quoted);
            self.kinds.push(Kind { sort, first_at: at, first_line, fault, found, lines: 1 });
        }
    }

    /// Takes note of how far times reach where one is late, and of what sorts them.
    pub(super) fn late_within(&mut self, time_ns: i128, span_ns: i128, sort: impl FnOnce() -> Option<String>) {
        if self.span_ns == 0 {
            self.sort = sort();
        }
        self.falls += u64::from(self.falls == 0 || time_ns < self.last_late_ns);
        self.last_late_ns = time_ns;
        self.span_ns = self.span_ns.max(span_ns);
    }

    /// Whether times fall back by about all that they reach, again and again: the lines are in another order than that of time.
    fn is_in_other_order(&self, late: u64) -> bool {
        const LATE_MIN: u64 = 8;
        late >= LATE_MIN && self.late_ns_max * 10 >= self.span_ns * 9
    }

    /// How many lines are faulty.
    pub(super) fn lines(&self) -> u64 {
        self.lines
    }

    /// Each kind, as a phrase.
    fn said(&self) -> impl Iterator<Item = String> + '_ {
        let one = |kind: &Kind| {
            let Fault { column, expected, .. } = &kind.fault;
            let place = if column.number == 0 { String::new() } else { format!(", {column}") };
            let line = kind.first_line.as_ref().map_or_else(String::new, |line| format!(" ({line})"));
            let also = match &kind.found[1..] {
                [] => String::new(),
                [..] if kind.sort != Sort::Text || kind.found.len() > FOUND_MAX => String::new(),
                more => format!(" (elsewhere {})", text::listed(more)),
            };
            let count = match kind.lines {
                1 => String::new(),
                lines => format!("; {} such {}", text::grouped(lines), kind.first_at.unit(lines)),
            };
            format!("{}{line}{place}: found {}{also}, expected {expected}{count}", kind.first_at, kind.found[0])
        };
        let others = (self.others > 0).then(|| format!("and {} with other faults", text::grouped(self.others)));
        self.kinds.iter().map(one).chain(others)
    }

    /// All of it, a line each.
    pub(super) fn listed(&self) -> String {
        self.said().map(|kind| format!("\n  {kind}")).collect()
    }

    /// How many of these lines are faulty, and what is wrong with them, as a note; nothing if none is.
    pub(super) fn note(&self, lines: u64, allowed: SkipFaulty) -> Option<String> {
        let first = self.kinds.first()?;
        let (unit, are) = (first.first_at.unit(lines), if self.lines == 1 { "is" } else { "are" });
        Some(format!(
            "{} of {} {unit} {are} faulty and left out, as --skip-faulty ({allowed}) allows: {}",
            text::grouped(self.lines),
            text::grouped(lines),
            self.said().collect::<Vec<_>>().join("; ")
        ))
    }

    /// The error of a trace that has more of them than may be left out. `has_requests` says whether any other line is a request.
    pub(super) fn error(
        &self,
        path: String,
        lines: u64,
        has_requests: bool,
        format: &str,
        allowed: Option<SkipFaulty>,
    ) -> Option<WorkloadError> {
        let first = self.kinds.first()?;
        let advice = self.advice(lines, has_requests, format, allowed, first.first_at);
        if let ([kind], 1) = (&self.kinds[..], self.lines) {
            let Fault { column, found, expected } = kind.fault.clone();
            let at = kind.first_at;
            return Some(match at {
                Position::Line(line) if column.number == 0 => WorkloadError::NotText { path, line, found, advice },
                _ => WorkloadError::Line { path, at, place: column, found, expected: expected + &advice },
            });
        }
        let are = if self.lines == 1 { "is" } else { "are" };
        let count = format!("{} of its {} {} {are}", text::grouped(self.lines), text::grouped(lines), first.first_at.unit(lines));
        Some(WorkloadError::Faulty { path, count, kinds: self.listed(), advice: advice.trim_start_matches([';', ' ', '\n']).into() })
    }

    /// What can be done about them, as the end of a message.
    fn advice(&self, lines: u64, has_requests: bool, format: &str, allowed: Option<SkipFaulty>, at: Position) -> String {
        // A late request is as sound as the others.
        let late: u64 = self.kinds.iter().filter(|kind| matches!(kind.sort, Sort::Late(_))).map(|kind| kind.lines).sum();
        if late == self.lines && self.is_in_other_order(late) {
            // A counter that wraps falls once.
            let why = if self.falls == 1 {
                "they fall once, as where the counter of its times has wrapped or two recordings stand one behind the other; add what it counts \
                 up to to the times behind, or split the file there"
                    .into()
            } else {
                let sort = self.sort.as_ref().map_or_else(|| "sort it by time".into(), |sort| format!("`{sort}` sorts it by time"));
                format!("the file is sorted by something else; {sort}")
            };
            return format!("\nThese times fall back by about all that times of this file reach, so that they are not only late: {why}");
        }
        // If there are many, or no other line is a request, the fault is of what they are taken for.
        if !has_requests || self.lines > lines / 2 && lines > 2 {
            return format!(
                "\nIf it is not of the format {}, --format NAME names another, and --columns says what the columns of any delimited text are",
                format
            );
        }
        let left_out = self.lines - late;
        let what = match (self.lines, late) {
            (1, _) => format!("this {}", at.unit(1)),
            (_, 0) => "them".into(),
            _ => "the others".into(),
        };
        let mut advice = if left_out > 0 { format!("; `--skip-faulty {left_out}` leaves {what} out") } else { String::new() };
        if left_out * 10 > lines && lines > FEW_LINES {
            advice += &format!(", which is {} % of its lines", 100 * left_out / lines);
        }
        if late > 0 {
            let late_ms = self.late_ns_max.unsigned_abs().div_ceil(1_000_000);
            advice += &format!("; `--reorder-ms {late_ms}` puts late ones in their places");
        }
        if let Some(allowed) = allowed {
            advice += &format!("{} more than the {allowed} that may be left out", if late > 0 { "; all are" } else { "," });
        }
        advice
    }
}
