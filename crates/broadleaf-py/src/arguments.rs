//! Arguments whose refusal is a `ValueError` of one line, instead of Python's own exceptions.

use crate::errors::PlatformError;
use broadleaf::platform::PortModel;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::time::Duration;

/// A number of bytes, or another count: a whole number below 2^64.
pub fn whole(name: &str, value: &Bound<'_, PyAny>) -> PyResult<u64> {
    // Python would raise OverflowError for -1 and TypeError for 6.4e7.
    value
        .extract()
        .map_err(|_| PyValueError::new_err(format!("{name} is {value}; give a whole number of at least 0")))
}

/// A number of bytes, or text such as "64MiB", which is read as on the command line.
pub fn size(name: &str, value: &Bound<'_, PyAny>) -> PyResult<u64> {
    if !value.is_instance_of::<PyString>() {
        return whole(name, value);
    }
    let py = value.py();
    let parsed = py.import("broadleaf.units")?.call_method1("parse_size", (value,));
    let bytes = parsed.and_then(|bytes| bytes.extract());
    bytes.map_err(|error| PyValueError::new_err(format!("{name}: {}", error.value(py))))
}

/// A count.
pub struct Count(pub usize);

impl<'a, 'py> FromPyObject<'a, 'py> for Count {
    type Error = PyErr;

    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        value.extract().map(Count).map_err(|_| {
            PyValueError::new_err(format!("{} is not a count; give a whole number of at least 0", &*value))
        })
    }
}

/// A seed, 0 by default.
pub struct Seed(pub u64);

impl<'a, 'py> FromPyObject<'a, 'py> for Seed {
    type Error = PyErr;

    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        whole("seed", &value).map(Seed)
    }
}

/// A time limit, if there is one: a finite number of seconds of at least 0.
pub fn limit(name: &str, seconds: Option<f64>) -> PyResult<Option<Duration>> {
    let Some(seconds) = seconds else { return Ok(None) };
    Duration::try_from_secs_f64(seconds).map(Some).map_err(|_| {
        PyValueError::new_err(format!("{name} is {seconds}; give a number of seconds of at least 0"))
    })
}

/// A port model by its name.
pub fn port_model(name: &str) -> PyResult<PortModel> {
    PortModel::ALL.into_iter().find(|model| model.name() == name).ok_or_else(|| {
        let known = PortModel::ALL.map(PortModel::name).join(", ");
        PlatformError::new_err(format!("unknown port model {name:?}; use one of {known}"))
    })
}

/// The rows of a matrix, from any value that numpy converts: arrays, lists of lists.
pub fn matrix<'py, T>(name: &str, value: &Bound<'py, PyAny>, kind: &str) -> PyResult<Vec<Vec<T>>>
where
    Vec<Vec<T>>: for<'a> FromPyObject<'a, 'py>,
{
    let refused = |fact: String| {
        PlatformError::new_err(format!("{name}: {fact}; give a square matrix, one row a node"))
    };
    let array = value
        .py()
        .import("numpy")?
        .call_method1("asarray", (value, kind))
        .map_err(|error| refused(error.value(value.py()).to_string()))?;
    let shape = array.getattr("shape")?;
    array.call_method0("tolist")?.extract().map_err(|_| refused(format!("an array of shape {shape}")))
}
