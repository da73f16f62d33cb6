//! A design: one technique for each policy interface, and the parameters of GC. Written as TOML files that compose.

use crate::config::{ConfigError, Document, Row, decode_section, latest_place, nearest_hint};
use crate::device::Device;
use crate::policy::{
    Align, AlignPolicy, FlushPlan, FlushPlanPolicy, GcGate, GcGatePolicy, GcHold, GcHoldPolicy, GcTrigger, GcTriggerPolicy, Join,
    JoinPolicy, Order, OrderPolicy, PageChoice, PageChoicePolicy, Place, PlacePolicy, Reach, ReadPlan, ReadPlanPolicy, Scrub, ScrubPolicy,
    Suspend, SuspendPolicy, Victim, VictimPolicy, WearLevel, WearLevelPolicy,
};
use serde::Deserialize;
use std::collections::BTreeMap;

mod check;
mod fit;
pub(crate) use self::traits::pages_of_books;
mod traits;

pub use crate::policy::thresholds::{Room, Threshold, Thresholds};
pub use fit::Adjustment;

/// How GC copies, and what the translation layer keeps for it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct GcSection {
    /// `copyback` inside the plane, or through the `controller`.
    #[serde(default)]
    copy: Copy,
    /// Where pages are moved: inside the `plane`, or to any plane of the `die` or of the `drive`.
    #[serde(default)]
    destination: Destination,
    /// Open blocks of each plane.
    #[serde(default = "one")]
    pub write_points: u32,
    /// Erased blocks of each plane that only GC may open.
    #[serde(default = "one")]
    pub reserve_blocks: u32,
    /// Keep a sequence number with every page.
    #[serde(default)]
    pub page_sequence: bool,
    /// GC takes no time.
    #[serde(default)]
    pub ideal: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
enum Copy {
    #[default]
    Copyback,
    Controller,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
enum Destination {
    #[default]
    Plane,
    Die,
    Drive,
}

impl Destination {
    fn name(self) -> &'static str {
        match self {
            Self::Plane => "plane",
            Self::Die => "die",
            Self::Drive => "drive",
        }
    }

    /// The planes that a technique of placement must choose among.
    fn reach(self) -> Reach {
        match self {
            Self::Plane => Reach::Plane,
            Self::Die => Reach::Die,
            Self::Drive => Reach::Drive,
        }
    }

    /// Techniques of placement that go with it.
    fn placed_by(self) -> &'static str {
        match self {
            Self::Plane => "any",
            Self::Die => "\"super_page\"",
            Self::Drive => "\"idle_die\", \"next_idle\"",
        }
    }
}

impl Reach {
    fn among(self) -> &'static str {
        match self {
            Self::Plane => "always in the same plane",
            Self::Die => "in any plane of its die",
            Self::Drive => "in any plane of the drive",
        }
    }
}

fn one() -> u32 {
    1
}

impl Default for GcSection {
    fn default() -> Self {
        Self {
            copy: Copy::Copyback,
            destination: Destination::Plane,
            write_points: 1,
            reserve_blocks: 1,
            page_sequence: false,
            ideal: false,
        }
    }
}

impl GcSection {
    /// Whether GC's data cross the channel.
    pub fn copies_through_controller(&self) -> bool {
        self.copy == Copy::Controller
    }

