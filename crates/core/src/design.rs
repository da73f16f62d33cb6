//! A design: one technique for each policy interface, and the parameters of GC. Written as TOML files that compose.

use crate::device::Device;
use crate::policy::answers::Reach;
use crate::stripes::Stripes;
use crate::techniques::{
    DestagePolicy, GcGatePolicy, GcLockPolicy, GcTriggerPolicy, OrderPolicy, PageChoicePolicy, PairingPolicy, PlacePolicy, ReadPlanPolicy,
    ScrubPolicy, SuspendPolicy, Technique, VictimPolicy, WearLevelPolicy, outside,
};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::{self, Display};
use tinytail_config::{ConfigError, Document, Fault, Faults, Place as FilePlace, Row, Table, Value, decode};

mod check;
mod fit;
mod start;

pub use crate::policy::thresholds::{CycleLevels, Room, StartLevel, Threshold, Thresholds};
pub use fit::Adjustment;

/// How GC copies, and what the translation layer keeps for it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GcSection {
    /// `copyback` inside the plane, or through the `controller`.
    copy: Copy,
    /// Where pages are moved: inside the `plane`, or to any plane of the `die` or of the `drive`.
    destination: Reach,
    /// Open blocks of each plane.
    pub write_points: u32,
    /// Erased blocks of each plane that only GC may open.
    pub reserve_blocks: u32,
    /// Keep a sequence number with every page.
    pub page_sequence: bool,
    /// GC is ideal: it takes no time.
    pub ideal: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Copy {
    #[default]
    Copyback,
    Controller,
}

impl Default for GcSection {
    fn default() -> Self {
        Self { copy: Copy::Copyback, destination: Reach::Plane, write_points: 1, reserve_blocks: 1, page_sequence: false, ideal: false }
    }
}

impl GcSection {
    /// Whether GC's data cross the channel.
    pub fn copies_through_controller(&self) -> bool {
        self.copy == Copy::Controller
    }

    /// Whether GC may move pages to other planes.
    pub fn leaves_its_plane(&self) -> bool {
        self.destination != Reach::Plane
    }
}

/// The section of victims: techniques in the order in which they are asked.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Chain {
    pub(crate) chain: Vec<VictimPolicy>,
}

/// Where a technique stands: its section, and its position where the section has several.
struct Slot(&'static str, Option<usize>);

impl Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)?;
        self.1.map_or(Ok(()), |position| write!(f, " {position}"))
    }
}

/// What is known of an interface's section before it is read.
struct Interface {
    section: &'static str,
    /// The technique that is meant where a design has no such section.
    usual: Option<&'static str>,
    /// An overlay may choose another technique than the design, but not another than an overlay.
    once: bool,
    /// The parameter that tells techniques of one policy apart.
    by: Option<&'static str>,
}

