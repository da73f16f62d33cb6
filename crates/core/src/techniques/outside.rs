//! Policies that stand in a file beside the design: `{ policy = "custom", file = "mine.py", name = "mine" }`.
//!
//! The core knows their entries alone. Whoever can read such files says so once, with [`set_reader`]; what comes of them are
//! techniques like any other from outside.

use crate::policy::{GcGate, GcTrigger, Order, ReadPlan, Suspend, Victim};
use serde::Deserialize;
use serde::de::{Deserializer, Error};
use std::path::Path;
use std::sync::OnceLock;
use tinytail_config::{Data, Fault, Faults, Table, Value};

/// The name of such a technique in design files.
pub(crate) const CUSTOM: &str = "custom";

/// What a design says of a policy from a file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Entry {
    /// The file; nothing where a running program holds the policy.
    pub file: Option<String>,
    /// The name by which a running program holds it.
    pub object: Option<String>,
    /// Its name in the file.
    pub name: String,
    /// A digest of what it is made of.
    pub digest: String,
    /// Its parameters.
    pub parameters: toml::Table,
}

/// Reads policies from files. A reader may give a stand-in that is described by the text of its file, where nothing will run.
pub trait Reader: Send + Sync {
    /// A digest of a file.
    ///
    /// # Errors
    /// What keeps it from being read.
    fn digest(&self, file: &str) -> Result<String, String>;
    /// A policy for `[victim]`.
    ///
    /// # Errors
    /// There is none, or not with these parameters.
    fn victim(&self, entry: Entry) -> Result<Box<dyn Victim>, String>;
    /// A policy for `[gc_trigger]`.
    ///
    /// # Errors
    /// As for `victim`.
    fn gc_trigger(&self, entry: Entry) -> Result<Box<dyn GcTrigger>, String>;
    /// A policy for `[gc_gate]`.
    ///
    /// # Errors
    /// As for `victim`.
    fn gc_gate(&self, entry: Entry) -> Result<Box<dyn GcGate>, String>;
    /// A policy for `[order]`.
    ///
    /// # Errors
    /// As for `victim`.
    fn order(&self, entry: Entry) -> Result<Box<dyn Order>, String>;
    /// A policy for `[suspend]`.
    ///
    /// # Errors
    /// As for `victim`.
    fn suspend(&self, entry: Entry) -> Result<Box<dyn Suspend>, String>;
    /// A policy for `[read_plan]`.
    ///
    /// # Errors
    /// As for `victim`.
    fn read_plan(&self, entry: Entry) -> Result<Box<dyn ReadPlan>, String>;
}

static READER: OnceLock<Box<dyn Reader>> = OnceLock::new();

/// Says who reads policies from files, in this program and from now on. Only the first one counts.
pub fn set_reader(reader: Box<dyn Reader>) {
    let _ = READER.set(reader);
}

fn reader() -> Result<&'static dyn Reader, String> {
    READER.get().map(|reader| &**reader).ok_or_else(|| "this program reads no policies from files".into())
}

/// An interface whose policies may stand in files.
pub(crate) trait FromFile {
    fn read(entry: Entry) -> Result<Box<Self>, String>;
}

macro_rules! from_file {
    ($( $trait:ident $method:ident, )+) => {
        $( impl FromFile for dyn $trait {
            fn read(entry: Entry) -> Result<Box<Self>, String> {
                reader()?.$method(entry)
            }
        } )+
    };
}

from_file! {
    Victim victim,
    GcTrigger gc_trigger,
    GcGate gc_gate,
    Order order,
    Suspend suspend,
    ReadPlan read_plan,
}

