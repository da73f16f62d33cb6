//! What compiled functions of Python need to know of a view: where its fields lie, and the numbers of quantities.

use crate::errors::json as text_of;
use pyo3::prelude::*;
use serde_json::json;
use tinytail_policies::library::RAISED;
use tinytail_policies::view::{Field, Of, Quantity, Read, View, Waiting, ask};

fn fields(fields: &[Field]) -> Vec<serde_json::Value> {
    let field = |field: &Field| json!({ "name": field.name, "offset": field.offset, "type": field.ctype, "length": field.length });
    fields.iter().map(field).collect()
}

/// The layout of views, as JSON.
#[pyfunction]
pub(crate) fn policy_layout() -> PyResult<String> {
    let quantity = |quantity: &Quantity| json!({ "name": quantity.name(), "of_drive": quantity.of() == Of::Drive });
    text_of(&json!({
        "view": fields(View::FIELDS),
        "waiting": { "fields": fields(Waiting::FIELDS), "bytes": size_of::<Waiting>() },
        "read": fields(Read::FIELDS),
        "quantities": Quantity::ALL.iter().map(quantity).collect::<Vec<_>>(),
        "ask": ask as *const () as usize,
        "raised": RAISED,
    }))
}
