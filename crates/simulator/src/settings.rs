//! Values that are given beside the files of device, design and workload: `--set section.key=value`.

use crate::catalog;
use serde::Deserialize;
use tinytail_core::config::{ConfigError, Document, Given, nearest_hint};
use tinytail_workload::workload_schema;

/// What a value may be of, each by its prefix.
const KINDS: [&str; 3] = ["device", "design", "workload"];

/// Values of the device, of every design and of the workload, told apart by their sections.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(try_from = "Vec<String>")]
pub struct Settings {
    given: [Vec<Given>; 3],
    device: Option<Document>,
    design: Option<Document>,
}

impl PartialEq for Settings {
    fn eq(&self, other: &Self) -> bool {
        self.given == other.given
    }
}

impl TryFrom<Vec<String>> for Settings {
    type Error = ConfigError;

    fn try_from(words: Vec<String>) -> Result<Self, ConfigError> {
        if words.is_empty() {
            return Ok(Self::default());
        }
        let mut sections = [catalog::device_schema(), catalog::design_schema(), workload_schema()].map(|schema| catalog::sections(&schema));
        // A value that stands outside the sections.
        sections[2].retain(|section| section != "multiplier");
        let mut given: [Vec<Given>; 3] = Default::default();
        for word in &words {
            let (kind, value) = told_apart(Given::parse(word)?, &sections)?;
            if let Some(other) = given[kind].iter().find(|other| other.path == value.path) {
                return Err(ConfigError(format!("{}: {} gives the same value", value.option, other.option)));
            }
            given[kind].push(value);
        }
        let document = |values: &[Given]| (!values.is_empty()).then(|| Document::given(values)).transpose();
        let (device, design) = (document(&given[0])?, document(&given[1])?);
        Ok(Self { given, device, design })
    }
}

/// What a value is of, and the value without a prefix that says so.
fn told_apart(mut given: Given, sections: &[Vec<String>; 3]) -> Result<(usize, Given), ConfigError> {
    let prefix = KINDS.iter().position(|kind| *kind == given.path[0]).filter(|_| given.path.len() > 2);
    if prefix.is_some() {
        given.path.remove(0);
    }
    let section = &given.path[0];
    let has = |kind: &usize| prefix.is_none_or(|prefix| prefix == *kind) && sections[*kind].contains(section);
    let kinds: Vec<usize> = (0..KINDS.len()).filter(has).collect();
    match kinds.as_slice() {
        [kind] => Ok((*kind, given)),
        [] => {
            let of: Vec<usize> = prefix.map_or_else(|| (0..KINDS.len()).collect(), |kind| vec![kind]);
            let known: Vec<&str> = of.iter().flat_map(|kind| &sections[*kind]).map(String::as_str).collect();
            let has: Vec<String> = of.iter().map(|kind| format!("a {} has {}", KINDS[*kind], sections[*kind].join(", "))).collect();
            let hint = nearest_hint(section, &known);
            Err(ConfigError(format!("{}: unknown section [{section}]{hint}; {}", given.option, has.join("; "))))
        }
        several => {
            let kinds: Vec<&str> = several.iter().map(|kind| KINDS[*kind]).collect();
            let path = given.path.join(".");
            let written: Vec<String> = kinds.iter().map(|kind| format!("{kind}.{path}=...")).collect();
            let (kinds, written) = (kinds.join(" and of a "), written.join(" or "));
            Err(ConfigError(format!("{}: [{section}] is a section of a {kinds}; write {written}", given.option)))
        }
    }
}

impl Settings {
    /// Values of a device.
    pub(crate) fn device(&self) -> Option<&Document> {
        self.device.as_ref()
    }

    /// Values of designs.
    pub(crate) fn design(&self) -> Option<&Document> {
        self.design.as_ref()
    }

    /// Values of the workload.
    pub fn workload(&self) -> &[Given] {
        &self.given[2]
    }

    /// Refuses values of a workload where there is none, or where it is given; `why` says so.
    ///
    /// # Errors
    /// There is a value of a workload.
    pub fn without_workload(&self, why: &str) -> Result<(), ConfigError> {
        self.given[2].first().map_or(Ok(()), |given| Err(ConfigError(format!("{}: {why}", given.option))))
    }

    /// Refuses values of the starting state beside an image.
    ///
    /// # Errors
    /// There is one.
    pub fn without_state(&self) -> Result<(), ConfigError> {
        let state = self.given[0].iter().find(|given| given.path[0] == "state");
        state.map_or(Ok(()), |given| Err(ConfigError(format!("{}: an image has its own starting state", given.option))))
    }

    /// A composition with the values that change it, as one would write them behind it.
    pub(crate) fn named(&self, composition: &str) -> String {
        let options = self.given[1].iter().map(|given| given.option.as_str());
        std::iter::once(composition).chain(options).collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(words: &[&str]) -> Result<Settings, String> {
        Settings::try_from(words.iter().map(ToString::to_string).collect::<Vec<_>>()).map_err(|error| error.0)
    }

    #[test]
    fn sections_say_what_a_value_is_of() {
        let found = settings(&["gc.write_points=4", "geometry.channels=2", "synthetic.read_share=0.5", "design.place.order=CWDP"]).unwrap();
        assert_eq!(found.given.each_ref().map(Vec::len), [1, 2, 1]);
        assert_eq!(found.named("base"), "base --set gc.write_points=4 --set design.place.order=CWDP");
    }

    #[test]
    fn an_unknown_section_is_answered_with_the_nearest() {
        let error = settings(&["geometri.channels=2"]).unwrap_err();
        assert!(
            error.starts_with("--set geometri.channels=2: unknown section [geometri] (did you mean `geometry`?); a device has "),
            "{error}"
        );
        assert!(error.contains("; a workload has ") && error.contains("synthetic"), "{error}");
        let error = settings(&["device.gc.write_points=4"]).unwrap_err();
        assert!(error.contains("unknown section [gc]; a device has geometry") || error.contains("a device has "), "{error}");
        assert!(!error.contains("a design has"), "{error}");
    }

    #[test]
    fn the_same_value_twice_is_refused() {
        let error = settings(&["gc.write_points=4", "design.gc.write_points=8"]).unwrap_err();
        assert_eq!(error, "--set design.gc.write_points=8: --set gc.write_points=4 gives the same value");
    }

    #[test]
    fn a_section_of_two_kinds_needs_its_prefix() {
        let sections = [vec!["gc".to_string()], vec!["gc".to_string()], vec!["trace".to_string()]];
        let error = told_apart(Given::parse("gc.x=1").unwrap(), &sections).unwrap_err().0;
        assert_eq!(error, "--set gc.x=1: [gc] is a section of a device and of a design; write device.gc.x=... or design.gc.x=...");
        assert_eq!(told_apart(Given::parse("design.gc.x=1").unwrap(), &sections).unwrap().0, 1);
    }
}
