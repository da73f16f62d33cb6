//! The package's exceptions, and structured data as JSON text.

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use serde::Serialize;

create_exception!(_native, TinytailError, PyException, "Anything that tinytail refuses or fails at.");
create_exception!(_native, ConfigError, TinytailError, "A faulty device or design.");
create_exception!(_native, WorkloadError, TinytailError, "A faulty workload.");
create_exception!(_native, RunError, TinytailError, "A run that failed.");

pub(crate) fn json(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| RunError::new_err(error.to_string()))
}
