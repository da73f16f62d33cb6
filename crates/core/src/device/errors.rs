//! Bit errors of the flash, and what its ECC corrects.

use serde::{Deserialize, Serialize};
use tinytail_config::{Decimal, Fault, Faults};

/// The most bits that an ECC corrects in a codeword.
const CORRECTABLE_MAX: u32 = 200;
/// Bit errors for each bit.
pub type Rate = Decimal<12>;

/// The highest rate: one bit in a hundred.
const RATE_MAX: Rate = Rate::of_units(Rate::ONE / 100);
/// The least and the greatest power of growth.
const EXPONENTS: [Decimal<2>; 2] = [Decimal::of_units(10), Decimal::of_units(1000)];
/// The most that a thousand suspensions raise errors by.
const PERCENT_MAX: Decimal<2> = Decimal::of_units(100_000);
/// The most erases.
const ERASES_MAX: u32 = 1_000_000;

/// How many raw bit errors a program brings, by the erases of its block, and how many the ECC corrects.
///
/// A program of a page on a block with `e` erases brings `fresh + (rated - fresh) x (e / rated_erases)^k` errors for each
/// bit, until the page is next moved. A copyback takes the errors along.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Errors {
    /// Raw bit error rate that one program brings on a block without erases, such as 1.7e-8; at most twelve decimals.
    #[cfg_attr(test, schemars(with = "f64"))]
    pub fresh_rber: Rate,
    /// The same on a block with its rated erases.
    #[cfg_attr(test, schemars(with = "f64"))]
    pub rated_rber: Rate,
    /// Erases that a block is rated for.
    pub rated_erases: u32,
    /// The power of the erases with which errors grow, with at most two decimals.
    #[cfg_attr(test, schemars(with = "f64"))]
    pub exponent: Decimal<2>,
    /// Erases that every block has seen before the starting state is made.
    #[serde(default)]
    pub erases_before: u32,
    /// Bytes of a codeword, parity not counted.
    pub codeword_bytes: u32,
    /// Bit errors of a codeword that are corrected.
    pub correctable_bits: u32,
    /// By how many percent a thousand cuts of erases in the middle of a step raise the errors that programs bring to a block, with at
    /// most two decimals. 14.4 is what Practical Erase Suspension, section 2.1, cites of a TLC flash below 20 nm; that errors grow
    /// evenly with the cuts is an assumption.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[cfg_attr(test, schemars(with = "f64"))]
    pub percent_per_1000_suspensions: Decimal<2>,
}

fn is_zero(percent: &Decimal<2>) -> bool {
    *percent == Decimal::default()
}

impl Errors {
    /// Refuses values that are wrong whatever the others are.
    pub(super) fn check(&self, faults: &mut Faults) {
        faults.range("errors", "fresh_rber", self.fresh_rber, Rate::default(), RATE_MAX);
        faults.range("errors", "rated_rber", self.rated_rber, self.fresh_rber, RATE_MAX);
        faults.range("errors", "exponent", self.exponent, EXPONENTS[0], EXPONENTS[1]);
        let key = "percent_per_1000_suspensions";
        faults.range("errors", key, self.percent_per_1000_suspensions, Decimal::default(), PERCENT_MAX);
        for (key, value, least, most) in [
            ("rated_erases", self.rated_erases, 1, ERASES_MAX),
            ("erases_before", self.erases_before, 0, ERASES_MAX),
            ("correctable_bits", self.correctable_bits, 1, CORRECTABLE_MAX),
        ] {
            faults.range("errors", key, value, least, most);
        }
    }

    /// Refuses a codeword that is no part of a page.
    pub(super) fn check_codeword(&self, page_bytes: u32, faults: &mut Faults) {
        let bytes = self.codeword_bytes;
        if bytes < 128 || !page_bytes.is_multiple_of(bytes) {
            let found = format!("is {bytes}; it must divide a page of {page_bytes} bytes and be at least 128");
            faults.push(Fault::new("errors", "codeword_bytes", found));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::device::Device;
    use tinytail_config::Document;

    fn read(section: &str) -> Result<Device, String> {
        let text = format!("{}\n[errors]\n{section}", include_str!("../../../../devices/ttflash-small.toml"));
        Device::from_document(&Document::parse("d.toml", &text).unwrap()).map_err(|error| error.to_string())
    }

    const GOOD: &str = "fresh_rber = 1.7e-8\nrated_rber = 3.4e-5\nrated_erases = 3000\nexponent = 2\n\
                        codeword_bytes = 512\ncorrectable_bits = 15";

    #[test]
    fn a_device_with_errors_is_read_and_one_without_has_none() {
        let errors = read(GOOD).unwrap().errors.unwrap();
        assert_eq!((errors.correctable_bits, errors.erases_before), (15, 0));
        assert_eq!((errors.fresh_rber.units(), errors.rated_rber.units(), errors.exponent.units()), (17_000, 34_000_000, 200));
        let plain = Document::parse("d.toml", include_str!("../../../../devices/ttflash-small.toml")).unwrap();
        assert!(Device::from_document(&plain).unwrap().errors.is_none());
    }

    #[test]
    fn impossible_values_are_refused_with_their_key() {
        for (from, to, key) in [
            ("codeword_bytes = 512", "codeword_bytes = 500", "`codeword_bytes` is 500"),
            ("rated_rber = 3.4e-5", "rated_rber = 1.6999e-8", "`rated_rber` is 0.000000016999; allowed: 0.000000017 to 0.01"),
            ("fresh_rber = 1.7e-8", "fresh_rber = 1e-13", "at most 12 decimals"),
            ("correctable_bits = 15", "correctable_bits = 0", "`correctable_bits` is 0"),
            ("rated_erases = 3000", "rated_erases = 0", "`rated_erases` is 0"),
            ("exponent = 2", "exponent = 0.09", "`exponent` is 0.09; allowed: 0.1 to 10"),
            ("rated_erases = 3000", "rated_erase = 3000", "rated_erases"),
            ("exponent = 2", "exponent = 2\npercent_per_1000_suspensions = 1000.01", "allowed: 0 to 1000"),
        ] {
            let refusal = read(&GOOD.replace(from, to)).unwrap_err();
            assert!(refusal.contains(key), "{refusal}");
        }
    }
}
