//! A document: values in tables, each with its place.

use crate::fault::{ConfigError, Fault, Place};
use indexmap::IndexMap;
use serde::Serialize;
use std::sync::Arc;
use toml::de::{DeTable, DeValue};

/// One value of a document with where it comes from, to be shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The table that holds the key; empty at the top.
    pub section: String,
    /// The key.
    pub key: String,
    /// The value as JSON.
    pub value: serde_json::Value,
    /// Paper and section, data sheet, or reason; empty if the document gives none.
    pub source: String,
}

/// A value, or a table of values, and where its key stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Value {
    /// Where it stands.
    pub place: Place,
    /// What it is.
    pub data: Data,
}

/// What a value is.
#[derive(Debug, Clone, PartialEq)]
pub enum Data {
    /// A section, a value with its source, or an entry of a list.
    Table(Table),
    /// A list.
    List(Vec<Value>),
    /// Text, a number, a truth value or a date.
    Plain(toml::Value),
}

impl Value {
    /// A value whose parts all stand at one place.
    pub fn new(place: &Place, value: toml::Value) -> Self {
        let data = match value {
            toml::Value::Table(table) => Data::Table(Table::new(place, table)),
            toml::Value::Array(values) => Data::List(values.into_iter().map(|value| Self::new(place, value)).collect()),
            plain => Data::Plain(plain),
        };
        Self { place: place.clone(), data }
    }

    /// The table that it is, if it is one that does not stand for a value with its source.
    pub fn section(&self) -> Option<&Table> {
        match &self.data {
            Data::Table(table) if table.get("value").is_none() => Some(table),
            _ => None,
        }
    }

    /// The table that it is.
    pub(crate) fn table_mut(&mut self) -> Option<&mut Table> {
        match &mut self.data {
            Data::Table(table) => Some(table),
            _ => None,
        }
    }

    /// As a section that values can be put into; what else it was is gone.
    fn section_mut(&mut self) -> &mut Table {
        if self.section().is_none() {
            self.data = Data::Table(Table::default());
        }
        match &mut self.data {
            Data::Table(table) => table,
            _ => unreachable!("it was made a table"),
        }
    }

    /// The value without its source.
    pub fn plain(&self) -> &Self {
        match &self.data {
            Data::Table(table) => table.get("value").unwrap_or(self),
            _ => self,
        }
    }

    /// Where the value comes from; empty if the document does not say.
    pub fn source(&self) -> &str {
        match &self.data {
            Data::Table(table) if table.get("value").is_some() => table.get("source").and_then(Self::as_str).unwrap_or_default(),
            _ => "",
        }
    }

    /// The text that it is, with or without its source.
    pub fn as_str(&self) -> Option<&str> {
        match &self.plain().data {
            Data::Plain(toml::Value::String(text)) => Some(text),
            _ => None,
        }
    }

    /// As it would be written.
    pub fn to_toml(&self) -> toml::Value {
        match &self.data {
            Data::Table(table) => toml::Value::Table(table.to_toml()),
            Data::List(values) => toml::Value::Array(values.iter().map(Self::to_toml).collect()),
            Data::Plain(plain) => plain.clone(),
        }
    }
}

/// Values by their keys, in the order of the document.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table(IndexMap<String, Value>);

impl Table {
    /// A table whose values all stand at one place.
    pub fn new(place: &Place, table: toml::Table) -> Self {
        Self(table.into_iter().map(|(key, value)| (key, Value::new(place, value))).collect())
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        self.0.get_mut(key)
    }

    /// Keys and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> + Clone {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// The values, in order, to be changed.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut Value> {
        self.0.values_mut()
    }

    /// Gives a key another value.
    pub fn set(&mut self, key: &str, value: Value) {
        self.0.insert(key.into(), value);
    }

    /// Takes a value out.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        self.0.shift_remove(key)
    }

    /// The section of this name, made at `place` if there is none.
    pub fn section_mut(&mut self, name: &str, place: &Place) -> &mut Self {
        let made = || Value { place: place.clone(), data: Data::Table(Self::default()) };
        self.0.entry(name.into()).or_insert_with(made).section_mut()
    }

    /// Adds the values of another table, section by section, in place of those that it has.
    pub fn merge(&mut self, other: &Self) {
        for (key, value) in other.iter() {
            match (value.section(), self.get(key).and_then(Value::section)) {
                (Some(section), Some(_)) => self.section_mut(key, &value.place).merge(section),
                _ => self.set(key, value.clone()),
            }
        }
    }

    /// As it would be written.
    pub fn to_toml(&self) -> toml::Table {
        self.iter().map(|(key, value)| (key.to_string(), value.to_toml())).collect()
    }

    /// The value at a path of names, joined by dots. A name may have dots of its own.
    fn at(&self, path: &str) -> Option<&Value> {
        self.iter().find_map(|(key, value)| match path.strip_prefix(key)? {
            "" => Some(value),
            rest => value.section()?.at(rest.strip_prefix('.')?),
        })
    }

    /// Every value with its source, in order.
    pub fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        self.add_rows("", &mut rows);
        rows
    }

    fn add_rows(&self, within: &str, rows: &mut Vec<Row>) {
        for (key, value) in self.iter() {
            if let Some(section) = value.section() {
                section.add_rows(&if within.is_empty() { key.to_string() } else { format!("{within}.{key}") }, rows);
                continue;
            }
            // TOML has nothing that JSON lacks but numbers that are none, which are shown as such.
            let shown = value.plain().to_toml();
            let shown = serde_json::to_value(&shown).unwrap_or_else(|_| shown.to_string().into());
            rows.push(Row { section: within.into(), key: key.into(), value: shown, source: value.source().into() });
        }
    }
}