/// A design, of victims and one row for each other policy interface: what is asked, section and field, its techniques; `once`, if
/// two overlays may not choose two techniques; `by` and the parameter that tells techniques of one policy apart, if one does; `or` and
/// the technique that is meant where a design has no such section.
macro_rules! design {
    ($( #[doc = $doc:literal] $section:ident: $policy:ty $(, once = $once:literal)? $(, by $by:literal)? $(, or $usual:literal)?; )+) => {
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
            /// What decides the state in which its drive starts.
            pub(crate) start: Start,
            /// Every value with its source, later documents first overridden by name.
            pub rows: Vec<Row>,
            /// The files that it was composed of, for messages.
            pub(crate) files: Vec<Document>,
            /// The policies from files and from a running program that it names.
            pub policies: Vec<outside::Entry>,
        }

        const INTERFACES: &[Interface] = &[
            Interface { section: "victim", usual: None, once: true, by: Some("chain") },
            $( Interface {
                section: stringify!($section),
                usual: [$(Some($usual),)? None][0],
                once: [$($once,)? false][0],
                by: [$(Some($by),)? None][0],
            }, )+
        ];

        /// The sections of a design file.
        pub const SECTIONS: [&str; 1 + INTERFACES.len()] = ["gc", "victim", $( stringify!($section), )+];

        /// The sections of a composition.
        #[derive(Deserialize)]
        struct Sections {
            #[serde(default)]
            gc: GcSection,
            victim: Chain,
            $( $section: $policy, )+
        }

        impl Design {
            fn of(name: &str, summary: String, rows: Vec<Row>, files: Vec<Document>, sections: Sections) -> Self {
                let Sections { gc, victim, $( $section, )+ } = sections;
                Self {
                    name: name.into(),
                    summary,
                    gc,
                    victim: victim.chain,
                    $( $section, )+
                    start: Start::default(),
                    rows,
                    files,
                    policies: Vec::new(),
                }
            }

            /// Every technique, with where it stands.
            fn techniques(&self) -> impl Iterator<Item = (Slot, &dyn Technique)> {
                let victims = self.victim.iter().enumerate();
                let chain = victims.map(|(position, it)| (Slot("victim", Some(position)), it as &dyn Technique));
                chain.chain([ $( (Slot(stringify!($section), None), &self.$section as &dyn Technique), )+ ])
            }

            fn techniques_mut(&mut self) -> impl Iterator<Item = (Slot, &mut dyn Technique)> {
                let victims = self.victim.iter_mut().enumerate();
                let chain = victims.map(|(position, it)| (Slot("victim", Some(position)), it as &mut dyn Technique));
                chain.chain([ $( (Slot(stringify!($section), None), &mut self.$section as &mut dyn Technique), )+ ])
            }

            /// The sections of a design file, with their JSON Schemas.
            #[cfg(test)]
            pub(crate) fn schema_sections() -> Vec<(&'static str, schemars::Schema)> {
                vec![
                    ("gc", schemars::schema_for!(GcSection)),
                    ("victim", schemars::schema_for!(Chain)),
                    $( (stringify!($section), schemars::schema_for!($policy)), )+
                ]
            }
        }
    };
}

design! {
    /// Where pages go.
    place: PlacePolicy, once = true, by "opens";
    /// When planes want a GC.
    gc_trigger: GcTriggerPolicy;
    /// Whether a wanted GC may start.
    gc_gate: GcGatePolicy, by "start";
    /// What a GC locks.
    gc_lock: GcLockPolicy, once = true, by "scope";
    /// Which waiting operation starts next.
    order: OrderPolicy, once = true, by "channel";
    /// Which pages of the write points writes get.
    page_choice: PageChoicePolicy, once = true, by "mode", or "any";
    /// Which operations share a command.
    pairing: PairingPolicy, once = true;
    /// Whether erases and programs make way for reads.
    suspend: SuspendPolicy, once = true, by "mode";
    /// How reads behind a GC are served.
    read_plan: ReadPlanPolicy, once = true, or "direct";
    /// Which stripe leaves the buffer next.
    destage: DestagePolicy, once = true, or "lru";
    /// Which copied pages are read in idle time.
    scrub: ScrubPolicy, or "never";
    /// Whether stripes move for the sake of wear.
    wear_level: WearLevelPolicy, once = true, or "never";
}

/// The trigger of a design whose GC never starts.
const NEVER: &str = "never";

/// What decides the state in which a design's drive starts.
#[derive(Default)]
pub(crate) struct Start {
    /// Of a design without GC: the trigger of the design that it is the twin of.
    pub(crate) twin: Option<GcTriggerPolicy>,
    /// Pages that are live when the run begins, if its workload maps more than the starting state says; else 0.
    pub(crate) live_pages: u64,
    /// The erased space below which ageing collects, and that at which it stops. Known once the design is prepared.
    pub(crate) ageing: Option<CycleLevels>,
    /// The erased space below which the design wants a GC, if it ever does, and that at which it wants no more. Known then too.
    pub(crate) trigger: Option<CycleLevels>,
    /// Erased pages of a plane below which its GC is urgent, without those of open blocks where it counts blocks. Known then too.
    urgent_pages: u32,
}

