//! What is wrong with a description, and where. A fault is data until it is shown; [`Fault`]'s `Display` is the one place that
//! words it.

use crate::document::Document;
use std::borrow::Cow;
use std::collections::HashSet;
use std::error::Error;
use std::fmt::{self, Display};
use std::sync::Arc;

/// So many faults of a file are shown; others are counted.
const SHOWN_MAX: usize = 20;
/// A name or a value of a file is shown with so many characters.
const CHARACTERS_MAX: usize = 60;

/// A text of a file as messages have it: not longer than a line.
pub(crate) fn shortened(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(CHARACTERS_MAX) {
        Some((end, _)) => format!("{}...", &text[..end]).into(),
        None => text.into(),
    }
}

/// Where a value stands: a line of a file, or the option that gives it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Place {
    /// The file or built-in name, or the whole option; empty if there is no place.
    pub name: Arc<str>,
    /// The line, from 1; 0 for a whole file and for options.
    pub line: usize,
}

impl Place {
    /// A line of a file; 0 for the file as a whole, or for an option.
    pub fn new(name: &str, line: usize) -> Self {
        Self { name: name.into(), line }
    }
}

impl Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if self.line > 0 { write!(f, ":{}", self.line) } else { Ok(()) }
    }
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fault {
    /// Where it is.
    pub place: Place,
    /// The section; empty at the top of a file.
    pub section: String,
    /// The key; empty if the section itself is wrong.
    pub key: String,
    /// What the message calls the value; nothing where that is its key.
    pub subject: Option<String>,
    /// What was found, as it follows the key: `is 7`.
    pub found: String,
    /// What would be right.
    pub allowed: String,
    /// What to do.
    pub remedy: String,
    /// Other sections and keys that have a part in it.
    pub others: Vec<(String, String)>,
}

impl Fault {
    /// A fault of a key, or of a section if `key` is empty: what was found, as it follows the key.
    pub fn new(section: impl Into<String>, key: impl Into<String>, found: impl Into<String>) -> Self {
        Self { section: section.into(), key: key.into(), found: found.into(), ..Self::default() }
    }

    /// A name that is not known, of a key or of a section if `key` is empty.
    pub fn unknown(section: &str, key: &str, known: &[&str]) -> Self {
        let name = if key.is_empty() { section } else { key };
        Self::new(section, key, format!("is unknown{}", crate::names::did_you_mean(name, known.iter().copied()))).allowed(known.join(", "))
    }

    /// Whether a key of a section is not known.
    pub(crate) fn is_of_unknown_key(&self) -> bool {
        !self.key.is_empty() && !self.section.is_empty() && self.subject.is_none() && self.found.starts_with("is unknown")
    }

    /// Suggests a key of another section, where that has the very name, or one that is nearer than those of this section.
    pub(crate) fn suggest_from(&mut self, sections: &[(String, &[&str])]) {
        let owner =
            |key: &str| sections.iter().find(|(section, keys)| !section.is_empty() && *section != self.section && keys.contains(&key));
        let is_own = |key: &str| sections.iter().any(|(section, keys)| *section == self.section && keys.contains(&key));
        let is_listed = sections.iter().any(|(section, _)| *section == self.section);
        let near = || {
            let keys = sections.iter().filter(|(section, _)| !section.is_empty()).flat_map(|(_, keys)| keys.iter().copied());
            crate::names::nearest(&self.key, keys).filter(|key| !is_own(key) && (is_listed || self.found == "is unknown"))
        };
        let key = if owner(&self.key).is_some() { Some(self.key.as_str()) } else { near() };
        if let Some((key, (section, _))) = key.and_then(|key| Some((key, owner(key)?))) {
            self.found = format!("is unknown (did you mean `{section}.{key}`?)");
        }
    }

    /// With what would be right.
    #[must_use]
    pub fn allowed(self, allowed: impl Into<String>) -> Self {
        Self { allowed: allowed.into(), ..self }
    }

