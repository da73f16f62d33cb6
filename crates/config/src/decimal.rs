//! Numbers with decimals that are exact: what is written is what is meant, and no arithmetic of floating point follows.

use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};
use serde::ser::{Serialize, Serializer};
use std::fmt::{self, Display};

/// A number that is not negative, with at most so many decimals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Decimal<const DECIMALS: u32>(u64);

impl<const DECIMALS: u32> Decimal<DECIMALS> {
    /// Units of the last decimal in 1.
    pub const ONE: u64 = 10_u64.pow(DECIMALS);

    /// So many units of the last decimal.
    pub const fn of_units(units: u64) -> Self {
        Self(units)
    }

    /// The number in units of its last decimal.
    pub const fn units(self) -> u64 {
        self.0
    }

    /// With at most so many decimals, rounded up.
    #[must_use]
    pub const fn rounded_up(self, decimals: u32) -> Self {
        Self(self.0.next_multiple_of(10_u64.pow(DECIMALS - decimals)))
    }

    /// Nothing if the text is no such number, or has more decimals.
    fn of_text(text: &str) -> Option<Self> {
        let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
        let missing = (DECIMALS as usize).checked_sub(decimals.len())?;
        let is_number = !whole.is_empty() && whole.bytes().chain(decimals.bytes()).all(|byte| byte.is_ascii_digit());
        let digits = is_number.then(|| format!("{whole}{decimals}{}", "0".repeat(missing)))?;
        digits.parse().ok().map(Self)
    }
}

impl<const DECIMALS: u32> Display for Decimal<DECIMALS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = format!("{:0width$}", self.0 % Self::ONE, width = DECIMALS as usize);
        let decimals = decimals.trim_end_matches('0');
        write!(f, "{}{}{decimals}", self.0 / Self::ONE, if decimals.is_empty() { "" } else { "." })
    }
}

impl<const DECIMALS: u32> Serialize for Decimal<DECIMALS> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.is_multiple_of(Self::ONE) {
            return serializer.serialize_u64(self.0 / Self::ONE);
        }
        serializer.serialize_f64(self.to_string().parse().expect("it is a number"))
    }
}

impl<'a, const DECIMALS: u32> Deserialize<'a> for Decimal<DECIMALS> {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        struct Number<const DECIMALS: u32>;
        impl<const DECIMALS: u32> Visitor<'_> for Number<DECIMALS> {
            type Value = Decimal<DECIMALS>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a number that is not negative, with at most {DECIMALS} decimals")
            }
            fn visit_f64<E: Error>(self, number: f64) -> Result<Self::Value, E> {
                // The shortest text that means this number is what was written.
                Decimal::of_text(&number.to_string()).ok_or_else(|| E::invalid_value(Unexpected::Float(number), &self))
            }
            fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
                Decimal::of_text(&number.to_string()).ok_or_else(|| E::invalid_value(Unexpected::Unsigned(number), &self))
            }
        }
        deserializer.deserialize_f64(Number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Document, Faults, Place, decode};

    #[derive(serde::Deserialize)]
    struct Table {
        x: Decimal<2>,
    }

    fn read(value: &str) -> Result<Decimal<2>, String> {
        let document = Document::parse("d.toml", &format!("x = {value}")).unwrap();
        let mut faults = Faults::default();
        let table: Option<Table> = decode(&document.root, &Place::new("d.toml", 0), "", &mut faults);
        faults.result().map_err(|error| error.to_string())?;
        Ok(table.unwrap().x)
    }

    #[test]
    fn what_is_written_is_what_is_meant() {
        for (value, units, shown) in
            [("7.5", 750, "7.5"), ("0.07", 7, "0.07"), ("7", 700, "7"), ("7.00", 700, "7"), ("0", 0, "0"), ("1e2", 10_000, "100")]
        {
            let number = read(value).unwrap();
            assert_eq!((number.units(), number.to_string().as_str()), (units, shown));
            let json = serde_json::to_string(&number).unwrap();
            assert_eq!(json, shown);
            assert_eq!(serde_json::from_str::<Decimal<2>>(&json).unwrap(), number);
        }
        // Every hundredth is told from its neighbours, whatever its nearest binary fraction.
        for units in 0..20_000 {
            assert_eq!(read(&Decimal::<2>(units).to_string()).unwrap().units(), units);
        }
    }

    #[test]
    fn finer_and_other_numbers_are_refused() {
        for value in ["0.005", "-0.01", "-1", "nan", "inf", "1e30", "1e-3"] {
            let error = read(value).unwrap_err();
            assert!(error.ends_with("; allowed: a number that is not negative, with at most 2 decimals"), "{error}");
        }
        assert!(read("\"1\"").unwrap_err().ends_with("`x` is \"1\"; allowed: a number"));
    }
}
