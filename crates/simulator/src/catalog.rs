//! Devices and designs by name or by file.

use crate::power::add_bit_errors;
use crate::settings::Settings;
use include_dir::{Dir, include_dir};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::path::Path;
use std::sync::{LazyLock, Mutex, PoisonError};
use tinytail_config::{ConfigError, Document, Fault, Faults, Row, did_you_mean};
use tinytail_core::design::{self, Adjustment, Design, DesignKind, Header};
use tinytail_core::device::{self, Device};
use tinytail_core::techniques::outside::Entry;
use tinytail_workload::read_text;

static DEVICES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../devices");
static DESIGNS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../designs");

/// A name and what it stands for.
#[derive(Debug, Clone, Serialize)]
pub struct Listing {
    /// Name.
    pub name: String,
    /// One line.
    pub summary: String,
    /// `design` or `overlay`; absent for devices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<&'static str>,
}

/// Everything that a device or a design says, with sources.
#[derive(Debug, Clone, Serialize)]
pub struct Description {
    /// Name.
    pub name: String,
    /// One line.
    pub summary: String,
    /// Every value with its source.
    pub rows: Vec<Row>,
    /// What follows from the values; only for devices.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub derived: Vec<Row>,
    /// What an overlay is where no design stands before it, if it may stand alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alone: Option<String>,
}

fn embedded(folder: &'static Dir<'static>) -> Vec<(&'static str, &'static str)> {
    let mut all: Vec<(&str, &str)> = folder
        .files()
        .filter(|file| file.path().extension().is_some_and(|extension| extension == "toml"))
        .filter_map(|file| Some((file.path().file_stem()?.to_str()?, file.contents_utf8()?)))
        .collect();
    all.sort_unstable();
    all
}

/// A document by its built-in name or by its path.
fn document(what: &str, folder: &'static Dir<'static>, name_or_path: &str) -> Result<Document, ConfigError> {
    /// What is built in, by what it is and its name, once it has been asked for.
    static PARSED: LazyLock<Mutex<HashMap<(String, String), Document>>> = LazyLock::new(Mutex::default);
    let key = (what.to_string(), name_or_path.to_string());
    let parsed = || PARSED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(document) = parsed().get(&key) {
        return Ok(document.clone());
    }
    let document = Document::parse(name_or_path, &text(what, folder, name_or_path)?)?;
    if Path::new(name_or_path).extension().is_none() {
        parsed().insert(key, document.clone());
    }
    Ok(document)
}

/// The text of a file by its built-in name or by its path.
fn text(what: &str, folder: &'static Dir<'static>, name_or_path: &str) -> Result<String, ConfigError> {
    let known = embedded(folder);
    if let Some((_, text)) = known.iter().find(|(name, _)| *name == name_or_path) {
        return Ok((*text).into());
    }
    if Path::new(name_or_path).extension().is_some_and(|extension| extension == "toml") {
        return read_text(Path::new(name_or_path)).map_err(|error| ConfigError::new(format!("{name_or_path}: {error}")));
    }
    Err(unknown(what, name_or_path, &known.iter().map(|(name, _)| *name).collect::<Vec<_>>()))
}

/// An unknown name, with the nearest known one and all of them; designs and overlays apart.
fn unknown(what: &str, name: &str, known: &[&str]) -> ConfigError {
    let hint = did_you_mean(name, known.iter().copied());
    let listings = if what == "design" { designs() } else { Vec::new() };
    let is_overlay = |name: &&str| listings.iter().any(|listing| listing.name == *name && listing.kind == Some("overlay"));
    let (overlays, others): (Vec<&str>, Vec<&str>) = known.iter().copied().partition(is_overlay);
    let mut message = format!("unknown {what} `{name}`{hint}; {what}s: {}", others.join(", "));
    if !overlays.is_empty() {
        message += &format!("; overlays, written behind a design as in base+no-gc: {}", overlays.join(", "));
    }
    ConfigError::new(format!("{message}; or the path of a .toml file"))
}

/// The built-in devices.
pub fn devices() -> Vec<Listing> {
    let listing = |(name, text)| {
        let document = Document::parse(name, text).ok()?;
        Some(Listing { name: name.to_string(), summary: document.text("summary")?.to_string(), kind: None })
    };
    embedded(&DEVICES).into_iter().filter_map(listing).collect()
}

/// A device by its built-in name or the path of its file.
///
/// # Errors
/// An unknown name with the nearest one, or a faulty file.
pub fn device(name_or_path: &str) -> Result<Device, ConfigError> {
    device_with(name_or_path, &Settings::default())
}