/// Whether a section says which technique it chooses.
fn chooses(values: &Table) -> bool {
    ["chain", "policy"].into_iter().any(|key| values.get(key).is_some())
}

fn interface(section: &str) -> Option<&'static Interface> {
    INTERFACES.iter().find(|interface| interface.section == section)
}

/// What tells one technique of a section from another.
fn technique(section: &str, values: &Table) -> [Option<toml::Value>; 2] {
    let by = if policy(values) == Some(outside::CUSTOM) { Some("name") } else { interface(section).and_then(|interface| interface.by) };
    [Some("policy"), by].map(|key| key.and_then(|key| values.get(key)).map(|value| value.plain().to_toml()))
}

/// The key in which two techniques of a section differ. What a GC locks is a technique of its own, whatever the policy.
fn difference(section: &str, held: &Table, new: &Table) -> &'static str {
    let same = policy(held) == policy(new) || section == "gc_lock" && new.get("scope").is_some();
    interface(section).and_then(|interface| interface.by).filter(|_| same).unwrap_or("policy")
}

impl Design {
    /// The name of the technique of an interface, by its section; the names of a chain with `+` between them.
    pub fn named(&self, section: &str) -> String {
        let names: Vec<_> = self.techniques().filter(|(slot, _)| slot.0 == section).map(|(_, it)| it.name()).collect();
        names.join("+")
    }

    /// What the techniques remember that an image must hold, each with its place and name.
    pub(crate) fn memories(&self) -> Vec<(String, Vec<u8>)> {
        let memory = |(slot, technique): (Slot, &dyn Technique)| (format!("{slot}/{}", technique.name()), technique.save());
        self.techniques().map(memory).filter(|(_, memory)| !memory.is_empty()).collect()
    }

    /// Gives a technique back what it remembered, if the design has it in the same place.
    pub(crate) fn remember(&mut self, name: &str, memory: &[u8]) -> Result<(), String> {
        let Some((place, technique)) = name.split_once('/') else { return Err(format!("`{name}` names no technique")) };
        let mut found = self.techniques_mut().filter(|(slot, it)| slot.to_string() == place && it.name() == technique);
        found.try_for_each(|(_, it)| it.restore(memory)).map_err(|what| format!("{name}: {what}"))
    }

    /// Tells every technique the run's seed.
    pub(crate) fn seed(&mut self, seed: u64) {
        for (Slot(_, position), technique) in self.techniques_mut() {
            // Two of the same kind in one chain draw different numbers.
            technique.seed(seed.wrapping_add((position.unwrap_or(0) as u64) << 32));
        }
    }
}

/// Whether a document stands alone or changes another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DesignKind {
    /// It can be run.
    Design,
    /// It is added to a design: `base+no-gc`.
    Overlay,
}

/// What stands at the top of a design file, outside its sections.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    #[serde(default, rename = "name")]
    _name: String,
    /// One line about it.
    pub summary: String,
    /// Whether it stands alone.
    pub kind: DesignKind,
    /// The composition that a design stands for, if it is made of others.
    pub parts: Option<String>,
    /// The composition that an overlay changes where it is written without a design before it, if it names one.
    pub alone: Option<String>,
}

