//! How the schemas of documents are made.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::Value;

/// What holds in all documents: no other keys than those declared, `null` where Rust has `None`, and no figure below 0 where no
/// bound is declared.
pub fn strict(schema: &mut Schema) {
    if schema.get("properties").is_some() {
        schema.insert("additionalProperties".into(), false.into());
    }
    let bounded = ["minimum", "maximum", "exclusiveMinimum"].iter().any(|&bound| schema.get(bound).is_some());
    if schema.get("type").is_some_and(|of| of.to_string().contains("\"number\"")) && !bounded {
        schema.insert("minimum".into(), 0.into());
    }
    schema.remove("format");
    schema.remove("default");
    one_line(schema);
}

pub fn one_line(schema: &mut Schema) {
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = text.split_whitespace().collect::<Vec<_>>().join(" ").replace("`None`", "`null`");
    }
}

pub fn schema<T: JsonSchema>(title: &str, settings: SchemaSettings) -> String {
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.insert("title".into(), title.into());
    format!("{}\n", serde_json::to_string_pretty(&schema).unwrap())
}
