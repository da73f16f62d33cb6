//! Two keys that say the same in different words, of which a file gives one.

use crate::document::{Document, Table, Value};
use crate::fault::{Fault, Faults};

/// Two keys of a section that exclude each other.
#[derive(Debug, Clone, Copy)]
pub struct OneOf {
    /// The section.
    pub section: &'static str,
    /// The keys.
    pub keys: [&'static str; 2],
    /// Whether one of the two must be given.
    pub needed: bool,
}

impl OneOf {
    /// Makes way for what a document gives: a key replaces the other one if that was given before.
    fn make_way(&self, document: &Document, root: &mut Table, faults: &mut Faults) {
        let given = self.keys.iter().filter_map(|key| Some((*key, document.find(self.section, key)?)));
        let mut given: Vec<_> = given.collect();
        given.sort_by_key(|(_, place)| place.line);
        let [(first, beside), rest @ ..] = given.as_slice() else { return };
        for (key, place) in rest {
            let found = format!("stands beside `{first}` ({beside})");
            faults.push(Fault::new(self.section, *key, found).remedy("give one of them").at(place.clone()));
        }
        if let Some(section) = root.get_mut(self.section).and_then(Value::table_mut) {
            self.keys.iter().for_each(|key| drop(section.remove(key)));
        }
    }

    fn check(&self, root: &Table, faults: &mut Faults) {
        let Some(section) = root.get(self.section) else { return };
        let gives = |key: &&str| section.section().is_some_and(|section| section.get(key).is_some());
        if self.needed && !self.keys.iter().any(gives) {
            let found = format!("gives neither `{}` nor `{}`", self.keys[0], self.keys[1]);
            faults.push(Fault::new(self.section, "", found).remedy("give one of them").at(section.place.clone()));
        }
    }
}

impl Document {
    /// The values of some documents together, section by section; later ones replace those of earlier ones, and a key of
    /// `one_of` replaces the other one.
    pub fn merged(documents: &[&Self], one_of: &[OneOf], faults: &mut Faults) -> Table {
        let mut root = Table::default();
        for document in documents {
            one_of.iter().for_each(|group| group.make_way(document, &mut root, faults));
            root.merge(&document.root);
        }
        one_of.iter().for_each(|group| group.check(&root, faults));
        root
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: [OneOf; 1] = [OneOf { section: "size", keys: ["gb", "percent"], needed: true }];

    fn merged(texts: &[&str]) -> Result<String, String> {
        let documents: Vec<Document> =
            (1..).zip(texts).map(|(number, text)| Document::parse(&format!("{number}.toml"), text).unwrap()).collect();
        let mut faults = Faults::default();
        let root = Document::merged(&documents.iter().collect::<Vec<_>>(), &SIZE, &mut faults);
        faults.result().map_err(|error| error.to_string())?;
        Ok(root.to_toml()["size"].to_string())
    }

    #[test]
    fn a_key_replaces_the_other_one_of_earlier_documents() {
        assert_eq!(merged(&["[size]\ngb = 1\nx = 2", "[size]\npercent = 7"]).unwrap(), "{ percent = 7, x = 2 }");
        assert_eq!(merged(&["[size]\ngb = 1", "[size]\nx = 2"]).unwrap(), "{ gb = 1, x = 2 }");
    }

    #[test]
    fn both_in_one_document_and_none_at_all_are_faults() {
        let error = merged(&["[size]\npercent = 7\n\ngb = 1"]).unwrap_err();
        assert_eq!(error, "1.toml:4: [size] `gb` stands beside `percent` (1.toml:2); give one of them");
        assert_eq!(merged(&["[size]\nx = 1"]).unwrap_err(), "1.toml:1: [size] gives neither `gb` nor `percent`; give one of them");
        // That the section is missing, its type says.
        assert!(Document::merged(&[&Document::parse("d", "x = 1").unwrap()], &SIZE, &mut Faults::default()).get("size").is_none());
    }
}
