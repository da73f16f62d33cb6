//! TOML documents in which any value may carry its source: `key = 40000` or `key = { value = 40000, source = "Table 1" }`.

use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

/// A faulty device, design or name, described for the person who wrote it.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
#[error("{0}")]
pub struct ConfigError(pub String);

impl ConfigError {
    /// An error with this message.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

/// One value of a document with where it comes from.
#[derive(Debug, Clone, PartialEq, Serialize)]
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

/// A parsed document: plain values for decoding, rows with sources for showing, the text for finding lines.
#[derive(Debug, Clone)]
pub struct Document {
    /// File name or built-in name, for messages.
    pub name: String,
    text: String,
    /// The values without their sources.
    pub table: toml::Table,
    /// Every value with its source, in the order of the document.
    pub rows: Vec<Row>,
}

impl Document {
    /// Parses `text`; `name` is what messages call it.
    ///
    /// # Errors
    /// Text that is not TOML, or a sourced value without `value`.
    pub fn parse(name: &str, text: &str) -> Result<Self, ConfigError> {
        let raw: toml::Table = text.parse().map_err(|error: toml::de::Error| {
            let line = error.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
            ConfigError(format!("{name}:{line}: {}", error.message()))
        })?;
        let mut document = Self { name: name.into(), text: text.into(), table: toml::Table::new(), rows: Vec::new() };
        for (key, value) in raw {
            let value = match value {
                toml::Value::Table(section) if !section.contains_key("value") => {
                    let mut plain = toml::Table::new();
                    for (inner, value) in section {
                        let value = document.leaf(&key, &inner, value)?;
                        plain.insert(inner, value);
                    }
                    toml::Value::Table(plain)
                }
                value => document.leaf("", &key, value)?,
            };
            document.table.insert(key, value);
        }
        Ok(document)
    }

    fn leaf(&mut self, section: &str, key: &str, value: toml::Value) -> Result<toml::Value, ConfigError> {
        let (value, source) = match value {
            toml::Value::Table(mut table) => {
                let place = self.place(section, key);
                let value = table.remove("value").ok_or_else(|| {
                    ConfigError(format!("{place}: `{key}` is a table without `value`; write `{key} = {{ value = ..., source = \"...\" }}`"))
                })?;
                let source = match table.remove("source") {
                    None => String::new(),
                    Some(toml::Value::String(source)) => source,
                    Some(other) => return Err(ConfigError(format!("{place}: the source of `{key}` must be text, found {other}"))),
                };
                if let Some((extra, _)) = table.into_iter().next() {
                    return Err(ConfigError(format!(
                        "{place}: `{key}` has an unknown key `{extra}`; a sourced value has `value` and `source`"
                    )));
                }
                (value, source)
            }
            plain => (plain, String::new()),
        };
        let shown = serde_json::to_value(&value).map_err(|error| ConfigError(format!("{}: {error}", self.name)))?;
        self.rows.push(Row { section: section.into(), key: key.into(), value: shown, source });
        Ok(value)
    }

    /// `file:line` of a key, or of its section, or just the file.
    pub fn place(&self, section: &str, key: &str) -> String {
        let mut current = String::new();
        let mut section_line = None;
        for (number, line) in self.text.lines().enumerate() {
            let line = line.trim();
            if let Some(header) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
                current = header.trim().to_string();
                if current == section {
                    section_line = Some(number + 1);
                }
            } else if current == section && line.split(['=', ' ', '.']).next() == Some(key) && line.contains('=') {
                return format!("{}:{}", self.name, number + 1);
            }
        }
        section_line.map_or_else(|| self.name.clone(), |line| format!("{}:{line}", self.name))
    }
}

