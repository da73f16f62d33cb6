//! Types of values. A fault does not end the decoding: the value at fault is replaced by one of the right type, and so all
//! faults of a document are found.
//!
//! The types derive serde's `Deserialize`, and tell by it which keys and names they know and of what type their values are. An
//! enum whose variants hold something is a table whose key `policy` names the variant. Serde ends at the first fault, and
//! nobody but the type can make a value of it; so the type is decoded again, and what was at fault stands in for itself as 0,
//! an empty text or an empty list. What is decoded at last is only to be looked at, to find more faults, if there are any.

use crate::document::{Data, Table, Value};
use crate::fault::{Fault, Faults, Place};
use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, VariantAccess, Visitor,
};
use std::cell::RefCell;
use std::collections::BTreeSet;

mod wording;

use wording::{At, Error, shown};

/// The key that chooses among the shapes of a table.
const TAG: &str = "policy";

/// The most faults that are looked for one after the other, and that are told with what was meant.
const FAULTS_MAX: usize = 100;

/// Decodes a table: the section of this name, or a whole document if the name is empty. Adds what is wrong to `faults`; if
/// that is anything, what is given back has stand-ins in it.
pub fn decode<T: DeserializeOwned>(table: &Table, place: &Place, section: &str, faults: &mut Faults) -> Option<T> {
    decode_part(table, place, section, &[], faults)
}

/// Decodes a whole document with sections of these names. A message about an unknown section names these, and one about an
/// unknown key the keys beside them.
pub fn decode_file<T: DeserializeOwned>(table: &Table, place: &Place, sections: &[&str], faults: &mut Faults) -> Option<T> {
    decode_part(table, place, "", sections, faults)
}

fn decode_part<T: DeserializeOwned>(table: &Table, place: &Place, section: &str, sections: &[&str], faults: &mut Faults) -> Option<T> {
    let value = Value { place: place.clone(), data: Data::Table(table.clone()) };
    let (found, mut decoded) = (Found { sections, ..Found::default() }, None);
    for _ in 0..FAULTS_MAX {
        let known = found.stand_ins.borrow().len();
        let at = At { place: &value.place, section: section.into(), key: String::new(), subject: None, path: String::new() };
        decoded = T::deserialize(Decoder { found: &found, at, value: Some(&value), tag: None }).ok();
        if decoded.is_some() || found.stand_ins.borrow().len() == known {
            break;
        }
    }
    let mut found = found.faults.into_inner();
    if found.iter().any(Fault::is_of_unknown_key) {
        let tables = tables::<T>(&value);
        found.iter_mut().filter(|fault| fault.is_of_unknown_key()).for_each(|fault| fault.suggest_from(&tables));
    }
    found.into_iter().for_each(|fault| faults.push(fault));
    decoded
}

/// The tables within a type, by the names of their sections, and the keys that each knows.
fn tables<T: DeserializeOwned>(value: &Value) -> Vec<(String, &'static [&'static str])> {
    let within = |only: Option<&'static str>| {
        let found = Found { only, ..Found::default() };
        let at = At { place: &value.place, section: String::new(), key: String::new(), subject: None, path: String::new() };
        // All parts of a stand-in are decoded, up to one that can't be made of nothing.
        let _ = T::deserialize(Decoder { found: &found, at, value: None, tag: None });
        found.tables.into_inner()
    };
    let top = within(None).into_iter().find(|(section, _)| section.is_empty()).map_or(&[][..], |(_, keys)| keys);
    top.iter().flat_map(|key| within(Some(key))).filter(|(section, _)| !section.is_empty()).collect()
}

/// What is wrong so far, and the paths of values that stand-ins replace for that.
#[derive(Default)]
struct Found<'a> {
    /// The names of the document's sections, if it is one.
    sections: &'a [&'a str],
    faults: RefCell<Vec<Fault>>,
    stand_ins: RefCell<BTreeSet<String>>,
    /// The only key at the top that is looked at, if one is.
    only: Option<&'a str>,
    /// The sections that stand-ins were made of, and their keys.
    tables: RefCell<Vec<(String, &'static [&'static str])>>,
}

/// Decodes a value, or stands in for one.
#[derive(Clone)]
struct Decoder<'a> {
    found: &'a Found<'a>,
    at: At<'a>,
    /// Nothing if a stand-in is wanted.
    value: Option<&'a Value>,
    /// The name of the variant that a table's tag has chosen.
    tag: Option<&'a str>,
}

impl<'a> Decoder<'a> {
    /// The decoder of a part of it; a stand-in's are stand-ins, and so are those that were found to be faulty.
    fn part(&self, at: At<'a>, value: Option<&'a Value>) -> Self {
        let value = value.filter(|_| !self.found.stand_ins.borrow().contains(&at.path));
        Self { found: self.found, at, value, tag: None }
    }

