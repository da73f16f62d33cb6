//! The lines of a job file: sections, options, comments.

use super::{Text, fault};
use crate::text::quoted;
use tinytail_config::ConfigError;

/// A section: the job's name in square brackets and what stands below.
pub(super) struct Section<'a> {
    pub(super) name: &'a str,
    pub(super) line: usize,
    pub(super) options: Vec<Given<'a>>,
}

/// `key=value`, or a key alone.
pub(super) struct Given<'a> {
    pub(super) key: &'a str,
    pub(super) value: Option<&'a str>,
    pub(super) line: usize,
}

/// Takes a job file apart. As in fio, a comment begins with `;` or `#` wherever that stands.
pub(super) fn sections(text: Text<'_>) -> Result<Vec<Section<'_>>, ConfigError> {
    let mut sections: Vec<Section<'_>> = Vec::new();
    for (line, content) in (1..).zip(text.text.lines()) {
        let content = content.split([';', '#']).next().unwrap_or_default().trim();
        if content.is_empty() {
            continue;
        }
        if let Some(rest) = content.strip_prefix('[') {
            let Some(name) = rest.strip_suffix(']').map(str::trim).filter(|name| !name.is_empty()) else {
                return Err(fault(text, line, "", format!("found {}, expected the name of a job in square brackets", quoted(content))));
            };
            sections.push(Section { name, line, options: Vec::new() });
            continue;
        }
        let (key, value) = match content.split_once('=') {
            Some((key, value)) => (key.trim_end(), Some(value.trim_start())),
            None => (content, None),
        };
        let Some(section) = sections.last_mut() else {
            return Err(fault(text, line, "", format!("found {} before the first section, expected [global] or [JOB]", quoted(content))));
        };
        section.options.push(Given { key, value, line });
    }
    Ok(sections)
}
