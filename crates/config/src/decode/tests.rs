use super::*;
use crate::{ConfigError, Document};
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Scope {
    Plane,
    Channel,
}

#[derive(Debug, Deserialize)]
struct Blocking {
    #[serde(rename = "scope")]
    _scope: Scope,
    #[serde(default)]
    pages: u32,
}

#[derive(Debug, Deserialize)]
struct Never {}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Hold {
    Blocking(Blocking),
    Never(Never),
}

#[derive(Debug, Deserialize)]
struct All {
    #[serde(default, rename = "share")]
    _share: f64,
    #[serde(rename = "on")]
    _on: bool,
    #[serde(default, rename = "times")]
    times: Vec<u64>,
    #[serde(default, rename = "copy")]
    _copy: Option<Scope>,
    #[serde(default, rename = "chain")]
    _chain: Vec<Hold>,
    #[serde(default, rename = "pairs")]
    _pairs: Vec<(u64, f64)>,
}

#[derive(Debug, Deserialize)]
struct Claim {
    #[serde(rename = "value")]
    _value: f64,
    #[serde(rename = "tolerance")]
    _tolerance: f64,
}

#[derive(Debug, Deserialize)]
struct Whole {
    #[serde(rename = "part")]
    part: All,
    #[serde(rename = "hold")]
    _hold: Hold,
    #[serde(default, rename = "claims")]
    _claims: BTreeMap<String, Claim>,
}

fn whole<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let document = Document::parse("d.toml", text).map_err(|error| error.to_string())?;
    let mut faults = Faults::default();
    let decoded = decode(&document.root, &Place::new("d.toml", 0), "", &mut faults);
    faults.result().map_err(|error: ConfigError| error.placed([].iter()).to_string())?;
    Ok(decoded.expect("there is no fault"))
}

#[derive(Debug, Deserialize)]
struct Part<T> {
    part: T,
}

fn error<T: DeserializeOwned + std::fmt::Debug>(values: &str) -> String {
    whole::<Part<T>>(&format!("[part]\n\n{values}\n")).unwrap_err()
}

#[test]
fn a_value_of_the_wrong_type_is_refused_with_its_line_and_key() {
    for (values, message) in [
        ("on = true\n\nshare = \"half\"", "d.toml:5: [part] `share` is \"half\"; allowed: a number"),
        ("on = 1", "d.toml:3: [part] `on` is 1; allowed: true or false"),
        ("times = [1, 2]\non = { value = 1, source = \"s\" }", "d.toml:4: [part] `on` is 1; allowed: true or false"),
        ("times = 3\non = true", "d.toml:3: [part] `times` is 3; allowed: a list in square brackets"),
        ("on = true\ntimes = [1,\n-2]", "d.toml:5: [part] entry 2 of `times` is -2; allowed: a whole number that is not negative"),
        ("on = true\npairs = [[1, 2], [3]]", "d.toml:4: [part] entry 2 of `pairs` is [3]; allowed: a list of 2 values in square brackets"),
        ("on = true\ncopy = \"plain\"", "d.toml:4: [part] `copy` is \"plain\" (did you mean `plane`?); allowed: plane, channel"),
        ("on = true\ncopy = 7", "d.toml:4: [part] `copy` is 7; allowed: plane, channel"),
        ("on = true\ncopy = {}", "d.toml:4: [part] `copy` is a table without `value`; write `copy = { value = ..., source = \"...\" }`"),
        (
            "on = { value = true, sauce = 1 }",
            "d.toml:3: [part] `on` has an unknown key `sauce` (did you mean `source`?); allowed: value, source",
        ),
        ("on = { value = true, source = 1 }", "d.toml:3: [part] `on` has a source that is 1; allowed: text in quotes"),
        ("share = 0.5", "d.toml:1: [part] `on` is missing"),
        ("on = true\n\"no\" = 1", "d.toml:4: [part] `no` is unknown (did you mean `on`?); allowed: share, on, times, copy, chain, pairs"),
    ] {
        assert_eq!(error::<All>(values), message, "{values}");
    }
}

#[test]
fn a_whole_number_must_fit() {
    for (pages, allowed) in [
        ("8.5", "a whole number"),
        ("[0]", "a whole number"),
        ("-1", "a whole number that is not negative"),
        ("4294967296", "a whole number of at most 4294967295"),
    ] {
        let message = format!("d.toml:4: [part] `pages` is {pages}; allowed: {allowed}");
        assert_eq!(error::<Blocking>(&format!("scope = \"plane\"\npages = {pages}")), message);
    }
}