impl Header {
    /// What stands at the top of a document.
    ///
    /// # Errors
    /// Unknown and missing keys, unknown sections; a design with `alone`, an overlay with `parts`.
    pub fn of(document: &Document) -> Result<Self, ConfigError> {
        if document.is_given() {
            // What options give is an overlay without a word about it.
            let none = String::new;
            return Ok(Self { _name: none(), summary: none(), kind: DesignKind::Overlay, parts: None, alone: None });
        }
        let (mut top, mut faults) = (Table::default(), Faults::default());
        for (key, value) in document.root.iter() {
            match value.section() {
                None => top.set(key, value.clone()),
                Some(_) if SECTIONS.contains(&key) => {}
                Some(_) => faults.push(Fault::unknown(key, "", &SECTIONS)),
            }
        }
        let header: Option<Self> = decode(&top, &FilePlace::new(&document.name, 0), "", &mut faults);
        if let Some(Self { kind, parts, alone, .. }) = &header {
            if parts.is_some() && *kind == DesignKind::Overlay {
                faults.push(Fault::new("", "parts", "makes a design of others, and `kind` is \"overlay\"").with("", "kind"));
            }
            if alone.is_some() && *kind == DesignKind::Design {
                faults.push(Fault::new("", "alone", "names the design under an overlay, and `kind` is \"design\"").with("", "kind"));
            }
        }
        faults.result().map_err(|error| error.placed(std::iter::once(document)))?;
        Ok(header.expect("what has no fault was decoded"))
    }
}

impl Design {
    /// Composes documents: the first is a design, the others overlays whose values override earlier ones. An overlay that
    /// chooses another policy for an interface replaces the whole section.
    ///
    /// # Errors
    /// All unknown sections, keys and policies; techniques that contradict each other; an overlay without a design to change.
    pub fn compose(name: &str, documents: &[&Document]) -> Result<Self, ConfigError> {
        let placed = |error: ConfigError| error.placed(documents.iter().copied());
        let mut faults = Faults::default();
        let headers: Vec<Option<Header>> = documents.iter().map(|document| faults.take(Header::of(document))).collect();
        faults.result().map_err(placed)?;
        let (mut faults, mut merged, mut summary) = (Faults::default(), Table::default(), String::new());
        // The overlay that has chosen the technique of a section since the last design.
        let mut choosers: BTreeMap<&str, &str> = BTreeMap::new();
        // The trigger that stood where an overlay says that GC never starts.
        let mut twin: Option<Table> = None;
        for (index, (document, header)) in documents.iter().zip(headers.into_iter().flatten()).enumerate() {
            let kind = |found: String| Fault::new("", "kind", found).at(document.place("", "kind"));
            match (index, header.kind) {
                (1.., _) if document.is_given() => {}
                // Its parts stand before it, and what it says itself is added to them.
                (1.., DesignKind::Design) if header.parts.is_some() => summary = header.summary,
                (0, DesignKind::Overlay) => {
                    let remedy = format!("an overlay is written behind a design, as in base+{}", document.name);
                    faults.push(kind(format!("is \"overlay\", and {} is the first part", document.name)).remedy(remedy));
                }
                (0, DesignKind::Design) => summary = header.summary,
                (_, DesignKind::Design) => {
                    faults.push(kind(format!("is \"design\", not an overlay; the composition {name} has one design, first")));
                }
                (_, DesignKind::Overlay) => summary = format!("{summary}; with {}: {}", document.name, header.summary),
            }
            if header.kind == DesignKind::Design {
                choosers.clear();
            }
            for (section, value) in document.root.iter() {
                let Some(values) = value.section() else { continue };
                if let Some(held) = merged.get(section).and_then(Value::section) {
                    let fault = contradiction(name, section, [held, values], [choosers.get(section).copied(), Some(&document.name)]);
                    // The scope of a GC's lock is changed by itself; of other policies the parameters go with the technique.
                    let chosen = policy(held).is_some() && policy(values).is_some();
                    let replaces = chosen
                        && (policy(held) != policy(values)
                            || section != "gc_lock" && technique(section, held) != technique(section, values));
                    if let Some(fault) = fault {
                        let place = document.place(section, &fault.key);
                        faults.push(fault.at(place));
                    }
                    if replaces {
                        if section == "gc_trigger" && policy(held) != Some(NEVER) {
                            twin = Some(held.clone());
                        }
                        merged.remove(section);
                    }
                }
                if header.kind == DesignKind::Overlay && chooses(values) {
                    choosers.insert(section, &document.name);
                }
                merged.section_mut(section, &value.place).merge(values);
            }
        }
        let mut policies = outside::identify(&mut merged, &mut faults);
        let mut twin = twin.filter(|_| merged.get("gc_trigger").and_then(Value::section).and_then(policy) == Some(NEVER));
        policies.extend(twin.iter_mut().flat_map(|twin| outside::identify(twin, &mut faults)));
        faults.result().map_err(placed)?;
        let rows = merged.rows();
        let place = FilePlace::new(name, 0);
        for Interface { section, usual, .. } in INTERFACES {
            if let Some(usual) = usual.filter(|_| merged.get(section).is_none()) {
                merged.section_mut(section, &place).set("policy", Value::new(&place, usual.into()));
            }
        }
        let mut faults = Faults::default();
        let sections: Option<Sections> = decode(&merged, &place, "", &mut faults);
        if sections.as_ref().is_some_and(|sections| sections.victim.chain.is_empty()) {
            let remedy = "it needs at least one policy, such as { policy = \"greedy\" }";
            faults.push(Fault::new("victim", "chain", "is empty").remedy(remedy));
        }
        let twin = twin.and_then(|twin| decode(&twin, &place, "gc_trigger", &mut faults));
        faults.result().map_err(placed)?;
        let sections = sections.expect("what has no fault was decoded");
        let mut design = Self::of(name, summary, rows, documents.iter().map(|&document| document.clone()).collect(), sections);
        design.start.twin = twin;
        design.policies = policies;
        Ok(design)
    }