/// As `device`, with values that are given beside its file.
///
/// # Errors
/// As for `device`; a value that does not fit.
pub fn device_with(name_or_path: &str, settings: &Settings) -> Result<Device, ConfigError> {
    let document = document("device", &DEVICES, name_or_path)?;
    Device::from_documents(&std::iter::once(&document).chain(settings.device()).collect::<Vec<_>>())
}

/// Everything that a device says.
///
/// # Errors
/// As for `device_with`.
pub fn describe_device(name_or_path: &str, settings: &Settings) -> Result<Description, ConfigError> {
    let drive = device_with(name_or_path, settings)?;
    let derived = drive.derived().rows();
    let document = document("device", &DEVICES, name_or_path)?;
    let documents: Vec<&Document> = std::iter::once(&document).chain(settings.device()).collect();
    let root = Document::merged(&documents, &device::ONE_OF, &mut Faults::default());
    let rows = root.rows().into_iter().filter(|row| !row.section.is_empty()).collect();
    Ok(Description { name: drive.name, summary: drive.summary, rows, derived, alone: None })
}

/// A device as it was read: values that follow from alternatives in their place, without sources; in `derived` what follows
/// from them.
///
/// # Errors
/// As for `device_with`.
pub fn device_document(name_or_path: &str, settings: &Settings) -> Result<Value, ConfigError> {
    let device = device_with(name_or_path, settings)?;
    let derived: Map<String, Value> = device.derived().rows().into_iter().map(|row| (row.key, row.value)).collect();
    let mut document = json!(device);
    document["derived"] = derived.into();
    Ok(document)
}

/// The built-in designs and overlays.
pub fn designs() -> Vec<Listing> {
    let listing = |(name, text)| {
        let Header { kind, summary, .. } = Header::of(&Document::parse(name, text).ok()?).ok()?;
        let kind = Some(if kind == DesignKind::Design { "design" } else { "overlay" });
        Some(Listing { name: String::from(name), summary, kind })
    };
    embedded(&DESIGNS).into_iter().filter_map(listing).collect()
}

/// Every part of a composition names something.
fn check_parts(composition: &str) -> Result<(), ConfigError> {
    let parts: Vec<&str> = composition.split('+').collect();
    let Some(empty) = parts.iter().position(|part| part.trim().is_empty()) else { return Ok(()) };
    let what = match empty {
        0 if parts.len() == 1 => "the name of the design is empty".to_string(),
        0 => format!("design `{composition}`: the part before the first plus sign is empty"),
        _ if empty + 1 == parts.len() => format!("design `{composition}`: the part behind the last plus sign is empty"),
        _ => format!("design `{composition}`: the part between two plus signs is empty"),
    };
    Err(ConfigError::new(format!("{what}; write a design, and overlays behind it as in base+no-gc")))
}

/// A design by its composition, such as `base+no-gc`; each part is a built-in name or the path of a file.
///
/// # Errors
/// An unknown part with the nearest known one, or a faulty file.
pub fn design(composition: &str) -> Result<Design, ConfigError> {
    design_with(composition, &Settings::default(), None)
}

/// As `design`, with values that are given beside its files, and with an overlay behind them.
///
/// # Errors
/// As for `design`; a value that does not fit.
pub fn design_with(composition: &str, settings: &Settings, overlay: Option<&str>) -> Result<Design, ConfigError> {
    let mut documents = Vec::new();
    expand(composition, &mut Vec::new(), &mut documents)?;
    documents.extend(settings.design().cloned());
    if let Some(overlay) = overlay {
        documents.push(document("design", &DESIGNS, overlay)?);
    }
    let name = std::iter::once(composition).chain(overlay).collect::<Vec<_>>().join("+");
    Design::compose(&name, &documents.iter().collect::<Vec<_>>())
}

/// As `design_with`, for a device: a design in which GC never starts, and that is no twin of another, starts where the device's
/// own design would.
///
/// # Errors
/// As for `design_with`.
pub fn design_for(device: &Device, composition: &str, settings: &Settings, overlay: Option<&str>) -> Result<Design, ConfigError> {
    let mut design = design_with(composition, settings, overlay)?;
    if design.lacks_trigger() {
        design.start_as(self::design(&device.defaults.design)?);
    }
    Ok(design)
}

/// The policies of a design's own that run when a design runs on a device; none if the design is faulty, which its run says.
pub fn policies(device: &str, composition: &str, settings: &Settings) -> Vec<Entry> {
    let Ok(design) = design_with(composition, settings, None) else { return Vec::new() };
    let start = design.lacks_trigger().then(|| self::design(&device_with(device, settings).ok()?.defaults.design).ok()).flatten();
    design.policies.into_iter().chain(start.into_iter().flat_map(|start| start.policies)).collect()
}

