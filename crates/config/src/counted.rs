//! How many things there are, in sentences.

/// A number with a comma between groups of three digits.
pub fn grouped(number: impl Into<u128>) -> String {
    let digits = number.into().to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// How many things there are: `1 request`, `2,000 requests`. The thing is given as one, and its last word is put into the plural.
pub fn counted(number: impl Into<u128>, one: &str) -> String {
    let number = number.into();
    if number == 1 {
        return format!("1 {one}");
    }
    let ending = if ["s", "x", "sh", "ch"].iter().any(|end| one.ends_with(end)) { "es" } else { "s" };
    match one.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'o'])) {
        Some(stem) => format!("{} {stem}ies", grouped(number)),
        None => format!("{} {one}{ending}", grouped(number)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!([0_u32, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn one_thing_is_in_the_singular_and_no_other_number_is() {
        assert_eq!([0_u64, 1, 2, 2000].map(|count| counted(count, "request")), ["0 requests", "1 request", "2 requests", "2,000 requests"]);
        let things = ["entry", "page class", "flush", "die", "day", "header line"];
        assert_eq!(
            things.map(|one| counted(3_u64, one)),
            ["3 entries", "3 page classes", "3 flushes", "3 dies", "3 days", "3 header lines"]
        );
    }
}
