//! Values that are given beside files, as options of a command: `--set section.key=value`.

use crate::document::{Document, Table, Value};
use crate::fault::{ConfigError, Place};
use serde::Deserialize;

/// The option that gives a value, which is also the value's source.
pub const GIVEN: &str = "--set";

/// One value, and the option that gives it.
#[derive(Debug, Clone, PartialEq)]
pub struct Given {
    /// The sections, and last the key.
    pub path: Vec<String>,
    /// The value.
    pub value: toml::Value,
    /// The option as it was written, for messages.
    pub option: String,
}

impl Given {
    /// Reads `section.key=value`. The value is written as in a file; a word may do without its quotes.
    ///
    /// # Errors
    /// A word of another form, or a value that is faulty TOML.
    pub fn parse(word: &str) -> Result<Self, ConfigError> {
        let option = format!("{GIVEN} {}", word.split_whitespace().collect::<Vec<_>>().join(" "));
        let shape = || ConfigError::new(format!("{option}: a value is given as section.key=value, such as gc.write_points=4"));
        let (path, value) = word.split_once('=').ok_or_else(shape)?;
        let path: Vec<String> = path.split('.').map(|name| name.trim().to_string()).collect();
        if path.len() < 2 || path.iter().any(String::is_empty) || value.trim().is_empty() {
            return Err(shape());
        }
        let parsed = toml::de::ValueDeserializer::parse(value.trim()).and_then(toml::Value::deserialize);
        let value = match parsed {
            Ok(value) => value,
            Err(_) if !value.contains(['"', '\'', '[', '{', '#', '\n']) => toml::Value::String(value.trim().into()),
            Err(error) => return Err(ConfigError::new(format!("{option}: {}", error.message().trim()))),
        };
        Ok(Self { path, value, option })
    }

    /// What stands behind the option.
    pub fn word(&self) -> String {
        self.option.trim_start_matches(GIVEN).trim_start().to_string()
    }
}

impl Document {
    /// The document of values that options give, none of them twice.
    pub fn given(values: &[Given]) -> Self {
        let mut root = Table::default();
        for Given { path, value, option } in values {
            let place = Place::new(option, 0);
            let (key, sections) = path.split_last().expect("a path has a key");
            let mut held = &mut root;
            for section in sections {
                held = held.section_mut(section, &place);
            }
            let mut table = match value {
                toml::Value::Table(table) => table.clone(),
                plain => toml::Table::from_iter([("value".into(), plain.clone())]),
            };
            if table.contains_key("value") {
                table.entry("source").or_insert(GIVEN.into());
            }
            let value = Value::new(&place, table.into());
            held.set(key, value);
        }
        Self { name: GIVEN.into(), root, given: true }
    }

    /// Whether it comes with the program: what users write is in files with an ending, or in options.
    pub fn is_built_in(&self) -> bool {
        !self.given && !self.name.ends_with(".toml")
    }

    /// Whether options give its values, and no file.
    pub fn is_given(&self) -> bool {
        self.given
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_written_as_in_a_file_and_a_word_may_do_without_quotes() {
        for (word, value) in [
            ("gc.write_points=4", toml::Value::Integer(4)),
            (" gc . write_points = 4 ", toml::Value::Integer(4)),
            ("gc.ideal=true", toml::Value::Boolean(true)),
            ("gc_trigger.soft_free_percent=7.5", toml::Value::Float(7.5)),
            ("gc.copy=controller", "controller".into()),
            ("gc.copy=\"controller\"", "controller".into()),
            ("timing.read_ns=[1, 2]", vec![1, 2].into()),
            ("trace.file=a=b.trace", "a=b.trace".into()),
        ] {
            let given = Given::parse(word).unwrap();
            assert_eq!(given.value, value, "{word}");
            assert_eq!(given.path.len(), 2);
        }
    }

    #[test]
    fn another_form_is_refused_with_an_example() {
        for word in ["", "gc", "gc.write_points", "write_points=4", ".write_points=4", "gc.=4", "gc.write_points="] {
            let error = Given::parse(word).unwrap_err().to_string();
            assert!(error.starts_with("--set") && error.ends_with("such as gc.write_points=4"), "{error}");
        }
        let error = Given::parse("timing.read_ns=[1, 2").unwrap_err().to_string();
        assert!(error.starts_with("--set timing.read_ns=[1, 2: "), "{error}");
        assert!(Given::parse("gc.copy=4\n[place]").is_err());
    }

    #[test]
    fn a_given_value_has_its_option_as_place_and_source() {
        let given = [Given::parse("gc.write_points=4").unwrap(), Given::parse("gc.ideal={ value = true, source = \"why\" }").unwrap()];
        let document = Document::given(&given);
        assert_eq!(document.place("gc", "write_points").to_string(), "--set gc.write_points=4");
        assert_eq!(document.place("gc", "ideal").to_string(), "--set gc.ideal={ value = true, source = \"why\" }");
        assert_eq!(document.root.rows().iter().map(|row| row.source.as_str()).collect::<Vec<_>>(), ["--set", "why"]);
    }
}