    /// With what to do.
    #[must_use]
    pub fn remedy(self, remedy: impl Into<String>) -> Self {
        Self { remedy: remedy.into(), ..self }
    }

    /// With another key that has a part in it.
    #[must_use]
    pub fn with(mut self, section: &str, key: &str) -> Self {
        self.others.push((section.into(), key.into()));
        self
    }

    /// At a place.
    #[must_use]
    pub fn at(self, place: Place) -> Self {
        Self { place, ..self }
    }

    /// At the last of some documents that gives one of its keys: what was added last to the others is at fault. Else at the
    /// section, else at all of them.
    fn find<'a>(&mut self, documents: impl DoubleEndedIterator<Item = &'a Document> + Clone) {
        if self.place != Place::default() {
            return;
        }
        let keys = || std::iter::once((&self.section, &self.key)).chain(self.others.iter().map(|(section, key)| (section, key)));
        let latest = |section: &str, key: &str| documents.clone().rev().find_map(|document| document.find(section, key));
        let given = documents.clone().rev().find_map(|document| keys().find_map(|(section, key)| document.find(section, key)));
        self.place = given.or_else(|| latest(&self.section, "")).unwrap_or_else(|| {
            let names: Vec<&str> = documents.clone().map(|document| document.name.as_str()).collect();
            Place::new(&names.join("+"), 0)
        });
    }
}

impl Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.place.name.is_empty() {
            write!(f, "{}: ", self.place)?;
        }
        if !self.section.is_empty() {
            write!(f, "[{}] ", shortened(&self.section))?;
        }
        match &self.subject {
            Some(subject) => write!(f, "{subject} ")?,
            None if !self.key.is_empty() => write!(f, "`{}` ", shortened(&self.key))?,
            None => {}
        }
        f.write_str(&self.found)?;
        if !self.allowed.is_empty() {
            write!(f, "; allowed: {}", self.allowed)?;
        }
        if !self.remedy.is_empty() {
            write!(f, "; {}", self.remedy)?;
        }
        Ok(())
    }
}

/// Faults that are being collected, one for each key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Faults {
    faults: Vec<Fault>,
    /// Sections, keys and subjects of those that have them.
    wrong: HashSet<(String, String, Option<String>)>,
}

impl Faults {
    /// Adds a fault, unless its value or its whole section is known to be wrong: what follows from that says nothing new.
    pub fn push(&mut self, fault: Fault) {
        let named = |key: &str, subject: Option<String>| (fault.section.clone(), key.to_string(), subject);
        let section = named("", None);
        let own = if fault.key.is_empty() { section.clone() } else { named(&fault.key, fault.subject.clone()) };
        if self.wrong.contains(&section) || self.wrong.contains(&own) {
            return;
        }
        // What has no name covers nothing.
        if !(fault.section.is_empty() && fault.key.is_empty()) {
            self.wrong.insert(own);
            // A list with a faulty entry is faulty.
            self.wrong.insert(named(&fault.key, None));
        }
        self.faults.push(fault);
    }

    /// Refuses a value that is not within bounds.
    pub fn range<T: PartialOrd + Display + Copy>(&mut self, section: &str, key: &str, value: T, least: T, most: T) {
        if !(least..=most).contains(&value) {
            self.push(Fault::new(section, key, format!("is {value}")).allowed(format!("{least} to {most}")));
        }
    }

    /// Adds all faults of an error.
    pub fn add(&mut self, ConfigError(faults): ConfigError) {
        faults.into_iter().for_each(|fault| self.push(fault));
    }

    /// What a check gives, if it finds no fault.
    pub fn take<T>(&mut self, result: Result<T, ConfigError>) -> Option<T> {
        result.map_err(|error| self.add(error)).ok()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.faults.is_empty()
    }

    /// Whether one of them lies in a section, or in one inside it.
    pub fn touch(&self, section: &str) -> bool {
        let inside = |fault: &Fault| fault.section.strip_prefix(section).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        self.faults.iter().any(inside)
    }

