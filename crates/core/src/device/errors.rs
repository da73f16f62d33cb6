//! Bit errors of the flash, and what its ECC corrects.

use serde::{Deserialize, Serialize};
use tinytail_config::{Fault, Faults};

/// The most bits that an ECC corrects in a codeword.
const CORRECTABLE_MAX: u32 = 200;
/// The highest rate: one bit in a hundred.
const RATE_MAX: u64 = 10_000_000_000;
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
    /// Raw bit errors in 10^12 bits that one program brings on a block without erases.
    pub fresh_rber_e12: u64,
    /// The same on a block with its rated erases.
    pub rated_rber_e12: u64,
    /// Erases that a block is rated for.
    pub rated_erases: u32,
    /// The power of the erases with which errors grow, in hundredths.
    pub exponent_percent: u32,
    /// Erases that every block has seen before the starting state is made.
    #[serde(default)]
    pub erases_before: u32,
    /// Bytes of a codeword, parity not counted.
    pub codeword_bytes: u32,
    /// Bit errors of a codeword that are corrected.
    pub correctable_bits: u32,
}

impl Errors {
    /// Refuses values that are wrong whatever the others are.
    pub(super) fn check(&self, faults: &mut Faults) {
        for (key, value, least, most) in [
            ("fresh_rber_e12", self.fresh_rber_e12, 0, RATE_MAX),
            ("rated_rber_e12", self.rated_rber_e12, self.fresh_rber_e12, RATE_MAX),
            ("rated_erases", self.rated_erases.into(), 1, ERASES_MAX.into()),
            ("exponent_percent", self.exponent_percent.into(), 10, 1000),
            ("erases_before", self.erases_before.into(), 0, ERASES_MAX.into()),
            ("correctable_bits", self.correctable_bits.into(), 1, CORRECTABLE_MAX.into()),
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

    const GOOD: &str = "fresh_rber_e12 = 17000\nrated_rber_e12 = 34000000\nrated_erases = 3000\nexponent_percent = 200\n\
                        codeword_bytes = 512\ncorrectable_bits = 15";

    #[test]
    fn a_device_with_errors_is_read_and_one_without_has_none() {
        let errors = read(GOOD).unwrap().errors.unwrap();
        assert_eq!((errors.correctable_bits, errors.erases_before), (15, 0));
        let plain = Document::parse("d.toml", include_str!("../../../../devices/ttflash-small.toml")).unwrap();
        assert!(Device::from_document(&plain).unwrap().errors.is_none());
    }

    #[test]
    fn impossible_values_are_refused_with_their_key() {
        for (from, to, key) in [
            ("codeword_bytes = 512", "codeword_bytes = 500", "`codeword_bytes` is 500"),
            ("rated_rber_e12 = 34000000", "rated_rber_e12 = 16999", "allowed: 17000 to"),
            ("correctable_bits = 15", "correctable_bits = 0", "`correctable_bits` is 0"),
            ("rated_erases = 3000", "rated_erases = 0", "`rated_erases` is 0"),
            ("exponent_percent = 200", "exponent_percent = 9", "`exponent_percent` is 9"),
            ("rated_erases = 3000", "rated_erase = 3000", "rated_erases"),
        ] {
            let refusal = read(&GOOD.replace(from, to)).unwrap_err();
            assert!(refusal.contains(key), "{refusal}");
        }
    }
}