    /// Whether GC may move pages to other planes.
    pub fn leaves_its_plane(&self) -> bool {
        self.destination != Destination::Plane
    }
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct Chain {
    chain: Vec<VictimPolicy>,
}

/// A design, of one row for each policy interface: what is asked, the section and field, the enum of its techniques, and the one
/// that is meant where a design has no such section, if there is one.
macro_rules! design {
    ($( #[doc = $doc:literal] $section:ident: $policy:ident $(or $usual:literal)?, )+) => {
        /// One technique for each policy interface.
        pub struct Design {
            /// Name, as composed: `base+no-gc`.
            pub name: String,
            /// One line about it.
            pub summary: String,
            /// GC's parameters.
            pub gc: GcSection,
            /// Which block is collected: a chain of policies.
            pub victim: Vec<VictimPolicy>,
            $( #[doc = $doc] pub $section: $policy, )+
            /// Every value with its source, later documents first overridden by name.
            pub rows: Vec<Row>,
            /// The files that it was composed of, for messages.
            pub(crate) files: Vec<Document>,
        }

        /// The sections of a design file.
        pub const SECTIONS: [&str; 2 + [$($policy::SECTION),+].len()] = ["gc", VictimPolicy::SECTION, $($policy::SECTION),+];

        impl Design {
            /// Decodes the sections that documents together give.
            fn decode(name: &str, summary: String, rows: Vec<Row>, documents: &[&Document], mut sections: toml::Table) -> Result<Self, ConfigError> {
                let mut section = |key: &str, usual: &[&str]| match (sections.remove(key), usual) {
                    (Some(toml::Value::Table(table)), _) => Ok(table),
                    (_, [policy]) => Ok(toml::Table::from_iter([("policy".to_string(), toml::Value::from(*policy))])),
                    _ => Err(ConfigError(format!("{name}: the section [{key}] is missing; a design has {}", SECTIONS.join(", ")))),
                };
                let Chain { chain: victim } = decode_section(documents, VictimPolicy::SECTION, section(VictimPolicy::SECTION, &[])?)?;
                Ok(Self {
                    name: name.into(),
                    summary,
                    victim,
                    gc: decode_section(documents, "gc", section("gc", &[]).unwrap_or_default())?,
                    $( $section: decode_section(documents, $policy::SECTION, section($policy::SECTION, &[$($usual)?])?)?, )+
                    rows,
                    files: documents.iter().map(|&document| document.clone()).collect(),
                })
            }

            /// What the techniques remember that an image must hold, each with its place and name.
            pub(crate) fn memories(&self) -> Vec<(String, Vec<u8>)> {
                let mut memories = vec![$( (format!("{}/{}", $policy::SECTION, self.$section.name()), self.$section.save()), )+];
                for (position, policy) in self.victim.iter().enumerate() {
                    memories.push((format!("victim {position}/{}", policy.name()), policy.save()));
                }
                memories.retain(|(_, memory)| !memory.is_empty());
                memories
            }

            /// Gives a technique back what it remembered, if the design has it in the same place.
            pub(crate) fn remember(&mut self, name: &str, memory: &[u8]) -> Result<(), String> {
                let Some((place, technique)) = name.split_once('/') else { return Err(format!("`{name}` names no technique")) };
                let restored = match place {
                    $( $policy::SECTION if self.$section.name() == technique => self.$section.restore(memory), )+
                    _ => {
                        let position = place.strip_prefix("victim ").and_then(|position| position.parse::<usize>().ok());
                        match position.and_then(|position| self.victim.get_mut(position)) {
                            Some(policy) if policy.name() == technique => policy.restore(memory),
                            _ => Ok(()),
                        }
                    }
                };
                restored.map_err(|what| format!("{name}: {what}"))
            }

            /// Tells every technique the run's seed.
            pub(crate) fn seed(&mut self, seed: u64) {
                $( self.$section.seed(seed); )+
                for (position, policy) in self.victim.iter_mut().enumerate() {
                    // Two of the same kind in one chain draw different numbers.
                    policy.seed(seed.wrapping_add((position as u64) << 32));
                }
            }

            /// The name of the technique of an interface, by its section; the names of a chain with `+` between them.
            pub fn techniques(&self, section: &str) -> String {
                match section {
                    $( $policy::SECTION => self.$section.name().into(), )+
                    _ => self.victim.iter().map(VictimPolicy::name).collect::<Vec<_>>().join("+"),
                }
            }

            /// The sections of a design file, with their JSON Schemas.
            #[cfg(test)]
            pub(crate) fn schema_sections() -> Vec<(&'static str, schemars::Schema)> {
                vec![
                    ("gc", schemars::schema_for!(GcSection)),
                    (VictimPolicy::SECTION, schemars::schema_for!(Chain)),
                    $( ($policy::SECTION, schemars::schema_for!($policy)), )+
                ]
            }
        }
    };
}

design! {
    /// Where pages go.
    place: PlacePolicy,
    /// When planes want a GC.
    gc_trigger: GcTriggerPolicy,
    /// Whether a wanted GC may start.
    gc_gate: GcGatePolicy,
    /// What a GC holds.
    gc_hold: GcHoldPolicy,
    /// Which waiting operation starts next.
    order: OrderPolicy,
    /// Which pages of the write points writes get.
    page_choice: PageChoicePolicy or "any",
    /// Which operations share a command.
    join: JoinPolicy,
    /// At which open blocks the planes of a die program.
    align: AlignPolicy or "never",
    /// Whether pulses make way for reads.
    suspend: SuspendPolicy,
    /// How reads behind a GC are served.
    read_plan: ReadPlanPolicy or "direct",
    /// Which stripe leaves the buffer next.
    flush_plan: FlushPlanPolicy or "lru",
    /// Which copied pages are read in idle time.
    scrub: ScrubPolicy or "never",
    /// Whether stripes move for the sake of wear.
    wear_level: WearLevelPolicy or "never",
}

/// The sections whose technique an overlay may choose instead of a design's, but not instead of another overlay's. When and where GC
/// starts is left out: `no-gc` and watermarks go behind any composition.
const TECHNIQUES: [&str; 11] =
    ["place", "gc_hold", "victim", "order", "page_choice", "join", "align", "suspend", "read_plan", "flush_plan", "wear_level"];

/// Whether a section says which technique it chooses.
fn chooses(values: &toml::Table) -> bool {
    values.contains_key("policy") || values.contains_key("chain")
}

/// The parameter that tells techniques of one policy apart.
fn variant(section: &str) -> &'static str {
    match section {
        "gc_gate" => "start",
        "gc_hold" => "scope",
        "order" => "channel",
        "page_choice" | "suspend" => "mode",
        "place" => "opens",
        _ => "chain",
    }
}

/// What tells one technique of a section from another.
fn technique<'a>(section: &str, values: &'a toml::Table) -> [Option<&'a toml::Value>; 2] {
    [values.get("policy"), values.get(variant(section))]
}

/// The key in which two techniques of a section differ. What a GC holds is a technique of its own, whatever the policy.
fn difference(section: &str, held: &toml::Table, new: &toml::Table) -> &'static str {
    let same = held.get("policy") == new.get("policy") || section == "gc_hold" && new.contains_key("scope");
    if same { variant(section) } else { "policy" }
}