    /// All of them as an error, if there are any.
    ///
    /// # Errors
    /// There are.
    pub fn result(self) -> Result<(), ConfigError> {
        if self.faults.is_empty() { Ok(()) } else { Err(ConfigError(self.faults)) }
    }
}

/// A faulty device, design, workload or name, described for the person who wrote it: at least one fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError(pub Vec<Fault>);

impl ConfigError {
    /// An error with this message, of nothing that has a section.
    pub fn new(message: impl Into<String>) -> Self {
        Fault::new("", "", message).into()
    }

    /// With a place for each fault that has none yet: the last of the documents that gives one of its keys. Then in the order of
    /// their lines.
    #[must_use]
    pub fn placed<'a>(mut self, documents: impl DoubleEndedIterator<Item = &'a Document> + Clone) -> Self {
        self.0.iter_mut().for_each(|fault| fault.find(documents.clone()));
        self.0.sort_by(|a, b| a.place.cmp(&b.place));
        self
    }

    /// With each fault at a place, if it has none.
    #[must_use]
    pub fn at(mut self, place: &Place) -> Self {
        self.0.iter_mut().filter(|fault| fault.place == Place::default()).for_each(|fault| fault.place = place.clone());
        self
    }
}

impl From<Faults> for ConfigError {
    fn from(Faults { faults, .. }: Faults) -> Self {
        Self(faults)
    }
}

impl From<Fault> for ConfigError {
    fn from(fault: Fault) -> Self {
        Self(vec![fault])
    }
}

impl Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fault) in self.0.iter().take(SHOWN_MAX).enumerate() {
            write!(f, "{}{fault}", if index > 0 { "\n" } else { "" })?;
        }
        match self.0.len().saturating_sub(SHOWN_MAX) {
            0 => Ok(()),
            1 => f.write_str("\nand another fault"),
            more => write!(f, "\nand {more} more faults"),
        }
    }
}

impl Error for ConfigError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_fault_covers_what_follows_from_it_and_no_more() {
        let mut faults = Faults::default();
        for (section, key) in [("a", "k"), ("a", "k"), ("a", "l"), ("b", ""), ("b", "k"), ("", ""), ("", ""), ("", "k"), ("", "k")] {
            faults.push(Fault::new(section, key, "is wrong"));
        }
        let told = faults.result().unwrap_err().to_string();
        let expected = ["[a] `k` is wrong", "[a] `l` is wrong", "[b] is wrong", "is wrong", "is wrong", "`k` is wrong"];
        assert_eq!(told.lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_faulty_entry_covers_its_list_and_no_other_entry() {
        let mut faults = Faults::default();
        let entry = |name: &str| Fault { subject: Some(format!("{name} of `k`")), ..Fault::new("a", "k", "is -5") };
        [entry("entry 1"), Fault::new("a", "k", "is 0"), entry("entry 2")].into_iter().for_each(|fault| faults.push(fault));
        let told = faults.result().unwrap_err().to_string();
        assert_eq!(told.lines().collect::<Vec<_>>(), ["[a] entry 1 of `k` is -5", "[a] entry 2 of `k` is -5"]);
    }

    #[test]
    fn of_many_faults_the_first_are_shown_and_the_others_counted() {
        for (count, end) in [(20, "`19` is 1"), (21, "and another fault"), (50_000, "and 49980 more faults")] {
            let mut faults = Faults::default();
            (0..count).for_each(|key| faults.push(Fault::new("", key.to_string(), "is 1")));
            let told = faults.result().unwrap_err().to_string();
            assert!(told.starts_with("`0` is 1\n") && told.ends_with(end) && told.lines().count() <= 21, "{told}");
        }
        assert_eq!(Fault::new("", "k".repeat(1000), "is 1").to_string(), format!("`{}...` is 1", "k".repeat(60)));
    }
}