#[test]
fn a_policy_is_chosen_by_name_and_refused_with_the_names_there_are() {
    let found = whole::<Part<Hold>>("[part]\npolicy = \"blocking\"\nscope = \"plane\"\npages = 2").unwrap().part;
    assert!(matches!(found, Hold::Blocking(blocking) if blocking.pages == 2));
    for (values, message) in [
        ("policy = \"blocing\"", "d.toml:3: [part] `policy` is \"blocing\" (did you mean `blocking`?); allowed: blocking, never"),
        ("policy = 3", "d.toml:3: [part] `policy` is 3; allowed: blocking, never"),
        ("scope = \"plane\"", "d.toml:1: [part] `policy` is missing"),
        ("policy = \"blocking\"", "d.toml:1: [part] `scope` is missing"),
        ("policy = \"blocking\"\nscope = 7", "d.toml:4: [part] `scope` is 7; allowed: plane, channel"),
        (
            "policy = \"blocking\"\nscope = \"plane\"\nsize = 1",
            "d.toml:5: [part] `size` is unknown; allowed with `policy` = \"blocking\": scope, pages",
        ),
        ("policy = \"never\"\nscope = 7", "d.toml:4: [part] `scope` is unknown; this policy has no parameters"),
    ] {
        assert_eq!(error::<Hold>(values), message, "{values}");
    }
}

#[test]
fn a_faulty_chain_of_policies_names_the_entry() {
    let never = "{ policy = \"never\" }";
    for (chain, message) in [
        ("\"never\"".to_string(), "`chain` is \"never\"; allowed: a list in square brackets"),
        ("[\"never\"]".into(), "entry 1 of `chain` is \"never\"; allowed: a table with `policy`, such as { policy = \"...\" }"),
        (
            format!("[{never}, {{ policy = \"nver\" }}]"),
            "entry 2 of `chain`: `policy` is \"nver\" (did you mean `never`?); allowed: blocking, never",
        ),
        (format!("[{never}, {{}}]"), "entry 2 of `chain`: `policy` is missing"),
        ("[{ policy = \"never\", x = 1 }]".into(), "entry 1 of `chain`: `x` is unknown; this policy has no parameters"),
    ] {
        assert_eq!(error::<All>(&format!("on = true\nchain = {chain}")), format!("d.toml:4: [part] {message}"));
    }
}

#[test]
fn all_faults_of_a_file_are_told_in_the_order_of_its_lines() {
    let error = whole::<Whole>(
        "[part]\nshare = true\ntimes = [1, \"two\", -3]\nchain = [{ policy = \"never\", x = 1 }, 2]\n[hold]\npolicy = \"nver\"\n\
         [claims.a]\nvalue = 1\n[claims.b]\nvalue = 2\ntolerance = \"3\"\n[clams]\nx = 1\n",
    )
    .unwrap_err();
    let expected = [
        "d.toml:1: [part] `on` is missing",
        "d.toml:2: [part] `share` is true; allowed: a number",
        "d.toml:3: [part] entry 2 of `times` is \"two\"; allowed: a whole number",
        "d.toml:3: [part] entry 3 of `times` is -3; allowed: a whole number that is not negative",
        "d.toml:4: [part] entry 1 of `chain`: `x` is unknown; this policy has no parameters",
        "d.toml:4: [part] entry 2 of `chain` is 2; allowed: a table with `policy`, such as { policy = \"...\" }",
        "d.toml:6: [hold] `policy` is \"nver\" (did you mean `never`?); allowed: blocking, never",
        "d.toml:7: [claims.a] `tolerance` is missing",
        "d.toml:11: [claims.b] `tolerance` is \"3\"; allowed: a number",
        "d.toml:12: [clams] is unknown (did you mean `claims`?); allowed: part, hold, claims",
    ];
    assert_eq!(error.lines().collect::<Vec<_>>(), expected);
    // A key may belong to another section.
    for (key, suggested) in [("share", " (did you mean `part.share`?)"), ("timess", " (did you mean `part.times`?)"), ("qqqqqq", "")] {
        let error = whole::<Whole>(&format!("[part]\non = true\n[hold]\npolicy = \"never\"\n{key} = 1\n")).unwrap_err();
        assert!(error.starts_with(&format!("d.toml:5: [hold] `{key}` is unknown{suggested}; ")), "{error}");
    }
    assert_eq!(
        whole::<Whole>("hold = 3\n").unwrap_err(),
        "d.toml: [part] is missing\nd.toml:1: [hold] is 3; allowed: a table with `policy`, such as { policy = \"...\" }"
    );
    let sound = "[part]\non = true\ntimes = { value = [1, 2], source = \"s\" }\n[hold]\npolicy = \"never\"\n[claims]\na = { value = 1, tolerance = 2 }";
    assert_eq!(whole::<Whole>(sound).unwrap().part.times, [1, 2]);
}

#[test]
fn a_fault_of_several_documents_is_at_the_last_that_gives_one_of_its_keys() {
    let documents = [("first", "[part]\na = 1\nb = 1\n"), ("second", "\n[part]\nb = 2\n[other]\nc = 3\n")];
    let documents = documents.map(|(name, text)| Document::parse(name, text).unwrap());
    let place = |fault: Fault| ConfigError::from(fault).placed(documents.iter()).0[0].place.to_string();
    assert_eq!(place(Fault::new("part", "a", "is 1")), "first:2");
    assert_eq!(place(Fault::new("part", "a", "is 1").with("part", "b")), "second:3");
    assert_eq!(place(Fault::new("part", "d", "is missing")), "second:2");
    assert_eq!(place(Fault::new("none", "d", "is missing")), "first+second");
}
