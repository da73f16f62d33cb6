//! What is wrong with a value, and where it is: how a decoder's errors become faults.

use crate::document::{Data, Value};
use crate::fault::{Fault, Place, shortened};
use serde::de;
use std::fmt::{self, Display};

/// What a decoder says of a value to the one above, which knows its place.
#[derive(Debug)]
pub(super) enum Error {
    /// It has been told.
    Reported,
    /// The value is of another type; this would be right.
    Type(String),
    /// The value is none of these names.
    Name { hint: String, allowed: String },
    /// A key is missing.
    Missing(&'static str),
    /// A table stands where a value belongs.
    Table,
    /// A word of a type's own.
    Other(String),
    /// The variant of an enum holds something.
    Holds,
}

impl Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for Error {}

impl de::Error for Error {
    fn custom<T: Display>(message: T) -> Self {
        Self::Other(message.to_string())
    }
    fn invalid_type(_: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::Type(expected.to_string())
    }
    fn invalid_value(_: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::Type(expected.to_string())
    }
    fn missing_field(key: &'static str) -> Self {
        Self::Missing(key)
    }
}

/// Where a value is.
#[derive(Clone)]
pub(super) struct At<'a> {
    pub place: &'a Place,
    pub section: String,
    pub key: String,
    /// What messages call it, where that is not its key.
    pub subject: Option<String>,
    pub path: String,
}

impl<'a> At<'a> {
    /// A key of a table that is here.
    pub fn key(&self, key: &str, place: &'a Place) -> Self {
        let path = format!("{}.{key}", self.path);
        let Some(subject) = &self.subject else {
            let section = [self.section.as_str(), &self.key].into_iter().filter(|name| !name.is_empty()).collect::<Vec<_>>().join(".");
            return Self { place, section, key: key.into(), subject: None, path };
        };
        Self { place, subject: Some(format!("{subject}: `{key}`")), path, ..self.clone() }
    }

    /// An entry of a list that is here.
    pub fn entry(&self, index: usize, place: &'a Place) -> Self {
        let of = self.subject.clone().unwrap_or_else(|| format!("`{}`", self.key));
        Self { place, subject: Some(format!("entry {} of {of}", index + 1)), path: format!("{}.{index}", self.path), ..self.clone() }
    }

    pub fn fault(&self, found: impl Into<String>) -> Fault {
        Fault { subject: self.subject.clone(), ..Fault::new(&self.section, &self.key, found).at(self.place.clone()) }
    }

    /// What is wrong with the value that is here, unless it has been told.
    pub fn faulty(&self, error: Error, value: Option<&Value>) -> Option<Fault> {
        Some(match error {
            Error::Reported | Error::Holds => return None,
            Error::Type(allowed) => self.fault(format!("is {}", shown(value))).allowed(allowed),
            Error::Name { hint, allowed } => self.fault(format!("is {}{hint}", shown(value))).allowed(allowed),
            Error::Missing(key) => self.key(key, self.place).fault("is missing"),
            Error::Other(message) if value.is_some_and(|value| matches!(value.plain().data, Data::Table(_))) => {
                self.fault(format!("cannot be used: {message}"))
            }
            Error::Other(message) => self.fault(format!("is {}: {message}", shown(value))),
            Error::Table => {
                let key = &self.key;
                self.fault("is a table without `value`").remedy(format!("write `{key} = {{ value = ..., source = \"...\" }}`"))
            }
        })
    }

    /// A fault of this as a section, and not as a key.
    pub fn section_fault(&self, found: impl Into<String>) -> Fault {
        match self.subject {
            Some(_) => self.fault(found),
            None => Fault::new(self.key("", self.place).section, "", found).at(self.place.clone()),
        }
    }
}

/// A value as it stands in the file, on one line and shortened.
pub(super) fn shown(value: Option<&Value>) -> String {
    value.map_or_else(String::new, |value| shortened(&value.plain().to_toml().to_string()).into_owned())
}