/// A design by its composition, and the device that it is for: whatever of them has no room on the drive is adjusted, and named.
///
/// # Errors
/// As for `design`.
pub fn fitted(composition: &str, device: &mut Device, settings: &Settings) -> Result<(Design, Vec<Adjustment>), ConfigError> {
    let mut design = design_for(device, composition, settings, None)?;
    let adjusted = design.fit(device);
    Ok((design, adjusted))
}

/// Every part of a composition is known, whether or not they go together.
///
/// # Errors
/// An unknown part with the nearest known one, or a file that can't be read.
pub(crate) fn check_names(composition: &str) -> Result<(), ConfigError> {
    check_parts(composition)?;
    composition.split('+').try_for_each(|part| document("design", &DESIGNS, part).map(drop))
}

/// The design that a composition is made of in the end.
pub(crate) fn root(composition: &str) -> Option<String> {
    let mut documents = Vec::new();
    expand(composition, &mut Vec::new(), &mut documents).ok()?;
    documents.into_iter().next().map(|document| document.name)
}

/// The documents of a composition, in order. A design that is made of others stands behind its parts; `within` names the
/// designs whose parts these are.
fn expand(composition: &str, within: &mut Vec<String>, documents: &mut Vec<Document>) -> Result<(), ConfigError> {
    check_parts(composition)?;
    for (index, part) in composition.split('+').enumerate() {
        let document = document("design", &DESIGNS, part)?;
        if let (0, Some(alone)) = (index, Header::of(&document)?.alone) {
            expand_named(&document, "alone", &alone, within, documents)?;
        }
        expand_document(document, within, documents)?;
    }
    Ok(())
}

/// The documents of a composition that a document names under `key`.
fn expand_named(
    document: &Document,
    key: &str,
    composition: &str,
    within: &mut Vec<String>,
    documents: &mut Vec<Document>,
) -> Result<(), ConfigError> {
    if within.contains(&document.name) {
        return Err(ConfigError::new(format!("{}: `{key}` leads back to the design itself", document.name)));
    }
    within.push(document.name.clone());
    // What is wrong with a part is said with the file that names it.
    let place = document.place("", key);
    expand(composition, within, documents).map_err(|error| ConfigError::new(format!("{place}: `{key}`: {error}")))?;
    within.pop();
    Ok(())
}

fn expand_document(document: Document, within: &mut Vec<String>, documents: &mut Vec<Document>) -> Result<(), ConfigError> {
    if let Some(parts) = Header::of(&document)?.parts {
        expand_named(&document, "parts", &parts, within, documents)?;
    }
    documents.push(document);
    Ok(())
}

/// Everything that a design says, as composed.
///
/// # Errors
/// As for `design_with`. An overlay is described by itself if no values are given.
pub fn describe_design(composition: &str, settings: &Settings) -> Result<Description, ConfigError> {
    check_parts(composition)?;
    if !composition.contains('+') && settings.design().is_none() {
        let document = document("design", &DESIGNS, composition)?;
        let header = Header::of(&document)?;
        if header.kind == DesignKind::Overlay {
            let (summary, alone) = (header.summary, header.alone.map(|alone| format!("{alone}+{composition}")));
            let rows = document.root.rows().into_iter().filter(|row| !row.section.is_empty()).collect();
            return Ok(Description { name: composition.into(), summary, rows, derived: Vec::new(), alone });
        }
    }
    let design = design_with(composition, settings, None)?;
    Ok(Description { name: design.name, summary: design.summary, rows: design.rows, derived: Vec::new(), alone: None })
}

/// The file of a device, or one that says the same with the values that are given beside it.
///
/// # Errors
/// As for `device_with`.
pub fn device_file(name_or_path: &str, settings: &Settings) -> Result<String, ConfigError> {
    device_with(name_or_path, settings)?;
    if settings.device().is_none() {
        return text("device", &DEVICES, name_or_path);
    }
    let Description { name, summary, rows, .. } = describe_device(name_or_path, settings)?;
    file(&[("name", name.into()), ("summary", summary.into())], &rows)
}

/// The file of a design or of an overlay; of a composition, and with the values that are given beside it, one that says the same.
///
/// # Errors
/// As for `describe_design`.
pub fn design_file(composition: &str, settings: &Settings) -> Result<String, ConfigError> {
    let Description { name, summary, rows, .. } = describe_design(composition, settings)?;
    if !composition.contains('+') && settings.design().is_none() {
        let document = document("design", &DESIGNS, composition)?;
        if Header::of(&document)?.parts.is_none() {
            return text("design", &DESIGNS, composition);
        }
    }
    file(&[("name", name.into()), ("kind", "design".into()), ("summary", summary.into())], &rows)
}

