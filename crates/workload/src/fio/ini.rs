//! The lines of a job file: sections, options, comments, files that it includes, variables of the environment.

use std::collections::BTreeSet;
use std::path::Path;

use super::Text;
use crate::read::{is_there, read_text};
use crate::text::quoted;
use tinytail_config::{Fault, Faults, Place};

/// How deep files may include others.
const DEPTH_MAX: u32 = 16;

/// A section: the job's name in square brackets and what stands below.
pub(super) struct Section {
    pub(super) name: String,
    pub(super) place: Place,
    pub(super) options: Vec<Given>,
}

/// `key=value`, or a key alone.
pub(super) struct Given {
    pub(super) key: String,
    pub(super) value: Option<String>,
    pub(super) place: Place,
}

/// A job file, taken apart.
#[derive(Default)]
pub(super) struct Lines {
    pub(super) sections: Vec<Section>,
    /// The variables of the environment that it uses, with their values.
    pub(super) variables: BTreeSet<(String, String)>,
    pub(super) faults: Faults,
}

/// Takes a job file apart. As in fio, a comment begins with `;` or `#` wherever that stands. `variable` gives the value of a
/// variable of the environment.
pub(super) fn lines(text: Text<'_>, variable: &dyn Fn(&str) -> Option<String>) -> Lines {
    let mut lines = Lines::default();
    let mut skips = false;
    for (line, content) in contents(text.text) {
        let place = Place::new(text.path, line);
        let Some(rest) = content.strip_prefix('[') else {
            if !skips {
                lines.option(text.path, content, place, variable, 0);
            }
            continue;
        };
        let name = rest.strip_suffix(']').map(str::trim).filter(|name| !name.is_empty());
        // What stands below a faulty name belongs to nothing.
        skips = name.is_none();
        match name {
            Some(name) => lines.sections.push(Section { name: name.into(), place, options: Vec::new() }),
            None => lines
                .faults
                .push(Fault::new("", "", format!("found {}, expected the name of a job in square brackets", quoted(content))).at(place)),
        }
    }
    lines
}

/// The lines of a text that say something, with their numbers.
fn contents(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(text.lines()).filter_map(|(line, content)| {
        let content = content.split([';', '#']).next().unwrap_or_default().trim();
        (!content.is_empty()).then_some((line, content))
    })
}

impl Lines {
    /// Adds an option to the last section, or the options of a file that it includes.
    fn option(&mut self, path: &str, content: &str, place: Place, variable: &dyn Fn(&str) -> Option<String>, depth: u32) {
        let section = self.sections.last().map_or("", |section| &section.name).to_owned();
        let refuse = |key: &str, message: String| Fault::new(section.clone(), key, message).at(place.clone());
        if content.starts_with("include") && !content.starts_with("include=") {
            let name = content["include".len()..].trim();
            if let Err(message) = self.include(path, name, variable, depth) {
                self.faults.push(refuse("include", message));
            }
            return;
        }
        let content = match self.substituted(content, variable) {
            Ok(content) => content,
            Err(message) => {
                let key = content.split('=').next().unwrap_or_default().trim();
                return self.faults.push(refuse(key, message));
            }
        };
        let (key, value) = match content.split_once('=') {
            Some((key, value)) => (key.trim_end().to_owned(), Some(value.trim_start().to_owned())),
            None => (content, None),
        };
        match self.sections.last_mut() {
            Some(section) => section.options.push(Given { key, value, place }),
            None => {
                let found = format!("found {} before the first section, expected [global] or [JOB]", quoted(&key));
                self.faults.push(Fault::new("", "", found).at(place));
            }
        }
    }

    /// Adds the options of a file, which lies where its name says or beside the one that names it.
    fn include(&mut self, path: &str, name: &str, variable: &dyn Fn(&str) -> Option<String>, depth: u32) -> Result<(), String> {
        if name.is_empty() {
            return Err("names no file".into());
        }
        if depth == DEPTH_MAX {
            return Err(format!("of {} is the {DEPTH_MAX}th in a row; a file must not include itself", quoted(name)));
        }
        let beside = Path::new(path).with_file_name(name);
        let file = if is_there(Path::new(name)) { Path::new(name) } else { &beside };
        if !is_there(file) {
            return Err(format!("of {}: there is no such file, nor beside this one", quoted(name)));
        }
        let included = read_text(file).map_err(|error| format!("of {}: {error}", quoted(name)))?;
        let file = file.display().to_string();
        for (line, content) in contents(&included) {
            let place = Place::new(&file, line);
            if content.starts_with('[') {
                return Err(format!(
                    "`include` of {}: it has a section in line {line}, and an included file has options alone",
                    quoted(name)
                ));
            }
            self.option(&file, content, place, variable, depth + 1);
        }
        Ok(())
    }

    /// A line with the values of the variables that it names.
    fn substituted(&mut self, content: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
        let (mut result, mut rest) = (String::new(), content);
        while let Some((before, after)) = rest.split_once("${") {
            let Some((name, behind)) = after.split_once('}') else { break };
            let value = variable(name).ok_or_else(|| {
                format!("names the environment variable {}, which is not set; fio would take it for nothing", quoted(name))
            })?;
            result += before;
            result += &value;
            self.variables.insert((name.into(), value));
            rest = behind;
        }
        Ok(result + rest)
    }
}
