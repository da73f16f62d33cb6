//! The JSON Schemas of device and design files, which the package ships and these tests make:
//! `UPDATE_EXPECT=1 cargo test --release -p tinytail-core schema` writes them anew.

use crate::design::Design;
use crate::device::{Device, ONE_OF};
use expect_test::expect_file;
use serde_json::{Map, Value, json};
use tinytail_config::OneOf;
use tinytail_config::schema::admit_sources;

/// The schema of a file of texts at the top, some of them needed, and of named sections, in which any value may carry its source
/// and some keys exclude each other.
fn file_schema(needed: &[&str], allowed: &[&str], sections: Vec<(&str, schemars::Schema)>, one_of: &[OneOf]) -> String {
    let text = json!({ "type": "string" });
    let mut properties: Map<String, Value> = needed.iter().chain(allowed).map(|name| (name.to_string(), text.clone())).collect();
    let mut definitions = Map::new();
    for (name, mut schema) in sections {
        if let Some(Value::Object(inner)) = schema.remove("$defs") {
            definitions.extend(inner);
        }
        let mut schema = schema.to_value();
        let groups: Vec<&OneOf> = one_of.iter().filter(|group| group.section == name).collect();
        for key in groups.iter().flat_map(|group| group.keys) {
            // What one key of a group has for want of the others is no default.
            schema["properties"][key].as_object_mut().map(|property| property.remove("default"));
        }
        admit_sources(&mut schema, &|_| false);
        if !groups.is_empty() {
            schema["allOf"] = groups.iter().map(|group| exclusive(group)).collect();
        }
        properties.insert(name.into(), schema);
    }
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": properties,
        "required": needed,
        "$defs": definitions,
        "additionalProperties": false,
    });
    format!("{}\n", serde_json::to_string_pretty(&schema).unwrap())
}

/// That a section gives one key of a group, or at most one.
fn exclusive(OneOf { keys, needed, .. }: &OneOf) -> Value {
    let each: Vec<Value> = keys.iter().map(|key| json!({ "required": [key] })).collect();
    if *needed { json!({ "oneOf": each }) } else { json!({ "not": { "required": keys } }) }
}

#[test]
fn the_schemas_of_device_and_design_files_are_those_that_are_shipped() {
    let device = file_schema(&["name", "summary"], &[], Device::schema_sections(), &ONE_OF);
    expect_file!["../../../python/tinytail/schema/device.schema.json"].assert_eq(&device);
    let design = file_schema(&["name", "kind", "summary"], &["parts", "alone"], Design::schema_sections(), &[]);
    expect_file!["../../../python/tinytail/schema/design.schema.json"].assert_eq(&design);
}
