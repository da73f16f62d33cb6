//! Whether the header line of a trace agrees with the format that its other lines have.

use crate::text;
use crate::trace::format::Layout;
use crate::trace::header::{self, Header, Is, Name, Unit};
use crate::trace::mapping::{Columns, Role};
use crate::trace::op::Op;
use crate::trace::units::{AddressUnit, TimeUnit};

/// What a header line says of a format's columns.
#[derive(Debug, Default)]
pub(super) struct Agreement {
    /// What it says otherwise than the format, as phrases.
    contradictions: Vec<String>,
    /// What it does not say and the format takes for granted, as phrases.
    assumed: Vec<String>,
    /// The unit that it says its times have.
    pub(super) time_unit: Option<TimeUnit>,
    /// Whether its names are those of the columns of the other lines.
    pub(super) is_aligned: bool,
    /// Whether a column is another than the format has in its place.
    pub(super) is_misplaced: bool,
}

impl Agreement {
    /// What the header line says otherwise than the format, as a list, if it does.
    pub(super) fn contradictions(&self) -> Option<String> {
        (!self.contradictions.is_empty()).then(|| self.contradictions.join("; "))
    }

    fn misplace(&mut self, contradiction: String) {
        self.is_misplaced = true;
        self.contradictions.push(contradiction);
    }

    /// What the format takes for granted, as a list, if it does.
    pub(super) fn assumed(&self) -> Option<String> {
        (!self.assumed.is_empty()).then(|| text::listed(&self.assumed))
    }
}

/// Holds a header line against the columns of the format that the other lines have.
pub(super) fn agreement(header: Option<&Header>, format: &'static str, layout: &Layout, columns: &Columns) -> Agreement {
    let mut found = Agreement { is_aligned: true, ..Agreement::default() };
    let Some(Header { line, titles, .. }) = header else { return found };
    let is_comment = header::uncommented(line).is_some();
    let names: Vec<Name> = titles.iter().map(|title| header::read(title)).collect();
    let named = Role::ALL.into_iter().filter(|role| names.iter().any(|name| name.is == Is::Role(*role))).count();
    found.is_aligned = titles.len() == layout.names.len() || layout.open_ended && titles.len() > layout.names.len();
    // A sentence before the trace names next to nothing, and a comment that names some of it is no header line.
    if is_comment && named < 3 || !found.is_aligned && (is_comment || named < 2) {
        return found;
    }
    if !found.is_aligned {
        let (names, columns) = (titles.len(), layout.names.len());
        found.contradictions.push(format!("it has {names} names, and a line of {format} has {columns} columns"));
        return found;
    }
    found.time_unit = columns.place(Role::Time).and_then(|place| match names[place].unit {
        Some(Unit::Time(unit)) => Some(unit),
        _ => None,
    });
    for (index, own) in layout.names.iter().enumerate() {
        let said = Said { number: index + 1, title: &titles[index], name: &names[index], format, own };
        // Where the names of a role stand elsewhere as well, the format's column is the one.
        let stands_elsewhere = |role: Role| columns.place(role).is_none_or(|place| names[place].is != Is::Role(role));
        match (columns.role_at(index), said.name.is) {
            (Some(role), Is::Role(named)) if named != role => found.misplace(said.misplaced()),
            (Some(_), Is::Other) => found.misplace(said.misplaced()),
            (Some(role), Is::SomeTime) if said.name.unit.is_some() && role != Role::Latency && !Role::WHEN.contains(&role) => {
                found.misplace(said.misplaced())
            }
            (Some(role), _) => said.hold(role, columns, &mut found),
            // What a format leaves out changes nothing where it has times and sizes.
            (None, Is::Role(Role::Latency | Role::Delta | Role::Done | Role::Last)) => {}
            (None, Is::Role(named)) if stands_elsewhere(named) => found.misplace(said.misplaced()),
            (None, _) => {}
        }
    }
    found
}