/// Decodes one section, naming the line and the nearest right key when it does not fit.
///
/// # Errors
/// Unknown keys, missing keys, values of another type.
pub fn decode_section<T: DeserializeOwned>(documents: &[&Document], section: &str, table: toml::Table) -> Result<T, ConfigError> {
    T::deserialize(toml::Value::Table(table)).map_err(|error| {
        let message = error.message().trim().to_string();
        let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
        let place = |key: &str| {
            documents
                .iter()
                .rev()
                .map(|document| document.place(section, key))
                .find(|place| place.contains(':'))
                .unwrap_or_else(|| documents.iter().map(|d| d.name.as_str()).collect::<Vec<_>>().join("+"))
        };
        let label = if section.is_empty() { String::new() } else { format!("[{section}] ") };
        if message.starts_with("unknown field") || message.starts_with("unknown variant") {
            let (found, known) = (quoted[0], &quoted[1..]);
            let what = if message.starts_with("unknown field") { "unknown key" } else { "unknown value" };
            let key = if what == "unknown key" { found } else { "policy" };
            return ConfigError(format!(
                "{}: {label}{what} `{found}`{}; allowed: {}",
                place(key),
                nearest_hint(found, known),
                known.join(", ")
            ));
        }
        ConfigError(format!("{}: {label}{message}", place(quoted.first().copied().unwrap_or(""))))
    })
}

/// The JSON Schema of a file of named sections in which any value may carry its source.
pub fn file_schema(sections: &[(&str, schemars::Schema)]) -> serde_json::Value {
    use serde_json::{Value, json};
    fn admit_sources(schema: &mut Value) {
        let Some(object) = schema.as_object_mut() else { return };
        if let Some(Value::Object(properties)) = object.get_mut("properties") {
            for property in properties.values_mut() {
                let plain = property.take();
                let sourced = json!({ "type": "object", "properties": { "value": plain, "source": { "type": "string" } },
                    "required": ["value"], "additionalProperties": false });
                *property = json!({ "anyOf": [plain, sourced] });
            }
        }
        for variants in ["oneOf", "anyOf"] {
            if let Some(Value::Array(variants)) = object.get_mut(variants) {
                variants.iter_mut().for_each(admit_sources);
            }
        }
    }
    let mut properties = json!({ "name": { "type": "string" }, "summary": { "type": "string" }, "kind": { "type": "string" } });
    let mut definitions = serde_json::Map::new();
    for (name, schema) in sections {
        let mut schema = schema.clone().to_value();
        if let Some(Value::Object(inner)) = schema.as_object_mut().and_then(|object| object.remove("$defs")) {
            definitions.extend(inner);
        }
        admit_sources(&mut schema);
        properties[*name] = schema;
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": properties,
        "$defs": definitions,
        "additionalProperties": false,
    })
}

/// The known name that is nearest to `found`, as ` (did you mean ...?)`, or nothing when none is near.
pub fn nearest_hint<S: AsRef<str>>(found: &str, known: &[S]) -> String {
    known
        .iter()
        .map(|name| (strsim::damerau_levenshtein(found, name.as_ref()), name.as_ref()))
        .min()
        .filter(|&(distance, name)| distance <= 2.max(name.len() / 3))
        .map_or_else(String::new, |(_, name)| format!(" (did you mean `{name}`?)"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Section {
        read_ns: u64,
    }

    fn section(text: &str) -> Result<Section, ConfigError> {
        let document = Document::parse("d.toml", text)?;
        let table = document.table["timing"].as_table().cloned().unwrap_or_default();
        decode_section(&[&document], "timing", table)
    }

    #[test]
    fn a_value_may_carry_its_source() {
        let document = Document::parse("d.toml", "[timing]\nread_ns = { value = 40000, source = \"Table 1\" }\n").unwrap();
        assert_eq!(document.rows[0].source, "Table 1");
        assert_eq!(section("[timing]\nread_ns = { value = 40000, source = \"Table 1\" }").unwrap().read_ns, 40_000);
        assert_eq!(section("[timing]\nread_ns = 7").unwrap().read_ns, 7);
    }

    #[test]
    fn an_unknown_key_is_refused_with_its_line_and_the_nearest_right_one() {
        let error = section("[timing]\n\nreed_ns = 7").unwrap_err().0;
        assert_eq!(error, "d.toml:3: [timing] unknown key `reed_ns` (did you mean `read_ns`?); allowed: read_ns");
    }

    #[test]
    fn a_value_of_the_wrong_type_and_a_missing_key_are_refused() {
        assert!(section("[timing]\nread_ns = \"fast\"").unwrap_err().0.contains("invalid type"));
        assert!(section("[timing]").unwrap_err().0.contains("missing field `read_ns`"));
        assert!(section("[timing\n").unwrap_err().0.starts_with("d.toml:1:"));
        assert!(section("[timing]\nread_ns = { value = 1, sauce = \"x\" }").unwrap_err().0.contains("sauce"));
    }
}