    /// Checks every technique against the device and against the others.
    ///
    /// # Errors
    /// What contradicts what, with both keys, and the place of one of them: the last file that gives any.
    pub fn prepare(&mut self, device: &Device) -> Result<(), ConfigError> {
        let mut faults = Faults::default();
        self.check(device, &mut faults);
        self.find_start(device);
        let placed = |error: ConfigError| match self.files.as_slice() {
            [] => error.at(&FilePlace::new(&self.name, 0)),
            files => error.placed(files.iter()),
        };
        faults.result().map_err(placed)
    }
}

/// The logical pages of a drive's tables: the host's, those of parity, and one for each place of a stripe that may move.
pub(crate) fn pages_of_tables(device: &Device, design: &mut Design, stripes: Option<&Stripes>) -> u64 {
    stripes
        .map_or(device.logical_pages(), |stripes| stripes.pages() + if design.wear_level.active() { u64::from(stripes.width()) } else { 0 })
}

/// The policy that a section chooses, if it does.
fn policy(values: &Table) -> Option<&str> {
    values.get("policy").and_then(Value::as_str)
}

/// Why a section can't have what a document says of it, beside what stood there before it. `named` are the overlay that chose the
/// technique before, if one did, and the document.
fn contradiction(name: &str, section: &str, [held, values]: [&Table; 2], named: [Option<&str>; 2]) -> Option<Fault> {
    if let [Some(other), Some(own)] = named
        && chooses(values)
        && interface(section).is_some_and(|interface| interface.once)
        && technique(section, held) != technique(section, values)
    {
        let key = difference(section, held, values);
        let said = |table: &Table| table.get(key).map_or_else(|| "its default".into(), |value| value.plain().to_toml().to_string());
        let found = format!(
            "= {} contradicts [{section}] `{key}` = {} of {other} in {name}: a section has one technique, and two overlays choose one each",
            said(values),
            said(held)
        );
        return Some(Fault::new(section, key, found).remedy(format!("leave out {other} or {own}")));
    }
    let both = [policy(held)?, policy(values)?];
    // A user who adds the one to the other wants both, and the later would silently be without the earlier.
    let excluded = section == "place" && both[0] != both[1] && both.contains(&"rain") && both.contains(&"idle_die");
    excluded.then(|| {
        let found = format!(
            "= \"{}\" contradicts [place] `policy` = \"{}\" before it in {name}: the pages of stripes with parity have fixed planes, dynamic \
             allocation has none",
            both[1], both[0]
        );
        Fault::new("place", "policy", found)
    })
}
