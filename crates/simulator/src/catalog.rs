//! Devices and designs by name or by file.

use include_dir::{Dir, include_dir};
use serde::Serialize;
use std::path::Path;
use tinytail_core::config::{ConfigError, Document, Row, nearest_hint};
use tinytail_core::design::{Design, DesignKind, describe};
use tinytail_core::device::Device;

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
    let known = embedded(folder);
    if let Some((name, text)) = known.iter().find(|(name, _)| *name == name_or_path) {
        return Document::parse(name, text);
    }
    let path = Path::new(name_or_path);
    if path.extension().is_some_and(|extension| extension == "toml") {
        let text = std::fs::read_to_string(path).map_err(|error| ConfigError::new(format!("{name_or_path}: {error}")))?;
        return Document::parse(name_or_path, &text);
    }
    let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
    let hint = nearest_hint(name_or_path, &names);
    Err(ConfigError::new(format!("unknown {what} `{name_or_path}`{hint}; known: {}; or the path of a .toml file", names.join(", "))))
}

/// The built-in devices.
pub fn devices() -> Vec<Listing> {
    let listing = |(name, text)| {
        let document = Document::parse(name, text).ok()?;
        Some(Listing { name: name.to_string(), summary: document.table.get("summary")?.as_str()?.to_string(), kind: None })
    };
    embedded(&DEVICES).into_iter().filter_map(listing).collect()
}

/// A device by its built-in name or the path of its file.
///
/// # Errors
/// An unknown name with the nearest one, or a faulty file.
pub fn device(name_or_path: &str) -> Result<Device, ConfigError> {
    Device::from_document(&document("device", &DEVICES, name_or_path)?)
}

/// Everything that a device says.
///
/// # Errors
/// As for `device`.
pub fn describe_device(name_or_path: &str) -> Result<Description, ConfigError> {
    let document = document("device", &DEVICES, name_or_path)?;
    let device = Device::from_document(&document)?;
    let derived = device.derived();
    let rows = document.rows.into_iter().filter(|row| !row.section.is_empty()).collect();
    Ok(Description { name: device.name, summary: device.summary, rows, derived })
}

/// The built-in designs and overlays.
pub fn designs() -> Vec<Listing> {
    let listing = |(name, text)| {
        let (kind, summary) = describe(&Document::parse(name, text).ok()?).ok()?;
        let kind = Some(if kind == DesignKind::Design { "design" } else { "overlay" });
        Some(Listing { name: String::from(name), summary, kind })
    };
    embedded(&DESIGNS).into_iter().filter_map(listing).collect()
}

/// A design by its composition, such as `base+no-gc`; each part is a built-in name or the path of a file.
///
/// # Errors
/// An unknown part with the nearest known one, or a faulty file.
pub fn design(composition: &str) -> Result<Design, ConfigError> {
    let documents = composition.split('+').map(|part| document("design", &DESIGNS, part)).collect::<Result<Vec<_>, _>>()?;
    Design::compose(composition, &documents.iter().collect::<Vec<_>>())
}

/// Everything that a design says, as composed.
///
/// # Errors
/// As for `design`. An overlay is described by itself.
pub fn describe_design(composition: &str) -> Result<Description, ConfigError> {
    if !composition.contains('+') {
        let document = document("design", &DESIGNS, composition)?;
        if let (DesignKind::Overlay, summary) = describe(&document)? {
            let rows = document.rows.into_iter().filter(|row| !row.section.is_empty()).collect();
            return Ok(Description { name: composition.into(), summary, rows, derived: Vec::new() });
        }
    }
    let design = design(composition)?;
    Ok(Description { name: design.name, summary: design.summary, rows: design.rows, derived: Vec::new() })
}

/// Checks a device, design or overlay file. Returns which of them it is.
///
/// # Errors
/// What is wrong, with file and line.
pub fn check(path: &str) -> Result<&'static str, ConfigError> {
    let text = std::fs::read_to_string(path).map_err(|error| ConfigError::new(format!("{path}: {error}")))?;
    let document = Document::parse(path, &text)?;
    if ["geometry", "timing", "host", "ram", "state"].iter().any(|section| document.table.contains_key(*section)) {
        Device::from_document(&document)?;
        return Ok("device");
    }
    if let Ok((DesignKind::Overlay, _)) = describe(&document) {
        // An overlay is right if it is right on the plainest design.
        let base = embedded(&DESIGNS).into_iter().find(|(name, _)| *name == "base").expect("base is built in");
        let base = Document::parse(base.0, base.1)?;
        Design::compose(path, &[&base, &document])?;
        return Ok("overlay");
    }
    Design::compose(path, &[&document])?;
    Ok("design")
}

/// What a file describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A device, a design or an overlay.
    DeviceOrDesign,
    /// A workload.
    Workload,
}

/// What a file describes, told by its sections.
///
/// # Errors
/// A file that can't be read or is not TOML.
pub fn kind_of(path: &str) -> Result<FileKind, ConfigError> {
    let text = std::fs::read_to_string(path).map_err(|error| ConfigError::new(format!("{path}: {error}")))?;
    let document = Document::parse(path, &text);
    // A workload nests deeper than devices and designs, whose documents are flat.
    let workload =
        ["[synthetic", "[trace", "[profile"].iter().any(|section| text.lines().any(|line| line.trim_start().starts_with(section)));
    if workload {
        return Ok(FileKind::Workload);
    }
    document.map(|_| FileKind::DeviceOrDesign)
}

/// The JSON Schema of device files.
pub fn device_schema() -> serde_json::Value {
    Device::schema()
}

/// The JSON Schema of design files.
pub fn design_schema() -> serde_json::Value {
    Design::schema()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_device_and_design_is_right_and_sourced() {
        for listing in devices() {
            let description = describe_device(&listing.name).unwrap();
            for row in description.rows {
                assert!(!row.source.is_empty(), "{}: {} has no source", listing.name, row.key);
            }
            assert_eq!(description.name, listing.name);
        }
        for listing in designs() {
            let description = describe_design(&listing.name).unwrap();
            assert!(description.rows.iter().all(|row| !row.source.is_empty()), "{}", listing.name);
            if listing.kind == Some("overlay") {
                design(&format!("base+{}", listing.name)).unwrap();
            }
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
        assert!(device("ttflash-265g").unwrap_err().0.contains("did you mean `ttflash-256g`?"));
        let error = |name: &str| design(name).err().expect("an error").0;
        assert!(error("base+nogc").contains("did you mean `no-gc`?"));
        assert!(error("no-gc").contains("is an overlay"));
        assert!(error("base+base").contains("not an overlay"));
    }
}