/// A file with texts at its top, and sections of rows.
fn file(top: &[(&str, toml::Value)], rows: &[Row]) -> Result<String, ConfigError> {
    let mut text: String = top.iter().map(|(key, value)| format!("{key} = {value}\n")).collect();
    let mut sections: Vec<&str> = Vec::new();
    for row in rows {
        if !sections.contains(&row.section.as_str()) {
            sections.push(&row.section);
        }
    }
    for section in sections {
        text += &format!("\n[{section}]\n");
        for Row { key, value, source, .. } in rows.iter().filter(|row| row.section == section) {
            let value = toml::Value::try_from(value).map_err(|error| ConfigError::new(format!("[{section}] `{key}`: {error}")))?;
            text += &match source.as_str() {
                "" => format!("{key} = {value}\n"),
                source => format!("{key} = {{ value = {value}, source = {} }}\n", toml::Value::from(source)),
            };
        }
    }
    Ok(text)
}

/// What was found in a file that is right.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Checked {
    /// What it is: device, design, overlay or workload.
    pub kind: &'static str,
    /// What of it no known drive has, each with its line.
    pub findings: Vec<String>,
}

impl Checked {
    /// A file of this kind of which there is nothing to tell.
    pub fn plain(kind: &'static str) -> Self {
        Self { kind, findings: Vec::new() }
    }
}

/// Checks a device, design or overlay file. Returns which of them it is, and what is odd about it.
///
/// # Errors
/// What is wrong, with file and line.
pub fn check(path: &str) -> Result<Checked, ConfigError> {
    let text = read_text(Path::new(path)).map_err(|error| ConfigError::new(format!("{path}: {error}")))?;
    let document = Document::parse(path, &text)?;
    let has = |sections: &[&str]| sections.iter().any(|section| document.root.get(section).is_some());
    if has(&device::SECTIONS) {
        let odd = ConfigError(Device::from_document(&document)?.implausible()).placed(std::iter::once(&document));
        return Ok(Checked { kind: "device", findings: odd.0.iter().map(ToString::to_string).collect() });
    }
    if !has(&design::SECTIONS) && document.text("kind").is_none() {
        return Err(neither(&document));
    }
    let header = Header::of(&document)?;
    if header.kind == DesignKind::Design {
        let mut documents = Vec::new();
        expand_document(document, &mut Vec::new(), &mut documents)?;
        check_parameters(path, || Design::compose(path, &documents.iter().collect::<Vec<_>>()))?;
        return Ok(Checked::plain("design"));
    }
    if let Some(alone) = header.alone {
        let mut documents = Vec::new();
        expand_named(&document, "alone", &alone, &mut Vec::new(), &mut documents)?;
        documents.push(document);
        check_parameters(path, || Design::compose(path, &documents.iter().collect::<Vec<_>>()))?;
        return Ok(Checked::plain("overlay"));
    }
    // An overlay is right if it is right on any design: it may change a key of a policy that only some have.
    let right_on = |composition: &str| {
        let mut documents = Vec::new();
        expand(composition, &mut Vec::new(), &mut documents)?;
        documents.push(document.clone());
        check_parameters(path, || Design::compose(path, &documents.iter().collect::<Vec<_>>()))
    };
    let plain = right_on("base");
    let all = || designs().into_iter().filter(|listing| listing.kind == Some("design"));
    if plain.is_err() && right_on("base+rain").is_err() && !all().any(|listing| right_on(&listing.name).is_ok()) {
        plain?;
    }
    Ok(Checked::plain("overlay"))
}

/// A file whose sections belong to nothing.
fn neither(document: &Document) -> ConfigError {
    let known = [&device::SECTIONS[..], &design::SECTIONS, &tinytail_workload::SECTIONS].concat();
    let list = |names: &[&str]| names.iter().map(|name| format!("[{name}]")).collect::<Vec<_>>().join(", ");
    let section = document.root.iter().find_map(|(name, value)| value.section().map(|_| (name, value.place.clone())));
    let fault = match section {
        Some((section, place)) => Fault { allowed: String::new(), ..Fault::unknown(section, "", &known) }.at(place),
        None => Fault::new("", "", "this is no device, design or workload").at(document.place("", "")),
    };
    let fault = fault.remedy(format!(
        "a device has {}; a design has `kind` and {}; a workload has one of {}",
        list(&device::SECTIONS),
        list(&design::SECTIONS),
        list(&tinytail_workload::SECTIONS)
    ));
    fault.into()
}

