//! Which known name somebody meant.

/// The known name that is nearest to `found`, if one is near enough to have been meant.
pub fn nearest<'a>(found: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = |name: &str| 2.max(name.len() / 3);
    // No distance is less than the difference of the lengths. What is much longer costs much to compare.
    let length = found.chars().count();
    let known = known.into_iter().filter(|name| length.abs_diff(name.chars().count()) <= allowed(name));
    let distances = known.map(|name| (strsim::damerau_levenshtein(found, name), name));
    let near = |&(distance, name): &(usize, &str)| distance <= allowed(name) && distance < name.chars().count();
    distances.min().filter(near).map(|(_, name)| name)
}

/// The most names that are suggested together.
const SUGGESTED_MAX: usize = 3;
/// Words that many keys have and that tell none from another.
const UNITS: [&str; 16] = ["ns", "us", "ms", "s", "bytes", "kb", "kib", "mb", "mib", "gb", "gib", "percent", "per", "max", "min", "size"];

/// The nearest known name, or those that begin with what was found, or have its words, as ` (did you mean ...?)`; nothing when none is
/// near.
pub fn did_you_mean<'a>(found: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    if let Some(name) = nearest(found, known.iter().copied()) {
        return format!(" (did you mean `{name}`?)");
    }
    let beginning = letters(found);
    let longer = || known.iter().filter(|name| !beginning.is_empty() && letters(name).starts_with(&beginning)).copied().collect();
    let suits = |names: &Vec<&str>| (1..=SUGGESTED_MAX).contains(&names.len());
    let suggested = Some(longer()).filter(suits).or_else(|| Some(with_words_of(found, &known)).filter(suits)).unwrap_or_default();
    let quoted: Vec<String> = suggested.iter().map(|name| format!("`{name}`")).collect();
    match quoted.as_slice() {
        [] => String::new(),
        [only] => format!(" (did you mean {only}?)"),
        [rest @ .., last] => format!(" (did you mean {} or {last}?)", rest.join(", ")),
    }
}

/// The names that share most words with what was found: at least half of its words, units aside. So `erase_ns` finds
/// `erase_step_ns`, and `PageSize` finds `page_bytes`.
fn with_words_of<'a>(found: &str, known: &[&'a str]) -> Vec<&'a str> {
    let wanted = words(found);
    let shared = |name: &str| words(name).iter().filter(|word| wanted.contains(word)).count();
    let most = known.iter().map(|name| shared(name)).max().unwrap_or(0);
    if most == 0 || 2 * most < wanted.len() {
        return Vec::new();
    }
    // Of equal ones, those in the unit that was found.
    let of_unit = |name: &&str| found.rsplit('_').next().is_some_and(|unit| UNITS.contains(&unit) && name.ends_with(&format!("_{unit}")));
    let best: Vec<&str> = known.iter().copied().filter(|name| shared(name) == most).collect();
    let same_unit: Vec<&str> = best.iter().copied().filter(of_unit).collect();
    if same_unit.is_empty() { best } else { same_unit }
}

/// A name without what stands between its words.
fn letters(name: &str) -> String {
    name.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The words of a name in small letters, units aside: of `pageSize` and `page-size` as of `page_size`.
fn words(name: &str) -> Vec<String> {
    let mut parted = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && parted.ends_with(char::is_lowercase) {
            parted.push('_');
        }
        parted.extend(letter.to_lowercase());
    }
    parted
        .split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty() && !UNITS.contains(word))
        .map(Into::into)
        .collect()
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

    #[test]
    fn other_spellings_are_found_by_their_words() {
        let keys = ["read_ns", "program_ns", "erase_step_ns", "erase_steps", "page_bytes", "queue_depth", "over_provisioning_percent"];
        for (found, suggested) in [
            ("erase_ns", " (did you mean `erase_step_ns`?)"),
            ("block_erase_us", " (did you mean `erase_step_ns` or `erase_steps`?)"),
            ("program_latency", " (did you mean `program_ns`?)"),
            ("pageSize", " (did you mean `page_bytes`?)"),
            ("queue-length", " (did you mean `queue_depth`?)"),
            ("overprovisioning", " (did you mean `over_provisioning_percent`?)"),
            ("latency_ns", ""),
            ("no_such_page_here", ""),
        ] {
            assert_eq!(did_you_mean(found, keys), suggested, "{found}");
        }
    }
}