/// Whether a document stands alone or changes another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DesignKind {
    /// It can be run.
    Design,
    /// It is added to a design: `base+no-gc`.
    Overlay,
}

/// The keys of a design file that stand outside its sections.
const TOP_LEVEL: [&str; 5] = ["name", "summary", "kind", "parts", "alone"];

/// The kind and the summary of a design document.
///
/// # Errors
/// A `kind` other than `design` and `overlay`, a missing summary.
pub fn describe(document: &Document) -> Result<(DesignKind, String), ConfigError> {
    let text = |key: &str| document.table.get(key).and_then(|value| value.as_str()).map(str::to_string);
    let kind = match text("kind").as_deref() {
        Some("design") => DesignKind::Design,
        Some("overlay") => DesignKind::Overlay,
        other => {
            let found = other.map_or("is missing".to_string(), |found| format!("is \"{found}\""));
            return Err(ConfigError(format!("{}: `kind` {found}; allowed: \"design\", \"overlay\"", document.place("", "kind"))));
        }
    };
    let summary = text("summary").ok_or_else(|| ConfigError(format!("{}: `summary` is missing", document.name)))?;
    Ok((kind, summary))
}

impl Design {
    /// The composition that a design stands for, if it is made of others.
    ///
    /// # Errors
    /// `parts` that are no text, or of an overlay.
    pub fn parts(document: &Document) -> Result<Option<&str>, ConfigError> {
        let Some(parts) = document.table.get("parts") else { return Ok(None) };
        let place = document.place("", "parts");
        let Some(parts) = parts.as_str() else {
            return Err(ConfigError(format!("{place}: `parts` is {parts}; it must be a composition, such as \"base+rain\"")));
        };
        if describe(document)?.0 == DesignKind::Overlay {
            return Err(ConfigError(format!("{place}: `parts` makes a design of others, and `kind` is \"overlay\"")));
        }
        Ok(Some(parts))
    }