/// What a header line says of units otherwise than a mapping that was given, a note for each.
pub(super) fn doubts(header: Option<&Header>, columns: &Columns, time_unit: Option<TimeUnit>) -> Vec<String> {
    // Where other lines have another number of fields, its names are not known to be of the columns in their places.
    let Some(Header { titles, delimiter: Some(_), .. }) = header else { return Vec::new() };
    let doubt = |role: Role| {
        let index = columns.place_under(role, titles)?;
        let title = titles.get(index)?;
        let unit = header::read_among(title, titles).unit?;
        let space = |own: Option<AddressUnit>| {
            let (said, own) = (AddressUnit::of(unit.bytes()?)?, own?);
            (said.bytes() != own.bytes()).then(|| (said.to_string(), own.to_string()))
        };
        let time = |own: Option<TimeUnit>| {
            let (Unit::Time(said), own) = (unit, own.filter(|own| TimeUnit::ALL.contains(own))?) else { return None };
            (said != own).then(|| (said.to_string(), own.to_string()))
        };
        let (said, own) = match role {
            Role::Time | Role::Delta | Role::Done => time(columns.time_unit.or(time_unit)),
            Role::Latency => time(columns.latency_unit),
            Role::Lba => space(columns.lba_unit),
            Role::Len | Role::Last | Role::End => space(columns.len_unit),
            Role::Op | Role::Device | Role::Flush => None,
        }?;
        let (number, title, name) = (index + 1, text::quoted(title), role.name());
        Some(format!(
            "its header line says that column {number}, {title}, is in {said}, and {name} is read in {own}; {name}:{said} reads it so"
        ))
    };
    Role::ALL.into_iter().filter_map(doubt).collect()
}

/// One name of a header line, and what the format has in its place.
struct Said<'a> {
    number: usize,
    title: &'a str,
    name: &'a Name,
    format: &'static str,
    own: &'a str,
}

impl Said<'_> {
    fn misplaced(&self) -> String {
        format!("column {}, {}, is where {} has {}", self.number, text::quoted(self.title), self.format, self.own)
    }

    /// Holds the unit and the codes of a column that may have this role.
    fn hold(&self, role: Role, columns: &Columns, found: &mut Agreement) {
        let Self { number, name, format, own, .. } = self;
        let title = text::quoted(self.title);
        let other_unit = match (role, name.unit) {
            (_, None) => None,
            (Role::Time | Role::Delta | Role::Done, Some(unit)) => {
                columns.time_unit.filter(|own| unit != Unit::Time(*own)).map(|own| own.to_string())
            }
            (Role::Latency, Some(unit)) => columns.latency_unit.filter(|own| unit != Unit::Time(*own)).map(|own| own.to_string()),
            (Role::Lba, Some(unit)) => columns.lba_unit.filter(|own| !is_in(unit, *own)).map(|own| own.to_string()),
            (Role::Len | Role::Last | Role::End, Some(unit)) => {
                columns.len_unit.filter(|own| !is_in(unit, *own)).map(|own| own.to_string())
            }
            (Role::Op | Role::Device | Role::Flush, Some(_)) => return found.contradictions.push(self.misplaced()),
        };
        if let (Some(unit), Some(own_unit)) = (name.unit, other_unit) {
            found.contradictions.push(format!("column {number}, {title}, is in {unit}, and {own} of {format} in {own_unit}"));
        }
        let reads = |code| columns.codes.as_ref().is_some_and(|codes| codes.op(code) == Some(Op::Read));
        let own_code = if reads("1") { "1" } else { "0" };
        match name.read_code.filter(|_| role == Role::Op && columns.codes.is_some()) {
            Some(code) if !reads(code) => {
                found.contradictions.push(format!("in column {number}, {title}, {code} is a read, and in {own} of {format} {own_code} is"));
            }
            _ => {}
        }
        if is_same(self.title, own) {
            return;
        }
        if name.is == Is::SomeTime || name.is == Is::Unknown && name.unit.is_none() {
            found.assumed.push(format!("{title} is its {}", role.name()));
        }
        if role == Role::Op && name.read_code.is_none() && columns.codes.is_some() {
            found.assumed.push(format!("{own_code} in {title} is a read"));
        }
        if role == Role::Len && name.unit == Some(Unit::Blocks) {
            found.assumed.push(format!("{title} counts blocks of 512 bytes"));
        }
    }
}

fn is_in(unit: Unit, own: AddressUnit) -> bool {
    match unit {
        Unit::Space(unit) => unit == own,
        Unit::Blocks => own == AddressUnit::Sectors,
        Unit::Sized(bytes) => bytes == u64::from(own.bytes()),
        Unit::Time(_) | Unit::Pages => false,
    }
}

/// Whether two names differ by nothing but capitals and what is between their words.
fn is_same(title: &str, own: &str) -> bool {
    let letters = |name: &str| name.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect::<String>();
    letters(title) == letters(own)
}