    /// Decodes a part, and tells what is wrong with it.
    fn decode<T: DeserializeSeed<'a>>(self, seed: T) -> Result<T::Value, Error> {
        let (found, at, value) = (self.found, self.at.clone(), self.value);
        seed.deserialize(self).map_err(|error| {
            at.faulty(error, value).into_iter().for_each(|fault| found.report(&at.path, fault));
            Error::Reported
        })
    }

    /// Without its source.
    fn plain(mut self) -> Result<Self, Error> {
        let Some(Value { data: Data::Table(table), .. }) = self.value else { return Ok(self) };
        self.value = Some(table.get("value").ok_or(Error::Table)?);
        for (key, value) in table.iter() {
            let at = At { place: &value.place, ..self.at.clone() };
            if key == "source" && value.as_str().is_none() {
                self.found
                    .faults
                    .borrow_mut()
                    .push(at.fault(format!("has a source that is {}", shown(Some(value)))).allowed("text in quotes"));
            } else if !["value", "source"].contains(&key) {
                let hint = crate::names::did_you_mean(key, ["value", "source"]);
                self.found.faults.borrow_mut().push(at.fault(format!("has an unknown key `{key}`{hint}")).allowed("value, source"));
            }
        }
        Ok(self)
    }

    fn data(self) -> Result<Option<&'a Data>, Error> {
        Ok(self.plain()?.value.map(|value| &value.data))
    }

    /// A whole number of at most `most`; 0 as a stand-in.
    fn whole(self, most: u64) -> Result<u64, Error> {
        match self.data()? {
            None => Ok(0),
            Some(Data::Plain(toml::Value::Integer(number))) => match u64::try_from(*number) {
                Ok(number) if number <= most => Ok(number),
                Ok(_) => Err(Error::Type(format!("a whole number of at most {most}"))),
                Err(_) => Err(Error::Type("a whole number that is not negative".into())),
            },
            Some(_) => Err(Error::Type("a whole number".into())),
        }
    }

    /// The keys and values of a table, with `fields` where it is known which there may be.
    fn entries(self, fields: Option<&'static [&'static str]>) -> Result<Entries<'a>, Error> {
        let table = match self.value.map(|value| &value.data) {
            Some(Data::Table(table)) => Some(table),
            Some(_) => return Err(Error::Type(format!("a section, [{}]", self.at.key("", self.at.place).section))),
            None => None,
        };
        let given = table.into_iter().flat_map(Table::iter).map(|(key, value)| (key, Some(value)));
        let absent = fields.unwrap_or_default().iter().filter(move |key| table.is_none_or(|table| table.get(key).is_none()));
        let entries = Box::new(given.chain(absent.map(|key| (*key, None))));
        Ok(Entries { of: self, fields, entries, value: None })
    }

    fn unknown(&self, at: &At<'a>, key: &str, value: &Value, fields: &[&str]) {
        if self.found.faults.borrow().len() >= FAULTS_MAX {
            return self.found.report(&at.path, at.fault("is unknown"));
        }
        // What is no value at the top is a section.
        let is_section = at.section.is_empty() && value.section().is_some();
        let sections = self.found.sections;
        let (known, others): (Vec<&str>, Vec<&str>) =
            fields.iter().copied().partition(|field| !at.section.is_empty() || sections.contains(field) == is_section);
        let fields = if known.is_empty() { others.as_slice() } else { known.as_slice() };
        let found = format!("is unknown{}", crate::names::did_you_mean(key, fields.iter().copied()));
        let fault = if is_section { at.section_fault(found) } else { at.fault(found) };
        let fault = match (self.tag, fields) {
            (Some(_), []) => fault.remedy("this policy has no parameters"),
            (None, []) => fault.remedy("no key is allowed here"),
            (Some(tag), fields) => Fault { remedy: format!("allowed with `{TAG}` = \"{tag}\": {}", fields.join(", ")), ..fault },
            (None, fields) => fault.allowed(fields.join(", ")),
        };
        self.found.report(&at.path, fault);
    }
}

impl Found<'_> {
    /// Tells a fault of the value at a path, once.
    fn report(&self, path: &str, fault: Fault) {
        if self.stand_ins.borrow_mut().insert(path.into()) {
            self.faults.borrow_mut().push(fault);
        }
    }
}

macro_rules! whole {
    ($( $method:ident $visit:ident $most:expr, )+) => {
        $( fn $method<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
            visitor.$visit(self.whole($most)?.try_into().expect("it is small enough"))
        } )+
    };
}