    /// The composition that an overlay changes where it is written without a design before it, if it names one.
    ///
    /// # Errors
    /// An `alone` that is no text, or of a design.
    pub fn alone(document: &Document) -> Result<Option<&str>, ConfigError> {
        let Some(alone) = document.table.get("alone") else { return Ok(None) };
        let place = document.place("", "alone");
        let Some(alone) = alone.as_str() else {
            return Err(ConfigError(format!("{place}: `alone` is {alone}; it must be a composition, such as \"base+rain\"")));
        };
        if describe(document)?.0 == DesignKind::Design {
            return Err(ConfigError(format!("{place}: `alone` names the design under an overlay, and `kind` is \"design\"")));
        }
        Ok(Some(alone))
    }

    /// Composes documents: the first is a design, the others overlays whose values override earlier ones. An overlay that
    /// chooses another policy for an interface replaces the whole section.
    ///
    /// # Errors
    /// Unknown sections, keys and policies; an overlay without a design to change.
    pub fn compose(name: &str, documents: &[&Document]) -> Result<Self, ConfigError> {
        let mut merged = toml::Table::new();
        let mut rows: Vec<Row> = Vec::new();
        let mut summary = String::new();
        // The overlay that has chosen the technique of a section since the last design.
        let mut chosen_by: BTreeMap<&str, &Document> = BTreeMap::new();
        for (index, document) in documents.iter().enumerate() {
            // What options give is an overlay without a word about it.
            let (kind, line) = if document.is_given() { (DesignKind::Overlay, String::new()) } else { describe(document)? };
            match (index, kind) {
                (1.., _) if document.is_given() => {}
                // Its parts stand before it, and what it says itself is added to them.
                (1.., DesignKind::Design) if document.table.contains_key("parts") => summary = line,
                (0, DesignKind::Overlay) => {
                    return Err(ConfigError(format!(
                        "{}: `kind` is \"overlay\", and {} is the first part; an overlay is written behind a design, as in base+{}",
                        document.place("", "kind"),
                        document.name,
                        document.name
                    )));
                }
                (0, DesignKind::Design) => summary = line,
                (_, DesignKind::Design) => {
                    return Err(ConfigError(format!(
                        "{}: `kind` is \"design\", not an overlay; the composition {name} has one design, first",
                        document.place("", "kind")
                    )));
                }
                (_, DesignKind::Overlay) => summary = format!("{summary}; with {}: {line}", document.name),
            }
            if kind == DesignKind::Design {
                chosen_by.clear();
            }
            for (section, value) in &document.table {
                let toml::Value::Table(values) = value else {
                    if !TOP_LEVEL.contains(&section.as_str()) {
                        let hint = nearest_hint(section, &TOP_LEVEL);
                        return Err(ConfigError(format!("{}: unknown key `{section}`{hint}", document.place("", section))));
                    }
                    continue;
                };
                if !SECTIONS.contains(&section.as_str()) {
                    let hint = nearest_hint(section, &SECTIONS);
                    return Err(ConfigError(format!(
                        "{}: unknown section [{section}]{hint}; allowed: {}",
                        document.place(section, ""),
                        SECTIONS.join(", ")
                    )));
                }
                let target = merged.entry(section.clone()).or_insert_with(|| toml::Value::Table(toml::Table::new()));
                let target = target.as_table_mut().expect("only tables are merged");
                if chooses(values)
                    && let Some(&other) = chosen_by.get(section.as_str())
                    && TECHNIQUES.contains(&section.as_str())
                    && technique(section, target) != technique(section, values)
                {
                    let key = difference(section, target, values);
                    let said = |table: &toml::Table| table.get(key).map_or_else(|| "its default".into(), ToString::to_string);
                    return Err(ConfigError(format!(
                        "{}: [{section}] `{key}` = {} contradicts [{section}] `{key}` = {} of {} in {name}: a section has one technique, and two \
                         overlays choose one each; leave out {} or {}",
                        document.place(section, key),
                        said(values),
                        said(target),
                        other.name,
                        other.name,
                        document.name
                    )));
                }
                if kind == DesignKind::Overlay && chooses(values) {
                    chosen_by.insert(section, document);
                }
                // The scope of a GC's hold is changed by itself; of other policies the parameters go with the technique.
                let [held, new] = [&*target, values]
                    .map(|table| if section == "gc_hold" { [table.get("policy"), None] } else { technique(section, table) });
                if held[0].is_some() && new[0].is_some() && held != new {
                    let names =
                        |table: &toml::Table| table.get("policy").and_then(|policy| policy.as_str()).unwrap_or_default().to_string();
                    let (held, new) = (names(target), names(values));
                    if section == "place" && [held.as_str(), &new].contains(&"rain") && [held.as_str(), &new].contains(&"idle_die") {
                        // Whoever adds the one to the other wants both, and the later would silently be without the earlier.
                        return Err(ConfigError(format!(
                            "{}: [place] `policy` = \"{new}\" contradicts [place] `policy` = \"{held}\" before it in {name}: the pages of stripes \
                             with parity have fixed planes, dynamic allocation has none",
                            document.place(section, "policy")
                        )));
                    }
                    target.clear();
                    rows.retain(|row| row.section != *section);
                }
                for (key, value) in values {
                    rows.retain(|row| row.section != *section || row.key != *key);
                    target.insert(key.clone(), value.clone());
                }
                rows.extend(document.rows.iter().filter(|row| row.section == *section).cloned());
            }
        }
        let design = Self::decode(name, summary, rows, documents, merged)?;
        if design.victim.is_empty() {
            return Err(ConfigError(format!(
                "{}: [victim] `chain` is empty; it needs at least one policy, such as {{ policy = \"greedy\" }}",
                latest_place(documents.iter().copied(), "victim", "chain")
            )));
        }
        Ok(design)
    }

