//! Which known name somebody meant.

/// The known name that is nearest to `found`, if one is near enough to have been meant.
pub fn nearest<'a>(found: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let distances = known.into_iter().map(|name| (strsim::damerau_levenshtein(found, name), name));
    let near = |&(distance, name): &(usize, &str)| distance <= 2.max(name.len() / 3) && distance < name.chars().count();
    distances.min().filter(near).map(|(_, name)| name)
}

/// The nearest known name, or those that begin with what was found, as ` (did you mean ...?)`; nothing when none is near.
pub fn did_you_mean<'a>(found: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    const LONGER_NAMES_MAX: usize = 3;
    let known: Vec<&str> = known.into_iter().collect();
    if let Some(name) = nearest(found, known.iter().copied()) {
        return format!(" (did you mean `{name}`?)");
    }
    let longer: Vec<String> =
        known.iter().filter(|name| !found.is_empty() && name.starts_with(found)).map(|name| format!("`{name}`")).collect();
    match longer.as_slice() {
        [only] => format!(" (did you mean {only}?)"),
        [rest @ .., last] if rest.len() < LONGER_NAMES_MAX => format!(" (did you mean {} or {last}?)", rest.join(", ")),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_and_longer_ones_are_suggested() {
        let known = ["drive-256g", "drive-48g", "base", "read_share"];
        assert_eq!(did_you_mean("bsae", known), " (did you mean `base`?)");
        assert_eq!(did_you_mean("reed_share", known), " (did you mean `read_share`?)");
        assert_eq!(did_you_mean("drive", known), " (did you mean `drive-256g` or `drive-48g`?)");
        assert_eq!(did_you_mean("qqqqqq", known), "");
        assert_eq!(did_you_mean("", known), "");
    }
}
