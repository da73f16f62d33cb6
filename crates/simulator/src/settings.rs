//! Values that are given beside the files of device, design and workload: `--set section.key=value`.

use serde::Deserialize;
use tinytail_config::{ConfigError, Document, Fault, Given, Place};
use tinytail_core::{design, device};

/// What a value may be of, each by its prefix.
const KINDS: [&str; 3] = ["device", "design", "workload"];

/// The sections of each.
const SECTIONS: [&[&str]; 3] = [&device::SECTIONS, &design::SECTIONS, &tinytail_workload::SECTIONS];

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
        let mut given: [Vec<Given>; 3] = Default::default();
        for word in &words {
            let (kind, value) = by_kind(Given::parse(word)?)?;
            if let Some(other) = given[kind].iter().find(|other| other.path == value.path) {
                return Err(ConfigError::new(format!("{}: {} gives the same value", value.option, other.option)));
            }
            given[kind].push(value);
        }
        let document = |values: &[Given]| (!values.is_empty()).then(|| Document::given(values));
        let (device, design) = (document(&given[0]), document(&given[1]));
        Ok(Self { given, device, design })
    }
}

/// What a value is of, and the value without a prefix that says so.
fn by_kind(mut given: Given) -> Result<(usize, Given), ConfigError> {
    let prefix = KINDS.iter().position(|kind| *kind == given.path[0]).filter(|_| given.path.len() > 2);
    if prefix.is_some() {
        given.path.remove(0);
    }
    let section = &given.path[0];
    let has = |kind: &usize| prefix.is_none_or(|prefix| prefix == *kind) && SECTIONS[*kind].contains(&section.as_str());
    if let Some(kind) = (0..KINDS.len()).find(has) {
        return Ok((kind, given));
    }
    let of: Vec<usize> = prefix.map_or_else(|| (0..KINDS.len()).collect(), |kind| vec![kind]);
    let known: Vec<&str> = of.iter().flat_map(|kind| SECTIONS[*kind]).copied().collect();
    let has: Vec<String> = of.iter().map(|kind| format!("a {} has {}", KINDS[*kind], SECTIONS[*kind].join(", "))).collect();
    let fault = Fault { allowed: String::new(), ..Fault::unknown(section, "", &known) };
    Err(fault.remedy(has.join("; ")).at(Place::new(&given.option, 0)).into())
}

/// A number that is given, in steps of its key: thousandths of percent, or whole numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Number {
    pub steps: u64,
    pub per_unit: u64,
}

impl Settings {
    /// The number that is given for a key with its section, such as `gc.write_points`.
    pub(crate) fn number(&self, key: &str) -> Option<Number> {
        let given = self.given.iter().flatten().find(|given| given.path.join(".") == key)?;
        let value: f64 = given.word().split_once('=')?.1.trim().parse().ok()?;
        let per_unit = if key.ends_with("_percent") { 1000 } else { 1 };
        let is_counted = (0.0..=f64::from(u32::MAX)).contains(&value) && (per_unit > 1 || value.fract() == 0.0);
        is_counted.then(|| Number { steps: (value * per_unit as f64).round() as u64, per_unit })
    }

    /// These values, with others that take the place of those of the same keys.
    ///
    /// # Errors
    /// Others that are faulty.
    pub(crate) fn replaced(&self, words: impl Iterator<Item = String> + Clone) -> Result<Self, ConfigError> {
        let other = Self::try_from(words.clone().collect::<Vec<_>>())?;
        let stays = |given: &&Given| other.given.iter().flatten().all(|other| other.path != given.path);
        let kept = self.given.iter().flatten().filter(stays).map(Given::word);
        Self::try_from(kept.chain(words).collect::<Vec<_>>())
    }

    /// The values as they are given behind `--set`.
    pub(crate) fn words(&self) -> Vec<String> {
        self.given.iter().flatten().map(Given::word).collect()
    }

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
        self.given[2].first().map_or(Ok(()), |given| Err(ConfigError::new(format!("{}: {why}", given.option))))
    }

    /// Refuses values of the starting state beside an image.
    ///
    /// # Errors
    /// There is one.
    pub fn without_state(&self) -> Result<(), ConfigError> {
        let state = self.given[0].iter().find(|given| given.path[0] == "state");
        state.map_or(Ok(()), |given| Err(ConfigError::new(format!("{}: an image has its own starting state", given.option))))
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
        Settings::try_from(words.iter().map(ToString::to_string).collect::<Vec<_>>()).map_err(|error| error.to_string())
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
        assert!(error.starts_with("--set geometri.channels=2: [geometri] is unknown (did you mean `geometry`?); a device has "), "{error}");
        assert!(error.contains("; a workload has ") && error.contains("synthetic"), "{error}");
        let error = settings(&["device.gc.write_points=4"]).unwrap_err();
        assert!(error.contains("[gc] is unknown; a device has geometry"), "{error}");
        assert!(!error.contains("a design has"), "{error}");
    }

    #[test]
    fn the_same_value_twice_is_refused() {
        let error = settings(&["gc.write_points=4", "design.gc.write_points=8"]).unwrap_err();
        assert_eq!(error, "--set design.gc.write_points=8: --set gc.write_points=4 gives the same value");
    }

    #[test]
    fn no_section_belongs_to_two_kinds() {
        let all = SECTIONS.concat();
        assert!(all.iter().all(|section| all.iter().filter(|other| *other == section).count() == 1), "{all:?}");
    }
}