/// Checks the parameters of a design. Some of them are limited by the device; what fits none of the built-in ones, with bit errors or
/// without, is wrong. Of all the faults found, the first that lies in the file itself is told, and not in one that it is composed with.
fn check_parameters(path: &str, compose: impl Fn() -> Result<Design, ConfigError>) -> Result<(), ConfigError> {
    let own = |error: &ConfigError| error.0.iter().any(|fault| *fault.place.name == *path);
    let mut reported: Option<ConfigError> = None;
    let all = |bit_errors| devices().into_iter().map(move |listing| (listing, bit_errors));
    for (listing, bit_errors) in all(false).chain(all(true)) {
        let mut device = device(&listing.name)?;
        if bit_errors {
            add_bit_errors(&mut device);
        }
        let Err(mut error) = compose()?.prepare(&device) else { return Ok(()) };
        if reported.as_ref().is_none_or(|reported| !own(reported) && own(&error)) {
            for fault in &mut error.0 {
                let named = |text: &str| text.replace("this device", &listing.name);
                (fault.found, fault.allowed) = (named(&fault.found), named(&fault.allowed));
            }
            reported = Some(error);
        }
    }
    reported.map_or(Ok(()), Err)
}

/// What a file describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A device, a design or an overlay.
    DeviceOrDesign,
    /// A workload.
    Workload,
}