impl<'a> Deserializer<'a> for Decoder<'a> {
    type Error = Error;

    whole! {
        deserialize_u8 visit_u8 u8::MAX.into(),
        deserialize_u16 visit_u16 u16::MAX.into(),
        deserialize_u32 visit_u32 u32::MAX.into(),
        deserialize_u64 visit_u64 i64::MAX as u64,
    }

    fn deserialize_f64<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_f64(match self.data()? {
            None => 0.0,
            Some(Data::Plain(toml::Value::Float(number))) => *number,
            Some(Data::Plain(toml::Value::Integer(number))) => *number as f64,
            Some(_) => return Err(Error::Type("a number".into())),
        })
    }

    fn deserialize_bool<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_bool(match self.data()? {
            None => false,
            Some(Data::Plain(toml::Value::Boolean(value))) => *value,
            Some(_) => return Err(Error::Type("true or false".into())),
        })
    }

    fn deserialize_str<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_borrowed_str(match self.data()? {
            None => "",
            Some(Data::Plain(toml::Value::String(text))) => text,
            Some(_) => return Err(Error::Type("text in quotes".into())),
        })
    }

    fn deserialize_string<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'a>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
        let decoder = self.plain()?;
        match decoder.value.map(|value| &value.data) {
            None => visitor.visit_seq(Items { decoder, items: &[], len: 0, next: 0 }),
            Some(Data::List(items)) => visitor.visit_seq(Items { items, decoder, len: items.len(), next: 0 }),
            Some(_) => Err(Error::Type("a list in square brackets".into())),
        }
    }

    fn deserialize_tuple<V: Visitor<'a>>(self, len: usize, visitor: V) -> Result<V::Value, Error> {
        let decoder = self.plain()?;
        match decoder.value.map(|value| &value.data) {
            None => visitor.visit_seq(Items { decoder, items: &[], len, next: 0 }),
            Some(Data::List(items)) if items.len() == len => visitor.visit_seq(Items { items, decoder, len, next: 0 }),
            Some(_) => Err(Error::Type(format!("a list of {len} values in square brackets"))),
        }
    }

    fn deserialize_map<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_map(self.entries(None)?)
    }

    fn deserialize_struct<V: Visitor<'a>>(self, _: &'static str, fields: &'static [&'static str], visitor: V) -> Result<V::Value, Error> {
        let (found, at, stands_in) = (self.found, self.at.clone(), self.value.is_none());
        if stands_in && at.subject.is_none() && !fields.contains(&"value") {
            found.tables.borrow_mut().push((at.key("", at.place).section, fields));
        }
        if stands_in && at.subject.is_none() {
            // What is at fault was to be a section.
            let mut faults = found.faults.borrow_mut();
            let own = faults.iter_mut().filter(|fault| (&fault.section, &fault.key) == (&at.section, &at.key));
            own.for_each(|fault| (fault.section, fault.key) = (at.key("", at.place).section, String::new()));
        }
        // A value and its source may be a type of their own.
        let decoder =
            if fields.contains(&"value") || self.value.is_some_and(|value| value.section().is_some()) { self } else { self.plain()? };
        visitor.visit_map(decoder.entries(Some(fields))?).map_err(|error| match error {
            Error::Missing(key) => {
                let missing = at.key(key, at.place);
                found.report(&missing.path, missing.fault("is missing"));
                Error::Reported
            }
            other => other,
        })
    }

    fn deserialize_enum<V: Visitor<'a>>(self, _: &'static str, variants: &'static [&'static str], visitor: V) -> Result<V::Value, Error> {
        let Some(value) = self.value else {
            return visitor.visit_enum(Variant { name: variants[0], held: Some(self) });
        };
        let tag = match &value.data {
            Data::Table(table) => table.get(TAG),
            _ => None,
        };
        let known = |name: &&str| variants.contains(name);
        if let Some(name) = tag.and_then(Value::as_str).filter(known) {
            return visitor.visit_enum(Variant { name, held: Some(Decoder { tag: Some(name), ..self }) });
        }
        let name = value.as_str();
        let right = name.filter(known);
        // Whether a table is wanted, only the variants know.
        let answer = visitor.visit_enum(Variant { name: right.unwrap_or(variants[0]), held: None });
        let unknown = |name: Option<&str>| Error::Name {
            hint: name.map_or_else(String::new, |name| crate::names::did_you_mean(name, variants.iter().copied())),
            allowed: variants.join(", "),
        };
        match (answer, &value.data) {
            (Err(Error::Holds), Data::Table(table)) => {
                let key = |value: &'a Value| self.at.key(TAG, &value.place);
                let fault = match table.get(TAG) {
                    Some(tag) => key(tag).faulty(unknown(tag.as_str()), Some(tag)),
                    None => Some(key(value).fault("is missing")),
                };
                fault.into_iter().for_each(|fault| self.found.report(&self.at.path, fault));
                Err(Error::Reported)
            }
            (Err(Error::Holds), _) => Err(Error::Type(format!("a table with `{TAG}`, such as {{ {TAG} = \"...\" }}"))),
            (answer, _) if right.is_some() => self.plain().and(answer),
            (_, _) => self.plain().and(Err(unknown(name))),
        }
    }

    fn deserialize_any<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
        let decoder = if self.value.is_some_and(|value| value.section().is_some()) { self } else { self.plain()? };
        match decoder.value.map(|value| &value.data) {
            None => visitor.visit_unit(),
            Some(Data::Table(_)) => decoder.deserialize_map(visitor),
            Some(Data::List(_)) => decoder.deserialize_seq(visitor),
            Some(Data::Plain(toml::Value::String(text))) => visitor.visit_borrowed_str(text),
            Some(Data::Plain(toml::Value::Integer(number))) => visitor.visit_i64(*number),
            Some(Data::Plain(toml::Value::Float(number))) => visitor.visit_f64(*number),
            Some(Data::Plain(toml::Value::Boolean(value))) => visitor.visit_bool(*value),
            Some(Data::Plain(other)) => visitor.visit_string(other.to_string()),
        }
    }

    serde::forward_to_deserialize_any! { <V: Visitor<'a>>
        i8 i16 i32 i64 f32 char bytes byte_buf unit unit_struct tuple_struct identifier ignored_any
    }
}