/// Decodes an entry, and reads the policy that it names.
pub(crate) fn from_file<'de, D: Deserializer<'de>, T: FromFile + ?Sized>(deserializer: D) -> Result<Box<T>, D::Error> {
    let mut table = toml::Table::deserialize(deserializer)?;
    let mut text = |key: &str| match table.remove(key) {
        None => Ok(None),
        Some(toml::Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(D::Error::custom(format!("`{key}` is no text"))),
    };
    let (file, object, name, digest) = (text("file")?, text("object")?, text("name")?, text("digest")?);
    if file.is_some() == object.is_some() {
        return Err(D::Error::custom("a policy of one's own needs `file`, the path of its file, and `name`, its name there"));
    }
    let Some(name) = name.or_else(|| object.clone()) else {
        return Err(D::Error::custom("`name` is missing: which of the policies of the file it is"));
    };
    let entry = Entry { file, object, name, digest: digest.unwrap_or_default(), parameters: table };
    T::read(entry).map_err(D::Error::custom)
}

/// Notes in the entries of a composition where their files are, seen from here, and a digest of each: with them the composition
/// says which policies it has. Returns these policies, without their parameters.
pub(crate) fn identify(table: &mut Table, faults: &mut Faults) -> Vec<Entry> {
    let mut found = Vec::new();
    identify_table(table, &mut found, faults);
    found
}

fn identify_table(table: &mut Table, found: &mut Vec<Entry>, faults: &mut Faults) {
    if table.get("policy").and_then(Value::as_str) == Some(CUSTOM) {
        identify_entry(table).into_iter().for_each(|fault| faults.push(fault));
        let text = |key: &str| table.get(key).and_then(Value::as_str).map(String::from);
        let (file, object) = (text("file"), text("object"));
        let name = text("name").or_else(|| object.clone()).unwrap_or_default();
        found.push(Entry { file, object, name, digest: text("digest").unwrap_or_default(), parameters: toml::Table::new() });
        return;
    }
    table.values_mut().for_each(|value| identify_value(value, found, faults));
}

fn identify_value(value: &mut Value, found: &mut Vec<Entry>, faults: &mut Faults) {
    match &mut value.data {
        Data::Table(table) => identify_table(table, found, faults),
        Data::List(values) => values.iter_mut().for_each(|value| identify_value(value, found, faults)),
        Data::Plain(_) => {}
    }
}

/// Notes where the file of an entry is, and its digest. Returns what is wrong with it.
fn identify_entry(entry: &mut Table) -> Option<Fault> {
    // What is wrong with its type, the decoder says.
    let value = entry.get("file")?;
    let said = value.as_str()?;
    let place = value.place.clone();
    let fault = |found: String| Some(Fault::new("", "file", found).at(place.clone()));
    let beside = Path::new(&*place.name).parent().filter(|_| place.name.ends_with(".toml"));
    let file = beside.map_or_else(|| said.into(), |folder| folder.join(said).to_string_lossy().into_owned());
    let digest = match reader().and_then(|reader| reader.digest(&file)) {
        Ok(digest) => digest,
        Err(what) => return fault(format!("= \"{said}\": {what}")),
    };
    if let Some(pinned) = entry.get("digest").and_then(Value::as_str).filter(|pinned| *pinned != digest) {
        let fault = fault(format!("= \"{said}\" has another digest than `digest` = \"{pinned}\": {digest}"));
        return fault.map(|fault| fault.remedy("the file has changed since; without `digest` it is taken as it is"));
    }
    entry.set("file", Value::new(&place, file.into()));
    entry.set("digest", Value::new(&place, digest.into()));
    None
}

/// The entry, for the schema of design files.
#[derive(schemars::JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
pub(crate) struct EntrySchema {
    /// The file that holds the policy, seen from the design's own: Python (.py) or a library (.so).
    #[schemars(default)]
    file: String,
    /// The name of a policy that a running Python program holds, in place of a file.
    #[schemars(default)]
    object: String,
    /// The name of the policy in the file.
    #[schemars(default)]
    name: String,
    /// A digest of what the policy is made of. A file that has another one is refused.
    #[schemars(default)]
    digest: String,
    /// Its parameters.
    #[schemars(flatten)]
    parameters: std::collections::BTreeMap<String, serde_json::Value>,
}
