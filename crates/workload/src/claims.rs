//! What a stand-in claims to be like, and whether it is.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tinytail_config::{Faults, did_you_mean};

use crate::characteristics::{Characteristics, CharacteristicsSummary};
use crate::file::Check;
use crate::transform::BurstSummary;

/// A characteristic of what a stand-in stands in for.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct ClaimTable {
    /// Its value there.
    value: f64,
    /// How far the stand-in may be from it, in percent of the value, whatever the seed.
    tolerance_percent: f64,
    /// Where the value comes from.
    #[serde(rename = "source")]
    _source: String,
}

/// A checked claim.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Claim {
    name: String,
    value: f64,
    tolerance_percent: f64,
}

/// A claim beside what was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckedClaim {
    /// Name of the characteristic, as in `trace info`; that of reads begins with `read_`, that of writes with `write_`.
    pub name: String,
    /// What is claimed.
    pub value: f64,
    /// How far from it is near enough, in percent.
    pub tolerance_percent: f64,
    /// What was found.
    pub found: f64,
    /// Whether it is near enough.
    pub holds: bool,
}

/// What the names of characteristics of bursts begin with.
const BURSTS: &str = "bursts_";

/// The characteristics that are numbers, by the names under which they can be claimed.
fn figures(summary: &CharacteristicsSummary, bursts: Option<&BurstSummary>) -> BTreeMap<String, f64> {
    fn add(prefix: &str, value: &Value, figures: &mut BTreeMap<String, f64>) {
        for (key, value) in value.as_object().into_iter().flatten() {
            match value.as_f64() {
                Some(number) => {
                    figures.insert(format!("{prefix}{key}"), number);
                }
                // A characteristic that a stream does not have is near to nothing that is claimed.
                None if value.is_null() => {
                    figures.insert(format!("{prefix}{key}"), f64::NAN);
                }
                None => add(&format!("{prefix}{key}_"), value, figures),
            }
        }
    }
    let mut found = BTreeMap::new();
    // A summary is plain numbers, lists and tables, which JSON can hold.
    add("", &serde_json::to_value(summary).unwrap_or_default(), &mut found);
    add(BURSTS, &serde_json::to_value(bursts).unwrap_or_default(), &mut found);
    found
}

/// Checks claims.
pub(crate) fn check(tables: BTreeMap<String, ClaimTable>, check: Check<'_>, faults: &mut Faults) -> Vec<Claim> {
    let known = figures(&Characteristics::default().summary(), Some(&BurstSummary::default()));
    let names = || known.keys().map(String::as_str);
    let mut claims = Vec::new();
    for (name, ClaimTable { value, tolerance_percent, .. }) in tables {
        if !known.contains_key(&name) {
            let found = format!("is no characteristic{}", did_you_mean(&name, names()));
            faults.add(check.bound(&name, found, names().collect::<Vec<_>>().join(", ")));
        }
        if !value.is_finite() {
            faults.add(check.bound(&name, format_args!("has the value {value}"), "a finite number"));
        }
        if !(0.0..=100.0).contains(&tolerance_percent) {
            faults.add(check.bound(&name, format_args!("has `tolerance_percent = {tolerance_percent}`"), "0 to 100"));
        }
        claims.push(Claim { name, value, tolerance_percent });
    }
    claims
}

impl Claim {
    /// The name of the characteristic, if it is one of bursts.
    pub(crate) fn of_bursts(&self) -> Option<&str> {
        self.name.starts_with(BURSTS).then_some(&self.name)
    }

    fn compared(&self, found: f64) -> CheckedClaim {
        let holds = (found - self.value).abs() <= self.value.abs() * self.tolerance_percent / 100.0;
        CheckedClaim { name: self.name.clone(), value: self.value, tolerance_percent: self.tolerance_percent, found, holds }
    }
}

/// Holds claims against what was measured, in the order of their names.
pub(crate) fn compare(claims: &[Claim], summary: &CharacteristicsSummary, bursts: Option<&BurstSummary>) -> Vec<CheckedClaim> {
    let found = figures(summary, bursts);
    claims.iter().map(|claim| claim.compared(found.get(&claim.name).copied().unwrap_or(f64::NAN))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_holds_up_to_its_tolerance() {
        let claim = Claim { name: "requests".into(), value: 200.0, tolerance_percent: 5.0 };
        assert!(claim.compared(190.0).holds && claim.compared(210.0).holds);
        assert!(!claim.compared(189.9).holds && !claim.compared(210.1).holds);
        assert!(!claim.compared(f64::NAN).holds);
        let exact = Claim { tolerance_percent: 0.0, ..claim };
        assert!(exact.compared(200.0).holds && !exact.compared(200.000_001).holds);
    }

    #[test]
    fn characteristics_have_names() {
        let figures = figures(&Characteristics::default().summary(), Some(&BurstSummary::default()));
        for name in ["requests", "interarrival_cv", "read_mean_kib", "write_footprint_mib", "dispersion_1s", "bursts_idle_s_mean"] {
            assert!(figures.contains_key(name), "{name} in {figures:?}");
        }
        assert!(!figures.keys().any(|name| name.contains("sizes")));
    }
}
