//! JSON Schemas of description files.

use serde_json::{Map, Value, json};

/// Lets the properties of a table, or of each of its shapes, carry their source; those for which `is_table` holds are tables
/// themselves.
pub fn admit_sources(schema: &mut Value, is_table: &dyn Fn(&Value) -> bool) {
    for property in schema.get_mut("properties").and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut) {
        if is_table(property) {
            continue;
        }
        let mut plain = property.take();
        let description = plain.as_object_mut().and_then(|plain| plain.remove("description"));
        let sourced = json!({ "type": "object", "properties": { "value": plain, "source": { "type": "string" } },
            "required": ["value"], "additionalProperties": false });
        *property = json!({ "anyOf": [plain, sourced] });
        if let Some(description) = description {
            property["description"] = description;
        }
    }
    for shapes in ["oneOf", "anyOf"] {
        schema.get_mut(shapes).and_then(Value::as_array_mut).into_iter().flatten().for_each(|shape| admit_sources(shape, is_table));
    }
}