    /// Checks every technique against the device and against the others.
    ///
    /// # Errors
    /// What contradicts what, with both keys, and the place of the first of them.
    pub fn prepare(&mut self, device: &Device) -> Result<(), ConfigError> {
        self.check(device).map_err(|error| self.placed(error))
    }

    /// Adds to a message about `[section]` and `key`, which is all that techniques know, the last file that gives one of the keys
    /// and the line.
    fn placed(&self, ConfigError(message): ConfigError) -> ConfigError {
        let message = message.strip_prefix(&format!("{}: ", self.name)).unwrap_or(&message);
        if self.files.is_empty() {
            return ConfigError(format!("{}: {message}", self.name));
        }
        let section_before = |end: usize| Some(message[..end].rsplit_once('[')?.1.split_once(']')?.0);
        let mut quotes = message.match_indices('`').map(|(at, _)| at);
        let keys = std::iter::from_fn(|| Some((quotes.next()?, quotes.next()?)));
        let named: Vec<(&str, &str)> = keys.filter_map(|(from, to)| Some((section_before(from)?, &message[from + 1..to]))).collect();
        // What the last file says was added to what went before it, and is at fault.
        let (section, key) = self
            .files
            .iter()
            .rev()
            .find_map(|file| named.iter().find(|(section, key)| file.gives(section, key)))
            .copied()
            .or_else(|| Some((section_before(message.find(']')? + 1)?, "")))
            .unwrap_or_default();
        ConfigError(format!("{}: {message}", latest_place(self.files.iter(), section, key)))
    }
}