/// What a file describes, told by its sections, or of a job file of fio by its name.
///
/// # Errors
/// A file that can't be read or is not TOML.
pub fn kind_of(path: &str) -> Result<FileKind, ConfigError> {
    if Path::new(path).extension().is_some_and(|extension| extension == "fio") {
        return Ok(FileKind::Workload);
    }
    let text = read_text(Path::new(path)).map_err(|error| ConfigError::new(format!("{path}: {error}")))?;
    let document = Document::parse(path, &text)?;
    let is_workload = tinytail_workload::SECTIONS.iter().any(|section| document.root.get(section).is_some());
    Ok(if is_workload { FileKind::Workload } else { FileKind::DeviceOrDesign })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tinytail_config::Given;

    #[test]
    fn every_built_in_device_and_design_is_right_and_sourced() {
        for listing in devices() {
            let description = describe_device(&listing.name, &Settings::default()).unwrap();
            for row in description.rows {
                assert!(!row.source.is_empty(), "{}: {} has no source", listing.name, row.key);
            }
            assert_eq!(description.name, listing.name);
        }
        for listing in designs() {
            let description = describe_design(&listing.name, &Settings::default()).unwrap();
            assert!(description.rows.iter().all(|row| !row.source.is_empty()), "{}", listing.name);
            if listing.kind == Some("overlay") {
                design(&format!("base+{}", listing.name)).unwrap();
            } else {
                // Thresholds in blocks suit drives of some size only, and multi-plane commands dies of several planes.
                let fits = |on: &Listing| design(&listing.name).unwrap().prepare(&device(&on.name).unwrap()).is_ok();
                assert!(devices().iter().any(fits), "{} fits no device", listing.name);
            }
        }
    }

    #[test]
    fn a_printed_file_says_the_same_again() {
        let none = Settings::default();
        let given = Settings::try_from(vec!["host.queue_depth=7".to_string()]).unwrap();
        for Listing { name, .. } in devices() {
            let changed = Document::parse("changed", &device_file(&name, &given).unwrap()).unwrap();
            assert_eq!(Device::from_document(&changed).unwrap(), device_with(&name, &given).unwrap(), "{name}");
            let printed = Document::parse("printed", &device_file(&name, &none).unwrap()).unwrap();
            assert_eq!(Device::from_document(&printed).unwrap(), device(&name).unwrap(), "{name}");
            assert_eq!(printed.root.rows(), document("device", &DEVICES, &name).unwrap().root.rows(), "{name}");
        }
        let compositions = designs().into_iter().map(|listing| listing.name).chain(["base+no-gc".into(), "ttflash+level-wear".into()]);
        for name in compositions {
            let printed = Document::parse("printed", &design_file(&name, &none).unwrap()).unwrap();
            let said = describe_design(&name, &none).unwrap();
            assert_eq!(Header::of(&printed).unwrap().summary, said.summary);
            let rows: Vec<Row> = printed.root.rows().iter().filter(|row| !row.section.is_empty()).cloned().collect();
            assert!(said.rows.iter().all(|row| rows.contains(row)) && rows.len() == said.rows.len(), "{name}");
            let header = Header::of(&printed).unwrap();
            if header.kind == DesignKind::Design && header.parts.is_none() {
                Design::compose("printed", &[&printed]).unwrap();
            }
        }
    }

    #[test]
    fn given_values_stand_in_the_place_of_the_files_own() {
        let given = |words: &[&str]| Settings::try_from(words.iter().map(ToString::to_string).collect::<Vec<_>>()).unwrap();
        let settings = given(&["host.capacity_gb=0.75", "flash.bad_block_percent=0.1", "gc.write_points=4"]);
        // The one key of the size replaces the other.
        let host = device_with("ttflash-small", &settings).unwrap().host;
        assert_eq!((host.capacity_gb.unwrap().to_string().as_str(), host.over_provisioning_percent), ("0.75", None));
        let design = design_with("base+no-gc", &settings, None).unwrap();
        assert_eq!(design.gc.write_points, 4);
        let rows = describe_device("ttflash-small", &settings).unwrap().rows;
        let reported: Vec<_> = rows.iter().filter(|row| row.source == "--set").map(|row| row.key.as_str()).collect();
        assert_eq!(reported, ["capacity_gb", "bad_block_percent"]);
        for (word, message) in [
            ("gc.write_pionts=4", "[gc] `write_pionts` is unknown (did you mean `write_points`?)"),
            ("gc.write_points=\"four\"", "[gc] `write_points` is \"four\"; allowed: a whole number"),
            ("host.capacity_gb=1.1", "[host] `capacity_gb` is 1.1; two good blocks"),
            ("geometry.channels=8.0", "[geometry] `channels` is 8.0; allowed: a whole number"),
        ] {
            let settings = given(&[word]);
            let error = device_with("ttflash-small", &settings).map(|_| ()).and_then(|()| design_with("base", &settings, None).map(|_| ()));
            let error = error.unwrap_err().to_string();
            assert!(error.starts_with(&format!("--set {word}: {message}")), "{error}");
        }
        // A fault of several keys stands at the one that is given, and names it.
        for (device, word, message) in [
            (
                "modern-tlc-2t",
                "geometry.channels=256",
                "[geometry] channels, chips, dies, planes, blocks and pages make 4297064448 physical",
            ),
            (
                "ttflash-small",
                "geometry.blocks_per_plane=4",
                "[host] `over_provisioning_percent` is 26.984127; two good blocks of each plane",
            ),
            (
                "modern-tlc-2t",
                "geometry.pages_per_block=1535",
                "[timing] `page_class_pattern` has 3 entries; it must divide the 1535 pages",
            ),
        ] {
            let error = device_with(device, &given(&[word])).unwrap_err().to_string();
            assert!(error.starts_with(&format!("--set {word}: {message}")), "{error}");
        }
        let mut design = design_with("base", &given(&["gc.write_points=0"]), None).unwrap();
        let error = design.prepare(&device("ttflash-small").unwrap()).unwrap_err().to_string();
        assert!(error.starts_with("--set gc.write_points=0: [gc] `write_points` is 0"), "{error}");
    }

    #[test]
    fn one_key_of_a_policy_is_changed_without_the_policy_and_another_policy_keeps_none() {
        let given = |words: &[&str]| Settings::try_from(words.iter().map(ToString::to_string).collect::<Vec<_>>()).unwrap();
        let value = |composition: &str, words: &[&str], section: &str, key: &str| {
            let rows = describe_design(composition, &given(words)).unwrap().rows;
            rows.into_iter().find(|row| row.section == section && row.key == key).map(|row| row.value.to_string())
        };
        assert_eq!(value("ttflash", &["place.stripe_width=4"], "place", "stripe_width").as_deref(), Some("4"));
        assert_eq!(value("ttflash", &["place.stripe_width=4"], "place", "policy").as_deref(), Some("\"rain\""));
        // The order of the options does not matter.
        for words in [["gc_trigger.policy=never", "gc.write_points=2"], ["gc.write_points=2", "gc_trigger.policy=never"]] {
            assert_eq!(value("base", &words, "gc_trigger", "soft_free_percent"), None);
        }
        let error = describe_design("base", &given(&["place.stripe_width=4"])).unwrap_err().to_string();
        let message = "[place] `stripe_width` is unknown; allowed with `policy` = \"static\": order, opens";
        assert_eq!(error, format!("--set place.stripe_width=4: {message}"));
    }

    #[test]
    fn a_design_made_of_others_has_their_sections_and_its_own() {
        let ttflash = design("ttflash+no-gc").unwrap();
        let choices = (ttflash.place.name(), ttflash.gc_gate.name(), ttflash.read_plan.name(), ttflash.gc_trigger.name());
        assert_eq!(choices, ("rain", "rotating", "gc_tolerant", "never"));
        assert!(ttflash.summary.starts_with("TTFLASH: plane-blocking"), "{}", ttflash.summary);
        let value = |design: &str, key: &str| {
            let rows = describe_design(design, &Settings::default()).unwrap().rows;
            rows.into_iter().find(|row| row.key == key).map(|row| row.value.to_string())
        };
        assert_eq!(value("pb", "one_per_channel").as_deref(), Some("false"));
        let error = check_text("unknown", "summary = \"s\"\nkind = \"design\"\nparts = \"bass\"\n").unwrap_err();
        assert!(error.contains("f.toml:3: ") && error.contains("`parts`: unknown design `bass` (did you mean `base`?)"), "{error}");
        let error = check_text("circle", "summary = \"s\"\nkind = \"overlay\"\nparts = \"base\"\n[gc]\nwrite_points = 1\n");
        assert!(error.unwrap_err().contains("`parts` makes a design of others"));
    }

    #[test]
    fn of_two_overlays_that_choose_a_technique_of_one_section_neither_is_silently_without_effect() {
        for (composition, parts) in [
            (
                "base+plane-blocking+preemptible",
                ["[gc_lock] `scope` = \"channel\"", "of plane-blocking", "leave out plane-blocking or preemptible"],
            ),
            ("erase-baseline+i-es+d-es", ["[suspend] `mode` = \"d_es\"", "`mode` = \"i_es\" of i-es", "leave out i-es or d-es"]),
            (
                "base+fifo-victim+cost-benefit-victim",
                ["[victim] `chain`", "of fifo-victim", "leave out fifo-victim or cost-benefit-victim"],
            ),
        ] {
            let error = design(composition).err().expect(composition).to_string();
            assert!(parts.iter().all(|part| error.contains(part)), "{error}");
        }
        // What a design has chosen, its parts included, is overridden, and the same twice is no contradiction.
        for composition in
            ["pb+preemptible", "ttflash+controller-blocking", "fgc+rate-match", "base+background-emergency+no-gc", "gc-vic+skip-pages"]
        {
            design(composition).unwrap();
        }
    }

    #[test]
    fn techniques_that_need_stripes_are_refused_without_them() {
        let device = device("ttflash-small").unwrap();
        for overlay in ["gtr", "rgc", "gtf"] {
            let error = design(&format!("base+{overlay}")).unwrap().prepare(&device).unwrap_err().to_string();
            assert!(error.contains("needs stripes with parity") && error.contains("\"static\""), "{error}");
        }
        for (values, message) in [
            (["buffer_kib", "ram", "16"], "at least 32 on this device"),
            (["over_provisioning_percent", "host", "16"], "[host] `capacity_gb` may be 0.895483904 at most"),
        ] {
            let [key, section, value] = values;
            let text = embedded(&DEVICES).into_iter().find(|(name, _)| *name == "ttflash-small").unwrap().1;
            let document = Document::parse("ttflash-small", text).unwrap();
            let given = Document::given(&[Given::parse(&format!("{section}.{key}={value}")).unwrap()]);
            let device = Device::from_documents(&[&document, &given]).unwrap();
            let error = design("ttflash").unwrap().prepare(&device).unwrap_err().to_string();
            assert!(error.contains(message) && error.contains("[place]"), "{error}");
        }
        for (gb, fits) in [("0.895483904", true), ("0.895488", false)] {
            let given = Settings::try_from(vec![format!("host.capacity_gb={gb}")]).unwrap();
            let device = device_with("ttflash-small", &given).unwrap();
            assert_eq!(design("ttflash").unwrap().prepare(&device).is_ok(), fits, "{gb}");
        }
    }

    #[test]
    fn the_device_of_ttflash_is_table_1() {
        let device = device("ttflash-256g").unwrap();
        assert_eq!(device.geometry.raw_bytes(), 256 << 30);
        assert_eq!(u64::from(device.geometry.pages_per_plane()) * 4096, 4 << 30);
        assert_eq!(device.timing.read_ns[0] + device.timing.transfer_page_ns, 140_000);
        assert_eq!(super::device("ttflash-48g").unwrap().geometry.raw_bytes(), 48 << 30);
    }

    #[test]
    fn unknown_names_are_answered_with_the_nearest() {
        assert!(device("ttflash-265g").unwrap_err().to_string().contains("did you mean `ttflash-256g`?"));
        let error = |name: &str| design(name).err().expect("an error").to_string();
        assert!(error("base+nogc").contains("did you mean `no-gc`?"));
        assert!(error("no-gc").contains("is \"overlay\""));
        assert!(error("base+base").contains("not an overlay"));
        assert!(device("ttflash").unwrap_err().to_string().contains("did you mean `ttflash-256g`, `ttflash-48g` or `ttflash-small`?"));
    }

    #[test]
    fn designs_and_overlays_are_listed_apart() {
        let error = describe_design("nosuch", &Settings::default()).unwrap_err().to_string();
        let (designs, overlays) = error.split_once("; overlays, written behind a design as in base+no-gc: ").expect("two lists");
        assert!(designs.starts_with("unknown design `nosuch`; designs: ") && designs.contains("base"), "{error}");
        assert!(overlays.contains("no-gc") && !overlays.contains("base,"), "{error}");
        assert!(!device("nosuch").unwrap_err().to_string().contains("overlay"));
    }

    #[test]
    fn an_empty_part_of_a_composition_is_refused() {
        for (composition, message) in [
            ("", "the name of the design is empty"),
            ("+", "before the first plus sign is empty"),
            ("+no-gc", "before the first plus sign is empty"),
            ("base+", "behind the last plus sign is empty"),
            ("base++no-gc", "between two plus signs is empty"),
        ] {
            for error in [design(composition).err(), describe_design(composition, &Settings::default()).err()] {
                let error = error.expect(composition).to_string();
                assert!(error.contains(message), "{composition}: {error}");
            }
        }
    }

    fn check_text(test: &str, text: &str) -> Result<&'static str, String> {
        let path = std::env::temp_dir().join(format!("tinytail-catalog-{}-{test}.toml", std::process::id()));
        std::fs::write(&path, text).unwrap();
        let shown = path.display().to_string();
        let result = check(&shown).map(|checked| checked.kind).map_err(|error| error.to_string().replace(&shown, "f.toml"));
        std::fs::remove_file(&path).unwrap();
        result
    }

    #[test]
    fn every_built_in_file_is_a_right_one() {
        let names = |what: &str, folder| embedded(folder).into_iter().map(|(name, _)| format!("{what}/{name}")).collect::<Vec<_>>();
        for name in [names("devices", &DEVICES), names("designs", &DESIGNS)].concat() {
            let path = format!("{}/../../{name}.toml", env!("CARGO_MANIFEST_DIR"));
            assert_eq!(check(&path).unwrap().findings, [""; 0], "{name}");
        }
    }

    #[test]
    fn a_file_that_is_nothing_is_told_what_it_could_be() {
        for text in ["", "name = \"x\"\n"] {
            let error = check_text("nothing", text).unwrap_err();
            assert!(error.starts_with("f.toml: this is no device, design or workload; a device has ["), "{error}");
            for section in ["[geometry]", "`kind`", "[gc_trigger]", "[synthetic]"] {
                assert!(error.contains(section), "{error}");
            }
        }
        let error = check_text("near", "\n[geometri]\nchannels = 1\n").unwrap_err();
        assert!(error.starts_with("f.toml:2: [geometri] is unknown (did you mean `geometry`?); a device has ["), "{error}");
    }

    #[test]
    fn parameters_that_fit_no_device_are_refused_with_their_line() {
        for (values, place) in [
            ("[gc_trigger]\nhard_free_percent = nan", "f.toml:4: [gc_trigger] "),
            ("[gc_trigger]\nsoft_free_percent = 10\nhard_free_percent = 30", "f.toml:4: [gc_trigger] "),
            ("[place]\n\norder = \"CWDX\"", "f.toml:5: [place] "),
            ("[gc]\nwrite_points = 0", "f.toml:4: [gc] `write_points` is 0"),
        ] {
            let error = check_text("parameters", &format!("summary = \"s\"\nkind = \"overlay\"\n{values}\n")).unwrap_err();
            assert!(error.starts_with(place), "{error}");
        }
        let overlay = "summary = \"s\"\nkind = \"overlay\"\n[gc]\nreserve_blocks = 2\n";
        assert_eq!(check_text("overlay", overlay), Ok("overlay"));
        // One key of a policy, without the policy.
        for values in ["[place]\nstripe_width = 4", "[gc_gate]\none_per_channel = true"] {
            let overlay = format!("summary = \"s\"\nkind = \"overlay\"\n{values}\n");
            assert_eq!(check_text("one-key", &overlay), Ok("overlay"), "{values}");
        }
    }
}