/// A parsed file, or the values that options give.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// File name or built-in name, for messages.
    pub name: String,
    /// Its values.
    pub root: Table,
    /// Whether options give its values, and no file.
    pub(crate) given: bool,
}

impl Document {
    /// Parses `text`; `name` is what messages call it.
    ///
    /// # Errors
    /// Text that is not TOML.
    pub fn parse(name: &str, text: &str) -> Result<Self, ConfigError> {
        let ends = text.bytes().enumerate().filter_map(|(at, byte)| (byte == b'\n').then_some(at)).collect();
        let source = Source { name: name.into(), ends };
        let document = DeTable::parse(text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start);
            Fault::new("", "", error.message()).at(source.place(start))
        })?;
        Ok(Self { name: name.into(), root: source.table(document.get_ref())?, given: false })
    }

    /// A document of values that a program gives under a name.
    pub fn of(name: &str, table: toml::Table) -> Self {
        Self { name: name.into(), root: Table::new(&Place::new(name, 0), table), given: false }
    }

    /// A text at the top.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.root.get(key).and_then(Value::as_str)
    }

    /// Whether it has a key.
    pub fn gives(&self, section: &str, key: &str) -> bool {
        self.find(section, key).is_some()
    }

    /// Where a key stands, or its section, or just the file.
    pub fn place(&self, section: &str, key: &str) -> Place {
        self.find(section, key).or_else(|| self.find(section, "")).unwrap_or_else(|| Place::new(&self.name, 0))
    }

    /// A value; the section itself if `key` is empty.
    pub fn value(&self, section: &str, key: &str) -> Option<&Value> {
        match (section, key) {
            ("", "") => None,
            ("", path) | (path, "") => self.root.at(path),
            _ => self.root.at(section)?.section()?.get(key),
        }
    }

    pub(crate) fn find(&self, section: &str, key: &str) -> Option<Place> {
        self.value(section, key).map(|value| value.place.clone())
    }
}

/// A text that is being parsed.
struct Source {
    name: Arc<str>,
    /// Where its lines end.
    ends: Vec<usize>,
}

impl Source {
    fn place(&self, start: usize) -> Place {
        Place { name: self.name.clone(), line: self.ends.partition_point(|end| *end < start) + 1 }
    }

    fn table(&self, table: &DeTable<'_>) -> Result<Table, ConfigError> {
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        let entry = |(key, value): (&toml::Spanned<_>, &toml::Spanned<DeValue<'_>>)| {
            let key: &toml::Spanned<std::borrow::Cow<'_, str>> = key;
            Ok((key.get_ref().to_string(), self.value(key.span().start, value.get_ref())?))
        };
        entries.into_iter().map(entry).collect::<Result<_, _>>().map(Table)
    }

    fn value(&self, start: usize, value: &DeValue<'_>) -> Result<Value, ConfigError> {
        let place = self.place(start);
        let fault = |what: &str| ConfigError::from(Fault::new("", "", what).at(place.clone()));
        let data = match value {
            DeValue::Table(table) => Data::Table(self.table(table)?),
            DeValue::Array(values) => {
                let values = values.iter().map(|value| self.value(value.span().start, value.get_ref()));
                Data::List(values.collect::<Result<_, _>>()?)
            }
            DeValue::String(text) => Data::Plain(text.to_string().into()),
            DeValue::Boolean(value) => Data::Plain((*value).into()),
            DeValue::Datetime(value) => Data::Plain((*value).into()),
            DeValue::Integer(number) => {
                let number = i64::from_str_radix(number.as_str(), number.radix());
                Data::Plain(number.map_err(|_| fault("a whole number has more than 64 bits"))?.into())
            }
            DeValue::Float(number) => Data::Plain(number.as_str().parse::<f64>().map_err(|error| fault(&error.to_string()))?.into()),
        };
        Ok(Value { place, data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_found_however_the_key_is_written() {
        let document =
            Document::parse("d.toml", "a.b = 1\n# [c]\n[\"c\"]\n'd' = \"\"\"\ne = 1\n\"\"\"\ne = 2\n['x.y'.z]\nk = 0\n").unwrap();
        let place = |section: &str, key: &str| document.place(section, key).to_string();
        assert_eq!(place("a", "b"), "d.toml:1");
        assert_eq!(place("c", "d"), "d.toml:4");
        assert_eq!(place("c", "e"), "d.toml:7");
        assert_eq!(place("c", "f"), "d.toml:3");
        assert_eq!(place("x.y.z", "k"), "d.toml:9");
        assert_eq!(place("f", ""), "d.toml");
    }

    #[test]
    fn a_value_may_carry_its_source() {
        let rows =
            Document::parse("d.toml", "[t]\nread_ns = { value = 0x10, source = \"Table 1\" }\n[t.u]\nx = nan\n").unwrap().root.rows();
        assert_eq!((rows[0].section.as_str(), rows[0].value.as_i64(), rows[0].source.as_str()), ("t", Some(16), "Table 1"));
        assert_eq!((rows[1].section.as_str(), rows[1].key.as_str()), ("t.u", "x"));
    }

    #[test]
    fn what_is_no_toml_is_refused_with_its_line() {
        for (text, place) in [("[timing\n", "d.toml:1: "), ("a = 1\nb =\n", "d.toml:2: "), ("\n\na = 18446744073709551615", "d.toml:3: ")] {
            let error = Document::parse("d.toml", text).unwrap_err().to_string();
            assert!(error.starts_with(place), "{error}");
        }
    }
}