/// The keys of a table and their values, and the stand-ins of those that are missing.
struct Entries<'a> {
    of: Decoder<'a>,
    fields: Option<&'static [&'static str]>,
    entries: Box<dyn Iterator<Item = (&'a str, Option<&'a Value>)> + 'a>,
    value: Option<Decoder<'a>>,
}

impl<'a> MapAccess<'a> for Entries<'a> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'a>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        for (key, value) in self.entries.by_ref() {
            if self.of.at.path.is_empty() && self.of.found.only.is_some_and(|only| only != key) {
                continue;
            }
            let at = self.of.at.key(key, value.map_or(self.of.at.place, |value| &value.place));
            match (value, self.fields) {
                (Some(_), _) if self.of.tag.is_some() && key == TAG => continue,
                (Some(value), Some(fields)) if !fields.contains(&key) => {
                    self.of.unknown(&at, key, value, fields);
                    continue;
                }
                (None, _) if self.of.value.is_some() && !self.of.found.stand_ins.borrow().contains(&at.path) => continue,
                _ => self.value = Some(self.of.part(at, value)),
            }
            let key: StrDeserializer<'a, Error> = key.into_deserializer();
            return seed.deserialize(key).map(Some);
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'a>>(&mut self, seed: V) -> Result<V::Value, Error> {
        self.value.take().expect("a key was asked for before").decode(seed)
    }
}

/// The entries of a list, of which there are `len`: stand-ins where it has no more.
struct Items<'a> {
    decoder: Decoder<'a>,
    items: &'a [Value],
    len: usize,
    next: usize,
}

impl<'a> SeqAccess<'a> for Items<'a> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'a>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        if self.next == self.len {
            return Ok(None);
        }
        let item = self.items.get(self.next);
        let at = self.decoder.at.entry(self.next, item.map_or(self.decoder.at.place, |item| &item.place));
        self.next += 1;
        self.decoder.part(at, item).decode(seed).map(Some)
    }
}

/// A variant of an enum, with the table that it is made of, if there is one.
struct Variant<'a> {
    name: &'a str,
    held: Option<Decoder<'a>>,
}

impl<'a> EnumAccess<'a> for Variant<'a> {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'a>>(self, seed: V) -> Result<(V::Value, Self), Error> {
        let name: StrDeserializer<'a, Error> = self.name.into_deserializer();
        Ok((seed.deserialize(name)?, self))
    }
}

impl<'a> VariantAccess<'a> for Variant<'a> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'a>>(self, seed: T) -> Result<T::Value, Error> {
        self.held.ok_or(Error::Holds).and_then(|held| seed.deserialize(held))
    }

    fn tuple_variant<V: Visitor<'a>>(self, _: usize, _: V) -> Result<V::Value, Error> {
        Err(Error::Holds)
    }

    fn struct_variant<V: Visitor<'a>>(self, fields: &'static [&'static str], visitor: V) -> Result<V::Value, Error> {
        self.held.ok_or(Error::Holds).and_then(|held| held.deserialize_struct("", fields, visitor))
    }
}

#[cfg(test)]
mod tests;
